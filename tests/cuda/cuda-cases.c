/* The sample calls: every primitive, with the attributes that change its path through
 * the code — broadcasts, layouts, sizes of 1 and 0, tails, and shapes large enough to
 * be cut into pieces. */
#include <stdarg.h>
#include <string.h>

#include "tests/cuda/cuda-cases.h"

static LoomTensorDesc
desc (LoomDType dtype, int rank, ...)
{
  LoomTensorDesc d = { .dtype = dtype, .rank = rank };
  va_list dims;

  va_start (dims, rank);
  for (int i = 0; i < rank; i++)
    d.dim[i] = va_arg (dims, int);
  va_end (dims);
  return d;
}

#define F(rank, ...) desc (LOOM_F32, rank, __VA_ARGS__)
#define SCALAR       desc (LOOM_F32, 0, 0)

static LoomTensorDesc
nhwc (LoomTensorDesc d)
{
  d.layout = LOOM_LAYOUT_NHWC;
  return d;
}

static void
case_free (gpointer data)
{
  CudaCase *c = data;

  g_free (c->name);
  g_free (c);
}

static CudaCase *
add (GPtrArray *cases, const char *primitive, const char *what)
{
  CudaCase *c = g_new0 (CudaCase, 1);

  c->name = g_strdup_printf ("%s/%s", primitive, what);
  c->primitive = primitive;
  c->low = -2;
  c->high = 2;
  c->index_limit = 4;
  c->positive_from = -1;
  c->tolerance = 2e-5;
  g_ptr_array_add (cases, c);
  return c;
}

static void
in (CudaCase *c, LoomTensorDesc d)
{
  g_assert_cmpint (c->n_in, <, CASE_OPERANDS);
  c->in[c->n_in++] = d;
}

static void
out (CudaCase *c, LoomTensorDesc d)
{
  g_assert_cmpint (c->n_out, <, CASE_OPERANDS);
  c->out[c->n_out++] = d;
}

static void
scalar (CudaCase *c, LoomDType dtype, double value)
{
  c->value[c->n_in] = value;
  c->has_value[c->n_in] = TRUE;
  in (c, desc (dtype, 0, 0));
}

/* ---- element-wise --------------------------------------------------------------- */

static void
step (CudaCase *c, LoomScalarOp op, int a, int b, int d)
{
  LoomElementwiseAttrs *e = &c->attrs.elementwise;

  e->step[e->n_steps++] = (LoomElementwiseStep){ .op = op, .arg = { a, b, d } };
}

static void
add_elementwise (GPtrArray *cases)
{
  CudaCase *c;

  for (int op = 0; op < LOOM_N_SCALARS; op++)
    {
      int arity = loom_scalar_arity (op);

      c = add (cases, "elementwise", loom_scalar_name (op));
      c->low = 0.1;
      for (int k = 0; k < arity; k++)
        in (c, F (2, 7, 147));
      out (c, F (2, 7, 147));
      c->attrs.elementwise.compute = LOOM_F32;
      step (c, op, 0, 1, 2);
      c->attrs.elementwise.step[0].imm = -1.25;
      c->attrs.elementwise.out[0] = arity;
    }

  c = add (cases, "elementwise", "bias, relu and both results");
  in (c, F (2, 33, 12));
  in (c, F (1, 12));
  out (c, F (2, 33, 12));
  out (c, F (2, 33, 12));
  c->attrs.elementwise.compute = LOOM_F32;
  step (c, LOOM_SCALAR_ADD, 0, 1, 0);
  step (c, LOOM_SCALAR_RELU, 2, 0, 0);
  c->attrs.elementwise.out[0] = 3;
  c->attrs.elementwise.out[1] = 2;

  c = add (cases, "elementwise", "broadcast from every side");
  in (c, F (4, 2, 1, 5, 3));
  in (c, F (3, 4, 1, 3));
  in (c, F (1, 1));
  out (c, F (4, 2, 4, 5, 3));
  c->attrs.elementwise.compute = LOOM_F32;
  step (c, LOOM_SCALAR_FMA, 0, 1, 2);
  c->attrs.elementwise.out[0] = 3;

  c = add (cases, "elementwise", "channels last with a channel's bias");
  in (c, nhwc (F (4, 2, 8, 3, 5)));
  in (c, F (3, 8, 1, 1));
  out (c, nhwc (F (4, 2, 8, 3, 5)));
  c->attrs.elementwise.compute = LOOM_F32;
  step (c, LOOM_SCALAR_MUL, 0, 1, 0);
  c->attrs.elementwise.out[0] = 2;

  c = add (cases, "elementwise", "integers compared to a bool");
  in (c, desc (LOOM_I64, 1, 131));
  in (c, desc (LOOM_I64, 1, 131));
  out (c, desc (LOOM_BOOL, 1, 131));
  c->attrs.elementwise.compute = LOOM_I64;
  step (c, LOOM_SCALAR_EQ, 0, 1, 0);
  c->attrs.elementwise.out[0] = 2;

  c = add (cases, "elementwise", "no element");
  in (c, F (2, 0, 3));
  out (c, F (2, 0, 3));
  c->attrs.elementwise.compute = LOOM_F32;
  step (c, LOOM_SCALAR_EXP, 0, 0, 0);
  c->attrs.elementwise.out[0] = 1;
}

