/* Pen strokes; see the header. */
#include "ui/present/studio-ink.h"

#include <math.h>

struct _StudioInk
{
  GPtrArray *strokes; /* StudioStroke */
};

static void
stroke_free (gpointer data)
{
  StudioStroke *stroke = data;

  g_array_unref (stroke->points);
  g_free (stroke);
}

StudioInk *
studio_ink_new (void)
{
  StudioInk *ink = g_new0 (StudioInk, 1);

  ink->strokes = g_ptr_array_new_with_free_func (stroke_free);
  return ink;
}

void
studio_ink_free (StudioInk *ink)
{
  if (ink == NULL)
    return;
  g_ptr_array_unref (ink->strokes);
  g_free (ink);
}

static void
add_point (StudioStroke *stroke, double x, double y)
{
  const StudioInkPoint point = { x, y };
  const double half = stroke->width / 2;

  stroke->x0 = MIN (stroke->x0, x - half);
  stroke->y0 = MIN (stroke->y0, y - half);
  stroke->x1 = MAX (stroke->x1, x + half);
  stroke->y1 = MAX (stroke->y1, y + half);
  g_array_append_val (stroke->points, point);
}

void
studio_ink_begin (StudioInk *ink, guint colour, double width, double x, double y)
{
  StudioStroke *stroke = g_new0 (StudioStroke, 1);

  g_return_if_fail (colour < STUDIO_INK_COLOURS && width > 0);

  *stroke = (StudioStroke){ .colour = colour, .width = width, .x0 = x, .y0 = y, .x1 = x, .y1 = y };
  stroke->points = g_array_new (FALSE, FALSE, sizeof (StudioInkPoint));
  add_point (stroke, x, y);
  g_ptr_array_add (ink->strokes, stroke);
}

void
studio_ink_extend (StudioInk *ink, double x, double y)
{
  StudioStroke *stroke;

  g_return_if_fail (ink->strokes->len > 0);

  stroke = ink->strokes->pdata[ink->strokes->len - 1];
  const StudioInkPoint *last = &g_array_index (stroke->points, StudioInkPoint, stroke->points->len - 1);
  if (hypot (x - last->x, y - last->y) >= stroke->width / 2)
    add_point (stroke, x, y);
}

static double
distance_to_segment (const StudioInkPoint *a, const StudioInkPoint *b, double x, double y)
{
  const double dx = b->x - a->x, dy = b->y - a->y, length = dx * dx + dy * dy;
  const double t = length > 0 ? CLAMP (((x - a->x) * dx + (y - a->y) * dy) / length, 0, 1) : 0;

  return hypot (x - a->x - t * dx, y - a->y - t * dy);
}

static gboolean
touches (const StudioStroke *stroke, double x, double y, double radius)
{
  const double reach = radius + stroke->width / 2;

  if (x < stroke->x0 - radius || x > stroke->x1 + radius || y < stroke->y0 - radius || y > stroke->y1 + radius)
    return FALSE;
  for (guint i = 0; i < stroke->points->len; i++)
    {
      const StudioInkPoint *b = &g_array_index (stroke->points, StudioInkPoint, i), *a = i > 0 ? b - 1 : b;

      if (distance_to_segment (a, b, x, y) <= reach)
        return TRUE;
    }
  return FALSE;
}

gboolean
studio_ink_erase (StudioInk *ink, double x, double y, double radius)
{
  const guint before = ink->strokes->len;

  for (guint i = before; i-- > 0;)
    if (touches (ink->strokes->pdata[i], x, y, radius))
      g_ptr_array_remove_index (ink->strokes, i);
  return ink->strokes->len < before;
}

void
studio_ink_clear (StudioInk *ink)
{
  g_ptr_array_set_size (ink->strokes, 0);
}

guint
studio_ink_n_strokes (const StudioInk *ink)
{
  return ink->strokes->len;
}

gboolean
studio_stroke_visible (const StudioStroke *stroke, double x, double y, double zoom, double width, double height,
                       StudioInkArea *seen)
{
  /* One pixel more on each side for antialiasing. */
  const double left = MAX (floor ((stroke->x0 - x) * zoom) - 1, 0), top = MAX (floor ((stroke->y0 - y) * zoom) - 1, 0);
  const double right = MIN (ceil ((stroke->x1 - x) * zoom) + 1, width);
  const double bottom = MIN (ceil ((stroke->y1 - y) * zoom) + 1, height);

  *seen = (StudioInkArea){ left, top, right - left, bottom - top };
  return right > left && bottom > top;
}

const StudioStroke *
studio_ink_get_stroke (const StudioInk *ink, guint i)
{
  return ink->strokes->pdata[i];
}
