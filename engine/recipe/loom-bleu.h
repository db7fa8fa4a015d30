/* BLEU of a corpus: Papineni, Roukos, Ward and Zhu, "BLEU: a method for automatic evaluation of machine translation"
 * (2002), with equal weights for n-grams of one to four tokens, one reference per sentence, and no smoothing. */
#pragma once

#include <glib.h>

#define LOOM_BLEU_MOST 4

typedef struct
{
  gint64 found[LOOM_BLEU_MOST],
      said[LOOM_BLEU_MOST]; /* n-grams of n + 1 tokens in the hypotheses: those in the reference, and all */
  gint64 length, reference; /* tokens of all sentences */
} LoomBleu;

/* Adds the counts of a sentence and its reference, as tokens. */
void loom_bleu_add (LoomBleu *bleu, const gint64 *said, guint n_said, const gint64 *reference, guint n_reference);
/* 0 to 1: the geometric mean of the clipped n-gram precisions times the brevity penalty exp(1 - r/c), if the corpus is
 * shorter than its references. 0 if no n-gram of some length matches. */
double loom_bleu_value (const LoomBleu *bleu);
