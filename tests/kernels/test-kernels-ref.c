/* The reference itself: values worked out by hand, gradients against central
 * differences in f64, Philox against its authors' vectors, ten optimiser steps
 * against the formulas written once more, and the vector functions against libm. */
#include "tests/kernels/kernel-harness.h"
#include "kernels/integer.h"
#include "kernels/cpu/cpu-math.h"
#include "kernels/optim.h"
#include "kernels/philox.h"
#include "kernels/ref/ref-list.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

static Machine ref;

/* ---- running one kernel on f64 arrays ---------------------------------- */

static void
run (const Sample *s, double *const *operands)
{
  LoomKernelSpec spec = { s->primitive, &s->attrs, s->n_in, s->n_out, s->in, s->out };
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;

  g_assert_cmpint (ref.backend->kernel_new (ref.device, &spec, &kernel, &message), ==, LOOM_STATUS_OK);
  g_assert_cmpint (kernel->run (kernel, NULL, (void *const *)operands, &message), ==, LOOM_STATUS_OK);
  kernel->free (kernel);
}

static void
add (Sample *s, gboolean output, LoomDType dtype, const char *dims)
{
  LoomTensorDesc d = desc (dtype, dims);

  if (output)
    s->out[s->n_out++] = d;
  else
    s->in[s->n_in++] = d;
}

#define IN(s, dims)  add (s, FALSE, LOOM_F64, dims)
#define OUT(s, dims) add (s, TRUE, LOOM_F64, dims)

static void
expect (const double *got, const double *want, int n)
{
  for (int i = 0; i < n; i++)
    if (isnan (want[i]))
      g_assert_true (isnan (got[i]));
    else
      g_assert_cmpfloat_with_epsilon (got[i], want[i], 1e-9);
}

/* ---- results by hand ---------------------------------------------- */

static void
test_conv_by_hand (void)
{
  Sample s = { .primitive = "conv2d" };
  double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, w[] = { 1, 0, 0, -1 }, bias[] = { 0.5 }, y[4];
  double want[] = { -3.5, -3.5, -3.5, -3.5 };

  IN (&s, "1,1,3,3");
  IN (&s, "1,1,2,2");
  IN (&s, "1");
  OUT (&s, "1,1,2,2");
  SAMPLE_ATTRS (&s, LoomConv2dAttrs) = (LoomConv2dAttrs){ { 1, 1 }, { 0 }, { 1, 1 }, 1, TRUE, LOOM_SCALAR_ID };
  run (&s, (double *[]){ x, w, bias, y });
  expect (y, want, 4);
}

static void
test_pool_by_hand (void)
{
  Sample s = { .primitive = "max_pool2d" };
  double x[] = { 1, 3, 3, 2, NAN, 0, 7, 7, 5, 7, 1, 1, 0, 2, 1, 1 }, y[4], want[] = { NAN, 7, 7, 1 };
  guint8 indices[4];

  IN (&s, "1,1,4,4");
  OUT (&s, "1,1,2,2");
  add (&s, TRUE, LOOM_U8, "1,1,2,2");
  SAMPLE_ATTRS (&s, LoomPool2dAttrs) = (LoomPool2dAttrs){ { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 }, TRUE, 0 };
  run (&s, (double *[]){ x, y, (double *)indices });
  expect (y, want, 4);
  g_assert_cmpint (indices[0], ==, 2); /* the NaN */
  g_assert_cmpint (indices[1], ==, 2); /* the first of two sevens */
  g_assert_cmpint (indices[2], ==, 1);
  g_assert_cmpint (indices[3], ==, 0);
}

