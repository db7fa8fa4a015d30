/* Graphs of the library; see gradloom.h. */
#include "engine/api/api-private.h"

#include <string.h>

static GradloomGraph *
graph_new (LoomGraph *graph, const char *run)
{
  GradloomGraph *self = g_new0 (GradloomGraph, 1);

  self->graph = graph;
  self->run = g_strdup (run);
  return self;
}

GradloomGraph *
gradloom_graph_load (const char *path, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_run_read_graph (path, faults, error);

  if (graph == NULL || !loom_faults_to_error (faults, path, error))
    return NULL;
  return graph_new (g_steal_pointer (&graph), loom_path_is_folder (path) ? path : NULL);
}

GradloomGraph *
gradloom_graph_parse (const char *text, gssize length, const char *folder, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph
      = loom_graph_read_data (text, length < 0 ? strlen (text) : (gsize)length, "the text", faults, error);

  if (graph == NULL || !loom_faults_to_error (faults, "the text", error))
    return NULL;
  loom_graph_set_folder (graph, folder);
  return graph_new (g_steal_pointer (&graph), NULL);
}

void
gradloom_graph_free (GradloomGraph *graph)
{
  if (graph == NULL)
    return;
  loom_graph_unref (graph->graph);
  g_free (graph->run);
  g_free (graph);
}

gboolean
gradloom_graph_check (const GradloomGraph *graph, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph->graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = NULL;

  if (loom_element_find (loom_graph_root (graph->graph), LOOM_TAG_TRAIN) != NULL)
    spec = loom_train_spec_new (graph->graph, net, faults);
  return loom_faults_to_error (faults, NULL, error);
}
