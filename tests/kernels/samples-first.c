/* The samples of the first primitives: for each its attributes, broadcasts, sizes 0 and 1, odd
 * sizes that leave remainders in vector loops, and sizes that go to threads. */
#include "tests/kernels/kernel-harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- elementwise ------------------------------------------------------- */

static void
elementwise_samples (GPtrArray *all)
{
  static const char *const shape[][4] = {
    /* a, b, c, y */
    { "5", "5", "5", "5" },
    { "", "", "", "" },
    { "0,3", "3", "1", "0,3" },
    { "1", "700", "700", "700" },
    { "33,70", "70", "33,1", "33,70" },
    { "4,1,5", "3,1", "4,3,5", "4,3,5" },
    { "2,3,4,5", "3,1,1", "1,3,1,1", "2,3,4,5" },
    { "2,1,3,1,2", "5,1,4,1", "2,5,3,4,2", "2,5,3,4,2" },
    { "24,32,9,9", "1,32,1,1", "24,32,9,9", "24,32,9,9" },
  };

  for (int op = 0; op < LOOM_N_SCALARS; op++)
    for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
      for (int special = 0; special < 2; special++)
        {
          int arity = loom_scalar_arity ((LoomScalarOp)op);
          static const Fill fills[] = { [LOOM_DOMAIN_ALL] = FILL_NORMAL,
                                        [LOOM_DOMAIN_POSITIVE] = FILL_POSITIVE,
                                        [LOOM_DOMAIN_UNIT] = FILL_UNIT,
                                        [LOOM_DOMAIN_ABOVE_1] = FILL_POSITIVE };
          Fill kind = special ? FILL_SPECIAL : fills[loom_scalar_domain ((LoomScalarOp)op)];
          Sample *s;

          /* Large arguments of sin, cos and tan are libm's affair, and at a value such as
           * -0.5·20 gelu cancels to nothing in both. */
          if (special && (op == LOOM_SCALAR_SIN || op == LOOM_SCALAR_COS || op == LOOM_SCALAR_TAN || v > 4))
            continue;
          s = sample_add (all, "elementwise", op == LOOM_SCALAR_POW ? 1e-5 : TIGHT, "%s %s%s",
                          loom_scalar_name ((LoomScalarOp)op), shape[v][3], special ? " special" : "");
          for (int i = 0; i < arity; i++)
            sample_in (s, desc (F, shape[v][arity == 1 ? 3 : i]), kind, 0);
          sample_out (s, desc (F, arity == 2 && v == 5 ? "4,3,5" : shape[v][3]));
          if (arity == 2 && v == 5)
            s->in[1] = desc (F, "4,3,5");
          if (arity == 2 && v == 7)
            s->out[0] = desc (F, "2,5,3,4,2");
          s->nhwc = s->out[0].rank == 4;
          s->attrs.elementwise.compute = F;
          s->attrs.elementwise.n_steps = 1;
          s->attrs.elementwise.step[0] = (LoomElementwiseStep){ (LoomScalarOp)op, { 0, 1, 2 }, 1.25 };
          s->attrs.elementwise.out[0] = (uint8_t)arity;
        }
  /* A chain with two results, one of them bool, and an operand of another type. */
  for (int big = 0; big < 2; big++)
    {
      const char *dims = big ? "300,700" : "7,9";
      Sample *s = sample_add (all, "elementwise", TIGHT, "chain %s", dims);
      LoomElementwiseAttrs *a = &s->attrs.elementwise;

      sample_in (s, desc (F, dims), FILL_NORMAL, 0);
      sample_in (s, desc (F, big ? "700" : "9"), FILL_NORMAL, 0);
      sample_in (s, desc (LOOM_I64, dims), FILL_CLASS, 5);
      sample_out (s, desc (F, dims));
      sample_out (s, desc (LOOM_BOOL, dims));
      sample_out (s, desc (F, dims));
      a->compute = F;
      a->n_steps = 5;
      a->step[0] = (LoomElementwiseStep){ LOOM_SCALAR_ADD, { 0, 1 } };
      a->step[1] = (LoomElementwiseStep){ LOOM_SCALAR_TANH, { 3 } };
      a->step[2] = (LoomElementwiseStep){ LOOM_SCALAR_CONST, { 0 }, 0.5 };
      a->step[3] = (LoomElementwiseStep){ LOOM_SCALAR_FMA, { 4, 5, 2 } };
      a->step[4] = (LoomElementwiseStep){ LOOM_SCALAR_GT, { 0, 5 } };
      a->out[0] = 6;
      a->out[1] = 7;
      a->out[2] = 4;
    }
  {
    static const LoomScalarOp ops[] = { LOOM_SCALAR_EQ,   LOOM_SCALAR_AND, LOOM_SCALAR_OR,        LOOM_SCALAR_XOR,
                                        LOOM_SCALAR_ADD,  LOOM_SCALAR_MAX, LOOM_SCALAR_DIV_TRUNC, LOOM_SCALAR_DIV_FLOOR,
                                        LOOM_SCALAR_FMOD, LOOM_SCALAR_MOD, LOOM_SCALAR_POW };

    for (int op = 0; op < (int)G_N_ELEMENTS (ops); op++)
      for (int sign = 0; sign < 3; sign++) /* of the first operand, of the second; a third step makes the outer one */
        {
          Sample *s = sample_add (all, "elementwise", 0, "i64 %s signs %d", loom_scalar_name (ops[op]), sign);

          sample_in (s, desc (LOOM_I64, "41,5"), FILL_CLASS, 9);
          sample_in (s, desc (LOOM_U8, "5"), FILL_CLASS, 4);
          sample_out (s, desc (op < 4 ? LOOM_BOOL : LOOM_I64, "41,5"));
          s->attrs.elementwise = (LoomElementwiseAttrs){ LOOM_I64,
                                                         3,
                                                         { { sign & 1 ? LOOM_SCALAR_NEG : LOOM_SCALAR_ID, { 0 } },
                                                           { sign & 2 ? LOOM_SCALAR_NEG : LOOM_SCALAR_ID, { 1 } },
                                                           { ops[op], { 2, 3 } } },
                                                         { 4 } };
        }
  }
}

