/* The vocabulary of a tokenizer, and how it finds the tokens of one piece of text. */
#pragma once

#include <glib.h>
#include <json-glib/json-glib.h>

typedef struct _TokenModel TokenModel;

/* Reads the "model" of a tokenizer.json: BPE, WordPiece, Unigram or WordLevel. DATA, naming the file and the fault. */
TokenModel *token_model_new (JsonObject *object, const char *path, GError **error);
void token_model_free (TokenModel *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TokenModel, token_model_free)

/* The largest number of a token, and one more. */
guint token_model_size (const TokenModel *self);
/* A token as the vocabulary spells it; NULL for a number that none has. (transfer none) */
const char *token_model_spelling (const TokenModel *self, guint id);
/* What marks a token that continues a word ("##"), and one that ends it ("</w>"); "": nothing does. (transfer none) */
const char *token_model_prefix (const TokenModel *self);
const char *token_model_suffix (const TokenModel *self);
gboolean token_model_splits_words (const TokenModel *self); /* WordPiece and WordLevel: spaces are not part of tokens */
/* Appends the tokens (guint32) of a piece. */
void token_model_encode (const TokenModel *self, const char *piece, GArray *ids);
