/* A run with numbers changed while it trains is repeated from its folder, bit for bit. */
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include "engine/infer/loom-run-files.h"

#define GRAPH                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"160\"/>"  \
  "<node id=\"hidden\" op=\"linear\" out_features=\"16\"/><node id=\"act\" op=\"tanh\"/>"                              \
  "<node id=\"drop\" op=\"dropout\" p=\"0.1\"/><node id=\"scores\" op=\"linear\" out_features=\"2\"/>"                 \
  "<node id=\"loss\" op=\"cross_entropy\"/><wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/>"    \
  "<wire from=\"act\" to=\"drop\"/><wire from=\"drop\" to=\"scores\"/><wire from=\"scores\" to=\"loss.input\"/>"       \
  "<wire from=\"data.y\" to=\"loss.target\"/>"                                                                         \
  "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\" weight_decay=\"0.001\" batch_size=\"16\" "       \
  "epochs=\"4\" seed=\"3\"><schedule type=\"cosine\"/><clip norm=\"1\"/></train></graph>"

static const struct
{
  gint64 step;
  const char *name;
  double value;
} changes[] = {
  { 3, "lr", 1.0 / 3 },        { 7, "momentum", 0.7 },    { 7, "momentum", 0.45678901234 },
  { 10, "weight_decay", 0.2 }, { 13, "clip_norm", 0.05 }, { 18, "drop.p", 0.4321 },
  { 33, "lr", 0.02 },
};

typedef struct
{
  gboolean changes;
  double loss[64];
} Watch;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Watch *watch = data;

  watch->loss[step->step] = step->loss;
  for (guint i = 0; watch->changes && i < G_N_ELEMENTS (changes); i++)
    if (changes[i].step == step->step)
      loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, changes[i].name, changes[i].value);
}

static void
run (const char *xml, LoomTrainerOptions options, Watch *watch, LoomTrainerEnd end)
{
  const LoomTrainerObserver observer = { .step = step_cb };
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, options);
  g_autoptr (GError) error = NULL;

  loom_trainer_set_observer (trainer, &observer, watch);
  g_assert_cmpint (loom_trainer_run (trainer, &error), ==, end);
  g_assert_no_error (error);
}

static char *
content_of (const char *folder, const char *name, gsize *length)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  char *text;

  g_assert_true (g_file_get_contents (path, &text, length, NULL));
  return text;
}

/* The lines of changed numbers. */
static char *
changes_of (const char *folder)
{
  g_autofree char *text = content_of (folder, LOOM_RUN_EVENTS, NULL);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  GString *found = g_string_new (NULL);

  for (guint i = 0; lines[i] != NULL; i++)
    if (strstr (lines[i], "\"hyper\"") != NULL)
      g_string_append_printf (found, "%s\n", lines[i]);
  return g_string_free (found, FALSE);
}

static void
expect_same_weights (const char *a, const char *b, gboolean same)
{
  gsize n, m;
  g_autofree char *one = content_of (a, LOOM_RUN_WEIGHTS, &n), *two = content_of (b, LOOM_RUN_WEIGHTS, &m);

  g_assert_cmpint (n, ==, m);
  g_assert_cmpint (memcmp (one, two, n) == 0, ==, same);
}

static void
expect_same_losses (const Watch *a, const Watch *b, gint64 steps)
{
  for (gint64 i = 1; i <= steps; i++)
    g_assert_cmpfloat (a->loss[i], ==, b->loss[i]);
}

static void
test_bits (void)
{
  g_autofree char *top = g_dir_make_tmp ("replay-XXXXXX", NULL), *first = g_build_filename (top, "first", NULL);
  g_autofree char *plain = g_build_filename (top, "plain", NULL), *again = g_build_filename (top, "again", NULL);
  g_autofree char *lines = NULL, *repeated = NULL;
  Watch changed = { .changes = TRUE }, repetition = { 0 }, unchanged = { 0 };

  run (GRAPH, (LoomTrainerOptions){ .out = first }, &changed, LOOM_TRAINER_DONE);
  run (GRAPH, (LoomTrainerOptions){ .out = plain }, &unchanged, LOOM_TRAINER_DONE);
  run (GRAPH, (LoomTrainerOptions){ .out = again, .replay = first }, &repetition, LOOM_TRAINER_DONE);
  expect_same_losses (&changed, &unchanged, 3);
  g_assert_cmpfloat (changed.loss[5], !=, unchanged.loss[5]);
  expect_same_losses (&changed, &repetition, 40);
  expect_same_weights (first, plain, FALSE);
  expect_same_weights (first, again, TRUE);
  lines = changes_of (first);
  repeated = changes_of (again);
  g_assert_cmpstr (lines, ==, repeated);
  g_assert_nonnull (
      strstr (lines, "{\"event\":\"hyper\",\"step\":3,\"name\":\"lr\",\"value\":0.3333333333333333,\"before\":0.1}"));
  remove_tree (top);
}

/* The batch size is changed, too, among the others and within an epoch; and a branch from between the changes, that is
 * changed itself, is repeated from its parent's beginning. */
static void
step_of_branch_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Watch *watch = data;

  watch->loss[step->step] = step->loss;
  if (step->step == 16)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "batch_size", 20);
  if (step->step == 19)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "lr", 0.01);
}

static void
step_with_batch_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  if (step->step == 5)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "batch_size", 32);
  if (step->step == 11)
    loom_trainer_post (trainer, LOOM_COMMAND_SET_HYPER, "batch_size", 8);
  step_cb (trainer, step, data);
}