/* ---- reductions -------------------------------------------------------- */

static void
reduce_samples (GPtrArray *all)
{
  static const char *const shape[] = { "1", "7", "100000", "33,70", "70,33", "4,5,6,7", "0,4", "2,1,3", "500,300", "" };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    {
      LoomTensorDesc x = desc (F, shape[v]);

      for (guint axes = 0; axes < 1u << x.rank; axes++)
        for (int op = LOOM_REDUCE_SUM; op <= LOOM_REDUCE_PROD; op++)
          for (int special = 0; special < 2; special++)
            {
              gboolean extreme = op == LOOM_REDUCE_MAX || op == LOOM_REDUCE_MIN;
              Sample *s;

              if ((loom_desc_count (&x) == 0 && extreme) || (special && !extreme)
                  || (op == LOOM_REDUCE_PROD && loom_desc_count (&x) > 500))
                continue;
              s = sample_add (all, "reduce", 2e-5, "op %d of %s over %x%s", op, shape[v], axes,
                              special ? " special" : "");
              sample_in (s, x, special ? FILL_SPECIAL : FILL_NORMAL, 0);
              sample_out (s, x);
              for (int d = 0; d < x.rank; d++)
                if ((axes >> d) & 1)
                  s->out[0].dim[d] = 1;
              s->attrs.reduce = (LoomReduceAttrs){ (LoomReduceOp)op, axes };
              s->nhwc = x.rank == 4;
            }
      for (int axis = 0; axis < x.rank && loom_desc_count (&x) > 0; axis++)
        for (int largest = 0; largest < 2; largest++)
          {
            Sample *s = sample_add (all, "argreduce", 0, "%s axis %d %s", shape[v], axis, largest ? "max" : "min");

            sample_in (s, x, largest ? FILL_SPECIAL : FILL_CLASS, 4);
            sample_out (s, x);
            s->out[0].dtype = LOOM_I64;
            s->out[0].dim[axis] = 1;
            s->attrs.argreduce = (LoomArgReduceAttrs){ largest, axis };
          }
    }
  {
    Sample *s = sample_add (all, "reduce", 0, "i64");

    sample_in (s, desc (LOOM_I64, "5,9"), FILL_CLASS, 100);
    sample_out (s, desc (LOOM_I64, "5,1"));
    s->attrs.reduce = (LoomReduceAttrs){ LOOM_REDUCE_SUM, 2 };
  }
}

/* ---- matmul and convolution -------------------------------------------- */

