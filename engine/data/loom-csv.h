/* Rows of fields in a text, by RFC 4180.
 *
 * The text is split in place: fields are pointers into it, so a million rows cost no million strings. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef struct
{
  const char *path; /* its name in errors */
  char *p, *end;    /* *end is 0 and may be written */
  char delimiter;
  int line;          /* of p */
  int row_line;      /* where the last row began */
  GPtrArray *fields; /* of the last row, pointers into the text */
} LoomCsvReader;

/* The delimiter that a first line "sep=;" names, as some programs write it; 0: there is none. */
char loom_csv_named_delimiter (const char *text, const char *end);
/* Passes over such a line and takes its delimiter. */
void loom_csv_take_separator (LoomCsvReader *self);
/* The next row that is not blank. FALSE without error at the end. */
gboolean loom_csv_read_row (LoomCsvReader *self, GError **error);

G_END_DECLS
