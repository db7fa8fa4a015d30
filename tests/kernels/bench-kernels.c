/* Times single kernels of the CPU back end: the calls that the raced networks make.
 *
 *   bench-kernels [THREADS [WORD [ALGORITHM]]]    only lines that contain WORD, by one algorithm of several
 *
 * Prints the best of several windows in microseconds, and GFLOP/s of products or
 * GB/s of the rest. With one thread the microseconds are processor time, which other
 * work on the machine hardly lengthens. Not a test: timings on a shared machine prove nothing. */
#include "tests/kernels/kernel-harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static Machine cpu;
static const char *only = "", *algorithm;
static int n_threads;

/* Microseconds; of processor time if one thread runs. */
static double
now (void)
{
  struct timespec t;

  clock_gettime (n_threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void
bench (Sample *s, const char *label, LoomLayout layout, double flops)
{
  LoomTensorDesc in[SAMPLE_MAX_IN], out[SAMPLE_MAX_OUT];
  LoomKernelSpec spec = { s->primitive, &s->attrs, s->n_in, s->n_out, in, out, algorithm };
  void *buffers[SAMPLE_MAX_IN + SAMPLE_MAX_OUT + 1] = { NULL };
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  double bytes = 0, best = 1e9;
  int n = s->n_in + s->n_out, repeat = 1;

  if (strstr (label, only) == NULL && strstr (s->primitive, only) == NULL)
    return;
  for (int i = 0; i < n; i++)
    {
      LoomTensorDesc *d = i < s->n_in ? &in[i] : &out[i - s->n_in];
      gboolean weight = g_str_has_prefix (s->primitive, "conv")
                        && (g_str_has_suffix (s->primitive, "weight_grad") ? i == s->n_in : i == 1);

      *d = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
      if (d->rank == 4 && !weight)
        d->layout = layout;
      bytes += (double)loom_desc_bytes (d);
      g_assert_cmpint (cpu.backend->alloc (cpu.device, loom_desc_bytes (d), &buffers[i], &message), ==, LOOM_STATUS_OK);
      memset (buffers[i], 0, loom_desc_bytes (d));
      for (gint64 e = 0; e < loom_desc_count (d); e++)
        loom_store_double (buffers[i], e, d->dtype,
                           d->dtype == LOOM_F32 ? 0.1 + (double)(e % 17) * 0.05 : (double)(e % 3));
    }
  if (cpu.backend->kernel_new (cpu.device, &spec, &kernel, &message) != LOOM_STATUS_OK)
    {
      printf ("%-22s %-26s unsupported %s\n", s->primitive, label, message.text);
      return;
    }
  if (kernel->scratch_bytes > 0)
    cpu.backend->alloc (cpu.device, kernel->scratch_bytes, &buffers[n], &message);
  if (kernel->bind != NULL)
    kernel->bind (kernel, buffers, &message);
  for (int window = 0; window < 12; window++)
    {
      double start = now (), time;

      for (int i = 0; i < repeat; i++)
        if (kernel->run (kernel, NULL, buffers, &message) != LOOM_STATUS_OK)
          g_error ("%s", message.text);
      time = now () - start;
      if (time < 2000)
        {
          repeat *= time < 200 ? 10 : 2;
          window = -1;
          continue;
        }
      best = MIN (best, time / repeat);
    }
  printf ("%-22s %-26s %9.3f us  %7.1f %s  %s%s\n", s->primitive, label, best,
          flops > 0 ? flops / best * 1e-3 : bytes / best * 1e-3, flops > 0 ? "GFLOP/s" : "GB/s   ", kernel->name,
          kernel->scratch_bytes > 0 ? " +scratch" : "");
  for (int i = 0; i <= n; i++)
    cpu.backend->free (cpu.device, buffers[i]);
  kernel->free (kernel);
}

static void
bench_linear (const char *label, int m, int n, int k)
{
  char x[32], w[32], y[32], b[32], name[64];
  double flops = 2.0 * m * n * k;

  g_snprintf (x, sizeof x, "%d,%d", m, k);
  g_snprintf (w, sizeof w, "%d,%d", n, k);
  g_snprintf (y, sizeof y, "%d,%d", m, n);
  g_snprintf (b, sizeof b, "%d", n);
  for (int pass = 0; pass < 3; pass++)
    {
      Sample s = { .primitive = "matmul", .n_in = pass == 0 ? 3 : 2, .n_out = 1 };

      s.in[0] = desc (LOOM_F32, pass == 0 ? x : y);
      s.in[1] = desc (LOOM_F32, pass == 1 ? x : w);
      s.in[2] = desc (LOOM_F32, b);
      s.out[0] = desc (LOOM_F32, pass == 0 ? y : pass == 1 ? w : x);
      SAMPLE_ATTRS (&s, LoomMatmulAttrs) = (LoomMatmulAttrs){ .trans_a = pass == 1,
                                                              .trans_b = pass == 0,
                                                              .has_bias = pass == 0,
                                                              .act = pass == 0 ? LOOM_SCALAR_RELU : LOOM_SCALAR_ID };
      g_snprintf (name, sizeof name, "%s %s", label, pass == 0 ? "forward" : pass == 1 ? "dW" : "dx");
      bench (&s, name, LOOM_LAYOUT_PLAIN, flops);
    }
}

static void
bench_conv (const char *label, int N, int C, int H, int K, int R, int pad, int stride)
{
  int P = (H + 2 * pad - R) / stride + 1;
  LoomTensorDesc x = { LOOM_F32, 0, 4, { N, C, H, H } }, w = { LOOM_F32, 0, 4, { K, C, R, R } };
  LoomTensorDesc y = { LOOM_F32, 0, 4, { N, K, P, P } }, b = { LOOM_F32, 0, 1, { K } };
  double flops = 2.0 * N * K * P * P * C * R * R;
  Sample s = { .primitive = "conv2d", .n_in = 3, .n_out = 1, .in = { x, w, b }, .out = { y } };

  SAMPLE_ATTRS (&s, LoomConv2dAttrs)
      = (LoomConv2dAttrs){ { stride, stride }, { pad, pad, pad, pad }, { 1, 1 }, 1, TRUE, LOOM_SCALAR_RELU };
  bench (&s, label, LOOM_LAYOUT_NHWC, flops);
  s = (Sample){
    .primitive = "conv2d_weight_grad", .attrs = s.attrs, .n_in = 2, .n_out = 2, .in = { y, x }, .out = { w, b }
  };
  bench (&s, label, LOOM_LAYOUT_NHWC, flops);
  s = (Sample){
    .primitive = "conv2d_input_grad", .attrs = s.attrs, .n_in = 2, .n_out = 1, .in = { y, w }, .out = { x }
  };
  bench (&s, label, LOOM_LAYOUT_NHWC, flops);
}

static void
bench_pool (const char *label, const char *in, const char *out)
{
  LoomTensorDesc x = desc (LOOM_F32, in), y = desc (LOOM_F32, out), indices = desc (LOOM_U8, out);
  Sample s = { .primitive = "max_pool2d", .n_in = 1, .n_out = 2, .in = { x }, .out = { y, indices } };

  SAMPLE_ATTRS (&s, LoomPool2dAttrs) = (LoomPool2dAttrs){ { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 }, TRUE, 0 };
  bench (&s, label, LOOM_LAYOUT_NHWC, 0);
  s = (Sample){
    .primitive = "max_pool2d_grad", .attrs = s.attrs, .n_in = 2, .n_out = 1, .in = { y, indices }, .out = { x }
  };
  bench (&s, label, LOOM_LAYOUT_NHWC, 0);
}

static void
bench_elementwise (const char *dims, LoomScalarOp op, const char *other)
{
  Sample s = { .primitive = "elementwise", .n_out = 1 };
  char label[80];

  s.n_in = loom_scalar_arity (op);
  s.in[0] = s.out[0] = desc (LOOM_F32, dims);
  s.in[1] = desc (LOOM_F32, other);
  SAMPLE_ATTRS (&s, LoomElementwiseAttrs).compute = LOOM_F32;
  SAMPLE_ATTRS (&s, LoomElementwiseAttrs).n_steps = 1;
  SAMPLE_ATTRS (&s, LoomElementwiseAttrs).step[0] = (LoomElementwiseStep){ op, { 0, 1, 0 } };
  SAMPLE_ATTRS (&s, LoomElementwiseAttrs).out[0] = (uint8_t)s.n_in;
  g_snprintf (label, sizeof label, "%s %s %s", loom_scalar_name (op), dims, s.n_in > 1 ? other : "");
  bench (&s, label, LOOM_LAYOUT_PLAIN, 0);
}

static void
bench_reduce (const char *in, const char *out, guint axes)
{
  Sample s = { .primitive = "reduce", .n_in = 1, .n_out = 1 };
  char label[80];

  s.in[0] = desc (LOOM_F32, in);
  s.out[0] = desc (LOOM_F32, out);
  SAMPLE_ATTRS (&s, LoomReduceAttrs) = (LoomReduceAttrs){ LOOM_REDUCE_SUM, axes };
  g_snprintf (label, sizeof label, "%s to %s", in, out);
  bench (&s, label, LOOM_LAYOUT_PLAIN, 0);
}

static void
bench_losses (const char *rows, const char *logits)
{
  LoomTensorDesc x = desc (LOOM_F32, logits), t = desc (LOOM_I64, rows), l = desc (LOOM_F32, rows);
  Sample s = { .primitive = "cross_entropy", .n_in = 2, .n_out = 2, .in = { x, t }, .out = { l, l } };

  SAMPLE_ATTRS (&s, LoomCrossEntropyAttrs).ignore_index = -100;
  bench (&s, logits, LOOM_LAYOUT_PLAIN, 0);
  s = (Sample){
    .primitive = "cross_entropy_grad", .attrs = s.attrs, .n_in = 4, .n_out = 1, .in = { x, t, l, l }, .out = { x }
  };
  bench (&s, logits, LOOM_LAYOUT_PLAIN, 0);
}

/* Over the last of the dims. */
static void
bench_softmax (const char *dims)
{
  Sample s = { .primitive = "softmax", .n_in = 1, .n_out = 1, .in = { desc (LOOM_F32, dims) } };

  s.out[0] = s.in[0];
  SAMPLE_ATTRS (&s, LoomSoftmaxAttrs).axis = s.in[0].rank - 1;
  bench (&s, dims, LOOM_LAYOUT_PLAIN, 0);
}

static void
bench_random (const char *dims)
{
  static const char *const name[] = { "uniform", "normal", "exponential" };

  for (int kind = LOOM_RANDOM_UNIFORM; kind <= LOOM_RANDOM_EXPONENTIAL; kind++)
    {
      LoomTensorDesc one = desc (LOOM_I64, "");
      Sample s = { .primitive = "random", .n_in = 2, .n_out = 1, .in = { one, one }, .out = { desc (LOOM_F32, dims) } };
      char label[80];

      SAMPLE_ATTRS (&s, LoomRandomAttrs) = (LoomRandomAttrs){ (LoomRandomKind)kind, 1 };
      g_snprintf (label, sizeof label, "%s %s", name[kind], dims);
      bench (&s, label, LOOM_LAYOUT_PLAIN, 0);
    }
}

/* Causal attention of q, keys and values of the same dims, and its gradient. */
static void
bench_attention (const char *dims, double dropout)
{
  const LoomTensorDesc absent = { .dtype = LOOM_N_DTYPES, .rank = 1 }, one = desc (LOOM_I64, "");
  LoomTensorDesc q = desc (LOOM_F32, dims), rows = q, heads = desc (LOOM_I64, dims);
  Sample s = { .primitive = "attention", .n_in = 3, .n_out = 2 };
  char label[80];

  rows.rank = 3;
  heads.rank = 2;
  SAMPLE_ATTRS (&s, LoomAttentionAttrs)
      = (LoomAttentionAttrs){ .scale = 0.1, .causal = TRUE, .dropout = dropout, .stream = 1 };
  s.out[0] = s.in[0] = s.in[1] = s.in[2] = q;
  s.out[1] = rows;
  s.in[3] = absent;
  s.in[4] = s.in[5] = one;
  s.in[6] = heads;
  s.n_in = dropout > 0 ? 7 : 3;
  g_snprintf (label, sizeof label, "%s dropout %g", dims, dropout);
  bench (&s, label, LOOM_LAYOUT_PLAIN, 0);
  s = (Sample){ .primitive = "attention_grad",
                .attrs = s.attrs,
                .n_in = dropout > 0 ? 11 : 6,
                .n_out = 3,
                .in = { q, q, q, q, rows, rows, absent, absent, one, one, heads },
                .out = { q, q, q } };
  bench (&s, label, LOOM_LAYOUT_PLAIN, 0);
}

/* Adam over the tensors named, not adjacent in memory. */
static void
bench_adam (const char *label, const char *const *dims)
{
  Sample s = { .primitive = "adam_step" };
  int n = (int)g_strv_length ((char **)dims);

  for (int l = 0; l < 4; l++)
    for (int t = 0; t < n; t++)
      s.in[s.n_in++] = desc (LOOM_F32, dims[t]);
  for (int l = 0; l < 3; l++)
    for (int t = 0; t < n; t++)
      s.out[s.n_out++] = desc (LOOM_F32, dims[t]);
  for (int i = 0; i < 8; i++)
    s.in[s.n_in++] = desc (i == 7 ? LOOM_I64 : LOOM_F32, "1");
  SAMPLE_ATTRS (&s, LoomAdamAttrs).n = n;
  bench (&s, label, LOOM_LAYOUT_PLAIN, 0);
}

int
main (int argc, char **argv)
{
  static const char *const iris[] = { "16,4", "16", "16,16", "16", "3,16", "3", NULL };
  static const char *const mlp[] = { "128,784", "128", "10,128", "10", NULL };

  if (argc > 2)
    only = argv[2];
  if (argc > 3)
    algorithm = argv[3];
  n_threads = argc > 1 ? atoi (argv[1]) : 0;
  cpu = machine_open (loom_backend_cpu (), n_threads);
  bench_linear ("recurrent 128-512", 16, 512, 128);
  bench_linear ("recurrent 512-128", 16, 128, 512);
  bench_linear ("iris 4-16", 16, 16, 4);
  bench_linear ("iris 16-16", 16, 16, 16);
  bench_linear ("iris 16-3", 16, 3, 16);
  bench_elementwise ("16,16", LOOM_SCALAR_RELU_GRAD, "16,16");
  bench_reduce ("16,16", "1,16", 1);
  bench_reduce ("16", "1", 1);
  bench_losses ("16", "16,3");
  bench_adam ("iris", iris);
  bench_linear ("b32 784-128", 32, 128, 784);
  bench_linear ("b32 128-10", 32, 10, 128);
  bench_linear ("b128 784-128", 128, 128, 784);
  bench_linear ("b128 128-10", 128, 10, 128);
  bench_linear ("512x512", 512, 512, 512);
  bench_linear ("1024x1024", 1024, 1024, 1024);
  bench_losses ("128", "128,10");
  bench_softmax ("128,10");
  bench_softmax ("512,1000");
  bench_softmax ("4096,256");
  bench_reduce ("128,128", "1,128", 1);
  bench_adam ("mlp", mlp);
  bench_conv ("lenet conv1", 64, 1, 28, 6, 5, 2, 1);
  bench_conv ("fashion conv1", 64, 1, 28, 16, 5, 2, 1);
  bench_conv ("lenet conv2", 64, 6, 14, 16, 5, 0, 1);
  bench_conv ("fashion conv2", 64, 16, 14, 32, 5, 2, 1);
  bench_conv ("cifar conv1", 64, 3, 32, 32, 3, 1, 1);
  bench_conv ("vgg conv1", 64, 3, 32, 64, 3, 1, 1);
  bench_conv ("resnet conv1", 128, 3, 32, 64, 3, 1, 1);
  bench_conv ("b128 32 conv1", 128, 3, 32, 32, 3, 1, 1);
  bench_conv ("resnet 64 at 32", 128, 64, 32, 64, 3, 1, 1);
  bench_conv ("resnet 128 at 16", 128, 128, 16, 128, 3, 1, 1);
  bench_conv ("resnet 256 at 8", 128, 256, 8, 256, 3, 1, 1);
  bench_conv ("resnet 512 at 4", 128, 512, 4, 512, 3, 1, 1);
  bench_conv ("resnet 64-128 stride 2", 128, 64, 32, 128, 3, 1, 2);
  bench_conv ("resnet 128-256 stride 2", 128, 128, 16, 256, 3, 1, 2);
  bench_conv ("resnet 256-512 stride 2", 128, 256, 8, 512, 3, 1, 2);
  bench_conv ("resnet 64-128 1x1", 128, 64, 32, 128, 1, 0, 2);
  bench_conv ("resnet 128-256 1x1", 128, 128, 16, 256, 1, 0, 2);
  bench_conv ("resnet 256-512 1x1", 128, 256, 8, 512, 1, 0, 2);
  bench_pool ("64,6,28,28", "64,6,28,28", "64,6,14,14");
  bench_pool ("64,16,10,10", "64,16,10,10", "64,16,5,5");
  bench_pool ("64,32,32,32", "64,32,32,32", "64,32,16,16");
  bench_pool ("64,32,28,28", "64,32,28,28", "64,32,14,14");
  bench_elementwise ("64,16,28,28", LOOM_SCALAR_RELU_GRAD, "64,16,28,28");
  bench_elementwise ("64,16,28,28", LOOM_SCALAR_GELU, "");
  for (int op = LOOM_SCALAR_EXP; op <= LOOM_SCALAR_ATANH; op++)
    bench_elementwise ("1000,1000", (LoomScalarOp)op, "");
  bench_elementwise ("1000,1000", LOOM_SCALAR_POW, "1000,1000");
  bench_elementwise ("1000,1000", LOOM_SCALAR_ATAN2, "1000,1000");
  bench_elementwise ("1000,1000", LOOM_SCALAR_GELU_TANH_GRAD, "1000,1000");
  bench_elementwise ("1000,1000", LOOM_SCALAR_ADD, "1000");
  bench_random ("1000,1000");
  bench_attention ("32,4,64,16", 0);
  bench_attention ("32,4,64,16", 0.1);
  bench_attention ("4,6,256,64", 0);
  bench_attention ("4,6,256,64", 0.1);
  bench_reduce ("1000,1000", "1,1", 3);
  bench_reduce ("1000,1000", "1,1000", 1);
  bench_reduce ("1000,1000", "1000,1", 2);
  {
    LoomTensorDesc x = desc (LOOM_F32, "64,32,32,32"), c = desc (LOOM_F32, "32");
    Sample s = { .primitive = "batch_norm", .n_in = 3, .n_out = 3, .in = { x, c, c }, .out = { x, c, c } };

    SAMPLE_ATTRS (&s, LoomNormAttrs) = (LoomNormAttrs){ 1e-5, 0, TRUE };
    bench (&s, "64,32,32,32", LOOM_LAYOUT_NHWC, 0);
    s = (Sample){ .primitive = "batch_norm_grad",
                  .attrs = s.attrs,
                  .n_in = 5,
                  .n_out = 3,
                  .in = { x, x, c, c, c },
                  .out = { x, c, c } };
    bench (&s, "64,32,32,32", LOOM_LAYOUT_NHWC, 0);
    s = (Sample){ .primitive = "reorder", .n_in = 1, .n_out = 1, .in = { x }, .out = { x } };
    SAMPLE_ATTRS (&s, LoomPermuteAttrs) = (LoomPermuteAttrs){ { 0, 2, 3, 1 } };
    s.primitive = "permute";
    s.out[0] = desc (LOOM_F32, "64,32,32,32");
    bench (&s, "64,32,32,32 NCHW-NHWC", LOOM_LAYOUT_PLAIN, 0);
  }
  machine_close (&cpu);
  return 0;
}
