/* An incomplete last batch of an epoch, and norms with one value per channel. */
#include "engine/loom-lab.h"
#include "tests/scratch.h"
#include "tests/test-program.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* n samples of two numbers; `norm` follows 12 features, which are [batch, 12] or reshaped as it specifies. */
static LoomGraph *
graph_of (int n, const char *norm, const char *train)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = g_strdup_printf (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"%d\" n_test=\"33\"/>"
      "<node id=\"hidden\" op=\"linear\" out_features=\"12\"/>%s"
      "<node id=\"act\" op=\"relu\"/><node id=\"flat\" op=\"flatten\"/>"
      "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"norm\" to=\"act\"/><wire from=\"act\" to=\"flat\"/>"
      "<wire from=\"flat\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"
      "<wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" seed=\"3\" %s>"
      "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>",
      n, norm, train);
  LoomGraph *graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);

  g_assert_no_error (error);
  return graph;
}

#define BATCH_NORM "<node id=\"norm\" op=\"batch_norm1d\"/><wire from=\"hidden\" to=\"norm\"/>"
#define NONE       "<node id=\"norm\" op=\"identity\"/><wire from=\"hidden\" to=\"norm\"/>"
#define AS(shape)                                                                                                      \
  "<node id=\"as\" op=\"reshape\" shape=\"" shape "\"/><wire from=\"hidden\" to=\"as\"/><wire from=\"as\" "            \
  "to=\"norm\"/>"
#define NORM(op) "<node id=\"norm\" op=\"" op "\"/>"

static LoomTrainer *
trainer_of (int n, const char *norm, const char *train, const char *out, GError **error)
{
  g_autoptr (LoomGraph) graph = graph_of (n, norm, train);
  LoomTrainerOptions o = { .lr = NAN, .seed = -1, .threads = 1, .out = out };

  return loom_trainer_new (graph, &o, error);
}

typedef struct
{
  gint64 steps, steps_per_epoch, stop;
  double most, mean;
} Seen;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  Seen *seen = data;

  seen->steps = s->step;
  seen->steps_per_epoch = s->steps_per_epoch;
  seen->most = MAX (seen->most, s->loss);
  seen->mean = s->epoch_loss;
  g_assert_true (isfinite (s->loss));
  g_assert_cmpfloat (s->metric[0], >=, 0);
  g_assert_cmpfloat (s->metric[0], <=, 1);
  if (s->step == seen->stop)
    loom_trainer_post (trainer, LOOM_COMMAND_STOP, NULL, 0);
}

static const LoomTrainerObserver observer = { .step = step_cb };

static Seen
run_all (LoomTrainer *trainer)
{
  g_autoptr (GError) error = NULL;
  Seen seen = { 0 };

  loom_trainer_set_observer (trainer, &observer, &seen);
  LoomTrainerEnd end = loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_assert_cmpint (end, ==, LOOM_TRAINER_DONE);
  g_assert_cmpint (loom_trainer_total_steps (trainer), ==, seen.steps);
  return seen;
}

