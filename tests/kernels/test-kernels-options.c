/* Options of back ends: each option's kernel can be made and computes what the reference does, and without an option
 * there is no kernel. For the CPU's back end, or a module's: test-kernels-options MODULE.so. */
#include "tests/kernels/kernel-harness.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#include "kernels/options.h"

static GPtrArray *samples;

static LoomKernelSpec
spec_of (const Sample *s)
{
  return (LoomKernelSpec){ s->primitive, &s->attrs, s->n_in, s->n_out, s->in, s->out, NULL };
}

static gboolean
is_plain (const Sample *s)
{
  for (int i = 0; i < s->n_in + s->n_out; i++)
    if ((i < s->n_in ? &s->in[i] : &s->out[i - s->n_in])->layout != LOOM_LAYOUT_PLAIN)
      return FALSE;
  return TRUE;
}

static gboolean
agrees (double a, double b, double tolerance)
{
  if (isnan (b))
    return isnan (a);
  if (isinf (b) || fabs (b) > 3.4e38)
    return isinf (a) ? signbit (a) == signbit (b) : fabs (a) > 3.3e38 && signbit (a) == signbit (b);
  return fabs (a - b) <= tolerance * (1 + fabs (b));
}

/* cuDNN's Winograd transforms lose up to 1e-4 of single sums on an H100, so that its results are compared as a whole,
 * as our own ones are (test-winograd.c). */
#define WINOGRAD 1e-4

static void
check_norm (const Sample *s, const Result *got, const Result *want)
{
  for (int o = 0; o < s->n_out; o++)
    {
      double away = 0, size = 0;

      for (gint64 i = 0; i < loom_desc_count (&s->out[o]); i++)
        {
          away += (got->out[o][i] - want->out[o][i]) * (got->out[o][i] - want->out[o][i]);
          size += want->out[o][i] * want->out[o][i];
        }
      if (!(sqrt (away) <= WINOGRAD * sqrt (size)))
        {
          g_test_message ("%s (%s): output %d is away by %.2g of its norm", s->name, got->kernel, o,
                          sqrt (away / size));
          g_test_fail ();
        }
    }
}

/* fixed: packed operands may be read in place of the sample's. Returns what the kernel keeps. */
static gsize
check_option (Machine *machine, const Sample *s, float *const *inputs, const Result *want,
              const LoomKernelOption *option, gboolean fixed)
{
  Result got;

  machine->fixed = fixed;

  machine->algorithm = option->algorithm;
  machine->nhwc = &option->nhwc;
  got = sample_run (machine, s, inputs, LOOM_F32, LOOM_LAYOUT_PLAIN, -1);
  machine->algorithm = NULL;
  machine->nhwc = NULL;
  machine->fixed = FALSE;
  if (got.status != LOOM_STATUS_OK)
    {
      g_test_message ("%s: %s is an option, but says %d %s", s->name, option->algorithm, got.status, got.message.text);
      g_test_fail ();
      return 0;
    }
  if (g_str_has_prefix (option->algorithm, "cudnn-winograd"))
    {
      check_norm (s, &got, want);
      result_clear (&got);
      return got.kept_bytes;
    }
  for (int o = 0; o < s->n_out; o++)
    for (gint64 i = 0; i < loom_desc_count (&s->out[o]); i++)
      if (!agrees (got.out[o][i], want->out[o][i], s->tolerance))
        {
          g_test_message ("%s (%s, operands %" G_GINT64_MODIFIER "x in NHWC): output %d element %" G_GINT64_FORMAT
                          " is %.9g, not %.9g",
                          s->name, option->algorithm, option->nhwc, o, i, got.out[o][i], want->out[o][i]);
          g_test_fail ();
          o = s->n_out;
          break;
        }
  result_clear (&got);
  return got.kept_bytes;
}

/* How many options there were. */
typedef struct
{
  guint nhwc, mixed,
      several;         /* images in NHWC; only operands or only results; a further algorithm in the same layout */
  guint cudnn, padded; /* cuDNN's; of images that are padded before */
  guint kept;          /* kernels that keep fixed operands */
} Seen;

/* The options of a sample, each listed once. If one is requested by name, only that one is listed, in all its layouts.
 */
