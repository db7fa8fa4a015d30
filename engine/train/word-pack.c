/* Packs words in blocks; see the header.
 *
 * A block is a byte for its form, what the form needs (the largest exponent or a factor, a mask of the words that are
 * stored), and those words in Golomb's code with a power of two: a word without its lowest bits is a number of zeros and
 * a one, then come these bits; a word with too many zeros follows as it is. (R. F. Rice, "Some Practical Universal
 * Noiseless Coding Techniques", 1979) */
#include "engine/train/word-pack-private.h"

#include "engine/core/loom-clones.h"

#include <math.h>

#define BLOCK  64  /* words: as many as a mask has bits */
#define PART   256 /* words that decay at once: as many vectors as hide how long a product takes */
#define ESCAPE 20  /* zeros, after which a word follows as it is */
#define NEAR   1   /* numbers of bits that are tried on both sides of the one that the words suggest */
#define MOST   30  /* bits: then three zeros and a one come before them at most */

/* How words are predicted. */
typedef enum
{
  EXPONENT, /* zero, or not far below the largest number of the block's largest exponent */
  EARLIER,  /* the word of the earlier state */
  SCALED,   /* that, a float, times the factor of the block */
  DECAYED,  /* that after its decay */
  N_KINDS
} Kind;

#define FORM(kind, masked, bits) (guint8) ((kind) << 6 | (masked) << 5 | (bits))
#define NOTHING                  31 /* instead of bits, with a mask of zeros, which is left out */

/* A block by one kind of prediction. */
typedef struct
{
  guint32 word[BLOCK]; /* how far it is from the prediction */
  guint64 mask;        /* of the words that are stored if there is a mask: all others are predicted, or zero */
  guint32 extra;       /* the exponent, or the factor */
  gboolean masked;
  guint bits; /* of a word that are stored as they are */
  guint size; /* bits of all */
} Residual;

/* Differences close to zero, of either sign, become small. */
static guint32
fold (guint32 difference)
{
  return difference << 1 ^ (guint32)((gint32)difference >> 31);
}

/* ---- decay --------------------------------------------------------------- */

#define DECAY_SAMPLES 32
#define DECAY_FOUND   2 /* of them, with the same factor */
#define DECAY_AT_ONCE 4 /* steps, between which a number stays in its register */

LOOM_VECTOR_CLONES static void
decay_floats (LoomFloats *value, guint n, float factor, guint32 steps)
{
  for (; steps >= DECAY_AT_ONCE; steps -= DECAY_AT_ONCE)
    for (guint i = 0; i < n; i++)
      {
        LoomFloats one = value[i];

        one *= factor;
        one *= factor;
        one *= factor;
        one *= factor;
        value[i] = one;
      }
  for (; steps > 0; steps--)
    for (guint i = 0; i < n; i++)
      value[i] *= factor;
}

/* `to` has up to PART words from `from` on after their decay. A denormal number is 0 in a step, and stays one here
 * without that. */
static void
decay_words (guint32 *to, const guint32 *from, guint n, const WordDecay *decay)
{
  LoomFloats value[PART / LOOM_N_FLOATS] = { 0 };

  memcpy (value, from, n * sizeof *from);
  decay_floats (value, (n + LOOM_N_FLOATS - 1) / LOOM_N_FLOATS, decay->factor, decay->steps);
  memcpy (to, value, n * sizeof *to);
  for (guint i = 0; i < n; i++)
    to[i] = is_ordinary (to[i]) ? to[i] : 0;
}

static gboolean
has_decayed (guint32 now, guint32 before, const WordDecay *decay)
{
  guint32 word;

  decay_words (&word, &before, 1, decay);
  return word == now;
}

/* The factor by which `steps` multiplications make one of the other. Their roundings move its root by less than the
 * distance of two floats. 0: there is none. */
