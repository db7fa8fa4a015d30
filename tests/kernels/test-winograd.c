/* Winograd convolutions against the reference in f64, in norm: their sums cancel, so that single elements may be
 * further off than a direct convolution's. Also the dependencies of bits, and the spread of NaN. */
#include "tests/kernels/kernel-harness.h"
#include "tests/processor.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

/* Of the result's norm: 0.75e-6 of large layers, the rest of those that are mostly padding. Direct convolutions have
 * 0.2e-6. */
#define IN_NORM 1.1e-6

typedef struct
{
  int n, c, h, w, k, pad[4];
  gboolean bias;
  LoomScalarOp act;
  gboolean residual;
} Case;

/* Sizes: one tile and parts of tiles; channels of one vector, of several, and with remainders; more tiles than a block
 * has; several slots of the weights' gradient, of one block and of several; all paddings, also different ones at each
 * edge. */
static const Case cases[] = {
  { 1, 16, 4, 4, 16, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_ID },
  { 1, 2, 3, 3, 1, { 0, 0, 0, 0 }, TRUE, LOOM_SCALAR_ID },
  { 1, 5, 3, 4, 7, { 2, 2, 2, 2 }, TRUE, LOOM_SCALAR_RELU },
  { 2, 3, 9, 6, 33, { 0, 0, 0, 0 }, FALSE, LOOM_SCALAR_ID },
  { 3, 17, 7, 11, 31, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_RELU },
  { 2, 64, 8, 8, 40, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_ABS },
  { 2, 20, 9, 7, 37, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_SILU },
  { 2, 17, 9, 14, 37, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_RELU, TRUE },
  { 1, 50, 13, 5, 65, { 0, 2, 1, 0 }, TRUE, LOOM_SCALAR_ID },
  { 2, 36, 5, 1, 16, { 2, 1, 1, 2 }, FALSE, LOOM_SCALAR_RELU },
  { 1, 96, 16, 16, 96, { 2, 2, 2, 2 }, FALSE, LOOM_SCALAR_ID },
  { 150, 32, 4, 4, 32, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_ID },
  { 3, 32, 30, 34, 64, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_RELU },
  { 3, 160, 8, 8, 257, { 1, 1, 1, 1 }, FALSE, LOOM_SCALAR_ID },
  { 17, 16, 14, 14, 40, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_ID },
  { 40, 33, 14, 14, 48, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_ID },
  { 99, 160, 2, 2, 80, { 1, 1, 1, 1 }, FALSE, LOOM_SCALAR_ID },
};

/* The three kernels of one layer: 0 forward, 1 the input's gradient, 2 the weights'. */
static Sample
sample_of (const Case *c, int pass, LoomConvAlgorithm algorithm)
{
  Sample s = { .nhwc = TRUE };
  LoomTensorDesc x = { LOOM_F32, 0, 4, { c->n, c->c, c->h, c->w } }, w = { LOOM_F32, 0, 4, { c->k, c->c, 3, 3 } };
  LoomTensorDesc b = { LOOM_F32, 0, 1, { c->k } };
  LoomTensorDesc y
      = { LOOM_F32, 0, 4, { c->n, c->k, c->h + c->pad[0] + c->pad[1] - 2, c->w + c->pad[2] + c->pad[3] - 2 } };

  SAMPLE_ATTRS (&s, LoomConv2dAttrs) = (LoomConv2dAttrs){ .stride = { 1, 1 },
                                                          .pad = { c->pad[0], c->pad[1], c->pad[2], c->pad[3] },
                                                          .dilation = { 1, 1 },
                                                          .groups = 1,
                                                          .has_bias = c->bias && pass != 1,
                                                          .act = pass == 0 ? c->act : LOOM_SCALAR_ID,
                                                          .algorithm = algorithm };
  g_snprintf (s.name, sizeof s.name, "%d,%d,%d,%d to %d pass %d", c->n, c->c, c->h, c->w, c->k, pass);
  s.primitive = pass == 0 ? "conv2d" : pass == 1 ? "conv2d_input_grad" : "conv2d_weight_grad";
  sample_in (&s, pass == 0 ? x : y, FILL_NORMAL, 0);
  sample_in (&s, pass == 2 ? x : w, FILL_NORMAL, 0);
  if (pass == 0 && c->bias)
    sample_in (&s, b, FILL_NORMAL, 0);
  if (pass == 0 && c->residual)
    sample_in (&s, y, FILL_NORMAL, 0);
  sample_out (&s, pass == 0 ? y : pass == 1 ? x : w);
  if (pass == 2 && c->bias)
    sample_out (&s, b);
  return s;
}

