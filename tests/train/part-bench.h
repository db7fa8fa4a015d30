/* Parts of a run, constructed without the trainer: what a step needs, and a loop that takes steps and counts them. */
#pragma once

#include "engine/train/epoch-end.h"
#include "engine/train/server-rounds.h"
#include "engine/train/training-loop.h"
#include "tests/train/train-test.h"

#define PART_BENCH_STEPS 12 /* two epochs of 96 samples in batches of 16 */

#define NET(TRAIN)                                                                                                     \
  TRAIN_TEST_SPIRALS ("n=\"96\" n_test=\"8\"", "4")                                                                    \
  "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.02\" batch_size=\"16\" epochs=\"2\" seed=\"5\" "                     \
  "device=\"cpu\" " TRAIN                                                                                              \
  "><schedule type=\"cosine\"/><metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>"

/* A model, its data and its plans. */
typedef struct
{
  TrainModel model;
  RankGroup group;
  TrainData data;
  TrainNotes notes;
  MemoryBudget budget;
  StepPlans plans;
  int ranks; /* that divide a batch */
  TrainProgress progress;
  LearningRates rates;
  RankServer *server; /* NULL: none */
} Base;

void base_init (Base *b, const char *xml);
void base_clear (Base *b);

/* A loop, with what it writes to. Evaluations report nothing, and no command ends them. */
typedef struct
{
  Base base;
  BatchQueue batches;
  RunFolder folder;
  Checkpoints checkpoints;
  DeviceMemory memory;
  StepLog log;
  StepFailure failure;
  StepTrace trace;
  RankReports reports;
  StepTimings timings;
  TrainingLoop loop;
  Evaluation evaluation;
  EpochEnd end;
  double loss[PART_BENCH_STEPS]; /* reported */
  int n;
} Bench;

/* comm: of this rank; NULL: a single one. */
void bench_init (Bench *b, const char *xml, LoomComm *comm);
void bench_clear (Bench *b);
/* Creates the run's folder in a new one, and returns that. (transfer full) */
char *bench_create_folder (Bench *b);
/* Begins an epoch and takes n steps. */
void bench_steps (Bench *b, int n);
