/* The progress of a run: the part of state.json that does not identify the run. */
#pragma once

#include "engine/train/epoch-division.h"
#include "engine/train/metric-sums.h"

typedef struct
{
  gint64 step, epoch, batch; /* finished steps; epoch from 0; steps of it that are done */
  EpochDivision division;
  double loss_sum, sample_sum; /* of the epoch so far */
  MetricSums *metrics;         /* likewise */
  LoomTrainerWatch watch;      /* if <train> keeps the best weights */
  gint64 epochs;               /* of the run as its schedule sees it: fewer before it was resumed with more */
  double base_lr;              /* the learning rate that the schedule starts from */
  double *group_lr;            /* the same of each group in LearningRates */
  LoomPlateau plateau;         /* if the schedule watches the loss */
  char *parent;                /* the folder of the run that this one is a branch of; NULL: none */
  gint64 parent_step;          /* after which it left it */
} TrainProgress;

void train_progress_init (TrainProgress *self);
void train_progress_clear (TrainProgress *progress);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TrainProgress, train_progress_clear)
/* Begins an epoch, with empty sums. */
void train_progress_begin_epoch (TrainProgress *progress);
/* Counts an epoch, after its last step. */
void train_progress_end_epoch (TrainProgress *progress);
/* Counts a step, whose loss is a mean over `samples`. */
void train_progress_count (TrainProgress *progress, double loss, double samples);
/* The sample-weighted mean of the epoch so far. */
double train_progress_loss (const TrainProgress *progress);
/* Records an epoch's monitored value in *watch. TRUE if it is the best so far. */
gboolean train_watch_epoch (const LoomTrainSpec *spec, LoomTrainerWatch *watch, gint64 epoch, double value);
