/* Draws a chart.
 *
 * A curve with more points than pixels is drawn as one pale rectangle per pixel column, from the column's minimum to
 * its maximum, under a line of the means, all read from the series' pyramid. A curve with fewer points is drawn as a
 * line. */
#include "ui/charts/studio-plot.h"

#include "ui/drawing/chart-text.h"

#include <glib/gi18n.h>
#include <math.h>

/* ---- colours and text -------------------------------------------------- */

static void
set_ink (cairo_t *cr, const StudioPlotStyle *style, double alpha)
{
  double v = style->dark ? 1 : 0.14;
  cairo_set_source_rgba (cr, v, v, v, alpha);
}

/* Ranks, and runs that are compared, have the colours of types, which are distinct in light and dark, used cyclically.
 */
void
studio_plot_get_colour (guint i, gboolean dark, double rgb[3])
{
  static const guint32 colours[][2] = { { 0xa34800, 0xffa348 },
                                        { 0x0b6e69, 0x5bc8af },
                                        { 0x813d9c, 0xdc8add },
                                        { 0xc01c28, 0xff938c },
                                        { 0x5e5c64, 0xc0bfbc } };
  const guint32 c = colours[i % G_N_ELEMENTS (colours)][dark != FALSE];

  for (int k = 0; k < 3; k++)
    rgb[k] = (c >> (16 - 8 * k) & 0xff) / 255.;
}

static void
set_rank_colour (cairo_t *cr, const StudioPlotStyle *style, guint rank)
{
  double rgb[3];

  studio_plot_get_colour (rank, style->dark, rgb);
  cairo_set_source_rgb (cr, rgb[0], rgb[1], rgb[2]);
}

static gboolean
is_validation (StudioPlotCurveStyle curve)
{
  return curve == STUDIO_PLOT_CURVE_VALIDATION || curve >= STUDIO_PLOT_CURVE_RANK_VALIDATION;
}

static void
set_curve_colour (cairo_t *cr, const StudioPlotStyle *style, StudioPlotCurveStyle curve)
{
  switch (curve)
    {
    case STUDIO_PLOT_CURVE_TRAIN:
      if (style->dark)
        cairo_set_source_rgb (cr, 0x99 / 255., 0xc1 / 255., 0xf1 / 255.);
      else
        cairo_set_source_rgb (cr, 0x1a / 255., 0x5f / 255., 0xb4 / 255.);
      break;
    case STUDIO_PLOT_CURVE_VALIDATION:
      if (style->dark)
        cairo_set_source_rgb (cr, 0xff / 255., 0xa3 / 255., 0x48 / 255.);
      else
        cairo_set_source_rgb (cr, 0xa3 / 255., 0x48 / 255., 0);
      break;
    case STUDIO_PLOT_CURVE_PREVIOUS:
      set_ink (cr, style, 0.32);
      break;
    default:
      set_rank_colour (cr, style,
                       curve
                           - (is_validation (curve) && curve != STUDIO_PLOT_CURVE_VALIDATION
                                  ? STUDIO_PLOT_CURVE_RANK_VALIDATION
                                  : STUDIO_PLOT_CURVE_RANK));
    }
}

/* Draws text whose left (align 0), middle (0.5) or right (1) edge is at x and whose middle line is at y. */
static void
draw_text (cairo_t *cr, PangoContext *context, double scale, gboolean strong, const char *text, double x, double y,
           double align)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (context, scale, strong, text);
  int w, h;
  pango_layout_get_pixel_size (layout, &w, &h);
  cairo_move_to (cr, floor (x - align * w), floor (y - h / 2.));
  pango_cairo_show_layout (cr, layout);
}

static double
text_width (PangoContext *context, double scale, const char *text)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (context, scale, FALSE, text);
  int w;
  pango_layout_get_pixel_size (layout, &w, NULL);
  return w;
}

/* ---- the frame of a drawing -------------------------------------------- */

typedef struct
{
  double left, top, right, bottom; /* of the plotting area, in pixels */
  double x0, x1, y0, y1;           /* the visible range */
} Frame;

