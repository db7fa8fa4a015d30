/* Tokens: what a text is cut into, and the numbers that stand for them. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Tokens that are no part of a text, first in every vocabulary that has them. */
typedef enum
{
  LOOM_TOKEN_PADDING, /* fills short sequences up */
  LOOM_TOKEN_START,
  LOOM_TOKEN_END,
  LOOM_TOKEN_UNKNOWN, /* stands for whatever the vocabulary lacks */
  LOOM_N_TOKENS
} LoomToken;

extern const char *const loom_token_names[LOOM_N_TOKENS]; /* "<pad>", … */

typedef enum
{
  LOOM_TEXT_CHARACTER,
  LOOM_TEXT_BYTE,
  LOOM_TEXT_WORD, /* runs of letters and digits; every other character, but for white space, is one by itself */
  LOOM_TEXT_BPE   /* byte-pair encoding, as GPT-2 has it */
} LoomTextUnit;

extern const char *const loom_text_units[]; /* "character", "byte", "word", "bpe", NULL */

typedef struct _LoomVocabulary LoomVocabulary;

/* Of a text that is still to be seen: n_special names come first. Where the last of them is the unknown token's, it
 * stands for what is not in the vocabulary. Not for LOOM_TEXT_BPE. */
LoomVocabulary *loom_vocabulary_new (LoomTextUnit unit, const char *const *special, guint n_special);
/* Of these names, in this order. Not for LOOM_TEXT_BPE. */
LoomVocabulary *loom_vocabulary_new_named (LoomTextUnit unit, const char *const *names);
/* Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units" (2016), over bytes as in
 * Radford et al., "Language models are unsupervised multitask learners" (2019): a file of pairs, each of which becomes
 * a token, in the form of GPT-2's merges.txt. Numbers are those of GPT-2. IO or DATA where it is none. */
LoomVocabulary *loom_vocabulary_new_bpe (const char *path, GError **error);
void loom_vocabulary_free (LoomVocabulary *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomVocabulary, loom_vocabulary_free)

/* Counts a text's tokens. Text is UTF-8, but for bytes. */
void loom_vocabulary_count (LoomVocabulary *self, const char *text, gsize length);
/* Ends counting: the `most` that occur most often are kept, special ones among them; 0: all. Characters are in the
 * order of their code points, words from the most frequent on. */
void loom_vocabulary_settle (LoomVocabulary *self, gsize most);

/* Appends a text's numbers (guint32) to ids. Returns NULL, or what the vocabulary lacks where no token stands for it
 * (transfer full). */
char *loom_vocabulary_encode (const LoomVocabulary *self, const char *text, gsize length, GArray *ids);

guint loom_vocabulary_size (const LoomVocabulary *self);
char **loom_vocabulary_dup_names (const LoomVocabulary *self);      /* NULL-terminated */
const char *loom_vocabulary_separator (const LoomVocabulary *self); /* what stands between names in a text */

G_END_DECLS
