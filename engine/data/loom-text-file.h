/* Text files of any of the encodings that spreadsheets and editors write, as UTF-8. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The file's text, or its first max bytes (max 0: all of it), ended with 0. gzip is unpacked, UTF-16 with a byte order
 * mark is converted, and the mark is left out. *is_whole (may be NULL): there is no more. needed and remedy are those
 * of loom_room_check(), for text that is read as a whole. NULL with IO or DATA: unreadable, larger than the memory, or
 * not UTF-8; the sentence names what the file is, if its first bytes say so, and the remedy. */
char *loom_text_file_read (const char *path, gsize max, double needed, const char *remedy, gsize *length,
                           gboolean *is_whole, GError **error);
/* The same of a file's content; name is what sentences call it. */
char *loom_text_from_bytes (GBytes *bytes, const char *name, gsize *length, GError **error);
/* Removes the \r of line ends \r\n from the text. */
void loom_text_unify_lines (char *text, gsize *length);

G_END_DECLS