/* 5 columns, window 2, stride 2, ceil mode: the last window extends beyond the edge. */
static void
test_avg_ceil_by_hand (void)
{
  double x[] = { 1, 2, 3, 4, 5 }, y[3], want[] = { 1.5, 3.5, 5 }, fixed[] = { 0.75, 1.75, 1.25 };
  Sample s = { .primitive = "avg_pool2d" };

  IN (&s, "1,1,1,5");
  OUT (&s, "1,1,1,3");
  SAMPLE_ATTRS (&s, LoomPool2dAttrs) = (LoomPool2dAttrs){ { 1, 2 }, { 1, 2 }, { 0, 0 }, { 1, 1 }, TRUE, 0 };
  run (&s, (double *[]){ x, y });
  expect (y, want, 3);
  SAMPLE_ATTRS (&s, LoomPool2dAttrs).divisor = 4;
  run (&s, (double *[]){ x, y });
  expect (y, fixed, 3);
}

static void
test_reduce_nan_by_hand (void)
{
  double x[] = { 1, NAN, 3, 4, 2, 4 }, y[2], want[] = { NAN, 4 };
  gint64 indices[2];
  Sample s = { .primitive = "reduce" };

  IN (&s, "2,3");
  OUT (&s, "2,1");
  SAMPLE_ATTRS (&s, LoomReduceAttrs) = (LoomReduceAttrs){ LOOM_REDUCE_MAX, 2 };
  run (&s, (double *[]){ x, y });
  expect (y, want, 2);
  s.primitive = "argreduce";
  s.out[0].dtype = LOOM_I64;
  SAMPLE_ATTRS (&s, LoomArgReduceAttrs) = (LoomArgReduceAttrs){ TRUE, 1 };
  run (&s, (double *[]){ x, (double *)indices });
  g_assert_cmpint (indices[0], ==, 1);
  g_assert_cmpint (indices[1], ==, 0);
}

static void
test_entropy_by_hand (void)
{
  double x[] = { 0, 0, 1000, 0 }, loss[2], lse[2], want[] = { 0.69314718055994531, 0 };
  gint64 target[] = { 1, -100 };
  Sample s = { .primitive = "cross_entropy" };

  IN (&s, "2,2");
  add (&s, FALSE, LOOM_I64, "2");
  OUT (&s, "2");
  OUT (&s, "2");
  SAMPLE_ATTRS (&s, LoomCrossEntropyAttrs).ignore_index = -100;
  run (&s, (double *[]){ x, (double *)target, loss, lse });
  expect (loss, want, 2);
  g_assert_cmpfloat (lse[1], ==, 1000);
}

static void
test_half (void)
{
  static const struct
  {
    float x;
    guint16 f16, bf16;
  } cases[] = { { 1, 0x3c00, 0x3f80 },        { -2.5f, 0xc100, 0xc020 },    { 65504, 0x7bff, 0x4780 },
                { 65520, 0x7c00, 0x4780 },    { 5.9604645e-8f, 1, 0x3380 }, { 0, 0, 0 },
                { INFINITY, 0x7c00, 0x7f80 }, { 1.0f / 3, 0x3555, 0x3eab }, { 2049, 0x6800, 0x4500 },
                { 2051, 0x6802, 0x4500 } };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_cmphex (loom_f16_from_float (cases[i].x), ==, cases[i].f16);
      g_assert_cmphex (loom_bf16_from_float (cases[i].x), ==, cases[i].bf16);
    }
  for (guint h = 0; h < 65536; h++)
    {
      float x = loom_f16_to_float ((guint16)h), b = loom_bf16_to_float ((guint16)h);

      if (isnan (x))
        g_assert_true (isnan (loom_f16_to_float (loom_f16_from_float (x))));
      else
        g_assert_cmphex (loom_f16_from_float (x), ==, h);
      if (isnan (b))
        g_assert_true (isnan (loom_bf16_to_float (loom_bf16_from_float (b))));
      else
        g_assert_cmphex (loom_bf16_from_float (b), ==, h);
    }
}

/* Random123's known answer for philox4x32-10 with counter and key 0, and a fixed one
 * of our own that pins how seed, stream and step enter. */
