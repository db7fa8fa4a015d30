/* Reads Parquet files of flat columns as the text of a table, so that everything that reads tables reads them, too.
 *
 * An own reader, because Debian has no library for the format. It reads plain, dictionary and run-length encoded pages
 * of both versions, with snappy, zstd, gzip or no compression. A field of a structure is a column NAME.FIELD; a list or
 * a map is a column of the words “a list”. */
#pragma once

#include <glib.h>

/* TRUE if the bytes begin as a Parquet file does. */
gboolean loom_parquet_is (gconstpointer bytes, gsize n);
/* The same for the bytes of a file. */
gboolean loom_parquet_is_file (const char *path);

/* The table as text with a line of names, separated by commas, numbers with a point; or its first rows, in at least max
 * bytes (0: all). A null is an empty field, dates and times are as in 2024-01-31T12:00:00, a boolean is 0 or 1. The
 * text begins with "sep=,", ends with 0, and its lines are counted from that of names. *is_whole (may be NULL): all
 * rows are there. needed and remedy: as for loom_memory_check(). DATA: the file is damaged or has a form that is not
 * read; IO. */
char *loom_parquet_read_text (const char *path, gsize max, double needed, const char *remedy, gsize *length,
                              gboolean *is_whole, GError **error);
/* The same for the content of a file. name: for errors. */
char *loom_parquet_text_from_bytes (GBytes *bytes, const char *name, gsize *length, GError **error);