static void
matmul_samples (GPtrArray *all)
{
  static const struct
  {
    const char *batch_a, *batch_b, *batch_y;
    int m, n, k;
  } cases[] = {
    { "", "", "", 1, 1, 1 },
    { "", "", "", 16, 16, 4 },
    { "", "", "", 16, 3, 16 },
    { "", "", "", 7, 37, 19 },
    { "", "", "", 32, 10, 128 },
    { "", "", "", 33, 130, 70 },
    { "", "", "", 0, 5, 4 },
    { "", "", "", 3, 5, 0 },
    { "", "", "", 15, 17, 1 },
    { "3,", "3,", "3,", 5, 6, 7 },
    { "2,1,", "3,", "2,3,", 4, 5, 6 },
    { "", "4,", "4,", 20, 30, 40 },
    { "2,3,", "1,3,", "2,3,", 30, 20, 25 },
  };
  static const LoomScalarOp acts[] = { LOOM_SCALAR_ID, LOOM_SCALAR_RELU, LOOM_SCALAR_GELU };

  for (int v = 0; v < (int)G_N_ELEMENTS (cases); v++)
    for (int flags = 0; flags < 8; flags++)
      for (int act = 0; act < 3; act++)
        {
          gboolean ta = flags & 1, tb = (flags >> 1) & 1, bias = flags >> 2;
          int m = cases[v].m, n = cases[v].n, k = cases[v].k;
          char a[64], b[64], y[64];
          Sample *s;

          g_snprintf (a, sizeof a, "%s%d,%d", cases[v].batch_a, ta ? k : m, ta ? m : k);
          g_snprintf (b, sizeof b, "%s%d,%d", cases[v].batch_b, tb ? n : k, tb ? k : n);
          g_snprintf (y, sizeof y, "%s%d,%d", cases[v].batch_y, m, n);
          s = sample_add (all, "matmul", 2e-5, "%s x %s%s%s%s %s", a, b, ta ? " Ta" : "", tb ? " Tb" : "",
                          bias ? " bias" : "", loom_scalar_name (acts[act]));
          sample_in (s, desc (F, a), FILL_NORMAL, 0);
          sample_in (s, desc (F, b), FILL_NORMAL, 0);
          g_snprintf (b, sizeof b, "%d", n);
          if (bias)
            sample_in (s, desc (F, b), FILL_NORMAL, 0);
          sample_out (s, desc (F, y));
          s->attrs.matmul = (LoomMatmulAttrs){ ta, tb, bias, acts[act] };
        }
}

static gint64
conv_size (gint64 n, gint64 pad, gint64 kernel, gint64 stride, gint64 dilation)
{
  return (n + pad - dilation * (kernel - 1) - 1) / stride + 1;
}

static void
conv_samples (GPtrArray *all)
{
  /* N, C, H, W, K, R, S, stride, pad t b l r, dilation, groups */
  static const int cases[][16] = {
    { 9, 1, 11, 13, 16, 5, 5, 1, 1, 2, 2, 2, 2, 1, 1, 1 },  { 5, 1, 8, 9, 32, 3, 3, 1, 1, 0, 1, 1, 0, 1, 1, 1 },
    { 1, 1, 5, 6, 3, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1 },     { 2, 1, 12, 12, 6, 5, 5, 1, 1, 2, 2, 2, 2, 1, 1, 1 },
    { 3, 6, 8, 8, 16, 5, 5, 1, 1, 0, 0, 0, 0, 1, 1, 1 },    { 2, 3, 9, 7, 5, 3, 2, 2, 1, 1, 0, 0, 1, 1, 1, 1 },
    { 1, 4, 9, 9, 8, 3, 3, 1, 2, 2, 2, 2, 2, 2, 2, 2 },     { 2, 16, 6, 6, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 16 },
    { 4, 32, 10, 10, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1 },
    { 2, 5, 4, 4, 7, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1 },     { 2, 8, 9, 9, 8, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 8 },
    { 3, 4, 1, 19, 8, 1, 5, 1, 2, 0, 0, 2, 2, 1, 1, 2 },    { 2, 6, 1, 8, 4, 1, 3, 1, 1, 0, 0, 1, 1, 1, 2, 1 },
  };

  for (int v = 0; v < (int)G_N_ELEMENTS (cases); v++)
    for (int mode = 0; mode < 4; mode++) /* bit 0: bias, bit 1: relu, forward only */
      {
        const int *c = cases[v];
        gint64 P = conv_size (c[2], c[9] + c[10], c[5], c[7], c[13]);
        gint64 Q = conv_size (c[3], c[11] + c[12], c[6], c[8], c[14]);
        LoomTensorDesc x = { F, 0, 4, { c[0], c[1], c[2], c[3] } };
        LoomTensorDesc w = { F, 0, 4, { c[4], c[1] / c[15], c[5], c[6] } };
        LoomTensorDesc y = { F, 0, 4, { c[0], c[4], P, Q } };
        LoomTensorDesc bias = { F, 0, 1, { c[4] } };
        LoomConv2dAttrs attrs = { { c[7], c[8] },   { c[9], c[10], c[11], c[12] },
                                  { c[13], c[14] }, c[15],
                                  mode & 1,         mode & 2 ? LOOM_SCALAR_RELU : LOOM_SCALAR_ID };
        Sample *s = sample_add (all, "conv2d", 3e-5, "case %d mode %d", v, mode);

        sample_in (s, x, FILL_NORMAL, 0);
        sample_in (s, w, FILL_NORMAL, 0);
        if (mode & 1)
          sample_in (s, bias, FILL_NORMAL, 0);
        sample_out (s, y);
        s->attrs.conv = attrs;
        s->nhwc = TRUE;
        if (mode & 2)
          continue;
        s = sample_add (all, "conv2d_weight_grad", 5e-5, "case %d mode %d", v, mode);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_in (s, x, FILL_NORMAL, 0);
        sample_out (s, w);
        if (mode & 1)
          sample_out (s, bias);
        s->attrs.conv = attrs;
        s->nhwc = TRUE;
        if (mode & 1)
          continue;
        s = sample_add (all, "conv2d_input_grad", 5e-5, "case %d", v);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_in (s, w, FILL_NORMAL, 0);
        sample_out (s, x);
        s->attrs.conv = attrs;
        s->nhwc = TRUE;
      }
}