static void
test_philox (void)
{
  guint32 word[4], other[4];

  loom_philox (0, 0, 0, 0, word);
  g_assert_cmphex (word[0], ==, 0x6627e8d5);
  g_assert_cmphex (word[1], ==, 0xe169c58d);
  g_assert_cmphex (word[2], ==, 0xbc57ac4c);
  g_assert_cmphex (word[3], ==, 0x9b00dbd8);
  for (int i = 0; i < 4; i++)
    {
      loom_philox (i == 0, i == 1, i == 2, i == 3, other);
      g_assert_cmpint (memcmp (word, other, sizeof word), !=, 0);
    }
}

/* ---- central differences ------------------------------------------------ */

#define MAX_COUNT 512

/* d(Σ r·forward)/d operand `wrt` against the gradient kernel. The gradient's inputs
 * are named by a string: 'g' the cotangent, '0'… forward inputs, 'a'… forward
 * outputs; output `which` is compared. */
static void
check_gradient (const Sample *forward, Sample *backward, const char *operands, int wrt, int which, gboolean positive)
{
  double in[8][MAX_COUNT], out[4][MAX_COUNT], r[MAX_COUNT], grad[4][MAX_COUNT], *buffers[12], *back[12];
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  gint64 n_y = loom_desc_count (&forward->out[0]), n_x = loom_desc_count (&forward->in[wrt]);
  int n = 0;

  for (int i = 0; i < forward->n_in; i++)
    {
      buffers[n++] = in[i];
      if (forward->in[i].dtype == LOOM_I64)
        {
          for (gint64 e = 0; e < loom_desc_count (&forward->in[i]); e++)
            ((gint64 *)in[i])[e] = g_rand_int_range (rand, 0, 3);
          continue;
        }
      for (gint64 e = 0; e < loom_desc_count (&forward->in[i]); e++)
        in[i][e] = g_rand_double_range (rand, positive ? 0.2 : -2, 2);
    }
  for (int i = 0; i < forward->n_out; i++)
    buffers[n++] = out[i];
  for (gint64 e = 0; e < n_y; e++)
    r[e] = g_rand_double_range (rand, -1, 1);
  run (forward, buffers);

  backward->n_in = 0;
  for (const char *o = operands; *o != '\0'; o++)
    {
      back[backward->n_in] = *o == 'g' ? r : *o >= 'a' ? out[*o - 'a'] : in[*o - '0'];
      backward->in[backward->n_in++] = *o == 'g'   ? forward->out[0]
                                       : *o >= 'a' ? forward->out[*o - 'a']
                                                   : forward->in[*o - '0'];
    }
  for (int i = 0; i < backward->n_out; i++)
    back[backward->n_in + i] = grad[i];
  run (backward, back);

  for (gint64 e = 0; e < n_x; e++)
    {
      const double eps = 1e-6, old = in[wrt][e];
      double up = 0, down = 0;

      in[wrt][e] = old + eps;
      run (forward, buffers);
      for (gint64 i = 0; i < n_y; i++)
        up += r[i] * out[0][i];
      in[wrt][e] = old - eps;
      run (forward, buffers);
      for (gint64 i = 0; i < n_y; i++)
        down += r[i] * out[0][i];
      in[wrt][e] = old;
      g_assert_cmpfloat_with_epsilon (grad[which][e], (up - down) / (2 * eps),
                                      1e-7 * (1 + fabs (grad[which][e])) + 2e-8);
    }
}

