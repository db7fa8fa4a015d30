/* Packs the 32-bit words of a tensor without loss: as differences from an earlier state of it, block by block.
 *
 * Weights and the optimiser's averages change slowly or not at all, so each block of words is predicted in three ways:
 * by its smallest exponent, by the earlier words, and by these times one factor (averages of a gradient that has become
 * zero decay alike). The shortest is stored, with equally many bits a word. Words that are zero are a mask; or the few
 * words that need more bits than the others are stored as they are. If no word has its sign bit, none is stored. The
 * state of Adam after some epochs of fashion-lenet takes half of its bytes. Mantissas are noise, so that a general
 * compressor finds little more. */
#pragma once

#include <glib.h>

/* The bytes that n words take at most. */
#define WORDS_PACKED_MOST(n) (((gsize)(n) + 63) / 64 * (13 + 64 * 4))

/* TRUE if none of n words has its sign bit. */
gboolean words_are_unsigned (const guint32 *word, gsize n);
/* Appends n words; base: n words of the earlier state, or NULL. is_unsigned: no word of both has its sign bit. */
void words_pack (GByteArray *out, const guint32 *now, const guint32 *base, gsize n, gboolean is_unsigned);
/* Reads n words from *at, and moves it. FALSE: the bytes end before. */
gboolean
words_unpack (const guint8 **at, const guint8 *end, guint32 *now, const guint32 *base, gsize n, gboolean is_unsigned);