/* ---- pooling ----------------------------------------------------------- */

static gint64
pool_size (gint64 n, gint64 pad, gint64 kernel, gint64 stride, gint64 dilation, gboolean ceil_mode)
{
  gint64 span = n + 2 * pad - dilation * (kernel - 1) - 1;
  gint64 size = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;

  return ceil_mode && (size - 1) * stride >= n + pad ? size - 1 : size;
}

static void
pool_samples (GPtrArray *all)
{
  /* N, C, H, W, kernel, stride, pad, dilation, ceil, count_include_pad, divisor */
  static const int cases[][14] = {
    { 2, 3, 8, 8, 2, 2, 2, 2, 0, 0, 1, 0, 1, 0 },     { 2, 70, 9, 7, 3, 2, 2, 3, 1, 1, 1, 0, 0, 0 },
    { 1, 5, 10, 10, 3, 3, 1, 1, 1, 1, 2, 0, 1, 0 },   { 2, 4, 7, 7, 3, 3, 2, 2, 1, 1, 1, 1, 1, 0 },
    { 2, 4, 7, 8, 2, 3, 3, 2, 0, 1, 1, 1, 0, 0 },     { 1, 2, 6, 6, 4, 4, 2, 2, 2, 2, 1, 1, 1, 3 },
    { 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0 },     { 1, 2, 20, 20, 17, 17, 3, 3, 1, 1, 1, 0, 1, 0 },
    { 0, 2, 4, 4, 2, 2, 2, 2, 0, 0, 1, 0, 1, 0 },     { 2, 19, 7, 10, 2, 3, 2, 3, 0, 0, 1, 0, 1, 0 },
    { 32, 16, 24, 24, 2, 2, 2, 2, 0, 0, 1, 0, 1, 0 },
  };

  for (int v = 0; v < (int)G_N_ELEMENTS (cases); v++)
    for (int special = 0; special < 2; special++)
      {
        const int *c = cases[v];
        LoomPool2dAttrs a = { { c[4], c[5] }, { c[6], c[7] }, { c[8], c[9] }, { c[10], c[10] }, c[12], c[13] };
        LoomTensorDesc x = { F, 0, 4, { c[0], c[1], c[2], c[3] } };
        LoomTensorDesc y = { F,
                             0,
                             4,
                             { c[0], c[1], pool_size (c[2], c[8], c[4], c[6], c[10], c[11]),
                               pool_size (c[3], c[9], c[5], c[7], c[10], c[11]) } };
        LoomTensorDesc where = y;
        Sample *s = sample_add (all, "max_pool2d", 0, "case %d%s", v, special ? " special" : "");

        where.dtype = c[4] * c[5] <= 256 ? LOOM_U8 : LOOM_I32;
        sample_in (s, x, special ? FILL_SPECIAL : FILL_NORMAL, 0);
        sample_out (s, y);
        sample_out (s, where);
        s->attrs.pool = a;
        s->nhwc = TRUE;
        if (special)
          continue;
        s = sample_add (all, "max_pool2d_grad", 1e-5, "case %d", v);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_in (s, where, FILL_WHERE, 0);
        sample_out (s, x);
        s->attrs.pool = a;
        s->nhwc = TRUE;
        if (c[10] != 1)
          continue;
        s = sample_add (all, "avg_pool2d", 1e-5, "case %d", v);
        sample_in (s, x, FILL_NORMAL, 0);
        sample_out (s, y);
        s->attrs.pool = a;
        s->nhwc = TRUE;
        s = sample_add (all, "avg_pool2d_grad", 1e-5, "case %d", v);
        sample_in (s, y, FILL_NORMAL, 0);
        sample_out (s, x);
        s->attrs.pool = a;
        s->nhwc = TRUE;
      }
}

