/* The evaluations of a run, kept in its folder: one line of evaluations.jsonl each, with the counts of predictions, so
 * that they can be compared over epochs after the run.
 *
 * A run that is resumed from an earlier step evaluates the later steps again: a record replaces all earlier lines of
 * its split at its step or after it. */
#pragma once

#include "engine/data/loom-dataset.h"
#include "engine/infer/loom-confusion.h"

#define LOOM_RUN_EVALUATIONS "evaluations.jsonl"
/* Counts of more classes are not kept: 100 × 100 numbers are up to 60 KB. */
#define LOOM_HISTORY_MOST_CLASSES 100

typedef struct
{
  LoomSplit split;
  gint64 step, epoch, samples; /* epoch from 1 */
  double loss, accuracy;       /* accuracy: NaN for values */
  double calibration;          /* the expected calibration error; NaN: none */
  LoomConfusion *confusion;    /* NULL: not kept */
} LoomEvaluationRecord;

/* Appends a record. IO: the folder cannot be written. insert: of a step of the past, after which the later records are
 * written again, so that it replaces none. */
gboolean
loom_evaluation_history_add (const char *folder, const LoomEvaluationRecord *record, gboolean insert, GError **error);
/* The records of a split by ascending step, LoomEvaluationRecord; empty without a file. Lines that cannot be read, such
 * as the last one of a process that was killed, are skipped. (transfer full) */
GPtrArray *loom_evaluation_history_read (const char *folder, LoomSplit split);
