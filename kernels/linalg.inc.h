/* Linear algebra on one matrix of type T, row major: factorisations and solutions.
 *
 * Included by ref, cpu and cuda with T and FN defined, once for each type. Matrices in graphs are small and come in
 * batches, so these are textbook loops; sums run in double. A function returns false if a matrix has no solution, as
 * PyTorch raises an error. NaN in a matrix results in NaN instead, so that training names the node where it began. */

#ifndef LOOM_LINALG_FN
#define LOOM_LINALG_FN static
#endif

/* A (or its transpose) = Pᵀ L U by Doolittle with partial pivoting: lu contains L without its unit diagonal and U; row
 * i of the product is row perm[i] of A, if perm is not NULL. Returns the permutation's sign, or 0 for a singular
 * matrix. */
LOOM_LINALG_FN int
FN (lu_factor) (int64_t n, const T *a, bool transpose, T *lu, int64_t *perm)
{
  int sign = 1;

  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      lu[i * n + j] = transpose ? a[j * n + i] : a[i * n + j];
  for (int64_t i = 0; perm != NULL && i < n; i++)
    perm[i] = i;
  for (int64_t k = 0; k < n; k++)
    {
      int64_t best = k;

      for (int64_t i = k + 1; i < n; i++)
        if (fabs ((double)lu[i * n + k]) > fabs ((double)lu[best * n + k]))
          best = i;
      if (lu[best * n + k] == 0)
        return 0;
      if (best != k)
        {
          sign = -sign;
          for (int64_t j = 0; j < n; j++)
            {
              T t = lu[k * n + j];

              lu[k * n + j] = lu[best * n + j];
              lu[best * n + j] = t;
            }
          if (perm != NULL)
            {
              int64_t t = perm[k];

              perm[k] = perm[best];
              perm[best] = t;
            }
        }
      for (int64_t i = k + 1; i < n; i++)
        {
          double f = (double)lu[i * n + k] / lu[k * n + k];

          lu[i * n + k] = (T)f;
          for (int64_t j = k + 1; j < n; j++)
            lu[i * n + j] = (T)(lu[i * n + j] - f * lu[k * n + j]);
        }
    }
  return sign;
}

/* X with op (A) X = B, A [n,n] triangular, B and X [n,m]. B may be X. Rows are solved from the top if op (A) is lower
 * and from the bottom if it is upper. */
LOOM_LINALG_FN void
FN (triangular) (int64_t n, int64_t m, const T *a, bool upper, bool transpose, bool unit, const T *b, T *x)
{
  bool down = upper == transpose;

  for (int64_t r = 0; r < n; r++)
    {
      int64_t i = down ? r : n - 1 - r;

      for (int64_t c = 0; c < m; c++)
        {
          double sum = b[i * m + c];

          for (int64_t j = down ? 0 : i + 1; j < (down ? i : n); j++)
            sum -= (double)(transpose ? a[j * n + i] : a[i * n + j]) * x[j * m + c];
          x[i * m + c] = (T)(unit ? sum : sum / a[i * n + i]);
        }
    }
}

/* X with A X = B or Aᵀ X = B; A [n,n], B and X [n,m]. lu [n,n] and perm [n] receive the factors. False if A is
 * singular. */
LOOM_LINALG_FN bool
FN (solve) (int64_t n, int64_t m, const T *a, bool transpose, const T *b, T *x, T *lu, int64_t *perm)
{
  if (FN (lu_factor) (n, a, transpose, lu, perm) == 0)
    return false;
  for (int64_t i = 0; i < n; i++)
    for (int64_t c = 0; c < m; c++)
      x[i * m + c] = b[perm[i] * m + c];
  FN (triangular) (n, m, lu, false, false, true, x, x);
  FN (triangular) (n, m, lu, true, false, false, x, x);
  return true;
}

LOOM_LINALG_FN T
FN (det) (int64_t n, const T *a, T *lu)
{
  double d = FN (lu_factor) (n, a, false, lu, NULL);

  for (int64_t i = 0; d != 0 && i < n; i++)
    d *= lu[i * n + i];
  return (T)d;
}

/* P A Q = L U with the largest remaining element as each pivot, L without its unit diagonal: the zero pivots of a
 * singular matrix come last. Row i of the product is row rows[i] of A, column j its column columns[j]. Returns the
 * number of nonzero pivots, and in *sign that of both permutations. */
