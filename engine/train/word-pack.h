/* Packs the 32-bit words of a tensor without loss: as differences from an earlier state of it, block by block.
 *
 * Weights and the optimiser's averages change slowly or not at all, so each block of words is predicted in four ways:
 * by its smallest exponent, by the earlier words, by these times one factor, and by these after their decay: while a
 * gradient is zero, each step multiplies its averages by beta, which is repeated here with its roundings, so that
 * nothing remains. The shortest is stored, in a code for numbers of which most are small. Words that are zero may be a
 * mask. If no word has its sign bit, none is stored. The state of Adam after some epochs of fashion-lenet takes less than
 * half of its bytes; a third of its averages of squares belong to units that are dead. Mantissas are noise, so that a
 * general compressor finds little more. */
#pragma once

#include <glib.h>

#define WORD_DECAY_MOST G_GINT64_CONSTANT (2000000000) /* products of all words and steps */

/* Words that every step has multiplied by this number. */
typedef struct
{
  float factor;  /* below 1 */
  guint32 steps; /* 0: there are none */
} WordDecay;

/* The decay of some of n words since an earlier state, this number of steps before. */
WordDecay words_find_decay (const guint32 *now, const guint32 *base, gsize n, guint32 steps);

/* The bytes that n words take at most. */
#define WORDS_PACKED_MOST(n) (((gsize)(n) + 63) / 64 * (13 + 64 * 34 / 8))

/* TRUE if none of n words has its sign bit. */
gboolean words_are_unsigned (const guint32 *word, gsize n);
/* Appends n words; base: n words of the earlier state, or NULL. is_unsigned: no word of both has its sign bit. */
void words_pack (GByteArray *out, const guint32 *now, const guint32 *base, const WordDecay *decay, gsize n,
                 gboolean is_unsigned);
/* Reads n words from *at, and moves it. FALSE: the bytes end before. */
gboolean words_unpack (const guint8 **at, const guint8 *end, guint32 *now, const guint32 *base, const WordDecay *decay,
                       gsize n, gboolean is_unsigned);
/* The same of words as they were packed first. */
gboolean words_unpack_first (const guint8 **at, const guint8 *end, guint32 *now, const guint32 *base, gsize n,
                             gboolean is_unsigned);
