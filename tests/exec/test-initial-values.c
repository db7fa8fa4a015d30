/* Initial values of whole tensors: bounds, moments and structure, and the same elements for a shard of a tensor, for
 * any number of ranks. The distributions are compared with PyTorch's in tests/reference/initial_values.py. */
#include "engine/run/loom-state.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

/* The values of a slot [rows,columns] of f64, of a part of it, or of `count` elements from `first` on. (transfer full)
 */
static LoomTensor *
values_of (const LoomInit *init, guint64 seed, gint64 rows, gint64 columns, const LoomSlotPart *part, gint64 first,
           gint64 count)
{
  const char *name = "w";
  g_autoptr (LoomDevices) devices = loom_devices_new (0);
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (LoomState) state = loom_state_new (devices, "ref", seed);
  g_autoptr (GError) error = NULL;
  LoomTensor *t;
  int slot;

  loom_program_set_float (p, LOOM_F64);
  slot = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F64, 2, (const gint64[]){ rows, columns }, init, TRUE);
  if (part != NULL)
    loom_program_part_slot (p, slot, part);
  if (count > 0)
    loom_program_shard_slot (p, slot, first, count);
  loom_program_read (p, slot);
  loom_state_add_slots (state, p, &error);
  g_assert_no_error (error);
  if (part == NULL && count == 0)
    {
      t = loom_state_get (state, name, &error);
      g_assert_no_error (error);
      return t;
    }
  /* The memory of ref is that of the host. Getting a shard would gather the shards of all ranks. */
  const gint64 n = count > 0 ? count : rows * columns / part->of;
  t = loom_tensor_new (LOOM_F64, 1, &n, &error);
  g_assert_no_error (error);
  memcpy (t->data, loom_state_address (state, 0), t->bytes);
  return t;
}

static LoomTensor *
values (const LoomInit *init, guint64 seed, gint64 rows, gint64 columns)
{
  return values_of (init, seed, rows, columns, NULL, 0, 0);
}

static void
assert_same (const LoomTensor *a, const LoomTensor *b, gboolean same)
{
  gboolean equal = TRUE;

  for (gint64 i = 0; i < a->count; i++)
    equal = equal && loom_tensor_get (a, i) == loom_tensor_get (b, i);
  g_assert_cmpint (equal, ==, same);
}

/* The vectors are the Q of QR of the random ones: each of those is in the span of the ones up to it, and on the side of
 * its own. */
static void
assert_is_q (const LoomTensor *w, gboolean is_tall, const LoomTensor *random, gint64 n, gint64 m)
{
  for (gint64 i = 0; i < n; i++)
    {
      double whole = 0, inside = 0, own = 0;

      for (gint64 k = 0; k < m; k++)
        whole += loom_tensor_get (random, i * m + k) * loom_tensor_get (random, i * m + k);
      for (gint64 j = 0; j <= i; j++)
        {
          own = 0;
          for (gint64 k = 0; k < m; k++)
            own += loom_tensor_get (random, i * m + k) * loom_tensor_get (w, is_tall ? k * n + j : j * m + k) / 1.5;
          inside += own * own;
        }
      g_assert_cmpfloat (own, >, 0);
      g_assert_cmpfloat_with_epsilon (inside, whole, 1e-9);
    }
}

static void
test_orthogonal (void)
{
  static const gint64 shapes[][2]
      = { { 6, 6 }, { 5, 40 }, { 40, 5 }, { 1, 3 }, { 3, 1 }, { 130, 131 }, { 67, 190 }, { 190, 67 } };

  for (guint s = 0; s < G_N_ELEMENTS (shapes); s++)
    {
      const gint64 rows = shapes[s][0], columns = shapes[s][1], n = MIN (rows, columns), m = MAX (rows, columns);
      const LoomInit init = { .kind = LOOM_INIT_ORTHOGONAL, .a = 1.5, .rows = rows, .columns = columns };
      g_autoptr (LoomTensor) w = values (&init, 3, rows, columns), other = NULL, again = NULL, random = NULL;

      for (gint64 i = 0; i < n; i++)
        for (gint64 j = 0; j < n; j++)
          {
            double dot = 0;

            for (gint64 k = 0; k < m; k++)
              dot += rows <= columns ? loom_tensor_get (w, i * m + k) * loom_tensor_get (w, j * m + k)
                                     : loom_tensor_get (w, k * n + i) * loom_tensor_get (w, k * n + j);
            g_assert_cmpfloat_with_epsilon (dot, i == j ? 2.25 : 0, 1e-12);
          }
      random = values (&(LoomInit){ .kind = LOOM_INIT_NORMAL, .b = 1 }, 3, n, m);
      assert_is_q (w, rows > columns, random, n, m);
      again = values (&init, 3, rows, columns);
      assert_same (w, again, TRUE);
      other = values (&init, 4, rows, columns);
      assert_same (w, other, FALSE);
    }
}

