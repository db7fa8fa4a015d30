/* Shared drawing of pins; see the header. */
#include "ui/pins/pin-paint.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/drawing/chart-text.h"
#include "ui/charts/studio-colormap.h"
#include "ui/scene/studio-format.h"

#define TYPE             11. /* px, of chart_text_layout() */
#define LEAST_TYPE       10.
#define LEGEND_HEIGHT    18.
#define LEGEND_BAR       6.
#define MAX_VECTOR_CELLS 16384
#define MAX_SIDE         8192
#define LOG_RANGE        1e3 /* between the greatest value and what looks like 0 */

static const char *const scale_words[PIN_N_SCALES] = { "linear", "log", "row" };

const char *
pin_scale_word (PinScale scale)
{
  return scale_words[scale];
}

PinScale
pin_scale_find (const char *word)
{
  for (guint i = 0; i < PIN_N_SCALES; i++)
    if (g_strcmp0 (scale_words[i], word) == 0)
      return (PinScale)i;
  return PIN_SCALE_LINEAR;
}

/* ---- text ---------------------------------------------------------------- */

double
pin_line (const PinDrawing *d)
{
  return PIN_LINE * d->scale;
}

void
pin_ink (const PinDrawing *d, double alpha)
{
  const double ink = d->dark ? 1 : 0.14;

  cairo_set_source_rgba (d->cr, ink, ink, ink, alpha);
}

void
pin_text_size (const PinDrawing *d, const char *text, double scale, double *width, double *height)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (d->context, d->scale * scale, FALSE, text);
  int w, h;

  pango_layout_get_pixel_size (layout, &w, &h);
  *width = w;
  if (height != NULL)
    *height = h;
}

double
pin_least_type (const PinDrawing *d)
{
  return MIN (1, LEAST_TYPE / (TYPE * d->scale));
}

gboolean
pin_text_fits (const PinDrawing *d, const char *text, double most)
{
  double width;

  pin_text_size (d, text, 1, &width, NULL);
  return width <= most;
}

/* The widths of glyphs are whole pixels, so they are not proportional to the scale. */
double
pin_text_scale (const PinDrawing *d, const char *text, double scale, double most)
{
  const double least = MIN (scale, pin_least_type (d));
  double width;

  pin_text_size (d, text, scale, &width, NULL);
  for (double s = scale * most / width; width > most && scale > least; s = scale * 0.96)
    {
      scale = MAX (s, least);
      pin_text_size (d, text, scale, &width, NULL);
    }
  return scale;
}

double
pin_pair_scale (const PinDrawing *d, const char *a, const char *b, double most)
{
  return MIN (pin_text_scale (d, a, 1, most), pin_text_scale (d, b, 1, most));
}

void
pin_text (const PinDrawing *d, const char *text, double x, double y, double align, double most, double alpha,
          double scale)
{
  g_autoptr (PangoLayout) layout
      = chart_text_layout (d->context, d->scale * pin_text_scale (d, text, scale, most), scale > 1, text);

  pin_ink (d, alpha);
  chart_text_draw (d->cr, layout, x, y, align, most);
}

const char *
pin_token (const char *word)
{
  static const char *const signs[][2]
      = { { " ", "␣" }, { "\n", "↵" }, { "\t", "⇥" }, { LOOM_PADDING_NAME, "·" }, { LOOM_END_NAME, "∎" } };

  for (guint i = 0; i < G_N_ELEMENTS (signs); i++)
    if (strcmp (word, signs[i][0]) == 0)
      return signs[i][1];
  return word;
}

/* ---- colours --------------------------------------------------------------- */

PinRange
pin_range (const float *values, gsize n, PinScale scale)
{
  PinRange range = { .least = INFINITY, .most = -INFINITY, .scale = scale };

  for (gsize i = 0; i < n; i++)
    if (isfinite (values[i]))
      {
        range.least = MIN (range.least, values[i]);
        range.most = MAX (range.most, values[i]);
      }
  if (range.least > range.most)
    range.least = range.most = NAN;
  range.is_signed = range.least < 0 && range.most > 0;
  if (range.is_signed)
    {
      range.most = MAX (range.most, -range.least);
      range.least = -range.most;
    }
  return range;
}

/* From 0…1 to 0…1. */
static double
compress (const PinRange *range, double t)
{
  return range->scale == PIN_SCALE_LOG ? log1p (t * LOG_RANGE) / log1p (LOG_RANGE) : t;
}

guint32
pin_range_color (const PinRange *range, double v)
{
  if (!isfinite (v))
    return studio_colormap (NAN);
  if (range->is_signed)
    return studio_colormap_signed (copysign (compress (range, fabs (v) / range->most), v));
  if (!(range->most > range->least))
    return studio_colormap (0.5);
  return studio_colormap (compress (range, CLAMP ((v - range->least) / (range->most - range->least), 0, 1)));
}

static void
set_rgb (const PinDrawing *d, guint32 rgb, double alpha)
{
  cairo_set_source_rgba (d->cr, (rgb >> 16 & 255) / 255., (rgb >> 8 & 255) / 255., (rgb & 255) / 255., alpha);
}

