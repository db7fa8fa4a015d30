/* Mixup: each training sample is a blend of two samples, and so is its target. */
#pragma once

#include "engine/data/loom-dataset-private.h"

#define LOOM_MIXUP_PORT "y_mix" /* f32 [B, classes]: the weight of each class in a sample */

/* Adds the port if the option mixup requests it. SCHEMA: samples have no classes, or their number is unknown until the
 * data are read. */
gboolean loom_mixup_describe (double alpha, const char *name, LoomDatasetInfo *info, GError **error);

/* Reads samples before blending. */
typedef gboolean (*LoomMixupRead) (gconstpointer data, const gint64 *indices, guint n, LoomTensor *const out[],
                                   GError **error);

/* Fills the port for n samples that are read already. If epoch is not NULL, blends each with another one of n_samples,
 * by random numbers that depend only on seed, epoch and sample. */
gboolean loom_mixup_apply (const LoomDataset *dataset, guint64 seed, const guint64 *epoch, const gint64 *indices,
                           guint n, LoomMixupRead read, gconstpointer data, LoomTensor *const out[], GError **error);