/* ‖got - want‖ / ‖want‖ */
static double
distance (const Sample *s, int o, const Result *got, const Result *want)
{
  double difference = 0, norm = 0;

  for (gint64 i = 0; i < loom_desc_count (&s->out[o]); i++)
    {
      double d = got->out[o][i] - want->out[o][i];

      difference += d * d;
      norm += want->out[o][i] * want->out[o][i];
    }
  return sqrt (difference / norm);
}

static void
compare_in_norm (const Sample *s, const Result *got, const Result *want, const char *isa, double *worst)
{
  g_assert_cmpint (got->status, ==, LOOM_STATUS_OK);
  g_assert_cmpstr (got->kernel, ==, "own winograd");
  for (int o = 0; o < s->n_out; o++)
    {
      double d = distance (s, o, got, want);

      *worst = MAX (*worst, d);
      if (!(d <= IN_NORM))
        {
          g_test_message ("%s on %s: output %d is off by %.3g of its norm", s->name, isa, o, d);
          g_test_fail ();
        }
    }
}

static void
test_norm (void)
{
  static const char *const isa[] = { "native", "v3", "base" };
  Machine ref = machine_open (loom_backend_ref (), 1), cpu[G_N_ELEMENTS (isa)];
  double worst = 0;

  for (guint m = 0; m < G_N_ELEMENTS (isa); m++)
    {
      g_setenv ("GRADLOOM_CPU_ISA", isa[m], TRUE);
      cpu[m] = machine_open (loom_backend_cpu (), 2);
    }
  g_unsetenv ("GRADLOOM_CPU_ISA");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int pass = 0; pass < 3; pass++)
      {
        Sample s = sample_of (&cases[i], pass, LOOM_CONV_WINOGRAD);
        float **inputs = sample_inputs (&s);
        Result want = sample_run (&ref, &s, inputs, LOOM_F64, LOOM_LAYOUT_PLAIN, -1);

        g_assert_cmpint (want.status, ==, LOOM_STATUS_OK);
        for (guint m = 0; m < G_N_ELEMENTS (isa); m++)
          {
            Result got = sample_run (&cpu[m], &s, inputs, LOOM_F32, LOOM_LAYOUT_NHWC, -1);

            compare_in_norm (&s, &got, &want, isa[m], &worst);
            result_clear (&got);
          }
        result_clear (&want);
        inputs_free (&s, inputs);
      }
  g_test_message ("at most %.3g of the norm", worst);
  for (guint m = 0; m < G_N_ELEMENTS (isa); m++)
    machine_close (&cpu[m]);
  machine_close (&ref);
}

/* The same bits again, and with any number of threads: fewer than slots of the weights' gradient, as many, and more. */
static void
test_bits (void)
{
  static const int threads[] = { 2, 1, 2, 3, 4, 9 };
  Machine machine[G_N_ELEMENTS (threads)];

  for (guint m = 0; m < G_N_ELEMENTS (threads); m++)
    machine[m] = machine_open (loom_backend_cpu (), threads[m]);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int pass = 0; pass < 3; pass++)
      {
        Sample s = sample_of (&cases[i], pass, LOOM_CONV_WINOGRAD);
        float **inputs = sample_inputs (&s);
        Result first = sample_run (&machine[0], &s, inputs, LOOM_F32, LOOM_LAYOUT_NHWC, -1);

        for (guint m = 1; m < G_N_ELEMENTS (threads); m++)
          {
            Result other = sample_run (&machine[m], &s, inputs, LOOM_F32, LOOM_LAYOUT_NHWC, -1);

            for (int o = 0; o < s.n_out; o++)
              g_assert_cmpmem (first.out[o], (size_t)loom_desc_count (&s.out[o]) * sizeof (double), other.out[o],
                               (size_t)loom_desc_count (&s.out[o]) * sizeof (double));
            result_clear (&other);
          }
        result_clear (&first);
        inputs_free (&s, inputs);
      }
  for (guint m = 0; m < G_N_ELEMENTS (threads); m++)
    machine_close (&machine[m]);
}

