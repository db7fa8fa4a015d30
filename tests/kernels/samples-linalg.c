/* The samples of linear algebra: batches of square matrices. Their factors are results, too, as workspace. */
#include "tests/kernels/kernel-harness.h"

static const struct
{
  const char *a, *perm, *first; /* a [...,n,n]; [...,n]; [...] */
} squares[] = {
  { "1,1", "1", "" },
  { "3,3", "3", "" },
  { "7,2,2", "7,2", "7" },
  { "2,2,9,9", "2,2,9", "2,2" },
  { "0,2,2", "0,2", "0" },
  { "2,0,0", "2,0", "2" },
  { "40,5,5", "40,5", "40" },
  { "33,33", "33", "" },
  { "300,3,3", "300,3", "300" },
};

/* a's leading axes and rows, with n columns. */
static LoomTensorDesc
columns_of (LoomTensorDesc a, gint64 columns)
{
  a.dim[a.rank - 1] = columns;
  return a;
}

void
samples_linalg (GPtrArray *all)
{
  for (int v = 0; v < (int)G_N_ELEMENTS (squares); v++)
    {
      LoomTensorDesc a = desc (F, squares[v].a), perm = desc (LOOM_I64, squares[v].perm);
      Sample *s = sample_add (all, "cofactor", 1e-3, "%s", squares[v].a);

      sample_in (s, a, a.dim[a.rank - 1] > 9 ? FILL_UNIT : FILL_NORMAL, 0);
      sample_out (s, a);
      sample_out (s, a);
      sample_out (s, perm);
      sample_out (s, perm);

      s = sample_add (all, "det", 1e-3, "%s", squares[v].a);
      sample_in (s, a, FILL_NORMAL, 0);
      sample_out (s, desc (F, squares[v].first));
      sample_out (s, a);

      s = sample_add (all, "cholesky", 2e-5, "%s", squares[v].a);
      sample_in (s, a, FILL_DEFINITE, 0);
      sample_out (s, a);

      for (int m = 0; m < 3; m++)
        {
          LoomTensorDesc b = columns_of (a, m == 2 ? 7 : m);

          for (int flags = 0; flags < 8; flags++)
            {
              s = sample_add (all, "triangular_solve", 2e-4, "%s by %d%s%s%s", squares[v].a, (int)b.dim[b.rank - 1],
                              flags & 1 ? " upper" : "", flags & 2 ? " transposed" : "", flags & 4 ? " unit" : "");
              /* With ones on the diagonal all of the rest has to be small. */
              sample_in (s, a, flags & 4 ? FILL_VALUE : FILL_DOMINANT, 0.125);
              sample_in (s, b, FILL_NORMAL, 0);
              sample_out (s, b);
              SAMPLE_ATTRS (s, LoomTriangularSolveAttrs)
                  = (LoomTriangularSolveAttrs){ flags & 1, (flags & 2) != 0, (flags & 4) != 0 };
            }
          for (int transpose = 0; transpose < 2; transpose++)
            {
              s = sample_add (all, "solve", 2e-4, "%s by %d%s", squares[v].a, (int)b.dim[b.rank - 1],
                              transpose ? " transposed" : "");
              sample_in (s, a, FILL_DOMINANT, 0);
              sample_in (s, b, FILL_NORMAL, 0);
              sample_out (s, b);
              sample_out (s, a);
              sample_out (s, perm);
              SAMPLE_ATTRS (s, LoomSolveAttrs).transpose = transpose;
            }
        }
    }
}
