/* Adds copies between devices, and what pipeline stages send, to a scene. engine/net determines the copies and their
 * bytes, for the planner and for this file, which attaches them to cards and wires and describes them. */
#include "ui/scene/studio-copies.h"

#include <glib/gi18n.h>

#include "engine/net/loom-copies.h"
#include "ui/scene/studio-shapes.h"

/* The copy that a wire represents: of its tensor, for a node that is the card at its end or inside it. Copies that are
 * not shared are preferred. */
static const LoomCopy *
copy_of (const StudioScene *scene, const StudioLink *link, const LoomNet *net, const GArray *copies)
{
  const LoomNetSource *source = &scene->item[link->from].output[link->output].source;
  const LoomCopy *found = NULL;

  for (guint i = 0; link->typed && i < copies->len; i++)
    {
      const LoomCopy *c = &g_array_index (copies, LoomCopy, i);

      if (c->source.node == source->node && c->source.output == source->output && (found == NULL || found->shared)
          && studio_scene_card_of (scene, loom_net_node (net, c->reader)->path) == link->to)
        found = c;
    }
  return found;
}

/* "cpu → cuda:0 · 3.1 MB" */
static char *
short_words (const LoomCopy *copy, const char *bytes)
{
  return copy->shared || bytes == NULL ? g_strdup_printf ("%s → %s", copy->from, copy->to)
                                       : g_strdup_printf ("%s → %s · %s", copy->from, copy->to, bytes);
}

/* Adds "288 B in a step of 72 samples." and whether the gradient is sent back. */
static void
say_amount (GString *s, const StudioScene *scene, const char *bytes, gboolean gradient)
{
  g_string_append_c (s, '\n');
  if (scene->batch > 0)
    g_string_append_printf (
        s, ngettext ("%1$s in a step of %2$d sample.", "%1$s in a step of %2$d samples.", (gulong)scene->batch), bytes,
        (int)scene->batch);
  else
    g_string_append_printf (s, _ ("%s per sample."), bytes);
  if (gradient)
    {
      g_string_append_c (s, ' ');
      g_string_append (s, _ ("Training also copies the gradient back, which has the same size."));
    }
}

static char *
long_words (const StudioScene *scene, const LoomNet *net, const LoomCopy *copy, const char *bytes)
{
  g_autofree char *name = loom_net_port_name (net, copy->source.node, copy->source.output);
  GString *s = g_string_new (NULL);

  g_string_append_printf (s, _ ("%1$s is copied from %2$s to %3$s."), name, copy->from, copy->to);
  if (copy->shared)
    {
      g_string_append_c (s, '\n');
      g_string_append (s, _ ("Another wire has already copied it there, so this one costs nothing."));
      return g_string_free (s, FALSE);
    }
  if (bytes != NULL)
    say_amount (s, scene, bytes, copy->gradient);
  return g_string_free (s, FALSE);
}

static void
add_copies (StudioScene *scene, const LoomNet *net, const GArray *copies)
{
  for (guint l = 0; l < scene->n_links; l++)
    {
      StudioLink *link = &scene->link[l];
      const LoomCopy *copy = copy_of (scene, link, net, copies);
      g_autofree char *bytes = copy != NULL && copy->bytes >= 0 ? loom_bytes_to_string (copy->bytes) : NULL;

      if (copy == NULL)
        continue;
      link->copy = short_words (copy, bytes);
      link->copy_doc = long_words (scene, net, copy, bytes);
      studio_link_relabel (scene, link);
    }
}

/* A size that inference does not know, such as that of a chunk of the batch, is known for a number of samples. */
static void
find_bytes (GArray *copies, const LoomGraph *graph, const LoomNet *net, const char *device, const LoomBinding *binding)
{
  gboolean is_known = TRUE;

  for (guint i = 0; i < copies->len; i++)
    is_known = is_known && g_array_index (copies, LoomCopy, i).bytes >= 0;
  /* The net of an earlier version is followed by that of this one. */
  if (is_known || loom_net_graph_version (net) != loom_graph_version (graph))
    return;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) bound = loom_net_bind (net, graph, binding, faults);
  g_autoptr (GArray) sized = loom_net_copies_new (bound, device, NULL);
  for (guint i = 0; i < MIN (copies->len, sized->len); i++)
    {
      LoomCopy *copy = &g_array_index (copies, LoomCopy, i);
      const LoomCopy *with = &g_array_index (sized, LoomCopy, i);

      if (copy->bytes < 0 && copy->reader == with->reader && copy->source.node == with->source.node)
        copy->bytes = with->bytes;
    }
}

