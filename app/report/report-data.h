/* The data of a report on a run, read from its folder and computed with its weights. */
#pragma once

#include "engine/loom-run.h"
#include "engine/runs/loom-runs.h"

/* The evaluations of one split after steps, and the values of one metric at them. */
typedef struct
{
  char *name;  /* "loss", "accuracy" */
  char *split; /* "val", "test" */
  LoomSeries *points;
} ReportSeries;

/* A value of <train> that was changed while the run went on. */
typedef struct
{
  gint64 step;
  char *name;
  double before, value; /* before: NaN if it is not known */
} ReportChange;

/* The attention weights of one sample: [heads, rows, columns]. */
typedef struct
{
  char *port;
  gint64 heads, rows, columns;
  double *weight;
} ReportAttention;

/* Called with the finished fraction. */
typedef void (*ReportProgress) (double done, gpointer data);

typedef struct
{
  char *folder;
  LoomRunSummary *run; /* without an error */
  LoomGraph *graph;
  LoomNet *net;
  LoomTrainSpec *spec; /* NULL: the graph can no longer be trained */
  LoomRunSettings settings;
  char *program;          /* "gradloom 0.1.0", the version that trained; NULL: not known */
  LoomSeries *losses;     /* of the recorded steps; NaN: not finite */
  GPtrArray *evaluations; /* ReportSeries */
  GPtrArray *changes;     /* ReportChange */
  char *branch_of;        /* the run that this one continues; NULL: none */
  gint64 branch_step;
  gsize needed;               /* planned bytes of the run; 0: not known */
  char *needed_on;            /* the devices that have them */
  LoomEvaluation *evaluation; /* NULL: why_not says why */
  char *why_not;
  GPtrArray *attention; /* ReportAttention; empty: the net has none, or no_attention says why */
  char *no_attention;
  char **tokens; /* of the sample whose attention is shown; NULL: they have no names */
} ReportData;

/* Reads and computes. Errors: DATA if the folder is no run; IO. */
ReportData *report_data_new (const char *folder, ReportProgress progress, gpointer data, GError **error);
void report_data_free (ReportData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ReportData, report_data_free)