static void
test_conv_gradients (void)
{
  for (int v = 0; v < 3; v++)
    {
      static const LoomConv2dAttrs attrs[] = {
        { { 1, 1 }, { 1, 1, 1, 1 }, { 1, 1 }, 1, TRUE, LOOM_SCALAR_ID },
        { { 2, 1 }, { 1, 0, 2, 1 }, { 1, 2 }, 2, TRUE, LOOM_SCALAR_ID },
        { { 1, 2 }, { 0, 0, 0, 0 }, { 2, 1 }, 1, TRUE, LOOM_SCALAR_ID },
      };
      static const char *const y[] = { "2,4,5,6", "2,4,3,5", "2,4,1,2" }, *const w[]
                                                                          = { "4,2,3,3", "4,1,3,3", "4,2,3,3" };
      Sample f = { .primitive = "conv2d" }, b = { .primitive = "conv2d_input_grad" };

      SAMPLE_ATTRS (&f, LoomConv2dAttrs) = SAMPLE_ATTRS (&b, LoomConv2dAttrs) = attrs[v];
      IN (&f, "2,2,5,6");
      IN (&f, w[v]);
      IN (&f, "4");
      OUT (&f, y[v]);
      OUT (&b, "2,2,5,6");
      check_gradient (&f, &b, "g1", 0, 0, FALSE);
      b.primitive = "conv2d_weight_grad";
      b.n_out = 0;
      OUT (&b, w[v]);
      OUT (&b, "4");
      check_gradient (&f, &b, "g0", 1, 0, FALSE);
      check_gradient (&f, &b, "g0", 2, 1, FALSE);
    }
}

static void
test_pool_gradients (void)
{
  Sample f = { .primitive = "max_pool2d" }, b = { .primitive = "max_pool2d_grad" };
  static const LoomPool2dAttrs attrs = { { 3, 2 }, { 2, 1 }, { 1, 1 }, { 1, 1 }, FALSE, 0 };

  SAMPLE_ATTRS (&f, LoomPool2dAttrs) = SAMPLE_ATTRS (&b, LoomPool2dAttrs) = attrs;
  IN (&f, "2,2,5,6");
  OUT (&f, "2,2,3,7");
  add (&f, TRUE, LOOM_U8, "2,2,3,7");
  OUT (&b, "2,2,5,6");
  check_gradient (&f, &b, "gb", 0, 0, FALSE);
  f.primitive = "avg_pool2d";
  b.primitive = "avg_pool2d_grad";
  f.n_out = 1;
  for (int count = 0; count < 2; count++)
    {
      SAMPLE_ATTRS (&f, LoomPool2dAttrs).count_include_pad = SAMPLE_ATTRS (&b, LoomPool2dAttrs).count_include_pad
          = count;
      check_gradient (&f, &b, "g", 0, 0, FALSE);
    }
}

static void
test_softmax_gradients (void)
{
  for (int axis = 0; axis < 3; axis++)
    for (int log = 0; log < 2; log++)
      {
        Sample f = { .primitive = "softmax" }, b = { .primitive = "softmax_grad" };

        SAMPLE_ATTRS (&f, LoomSoftmaxAttrs) = SAMPLE_ATTRS (&b, LoomSoftmaxAttrs) = (LoomSoftmaxAttrs){ axis, log };
        IN (&f, "3,4,5");
        OUT (&f, "3,4,5");
        OUT (&b, "3,4,5");
        check_gradient (&f, &b, "ga", 0, 0, FALSE);
      }
}

static void
test_entropy_gradient (void)
{
  for (int ignore = -1; ignore < 2; ignore++)
    {
      Sample f = { .primitive = "cross_entropy" }, b = { .primitive = "cross_entropy_grad" };

      SAMPLE_ATTRS (&f, LoomCrossEntropyAttrs).ignore_index = SAMPLE_ATTRS (&b, LoomCrossEntropyAttrs).ignore_index
          = ignore;
      IN (&f, "4,3,5");
      add (&f, FALSE, LOOM_I64, "4,5");
      OUT (&f, "4,5");
      OUT (&f, "4,5");
      OUT (&b, "4,3,5");
      check_gradient (&f, &b, "01bg", 0, 0, FALSE);
    }
}

