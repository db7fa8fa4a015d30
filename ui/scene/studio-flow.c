#include "ui/scene/studio-flow.h"

#include <string.h>

static const char *const names[] = { [STUDIO_FLOW_RIGHT] = "right", [STUDIO_FLOW_DOWN] = "down" };

const char *
studio_flow_name (StudioFlow flow)
{
  g_return_val_if_fail (flow < G_N_ELEMENTS (names), NULL);

  return names[flow];
}

gboolean
studio_flow_parse (const char *name, StudioFlow *flow)
{
  for (guint i = 0; name != NULL && i < G_N_ELEMENTS (names); i++)
    if (strcmp (name, names[i]) == 0)
      {
        *flow = i;
        return TRUE;
      }
  return FALSE;
}

StudioFlow
studio_flow_of (const LoomElement *scope, gboolean *stated)
{
  const LoomElement *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  StudioFlow flow = STUDIO_FLOW_RIGHT;
  gboolean says_so = layout != NULL && studio_flow_parse (loom_element_get (layout, "direction"), &flow);

  if (stated != NULL)
    *stated = says_so;
  return flow;
}

void
studio_item_resize (StudioItem *item)
{
  double ports = 8 + STUDIO_PORT_STEP * (double)MAX (item->n_inputs, item->n_outputs);

  item->width = STUDIO_CARD_WIDTH;
  item->height = item->folded ? STUDIO_CARD_FOLDED : STUDIO_CARD_HEIGHT;
  if (item->flow == STUDIO_FLOW_DOWN)
    item->width = MAX (item->width, ports);
  else if (!item->folded)
    item->height = MAX (item->height, ports);
  item->height += item->figure_height;
}

void
studio_scene_set_flow (StudioScene *scene, StudioFlow flow)
{
  scene->flow = flow;
  for (guint i = 0; i < scene->n_items; i++)
    if (scene->item[i].flow != flow)
      {
        scene->item[i].flow = flow;
        studio_item_resize (&scene->item[i]);
      }
}

/* ---- mirroring ------------------------------------------------------------ */

StudioRect
studio_rect_mirrored (StudioRect r)
{
  return (StudioRect){ r.y, r.x, r.height, r.width };
}

StudioCurve
studio_curve_mirrored (StudioCurve c)
{
  StudioCurve mirrored;

  memcpy (mirrored.x, c.y, sizeof c.y);
  memcpy (mirrored.y, c.x, sizeof c.x);
  return mirrored;
}

StudioCurve
studio_flow_curve (StudioFlow flow, double x0, double y0, double x1, double y1)
{
  return flow == STUDIO_FLOW_DOWN ? studio_curve_mirrored (studio_geometry_curve (y0, x0, y1, x1))
                                  : studio_geometry_curve (x0, y0, x1, y1);
}

double
studio_flow_across (StudioFlow flow, double x, double y)
{
  return flow == STUDIO_FLOW_DOWN ? x : y;
}

StudioDirection
studio_flow_ahead (StudioFlow flow)
{
  return flow == STUDIO_FLOW_DOWN ? STUDIO_DOWN : STUDIO_RIGHT;
}

StudioDirection
studio_flow_back (StudioFlow flow)
{
  return flow == STUDIO_FLOW_DOWN ? STUDIO_UP : STUDIO_LEFT;
}

static void
mirror_item (StudioItem *item)
{
  StudioRect room = studio_rect_mirrored (studio_geometry_with_pins (item));
  double beyond = item->hanging > 0 ? room.height - item->width : 0;

  item->x = room.x;
  item->y = room.y;
  item->height = item->width;
  item->width = room.width;
  item->hanging = beyond;
  item->hanging_width = 0;
  item->figure_height = 0;
  item->flow = STUDIO_FLOW_RIGHT;
}

StudioScene *
studio_scene_copy_places (const StudioScene *scene, gboolean mirrored)
{
  StudioScene *copy = g_memdup2 (scene, sizeof *scene);

  copy->item = g_memdup2 (scene->item, scene->n_items * sizeof *scene->item);
  copy->annotation = g_memdup2 (scene->annotation, scene->n_annotations * sizeof *scene->annotation);
  for (guint i = 0; mirrored && i < scene->n_items; i++)
    mirror_item (&copy->item[i]);
  for (guint a = 0; mirrored && a < scene->n_annotations; a++)
    {
      StudioAnnotation *m = &copy->annotation[a];
      StudioRect r = studio_rect_mirrored ((StudioRect){ m->x, m->y, m->width, m->height });

      m->x = r.x;
      m->y = r.y;
      m->width = r.width;
      m->height = r.height;
    }
  if (mirrored)
    copy->flow = STUDIO_FLOW_RIGHT;
  return copy;
}

void
studio_scene_free_places (StudioScene *scene)
{
  if (scene == NULL)
    return;
  g_free (scene->item);
  g_free (scene->annotation);
  g_free (scene);
}