/* ---- reductions ------------------------------------------------------------------- */

static void
add_reduce_case (GPtrArray *cases, const char *what, LoomReduceOp op, guint32 axes, LoomTensorDesc x)
{
  CudaCase *c = add (cases, "reduce", what);
  LoomTensorDesc y = x;

  for (int i = 0; i < x.rank; i++)
    if (axes >> i & 1)
      y.dim[i] = 1;
  y.layout = LOOM_LAYOUT_PLAIN;
  c->attrs.reduce = (LoomReduceAttrs){ .op = op, .axes = axes };
  c->tolerance = 1e-4;
  in (c, x);
  out (c, y);
}

static void
add_reductions (GPtrArray *cases)
{
  CudaCase *c;

  add_reduce_case (cases, "sum of rows", LOOM_REDUCE_SUM, 2, F (2, 9, 300));
  add_reduce_case (cases, "sum of columns", LOOM_REDUCE_SUM, 1, F (2, 300, 37));
  add_reduce_case (cases, "sum of the middle", LOOM_REDUCE_SUM, 2, F (3, 4, 19, 6));
  add_reduce_case (cases, "sum around the middle", LOOM_REDUCE_SUM, 5, F (3, 4, 19, 6));
  add_reduce_case (cases, "sum of all, in pieces", LOOM_REDUCE_SUM, 3, F (2, 130, 301));
  add_reduce_case (cases, "sum of columns, in pieces", LOOM_REDUCE_SUM, 1, F (2, 9001, 5));
  add_reduce_case (cases, "sum of a batch and space", LOOM_REDUCE_SUM, 13, F (4, 5, 3, 6, 7));
  add_reduce_case (cases, "sum, channels last", LOOM_REDUCE_SUM, 12, nhwc (F (4, 3, 5, 6, 7)));
  add_reduce_case (cases, "sum of none", LOOM_REDUCE_SUM, 1, F (2, 0, 3));
  add_reduce_case (cases, "no axis", LOOM_REDUCE_SUM, 0, F (2, 5, 3));
  add_reduce_case (cases, "max", LOOM_REDUCE_MAX, 2, F (2, 9, 300));
  add_reduce_case (cases, "min", LOOM_REDUCE_MIN, 1, F (2, 9, 300));
  add_reduce_case (cases, "product", LOOM_REDUCE_PROD, 2, F (2, 9, 11));

  for (int largest = 0; largest < 2; largest++)
    for (int axis = 0; axis < 3; axis++)
      {
        g_autofree char *what = g_strdup_printf ("%s along %d", largest ? "largest" : "smallest", axis);

        c = add (cases, "argreduce", what);
        c->attrs.argreduce = (LoomArgReduceAttrs){ .largest = largest, .axis = axis };
        in (c, F (3, 5, 70, 3));
        out (c, desc (LOOM_I64, 3, axis == 0 ? 1 : 5, axis == 1 ? 1 : 70, axis == 2 ? 1 : 3));
      }
}

/* ---- products ------------------------------------------------------------------------ */

