/* Augmentation of pictures between a source and a batch: random changes during training, and normalisation. */
#pragma once

#include "engine/data/loom-dataset-private.h"

/* clang-format off */
/* The options of every source of pictures. */
#define LOOM_AUGMENT_PARAMS                                                                                    \
  { LOOM_OPTION ("flip", FLOAT, "0"), LOOM_RANGE (0, 1),                        \
    .doc = "The fraction of training pictures that are mirrored horizontally." },                              \
  { LOOM_OPTION ("crop", INT, "0"), LOOM_RANGE (0, 1024),                       \
    .doc = "The largest shift of training pictures in pixels: a random crop after padding with black." },      \
  { LOOM_OPTION ("rotate", FLOAT, "0"), LOOM_RANGE (0, 180),                    \
    .doc = "The largest rotation of training pictures in degrees." },                                          \
  { LOOM_OPTION ("zoom", FLOAT, "0"), LOOM_RANGE (0, 0.9),                      \
    .doc = "The largest relative change of the size of training pictures." },                                  \
  { LOOM_OPTION ("shear", FLOAT, "0"), LOOM_RANGE (0, 80),                      \
    .doc = "The largest angle of shear of training pictures in degrees." },                                    \
  { LOOM_OPTION ("brightness", FLOAT, "0"), LOOM_RANGE (0, 1),                  \
    .doc = "The largest relative change of the brightness of training pictures." },                            \
  { LOOM_OPTION ("contrast", FLOAT, "0"), LOOM_RANGE (0, 1),                    \
    .doc = "The largest relative change of the contrast of training pictures." },                              \
  { LOOM_OPTION ("saturation", FLOAT, "0"), LOOM_RANGE (0, 1),                  \
    .doc = "The largest relative change of the saturation of training pictures." },                            \
  { LOOM_OPTION ("cutout", INT, "0"), LOOM_RANGE (0, 1024),                     \
    .doc = "The side of a square, at a random position in training pictures, that is set to 0." },             \
  { LOOM_OPTION ("mixup", FLOAT, "0"), LOOM_RANGE (0, 1),                       \
    .doc = "Above 0 each training picture is a blend of two, with weights from Beta(mixup, mixup); the port "  \
           "y_mix has the weights of their classes, as a target for cross_entropy." },                         \
  { LOOM_OPTION ("mean", FLOATS, ""),                                                    \
    .doc = "The mean to subtract from pictures of 0 to 1: a number for each channel, or one for all." },       \
  { LOOM_OPTION ("std", FLOATS, ""), LOOM_RANGE (1e-6, 1e6),                    \
    .doc = "The standard deviation to divide by afterwards: a number for each channel, or one for all." }
/* clang-format on */

typedef struct _LoomAugment LoomAugment;

/* NULL without an error if no option requests a change. SCHEMA: x is no picture, or mean or std have another number of
 * values than x has channels. */
LoomAugment *loom_augment_new (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
                               const LoomDatasetInfo *info, GError **error);
void loom_augment_free (LoomAugment *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomAugment, loom_augment_free)

/* TRUE if pictures change at random; FALSE if they are only normalised. */
gboolean loom_augment_changes (const LoomAugment *self);
/* Changes one picture (C, H, W) with values 0 to 1 by random numbers that depend only on seed, epoch and sample, and
 * normalises it. mask (H, W) has the classes of its pixels and moves with it; NULL: there is none. Pixels from outside
 * the picture become LOOM_TARGET_IGNORED. */
void
loom_augment_train (const LoomAugment *self, guint64 seed, guint64 epoch, gint64 sample, float *picture, gint64 *mask);
/* Moves the boxes [n,5] of a picture (loom-boxes.h) as loom_augment_train() moves the picture: each becomes the
 * smallest box around its moved corners. Boxes of which less than a quarter stays in the picture are removed; the
 * others move up. */
void loom_augment_boxes (const LoomAugment *self, guint64 seed, guint64 epoch, gint64 sample, float *boxes, gint64 n);
/* Normalises one picture. */
void loom_augment_normalize (const LoomAugment *self, float *picture);
/* The normalisation (v - shift) · scale as tensors, f32 [C,1,1]. Without a mean or std, its pointer is unchanged. */
void loom_augment_preparation (const LoomAugment *self, LoomTensor **shift, LoomTensor **scale);