static int
options_of (const Machine *machine, const LoomKernelSpec *spec, LoomKernelOption option[LOOM_MAX_OPTIONS], Seen *seen)
{
  LoomKernelSpec named = *spec;
  LoomKernelOption again[LOOM_MAX_OPTIONS];
  LoomMessage message = { "" };
  int n = machine->backend->options (machine->device, spec, NULL, option, LOOM_MAX_OPTIONS, &message);

  for (int k = 0; k < n; k++)
    {
      guint64 in = loom_spec_mask_in (spec, option[k].nhwc);
      int n_named, found = 0;

      seen->nhwc += option[k].nhwc != 0;
      seen->mixed
          += option[k].nhwc != 0 && option[k].nhwc != loom_spec_images (spec) && (in == 0) != (in == option[k].nhwc);
      seen->cudnn += g_str_has_prefix (option[k].algorithm, "cudnn");
      seen->padded += strcmp (option[k].algorithm, "cudnn-padded") == 0;
      seen->several += k > 0 && option[k].nhwc == option[k - 1].nhwc;
      for (int l = 0; l < k; l++)
        g_assert_true (option[k].nhwc != option[l].nhwc || strcmp (option[k].algorithm, option[l].algorithm) != 0);
      named.algorithm = option[k].algorithm;
      n_named = machine->backend->options (machine->device, &named, NULL, again, LOOM_MAX_OPTIONS, &message);
      for (int l = 0; l < n_named; l++)
        {
          g_assert_cmpstr (again[l].algorithm, ==, option[k].algorithm);
          found += again[l].nhwc == option[k].nhwc;
        }
      g_assert_cmpint (found, ==, 1);
    }
  return n;
}

/* Of a GPU's primitives only those with several algorithms and layouts of images: an emulated GPU is slow, and the
 * single algorithm of all others runs in test-kernels-module. */
static gboolean
has_algorithms (const Sample *s)
{
  static const char *const primitives[] = { "matmul",
                                            "conv2d",
                                            "conv2d_input_grad",
                                            "conv2d_weight_grad",
                                            "max_pool2d",
                                            "max_pool2d_grad",
                                            "avg_pool2d",
                                            "avg_pool2d_grad",
                                            "batch_norm",
                                            "batch_norm_grad",
                                            "cholesky",
                                            "solve",
                                            "det",
                                            "triangular_solve",
                                            NULL };

  return g_strv_contains (primitives, s->primitive);
}

/* Samples by every algorithm in every layout. */
static Seen
check_all (Machine *ref, Machine *machine, gboolean few)
{
  Seen seen = { 0 };

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      LoomKernelSpec spec = spec_of (s);
      LoomKernelOption option[LOOM_MAX_OPTIONS];
      float **inputs;
      Result want;
      int n;

      if (!is_plain (s) || (few && !has_algorithms (s)))
        continue;
      n = options_of (machine, &spec, option, &seen);
      if (n == 0 && s->joined)
        continue;
      if (n == 0)
        {
          g_test_message ("%s has no option", s->name);
          g_test_fail ();
        }
      inputs = sample_inputs (s);
      want = sample_run (ref, s, inputs, LOOM_F64, LOOM_LAYOUT_PLAIN, -1);
      for (int k = 0; k < n && want.status == LOOM_STATUS_OK; k++)
        {
          check_option (machine, s, inputs, &want, &option[k], FALSE);
          seen.kept += check_option (machine, s, inputs, &want, &option[k], TRUE) > 0;
        }
      result_clear (&want);
      inputs_free (s, inputs);
    }
  g_test_message ("%u options in NHWC, %u of them with results in another layout than operands, %u further algorithms",
                  seen.nhwc, seen.mixed, seen.several);
  return seen;
}

static void
test_cpu (void)
{
  Machine ref = machine_open (loom_backend_ref (), 1), cpu = machine_open (loom_backend_cpu (), 2);
  Seen seen = check_all (&ref, &cpu, FALSE);

  g_assert_cmpuint (seen.nhwc, >, 50);
  g_assert_cmpuint (seen.several, >, 20);
  g_assert_cmpuint (seen.kept, >, 20);
  machine_close (&cpu);
  machine_close (&ref);
}

