/* The spotlight of a lesson or a slide: cards that it does not talk about are dimmed, with their wires. */
#include "ui/canvas/studio-canvas-private.h"

#define DIMMED 0.3

/* A collapsed frame is lit with any node behind it. */
static gboolean
is_lit (StudioCanvas *self, const StudioScene *scene, guint item)
{
  if (self->spotlight == NULL || !g_str_equal (self->spotlight_scope, studio_document_get_scope_path (self->document)))
    return TRUE;
  for (char **id = self->spotlight; *id != NULL; id++)
    if (GPOINTER_TO_UINT (g_hash_table_lookup (scene->by_id, *id)) == item + 1)
      return TRUE;
  return FALSE;
}

void
studio_canvas_light_card (StudioCanvas *self, GtkWidget *node, const StudioScene *scene, guint item)
{
  gtk_widget_set_opacity (node, is_lit (self, scene, item) ? 1 : DIMMED);
}

void
studio_canvas_light_wires (StudioCanvas *self)
{
  StudioScene *scene = studio_canvas_scene (self);

  for (guint i = 0; i < scene->n_links; i++)
    {
      StudioLink *link = &scene->link[i];

      link->n_dark = !is_lit (self, scene, link->from) + !is_lit (self, scene, link->to);
    }
  studio_canvas_redraw_wires (self);
}

void
studio_canvas_set_spotlight (StudioCanvas *self, const char *scope, const char *const *ids)
{
  if (ids == NULL ? self->spotlight == NULL
                  : self->spotlight != NULL && g_str_equal (scope, self->spotlight_scope)
                        && g_strv_equal (ids, (const char *const *)self->spotlight))
    return;
  g_free (self->spotlight_scope);
  self->spotlight_scope = g_strdup (scope);
  g_strfreev (self->spotlight);
  self->spotlight = g_strdupv ((char **)ids);
  StudioScene *scene = studio_canvas_scene (self);
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioNode *node = studio_canvas_node (self, scene->item[i].serial);

      if (node != NULL)
        studio_canvas_light_card (self, GTK_WIDGET (node), scene, i);
    }
  studio_canvas_light_wires (self);
}
