/* The planned steps of a run, by batch size, and the update that ends a step of accumulated batches.
 *
 * A run needs few plans (the full batch and the incomplete last one, for training and for evaluation), so a linear
 * search finds one. No names are looked up after planning. */
#pragma once

#include "engine/train/memory-budget.h"
#include "engine/train/step-plan.h"

typedef struct
{
  const TrainModel *model;
  const TrainData *data;
  const RankGroup *group;
  const MemoryBudget *budget;
  TrainNotes *notes;
  void (*made) (gpointer data); /* called after planning; may be NULL */
  gpointer made_data;

  GPtrArray *training, *evaluation; /* StepPlan; the first of training is that of the full step */
  LoomExec *update;                 /* the update, if batches are accumulated; else NULL */
  guint update_norm;
  int weight_slot, first_slot, rng_slot; /* numbers of the batch within a step; -1: none */
  int carry_slot;                        /* number of the batch within an epoch, if a state is carried; -1: none */
  gboolean reports_own;                  /* steps also compute the loss of this rank's samples */
} StepPlans;

/* The caller sets the fields before `training`. */
void step_plans_init (StepPlans *self);
void step_plans_clear (StepPlans *self);
/* Returns the plan of a step with this batch, made at the first use. The first plan is one of training. */
StepPlan *step_plans_get (StepPlans *self, gint64 batch, gboolean training, GError **error);
/* TRUE if there is one for training already. */
gboolean step_plans_has (const StepPlans *self, gint64 batch);
/* That of the full step. */
StepPlan *step_plans_first (const StepPlans *self);
/* Call after the first plan: finds the slots, and if batches are accumulated, makes the update. */
gboolean step_plans_make_update (StepPlans *self, GError **error);
/* Returns FALSE with OUT_OF_MEMORY if a plan of a later part of the run will not fit. */
gboolean step_plans_check_memory (const StepPlans *self, GError **error);
/* Sets the number of the next batch in the step, the run and the epoch, and its fraction of the step's samples. */
void step_plans_set_part (const StepPlans *self, gint64 step, gint64 batch, gint64 part, double share);
/* TRUE if this slot contains a number of the batch within a step. */
gboolean step_plans_owns_slot (const StepPlans *self, int slot);
