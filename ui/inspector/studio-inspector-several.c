/* The inspector for several nodes: shows the parameters they share, and writes a value to all of them in one step. */
#include "ui/inspector/studio-inspector-private.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <string.h>

/* The operator of all selected nodes, or NULL if they differ. */
static const LoomOp *
common_operator (const StudioInspector *self, const StudioScene *scene)
{
  const LoomOp *op = NULL;

  for (guint i = 0; i < self->several->len; i++)
    {
      guint item = studio_scene_find (scene, g_array_index (self->several, guint64, i));

      if (item == STUDIO_NO_ITEM || scene->item[item].op == NULL || (op != NULL && scene->item[item].op != op))
        return NULL;
      op = scene->item[item].op;
    }
  return op;
}

gboolean
inspector_shows_several (const StudioInspector *self)
{
  guint n = studio_document_n_selected (self->document);

  if (self->several->len == 0 || self->several->len != n)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (studio_document_get_selected (self->document, i) != g_array_index (self->several, guint64, i))
      return FALSE;
  return TRUE;
}

void
inspector_refresh_several (StudioInspector *self)
{
  self->updating = TRUE;
  for (guint r = 0; r < self->rows->len; r++)
    inspector_refresh_row (self->rows->pdata[r]);
  self->updating = FALSE;
}

gboolean
inspector_build_several (StudioInspector *self)
{
  StudioScene *scene = studio_document_get_scene (self->document);
  const LoomOp *op;
  GtkWidget *group;

  g_array_set_size (self->several, 0);
  for (guint i = 0; i < studio_document_n_selected (self->document); i++)
    {
      guint64 serial = studio_document_get_selected (self->document, i);

      const guint item = studio_scene_find (scene, serial);

      if (item == STUDIO_NO_ITEM || scene->item[item].is_frame)
        {
          g_array_set_size (self->several, 0);
          return FALSE;
        }
      g_array_append_val (self->several, serial);
    }
  self->serial = g_array_index (self->several, guint64, 0);
  op = common_operator (self, scene);
  if (op != NULL && op->dynamic_inputs == NULL)
    {
      group = inspector_add_group (self, _ ("Total parameters"));
      for (const LoomParamSpec *spec = op->params; spec != NULL && spec->name != NULL; spec++)
        inspector_add_param (self, group, spec);
    }
  group = inspector_add_group (self, op != NULL ? _ ("Nodes") : _ ("Common Parameters"));
  for (const LoomReserved *r = loom_reserved (); r->spec.name != NULL; r++)
    {
      LoomParamSpec spec = r->spec;

      if ((!r->is_inherited && !g_str_equal (spec.name, "mute")) || (op != NULL && loom_op_has_param (op, spec.name)))
        continue;
      if (self->devices != NULL && strcmp (spec.name, "device") == 0)
        spec.choices = (const char *const *)self->devices;
      inspector_add_param (self, group, &spec);
    }
  inspector_refresh_several (self);
  return TRUE;
}

gboolean
inspector_is_mixed (const StudioInspector *self, const char *attribute)
{
  const LoomGraph *graph = studio_document_get_graph (self->document);
  const LoomElement *first = loom_graph_by_serial (graph, self->serial);

  for (guint i = 1; first != NULL && i < self->several->len; i++)
    {
      const LoomElement *e = loom_graph_by_serial (graph, g_array_index (self->several, guint64, i));

      if (e != NULL && g_strcmp0 (loom_element_get (e, attribute), loom_element_get (first, attribute)) != 0)
        return TRUE;
    }
  return FALSE;
}
