#include "ui/scene/studio-partitions.h"

#include <glib/gi18n.h>
#include <string.h>

#include "ui/scene/studio-copies.h"

/* ---- stages ---------------------------------------------------------------------- */

static void
put_in_stage (StudioScene *scene, const char *path, int stage)
{
  const guint card = studio_scene_card_of (scene, path);
  StudioItem *item = card != STUDIO_NO_ITEM ? &scene->item[card] : NULL;

  if (item == NULL)
    return;
  item->first_stage = item->tint == 0 ? stage : MIN (item->first_stage, stage);
  item->last_stage = item->tint == 0 ? stage : MAX (item->last_stage, stage);
  item->tint = 1 + (guint)item->first_stage;
}

/* A frame or module may contain nodes of several stages. */
static void
mark_stages (StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioItem *item = &scene->item[i];

      if (item->tint == 0)
        continue;
      g_free (item->mark);
      item->mark = item->first_stage == item->last_stage
                       ? g_strdup_printf ("%d", item->first_stage)
                       : g_strdup_printf ("%d–%d", item->first_stage, item->last_stage);
      item->in_stage = TRUE;
    }
  studio_scene_add_transfers (scene);
}

static gboolean
add_named_stages (StudioScene *scene, const LoomNet *net)
{
  const guint n = loom_net_n_nodes (net);
  g_autofree int *stage = g_new0 (int, n + 1);

  if (loom_net_stages (net, stage) == 0)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (stage[i] >= 0)
      put_in_stage (scene, loom_net_node (net, i)->path, stage[i]);
  mark_stages (scene);
  return TRUE;
}

void
studio_scene_set_stages (StudioScene *scene, GHashTable *stages)
{
  GHashTableIter iter;
  gpointer path, stage;

  if (stages == NULL)
    return;
  for (guint i = 0; i < scene->n_items; i++)
    scene->item[i].tint = 0;
  g_hash_table_iter_init (&iter, stages);
  while (g_hash_table_iter_next (&iter, &path, &stage))
    put_in_stage (scene, path, GPOINTER_TO_INT (stage) - 1);
  mark_stages (scene);
}

char *
studio_item_stage_text (const StudioItem *item)
{
  if (!item->in_stage || item->tint == 0)
    return NULL;
  if (item->first_stage == item->last_stage)
    return g_strdup_printf (_ ("Stage %d of the pipeline"), item->first_stage);
  return g_strdup_printf (_ ("Stages %1$d to %2$d of the pipeline"), item->first_stage, item->last_stage);
}

/* ---- devices ---------------------------------------------------------------------- */

/* A device that is not the run's has the colour of its number, the same for "cpu:1" and "cuda:1". */
static void
add_device (StudioItem *item)
{
  const char *number = item->badge != NULL ? strrchr (item->badge, ':') : NULL;

  if (item->badge == NULL)
    return;
  item->tint = 1 + (guint)(number != NULL ? g_ascii_strtoull (number + 1, NULL, 10) : 0);
  item->mark = g_strdup (number != NULL ? number + 1 : item->badge);
}

/* ---- weights ---------------------------------------------------------------------- */

/* FALSE if no node splits its weights: then the recipe is not read. */
static gboolean
may_split (const LoomGraph *graph, const LoomNet *net)
{
  const LoomElement *train = loom_element_find (loom_graph_root ((LoomGraph *)graph), LOOM_TAG_TRAIN);
  const LoomElement *parallel = train != NULL ? loom_element_find (train, LOOM_TAG_PARALLEL) : NULL;

  if (train == NULL)
    return FALSE;
  if (parallel != NULL && loom_element_get (parallel, "split") != NULL)
    return TRUE;
  return loom_net_may_split (net);
}

void
studio_scene_add_shards (StudioScene *scene, const LoomGraph *graph, const LoomNet *net)
{
  if (!may_split (graph, net))
    return;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);

  for (guint i = 0; spec != NULL && i < spec->parallel.splits->len; i++)
    {
      const LoomTrainSplit *split = spec->parallel.splits->pdata[i];
      const guint card = studio_scene_card_of (scene, split->node);
      StudioItem *item = card != STUDIO_NO_ITEM ? &scene->item[card] : NULL;

      if (item == NULL || g_strcmp0 (item->split, split->how) == 0)
        continue;
      /* A module may contain weights that are split in several ways. */
      const char *how = item->split == NULL ? split->how : "split";
      g_free (item->split);
      item->split = g_strdup (how);
    }
}

char *
studio_item_split_text (const StudioItem *item)
{
  if (item->split == NULL)
    return NULL;
  if (item->is_module || item->is_frame)
    return g_strdup (_ ("Ranks hold shards of the weights inside."));
  return g_strdup_printf (_ ("Each rank holds a shard of its weights: split=\"%s\"."), item->split);
}

void
studio_scene_add_partitions (StudioScene *scene, const LoomNet *net)
{
  if (!add_named_stages (scene, net))
    for (guint i = 0; i < scene->n_items; i++)
      add_device (&scene->item[i]);
}
