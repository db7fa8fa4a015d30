/* What a back end says of its options is so: each option's kernel can be made and computes what the reference does, and
 * where there is no option there is no kernel. */
#include "tests/kernels/kernel-harness.h"

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

static void
check_option (Machine *machine, const Sample *s, float *const *inputs, const Result *want,
              const LoomKernelOption *option)
{
  LoomLayout layout = option->nhwc != 0 ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN;
  Result got;

  machine->algorithm = option->algorithm;
  got = sample_run (machine, s, inputs, LOOM_F32, layout, -1);
  machine->algorithm = NULL;
  if (got.status != LOOM_STATUS_OK)
    {
      g_test_message ("%s: %s is an option, but says %d %s", s->name, option->algorithm, got.status, got.message.text);
      g_test_fail ();
      return;
    }
  for (int o = 0; o < s->n_out; o++)
    for (gint64 i = 0; i < loom_desc_count (&s->out[o]); i++)
      if (!agrees (got.out[o][i], want->out[o][i], s->tolerance))
        {
          g_test_message ("%s (%s, %s): output %d element %" G_GINT64_FORMAT " is %.9g, not %.9g", s->name,
                          option->algorithm, layout == LOOM_LAYOUT_NHWC ? "nhwc" : "plain", o, i, got.out[o][i],
                          want->out[o][i]);
          g_test_fail ();
          o = s->n_out;
          break;
        }
  result_clear (&got);
}

/* Every sample by every algorithm in every layout. */
static void
test_options_agree (void)
{
  Machine ref = machine_open (loom_backend_ref (), 1), cpu = machine_open (loom_backend_cpu (), 2);
  Machine one = machine_open (loom_backend_cpu (), 1);
  guint several = 0, nhwc = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      LoomKernelSpec spec = spec_of (s);
      LoomKernelOption option[LOOM_MAX_OPTIONS], again[LOOM_MAX_OPTIONS];
      LoomMessage message = { "" };
      float **inputs;
      Result want;
      int n;

      if (!is_plain (s))
        continue;
      n = cpu.backend->options (cpu.device, &spec, NULL, option, LOOM_MAX_OPTIONS, &message);
      g_assert_cmpint (n, >, 0);
      /* The same question has the same answer, whatever the number of threads: what differs is the cost. */
      g_assert_cmpint (one.backend->options (one.device, &spec, NULL, again, LOOM_MAX_OPTIONS, &message), ==, n);
      for (int k = 0; k < n; k++)
        {
          g_assert_cmpstr (option[k].algorithm, ==, again[k].algorithm);
          g_assert_cmpuint (option[k].nhwc, ==, again[k].nhwc);
          for (int l = 0; l < k; l++)
            g_assert_true (option[k].nhwc != option[l].nhwc || strcmp (option[k].algorithm, option[l].algorithm) != 0);
        }
      g_assert_cmpint (ref.backend->options (ref.device, &spec, NULL, again, LOOM_MAX_OPTIONS, &message), ==, 1);
      g_assert_cmpuint (again[0].nhwc, ==, 0);

      inputs = sample_inputs (s);
      want = sample_run (&ref, s, inputs, LOOM_F64, LOOM_LAYOUT_PLAIN, -1);
      for (int k = 0; k < n && want.status == LOOM_STATUS_OK; k++)
        {
          nhwc += option[k].nhwc != 0;
          several += k > 0 && option[k].nhwc == option[k - 1].nhwc;
          /* The harness gives a copy's two operands one layout. */
          if (option[k].nhwc == 0 || (s->nhwc && strcmp (s->primitive, "copy") != 0))
            check_option (&cpu, s, inputs, &want, &option[k]);
        }
      result_clear (&want);
      inputs_free (s, inputs);
    }
  g_test_message ("%u options in NHWC, %u further algorithms", nhwc, several);
  g_assert_cmpuint (nhwc, >, 50);
  g_assert_cmpuint (several, >, 20);
  machine_close (&one);
  machine_close (&cpu);
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

int
main (int argc, char **argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  samples = samples_new ();
  g_test_add_func ("/kernels/options/agree", test_options_agree);
  g_test_add_func ("/kernels/options/none", test_no_option);
  result = g_test_run ();
  g_ptr_array_unref (samples);
  return result;
}