static double
to_x (const Frame *f, double x)
{
  return f->left + (x - f->x0) / (f->x1 - f->x0) * (f->right - f->left);
}

static double
to_y (const Frame *f, double y)
{
  return f->bottom - (y - f->y0) / (f->y1 - f->y0) * (f->bottom - f->top);
}

/* The means of neighbouring columns are averaged, too (a window of 2 % of the width), because a batch's loss is noisy.
 */
static void
smooth_line (const double *mean, int first, int n, cairo_t *cr, const Frame *f)
{
  int reach = MAX (n / 100, 1);
  gboolean pen = FALSE;
  for (int i = 0; i < n; i++)
    {
      double sum = 0;
      int count = 0;
      for (int k = MAX (i - reach, 0); k <= MIN (i + reach, n - 1); k++)
        if (!isnan (mean[k]))
          {
            sum += mean[k];
            count++;
          }
      if (count == 0)
        continue;
      if (pen)
        cairo_line_to (cr, first + i + 0.5, to_y (f, sum / count));
      else
        cairo_move_to (cr, first + i + 0.5, to_y (f, sum / count));
      pen = TRUE;
    }
}

/* If points are denser than pixels: a pale rectangle per column from minimum to maximum, and a line of the means over
 * them. */
static guint
draw_columns (const LoomSeries *s, cairo_t *cr, const Frame *f)
{
  guint rectangles = 0;
  int first = (int)floor (f->left), last = (int)ceil (f->right);
  double per_pixel = (f->x1 - f->x0) / (f->right - f->left);
  g_autofree double *mean = g_new (double, (gsize)(last - first) + 1);
  gsize from = loom_series_lower_bound (s, f->x0);
  cairo_push_group (cr);
  for (int column = first; column < last; column++)
    {
      gsize to = loom_series_lower_bound (s, f->x0 + (column + 1 - f->left) * per_pixel);
      double low, high;
      mean[column - first] = NAN;
      if (to > from && loom_series_range (s, from, to, &low, &high, &mean[column - first]))
        {
          cairo_rectangle (cr, column, to_y (f, high), 1, MAX (to_y (f, low) - to_y (f, high), 1));
          rectangles++;
        }
      from = to;
    }
  cairo_fill (cr);
  cairo_pop_group_to_source (cr);
  cairo_paint_with_alpha (cr, 0.28);
  smooth_line (mean, first, last - first, cr, f);
  return rectangles;
}

/* A line of one mean per column of pixels: a dashed line through all points of a long run would take seconds. */
static guint
draw_means (const LoomSeries *s, cairo_t *cr, const Frame *f)
{
  int first = (int)floor (f->left), last = (int)ceil (f->right);
  double per_pixel = (f->x1 - f->x0) / (f->right - f->left), low, high, mean;
  gsize from = loom_series_lower_bound (s, f->x0);
  guint points = 0;

  for (int column = first; column <= last; column++)
    {
      gsize to = loom_series_lower_bound (s, f->x0 + (column + 1 - f->left) * per_pixel);

      if (to > from && loom_series_range (s, from, to, &low, &high, &mean))
        {
          cairo_line_to (cr, column + 0.5, to_y (f, mean));
          points++;
        }
      from = to;
    }
  cairo_stroke (cr);
  return points;
}

static void
draw_line (const LoomSeries *s, cairo_t *cr, const Frame *f)
{
  gsize n = loom_series_length (s);
  gboolean pen = FALSE;
  for (gsize i = 0; i < n; i++)
    {
      const double y = loom_series_mean (s, i);
      double x;
      loom_series_get (s, i, &x, NULL);
      if (!isfinite (y))
        {
          pen = FALSE;
          continue;
        }
      if (pen)
        cairo_line_to (cr, to_x (f, x), to_y (f, y));
      else
        cairo_move_to (cr, to_x (f, x), to_y (f, y));
      pen = TRUE;
    }
  cairo_stroke (cr);
  if (n == 1)
    {
      double x, y;
      loom_series_get (s, 0, &x, &y);
      if (isfinite (y))
        {
          cairo_arc (cr, to_x (f, x), to_y (f, y), 3, 0, 2 * G_PI);
          cairo_fill (cr);
        }
    }
}