static float
find_factor (guint32 now, guint32 before, guint32 steps)
{
  float factor[3], from, to;

  if (!is_ordinary (now) || !is_ordinary (before) || (now & G_MAXINT32) >= (before & G_MAXINT32))
    return 0;
  memcpy (&from, &before, sizeof from);
  memcpy (&to, &now, sizeof to);
  if (to / from <= 0)
    return 0;
  factor[0] = (float)pow ((double)to / from, 1.0 / steps);
  factor[1] = nextafterf (factor[0], 0);
  factor[2] = nextafterf (factor[0], 1);
  for (guint i = 0; i < G_N_ELEMENTS (factor); i++)
    if (factor[i] < 1 && has_decayed (now, before, &(WordDecay){ factor[i], steps }))
      return factor[i];
  return 0;
}

WordDecay
words_find_decay (const guint32 *now, const guint32 *base, gsize n, guint32 steps)
{
  const gsize every = MAX (n / DECAY_SAMPLES, 1);
  float factor[DECAY_SAMPLES];
  guint found = 0;

  if (steps < 2 || n == 0 || steps > WORD_DECAY_MOST / n)
    return (WordDecay){ 0 };
  for (gsize i = every / 2; i < n && found < DECAY_SAMPLES; i += every)
    {
      guint same = 1;

      factor[found] = find_factor (now[i], base[i], steps);
      for (guint k = 0; k < found; k++)
        same += factor[k] == factor[found];
      if (factor[found] > 0 && same == DECAY_FOUND)
        return (WordDecay){ factor[found], steps };
      found += factor[found] > 0;
    }
  return (WordDecay){ 0 };
}

/* ---- residuals ----------------------------------------------------------- */

static guint
count_bits (guint32 word)
{
  return word == 0 ? 0 : 32 - (guint)__builtin_clz (word);
}

static guint
size_of_words (const guint32 *word, guint n, guint bits)
{
  guint size = 0;

  for (guint i = 0; i < n; i++)
    size += word[i] >> bits < ESCAPE ? (word[i] >> bits) + 1 + bits : ESCAPE + 32;
  return size;
}

/* Chooses the mask and the number of bits. */
static void
measure (Residual *self, Kind kind, guint n)
{
  static const guint extra[N_KINDS] = { 8, 0, 32, 0 };
  guint32 stored[BLOCK];
  guint sum = 0, count = 0, middle;

  for (guint i = 0; i < n; i++)
    if (self->mask >> i & 1)
      {
        stored[count++] = self->word[i];
        sum += count_bits (self->word[i]);
      }
  middle = sum / MAX (count, 1);
  self->masked = n - count > BLOCK / (MAX (middle, 1) + 1);
  if (count == 0)
    {
      self->masked = TRUE;
      self->bits = NOTHING;
      self->size = 8 + extra[kind];
      return;
    }
  if (!self->masked && count < n)
    memcpy (stored, self->word, n * sizeof *stored);
  count = self->masked ? count : n;
  self->bits = MOST;
  self->size = size_of_words (stored, count, MOST);
  for (guint bits = MAX (middle, NEAR) - NEAR; bits <= MIN (middle + NEAR, MOST - 1); bits++)
    {
      const guint size = size_of_words (stored, count, bits);

      if (size >= self->size)
        continue;
      self->size = size;
      self->bits = bits;
    }
  self->size += 8 + extra[kind] + (self->masked ? BLOCK : 0);
}

/* The largest number with this exponent. */
static guint32
top_of (const WordLayout *layout, guint32 exponent)
{
  return (guint32)((((guint64)exponent + 1) << layout->mantissa) - 1);
}

static void
by_exponent (Residual *self, const WordLayout *layout, const guint32 *now, guint n)
{
  guint32 most = 0;

  for (guint i = 0; i < n; i++)
    most = MAX (most, rotate (layout, now[i]) >> layout->mantissa);
  self->extra = most;
  self->mask = 0;
  for (guint i = 0; i < n; i++)
    {
      self->word[i] = top_of (layout, most) - rotate (layout, now[i]);
      self->mask |= (guint64)(now[i] != 0) << i;
    }
  measure (self, EXPONENT, n);
}

static void
by_words (Residual *self, Kind kind, const WordLayout *layout, const guint32 *now, const guint32 *predicted, guint n)
{
  self->mask = 0;
  for (guint i = 0; i < n; i++)
    {
      self->word[i] = fold (rotate (layout, now[i]) - rotate (layout, predicted[i]));
      self->mask |= (guint64)(self->word[i] != 0) << i;
    }
  measure (self, kind, n);
}