LOOM_LINALG_FN int64_t
FN (lu_complete) (int64_t n, const T *a, T *lu, int64_t *rows, int64_t *columns, int *sign)
{
  *sign = 1;
  for (int64_t i = 0; i < n * n; i++)
    lu[i] = a[i];
  for (int64_t i = 0; i < n; i++)
    rows[i] = columns[i] = i;
  for (int64_t k = 0; k < n; k++)
    {
      int64_t row = k, column = k, t;

      for (int64_t i = k; i < n; i++)
        for (int64_t j = k; j < n; j++)
          if (fabs ((double)lu[i * n + j]) > fabs ((double)lu[row * n + column]))
            {
              row = i;
              column = j;
            }
      if (lu[row * n + column] == 0)
        return k;
      *sign = (row != k) == (column != k) ? *sign : -*sign;
      for (int64_t j = 0; j < n; j++)
        {
          T x = lu[k * n + j];

          lu[k * n + j] = lu[row * n + j];
          lu[row * n + j] = x;
        }
      for (int64_t i = 0; i < n; i++)
        {
          T x = lu[i * n + k];

          lu[i * n + k] = lu[i * n + column];
          lu[i * n + column] = x;
        }
      t = rows[k], rows[k] = rows[row], rows[row] = t;
      t = columns[k], columns[k] = columns[column], columns[column] = t;
      for (int64_t i = k + 1; i < n; i++)
        {
          double f = (double)lu[i * n + k] / lu[k * n + k];

          lu[i * n + k] = (T)f;
          for (int64_t j = k + 1; j < n; j++)
            lu[i * n + j] = (T)(lu[i * n + j] - f * lu[k * n + j]);
        }
    }
  return n;
}

/* Element (i, j) of the adjugate of P A Q, the product of those of U and L: with d = det (U) and all pivots it is d U⁻¹
 * L⁻¹; with the last pivot 0, so that U = (V w; 0 0), adj (U) has one column (-V⁻¹ w, 1) det (V), which is multiplied
 * by the last row of L⁻¹; with more zeros it is 0. c receives the transpose, by the rows and columns of A: the
 * cofactors, which are the gradient of det. No matrix is an exception (Higham, "What is the adjugate of a matrix?",
 * 2020). */
LOOM_LINALG_FN void
FN (cofactor) (int64_t n, const T *a, T *c, T *lu, int64_t *rows, int64_t *columns)
{
  int sign;
  int64_t rank = FN (lu_complete) (n, a, lu, rows, columns, &sign);
  double d = sign;

  for (int64_t i = 0; i < rank; i++)
    d *= lu[i * n + i];
  for (int64_t j = 0; j < n; j++)
    {
      double last; /* (L⁻¹)[n-1, j] of a singular matrix */

      for (int64_t i = 0; rank + 1 < n && i < n; i++)
        c[rows[j] * n + columns[i]] = 0;
      if (rank + 1 < n)
        continue;
      /* Column j of L⁻¹, from its 1 downwards. */
      for (int64_t i = 0; i < n; i++)
        {
          double sum = i == j;

          for (int64_t k = j; k < i; k++)
            sum -= (double)lu[i * n + k] * c[rows[j] * n + columns[k]];
          c[rows[j] * n + columns[i]] = (T)sum;
        }
      last = c[rows[j] * n + columns[n - 1]];
      for (int64_t i = n - 1; i >= 0; i--)
        {
          T *x = c + rows[j] * n;
          double sum = rank == n ? (double)x[columns[i]] : i == n - 1 ? last : -(double)lu[i * n + n - 1] * last;

          for (int64_t k = i + 1; k < rank; k++)
            sum -= (double)lu[i * n + k] * x[columns[k]];
          x[columns[i]] = (T)(i < rank ? sum / lu[i * n + i] : sum);
        }
      for (int64_t i = 0; i < n; i++)
        c[rows[j] * n + i] = (T)(c[rows[j] * n + i] * d);
    }
}

/* The lower factor of (A + Aᵀ) / 2, so that both halves of a matrix count alike. False if it is not positive definite.
 */
LOOM_LINALG_FN bool
FN (cholesky) (int64_t n, const T *a, T *l)
{
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      {
        double sum = j > i ? 0 : 0.5 * ((double)a[i * n + j] + (double)a[j * n + i]);

        for (int64_t k = 0; j <= i && k < j; k++)
          sum -= (double)l[i * n + k] * l[j * n + k];
        if (i == j && sum <= 0)
          return false;
        l[i * n + j] = (T)(i == j ? sqrt (sum) : j < i ? sum / l[j * n + j] : 0);
      }
  return true;
}
