/* The data of a chart: its curves and marks, the visible range, and its description. */
#include "ui/charts/studio-plot.h"

#include <glib/gi18n.h>
#include <math.h>

#include "engine/loom.h"

static void
curve_free (gpointer data)
{
  StudioPlotCurve *c = data;
  g_free (c->label);
  loom_series_unref (c->series);
  g_free (c);
}

static void
mark_free (gpointer data)
{
  StudioMark *m = data;
  g_free (m->label);
  g_free (m);
}

StudioPlot *
studio_plot_new (const char *title)
{
  StudioPlot *p = g_new0 (StudioPlot, 1);
  p->title = g_strdup (title);
  p->curves = g_ptr_array_new_with_free_func (curve_free);
  p->marks = g_ptr_array_new_with_free_func (mark_free);
  p->fixed_min = p->fixed_max = p->x_end = NAN;
  return p;
}

void
studio_plot_free (StudioPlot *p)
{
  g_free (p->title);
  g_ptr_array_unref (p->curves);
  g_ptr_array_unref (p->marks);
  g_free (p);
}

void
studio_plot_add_curve (StudioPlot *p, const char *label, StudioPlotCurveStyle style, LoomSeries *series)
{
  StudioPlotCurve *c = g_new0 (StudioPlotCurve, 1);
  c->label = g_strdup (label);
  c->style = style;
  c->series = loom_series_ref (series);
  g_ptr_array_add (p->curves, c);
}

void
studio_plot_add_mark (StudioPlot *p, double x, const char *label)
{
  StudioMark *m = g_new0 (StudioMark, 1);
  m->x = x;
  m->label = g_strdup (label);
  g_ptr_array_add (p->marks, m);
}

void
studio_plot_clear (StudioPlot *p)
{
  g_ptr_array_set_size (p->curves, 0);
  g_ptr_array_set_size (p->marks, 0);
}

/* A much longer previous run would compress the current one at the left. */
static gsize
shown_points (const StudioPlot *p, const StudioPlotCurve *c)
{
  if (c->style != STUDIO_PLOT_CURVE_PREVIOUS || isnan (p->x_end))
    return loom_series_length (c->series);
  return loom_series_lower_bound (c->series, nextafter (p->x_end, INFINITY));
}

gboolean
studio_plot_range (const StudioPlot *p, double *x0, double *x1, double *y0, double *y1)
{
  gboolean any = FALSE;
  for (guint i = 0; i < p->curves->len; i++)
    {
      const StudioPlotCurve *c = g_ptr_array_index (p->curves, i);
      gsize n = shown_points (p, c);
      double first, last, low, high;
      if (n == 0 || !loom_series_range (c->series, 0, n, &low, &high, NULL))
        continue;
      loom_series_get (c->series, 0, &first, NULL);
      loom_series_get (c->series, n - 1, &last, NULL);
      *x0 = any ? MIN (*x0, first) : first;
      *x1 = any ? MAX (*x1, last) : last;
      *y0 = any ? MIN (*y0, low) : low;
      *y1 = any ? MAX (*y1, high) : high;
      any = TRUE;
    }
  return any;
}

#define SAMPLES 512 /* of a curve, from which its usual range is determined */
#define SPIKE   8   /* times the usual range: the axis does not extend to points further away */

static int
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A single exploding loss would flatten all others, so the axis covers 98 of 100 values, and extends to the extremes
 * only if these are not far. */
static void
cut_spikes (const StudioPlot *p, double *y0, double *y1)
{
  g_autoptr (GArray) values = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint i = 0; i < p->curves->len; i++)
    {
      const StudioPlotCurve *c = g_ptr_array_index (p->curves, i);
      gsize n = shown_points (p, c);
      for (gsize k = 0; k < MIN (n, SAMPLES); k++)
        {
          double y;
          loom_series_get (c->series, n <= SAMPLES ? k : k * n / SAMPLES, NULL, &y);
          if (isfinite (y))
            g_array_append_val (values, y);
        }
    }
  if (values->len < 50)
    return;
  g_array_sort (values, compare_doubles);
  double low = g_array_index (values, double, values->len / 100);
  double high = g_array_index (values, double, values->len - 1 - values->len / 100);
  double reach = high - low;
  if (!(reach > 0))
    return;
  if (*y1 > high + SPIKE * reach)
    *y1 = high + reach / 2;
  if (*y0 < low - SPIKE * reach)
    *y0 = low - reach / 2;
}

