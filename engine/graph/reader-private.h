/* Shared by the reader's files: the state of reading, and attributes that are too long. Private to loom-reader*.c, so
 * that no other file includes libxml2. */
#pragma once

#include "engine/graph/graph-private.h"

#include <libxml/xmlreader.h>

typedef struct
{
  xmlTextReaderPtr xml;
  const char *file;
  const char *data; /* the whole text, for errors */
  gsize length;
  LoomFaults *faults;
  LoomElement *root;
  GPtrArray *open; /* LoomElement; the graph's elements that are not closed yet */
  GString *text;   /* the text of the innermost open element that has text */
  guint n_elements;
  guint n_dropped; /* parts that are skipped */
  char *broken;    /* the reason why reading ended early */
  int broken_line;
  /* An element of another namespace is copied as text. */
  GString *foreign;
  GPtrArray *bindings; /* declared inside it: "prefix=uri", NULL at each element's start */
  int skip_depth;      /* while > 0: inside a skipped element, which was opened at this reader depth + 1 */
  guint misplaced; /* the tags of which a warning says that they are out of order, as bits */
} Reading;

static inline const char *
or_empty (const xmlChar *text)
{
  return text != NULL ? (const char *)text : "";
}

/* FALSE with r->broken set for a value longer than 1 MB. */
gboolean loom_reading_attribute_fits (Reading *r, const char *value);
/* Copies the parser's current element of another namespace, or an event inside one; after the end of the outermost, it
 * becomes a child of the innermost open element. While r->bindings is not empty, all events belong to this function. */
void loom_reading_copy_foreign (Reading *r);

/* Checks the text before the parser reads it: UTF-8, no document type, no element with too many attributes. */
gboolean loom_reading_check_text (const char *file, const char *data, gsize length, GError **error);
/* The name of the innermost element that the text does not close, and the line of its beginning; NULL if all are
 * closed. */
char *loom_reading_innermost_open (const char *data, gsize length, int *line);
/* TRUE if the text ends within an element. */
gboolean loom_reading_is_cut_off (const char *data, gsize length);

/* The parser's error as a sentence without its full stop, in plain words, with a remedy. */
char *loom_reading_explain (const xmlError *error, const char *data, gsize length);