static void
add_matmul_case (GPtrArray *cases, const char *what, LoomMatmulAttrs attrs, LoomTensorDesc a, LoomTensorDesc b,
                 LoomTensorDesc y)
{
  CudaCase *c = add (cases, "matmul", what);

  c->attrs.matmul = attrs;
  c->tolerance = 1e-4;
  in (c, a);
  in (c, b);
  if (attrs.has_bias)
    in (c, F (1, (int)y.dim[y.rank - 1]));
  out (c, y);
}

static void
add_products (GPtrArray *cases)
{
  static const LoomScalarOp acts[]
      = { LOOM_SCALAR_ID, LOOM_SCALAR_RELU, LOOM_SCALAR_GELU_TANH, LOOM_SCALAR_GELU, LOOM_SCALAR_SIGMOID };

  for (int i = 0; i < 16; i++)
    {
      gboolean ta = i & 1, tb = i >> 1 & 1, bias = i >> 2 & 1, odd = i >> 3 & 1;
      int m = odd ? 7 : 32, n = odd ? 5 : 48, k = odd ? 3 : 64;
      g_autofree char *what
          = g_strdup_printf ("%d %d %d%s%s%s", m, n, k, ta ? " ta" : "", tb ? " tb" : "", bias ? " bias" : "");

      add_matmul_case (cases, what, (LoomMatmulAttrs){ .trans_a = ta, .trans_b = tb, .has_bias = bias },
                       ta ? F (2, k, m) : F (2, m, k), tb ? F (2, n, k) : F (2, k, n), F (2, m, n));
    }
  for (gsize i = 0; i < G_N_ELEMENTS (acts); i++)
    for (int bias = 0; bias < 2; bias++)
      {
        g_autofree char *what = g_strdup_printf ("then %s%s", loom_scalar_name (acts[i]), bias ? " with bias" : "");

        add_matmul_case (cases, what, (LoomMatmulAttrs){ .act = acts[i], .has_bias = bias, .trans_b = true },
                         F (2, 16, 24), F (2, 40, 24), F (2, 16, 40));
      }
  add_matmul_case (cases, "a batch of rows", (LoomMatmulAttrs){ .has_bias = true }, F (3, 3, 4, 8), F (2, 8, 6),
                   F (3, 3, 4, 6));
  add_matmul_case (cases, "batch by batch", (LoomMatmulAttrs){ .trans_b = true }, F (4, 2, 3, 4, 8), F (4, 2, 3, 6, 8),
                   F (4, 2, 3, 4, 6));
  add_matmul_case (cases, "batches that broadcast", (LoomMatmulAttrs){ .trans_a = true }, F (4, 2, 1, 8, 4),
                   F (3, 3, 8, 5), F (4, 2, 3, 4, 5));
  add_matmul_case (cases, "batches walked", (LoomMatmulAttrs){ .trans_a = false }, F (5, 2, 1, 3, 4, 7),
                   F (5, 1, 5, 3, 7, 5), F (5, 2, 5, 3, 4, 5));
  add_matmul_case (cases, "empty sum", (LoomMatmulAttrs){ .has_bias = true }, F (2, 3, 0), F (2, 0, 4), F (2, 3, 4));
}

/* ---- rows: softmax, losses, norms --------------------------------------------------------- */

static void
add_softmax_case (GPtrArray *cases, gboolean grad, gboolean log, int axis, LoomTensorDesc x)
{
  g_autofree char *what = g_strdup_printf ("%s axis %d of %d", log ? "log" : "plain", axis, (int)x.dim[axis]);
  CudaCase *c = add (cases, grad ? "softmax_grad" : "softmax", what);

  c->attrs.softmax = (LoomSoftmaxAttrs){ .axis = axis, .log = log };
  c->tolerance = grad ? 2e-4 : 2e-5;
  in (c, x);
  if (grad)
    in (c, x);
  out (c, x);
}

static void
add_loss_case (GPtrArray *cases, const char *what, LoomTensorDesc x, LoomTensorDesc target, gint64 limit, gint64 ignore)
{
  LoomTensorDesc row = target;
  CudaCase *c = add (cases, "cross_entropy", what);

  row.dtype = LOOM_F32;
  c->index_limit = limit;
  c->attrs.cross_entropy.ignore_index = ignore;
  in (c, x);
  in (c, target);
  out (c, row);
  out (c, row);

  c = add (cases, "cross_entropy_grad", what);
  c->index_limit = limit;
  c->attrs.cross_entropy.ignore_index = ignore;
  in (c, x);
  in (c, target);
  in (c, row);
  in (c, row);
  out (c, x);
}

