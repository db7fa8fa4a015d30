/* Tokenizers as they ship with models: tokenizer.json of Hugging Face's tokenizers, and a SentencePiece model. */
#pragma once

#include <glib.h>

typedef struct _LoomTokenizer LoomTokenizer;

/* Reads tokenizer.json, or with SentencePiece's library its *.model. The file is data: nothing of it runs. IO or DATA,
 * naming the file and what of it cannot be used. */
LoomTokenizer *loom_tokenizer_load (const char *path, GError **error);
void loom_tokenizer_free (LoomTokenizer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomTokenizer, loom_tokenizer_free)

/* The number of tokens: the largest number of a token, and one more. */
guint loom_tokenizer_size (const LoomTokenizer *self);
/* What a token adds to a text; bytes that are no UTF-8 as \xNN, "" for a number that no token has. (transfer full) */
char *loom_tokenizer_dup_name (const LoomTokenizer *self, guint id);
/* Appends the tokens (guint32) of a UTF-8 text, without those that a model's template adds before and after it. A
 * special token in the text is read as that token. DATA: the steps of the tokenizer fail for this text. */
gboolean loom_tokenizer_encode (const LoomTokenizer *self, const char *text, gsize length, GArray *ids, GError **error);
