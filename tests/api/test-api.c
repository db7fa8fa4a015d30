/* libgradloom as a foreign program sees it: this file includes only its header. */
#include <gradloom.h>

#include <glib/gstdio.h>
#include <string.h>

static char *
example (const char *name)
{
  return g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", name, NULL);
}

static GradloomGraph *
load (const char *name)
{
  g_autofree char *path = example (name);
  g_autoptr (GError) error = NULL;
  GradloomGraph *graph = gradloom_graph_load (path, &error);

  g_assert_no_error (error);
  return graph;
}

static GradloomTrainer *
train (const GradloomGraph *graph, const char *const *options, const gint64 *steps, guint n)
{
  g_autoptr (GError) error = NULL;
  GradloomTrainer *trainer = gradloom_trainer_new (graph, options, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < n; i++)
    {
      g_assert_true (gradloom_trainer_train (trainer, steps[i], NULL, NULL, &error));
      g_assert_no_error (error);
    }
  return trainer;
}

static gboolean
is_equal (GradloomTensor *a, GradloomTensor *b)
{
  const gsize bytes = (gsize)gradloom_tensor_count (a) * sizeof (float);

  return gradloom_tensor_type (a) == GRADLOOM_F32 && gradloom_tensor_type (b) == GRADLOOM_F32
         && gradloom_tensor_count (a) == gradloom_tensor_count (b)
         && memcmp (gradloom_tensor_data (a), gradloom_tensor_data (b), bytes) == 0;
}

/* Whether all weights of two trainers have the same bits. */
static gboolean
agree (GradloomTrainer *a, GradloomTrainer *b)
{
  g_auto (GStrv) names = gradloom_trainer_weights (a);
  gboolean equal = TRUE;

  g_assert_cmpuint (g_strv_length (names), >, 0);
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (GradloomTensor) x = gradloom_trainer_get_weight (a, names[i], NULL);
      g_autoptr (GradloomTensor) y = gradloom_trainer_get_weight (b, names[i], NULL);

      g_assert_nonnull (x);
      g_assert_nonnull (y);
      equal = equal && is_equal (x, y);
    }
  return equal;
}

/* An epoch of the spirals has 11 steps or so: pieces end within epochs, at their ends, and after several. */
static void
test_pieces (void)
{
  static const gint64 whole[] = { 40 }, pieces[] = { 1, 2, 13, 4, 20 }, fewer[] = { 39 };
  static const char *const options[] = { "threads=1", NULL };
  g_autoptr (GradloomGraph) graph = load ("lessons/spirals.xml");
  g_autoptr (GradloomTrainer) a = train (graph, options, whole, G_N_ELEMENTS (whole));
  g_autoptr (GradloomTrainer) b = train (graph, options, pieces, G_N_ELEMENTS (pieces));
  g_autoptr (GradloomTrainer) c = train (graph, options, fewer, G_N_ELEMENTS (fewer));

  g_assert_cmpint (gradloom_trainer_step (a), ==, 40);
  g_assert_cmpint (gradloom_trainer_step (b), ==, 40);
  g_assert_true (agree (a, b));
  g_assert_false (agree (a, c));
}

static gboolean
count_cb (const GradloomStep *step, gpointer data)
{
  gint64 *count = data;

  g_assert_cmpint (step->step, ==, ++*count);
  g_assert_cmpint (step->total_steps, ==, 3 * step->steps_per_epoch);
  g_assert_cmpfloat (step->loss, >, 0);
  g_assert_cmpfloat (step->learning_rate, ==, 0.03);
  return *count != 5;
}

/* A callback ends a call, not the training; the last call takes the remaining steps, and another takes none. */
static void
test_callback (void)
{
  static const char *const options[] = { "threads=1", "epochs=3", NULL };
  g_autoptr (GradloomGraph) graph = load ("lessons/spirals.xml");
  g_autoptr (GError) error = NULL;
  g_autoptr (GradloomTrainer) trainer = gradloom_trainer_new (graph, options, &error);
  gint64 count = 0;

  g_assert_no_error (error);
  g_assert_true (gradloom_trainer_train (trainer, 0, count_cb, &count, &error));
  g_assert_cmpint (gradloom_trainer_step (trainer), ==, 5);
  g_assert_false (gradloom_trainer_is_over (trainer));
  g_assert_true (gradloom_trainer_train (trainer, 2, count_cb, &count, &error));
  g_assert_cmpint (count, ==, 7);
  g_assert_true (gradloom_trainer_train (trainer, 0, count_cb, &count, &error));
  g_assert_no_error (error);
  g_assert_true (gradloom_trainer_is_over (trainer));
  g_assert_cmpint (gradloom_trainer_step (trainer), ==, count);
  g_assert_true (gradloom_trainer_train (trainer, 10, count_cb, &count, &error));
  g_assert_cmpint (gradloom_trainer_step (trainer), ==, count);
}

