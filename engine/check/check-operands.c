/* Fills operands with random and with adversarial numbers of a range. */
#include "engine/check/check-operands.h"

#include <float.h>
#include <math.h>
#include <string.h>

const char *
check_set_name (CheckSet set)
{
  static const char *const names[CHECK_N_SETS] = { "normal", "positive", "special" };

  return names[set];
}

/* Primitives whose results depend on single elements, in addition to those with flags. */
static const char *const local_prims[]
    = { "expand", "concat", "pad", "gather_rows", "gather", "sort", "argreduce", "max_pool2d", "cross_entropy_grad" };

gboolean
check_steps_are_local (const LoomProgram *program, const GArray *steps)
{
  for (guint i = 0; i < steps->len; i++)
    {
      const LoomInstr *instr = loom_program_instr (program, g_array_index (steps, guint, i));
      gboolean is_local
          = (instr->prim->flags & (LOOM_PRIM_ELEMENTWISE | LOOM_PRIM_CONVERTS | LOOM_PRIM_REARRANGES)) != 0
            || instr->prim->view != LOOM_VIEW_NEVER || instr->prim->constant != NULL;

      for (guint k = 0; k < G_N_ELEMENTS (local_prims) && !is_local; k++)
        is_local = strcmp (instr->prim->name, local_prims[k]) == 0;
      if (strcmp (instr->prim->name, "reduce") == 0)
        {
          const LoomReduceOp op = ((const LoomReduceAttrs *)instr->attrs)->op;

          is_local = op == LOOM_REDUCE_MAX || op == LOOM_REDUCE_MIN;
        }
      if (!is_local)
        return FALSE;
    }
  return TRUE;
}

/* ---- floats -------------------------------------------------------------------------- */

#define N_NORMALS 4096

/* Large tensors need many: one of a table, moved by less than the distance of most neighbours, so that few are equal.
 */
static double
normal (GRand *rand)
{
  static double table[N_NORMALS];
  static gsize is_filled = 0;
  const guint32 bits = g_rand_int (rand);

  if (g_once_init_enter (&is_filled))
    {
      g_autoptr (GRand) own = g_rand_new_with_seed (1);

      for (int i = 0; i < N_NORMALS; i++)
        {
          const double u = 1 - g_rand_double (own), v = g_rand_double (own);

          table[i] = sqrt (-2 * log (u)) * cos (2 * G_PI * v);
        }
      g_once_init_leave (&is_filled, 1);
    }
  return table[bits % N_NORMALS] + (bits / N_NORMALS) * 0x1p-30;
}

/* Between 0.1 and 0.9. */
static double
unit (GRand *rand)
{
  return 0.1 + 0.8 * 0x1p-32 * g_rand_int (rand);
}

static double
special (LoomDType dtype, gboolean local, GRand *rand)
{
  static const struct
  {
    double least, largest;
  } limit[] = { [LOOM_F64] = { 0x1p-1070, 0x1p1023 },
                [LOOM_F32] = { 0x1p-146, 0x1p127 },
                [LOOM_F16] = { 0x1p-22, 0x1p15 },
                [LOOM_BF16] = { 0x1p-131, 0x1p127 } };
  static const double plain[] = { 0, -0.0, 1, 1, -1, 2, -2, 0.5 };
  const int n = local ? 14 : 8, k = (int)(g_rand_int (rand) % (guint32)n);

  switch (k)
    {
    case 8:
      return INFINITY;
    case 9:
      return -INFINITY;
    case 10:
      return NAN;
    case 11:
      return limit[dtype].least;
    case 12:
      return limit[dtype].largest;
    case 13:
      return -limit[dtype].largest;
    default:
      return plain[k];
    }
}

static void
fill_floats (LoomTensor *t, const CheckRange *range, CheckSet set, gboolean local, GRand *rand)
{
  for (gint64 i = 0; i < t->count; i++)
    {
      double x = set == CHECK_SET_NORMAL    ? normal (rand)
                 : set == CHECK_SET_SPECIAL ? special (t->dtype, local, rand)
                                            : unit (rand);

      if (range->kind == CHECK_RANGE_POSITIVE)
        x = set == CHECK_SET_SPECIAL ? 0.25 * g_rand_int_range (rand, 1, 4) : unit (rand);
      else if (range->kind == CHECK_RANGE_TRUE)
        x = set == CHECK_SET_SPECIAL ? 0 : 1;
      else if (range->kind == CHECK_RANGE_ANY && range->scale > 0)
        x *= range->scale;
      else if (range->kind == CHECK_RANGE_INDEX)
        x = (double)g_rand_int_range (rand, (gint32)range->low, (gint32)MAX (range->high, range->low + 1));
      loom_tensor_set (t, i, x);
    }
}