gboolean
studio_plot_bounds (const StudioPlot *p, double *x0, double *x1, double *y0, double *y1)
{
  if (!studio_plot_range (p, x0, x1, y0, y1))
    return FALSE;
  cut_spikes (p, y0, y1);
  if (*x1 <= *x0)
    *x1 = *x0 + 1;
  if (!isnan (p->fixed_min))
    *y0 = MIN (*y0, p->fixed_min);
  if (!isnan (p->fixed_max))
    *y1 = MAX (*y1, p->fixed_max);
  double air = (*y1 - *y0) * 0.06;
  if (air <= 0)
    air = *y0 == 0 ? 0.5 : fabs (*y0) * 0.1;
  if (isnan (p->fixed_min) || *y0 < p->fixed_min)
    *y0 -= air;
  if (isnan (p->fixed_max) || *y1 > p->fixed_max)
    *y1 += air;
  return TRUE;
}

static int
lines_between (double min, double max, double step)
{
  return (int)(floor (max / step) - ceil (min / step)) + 1;
}

double
studio_plot_nice_step (double min, double max, int wanted)
{
  static const double mantissa[] = { 5, 2.5, 2, 1 };
  double raw = max - min;
  if (!(raw > 0) || !isfinite (raw))
    return 1;
  /* From coarse to fine: the first step with enough lines. */
  for (double power = pow (10, ceil (log10 (raw))); power > 0; power /= 10)
    for (guint i = 0; i < G_N_ELEMENTS (mantissa); i++)
      if (lines_between (min, max, power * mantissa[i]) >= wanted)
        return power * mantissa[i];
  return raw;
}

/* ---- descriptions ---------------------------------------------------------- */

const char *
studio_plot_translate (const char *name)
{
  return name[0] != '\0' ? _ (name) : name;
}

const char *
studio_plot_title (const StudioPlot *plot)
{
  return plot->title_is_name ? plot->title : studio_plot_translate (plot->title);
}

const char *
studio_plot_curve_label (const StudioPlotCurve *curve)
{
  return curve->style < STUDIO_PLOT_CURVE_RANK ? studio_plot_translate (curve->label) : curve->label;
}

#define LEVEL 0.02 /* of the range: a smaller change is no trend */

/* From the mean of the last half to that of the last quarter, or of few points from the first to the last. */
static const char *
trend_of (const LoomSeries *s, gsize n, double range)
{
  double before, after, low, high;

  if (!loom_series_range (s, n >= 8 ? n / 2 : 0, n >= 8 ? n * 3 / 4 : 1, &low, &high, &before)
      || !loom_series_range (s, n >= 8 ? n * 3 / 4 : 1, n, &low, &high, &after))
    return NULL;
  return after > before + LEVEL * range ? _ ("rising") : after < before - LEVEL * range ? _ ("falling") : _ ("level");
}

static void
add_extremes (GString *words, const StudioPlotCurve *c)
{
  const gsize n = loom_series_length (c->series);
  double low, high;
  const char *trend;

  if (c->style > STUDIO_PLOT_CURVE_VALIDATION || n < 2 || !loom_series_range (c->series, 0, n, &low, &high, NULL)
      || (trend = trend_of (c->series, n, high - low)) == NULL)
    return;
  g_autofree char *least = studio_format_number (low), *most = studio_format_number (high);
  g_string_append (words, "; ");
  /* Translators: a curve, its extremes, and “rising”, “falling” or “level”; read aloud. */
  g_string_append_printf (words, _ ("%1$s between %2$s and %3$s, %4$s"), studio_plot_curve_label (c), least, most,
                          trend);
}

static const StudioPlotCurve *
first_curve (const StudioPlot *p, StudioPlotCurveStyle style)
{
  for (guint i = 0; i < p->curves->len; i++)
    {
      const StudioPlotCurve *c = p->curves->pdata[i];

      if (c->style == style)
        return c;
    }
  return NULL;
}

/* The step of the last evaluation at which `test` is on another side of `train` than before; side: where it stays.
 * Batches differ more than the curves do, so the value of `train` is its mean since the evaluation before. NaN: the
 * curves do not cross. */
static double
last_crossing (const LoomSeries *train, const LoomSeries *test, int *side)
{
  double at = NAN;
  gsize from = 0;

  *side = 0;
  for (gsize k = 0; k < loom_series_length (test); k++)
    {
      double x, y, low, high, mean;
      gsize to;

      loom_series_get (test, k, &x, &y);
      to = loom_series_lower_bound (train, nextafter (x, INFINITY));
      if (!isfinite (y) || !loom_series_range (train, from, to, &low, &high, &mean))
        continue;
      from = to;
      if (*side != 0 && (y > mean) - (y < mean) == -*side)
        at = x;
      if (y != mean)
        *side = y > mean ? 1 : -1;
    }
  return at;
}

