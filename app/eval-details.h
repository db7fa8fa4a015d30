/* Prints an evaluation sample by sample for `gradloom eval`: counts of predictions, accuracy per class, calibration,
 * and a table of all samples. */
#pragma once

#include "app/shared/command.h"

typedef struct
{
  gboolean confusion, per_class, calibration;
  char *csv, *split; /* NULL: not given */
} EvalDetails;

void eval_details_clear (EvalDetails *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (EvalDetails, eval_details_clear)

gboolean eval_details_wanted (const EvalDetails *self);
/* FALSE after printing an error: --split is no split, or the file cannot be written. */
gboolean eval_details_check (const EvalDetails *self, const Command *command);
/* Evaluates and prints; returns the exit status. */
int eval_details_print (const EvalDetails *self, const Command *command, const LoomGraph *graph,
                        const LoomPredictorOptions *options, gint64 batch, gboolean as_json);
