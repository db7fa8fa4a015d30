/* Helpers for tests of documents: load one from text, and look up its contents. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/document/studio-trials.h"

static inline StudioDocument *
document_load (const char *text)
{
  StudioDocument *document = studio_document_new ();
  g_autoptr (GError) error = NULL;

  studio_document_set_trials_unlimited (document, TRUE);
  g_assert_true (studio_document_open_text (document, text, -1, NULL, &error));
  g_assert_no_error (error);
  return document;
}

static inline char *
document_text (StudioDocument *document)
{
  return loom_graph_write (studio_document_get_graph (document), NULL);
}

/* 0: the shown scope has no node of this name. */
static inline guint64
document_serial (StudioDocument *document, const char *id)
{
  StudioScene *scene = studio_document_get_scene (document);
  guint i = studio_scene_find_id (scene, id);

  return i != STUDIO_NO_ITEM ? scene->item[i].serial : 0;
}

/* One random edit, or none if the graph does not allow it. */
static inline void
document_random_edit (StudioDocument *document, GRand *rand)
{
  static const char *const ops[] = { "linear", "relu", "add", "concat", "flatten" };
  StudioScene *scene = studio_document_get_scene (document);
  guint n = scene->n_items, a = n > 0 ? g_rand_int_range (rand, 0, n) : 0,
        b = n > 0 ? g_rand_int_range (rand, 0, n) : 0;

  switch (n == 0 ? 0 : g_rand_int_range (rand, 0, 10))
    {
    case 0:
    case 1:
      studio_document_add_node (document, ops[g_rand_int_range (rand, 0, G_N_ELEMENTS (ops))],
                                g_rand_int_range (rand, -500, 500), g_rand_int_range (rand, -500, 500));
      break;
    case 2:
    case 3:
      if (scene->item[a].n_outputs > 0 && scene->item[b].n_inputs > 0)
        studio_document_connect (document, scene->item[a].serial, scene->item[a].output[0].name, scene->item[b].serial,
                                 scene->item[b].input[g_rand_int_range (rand, 0, scene->item[b].n_inputs)].name, NULL);
      break;
    case 4:
      if (scene->n_links > 0)
        studio_document_disconnect (document, scene->link[g_rand_int_range (rand, 0, scene->n_links)].serial);
      break;
    case 5:
      {
        guint64 both[2] = { scene->item[a].serial, scene->item[b].serial };

        studio_document_select (document, both, a == b ? 1 : 2);
        studio_document_move (document, both, a == b ? 1 : 2, 24, -12);
      }
      break;
    case 6:
      {
        g_autofree char *value = g_strdup_printf ("%d", g_rand_int_range (rand, 1, 99));

        studio_document_set_attribute (document, scene->item[a].serial, "out_features", value);
      }
      break;
    case 7:
      {
        g_autofree char *id = g_strdup_printf ("n%d", g_rand_int_range (rand, 0, 1000));

        studio_document_rename (document, scene->item[a].serial, id, NULL);
      }
      break;
    case 8:
      studio_document_select_only (document, scene->item[a].serial);
      studio_document_duplicate (document);
      break;
    default:
      studio_document_select_only (document, scene->item[a].serial);
      studio_document_delete_selection (document);
      break;
    }
}
