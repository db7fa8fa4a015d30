/* The sampling weight of each sample, its own or that of its class: <train sample_weights>. */
#pragma once

#include "engine/data/loom-dataset.h"

#define LOOM_SAMPLE_WEIGHTS_BALANCED "balanced"
#define LOOM_SAMPLE_WEIGHTS_OWN      LOOM_WEIGHT_PORT

/* Checks the attribute's text: "balanced", "weight", or numbers with commas, at least 0 and not all 0. */
gboolean loom_sample_weights_are_valid (const char *text);

/* A weight for each training sample, for loom_loader_set_weights(): its own, that of its class, or 1 / the frequency of
 * its class. text must be valid. Reads all training samples. DATA if samples have no weight (port "weight", f32 [B]) or
 * no class (port y, i64 [B]), if there are more or fewer classes than numbers, or if all samples have weight 0.
 * (transfer full) */
double *loom_sample_weights (const LoomDataset *dataset, const char *text, GError **error);
