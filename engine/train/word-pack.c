/* Packs words in blocks; see the header.
 *
 * A block is a byte for its form, then what the form needs (the smallest exponent or the factor, a mask of the words
 * that are not zero or the exceptions), then those words with equally many bits. Exceptions are a byte for their
 * number, and for each a byte for its place and the word itself. */
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

/* Kind, mask and number of bits (0 to 32) in one byte; with exceptions the number is from LEAST_BITS to 31. */
#define FORM(kind, masked, bits)  (guint8) (((kind)*2 + (masked)) * 33 + (bits))
#define N_FORMS                   (N_KINDS * 2 * 33)
#define LEAST_BITS                13
#define N_BITS                    (32 - LEAST_BITS)
#define FORM_EXCEPT(kind, bits)   (guint8) (N_FORMS + (kind)*N_BITS + (bits)-LEAST_BITS)
#define BITS_OF_EXCEPTIONS(count) (8 + 40 * (count))

typedef struct
{
  guint32 word[BLOCK];
  guint32 all;          /* the bits that any of them has */
  guint n;              /* of those that are not zero */
  guint32 extra;        /* the exponent, or the factor */
  guint bits, n_except; /* of the form with exceptions; bits 0: it does not pay */
} Residual;

/* How words are numbers: the sign becomes the lowest bit, so that words of small numbers are small, or is left out. */
typedef struct
{
  guint sign;     /* bits of the sign: 0 or 1 */
  guint mantissa; /* bits below the exponent */
} Layout;

static const Layout layouts[] = { [FALSE] = { 1, 24 }, [TRUE] = { 0, 23 } }; /* by is_unsigned */

static guint32
rotate (const Layout *layout, guint32 word)
{
  return layout->sign != 0 ? word << 1 | word >> 31 : word;
}

