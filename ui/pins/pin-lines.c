/* Kinds that remember earlier steps: a number and its line, lines of norms, a histogram over time. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/pins/pin-kinds.h"
#include "ui/scene/studio-format.h"

#define ENDS_GAP 5. /* next to the numbers of a curve's ends */

/* Extrema of a column of the history; FALSE: no finite value. */
static gboolean
column_range (const PinHistory *h, gsize column, double *least, double *most)
{
  *least = INFINITY;
  *most = -INFINITY;
  for (gsize i = 0; i < h->step->len; i++)
    {
      const double v = pin_history_get (h, i)[column];

      if (!isfinite (v))
        continue;
      *least = MIN (*least, v);
      *most = MAX (*most, v);
    }
  return *least <= *most;
}

static double
x_of (const PinDrawing *d, const PinRect *room, gsize i)
{
  const gint64 first = pin_history_step (d->history, 0);
  const gint64 span = pin_history_step (d->history, d->history->step->len - 1) - first;

  return room->x + (span > 0 ? (double)(pin_history_step (d->history, i) - first) / (double)span : 0.5) * room->width;
}

static double
y_of (const PinDrawing *d, const PinRect *room, double least, double most, double v)
{
  if (d->colors == PIN_SCALE_LOG && least > 0 && most > least)
    return room->y + room->height * (1 - log (v / least) / log (most / least));
  return room->y + room->height * (most > least ? 1 - (v - least) / (most - least) : 0.5);
}

static void
draw_line (const PinDrawing *d, const PinRect *room, gsize column, double least, double most, guint color)
{
  gboolean is_down = FALSE;

  pin_curve_color (d, color, 1);
  cairo_set_line_width (d->cr, 1.6);
  cairo_set_line_join (d->cr, CAIRO_LINE_JOIN_ROUND);
  for (gsize i = 0; i < d->history->step->len; i++)
    {
      const double v = pin_history_get (d->history, i)[column];

      if (!isfinite (v))
        {
          is_down = FALSE;
          continue;
        }
      (is_down ? cairo_line_to : cairo_move_to) (d->cr, x_of (d, room, i), y_of (d, room, least, most, v));
      is_down = TRUE;
    }
  cairo_stroke (d->cr);
  /* One step alone has no line. */
  const gsize last = d->history->step->len - 1;
  const double v = pin_history_get (d->history, last)[column];
  if (isfinite (v))
    {
      cairo_arc (d->cr, x_of (d, room, last), y_of (d, room, least, most, v), 2.2, 0, 2 * G_PI);
      cairo_fill (d->cr);
    }
}

/* A hairline at the top and the bottom, with their numbers if there is space for them. */
static void
draw_ends (const PinDrawing *d, const PinRect *room, double least, double most)
{
  g_autofree char *low = studio_format_number (least), *high = studio_format_number (most);

  pin_ink (d, 0.15);
  cairo_set_line_width (d->cr, 1);
  for (int end = 0; end < 2; end++)
    {
      cairo_move_to (d->cr, room->x, floor (room->y + end * room->height) + 0.5);
      cairo_line_to (d->cr, room->x + room->width, floor (room->y + end * room->height) + 0.5);
    }
  cairo_stroke (d->cr);
  if (room->x - d->room.x < ENDS_GAP)
    return;
  const double width = room->x - d->room.x - 3, size = pin_pair_scale (d, low, high, width);
  pin_text (d, high, room->x - 3, room->y, 1, width, 0.72, size);
  if (room->height >= 0.9 * pin_line (d))
    pin_text (d, low, room->x - 3, room->y + room->height, 1, width, 0.72, size);
}

static double
ends_width (const PinDrawing *d, double least, double most)
{
  g_autofree char *low = studio_format_number (least), *high = studio_format_number (most);
  double a, b;

  pin_text_size (d, low, 1, &a, NULL);
  pin_text_size (d, high, 1, &b, NULL);
  const double width = d->room.width * 0.4;
  return MAX (a, b) * pin_least_type (d) + ENDS_GAP <= width ? MIN (MAX (a, b) + ENDS_GAP, width) : 0;
}

static void
draw_steps (const PinDrawing *d, const PinRect *room)
{
  const PinHistory *h = d->history;
  g_autofree char *first = studio_format_count ((double)pin_history_step (h, 0));
  g_autofree char *last = studio_format_count ((double)pin_history_step (h, h->step->len - 1));
  const double y = room->y + room->height + pin_line (d) * 0.75;

  const double size = pin_pair_scale (d, first, last, room->width / 2);
  if (h->step->len > 1)
    pin_text (d, first, room->x, y, 0, room->width / 2, 0.72, size);
  pin_text (d, last, room->x + room->width, y, 1, room->width / 2, 0.72, size);
}

