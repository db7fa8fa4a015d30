/* The data of a chart and the function that draws it. It is no widget, so the same drawing serves the screen, SVG, PDF
 * and PNG.
 *
 * Style: no box, three thin grid lines, labels at the ends of the curves instead of a legend; the training curve is
 * solid, the validation curve dashed, the previous run grey, and events are thin vertical lines with a label. */
#pragma once

#include <cairo.h>
#include <gio/gio.h>
#include <pango/pangocairo.h>

#include "engine/loom.h"
#include "ui/scene/studio-format.h"

typedef enum
{
  STUDIO_PLOT_CURVE_TRAIN,
  STUDIO_PLOT_CURVE_VALIDATION,
  STUDIO_PLOT_CURVE_PREVIOUS,
  STUDIO_PLOT_CURVE_RANK, /* of rank 0, or of the first of several runs; add k for the others. Thin, each in its own
                             colour */
  STUDIO_PLOT_CURVE_RANK_VALIDATION = 1 << 16 /* the same, dashed */
} StudioPlotCurveStyle;

typedef struct
{
  char *label; /* "train" */
  StudioPlotCurveStyle style;
  LoomSeries *series;
} StudioPlotCurve;

typedef struct
{
  double x;
  char *label; /* "lr 0.01" */
} StudioMark;

typedef struct
{
  char *title;                 /* "loss" */
  gboolean title_is_name;      /* of a run, as the user wrote it: it is not translated */
  GPtrArray *curves;           /* StudioPlotCurve, drawn in order */
  GPtrArray *marks;            /* StudioMark */
  double fixed_min, fixed_max; /* y range; NaN: automatic */
  double x_end;                /* the previous run is drawn up to here; NaN: all of it */
} StudioPlot;

typedef struct
{
  gboolean dark;
  double scale; /* of text: 1, in presentation 1.6 */
} StudioPlotStyle;

StudioPlot *studio_plot_new (const char *title);
void studio_plot_free (StudioPlot *plot);
void studio_plot_add_curve (StudioPlot *plot, const char *label, StudioPlotCurveStyle style, LoomSeries *series);
void studio_plot_add_mark (StudioPlot *plot, double x, const char *label);
void studio_plot_clear (StudioPlot *plot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioPlot, studio_plot_free)

/* Computes the visible range: x from the first to the last point of all curves, y with a margin. FALSE: no points. */
gboolean studio_plot_bounds (const StudioPlot *plot, double *x0, double *x1, double *y0, double *y1);
/* Computes the range of all points, regardless of the axes. */
gboolean studio_plot_range (const StudioPlot *plot, double *x0, double *x1, double *y0, double *y1);
/* The largest round step (1, 2, 2.5, 5 times a power of ten) with at least `wanted` grid lines between min and max. */
double studio_plot_nice_step (double min, double max, int wanted);
/* Draws into width × height with the font of context; hover_x is in pixels, negative: none. Returns the number of
 * rectangles filled for dense curves, or of points of a dashed one, at most one per pixel column and curve. */
guint studio_plot_draw (const StudioPlot *plot, cairo_t *cr, PangoContext *context, const StudioPlotStyle *style,
                        double width, double height, double hover_x);
/* The pixel at which studio_plot_draw() draws x; negative: nothing is drawn. */
double studio_plot_to_pixel (const StudioPlot *plot, PangoContext *context, const StudioPlotStyle *style, double width,
                             double height, double x);
/* The colour of STUDIO_PLOT_CURVE_RANK + i, from 0 to 1. */
void studio_plot_get_colour (guint i, gboolean dark, double rgb[3]);
/* The x that is drawn at a pixel, or at the nearest end of the axis; NaN: nothing is drawn. */
double studio_plot_from_pixel (const StudioPlot *plot, PangoContext *context, const StudioPlotStyle *style,
                               double width, double height, double pixel);
/* Translates a title or label. Both are English in the plot, so that CSV columns have the same names in all languages.
 */
const char *studio_plot_translate (const char *name);
/* The title, translated except the name of a run. */
const char *studio_plot_title (const StudioPlot *plot);
/* The label of a curve, translated except that of a rank or a run, which is no name of the plot. */
const char *studio_plot_curve_label (const StudioPlotCurve *curve);
/* For screen readers: "loss: train 0.412, validation 0.430 at step 840; train between 0.4 and 2.3, falling", and
 * where train and validation cross. */
char *studio_plot_describe (const StudioPlot *plot);
/* The point of each curve nearest to x: "step 840 · train 0.412". NULL: no points. (transfer full) */
char *studio_plot_describe_at (const StudioPlot *plot, double x);
/* One row per step and one column per curve; a field is empty if the curve has no point at that step. */
char *studio_plot_to_csv (const StudioPlot *plot);

/* By extension: .svg, .pdf, .png or .csv. */
gboolean studio_plot_export (const StudioPlot *plot, const char *path, GError **error);