/* ---- softmax, losses, norms -------------------------------------------- */

static void
softmax_samples (GPtrArray *all)
{
  static const char *const shape[] = { "5", "16,3", "32,10", "7,33,5", "3,4,70", "2,5,9,8", "0,4", "300,257", "6,1" };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    {
      LoomTensorDesc x = desc (F, shape[v]), loss = x, target;

      for (int axis = 0; axis < x.rank; axis++)
        for (int log = 0; log < 2; log++)
          {
            Sample *s = sample_add (all, "softmax", TIGHT, "%s axis %d%s", shape[v], axis, log ? " log" : "");

            sample_in (s, x, FILL_NORMAL, 0);
            sample_out (s, x);
            s->attrs.softmax = (LoomSoftmaxAttrs){ axis, log };
            s = sample_add (all, "softmax_grad", 2e-5, "%s axis %d%s", shape[v], axis, log ? " log" : "");
            sample_in (s, x, FILL_NORMAL, 0);
            sample_in (s, x, FILL_UNIT, 0);
            sample_out (s, x);
            s->attrs.softmax = (LoomSoftmaxAttrs){ axis, log };
          }
      if (x.rank < 2)
        continue;
      for (int d = 1; d + 1 < x.rank; d++)
        loss.dim[d] = x.dim[d + 1];
      loss.rank--;
      target = loss;
      target.dtype = LOOM_I64;
      for (int ignore = 0; ignore < 2; ignore++)
        {
          Sample *s = sample_add (all, "cross_entropy", TIGHT, "%s%s", shape[v], ignore ? " ignore" : "");

          sample_in (s, x, FILL_NORMAL, 0);
          sample_in (s, target, FILL_CLASS, (double)x.dim[1]);
          sample_out (s, loss);
          sample_out (s, loss);
          s->attrs.entropy.ignore_index = ignore ? 1 : -100;
          s = sample_add (all, "cross_entropy_grad", 1e-5, "%s%s", shape[v], ignore ? " ignore" : "");
          sample_in (s, x, FILL_NORMAL, 0);
          sample_in (s, target, FILL_CLASS, (double)x.dim[1]);
          sample_in (s, loss, FILL_POSITIVE, 0);
          sample_in (s, loss, FILL_NORMAL, 0);
          sample_out (s, x);
          s->attrs.entropy.ignore_index = ignore ? 1 : -100;
        }
    }
}

static void
batch_norm_samples (GPtrArray *all, const char *shape, int affine, gboolean relu)
{
  static const char *const primitives[] = { "batch_norm", "batch_norm_grad", "batch_norm_apply" };
  LoomTensorDesc x = desc (F, shape), c = { F, 0, 1, { x.dim[1] } };

  for (int v = 0; v < 3; v++)
    {
      gboolean grad = v == 1;
      Sample *s = sample_add (all, primitives[v], grad ? 1e-4 : 2e-5, "%s%s%s", shape, affine ? " affine" : "",
                              relu ? " relu" : "");

      sample_in (s, x, FILL_NORMAL, 0);
      if (grad)
        sample_in (s, x, FILL_NORMAL, 0);
      if (v > 0)
        {
          sample_in (s, c, FILL_NORMAL, 0);
          sample_in (s, c, FILL_POSITIVE, 0);
        }
      for (int i = 0; i < (grad && !relu ? 1 : 2) * affine; i++)
        sample_in (s, c, FILL_NORMAL, 0);
      sample_out (s, x);
      for (int i = 0; i < (grad ? 2 * affine : v == 0 ? 2 : 0); i++)
        sample_out (s, c);
      s->attrs.norm = (LoomNormAttrs){ .eps = 1e-5, .affine = affine, .act = relu ? LOOM_SCALAR_RELU : LOOM_SCALAR_ID };
      s->nhwc = TRUE;
    }
}