static void
test_norm_gradients (void)
{
  Sample f = { .primitive = "batch_norm" }, b = { .primitive = "batch_norm_grad" };

  SAMPLE_ATTRS (&f, LoomNormAttrs) = SAMPLE_ATTRS (&b, LoomNormAttrs) = (LoomNormAttrs){ 1e-3, 2, TRUE };
  IN (&f, "4,3,2,2");
  IN (&f, "3");
  IN (&f, "3");
  OUT (&f, "4,3,2,2");
  OUT (&f, "3");
  OUT (&f, "3");
  OUT (&b, "4,3,2,2");
  OUT (&b, "3");
  OUT (&b, "3");
  for (int i = 0; i < 3; i++)
    check_gradient (&f, &b, "g0bc1", i, i, FALSE);
  f.primitive = "layer_norm";
  b.primitive = "layer_norm_grad";
  f.in[1] = f.in[2] = b.out[1] = b.out[2] = desc (LOOM_F64, "2,2");
  f.out[1] = f.out[2] = desc (LOOM_F64, "4,3");
  for (int i = 0; i < 3; i++)
    check_gradient (&f, &b, "g0bc1", i, i, FALSE);
}

static void
test_gather_gradient (void)
{
  Sample f = { .primitive = "gather_rows" }, b = { .primitive = "scatter_add_rows" };

  IN (&f, "3,4");
  add (&f, FALSE, LOOM_I64, "2,5");
  OUT (&f, "2,5,4");
  OUT (&b, "3,4");
  check_gradient (&f, &b, "1g", 0, 0, FALSE);
}

/* Slice and pad are each other's gradient. */
static void
test_slice_gradient (void)
{
  Sample f = { .primitive = "slice" }, b = { .primitive = "pad" };

  IN (&f, "5,7");
  OUT (&f, "2,3");
  OUT (&b, "5,7");
  SAMPLE_ATTRS (&f, LoomSliceAttrs) = (LoomSliceAttrs){ { 1, 0 }, { 2, 3 } };
  SAMPLE_ATTRS (&b, LoomPadAttrs) = (LoomPadAttrs){ { 1, 0 }, { 2, 3 }, 0 };
  check_gradient (&f, &b, "g", 0, 0, FALSE);
}

/* ---- optimisers ---------------------------------------------------------- */

