/* IDX files, plain or gzipped: the format of MNIST (a big-endian header of type, rank and sizes, then the numbers;
 * described by LeCun, Cortes and Burges with the MNIST database). */
#pragma once

#include "engine/data/loom-dataset-private.h"

/* Paths of the files for two splits; the test ones may both be NULL. */
typedef struct
{
  const char *images, *labels, *test_images, *test_labels;
  gboolean is_transposed; /* pictures are stored column by column (EMNIST) */
} LoomIdxFiles;

/* x f32 [B,C,H,W] (C = 1 for files of rank 3, x f32 [B,D] for rank 2), y i64 [B]. */
gboolean loom_idx_files_describe (const LoomIdxFiles *files, LoomDatasetInfo *info, GError **error);
LoomDataset *loom_idx_files_open (const LoomDatasetClass *klass, const LoomIdxFiles *files, GError **error);