static void
norm_samples (GPtrArray *all)
{
  static const char *const batch[] = { "4,3", "3,5,7", "2,6,5,5", "16,40,13,13", "1,2,1,2" };
  static const char *const layer[] = { "5", "4,3", "3,5,70", "2,3,4,5", "300,129" };

  for (int affine = 0; affine < 2; affine++)
    {
      for (int v = 0; v < 2 * (int)G_N_ELEMENTS (batch); v++)
        batch_norm_samples (all, batch[v / 2], affine, v % 2 != 0);
      for (int v = 0; v < (int)G_N_ELEMENTS (layer); v++)
        {
          LoomTensorDesc x = desc (F, layer[v]);

          for (int axes = 1; axes <= x.rank; axes++)
            {
              LoomTensorDesc rows = x, row = { F, 0, axes, { 0 } };
              Sample *s = sample_add (all, "layer_norm", 2e-5, "%s last %d%s", layer[v], axes, affine ? " affine" : "");

              rows.rank = x.rank - axes;
              for (int d = 0; d < axes; d++)
                row.dim[d] = x.dim[rows.rank + d];
              sample_in (s, x, FILL_POSITIVE, 0);
              for (int i = 0; i < 2 * affine; i++)
                sample_in (s, row, FILL_NORMAL, 0);
              sample_out (s, x);
              sample_out (s, rows);
              sample_out (s, rows);
              s->attrs.norm = (LoomNormAttrs){ 1e-5, axes, affine };
              s = sample_add (all, "layer_norm_grad", 1e-4, "%s last %d%s", layer[v], axes, affine ? " affine" : "");
              sample_in (s, x, FILL_NORMAL, 0);
              sample_in (s, x, FILL_NORMAL, 0);
              sample_in (s, rows, FILL_NORMAL, 0);
              sample_in (s, rows, FILL_POSITIVE, 0);
              if (affine)
                sample_in (s, row, FILL_NORMAL, 0);
              sample_out (s, x);
              for (int i = 0; i < 2 * affine; i++)
                sample_out (s, row);
              s->attrs.norm = (LoomNormAttrs){ 1e-5, axes, affine };
            }
        }
    }
}

/* ---- movement ---------------------------------------------------------- */