/* Ten steps on w² with both back ends against torch.optim's formulas. */
static void
test_optimisers (void)
{
  for (int variant = 0; variant < 16; variant++)
    for (int cpu = 0; cpu < 2; cpu++)
      {
        gboolean adam = variant & 1, second = (variant >> 1) & 1, third = (variant >> 2) & 1, maximize = variant >> 3;
        Machine machine = machine_open (cpu ? loom_backend_cpu () : loom_backend_ref (), 1);
        float p = 1.5f, g = 0, m = NAN, v = 0, vmax = 0, lr = 0.05f, a = 0.9f, b = adam ? 0.999f : 0.1f, eps = 1e-8f;
        float decay = 0.01f, scale = 0.5f, finite = 1;
        double w = 1.5, buf = 0, ev = 0, em = 0, emax = 0;
        gint64 step;
        Sample s = { .primitive = adam ? "adam_step" : "sgd_step" };
        LoomMessage message = { "" };
        LoomKernel *kernel = NULL;
        void *buffers[24];
        int n = 0;

        if (adam)
          {
            m = 0;
            SAMPLE_ATTRS (&s, LoomAdamAttrs) = (LoomAdamAttrs){ 1, second, third, maximize };
          }
        else
          SAMPLE_ATTRS (&s, LoomSgdAttrs) = (LoomSgdAttrs){ 1, second || third, third, maximize };
        {
          void *lists[] = { &p, &g, &m, &v, &vmax };
          void *adam_scalars[] = { &lr, &a, &b, &eps, &decay, &scale, &finite, &step };
          void *sgd_scalars[] = { &lr, &a, &b, &decay, &scale, &finite, &step };
          int n_lists = adam ? 4 + third : 2 + (second || third), n_scalars = adam ? 8 : 7;

          for (int i = 0; i < n_lists; i++)
            buffers[n++] = lists[i];
          for (int i = 0; i < n_scalars; i++)
            buffers[n++] = adam ? adam_scalars[i] : sgd_scalars[i];
          s.n_in = n;
          for (int i = 0; i < n_lists; i++)
            if (i != 1)
              {
                buffers[n++] = lists[i];
                s.n_out++;
              }
        }
        for (int i = 0; i < s.n_in; i++)
          s.in[i] = desc (i == s.n_in - 1 ? LOOM_I64 : LOOM_F32, "1");
        for (int i = 0; i < s.n_out; i++)
          s.out[i] = desc (LOOM_F32, "1");
        {
          LoomKernelSpec spec = { s.primitive, &s.attrs, s.n_in, s.n_out, s.in, s.out };

          g_assert_cmpint (machine.backend->kernel_new (machine.device, &spec, &kernel, &message), ==, LOOM_STATUS_OK);
        }
        for (step = 1; step <= 10; step++)
          {
            double d;

            g = (float)(4 * w); /* scaled by a half: the gradient of w² */
            finite = 1;
            g_assert_cmpint (kernel->run (kernel, NULL, buffers, &message), ==, LOOM_STATUS_OK);
            d = 2 * w * (maximize ? -1 : 1);
            if (adam)
              {
                if (second)
                  w *= 1 - 0.05 * 0.01;
                else
                  d += 0.01 * w;
                em = 0.9 * em + 0.1 * d;
                ev = 0.999 * ev + 0.001 * d * d;
                emax = MAX (emax, ev);
                w -= 0.05 * (em / (1 - pow (0.9, (double)step)))
                     / (sqrt ((third ? emax : ev) / (1 - pow (0.999, (double)step))) + 1e-8);
              }
            else
              {
                d += 0.01 * w;
                buf = step == 1 ? d : 0.9 * buf + 0.9 * d;
                w -= 0.05 * (third ? d + 0.9 * buf : second ? buf : d);
              }
            g_assert_cmpfloat_with_epsilon (p, w, 5e-5 * (1 + fabs (w)));
          }
        {
          float before = p;

          finite = 0;
          g = 100;
          g_assert_cmpint (kernel->run (kernel, NULL, buffers, &message), ==, LOOM_STATUS_OK);
          g_assert_true (p == before);
        }
        kernel->free (kernel);
        machine_close (&machine);
      }
}

/* ---- vector functions ---------------------------------------------------- */

static double
ulps (float got, double want)
{
  float near = (float)want;
  /* In f64, since an earlier test may have left this thread flushing denormals. */
  double unit = (double)nextafterf (fabsf (near), INFINITY) - (double)fabsf (near);

  if (isnan (want) || isinf (near))
    return (isnan (want) ? isnan (got) != 0 : got == near) ? 0 : 1e9;
  return fabs (got - want) / unit;
}

typedef struct
{
  const char *name;
  float (*vector) (float);
  double (*exact) (double);
} Function;

/* If argument and result are both normal numbers in f32. */
static double
function_ulps (const Function *f, float x)
{
  double want = f->exact ((double)x);

  if (fabs (want) < 1.2e-38 && want != 0)
    return 0;
  return ulps (f->vector (x), want);
}

