/* One step made ready to run: its program, its executor, and the numbers of its inputs and outputs. */
#pragma once

#include "engine/train/loom-step.h"
#include "engine/train/train-data.h"

G_BEGIN_DECLS

typedef struct
{
  guint input, port;
  LoomTensor *wide; /* f64 copy of an f32 batch, for a plan that computes in f64; else NULL */
} StepInput;

typedef struct
{
  LoomStep *step;
  LoomExec *exec;
  gboolean averaged; /* an evaluation of the weights' moving averages */
  guint loss, finite, grad_norm;
  gboolean reports_own;         /* computes the loss of this rank's samples, too */
  int own_loss;                 /* its output; -1: the rank has no samples of its own */
  guint *term_sum, *term_count; /* outputs, for each term of the step's loss */
  guint *metric;
  guint n_inputs;
  StepInput *input;
} StepPlan;

/* Finds the port of the data set that serves each input of a program; PORT if there is none for one of them.
 * (transfer full) */
StepInput *step_inputs_new (const TrainData *data, LoomProgram *program, guint *n, GError **error);
/* A batch's tensor as the input takes it. */
const void *step_input_data (const StepInput *input, const LoomTensor *tensor);

/* Takes step, also on failure. group NULL: the step is not divided. Errors: those of planning and of step_divide(). */
StepPlan *step_plan_new (LoomStep *step, const TrainModel *model, const TrainData *data, const RankGroup *group,
                         gboolean training, gboolean averaged, GError **error);
void step_plan_free (StepPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StepPlan, step_plan_free)
void step_plan_feed (StepPlan *plan, const LoomBatch *batch);
/* The executor of a program over the run's state. group NULL: it exchanges nothing. */
LoomExec *step_plan_exec (LoomProgram *program, const TrainModel *model, const RankGroup *group, GError **error);

G_END_DECLS
