/* The run that is repeated by `gradloom train --replay`, on this machine or on a host. */
#pragma once

#include "engine/loom-run.h"

typedef struct
{
  LoomGraph *graph;
  LoomRunSettings settings;
} TrainReplay;

/* Reads graph and settings of the run in a folder, and sets the options that repeat it: its changed numbers and costs,
 * and, as far as they are not set, device, threads, and the step of its newest checkpoint as the last. The options hold
 * strings of *self. The caller starts as many ranks as the run had. Errors: those of loom_run_read(). */
gboolean train_replay_read (TrainReplay *self, const char *run, LoomTrainerOptions *options, GError **error);
void train_replay_clear (TrainReplay *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TrainReplay, train_replay_clear)
