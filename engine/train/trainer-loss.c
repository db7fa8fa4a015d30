/* The loss of several batches, of a step or of an evaluation: each term's sum over all of them divided by what it
 * counts in all of them (loom-loss-terms.h). */
#include "engine/train/trainer-private.h"

void
trainer_loss_clear (TrainerLoss *loss)
{
  g_clear_pointer (&loss->sum, g_free);
  g_clear_pointer (&loss->count, g_free);
  loss->n = 0;
}

void
trainer_loss_add (TrainerLoss *loss, const TrainerPlan *plan, double weight, gboolean first)
{
  const guint n = MAX (1, plan->step->n_terms);

  if (loss->n != n)
    {
      trainer_loss_clear (loss);
      loss->n = n;
      loss->sum = g_new0 (double, n);
      loss->count = g_new0 (double, n);
    }
  for (guint t = 0; t < n; t++)
    {
      const gboolean counted = plan->step->n_terms > 0 && plan->step->is_counted[t];
      const guint sum = plan->step->n_terms > 0 ? plan->term_sum[t] : plan->loss;

      if (first)
        loss->sum[t] = loss->count[t] = 0;
      loss->sum[t] += loom_exec_scalar (plan->exec, sum) * (counted ? 1 : weight);
      loss->count[t] += counted ? loom_exec_scalar (plan->exec, plan->term_count[t]) : 0;
    }
}

double
trainer_loss_value (const TrainerLoss *loss, const TrainerPlan *plan, double all)
{
  double value = 0;

  for (guint t = 0; t < loss->n; t++)
    value += loss->sum[t] / (plan->step->n_terms > 0 && plan->step->is_counted[t] ? loss->count[t] : all);
  return value;
}

gboolean
trainer_loss_keeps (const TrainerPlan *plan)
{
  gboolean all = loom_exec_keeps_output (plan->exec, plan->loss);

  for (guint t = 0; t < plan->step->n_terms; t++)
    all = all && loom_exec_keeps_output (plan->exec, plan->term_sum[t])
          && (!plan->step->is_counted[t] || loom_exec_keeps_output (plan->exec, plan->term_count[t]));
  return all;
}
