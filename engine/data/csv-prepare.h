/* Prepares the numbers of a table after reading: fills gaps, normalises columns. */
#pragma once

#include "engine/data/loom-dataset-private.h"

typedef enum
{
  LOOM_CSV_MISSING_REFUSE,
  LOOM_CSV_MISSING_MEAN,
  LOOM_CSV_MISSING_DROP
} LoomCsvMissing;

extern const char *const loom_csv_missing_choices[], *const loom_csv_normalize_choices[];

LoomCsvMissing loom_csv_missing (const LoomDatasetClass *klass, const LoomDatasetOptions *options);
/* Fills the NaNs of x [rows, features] and normalises its columns, in place, as the options request. Means, deviations
 * and ranges are computed from the training rows only, so that the test rows do not influence training. They are kept
 * in self for later rows. */
void
loom_csv_prepare (LoomDataset *self, const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomTensor *x);
/* The same for one row of features that is not in the table. */
void loom_csv_prepare_row (const LoomDataset *self, float *row);
