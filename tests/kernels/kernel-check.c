/* Compares a back end with the reference in f64 and records every difference, so that one run reports all of them. */
#include "kernels/norm.h"
#include "tests/kernels/kernel-harness.h"

#include <float.h>
#include <math.h>
#include <string.h>

Report *
report_new (void)
{
  Report *report = g_new0 (Report, 1);

  report->failures = g_ptr_array_new_with_free_func (g_free);
  report->declined = g_ptr_array_new_with_free_func (g_free);
  return report;
}

void
report_free (Report *report)
{
  g_ptr_array_unref (report->failures);
  g_ptr_array_unref (report->declined);
  g_free (report);
}

static void G_GNUC_PRINTF (2, 3) fail (Report *report, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_ptr_array_add (report->failures, g_strdup_vprintf (format, args));
  va_end (args);
}

/* Rounding error of storing in a type, by the value's size, and the largest value that it holds. */
static const struct
{
  double loss, largest;
} types[LOOM_N_DTYPES] = {
  [LOOM_F64] = { 0, DBL_MAX },
  [LOOM_F32] = { 0, 3.4e38 },
  [LOOM_F16] = { 0x1p-10, 65504 },
  [LOOM_BF16] = { 0x1p-8, 3.38e38 },
};

/* A value near the type's largest may have become an infinity, and one beyond it has. */
static gboolean
agrees (double a, double b, double tolerance, double largest)
{
  if (isnan (b))
    return isnan (a);
  if (isinf (a) && !signbit (a) == !signbit (b) && fabs (b) > largest * 0.97)
    return TRUE;
  if (isinf (b) || fabs (b) > largest)
    return fabs (a) > largest * 0.97 && !signbit (a) == !signbit (b);
  return fabs (a - b) <= tolerance * (1 + fabs (b));
}

/* The number of times that a result is rounded to its type: a library may round a product before its epilogue reads it,
 * as cuBLASLt does on an H100, and a convolution before its bias is added, as cuDNN does. A batch norm rounds before it
 * adds a residual, and both may be large although the sum is small. Kernels of attention round gradients of logits
 * before they are summed over all keys or queries, and weights as well: those that dropout keeps are larger than the
 * divisor of their sum. */
static int
roundings (const Sample *s)
{
  const LoomMatmulAttrs *a = &SAMPLE_ATTRS (s, LoomMatmulAttrs);

  if (g_str_has_prefix (s->primitive, "batch_norm"))
    return loom_norm_has_residual (s->primitive, SAMPLE_ATTRS (s, LoomNormAttrs).affine, s->n_in, s->n_out) ? 3 : 1;
  if (g_str_equal (s->primitive, "conv2d"))
    return SAMPLE_ATTRS (s, LoomConv2dAttrs).has_bias ? 2 : 1;
  if (g_str_equal (s->primitive, "attention_grad"))
    return 8;
  if (g_str_equal (s->primitive, "attention") && SAMPLE_ATTRS (s, LoomAttentionAttrs).dropout > 0)
    return 3;
  return g_str_equal (s->primitive, "matmul")
                 && (a->has_bias || a->act != LOOM_SCALAR_ID || a->derivative != LOOM_SCALAR_ID)
             ? 2
             : 1;
}

void
report_compare (Report *report, const Sample *s, const Result *got, const Result *want, LoomDType real, const char *how)
{
  for (int o = 0; o < s->n_out; o++)
    {
      /* cuDNN makes a weight gradient in its operands' type, from which it is widened. */
      gboolean wide = sample_is_wide (s, s->n_in + o) && !g_str_equal (s->primitive, "conv2d_weight_grad");
      gboolean rounded = s->out[o].dtype == LOOM_F32 && !wide;
      double tolerance = s->tolerance + (rounded ? roundings (s) * types[real].loss : 0);
      double largest = rounded ? types[real].largest : G_MAXDOUBLE;
      gint64 wrong = 0, first = 0, n = loom_desc_count (&s->out[o]);

      for (gint64 i = n - 1; i >= 0; i--)
        if (!agrees (got->out[o][i], want->out[o][i], tolerance, largest))
          {
            wrong++;
            first = i;
          }
      if (wrong > 0)
        fail (report,
              "%s (%s, %s): %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
              " elements of output %d; the first, %" G_GINT64_FORMAT ", is %.9g, not %.9g",
              s->name, got->kernel, how, wrong, n, o, first, got->out[o][first], want->out[o][first]);
    }
}

void
report_same_bits (Report *report, const Sample *s, const Result *a, const Result *b, const char *how)
{
  for (int o = 0; o < s->n_out; o++)
    if (memcmp (a->out[o], b->out[o], (size_t)loom_desc_count (&s->out[o]) * sizeof (double)) != 0)
      fail (report, "%s (%s): output %d has other bits %s", s->name, a->kernel, o, how);
}

static gboolean
is_optimiser (const Sample *s)
{
  return g_str_has_suffix (s->primitive, "_step");
}

/* The same bits when it is run again, and at the address of each operand that the kernel offers. */
static void
check_again (Report *report, const Machine *machine, const Sample *s, float **inputs, LoomDType real, LoomLayout layout,
             const Result *first)
{
  for (int k = -1; k < s->n_in && k < 32; k++)
    if (k < 0 || (!is_optimiser (s) && (first->inplace[0] >> k & 1)))
      {
        Result again = sample_run (machine, s, inputs, real, layout, k);

        report->runs++;
        if (again.status != LOOM_STATUS_OK)
          fail (report, "%s (%s): status %d %s: %s", s->name, first->kernel, again.status,
                k < 0 ? "the second time" : "in place", again.message.text);
        else
          report_same_bits (report, s, first, &again, k < 0 ? "the second time" : "in place");
        result_clear (&again);
      }
}

