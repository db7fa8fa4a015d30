/* Packs words in blocks; see the header.
 *
 * A block is a byte for its form, then what the form needs (a mask of the words that are not zero, the smallest
 * exponent or the factor), then those words with equally many bits. */
#include "engine/train/word-pack.h"

#include <string.h>

#define BLOCK 64 /* words: as many as a mask has bits */

/* How words are predicted. */
typedef enum
{
  EXPONENT, /* zero, or at least of the block's smallest exponent */
  EARLIER,  /* the word of the earlier state */
  SCALED,   /* that, a float, times the factor of the block */
  N_KINDS
} Kind;

/* Kind, mask and number of bits (0 to 32) in one byte. */
#define FORM(kind, masked, bits) (guint8) (((kind)*2 + (masked)) * 33 + (bits))

typedef struct
{
  guint32 word[BLOCK];
  guint32 all;   /* the bits that any of them has */
  guint n;       /* of those that are not zero */
  guint32 extra; /* the exponent, or the factor */
} Residual;

/* The sign becomes the lowest bit, so that words of small numbers are small. */
static guint32
rotate (guint32 word)
{
  return word << 1 | word >> 31;
}

static guint32
rotate_back (guint32 word)
{
  return word >> 1 | word << 31;
}

/* Differences close to zero, of either sign, become small. */
static guint32
fold (guint32 difference)
{
  return difference << 1 ^ (guint32)((gint32)difference >> 31);
}

static guint32
unfold (guint32 folded)
{
  return folded >> 1 ^ (0u - (folded & 1));
}

static gboolean
is_ordinary (guint32 bits)
{
  const guint32 exponent = bits >> 23 & 255;

  return exponent != 0 && exponent != 255;
}

/* Threads treat denormal numbers differently, and what results may not depend on that. */
static guint32
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

static void
measure (Residual *self, guint n)
{
  self->all = 0;
  self->n = 0;
  for (guint i = 0; i < n; i++)
    {
      self->all |= self->word[i];
      self->n += self->word[i] != 0;
    }
}

static guint
count_bits (guint32 all)
{
  return all == 0 ? 0 : 32 - (guint)__builtin_clz (all);
}

static guint32
offset_of (guint32 exponent)
{
  return exponent == 0 ? 0 : (exponent << 24) - 1;
}

static void
by_exponent (Residual *self, const guint32 *now, guint n)
{
  guint32 least = G_MAXUINT32;

  for (guint i = 0; i < n; i++)
    {
      self->word[i] = rotate (now[i]);
      least = MIN (least, self->word[i] != 0 ? self->word[i] : G_MAXUINT32);
    }
  self->extra = least >> 24;
  for (guint i = 0; i < n; i++)
    self->word[i] -= self->word[i] != 0 ? offset_of (self->extra) : 0;
  measure (self, n);
}

static void
by_earlier (Residual *self, const guint32 *now, const guint32 *base, guint n)
{
  self->extra = 0;
  for (guint i = 0; i < n; i++)
    self->word[i] = fold (rotate (now[i]) - rotate (base[i]));
  measure (self, n);
}

/* The factor is that of the largest earlier number, which has the smallest error. FALSE: there is none. */
static gboolean
by_factor (Residual *self, const guint32 *now, const guint32 *base, guint n)
{
  guint32 most = 0;
  float before, after, factor;
  guint at = 0;

  for (guint i = 0; i < n; i++)
    if (is_ordinary (base[i]) && (base[i] & G_MAXINT32) > most)
      {
        most = base[i] & G_MAXINT32;
        at = i;
      }
  if (most == 0 || !is_ordinary (now[at]))
    return FALSE;
  memcpy (&before, &base[at], sizeof before);
  memcpy (&after, &now[at], sizeof after);
  factor = after / before;
  memcpy (&self->extra, &factor, sizeof factor);
  if (!is_ordinary (self->extra))
    return FALSE;
  for (guint i = 0; i < n; i++)
    self->word[i] = fold (rotate (now[i]) - rotate (scale (base[i], factor)));
  measure (self, n);
  return TRUE;
}

/* ---- bits ---------------------------------------------------------------- */

static gboolean
pays_mask (const Residual *self, guint n)
{
  return self->n < n && self->n * count_bits (self->all) + BLOCK < n * count_bits (self->all);
}

static guint
size_of (const Residual *self, Kind kind, guint n)
{
  const guint bits = count_bits (self->all);
  static const guint extra[N_KINDS] = { 8, 0, 32 };

  return extra[kind] + (pays_mask (self, n) ? BLOCK + self->n * bits : n * bits);
}

