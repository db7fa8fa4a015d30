/* Every sample on the CPU back end against the reference in f64: values, layouts, in place, repeated, with one thread
 * and two, and for each instruction set. */
#include "tests/kernels/kernel-harness.h"
#include "tests/test-program.h"

#include <math.h>

static GPtrArray *samples;

/* ---- one walk over all samples ------------------------------------------------------------ */

typedef enum
{
  NATIVE, /* the CPU's instruction sets, in f32 */
  V3,
  BASE,
  SHORT,       /* bf16, and f16 on the reference */
  MIXED_NORMS, /* norms of bf16 data with statistics and weights in f32, as mixed precision has them */
  REF_F32,
  THREADS,
  N_WAYS
} Way;

static const char *const names[N_WAYS] = { "native", "v3", "base", "short", "mixed-norms", "ref-f32", "threads" };
static Report *reports[N_WAYS]; /* NULL before the walk */

/* The same bits with one thread as with two. oneDNN's kernels promise repetition only. */
static void
check_threads (Report *report, const Machine *one, const Machine *two, const Sample *s)
{
  float **inputs = sample_inputs (s);

  for (int layout = LOOM_LAYOUT_PLAIN; layout <= (s->nhwc ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN); layout++)
    {
      Result first = sample_run (two, s, inputs, LOOM_F32, (LoomLayout)layout, -1);
      Result alone = sample_run (one, s, inputs, LOOM_F32, (LoomLayout)layout, -1);

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

/* Comparisons with the same truth follow each other, because computing it and drawing inputs take longer than the CPU's
 * kernels. */
static void
check_sample (const Machine *ref, const Machine cpu[BASE + 1], const Machine *one, const Sample *s)
{
  Sample plain = *s, loose, mixed = *s;

  plain.nhwc = FALSE; /* the reference has only one layout */
  loose = plain;
  loose.tolerance = s->tolerance > 0 ? 2e-4 : 0;
  mixed.mixed = TRUE;
  for (Way isa = NATIVE; isa <= BASE; isa++)
    sample_check (reports[isa], ref, &cpu[isa], s, LOOM_F32, isa == NATIVE);
  /* Both halves of the reference's templates are run. */
  sample_check (reports[REF_F32], ref, ref, &loose, LOOM_F32, FALSE);
  check_threads (reports[THREADS], one, &cpu[NATIVE], s);
  /* bf16 runs the same samples; a CPU does not compute in f16. */
  sample_check (reports[SHORT], ref, &cpu[NATIVE], s, LOOM_BF16, FALSE);
  /* Without copies in f32. */
  for (Way isa = NATIVE; isa <= BASE && strstr (s->primitive, "_norm") != NULL; isa++)
    sample_check (reports[MIXED_NORMS], ref, &cpu[isa], &mixed, LOOM_BF16, FALSE);
  sample_check (reports[SHORT], ref, ref, &plain, LOOM_F16, FALSE);
}

static void
check_samples (void)
{
  Machine ref = machine_open (loom_backend_ref (), 1), one = machine_open (loom_backend_cpu (), 1), cpu[BASE + 1];

  for (Way way = 0; way < N_WAYS; way++)
    reports[way] = report_new ();
  for (Way isa = NATIVE; isa <= BASE; isa++)
    {
      g_setenv ("GRADLOOM_CPU_ISA", names[isa], TRUE);
      cpu[isa] = machine_open (loom_backend_cpu (), 2);
    }
  g_unsetenv ("GRADLOOM_CPU_ISA");
  for (guint i = 0; i < samples->len; i++)
    check_sample (&ref, cpu, &one, g_ptr_array_index (samples, i));
  for (Way isa = NATIVE; isa <= BASE; isa++)
    machine_close (&cpu[isa]);
  machine_close (&one);
  machine_close (&ref);
}

static void
test_way (gconstpointer data)
{
  const Way way = (Way)GPOINTER_TO_UINT (data);

  if (reports[way] == NULL)
    check_samples ();
  if (way <= BASE)
    {
      /* The CPU has every primitive that the samples name, in both layouts. */
      g_assert_cmpuint (reports[way]->runs, >, samples->len);
      for (guint i = 0; i < reports[way]->declined->len; i++)
        g_assert_true (g_str_has_suffix (reports[way]->declined->pdata[i], SAMPLE_JOINED));
    }
  g_assert_cmpuint (reports[way]->runs, >, 0);
  report_print (reports[way]);
}

static guint
count_nan (const Result *result, const Sample *s, int output)
{
  guint n = 0;

  for (gint64 i = 0; i < loom_desc_count (&s->out[output]); i++)
    n += isnan (result->out[output][i]);
  return n;
}

/* Attention with a mask, where the last key (part 1) or its value (part 2) is NaN for all heads: the same results are
 * NaN on both back ends. Returns how many of the first output are. */
static guint
check_nan (const Machine machine[2], const Sample *s, int part)
{
  const int at = part + g_str_equal (s->primitive, "attention_grad");
  const LoomTensorDesc *d = &s->in[at];
  const gint64 heads = d->dim[0] * d->dim[1], row = d->dim[3];
  float **inputs = sample_inputs (s);
  Result result[2];

  for (gint64 h = 0; h < heads; h++)
    for (gint64 e = 0; e < row; e++)
      inputs[at][((h + 1) * d->dim[2] - 1) * row + e] = NAN;
  for (int m = 0; m < 2; m++)
    {
      result[m] = sample_run (&machine[m], s, inputs, LOOM_F32, LOOM_LAYOUT_PLAIN, -1);
      g_assert_cmpint (result[m].status, ==, LOOM_STATUS_OK);
    }
  const guint n = count_nan (&result[0], s, 0);
  for (int o = 0; o < s->n_out; o++)
    {
      g_assert_cmpuint (count_nan (&result[0], s, o), ==, count_nan (&result[1], s, o));
      for (gint64 i = 0; i < loom_desc_count (&s->out[o]); i++)
        g_assert_true (isnan (result[0].out[o][i]) == isnan (result[1].out[o][i]));
    }
  for (int m = 0; m < 2; m++)
    result_clear (&result[m]);
  inputs_free (s, inputs);
  return n;
}

static void
test_attention_nan (void)
{
  Machine machine[2] = { machine_open (loom_backend_ref (), 1), machine_open (loom_backend_cpu (), 2) };
  guint n = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      const gboolean is_attention
          = g_str_equal (s->primitive, "attention") || g_str_equal (s->primitive, "attention_grad");

      if (!is_attention || !SAMPLE_ATTRS (s, LoomAttentionAttrs).has_mask || SAMPLE_ATTRS (s, LoomAttentionAttrs).causal
          || SAMPLE_ATTRS (s, LoomAttentionAttrs).in_place)
        continue;
      check_nan (machine, s, 1);
      g_assert_cmpuint (check_nan (machine, s, 2), ==, loom_desc_count (&s->out[0]));
      n++;
    }
  g_assert_cmpuint (n, >, 0);
  for (int m = 0; m < 2; m++)
    machine_close (&machine[m]);
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

/* NaN passes through a convolution with fused relu, and negative results become 0. */
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
      SAMPLE_ATTRS (&s, LoomConv2dAttrs) = (LoomConv2dAttrs){ { 1, 1 }, { 0 }, { 1, 1 }, 1, FALSE, LOOM_SCALAR_RELU };
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

/* An element of Adam's step has the same bits in a whole vector as after the last one. */
static void
test_adam_places (void)
{
  Machine cpu = machine_open (loom_backend_cpu (), 1);
  guint n = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *s = g_ptr_array_index (samples, i);
      const int lists = SAMPLE_ATTRS (s, LoomAdamAttrs).amsgrad ? 5 : 4;
      float **inputs;
      Result result;

      if (!g_str_equal (s->primitive, "adam_step") || SAMPLE_ATTRS (s, LoomAdamAttrs).n != 1)
        continue;
      inputs = sample_inputs (s);
      for (int l = 0; l < lists; l++)
        for (int e = 0; e < 37; e++)
          inputs[l][e] = 0.1F + (float)(l + 1) * (float)(e % 32) / 7;
      result = sample_run (&cpu, s, inputs, LOOM_F32, LOOM_LAYOUT_PLAIN, -1);
      g_assert_cmpint (result.status, ==, LOOM_STATUS_OK);
      for (int o = 0; o < s->n_out; o++)
        for (int e = 32; e < 37; e++)
          g_assert_cmpfloat (result.out[o][e], ==, result.out[o][e - 32]);
      result_clear (&result);
      inputs_free (s, inputs);
      n++;
    }
  g_assert_cmpuint (n, >, 0);
  machine_close (&cpu);
}

TEST_FILE (argc, argv)
{
  int result;

  g_test_init (&argc, &argv, NULL);
  samples = samples_new ();
  for (Way way = 0; way < N_WAYS; way++)
    {
      g_autofree char *path = g_strconcat (way <= BASE ? "/kernels/agree/" : "/kernels/", names[way], NULL);

      g_test_add_data_func (path, GUINT_TO_POINTER ((guint)way), test_way);
    }
  g_test_add_func ("/kernels/refusals", test_refusals);
  g_test_add_func ("/kernels/conv-relu-nan", test_conv_relu_nan);
  g_test_add_func ("/kernels/attention-nan", test_attention_nan);
  g_test_add_func ("/kernels/adam-places", test_adam_places);
  result = g_test_run ();
  for (Way way = 0; way < N_WAYS; way++)
    g_clear_pointer (&reports[way], report_free);
  g_ptr_array_unref (samples);
  return result;
}
