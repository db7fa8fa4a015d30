/* Updates the paths in <train>, <view> and <lesson> when nodes are renamed or move in the tree of modules. */
#include "ui/document/document-edit.h"

#include <string.h>

#define PREFIX_END ':' /* "grad:PATH" is the gradient of the value at PATH */

static const struct
{
  LoomTag tag;
  const char *attributes[3];
} places[] = {
  { LOOM_TAG_TRAIN, { "loss" } },  { LOOM_TAG_METRIC, { "input", "target" } },
  { LOOM_TAG_GROUP, { "match" } }, { LOOM_TAG_PIN, { "tensor" } },
  { LOOM_TAG_CHART, { "node" } },  { LOOM_TAG_SLIDE, { "scope" } },
};

typedef struct
{
  StudioDocument *document;
  const StudioPathChange *change;
  gpointer data;
} Mapping;

/* Appends a word to a list separated by blanks, unless it contains the word. */
static void
add_word (GString *list, const char *word)
{
  g_auto (GStrv) there = g_strsplit (list->str, " ", -1);

  if (!g_strv_contains ((const char *const *)there, word))
    g_string_append_printf (list, "%s%s", list->len > 0 ? " " : "", word);
}

/* Follows a path from the root, and calls step at nodes of `scope`. NULL if nothing has changed. */
static char *
walk_path (StudioDocument *self, const char *path, const LoomElement *scope, StudioPathStep step, gpointer data)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  const LoomElement *at = loom_graph_root (studio_document_get_graph (self));
  g_autoptr (GString) s = g_string_new (NULL);
  gboolean changed = FALSE;

  for (guint i = 0; part[i] != NULL; i++)
    {
      const LoomElement *node = at != NULL ? loom_scope_find_node (at, part[i]) : NULL;
      const char *module = node != NULL ? loom_node_module (node) : NULL;
      guint used = 1;

      if (s->len > 0)
        g_string_append_c (s, '.');
      if (node != NULL && at == scope && step (node, (const char *const *)part + i, s, &used, data))
        changed = TRUE;
      else
        {
          g_string_append (s, part[i]);
          if (node != NULL && part[i + 1] != NULL && loom_node_is_copy (node, part[i + 1]))
            {
              g_string_append_printf (s, ".%s", part[i + 1]);
              used = 2;
            }
        }
      if (used == 2)
        module = loom_node_module_at (node, part[i + 1]);
      i += used - 1;
      at = module != NULL ? loom_graph_find_module (studio_document_get_graph (self), module) : NULL;
    }
  return changed ? g_string_free (g_steal_pointer (&s), FALSE) : NULL;
}

static char *
map_path (const char *path, gpointer data)
{
  const Mapping *m = data;
  const char *colon = strchr (path, PREFIX_END), *plain = colon != NULL ? colon + 1 : path;
  g_autofree char *now = walk_path (m->document, plain, m->change->scope, m->change->step, m->data);

  return now != NULL ? g_strdup_printf ("%.*s%s", (int)(plain - path), path, now) : NULL;
}

static char *
map_name (const char *id, gpointer data)
{
  const Mapping *m = data;
  const LoomElement *node = loom_scope_find_node (m->change->scope, id);

  return node != NULL ? m->change->names (node, m->data) : NULL;
}

/* Maps each word of an attribute that is a list. */
static void
map_words (Mapping *m, LoomElement *e, const char *attribute, char *(*map) (const char *word, gpointer data))
{
  const char *value = loom_element_get (e, attribute);
  g_auto (GStrv) word = g_strsplit (value != NULL ? value : "", " ", -1);
  g_autoptr (GString) list = g_string_new (NULL);
  gboolean changed = FALSE;

  for (guint i = 0; word[i] != NULL; i++)
    {
      g_autofree char *now = word[i][0] != '\0' ? map (word[i], m) : NULL;
      g_auto (GStrv) many = g_strsplit (now != NULL ? now : word[i], " ", -1);

      for (guint k = 0; many[k] != NULL; k++)
        if (many[k][0] != '\0')
          add_word (list, many[k]);
      changed = changed || now != NULL;
    }
  if (changed)
    studio_document_put (m->document, e, attribute, list->str);
}

void
studio_document_find_scope (StudioDocument *self, const char *path, StudioPathScope *found)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  gsize at = 0;

  *found = (StudioPathScope){ .scope = loom_graph_root (studio_document_get_graph (self)) };
  for (guint i = 0; found->scope != NULL && path[0] != '\0' && part[i] != NULL; i++)
    {
      if (found->instance != NULL && loom_node_is_copy (found->instance, part[i]))
        {
          const char *module = loom_node_module_at (found->instance, part[i]);

          found->copy = (guint)MIN (g_ascii_strtoull (part[i], NULL, 10), G_MAXUINT);
          found->scope = module != NULL ? loom_graph_find_module (studio_document_get_graph (self), module) : NULL;
        }
      else
        {
          const LoomElement *node = loom_scope_find_node (found->scope, part[i]);
          const char *module = node != NULL ? loom_node_module (node) : NULL;

          found->instance = node;
          found->copy = 0;
          found->n_around = at > 0 ? at - 1 : 0;
          found->scope = module != NULL ? loom_graph_find_module (studio_document_get_graph (self), module) : NULL;
        }
      at += strlen (part[i]) + 1;
    }
}

/* The ids in a spotlight belong to the scope that the slide shows. */
static void
map_slide (Mapping *m, LoomElement *slide)
{
  StudioPathScope shown;
  const char *path = loom_element_get (slide, "scope");

  studio_document_find_scope (m->document, path != NULL ? path : "", &shown);
  map_words (m, slide, "pins", map_path);
  if (m->change->slide != NULL && m->change->slide (slide, &shown, m->data))
    return;
  if (shown.scope == m->change->scope)
    map_words (m, slide, "spotlight", map_name);
}

static void
map_in (Mapping *m, LoomElement *parent)
{
  for (guint i = 0; i < loom_element_n_children (parent); i++)
    {
      LoomElement *e = loom_element_child (parent, i);
      const LoomTag tag = loom_element_tag (e);

      /* Before the path of its scope changes, by which the scope is found. */
      if (tag == LOOM_TAG_SLIDE)
        map_slide (m, e);
      if (tag == LOOM_TAG_PAGE && m->change->scope == loom_graph_root (studio_document_get_graph (m->document)))
        map_words (m, e, "spotlight", map_name);
      for (guint p = 0; p < G_N_ELEMENTS (places); p++)
        for (guint a = 0; tag == places[p].tag && places[p].attributes[a] != NULL; a++)
          {
            const char *path = loom_element_get (e, places[p].attributes[a]);
            g_autofree char *now = path != NULL ? map_path (path, m) : NULL;

            if (now != NULL)
              studio_document_put (m->document, e, places[p].attributes[a], now);
          }
      if (tag == LOOM_TAG_TRAIN || tag == LOOM_TAG_VIEW || tag == LOOM_TAG_LESSON)
        map_in (m, e);
    }
}

void
studio_document_map_paths (StudioDocument *self, const StudioPathChange *change, gpointer data)
{
  Mapping m = { .document = self, .change = change, .data = data };

  map_in (&m, loom_graph_root (studio_document_get_graph (self)));
}
