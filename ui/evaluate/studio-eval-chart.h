/* A drawing of an evaluation: bars of classes, calibration, or predicted over true values.
 *
 * One descriptor per kind draws it and describes its items; the widget moves a cursor over the items by pointer and
 * arrow keys, and its accessible description is the item under the cursor, then the whole. */
#pragma once

#include <gtk/gtk.h>

#include "ui/evaluate/studio-evaluation.h"

#define STUDIO_TYPE_EVAL_CHART (studio_eval_chart_get_type ())
G_DECLARE_FINAL_TYPE (StudioEvalChart, studio_eval_chart, STUDIO, EVAL_CHART, GtkWidget)

typedef struct
{
  StudioEvaluation *model;
  cairo_t *cr;
  PangoContext *context;
  double scale;         /* of text */
  double width, height; /* of the widget */
  double ink;           /* grey of lines and text, from 0 to 1 */
  gboolean dark;
  int cursor; /* -1: none */
} EvalDrawing;

/* A kind of drawing. */
typedef struct
{
  const char *title;                          /* for translation */
  guint (*n_items) (StudioEvaluation *model); /* 0: there is nothing to draw */
  double (*height) (StudioEvaluation *model, double width, double scale);
  void (*draw) (const EvalDrawing *d);
  int (*item_at) (const EvalDrawing *d, double x, double y);    /* -1: none; d->cr is NULL */
  char *(*describe_item) (StudioEvaluation *model, guint item); /* (transfer full) */
  char *(*describe) (StudioEvaluation *model);                  /* (transfer full) */
} EvalChartKind;

extern const EvalChartKind eval_chart_accuracy, eval_chart_counts, eval_chart_calibration, eval_chart_values;

GtkWidget *studio_eval_chart_new (StudioEvaluation *model, const EvalChartKind *kind);
/* The accessible description. */
const char *studio_eval_chart_get_description (StudioEvalChart *self);

/* ---- for the kinds ---- */

void eval_draw_ink (const EvalDrawing *d, double alpha);
void eval_draw_accent (const EvalDrawing *d, double alpha);
/* align 0, 0.5 or 1: x is the left end, the middle or the right end; y is the middle. Returns the width. */
double eval_draw_text (const EvalDrawing *d, const char *text, double x, double y, double align, double most);
