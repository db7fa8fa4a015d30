/* Makes vectors orthonormal by Gram and Schmidt's process, in blocks.
 *
 * A square weight of 4096 rows takes 10^11 operations. The earlier blocks are projected out of a block by products of
 * small matrices, which stay in the processor's cache, and its rows are then made orthonormal one by one. Elements are
 * in groups of LANES, so that sums have one order with vectors of any size, and products are not contracted (see
 * meson.build): ranks on different machines compute the same weights. */
#include "engine/run/run-private.h"

#include "engine/core/loom-clones.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8
#define TILE  4    /* rows that share what they read */
#define BLOCK 64   /* rows: a multiple of TILE */
#define STRIP 64   /* groups of two blocks that are read together: even */
#define SMALL 0.01 /* of a squared norm: rounding is repeated for what is left of it */

typedef double Group __attribute__ ((vector_size (LANES * sizeof (double))));

/* Rows of `groups` groups, an even number, of which the last ones are 0. */
typedef struct
{
  Group *row;
  gint64 groups;
  gint64 stride; /* in groups; odd, so that rows are in different sets of a cache */
} Rows;

static inline double
sum_of (const Group *sum)
{
  const double *g = (const double *)sum;

  return ((g[0] + g[1]) + (g[2] + g[3])) + ((g[4] + g[5]) + (g[6] + g[7]));
}

/* dot[r·BLOCK + k] += x row r · y row k, over n groups, for TILE rows x and BLOCK rows y. */
LOOM_VECTOR_CLONES static void
add_dots (double *dot, const Group *x, const Group *y, gint64 stride, gint64 n)
{
  for (gint64 k = 0; k < BLOCK; k += 2)
    {
      const Group *a = y + k * stride, *b = a + stride;
      Group sum[2][TILE] = { { { 0 } } };

      for (gint64 j = 0; j < n; j++)
#pragma GCC unroll 4
        for (int r = 0; r < TILE; r++)
          {
            sum[0][r] += x[r * stride + j] * a[j];
            sum[1][r] += x[r * stride + j] * b[j];
          }
      for (int r = 0; r < TILE; r++)
        {
          dot[r * BLOCK + k] += sum_of (&sum[0][r]);
          dot[r * BLOCK + k + 1] += sum_of (&sum[1][r]);
        }
    }
}

/* x row r −= Σ_k dot[r·BLOCK + k] · y row k, likewise. */
LOOM_VECTOR_CLONES static void
subtract (Group *x, const double *dot, const Group *y, gint64 stride, gint64 n)
{
  for (gint64 j = 0; j < n; j += 2)
    {
      Group left[2][TILE];

#pragma GCC unroll 4
      for (int r = 0; r < TILE; r++)
        {
          left[0][r] = x[r * stride + j];
          left[1][r] = x[r * stride + j + 1];
        }
      for (gint64 k = 0; k < BLOCK; k++)
#pragma GCC unroll 4
        for (int r = 0; r < TILE; r++)
          {
            left[0][r] -= dot[r * BLOCK + k] * y[k * stride + j];
            left[1][r] -= dot[r * BLOCK + k] * y[k * stride + j + 1];
          }
#pragma GCC unroll 4
      for (int r = 0; r < TILE; r++)
        {
          x[r * stride + j] = left[0][r];
          x[r * stride + j + 1] = left[1][r];
        }
    }
}

/* Projects the block of rows from y on, which are orthonormal, out of n rows from x on. */
static void
project_out (const Rows *v, gint64 x, gint64 n, gint64 y)
{
  double dot[BLOCK * BLOCK] = { 0 };

  for (gint64 j = 0; j < v->groups; j += STRIP)
    for (gint64 r = 0; r < n; r += TILE)
      add_dots (dot + r * BLOCK, v->row + (x + r) * v->stride + j, v->row + y * v->stride + j, v->stride,
                MIN (STRIP, v->groups - j));
  for (gint64 j = 0; j < v->groups; j += STRIP)
    for (gint64 r = 0; r < n; r += TILE)
      subtract (v->row + (x + r) * v->stride + j, dot + r * BLOCK, v->row + y * v->stride + j, v->stride,
                MIN (STRIP, v->groups - j));
}

LOOM_VECTOR_CLONES static double
dot_of (const Group *x, const Group *y, gint64 n)
{
  Group sum = { 0 };

  for (gint64 j = 0; j < n; j++)
    sum += x[j] * y[j];
  return sum_of (&sum);
}

/* x ← a·x + b·y */
LOOM_VECTOR_CLONES static void
combine (double a, Group *x, double b, const Group *y, gint64 n)
{
  for (gint64 j = 0; j < n; j++)
    x[j] = a * x[j] + b * y[j];
}

/* Makes n rows from `first` on orthonormal to each other, in two passes because one loses orthogonality by rounding.
 * TRUE if not much is left of one of them, of the squared norms `before`. */
static gboolean
finish_block (const Rows *v, gint64 first, gint64 n, const double *before)
{
  gboolean is_small = FALSE;

  for (gint64 i = 0; i < n; i++)
    {
      Group *x = v->row + (first + i) * v->stride;
      double norm;

      for (gint64 k = 0; k < 2 * i; k++)
        {
          const Group *y = v->row + (first + k % i) * v->stride;

          combine (1, x, -dot_of (x, y, v->groups), y, v->groups);
        }
      norm = dot_of (x, x, v->groups);
      is_small = is_small || norm < SMALL * before[i];
      combine (norm > 0 ? 1 / sqrt (norm) : 0, x, 0, x, v->groups);
    }
  return is_small;
}

static void
make_block (const Rows *v, gint64 first, gint64 n)
{
  double before[BLOCK];

  for (gint64 i = 0; i < n; i++)
    before[i] = dot_of (v->row + (first + i) * v->stride, v->row + (first + i) * v->stride, v->groups);
  for (guint pass = 0; pass < 2; pass++)
    {
      for (gint64 y = 0; y < first; y += BLOCK)
        project_out (v, first, n, y);
      if (!finish_block (v, first, n, before))
        return;
    }
}

void
loom_orthonormalise (double *v, gint64 n, gint64 m)
{
  const gint64 groups = (m + 2 * LANES - 1) / (2 * LANES) * 2, rows = (n + TILE - 1) / TILE * TILE;
  const gsize bytes = (gsize)(rows * (groups + 1)) * sizeof (Group);
  const Rows made = { aligned_alloc (sizeof (Group), MAX (bytes, sizeof (Group))), groups, groups + 1 };

  if (made.row == NULL)
    g_error ("%s: %" G_GSIZE_FORMAT " bytes cannot be allocated", G_STRLOC, bytes);
  memset (made.row, 0, bytes);
  for (gint64 i = 0; i < n; i++)
    memcpy (made.row + i * made.stride, v + i * m, (gsize)m * sizeof *v);
  for (gint64 first = 0; first < n; first += BLOCK)
    make_block (&made, first, MIN (BLOCK, n - first));
  for (gint64 i = 0; i < n; i++)
    memcpy (v + i * m, made.row + i * made.stride, (gsize)m * sizeof *v);
  free (made.row);
}