void
pin_curve_color (const PinDrawing *d, guint i, double alpha)
{
  static const guint32 light[] = { 0x1a5fb4, 0xa34800, 0x5e5c64, 0x0b6e69 },
                       dark[] = { 0x99c1f1, 0xffa348, 0xc0bfbc, 0x5bc8af };

  set_rgb (d, (d->dark ? dark : light)[i % G_N_ELEMENTS (light)], alpha);
}

double
pin_legend_height (const PinDrawing *d)
{
  return LEGEND_HEIGHT * d->scale;
}

/* As many decimals as distinguish the ends of the range: there is no space for more. */
static char *
short_number (double v, double range)
{
  const char *format = range >= 100 ? "%.0f" : range >= 10 ? "%.1f" : range >= 0.1 ? "%.2f" : "%.2g";
  g_autofree char *text = g_strdup_printf (format, v);

  return studio_format_local (text);
}

void
pin_legend (const PinDrawing *d, const PinRange *range)
{
  const double y = d->room.y + d->room.height - LEGEND_HEIGHT * d->scale / 2 + 1, span = range->most - range->least;
  const double width = d->room.width * 0.36, left = d->room.x + (d->room.width - width) / 2;
  g_autofree char *low = short_number (range->least, span), *high = short_number (range->most, span);

  /* Each row has a range of its own, so that a colour is no number of the picture. */
  if (range->scale == PIN_SCALE_ROW)
    {
      g_autofree char *text = g_strdup_printf (_ ("each row by itself, all from %1$s to %2$s"), low, high);

      pin_text (d, text, d->room.x + d->room.width / 2, y, 0.5, d->room.width, 0.8, 1);
      return;
    }
  const double side = d->room.width * 0.3 / pin_least_type (d);
  const gboolean has_bar = pin_text_fits (d, low, side) && pin_text_fits (d, high, side);
  /* A number that is cut says nothing, so numbers take the place of the bar. */
  const double most = d->room.width * (has_bar ? 0.3 : 0.5);
  const double size = pin_pair_scale (d, low, high, most);
  pin_text (d, low, d->room.x, y, 0, most, 0.8, size);
  pin_text (d, high, d->room.x + d->room.width, y, 1, most, 0.8, size);
  if (!has_bar)
    return;
  for (int i = 0; i < (int)width; i++)
    {
      set_rgb (d, pin_range_color (range, range->least + span * i / (width - 1)), 1);
      cairo_rectangle (d->cr, left + i, y - LEGEND_BAR * d->scale / 2, 1.2, LEGEND_BAR * d->scale);
      cairo_fill (d->cr);
    }
  pin_ink (d, 0.3);
  cairo_set_line_width (d->cr, 1);
  cairo_rectangle (d->cr, floor (left) - 0.5, floor (y - LEGEND_BAR * d->scale / 2) - 0.5, width + 2,
                   LEGEND_BAR * d->scale + 1);
  cairo_stroke (d->cr);
}

/* ---- cells ------------------------------------------------------------------- */

static void
fill_cells (const PinDrawing *d, const PinRect *at, gsize rows, gsize columns, const guint32 *pixels)
{
  const double w = at->width / (double)columns, h = at->height / (double)rows;

  for (gsize i = 0; i < rows * columns; i++)
    {
      if (pixels[i] == 0)
        continue;
      set_rgb (d, pixels[i], 1);
      cairo_rectangle (d->cr, at->x + (double)(i % columns) * w, at->y + (double)(i / columns) * h, w, h);
      cairo_fill (d->cr);
    }
}

/* The step between the cells that are drawn: images are limited to more pixels than a screen has. */
static gsize
stride_of (gsize n)
{
  return (n + MAX_SIDE - 1) / MAX_SIDE;
}

void
pin_image (const PinDrawing *d, const PinRect *at, gsize rows, gsize columns, const guint32 *pixels)
{
  if (d->vector && rows * columns <= MAX_VECTOR_CELLS)
    {
      fill_cells (d, at, rows, columns, pixels);
      return;
    }
  const gsize down = stride_of (rows), right = stride_of (columns);
  const int h = (int)((rows + down - 1) / down), w = (int)((columns + right - 1) / right);
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_ARGB32, w, h);
  cairo_surface_flush (image);
  for (int r = 0; r < h; r++)
    {
      guint32 *line = (guint32 *)(void *)(cairo_image_surface_get_data (image)
                                          + (gsize)r * (gsize)cairo_image_surface_get_stride (image));
      for (int c = 0; c < w; c++)
        line[c] = pixels[(gsize)r * down * columns + (gsize)c * right];
    }
  cairo_surface_mark_dirty (image);
  cairo_save (d->cr);
  cairo_translate (d->cr, at->x, at->y);
  cairo_scale (d->cr, at->width / w, at->height / h);
  cairo_set_source_surface (d->cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (d->cr), CAIRO_FILTER_NEAREST);
  cairo_rectangle (d->cr, 0, 0, w, h);
  cairo_fill (d->cr);
  cairo_restore (d->cr);
  cairo_surface_destroy (image);
}

