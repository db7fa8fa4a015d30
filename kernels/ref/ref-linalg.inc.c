/* Batches of matrices for type T; the leading dimensions of a tensor make one batch of `count` matrices. */

/* b: a [count,n,n]; l [count,n,n]. */
static LoomStatus
FN (cholesky) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  int64_t n = loom_matrix_rows (&k->in[0]), count = loom_matrix_count (&k->in[0]);

  for (int64_t q = 0; q < count; q++)
    if (!ONE (cholesky) (n, (const T *)b[0] + q * n * n, (T *)b[1] + q * n * n))
      return loom_not_positive (message, &k->in[0], q);
  return LOOM_STATUS_OK;
}

/* b: a [count,n,n], right sides [count,n,m]; x [count,n,m]. */
static LoomStatus
FN (triangular_solve) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomTriangularSolveAttrs *at = k->attrs;
  int64_t n = loom_matrix_rows (&k->in[0]), m = loom_matrix_columns (&k->in[1]), count = loom_matrix_count (&k->in[0]);

  for (int64_t q = 0; q < count; q++)
    ONE (triangular)
    (n, m, (const T *)b[0] + q * n * n, at->upper, at->transpose, at->unitriangular, (const T *)b[1] + q * n * m,
     (T *)b[2] + q * n * m);
  return LOOM_STATUS_OK;
}

/* b: a [count,n,n], right sides [count,n,m]; x [count,n,m], lu [count,n,n], perm [count,n]. */
static LoomStatus
FN (solve) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomSolveAttrs *at = k->attrs;
  int64_t n = loom_matrix_rows (&k->in[0]), m = loom_matrix_columns (&k->in[1]), count = loom_matrix_count (&k->in[0]);

  for (int64_t q = 0; q < count; q++)
    if (!ONE (solve) (n, m, (const T *)b[0] + q * n * n, at->transpose, (const T *)b[1] + q * n * m,
                      (T *)b[2] + q * n * m, (T *)b[3] + q * n * n, (int64_t *)b[4] + q * n))
      return loom_singular (message, &k->in[0], q);
  return LOOM_STATUS_OK;
}

/* b: a [count,n,n]; det [count], lu [count,n,n]. */
static LoomStatus
FN (det) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  int64_t n = loom_matrix_rows (&k->in[0]), count = loom_matrix_count (&k->in[0]);

  for (int64_t q = 0; q < count; q++)
    ((T *)b[1])[q] = ONE (det) (n, (const T *)b[0] + q * n * n, (T *)b[2] + q * n * n);
  return LOOM_STATUS_OK;
}

/* b: a [count,n,n]; c [count,n,n], lu [count,n,n], rows and columns [count,n]. */
static LoomStatus
FN (cofactor) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  int64_t n = loom_matrix_rows (&k->in[0]), count = loom_matrix_count (&k->in[0]);

  for (int64_t q = 0; q < count; q++)
    ONE (cofactor)
    (n, (const T *)b[0] + q * n * n, (T *)b[1] + q * n * n, (T *)b[2] + q * n * n, (int64_t *)b[3] + q * n,
     (int64_t *)b[4] + q * n);
  return LOOM_STATUS_OK;
}
