/* What a run trains, and the device that computes it. The trainer owns all of it, its parts read it. */
#pragma once

#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"

G_BEGIN_DECLS

typedef struct
{
  LoomGraph *graph; /* frozen, with the options written into it */
  LoomNet *net;     /* symbolic */
  LoomTrainSpec *spec;
  LoomDevices *devices;
  LoomState *state;
  char *device;
  int threads;
  char *data_folder; /* against which paths of data are resolved; may be NULL */
} TrainModel;

void train_model_clear (TrainModel *model);
/* TRUE if there are moving averages of weights: there are after the first step. */
gboolean train_model_has_averages (const TrainModel *model);
/* The program then reads the averages instead of the weights. */
void train_model_use_averages (const TrainModel *model, LoomProgram *program);
/* How the graph is lowered for observers: in evaluation mode, with the run's arithmetic, the n `wanted` ports alone. */
LoomLowerOptions train_model_lower_options (const TrainModel *model, guint n, const LoomNetSource *wanted);

G_END_DECLS