static void
test_math (void)
{
#define FUNCTION(name)                                                                                                 \
  {                                                                                                                    \
#name, cpu_##name, name                                                                                            \
  }
  static const Function functions[]
      = { FUNCTION (exp),   FUNCTION (exp2),  FUNCTION (expm1), FUNCTION (log),   FUNCTION (log2),
          FUNCTION (log10), FUNCTION (log1p), FUNCTION (tanh),  FUNCTION (erf),   FUNCTION (sinh),
          FUNCTION (cosh),  FUNCTION (sin),   FUNCTION (cos),   FUNCTION (tan),   FUNCTION (asin),
          FUNCTION (acos),  FUNCTION (atan),  FUNCTION (asinh), FUNCTION (acosh), FUNCTION (atanh) };
#undef FUNCTION
  static const float special[]
      = { 0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 88.7f, 88.8f, 89, 104, 200, 1e30f, -1e30f, 1e-30f };

  for (guint f = 0; f < G_N_ELEMENTS (functions); f++)
    {
      const Function *function = &functions[f];
      gboolean trig = function->exact == sin || function->exact == cos || function->exact == tan;
      double worst = 0;

      for (guint i = 0; i < G_N_ELEMENTS (special); i++)
        if (!trig || !(fabsf (special[i]) > CPU_TRIG_MAX && isfinite (special[i])))
          worst = MAX (worst, function_ulps (function, special[i]));
      for (int i = -400000; i <= 400000; i++)
        {
          float x = (float)i * (i % 3 == 0 ? 1e-6f : i % 3 == 1 ? 2.2e-4f : 1e-5f);

          worst = MAX (worst, function_ulps (function, x));
          /* Magnitudes from e^-44 to e^44; for trigonometry, next to multiples of π/2. */
          worst = MAX (worst, function_ulps (function, !trig        ? copysignf (expf (x / 2), i % 2 ? x : 1)
                                                       : i % 7 == 0 ? (float)i * 0.25f
                                                                    : (float)(i / 7 * G_PI_2)));
        }
      g_test_message ("%s: %.2f units in the last place", function->name, worst);
      g_assert_cmpfloat (worst, <=, 4);
    }
  g_assert_true (isnan (cpu_log (-1)) && cpu_log (0) == -INFINITY && isnan (cpu_log (NAN)));
  g_assert_true (cpu_log1p (-1) == -INFINITY && isnan (cpu_log1p (-2)) && cpu_expm1 (-INFINITY) == -1);
  g_assert_true (cpu_exp (-INFINITY) == 0 && cpu_exp (-1e30f) == 0);
}

/* Both arguments over zeros, ones, halves, integers odd, even and beyond 2^24, the largest and infinite ones, and
 * ordinary ones. */
static void
test_math_of_two (void)
{
  static const float special[] = { 0,       -0.0f,   1,        -1,       2,        -2,       0.5f,      -0.5f, 3,
                                   -3,      2.5f,    -2.5f,    1e-30f,   -1e-30f,  1e30f,    -1e30f,    3e38f, -3e38f,
                                   8388607, 8388609, -8388609, 16777215, 16777216, INFINITY, -INFINITY, NAN };
  const guint n = G_N_ELEMENTS (special);
  double worst[2] = { 0 };

  for (guint i = 0; i < 800000; i++)
    {
      gboolean ordinary = i >= n * n;
      float x = ordinary ? expf ((float)(i % 1999) * 0.02f - 20) * (i % 3 ? 1 : -1) : special[i / n];
      float y = ordinary ? (float)(i % 997) * 0.01f - 5 : special[i % n];
      double power = pow (x, y), angle = atan2 (y, x);

      if (ordinary && i % 3 == 0)
        y = roundf (y), power = pow (x, y), angle = atan2 (y, x);
      if (!(fabs (power) < 1.2e-38 && power != 0))
        worst[0] = MAX (worst[0], !signbit (power) == !signbit (cpu_pow (x, y)) || isnan (power)
                                      ? ulps (cpu_pow (x, y), power)
                                      : INFINITY);
      if (!(fabs (angle) < 1.2e-38 && angle != 0))
        worst[1] = MAX (worst[1], !signbit (angle) == !signbit (cpu_atan2 (y, x)) || isnan (angle)
                                      ? ulps (cpu_atan2 (y, x), angle)
                                      : INFINITY);
      if (x >= CPU_MIN_NORMAL && x < INFINITY && isfinite (y) && !(cpu_pow_normal (x, y, 0) == cpu_pow (x, y)))
        g_error ("%.9g to the power of %.9g depends on the loop", (double)x, (double)y);
    }
  g_test_message ("units in the last place: pow %.2f, atan2 %.2f", worst[0], worst[1]);
  g_assert_cmpfloat (MAX (worst[0], worst[1]), <=, 4);
}