void
studio_scene_add_devices (StudioScene *scene, const LoomGraph *graph, const LoomNet *net)
{
  LoomBinding binding = { .value['B' - 'A'] = MAX (scene->batch, 1) };
  g_autoptr (GArray) copies = loom_net_copies_new (net, scene->device, &binding);

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioItem *item = &scene->item[i];
      const char *device;

      /* Nearly all graphs are on one device. */
      if (item->badge == NULL && !loom_net_names_devices (net))
        continue;
      /* The module that contains the node may name the device. */
      if (!item->is_frame && item->order != G_MAXUINT)
        {
          device = loom_net_device (net, item->order, scene->device);
          if (g_strcmp0 (item->badge, device) != 0 && (item->badge != NULL || g_strcmp0 (device, scene->device) != 0))
            {
              g_free (item->badge);
              item->badge = g_strdup (device);
            }
        }
      if (g_strcmp0 (item->badge, scene->device) == 0)
        g_clear_pointer (&item->badge, g_free);
    }
  if (copies->len == 0)
    return;
  find_bytes (copies, graph, net, scene->device, &binding);
  add_copies (scene, net, copies);
}

/* ---- stages ---------------------------------------------------------------------- */

/* TRUE if an earlier wire of the same output leads to that stage. */
static gboolean
is_sent (const StudioScene *scene, guint link, int stage)
{
  const StudioLink *own = &scene->link[link];

  for (guint l = 0; l < link; l++)
    if (scene->link[l].from == own->from && scene->link[l].output == own->output && scene->link[l].copy != NULL
        && scene->item[scene->link[l].to].first_stage == stage)
      return TRUE;
  return FALSE;
}

void
studio_scene_add_transfers (StudioScene *scene)
{
  const LoomBinding binding = { .value['B' - 'A'] = MAX (scene->batch, 1) };

  for (guint l = 0; l < scene->n_links; l++)
    {
      StudioLink *link = &scene->link[l];
      const StudioItem *from = &scene->item[link->from], *to = &scene->item[link->to];

      if (!link->typed || link->copy != NULL || !from->in_stage || !to->in_stage || from->last_stage >= to->first_stage)
        continue;
      const gint64 n = loom_dim_value (loom_shape_count (&link->type.shape), &binding);
      const gboolean counts = n >= 0 && !is_sent (scene, l, to->first_stage);
      g_autofree char *way = g_strdup_printf (_ ("stage %1$d → %2$d"), from->last_stage, to->first_stage);
      g_autofree char *bytes
          = counts ? loom_bytes_to_string ((double)n * (double)loom_dtype_size (link->type.dtype)) : NULL;
      GString *doc = g_string_new (NULL);

      link->copy = counts ? g_strdup_printf ("%s · %s", way, bytes) : g_strdup (way);
      g_string_append_printf (doc, _ ("Stage %1$d sends it to stage %2$d."), from->last_stage, to->first_stage);
      if (counts)
        say_amount (doc, scene, bytes, link->type.dtype != LOOM_I64 && link->type.dtype != LOOM_I32);
      link->copy_doc = g_string_free (doc, FALSE);
      studio_link_relabel (scene, link);
    }
}

/* A run has as many CPU devices as its graph names, unless the environment sets their number. */
static gboolean
is_made (const char *device)
{
  return g_str_has_prefix (device, "cpu:") && g_getenv ("GRADLOOM_CPU_DEVICES") == NULL;
}

void
studio_scene_mark_missing_devices (StudioScene *scene, const char *const *devices)
{
  for (guint i = 0; i < scene->n_items; i++)
    scene->item[i].is_device_missing = scene->item[i].badge != NULL && devices != NULL
                                       && !g_strv_contains (devices, scene->item[i].badge)
                                       && !is_made (scene->item[i].badge);
}