static gboolean
is_dense (const StudioPlotCurve *c, const Frame *f)
{
  return loom_series_length (c->series) > 2 * (f->right - f->left);
}

static guint
draw_curve (const StudioPlotCurve *c, cairo_t *cr, const StudioPlotStyle *style, const Frame *f)
{
  static const double dashes[] = { 6, 4 };
  gboolean dashed = is_validation (c->style);
  guint rectangles = 0;
  cairo_save (cr);
  set_curve_colour (cr, style, c->style);
  cairo_set_line_width (cr, (c->style >= STUDIO_PLOT_CURVE_RANK ? 1.25 : 1.75) * style->scale);
  cairo_set_line_join (cr, CAIRO_LINE_JOIN_ROUND);
  if (dashed)
    cairo_set_dash (cr, dashes, 2, 0);
  /* Only the previous run may extend beyond the visible range. */
  if (c->style == STUDIO_PLOT_CURVE_PREVIOUS)
    {
      cairo_rectangle (cr, f->left, f->top, f->right - f->left, f->bottom - f->top);
      cairo_clip (cr);
    }
  if (dashed && is_dense (c, f))
    rectangles = draw_means (c->series, cr, f);
  else if (is_dense (c, f))
    {
      rectangles = draw_columns (c->series, cr, f);
      set_curve_colour (cr, style, c->style);
      cairo_stroke (cr);
    }
  else
    draw_line (c->series, cr, f);
  double x, y;
  if (dashed && loom_series_last (c->series, &x, &y))
    {
      cairo_arc (cr, to_x (f, x), to_y (f, y), 2.5 * style->scale, 0, 2 * G_PI);
      cairo_fill (cr);
    }
  cairo_restore (cr);
  return rectangles;
}

/* The distance of ticks: for three lines, or for fewer if their numbers would touch. */
static double
tick_step (const Frame *f, double scale)
{
  double step = 0;
  for (int wanted = 3; wanted >= 1; wanted--)
    {
      step = studio_plot_nice_step (f->y0, f->y1, wanted);
      if (step / (f->y1 - f->y0) * (f->bottom - f->top) >= 14 * scale)
        break;
    }
  return step;
}

/* Thin lines at round values (three, or four if the steps require it), with numbers on the left. */
static void
draw_grid (const StudioPlot *p, cairo_t *cr, PangoContext *context, const StudioPlotStyle *style, const Frame *f)
{
  double step = tick_step (f, style->scale);
  for (double y = ceil (f->y0 / step) * step; y <= f->y1; y += step)
    {
      double py = floor (to_y (f, y)) + 0.5;
      set_ink (cr, style, 0.12);
      cairo_set_line_width (cr, 1);
      cairo_move_to (cr, f->left, py);
      cairo_line_to (cr, f->right, py);
      cairo_stroke (cr);
      g_autofree char *text = studio_format_tick (y, step);
      set_ink (cr, style, 0.72);
      draw_text (cr, context, style->scale, FALSE, text, f->left - 6, py, 1);
    }
}

/* The end of a curve's line: the last point, or the mean of the last hundredth of a dense curve. */
static gboolean
line_end (const StudioPlotCurve *c, const Frame *f, double *y)
{
  double x, low, high;
  if (!loom_series_last (c->series, &x, y))
    return FALSE;
  gsize n = loom_series_lower_bound (c->series, nextafter (f->x1, INFINITY));
  if (n == 0)
    return FALSE;
  if (n < loom_series_length (c->series))
    loom_series_get (c->series, n - 1, &x, y);
  if (is_dense (c, f))
    loom_series_range (c->series, n - MAX (n / 100, 1), n, &low, &high, y);
  return TRUE;
}

