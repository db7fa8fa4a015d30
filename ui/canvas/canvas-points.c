#include "ui/canvas/canvas-points.h"

struct _CanvasPoints
{
  StudioDocument *document;
  guint64 wire; /* 0: none */
  guint point;
  const StudioScene *bent; /* the scene with a displaced point; only compared */
};

CanvasPoints *
canvas_points_new (StudioDocument *document)
{
  CanvasPoints *self = g_new0 (CanvasPoints, 1);

  self->document = document;
  return self;
}

void
canvas_points_free (CanvasPoints *self)
{
  g_free (self);
}

void
canvas_points_set (CanvasPoints *self, guint64 wire, guint point)
{
  self->wire = point != STUDIO_NO_ITEM ? wire : 0;
  self->point = point;
}

gboolean
canvas_points_get (const CanvasPoints *self, const StudioScene *scene, guint *link, guint *point)
{
  if (self->wire == 0 || studio_document_n_selected (self->document) != 1
      || !studio_document_is_selected (self->document, self->wire))
    return FALSE;
  *link = studio_scene_find_link (scene, self->wire);
  *point = self->point;
  return *link != STUDIO_NO_ITEM && *point < scene->link[*link].n_points;
}

gboolean
canvas_points_bend (CanvasPoints *self, const StudioGesture *gesture, double dx, double dy)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  guint link = studio_scene_find_link (scene, gesture->pressed_serial);

  /* A scene that is newer than the drag has no displaced point. */
  if (dx == 0 && dy == 0 && self->bent != scene)
    return FALSE;
  self->bent = dx != 0 || dy != 0 ? scene : NULL;
  if (link == STUDIO_NO_ITEM || gesture->pressed.port >= scene->link[link].n_points)
    return FALSE;
  scene->link[link].point[gesture->pressed.port] = (StudioPoint){ gesture->anchor_x + dx, gesture->anchor_y + dy };
  return TRUE;
}

void
canvas_points_forget_bend (CanvasPoints *self)
{
  self->bent = NULL;
}