/* A pixel that is not finite reaches all the outputs of its tiles as NaN, at least all that a direct convolution
 * reaches, and no other tile. */
static void
test_not_finite (void)
{
  static const float bad[] = { NAN, INFINITY, -INFINITY };
  const Case c = { 2, 16, 12, 12, 16, { 1, 1, 1, 1 }, FALSE, LOOM_SCALAR_RELU };
  Machine cpu = machine_open (loom_backend_cpu (), 2);

  for (guint v = 0; v < G_N_ELEMENTS (bad); v++)
    {
      Sample s = sample_of (&c, 0, LOOM_CONV_WINOGRAD);
      float **inputs = sample_inputs (&s);
      Result result;

      inputs[0][5 * 12 + 6] = bad[v]; /* in the middle tile's 4 … 7 alone */
      result = sample_run (&cpu, &s, inputs, LOOM_F32, LOOM_LAYOUT_NHWC, -1);
      for (int i = 0; i < 2 * 16 * 12 * 12; i++)
        {
          int row = i / 12 % 12, column = i % 12;
          gboolean middle = i < 16 * 144 && row / 4 == 1 && column / 4 == 1;
          gboolean near = i < 16 * 144 && ABS (row - 5) <= 1 && ABS (column - 6) <= 1;

          g_assert_true (!near || isnan (result.out[0][i]));
          g_assert_true (middle || isfinite (result.out[0][i]));
        }
      result_clear (&result);
      inputs_free (&s, inputs);
    }
  machine_close (&cpu);
}

/* Fills of the operands of a convolution with a pooling: numbers that differ; integers, with ties and NaN; zeros. */
static const struct
{
  const char *name;
  FillRule data, weight, bias;
} pooled_fills[] = { { "normal", { FILL_NORMAL }, { FILL_NORMAL }, { FILL_NORMAL } },
                     { "ties", { FILL_TIES, 2e-4 }, { FILL_TIES }, { FILL_TIES } },
                     { "zeros", { FILL_ZEROS }, { FILL_VALUE, -1 }, { FILL_VALUE, -0.0 } } };

/* The sample with a pooling: y or g has half the height and width, and indices follow. */
static Sample
pooled_of (const Sample *plain, int pass)
{
  Sample s = *plain;
  LoomTensorDesc *y = pass == 0 ? &s.out[0] : &s.in[0], indices;

  SAMPLE_ATTRS (&s, LoomConv2dAttrs).pooled = true;
  y->dim[2] /= 2;
  y->dim[3] /= 2;
  indices = *y;
  indices.dtype = LOOM_U8;
  if (pass == 0)
    sample_out (&s, indices);
  else
    sample_in (&s, indices, FILL_CLASS, 4);
  return s;
}

/* The pixel of y [N,K,P,Q] that tap t (0 … 3) of window i [N,K,P/2,Q/2] is. */
static gint64
pixel_of (gint64 i, int t, gint64 Q)
{
  return i / (Q / 2) * 2 * Q + i % (Q / 2) * 2 + t / 2 * Q + t % 2;
}

static float
activation (LoomScalarOp act, float x)
{
  if (act == LOOM_SCALAR_GELU)
    return 0.5F * x * (1 + erff (x * (float)M_SQRT1_2));
  return act == LOOM_SCALAR_RELU && x <= 0 ? 0 : x;
}

static void
assert_near (double got, double want, double tolerance)
{
  if (isnan (want))
    g_assert_true (isnan (got));
  else
    g_assert_cmpfloat (fabs (got - want), <=, tolerance * (1 + fabs (want)));
}

/* Maxima and their indices are those of the plain convolution by the same algorithm: of NaN the last wins, and of equal
 * values the first. Compilers may round both calls differently unless all sums are exact. */
