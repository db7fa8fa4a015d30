/* Loops of linear algebra on one matrix, for type T: factorisations and solutions, row major.
 *
 * Included by ref and by cpu with T and FN defined, once for each type. Matrices of graphs are small and come in
 * batches, so these are the textbook's loops; sums run in double. A matrix that has no solution gives NaN throughout
 * (PyTorch raises an error instead), which training reports with the node's name like any other NaN. */

/* A (or its transpose) = Pᵀ L U by Doolittle with partial pivoting: L without its diagonal of ones and U lie in lu;
 * row i of the product is row perm[i] of A where perm is not NULL. Returns the permutation's sign, or 0 for a singular
 * matrix. */
static int
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
      if (!(fabs ((double)lu[best * n + k]) > 0))
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

/* X with op (A) X = B, A [n,n] triangular, B and X [n,m]. B may be X. Rows are done from the top where op (A) is lower
 * and from the bottom where it is upper. */
static void
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

/* X with A X = B or Aᵀ X = B. lu and perm are left with the factors. */
static void
FN (solve) (int64_t n, int64_t m, const T *a, bool transpose, const T *b, T *x, T *lu, int64_t *perm)
{
  if (FN (lu_factor) (n, a, transpose, lu, perm) == 0)
    {
      for (int64_t i = 0; i < n * m; i++)
        x[i] = (T)NAN;
      return;
    }
  for (int64_t i = 0; i < n; i++)
    for (int64_t c = 0; c < m; c++)
      x[i * m + c] = b[perm[i] * m + c];
  FN (triangular) (n, m, lu, false, false, true, x, x);
  FN (triangular) (n, m, lu, true, false, false, x, x);
}

static T
FN (det) (int64_t n, const T *a, T *lu)
{
  double d = FN (lu_factor) (n, a, false, lu, NULL);

  for (int64_t i = 0; d != 0 && i < n; i++)
    d *= lu[i * n + i];
  return (T)d;
}

/* The lower factor of (A + Aᵀ) / 2, so that both halves of a matrix count alike. */
static void
FN (cholesky) (int64_t n, const T *a, T *l)
{
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      {
        double sum = j > i ? 0 : 0.5 * ((double)a[i * n + j] + (double)a[j * n + i]);

        for (int64_t k = 0; j <= i && k < j; k++)
          sum -= (double)l[i * n + k] * l[j * n + k];
        if (i == j && !(sum > 0))
          {
            for (int64_t k = 0; k < n * n; k++)
              l[k] = (T)NAN;
            return;
          }
        l[i * n + j] = (T)(i == j ? sqrt (sum) : j < i ? sum / l[j * n + j] : 0);
      }
}
