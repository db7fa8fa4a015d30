/* Plots the loss against one setting of a sweep as SVG: both axes are logarithmic, so a power law is a straight line
 * (Kaplan et al. 2020). Each of the other settings is a series, with bars for the spread and the line of least squares
 * of its logarithms. */
#include "app/lab/sweep.h"

#include <math.h>
#include <string.h>

#define WIDTH  720
#define HEIGHT 480
#define LEFT   80
#define RIGHT  20
#define TOP    20
#define BOTTOM 60

/* Colours that colour-blind people can distinguish (Okabe and Ito). */
static const char *const colors[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000" };

typedef struct
{
  double x, y, spread; /* NaN: of one run */
} Spot;

typedef struct
{
  char *name;
  GArray *spot; /* Spot */
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

static GPtrArray *
collect (const Sweep *sweep, const char *x, SweepBy by)
{
  GPtrArray *all = g_ptr_array_new_with_free_func (series_free);

  for (guint p = 0; p < sweep->points->len; p++)
    {
      SweepFigure loss = sweep_figure (sweep, p, by, sweep_loss);
      Spot spot = { place_of (sweep, p, x, by), loss.mean, loss.spread };

      if (isfinite (spot.x) && loss.n > 0 && spot.y > 0)
        g_array_append_val (find_series (all, sweep, p, x, by)->spot, spot);
    }
  return all;
}

/* Fits ln y = ln a + b ln x by least squares; FALSE if all x are equal. */
static gboolean
fit (const Series *series, double *a, double *b)
{
  double n = series->spot->len, sx = 0, sy = 0, sxx = 0, sxy = 0, spread;

  for (guint i = 0; i < series->spot->len; i++)
    {
      const Spot *spot = &g_array_index (series->spot, Spot, i);
      double u = log (spot->x), v = log (spot->y);

      sx += u;
      sy += v;
      sxx += u * u;
      sxy += u * v;
    }
  spread = sxx - sx * sx / n;
  if (spread <= 1e-12 * sxx)
    return FALSE;
  *b = (sxy - sx * sy / n) / spread;
  *a = exp ((sy - *b * sx) / n);
  return TRUE;
}

/* ---- drawing ------------------------------------------------------------------------- */

typedef struct
{
  double low, high; /* logarithms */
  double from, to;  /* in the plot */
} Axis;

static void
stretch (Axis *axis, double value)
{
  if (!(value > 0))
    return;
  axis->low = MIN (axis->low, log10 (value));
  axis->high = MAX (axis->high, log10 (value));
}

static double
at (const Axis *axis, double value)
{
  return axis->from + (log10 (value) - axis->low) / (axis->high - axis->low) * (axis->to - axis->from);
}

static void
pad (Axis *axis)
{
  double room = MAX (0.04 * (axis->high - axis->low), 0.02);

  axis->low -= room;
  axis->high += room;
}

static const char *
digits (char *to, double x)
{
  return g_ascii_formatd (to, G_ASCII_DTOSTR_BUF_SIZE, "%.2f", x);
}

static void
add_line (GString *s, double x1, double y1, double x2, double y2, const char *style)
{
  char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE], c[G_ASCII_DTOSTR_BUF_SIZE], d[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_printf (s, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\" %s/>\n", digits (a, x1), digits (b, y1),
                          digits (c, x2), digits (d, y2), style);
}

static void
add_text (GString *s, double x, double y, const char *style, const char *text)
{
  char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  g_string_append_printf (s, "<text x=\"%s\" y=\"%s\" %s>%s</text>\n", digits (a, x), digits (b, y), style, escaped);
}

/* Ticks at 1, 2 and 5 times the powers of ten; more of them if the axis is short. */
static void
add_ticks (GString *s, const Axis *axis, gboolean is_x)
{
  static const double coarse[] = { 1, 2, 5, 0 },
                      fine[] = { 1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 0 };
  const double *step = axis->high - axis->low < 0.7 ? fine : coarse;

  for (int e = (int)floor (axis->low); e <= (int)ceil (axis->high); e++)
    for (guint i = 0; step[i] > 0; i++)
      {
        double value = step[i] * pow (10, e), place = at (axis, value);
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        if (log10 (value) < axis->low || log10 (value) > axis->high)
          continue;
        g_ascii_formatd (text, sizeof text, "%.3g", value);
        if (is_x)
          {
            add_line (s, place, TOP, place, HEIGHT - BOTTOM, "stroke=\"#ddd\"");
            add_text (s, place, HEIGHT - BOTTOM + 18, "text-anchor=\"middle\"", text);
          }
        else
          {
            add_line (s, LEFT, place, WIDTH - RIGHT, place, "stroke=\"#ddd\"");
            add_text (s, LEFT - 8, place + 4, "text-anchor=\"end\"", text);
          }
      }
}

static void
draw_series (GString *s, const Series *series, guint k, const Axis *x, const Axis *y)
{
  const char *color = colors[k % G_N_ELEMENTS (colors)];
  g_autofree char *solid = g_strdup_printf ("stroke=\"%s\" stroke-width=\"1.5\"", color);
  g_autofree char *dashed = g_strdup_printf ("stroke=\"%s\" stroke-dasharray=\"5 4\"", color);
  g_autofree char *ink = g_strdup_printf ("text-anchor=\"end\" fill=\"%s\"", color);
  double a, b, least = INFINITY, most = 0;

  for (guint i = 0; i < series->spot->len; i++)
    {
      const Spot *spot = &g_array_index (series->spot, Spot, i);
      char cx[G_ASCII_DTOSTR_BUF_SIZE], cy[G_ASCII_DTOSTR_BUF_SIZE];

      least = MIN (least, spot->x);
      most = MAX (most, spot->x);
      if (spot->spread > 0 && spot->spread < spot->y)
        add_line (s, at (x, spot->x), at (y, spot->y - spot->spread), at (x, spot->x), at (y, spot->y + spot->spread),
                  solid);
      g_string_append_printf (s, "<circle cx=\"%s\" cy=\"%s\" r=\"4\" fill=\"%s\"/>\n", digits (cx, at (x, spot->x)),
                              digits (cy, at (y, spot->y)), color);
    }
  if (fit (series, &a, &b))
    add_line (s, at (x, least), at (y, a * pow (least, b)), at (x, most), at (y, a * pow (most, b)), dashed);
  add_text (s, WIDTH - RIGHT - 8, TOP + 18 + 18 * (double)k, ink, series->name);
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

char *
sweep_plot (const Sweep *sweep, const char *x, SweepBy by, GPtrArray *lines, GError **error)
{
  g_autoptr (GPtrArray) all = collect (sweep, x, by);
  GString *s;
  Axis axis[2] = { { INFINITY, -INFINITY, LEFT, WIDTH - RIGHT }, { INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP } };

  if (all->len == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--x %s: no run has a number above 0 for it and a loss above 0. Name a setting of --grid, --range "
                   "or --case, or “parameters”.",
                   x);
      return NULL;
    }
  for (guint i = 0; i < all->len; i++)
    for (guint k = 0; k < ((Series *)all->pdata[i])->spot->len; k++)
      {
        const Spot *spot = &g_array_index (((Series *)all->pdata[i])->spot, Spot, k);

        stretch (&axis[0], spot->x);
        stretch (&axis[1], spot->y);
        stretch (&axis[1], spot->y + (isnan (spot->spread) ? 0 : spot->spread));
        stretch (&axis[1], spot->y - (isnan (spot->spread) || spot->spread >= spot->y ? 0 : spot->spread));
      }
  pad (&axis[0]);
  pad (&axis[1]);
  s = g_string_new (NULL);
  g_string_append_printf (
      s,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
      WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
  add_ticks (s, &axis[0], TRUE);
  add_ticks (s, &axis[1], FALSE);
  add_line (s, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "stroke=\"#000\"");
  add_line (s, LEFT, TOP, LEFT, HEIGHT - BOTTOM, "stroke=\"#000\"");
  add_text (s, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, "text-anchor=\"middle\"", x);
  add_text (s, 16, (TOP + HEIGHT - BOTTOM) / 2.0, "text-anchor=\"middle\" transform=\"rotate(-90 16 210)\"", "loss");
  for (guint i = 0; i < all->len; i++)
    {
      char *law = law_of (all->pdata[i]);

      draw_series (s, all->pdata[i], i, &axis[0], &axis[1]);
      if (law != NULL)
        g_ptr_array_add (lines, law);
    }
  g_string_append (s, "</svg>\n");
  return g_string_free (s, FALSE);
}
