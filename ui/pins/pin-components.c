/* Principal components by power iteration (Golub and Van Loan, "Matrix Computations", 4th edition, 8.2.1).
 *
 * The covariance is never formed: a step multiplies by the centred rows and by their transpose, so that a table of many
 * columns costs 4·n·columns operations a step. */
#include "ui/pins/pin-components.h"

#include <math.h>
#include <string.h>

#define MAX_STEPS 200
#define ENOUGH    1e-9 /* change of the direction in a step */

typedef struct
{
  double *row; /* [n, columns], centred */
  gsize n, columns;
} Rows;

static gboolean
is_finite (const float *row, gsize columns)
{
  for (gsize c = 0; c < columns; c++)
    if (!isfinite (row[c]))
      return FALSE;
  return TRUE;
}

static Rows
centre (const float *values, gsize n, gsize columns)
{
  Rows rows = { g_new0 (double, n *columns), n, columns };
  g_autofree double *mean = g_new0 (double, columns);
  gsize n_finite = 0;

  for (gsize i = 0; i < n; i++)
    if (is_finite (values + i * columns, columns))
      {
        n_finite++;
        for (gsize c = 0; c < columns; c++)
          mean[c] += values[i * columns + c];
      }
  for (gsize i = 0; i < n; i++)
    if (is_finite (values + i * columns, columns))
      for (gsize c = 0; c < columns; c++)
        rows.row[i * columns + c] = values[i * columns + c] - mean[c] / (double)n_finite;
  return rows;
}

static double
dot (const double *a, const double *b, gsize n)
{
  double sum = 0;

  for (gsize i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* Subtracts the part of v along the unit vector `other`, and makes v one. FALSE: nothing is left. */
static gboolean
normalize (double *v, const double *other, gsize n)
{
  const double along = other != NULL ? dot (v, other, n) : 0;

  for (gsize i = 0; other != NULL && i < n; i++)
    v[i] -= along * other[i];
  const double length = sqrt (dot (v, v, n));
  for (gsize i = 0; length > 0 && i < n; i++)
    v[i] /= length;
  return length > 0;
}

static void
orient (double *v, gsize n)
{
  gsize largest = 0;

  for (gsize i = 0; i < n; i++)
    if (fabs (v[i]) > fabs (v[largest]))
      largest = i;
  for (gsize i = 0; v[largest] < 0 && i < n; i++)
    v[i] = -v[i];
}

/* The direction of largest variance that is orthogonal to `other` (NULL: none). */
static double *
find_direction (const Rows *rows, const double *other)
{
  const gsize m = rows->columns;
  double *v = g_new0 (double, m);
  g_autofree double *next = g_new0 (double, m);

  for (gsize c = 0; c < m; c++)
    v[c] = 1 / (1. + (double)c);
  if (!normalize (v, other, m))
    return v;
  for (guint step = 0; step < MAX_STEPS; step++)
    {
      double change = 0;

      memset (next, 0, m * sizeof *next);
      for (gsize i = 0; i < rows->n; i++)
        {
          const double *row = rows->row + i * m, along = dot (row, v, m);

          for (gsize c = 0; c < m; c++)
            next[c] += along * row[c];
        }
      if (!normalize (next, other, m))
        break;
      for (gsize c = 0; c < m; c++)
        change = MAX (change, fabs (next[c] - v[c]));
      memcpy (v, next, m * sizeof *v);
      if (change < ENOUGH)
        break;
    }
  orient (v, m);
  return v;
}

double *
pin_components_compute (const float *values, gsize n, gsize columns)
{
  double *point = g_new0 (double, 2 * n);
  const Rows rows = centre (values, n, columns);
  g_autofree double *first = find_direction (&rows, NULL);
  g_autofree double *second = find_direction (&rows, first);

  for (gsize i = 0; i < n; i++)
    {
      const gboolean fine = is_finite (values + i * columns, columns);

      point[2 * i] = fine ? dot (rows.row + i * columns, first, columns) : NAN;
      point[2 * i + 1] = fine ? dot (rows.row + i * columns, second, columns) : NAN;
    }
  g_free (rows.row);
  return point;
}
