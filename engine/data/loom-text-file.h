/* Reads text files, in any of the encodings that spreadsheets and editors write, as UTF-8. */
#pragma once

#include <glib.h>

/* The file's text, or its first max bytes (0: all), ended with 0. gzip is unpacked, UTF-16 with a byte order mark is
 * converted, and the mark is removed. *is_whole (may be NULL): the text is complete. needed and remedy: as for
 * loom_memory_check(), for text that is read as a whole. NULL with IO or DATA if the file is unreadable, larger than
 * the memory, or not UTF-8; the error names its format, if its first bytes show it, and the remedy. */
char *loom_text_file_read (const char *path, gsize max, double needed, const char *remedy, gsize *length,
                           gboolean *is_whole, GError **error);
/* The same for the content of a file. name: for errors. */
char *loom_text_from_bytes (GBytes *bytes, const char *name, gsize *length, GError **error);
/* Removes the \r of line ends \r\n from the text. */
void loom_text_unify_lines (char *text, gsize *length);
