/* Augmentation of pictures between a source and a batch: random changes during training, and normalisation. */
#pragma once

#include "engine/data/loom-dataset-private.h"

G_BEGIN_DECLS

/* clang-format off */
/* The options of every source of pictures. */
#define LOOM_AUGMENT_PARAMS                                                                                    \
  { .name = "flip", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 1,                        \
    .doc = "Share of the training pictures that are mirrored, left to right." },                               \
  { .name = "crop", .type = LOOM_DATASET_INT, .def = "0", .minimum = 0, .maximum = 1024,                       \
    .doc = "Pixels by which training pictures are moved at most, as if padded with black and cut at random." },\
  { .name = "rotate", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 180,                    \
    .doc = "Degrees by which training pictures are turned at most." },                                         \
  { .name = "zoom", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 0.9,                      \
    .doc = "Share by which training pictures become larger or smaller at most." },                             \
  { .name = "shear", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 80,                      \
    .doc = "Degrees by which upright lines in training pictures lean at most." },                              \
  { .name = "brightness", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 1,                  \
    .doc = "Share by which training pictures become brighter or darker at most." },                            \
  { .name = "contrast", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 1,                    \
    .doc = "Share by which the contrast of training pictures grows or falls at most." },                       \
  { .name = "saturation", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 1,                  \
    .doc = "Share by which the colours of training pictures become stronger or paler at most." },              \
  { .name = "cutout", .type = LOOM_DATASET_INT, .def = "0", .minimum = 0, .maximum = 1024,                     \
    .doc = "Side of a square in training pictures, at a random place, that becomes 0." },                      \
  { .name = "mixup", .type = LOOM_DATASET_FLOAT, .def = "0", .minimum = 0, .maximum = 1,                       \
    .doc = "Above 0 each training picture is a blend of two, whose shares are drawn from Beta(mixup, mixup); the "\
           "port y_mix has the shares of their classes, as a target for cross_entropy." },                     \
  { .name = "mean", .type = LOOM_DATASET_FLOATS, .def = "",                                                    \
    .doc = "What is subtracted from all pictures, which come as 0 to 1: a number for each channel, or one." }, \
  { .name = "std", .type = LOOM_DATASET_FLOATS, .def = "", .minimum = 1e-6, .maximum = 1e6,                    \
    .doc = "What all pictures are divided by after that, likewise." }
/* clang-format on */

typedef struct _LoomAugment LoomAugment;

/* NULL without an error if no option requests anything. SCHEMA: x is no picture, or mean or std have another number of
 * values than x has channels. */
LoomAugment *loom_augment_new (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
                               const LoomDatasetInfo *info, GError **error);
void loom_augment_free (LoomAugment *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomAugment, loom_augment_free)

/* FALSE if it only normalises. */
gboolean loom_augment_changes (const LoomAugment *self);
/* Changes one picture (C, H, W) of 0 to 1 by random numbers that depend on nothing but seed, epoch and sample, and
 * normalises it. */
void loom_augment_train (const LoomAugment *self, guint64 seed, guint64 epoch, gint64 sample, float *picture);
/* Normalises one picture. */
void loom_augment_normalize (const LoomAugment *self, float *picture);
/* Normalisation as numbers, f32 [C,1,1]: (v - shift) · scale. Where there is no mean or std, its pointer stays as it
 * is.
 */
void loom_augment_preparation (const LoomAugment *self, LoomTensor **shift, LoomTensor **scale);

G_END_DECLS
