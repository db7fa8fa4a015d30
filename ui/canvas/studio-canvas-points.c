/* Points that wires are led through: which of them keys mean, and the commands on them. */
#include "ui/canvas/studio-canvas-private.h"

#include <glib/gi18n.h>

gboolean
studio_canvas_current_point (StudioCanvas *self, guint *link, guint *point)
{
  StudioScene *scene = studio_canvas_scene (self);

  if (self->point_wire == 0 || studio_document_n_selected (self->document) != 1
      || !studio_document_is_selected (self->document, self->point_wire))
    return FALSE;
  *link = studio_scene_find_link (scene, self->point_wire);
  *point = self->point;
  return *link != STUDIO_NO_ITEM && *point < scene->link[*link].n_points;
}

void
studio_canvas_set_point (StudioCanvas *self, guint64 wire, guint point)
{
  self->point_wire = point != STUDIO_NO_ITEM ? wire : 0;
  self->point = point;
  studio_canvas_redraw_wires (self);
}

void
studio_canvas_add_point_at (StudioCanvas *self, guint64 wire, double x, double y)
{
  guint point = studio_document_add_point (self->document, wire, x, y);

  studio_document_select_only (self->document, wire);
  studio_canvas_set_point (self, wire, point);
}

void
studio_canvas_get_wire_point (StudioCanvas *self, guint link, guint index, graphene_point_t *point)
{
  StudioScene *scene = studio_canvas_scene (self);
  double x, y;

  if (index < scene->link[link].n_points)
    {
      x = scene->link[link].point[index].x;
      y = scene->link[link].point[index].y;
    }
  else
    studio_route_at (&studio_scene_routes (scene)[link], 0.5, &x, &y);
  studio_view_to_screen (&self->view, x, y, &x, &y);
  graphene_point_init (point, x, y);
}

/* The selected wire, else the first that leaves the card which keys mean. */
static guint
current_link (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint item = studio_canvas_current (self);

  if (studio_document_n_selected (self->document) == 1)
    {
      guint link = studio_scene_find_link (scene, studio_document_get_selected (self->document, 0));

      if (link != STUDIO_NO_ITEM)
        return link;
    }
  for (guint p = 0; item != STUDIO_NO_ITEM && p < scene->item[item].n_outputs; p++)
    if (scene->item[item].output[p].link != STUDIO_NO_ITEM)
      return scene->item[item].output[p].link;
  return STUDIO_NO_ITEM;
}

void
studio_canvas_add_point (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint link = current_link (self);
  double x, y;

  if (link == STUDIO_NO_ITEM)
    {
      studio_canvas_say (
          self,
          _ ("Select a wire, or a card with a wire at its output. The point is added in the middle of the wire."));
      return;
    }
  studio_route_at (&studio_scene_routes (scene)[link], 0.5, &x, &y);
  studio_canvas_add_point_at (self, scene->link[link].serial, x, y);
}

gboolean
studio_canvas_remove_point (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint link, point;

  if (!studio_canvas_current_point (self, &link, &point))
    return FALSE;
  self->point_wire = 0;
  studio_document_remove_point (self->document, scene->link[link].serial, point);
  return TRUE;
}

gboolean
studio_canvas_move_point_by (StudioCanvas *self, double dx, double dy)
{
  StudioScene *scene = studio_canvas_scene (self);
  guint link, point;

  if (!studio_canvas_current_point (self, &link, &point))
    return FALSE;
  studio_document_move_point (self->document, scene->link[link].serial, point, scene->link[link].point[point].x + dx,
                              scene->link[link].point[point].y + dy);
  return TRUE;
}

void
studio_canvas_bend (StudioCanvas *self, double dx, double dy)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  const StudioGesture *g = &self->gesture;
  guint link = studio_scene_find_link (scene, g->pressed_serial);

  /* Of a scene that has come since, nothing is aside. */
  if (dx == 0 && dy == 0 && self->bent != scene)
    return;
  self->bent = dx != 0 || dy != 0 ? scene : NULL;
  if (link == STUDIO_NO_ITEM || g->pressed.port >= scene->link[link].n_points)
    return;
  scene->link[link].point[g->pressed.port] = (StudioPoint){ g->anchor_x + dx, g->anchor_y + dy };
  studio_canvas_redraw_wires (self);
}
