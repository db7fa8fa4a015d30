/* SentencePiece's table of replacements, by which it normalises texts: a double array (Aoe, "An efficient digital
 * search algorithm by using a double-array structure", 1989) from prefixes to replacements. */
#pragma once

#include <glib.h>

typedef struct _TokenCharsmap TokenCharsmap;

/* NULL if the text is no such table. */
TokenCharsmap *token_charsmap_new (const char *base64);
void token_charsmap_free (TokenCharsmap *self);
/* Replaces, from left to right, the longest prefix that the table has. (transfer full) */
char *token_charsmap_apply (const TokenCharsmap *self, const char *text);
