/* The scalar slots that a schedule sets before each step: learning rates, momentum and scheduled values of operators. A
 * slot is written only if its value changes. */
#pragma once

#include "engine/train/progress.h"

/* The learning rate of a group that sets its own. */
typedef struct
{
  char *slot_name;
  int slot;
  double now; /* the slot's value; NaN: unknown */
} GroupRate;

typedef struct
{
  const TrainModel *model;
  gint64 steps_per_epoch; /* with <train>'s batch size */
  double lr;              /* the current one; NaN: unknown */
  int lr_slot;            /* -1: the optimiser has none */
  guint n_groups;
  GroupRate *group;  /* in the order of TrainProgress.group_lr */
  int momentum_slot; /* which a schedule cycles; -1: none */
  double momentum;
} LearningRates;

/* Finds the slots, and sets the progress's epochs, base_lr and group_lr to those of <train>. */
void
learning_rates_init (LearningRates *self, const TrainModel *model, gint64 steps_per_epoch, TrainProgress *progress);
void learning_rates_clear (LearningRates *self);
/* The learning rate of <train>, from which schedules start. */
double learning_rates_of_spec (const LoomTrainSpec *spec);
/* Sets the slots for the step after `step` steps of the run. */
void learning_rates_set (LearningRates *self, const TrainProgress *progress, gint64 step_of_run);
/* FALSE with the sentence if a formula makes a learning rate of that step unusable. All ranks find the same. */
gboolean
learning_rates_check (const LearningRates *self, const TrainProgress *progress, gint64 step_of_run, GError **error);
/* Call after the whole progress has changed. */
void learning_rates_forget (LearningRates *self);
/* The name of the number of epochs, over which a schedule extends, among changes. */
#define LEARNING_RATES_EPOCHS "epochs"
/* Changes the learning rate `name` ("lr", or that of a group), or the epochs. FALSE if there is none. */
gboolean learning_rates_change (LearningRates *self, TrainProgress *progress, const char *name, double value);
/* TRUE if a schedule sets the slot `name` before each step. */
gboolean learning_rates_schedules (const LearningRates *self, const char *name);