/* The same with the activation that the planner puts into it, and from given statistics with and without it. */
static void
add_batch_norm_relu (GPtrArray *cases, const char *what, const LoomNormAttrs *attrs, LoomTensorDesc x,
                     LoomTensorDesc statistic)
{
  for (int kind = 0; kind < 4; kind++)
    {
      static const char *const primitives[]
          = { "batch_norm", "batch_norm_grad", "batch_norm_apply", "batch_norm_apply" };
      g_autofree char *name = g_strdup_printf ("%s%s", what, kind < 3 ? " relu" : "");
      CudaCase *c = add (cases, primitives[kind], name);

      c->attrs.norm = *attrs;
      c->attrs.norm.act = kind < 3 ? LOOM_SCALAR_RELU : LOOM_SCALAR_ID;
      c->tolerance = 3e-4;
      c->positive_from = kind == 0 ? -1 : kind == 1 ? 3 : 2;
      if (kind == 1)
        in (c, x);
      in (c, x);
      for (int i = 0; i < 2 && kind != 0; i++)
        in (c, statistic);
      for (int i = 0; i < 2 && attrs->affine; i++)
        in (c, statistic);
      out (c, x);
      for (int i = 0; i < 2 && (kind == 0 || (kind == 1 && attrs->affine)); i++)
        out (c, statistic);
    }
}

static void
add_norm_cases (GPtrArray *cases, gboolean batch, gboolean affine, LoomTensorDesc x, LoomTensorDesc statistic,
                LoomTensorDesc weight, int axes)
{
  g_autofree char *what = g_strdup_printf ("rank %d%s%s", x.rank, affine ? " affine" : "",
                                           x.layout == LOOM_LAYOUT_NHWC ? " channels last" : "");
  LoomNormAttrs attrs = { .eps = 1e-5, .axes = axes, .affine = affine };
  CudaCase *c = add (cases, batch ? "batch_norm" : "layer_norm", what);

  c->attrs.norm = attrs;
  c->tolerance = 1e-4;
  in (c, x);
  for (int i = 0; i < 2 && affine; i++)
    in (c, weight);
  out (c, x);
  out (c, statistic);
  out (c, statistic);

  c = add (cases, batch ? "batch_norm_grad" : "layer_norm_grad", what);
  c->attrs.norm = attrs;
  c->tolerance = 3e-4;
  c->positive_from = 3; /* variance, or its root's inverse */
  in (c, x);
  in (c, x);
  in (c, statistic);
  in (c, statistic);
  if (affine)
    in (c, weight);
  out (c, x);
  for (int i = 0; i < 2 && affine; i++)
    out (c, weight);
  if (batch)
    add_batch_norm_relu (cases, what, &attrs, x, statistic);
}

static void
add_rows (GPtrArray *cases)
{
  for (int i = 0; i < 4; i++)
    {
      add_softmax_case (cases, i & 1, i >> 1, 1, F (2, 13, 10));
      add_softmax_case (cases, i & 1, i >> 1, 1, F (3, 2, 11, 7));
      add_softmax_case (cases, i & 1, i >> 1, 1, F (2, 3, 1500));
    }
  add_loss_case (cases, "ten classes", F (2, 65, 10), desc (LOOM_I64, 1, 65), 10, -100);
  add_loss_case (cases, "many classes", F (2, 3, 2000), desc (LOOM_I64, 1, 3), 2000, -100);
  add_loss_case (cases, "one ignored", F (2, 65, 4), desc (LOOM_I64, 1, 65), 4, 2);
  add_loss_case (cases, "with space", F (4, 3, 5, 2, 4), desc (LOOM_I64, 3, 3, 2, 4), 5, -1);
  for (int affine = 0; affine < 2; affine++)
    {
      add_norm_cases (cases, TRUE, affine, F (2, 40, 6), F (1, 6), F (1, 6), 0);
      add_norm_cases (cases, TRUE, affine, F (4, 4, 3, 10, 9), F (1, 3), F (1, 3), 0);
      add_norm_cases (cases, TRUE, affine, nhwc (F (4, 4, 3, 10, 9)), F (1, 3), F (1, 3), 0);
      add_norm_cases (cases, FALSE, affine, F (2, 300, 33), F (1, 300), F (1, 33), 1);
      add_norm_cases (cases, FALSE, affine, F (3, 5, 4, 70), F (1, 5), F (2, 4, 70), 2);
    }
}

