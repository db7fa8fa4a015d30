/* A step that is ready to run: its program, its executor, and the numbers of its inputs and outputs. */
#pragma once

#include "engine/train/loom-step.h"
#include "engine/train/train-data.h"

typedef struct
{
  guint input, port;
  LoomTensor *wide; /* f64 copy of an f32 batch, for a plan in f64; else NULL */
} StepInput;

typedef struct
{
  LoomStep *step;
  LoomExec *exec;
  gboolean averaged; /* for evaluation with the weights' moving averages */
  guint loss, finite, grad_norm;
  gboolean reports_own;         /* also computes the loss of this rank's samples */
  int own_loss;                 /* the output of this loss; -1: none */
  guint *term_sum, *term_count; /* outputs, for each term of the step's loss */
  guint *metric;
  guint n_inputs;
  StepInput *input;
} StepPlan;

/* Finds the port of the data set for each input of a program; PORT if there is none. (transfer full) */
StepInput *step_inputs_new (const TrainData *data, LoomProgram *program, guint *n, GError **error);
/* A batch's tensor, converted to the input's type. */
const void *step_input_data (const StepInput *input, const LoomTensor *tensor);

/* Plans step and takes ownership of it, also on failure. group NULL: not partitioned. Errors: those of planning and of
 * step_divide(). */
StepPlan *step_plan_new (LoomStep *step, const TrainModel *model, const TrainData *data, const RankGroup *group,
                         gboolean training, gboolean averaged, GError **error);
void step_plan_free (StepPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StepPlan, step_plan_free)
void step_plan_feed (StepPlan *plan, const LoomBatch *batch);
/* Makes the executor of a program over the run's state. group NULL: without communication. */
LoomExec *step_plan_exec (LoomProgram *program, const TrainModel *model, const RankGroup *group, GError **error);