/* Where the test's error leaves that of training is what a sighted reader looks for first. */
static void
add_crossing (GString *words, const StudioPlot *p)
{
  const StudioPlotCurve *train = first_curve (p, STUDIO_PLOT_CURVE_TRAIN);
  const StudioPlotCurve *test = first_curve (p, STUDIO_PLOT_CURVE_VALIDATION);
  int side;
  double at = train != NULL && test != NULL ? last_crossing (train->series, test->series, &side) : NAN;

  if (isnan (at))
    return;
  g_autofree char *step = studio_format_count (at);
  g_string_append (words, "; ");
  /* Translators: "train crosses the test curve at step 840 and stays below"; read aloud. */
  g_string_append_printf (words,
                          side > 0 ? _ ("%1$s crosses the %2$s curve at step %3$s and stays below")
                                   : _ ("%1$s crosses the %2$s curve at step %3$s and stays above"),
                          studio_plot_curve_label (train), studio_plot_curve_label (test), step);
}

char *
studio_plot_describe (const StudioPlot *p)
{
  g_autoptr (GString) s = g_string_new (NULL);
  double at = -1;
  for (guint i = 0; i < p->curves->len; i++)
    {
      const StudioPlotCurve *c = g_ptr_array_index (p->curves, i);
      double x, y;
      if (!loom_series_last (c->series, &x, &y))
        continue;
      g_autofree char *value = studio_format_number (y);
      g_string_append_printf (s, "%s%s %s", s->len ? ", " : "", studio_plot_curve_label (c), value);
      if (c->style != STUDIO_PLOT_CURVE_PREVIOUS)
        at = MAX (at, x);
    }
  if (s->len == 0)
    return g_strdup_printf (_ ("%s: no points yet"), studio_plot_title (p));
  if (at < 0)
    return g_strdup_printf ("%s: %s", studio_plot_title (p), s->str);
  g_autofree char *step = studio_format_count (at);
  g_autoptr (GString) words = g_string_new (NULL);
  /* Translators: "loss: train 0.412, validation 0.430 at step 840"; read aloud. */
  g_string_printf (words, _ ("%1$s: %2$s at step %3$s"), studio_plot_title (p), s->str, step);
  for (guint i = 0; i < p->curves->len; i++)
    add_extremes (words, g_ptr_array_index (p->curves, i));
  add_crossing (words, p);
  return g_strdup (words->str);
}

char *
studio_plot_describe_at (const StudioPlot *p, double x)
{
  g_autoptr (GString) text = g_string_new (NULL);

  /* The run of the document before those with which it is compared. */
  for (guint n = 0; n < 2 * p->curves->len; n++)
    {
      const StudioPlotCurve *c = g_ptr_array_index (p->curves, n % p->curves->len);
      const gboolean is_own = c->style == STUDIO_PLOT_CURVE_TRAIN || c->style == STUDIO_PLOT_CURVE_VALIDATION;
      gsize k;
      double px, py;

      if (is_own != (n < p->curves->len))
        continue;
      if (!loom_series_nearest (c->series, x, &k))
        continue;
      loom_series_get (c->series, k, &px, &py);
      if (text->len == 0)
        {
          g_autofree char *step = studio_format_count (px);
          g_string_append_printf (text, _ ("step %s"), step);
        }
      g_autofree char *value = studio_format_number (py);
      g_string_append_printf (text, " · %s %s", studio_plot_curve_label (c), value);
    }
  return text->len > 0 ? g_strdup (text->str) : NULL;
}

char *
studio_plot_to_csv (const StudioPlot *p)
{
  guint n = p->curves->len;
  g_autofree gsize *next = g_new0 (gsize, n + 1);
  GString *s = g_string_new ("step");
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name
          = g_strdup_printf ("%s %s", p->title, ((StudioPlotCurve *)g_ptr_array_index (p->curves, i))->label);
      g_string_append_c (s, ',');
      loom_text_append_csv (s, name);
    }
  g_string_append_c (s, '\n');
  for (;;)
    {
      double x = INFINITY;
      for (guint i = 0; i < n; i++)
        {
          const StudioPlotCurve *c = g_ptr_array_index (p->curves, i);
          double at;
          if (next[i] < loom_series_length (c->series))
            {
              loom_series_get (c->series, next[i], &at, NULL);
              x = MIN (x, at);
            }
        }
      if (!isfinite (x))
        break;
      char number[G_ASCII_DTOSTR_BUF_SIZE];
      g_string_append (s, g_ascii_dtostr (number, sizeof number, x));
      for (guint i = 0; i < n; i++)
        {
          const StudioPlotCurve *c = g_ptr_array_index (p->curves, i);
          double at, y = NAN;
          if (next[i] < loom_series_length (c->series))
            {
              loom_series_get (c->series, next[i], &at, &y);
              if (at == x)
                next[i]++;
              else
                y = NAN;
            }
          g_string_append_c (s, ',');
          if (isfinite (y))
            g_string_append (s, g_ascii_dtostr (number, sizeof number, y));
        }
      g_string_append_c (s, '\n');
    }
  return g_string_free (s, FALSE);
}
