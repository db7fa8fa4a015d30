/* Initial weights from a file: the weights of the graph with the same name and shape, and a list of all others. */
#pragma once

#include "engine/train/loom-train-events.h"
#include "engine/train/train-model.h"
#include "engine/train/train-notes.h"

/* Loads the weights of <train>'s file and adapter into the state, and appends nodes (guint) to `begins`, whose
 * magnitudes of DoRA follow from these weights. *transfer (transfer full, may be set with an error) stays NULL if
 * <train> names no file. DATA if the file cannot be read, or has no weight of the graph. */
gboolean initial_weights_load (const TrainModel *model, TrainNotes *notes, LoomTransfer **transfer, GArray *begins,
                               GError **error);
/* Computes the magnitudes of these nodes, and empties the array. Ranks with shards of the state exchange them, so all
 * call this, after they have agreed that all could load their files. */
gboolean initial_weights_begin (const TrainModel *model, GArray *begins, GError **error);
void initial_weights_free (LoomTransfer *transfer);
