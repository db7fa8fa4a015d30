/* Shared by the reader's files: where a reading stands, and attributes that are too long.
 *
 * Private to loom-reader*.c, so that libxml2 shows nowhere else. */
#pragma once

#include "engine/graph/graph-private.h"

#include <libxml/xmlreader.h>

G_BEGIN_DECLS

typedef struct
{
  xmlTextReaderPtr xml;
  const char *file;
  const char *data; /* the whole text, for sentences about it */
  gsize length;
  LoomFaults *faults;
  LoomElement *root;
  GPtrArray *open; /* LoomElement; own elements whose end has not come */
  GString *text;   /* of the innermost open element that has text */
  guint n_elements;
  guint n_dropped; /* parts that are left out */
  char *broken;    /* why reading ended early */
  int broken_line;
  /* An element of another namespace is copied as text. */
  GString *foreign;
  GPtrArray *bindings; /* declared inside it: "prefix=uri", NULL at each element's start */
  int skip_depth;      /* while > 0: below an element that was left out, opened at this reader depth + 1 */
} Reading;

static inline const char *
or_empty (const xmlChar *text)
{
  return text != NULL ? (const char *)text : "";
}

/* FALSE with r->broken set for a value longer than 1 MB. */
gboolean loom_reading_attribute_fits (Reading *r, const char *value);
/* Copies what the parser stands on, an element of another namespace or an event inside one; at the end of the
 * outermost, that becomes a child of the innermost open element. While r->bindings is not empty, events belong here. */
void loom_reading_copy_foreign (Reading *r);

/* Checks before the parser may see the text: UTF-8, no document type, no element with too many attributes.
 */
gboolean loom_reading_check_text (const char *file, const char *data, gsize length, GError **error);
/* The name of the innermost element that the text leaves open, and the line that it begins in; NULL when all are
 * closed.
 */
char *loom_reading_innermost_open (const char *data, gsize length, int *line);
/* TRUE if the text ends within an element. */
gboolean loom_reading_is_cut_off (const char *data, gsize length);

/* The parser's complaint as a sentence without its full stop, in words of our own, with what to do. */
char *loom_reading_explain (const xmlError *error, const char *data, gsize length);

G_END_DECLS