/* ---- tables and moves -------------------------------------------------------------------------- */

static void
add_moves (GPtrArray *cases)
{
  CudaCase *c;

  c = add (cases, "gather_rows", "a table of 11 rows");
  c->index_limit = 11;
  in (c, F (2, 11, 9));
  in (c, desc (LOOM_I64, 2, 3, 5));
  out (c, F (3, 3, 5, 9));

  c = add (cases, "scatter_add_rows", "a table of 11 rows");
  c->index_limit = 11;
  in (c, desc (LOOM_I64, 1, 700));
  in (c, F (2, 700, 9));
  out (c, F (2, 11, 9));
  c->tolerance = 1e-4;

  c = add (cases, "scatter_add_rows", "a table of 1,500 wide rows");
  c->index_limit = 1500;
  in (c, desc (LOOM_I64, 1, 300));
  in (c, F (2, 300, 300));
  out (c, F (2, 1500, 300));

  c = add (cases, "permute", "three axes");
  c->attrs.permute = (LoomPermuteAttrs){ .perm = { 2, 0, 1 } };
  in (c, F (3, 4, 5, 6));
  out (c, F (3, 6, 4, 5));

  c = add (cases, "permute", "a transposition");
  c->attrs.permute = (LoomPermuteAttrs){ .perm = { 1, 0 } };
  in (c, F (2, 45, 67));
  out (c, F (2, 67, 45));

  c = add (cases, "copy", "one run");
  in (c, F (2, 45, 67));
  out (c, F (2, 45, 67));

  c = add (cases, "copy", "to channels last");
  in (c, F (4, 2, 3, 4, 5));
  out (c, nhwc (F (4, 2, 3, 4, 5)));

  c = add (cases, "copy", "from channels last");
  in (c, nhwc (F (4, 2, 3, 4, 5)));
  out (c, F (4, 2, 3, 4, 5));

  c = add (cases, "copy", "float to integer");
  in (c, F (1, 77));
  out (c, desc (LOOM_I64, 1, 77));

  c = add (cases, "copy", "byte to float");
  in (c, desc (LOOM_U8, 1, 77));
  out (c, F (1, 77));

  c = add (cases, "copy", "integer to bool");
  in (c, desc (LOOM_I64, 1, 77));
  out (c, desc (LOOM_BOOL, 1, 77));

  c = add (cases, "expand", "two axes");
  in (c, F (2, 3, 1));
  out (c, F (3, 4, 3, 5));

  c = add (cases, "slice", "steps");
  c->attrs.slice = (LoomSliceAttrs){ .start = { 1, 2 }, .step = { 1, 3 } };
  in (c, F (2, 6, 17));
  out (c, F (2, 4, 5));

  c = add (cases, "pad", "the slice's gradient");
  c->attrs.pad = (LoomPadAttrs){ .start = { 1, 2 }, .step = { 1, 3 }, .value = -1.5 };
  in (c, F (2, 4, 5));
  out (c, F (2, 6, 17));

  c = add (cases, "concat", "the middle axis");
  c->attrs.concat.axis = 1;
  in (c, F (3, 2, 3, 4));
  in (c, F (3, 2, 1, 4));
  in (c, F (3, 2, 5, 4));
  out (c, F (3, 2, 9, 4));

  c = add (cases, "fill", "a float");
  c->attrs.fill.value = 0.1;
  out (c, F (2, 3, 100));

  c = add (cases, "iota", "the middle axis");
  c->attrs.iota = (LoomIotaAttrs){ .axis = 1, .start = -3, .step = 0.5 };
  out (c, F (3, 2, 9, 4));

  for (LoomRandomKind kind = LOOM_RANDOM_UNIFORM; kind <= LOOM_RANDOM_EXPONENTIAL; kind++)
    {
      c = add (cases, "random", kind == LOOM_RANDOM_NORMAL ? "normal" : kind ? "exponential" : "uniform");
      c->attrs.random = (LoomRandomAttrs){ .kind = kind, .stream = G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) };
      scalar (c, LOOM_I64, 12345678901.0);
      scalar (c, LOOM_I64, 7);
      out (c, F (1, 1001));
    }
}

