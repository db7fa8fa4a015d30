/* Arbitrary bytes as a graph: a net is made of it, it is written and read again. */
#include "tests/fuzz/fuzz-graph.h"

#include "engine/lesson/loom-lesson.h"
#include "engine/lesson/loom-slides.h"
#include "engine/net/loom-net.h"
#include "engine/recipe/loom-train-spec.h"

#include <string.h>

static LoomGraph *
read_graph (const char *data, gsize size, LoomFaults *faults)
{
  g_autoptr (GError) error = NULL;
  LoomGraph *graph = loom_graph_read_data (data, size, "fuzz", faults, &error);

  g_assert_true ((graph == NULL) == (error != NULL));
  return graph;
}

void
fuzz_graph (const unsigned char *data, size_t size)
{
  g_autoptr (LoomFaults) faults = loom_faults_new (), faults_again = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL, again = NULL, frozen = NULL;
  g_autofree char *text = NULL, *text_again = NULL, *hash = NULL, *hash_again = NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (LoomTrainSpec) spec = NULL;
  g_autoptr (GPtrArray) lessons = NULL;
  g_autoptr (GPtrArray) slides = NULL;
  gsize length;

  /* The reader is handed bytes without a terminator here: reading past the end shows. */
  graph = read_graph ((const char *)data, size, faults);
  if (graph == NULL)
    return;

  text = loom_graph_write (graph, &length);
  again = read_graph (text, length, faults_again);
  g_assert_nonnull (again);
  text_again = loom_graph_write (again, NULL);
  g_assert_cmpstr (text, ==, text_again);
  hash = loom_graph_hash (graph);
  hash_again = loom_graph_hash (again);
  g_assert_cmpstr (hash, ==, hash_again);

  frozen = loom_graph_freeze (graph);
  net = loom_net_new (frozen, NULL, faults);
  spec = loom_train_spec_new (frozen, net, faults);
  lessons = loom_lessons_new (frozen, faults);
  slides = loom_slides_new (frozen, faults);
  for (guint i = 0; i < slides->len; i++)
    {
      g_autoptr (LoomElement) element = loom_slide_to_element (slides->pdata[i]);

      g_assert_true (loom_element_tag (element) == LOOM_TAG_SLIDE);
    }
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *sentence = loom_fault_to_string (loom_faults_get (faults, i));

      g_assert_true (g_utf8_validate (sentence, -1, NULL));
    }
  for (guint i = 0; i < loom_net_n_nodes (net) && i < 100; i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (loom_net_find (net, n->path), ==, (int)i);
      loom_net_type_of (net, NULL, n->serial, NULL);
      loom_net_find_port (net, n->path, NULL, &error);
    }
}
