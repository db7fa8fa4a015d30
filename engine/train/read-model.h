/* Fills the model of a run: graph with its options, net, <train> and devices. */
#pragma once

#include "engine/infer/loom-run-files.h"
#include "engine/train/loom-train-options.h"
#include "engine/train/train-model.h"
#include "engine/train/train-notes.h"

/* Reads the graph and the settings of a run that is resumed or branched; otherwise both stay empty. Errors: those of
 * loom_run_read(); USAGE for a branch of several ranks, and for options that contradict each other. */
gboolean
read_model_options (const LoomTrainerOptions *options, LoomGraph **graph, LoomRunSettings *settings, GError **error);
/* Sets graph, net, spec and data_folder. Warnings become notes. Errors: all faults of the graph as one; USAGE for an
 * option that a resumed run cannot change; SCHEMA if there is no loss. */
gboolean read_model_graph (TrainModel *model, const LoomGraph *graph, const LoomTrainerOptions *options,
                           TrainNotes *notes, GError **error);
/* Opens model->device with model->threads (0: all, set to their number). Errors: DEVICE, as a fault of the file if
 * <train> names the device. */
gboolean read_model_device (TrainModel *model, const LoomTrainerOptions *options, TrainNotes *notes, GError **error);
