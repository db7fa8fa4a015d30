/* Words as numbers, and what predicts them; of word-pack*.c. state-pack.c reads bytes likewise. */
#pragma once

#include "engine/train/word-pack.h"

#include <string.h>

/* How words are numbers: the sign becomes the lowest bit, so that words of small numbers are small, or is left out. */
typedef struct
{
  guint sign;     /* bits of the sign: 0 or 1 */
  guint mantissa; /* bits below the exponent */
} WordLayout;

static const WordLayout word_layouts[] = { [FALSE] = { 1, 24 }, [TRUE] = { 0, 23 } }; /* by is_unsigned */

static inline guint32
rotate (const WordLayout *layout, guint32 word)
{
  return layout->sign != 0 ? word << 1 | word >> 31 : word;
}

static inline guint32
rotate_back (const WordLayout *layout, guint32 word)
{
  return layout->sign != 0 ? word >> 1 | word << 31 : word;
}

static inline guint32
unfold (guint32 folded)
{
  return folded >> 1 ^ (0u - (folded & 1));
}

static inline gboolean
is_ordinary (guint32 bits)
{
  const guint32 exponent = bits >> 23 & 255;

  return exponent != 0 && exponent != 255;
}

/* Threads treat denormal numbers differently, and what results may not depend on that. */
static inline guint32
scale (guint32 earlier, float factor)
{
  float value;
  guint32 bits;

  if (!is_ordinary (earlier))
    return 0;
  memcpy (&value, &earlier, sizeof value);
  value *= factor;
  memcpy (&bits, &value, sizeof bits);
  return is_ordinary (bits) ? bits : 0;
}

static inline gboolean
take (const guint8 **at, const guint8 *end, void *to, gsize n)
{
  if ((gsize)(end - *at) < n)
    return FALSE;
  memcpy (to, *at, n);
  *at += n;
  return TRUE;
}