static gboolean
end_cb (const GradloomStep *step, gpointer data)
{
  return FALSE;
}

/* FALSE at the last of n steps does not affect the next call. */
static void
test_last_step (void)
{
  static const char *const options[] = { "threads=1", NULL };
  g_autoptr (GradloomGraph) graph = load ("lessons/spirals.xml");
  g_autoptr (GradloomTrainer) trainer = gradloom_trainer_new (graph, options, NULL);

  g_assert_true (gradloom_trainer_train (trainer, 1, end_cb, NULL, NULL));
  g_assert_true (gradloom_trainer_train (trainer, 4, NULL, NULL, NULL));
  g_assert_cmpint (gradloom_trainer_step (trainer), ==, 5);
}

static void
metric_cb (const char *name, double value, gpointer data)
{
  g_assert_cmpstr (name, ==, "accuracy");
  *(double *)data = value;
}

/* A trained net is better than the initial one, its predictor agrees with its trainer, and its weights are those that
 * were saved. */
static void
test_train_and_predict (void)
{
  static const char *const options[] = { "set=hidden.out_features=24", "lr=0.02", "epochs=60", NULL };
  static const float points[] = { 0.1f, 0.2f, -0.5f, 0.4f, 0.3f, -0.6f };
  g_autofree char *folder = g_dir_make_tmp ("gradloom-api-XXXXXX", NULL), *file = g_build_filename (folder, "w", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GradloomGraph) graph = load ("lessons/spirals.xml"), wide = NULL;
  g_autoptr (GradloomTrainer) trainer = gradloom_trainer_new (graph, options, &error);
  double before, after, accuracy = 0;
  GradloomAnswer kind = GRADLOOM_VALUES;

  g_assert_no_error (error);
  g_assert_true (gradloom_trainer_evaluate (trainer, "test", &before, NULL, NULL, &error));
  g_assert_true (gradloom_trainer_train (trainer, 0, NULL, NULL, &error));
  g_assert_true (gradloom_trainer_evaluate (trainer, "test", &after, metric_cb, &accuracy, &error));
  g_assert_no_error (error);
  g_assert_cmpfloat (after, <, before / 2);
  g_assert_cmpfloat (accuracy, >, 0.9);

  g_autoptr (GradloomTensor) x = gradloom_tensor_new (GRADLOOM_F32, 2, (gint64[]){ 3, 2 }, points, &error);
  g_autoptr (GradloomTensor) now = gradloom_trainer_predict (trainer, x, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradloom_tensor_rank (now), ==, 3);
  g_assert_cmpint (gradloom_tensor_dim (now, 0), ==, 3);
  g_assert_cmpint (gradloom_tensor_dim (now, 1), ==, 1);
  g_assert_cmpint (gradloom_tensor_dim (now, 2), ==, 2);

  g_assert_true (gradloom_trainer_save (trainer, file, &error));
  g_assert_no_error (error);
  /* The file's graph has 32 hidden units, the weights have 24. */
  g_autofree char *path = example ("lessons/spirals.xml"), *text = NULL;
  g_autoptr (GradloomPredictor) narrow = gradloom_predictor_new (graph, file, NULL, 0, &error);
  g_assert_no_error (error);
  g_assert_null (gradloom_predict (narrow, x, NULL, &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_DATA);
  g_clear_error (&error);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) halves = g_strsplit (text, "op=\"linear\" out_features=\"32\"", 2);
  g_autofree char *changed = g_strjoinv ("op=\"linear\" out_features=\"24\"", halves);
  wide = gradloom_graph_parse (changed, -1, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (gradloom_graph_check (wide, &error));
  g_autoptr (GradloomPredictor) predictor = gradloom_predictor_new (wide, file, NULL, 0, &error);
  g_assert_no_error (error);
  g_autoptr (GradloomTensor) y = gradloom_predict (predictor, x, &kind, &error);
  g_assert_no_error (error);
  g_assert_cmpint (kind, ==, GRADLOOM_PROBABILITIES);
  g_assert_cmpint (gradloom_tensor_count (y), ==, 6);
  for (gint64 i = 0; i < 6; i++)
    g_assert_cmpfloat_with_epsilon (gradloom_tensor_get (y, i), gradloom_tensor_get (now, i), 1e-6);
  for (gint64 i = 0; i < 6; i += 2)
    g_assert_cmpfloat_with_epsilon (gradloom_tensor_get (y, i) + gradloom_tensor_get (y, i + 1), 1, 1e-6);
  g_assert_cmpint (g_remove (file), ==, 0);
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

#define UNITS 32 /* of the hidden layer of the spirals */

/* Weights and ports have their shapes; a weight that is set is used by the computation. */
static void
test_tensors (void)
{
  static const char *const options[] = { "threads=1", NULL };
  static const gint64 steps[] = { 3 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradloomGraph) graph = load ("lessons/spirals.xml");
  g_autoptr (GradloomTrainer) trainer = train (graph, options, steps, 1);
  g_auto (GStrv) names = gradloom_trainer_weights (trainer);
  g_autofree char *joined = g_strjoinv (" ", names);

  g_assert_cmpstr (joined, ==, "hidden.weight hidden.bias scores.weight scores.bias");
  g_autoptr (GradloomTensor) weight = gradloom_trainer_get_weight (trainer, "hidden.weight", &error);
  g_assert_cmpint (gradloom_tensor_rank (weight), ==, 2);
  g_assert_cmpint (gradloom_tensor_dim (weight, 0), ==, UNITS);
  g_assert_cmpint (gradloom_tensor_dim (weight, 1), ==, 2);

  /* With zeros for weights and 1 for biases the layer is 1 everywhere, after the ReLU, too. */
  g_autoptr (GradloomTensor) zeros = gradloom_tensor_new (GRADLOOM_F32, 2, (gint64[]){ UNITS, 2 }, NULL, &error);
  float one[UNITS];
  for (int i = 0; i < UNITS; i++)
    one[i] = 1;
  g_autoptr (GradloomTensor) ones = gradloom_tensor_new (GRADLOOM_F32, 1, (gint64[]){ UNITS }, one, &error);
  g_assert_true (gradloom_trainer_set_weight (trainer, "hidden.weight", zeros, &error));
  g_assert_true (gradloom_trainer_set_weight (trainer, "hidden.bias", ones, &error));
  g_autoptr (GradloomTensor) act = gradloom_trainer_read (trainer, "act", &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradloom_tensor_rank (act), ==, 2);
  g_assert_cmpint (gradloom_tensor_dim (act, 1), ==, UNITS);
  for (gint64 i = 0; i < gradloom_tensor_count (act); i++)
    g_assert_cmpfloat (gradloom_tensor_get (act, i), ==, 1);
  g_autoptr (GradloomTensor) gradient = gradloom_trainer_read (trainer, "grad:scores", &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradloom_tensor_dim (gradient, 1), ==, 2);

  g_assert_null (gradloom_trainer_get_weight (trainer, "hidden.wait", &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_PORT);
  g_clear_error (&error);
  /* The state of the optimiser is no weight. */
  g_assert_null (gradloom_trainer_get_weight (trainer, "step", &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_PORT);
  g_clear_error (&error);
  g_assert_false (gradloom_trainer_set_weight (trainer, "hidden.bias", zeros, &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (gradloom_trainer_read (trainer, "nothing", &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_USAGE);
}

static void
expect (GError **error, GradloomError code, const char *part)
{
  g_assert_error (*error, GRADLOOM_ERROR, (int)code);
  if (strstr ((*error)->message, part) == NULL)
    g_error ("“%s” does not say “%s”", (*error)->message, part);
  g_clear_error (error);
}

/* What a user can cause is an error with a sentence. */
static void
test_errors (void)
{
  static const char *const wrong[] = { "learning_rate=1", "threads=0", "lr=fast", "epochs", "seed=-2", NULL };
  static const float point[] = { 0, 0, 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradloomGraph) graph = load ("lessons/spirals.xml");

  g_assert_null (gradloom_graph_load ("/nowhere.xml", &error));
  g_assert_nonnull (error);
  g_clear_error (&error);
  g_assert_null (gradloom_graph_parse ("<graph", -1, NULL, &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_PARSE);
  g_clear_error (&error);
  g_autoptr (GradloomGraph) faulty = gradloom_graph_parse (
      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"input\" shape=\"B,2\"/>"
      "<node id=\"f\" op=\"relo\"/><wire from=\"x\" to=\"f\"/></graph>",
      -1, NULL, NULL);
  g_assert_nonnull (faulty);
  g_assert_false (gradloom_graph_check (faulty, &error));
  expect (&error, GRADLOOM_ERROR_UNKNOWN_OP, "relo");
  for (guint i = 0; wrong[i] != NULL; i++)
    {
      const char *options[] = { wrong[i], NULL };

      g_assert_null (gradloom_trainer_new (graph, options, &error));
      expect (&error, GRADLOOM_ERROR_USAGE, wrong[i]);
    }
  g_assert_null (gradloom_trainer_new (graph, (const char *[]){ "device=abacus", NULL }, &error));
  g_assert_nonnull (error);
  g_clear_error (&error);

  g_autoptr (GradloomPredictor) predictor = gradloom_predictor_new (graph, NULL, NULL, 1, &error);
  g_assert_no_error (error);
  g_autoptr (GradloomTensor) x = gradloom_tensor_new (GRADLOOM_F32, 2, (gint64[]){ 1, 3 }, point, &error);
  g_autoptr (GradloomTensor) scalar = gradloom_tensor_new (GRADLOOM_F32, 0, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_null (gradloom_predict (predictor, x, NULL, &error));
  expect (&error, GRADLOOM_ERROR_SHAPE, "1 × 3");
  g_assert_null (gradloom_predict (predictor, scalar, NULL, &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_SHAPE);
  g_clear_error (&error);
  g_autoptr (GradloomTensor) again = gradloom_tensor_ref (x);
  g_assert_cmpint (gradloom_tensor_type (again), ==, GRADLOOM_F32);
  g_assert_cmpstr (gradloom_version (), !=, "");
  g_assert_null (gradloom_tensor_new (GRADLOOM_F32, 9, NULL, NULL, &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_USAGE);
  g_clear_error (&error);
  g_assert_null (gradloom_tensor_new (GRADLOOM_F32, 1, (gint64[]){ -1 }, NULL, &error));
  g_assert_error (error, GRADLOOM_ERROR, GRADLOOM_ERROR_USAGE);
  g_clear_error (&error);
}

/* The folder of a run is a graph with weights. */
static void
test_run_folder (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-api-XXXXXX", NULL), *run = g_build_filename (folder, "run", NULL);
  g_autofree char *out = g_strconcat ("out=", run, NULL);
  const char *options[] = { "epochs=1", out, NULL };
  static const gint64 steps[] = { 0 };
  static const float point[] = { 0.25f, -0.5f };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradloomGraph) graph = load ("lessons/spirals.xml");
  g_autoptr (GradloomTrainer) trainer = train (graph, options, steps, 1);
  g_autoptr (GradloomTensor) x = gradloom_tensor_new (GRADLOOM_F32, 2, (gint64[]){ 1, 2 }, point, NULL);
  g_autoptr (GradloomTensor) expected = gradloom_trainer_predict (trainer, x, &error);

  g_assert_no_error (error);
  g_autoptr (GradloomGraph) trained = gradloom_graph_load (run, &error);
  g_assert_no_error (error);
  g_autoptr (GradloomPredictor) predictor = gradloom_predictor_new (trained, NULL, NULL, 0, &error);
  g_assert_no_error (error);
  g_autoptr (GradloomTensor) y = gradloom_predict (predictor, x, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (gradloom_tensor_get (y, 0), gradloom_tensor_get (expected, 0), 1e-6);
  g_autofree char *remove = g_strdup_printf ("rm -r '%s'", folder);
  g_assert_true (g_spawn_command_line_sync (remove, NULL, NULL, NULL, NULL));
}

/* LeNet on images, if they are on this machine. */
static void
test_lenet (void)
{
  static const char *const options[] = { "batch_size=32", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradloomGraph) graph = load ("models/fashion-lenet.xml");
  g_autoptr (GradloomTrainer) trainer = gradloom_trainer_new (graph, options, &error);

  if (trainer == NULL && g_error_matches (error, GRADLOOM_ERROR, GRADLOOM_ERROR_DATA))
    {
      g_test_skip (error->message);
      return;
    }
  g_assert_no_error (error);
  g_assert_true (gradloom_trainer_train (trainer, 8, NULL, NULL, &error));
  g_assert_no_error (error);
  g_autoptr (GradloomTensor) images = gradloom_tensor_new (GRADLOOM_F32, 4, (gint64[]){ 2, 1, 28, 28 }, NULL, &error);
  g_autoptr (GradloomTensor) classes = gradloom_trainer_predict (trainer, images, &error);
  g_assert_no_error (error);
  g_assert_cmpint (gradloom_tensor_dim (classes, 0), ==, 2);
  g_assert_cmpint (gradloom_tensor_dim (classes, 2), ==, 10);
  g_autoptr (GradloomPredictor) predictor = gradloom_predictor_new (graph, NULL, NULL, 0, &error);
  g_assert_no_error (error);
  g_assert_nonnull (gradloom_predictor_class_name (predictor, 10, 0));
  g_assert_null (gradloom_predictor_class_name (predictor, 10, 10));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/api/pieces", test_pieces);
  g_test_add_func ("/api/callback", test_callback);
  g_test_add_func ("/api/last-step", test_last_step);
  g_test_add_func ("/api/train-and-predict", test_train_and_predict);
  g_test_add_func ("/api/tensors", test_tensors);
  g_test_add_func ("/api/errors", test_errors);
  g_test_add_func ("/api/run-folder", test_run_folder);
  g_test_add_func ("/api/lenet", test_lenet);
  return g_test_run ();
}
