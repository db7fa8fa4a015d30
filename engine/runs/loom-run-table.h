/* Compares runs: the change from one to the next, and a table of the settings in which several differ. */
#pragma once

#include "engine/diff/loom-diff.h"
#include "engine/runs/loom-run-summary.h"

/* "lr 0.01 → 0.1, fc.out_features 4 → 8 and 2 more", at most `most` changes; "" if nothing differs. Both runs have a
 * graph. (transfer full) */
char *loom_run_change (const LoomRunSummary *before, const LoomRunSummary *run, guint most, LoomPrintable printable);

/* The run before runs[i] of the same graph name, in a list sorted by loom_run_summary_compare(); NULL: there is none,
 * or the run cannot be read. */
const LoomRunSummary *loom_run_before (const GPtrArray *runs, guint i);

/* The attributes in which runs differ: `lr` of <train>, `fc.out_features` of a node. Changes that are no attribute of
 * an element in all runs, such as an added node, are words in the column "graph". */
typedef struct
{
  GPtrArray *columns; /* char*, in the order of their first difference */
  GPtrArray *rows;    /* GPtrArray of char* for each run: its values, NULL where it has none */
} LoomRunTable;

/* runs: LoomRunSummary; the first one with a graph is what others are compared with. A run that cannot be read has a
 * row of NULL. */
LoomRunTable *loom_run_table_new (const GPtrArray *runs);
void loom_run_table_free (LoomRunTable *self);
const char *loom_run_table_get (const LoomRunTable *self, guint run, guint column);

/* Marks the points of which no other is at most as large in both x and y, and smaller in one: the Pareto front for a
 * cost and a loss. x, y [n]; a point with NaN is on no front. */
void loom_run_front (guint n, const double *x, const double *y, gboolean *is_front);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomRunTable, loom_run_table_free)
