/* Every sample on the CPU back end against the reference in f64: values, layouts,
 * in place, repeated, with one thread and two, and for each instruction set. */
#include "tests/kernels/kernel-harness.h"

#include <math.h>

static GPtrArray *samples;

/* The CPU has every primitive that the samples name, in both layouts. */
static void
test_agree (gconstpointer isa)
{
  Machine ref = machine_open (loom_backend_ref (), 1), cpu;
  g_autoptr (Report) report = report_new ();

  g_setenv ("GRADLOOM_CPU_ISA", isa, TRUE);
  cpu = machine_open (loom_backend_cpu (), 2);
  for (guint i = 0; i < samples->len; i++)
    sample_check (report, &ref, &cpu, g_ptr_array_index (samples, i), LOOM_F32, g_str_equal (isa, ""));
  g_assert_cmpuint (report->runs, >, samples->len);
  for (guint i = 0; i < report->declined->len; i++)
    g_assert_true (g_str_has_suffix (report->declined->pdata[i], SAMPLE_JOINED));
  report_print (report);
  machine_close (&cpu);
  machine_close (&ref);
  g_unsetenv ("GRADLOOM_CPU_ISA");
}

/* bf16 goes through the same samples; a CPU does not compute in f16. */
static void
test_short (void)
{
  Machine ref = machine_open (loom_backend_ref (), 1), cpu = machine_open (loom_backend_cpu (), 2);
  g_autoptr (Report) report = report_new ();

  for (guint i = 0; i < samples->len; i++)
    {
      Sample plain = *(const Sample *)g_ptr_array_index (samples, i);

      sample_check (report, &ref, &cpu, &plain, LOOM_BF16, FALSE);
      plain.nhwc = FALSE; /* the reference knows one layout */
      sample_check (report, &ref, &ref, &plain, LOOM_F16, FALSE);
    }
  report_print (report);
  machine_close (&cpu);
  machine_close (&ref);
}

/* Norms of bf16 data with statistics and weights in f32, as mixed precision has them: without copies in f32. */
static void
test_mixed_norms (void)
{
  static const char *const isa[] = { "native", "v3", "base" };
  Machine ref = machine_open (loom_backend_ref (), 1);
  g_autoptr (Report) report = report_new ();

  for (guint m = 0; m < G_N_ELEMENTS (isa); m++)
    {
      Machine cpu;

      g_setenv ("GRADLOOM_CPU_ISA", isa[m], TRUE);
      cpu = machine_open (loom_backend_cpu (), 2);
      g_unsetenv ("GRADLOOM_CPU_ISA");
      for (guint i = 0; i < samples->len; i++)
        {
          Sample s = *(const Sample *)g_ptr_array_index (samples, i);

          if (strstr (s.primitive, "_norm") == NULL)
            continue;
          s.mixed = TRUE;
          sample_check (report, &ref, &cpu, &s, LOOM_BF16, FALSE);
        }
      machine_close (&cpu);
    }
  report_print (report);
  machine_close (&ref);
}

/* Reference f32 stays near reference f64: both halves of the templates are run. */
static void
test_ref_f32 (void)
{
  Machine ref = machine_open (loom_backend_ref (), 1);
  g_autoptr (Report) report = report_new ();

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      Sample loose = *s;

      loose.nhwc = FALSE; /* the reference knows one layout */
      loose.tolerance = s->tolerance > 0 ? 2e-4 : 0;
      sample_check (report, &ref, &ref, &loose, LOOM_F32, FALSE);
    }
  report_print (report);
  machine_close (&ref);
}

/* The same bits with one thread as with two. oneDNN's kernels promise repetition only. */
static void
test_threads (void)
{
  Machine one = machine_open (loom_backend_cpu (), 1), two = machine_open (loom_backend_cpu (), 2);
  g_autoptr (Report) report = report_new ();

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      float **inputs = sample_inputs (s);

      for (int layout = LOOM_LAYOUT_PLAIN; layout <= (s->nhwc ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN); layout++)
        {
          Result first = sample_run (&two, s, inputs, LOOM_F32, (LoomLayout)layout, -1);
          Result alone = sample_run (&one, s, inputs, LOOM_F32, (LoomLayout)layout, -1);

          if (first.status == LOOM_STATUS_UNSUPPORTED && s->joined)
            g_assert_cmpint (alone.status, ==, LOOM_STATUS_UNSUPPORTED);
          else if (!g_str_has_prefix (first.kernel, "onednn"))
            report_same_bits (report, s, &first, &alone, "with one thread");
          report->runs++;
          result_clear (&first);
          result_clear (&alone);
        }
      inputs_free (s, inputs);
    }
  report_print (report);
  machine_close (&one);
  machine_close (&two);
}

/* Data that has no result is refused, by both back ends. */
static void
test_refusals (void)
{
  Machine machine[2] = { machine_open (loom_backend_ref (), 1), machine_open (loom_backend_cpu (), 2) };
  g_autoptr (Report) report = report_new ();

  for (guint i = 0; i < samples->len; i++)
    for (int m = 0; m < 2; m++)
      sample_check_refusals (report, &machine[m], g_ptr_array_index (samples, i), LOOM_F32);
  report_print (report);
  machine_close (&machine[0]);
  machine_close (&machine[1]);
}

/* NaN passes through a convolution with fused relu, and what is below 0 becomes 0. */
static void
test_conv_relu_nan (void)
{
  Machine cpu = machine_open (loom_backend_cpu (), 2);

  for (int layout = LOOM_LAYOUT_PLAIN; layout <= LOOM_LAYOUT_NHWC; layout++)
    {
      Sample s = { .name = "conv relu NaN", .primitive = "conv2d", .n_in = 2, .n_out = 1, .nhwc = TRUE };
      float **inputs;
      Result result;
      int nans = 0;

      s.in[0] = desc (LOOM_F32, "1,16,6,6");
      s.in[1] = desc (LOOM_F32, "16,16,3,3");
      s.out[0] = desc (LOOM_F32, "1,16,4,4");
      s.attrs.conv = (LoomConv2dAttrs){ { 1, 1 }, { 0 }, { 1, 1 }, 1, FALSE, LOOM_SCALAR_RELU };
      inputs = sample_inputs (&s);
      inputs[0][0] = NAN;
      result = sample_run (&cpu, &s, inputs, LOOM_F32, (LoomLayout)layout, -1);
      g_assert_cmpint (result.status, ==, LOOM_STATUS_OK);
      for (int i = 0; i < 16 * 16; i++)
        {
          nans += isnan (result.out[0][i]) != 0;
          g_assert_false (result.out[0][i] < 0);
        }
      g_assert_cmpint (nans, ==, 16);
      result_clear (&result);
      inputs_free (&s, inputs);
    }
  machine_close (&cpu);
}

int
main (int argc, char **argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  samples = samples_new ();
  g_test_add_data_func ("/kernels/agree/native", "", test_agree);
  g_test_add_data_func ("/kernels/agree/v3", "v3", test_agree);
  g_test_add_data_func ("/kernels/agree/base", "base", test_agree);
  g_test_add_func ("/kernels/short", test_short);
  g_test_add_func ("/kernels/mixed-norms", test_mixed_norms);
  g_test_add_func ("/kernels/ref-f32", test_ref_f32);
  g_test_add_func ("/kernels/threads", test_threads);
  g_test_add_func ("/kernels/refusals", test_refusals);
  g_test_add_func ("/kernels/conv-relu-nan", test_conv_relu_nan);
  result = g_test_run ();
  g_ptr_array_unref (samples);
  return result;
}