/* The inputs of a sample, rounded to a type, and the result of the reference in f64. */
typedef struct
{
  Sample sample;
  LoomDType real;
  float **inputs;
  Result want;
} Truth;

static const Truth *
truth_of (const Machine *ref, const Sample *s, LoomDType real)
{
  static Truth truth;

  if (truth.inputs != NULL && truth.real == real && sample_is_same (&truth.sample, s))
    return &truth;
  if (truth.inputs != NULL)
    {
      inputs_free (&truth.sample, truth.inputs);
      result_clear (&truth.want);
    }
  truth.sample = *s;
  truth.real = real;
  truth.inputs = sample_inputs (s);
  inputs_round (s, truth.inputs, real);
  truth.want = sample_run (ref, s, truth.inputs, LOOM_F64, LOOM_LAYOUT_PLAIN, -1);
  return &truth;
}

void
sample_check (Report *report, const Machine *ref, const Machine *machine, const Sample *s, LoomDType real,
              gboolean thorough)
{
  const Truth *truth = truth_of (ref, s, real);
  float **inputs = truth->inputs;
  const Result *want = &truth->want;

  if (want->status != LOOM_STATUS_OK)
    fail (report, "%s: the reference has status %d: %s", s->name, want->status, want->message.text);
  for (int layout = LOOM_LAYOUT_PLAIN;
       layout <= (s->nhwc ? LOOM_LAYOUT_NHWC : LOOM_LAYOUT_PLAIN) && want->status == LOOM_STATUS_OK; layout++)
    {
      Result got = sample_run (machine, s, inputs, real, (LoomLayout)layout, -1);
      g_autofree char *how
          = g_strdup_printf ("%s %s", loom_dtype_name (real), layout == LOOM_LAYOUT_NHWC ? "nhwc" : "plain");

      report->runs++;
      if (got.status == LOOM_STATUS_UNSUPPORTED && (layout == LOOM_LAYOUT_NHWC || s->joined))
        g_ptr_array_add (report->declined, g_strdup_printf ("%s (%s)%s", s->name, how, s->joined ? SAMPLE_JOINED : ""));
      else if (got.status != LOOM_STATUS_OK)
        fail (report, "%s (%s): status %d: %s", s->name, how, got.status, got.message.text);
      else
        {
          report_compare (report, s, &got, want, real, how);
          if (thorough)
            check_again (report, machine, s, inputs, real, (LoomLayout)layout, &got);
        }
      result_clear (&got);
    }
}

/* Data that has no result: the last element of an operand, or half of them, become a number that is no index, or all of
 * it becomes 0. */
static const struct
{
  const char *primitive;
  int operand;
  gboolean all;
  LoomStatus status;
} refusals[] = {
  { "gather_rows", 1, FALSE, LOOM_STATUS_INDEX },   { "scatter_add_rows", 0, FALSE, LOOM_STATUS_INDEX },
  { "gather", 1, FALSE, LOOM_STATUS_INDEX },        { "scatter", 1, FALSE, LOOM_STATUS_INDEX },
  { "cross_entropy", 1, FALSE, LOOM_STATUS_INDEX }, { "cross_entropy_grad", 1, FALSE, LOOM_STATUS_INDEX },
  { "solve", 0, TRUE, LOOM_STATUS_NO_RESULT },      { "cholesky", 0, TRUE, LOOM_STATUS_NO_RESULT },
  { "require", 1, TRUE, LOOM_STATUS_NO_RESULT },    { "attention_cached", 5, FALSE, LOOM_STATUS_INDEX },
};

static void
check_refusal (Report *report, const Machine *machine, const Sample *s, LoomDType real, gsize refusal, float bad)
{
  const int operand = refusals[refusal].operand;
  const gboolean all = refusals[refusal].all;
  float **inputs = sample_inputs (s);
  gint64 n = loom_desc_count (&s->in[operand]);
  Result result;

  /* One index below 0, the last, and as many that are too large as are good. */
  for (gint64 i = all ? 0 : bad < 0 ? n - 1 : n / 2; i < n; i++)
    inputs[operand][i] = bad;
  result = sample_run (machine, s, inputs, real, LOOM_LAYOUT_PLAIN, -1);
  report->runs++;
  /* A call that only planners make, and this back end does not have, has refused for another reason. */
  if ((result.status != refusals[refusal].status || result.message.text[0] == '\0')
      && !(s->joined && result.status == LOOM_STATUS_UNSUPPORTED))
    fail (report, "%s (%s): status %d and the sentence “%s” for data that has no result", s->name,
          loom_dtype_name (real), result.status, result.message.text);
  result_clear (&result);
  inputs_free (s, inputs);
}

void
sample_check_refusals (Report *report, const Machine *machine, const Sample *s, LoomDType real)
{
  for (gsize r = 0; r < G_N_ELEMENTS (refusals); r++)
    {
      if (!g_str_equal (s->primitive, refusals[r].primitive) || loom_desc_count (&s->in[refusals[r].operand]) == 0)
        continue;
      check_refusal (report, machine, s, real, r, refusals[r].all ? 0 : -1);
      if (!refusals[r].all)
        check_refusal (report, machine, s, real, r, 100000);
    }
}

void
report_print (const Report *report)
{
  for (guint i = 0; i < report->failures->len; i++)
    g_test_message ("%s", (const char *)g_ptr_array_index (report->failures, i));
  g_test_message ("%u runs, %u failures, %u layouts not taken", report->runs, report->failures->len,
                  report->declined->len);
  if (report->failures->len > 0)
    g_test_fail ();
}
