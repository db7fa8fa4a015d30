/* Collapsed frames; see the header.
 *
 * A collapsed frame is an ordinary card for drawing, layout, hit testing and reading; only the scene and the code that
 * edits the graph treat it differently. Its nodes are stored after the visible items. */
#include "ui/scene/scene-frames.h"

#include <glib/gi18n.h>

GPtrArray *
scene_frames_collapsed (const LoomElement *scope, GHashTable *members)
{
  const LoomElement *layout = loom_element_find (scope, LOOM_TAG_LAYOUT);
  GPtrArray *frames = g_ptr_array_new ();

  if (layout == NULL || loom_element_find (layout, LOOM_TAG_FRAME) == NULL)
    return frames;
  for (guint i = 0; i < loom_element_n_children (layout); i++)
    {
      LoomElement *e = loom_element_child (layout, i);
      const char *list = loom_element_tag (e) == LOOM_TAG_FRAME ? loom_element_get (e, "collapsed") : NULL;
      g_auto (GStrv) id = NULL;
      gboolean any = FALSE;

      if (list == NULL || loom_element_get (e, "hidden") != NULL)
        continue;
      id = g_strsplit (list, " ", -1);
      for (guint k = 0; id[k] != NULL; k++)
        {
          const LoomElement *node = loom_scope_find_node (scope, id[k]);

          if (node == NULL || g_hash_table_contains (members, id[k]))
            continue;
          g_hash_table_insert (members, (gpointer)loom_element_get (node, "id"), GUINT_TO_POINTER (frames->len + 1));
          any = TRUE;
        }
      if (any)
        g_ptr_array_add (frames, e);
    }
  return frames;
}

void
scene_frames_card (const LoomElement *frame, guint n, StudioItem *item)
{
  const char *title = loom_element_get (frame, "title");

  item->serial = loom_element_serial (frame);
  item->is_frame = TRUE;
  /* A name that no node can have. */
  item->id = g_strdup_printf ("frame:%" G_GUINT64_FORMAT, item->serial);
  item->path = g_strdup (item->id);
  item->kind = g_strdup (_ ("Frame"));
  item->title = g_strdup (title != NULL && title[0] != '\0' ? title : _ ("Frame"));
  item->summary = g_strdup_printf (ngettext ("%u layer", "%u layers", n), n);
  item->order = G_MAXUINT;
}

/* "conv.out", or "conv" if the node has one port of the kind: as in a wire. */
static const char *
port_name (const StudioItem *item, const GArray *ports, guint port)
{
  g_autofree char *name = ports->len == 1
                              ? g_strdup (item->id)
                              : g_strdup_printf ("%s.%s", item->id, g_array_index (ports, StudioPort, port).name);

  return g_intern_string (name);
}

/* The card's port that represents a port of a hidden node. */
static guint
port_of_card (GArray *ports, const StudioItem *item, const GArray *inner, guint port)
{
  const char *name = port_name (item, inner, port);
  const StudioPort *from = &g_array_index (inner, StudioPort, port);
  StudioPort fresh
      = { .name = name, .doc = from->doc, .link = STUDIO_NO_ITEM, .typed = from->typed, .type = from->type };

  for (guint p = 0; p < ports->len; p++)
    if (g_array_index (ports, StudioPort, p).name == name)
      return p;
  g_array_append_val (ports, fresh);
  return ports->len - 1;
}

static void
lead_end (const StudioScene *scene, GPtrArray *ports, const guint *card, guint *item, guint *port)
{
  guint at = *item;

  if (at < scene->n_items)
    return;
  *item = card[at - scene->n_items];
  *port = port_of_card (ports->pdata[*item], &scene->item[at], ports->pdata[at], *port);
}

guint
scene_frames_lead (const StudioScene *scene, GPtrArray *inputs, GPtrArray *outputs, const guint *card, StudioLink *link,
                   guint n_links)
{
  guint n = 0;

  for (guint l = 0; l < n_links; l++)
    {
      const guint from = link[l].from >= scene->n_items ? card[link[l].from - scene->n_items] : link[l].from;
      const guint to = link[l].to >= scene->n_items ? card[link[l].to - scene->n_items] : link[l].to;

      if (from == to && link[l].from >= scene->n_items)
        continue;
      lead_end (scene, outputs, card, &link[l].from, &link[l].output);
      lead_end (scene, inputs, card, &link[l].to, &link[l].input);
      link[n++] = link[l];
    }
  return n;
}
