/* The curves of a run, its metrics and the marks on its curves.
 *
 * The series keep every point; observers decide how often they draw. When a run begins, the previous run's curves are
 * kept as grey curves, so that the effect of a change is visible. */
#pragma once

#include "engine/loom.h"

typedef struct
{
  double step;
  char *label;
  char *name; /* of a hyper-parameter that was changed; NULL: another mark */
  double value;
} StudioRunMark;

typedef struct
{
  LoomSeries *train, *validation, *previous; /* previous: NULL without a previous run */
} RunCurve;

typedef struct
{
  RunCurve loss;
  GPtrArray *names; /* of the metrics */
  GArray *values;   /* double: training, over the recent steps */
  GArray *metrics;  /* RunCurve, in the order of names */
  char *split;      /* of the last evaluation: "val" or "test"; NULL: none */
  GPtrArray *marks; /* StudioRunMark */
} RunCurves;

void run_curves_init (RunCurves *curves);
void run_curves_finish (RunCurves *curves);
/* The current curves become the previous ones. A run without a point does not replace the curves before it. */
void run_curves_begin (RunCurves *curves);
void run_curves_forget_previous (RunCurves *curves);
/* Returns the index of this metric; creates its curves at first use. */
guint run_curves_metric (RunCurves *curves, const char *name);
/* metric -1 is the loss. */
RunCurve *run_curves_get (RunCurves *curves, int metric);
void run_curves_add_evaluation (RunCurves *curves, const char *split, gint64 step, double loss,
                                const char *const *names, const double *values, gsize n);
void run_curves_add_mark (RunCurves *curves, double step, const char *label);
/* Marks that a hyper-parameter has this value from this step on. */
void run_curves_add_change (RunCurves *curves, double step, const char *name, double value);
/* Removes the marks after this step. */
void run_curves_forget_marks_after (RunCurves *curves, double step);
