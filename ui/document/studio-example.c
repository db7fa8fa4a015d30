#include "ui/document/studio-example.h"

#include <glib/gi18n.h>

#include "ui/document/document-edit.h"

#include "ui/document/studio-clipboard.h"
#include "ui/layout/studio-layout.h"

#define GAP 72.0 /* between existing cards and the example */

static StudioScene *
scene_of (const LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);

  return studio_scene_new (graph, loom_graph_root (graph), "", net, faults, NULL, NULL);
}

StudioScene *
studio_example_scene (const LoomOp *op)
{
  g_autoptr (LoomGraph) graph = loom_op_example (op);
  StudioScene *scene;

  g_return_val_if_fail (graph != NULL, NULL);

  scene = scene_of (graph);
  studio_layout_fill (scene);
  return scene;
}

char *
studio_example_text (const LoomOp *op)
{
  g_autoptr (LoomGraph) graph = loom_op_example (op);
  g_autoptr (StudioScene) scene = NULL;
  g_autoptr (StudioLayout) layout = NULL;
  g_autoptr (GPtrArray) edits = NULL;

  g_return_val_if_fail (graph != NULL, NULL);

  scene = scene_of (graph);
  layout = studio_layout_new (scene, NULL, STUDIO_LAYOUT_WIDTH, STUDIO_LAYOUT_HEIGHT, STUDIO_LAYOUT_KEEP);
  edits = studio_layout_edits (graph, loom_graph_root (graph), scene, layout);
  for (guint i = 0; i < edits->len; i++)
    loom_edit_free (loom_graph_apply (graph, g_steal_pointer (&edits->pdata[i])));
  return loom_graph_write (graph, NULL);
}

gboolean
studio_example_insert (StudioDocument *document, const LoomOp *op, GError **error)
{
  StudioScene *scene = studio_document_get_scene (document);
  StudioRect all = studio_geometry_bounds (scene);
  gboolean empty = scene->n_items == 0 && scene->n_annotations == 0;
  g_autofree char *text = studio_example_text (op);
  g_autofree char *step = g_strdup_printf (_ ("Insert the example of %s"), op->title);
  gboolean done;

  studio_document_begin (document, step);
  done = studio_clipboard_paste (document, text, empty ? 0 : all.x, empty ? 0 : all.y + all.height + GAP, error);
  /* A refused paste has reverted all edits, and ended the step. */
  if (studio_document_is_editing (document))
    studio_document_end (document);
  return done;
}