/* The labels at the ends of the lines, moved apart if they would touch. */
static void
draw_labels (const StudioPlot *p, cairo_t *cr, PangoContext *context, const StudioPlotStyle *style, const Frame *f)
{
  guint n = p->curves->len;
  g_autofree double *at = g_new (double, n + 1);
  g_autofree guint *order = g_new (guint, n + 1);
  guint shown = 0;
  for (guint i = 0; i < n; i++)
    {
      const StudioPlotCurve *c = g_ptr_array_index (p->curves, i);
      double y;
      if (!line_end (c, f, &y))
        continue;
      at[i] = to_y (f, y);
      guint k = shown++;
      for (; k > 0 && at[order[k - 1]] > at[i]; k--)
        order[k] = order[k - 1];
      order[k] = i;
    }
  double line = 15 * style->scale;
  for (guint k = 0; k < shown; k++)
    {
      double least = k == 0 ? f->top : at[order[k - 1]] + line;
      at[order[k]] = MAX (at[order[k]], least);
    }
  for (guint k = shown; k > 0; k--)
    {
      double most = k == shown ? f->bottom - 5 * style->scale : at[order[k]] - line;
      at[order[k - 1]] = MIN (at[order[k - 1]], most);
      const StudioPlotCurve *c = g_ptr_array_index (p->curves, order[k - 1]);
      if (c->style == STUDIO_PLOT_CURVE_PREVIOUS)
        set_ink (cr, style, 0.72);
      else
        set_curve_colour (cr, style, c->style);
      draw_text (cr, context, style->scale, FALSE, studio_plot_curve_label (c), f->right + 6, at[order[k - 1]], 0);
    }
}

/* The y of a line between two points; FALSE if it does not pass there. */
static gboolean
line_at (const LoomSeries *s, double x, double *y)
{
  gsize i = loom_series_lower_bound (s, x);
  double x0, y0, x1, y1;
  if (i == 0 || i >= loom_series_length (s))
    return FALSE;
  loom_series_get (s, i - 1, &x0, &y0);
  loom_series_get (s, i, &x1, &y1);
  *y = y0 + (y1 - y0) * (x - x0) / (x1 - x0);
  return isfinite (*y);
}

/* TRUE if a line of the plot passes through this position. */
static gboolean
meets_curve (const StudioPlot *p, const Frame *f, double left, double right, double top, double bottom)
{
  double per_pixel = (f->x1 - f->x0) / (f->right - f->left);
  double x0 = f->x0 + (left - f->left) * per_pixel, x1 = f->x0 + (right - f->left) * per_pixel;
  for (guint i = 0; i < p->curves->len; i++)
    {
      const LoomSeries *s = ((StudioPlotCurve *)g_ptr_array_index (p->curves, i))->series;
      gsize from = loom_series_lower_bound (s, x0), to = loom_series_lower_bound (s, x1);
      double low = INFINITY, high = -INFINITY, y;
      if (to > from)
        loom_series_range (s, from, to, &low, &high, NULL);
      for (int end = 0; end < 2; end++)
        if (line_at (s, end == 0 ? x0 : x1, &y))
          {
            low = MIN (low, y);
            high = MAX (high, y);
          }
      if (low <= high && to_y (f, high) <= bottom && to_y (f, low) >= top)
        return TRUE;
    }
  return FALSE;
}

static void
draw_marks (const StudioPlot *p, cairo_t *cr, PangoContext *context, const StudioPlotStyle *style, const Frame *f)
{
  double taken = -1, half = 7 * style->scale;
  int row = 0;
  for (guint i = 0; i < p->marks->len; i++)
    {
      const StudioMark *m = g_ptr_array_index (p->marks, i);
      if (m->x < f->x0 || m->x > f->x1)
        continue;
      double x = floor (to_x (f, m->x)) + 0.5;
      set_ink (cr, style, 0.55);
      cairo_set_line_width (cr, 1);
      cairo_move_to (cr, x, f->top);
      cairo_line_to (cr, x, f->bottom);
      cairo_stroke (cr);
      double w = text_width (context, style->scale, m->label);
      gboolean left = x + 5 + w > f->right;
      /* Text that would overlap that of the mark before is moved one line down. */
      double from = MAX (left ? x - 5 - w : x + 5, f->left + 2);
      row = from < taken ? row + 1 : 0;
      taken = MAX (taken, from + w + 5);
      /* At the bottom if a curve passes through the text at the top, and none does at the bottom. */
      double down = half + 2 * half * row, high = f->top + down, low = f->bottom - down;
      gboolean at_bottom = meets_curve (p, f, from, from + w, high - half, high + half)
                           && !meets_curve (p, f, from, from + w, low - half, low + half);
      set_ink (cr, style, 0.85);
      draw_text (cr, context, style->scale, FALSE, m->label, from, at_bottom ? low : high, 0);
    }
}