static void
check_pooled_forward (const Machine *cpu, const Sample *plain, gboolean exact)
{
  static const LoomScalarOp acts[] = { LOOM_SCALAR_ID, LOOM_SCALAR_RELU, LOOM_SCALAR_GELU };
  float **inputs = sample_inputs (plain);
  Result all = sample_run (cpu, plain, inputs, LOOM_F32, LOOM_LAYOUT_NHWC, -1);
  const gint64 Q = plain->out[0].dim[3], n = loom_desc_count (&plain->out[0]) / 4;

  for (guint a = 0; a < G_N_ELEMENTS (acts); a++)
    {
      Sample s = pooled_of (plain, 0);
      Result got;

      SAMPLE_ATTRS (&s, LoomConv2dAttrs).act = acts[a];
      got = sample_run (cpu, &s, inputs, LOOM_F32, LOOM_LAYOUT_NHWC, -1);
      g_assert_cmpint (got.status, ==, LOOM_STATUS_OK);
      g_assert_cmpstr (got.kernel, ==, "own winograd");
      for (gint64 i = 0; i < n; i++)
        {
          int winner = 0, index = (int)got.out[1][i];
          double best;

          for (int t = 1; t < 4; t++)
            {
              const double v = all.out[0][pixel_of (i, t, Q)];

              if (v > all.out[0][pixel_of (i, winner, Q)] || isnan (v))
                winner = t;
            }
          best = all.out[0][pixel_of (i, winner, Q)];
          if (exact || isnan (best))
            g_assert_cmpint (index, ==, winner);
          else
            assert_near (all.out[0][pixel_of (i, index, Q)], best, 1e-5);
          assert_near (got.out[0][i], activation (acts[a], (float)best), 1e-5);
        }
      result_clear (&got);
    }
  result_clear (&all);
  inputs_free (plain, inputs);
}

/* Gradients are those of the plain convolution whose gradient is g at the winner of each window and else 0. */
static void
check_pooled_backward (const Machine *cpu, const Sample *plain, int pass)
{
  const Sample s = pooled_of (plain, pass);
  float **inputs = sample_inputs (&s), **spread = sample_inputs (plain);
  const gint64 Q = plain->in[0].dim[3], n = loom_desc_count (&s.in[0]);
  Result got = sample_run (cpu, &s, inputs, LOOM_F32, LOOM_LAYOUT_NHWC, -1), want;

  memset (spread[0], 0, (gsize)n * 4 * sizeof (float));
  for (gint64 i = 0; i < n; i++)
    spread[0][pixel_of (i, (int)inputs[2][i], Q)] = inputs[0][i];
  memcpy (spread[1], inputs[1], (gsize)loom_desc_count (&s.in[1]) * sizeof (float));
  want = sample_run (cpu, plain, spread, LOOM_F32, LOOM_LAYOUT_NHWC, -1);
  g_assert_cmpint (got.status, ==, LOOM_STATUS_OK);
  g_assert_cmpstr (got.kernel, ==, "own winograd");
  g_assert_cmpint (want.status, ==, LOOM_STATUS_OK);
  for (int o = 0; o < s.n_out; o++)
    for (gint64 i = 0; i < loom_desc_count (&s.out[o]); i++)
      assert_near (got.out[o][i], want.out[o][i], 1e-5);
  result_clear (&got);
  result_clear (&want);
  inputs_free (&s, inputs);
  inputs_free (plain, spread);
}

