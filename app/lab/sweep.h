/* Shared by the files of `gradloom sweep`: settings, runs and results. */
#pragma once

#include "app/shared/command.h"

#define SWEEP_MOST 100000 /* settings */

/* The settings of one run, which replace those of the graph: attributes as for --set. */
typedef struct
{
  GPtrArray *set; /* char*, "train.lr=0.1" */
  char *name;     /* of its case, or NULL */
  guint n_case;   /* the number of leading settings that belong to the case */
} SweepPoint;

/* How settings with different batch sizes are compared. */
typedef enum
{
  SWEEP_BY_EPOCHS, /* by equal epochs: those of the graph, or --epochs */
  SWEEP_BY_UPDATES /* by equal updates, as many as the setting with most updates */
} SweepBy;

typedef struct
{
  guint point; /* the index of its settings */
  gint64 seed; /* -1: the graph's */
  gint64 fold; /* the fold for validation, from 1; 0: no cross-validation */
  SweepBy by;
  gint64 epochs, steps; /* replace those of all runs; 0: not set */
  gboolean known;       /* the result equals that of another run */
  double loss, metric;  /* of the last evaluation; NaN: none */
  double train_loss, parameters;
  gint64 step;
  char *failure; /* the run's error; NULL: it did not fail */
} SweepRun;

typedef struct
{
  const char *graph;
  const char *const *pass; /* arguments that every run gets */
  gint64 folds;            /* 0: no cross-validation */
  int jobs, threads;
  const char *out;          /* folder of runs; NULL: no files are kept */
  const char *metric;       /* NULL: the first one */
  const char *metric_found; /* its name */
  GPtrArray *points;        /* SweepPoint */
  GArray *runs;             /* SweepRun */
} Sweep;

/* "train.lr=0.1,0.01": every value, combined with all values of other grids (sweep-points.c). */
gboolean sweep_grid (const char *const *grids, GPtrArray *points, GError **error);
/* "train.lr=1e-4..1e-1:log": n points whose numbers are drawn with seed; also draws from a list. */
gboolean sweep_random (const char *const *ranges, gint64 n, guint64 seed, GPtrArray *points, GError **error);
/* "warm-up: train.lr_batch_size=64 train.schedule.warmup_steps=100": several settings under one name. Every point so
 * far is combined with each case. */
gboolean sweep_cases (const char *const *cases, GPtrArray *points, GError **error);
void sweep_point_free (gpointer point);
/* "plain train.lr=0.1 hidden.out_features=16": the name of a case replaces its settings. (transfer full) */
char *sweep_point_words (const SweepPoint *point);
/* The value that a point sets for this name, or NULL. */
const char *sweep_point_get (const SweepPoint *point, const char *name);

/* Runs all as processes, `jobs` at a time; calls tell (may be NULL) after each, under a lock (sweep-run.c). */
typedef void (*SweepRunFunc) (const Sweep *sweep, const SweepRun *run, gpointer data);
gboolean sweep_run_all (Sweep *sweep, SweepRunFunc tell, gpointer data, GError **error);

/* The mean of a figure over the repetitions of a point. */
typedef struct
{
  guint n;
  double mean, spread; /* the sample's standard deviation; NaN if there is one run */
} SweepFigure;

SweepFigure sweep_figure (const Sweep *sweep, guint point, SweepBy by, double (*get) (const SweepRun *run));
double sweep_loss (const SweepRun *run);
double sweep_metric (const SweepRun *run);
/* 1 − the metric, which is then the error of an accuracy. */
double sweep_error (const SweepRun *run);
double sweep_parameters (const SweepRun *run);

/* ---- sweep-show.c ---- */

void sweep_print_table (const Sweep *sweep, SweepBy by);
void sweep_print_json (const Sweep *sweep, SweepBy by);
void sweep_print_run (const Sweep *sweep, const SweepRun *run, gpointer data);
/* One row per run, one column per setting. */
gboolean sweep_write_csv (const Sweep *sweep, const char *path, GError **error);

/* ---- sweep-plot.c ---- */

/* What a plot shows over a setting. */
typedef struct
{
  const char *title; /* of its axis */
  double (*get) (const SweepRun *run);
  double scale;       /* 100: in percent */
  double least, most; /* the limits of y in this unit */
  gboolean is_log;
} SweepQuantity;

/* Plots y against x (a setting or "parameters"), as a series for each combination of other settings. For a logarithmic
 * y, lines receives "series: loss ≈ a · x^b" for each series that follows such a law, to be printed (transfer full).
 * USAGE if x is no number. */
char *
sweep_plot (const Sweep *sweep, const char *x, const SweepQuantity *y, SweepBy by, GPtrArray *lines, GError **error);