static void
test_counts (void)
{
  static const struct
  {
    int n;
    const char *norm, *train;
    gint64 steps; /* an epoch */
    gboolean noted;
  } cases[] = {
    { 33, BATCH_NORM, "batch_size=\"32\"", 1, TRUE },
    { 65, BATCH_NORM, "batch_size=\"32\" drop_last=\"auto\"", 2, TRUE },
    { 33, NONE, "batch_size=\"32\"", 2, FALSE },
    { 34, BATCH_NORM, "batch_size=\"32\"", 2, FALSE },
    { 34, BATCH_NORM, "batch_size=\"32\" drop_last=\"true\"", 1, FALSE },
    { 33, BATCH_NORM, "batch_size=\"32\" drop_last=\"true\"", 1, FALSE },
    { 34, BATCH_NORM, "batch_size=\"32\" drop_last=\"false\"", 2, FALSE },
    { 33, NONE, "batch_size=\"32\" drop_last=\"false\"", 2, FALSE },
    { 64, BATCH_NORM, "batch_size=\"32\" drop_last=\"true\"", 2, FALSE },
    /* Four batches of 8 and one of 1: the step of the one alone is left out, or its part of the last one. */
    { 33, BATCH_NORM, "batch_size=\"8\" accumulate=\"4\"", 1, TRUE },
    { 33, BATCH_NORM, "batch_size=\"8\" accumulate=\"3\"", 2, TRUE },
    { 33, NONE, "batch_size=\"8\" accumulate=\"4\"", 2, FALSE },
    { 30, BATCH_NORM, "batch_size=\"8\" accumulate=\"3\" drop_last=\"true\"", 1, FALSE },
    /* A channel with several positions has several values in one sample. */
    { 33, NORM ("batch_norm1d") AS ("B,3,4"), "batch_size=\"32\"", 2, FALSE },
    { 33, NORM ("layer_norm") AS ("B,12"), "batch_size=\"32\"", 2, FALSE },
    { 33, "<node id=\"norm\" op=\"group_norm\" num_groups=\"12\"/>" AS ("B,12"), "batch_size=\"32\"", 1, TRUE },
    { 33, "<node id=\"norm\" op=\"group_norm\" num_groups=\"6\"/>" AS ("B,12"), "batch_size=\"32\"", 2, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *train = g_strconcat (cases[i].train, " epochs=\"3\"", NULL);
      g_autoptr (LoomTrainer) trainer = trainer_of (cases[i].n, cases[i].norm, train, NULL, &error);

      g_assert_no_error (error);
      const char *notes = loom_trainer_notes (trainer);
      g_assert_cmpint (notes != NULL && strstr (notes, "drops the last") != NULL && strstr (notes, "norm") != NULL, ==,
                       cases[i].noted);
      Seen seen = run_all (trainer);
      g_test_message ("case %u: %" G_GINT64_FORMAT " steps", i, seen.steps);
      g_assert_cmpint (seen.steps, ==, 3 * cases[i].steps);
      g_assert_cmpint (seen.steps_per_epoch, ==, cases[i].steps);
    }
}

/* The fault that this prevents: the batch of one moved the weights and the running variance by a constant each epoch.
 */
static void
test_learns (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = trainer_of (33, BATCH_NORM, "batch_size=\"32\" epochs=\"150\"", NULL, &error);
  g_autoptr (LoomTensor) seen_batches = NULL;

  g_assert_no_error (error);
  Seen seen = run_all (trainer);
  g_assert_cmpfloat (seen.mean, <, 0.55);
  g_assert_cmpfloat (seen.most, <, 1.2);
  seen_batches = loom_state_get (loom_trainer_state (trainer), "norm.num_batches_tracked", NULL);
  g_assert_cmpfloat (loom_tensor_get (seen_batches, 0), ==, 150);
  g_assert_true (loom_trainer_evaluate (trainer, "val", &error));
  g_assert_no_error (error);
}

/* The samples of an epoch weigh alike in its mean: with one step an epoch the mean is the step's loss. */
static void
test_mean (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = trainer_of (33, BATCH_NORM, "batch_size=\"32\" epochs=\"1\"", NULL, &error);

  g_assert_no_error (error);
  Seen seen = run_all (trainer);
  g_assert_cmpfloat (seen.mean, ==, seen.most);
}

static void
test_refused (void)
{
  static const struct
  {
    int n;
    const char *norm, *train, *message;
  } cases[] = {
    { 33, BATCH_NORM, "batch_size=\"1\"",
      "*norm (batch_norm1d)*1 × 12*one value per channel*batch_size larger*layer_norm*" },
    { 1, BATCH_NORM, "batch_size=\"32\"", "*norm (batch_norm1d)*1 × 12*one value per channel*" },
    { 33, BATCH_NORM, "batch_size=\"32\" drop_last=\"false\"",
      "*33 training samples*norm*Remove drop_last=\"false\"*" },
    { 33, BATCH_NORM, "batch_size=\"4\" accumulate=\"8\" drop_last=\"false\"", "*Remove drop_last=\"false\"*" },
    { 20, NONE, "batch_size=\"32\" drop_last=\"true\"", "*leaves no batch*20 training samples*" },
    { 33, NORM ("batch_norm2d") AS ("B,12,1,1"), "batch_size=\"1\"", "*batch_norm2d*1 × 12 × 1 × 1*" },
    { 33, NORM ("batch_norm3d") AS ("B,12,1,1,1"), "batch_size=\"1\"", "*batch_norm3d*" },
    { 33, NORM ("instance_norm1d") AS ("B,12,1"), "batch_size=\"8\"", "*instance_norm1d*8 × 12 × 1*one element*" },
    { 33, NORM ("instance_norm2d") AS ("B,12,1,1"), "batch_size=\"8\"", "*instance_norm2d*" },
    { 33, "<node id=\"norm\" op=\"instance_norm3d\" track_running_stats=\"true\"/>" AS ("B,12,1,1,1"),
      "batch_size=\"8\"", "*instance_norm3d*" },
    { 33, "<node id=\"norm\" op=\"group_norm\" num_groups=\"12\"/>" AS ("B,12"), "batch_size=\"1\"",
      "*group_norm*one value per group*" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomTrainer) trainer = trainer_of (cases[i].n, cases[i].norm, cases[i].train, NULL, &error);

      g_assert_null (trainer);
      g_assert_true (error->code == LOOM_ERROR_SHAPE || error->code == LOOM_ERROR_DATA);
      if (!g_pattern_match_simple (cases[i].message, error->message))
        g_error ("“%s” is not “%s”", error->message, cases[i].message);
    }
}

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  *(double *)data = e->loss;
}

