#include "ui/canvas/canvas-shift.h"

struct _CanvasShift
{
  StudioDocument *document;
  double dx, dy;
  gboolean *items, *annotations; /* that are displaced; NULL while there is no drag */
};

CanvasShift *
canvas_shift_new (StudioDocument *document)
{
  CanvasShift *self = g_new0 (CanvasShift, 1);

  self->document = document;
  return self;
}

static void
forget_items (CanvasShift *self)
{
  g_clear_pointer (&self->items, g_free);
  g_clear_pointer (&self->annotations, g_free);
}

void
canvas_shift_free (CanvasShift *self)
{
  forget_items (self);
  g_free (self);
}

void
canvas_shift_get (const CanvasShift *self, double *dx, double *dy)
{
  *dx = self->dx;
  *dy = self->dy;
}

void
canvas_shift_forget (CanvasShift *self)
{
  self->dx = self->dy = 0;
  forget_items (self);
}

const gboolean *
canvas_shift_get_items (const CanvasShift *self)
{
  return self->items;
}

/* The cards that a frame moves along are determined when it is taken, not by what it is dragged across. */
static void
find_items (CanvasShift *self, const StudioScene *scene)
{
  guint n = studio_document_n_selected (self->document);
  g_autofree guint64 *serials = g_new (guint64, n + 1);

  for (guint i = 0; i < n; i++)
    serials[i] = studio_document_get_selected (self->document, i);
  self->items = g_new0 (gboolean, scene->n_items + 1);
  self->annotations = g_new0 (gboolean, scene->n_annotations + 1);
  studio_document_moving (self->document, serials, n, self->items, self->annotations);
}

gboolean
canvas_shift_to (CanvasShift *self, double dx, double dy)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  double by_x = dx - self->dx, by_y = dy - self->dy;

  if (by_x == 0 && by_y == 0)
    return FALSE;
  self->dx = dx;
  self->dy = dy;
  if (self->items == NULL)
    find_items (self, scene);
  for (guint i = 0; i < scene->n_items; i++)
    if (self->items[i])
      {
        scene->item[i].x += by_x;
        scene->item[i].y += by_y;
      }
  for (guint l = 0; l < scene->n_links; l++)
    if (self->items[scene->link[l].from] && self->items[scene->link[l].to])
      for (guint k = 0; k < scene->link[l].n_points; k++)
        {
          scene->link[l].point[k].x += by_x;
          scene->link[l].point[k].y += by_y;
        }
  for (guint i = 0; i < scene->n_annotations; i++)
    if (self->annotations[i])
      {
        scene->annotation[i].x += by_x;
        scene->annotation[i].y += by_y;
      }
  if (dx == 0 && dy == 0)
    forget_items (self);
  return TRUE;
}