static void
move_samples (GPtrArray *all)
{
  static const struct
  {
    const char *x, *y;
    int perm[4];
  } permutes[] = { { "5", "5", { 0 } },
                   { "3,4", "4,3", { 1, 0 } },
                   { "130,70", "70,130", { 1, 0 } },
                   { "2,3,4,5", "2,4,5,3", { 0, 2, 3, 1 } },
                   { "4,6,5,8", "4,5,6,8", { 0, 2, 1, 3 } },
                   { "3,4,5,2", "2,5,4,3", { 3, 2, 1, 0 } },
                   { "0,4", "4,0", { 1, 0 } },
                   { "20,30,40", "40,20,30", { 2, 0, 1 } } };
  static const LoomDType types[] = { LOOM_F32, LOOM_I64, LOOM_U8, LOOM_BF16 };
  static const struct
  {
    const char *x, *y;
  } expands[] = { { "", "3,4" }, { "4", "3,4" },      { "3,1", "3,4" }, { "2,1,3,1", "2,5,3,4" },
                  { "1", "0" },  { "5,1", "2,5,600" } };
  Sample *s;

  for (int t = 0; t < 4; t++)
    {
      for (int v = 0; v < (int)G_N_ELEMENTS (permutes); v++)
        {
          s = sample_add (all, "permute", 0, "%s to %s %s", permutes[v].x, permutes[v].y, loom_dtype_name (types[t]));
          sample_in (s, desc (types[t], permutes[v].x), FILL_CLASS, 100);
          sample_out (s, desc (types[t], permutes[v].y));
          for (int d = 0; d < 4; d++)
            s->attrs.permute.perm[d] = permutes[v].perm[d];
        }
      for (int v = 0; v < (int)G_N_ELEMENTS (expands); v++)
        {
          s = sample_add (all, "expand", 0, "%s to %s %s", expands[v].x, expands[v].y, loom_dtype_name (types[t]));
          sample_in (s, desc (types[t], expands[v].x), FILL_CLASS, 100);
          sample_out (s, desc (types[t], expands[v].y));
        }
      s = sample_add (all, "slice", 0, "steps %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "4,9,7"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,4,3"));
      s->attrs.slice = (LoomSliceAttrs){ { 1, 1, 3 }, { 2, 2, 1 } };
      s = sample_add (all, "slice", 0, "empty %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "4,9"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "4,0"));
      s->attrs.slice = (LoomSliceAttrs){ { 0, 9 }, { 1, 1 } };
      s = sample_add (all, "slice", 0, "rank 4 %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,6,5,4"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,3,5,2"));
      s->attrs.slice = (LoomSliceAttrs){ { 0, 1, 0, 1 }, { 1, 2, 1, 1 } };
      s->nhwc = TRUE;
      s = sample_add (all, "slice", 0, "backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "4,9,7"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,9,7"));
      s->attrs.slice = (LoomSliceAttrs){ { 3, 8, 6 }, { -2, -1, -1 } };
      s = sample_add (all, "slice", 0, "last axis backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "33,70"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "33,70"));
      s->attrs.slice = (LoomSliceAttrs){ { 0, 69 }, { 1, -1 } };
      s = sample_add (all, "slice", 0, "channels backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,6,5,4"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,6,5,4"));
      s->attrs.slice = (LoomSliceAttrs){ { 0, 5, 0, 3 }, { 1, -1, 1, -1 } };
      s->nhwc = TRUE;
      s = sample_add (all, "pad", 0, "backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,4,7"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "4,9,7"));
      s->attrs.pad = (LoomPadAttrs){ { 3, 8, 6 }, { -2, -1, -1 }, 3 };
      s = sample_add (all, "pad", 0, "channels backwards %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,6,5,3"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "2,6,5,4"));
      s->attrs.pad = (LoomPadAttrs){ { 0, 5, 4, 3 }, { 1, -1, -1, -1 }, 1 };
      s->nhwc = TRUE;
      s = sample_add (all, "pad", 0, "steps %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "2,4,3"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "4,9,7"));
      s->attrs.pad = (LoomPadAttrs){ { 1, 1, 3 }, { 2, 2, 1 }, 3 };
      s = sample_add (all, "pad", 0, "scalar %s", loom_dtype_name (types[t]));
      sample_in (s, desc (types[t], "1,1"), FILL_CLASS, 100);
      sample_out (s, desc (types[t], "3,5"));
      s->attrs.pad = (LoomPadAttrs){ { 2, 1 }, { 1, 1 }, 0 };
      for (int axis = 0; axis < 4; axis++)
        {
          s = sample_add (all, "concat", 0, "axis %d %s", axis, loom_dtype_name (types[t]));
          for (int i = 0; i < 3; i++)
            {
              sample_in (s, desc (types[t], "2,3,4,5"), FILL_CLASS, 100);
              s->in[i].dim[axis] = i == 1 ? 0 : i + 2;
            }
          sample_out (s, desc (types[t], "2,3,4,5"));
          s->out[0].dim[axis] = 6;
          s->attrs.concat.axis = axis;
          s->nhwc = TRUE;
        }
      s = sample_add (all, "fill", 0, "%s", loom_dtype_name (types[t]));
      sample_out (s, desc (types[t], "3,50"));
      s->attrs.fill.value = 3;
      for (int axis = 0; axis < 2; axis++)
        {
          s = sample_add (all, "iota", 0, "axis %d %s", axis, loom_dtype_name (types[t]));
          sample_out (s, desc (types[t], "6,5"));
          s->attrs.iota = (LoomIotaAttrs){ axis, 2, 3 };
        }
    }
  for (int from = 0; from < LOOM_N_DTYPES; from++)
    for (int to = 0; to < LOOM_N_DTYPES; to++)
      {
        gboolean real = loom_dtype_is_float ((LoomDType)from) && loom_dtype_is_float ((LoomDType)to);

        if (from == LOOM_F64 || to == LOOM_F64)
          continue; /* f32 becomes f64 on the reference side anyway */
        s = sample_add (all,
                        from == to       ? "reorder"
                        : to == LOOM_F32 ? "cast"
                                         : "copy",
                        0, "%s to %s", loom_dtype_name ((LoomDType)from), loom_dtype_name ((LoomDType)to));
        sample_in (s, desc ((LoomDType)from, "2,3,4,5"), real ? FILL_NORMAL : FILL_CLASS, 100);
        sample_out (s, desc ((LoomDType)to, "2,3,4,5"));
        s->nhwc = TRUE;
      }
  s = sample_add (all, "copy", 0, "large");
  sample_in (s, desc (F, "8,40,30,30"), FILL_NORMAL, 0);
  sample_out (s, desc (F, "8,40,30,30"));
  s->nhwc = TRUE;
  for (int narrow = 0; narrow < 2; narrow++)
    for (int v = 0; v < 3; v++)
      {
        static const char *const table[] = { "5,3", "50,64", "7" }, *const index[] = { "4", "2,30", "0" },
                                 *const y[] = { "4,3", "2,30,64", "0" };
        LoomDType type = narrow ? LOOM_I32 : LOOM_I64;

        s = sample_add (all, "gather_rows", 0, "%s by %s %s", table[v], index[v], loom_dtype_name (type));
        sample_in (s, desc (F, table[v]), FILL_NORMAL, 0);
        sample_in (s, desc (type, index[v]), FILL_CLASS, 5);
        sample_out (s, desc (F, y[v]));
        s = sample_add (all, "scatter_add_rows", 1e-5, "%s by %s %s", table[v], index[v], loom_dtype_name (type));
        sample_in (s, desc (type, index[v]), FILL_CLASS, 5);
        sample_in (s, desc (F, y[v]), FILL_NORMAL, 0);
        sample_out (s, desc (F, table[v]));
      }
  s = sample_add (all, "scatter_add_rows", 1e-4, "large");
  sample_in (s, desc (LOOM_I64, "2000"), FILL_CLASS, 300);
  sample_in (s, desc (F, "2000,130"), FILL_NORMAL, 0);
  sample_out (s, desc (F, "300,130"));
}

/* ---- random and optimisers --------------------------------------------- */

static void
random_samples (GPtrArray *all)
{
  static const char *const shape[] = { "", "5", "1001", "0", "100,300" };

  for (int v = 0; v < (int)G_N_ELEMENTS (shape); v++)
    for (int kind = 0; kind < 4; kind++)
      {
        static const char *const name[] = { "uniform", "normal", "exponential", "whole" };
        Sample *s = sample_add (all, "random", kind == 1 || kind == 2 ? 1e-6 : 0, "%s %s", name[kind], shape[v]);

        sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, 42);
        sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, 7);
        sample_out (s, desc (kind == 3 ? LOOM_I64 : F, shape[v]));
        s->attrs.random = (LoomRandomAttrs){ (LoomRandomKind)(kind % 3), G_GUINT64_CONSTANT (0x123456789abcdef0) };
      }
}

