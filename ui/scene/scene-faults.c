#include "ui/scene/scene-faults.h"

#include <string.h>

/* Ranks a card's faults: errors first, then missing parts, then warnings. */
static int
loudness (gboolean is_warning, gboolean is_todo)
{
  return is_warning ? 0 : is_todo ? 1 : 2;
}

/* The sentence of a fault; on a module's card it begins with the name of the inner node: "conv: A window …". */
static char *
fault_words (const StudioItem *item, const LoomFault *fault)
{
  const char *rest
      = item->is_module && g_str_has_prefix (fault->node, item->path) ? fault->node + strlen (item->path) : "";

  return rest[0] == '.' ? g_strdup_printf ("%s: %s", rest + 1, fault->message) : g_strdup (fault->message);
}

void
scene_faults_add (StudioScene *scene, const LoomFaults *faults, StudioSceneFix fix, gpointer data)
{
  for (guint f = 0; f < loom_faults_length (faults); f++)
    {
      const LoomFault *fault = loom_faults_get (faults, f);
      const guint card = fault->node != NULL ? studio_scene_card_of (scene, fault->node) : STUDIO_NO_ITEM;
      StudioItem *item = &scene->item[card];

      if (card == STUDIO_NO_ITEM)
        continue;
      if (item->fault == NULL
          || loudness (item->fault_is_warning, item->fault_is_todo) < loudness (fault->is_warning, fault->is_todo))
        {
          g_free (item->fault);
          g_free (item->fault_port);
          g_free (item->fix);
          item->fault = fault_words (item, fault);
          item->fault_port = g_strdup (fault->port);
          item->fault_is_warning = fault->is_warning;
          item->fault_is_todo = fault->is_todo;
          item->fix = fix != NULL ? fix (fault, studio_scene_node_of (scene, fault->node), data) : NULL;
        }
      else if (item->fix == NULL && fix != NULL && !fault->is_warning && item->fault_is_todo == fault->is_todo)
        item->fix = fix (fault, studio_scene_node_of (scene, fault->node), data);
    }
}

/* The first card with an error on the paths to this one; NULL. */
static const StudioItem *
error_before (const StudioScene *scene, guint item)
{
  g_autofree gboolean *seen = g_new0 (gboolean, scene->n_items + 1);
  const StudioItem *found = NULL;

  studio_scene_reach (scene, item, TRUE, seen);
  for (guint i = 0; i < scene->n_items; i++)
    if (i != item && seen[i] && studio_item_tone (&scene->item[i]) == STUDIO_TONE_ERROR
        && (found == NULL || scene->item[i].order < found->order))
      found = &scene->item[i];
  return found;
}

/* A card without a type and without a fault of its own depends on an error before it, even if the wires between have
 * types, because the engine has found the cause there. */
static void
add_distant_waits (StudioScene *scene, guint errors)
{
  for (guint i = 0; errors > 0 && i < scene->n_items; i++)
    {
      StudioItem *item = &scene->item[i];
      const StudioItem *root;

      if (item->fault != NULL || item->waits_for != NULL || item->muted || item->n_outputs == 0 || item->output[0].typed
          || item->order == G_MAXUINT)
        continue;
      root = error_before (scene, i);
      if (root != NULL)
        item->waits_for = g_ref_string_new (root->id);
    }
}

void
scene_faults_follow (StudioScene *scene)
{
  g_autofree guint *queue = g_new (guint, scene->n_items + 1);
  guint n = 0, errors = 0;

  for (guint i = 0; i < scene->n_items; i++)
    if (studio_item_tone (&scene->item[i]) >= STUDIO_TONE_TODO
        && studio_item_tone (&scene->item[i]) != STUDIO_TONE_ADVICE)
      queue[n++] = i;
  for (guint k = 0; k < n; k++)
    {
      const StudioItem *from = &scene->item[queue[k]];

      for (guint p = 0; p < from->n_outputs; p++)
        for (guint l = from->output[p].typed ? STUDIO_NO_ITEM : from->output[p].link; l != STUDIO_NO_ITEM;
             l = scene->link[l].next_out)
          {
            StudioItem *to = &scene->item[scene->link[l].to];

            if (to->fault != NULL || to->waits_for != NULL)
              continue;
            to->waits_for
                = from->waits_for != NULL ? g_ref_string_acquire (from->waits_for) : g_ref_string_new (from->id);
            queue[n++] = scene->link[l].to;
          }
    }
  for (guint i = 0; i < scene->n_items; i++)
    errors += studio_item_tone (&scene->item[i]) == STUDIO_TONE_ERROR;
  add_distant_waits (scene, errors);
}
