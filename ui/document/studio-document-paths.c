/* Paths that <train> and <view> keep: they follow when nodes get another place in the tree of modules. */
#include "ui/document/studio-document-private.h"

#include <string.h>

static const struct
{
  LoomTag tag;
  const char *attributes[3];
} places[] = {
  { LOOM_TAG_TRAIN, { "loss" } },
  { LOOM_TAG_METRIC, { "input", "target" } },
  { LOOM_TAG_GROUP, { "match" } },
  { LOOM_TAG_PIN, { "tensor" } },
};

static void
map_in (StudioDocument *self, LoomElement *parent, StudioPathMap map, gpointer data)
{
  for (guint i = 0; i < loom_element_n_children (parent); i++)
    {
      LoomElement *e = loom_element_child (parent, i);

      for (guint p = 0; p < G_N_ELEMENTS (places); p++)
        for (guint a = 0; loom_element_tag (e) == places[p].tag && places[p].attributes[a] != NULL; a++)
          {
            const char *path = loom_element_get (e, places[p].attributes[a]);
            g_autofree char *now = path != NULL ? map (path, data) : NULL;

            if (now != NULL)
              studio_document_put (self, e, places[p].attributes[a], now);
          }
      if (loom_element_tag (e) == LOOM_TAG_TRAIN || loom_element_tag (e) == LOOM_TAG_VIEW)
        map_in (self, e, map, data);
    }
}

void
studio_document_map_paths (StudioDocument *self, StudioPathMap map, gpointer data)
{
  map_in (self, loom_graph_root (self->graph), map, data);
}

static gboolean
is_number (const char *s)
{
  return s[0] != '\0' && strspn (s, "0123456789") == strlen (s);
}

char *
studio_document_walk_path (StudioDocument *self, const char *path, const LoomElement *scope, StudioPathStep step,
                           gpointer data)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  const LoomElement *at = loom_graph_root (self->graph);
  g_autoptr (GString) s = g_string_new (NULL);
  gboolean changed = FALSE;

  for (guint i = 0; part[i] != NULL; i++)
    {
      const LoomElement *node = at != NULL ? loom_scope_find_node (at, part[i]) : NULL;
      const char *module = node != NULL ? loom_element_get (node, "module") : NULL;
      guint used = 1;

      if (s->len > 0)
        g_string_append_c (s, '.');
      if (node != NULL && at == scope && step (node, (const char *const *)part + i, s, &used, data))
        changed = TRUE;
      else
        {
          g_string_append (s, part[i]);
          if (node != NULL && loom_element_get (node, "repeat") != NULL && part[i + 1] != NULL
              && is_number (part[i + 1]))
            {
              g_string_append_printf (s, ".%s", part[i + 1]);
              used = 2;
            }
        }
      i += used - 1;
      at = module != NULL ? loom_graph_find_module (self->graph, module) : NULL;
    }
  return changed ? g_string_free (g_steal_pointer (&s), FALSE) : NULL;
}
