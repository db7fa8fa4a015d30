/* The content of a chart and its drawing, without a widget: the same drawing serves the screen, SVG, PDF and PNG.
 *
 * The form: no box, three hairline grid lines, labels at the ends of the lines instead of a legend, the training curve
 * solid, the validation curve dashed, the run before it greyed, marked events as thin upright lines with a word. */
#pragma once

#include <cairo.h>
#include <gio/gio.h>
#include <pango/pangocairo.h>

#include "ui/charts/studio-series.h"
#include "ui/scene/studio-format.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_PLOT_CURVE_TRAIN,
  STUDIO_PLOT_CURVE_VALIDATION,
  STUDIO_PLOT_CURVE_PREVIOUS,
  STUDIO_PLOT_CURVE_RANK /* of rank 0; 1 more of rank 1, and so on: thin, each in a colour of its own */
} StudioPlotCurveStyle;

typedef struct
{
  char *label; /* "train" */
  StudioPlotCurveStyle style;
  StudioSeries *series;
} StudioPlotCurve;

typedef struct
{
  double x;
  char *label; /* "lr 0.01" */
} StudioMark;

typedef struct
{
  char *title;                 /* "loss" */
  GPtrArray *curves;           /* StudioPlotCurve, drawn in order */
  GPtrArray *marks;            /* StudioMark */
  double fixed_min, fixed_max; /* y range; NaN: from the data */
  double x_end;                /* the run before is shown only up to here; NaN: wholly */
} StudioPlot;

typedef struct
{
  gboolean dark;
  double scale; /* of text: 1, in presentation 1.6 */
} StudioPlotStyle;

StudioPlot *studio_plot_new (const char *title);
void studio_plot_free (StudioPlot *plot);
void studio_plot_add_curve (StudioPlot *plot, const char *label, StudioPlotCurveStyle style, StudioSeries *series);
void studio_plot_add_mark (StudioPlot *plot, double x, const char *label);
void studio_plot_clear (StudioPlot *plot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioPlot, studio_plot_free)

/* The visible part: x from the first to the last point of all curves, y with a little air. FALSE when there is nothing.
 */
gboolean studio_plot_bounds (const StudioPlot *plot, double *x0, double *x1, double *y0, double *y1);
/* From the first point to the last and from the least value to the greatest, whatever the axis shows of it. */
gboolean studio_plot_range (const StudioPlot *plot, double *x0, double *x1, double *y0, double *y1);
/* The widest round step (1, 2, 2.5, 5 times a power of ten) that puts at least `wanted` lines between min and max. */
double studio_plot_nice_step (double min, double max, int wanted);
/* Draws into width × height with the text of context's font; hover_x is in pixels, negative for none. Returns the
 * number of rectangles that were filled for curves, at most one a pixel column and curve. */
guint studio_plot_draw (const StudioPlot *plot, cairo_t *cr, PangoContext *context, const StudioPlotStyle *style,
                        double width, double height, double hover_x);
/* The user's words for a title or label. Both are English in the plot, so that columns of a CSV have one name in all
 * languages. */
const char *studio_plot_words (const char *name);
/* "loss: train 0.412, validation 0.430 at step 840": for the screen reader. */
char *studio_plot_describe (const StudioPlot *plot);
/* step, then one column a curve; an empty field where a curve has no point at that step. */
char *studio_plot_to_csv (const StudioPlot *plot);

/* A file of the plot: .svg, .pdf, .png or .csv. */
gboolean studio_plot_export (const StudioPlot *plot, const char *path, GError **error);

G_END_DECLS
