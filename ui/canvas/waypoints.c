#include "ui/canvas/waypoints.h"

#include <glib/gi18n.h>

#include "ui/scene/studio-routes.h"

void
waypoints_add (CanvasBoard *board, guint64 wire, double x, double y)
{
  guint point = studio_document_add_point (board->document, wire, x, y);

  studio_document_select_only (board->document, wire);
  canvas_board_set_point (board, wire, point);
}

/* The selected wire, else the first that leaves the card which keys act on. */
static guint
current_link (CanvasBoard *board)
{
  StudioScene *scene = canvas_board_scene (board);
  guint item = canvas_board_current (board);

  if (studio_document_n_selected (board->document) == 1)
    {
      guint link = studio_scene_find_link (scene, studio_document_get_selected (board->document, 0));

      if (link != STUDIO_NO_ITEM)
        return link;
    }
  for (guint p = 0; item != STUDIO_NO_ITEM && p < scene->item[item].n_outputs; p++)
    if (scene->item[item].output[p].link != STUDIO_NO_ITEM)
      return scene->item[item].output[p].link;
  return STUDIO_NO_ITEM;
}

void
waypoints_add_in_middle (CanvasBoard *board)
{
  StudioScene *scene = canvas_board_scene (board);
  guint link = current_link (board);
  double x, y;

  if (link == STUDIO_NO_ITEM)
    {
      canvas_board_say (
          board,
          _ ("Select a wire, or a card with a wire at its output. The point is added in the middle of the wire."));
      return;
    }
  studio_route_at (&studio_scene_routes (scene)[link], 0.5, &x, &y);
  waypoints_add (board, scene->link[link].serial, x, y);
}

gboolean
waypoints_remove (CanvasBoard *board)
{
  StudioScene *scene = canvas_board_scene (board);
  guint link, point;

  if (!canvas_points_get (board->points, scene, &link, &point))
    return FALSE;
  canvas_points_set (board->points, 0, STUDIO_NO_ITEM);
  studio_document_remove_point (board->document, scene->link[link].serial, point);
  return TRUE;
}

gboolean
waypoints_move (CanvasBoard *board, double dx, double dy)
{
  StudioScene *scene = canvas_board_scene (board);
  guint link, point;

  if (!canvas_points_get (board->points, scene, &link, &point))
    return FALSE;
  studio_document_move_point (board->document, scene->link[link].serial, point, scene->link[link].point[point].x + dx,
                              scene->link[link].point[point].y + dy);
  return TRUE;
}