void
pin_mark (const PinDrawing *d, const PinRect *at)
{
  const double least = 3;
  PinRect r = *at;

  if (r.width < least)
    r = (PinRect){ r.x - (least - r.width) / 2, r.y, least, r.height };
  if (r.height < least)
    r = (PinRect){ r.x, r.y - (least - r.height) / 2, r.width, least };
  /* Two lines, so that one of them differs from every colour of a map. */
  cairo_set_line_width (d->cr, 3);
  cairo_set_source_rgb (d->cr, 1, 1, 1);
  cairo_rectangle (d->cr, r.x, r.y, r.width, r.height);
  cairo_stroke (d->cr);
  cairo_set_line_width (d->cr, 1.5);
  cairo_set_source_rgb (d->cr, 0, 0, 0);
  cairo_rectangle (d->cr, r.x, r.y, r.width, r.height);
  cairo_stroke (d->cr);
}

/* ---- tiles ------------------------------------------------------------------- */

static double
cell_for (gsize n, gsize rows, gsize columns, gsize across, const PinRect *room)
{
  const gsize down = (n + across - 1) / across;

  return MIN (room->width / (double)(across * (columns + 1) - 1), room->height / (double)(down * (rows + 1) - 1));
}

PinTiles
pin_tiles_fit (gsize n, gsize rows, gsize columns, gsize across, const PinRect *room)
{
  PinTiles tiles = { .n = n, .rows = rows, .columns = columns, .across = MAX (across, 1) };

  for (gsize k = 1; across == 0 && k <= n; k++)
    if (cell_for (n, rows, columns, k, room) > cell_for (n, rows, columns, tiles.across, room) * 1.0001)
      tiles.across = k;
  tiles.down = (n + tiles.across - 1) / tiles.across;
  tiles.width = tiles.height = cell_for (n, rows, columns, tiles.across, room);
  tiles.at.width = tiles.width * (double)(tiles.across * (columns + 1) - 1);
  tiles.at.height = tiles.height * (double)(tiles.down * (rows + 1) - 1);
  tiles.at.x = room->x + (room->width - tiles.at.width) / 2;
  tiles.at.y = room->y + (room->height - tiles.at.height) / 2;
  return tiles;
}

void
pin_tiles_draw (const PinDrawing *d, const PinTiles *t, const float *values, const PinRange *range)
{
  const gsize w = t->across * (t->columns + 1) - 1, h = t->down * (t->rows + 1) - 1;
  g_autofree guint32 *pixels = g_new0 (guint32, w * h);

  for (gsize k = 0; k < t->n; k++)
    for (gsize r = 0; r < t->rows; r++)
      {
        const float *row = values + (k * t->rows + r) * t->columns;
        const PinRange own = range->scale == PIN_SCALE_ROW ? pin_range (row, t->columns, PIN_SCALE_ROW) : *range;
        guint32 *line = pixels + (k / t->across * (t->rows + 1) + r) * w + k % t->across * (t->columns + 1);

        for (gsize c = 0; c < t->columns; c++)
          line[c] = pin_range_color (&own, row[c]);
      }
  pin_image (d, &t->at, h, w, pixels);
}

PinRect
pin_tiles_tile (const PinTiles *t, gsize tile)
{
  const double column = (double)(tile % t->across * (t->columns + 1)), row = (double)(tile / t->across * (t->rows + 1));

  return (PinRect){ t->at.x + column * t->width, t->at.y + row * t->height, (double)t->columns * t->width,
                    (double)t->rows * t->height };
}

PinRect
pin_tiles_cell (const PinTiles *t, gsize cell)
{
  const gsize tile = cell / (t->rows * t->columns), rest = cell % (t->rows * t->columns);
  PinRect at = pin_tiles_tile (t, tile);

  return (PinRect){ at.x + (double)(rest % t->columns) * t->width, at.y + (double)(rest / t->columns) * t->height,
                    t->width, t->height };
}

gint64
pin_tiles_tile_at (const PinTiles *t, double x, double y)
{
  const double column = (x - t->at.x) / t->width, row = (y - t->at.y) / t->height;

  if (!(column >= 0 && row >= 0 && x < t->at.x + t->at.width && y < t->at.y + t->at.height))
    return -1;
  const gsize tile = (gsize)row / (t->rows + 1) * t->across + (gsize)column / (t->columns + 1);
  return tile < t->n ? (gint64)tile : -1;
}

gint64
pin_tiles_at (const PinTiles *t, double x, double y)
{
  const gint64 tile = pin_tiles_tile_at (t, x, y);
  const PinRect at = tile >= 0 ? pin_tiles_tile (t, (gsize)tile) : (PinRect){ 0 };
  const double column = (x - at.x) / t->width, row = (y - at.y) / t->height;

  if (tile < 0 || column >= (double)t->columns || row >= (double)t->rows)
    return -1;
  return (gint64)(((gsize)tile * t->rows + (gsize)row) * t->columns + (gsize)column);
}
