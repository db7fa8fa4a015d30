/* Every sample on the CPU back end against the reference in f64: values, layouts,
 * in place, repeated, with one thread and two, and for each instruction set. */
#include "tests/kernels/kernel-harness.h"

#include <math.h>
#include <string.h>

static GPtrArray *samples;

static gboolean
agrees (double a, double b, double tolerance)
{
  if (isnan (b))
    return isnan (a);
  if (isinf (b) || fabs (b) > 3.4e38)
    return isinf (a) ? signbit (a) == signbit (b) : fabs (a) > 3.3e38 && signbit (a) == signbit (b);
  return fabs (a - b) <= tolerance * (1 + fabs (b));
}

static gboolean
is_optimiser (const Sample *s)
{
  return g_str_has_suffix (s->primitive, "_step");
}

static void
compare (const Sample *s, const Result *got, const Result *want, double tolerance, const char *how)
{
  for (int o = 0; o < s->n_out; o++)
    for (gint64 i = 0; i < loom_desc_count (&s->out[o]); i++)
      if (!agrees (got->out[o][i], want->out[o][i], tolerance))
        {
          g_test_message ("%s (%s, %s): output %d element %" G_GINT64_FORMAT " is %.9g, not %.9g", s->name, got->kernel,
                          how, o, i, got->out[o][i], want->out[o][i]);
          g_test_fail ();
          return;
        }
}

static void
same_bits (const Sample *s, const Result *a, const Result *b, const char *how)
{
  for (int o = 0; o < s->n_out; o++)
    if (memcmp (a->out[o], b->out[o], (size_t)loom_desc_count (&s->out[o]) * sizeof (double)) != 0)
      {
        g_test_message ("%s (%s): output %d has other bits %s", s->name, a->kernel, o, how);
        g_test_fail ();
      }
}

/* The CPU has every primitive that the samples name, in plain layout. */
static void
test_agree (gconstpointer isa)
{
  Machine ref = machine_open (loom_backend_ref (), 1), cpu;
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  g_setenv ("GRADLOOM_CPU_ISA", isa, TRUE);
  cpu = machine_open (loom_backend_cpu (), 2);
  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      float **inputs = sample_inputs (s);
      Result want = sample_run (&ref, s, inputs, LOOM_F64, LOOM_LAYOUT_PLAIN, -1);

      if (want.status != LOOM_STATUS_OK)
        {
          g_test_message ("%s: ref says %d %s", s->name, want.status, want.message.text);
          g_test_fail ();
        }
      for (int layout = LOOM_LAYOUT_PLAIN; layout <= (s->nhwc ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN); layout++)
        {
          Result got = sample_run (&cpu, s, inputs, LOOM_F32, (LoomLayout)layout, -1);

          if (got.status != LOOM_STATUS_OK)
            {
              g_test_message ("%s layout %d: cpu says %d %s", s->name, layout, got.status, got.message.text);
              g_test_fail ();
            }
          else if (want.status == LOOM_STATUS_OK)
            compare (s, &got, &want, s->tolerance, layout == LOOM_LAYOUT_NHWC ? "nhwc" : "plain");
          g_hash_table_add (seen, (gpointer)s->primitive);
          result_clear (&got);
        }
      result_clear (&want);
      inputs_free (s, inputs);
    }
  g_test_message ("%u samples of %u primitives", samples->len, g_hash_table_size (seen));
  machine_close (&cpu);
  machine_close (&ref);
  g_unsetenv ("GRADLOOM_CPU_ISA");
}

/* Reference f32 stays near reference f64: both halves of the templates are run. */
static void
test_ref_f32 (void)
{
  Machine ref = machine_open (loom_backend_ref (), 1);

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      float **inputs = sample_inputs (s);
      Result want = sample_run (&ref, s, inputs, LOOM_F64, LOOM_LAYOUT_PLAIN, -1);
      Result got = sample_run (&ref, s, inputs, LOOM_F32, LOOM_LAYOUT_PLAIN, -1);

      g_assert_cmpint (got.status, ==, LOOM_STATUS_OK);
      compare (s, &got, &want, s->tolerance > 0 ? 2e-4 : 0, "ref f32");
      result_clear (&got);
      result_clear (&want);
      inputs_free (s, inputs);
    }
  machine_close (&ref);
}

/* The same bits again, with two threads instead of one, and in place wherever the kernel
 * offers it. oneDNN's kernels promise repetition only. */
static void
test_bits (void)
{
  Machine one = machine_open (loom_backend_cpu (), 1), two = machine_open (loom_backend_cpu (), 2);
  guint shared = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      float **inputs = sample_inputs (s);

      for (int layout = LOOM_LAYOUT_PLAIN; layout <= (s->nhwc ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN); layout++)
        {
          Result first = sample_run (&two, s, inputs, LOOM_F32, (LoomLayout)layout, -1);
          Result again = sample_run (&two, s, inputs, LOOM_F32, (LoomLayout)layout, -1);
          Result alone = sample_run (&one, s, inputs, LOOM_F32, (LoomLayout)layout, -1);

          same_bits (s, &first, &again, "the second time");
          if (!g_str_has_prefix (first.kernel, "onednn"))
            same_bits (s, &first, &alone, "with one thread");
          for (int k = 0; k < s->n_in && !is_optimiser (s); k++)
            if ((first.inplace[0] >> k) & 1)
              {
                Result in_place = sample_run (&two, s, inputs, LOOM_F32, (LoomLayout)layout, k);

                same_bits (s, &first, &in_place, "in place");
                result_clear (&in_place);
                shared++;
              }
          result_clear (&first);
          result_clear (&again);
          result_clear (&alone);
        }
      inputs_free (s, inputs);
    }
  g_assert_cmpuint (shared, >, 100);
  machine_close (&one);
  machine_close (&two);
}

/* A row or class that does not exist is reported, by both back ends. */
static void
test_index (void)
{
  static const char *const victims[] = { "gather_rows", "scatter_add_rows", "cross_entropy", "cross_entropy_grad",
                                         "gather",      "scatter" };
  Machine machine[2] = { machine_open (loom_backend_ref (), 1), machine_open (loom_backend_cpu (), 2) };

  for (guint i = 0; i < samples->len; i++)
    for (int v = 0; v < (int)G_N_ELEMENTS (victims); v++)
      {
        const Sample *s = g_ptr_array_index (samples, i);
        int operand = v == 1 ? 0 : 1;

        if (!g_str_equal (s->primitive, victims[v]) || loom_desc_count (&s->in[operand]) == 0)
          continue;
        for (int m = 0; m < 2; m++)
          for (int bad = -1; bad <= 1000; bad += 1001)
            {
              float **inputs = sample_inputs (s);
              Result result;

              inputs[operand][loom_desc_count (&s->in[operand]) - 1] = (float)bad;
              result = sample_run (&machine[m], s, inputs, LOOM_F32, LOOM_LAYOUT_PLAIN, -1);
              g_assert_cmpint (result.status, ==, LOOM_STATUS_INDEX);
              g_assert_cmpstr (result.message.text, !=, "");
              result_clear (&result);
              inputs_free (s, inputs);
            }
      }
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
  g_test_add_func ("/kernels/ref-f32", test_ref_f32);
  g_test_add_func ("/kernels/bits", test_bits);
  g_test_add_func ("/kernels/index", test_index);
  g_test_add_func ("/kernels/conv-relu-nan", test_conv_relu_nan);
  result = g_test_run ();
  g_ptr_array_unref (samples);
  return result;
}