/* The same query has the same result, for any number of threads: only the costs differ. */
static void
test_threads (void)
{
  Machine ref = machine_open (loom_backend_ref (), 1), cpu = machine_open (loom_backend_cpu (), 2);
  Machine one = machine_open (loom_backend_cpu (), 1);

  for (guint i = 0; i < samples->len; i++)
    {
      LoomKernelSpec spec = spec_of (g_ptr_array_index (samples, i));
      LoomKernelOption option[LOOM_MAX_OPTIONS], again[LOOM_MAX_OPTIONS];
      LoomMessage message = { "" };
      int n;

      if (!is_plain (g_ptr_array_index (samples, i)))
        continue;
      n = cpu.backend->options (cpu.device, &spec, NULL, option, LOOM_MAX_OPTIONS, &message);
      g_assert_cmpint (one.backend->options (one.device, &spec, NULL, again, LOOM_MAX_OPTIONS, &message), ==, n);
      for (int k = 0; k < n; k++)
        {
          g_assert_cmpstr (option[k].algorithm, ==, again[k].algorithm);
          g_assert_cmpuint (option[k].nhwc, ==, again[k].nhwc);
        }
      g_assert_cmpint (ref.backend->options (ref.device, &spec, NULL, again, LOOM_MAX_OPTIONS, &message), ==, 1);
      g_assert_cmpuint (again[0].nhwc, ==, 0);
    }
  machine_close (&one);
  machine_close (&cpu);
  machine_close (&ref);
}

/* A module's; skipped if the machine has no device for it. */
static void
test_module (gconstpointer path)
{
  const LoomBackend *backend = module_backend (path);
  Machine ref, card;
  LoomMessage message;
  Seen seen;

  if (backend->device_count (&message) == 0)
    {
      g_test_skip (message.text);
      return;
    }
  ref = machine_open (loom_backend_ref (), 1);
  card = machine_open (backend, 0);
  seen = check_all (&ref, &card, TRUE);
  g_assert_cmpuint (seen.nhwc, >, 50);
  g_assert_cmpuint (seen.mixed, >, 50);
  g_assert_cmpuint (seen.several, >, 100);
  g_assert_cmpuint (seen.padded, >=, seen.cudnn > 0 ? 100 : 0);
  machine_close (&card);
  machine_close (&ref);
}

/* No option, no kernel: f16 on a CPU, a primitive that does not exist, an algorithm that does not. */
static void
test_no_option (void)
{
  Machine cpu = machine_open (loom_backend_cpu (), 1);
  LoomMatmulAttrs attrs = { .act = LOOM_SCALAR_ID };
  LoomTensorDesc in[2] = { desc (LOOM_F16, "4,4"), desc (LOOM_F16, "4,4") }, out = desc (LOOM_F16, "4,4");
  LoomKernelSpec spec = { "matmul", &attrs, 2, 1, in, &out, NULL };
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;

  g_assert_cmpint (cpu.backend->options (cpu.device, &spec, NULL, option, LOOM_MAX_OPTIONS, &message), ==, 0);
  g_assert_nonnull (strstr (message.text, "f16"));
  g_assert_cmpint (cpu.backend->kernel_new (cpu.device, &spec, &kernel, &message), ==, LOOM_STATUS_UNSUPPORTED);

  in[0].dtype = in[1].dtype = out.dtype = LOOM_F32;
  g_assert_cmpint (cpu.backend->options (cpu.device, &spec, NULL, option, LOOM_MAX_OPTIONS, &message), ==, 2);
  g_assert_cmpint (cpu.backend->options (cpu.device, &spec, NULL, option, 1, &message), ==, 1);
  spec.algorithm = "abacus";
  g_assert_cmpint (cpu.backend->kernel_new (cpu.device, &spec, &kernel, &message), ==, LOOM_STATUS_UNSUPPORTED);
  spec.primitive = "abacus";
  g_assert_cmpint (cpu.backend->options (cpu.device, &spec, NULL, option, LOOM_MAX_OPTIONS, &message), ==, 0);
  machine_close (&cpu);
}

TEST_FILE (argc, argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  samples = samples_new ();
  if (argc > 1)
    g_test_add_data_func ("/kernels/options/module", argv[1], test_module);
  else
    {
      g_test_add_func ("/kernels/options/cpu", test_cpu);
      g_test_add_func ("/kernels/options/threads", test_threads);
      g_test_add_func ("/kernels/options/none", test_no_option);
    }
  result = g_test_run ();
  g_ptr_array_unref (samples);
  return result;
}
