/* The samples of a run: its data set, the order of training batches, and how many steps they make. */
#pragma once

#include "engine/data/loom-loader.h"
#include "engine/train/epoch-division.h"
#include "engine/train/rank-group.h"

typedef struct
{
  LoomDataset *dataset;
  char *port_name[LOOM_DATASET_MAX_PORTS]; /* "data.x": the name of the program's input */
  LoomLoader *loader;                      /* of the training split */
  gint64 steps_per_epoch, total_steps; /* of the current epoch; of the run, if the batch size does not change again */
  gint64 max_steps;                    /* the run ends after this step, if there are more; 0: no limit */
  int loader_threads;                  /* that prepare batches ahead, or LOOM_LOADER_AUTO */
  gint64 n_samples;                    /* of an epoch, including those that are left out */
  gint64 left_out;  /* samples at the end of each epoch that drop_last drops with <train>'s batch size */
  int refuses_lone; /* 1: a norm cannot be trained with a batch of one sample; -1: not known yet */
} TrainData;

/* Opens the data set of <train>, keeps `samples` of it (0: all), and makes the loader of the training split. The spec's
 * batch size is that of all ranks. Errors: DATA, SHAPE and USAGE if the graph cannot be trained with the data. */
gboolean train_data_open (TrainData *data, const TrainModel *model, const RankGroup *group, gint64 samples,
                          TrainNotes *notes, GError **error);
void train_data_clear (TrainData *data);
/* The batches of a split: this rank's shard of each. */
LoomLoader *train_data_loader_new (const TrainData *data, const TrainModel *model, const RankGroup *group,
                                   LoomSplit split, gboolean shuffle, GError **error);
/* The batches of training that another of these ranks reads, in the same order; has no threads. rank: of
 * rank_group_shard(). division: of this epoch. */
LoomLoader *train_data_loader_of_rank (const TrainData *data, const TrainModel *model, const RankGroup *group, int rank,
                                       const EpochDivision *division, gint64 epoch, GError **error);
/* The step after which the run ends, if it is not ended before. */
gint64 train_data_last_step (const TrainData *data);
/* The number of samples in a step of an epoch, over all its batches. batch: the number of the step in the epoch. */
double
train_data_step_samples (const TrainData *data, const LoomTrainSpec *spec, const EpochDivision *division, gint64 batch);
/* The steps of an epoch that is divided like this. */
gint64 train_data_count_steps (TrainData *data, const TrainModel *model, const EpochDivision *division);
/* Returns FALSE with SHAPE if the rest of this epoch, or of another one, would be a single sample that drop_last keeps
 * and a norm cannot be trained with. */
gboolean
train_data_check_division (TrainData *data, const TrainModel *model, const EpochDivision *division, GError **error);
/* Sets the loader's batch size, steps_per_epoch and total_steps for an epoch. OUT_OF_MEMORY. */
gboolean train_data_divide (TrainData *data, const TrainModel *model, const EpochDivision *division, gint64 epoch,
                            GError **error);
/* The split that evaluation uses: val, else test; LOOM_N_SPLITS if the data have neither. */
LoomSplit train_data_validation (const TrainData *data);
/* The first n samples for observers, in file order: those of evaluation, else of training. An array of LoomTensor, one
 * per port. */
GPtrArray *train_data_sample (const TrainData *data, gint64 n, GError **error);
/* The same number of samples, spread evenly over those of the split, whose order may be one by class or by place. */
GPtrArray *train_data_spread (const TrainData *data, gint64 n, GError **error);
/* Converts samples, LoomTensor, to the precision of the run. */
gboolean train_data_convert (GPtrArray *samples, const LoomTrainSpec *spec, GError **error);
/* The words of a sample in such an array, at a port of the data set with integers [B, T]: UTF-8, u8, each ending with a
 * 0; numbers if the data set has no names, empty for a target that is ignored. port: "data.x" for the first sample,
 * "data.x#3" for the one after three others, "data.x#*" for all names. PORT for other ports. */
#define TRAIN_DATA_SAMPLE_SIGN '#'
LoomTensor *train_data_words (const TrainData *data, const TrainModel *model, const GPtrArray *sample, const char *port,
                              GError **error);

/* The number of samples in a rank's first step, before it is planned. */
gint64 train_data_first_batch (const TrainData *data, const TrainModel *model, const RankGroup *group);