/* ---- pooling ----------------------------------------------------------------------------------------- */

static void
add_pool_cases (GPtrArray *cases, const char *what, LoomPool2dAttrs attrs, LoomTensorDesc x, LoomTensorDesc y,
                gboolean average)
{
  LoomTensorDesc where = y;
  CudaCase *c = add (cases, average ? "avg_pool2d" : "max_pool2d", what);

  where.dtype = LOOM_U8;
  c->attrs.pool = attrs;
  in (c, x);
  out (c, y);
  if (!average)
    out (c, where);

  c = add (cases, average ? "avg_pool2d_grad" : "max_pool2d_grad", what);
  c->attrs.pool = attrs;
  c->index_limit = attrs.kernel[0] * attrs.kernel[1];
  in (c, y);
  if (!average)
    in (c, where);
  out (c, x);
}

static void
add_pools (GPtrArray *cases)
{
  LoomPool2dAttrs two = { .kernel = { 2, 2 }, .stride = { 2, 2 }, .dilation = { 1, 1 } };
  LoomPool2dAttrs three = { .kernel = { 3, 2 }, .stride = { 2, 1 }, .dilation = { 1, 1 } };
  LoomPool2dAttrs padded = { .kernel = { 3, 3 }, .stride = { 2, 2 }, .pad = { 1, 1 }, .dilation = { 1, 1 } };
  CudaCase *c;

  for (int average = 0; average < 2; average++)
    {
      add_pool_cases (cases, "2x2", two, F (4, 2, 3, 8, 6), F (4, 2, 3, 4, 3), average);
      add_pool_cases (cases, "3x2 overlapping", three, F (4, 2, 3, 9, 6), F (4, 2, 3, 4, 5), average);
      add_pool_cases (cases, "channels last", three, nhwc (F (4, 2, 3, 9, 6)), nhwc (F (4, 2, 3, 4, 5)), average);
    }
  add_pool_cases (cases, "padding left out", padded, F (4, 2, 3, 8, 7), F (4, 2, 3, 4, 4), TRUE);
  padded.count_include_pad = true;
  add_pool_cases (cases, "padding counted, overhanging", padded, F (4, 2, 3, 8, 8), F (4, 2, 3, 5, 5), TRUE);
  padded.divisor = 5;
  add_pool_cases (cases, "own divisor", padded, F (4, 2, 3, 8, 7), F (4, 2, 3, 4, 4), TRUE);
  c = add (cases, "max_pool2d", "padded");
  c->attrs.pool = padded;
  in (c, F (4, 2, 3, 8, 7));
  out (c, F (4, 2, 3, 4, 4));
  out (c, desc (LOOM_U8, 4, 2, 3, 4, 4));
}

/* ---- optimisers ------------------------------------------------------------------------------------------ */

static void
add_optimiser (GPtrArray *cases, const char *primitive, const char *what, int lists, const double *scalars,
               int n_scalars, int step_number, const void *attrs, gsize attrs_size)
{
  static const int counts[2] = { 10001, 64 };
  CudaCase *c = add (cases, primitive, what);

  memcpy (&c->attrs, attrs, attrs_size);
  for (int k = 0; k < lists; k++)
    for (int t = 0; t < 2; t++)
      {
        /* Every list but the gradients is written where it is read. */
        if (k != 1)
          {
            c->in_place_of[c->n_out] = c->n_in;
            out (c, F (1, counts[t]));
          }
        in (c, F (1, counts[t]));
      }
  c->in_place = TRUE;
  if (lists >= 4)
    c->positive_from = 6; /* v and vmax; scalars have values of their own */
  for (int i = 0; i < n_scalars; i++)
    scalar (c, LOOM_F32, scalars[i]);
  scalar (c, LOOM_I64, step_number);
}

