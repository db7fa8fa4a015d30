#include "ui/scene/scene-change.h"

#include <string.h>

void
scene_item_clear (StudioItem *item)
{
  g_free (item->id);
  g_free (item->path);
  g_free (item->kind);
  g_free (item->sample_key);
  g_clear_pointer (&item->figure, studio_figure_unref);
  g_free (item->summary);
  g_free (item->title);
  g_free (item->badge);
  g_free (item->mark);
  g_free (item->split);
  g_free (item->repeat);
  g_free (item->input);
  g_free (item->output);
  g_free (item->fault);
  g_free (item->fault_port);
  g_free (item->fix);
  g_clear_pointer (&item->waits_for, g_ref_string_release);
  memset (item, 0, sizeof *item);
}

void
scene_link_clear (StudioLink *link)
{
  g_clear_pointer (&link->label, g_ref_string_release);
  g_free (link->copy);
  g_free (link->copy_doc);
  g_free (link->point);
  memset (link, 0, sizeof *link);
}

void
scene_change_touch (StudioScene *scene, guint i)
{
  scene->item[i].since = scene->id;
}

static gboolean
is_younger (const SceneChange *self, const LoomElement *e)
{
  return loom_element_changed (e) > self->version;
}

/* ---- cards ------------------------------------------------------------------ */

/* Pairs nodes with the items before, which keep their order. was: by node, the item; STUDIO_NO_ITEM: it is new. */
static void
match_items (SceneChange *self, GPtrArray *nodes, guint *was)
{
  const StudioScene *scene = self->scene;
  guint next = 0;

  for (guint k = 0; k < nodes->len; k++)
    {
      const guint64 serial = loom_element_serial (nodes->pdata[k]);
      guint i = next;

      if (i < self->n_was && scene->item[i].serial != serial)
        i = studio_scene_find (scene, serial);
      was[k] = i < self->n_was && i >= next ? i : STUDIO_NO_ITEM;
      if (was[k] == STUDIO_NO_ITEM)
        continue;
      next = i + 1;
      self->is[i] = k;
      self->is_kept[k] = scene->item[i].has_table_ports && !is_younger (self, nodes->pdata[k]);
    }
}

static void
drop_item (SceneChange *self, StudioItem *item)
{
  if (self->is_indexed)
    {
      g_hash_table_remove (self->scene->by_id, item->id);
      g_hash_table_remove (self->scene->by_serial, GSIZE_TO_POINTER (item->serial));
    }
  scene_item_clear (item);
}

/* Moves the elements of an array, which keep their order: element i to to[i], or nowhere if that is STUDIO_NO_ITEM.
 * Those between them, and one at the end, are zeroed. Most elements of a large scene stay where they are. */
static gpointer
rearrange (gpointer array, gsize size, const guint *to, guint n_was, guint n_now)
{
  char *at = g_realloc (array, (MAX (n_was, n_now) + 1) * size);
  g_autofree guint *goal = g_new (guint, n_was + 1);
  guint n = 0, next = 0;

  for (guint i = 0; i < n_was; i++)
    {
      if (to[i] == STUDIO_NO_ITEM)
        continue;
      if (n != i)
        memcpy (at + n * size, at + i * size, size);
      goal[n++] = to[i];
    }
  /* Where one is in its place, so are all before it. */
  for (guint k = n; k-- > 0 && goal[k] != k;)
    memcpy (at + goal[k] * size, at + k * size, size);
  for (guint i = 0; i <= n_now; i++)
    if (next < n && goal[next] == i)
      next++;
    else
      memset (at + i * size, 0, size);
  return at;
}