/* Rounding towards 0 and down, the remainders, and cases that are undefined in C. */
static void
test_integers (void)
{
  static const gint64 by_hand[][6] = {
    /* a, b, a/b towards 0, the remainder, a/b rounded down, a to the power of b */
    { 7, 3, 2, 1, 2, 343 },   { -7, 3, -2, -1, -3, -343 },
    { 7, -3, -2, 1, -3, 0 },  { -7, -3, 2, -1, 2, 0 },
    { 6, 3, 2, 0, 2, 216 },   { -6, 3, -2, 0, -2, -216 },
    { 5, 0, 0, 0, 0, 1 },     { 0, 5, 0, 0, 0, 0 },
    { -1, -3, 0, -1, 0, -1 }, { G_MININT64, -1, G_MININT64, 0, G_MININT64, 0 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (by_hand); i++)
    {
      const gint64 *v = by_hand[i];

      g_assert_cmpint (loom_int_div_trunc (v[0], v[1]), ==, v[2]);
      g_assert_cmpint (loom_int_fmod (v[0], v[1]), ==, v[3]);
      g_assert_cmpint (loom_int_div_floor (v[0], v[1]), ==, v[4]);
      g_assert_cmpint (loom_int_pow (v[0], v[1]), ==, v[5]);
    }
}

/* Each row of the reference has samples, by which other back ends are compared with it, and each sample has a row. */
static void
test_complete (void)
{
#define NAME(name)               #name,
#define NAME_STEP(name, scalars) NAME (name##_step)
  static const char *const all[] = { LOOM_ROWS (NAME) LOOM_STEPS (NAME_STEP) NULL };
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray *samples = samples_new ();

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);

      g_hash_table_add (seen, (gpointer)s->primitive);
      if (!g_strv_contains (all, s->primitive))
        g_error ("the reference has no row for %s", s->name);
    }
  for (guint i = 0; all[i] != NULL && g_getenv ("GRADLOOM_SAMPLES") == NULL; i++)
    if (!g_hash_table_contains (seen, all[i]))
      g_error ("%s has no samples", all[i]);
  g_ptr_array_unref (samples);
}

TEST_FILE (argc, argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  ref = machine_open (loom_backend_ref (), 1);
  g_test_add_func ("/kernels/ref/complete", test_complete);
  g_test_add_func ("/kernels/ref/conv-by-hand", test_conv_by_hand);
  g_test_add_func ("/kernels/ref/pool-by-hand", test_pool_by_hand);
  g_test_add_func ("/kernels/ref/avg-ceil-by-hand", test_avg_ceil_by_hand);
  g_test_add_func ("/kernels/ref/reduce-nan-by-hand", test_reduce_nan_by_hand);
  g_test_add_func ("/kernels/ref/entropy-by-hand", test_entropy_by_hand);
  g_test_add_func ("/kernels/ref/half", test_half);
  g_test_add_func ("/kernels/ref/philox", test_philox);
  g_test_add_func ("/kernels/ref/conv-gradients", test_conv_gradients);
  g_test_add_func ("/kernels/ref/pool-gradients", test_pool_gradients);
  g_test_add_func ("/kernels/ref/softmax-gradients", test_softmax_gradients);
  g_test_add_func ("/kernels/ref/entropy-gradient", test_entropy_gradient);
  g_test_add_func ("/kernels/ref/norm-gradients", test_norm_gradients);
  g_test_add_func ("/kernels/ref/gather-gradient", test_gather_gradient);
  g_test_add_func ("/kernels/ref/slice-gradient", test_slice_gradient);
  g_test_add_func ("/kernels/optimisers", test_optimisers);
  g_test_add_func ("/kernels/math", test_math);
  g_test_add_func ("/kernels/math-of-two", test_math_of_two);
  g_test_add_func ("/kernels/integers", test_integers);
  result = g_test_run ();
  machine_close (&ref);
  return result;
}
