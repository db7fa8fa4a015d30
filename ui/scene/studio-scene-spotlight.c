#include "ui/scene/studio-scene-spotlight.h"

#define DIMMED 0.3

struct _StudioSceneSpotlight
{
  char **ids;  /* NULL: every node is lit */
  char *scope; /* that the ids belong to; in any other every node is lit */
};

StudioSceneSpotlight *
studio_scene_spotlight_new (void)
{
  return g_new0 (StudioSceneSpotlight, 1);
}

void
studio_scene_spotlight_free (StudioSceneSpotlight *self)
{
  g_strfreev (self->ids);
  g_free (self->scope);
  g_free (self);
}

/* A collapsed frame is lit with any node inside it. */
static gboolean
is_lit (const StudioSceneSpotlight *self, const char *scope, const StudioScene *scene, guint item)
{
  if (self->ids == NULL || !g_str_equal (self->scope, scope))
    return TRUE;
  for (char **id = self->ids; *id != NULL; id++)
    if (studio_scene_find_card (scene, *id) == item)
      return TRUE;
  return FALSE;
}

double
studio_scene_spotlight_opacity (const StudioSceneSpotlight *self, const char *scope, const StudioScene *scene,
                                guint item)
{
  return is_lit (self, scope, scene, item) ? 1 : DIMMED;
}

void
studio_scene_spotlight_mark_wires (const StudioSceneSpotlight *self, const char *scope, StudioScene *scene)
{
  for (guint i = 0; i < scene->n_links; i++)
    {
      StudioLink *link = &scene->link[i];

      link->n_dark = !is_lit (self, scope, scene, link->from) + !is_lit (self, scope, scene, link->to);
    }
}

gboolean
studio_scene_spotlight_set (StudioSceneSpotlight *self, const char *scope, const char *const *ids)
{
  if (ids == NULL
          ? self->ids == NULL
          : self->ids != NULL && g_str_equal (scope, self->scope) && g_strv_equal (ids, (const char *const *)self->ids))
    return FALSE;
  g_free (self->scope);
  self->scope = g_strdup (scope);
  g_strfreev (self->ids);
  self->ids = g_strdupv ((char **)ids);
  return TRUE;
}
