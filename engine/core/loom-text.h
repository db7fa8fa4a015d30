/* Text from elsewhere, made safe to show. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* text as valid UTF-8 with control characters written out ("\u001b"), because a terminal obeys them. Tabs stay; line
 * ends are written out ("\n") if it is for a place within a line. What is longer than most characters is cut, with an
 * ellipsis. (transfer full) */
char *loom_text_printable (const char *text, gboolean one_line, glong most);

/* A word of a command that is shown, as a POSIX shell takes it: quoted only if it must be, and with control characters
 * as numbers. (transfer full) */
char *loom_text_shell_word (const char *word);

/* Appends a cell of a CSV table, in quotes if it needs them. A text that a spreadsheet would compute, because it begins
 * like a formula and is no number, gets an apostrophe before it. */
void loom_text_append_csv (GString *to, const char *text);

G_END_DECLS
