/* Makes the scene of a graph's root from text. */
#pragma once

#include <string.h>

#include "ui/scene/studio-partitions.h"
#include "ui/scene/studio-scene.h"

/* name: for errors of reading, which fail the test. */
static inline StudioScene *
scene_from_text (const char *text, const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (text, strlen (text), name, faults, &error);
  g_autoptr (LoomNet) net = NULL;
  StudioScene *scene;

  g_assert_no_error (error);
  net = loom_net_new (graph, NULL, faults);
  scene = studio_scene_new (graph, loom_graph_root (graph), "", net, faults, NULL, NULL);
  studio_scene_add_shards (scene, graph, net);
  return scene;
}
