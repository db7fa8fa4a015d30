#include "ui/scene/scene-links.h"

#include <string.h>

#include "ui/scene/studio-shapes.h"

static void
forget_links (StudioPort *port, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      port[i].n_links = 0;
      port[i].link = STUDIO_NO_ITEM;
    }
}

void
scene_links_list (const SceneChange *change)
{
  StudioScene *scene = change->scene;

  for (guint i = 0; i < scene->n_items + scene->n_hidden; i++)
    if (change->is_rejoined || change->is_relinked[i])
      {
        forget_links (scene->item[i].input, scene->item[i].n_offered);
        forget_links (scene->item[i].output, scene->item[i].n_outputs);
      }
  for (guint i = scene->n_links; i-- > 0;)
    {
      StudioLink *link = &scene->link[i];

      if (change->is_rejoined || change->is_relinked[link->from])
        {
          StudioPort *out = &scene->item[link->from].output[link->output];

          out->n_links++;
          link->next_out = out->link;
          out->link = i;
        }
      if (change->is_rejoined || change->is_relinked[link->to])
        {
          StudioPort *in = &scene->item[link->to].input[link->input];

          in->n_links++;
          link->next_in = in->link;
          in->link = i;
        }
    }
}

/* like: a wire that was labelled before, or NULL: most wires have the shape of their neighbour. */
static void
type_link (StudioScene *scene, StudioLink *link, const StudioLink *like)
{
  const StudioPort *out = &scene->item[link->from].output[link->output];
  StudioPort *in = &scene->item[link->to].input[link->input];

  link->typed = in->typed = out->typed;
  link->type = in->type = out->type;
  link->axes = in->axes = out->axes;
  if (like == NULL || !link->typed || link->copy != NULL || !loom_shape_equal (&link->type.shape, &like->type.shape)
      || memcmp (&link->axes, &like->axes, sizeof link->axes) != 0)
    {
      studio_link_relabel (scene, link);
      return;
    }
  g_clear_pointer (&link->label, g_ref_string_release);
  link->label = g_ref_string_acquire (like->label);
}

void
scene_links_type (SceneChange *change)
{
  StudioScene *scene = change->scene;
  const StudioLink *like = NULL;

  for (guint i = 0; i < scene->n_links; i++)
    if (change->is_retyped[scene->link[i].from])
      change->is_relinked[scene->link[i].to] = TRUE;
  for (guint i = 0; i < scene->n_items + scene->n_hidden; i++)
    if (change->is_relinked[i])
      {
        scene_change_touch (scene, i);
        for (guint p = 0; p < scene->item[i].n_offered; p++)
          scene->item[i].input[p].typed = FALSE;
      }
  for (guint i = scene->n_links; i-- > 0;)
    if (change->is_relinked[scene->link[i].to])
      {
        type_link (scene, &scene->link[i], like);
        if (scene->link[i].typed && scene->link[i].copy == NULL)
          like = &scene->link[i];
      }
}

void
scene_links_reset (StudioScene *scene, gboolean relabel)
{
  for (guint i = 0; i < scene->n_links; i++)
    {
      StudioLink *link = &scene->link[i];
      const gboolean had_copy = link->copy != NULL;

      g_clear_pointer (&link->copy, g_free);
      g_clear_pointer (&link->copy_doc, g_free);
      g_clear_pointer (&link->point, g_free);
      link->n_points = link->n_dark = 0;
      link->thickness = 0;
      link->fault = FALSE;
      if (had_copy || relabel)
        studio_link_relabel (scene, link);
    }
}

void
scene_links_mark_faulty (StudioScene *scene)
{
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *to = &scene->item[i];

      for (guint p = 0; studio_item_tone (to) == STUDIO_TONE_ERROR && to->fault_port != NULL && p < to->n_offered; p++)
        for (guint l = strcmp (to->fault_port, to->input[p].name) == 0 ? to->input[p].link : STUDIO_NO_ITEM;
             l != STUDIO_NO_ITEM; l = scene->link[l].next_in)
          scene->link[l].fault = TRUE;
    }
}