static void
test_all_of_a_branch (void)
{
  g_autofree char *top = g_dir_make_tmp ("replay-XXXXXX", NULL), *first = g_build_filename (top, "first", NULL);
  g_autofree char *again = g_build_filename (top, "again", NULL), *branch = g_build_filename (top, "branch", NULL);
  g_autofree char *twig = g_build_filename (top, "twig", NULL), *lines = NULL, *repeated = NULL;
  const LoomTrainerObserver changing = { .step = step_with_batch_cb }, branching = { .step = step_of_branch_cb };
  Watch changed = { .changes = TRUE }, repetition = { 0 }, of_branch = { 0 }, of_twig = { 0 };
  LoomTrainer *trainer = train_test_new (GRAPH, (LoomTrainerOptions){ .out = first, .steps = 40 });
  g_autoptr (GError) error = NULL;

  loom_trainer_set_observer (trainer, &changing, &changed);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  loom_trainer_free (trainer);
  run (GRAPH, (LoomTrainerOptions){ .out = again, .replay = first, .steps = 40 }, &repetition, LOOM_TRAINER_STOPPED);
  expect_same_losses (&changed, &repetition, 40);
  expect_same_weights (first, again, TRUE);
  lines = changes_of (first);
  repeated = changes_of (again);
  g_assert_cmpstr (lines, ==, repeated);
  for (guint i = 0; i < G_N_ELEMENTS (changes); i++)
    g_assert_nonnull (strstr (lines, changes[i].name));
  g_assert_nonnull (strstr (lines, "batch_size"));

  /* After the change of the batch size, before that of clipping. */
  trainer
      = train_test_new (NULL, (LoomTrainerOptions){ .branch = first, .branch_step = 12, .out = branch, .steps = 30 });
  loom_trainer_set_observer (trainer, &branching, &of_branch);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  loom_trainer_free (trainer);
  run (GRAPH, (LoomTrainerOptions){ .out = twig, .replay = branch, .steps = 30 }, &of_twig, LOOM_TRAINER_STOPPED);
  for (gint64 i = 13; i <= 30; i++)
    g_assert_cmpfloat (of_branch.loss[i], ==, of_twig.loss[i]);
  g_assert_cmpfloat (of_twig.loss[12], ==, changed.loss[12]);
  g_assert_cmpfloat (of_twig.loss[25], !=, changed.loss[25]);
  expect_same_weights (branch, twig, TRUE);
  remove_tree (top);
}

/* A run that was stopped and resumed with another rate: its graph.xml has only the new one. */
static void
test_resumed (void)
{
  g_autofree char *top = g_dir_make_tmp ("replay-XXXXXX", NULL), *first = g_build_filename (top, "first", NULL);
  g_autofree char *again = g_build_filename (top, "again", NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  g_autofree char *xml = NULL;
  Watch changed = { .changes = TRUE }, repetition = { 0 };
  LoomTrainer *resumed;
  gsize length;

  run (GRAPH, (LoomTrainerOptions){ .out = first, .steps = 20 }, &changed, LOOM_TRAINER_STOPPED);
  resumed = loom_trainer_new (
      NULL, &(LoomTrainerOptions){ .resume = first, .lr = 0.07, .seed = -1, .threads = 1, .steps = 40 }, &error);
  g_assert_no_error (error);
  loom_trainer_set_observer (resumed, &(LoomTrainerObserver){ .step = step_cb }, &changed);
  train_test_run (resumed);
  loom_trainer_free (resumed);
  graph = loom_run_read_graph (first, faults, &error);
  g_assert_no_error (error);
  xml = loom_graph_write (graph, &length);
  g_assert_null (strstr (xml, "lr=\"0.1\"")); /* it has the new rate alone */
  run (xml, (LoomTrainerOptions){ .out = again, .replay = first }, &repetition, LOOM_TRAINER_DONE);
  expect_same_losses (&changed, &repetition, 40);
  expect_same_weights (first, again, TRUE);
  remove_tree (top);
}

static void
expect_refused (const char *folder, const char *line, const char *says)
{
  g_autofree char *path = g_build_filename (folder, LOOM_RUN_EVENTS, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (GRAPH, strlen (GRAPH), "test", faults, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (g_file_set_contents (path, line, -1, NULL));
  g_assert_null (
      loom_trainer_new (graph, &(LoomTrainerOptions){ .replay = folder, .lr = NAN, .seed = -1, .threads = 1 }, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_assert_nonnull (strstr (error->message, says));
}

static void
test_damaged (void)
{
  g_autofree char *top = g_dir_make_tmp ("replay-XXXXXX", NULL), *many = g_strnfill (5000, ' ');
  g_autofree char *line = g_strconcat ("{\"event\":\"hyper\",", many, "}", NULL);

  expect_refused (top, "{\"event\":\"hyper\",\"step\":1", "a damaged line");
  expect_refused (top, "{\"event\":\"hyper\",\"step\":-1,\"name\":\"lr\",\"value\":1}\n", "step");
  expect_refused (top, "{\"event\":\"hyper\",\"step\":1,\"name\":\"lr\",\"value\":null}\n", "value");
  expect_refused (top, "{\"event\":\"hyper\",\"step\":1,\"name\":\"elsewhere.p\",\"value\":1}\n", "elsewhere.p");
  expect_refused (top, line, "a damaged line");
  remove_tree (top);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/replay/bits", test_bits);
  g_test_add_func ("/replay/all-of-a-branch", test_all_of_a_branch);
  g_test_add_func ("/replay/resumed", test_resumed);
  g_test_add_func ("/replay/damaged", test_damaged);
  return g_test_run ();
}
