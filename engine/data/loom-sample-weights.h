/* The sampling weight of each sample, its own or that of its class: <train sample_weights>. */
#pragma once

#include "engine/data/loom-dataset.h"

G_BEGIN_DECLS

#define LOOM_SAMPLE_WEIGHTS_BALANCED "balanced"
#define LOOM_SAMPLE_WEIGHTS_OWN      LOOM_WEIGHT_PORT

/* "balanced", "weight", or numbers from 0 with commas, not all of them 0. */
gboolean loom_sample_weights_are_valid (const char *text);

/* A weight for each training sample, for loom_loader_set_weights(): its own, that of its class, or 1 / the frequency of
 * its class. text must be valid. Reads all training samples. DATA where samples have no weight (a port "weight", f32
 * [B]) or no class (a port y, i64 [B]), where there are other classes than numbers, or where no sample has a weight.
 * (transfer full) */
double *loom_sample_weights (const LoomDataset *dataset, const char *text, GError **error);

G_END_DECLS
