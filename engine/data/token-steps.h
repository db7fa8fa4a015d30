/* The steps of a tokenizer before its vocabulary: normalisers change a text, splitters cut it into pieces. Names,
 * options and results are those of Hugging Face's tokenizers, whose tokenizer.json describes them. */
#pragma once

#include <glib.h>
#include <json-glib/json-glib.h>

typedef struct _TokenSteps TokenSteps;

/* Reads a "normalizer", or else a "pre_tokenizer"; NULL and null have no steps. DATA, naming the file, for an unknown
 * kind. */
TokenSteps *token_steps_new (JsonNode *node, gboolean is_normalizer, const char *path, GError **error);
void token_steps_free (TokenSteps *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TokenSteps, token_steps_free)

/* Passes a UTF-8 text through the steps and appends its pieces (char *, transfer full), which are UTF-8 and never
 * empty. *is_first: the text is the beginning of all, and not what follows a special token; it becomes FALSE if its
 * beginning is removed. DATA: a pattern takes too long, or the text becomes more than 64 times as long. */
gboolean
token_steps_apply (const TokenSteps *self, const char *text, gboolean *is_first, GPtrArray *pieces, GError **error);
