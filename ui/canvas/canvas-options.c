#include "ui/canvas/canvas-options.h"

#include "ui/scene/studio-copies.h"
#include "ui/scene/studio-health.h"
#include "ui/scene/studio-measure.h"
#include "ui/scene/studio-partitions.h"
#include "ui/scene/studio-routes.h"
#include "ui/scene/studio-shapes.h"

struct _CanvasOptions
{
  gboolean right_angles;
  StudioShapes shapes;
  char **devices;
  GHashTable *stages, *times;
  GPtrArray *health;
};

CanvasOptions *
canvas_options_new (void)
{
  return g_new0 (CanvasOptions, 1);
}

void
canvas_options_free (CanvasOptions *self)
{
  g_strfreev (self->devices);
  g_clear_pointer (&self->stages, g_hash_table_unref);
  g_clear_pointer (&self->times, g_hash_table_unref);
  g_clear_pointer (&self->health, g_ptr_array_unref);
  g_free (self);
}

void
canvas_options_set_right_angles (CanvasOptions *self, gboolean on, StudioScene *scene)
{
  self->right_angles = on;
  studio_routes_set_right_angles (scene->routes, on);
}

void
canvas_options_set_shapes (CanvasOptions *self, StudioShapes shapes, StudioScene *scene)
{
  self->shapes = shapes;
  studio_scene_set_shapes (scene, shapes);
}

void
canvas_options_set_devices (CanvasOptions *self, const char *const *devices)
{
  g_strfreev (self->devices);
  self->devices = g_strdupv ((char **)devices);
}

static void
replace (GHashTable **table, GHashTable *with)
{
  if (with != NULL)
    g_hash_table_ref (with);
  g_clear_pointer (table, g_hash_table_unref);
  *table = with;
}

gboolean
canvas_options_set_stages (CanvasOptions *self, GHashTable *stages)
{
  if (self->stages == stages)
    return FALSE;
  replace (&self->stages, stages);
  return TRUE;
}

gboolean
canvas_options_set_times (CanvasOptions *self, GHashTable *seconds, StudioScene *scene)
{
  if (self->times == NULL && seconds == NULL)
    return FALSE;
  replace (&self->times, seconds);
  studio_measure_set_times (scene, seconds);
  return TRUE;
}

gboolean
canvas_options_set_health (CanvasOptions *self, GPtrArray *nodes, const LoomNet *net, StudioScene *scene)
{
  if (self->health == NULL && nodes == NULL)
    return FALSE;
  if (nodes != NULL)
    g_ptr_array_ref (nodes);
  g_clear_pointer (&self->health, g_ptr_array_unref);
  self->health = nodes;
  studio_health_set (scene, net, nodes);
  return TRUE;
}

void
canvas_options_apply (const CanvasOptions *self, StudioScene *scene)
{
  studio_routes_set_right_angles (scene->routes, self->right_angles);
  studio_scene_set_shapes (scene, self->shapes);
  studio_scene_mark_missing_devices (scene, (const char *const *)self->devices);
  studio_scene_set_stages (scene, self->stages);
}

void
canvas_options_apply_measured (const CanvasOptions *self, const LoomNet *net, StudioScene *scene)
{
  if (self->times != NULL)
    studio_measure_set_times (scene, self->times);
  if (self->health != NULL)
    studio_health_set (scene, net, self->health);
}