/* "rises", "falls" or "is steady": the last tenth of the steps compared with the tenth before it. */
static const char *
trend (const PinHistory *h, gsize column)
{
  const gsize n = MAX (1, h->step->len / 10);
  double before = 0, now = 0, least, most;

  if (h->step->len < 4 || !column_range (h, column, &least, &most))
    return NULL;
  for (gsize i = 0; i < n; i++)
    {
      now += pin_history_get (h, h->step->len - 1 - i)[column];
      before += pin_history_get (h, h->step->len - 1 - n - i)[column];
    }
  if (!isfinite (now - before) || fabs (now - before) < 0.01 * (double)n * (most - least))
    return _ ("steady");
  return now > before ? _ ("rising") : _ ("falling");
}

/* "norm 0.41, falling, from 0.2 to 0.6 since step 1" */
static char *
describe_column (const PinHistory *h, const char *name, gsize column)
{
  double least, most;

  if (h->step->len == 0 || !column_range (h, column, &least, &most))
    return g_strdup_printf (_ ("%s: no number"), name);
  g_autofree char *now = studio_format_number (pin_history_get (h, h->step->len - 1)[column]);
  g_autofree char *low = studio_format_number (least), *high = studio_format_number (most);
  g_autofree char *first = studio_format_count ((double)pin_history_step (h, 0));
  const char *how = trend (h, column);

  /* Translators: a curve read aloud: name, value, trend (rising), least, greatest, first step. */
  return g_strdup_printf (_ ("%1$s %2$s, %3$s, from %4$s to %5$s since step %6$s"), name, now,
                          how != NULL ? how : _ ("no trend yet"), low, high, first);
}

static gint64
step_at (const PinDrawing *d, const PinRect *room, double x)
{
  gint64 found = -1;
  double nearest = INFINITY;

  for (gsize i = 0; i < d->history->step->len; i++)
    if (fabs (x_of (d, room, i) - x) < nearest)
      {
        nearest = fabs (x_of (d, room, i) - x);
        found = (gint64)i;
      }
  return x >= room->x - 6 && x <= room->x + room->width + 6 ? found : -1;
}

static char *
step_words (const PinHistory *h, gsize i)
{
  g_autofree char *step = studio_format_count ((double)pin_history_step (h, i));

  return g_strdup_printf (_ ("step %s"), step);
}

/* ---- a number --------------------------------------------------------------- */

static int
number_fits (const PinSubject *subject)
{
  gsize n = 1;

  for (gsize d = 0; d < subject->rank; d++)
    n *= (gsize)subject->dims[d];
  return subject->is_typed && n == 1 ? 9 : 0;
}

/* Next to the number, or below it if there is the height for both. */
static PinRect
number_line_room (const PinDrawing *d, double figure_width)
{
  const double figure = 1.7 * pin_line (d);
  PinRect room = d->room;

  if (room.height > 4 * pin_line (d))
    return (PinRect){ room.x, room.y + figure + 4, room.width, room.height - figure - 8 };
  return (PinRect){ room.x + figure_width + 10, room.y + 4, MAX (1, room.width - figure_width - 14), room.height - 8 };
}

static PinRect
number_room (const PinDrawing *d)
{
  g_autofree char *figure = studio_format_number (d->value->values[0]);
  double width;

  pin_text_size (d, figure, 1.5, &width, NULL);
  return number_line_room (d, width);
}

static void
number_draw (const PinDrawing *d)
{
  const PinRect room = number_room (d);
  g_autofree char *figure = studio_format_number (d->value->values[0]);
  double least, most;

  pin_text (d, figure, d->room.x, d->room.y + MIN (d->room.height / 2, pin_line (d) * 0.9), 0, d->room.width, 1, 1.5);
  if (d->history->step->len > 1 && room.width > 20 && column_range (d->history, 0, &least, &most))
    draw_line (d, &room, 0, least, most, 0);
}

static gint64
number_cell_at (const PinDrawing *d, double x, double y)
{
  const PinRect room = number_room (d);

  return step_at (d, &room, x);
}

static gboolean
number_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  const PinRect room = number_room (d);

  *rect = (PinRect){ x_of (d, &room, cell) - 1, room.y, 2, room.height };
  return TRUE;
}