/* A run without epochs trains nothing, and can evaluate samples one by one. */
static void
test_evaluates (void)
{
  static const char *const train[] = { "batch_size=\"1\" epochs=\"0\"", "batch_size=\"32\" epochs=\"0\"" };
  double loss[2] = { 0, 1 };

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomTrainer) trainer = trainer_of (33, BATCH_NORM, train[i], NULL, &error);

      g_assert_no_error (error);
      g_assert_null (loom_trainer_notes (trainer));
      loom_trainer_set_observer (trainer, &(LoomTrainerObserver){ .eval = eval_cb }, &loss[i]);
      g_assert_true (loom_trainer_evaluate (trainer, "test", &error));
    }
  g_assert_cmpfloat_with_epsilon (loss[0], loss[1], 1e-5);
}

/* ---- on disk ------------------------------------------------------------ */

static void
assert_same (const char *a, const char *b, const char *name)
{
  g_autofree char *pa = g_build_filename (a, name, NULL), *pb = g_build_filename (b, name, NULL);
  g_autofree char *ta = NULL, *tb = NULL;
  gsize na = 0, nb = 0;

  g_assert_true (g_file_get_contents (pa, &ta, &na, NULL));
  g_assert_true (g_file_get_contents (pb, &tb, &nb, NULL));
  if (na != nb || memcmp (ta, tb, na) != 0)
    g_error ("%s differs", name);
}

static LoomTrainer *
resume (const char *run, GError **error)
{
  LoomTrainerOptions o = { .lr = NAN, .seed = -1, .resume = run };

  return loom_trainer_new (NULL, &o, error);
}

/* 65 samples make two steps of an epoch; stops at its end and in the middle of one. */
static void
test_resumed (void)
{
  static const char *const files[]
      = { "weights.safetensors", "events.jsonl", "checkpoints/12/state.json", "checkpoints/12/optimizer.safetensors" };
  const char *train = "batch_size=\"32\" epochs=\"6\"";
  g_autofree char *folder = g_dir_make_tmp ("gradloom-drop-XXXXXX", NULL);
  g_autofree char *whole = g_build_filename (folder, "whole", NULL), *parts = g_build_filename (folder, "parts", NULL);
  g_autofree char *xml_path = g_build_filename (parts, "graph.xml", NULL), *xml = NULL;
  g_autoptr (GError) error = NULL;
  static const gint64 stops[] = { 3, 4, 7, 10 };

  g_autoptr (LoomTrainer) trainer = trainer_of (65, BATCH_NORM, train, whole, &error);
  g_assert_no_error (error);
  run_all (trainer);
  g_clear_pointer (&trainer, loom_trainer_free);
  for (guint i = 0; i < G_N_ELEMENTS (stops); i++)
    {
      Seen seen = { .stop = stops[i] };
      trainer = i == 0 ? trainer_of (65, BATCH_NORM, train, parts, &error) : resume (parts, &error);
      g_assert_no_error (error);
      loom_trainer_set_observer (trainer, &observer, &seen);
      g_assert_cmpint (loom_trainer_run (trainer, &error), ==, LOOM_TRAINER_STOPPED);
      g_assert_cmpint (loom_trainer_steps (trainer), ==, stops[i]);
      g_clear_pointer (&trainer, loom_trainer_free);
    }
  trainer = resume (parts, &error);
  g_assert_no_error (error);
  run_all (trainer);
  g_clear_pointer (&trainer, loom_trainer_free);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    assert_same (whole, parts, files[i]);

  /* A position in an epoch is another sample if epochs are longer. */
  g_assert_true (g_file_get_contents (xml_path, &xml, NULL, NULL));
  g_auto (GStrv) cut = g_strsplit (xml, " n=\"65\"", 2);
  g_autofree char *other = g_strjoinv (" n=\"66\"", cut);
  g_assert_true (g_file_set_contents (xml_path, other, -1, NULL));
  trainer = resume (parts, &error);
  g_assert_null (trainer);
  if (strstr (error->message, "dropped 1 samples") == NULL)
    g_error ("%s", error->message);
  remove_tree (folder);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/drop-last/counts", test_counts);
  g_test_add_func ("/drop-last/learns", test_learns);
  g_test_add_func ("/drop-last/mean", test_mean);
  g_test_add_func ("/drop-last/refused", test_refused);
  g_test_add_func ("/drop-last/evaluates", test_evaluates);
  g_test_add_func ("/drop-last/resumed", test_resumed);
  return g_test_run ();
}