/* A vertical line under the pointer with each curve's value there. If they need more than the chart's width, the last
 * ones are left out. */
static void
draw_hover (const StudioPlot *p, cairo_t *cr, PangoContext *context, const StudioPlotStyle *style, const Frame *f,
            double width, double hover_x)
{
  if (hover_x < f->left || hover_x > f->right)
    return;
  double x = f->x0 + (hover_x - f->left) / (f->right - f->left) * (f->x1 - f->x0);
  g_autofree char *text = studio_plot_describe_at (p, x);
  if (text == NULL)
    return;
  for (guint i = 0; i < p->curves->len; i++)
    {
      const StudioPlotCurve *c = g_ptr_array_index (p->curves, i);
      gsize k;
      double px, py;
      if (!loom_series_nearest (c->series, x, &k))
        continue;
      loom_series_get (c->series, k, &px, &py);
      if (!isfinite (py))
        continue;
      set_curve_colour (cr, style, c->style);
      cairo_arc (cr, to_x (f, px), to_y (f, py), 3 * style->scale, 0, 2 * G_PI);
      cairo_fill (cr);
    }
  set_ink (cr, style, 0.35);
  cairo_set_line_width (cr, 1);
  cairo_move_to (cr, floor (hover_x) + 0.5, f->top);
  cairo_line_to (cr, floor (hover_x) + 0.5, f->bottom);
  cairo_stroke (cr);
  g_autoptr (PangoLayout) layout = chart_text_layout (context, style->scale, FALSE, text);
  int w, h;
  pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
  pango_layout_get_pixel_size (layout, &w, NULL);
  if (w > width)
    pango_layout_set_width (layout, (int)width * PANGO_SCALE);
  pango_layout_get_pixel_size (layout, &w, &h);
  double tx = w <= f->right - f->left ? CLAMP (hover_x - w / 2., f->left, f->right - w) : MIN (f->left, width - w);
  double y = f->bottom + 10 * style->scale;
  /* The text has the background of the axis numbers, which it covers. */
  if (style->dark)
    cairo_set_source_rgb (cr, 0.19, 0.19, 0.19);
  else
    cairo_set_source_rgb (cr, 0.98, 0.98, 0.98);
  cairo_rectangle (cr, tx - 4, y - 8 * style->scale, w + 8, 16 * style->scale);
  cairo_fill (cr);
  set_ink (cr, style, 0.9);
  cairo_move_to (cr, floor (tx), floor (y - h / 2.));
  pango_cairo_show_layout (cr, layout);
}

/* The number of points beyond the axis is next to the title, so that they do not seem to be missing. */
static void
draw_cut (const StudioPlot *p, cairo_t *cr, PangoContext *context, const StudioPlotStyle *style, const Frame *f,
          double width)
{
  double x0, x1, y0, y1;
  g_autoptr (GString) text = g_string_new (NULL);
  if (!studio_plot_range (p, &x0, &x1, &y0, &y1))
    return;
  if (y1 > f->y1)
    {
      g_autofree char *high = studio_format_number (y1);
      g_string_append_printf (text, _ ("↑ up to %s"), high);
    }
  if (y0 < f->y0)
    {
      g_autofree char *low = studio_format_number (y0);
      g_string_append (text, text->len ? "  " : "");
      g_string_append_printf (text, _ ("↓ down to %s"), low);
    }
  set_ink (cr, style, 0.72);
  draw_text (cr, context, style->scale, FALSE, text->str, width, 9 * style->scale, 1);
}