static guint32
rotate_back (const Layout *layout, guint32 word)
{
  return layout->sign != 0 ? word >> 1 | word << 31 : word;
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

static guint
count_bits (guint32 all)
{
  return all == 0 ? 0 : 32 - (guint)__builtin_clz (all);
}

/* The number of bits with which words and exceptions are shortest. */
static void
choose_bits (Residual *self, guint n)
{
  guint of[33] = { 0 }, above = 0;
  gsize least = (gsize)n * count_bits (self->all);

  self->bits = self->n_except = 0;
  for (guint i = 0; i < n; i++)
    of[count_bits (self->word[i])]++;
  for (guint bits = 32; bits-- > LEAST_BITS;)
    {
      above += of[bits + 1];
      if ((gsize)n * bits + BITS_OF_EXCEPTIONS (above) >= least)
        continue;
      least = (gsize)n * bits + BITS_OF_EXCEPTIONS (above);
      self->bits = bits;
      self->n_except = above;
    }
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
  choose_bits (self, n);
}

static guint32
offset_of (const Layout *layout, guint32 exponent)
{
  return exponent == 0 ? 0 : (exponent << layout->mantissa) - 1;
}

/* From `least` on; smaller numbers are exceptions. */
static void
by_exponent (Residual *self, const Layout *layout, const guint32 *now, guint n, guint32 least)
{
  self->extra = least;
  for (guint i = 0; i < n; i++)
    {
      const guint32 word = rotate (layout, now[i]);

      self->word[i] = word == 0                           ? 0
                      : word >> layout->mantissa >= least ? word - offset_of (layout, least)
                                                          : G_MAXUINT32;
    }
  measure (self, n);
}

/* The least exponent of all words, and the one from which on they are shortest with exceptions. */
static void
find_exponents (const Layout *layout, const guint32 *now, guint n, guint32 *least, guint32 *best)
{
  guint of[256] = { 0 }, below = 0, cost = G_MAXUINT;
  guint32 most = 0;

  *least = 255;
  for (guint i = 0; i < n; i++)
    {
      const guint32 word = rotate (layout, now[i]), exponent = word >> layout->mantissa;

      if (word == 0)
        continue;
      of[exponent]++;
      *least = MIN (*least, exponent);
      most = MAX (most, exponent);
    }
  *best = *least;
  for (guint32 e = *least; e <= most; e++)
    {
      const guint bits = n * (layout->mantissa + count_bits (most - e)) + BITS_OF_EXCEPTIONS (below);

      if (bits < cost)
        {
          cost = bits;
          *best = e;
        }
      below += of[e];
    }
}

static void
by_earlier (Residual *self, const Layout *layout, const guint32 *now, const guint32 *base, guint n)
{
  self->extra = 0;
  for (guint i = 0; i < n; i++)
    self->word[i] = fold (rotate (layout, now[i]) - rotate (layout, base[i]));
  measure (self, n);
}

/* The factor is that of the largest earlier number, which has the smallest error. FALSE: there is none. */
static gboolean
by_factor (Residual *self, const Layout *layout, const guint32 *now, const guint32 *base, guint n)
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
    self->word[i] = fold (rotate (layout, now[i]) - rotate (layout, scale (base[i], factor)));
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
size_plain (const Residual *self, guint n)
{
  const guint bits = count_bits (self->all);

  return pays_mask (self, n) ? BLOCK + self->n * bits : n * bits;
}

static gboolean
has_exceptions (const Residual *self, guint n)
{
  return self->bits > 0 && n * self->bits + BITS_OF_EXCEPTIONS (self->n_except) < size_plain (self, n);
}

static guint
size_of (const Residual *self, Kind kind, guint n)
{
  static const guint extra[N_KINDS] = { 8, 0, 32 };

  return extra[kind]
         + (has_exceptions (self, n) ? n * self->bits + BITS_OF_EXCEPTIONS (self->n_except) : size_plain (self, n));
}

typedef struct
{
  guint8 bytes[1 + 4 + 8 + BLOCK * 5 + BLOCK * 4 + 8];
  guint n;
} Block;

static void
put (Block *block, const void *data, guint n)
{
  memcpy (block->bytes + block->n, data, n);
  block->n += n;
}

/* Little-endian, so that the first bytes of a number are its lowest. */
static void
put_extra (Block *block, const Residual *self, Kind kind)
{
  if (kind != EARLIER)
    put (block, &self->extra, kind == EXPONENT ? 1 : 4);
}

/* The words with this number of bits; those that need more are 0. */
static void
put_words (Block *block, const Residual *self, guint n, guint bits, gboolean masked)
{
  guint held = 0;
  guint64 hold = 0;

  for (guint i = 0; i < n && bits > 0; i++)
    {
      const guint32 word = self->word[i];

      if (masked && word == 0)
        continue;
      hold |= (guint64)((guint64)word >> bits != 0 ? 0 : word) << held;
      held += bits;
      if (held >= 32)
        {
          put (block, &hold, 4);
          hold >>= 32;
          held -= 32;
        }
    }
  put (block, &hold, (held + 7) / 8);
}

static void
append_with_exceptions (GByteArray *out, const Residual *self, Kind kind, const guint32 *now, guint n)
{
  Block block = { { FORM_EXCEPT (kind, self->bits) }, 1 };
  const guint8 count = (guint8)self->n_except;

  put_extra (&block, self, kind);
  put (&block, &count, 1);
  for (guint8 i = 0; i < n; i++)
    if ((guint64)self->word[i] >> self->bits != 0)
      {
        put (&block, &i, 1);
        put (&block, &now[i], 4);
      }
  put_words (&block, self, n, self->bits, FALSE);
  g_byte_array_append (out, block.bytes, block.n);
}

static void
append (GByteArray *out, const Residual *self, Kind kind, guint n)
{
  const gboolean masked = pays_mask (self, n);
  const guint bits = count_bits (self->all);
  Block block = { { FORM (kind, masked, bits) }, 1 };
  guint64 mask = 0;

  put_extra (&block, self, kind);
  for (guint i = 0; masked && i < n; i++)
    mask |= (guint64)(self->word[i] != 0) << i;
  if (masked)
    put (&block, &mask, 8);
  put_words (&block, self, n, bits, masked);
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

static void
pack_block (GByteArray *out, const Layout *layout, const guint32 *now, const guint32 *base, guint n)
{
  /* The least exponent with and without exceptions, then those with a base. */
  static const Kind kinds[] = { EXPONENT, EXPONENT, EARLIER, SCALED };
  Residual made[G_N_ELEMENTS (kinds)];
  guint best = 0, n_made = 1;
  guint32 least, cheapest;

  find_exponents (layout, now, n, &least, &cheapest);
  by_exponent (&made[0], layout, now, n, least);
  by_exponent (&made[1], layout, now, n, cheapest);
  n_made = made[1].bits > 0 ? 2 : 1;
  if (base != NULL)
    {
      by_earlier (&made[2], layout, now, base, n);
      n_made = made[2].all != 0 && by_factor (&made[3], layout, now, base, n) ? 4 : 3;
    }
  for (guint i = 1; i < n_made; i++)
    if ((i != 1 || has_exceptions (&made[1], n))
        && size_of (&made[i], kinds[i], n) < size_of (&made[best], kinds[best], n))
      best = i;
  if (has_exceptions (&made[best], n))
    append_with_exceptions (out, &made[best], kinds[best], now, n);
  else
    append (out, &made[best], kinds[best], n);
}

void
words_pack (GByteArray *out, const guint32 *now, const guint32 *base, gsize n, gboolean is_unsigned)
{
  for (gsize i = 0; i < n; i += BLOCK)
    pack_block (out, &layouts[is_unsigned != FALSE], now + i, base != NULL ? base + i : NULL,
                (guint)MIN (BLOCK, n - i));
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
restore (const Layout *layout, Kind kind, guint32 word, guint32 extra, float factor, const guint32 *base, gsize i)
{
  if (kind == EXPONENT)
    return rotate_back (layout, word != 0 ? word + offset_of (layout, extra) : 0);
  return rotate_back (layout, unfold (word) + rotate (layout, kind == EARLIER ? base[i] : scale (base[i], factor)));
}

/* What is before the words of a block. */
typedef struct
{
  Kind kind;
  guint bits;
  guint64 mask; /* of the words that are stored */
  guint32 extra;
  const guint8 *except; /* NULL: none */
  guint8 n_except;
} Head;

static gboolean
read_head (const guint8 **at, const guint8 *end, gboolean has_base, guint n, Head *head)
{
  const guint64 all = n == BLOCK ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << n) - 1;
  gboolean masked, excepts;
  guint8 form;

  *head = (Head){ .mask = all };
  if (!take (at, end, &form, 1))
    return FALSE;
  excepts = form >= N_FORMS;
  masked = !excepts && form / 33 % 2 == 1;
  head->kind = (Kind)(excepts ? (form - N_FORMS) / N_BITS : form / 66);
  head->bits = excepts ? LEAST_BITS + (form - N_FORMS) % N_BITS : form % 33;
  if (head->kind >= N_KINDS || (head->kind != EXPONENT && !has_base)
      || (head->kind != EARLIER && !take (at, end, &head->extra, head->kind == EXPONENT ? 1 : 4))
      || (masked && !take (at, end, &head->mask, 8)) || (head->mask & ~all) != 0
      || (excepts && (!take (at, end, &head->n_except, 1) || end - *at < 5 * head->n_except)))
    return FALSE;
  head->except = *at;
  *at += 5 * head->n_except;
  return TRUE;
}

gboolean
words_unpack (const guint8 **at, const guint8 *end, guint32 *now, const guint32 *base, gsize n, gboolean is_unsigned)
{
  const Layout *layout = &layouts[is_unsigned != FALSE];

  for (gsize i = 0; i < n; i += BLOCK)
    {
      const guint count = (guint)MIN (BLOCK, n - i);
      guint32 word[BLOCK];
      float factor;
      Head head;

      if (!read_head (at, end, base != NULL, count, &head) || !read_words (at, end, word, head.mask, head.bits, count))
        return FALSE;
      memcpy (&factor, &head.extra, sizeof factor);
      for (guint k = 0; k < count; k++)
        now[i + k] = restore (layout, head.kind, word[k], head.extra, factor, base, i + k);
      for (const guint8 *one = head.except; one < head.except + 5 * head.n_except; one += 5)
        {
          if (*one >= count)
            return FALSE;
          memcpy (&now[i + *one], one + 1, 4);
        }
    }
  return TRUE;
}
