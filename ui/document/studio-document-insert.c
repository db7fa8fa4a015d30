/* Inserts a card that is there into a wire. */
#include "ui/document/studio-document-add.h"

#include <glib/gi18n.h>

#include "ui/document/document-edit.h"
#include "ui/document/studio-document-arrange.h"

guint
studio_item_input_types (const StudioItem *item, const LoomType **type, guint most)
{
  guint n = MIN (item->n_inputs, most);

  for (guint i = 0; i < n; i++)
    type[i] = item->input[i].n_links > 0 && item->input[i].typed ? &item->input[i].type : NULL;
  return n;
}

/* The ports of a card that is inserted into a wire. */
static gboolean
find_way (StudioDocument *self, const StudioScene *scene, guint item, guint link, guint *input, guint *output)
{
  const StudioItem *it = &scene->item[item];
  const StudioLink *wire = &scene->link[link];
  const StudioPort *source = &scene->item[wire->from].output[wire->output];
  const LoomElement *element = studio_document_node (self, it->serial);
  LoomFit best = LOOM_FIT_NOT;

  if (it->n_outputs == 0 || wire->from == item || wire->to == item)
    return FALSE;
  for (guint o = 0; o < it->n_outputs; o++)
    if (it->output[o].n_links > 0)
      return FALSE;
  for (guint p = 0; p < MIN (it->n_inputs, MOST_INPUTS); p++)
    {
      const LoomType *type[MOST_INPUTS] = { NULL };
      LoomFitAnswer answer = { .fit = LOOM_FIT_UNKNOWN };
      guint n = studio_item_input_types (it, type, MOST_INPUTS);

      if (it->input[p].n_links > 0 || !studio_scene_can_link (scene, wire->from, wire->output, item, p))
        continue;
      type[p] = &source->type;
      if (source->typed && it->op != NULL && element != NULL)
        loom_fit_infer (element, type, MAX (n, p + 1), &answer);
      if (answer.fit > best)
        {
          best = answer.fit;
          *input = p;
        }
      loom_fit_answer_clear (&answer);
    }
  *output = 0;
  return best > LOOM_FIT_NOT && studio_scene_can_link (scene, item, 0, wire->to, wire->input);
}

gboolean
studio_document_can_insert (StudioDocument *self, guint64 node, guint64 wire)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint item = studio_scene_find (scene, node), link = studio_scene_find_link (scene, wire), input, output;

  return item != STUDIO_NO_ITEM && link != STUDIO_NO_ITEM && find_way (self, scene, item, link, &input, &output);
}

gboolean
studio_document_insert_in_wire (StudioDocument *self, guint64 node, guint64 wire, double dx, double dy)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint item = studio_scene_find (scene, node), link = studio_scene_find_link (scene, wire), input, output;
  const StudioLink *old;
  g_autofree char *name = NULL;
  g_autofree double *moved = NULL;

  if (item == STUDIO_NO_ITEM || link == STUDIO_NO_ITEM || !find_way (self, scene, item, link, &input, &output))
    return FALSE;
  old = &scene->link[link];
  name = g_strdup_printf (_ ("Insert %s"), scene->item[item].id);
  moved = studio_document_make_space (scene, item, link, input, &dx, &dy);
  studio_document_begin (self, name);
  studio_document_move (self, &node, 1, dx, dy);
  for (guint i = 0; moved != NULL && i < scene->n_items; i++)
    if (moved[i] != 0)
      studio_document_place_on (self, scene, i, moved[i]);
  /* The second wire replaces the old one at its input. */
  studio_document_connect (self, scene->item[old->from].serial, scene->item[old->from].output[old->output].name, node,
                           scene->item[item].input[input].name, NULL);
  studio_document_connect (self, node, scene->item[item].output[output].name, scene->item[old->to].serial,
                           scene->item[old->to].input[old->input].name, NULL);
  studio_document_end (self);
  return TRUE;
}
