/* Compares a document's scene, which was changed at each edit as its net was, with a new one of a new net. */
#pragma once

#include <string.h>

#include "ui/document/studio-document-private.h"
#include "ui/document/studio-trials.h"
#include "ui/scene/studio-partitions.h"
#include "ui/scene/studio-scene.h"

static inline void
assert_same_ports (const StudioPort *a, const StudioPort *b, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpstr (a[i].name, ==, b[i].name);
      g_assert_cmpstr (a[i].doc, ==, b[i].doc);
      g_assert_cmpuint (a[i].n_links, ==, b[i].n_links);
      g_assert_cmpuint (a[i].link, ==, b[i].link);
      g_assert_true (a[i].required == b[i].required && a[i].variadic == b[i].variadic && a[i].weight == b[i].weight);
      g_assert_true (a[i].typed == b[i].typed);
      if (a[i].typed)
        g_assert_true (a[i].type.dtype == b[i].type.dtype && loom_shape_equal (&a[i].type.shape, &b[i].type.shape)
                       && memcmp (&a[i].axes, &b[i].axes, sizeof a[i].axes) == 0 && a[i].source.node == b[i].source.node
                       && a[i].source.output == b[i].source.output);
    }
}

static inline void
assert_same_item (const StudioItem *a, const StudioItem *b)
{
  g_assert_true (a->serial == b->serial && a->op == b->op && a->order == b->order);
  g_assert_cmpstr (a->id, ==, b->id);
  g_assert_cmpstr (a->path, ==, b->path);
  g_assert_cmpstr (a->kind, ==, b->kind);
  g_assert_cmpstr (a->title, ==, b->title);
  g_assert_cmpstr (a->summary, ==, b->summary);
  g_assert_cmpstr (a->badge, ==, b->badge);
  g_assert_cmpstr (a->mark, ==, b->mark);
  g_assert_cmpstr (a->repeat, ==, b->repeat);
  g_assert_cmpstr (a->sample_key, ==, b->sample_key);
  g_assert_cmpstr (a->fault, ==, b->fault);
  g_assert_cmpstr (a->fault_port, ==, b->fault_port);
  g_assert_cmpstr (a->waits_for, ==, b->waits_for);
  g_assert_cmpstr (a->fix, ==, b->fix);
  g_assert_cmpstr (a->split, ==, b->split);
  g_assert_true (a->is_module == b->is_module && a->is_frame == b->is_frame && a->folded == b->folded
                 && a->frozen == b->frozen && a->muted == b->muted && a->tint == b->tint);
  g_assert_true (a->fault_is_warning == b->fault_is_warning && a->fault_is_todo == b->fault_is_todo);
  g_assert_true (a->width == b->width && a->height == b->height && a->figure_height == b->figure_height
                 && a->hanging == b->hanging && a->cost == b->cost && a->costs.flops == b->costs.flops
                 && a->costs.parameters == b->costs.parameters && a->costs.bytes == b->costs.bytes
                 && (a->figure == NULL) == (b->figure == NULL));
  g_assert_true (a->is_placed == b->is_placed && a->place == b->place);
  if (a->is_placed)
    g_assert_true (a->x == b->x && a->y == b->y);
  g_assert_true (a->n_inputs == b->n_inputs && a->n_offered == b->n_offered && a->n_outputs == b->n_outputs);
  assert_same_ports (a->input, b->input, a->n_offered);
  assert_same_ports (a->output, b->output, a->n_outputs);
}

static inline void
assert_same_link (const StudioLink *a, const StudioLink *b)
{
  g_assert_true (a->serial == b->serial && a->from == b->from && a->output == b->output && a->to == b->to
                 && a->input == b->input && a->next_out == b->next_out && a->next_in == b->next_in);
  g_assert_true (a->typed == b->typed && a->fault == b->fault && a->n_points == b->n_points);
  if (a->typed)
    g_assert_true (a->type.dtype == b->type.dtype && loom_shape_equal (&a->type.shape, &b->type.shape)
                   && memcmp (&a->axes, &b->axes, sizeof a->axes) == 0);
  g_assert_cmpstr (a->label, ==, b->label);
  g_assert_cmpstr (a->copy, ==, b->copy);
  g_assert_cmpstr (a->copy_doc, ==, b->copy_doc);
  g_assert_true (a->n_points == 0 || memcmp (a->point, b->point, a->n_points * sizeof *a->point) == 0);
}

static inline void
assert_scene_is_new (StudioDocument *document)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) typed = loom_net_new (studio_document_get_graph (document), NULL, faults);
  const StudioScene *a = (studio_document_get_net (document), studio_document_get_scene (document));
  g_autoptr (StudioScene) b
      = studio_scene_new (studio_document_get_graph (document), studio_document_get_scope (document),
                          studio_document_get_scope_path (document), typed, studio_document_get_faults (document),
                          studio_document_fix_for_fault, document);

  gboolean all_placed = TRUE;

  /* A fix that was not tried for lack of time is not offered. */
  g_assert_true (studio_document_has_unlimited_trials (document));
  studio_scene_add_shards (b, studio_document_get_graph (document), typed);
  g_assert_true (a->n_items == b->n_items && a->n_hidden == b->n_hidden && a->n_links == b->n_links
                 && a->n_annotations == b->n_annotations && a->flow == b->flow && a->batch == b->batch);
  for (guint i = 0; i < a->n_items + a->n_hidden; i++)
    {
      assert_same_item (&a->item[i], &b->item[i]);
      g_assert_cmpuint (studio_scene_find (a, b->item[i].serial), ==, studio_scene_find (b, b->item[i].serial));
      g_assert_cmpuint (studio_scene_card_of (a, b->item[i].path), ==, studio_scene_card_of (b, b->item[i].path));
    }
  for (guint l = 0; l < a->n_links; l++)
    assert_same_link (&a->link[l], &b->link[l]);
  for (guint i = 0; i < a->n_items; i++)
    all_placed &= a->item[i].is_placed;
  for (guint i = 0; all_placed && i < a->n_items; i++)
    g_assert_true (a->item[i].fault_place == b->item[i].fault_place
                   && a->item[i].fault_width == b->item[i].fault_width);
  for (guint i = 0; i < a->n_annotations; i++)
    {
      g_assert_true (a->annotation[i].serial == b->annotation[i].serial && a->annotation[i].x == b->annotation[i].x
                     && a->annotation[i].width == b->annotation[i].width);
      g_assert_cmpstr (a->annotation[i].text, ==, b->annotation[i].text);
    }
  g_assert_true (a->costs.flops == b->costs.flops && a->costs.parameters == b->costs.parameters);
}
