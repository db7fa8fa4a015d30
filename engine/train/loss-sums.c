/* The loss of several batches; see the header. */
#include "engine/train/loss-sums.h"

void
loss_sums_clear (LossSums *loss)
{
  g_clear_pointer (&loss->sum, g_free);
  g_clear_pointer (&loss->count, g_free);
  loss->n = 0;
}

void
loss_sums_add (LossSums *loss, const StepPlan *plan, double weight, gboolean first)
{
  const guint n = MAX (1, plan->step->n_terms);

  if (loss->n != n)
    {
      loss_sums_clear (loss);
      loss->n = n;
      loss->sum = g_new0 (double, n);
      loss->count = g_new0 (double, n);
    }
  for (guint k = 0; k < n; k++)
    {
      const gboolean counted = plan->step->n_terms > 0 && plan->step->is_counted[k];
      const guint sum = plan->step->n_terms > 0 ? plan->term_sum[k] : plan->loss;

      if (first)
        loss->sum[k] = loss->count[k] = 0;
      loss->sum[k] += loom_exec_scalar (plan->exec, sum) * (counted ? 1 : weight);
      loss->count[k] += counted ? loom_exec_scalar (plan->exec, plan->term_count[k]) : 0;
    }
}

double
loss_sums_value (const LossSums *loss, const StepPlan *plan, double all)
{
  double value = 0;

  for (guint k = 0; k < loss->n; k++)
    value += loss->sum[k] / (plan->step->n_terms > 0 && plan->step->is_counted[k] ? loss->count[k] : all);
  return value;
}

gboolean
loss_sums_keeps (const StepPlan *plan)
{
  gboolean all = loom_exec_keeps_output (plan->exec, plan->loss);

  for (guint k = 0; k < plan->step->n_terms; k++)
    all = all && loom_exec_keeps_output (plan->exec, plan->term_sum[k])
          && (!plan->step->is_counted[k] || loom_exec_keeps_output (plan->exec, plan->term_count[k]));
  return all;
}
