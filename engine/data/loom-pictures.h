/* Pictures of a data set that are decoded when they are read, or once.
 *
 * Every picture is resized to one size. If all fit into memory they are decoded once, by all processors, and kept as
 * bytes; otherwise each is decoded when it is read, which the loader's threads do in advance. Both ways make the same
 * numbers. A picture is a file, or a part of one, such as a member of an archive. */
#pragma once

#include "engine/data/loom-deal.h"
#include "engine/data/loom-picture.h"

extern const char *const loom_pictures_colors[], *const loom_pictures_keeps[], *const loom_pictures_brokens[];

/* clang-format off */
/* The options of sources of pictures in files. */
#define LOOM_PICTURES_PARAMS                                                                                   \
  { LOOM_OPTION ("size", INT, "64"), LOOM_RANGE (1, 2048),                                                     \
    .doc = "The height and width to which pictures are resized." },                                            \
  { LOOM_OPTION ("fit", ENUM, "crop"), .choices = loom_picture_fits,                                           \
    .doc = "How other proportions become a square: stretch, crop two sides, or pad two sides." },              \
  { LOOM_OPTION ("color", ENUM, "rgb"), .choices = loom_pictures_colors,                                       \
    .doc = "Three colour channels, or one grey channel." },                                                    \
  { LOOM_OPTION ("keep", ENUM, "auto"), .choices = loom_pictures_keeps,                                        \
    .doc = "memory: all pictures are decoded once and kept in memory; files: a picture is decoded each time it "\
           "is read; auto: memory if that takes less than 1 GiB." },                                           \
  { LOOM_OPTION ("broken", ENUM, "error"), .choices = loom_pictures_brokens,                                   \
    .doc = "error: a picture that is not readable ends the run; skip: all pictures are read once at the start, "\
           "and those that are not readable are left out and counted." }
/* clang-format on */

/* A data set; its class has the functions below. */
typedef struct _LoomPictures LoomPictures;

/* Adds x [B,C,H,W] and y [B]. */
void loom_pictures_describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info);
/* Adds x [B,C,H,W] and y [B,1], f32. */
void loom_pictures_describe_numbers (const LoomDatasetClass *klass, const LoomDatasetOptions *options,
                                     LoomDatasetInfo *info);
/* Freed by loom_dataset_free() of its data set. */
LoomPictures *loom_pictures_new (const LoomDatasetClass *klass, const LoomDatasetOptions *options);
LoomPictures *loom_pictures_new_with_masks (const LoomDatasetClass *klass, const LoomDatasetOptions *options);
LoomDataset *loom_pictures_dataset (LoomPictures *self);
/* name: for errors and the digest. size: bytes from offset on; −1: the whole file. */
void
loom_pictures_add (LoomPictures *self, const char *name, const char *path, guint64 offset, gint64 size, guint32 which);
/* Gives the picture that was added last its mask, a file. */
void loom_pictures_add_mask (LoomPictures *self, const char *path);
/* Gives the picture that was added last n boxes [n,5] as in loom-boxes.h, in pixels of the file's picture; copied. For
 * a data set whose `boxes` is set. */
void loom_pictures_add_boxes (LoomPictures *self, const float *boxes, guint n);
/* The class of each value of a mask, below 255; LOOM_TARGET_IGNORED: none; below that: the value is an error. */
void loom_pictures_set_values (LoomPictures *self, const gint64 class_of[256]);
/* x [B,C,H,W] and y [B,H,W], for a data set with masks. */
void
loom_pictures_describe_masks (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info);
/* Adds the pictures that a path leads to, and the label of each, a text. FALSE with an error if there is none. */
typedef gboolean (*LoomPicturesAdd) (LoomPictures *self, const LoomDatasetOptions *options, const char *path,
                                     GPtrArray *labels, GError **error);
/* Opens the pictures of the options path and, if it is set, test_path. The classes are the distinct labels; with
 * has_numbers, the labels are numbers to predict. */
LoomDataset *loom_pictures_open (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomPicturesAdd add,
                                 gboolean has_numbers, GError **error);
guint loom_pictures_count (const LoomPictures *self);
/* Deals the first n_dealt pictures among the splits, and makes the others the test split if has_test. The class names
 * and their number must be set. DATA: a picture is not readable; OUT_OF_MEMORY. */
gboolean loom_pictures_finish (LoomPictures *self, const LoomDatasetOptions *options, guint n_dealt, gboolean has_test,
                               GError **error);

/* The same if the first n[train] pictures are training samples, the next n[val] validation samples, and so on. */
gboolean loom_pictures_finish_splits (LoomPictures *self, const LoomDatasetOptions *options,
                                      const guint n[LOOM_N_SPLITS], GError **error);

gboolean loom_pictures_read (const LoomDataset *base, LoomSplit split, const gint64 *indices, guint n,
                             LoomTensor *const out[], GError **error);
guint64 loom_pictures_digest (const LoomDataset *base, guint64 hash);
void loom_pictures_free (LoomDataset *base);
