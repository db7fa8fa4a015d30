/* Initial values of slots, which depend on the seed and the name alone. */
#include "engine/run/run-private.h"

#include "engine/core/loom-hash.h"
#include "kernels/philox.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The four random numbers that one call of the generator returns for consecutive elements. */
typedef struct
{
  gint64 block; /* element / 4; -1: none yet */
  double element[4];
} Drawn;

static double
random_element (Drawn *drawn, guint64 seed, guint64 stream, gint64 i, gboolean normal)
{
  guint32 word[4];

  if (drawn->block == i / 4)
    return drawn->element[i % 4];
  drawn->block = i / 4;
  loom_philox (seed, stream, 0, (guint64)i / 4, word);
  for (int k = 0; k < 4; k++)
    drawn->element[k] = loom_philox_uniform (word[k]);
  for (int k = 0; k < 4 && normal; k += 2)
    {
      const double angle = 2 * G_PI * drawn->element[k + 1], r = sqrt (-2.0 * log (1.0 - drawn->element[k]));

      drawn->element[k] = r * cos (angle);
      drawn->element[k + 1] = r * sin (angle);
    }
  return drawn->element[i % 4];
}

/* The inverse of erf, by Newton's iteration from an estimate (Winitzki 2008). */
static double
inverse_erf (double y)
{
  const double a = 0.147, log_of = log ((1 - y) * (1 + y)), half = 2 / (G_PI * a) + log_of / 2;
  double x = copysign (sqrt (sqrt (half * half - log_of / a) - half), y);

  if (!(fabs (y) < 1))
    return copysign (INFINITY, y);
  for (int i = 0; i < 3; i++)
    x -= (erf (x) - y) * sqrt (G_PI) / 2 * exp (x * x);
  return x;
}

static double
below (double x)
{
  return (1 + erf (x / G_SQRT2)) / 2;
}

/* torch.nn.init.trunc_normal_: a uniform number between the bounds' probabilities, through the inverse of the normal
 * distribution. */
static double
trunc_normal (const LoomInit *init, double uniform)
{
  const double std = init->b > 0 ? init->b : DBL_MIN;
  const double low = below ((init->low - init->a) / std), high = below ((init->high - init->a) / std);
  const double x = init->a + std * G_SQRT2 * inverse_erf (2 * (low + (high - low) * uniform) - 1);

  return CLAMP (x, init->low, init->high);
}

static double
eye (const LoomInit *init, gint64 place)
{
  return place / init->columns == place % init->columns;
}

/* torch.nn.init.dirac_: row `out` of a group copies input channel `out`. */
static double
dirac (const LoomInit *init, gint64 place)
{
  const gint64 row = place / init->columns, column = place % init->columns;

  return column % init->window == init->centre && column / init->window == row % (init->rows / init->groups);
}

/* ---- whole matrices ------------------------------------------------------------
 *
 * An element of these depends on others, so every rank computes the whole matrix and keeps its part. */

typedef struct
{
  double key;
  gint64 row;
} SparseRow;

static int
compare_rows (gconstpointer a, gconstpointer b)
{
  const SparseRow *x = a, *y = b;

  return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->row > y->row) - (x->row < y->row);
}

/* torch.nn.init.sparse_: in each column, the rows with the smallest of random keys are 0. w: [rows, columns]. */
static void
clear_rows (double *w, const LoomInit *init, guint64 seed, guint64 stream)
{
  const gint64 zeros = (gint64)ceil (init->a * (double)init->rows);
  g_autofree SparseRow *order = g_new (SparseRow, init->rows + 1);

  for (gint64 c = 0; c < init->columns; c++)
    {
      for (gint64 r = 0; r < init->rows; r++)
        {
          guint32 word[4];

          loom_philox (seed, stream, 1, (guint64)(c * init->rows + r), word);
          order[r] = (SparseRow){ loom_philox_uniform (word[0]), r };
        }
      qsort (order, (gsize)init->rows, sizeof *order, compare_rows);
      for (gint64 r = 0; r < zeros; r++)
        w[order[r].row * init->columns + c] = 0;
    }
}

/* [rows, columns], or NULL if elements are independent of each other. */
static double *
whole_matrix (const LoomInit *init, guint64 seed, guint64 stream)
{
  const gint64 n = MIN (init->rows, init->columns), m = MAX (init->rows, init->columns), count = n * m;
  const gboolean is_tall = init->rows > init->columns;
  g_autofree double *w = NULL;
  Drawn drawn = { .block = -1 };

  if (init->kind != LOOM_INIT_ORTHOGONAL && init->kind != LOOM_INIT_SPARSE)
    return NULL;
  w = g_new (double, count + 1);
  for (gint64 i = 0; i < count; i++)
    w[i] = random_element (&drawn, seed, stream, i, TRUE);
  if (init->kind == LOOM_INIT_SPARSE)
    {
      for (gint64 i = 0; i < count; i++)
        w[i] *= init->b;
      clear_rows (w, init, seed, stream);
      return g_steal_pointer (&w);
    }
  /* The vectors are the shorter side: w is [n, m], which a tall matrix transposes. */
  loom_orthonormalise (w, n, m);
  double *result = g_new (double, count + 1);
  for (gint64 i = 0; i < count; i++)
    result[i] = init->a * (is_tall ? w[i % n * m + i / n] : w[i]);
  return result;
}

void
loom_state_fill_initial (LoomTensor *t, const StatePart *part, gint64 first, const LoomInit *init, guint64 seed,
                         const char *name)
{
  guint64 stream = loom_hash_name (name);
  g_autofree double *matrix = whole_matrix (init, seed, stream);
  Drawn drawn = { .block = -1 };

  for (gint64 i = 0; i < t->count; i++)
    {
      gint64 place = state_part_place (part, first + i);

      switch (init->kind)
        {
        case LOOM_INIT_CONSTANT:
          loom_tensor_set (t, i, init->a);
          break;
        case LOOM_INIT_UNIFORM:
          loom_tensor_set (t, i, init->a + (init->b - init->a) * random_element (&drawn, seed, stream, place, FALSE));
          break;
        case LOOM_INIT_NORMAL:
          loom_tensor_set (t, i, init->a + init->b * random_element (&drawn, seed, stream, place, TRUE));
          break;
        case LOOM_INIT_TRUNC_NORMAL:
          loom_tensor_set (t, i, trunc_normal (init, random_element (&drawn, seed, stream, place, FALSE)));
          break;
        case LOOM_INIT_EYE:
          loom_tensor_set (t, i, eye (init, place));
          break;
        case LOOM_INIT_DIRAC:
          loom_tensor_set (t, i, dirac (init, place));
          break;
        case LOOM_INIT_ORTHOGONAL:
        case LOOM_INIT_SPARSE:
          loom_tensor_set (t, i, matrix[place]);
          break;
        case LOOM_INIT_DATA:
          loom_tensor_set (t, i, init->data[place]);
          break;
        case LOOM_INIT_ZEROS:
        default:
          return; /* a new tensor is zero */
        }
      if (place >= init->zero_from && place < init->zero_from + init->zero_count)
        loom_tensor_set (t, i, 0);
    }
}