static void
test_pooled (void)
{
  static const Case pooled[] = { { 12, 16, 14, 12, 48, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_ID },
                                 { 9, 32, 12, 18, 16, { 1, 1, 1, 1 }, FALSE, LOOM_SCALAR_ID },
                                 { 130, 32, 2, 2, 32, { 1, 1, 1, 1 }, TRUE, LOOM_SCALAR_ID } };
  Machine cpu;

  if (processor_lacks_avx512 () != NULL)
    {
      g_test_skip (processor_lacks_avx512 ());
      return;
    }
  cpu = machine_open (loom_backend_cpu (), 2);
  for (guint i = 0; i < G_N_ELEMENTS (pooled); i++)
    for (guint f = 0; f < G_N_ELEMENTS (pooled_fills); f++)
      for (int pass = 0; pass < 3; pass++)
        {
          Sample s = sample_of (&pooled[i], pass, LOOM_CONV_WINOGRAD);

          g_strlcat (s.name, pooled_fills[f].name, sizeof s.name);
          s.fill[0] = pooled_fills[f].data;
          s.fill[1] = pass == 2 ? (FillRule){ FILL_NORMAL } : pooled_fills[f].weight;
          if (pass == 0)
            s.fill[2] = pooled_fills[f].bias;
          if (pass == 0)
            check_pooled_forward (&cpu, &s,
                                  pooled_fills[f].data.kind == FILL_ZEROS
                                      || (pooled_fills[f].data.kind == FILL_TIES && pooled[i].h == 2));
          else
            check_pooled_backward (&cpu, &s, pass);
        }
  machine_close (&cpu);
}

/* Large layers use the algorithm by default; small ones, those whose filters would fill the arena and those that forbid
 * it do not. */
static void
test_choice (void)
{
  static const struct
  {
    Case layer;
    LoomConvAlgorithm algorithm;
    gboolean taken;
  } choices[] = {
    { { 32, 64, 16, 16, 64, { 1, 1, 1, 1 }, TRUE }, LOOM_CONV_AUTO, TRUE },
    { { 64, 32, 2, 2, 32, { 1, 1, 1, 1 }, FALSE }, LOOM_CONV_AUTO, TRUE },
    { { 32, 64, 16, 16, 64, { 1, 1, 1, 1 }, TRUE }, LOOM_CONV_DIRECT, FALSE },
    { { 64, 16, 14, 14, 32, { 1, 1, 1, 1 }, TRUE }, LOOM_CONV_AUTO, TRUE },
    { { 32, 8, 16, 16, 64, { 1, 1, 1, 1 }, TRUE }, LOOM_CONV_AUTO, FALSE },
    { { 1, 64, 16, 16, 64, { 1, 1, 1, 1 }, TRUE }, LOOM_CONV_AUTO, FALSE },
    { { 64, 1024, 4, 4, 1024, { 1, 1, 1, 1 }, FALSE }, LOOM_CONV_AUTO, FALSE },
  };
  Machine cpu;
  LoomTensorDesc in[SAMPLE_MAX_IN], out[SAMPLE_MAX_OUT];

  if (processor_lacks_avx2 () != NULL)
    {
      g_test_skip (processor_lacks_avx2 ());
      return;
    }
  cpu = machine_open (loom_backend_cpu (), 2);
  for (int pass = 0; pass < 3; pass++)
    for (guint v = 0; v < G_N_ELEMENTS (choices); v++)
      {
        Sample s = sample_of (&choices[v].layer, pass, choices[v].algorithm);
        LoomKernelSpec spec = { s.primitive, &s.attrs, s.n_in, s.n_out, in, out };
        LoomMessage message = { "" };
        LoomKernel *kernel = NULL;

        for (int i = 0; i < s.n_in + s.n_out; i++)
          {
            LoomTensorDesc *d = i < s.n_in ? &in[i] : &out[i - s.n_in];

            *d = i < s.n_in ? s.in[i] : s.out[i - s.n_in];
            d->layout = d->rank == 4 && d->dim[3] != 3 ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN;
          }
        g_assert_cmpint (cpu.backend->kernel_new (cpu.device, &spec, &kernel, &message), ==, LOOM_STATUS_OK);
        g_test_message ("%s: %s", s.name, kernel->name);
        g_assert_cmpint (g_str_equal (kernel->name, "own winograd"), ==, choices[v].taken);
        kernel->free (kernel);
      }
  machine_close (&cpu);
}

TEST_FILE (argc, argv)
{
  g_setenv ("GRADLOOM_CPU_PROCESSORS", "9", TRUE); /* the most threads of test_bits() */
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/winograd/norm", test_norm);
  g_test_add_func ("/winograd/bits", test_bits);
  g_test_add_func ("/winograd/not-finite", test_not_finite);
  g_test_add_func ("/winograd/pooled", test_pooled);
  g_test_add_func ("/winograd/choice", test_choice);
  return g_test_run ();
}