void
scene_change_begin (SceneChange *self, StudioScene *scene, const LoomGraph *graph, GPtrArray *nodes, guint n_items,
                    guint most_links)
{
  g_autofree guint *was = g_new (guint, nodes->len + 1);

  *self = (SceneChange){ .scene = scene,
                         .graph = graph,
                         .version = scene->version,
                         .number = scene->number,
                         .n_was = scene->n_items,
                         .n_now = n_items,
                         .is = g_new (guint, scene->n_items + 1),
                         .is_kept = g_new0 (gboolean, n_items + 1),
                         .is_retyped = g_new0 (gboolean, n_items + 1),
                         .is_relinked = g_new0 (gboolean, n_items + 1),
                         .is_in_place = TRUE,
                         .ends = g_array_sized_new (FALSE, FALSE, sizeof (SceneEnds), most_links) };
  for (guint i = 0; i < self->n_was; i++)
    self->is[i] = STUDIO_NO_ITEM;
  match_items (self, nodes, was);
  for (guint i = 0; i < self->n_was; i++)
    self->is_in_place &= self->is[i] == i;
  /* Two nodes with one id are found by the last of them. */
  self->is_indexed = self->n_was > 0 && g_hash_table_size (scene->by_id) == self->n_was && n_items == nodes->len;
  for (guint i = 0; i < self->n_was; i++)
    if (self->is[i] == STUDIO_NO_ITEM || !self->is_kept[self->is[i]])
      drop_item (self, &scene->item[i]);
  scene->item = rearrange (scene->item, sizeof *scene->item, self->is, self->n_was, self->n_now);
}

void
scene_change_clear (SceneChange *self)
{
  g_free (self->is);
  g_free (self->is_kept);
  g_free (self->is_retyped);
  g_free (self->is_relinked);
  g_array_unref (self->ends);
}

void
scene_change_reset (SceneChange *self, guint i)
{
  StudioItem *item = &self->scene->item[i];

  /* Whatever was said is said again, maybe in other words. */
  if (item->fault != NULL || item->waits_for != NULL || item->badge != NULL || item->mark != NULL || item->split != NULL
      || item->tint > 0 || item->health.is_known || item->is_device_missing)
    scene_change_touch (self->scene, i);
  g_clear_pointer (&item->fault, g_free);
  g_clear_pointer (&item->fault_port, g_free);
  g_clear_pointer (&item->fix, g_free);
  g_clear_pointer (&item->waits_for, g_ref_string_release);
  g_clear_pointer (&item->mark, g_free);
  g_clear_pointer (&item->split, g_free);
  item->fault_is_warning = item->fault_is_todo = item->is_device_missing = item->in_stage = FALSE;
  item->fault_place = STUDIO_FAULT_BELOW;
  item->fault_width = item->seconds = item->hanging = item->hanging_width = 0;
  item->first_stage = item->last_stage = 0;
  item->tint = 0;
  if (item->health.is_known)
    item->health = (StudioCardHealth){ 0 };
}

static void
index_item (StudioScene *scene, guint i)
{
  const guint slot = scene->slots->len;

  g_array_append_val (scene->slots, i);
  scene->item[i].slot = slot;
  if (!scene->item[i].is_frame)
    g_hash_table_replace (scene->by_id, scene->item[i].id, GUINT_TO_POINTER (slot + 1));
  if (i < scene->n_items)
    g_hash_table_insert (scene->by_serial, GSIZE_TO_POINTER (scene->item[i].serial), GUINT_TO_POINTER (slot + 1));
}

void
scene_change_index_all (StudioScene *scene, guint n)
{
  g_hash_table_remove_all (scene->by_serial);
  g_hash_table_remove_all (scene->by_id);
  g_array_set_size (scene->slots, 0);
  for (guint i = 0; i < n; i++)
    index_item (scene, i);
}

void
scene_change_index (SceneChange *self)
{
  StudioScene *scene = self->scene;

  /* Slots of cards that are gone stay empty. */
  self->is_indexed = self->is_indexed && scene->slots->len < 2 * self->n_now;
  for (guint i = 0; self->is_indexed && i < self->n_now; i++)
    if (self->is_kept[i])
      g_array_index (scene->slots, guint, scene->item[i].slot) = i;
    else
      {
        self->is_indexed = !g_hash_table_contains (scene->by_id, scene->item[i].id);
        index_item (scene, i);
      }
  if (!self->is_indexed)
    scene_change_index_all (scene, self->n_now);
}

/* ---- wires ------------------------------------------------------------------ */

void
scene_change_begin_links (SceneChange *self)
{
  g_array_set_size (self->ends, 0);
  self->next_link = 0;
}

/* TRUE if there is no such wire in the graph any more. */
static gboolean
is_gone (const SceneChange *self, guint64 serial)
{
  const LoomElement *e = loom_graph_by_serial (self->graph, serial);

  return e == NULL || loom_element_parent (e) == NULL
         || loom_element_serial (loom_element_parent (e)) != self->scene->scope;
}