/* The factor is that of the largest earlier number, which has the smallest error. FALSE: there is none. */
static gboolean
by_factor (Residual *self, const WordLayout *layout, const guint32 *now, const guint32 *base, guint n)
{
  guint32 scaled[BLOCK], most = 0;
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
    scaled[i] = scale (base[i], factor);
  by_words (self, SCALED, layout, now, scaled, n);
  return TRUE;
}

/* ---- bits ---------------------------------------------------------------- */

typedef struct
{
  guint8 bytes[1 + 4 + 8 + BLOCK * (ESCAPE + 32) / 8 + 8];
  guint n;
  guint64 hold; /* bits that make no word yet */
  guint held;
} Block;

static void
put (Block *block, const void *data, guint n)
{
  memcpy (block->bytes + block->n, data, n);
  block->n += n;
}

/* At most 32. Little-endian, so that the first bytes of a number are its lowest. */
static void
put_bits (Block *block, guint32 value, guint bits)
{
  block->hold |= (guint64)value << block->held;
  block->held += bits;
  if (block->held < 32)
    return;
  put (block, &block->hold, 4);
  block->hold >>= 32;
  block->held -= 32;
}

static void
append (GByteArray *out, const Residual *self, Kind kind, guint n)
{
  const guint8 form = FORM (kind, self->masked != FALSE, self->bits);
  Block block;

  block.n = block.held = 0;
  block.hold = 0;
  put (&block, &form, 1);
  put (&block, &self->extra, kind == EXPONENT ? 1 : kind == SCALED ? 4 : 0);
  if (self->masked && self->bits != NOTHING)
    put (&block, &self->mask, 8);
  for (guint i = 0; i < n; i++)
    {
      const guint32 word = self->word[i], zeros = word >> self->bits;

      if (self->masked && (self->mask >> i & 1) == 0)
        continue;
      if (zeros >= ESCAPE)
        {
          put_bits (&block, 0, ESCAPE);
          put_bits (&block, word, 32);
          continue;
        }
      put_bits (&block, 1u << zeros, zeros + 1);
      put_bits (&block, word & ((1u << self->bits) - 1), self->bits);
    }
  put (&block, &block.hold, (block.held + 7) / 8);
  g_byte_array_append (out, block.bytes, block.n);
}

gboolean
words_are_unsigned (const guint32 *word, gsize n)
{
  guint32 all = 0;

  for (gsize i = 0; i < n; i++)
    all |= word[i];
  return all >> 31 == 0;
}

/* decayed: base after its decay, or NULL. */
static void
pack_block (GByteArray *out, const WordLayout *layout, const guint32 *now, const guint32 *base, const guint32 *decayed,
            guint n)
{
  Residual made[N_KINDS];
  Kind best = EXPONENT;

  for (Kind kind = EARLIER; kind < N_KINDS; kind++)
    made[kind].size = G_MAXUINT;
  by_exponent (&made[EXPONENT], layout, now, n);
  if (base != NULL)
    by_words (&made[EARLIER], EARLIER, layout, now, base, n);
  if (base != NULL && made[EARLIER].mask != 0)
    {
      by_factor (&made[SCALED], layout, now, base, n);
      if (decayed != NULL)
        by_words (&made[DECAYED], DECAYED, layout, now, decayed, n);
    }
  for (Kind kind = EARLIER; kind < N_KINDS; kind++)
    if (made[kind].size < made[best].size)
      best = kind;
  append (out, &made[best], best, n);
}

void
words_pack (GByteArray *out, const guint32 *now, const guint32 *base, const WordDecay *decay, gsize n,
            gboolean is_unsigned)
{
  const gboolean decays = base != NULL && decay->steps > 0;

  for (gsize i = 0; i < n; i += PART)
    {
      const guint part = (guint)MIN (PART, n - i);
      guint32 decayed[PART];

      if (decays)
        decay_words (decayed, base + i, part, decay);
      for (guint k = 0; k < part; k += BLOCK)
        pack_block (out, &word_layouts[is_unsigned != FALSE], now + i + k, base != NULL ? base + i + k : NULL,
                    decays ? decayed + k : NULL, MIN (BLOCK, part - k));
    }
}