static void
optimiser_sample (GPtrArray *all, const char *primitive, int variant, int step, int finite)
{
  static const char *const shape[] = { "5", "33,7", "0", "20000" };
  gboolean sgd = g_str_equal (primitive, "sgd_step");
  int n = G_N_ELEMENTS (shape), lists = sgd ? 2 + (variant & 1) : 4 + (variant & 1);
  Sample *s = sample_add (all, primitive, 1e-5, "variant %d step %d finite %d", variant, step, finite);

  if (sgd)
    s->attrs.sgd = (LoomSgdAttrs){ n, variant & 1, (variant & 3) == 3, (variant & 4) != 0 };
  else
    s->attrs.adam = (LoomAdamAttrs){ n, (variant & 2) != 0, variant & 1, (variant & 4) != 0 };
  for (int l = 0; l < lists; l++)
    for (int t = 0; t < n; t++)
      sample_in (s, desc (F, shape[t]), l >= 3 ? FILL_POSITIVE : FILL_NORMAL, 0);
  for (int l = 0; l < lists; l++)
    for (int t = 0; t < n && l != 1; t++)
      {
        s->alias[s->n_out] = l * n + t;
        sample_out (s, desc (F, shape[t]));
      }
  s->in_place = s->n_out;
  sample_in (s, desc (F, ""), FILL_VALUE, 0.05);
  sample_in (s, desc (F, ""), FILL_VALUE, 0.875);
  if (sgd)
    sample_in (s, desc (F, ""), FILL_VALUE, 0.25);
  else
    {
      sample_in (s, desc (F, ""), FILL_VALUE, 0.9375);
      sample_in (s, desc (F, ""), FILL_VALUE, 1e-6);
    }
  sample_in (s, desc (F, ""), FILL_VALUE, 0.125);
  sample_in (s, desc (F, ""), FILL_VALUE, 0.5);
  sample_in (s, desc (F, ""), FILL_VALUE, finite);
  sample_in (s, desc (LOOM_I64, ""), FILL_VALUE, step);
}

static void
optimiser_samples (GPtrArray *all)
{
  for (int variant = 0; variant < 8; variant++)
    for (int step = 1; step <= 3; step += 2)
      for (int finite = 0; finite < 2; finite++)
        {
          optimiser_sample (all, "sgd_step", variant, step, finite);
          optimiser_sample (all, "adam_step", variant, step, finite);
        }
  for (int v = 0; v < 3; v++)
    {
      Sample *s = sample_add (all, "grad_stats", 1e-5, "%d", v);

      sample_in (s, desc (F, "33"), FILL_NORMAL, 0);
      sample_in (s, desc (F, v == 2 ? "100000" : "0"), FILL_NORMAL, 0);
      sample_in (s, desc (F, "5,7"), v == 1 ? FILL_SPECIAL : FILL_NORMAL, 0);
      sample_out (s, desc (F, ""));
      sample_out (s, desc (F, ""));
      s->attrs.stats.n = 3;
    }
}

void
samples_first (GPtrArray *all)
{
  elementwise_samples (all);
  reduce_samples (all);
  matmul_samples (all);
  conv_samples (all);
  pool_samples (all);
  softmax_samples (all);
  norm_samples (all);
  move_samples (all);
  random_samples (all);
  optimiser_samples (all);
}