static void
add_optimisers (GPtrArray *cases)
{
  static const double sgd[] = { 0.1, 0.9, 0.25, 0.01, 0.5, 1 }, idle[] = { 0.1, 0.9, 0.25, 0.01, 0.5, 0 };
  static const double adam[] = { 0.01, 0.9, 0.999, 1e-8, 0.01, 0.5, 1 };
  LoomSgdAttrs s = { .n = 2 };
  LoomAdamAttrs a = { .n = 2 };
  CudaCase *c;

  c = add (cases, "grad_stats", "three gradients");
  c->attrs.stats.n = 3;
  in (c, F (1, 20001));
  in (c, F (1, 1));
  in (c, F (2, 30, 40));
  out (c, SCALAR);
  out (c, SCALAR);

  add_optimiser (cases, "sgd_step", "plain", 2, sgd, 6, 3, &s, sizeof s);
  s.momentum = true;
  add_optimiser (cases, "sgd_step", "momentum, first", 3, sgd, 6, 1, &s, sizeof s);
  add_optimiser (cases, "sgd_step", "momentum, later", 3, sgd, 6, 2, &s, sizeof s);
  add_optimiser (cases, "sgd_step", "not finite", 3, idle, 6, 2, &s, sizeof s);
  s.nesterov = true;
  s.maximize = true;
  add_optimiser (cases, "sgd_step", "nesterov upwards", 3, sgd, 6, 2, &s, sizeof s);
  add_optimiser (cases, "adam_step", "plain", 4, adam, 7, 5, &a, sizeof a);
  a.decoupled = true;
  add_optimiser (cases, "adam_step", "decoupled", 4, adam, 7, 1, &a, sizeof a);
  a.amsgrad = true;
  a.maximize = true;
  add_optimiser (cases, "adam_step", "amsgrad upwards", 5, adam, 7, 9, &a, sizeof a);
}

/* ---- convolution --------------------------------------------------------------------------------------------- */

static void
add_conv_cases (GPtrArray *cases, const char *what, LoomConv2dAttrs attrs, LoomTensorDesc x, LoomTensorDesc w,
                LoomTensorDesc y)
{
  LoomTensorDesc bias = F (1, (int)w.dim[0]);
  CudaCase *c = add (cases, "conv2d", what);

  c->attrs.conv = attrs;
  in (c, x);
  in (c, w);
  if (attrs.has_bias)
    in (c, bias);
  out (c, y);
  c->tolerance = 2e-4;

  attrs.act = LOOM_SCALAR_ID;
  c = add (cases, "conv2d_weight_grad", what);
  c->attrs.conv = attrs;
  in (c, y);
  in (c, x);
  out (c, w);
  if (attrs.has_bias)
    out (c, bias);
  c->tolerance = 2e-4;

  attrs.has_bias = false;
  c = add (cases, "conv2d_input_grad", what);
  c->attrs.conv = attrs;
  in (c, y);
  in (c, w);
  out (c, x);
  c->tolerance = 2e-4;
}

static void
add_convolutions (GPtrArray *cases)
{
  LoomConv2dAttrs a = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1 };

  add_conv_cases (cases, "3x3", a, F (4, 2, 4, 9, 8), F (4, 6, 4, 3, 3), F (4, 2, 6, 9, 8));
  a.has_bias = true;
  a.act = LOOM_SCALAR_RELU;
  add_conv_cases (cases, "3x3 bias relu", a, F (4, 2, 4, 9, 8), F (4, 6, 4, 3, 3), F (4, 2, 6, 9, 8));
  a.groups = 2;
  a.stride[0] = 2;
  add_conv_cases (cases, "groups and stride", a, F (4, 2, 4, 9, 8), F (4, 6, 2, 3, 3), F (4, 2, 6, 5, 8));
}

GPtrArray *
cuda_cases_new (void)
{
  GPtrArray *cases = g_ptr_array_new_with_free_func (case_free);

  add_elementwise (cases);
  add_reductions (cases);
  add_products (cases);
  add_rows (cases);
  add_moves (cases);
  add_pools (cases);
  add_convolutions (cases);
  add_optimisers (cases);
  return cases;
}