/* Matrices with a diagonal of their length, symmetric or not. */
static void
fill_matrices (LoomTensor *t, gboolean symmetric, GRand *rand)
{
  const gint64 n = t->rank > 1 ? t->dim[t->rank - 1] : 1;

  for (gint64 at = 0; n > 0 && at + n * n <= t->count; at += n * n)
    for (gint64 i = 0; i < n; i++)
      for (gint64 j = 0; j < n; j++)
        {
          const double x = i == j               ? (double)n + g_rand_double (rand)
                           : symmetric && j < i ? loom_tensor_get (t, at + j * n + i)
                                                : g_rand_double_range (rand, -0.5, 0.5);

          loom_tensor_set (t, at + i * n + j, x);
        }
}

/* ---- integers -------------------------------------------------------------------------- */

/* A position in the window of each result [N,C,P,Q] whose element is inside the image; of a loop [T,N,C,P,Q]. */
static void
fill_window (LoomTensor *t, const LoomPool2dTo *pool, GRand *rand)
{
  const LoomPool2dAttrs *a = &pool->kernel;

  for (gint64 i = 0; i < t->count; i++)
    {
      const gint64 *dim = t->dim + t->rank - 2, at[2] = { i / dim[1] % dim[0], i % dim[1] };
      gint64 k[2];

      for (int d = 0; d < 2; d++)
        {
          gint64 tries = 0, x;

          k[d] = g_rand_int_range (rand, 0, (gint32)a->kernel[d]);
          do
            {
              k[d] = (k[d] + 1) % a->kernel[d];
              x = at[d] * a->stride[d] - a->pad[d] + k[d] * a->dilation[d];
            }
          while ((x < 0 || x >= pool->size[d]) && ++tries < a->kernel[d]);
        }
      loom_tensor_set (t, i, (double)(k[0] * a->kernel[1] + k[1]));
    }
}

/* The group of a row: groups of equal sizes, or the first ones are larger and the last ones may be empty. */
static gint64
level_of (gint64 row, gint64 rows, gint64 levels, CheckSet set)
{
  const double at = (double)row / (double)rows;

  return set == CHECK_SET_UNIT      ? (gint64)(at * at * at * (double)levels)
         : set == CHECK_SET_SPECIAL ? (gint64)(at * at * (double)levels)
                                    : row * MIN (levels, rows) / rows;
}

/* Each row's parent is in the next of three levels. */
static gint64
parent_of (gint64 row, gint64 rows, gint64 roots, CheckSet set, GRand *rand)
{
  const gint64 level = level_of (row, rows, 3, set), slots = roots / MAX (rows, 1);
  gint64 first = row, end;

  while (first < rows && level_of (first, rows, 3, set) == level)
    first++;
  for (end = first; end < rows && level_of (end, rows, 3, set) == level + 1;)
    end++;
  if (first == end)
    return roots;
  return g_rand_int_range (rand, 0, (gint32)slots) * rows + g_rand_int_range (rand, (gint32)first, (gint32)end);
}

/* Integers that f32 cannot represent show where they are computed in floats. */
static double
any_integer (LoomDType dtype, int integers, GRand *rand)
{
  const int limit = dtype == LOOM_BOOL ? 2 : dtype == LOOM_U8 ? MIN (integers, 256) : integers;

  if (limit <= 256)
    return g_rand_int_range (rand, 0, limit);
  return (g_rand_boolean (rand) ? 1 : -1) * (double)(limit - g_rand_int_range (rand, 0, 256));
}

static double
integer (const LoomTensor *t, gint64 i, const CheckRange *range, CheckSet set, int integers, GRand *rand)
{
  /* Of a loop [T,rows]. */
  const gint64 rows = t->rank > 0 ? t->dim[t->rank - 1] : 1;

  switch (range->kind)
    {
    case CHECK_RANGE_TRUE:
      return 1;
    case CHECK_RANGE_INDEX:
      if (range->ignored < range->low && range->ignored >= -128 && g_rand_int_range (rand, 0, 8) == 0)
        return (double)range->ignored;
      return (double)range->low + floor (g_rand_double (rand) * (double)MAX (range->high - range->low, 1));
    case CHECK_RANGE_LEVELS:
      return (double)level_of (i % rows, rows, range->high, set);
    case CHECK_RANGE_PARENTS:
      return (double)parent_of (i % rows, rows, range->high, set, rand);
    case CHECK_RANGE_CHAIN:
      return (double)(i % rows + 1 < rows ? i % rows + 1 : -1);
    default:
      return any_integer (t->dtype, integers, rand);
    }
}

void
check_fill (LoomTensor *t, const CheckRange *range, CheckSet set, gboolean local, int integers, GRand *rand)
{
  if (range->kind == CHECK_RANGE_WINDOW && t->rank >= 4)
    fill_window (t, range->window, rand);
  else if (range->kind == CHECK_RANGE_SYMMETRIC || range->kind == CHECK_RANGE_TRIANGULAR)
    fill_matrices (t, range->kind == CHECK_RANGE_SYMMETRIC, rand);
  else if (loom_dtype_is_float (t->dtype))
    fill_floats (t, range, set, local, rand);
  else
    for (gint64 i = 0; i < t->count; i++)
      loom_tensor_set (t, i, integer (t, i, range, set, integers, rand));
}
