/* Reads rows of fields from a text, by RFC 4180.
 *
 * The text is split in place: fields are pointers into it, so a million rows do not allocate millions of strings. */
#pragma once

#include <glib.h>

typedef struct
{
  const char *path; /* its name in errors */
  char *p, *end;    /* the rest of the text; *end is 0 and may be written */
  char delimiter;
  int line;          /* line number of p */
  int row_line;      /* line number of the last row's beginning */
  GPtrArray *fields; /* of the last row, pointers into the text */
} LoomCsvReader;

/* loom_text_file_read(), also for a Parquet file, as the text that loom-parquet.h describes. */
char *loom_csv_read_file (const char *path, gsize max, double needed, const char *remedy, gsize *length,
                          gboolean *is_whole, GError **error);
/* The delimiter in a first line "sep=;", which some programs write; 0: there is no such line. */
char loom_csv_named_delimiter (const char *text, const char *end);
/* The first line that does not begin with #. */
const char *loom_csv_skip_comments (const char *text, const char *end);
/* Skips such lines before the first row, and uses the delimiter that one names. */
void loom_csv_begin (LoomCsvReader *self);
/* Reads the next row that is not blank. FALSE without error at the end. */
gboolean loom_csv_read_row (LoomCsvReader *self, GError **error);
