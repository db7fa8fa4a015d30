/* Shared by the files of `gradloom sweep`: settings, runs, and what they came to. */
#pragma once

#include "app/command.h"

G_BEGIN_DECLS

extern const Command command_sweep;

#define SWEEP_MOST 100000 /* settings */

/* What one run has instead of the graph's own: attributes as --set takes them. */
typedef struct
{
  GPtrArray *set; /* char*, "train.lr=0.1" */
} SweepPoint;

typedef struct
{
  guint point; /* of which settings it is a repetition */
  gint64 seed; /* -1: the graph's */
  gint64 fold; /* that validates, from 1; 0: no cross-validation */
  double loss, metric; /* of the last evaluation; NaN: it said none */
  double train_loss;
  gint64 step;
  char *failure; /* what the run said; NULL: it did not fail */
} SweepRun;

typedef struct
{
  const char *graph;
  const char *const *pass; /* words that every run gets */
  gint64 folds;            /* 0: no cross-validation */
  int jobs, threads;
  const char *out;    /* folder of runs; NULL: nothing is kept */
  const char *metric; /* NULL: the first one */
  char *metric_name;  /* that was found */
  GPtrArray *points;  /* SweepPoint */
  GArray *runs;       /* SweepRun */
} Sweep;

/* "train.lr=0.1,0.01": every one of the values with every one of the others' (sweep-points.c). */
gboolean sweep_grid (const char *const *grids, GPtrArray *points, GError **error);
/* "train.lr=1e-4..1e-1:log": n points whose numbers are drawn by seed; a list is drawn from, too. */
gboolean sweep_random (const char *const *ranges, gint64 n, guint64 seed, GPtrArray *points, GError **error);
void sweep_point_free (gpointer point);
/* "train.lr=0.1 hidden.out_features=16"; (transfer full) */
char *sweep_point_words (const SweepPoint *point);

/* Runs all, `jobs` at a time, each as a process; tell (may be NULL) is called after each, under a lock (sweep-run.c).
 */
typedef void (*SweepTell) (const Sweep *sweep, const SweepRun *run, gpointer data);
gboolean sweep_run_all (Sweep *sweep, SweepTell tell, gpointer data, GError **error);

G_END_DECLS
