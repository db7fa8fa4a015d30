/* The metrics that a <train> element may name.
 *
 * One table: the check of the command line, the program of a step and Studio's curves read it, so a new metric is one
 * entry with its three functions. */
#include "engine/train/loom-metric.h"

static char *
desc_to_string (const LoomTensorDesc *d)
{
  LoomShape s = loom_shape (d->rank, (const gint64 *)d->dim);
  return loom_shape_to_string (&s);
}

/* input is (N, C, d…), target (N, d…) of class numbers. */
static gboolean
check_accuracy (const LoomTensorDesc *input, const LoomTensorDesc *target, char **why)
{
  gboolean fits = input->rank >= 2 && target->rank == input->rank - 1 && !loom_dtype_is_float (target->dtype)
                  && target->dim[0] == input->dim[0];
  for (int i = 1; fits && i < target->rank; i++)
    fits = target->dim[i] == input->dim[i + 1];
  if (!fits)
    {
      g_autofree char *a = desc_to_string (input), *b = desc_to_string (target);
      *why = g_strdup_printf ("accuracy compares scores of shape N × C × … with class numbers of shape N × …, but the "
                              "input is %s and the target is %s %s",
                              a, loom_dtype_name (target->dtype), b);
    }
  return fits;
}

static LoomValue
emit_accuracy (LoomProgram *p, LoomValue input, LoomValue target)
{
  LoomTensorDesc t = loom_value_info (p, target)->desc;
  LoomArgReduceAttrs attrs = { .largest = true, .axis = 1 };
  LoomValue best = loom_emit (p, loom_prim ("argreduce"), &attrs, 1, &input, NULL);
  best = loom_reshape (p, best, t.rank, (const gint64 *)t.dim);
  LoomValue hit = loom_binary (p, LOOM_SCALAR_EQ, best, loom_cast (p, target, LOOM_I64));
  return loom_sum_all (p, loom_cast (p, hit, loom_program_get_float (p)));
}

static gint64
count_target (const LoomTensorDesc *input, const LoomTensorDesc *target)
{
  return loom_desc_count (target);
}

static gboolean
check_same_shape (const LoomTensorDesc *input, const LoomTensorDesc *target, char **why)
{
  gboolean fits = input->rank == target->rank;
  for (int i = 0; fits && i < input->rank; i++)
    fits = input->dim[i] == target->dim[i];
  if (!fits)
    {
      g_autofree char *a = desc_to_string (input), *b = desc_to_string (target);
      *why = g_strdup_printf ("the input is %s and the target is %s; this metric compares element by element", a, b);
    }
  return fits;
}

static LoomValue
difference (LoomProgram *p, LoomValue input, LoomValue target)
{
  LoomDType f = loom_program_get_float (p);
  return loom_binary (p, LOOM_SCALAR_SUB, loom_cast (p, input, f), loom_cast (p, target, f));
}

static LoomValue
emit_mae (LoomProgram *p, LoomValue input, LoomValue target)
{
  return loom_sum_all (p, loom_unary (p, LOOM_SCALAR_ABS, difference (p, input, target)));
}

static LoomValue
emit_mse (LoomProgram *p, LoomValue input, LoomValue target)
{
  LoomValue d = difference (p, input, target);
  return loom_sum_all (p, loom_binary (p, LOOM_SCALAR_MUL, d, d));
}

static const LoomMetric accuracy = {
  .name = "accuracy",
  .doc = "Share of samples whose largest score is the right class's.",
  .rising = TRUE,
  .check = check_accuracy,
  .emit = emit_accuracy,
  .count = count_target,
};

static const LoomMetric mae = {
  .name = "mae",
  .doc = "Mean of the absolute differences between input and target.",
  .check = check_same_shape,
  .emit = emit_mae,
  .count = count_target,
};

static const LoomMetric mse = {
  .name = "mse",
  .doc = "Mean of the squared differences between input and target.",
  .check = check_same_shape,
  .emit = emit_mse,
  .count = count_target,
};

static const LoomMetric *const metrics[] = { &accuracy, &mae, &mse, NULL };

const LoomMetric *const *
loom_metrics (void)
{
  return metrics;
}

const LoomMetric *
loom_metric (const char *name)
{
  for (guint i = 0; metrics[i]; i++)
    if (g_str_equal (metrics[i]->name, name))
      return metrics[i];
  return NULL;
}
