/* Plots a figure of a sweep against one of its settings as SVG. The setting's axis is logarithmic, and so is that of a
 * loss, because a power law is then a straight line (Kaplan et al. 2020); an error and a metric have a linear axis, as
 * the figure of linear scaling has (Goyal et al. 2017). Each of the other settings is a series: its points are joined,
 * bars are two standard deviations long in both directions. A line of least squares is drawn for a loss that follows
 * it. Names are next to the frame, so that they hide nothing, and a setting whose runs all failed is a cross at its
 * upper edge. */
#include "app/lab/sweep.h"

#include "app/shared/svg.h"

#include <math.h>
#include <string.h>

#define FRAME   640 /* the width of the axes */
#define HEIGHT  480
#define LEFT    80
#define RIGHT   20
#define TOP     20
#define BOTTOM  60
#define NAMES   24  /* between the frame and the names, for their marks */
#define LETTER  7   /* the width of a letter of a name, at most */
#define FOLLOWS 0.9 /* the part of the variance that a power law explains, from which it is one */

/* Colours that colour-blind people can distinguish (Okabe and Ito). */
static const char *const colors[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000" };

typedef struct
{
  double x, y, spread; /* y NaN: all runs failed; spread NaN: of one run */
} Spot;

typedef struct
{
  char *name;
  GArray *spot; /* Spot, by x */
} Series;

static void
series_free (gpointer data)
{
  Series *series = data;

  g_free (series->name);
  g_array_unref (series->spot);
  g_free (series);
}

/* TRUE if two points differ only in this setting. */
static gboolean
differ_in (const SweepPoint *a, const SweepPoint *b, guint i)
{
  if (g_strcmp0 (a->name, b->name) != 0 || a->set->len != b->set->len)
    return FALSE;
  for (guint k = 0; k < a->set->len; k++)
    if (g_str_equal (a->set->pdata[k], b->set->pdata[k]) == (k == i))
      return FALSE;
  return TRUE;
}

/* TRUE if setting i determines the x coordinate: it is x, or x is "parameters" and the net's size depends on the
 * setting. */
static gboolean
is_on_axis (const Sweep *sweep, guint p, guint i, const char *x, SweepBy by)
{
  const SweepPoint *point = sweep->points->pdata[p];
  const char *set = point->set->pdata[i];
  gsize n = strlen (x);

  if (!g_str_equal (x, "parameters"))
    return strncmp (set, x, n) == 0 && set[n] == '=';
  for (guint q = 0; q < sweep->points->len; q++)
    if (differ_in (point, sweep->points->pdata[q], i))
      {
        double here = sweep_figure (sweep, p, by, sweep_parameters).mean;
        double there = sweep_figure (sweep, q, by, sweep_parameters).mean;

        /* The number is unknown for failed runs. */
        if (isfinite (here) && isfinite (there) && here != there)
          return TRUE;
      }
  return FALSE;
}

/* Lists the settings of a point other than x. (transfer full) */
static char *
name_of (const Sweep *sweep, guint p, const char *x, SweepBy by)
{
  const SweepPoint *point = sweep->points->pdata[p];
  GString *s = g_string_new (point->name);

  for (guint i = point->n_case; i < point->set->len; i++)
    if (!is_on_axis (sweep, p, i, x, by))
      g_string_append_printf (s, "%s%s", s->len > 0 ? " " : "", (const char *)point->set->pdata[i]);
  return g_string_free (s, FALSE);
}

static Series *
find_series (GPtrArray *all, const Sweep *sweep, guint p, const char *x, SweepBy by)
{
  g_autofree char *name = name_of (sweep, p, x, by);
  Series *series;

  for (guint i = 0; i < all->len; i++)
    if (g_str_equal (((Series *)all->pdata[i])->name, name))
      return all->pdata[i];
  series = g_new0 (Series, 1);
  series->name = g_steal_pointer (&name);
  series->spot = g_array_new (FALSE, FALSE, sizeof (Spot));
  g_ptr_array_add (all, series);
  return series;
}

/* NaN: not a number, or without a logarithm. */
static double
place_of (const Sweep *sweep, guint p, const char *x, SweepBy by)
{
  const char *text = sweep_point_get (sweep->points->pdata[p], x);
  double value;

  if (g_str_equal (x, "parameters"))
    value = sweep_figure (sweep, p, by, sweep_parameters).mean;
  else if (text == NULL || !command_float (text, &value))
    return NAN;
  return value > 0 ? value : NAN;
}

/* TRUE if there are runs with these settings and none of them succeeded. */
static gboolean
has_failed (const Sweep *sweep, guint p, SweepBy by)
{
  guint n = 0;

  for (guint i = 0; i < sweep->runs->len; i++)
    {
      const SweepRun *run = &g_array_index (sweep->runs, SweepRun, i);

      if (run->point != p || run->by != by)
        continue;
      if (run->failure == NULL)
        return FALSE;
      n++;
    }
  return n > 0;
}

static int
compare_spots (gconstpointer a, gconstpointer b)
{
  const Spot *one = a, *other = b;

  return one->x < other->x ? -1 : one->x > other->x;
}

static GPtrArray *
collect (const Sweep *sweep, const char *x, const SweepQuantity *y, SweepBy by)
{
  GPtrArray *all = g_ptr_array_new_with_free_func (series_free);

  for (guint p = 0; p < sweep->points->len; p++)
    {
      SweepFigure f = sweep_figure (sweep, p, by, y->get);
      Spot spot = { place_of (sweep, p, x, by), f.n > 0 && (f.mean > 0 || !y->is_log) ? f.mean * y->scale : NAN,
                    f.spread * y->scale };

      if (isfinite (spot.x) && (isfinite (spot.y) || has_failed (sweep, p, by)))
        g_array_append_val (find_series (all, sweep, p, x, by)->spot, spot);
    }
  for (guint i = 0; i < all->len; i++)
    g_array_sort (((Series *)all->pdata[i])->spot, compare_spots);
  return all;
}

/* Fits ln y = ln a + b ln x by least squares. FALSE if the points do not follow such a line: fewer than three, all x
 * equal, or too far from it. */
static gboolean
fit (const Series *series, double *a, double *b)
{
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, spread, along;

  for (guint i = 0; i < series->spot->len; i++)
    {
      const Spot *spot = &g_array_index (series->spot, Spot, i);
      double u = log (spot->x), v = log (spot->y);

      if (!isfinite (v))
        continue;
      n++;
      sx += u;
      sy += v;
      sxx += u * u;
      sxy += u * v;
      syy += v * v;
    }
  spread = sxx - sx * sx / n;
  along = sxy - sx * sy / n;
  if (n < 3 || spread <= 1e-12 * sxx || along * along < FOLLOWS * spread * (syy - sy * sy / n))
    return FALSE;
  *b = along / spread;
  *a = exp ((sy - *b * sx) / n);
  return TRUE;
}

/* ---- drawing ------------------------------------------------------------------------- */

typedef struct
{
  double low, high; /* logarithms of an axis that has them */
  double from, to;  /* in the plot */
  gboolean is_log;
} Axis;

static double
on_axis (const Axis *axis, double value)
{
  return axis->is_log ? log10 (value) : value;
}

static void
stretch (Axis *axis, double value)
{
  if (!isfinite (value) || (axis->is_log && value <= 0))
    return;
  axis->low = MIN (axis->low, on_axis (axis, value));
  axis->high = MAX (axis->high, on_axis (axis, value));
}

/* What is beyond the axis is at its end, as is a value without a logarithm. */
static double
at (const Axis *axis, double value)
{
  const double v = axis->is_log && value <= 0 ? axis->low : MIN (axis->high, MAX (axis->low, on_axis (axis, value)));

  return axis->from + (v - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

/* An axis that no point is on has the length 1. */
static void
pad (Axis *axis)
{
  if (axis->high < axis->low)
    axis->low = axis->high = axis->is_log ? 0 : 0.5;
  double room = MAX (0.05 * (axis->high - axis->low), axis->is_log ? 0.02 : 0.02 * MAX (fabs (axis->high), 1e-3));

  axis->low -= room;
  axis->high += room;
}

static void
add_line (GString *s, double x1, double y1, double x2, double y2, const char *style)
{
  char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE], c[G_ASCII_DTOSTR_BUF_SIZE], d[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (s, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\" %s/>\n", svg_coordinate (x1, a),
                          svg_coordinate (y1, b), svg_coordinate (x2, c), svg_coordinate (y2, d), style);
}

static void
add_tick (GString *s, const Axis *axis, double value, gboolean is_x)
{
  const double place = at (axis, value);
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  if (on_axis (axis, value) < axis->low || on_axis (axis, value) > axis->high)
    return;
  g_ascii_formatd (text, sizeof text, is_x && value >= 1000 && value < 1e6 ? "%.0f" : "%.3g", value);
  if (is_x)
    {
      add_line (s, place, TOP, place, HEIGHT - BOTTOM, "stroke=\"#ddd\"");
      svg_add_text (s, place, HEIGHT - BOTTOM + 18, "text-anchor=\"middle\"", "%s", text);
    }
  else
    {
      add_line (s, LEFT, place, LEFT + FRAME, place, "stroke=\"#ddd\"");
      svg_add_text (s, LEFT - 8, place + 4, "text-anchor=\"end\"", "%s", text);
    }
}

/* Ticks of a logarithmic axis at 1, 2 and 5 times the powers of ten, more of them if the axis is short; of a linear one
 * at about six multiples of such a number. */
static void
add_ticks (GString *s, const Axis *axis, gboolean is_x)
{
  static const double coarse[] = { 1, 2, 5, 0 },
                      fine[] = { 1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 0 };
  const double *step = axis->high - axis->low < 0.7 ? fine : coarse;
  const double sixth = (axis->high - axis->low) / 6, power = pow (10, floor (log10 (sixth)));
  const double wide = power * (sixth < 1.5 * power ? 1 : sixth < 3 * power ? 2 : sixth < 7 * power ? 5 : 10);

  if (!axis->is_log)
    {
      for (double k = ceil (axis->low / wide); k * wide <= axis->high; k++)
        add_tick (s, axis, k == 0 ? 0 : k * wide, is_x); /* no “-0” */
      return;
    }
  for (int e = (int)floor (axis->low); e <= (int)ceil (axis->high); e++)
    for (guint i = 0; step[i] > 0; i++)
      add_tick (s, axis, step[i] * pow (10, e), is_x);
}

#define MOST_TICKS 10

/* Ticks at the values of the setting, such as batch sizes, if there are few. */
static void
add_x_ticks (GString *s, const Axis *axis, const GPtrArray *all)
{
  double value[MOST_TICKS];
  guint n = 0;

  for (guint i = 0; i < all->len; i++)
    for (guint k = 0; k < ((Series *)all->pdata[i])->spot->len; k++)
      {
        const double x = g_array_index (((Series *)all->pdata[i])->spot, Spot, k).x;
        gboolean is_new = TRUE;

        for (guint j = 0; j < n; j++)
          is_new = is_new && fabs (at (axis, value[j]) - at (axis, x)) > 0.5;
        if (is_new && n == MOST_TICKS)
          {
            add_ticks (s, axis, TRUE);
            return;
          }
        if (is_new)
          value[n++] = x;
      }
  for (guint j = 0; j < n; j++)
    add_tick (s, axis, value[j], TRUE);
}

static void
add_point (GString *s, double x, double y, const char *color)
{
  char cx[G_ASCII_DTOSTR_BUF_SIZE], cy[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (s, "<circle cx=\"%s\" cy=\"%s\" r=\"4\" fill=\"%s\"/>\n", svg_coordinate (x, cx),
                          svg_coordinate (y, cy), color);
}

static void
draw_series (GString *s, const Series *series, guint k, const Axis *x, const Axis *y)
{
  const char *color = colors[k % G_N_ELEMENTS (colors)];
  g_autofree char *solid = g_strdup_printf ("stroke=\"%s\" stroke-width=\"1.5\"", color);
  g_autofree char *dashed = g_strdup_printf ("stroke=\"%s\" stroke-dasharray=\"5 4\" clip-path=\"url(#frame)\"", color);
  g_autofree char *ink = g_strdup_printf ("fill=\"%s\"", color);
  const double row = TOP + 10 + 20 * (double)k;
  const Spot *before = NULL;
  double a, b, least = INFINITY, most = 0;

  for (guint i = 0; i < series->spot->len; i++)
    {
      const Spot *spot = &g_array_index (series->spot, Spot, i);
      const double left = at (x, spot->x);

      if (isnan (spot->y))
        {
          add_line (s, left - 4, TOP + 2, left + 4, TOP + 10, solid);
          add_line (s, left - 4, TOP + 10, left + 4, TOP + 2, solid);
          continue;
        }
      least = MIN (least, spot->x);
      most = MAX (most, spot->x);
      if (spot->spread > 0)
        add_line (s, left, at (y, spot->y - 2 * spot->spread), left, at (y, spot->y + 2 * spot->spread), solid);
      if (before != NULL)
        add_line (s, at (x, before->x), at (y, before->y), left, at (y, spot->y), solid);
      add_point (s, left, at (y, spot->y), color);
      before = spot;
    }
  if (y->is_log && fit (series, &a, &b))
    add_line (s, at (x, least), at (y, a * pow (least, b)), at (x, most), at (y, a * pow (most, b)), dashed);
  if (series->name[0] == '\0')
    return;
  add_point (s, LEFT + FRAME + NAMES / 2.0, row, color);
  svg_add_text (s, LEFT + FRAME + NAMES, row + 4, ink, "%s", series->name);
}

static char *
law_of (const Series *series)
{
  char first[G_ASCII_DTOSTR_BUF_SIZE], power[G_ASCII_DTOSTR_BUF_SIZE];
  double a, b;

  if (!fit (series, &a, &b))
    return NULL;
  return g_strdup_printf ("%s%sloss ≈ %s · x^%s", series->name, series->name[0] != '\0' ? ": " : "",
                          g_ascii_formatd (first, sizeof first, "%.4g", a),
                          g_ascii_formatd (power, sizeof power, "%.3f", b));
}

/* The limits of both axes, with all bars up to where y can be. */
static void
set_limits (const GPtrArray *all, const SweepQuantity *y, Axis axis[2])
{
  for (guint i = 0; i < all->len; i++)
    for (guint k = 0; k < ((Series *)all->pdata[i])->spot->len; k++)
      {
        const Spot *spot = &g_array_index (((Series *)all->pdata[i])->spot, Spot, k);
        const double bar = isnan (spot->spread) ? 0 : 2 * spot->spread;

        stretch (&axis[0], spot->x);
        stretch (&axis[1], spot->y);
        stretch (&axis[1], MIN (y->most, spot->y + bar));
        stretch (&axis[1], MAX (y->least, spot->y - bar));
      }
  pad (&axis[0]);
  pad (&axis[1]);
}

static guint
longest_name (const GPtrArray *all)
{
  glong longest = 0;

  for (guint i = 0; i < all->len; i++)
    longest = MAX (longest, g_utf8_strlen (((Series *)all->pdata[i])->name, -1));
  return (guint)longest;
}

/* Explains the marks that the plot has (transfer full). */
static char *
caption (const GPtrArray *all)
{
  gboolean bars = FALSE, crosses = FALSE;

  for (guint i = 0; i < all->len; i++)
    for (guint k = 0; k < ((Series *)all->pdata[i])->spot->len; k++)
      {
        const Spot *spot = &g_array_index (((Series *)all->pdata[i])->spot, Spot, k);

        bars = bars || spot->spread > 0;
        crosses = crosses || isnan (spot->y);
      }
  return g_strconcat (bars ? "Bars: two standard deviations of the runs in both directions. " : "",
                      crosses ? "Crosses: all runs failed." : "", NULL);
}

char *
sweep_plot (const Sweep *sweep, const char *x, const SweepQuantity *y, SweepBy by, GPtrArray *lines, GError **error)
{
  g_autoptr (GPtrArray) all = collect (sweep, x, y, by);
  g_autofree char *marks = caption (all);
  const guint names = longest_name (all), width = LEFT + FRAME + RIGHT + (names > 0 ? NAMES + LETTER * names : 0);
  GString *s;
  Axis axis[2]
      = { { INFINITY, -INFINITY, LEFT, LEFT + FRAME, TRUE }, { INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP, y->is_log } };

  if (all->len == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--x %s: no run has a number above 0 for it. Name a setting of --grid, --range or --case, or "
                   "“parameters”.",
                   x);
      return NULL;
    }
  set_limits (all, y, axis);
  s = g_string_new (NULL);
  g_string_append_printf (
      s,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%d\" viewBox=\"0 0 %u %d\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"%u\" height=\"%d\" fill=\"#fff\"/>\n"
      "<clipPath id=\"frame\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/></clipPath>\n",
      width, HEIGHT, width, HEIGHT, width, HEIGHT, LEFT, TOP, FRAME, HEIGHT - BOTTOM - TOP);
  add_x_ticks (s, &axis[0], all);
  add_ticks (s, &axis[1], FALSE);
  add_line (s, LEFT, HEIGHT - BOTTOM, LEFT + FRAME, HEIGHT - BOTTOM, "stroke=\"#000\"");
  add_line (s, LEFT, TOP, LEFT, HEIGHT - BOTTOM, "stroke=\"#000\"");
  svg_add_text (s, LEFT + FRAME / 2.0, HEIGHT - 22, "text-anchor=\"middle\"", "%s", x);
  svg_add_text (s, LEFT, HEIGHT - 6, "fill=\"#666\"", "%s", marks);
  svg_add_text (s, 16, (TOP + HEIGHT - BOTTOM) / 2.0, "text-anchor=\"middle\" transform=\"rotate(-90 16 220)\"", "%s",
                y->title);
  for (guint i = 0; i < all->len; i++)
    {
      char *law = y->is_log ? law_of (all->pdata[i]) : NULL;

      draw_series (s, all->pdata[i], i, &axis[0], &axis[1]);
      if (law != NULL)
        g_ptr_array_add (lines, law);
    }
  g_string_append (s, "</svg>\n");
  return g_string_free (s, FALSE);
}
