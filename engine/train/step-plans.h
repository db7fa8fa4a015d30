/* The planned steps of a run, by batch size, and the update that ends a step of accumulated batches.
 *
 * A run needs few of them (the full batch and the last short one, for training and for evaluation), so a scan over an
 * array finds one. Nothing is looked up by name once it exists. */
#pragma once

#include "engine/train/memory-budget.h"
#include "engine/train/step-plan.h"

G_BEGIN_DECLS

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  const MemoryBudget *budget;
  TrainNotes *notes;
  void (*made) (gpointer data); /* another plan is live; may be NULL */
  gpointer made_data;

  GPtrArray *training, *evaluation; /* StepPlan; the first of training is that of the full step */
  LoomExec *update;                 /* the other half of a step that accumulates batches; else NULL */
  guint update_norm;
  int weight_slot, first_slot, rng_slot; /* which part of a step a batch is; -1: none */
  int carry_slot;                        /* which batch of an epoch it is, if a state is carried on; -1: none */
  gboolean reports_own;                  /* steps compute the loss of this rank's samples, too */
} StepPlans;

/* The fields before `training` are set. */
void step_plans_init (StepPlans *self);
void step_plans_clear (StepPlans *self);
/* The plan of a step with this batch, made if there is none. A first plan is one of training. */
StepPlan *step_plans_get (StepPlans *self, gint64 batch, gboolean training, GError **error);
/* TRUE if there is one for training already. */
gboolean step_plans_has (const StepPlans *self, gint64 batch);
/* That of the full step. */
StepPlan *step_plans_first (const StepPlans *self);
/* After the first plan: finds the slots, and if batches are accumulated, makes the update. */
gboolean step_plans_make_update (StepPlans *self, GError **error);
/* FALSE with OUT_OF_MEMORY if a plan of a later part of the run will not fit. */
gboolean step_plans_check_memory (const StepPlans *self, GError **error);
/* Which batch of which step of the run and of the epoch comes next, with which share of the step's samples. */
void step_plans_set_part (const StepPlans *self, gint64 step, gint64 batch, gint64 part, double share);
/* TRUE if this state slot tells a program which part of a step a batch is. */
gboolean step_plans_owns_slot (const StepPlans *self, int slot);

G_END_DECLS
