/* A vocabulary: the tokens of a text and their numbers. */
#pragma once

#include <glib.h>

/* Tokens that are no part of a text; the first ones of every vocabulary that has them. */
typedef enum
{
  LOOM_TOKEN_PADDING, /* fills short sequences */
  LOOM_TOKEN_START,
  LOOM_TOKEN_END,
  LOOM_TOKEN_UNKNOWN, /* replaces tokens that are not in the vocabulary */
  LOOM_N_TOKENS
} LoomToken;

extern const char *const loom_token_names[LOOM_N_TOKENS]; /* "<pad>", … */

typedef enum
{
  LOOM_TEXT_CHARACTER,
  LOOM_TEXT_BYTE,
  LOOM_TEXT_WORD, /* a sequence of letters and digits; each other character except white space is a token too */
  LOOM_TEXT_BPE,  /* byte-pair encoding with GPT-2's rules */
  LOOM_TEXT_TOKENIZER
} LoomTextUnit;

extern const char *const loom_text_units[]; /* "character", "byte", "word", "bpe", "tokenizer", NULL */

typedef struct _LoomVocabulary LoomVocabulary;

/* Makes a vocabulary for texts that are counted next. Its first n_special names are special; if the last of these is
 * the unknown token's, it replaces tokens that are not in the vocabulary. Not for LOOM_TEXT_BPE and
 * LOOM_TEXT_TOKENIZER. */
LoomVocabulary *loom_vocabulary_new (LoomTextUnit unit, const char *const *special, guint n_special);
/* Makes a vocabulary of these names, in this order. Not for LOOM_TEXT_BPE and LOOM_TEXT_TOKENIZER. */
LoomVocabulary *loom_vocabulary_new_named (LoomTextUnit unit, const char *const *names);
/* Makes a byte-pair encoding (Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword
 * units", 2016; over bytes as in Radford et al., "Language models are unsupervised multitask learners", 2019) from a
 * file in the form of GPT-2's merges.txt: pairs, each of which becomes a token with GPT-2's number. IO or DATA if it is
 * no such file. */
LoomVocabulary *loom_vocabulary_new_bpe (const char *path, GError **error);
/* The tokens of a tokenizer.json or a SentencePiece model; errors as of loom_tokenizer_load(). */
LoomVocabulary *loom_vocabulary_new_tokenizer (const char *path, GError **error);
void loom_vocabulary_free (LoomVocabulary *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomVocabulary, loom_vocabulary_free)

/* Counts the tokens of a text: UTF-8, except for LOOM_TEXT_BYTE. */
void loom_vocabulary_count (LoomVocabulary *self, const char *text, gsize length);
/* Ends counting and keeps the `most` most frequent tokens, including special ones; 0: all. Characters are ordered by
 * code point, words by frequency. */
void loom_vocabulary_settle (LoomVocabulary *self, gsize most);

/* Appends the numbers (guint32) of a text's tokens to ids. Returns NULL, or the first token that is not in the
 * vocabulary. (transfer full) error: set by a tokenizer alone. */
char *loom_vocabulary_encode (const LoomVocabulary *self, const char *text, gsize length, GArray *ids, GError **error);

guint loom_vocabulary_size (const LoomVocabulary *self);
char **loom_vocabulary_dup_names (const LoomVocabulary *self);      /* NULL-terminated */
const char *loom_vocabulary_separator (const LoomVocabulary *self); /* the separator of names in a text */
