/* Implements eval-chart-plane.h. */
#include "ui/evaluate/eval-chart-plane.h"

#include "ui/charts/studio-plot.h"
#include "ui/scene/studio-format.h"

#define LEFT   44
#define TOP    18
#define BOTTOM 34

double
eval_plane_height (StudioEvaluation *model, double width, double scale)
{
  return MIN (width - (LEFT + 8) * scale, 320 * scale) + (TOP + BOTTOM) * scale;
}

EvalPlane
eval_plane_new (const EvalDrawing *d, double low, double high)
{
  const double s = d->scale;
  EvalPlane p = { LEFT * s, TOP * s, 0, low, high };

  p.side = MAX (MIN (d->width - (LEFT + 8) * s, d->height - (TOP + BOTTOM) * s), 1);
  return p;
}

double
eval_plane_x (const EvalPlane *p, double value)
{
  return p->x + p->side * (value - p->low) / (p->high - p->low);
}

double
eval_plane_y (const EvalPlane *p, double value)
{
  return p->y + p->side * (1 - (value - p->low) / (p->high - p->low));
}

void
eval_plane_draw (const EvalDrawing *d, const EvalPlane *p, const char *x_name, const char *y_name)
{
  const double step = studio_plot_nice_step (p->low, p->high, 3);

  cairo_set_line_width (d->cr, 1);
  for (double v = step * (double)(gint64)(p->low / step); v <= p->high + step / 1000; v += step)
    {
      g_autofree char *text = studio_format_tick (v, step);

      if (v < p->low - step / 1000)
        continue;
      eval_draw_ink (d, 0.15);
      cairo_move_to (d->cr, p->x, eval_plane_y (p, v));
      cairo_rel_line_to (d->cr, p->side, 0);
      cairo_stroke (d->cr);
      eval_draw_ink (d, 0.8);
      eval_draw_text (d, text, p->x - 4, eval_plane_y (p, v), 1, p->x - 4);
      eval_draw_text (d, text, eval_plane_x (p, v), p->y + p->side + 9 * d->scale, 0.5, 60 * d->scale);
    }
  eval_draw_ink (d, 0.8);
  eval_draw_text (d, y_name, 0, 8 * d->scale, 0, d->width);
  eval_draw_text (d, x_name, p->x + p->side, p->y + p->side + 25 * d->scale, 1, d->width);
  eval_draw_ink (d, 0.5);
  cairo_move_to (d->cr, p->x, p->y + p->side);
  cairo_rel_line_to (d->cr, p->side, -p->side);
  cairo_stroke (d->cr);
}