/* ---- reading ------------------------------------------------------------- */

/* The bits from `bit` on, at least 57 of them; zeros after the end. */
static guint64
bits_at (const guint8 *at, const guint8 *end, gsize bit)
{
  const guint8 *from = at + bit / 8;
  guint64 window = 0;

  if (from < end)
    memcpy (&window, from, MIN ((gsize)(end - from), sizeof window));
  return window >> bit % 8;
}

/* Reads the words that are stored; the others are 0. */
static gboolean
read_words (const guint8 **at, const guint8 *end, guint32 *word, guint64 mask, guint bits, guint n)
{
  const gsize most = 8 * (gsize)(end - *at);
  gsize bit = 0;

  for (guint i = 0; i < n; i++)
    {
      guint zeros;

      word[i] = 0;
      if ((mask >> i & 1) == 0)
        continue;
      zeros = (guint)__builtin_ctzll (bits_at (*at, end, bit) | 1u << ESCAPE);
      bit += zeros + (zeros < ESCAPE);
      word[i] = (guint32)bits_at (*at, end, bit);
      if (zeros < ESCAPE)
        word[i] = zeros << bits | (word[i] & ((1u << bits) - 1));
      bit += zeros < ESCAPE ? bits : 32;
      if (bit > most)
        return FALSE;
    }
  *at += (bit + 7) / 8;
  return TRUE;
}

/* What is before the words of a block. */
typedef struct
{
  Kind kind;
  guint bits;
  guint64 mask; /* of the words that are stored */
  guint32 extra;
} Head;

static gboolean
read_head (const guint8 **at, const guint8 *end, guint n, Head *head)
{
  const guint64 all = n == BLOCK ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << n) - 1;
  guint8 form;

  *head = (Head){ .mask = all };
  if (!take (at, end, &form, 1))
    return FALSE;
  head->kind = (Kind)(form >> 6);
  head->bits = form & 31;
  if (head->kind == EXPONENT || head->kind == SCALED)
    if (!take (at, end, &head->extra, head->kind == EXPONENT ? 1 : 4))
      return FALSE;
  if ((form & 32) != 0 && head->bits == NOTHING)
    head->mask = 0;
  else if ((form & 32) != 0 && !take (at, end, &head->mask, 8))
    return FALSE;
  return (head->mask & ~all) == 0;
}

static void
restore (const WordLayout *layout, const Head *head, const guint32 *word, guint32 *now, const guint32 *predicted, guint n)
{
  for (guint i = 0; i < n; i++)
    if (head->kind != EXPONENT)
      now[i] = rotate_back (layout, unfold (word[i]) + rotate (layout, predicted[i]));
    else
      now[i] = (head->mask >> i & 1) == 0 ? 0 : rotate_back (layout, top_of (layout, head->extra) - word[i]);
}

gboolean
words_unpack (const guint8 **at, const guint8 *end, guint32 *now, const guint32 *base, const WordDecay *decay, gsize n,
              gboolean is_unsigned)
{
  for (gsize i = 0; i < n; i += BLOCK)
    {
      const guint count = (guint)MIN (BLOCK, n - i);
      const guint32 *predicted = base != NULL ? base + i : NULL;
      guint32 word[BLOCK], changed[BLOCK];
      float factor;
      Head head;

      if (!read_head (at, end, count, &head) || !read_words (at, end, word, head.mask, head.bits, count)
          || (head.kind != EXPONENT && base == NULL) || (head.kind == DECAYED && decay->steps == 0))
        return FALSE;
      memcpy (&factor, &head.extra, sizeof factor);
      if (head.kind == SCALED)
        for (guint k = 0; k < count; k++)
          changed[k] = scale (predicted[k], factor);
      if (head.kind == DECAYED)
        decay_words (changed, predicted, count, decay);
      restore (&word_layouts[is_unsigned != FALSE], &head, word, now + i,
               head.kind == SCALED || head.kind == DECAYED ? changed : predicted, count);
    }
  return TRUE;
}
