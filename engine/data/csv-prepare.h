/* Prepares the numbers of a table once they are read: gaps are filled, columns normalised. */
#pragma once

#include "engine/data/loom-dataset-private.h"

G_BEGIN_DECLS

typedef enum
{
  LOOM_CSV_MISSING_REFUSE,
  LOOM_CSV_MISSING_MEAN,
  LOOM_CSV_MISSING_DROP
} LoomCsvMissing;

extern const char *const loom_csv_missing_choices[], *const loom_csv_normalize_choices[];

LoomCsvMissing loom_csv_missing (const LoomDatasetClass *klass, const LoomDatasetOptions *options);
/* Fills the NaNs of x [rows, features] and normalises its columns, in place, as the options say. Means, deviations and
 * borders are those of the training rows alone: the others must not be known before they are tested on. They are kept
 * in self for rows that come later. */
void
loom_csv_prepare (LoomDataset *self, const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomTensor *x);
/* The same for one row of features that is no part of the table. */
void loom_csv_prepare_row (const LoomDataset *self, float *row);

G_END_DECLS
