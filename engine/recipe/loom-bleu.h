/* BLEU of a corpus: Papineni, Roukos, Ward and Zhu, "BLEU: a method for automatic evaluation of machine translation"
 * (2002), with runs of one to four tokens weighed alike, one reference a sentence, and no smoothing. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define LOOM_BLEU_MOST 4

typedef struct
{
  gint64 found[LOOM_BLEU_MOST], said[LOOM_BLEU_MOST]; /* runs of n + 1 tokens: those of the reference, and all */
  gint64 length, reference;                           /* tokens of all sentences */
} LoomBleu;

/* Counts a sentence against its reference, as numbers of tokens. */
void loom_bleu_add (LoomBleu *bleu, const gint64 *said, guint n_said, const gint64 *reference, guint n_reference);
/* 0 to 1: the geometric mean of the shares of runs that are in the reference, at most as often as there, times the
 * brevity penalty exp(1 - r/c) of a corpus that is shorter than its references. 0 where of one length none is found. */
double loom_bleu_value (const LoomBleu *bleu);

G_END_DECLS