/* FALSE: there is too little space; with has_points FALSE: there are no points. */
static gboolean
make_frame (const StudioPlot *p, PangoContext *context, const StudioPlotStyle *style, double width, double height,
            Frame *f, gboolean *has_points)
{
  const double s = style->scale;
  double figures = 0, words = 0;

  *f = (Frame){ .top = 26 * s, .bottom = height - 20 * s };
  *has_points = studio_plot_bounds (p, &f->x0, &f->x1, &f->y0, &f->y1);
  if (!*has_points)
    return FALSE;
  const double step = tick_step (f, s);
  for (double y = ceil (f->y0 / step) * step; y <= f->y1; y += step)
    {
      g_autofree char *text = studio_format_tick (y, step);
      figures = MAX (figures, text_width (context, s, text));
    }
  for (guint i = 0; i < p->curves->len; i++)
    words = MAX (words, text_width (context, s, studio_plot_curve_label (g_ptr_array_index (p->curves, i))));
  f->left = figures + 6;
  f->right = width - words - 8;
  return f->right - f->left >= 24 && f->bottom - f->top >= 16;
}

double
studio_plot_to_pixel (const StudioPlot *p, PangoContext *context, const StudioPlotStyle *style, double width,
                      double height, double x)
{
  Frame f;
  gboolean has_points;

  return make_frame (p, context, style, width, height, &f, &has_points) ? to_x (&f, CLAMP (x, f.x0, f.x1)) : -1;
}

double
studio_plot_from_pixel (const StudioPlot *p, PangoContext *context, const StudioPlotStyle *style, double width,
                        double height, double pixel)
{
  Frame f;
  gboolean has_points;

  if (!make_frame (p, context, style, width, height, &f, &has_points) || f.right <= f.left)
    return NAN;
  return f.x0 + (CLAMP (pixel, f.left, f.right) - f.left) / (f.right - f.left) * (f.x1 - f.x0);
}

guint
studio_plot_draw (const StudioPlot *p, cairo_t *cr, PangoContext *context, const StudioPlotStyle *style, double width,
                  double height, double hover_x)
{
  double s = style->scale;
  Frame f;
  gboolean has_points;
  set_ink (cr, style, 0.9);
  draw_text (cr, context, s, TRUE, studio_plot_title (p), 0, 9 * s, 0);
  if (!make_frame (p, context, style, width, height, &f, &has_points))
    {
      set_ink (cr, style, 0.72);
      if (!has_points)
        draw_text (cr, context, s, FALSE, _ ("no points yet"), width / 2, height / 2, 0.5);
      return 0;
    }

  draw_grid (p, cr, context, style, &f);
  g_autofree char *first = studio_format_count (f.x0), *last = studio_format_count (f.x1);
  g_autofree char *step_text = g_strdup_printf (_ ("step %s"), last);
  set_ink (cr, style, 0.72);
  if (f.left + text_width (context, s, first) + text_width (context, s, step_text) + 12 * s < f.right)
    draw_text (cr, context, s, FALSE, first, f.left, f.bottom + 10 * s, 0);
  draw_text (cr, context, s, FALSE, step_text, f.right, f.bottom + 10 * s, 1);

  guint rectangles = 0;
  cairo_save (cr);
  cairo_rectangle (cr, f.left - 4, f.top - 4, f.right - f.left + 8, f.bottom - f.top + 8);
  cairo_clip (cr);
  for (guint i = 0; i < p->curves->len; i++)
    rectangles += draw_curve (g_ptr_array_index (p->curves, i), cr, style, &f);
  cairo_restore (cr);
  draw_cut (p, cr, context, style, &f, width);
  draw_marks (p, cr, context, style, &f);
  draw_labels (p, cr, context, style, &f);
  draw_hover (p, cr, context, style, &f, width, hover_x);
  return rectangles;
}
