/* Formulas filled with numbers: values in, text out. */
#include "ui/pins/studio-worked-formula.h"
#include "tests/test-program.h"

#include <string.h>

static StudioWorkedTensor
matrix (const char *name, const float *value, gsize rows, gsize columns)
{
  return (StudioWorkedTensor){
    .name = name, .dim = { (gint64)rows, (gint64)columns }, .rank = 2, .value = value, .rows = rows, .columns = columns
  };
}

static StudioWorkedTensor
vector (const char *name, const float *value, gsize n)
{
  return (StudioWorkedTensor){ .name = name, .dim = { (gint64)n }, .rank = 1, .value = value, .rows = 1, .columns = n };
}

static StudioWorkedTensor
scalar (const char *name, const float *value)
{
  return (StudioWorkedTensor){ .name = name, .value = value, .rows = 1, .columns = 1 };
}

static void
check (const char *op, const StudioWorkedTensor *in, guint n, StudioWorkedTensor out, const char *first)
{
  g_autofree char *text = studio_worked_formula_text (loom_op (op), in, n, &out, TRUE), *rest = NULL;
  g_auto (GStrv) line = g_strsplit (text, "\n", -1);

  g_test_message ("%s", text);
  g_assert_cmpstr (line[0], ==, first);
  /* Values of different steps are no equation. */
  rest = studio_worked_formula_text (loom_op (op), in, n, &out, FALSE);
  g_assert_null (strstr (rest, first));
}

static void
test_linear (void)
{
  const float x[] = { 0.31f, -1.2f, 2, 4 }, w[] = { 0.12f, 0.5f, 1, 1 }, b[] = { 0.05f, -1 },
              y[] = { -0.513f, 0, 1, 2 };
  StudioWorkedTensor in[] = { matrix ("input", x, 2, 2), matrix ("weight", w, 2, 2), vector ("bias", b, 2) };

  check ("linear", in, 3, matrix ("out", y, 2, 2), "y₀₀ = 0.31·0.12 + (−1.2)·0.5 + 0.05 = −0.513");
  in[2].name = NULL;
  check ("linear", in, 3, matrix ("out", y, 2, 2), "y₀₀ = 0.31·0.12 + (−1.2)·0.5 = −0.513");
  /* Columns of b, and no more than three terms. */
  {
    const float a[] = { 1, 2, 3, 4 }, c[] = { 5, 0, 6, 0, 7, 0, 8, 0 }, d[] = { 70, 0 };
    StudioWorkedTensor both[] = { matrix ("input", a, 1, 4), matrix ("other", c, 4, 2) };

    check ("matmul", both, 2, matrix ("out", d, 1, 2), "y₀₀ = 1·5 + 2·6 + 3·7 + … = 70");
  }
}

static void
test_elements (void)
{
  const float x[] = { -0.31f, 1 }, zero[] = { 0, 1 }, e[] = { 0.733f, 2.72f }, other[] = { 2, 3 }, sum[] = { 1.69f, 4 };
  StudioWorkedTensor in[] = { vector ("input", x, 2), vector ("other", other, 2) };

  check ("relu", in, 1, vector ("out", zero, 2), "y₀ = max(−0.31, 0) = 0");
  check ("exp", in, 1, vector ("out", e, 2), "y₀ = e^(−0.31) = 0.733");
  check ("abs", in, 1, vector ("out", other, 2), "y₀ = |−0.31| = 2");
  check ("add", in, 2, vector ("out", sum, 2), "y₀ = (−0.31) + 2 = 1.69");
  check ("mul", in, 2, vector ("out", sum, 2), "y₀ = (−0.31) · 2 = 1.69");
}

static void
test_reductions (void)
{
  const float x[] = { 1, 2, 3, 6 }, mean[] = { 3 }, share[] = { 0.01f, 0, 0, 0.9f };
  StudioWorkedTensor in = vector ("input", x, 4);

  check ("mean", &in, 1, scalar ("out", mean), "y = (1 + 2 + 3 + …) / 4 = 3");
  check ("softmax", &in, 1, vector ("out", share, 4), "y₀ = e^1 / (e^1 + e^2 + e^3 + …) = 0.01");
}

/* A loss is its value; large tensors show shape, range and mean; an averaged tensor has no first element. */
static void
test_values (void)
{
  const float loss[] = { 0.342f }, x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
  StudioWorkedTensor in = vector ("input", x, 10), out = scalar ("out", loss), coarse = in;
  g_autofree char *text = studio_worked_formula_text (loom_op ("cross_entropy"), &in, 1, &out, TRUE), *means = NULL;

  g_assert_cmpstr (text, ==, "input 10: 1 to 10, mean 5.5\nout = 0.342");
  coarse.dim[0] = 20;
  means = studio_worked_formula_text (loom_op ("relu"), &coarse, 1, &coarse, TRUE);
  g_assert_null (strstr (means, "max("));
}

/* No formula of any operator causes a crash or an empty equation. */
static void
test_all (void)
{
  const float x[] = { -1, 2, 3, 4 };

  for (const LoomOp *const *op = loom_ops (); *op != NULL; op++)
    for (guint n = 0; n <= 3; n++)
      {
        StudioWorkedTensor in[3] = { matrix ("a", x, 2, 2), matrix ("b", x, 2, 2), matrix ("c", x, 2, 2) },
                           out = matrix ("out", x, 2, 2);
        g_autofree char *text = studio_worked_formula_text (*op, in, n, &out, TRUE);

        g_test_message ("%s %s", (*op)->name, text);
        g_assert_true (g_utf8_validate (text, -1, NULL));
        g_assert_nonnull (strstr (text, "out 2 × 2: [−1, 2, 3, 4]"));
        g_assert_null (strstr (text, "=  ="));
      }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/worked/linear", test_linear);
  g_test_add_func ("/worked/elements", test_elements);
  g_test_add_func ("/worked/reductions", test_reductions);
  g_test_add_func ("/worked/values", test_values);
  g_test_add_func ("/worked/all", test_all);
  return g_test_run ();
}
