/* Shared by tests of runs: a small net, a trainer of a text, and a run to its end. */
#pragma once

#include "engine/train/loom-trainer.h"

#include <math.h>
#include <string.h>

/* A net of two layers on spirals, up to <train>: 1,000 samples, or with the options DATA ("n=\"300\""). */
#define TRAIN_TEST_SPIRALS(DATA, WIDTH)                                                                                \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"                                                                 \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" " DATA "/>"                                                     \
  "<node id=\"hidden\" op=\"linear\" out_features=\"" WIDTH "\"/><node id=\"act\" op=\"tanh\"/>"                       \
  "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"scores\"/>"          \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"

/* A trainer of a graph without faults; xml NULL: that of the resumed run. Learning rate and seed are the graph's, and
 * it computes in one thread. */
static inline LoomTrainer *
train_test_new (const char *xml, LoomTrainerOptions options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = xml != NULL ? loom_graph_read_data (xml, strlen (xml), "test", faults, &error) : NULL;
  LoomTrainer *trainer;

  g_assert_no_error (error);
  options.lr = NAN;
  options.seed = -1;
  options.threads = 1;
  trainer = loom_trainer_new (graph, &options, &error);
  g_assert_no_error (error);
  return trainer;
}

static inline void
train_test_run (LoomTrainer *trainer)
{
  g_autoptr (GError) error = NULL;
  LoomTrainerEnd end = loom_trainer_run (trainer, &error);

  g_assert_no_error (error);
  g_assert_cmpint (end, ==, LOOM_TRAINER_DONE);
}
