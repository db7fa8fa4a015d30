/* A vocabulary: the tokens of a text and their numbers. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Tokens that are no part of a text, first in every vocabulary that has them. */
typedef enum
{
  LOOM_TOKEN_PADDING, /* pads short sequences */
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
  LOOM_TEXT_WORD, /* sequences of letters and digits; each other character except white space is a token */
  LOOM_TEXT_BPE   /* byte-pair encoding, as GPT-2 has it */
} LoomTextUnit;

extern const char *const loom_text_units[]; /* "character", "byte", "word", "bpe", NULL */

typedef struct _LoomVocabulary LoomVocabulary;

/* For a text that is still to be counted: n_special names come first. If the last of them is the unknown token's, it
 * replaces tokens that are not in the vocabulary. Not for LOOM_TEXT_BPE. */
LoomVocabulary *loom_vocabulary_new (LoomTextUnit unit, const char *const *special, guint n_special);
/* With these names, in this order. Not for LOOM_TEXT_BPE. */
LoomVocabulary *loom_vocabulary_new_named (LoomTextUnit unit, const char *const *names);
/* Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units" (2016), over bytes as in
 * Radford et al., "Language models are unsupervised multitask learners" (2019): a file of pairs, each of which becomes
 * a token, in the form of GPT-2's merges.txt. Numbers are those of GPT-2. IO or DATA where it is none. */
LoomVocabulary *loom_vocabulary_new_bpe (const char *path, GError **error);
void loom_vocabulary_free (LoomVocabulary *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomVocabulary, loom_vocabulary_free)

/* Counts a text's tokens. Text is UTF-8, except for LOOM_TEXT_BYTE. */
void loom_vocabulary_count (LoomVocabulary *self, const char *text, gsize length);
/* Ends counting: the `most` that occur most often are kept, special ones among them; 0: all. Characters are in the
 * order of their code points, words from the most frequent on. */
void loom_vocabulary_settle (LoomVocabulary *self, gsize most);

/* Appends a text's numbers (guint32) to ids. Returns NULL, or the first token that the vocabulary lacks (transfer
 * full). */
char *loom_vocabulary_encode (const LoomVocabulary *self, const char *text, gsize length, GArray *ids);

guint loom_vocabulary_size (const LoomVocabulary *self);
char **loom_vocabulary_dup_names (const LoomVocabulary *self);      /* NULL-terminated */
const char *loom_vocabulary_separator (const LoomVocabulary *self); /* the separator of names in a text */

G_END_DECLS