static char *
number_describe (const PinDrawing *d)
{
  return describe_column (d->history, d->value->title, 0);
}

static char *
number_describe_cell (const PinDrawing *d, gsize cell)
{
  g_autofree char *step = step_words (d->history, cell);
  g_autofree char *number = studio_format_number (pin_history_get (d->history, cell)[0]);

  return g_strdup_printf ("%s: %s · %s", step, number, d->value->title);
}

static const char *const number_columns[] = { "value", NULL };

const StudioPinKind pin_number = {
  .name = "scalar",
  .title = N_ ("Number and line"),
  .width = 176,
  .height = 56,
  .lines = 1.7,
  .fits = number_fits,
  .n_whole = 2,
  .remembers = TRUE,
  .draw = number_draw,
  .cell_at = number_cell_at,
  .cell_rect = number_cell_rect,
  .describe = number_describe,
  .describe_cell = number_describe_cell,
  .columns = number_columns,
};

/* ---- norms -------------------------------------------------------------------- */

enum
{
  NORM,
  MEAN,
  DEVIATION,
  LEAST,
  MOST,
  N_NORMS
};

static int
summary_fits (const PinSubject *subject)
{
  if (subject->rank == 0)
    return 0;
  return subject->is_weight || subject->is_gradient ? 4 : 2;
}

static int
norms_fits (const PinSubject *subject)
{
  return summary_fits (subject) > 0 ? summary_fits (subject) - 1 : 0;
}

/* The norm above, the values from least to greatest with mean and deviation below. */
static void
norms_rooms (const PinDrawing *d, PinRect *norm, PinRect *band)
{
  const double line = pin_line (d), half = MAX (8, (d->room.height - 3.4 * line) / 2);
  double least, most, width = 0;

  if (column_range (d->history, NORM, &least, &most))
    width = ends_width (d, least, most);
  if (d->history->width > MOST && column_range (d->history, LEAST, &least, &most))
    width = MAX (width, ends_width (d, least, -least));
  *norm = (PinRect){ d->room.x + width, d->room.y + 1.2 * line, MAX (1, d->room.width - width - 4), half };
  *band = (PinRect){ norm->x, norm->y + half + 1.2 * line, norm->width, MAX (1, half - 0.2 * line) };
}

static void
draw_band (const PinDrawing *d, const PinRect *room, double least, double most)
{
  const PinHistory *h = d->history;

  cairo_new_path (d->cr);
  for (gsize i = 0; i < h->step->len; i++)
    cairo_line_to (d->cr, x_of (d, room, i),
                   y_of (d, room, least, most, pin_history_get (h, i)[MEAN] + pin_history_get (h, i)[DEVIATION]));
  for (gsize i = h->step->len; i > 0; i--)
    cairo_line_to (
        d->cr, x_of (d, room, i - 1),
        y_of (d, room, least, most, pin_history_get (h, i - 1)[MEAN] - pin_history_get (h, i - 1)[DEVIATION]));
  cairo_close_path (d->cr);
  pin_curve_color (d, 1, 0.25);
  cairo_fill (d->cr);
}

static void
norms_draw (const PinDrawing *d)
{
  const double line = pin_line (d);
  double least, most, a, b;
  PinRect norm, band;

  if (d->history->width != N_NORMS || !column_range (d->history, NORM, &least, &most))
    {
      pin_text (d, _ ("no numbers"), d->room.x, d->room.y + line, 0, d->room.width, 0.72, 1);
      return;
    }
  norms_rooms (d, &norm, &band);
  pin_text (d, _ ("norm"), norm.x, norm.y - 0.65 * line, 0, norm.width, 0.9, 1);
  draw_ends (d, &norm, least, most);
  draw_line (d, &norm, NORM, least, most, 0);
  column_range (d->history, LEAST, &least, &a);
  column_range (d->history, MOST, &b, &most);
  const char *title = _ ("mean ± deviation, extremes");
  if (!pin_text_fits (d, title, band.width / pin_least_type (d)))
    title = _ ("mean ± deviation");
  pin_text (d, title, band.x, band.y - 0.65 * line, 0, band.width, 0.9, 1);
  draw_ends (d, &band, least, most);
  draw_band (d, &band, least, most);
  draw_line (d, &band, LEAST, least, most, 2);
  draw_line (d, &band, MOST, least, most, 2);
  draw_line (d, &band, MEAN, least, most, 1);
  draw_steps (d, &band);
}

