/* The graph, data and device of a run. The trainer owns it; the parts of the trainer read it. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"

typedef struct
{
  LoomGraph *graph; /* frozen, with the options written into it */
  LoomNet *net;     /* symbolic */
  LoomTrainSpec *spec;
  LoomDevices *devices;
  LoomState *state;
  char *device;
  int threads;
  gboolean eager;    /* loom_exec_walk() */
  char *data_folder; /* the folder for relative paths of data; may be NULL */
} TrainModel;

void train_model_clear (TrainModel *model);
/* *has: there are moving averages of weights, which is the case after the first step. DEVICE or OUT_OF_MEMORY if the
 * step cannot be read. */
gboolean train_model_has_averages (const TrainModel *model, gboolean *has, GError **error);
/* Makes the program read the averages instead of the weights. */
void train_model_use_averages (const TrainModel *model, LoomProgram *program);
/* Options to lower the graph for observers: in evaluation mode, with the run's arithmetic, only the n `wanted` ports.
 */
LoomLowerOptions train_model_lower_options (const TrainModel *model, guint n, const LoomNetSource *wanted);
