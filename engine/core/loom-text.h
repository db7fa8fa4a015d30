/* Untrusted text, made safe to show; numbers as text. */
#pragma once

#include <glib.h>

/* A control character, a line end of Unicode, or one that changes the direction of the text after it, so that another
 * text is seen than a program reads. */
gboolean loom_text_is_control (gunichar c);

/* text as valid UTF-8 with escaped control characters ("\u001b"), because a terminal interprets them. Tabs stay; line
 * ends are escaped ("\n") if one_line is set. Text longer than most characters is cut, with an ellipsis. (transfer
 * full) */
char *loom_text_printable (const char *text, gboolean one_line, glong most);

/* A word of a shown command in POSIX shell syntax: quoted only if needed, with control characters as numbers. (transfer
 * full) */
char *loom_text_shell_word (const char *word);

/* Appends a cell of a CSV table, quoted if needed. A text that a spreadsheet would evaluate, because it begins like a
 * formula and is no number, gets an apostrophe before it. */
void loom_text_append_csv (GString *to, const char *text);

/* Writes the shortest decimal that reads back as the same double ("0.1", not "0.10000000000000001") into buffer, of
 * G_ASCII_DTOSTR_BUF_SIZE, and returns it. */
const char *loom_text_decimal (double value, char *buffer);