static gint64
norms_cell_at (const PinDrawing *d, double x, double y)
{
  PinRect norm, band;

  norms_rooms (d, &norm, &band);
  return step_at (d, &norm, x);
}

static gboolean
norms_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  PinRect norm, band;

  norms_rooms (d, &norm, &band);
  *rect = (PinRect){ x_of (d, &norm, cell) - 1, norm.y, 2, band.y + band.height - norm.y };
  return TRUE;
}

static char *
norms_describe (const PinDrawing *d)
{
  return describe_column (d->history, _ ("norm"), NORM);
}

static char *
norms_describe_cell (const PinDrawing *d, gsize cell)
{
  const float *v = pin_history_get (d->history, cell);
  g_autofree char *step = step_words (d->history, cell), *norm = studio_format_number (v[0]);

  if (d->history->width != N_NORMS)
    return g_steal_pointer (&step);
  g_autofree char *mean = studio_format_number (v[MEAN]), *deviation = studio_format_number (v[DEVIATION]);
  g_autofree char *low = studio_format_number (v[LEAST]), *high = studio_format_number (v[MOST]);
  return g_strdup_printf (_ ("%1$s: norm %2$s, mean %3$s ± %4$s, from %5$s to %6$s"), step, norm, mean, deviation, low,
                          high);
}

static const char *const norms_columns[] = { "norm", "mean", "deviation", "least", "greatest", NULL };

const StudioPinKind pin_norms = {
  .name = "norms",
  .title = N_ ("Norm lines"),
  .width = 176,
  .height = 176,
  .lines = 3.4,
  .fits = norms_fits,
  .summary = "norm:",
  .n_whole = 1,
  .remembers = TRUE,
  .draw = norms_draw,
  .cell_at = norms_cell_at,
  .cell_rect = norms_cell_rect,
  .describe = norms_describe,
  .describe_cell = norms_describe_cell,
  .columns = norms_columns,
};

/* ---- a histogram over time -------------------------------------------------------- */

#define FIRST_BIN 2 /* after the least and the greatest value */
#define ROWS      64

static gboolean
histogram_range (const PinHistory *h, double *least, double *most)
{
  double other;

  if (h->width <= FIRST_BIN || !column_range (h, 0, least, &other) || !column_range (h, 1, &other, most))
    return FALSE;
  if (!(*most > *least))
    {
      *least -= 0.5;
      *most += 0.5;
    }
  return TRUE;
}

/* Left, the steps; right, the newest one as bars. */
static void
histogram_rooms (const PinDrawing *d, PinRect *map, PinRect *bars)
{
  double least, most, width = 0;
  const double line = pin_line (d);

  if (histogram_range (d->history, &least, &most))
    width = ends_width (d, least, most);
  map->x = d->room.x + width;
  map->y = d->room.y + line / 2;
  map->height = MAX (8, d->room.height - 1.9 * line);
  map->width = MAX (1, (d->room.width - width) * 0.72);
  *bars = (PinRect){ map->x + map->width + 5, map->y, MAX (1, (d->room.width - width) * 0.28 - 6), map->height };
}

/* counts[ROWS]: those of step i in equal intervals of the whole range, from the top. */
static void
count_rows (const PinHistory *h, gsize i, double least, double most, double *counts)
{
  const float *v = pin_history_get (h, i);
  const gsize bins = h->width - FIRST_BIN;

  for (gsize r = 0; r < ROWS; r++)
    counts[r] = 0;
  for (gsize b = 0; b < bins; b++)
    {
      const double value = v[0] + ((double)b + 0.5) / (double)bins * (v[1] - v[0]);
      const double row = (most - value) / (most - least) * ROWS;

      if (isfinite (row))
        counts[CLAMP ((int)row, 0, ROWS - 1)] += v[FIRST_BIN + b];
    }
}

static void
draw_bars (const PinDrawing *d, const PinRect *room, double least, double most)
{
  double counts[ROWS], highest = 1;

  count_rows (d->history, d->cell >= 0 ? (gsize)d->cell : d->history->step->len - 1, least, most, counts);
  for (gsize r = 0; r < ROWS; r++)
    highest = MAX (highest, counts[r]);
  pin_curve_color (d, 0, 1);
  for (gsize r = 0; r < ROWS; r++)
    cairo_rectangle (d->cr, room->x, room->y + room->height * (double)r / ROWS, room->width * counts[r] / highest,
                     MAX (1, room->height / ROWS));
  cairo_fill (d->cr);
}

