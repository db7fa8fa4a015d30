/* Implements graph-walk.h. */
#include "ui/page/graph-walk.h"

/* Weights and constants are not computed; the captions of their users name them. */
static gboolean
is_computed (const StudioItem *item)
{
  for (guint i = 0; i < item->n_inputs; i++)
    if (item->input[i].link != STUDIO_NO_ITEM)
      return TRUE;
  return item->op == NULL || item->op->role == LOOM_ROLE_DATASET || item->op->role == LOOM_ROLE_INPUT
         || item->op->role == LOOM_ROLE_MODULE_INPUT;
}

static gboolean
comes_before (const StudioScene *scene, guint a, guint b)
{
  const StudioItem *p = &scene->item[a], *q = &scene->item[b];
  return p->order != q->order ? p->order < q->order : a < b;
}

guint
graph_walk_next (const StudioScene *scene, guint at, int by)
{
  guint best = STUDIO_NO_ITEM;
  for (guint i = 0; i < scene->n_items; i++)
    {
      if (i == at || !is_computed (&scene->item[i]))
        continue;
      if (at != STUDIO_NO_ITEM && (by > 0 ? comes_before (scene, i, at) : comes_before (scene, at, i)))
        continue;
      if (best == STUDIO_NO_ITEM || (by > 0 ? comes_before (scene, i, best) : comes_before (scene, best, i)))
        best = i;
    }
  return best;
}
