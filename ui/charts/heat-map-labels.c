/* Labels on the axes of a heat map.
 *
 * Labels take space from the cells, at most a third of a side, so that a pin has the same size with and without them.
 * They shrink to 7 pixels if rows are low; if they still do not fit, every second, third … label is drawn. Column
 * labels are upright as soon as one is wider than its column. */
#include "ui/charts/heat-map-labels.h"

#include <math.h>
#include <pango/pangocairo.h>
#include <string.h>

#include "engine/loom.h"
#include "ui/drawing/chart-text.h"

#define LARGEST_SHARE 0.34 /* of a side, for labels */
#define LINE          13.  /* pixels of a line of text at scale 1 */
#define LEAST_SCALE   0.62
#define GAP           3.

static char *
visible (const char *word)
{
  static const struct
  {
    const char *word, *sign;
  } signs[] = { { " ", "␣" }, { "\n", "↵" }, { "\t", "⇥" }, { LOOM_PADDING_NAME, "·" }, { LOOM_END_NAME, "∎" } };

  for (guint i = 0; i < G_N_ELEMENTS (signs); i++)
    if (strcmp (word, signs[i].word) == 0)
      return g_strdup (signs[i].sign);
  return g_strdup (word);
}

static char **
visible_words (const char *const *words)
{
  const guint n = words != NULL ? g_strv_length ((char **)words) : 0;
  char **copy = words != NULL ? g_new0 (char *, n + 1) : NULL;

  for (guint i = 0; i < n; i++)
    copy[i] = visible (words[i]);
  return copy;
}

void
heat_map_labels_clear (HeatMapLabels *self)
{
  g_clear_pointer (&self->rows, g_strfreev);
  g_clear_pointer (&self->columns, g_strfreev);
}

void
heat_map_labels_set (HeatMapLabels *self, const char *const *rows, const char *const *columns)
{
  heat_map_labels_clear (self);
  self->rows = visible_words (rows);
  self->columns = visible_words (columns);
}

/* The label of row or column i of n; NULL: none. */
static const char *
label_of (char *const *words, guint n, guint i)
{
  return words != NULL && g_strv_length ((char **)words) == n && i < n ? words[i] : NULL;
}

static void
measure_word (PangoContext *context, double scale, const char *word, int *width, int *height)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (context, scale, FALSE, word);

  pango_layout_get_pixel_size (layout, width, height);
}

/* The width of the widest label; 0 if their number is not n. */
static double
widest (PangoContext *context, double scale, char *const *words, guint n)
{
  int most = 0, width;

  if (label_of (words, n, 0) == NULL)
    return 0;
  for (guint i = 0; i < n; i++)
    {
      measure_word (context, scale, words[i], &width, NULL);
      most = MAX (most, width);
    }
  return most;
}

/* The scale of labels that are side by side in cells of this size, and the stride of those that are drawn. */
static double
scale_for (double scale, double cell, guint *stride)
{
  const double fitting = CLAMP (cell / LINE, LEAST_SCALE * scale, scale);

  *stride = (guint)MAX (1, ceil (fitting * LINE / MAX (cell, 0.01) - 0.01));
  return fitting;
}

HeatMapCells
heat_map_labels_fit (const HeatMapLabels *self, PangoContext *context, double scale, guint rows, guint columns,
                     double width, double height)
{
  HeatMapCells c = { .width = width, .height = height, .row_stride = 1, .column_stride = 1 };
  double row_width, column_width;

  c.row_scale = scale_for (scale, height * (1 - LARGEST_SHARE / 2) / MAX (rows, 1), &c.row_stride);
  row_width = widest (context, c.row_scale, self->rows, rows);
  if (row_width > 0)
    c.x = MIN (row_width + GAP, width * LARGEST_SHARE);
  else
    c.row_scale = 0;
  c.width -= c.x;
  c.column_scale = scale_for (scale, c.width / MAX (columns, 1), &c.column_stride);
  column_width = widest (context, c.column_scale, self->columns, columns);
  c.turned = column_width > c.column_stride * c.width / MAX (columns, 1);
  if (column_width > 0)
    c.y = MIN (c.turned ? column_width + GAP : LINE * c.column_scale + 1, height * LARGEST_SHARE);
  else
    c.column_scale = 0;
  c.height -= c.y;
  if (row_width > 0)
    c.row_scale = scale_for (MAX (c.row_scale, LEAST_SCALE * scale), c.height / MAX (rows, 1), &c.row_stride);
  return c;
}

/* Draws a label whose end, or middle, is at x, y; turned: upwards. */
static void
draw_word (PangoContext *context, double scale, const char *word, double x, double y, double room, gboolean turned,
           double align, cairo_t *cr)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (context, scale, FALSE, word);
  int width, height;

  pango_layout_get_pixel_size (layout, &width, &height);
  if (width > room)
    {
      pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
      pango_layout_set_width (layout, (int)(room * PANGO_SCALE));
      width = (int)room;
    }
  cairo_save (cr);
  cairo_translate (cr, x, y);
  if (turned)
    cairo_rotate (cr, -G_PI / 2);
  cairo_move_to (cr, -align * width, -height / 2.);
  pango_cairo_show_layout (cr, layout);
  cairo_restore (cr);
}

void
heat_map_labels_draw (const HeatMapLabels *self, PangoContext *context, const HeatMapCells *c, guint rows,
                      guint columns, cairo_t *cr)
{
  const double high = c->height / MAX (rows, 1), wide = c->width / MAX (columns, 1);

  for (guint r = 0; c->row_scale > 0 && r < rows; r += c->row_stride)
    draw_word (context, c->row_scale, self->rows[r], c->x - GAP, c->y + (r + 0.5) * high, c->x - GAP, FALSE, 1, cr);
  for (guint i = 0; c->column_scale > 0 && i < columns; i += c->column_stride)
    draw_word (context, c->column_scale, self->columns[i], c->x + (i + 0.5) * wide,
               c->turned ? c->y - GAP + 1 : c->y / 2, c->turned ? c->y - GAP : c->width, c->turned, c->turned ? 0 : 0.5,
               cr);
}
