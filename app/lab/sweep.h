/* Shared by the files of `gradloom sweep`: settings, runs and results. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

#define SWEEP_MOST 100000 /* settings */

/* What one run has instead of the graph's own: attributes as --set takes them. */
typedef struct
{
  GPtrArray *set; /* char*, "train.lr=0.1" */
  char *name;     /* of its case; NULL: none */
  guint n_case;   /* the number of settings, from the first, of the case */
} SweepPoint;

/* What settings of unlike batches have in common. */
typedef enum
{
  SWEEP_BY_EPOCHS, /* equal epochs: those of the graph, or --epochs */
  SWEEP_BY_UPDATES /* as many steps are taken as by the setting that takes most */
} SweepBy;

typedef struct
{
  guint point; /* the index of its settings */
  gint64 seed; /* -1: the graph's */
  gint64 fold; /* that validates, from 1; 0: no cross-validation */
  SweepBy by;
  gint64 epochs, steps; /* instead of those that all runs get; 0: these */
  gboolean known;       /* another run has come to the same */
  double loss, metric;  /* of the last evaluation; NaN: none */
  double train_loss, parameters;
  gint64 step;
  char *failure; /* the run's error; NULL: it did not fail */
} SweepRun;

typedef struct
{
  const char *graph;
  const char *const *pass; /* words that every run gets */
  gint64 folds;            /* 0: no cross-validation */
  int jobs, threads;
  const char *out;          /* folder of runs; NULL: nothing is kept */
  const char *metric;       /* NULL: the first one */
  const char *metric_found; /* its name */
  GPtrArray *points;        /* SweepPoint */
  GArray *runs;             /* SweepRun */
} Sweep;

/* "train.lr=0.1,0.01": every one of the values with every one of the others' (sweep-points.c). */
gboolean sweep_grid (const char *const *grids, GPtrArray *points, GError **error);
/* "train.lr=1e-4..1e-1:log": n points whose numbers are drawn by seed; a list is drawn from, too. */
gboolean sweep_random (const char *const *ranges, gint64 n, guint64 seed, GPtrArray *points, GError **error);
/* "warm-up: train.lr_batch_size=64 train.schedule.warmup_steps=100": several settings under one name. Every point so
 * far gets each of the cases. */
gboolean sweep_cases (const char *const *cases, GPtrArray *points, GError **error);
void sweep_point_free (gpointer point);
/* "plain train.lr=0.1 hidden.out_features=16"; of a case, its name stands for what it sets. (transfer full) */
char *sweep_point_words (const SweepPoint *point);
/* What a point sets this name to; NULL: nothing. */
const char *sweep_point_get (const SweepPoint *point, const char *name);

/* Runs all, `jobs` at a time, each as a process; tell (may be NULL) is called after each, under a lock (sweep-run.c).
 */
typedef void (*SweepTell) (const Sweep *sweep, const SweepRun *run, gpointer data);
gboolean sweep_run_all (Sweep *sweep, SweepTell tell, gpointer data, GError **error);

/* Of one figure over the repetitions of a point. */
typedef struct
{
  guint n;
  double mean, spread; /* the sample's standard deviation; NaN of one run */
} SweepFigure;

SweepFigure sweep_figure (const Sweep *sweep, guint point, SweepBy by, double (*get) (const SweepRun *run));
double sweep_loss (const SweepRun *run);
double sweep_parameters (const SweepRun *run);

/* ---- sweep-show.c ---- */

void sweep_print_table (const Sweep *sweep, SweepBy by);
void sweep_print_json (const Sweep *sweep, SweepBy by);
void sweep_tell_json (const Sweep *sweep, const SweepRun *run, gpointer data);
/* A row a run, a column a setting. */
gboolean sweep_write_csv (const Sweep *sweep, const char *path, GError **error);

/* ---- sweep-plot.c ---- */

/* Loss against what x names, a setting or "parameters", on logarithmic axes, with a line for each of the other settings
 * and its power law. lines: one "series: loss ≈ a · x^b" for each, to be printed (transfer full). USAGE where x is no
 * number. */
char *sweep_plot (const Sweep *sweep, const char *x, SweepBy by, GPtrArray *lines, GError **error);

G_END_DECLS
