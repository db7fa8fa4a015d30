/* The samples of a run: its data set, the order of training batches, and how many steps they make. */
#pragma once

#include "engine/data/loom-loader.h"
#include "engine/train/rank-group.h"

G_BEGIN_DECLS

typedef struct
{
  LoomDataset *dataset;
  char *port_name[LOOM_DATASET_MAX_PORTS]; /* "data.x": the name of the program's input */
  LoomLoader *loader;                      /* of the training split */
  gint64 steps_per_epoch, total_steps;
  gint64 max_steps; /* the run ends after this step, if total_steps are more; 0: no such end */
  gint64 left_out;  /* samples of each epoch's end: drop_last */
} TrainData;

/* Opens the data set of <train>, keeps `samples` of it (0: all), and makes the loader of the training split. The spec's
 * batch size is that of all ranks. Errors: DATA, SHAPE and USAGE for data that the graph cannot be trained with. */
gboolean train_data_open (TrainData *data, const TrainModel *model, const RankGroup *group, gint64 samples,
                          TrainNotes *notes, GError **error);
void train_data_clear (TrainData *data);
/* Batches of a split: this rank's shard of each. */
LoomLoader *train_data_loader_new (const TrainData *data, const TrainModel *model, const RankGroup *group,
                                   LoomSplit split, gboolean shuffle, GError **error);
/* The step that the run ends after, if nothing ends it before. */
gint64 train_data_last_step (const TrainData *data);
/* The samples of a step of an epoch, all its batches together. batch: the number of the step in the epoch. */
double train_data_step_samples (const TrainData *data, const LoomTrainSpec *spec, gint64 batch);
/* The split that evaluation uses: val, else test; LOOM_N_SPLITS if the data have neither. */
LoomSplit train_data_validation (const TrainData *data);
/* The first n samples that observers see, in file order: those of evaluation, else of training. An array of LoomTensor,
 * one a port. */
GPtrArray *train_data_sample (const TrainData *data, gint64 n, GError **error);
/* The words of the first of those samples, at a port of the data set with integers [B, T]: UTF-8, u8, each ended by a
 * 0; numbers if the data set has no names, nothing for a target that does not count. PORT for other ports. */
LoomTensor *train_data_words (const TrainData *data, const TrainModel *model, const char *port, GError **error);

G_END_DECLS
