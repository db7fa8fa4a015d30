/* Words of every kind come back from their packs, with and without an earlier state; packs of usual states are small,
 * and damaged ones are refused. */
#include "tests/test-program.h"

#include "engine/train/word-pack.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define N 1000 /* the last block has 40 words */

typedef struct
{
  const char *name;
  float most; /* bytes of the pack by bytes of the words */
  guint32 (*now) (guint i, guint32 base, GRand *rand);
} Case;

static guint32
bits_of (float value)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

static float
value_of (guint32 bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

static guint32
any (guint i, guint32 base, GRand *rand)
{
  return g_rand_int (rand);
}

static guint32
same (guint i, guint32 base, GRand *rand)
{
  return base;
}

static guint32
zero (guint i, guint32 base, GRand *rand)
{
  return 0;
}

static guint32
half_zero (guint i, guint32 base, GRand *rand)
{
  return g_rand_boolean (rand) ? bits_of ((float)g_rand_double_range (rand, 0.5, 1)) : 0;
}

static guint32
moved (guint i, guint32 base, GRand *rand)
{
  return bits_of (value_of (base) * (float)g_rand_double_range (rand, 0.999, 1.001));
}

static guint32
decayed (guint i, guint32 base, GRand *rand)
{
  return bits_of (value_of (base) * 0.2725f);
}

#define STEPS 307

/* Of two of three words the gradient was zero; where it was so for long, the average is 0 now. */
static guint32
dead (guint i, guint32 base, GRand *rand)
{
  float value = value_of (base);

  if (i % 3 == 0)
    return moved (i, base, rand);
  for (guint s = 0; s < STEPS; s++)
    value *= 0.999f;
  return fabsf (value) < FLT_MIN ? 0 : bits_of (value);
}

/* One of 40 is another number. */
static guint32
mostly_moved (guint i, guint32 base, GRand *rand)
{
  return i % 40 == 7 ? g_rand_int (rand) : moved (i, base, rand);
}

static guint32
squared (guint i, guint32 base, GRand *rand)
{
  const float value = (float)g_rand_double_range (rand, 0.01, 1);

  return bits_of (value * value);
}

/* Infinities, NaN, denormal numbers, both zeros, and ordinary ones. */
static guint32
special (guint i, guint32 base, GRand *rand)
{
  static const guint32 word[] = { 0x7f800000, 0xff800000, 0x7fc00000, 0xffffffff, 0x7fffffff, 1,
                                  0x80000001, 0x007fffff, 0x80000000, 0,          0x00800000, 0x3f800000 };

  return word[g_rand_int_range (rand, 0, G_N_ELEMENTS (word))];
}

static const Case cases[] = { { "any", 1.04f, any },         { "same", 0.01f, same },
                              { "zero", 0.01f, zero },       { "half-zero", 0.45f, half_zero },
                              { "moved", 0.6f, moved },      { "decayed", 0.15f, decayed },
                              { "special", 1.04f, special }, { "mostly-moved", 0.67f, mostly_moved },
                              { "squared", 0.89f, squared }, { "dead", 0.31f, dead } };

static void
test_round_trip (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  guint32 base[N], now[N], back[N];

  for (guint round = 0; round < 20; round++)
    for (guint with_base = 0; with_base < 2; with_base++)
      {
        g_autoptr (GByteArray) out = g_byte_array_new ();
        const guint n = round == 0 ? N : (guint)g_rand_int_range (rand, 0, N);
        const guint8 *at;
        gboolean plain;
        WordDecay decay;

        for (guint i = 0; i < N; i++)
          {
            base[i] = round % 4 == 3 ? special (i, 0, rand)
                                     : bits_of ((float)g_rand_double_range (rand, round % 4 == 1 ? 0 : -1, 1));
            now[i] = c->now (i, base[i], rand);
            back[i] = 5;
          }
        plain = words_are_unsigned (now, n) && (!with_base || words_are_unsigned (base, n));
        decay = words_find_decay (now, base, n, STEPS);
        if (c->now == dead && round == 0)
          g_assert_true (decay.factor == 0.999f && decay.steps == STEPS);
        words_pack (out, now, with_base ? base : NULL, &decay, n, plain);
        g_assert_cmpuint (out->len, <=, WORDS_PACKED_MOST (n));
        at = out->data;
        g_assert_true (words_unpack (&at, out->data + out->len, back, with_base ? base : NULL, &decay, n, plain));
        g_assert_true (at == out->data + out->len);
        g_assert_cmpmem (now, n * sizeof *now, back, n * sizeof *back);
        if (plain && n > 0)
          {
            g_autoptr (GByteArray) with_signs = g_byte_array_new ();
            words_pack (with_signs, now, with_base ? base : NULL, &decay, n, FALSE);
            g_assert_cmpuint (out->len, <=, with_signs->len);
          }
        if (round == 0 && with_base)
          {
            g_test_message ("%.3f", (double)out->len / (4.0 * N));
            g_assert_cmpfloat ((float)out->len, <=, c->most * 4 * N);
          }
        /* Each shorter one ends too early. */
        for (guint length = 0; length < out->len; length += 1 + out->len / 50)
          {
            at = out->data;
            g_assert_false (words_unpack (&at, out->data + length, back, with_base ? base : NULL, &decay, n, plain));
          }
        /* A changed byte is read without a fault of memory, whatever it becomes. */
        for (guint k = 0; k < 20 && out->len > 0; k++)
          {
            out->data[g_rand_int_range (rand, 0, (gint32)out->len)] ^= (guint8)g_rand_int (rand);
            at = out->data;
            words_unpack (&at, out->data + out->len, back, with_base ? base : NULL, &decay, n, plain);
          }
      }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/word-pack/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_round_trip);
    }
  return g_test_run ();
}
