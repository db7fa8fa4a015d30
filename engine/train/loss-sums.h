/* The loss of several batches of a step or of an evaluation: each term's sum over all of them, divided by its total
 * count (loom-loss-terms.h). */
#pragma once

#include "engine/train/step-plan.h"

typedef struct
{
  guint n;
  double *sum, *count;
} LossSums;

void loss_sums_clear (LossSums *loss);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LossSums, loss_sums_clear)
/* Adds the loss of the plan's newest run. weight: for a mean over samples. `first` clears the former batches. */
void loss_sums_add (LossSums *loss, const StepPlan *plan, double weight, gboolean first);
/* The loss of all batches, whose weights sum to `all`. */
double loss_sums_value (const LossSums *loss, const StepPlan *plan, double all);
/* TRUE if the next run keeps the outputs that loss_sums_add() reads (loom_exec_keeps_output()). */
gboolean loss_sums_keeps (const StepPlan *plan);
