/* Waypoints of wires: a <route> of the layout, which names its wire by its ends. */
#include "ui/document/document-edit.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/scene/studio-routes.h"

static LoomElement *
find_route (const LoomElement *wire)
{
  const LoomElement *layout = loom_element_find (loom_element_parent (wire), LOOM_TAG_LAYOUT);

  for (guint i = 0; layout != NULL && i < loom_element_n_children (layout); i++)
    {
      LoomElement *e = loom_element_child (layout, i);

      if (loom_element_tag (e) == LOOM_TAG_ROUTE
          && g_strcmp0 (loom_element_get (e, "from"), loom_element_get (wire, "from")) == 0
          && g_strcmp0 (loom_element_get (e, "to"), loom_element_get (wire, "to")) == 0)
        return e;
    }
  return NULL;
}

void
studio_document_put_points (StudioDocument *self, LoomElement *wire, const StudioPoint *point, guint n)
{
  LoomElement *route = find_route (wire), *scope = loom_element_parent (wire);
  LoomElement *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  g_autofree char *points = NULL;

  if (n == 0)
    {
      studio_document_forget_route (self, wire);
      return;
    }
  points = studio_points_format (point, n);
  if (route != NULL)
    {
      studio_document_put (self, route, "points", points);
      return;
    }
  if (layout == NULL)
    layout = studio_document_insert (self, scope, loom_element_new (LOOM_TAG_LAYOUT, NULL));
  studio_document_insert (self, layout,
                          loom_element_new (LOOM_TAG_ROUTE, "from", loom_element_get (wire, "from"), "to",
                                            loom_element_get (wire, "to"), "points", points, NULL));
}

static void
change (StudioDocument *self, const StudioLink *link, const char *name, const StudioPoint *point, guint n)
{
  LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (self), link->serial);

  studio_document_begin (self, name);
  studio_document_put_points (self, wire, point, n);
  studio_document_end (self);
}

static double
detour (StudioPoint a, StudioPoint by, StudioPoint b)
{
  return hypot (by.x - a.x, by.y - a.y) + hypot (b.x - by.x, b.y - by.y) - hypot (b.x - a.x, b.y - a.y);
}

/* The index at which a new waypoint is inserted: where it lengthens the route least. */
static guint
place_among (const StudioScene *scene, const StudioLink *link, StudioPoint p)
{
  guint best = 0;
  double least = G_MAXDOUBLE;
  StudioPoint a, end;

  studio_geometry_port (&scene->item[link->from], TRUE, link->output, &a.x, &a.y);
  studio_geometry_port (&scene->item[link->to], FALSE, link->input, &end.x, &end.y);
  for (guint k = 0; k <= link->n_points; k++)
    {
      StudioPoint b = k < link->n_points ? link->point[k] : end;
      double d = detour (a, p, b);

      if (d < least)
        {
          least = d;
          best = k;
        }
      a = b;
    }
  return best;
}

guint
studio_document_add_point (StudioDocument *self, guint64 wire, double x, double y)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint l = studio_scene_find_link (scene, wire), at;
  StudioPoint p = { floor (x + 0.5), floor (y + 0.5) };
  g_autofree StudioPoint *point = NULL;
  const StudioLink *link;

  if (l == STUDIO_NO_ITEM)
    return STUDIO_NO_ITEM;
  link = &scene->link[l];
  at = place_among (scene, link, p);
  point = g_new (StudioPoint, link->n_points + 1);
  for (guint k = 0; k <= link->n_points; k++)
    point[k] = k < at ? link->point[k] : k == at ? p : link->point[k - 1];
  change (self, link, _ ("Add reroute point"), point, link->n_points + 1);
  return at;
}

void
studio_document_move_point (StudioDocument *self, guint64 wire, guint index, double x, double y)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint l = studio_scene_find_link (scene, wire);
  g_autofree StudioPoint *point = NULL;

  if (l == STUDIO_NO_ITEM || index >= scene->link[l].n_points)
    return;
  point = g_memdup2 (scene->link[l].point, scene->link[l].n_points * sizeof *point);
  if (point[index].x == x && point[index].y == y)
    return;
  point[index] = (StudioPoint){ x, y };
  change (self, &scene->link[l], _ ("Move reroute point"), point, scene->link[l].n_points);
}

void
studio_document_remove_point (StudioDocument *self, guint64 wire, guint index)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint l = studio_scene_find_link (scene, wire), n;
  g_autofree StudioPoint *point = NULL;

  if (l == STUDIO_NO_ITEM || index >= scene->link[l].n_points)
    return;
  n = scene->link[l].n_points - 1;
  point = g_memdup2 (scene->link[l].point, (n + 1) * sizeof *point);
  memmove (point + index, point + index + 1, (n - index) * sizeof *point);
  change (self, &scene->link[l], _ ("Remove reroute point"), point, n);
}

void
studio_document_remove_points (StudioDocument *self, guint64 wire)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint l = studio_scene_find_link (scene, wire);

  if (l != STUDIO_NO_ITEM && scene->link[l].n_points > 0)
    change (self, &scene->link[l], _ ("Remove reroute points"), NULL, 0);
}

void
studio_document_shift_points (StudioDocument *self, const double *dx, const double *dy)
{
  StudioScene *scene = studio_document_get_scene (self);

  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];
      g_autofree StudioPoint *point = NULL;

      if (link->n_points == 0 || (dx[link->from] == 0 && dy[link->from] == 0) || dx[link->from] != dx[link->to]
          || dy[link->from] != dy[link->to])
        continue;
      point = g_memdup2 (link->point, link->n_points * sizeof *point);
      for (guint k = 0; k < link->n_points; k++)
        point[k] = (StudioPoint){ point[k].x + dx[link->from], point[k].y + dy[link->from] };
      studio_document_put_points (self, loom_graph_by_serial (studio_document_get_graph (self), link->serial), point,
                                  link->n_points);
    }
}