static void
test_trunc_normal (void)
{
  const LoomInit init = { .kind = LOOM_INIT_TRUNC_NORMAL, .a = 1, .b = 2, .low = 0, .high = 4 };
  const gint64 count = 200000;
  g_autoptr (LoomTensor) w = values (&init, 3, 400, 500);
  double sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
  /* Of a normal distribution that is cut off at −0.5 and 1.5 deviations. */
  const double density[2] = { exp (-0.125) / sqrt (2 * G_PI), exp (-1.125) / sqrt (2 * G_PI) };
  const double whole = (erf (1.5 / G_SQRT2) + erf (0.5 / G_SQRT2)) / 2, shift = (density[0] - density[1]) / whole;
  const double variance = 4 * (1 + (-0.5 * density[0] - 1.5 * density[1]) / whole - shift * shift);

  for (gint64 i = 0; i < count; i++)
    {
      const double x = loom_tensor_get (w, i);

      sum += x;
      squares += x * x;
      least = MIN (least, x);
      most = MAX (most, x);
    }
  sum /= count;
  g_assert_cmpfloat (least, >=, 0);
  g_assert_cmpfloat (most, <=, 4);
  g_assert_cmpfloat (least, <, 1e-3);
  g_assert_cmpfloat (most, >, 4 - 1e-2);
  g_assert_cmpfloat_with_epsilon (sum, 1 + 2 * shift, 0.015);
  g_assert_cmpfloat_with_epsilon (squares / count - sum * sum, variance, 0.015);
}

static void
test_structure (void)
{
  const LoomInit eye = { .kind = LOOM_INIT_EYE, .rows = 3, .columns = 5 };
  const LoomInit sparse = { .kind = LOOM_INIT_SPARSE, .a = 0.3, .b = 2, .rows = 10, .columns = 40 };
  /* [4,2,3], two groups: rows 0 and 2 copy channel 0, rows 1 and 3 channel 1. */
  const LoomInit dirac = { .kind = LOOM_INIT_DIRAC, .rows = 4, .columns = 6, .groups = 2, .window = 3, .centre = 1 };
  g_autoptr (LoomTensor) e = values (&eye, 3, 3, 5), d = values (&dirac, 3, 4, 6);
  g_autoptr (LoomTensor) s = values (&sparse, 3, 10, 40);
  guint64 rows[2] = { 0, 0 };

  for (gint64 i = 0; i < e->count; i++)
    g_assert_cmpfloat (loom_tensor_get (e, i), ==, i / 5 == i % 5);
  for (gint64 i = 0; i < d->count; i++)
    g_assert_cmpfloat (loom_tensor_get (d, i), ==, i % 6 == (i / 6 % 2 == 0 ? 1 : 4));
  for (gint64 c = 0; c < 40; c++)
    {
      int zeros = 0;

      for (gint64 r = 0; r < 10; r++)
        if (loom_tensor_get (s, r * 40 + c) == 0)
          {
            zeros++;
            if (c < 2)
              rows[c] |= 1u << r;
          }
      g_assert_cmpint (zeros, ==, 3);
    }
  g_assert_cmpuint (rows[0], !=, rows[1]);
}

/* A rank that has some columns, or some rows, has those of the whole matrix. */
static void
test_parts (void)
{
  static const LoomInitKind kinds[]
      = { LOOM_INIT_TRUNC_NORMAL, LOOM_INIT_EYE, LOOM_INIT_DIRAC, LOOM_INIT_ORTHOGONAL, LOOM_INIT_SPARSE };

  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    for (int axis = 0; axis < 2; axis++)
      {
        const LoomInit init = { .kind = kinds[k],
                                .a = 0.5,
                                .b = 1,
                                .low = -2,
                                .high = 2,
                                .rows = 6,
                                .columns = 8,
                                .groups = 2,
                                .window = 2,
                                .centre = 1 };
        const LoomSlotPart part = { .axis = axis, .blocks = 1, .index = 1, .of = 2 };
        const gint64 columns = axis == 0 ? 8 : 4;
        g_autoptr (LoomTensor) whole = values (&init, 3, 6, 8), own = values_of (&init, 3, 6, 8, &part, 0, 0);
        g_autoptr (LoomTensor) some = values_of (&init, 3, 6, 8, NULL, 17, 11);

        g_assert_cmpint (own->count, ==, 24);
        for (gint64 i = 0; i < some->count; i++)
          g_assert_cmpfloat (loom_tensor_get (some, i), ==, loom_tensor_get (whole, 17 + i));
        for (gint64 i = 0; i < own->count; i++)
          {
            const gint64 row = i / columns + (axis == 0 ? 3 : 0), column = i % columns + (axis == 1 ? 4 : 0);

            g_assert_cmpfloat (loom_tensor_get (own, i), ==, loom_tensor_get (whole, row * 8 + column));
          }
      }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/initial-values/orthogonal", test_orthogonal);
  g_test_add_func ("/initial-values/trunc-normal", test_trunc_normal);
  g_test_add_func ("/initial-values/structure", test_structure);
  g_test_add_func ("/initial-values/parts", test_parts);
  return g_test_run ();
}