static void
histogram_draw (const PinDrawing *d)
{
  const gsize n = d->history->step->len;
  PinRange range = { .scale = PIN_SCALE_LOG };
  double least, most, counts[ROWS];
  PinRect map, bars;

  if (!histogram_range (d->history, &least, &most))
    {
      pin_text (d, _ ("no numbers"), d->room.x, d->room.y + pin_line (d), 0, d->room.width, 0.72, 1);
      return;
    }
  histogram_rooms (d, &map, &bars);
  g_autofree guint32 *pixels = g_new (guint32, n * ROWS);
  for (int pass = 0; pass < 2; pass++)
    for (gsize i = 0; i < n; i++)
      {
        count_rows (d->history, i, least, most, counts);
        for (gsize r = 0; r < ROWS; r++)
          if (pass == 0)
            range.most = MAX (range.most, counts[r]);
          else
            pixels[r * n + i] = counts[r] > 0 ? pin_range_color (&range, counts[r]) : 0;
      }
  pin_image (d, &map, ROWS, n, pixels);
  draw_ends (d, &map, least, most);
  draw_bars (d, &bars, least, most);
  if (least < 0 && most > 0)
    {
      const double y = floor (map.y + most / (most - least) * map.height) + 0.5;

      pin_ink (d, 0.3);
      cairo_set_line_width (d->cr, 1);
      cairo_move_to (d->cr, map.x, y);
      cairo_line_to (d->cr, bars.x + bars.width, y);
      cairo_stroke (d->cr);
      /* Not over the number of an end. */
      if (map.x - d->room.x >= ENDS_GAP && fabs (y - map.y) > 0.9 * pin_line (d)
          && fabs (y - map.y - map.height) > 0.9 * pin_line (d))
        pin_text (d, "0", map.x - 3, y, 1, map.x - d->room.x - 3, 0.72, 1);
    }
  draw_steps (d, &map);
}

static gint64
histogram_cell_at (const PinDrawing *d, double x, double y)
{
  const gsize n = d->history->step->len;
  PinRect map, bars;

  histogram_rooms (d, &map, &bars);
  const double i = (x - map.x) / map.width * (double)n;
  return i >= 0 && i < (double)n ? (gint64)i : -1;
}

static gboolean
histogram_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  const double n = (double)d->history->step->len;
  PinRect map, bars;

  histogram_rooms (d, &map, &bars);
  *rect = (PinRect){ map.x + map.width * (double)cell / n, map.y, map.width / n, map.height };
  return TRUE;
}

/* The interval with the most values. */
static char *
histogram_words (const PinHistory *h, gsize i)
{
  const float *v = pin_history_get (h, i);
  const gsize bins = h->width - FIRST_BIN;
  gsize best = 0;

  for (gsize b = 0; b < bins; b++)
    if (v[FIRST_BIN + b] > v[FIRST_BIN + best])
      best = b;
  g_autofree char *step = step_words (h, i);
  g_autofree char *low = studio_format_number (v[0]), *high = studio_format_number (v[1]);
  g_autofree char *peak = studio_format_number (v[0] + ((double)best + 0.5) / (double)bins * (v[1] - v[0]));
  return g_strdup_printf (_ ("%1$s: from %2$s to %3$s, most values near %4$s"), step, low, high, peak);
}

static char *
histogram_describe (const PinDrawing *d)
{
  if (d->history->step->len == 0 || d->history->width <= FIRST_BIN)
    return g_strdup (_ ("no numbers"));
  return histogram_words (d->history, d->history->step->len - 1);
}

static char *
histogram_describe_cell (const PinDrawing *d, gsize cell)
{
  return d->history->width > FIRST_BIN ? histogram_words (d->history, cell) : step_words (d->history, cell);
}

static const char *const histogram_columns[] = { "least", "greatest", NULL };

const StudioPinKind pin_histogram = {
  .name = "histogram",
  .title = N_ ("Histogram over time"),
  .width = 176,
  .height = 176,
  .lines = 1.5,
  .fits = summary_fits,
  .summary = "bins:",
  .n_whole = 1,
  .remembers = TRUE,
  .draw = histogram_draw,
  .cell_at = histogram_cell_at,
  .cell_rect = histogram_cell_rect,
  .describe = histogram_describe,
  .describe_cell = histogram_describe_cell,
  .columns = histogram_columns,
};