gboolean
scene_change_keep_link (SceneChange *self, const LoomElement *wire, SceneEnds *ends)
{
  const StudioScene *scene = self->scene;
  const StudioLink *link;
  guint from, to;

  *ends = (SceneEnds){ .serial = loom_element_serial (wire), .was = STUDIO_NO_ITEM };
  while (self->next_link < scene->n_links && scene->link[self->next_link].serial != ends->serial
         && is_gone (self, scene->link[self->next_link].serial))
    self->next_link++;
  if (self->next_link >= scene->n_links || scene->link[self->next_link].serial != ends->serial)
    return FALSE;
  link = &scene->link[self->next_link];
  from = self->is[link->from];
  to = self->is[link->to];
  if (is_younger (self, wire) || from == STUDIO_NO_ITEM || to == STUDIO_NO_ITEM || !self->is_kept[from]
      || !self->is_kept[to])
    {
      self->next_link++;
      return FALSE;
    }
  ends->was = self->next_link++;
  ends->from = from;
  ends->output = link->output;
  ends->to = to;
  ends->input = link->input;
  return TRUE;
}

static void
note_relinked (SceneChange *self, guint item)
{
  if (item == STUDIO_NO_ITEM)
    return;
  self->is_relinked[item] = TRUE;
  scene_change_touch (self->scene, item);
}

/* The link is another now, or gone. */
static void
drop_link (SceneChange *self, StudioLink *link)
{
  note_relinked (self, self->is[link->from]);
  note_relinked (self, self->is[link->to]);
  scene_link_clear (link);
}

/* TRUE if the links have the indices that they had, with others after them. */
static gboolean
are_links_in_place (const SceneChange *self)
{
  const StudioScene *scene = self->scene;

  if (self->ends->len < scene->n_links)
    return FALSE;
  for (guint i = 0; i < scene->n_links; i++)
    if (scene->link[i].serial != g_array_index (self->ends, SceneEnds, i).serial)
      return FALSE;
  return TRUE;
}

static void
move_links (SceneChange *self)
{
  StudioScene *scene = self->scene;
  g_autofree guint *to = g_new (guint, scene->n_links + 1);

  for (guint i = 0; i < scene->n_links; i++)
    to[i] = STUDIO_NO_ITEM;
  for (guint i = 0; i < self->ends->len; i++)
    if (g_array_index (self->ends, SceneEnds, i).was != STUDIO_NO_ITEM)
      to[g_array_index (self->ends, SceneEnds, i).was] = i;
  for (guint i = 0; i < scene->n_links; i++)
    if (to[i] == STUDIO_NO_ITEM)
      drop_link (self, &scene->link[i]);
  scene->link = rearrange (scene->link, sizeof *scene->link, to, scene->n_links, self->ends->len);
}

static gboolean
has_ends (const StudioLink *link, const SceneEnds *ends)
{
  return link->from == ends->from && link->output == ends->output && link->to == ends->to && link->input == ends->input;
}

void
scene_change_arrange_links (SceneChange *self)
{
  StudioScene *scene = self->scene;
  const guint n = self->ends->len, n_was = scene->n_links;
  const gboolean in_place = are_links_in_place (self);

  self->is_rejoined = !in_place || n != n_was || !self->is_in_place;
  if (!in_place)
    move_links (self);
  else if (n != n_was)
    {
      scene->link = g_renew (StudioLink, scene->link, n + 1);
      memset (scene->link + n_was, 0, sizeof (StudioLink) * (n + 1 - n_was));
    }
  scene->n_links = n;
  for (guint i = 0; i < n; i++)
    {
      const SceneEnds *ends = &g_array_index (self->ends, SceneEnds, i);
      StudioLink *link = &scene->link[i];

      if (ends->was == STUDIO_NO_ITEM)
        {
          self->is_rejoined |= !in_place || i >= n_was || !has_ends (link, ends);
          if (in_place && i < n_was)
            drop_link (self, link);
          note_relinked (self, ends->from);
          note_relinked (self, ends->to);
        }
      link->serial = ends->serial;
      link->from = ends->from;
      link->output = ends->output;
      link->to = ends->to;
      link->input = ends->input;
    }
}
