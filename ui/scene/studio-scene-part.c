/* Cards that are left out join the hidden ones, which have positions and are not drawn, so that nothing is freed here
 * that another index refers to. */
#include "ui/scene/studio-scene-part.h"

#include "ui/scene/scene-change.h"
#include "ui/scene/studio-routes.h"

/* Moves kept cards to the front, in their order. is_kept and index are of the old order; index receives the new one. */
static void
sort_items (StudioScene *scene, const gboolean *is_kept, guint *index)
{
  const guint n = scene->n_items;
  StudioItem *item = g_new (StudioItem, n + scene->n_hidden + 1);
  guint kept = 0;

  for (guint i = 0; i < n; i++)
    if (is_kept[i])
      index[i] = kept++;
  for (guint i = 0, rest = kept; i < n; i++)
    if (!is_kept[i])
      index[i] = rest++;
  for (guint i = 0; i < n + scene->n_hidden; i++)
    item[i < n ? index[i] : i] = scene->item[i];
  g_free (scene->item);
  scene->item = item;
  scene->n_items = kept;
  scene->n_hidden += n - kept;
}

static void
clear_link (StudioLink *link)
{
  g_clear_pointer (&link->label, g_ref_string_release);
  g_free (link->copy);
  g_free (link->copy_doc);
  g_free (link->point);
}

static void
keep_links (StudioScene *scene, const gboolean *is_kept, const guint *index)
{
  guint n = 0;

  for (guint i = 0; i < scene->n_links; i++)
    {
      StudioLink *link = &scene->link[i];

      if (!is_kept[link->from] || !is_kept[link->to])
        {
          clear_link (link);
          continue;
        }
      link->from = index[link->from];
      link->to = index[link->to];
      scene->link[n++] = *link;
    }
  scene->n_links = n;
}

static void
forget_links (StudioPort *port, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      port[i].n_links = 0;
      port[i].link = STUDIO_NO_ITEM;
    }
}

static void
join_links (StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      forget_links (scene->item[i].input, scene->item[i].n_offered);
      forget_links (scene->item[i].output, scene->item[i].n_outputs);
    }
  for (guint i = scene->n_links; i-- > 0;)
    {
      StudioLink *link = &scene->link[i];
      StudioPort *out = &scene->item[link->from].output[link->output], *in = &scene->item[link->to].input[link->input];

      out->n_links++;
      in->n_links++;
      link->next_out = out->link;
      link->next_in = in->link;
      out->link = in->link = i;
    }
}

static void
keep_annotations (StudioScene *scene, StudioSceneKeeps keeps, gpointer data)
{
  guint n = 0;

  for (guint i = 0; i < scene->n_annotations; i++)
    {
      if (keeps (scene->annotation[i].serial, data))
        {
          scene->annotation[n++] = scene->annotation[i];
          continue;
        }
      g_free (scene->annotation[i].text);
      g_free (scene->annotation[i].color);
    }
  scene->n_annotations = n;
}

void
studio_scene_keep (StudioScene *scene, StudioSceneKeeps keeps, gpointer data)
{
  g_autofree gboolean *is_kept = g_new (gboolean, scene->n_items + 1);
  g_autofree guint *index = g_new (guint, scene->n_items + 1);
  const gboolean right_angles = studio_routes_get_right_angles (scene->routes);

  for (guint i = 0; i < scene->n_items; i++)
    is_kept[i] = keeps (scene->item[i].serial, data);
  sort_items (scene, is_kept, index);
  keep_links (scene, is_kept, index);
  join_links (scene);
  keep_annotations (scene, keeps, data);
  scene_change_index_all (scene, scene->n_items);
  studio_routes_free (scene->routes);
  scene->routes = studio_routes_new ();
  studio_routes_set_right_angles (scene->routes, right_angles);
}
