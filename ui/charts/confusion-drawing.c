/* The colour of a cell is the fraction of the row in both forms, because counts of large classes would hide the
 * mistakes in small ones. */
#include "ui/charts/confusion-drawing.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/drawing/chart-text.h"
#include "ui/charts/studio-colormap.h"
#include "ui/scene/studio-format.h"

#define LEAST_TEXT_CELL 22 /* a narrower cell has no number */
#define MOST_NAME       80
#define AXIS            16

char *
confusion_drawing_name (const ConfusionDrawing *d, guint k)
{
  return d->names != NULL && k < g_strv_length ((char **)d->names) ? g_strdup (d->names[k]) : g_strdup_printf ("%u", k);
}

double
confusion_drawing_share (const LoomConfusion *is, guint row, guint column)
{
  const gint64 all = loom_confusion_row (is, row);

  return all > 0 ? (double)loom_confusion_at (is, row, column) / (double)all : 0;
}

static double
names_width (const ConfusionDrawing *d)
{
  double width = 0;

  for (guint k = 0; k < d->is->n_classes; k++)
    {
      g_autofree char *name = confusion_drawing_name (d, k);
      g_autoptr (PangoLayout) layout = chart_text_layout (d->context, d->scale, FALSE, name);
      width = MAX (width, chart_text_draw (NULL, layout, 0, 0, 0, MOST_NAME * d->scale));
    }
  return width + 6;
}

/* Names of columns are slanted below. */
double
confusion_drawing_height (const ConfusionDrawing *d, double width)
{
  const double left = names_width (d);

  return width - left - 2 + AXIS * d->scale + 0.75 * left + 4;
}

ConfusionCells
confusion_drawing_fit (const ConfusionDrawing *d, double width, double height)
{
  const double left = names_width (d), top = AXIS * d->scale;
  ConfusionCells c = { left, top, 0, 0 };

  c.side = MAX (MIN (width - left - 2, height - top - 0.75 * left - 4), 1);
  c.cell = c.side / d->is->n_classes;
  return c;
}

/* ---- drawing ------------------------------------------------------------------- */

static void
draw_text (const ConfusionDrawing *d, cairo_t *cr, const char *text, double x, double y, double align, double most)
{
  g_autoptr (PangoLayout) layout = chart_text_layout (d->context, d->scale, FALSE, text);

  chart_text_draw (cr, layout, x, y, align, most);
}

static void
set_ink (const ConfusionDrawing *d, cairo_t *cr, double alpha)
{
  cairo_set_source_rgba (cr, d->ink, d->ink, d->ink, alpha);
}

static void
draw_cell (const ConfusionDrawing *d, const ConfusionCells *c, cairo_t *cr, guint row, guint column)
{
  const double share = confusion_drawing_share (d->is, row, column);
  const double x = c->x + column * c->cell, y = c->y + row * c->cell;
  const guint32 rgb = studio_colormap (share);
  const gint64 n = loom_confusion_at (d->is, row, column);
  const double red = (rgb >> 16 & 255) / 255., green = (rgb >> 8 & 255) / 255., blue = (rgb & 255) / 255.;

  cairo_set_source_rgb (cr, red, green, blue);
  cairo_rectangle (cr, x, y, c->cell - (c->cell > 6 ? 1 : 0), c->cell - (c->cell > 6 ? 1 : 0));
  cairo_fill (cr);
  if (c->cell < LEAST_TEXT_CELL * d->scale || n == 0)
    return;
  g_autofree char *text = d->share ? g_strdup_printf ("%.0f", 100 * share) : studio_format_count ((double)n);
  const double light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 ? 0 : 1;
  cairo_set_source_rgb (cr, light, light, light);
  draw_text (d, cr, text, x + c->cell / 2, y + c->cell / 2, 0.5, c->cell - 2);
}

static void
draw_names (const ConfusionDrawing *d, const ConfusionCells *c, cairo_t *cr)
{
  /* Of many classes each k-th has a name. */
  const guint stride = (guint)MAX (1, ceil (13 * d->scale / c->cell));

  set_ink (d, cr, 0.8);
  for (guint k = 0; k < d->is->n_classes; k += stride)
    {
      g_autofree char *name = confusion_drawing_name (d, k);

      draw_text (d, cr, name, c->x - 4, c->y + (k + 0.5) * c->cell, 1, MOST_NAME * d->scale);
      cairo_save (cr);
      cairo_translate (cr, c->x + (k + 0.5) * c->cell + 3, c->y + c->side + 4);
      cairo_rotate (cr, -G_PI / 4);
      draw_text (d, cr, name, 0, 2 * d->scale, 1, MOST_NAME * d->scale);
      cairo_restore (cr);
    }
  set_ink (d, cr, 0.72);
  draw_text (d, cr, _ ("class ↓   predicted →"), c->x, AXIS * d->scale / 2 - 1, 0, c->side);
}

void
confusion_drawing_draw (const ConfusionDrawing *d, const ConfusionCells *cells, cairo_t *cr)
{
  for (guint r = 0; r < d->is->n_classes; r++)
    for (guint c = 0; c < d->is->n_classes; c++)
      draw_cell (d, cells, cr, r, c);
  draw_names (d, cells, cr);
}