static void
append (GByteArray *out, const Residual *self, Kind kind, guint n)
{
  const gboolean masked = pays_mask (self, n);
  const guint bits = count_bits (self->all);
  guint8 bytes[1 + 4 + 8 + BLOCK * 4 + 8];
  guint at = 0, held = 0;
  guint64 mask = 0, hold = 0;

  bytes[at++] = FORM (kind, masked, bits);
  if (kind == EXPONENT)
    bytes[at++] = (guint8)self->extra;
  else if (kind == SCALED)
    {
      memcpy (bytes + at, &self->extra, 4);
      at += 4;
    }
  if (masked)
    {
      for (guint i = 0; i < n; i++)
        mask |= (guint64)(self->word[i] != 0) << i;
      memcpy (bytes + at, &mask, 8);
      at += 8;
    }
  for (guint i = 0; i < n && bits > 0; i++)
    {
      if (masked && self->word[i] == 0)
        continue;
      hold |= (guint64)self->word[i] << held;
      held += bits;
      if (held >= 32)
        {
          memcpy (bytes + at, &hold, 4);
          at += 4;
          hold >>= 32;
          held -= 32;
        }
    }
  memcpy (bytes + at, &hold, 4);
  g_byte_array_append (out, bytes, at + (held + 7) / 8);
}

void
words_pack (GByteArray *out, const guint32 *now, const guint32 *base, gsize n)
{
  Residual made[N_KINDS];

  for (gsize i = 0; i < n; i += BLOCK)
    {
      const guint count = (guint)MIN (BLOCK, n - i);
      Kind best = EXPONENT;

      by_exponent (&made[EXPONENT], now + i, count);
      if (base != NULL)
        {
          by_earlier (&made[EARLIER], now + i, base + i, count);
          if (size_of (&made[EARLIER], EARLIER, count) < size_of (&made[best], best, count))
            best = EARLIER;
          if (made[best].all != 0 && by_factor (&made[SCALED], now + i, base + i, count)
              && size_of (&made[SCALED], SCALED, count) < size_of (&made[best], best, count))
            best = SCALED;
        }
      append (out, &made[best], best, count);
    }
}

/* ---- reading ------------------------------------------------------------- */

static gboolean
take (const guint8 **at, const guint8 *end, void *to, gsize n)
{
  if ((gsize)(end - *at) < n)
    return FALSE;
  memcpy (to, *at, n);
  *at += n;
  return TRUE;
}

/* Reads the words that are stored; the others are 0. */
static gboolean
read_words (const guint8 **at, const guint8 *end, guint32 *word, guint64 mask, guint bits, guint n)
{
  const gsize bytes = ((gsize)__builtin_popcountll (mask) * bits + 7) / 8;
  const guint64 low = (G_GUINT64_CONSTANT (1) << bits) - 1;
  guint8 held[BLOCK * 4 + 8] = { 0 };
  guint64 window;
  gsize bit = 0;

  if (!take (at, end, held, bytes))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      word[i] = 0;
      if ((mask >> i & 1) == 0)
        continue;
      memcpy (&window, held + bit / 8, 8);
      word[i] = (guint32)(window >> bit % 8 & low);
      bit += bits;
    }
  return TRUE;
}

static guint32
restore (Kind kind, guint32 word, guint32 extra, float factor, const guint32 *base, gsize i)
{
  if (kind == EXPONENT)
    return rotate_back (word != 0 ? word + offset_of (extra) : 0);
  return rotate_back (unfold (word) + rotate (kind == EARLIER ? base[i] : scale (base[i], factor)));
}

gboolean
words_unpack (const guint8 **at, const guint8 *end, guint32 *now, const guint32 *base, gsize n)
{
  for (gsize i = 0; i < n; i += BLOCK)
    {
      const guint count = (guint)MIN (BLOCK, n - i);
      guint64 mask = count == BLOCK ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << count) - 1;
      guint32 word[BLOCK], extra = 0;
      guint8 form;
      float factor;
      Kind kind;

      if (!take (at, end, &form, 1))
        return FALSE;
      kind = (Kind)(form / 66);
      if (kind >= N_KINDS || (kind != EXPONENT && base == NULL)
          || (kind != EARLIER && !take (at, end, &extra, kind == EXPONENT ? 1 : 4))
          || (form / 33 % 2 == 1 && !take (at, end, &mask, 8)) || (count < BLOCK && mask >> count != 0)
          || !read_words (at, end, word, mask, form % 33, count))
        return FALSE;
      memcpy (&factor, &extra, sizeof factor);
      for (guint k = 0; k < count; k++)
        now[i + k] = restore (kind, word[k], extra, factor, base, i + k);
    }
  return TRUE;
}
