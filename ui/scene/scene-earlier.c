#include "ui/scene/scene-earlier.h"

void
scene_earlier_init (SceneEarlier *self, StudioScene *scene, guint n_items, guint most_links)
{
  const guint n = scene != NULL ? scene->n_items : 0;

  *self = (SceneEarlier){ .scene = scene,
                          .item = g_new0 (StudioItem *, n_items + 1),
                          .taken_by = g_new (guint, n + 1),
                          .link = g_array_sized_new (FALSE, FALSE, sizeof (guint), most_links) };
  for (guint i = 0; i < n; i++)
    self->taken_by[i] = STUDIO_NO_ITEM;
}

void
scene_earlier_clear (SceneEarlier *self)
{
  g_free (self->item);
  g_free (self->taken_by);
  g_array_unref (self->link);
}

static gboolean
is_younger (const SceneEarlier *self, const LoomElement *e)
{
  return loom_element_changed (e) > self->scene->version;
}

StudioItem *
scene_earlier_find (SceneEarlier *self, const LoomElement *e)
{
  const guint64 serial = loom_element_serial (e);
  guint i = self->next_item;

  if (self->scene == NULL)
    return NULL;
  if (i >= self->scene->n_items || self->scene->item[i].serial != serial)
    i = studio_scene_find (self->scene, serial);
  if (i == STUDIO_NO_ITEM)
    return NULL;
  self->next_item = i + 1;
  return self->scene->item[i].has_table_ports && !is_younger (self, e) ? &self->scene->item[i] : NULL;
}

void
scene_earlier_take_words (SceneEarlier *self, StudioItem *was, guint k, StudioItem *item)
{
  item->id = g_steal_pointer (&was->id);
  item->path = g_steal_pointer (&was->path);
  item->kind = g_steal_pointer (&was->kind);
  item->title = g_steal_pointer (&was->title);
  item->repeat = g_steal_pointer (&was->repeat);
  item->muted = was->muted;
  item->frozen = was->frozen;
  item->op = was->op;
  item->has_table_ports = TRUE;
  item->n_inputs = was->n_inputs;
  item->n_outputs = was->n_outputs;
  self->item[k] = was;
  self->taken_by[was - self->scene->item] = k;
}

/* TRUE if the items have the ids and the places that they had, with others after them. */
static gboolean
begins_as_before (const SceneEarlier *self, const StudioScene *scene)
{
  const StudioScene *was = self->scene;

  if (was == NULL || was->n_items > scene->n_items || scene->n_hidden > 0
      || g_hash_table_size (was->by_id) != was->n_items)
    return FALSE;
  for (guint i = 0; i < was->n_items; i++)
    if (self->taken_by[i] != i
        && (was->item[i].id == NULL || was->item[i].serial != scene->item[i].serial
            || !g_str_equal (was->item[i].id, scene->item[i].id)))
      return FALSE;
  return TRUE;
}

void
scene_earlier_index (StudioScene *scene, guint i)
{
  if (!scene->item[i].is_frame)
    g_hash_table_replace (scene->by_id, scene->item[i].id, GUINT_TO_POINTER (i + 1));
  if (i < scene->n_items)
    g_hash_table_insert (scene->by_serial, GSIZE_TO_POINTER (scene->item[i].serial), GUINT_TO_POINTER (i + 1));
}

void
scene_earlier_take_indexes (SceneEarlier *self, StudioScene *scene)
{
  const guint known = begins_as_before (self, scene) ? self->scene->n_items : 0;

  if (known > 0)
    {
      scene->by_serial = g_steal_pointer (&self->scene->by_serial);
      scene->by_id = g_steal_pointer (&self->scene->by_id);
    }
  else
    {
      scene->by_serial = g_hash_table_new (NULL, NULL);
      scene->by_id = g_hash_table_new (g_str_hash, g_str_equal);
    }
  for (guint i = 0; i < scene->n_items + scene->n_hidden; i++)
    if (i >= known || self->taken_by[i] != i)
      scene_earlier_index (scene, i);
}

StudioPort *
scene_earlier_take_ports (StudioPort **was, guint n, gboolean keep_types)
{
  StudioPort *ports = g_steal_pointer (was);

  for (guint i = 0; i < n; i++)
    {
      ports[i].n_links = 0;
      ports[i].link = STUDIO_NO_ITEM;
      ports[i].typed &= keep_types;
    }
  return ports;
}

void
scene_earlier_begin_links (SceneEarlier *self)
{
  g_array_set_size (self->link, 0);
  self->next_link = 0;
}

gboolean
scene_earlier_take_ends (SceneEarlier *self, const LoomElement *e, StudioLink *link, guint *was)
{
  const StudioScene *scene = self->scene;
  const guint64 serial = loom_element_serial (e);
  const StudioLink *old;

  *was = STUDIO_NO_ITEM;
  while (scene != NULL && self->next_link < scene->n_links && scene->link[self->next_link].serial != serial)
    {
      /* A wire that went is passed over; one that came, or changed its ends, is not there. */
      if (is_younger (self, e))
        return FALSE;
      self->next_link++;
    }
  if (scene == NULL || self->next_link >= scene->n_links)
    return FALSE;
  old = &scene->link[self->next_link];
  if (is_younger (self, e) || self->taken_by[old->from] == STUDIO_NO_ITEM || self->taken_by[old->to] == STUDIO_NO_ITEM)
    return FALSE;
  *was = self->next_link++;
  *link = (StudioLink){
    .from = self->taken_by[old->from], .output = old->output, .to = self->taken_by[old->to], .input = old->input
  };
  return TRUE;
}

StudioLink *
scene_earlier_link (SceneEarlier *self, guint i)
{
  /* Links of collapsed frames are others; there nothing is taken. */
  const guint was = self->scene != NULL ? g_array_index (self->link, guint, i) : STUDIO_NO_ITEM;

  return was != STUDIO_NO_ITEM ? &self->scene->link[was] : NULL;
}
