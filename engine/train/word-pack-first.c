/* Reads words as they were packed first, from 2026-11-30 to 2026-12-01; see word-pack.h.
 *
 * A block is a byte for its form, then what the form needs (the smallest exponent or the factor, a mask of the words
 * that are not zero or the exceptions), then those words with equally many bits. Exceptions are a byte for their
 * number, and for each a byte for its place and the word itself. */
#include "engine/train/word-pack-private.h"

#define BLOCK 64

/* How words are predicted. */
typedef enum
{
  EXPONENT, /* zero, or at least of the block's smallest exponent */
  EARLIER,  /* the word of the earlier state */
  SCALED,   /* that, a float, times the factor of the block */
  N_KINDS
} Kind;

/* A byte for kind, mask and number of bits (0 to 32); with exceptions the number is from LEAST_BITS to 31. */
#define N_FORMS    (N_KINDS * 2 * 33)
#define LEAST_BITS 13
#define N_BITS     (32 - LEAST_BITS)

static guint32
offset_of (const WordLayout *layout, guint32 exponent)
{
  return exponent == 0 ? 0 : (exponent << layout->mantissa) - 1;
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
restore (const WordLayout *layout, Kind kind, guint32 word, guint32 extra, float factor, const guint32 *base, gsize i)
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
words_unpack_first (const guint8 **at, const guint8 *end, guint32 *now, const guint32 *base, gsize n,
                    gboolean is_unsigned)
{
  const WordLayout *layout = &word_layouts[is_unsigned != FALSE];

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
