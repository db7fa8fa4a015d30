/* The kind of picture for the data of a graph: for every shipped graph, and for graphs without one. And predictions of
 * a trainer during training: the same as a predictor's with the same weights. */
#include "engine/loom-lab.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

static const char *const kind_names[LOOM_N_TASK_VIEWS] = { "none", "plane", "line", "images", "rows", "sequences" };

static LoomTaskView *
task_of (LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  return loom_task_view_new (net, spec);
}

static LoomTaskView *
task_of_xml (const char *xml)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_assert_no_error (error);
  return task_of (graph);
}

/* Every graph in graphs/: a new one is a new row. */
static const struct
{
  const char *file;
  LoomTaskViewKind kind;
  gboolean classes, predicts;
} examples[] = {
  { "lessons/backpropagation.xml", LOOM_TASK_VIEW_NONE, FALSE, FALSE },
  { "lessons/backward-by-hand.xml", LOOM_TASK_VIEW_ROWS, FALSE, FALSE },
  { "lessons/causal-mask.xml", LOOM_TASK_VIEW_NONE, FALSE, FALSE },
  { "lessons/convolution.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "lessons/custom-activation.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/dynamic-static.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/first-graph.xml", LOOM_TASK_VIEW_NONE, FALSE, FALSE },
  { "lessons/hinge-classifier.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/linear-regression.xml", LOOM_TASK_VIEW_LINE, FALSE, TRUE },
  { "lessons/linear-scaling.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "lessons/loading.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "lessons/logistic-regression.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "lessons/masked-autoencoder.xml", LOOM_TASK_VIEW_IMAGES, TRUE, FALSE },
  { "lessons/newton.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/next-token.xml", LOOM_TASK_VIEW_NONE, FALSE, FALSE },
  { "lessons/normal-equation.xml", LOOM_TASK_VIEW_LINE, FALSE, TRUE },
  { "lessons/optimisers.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/overfitting.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/pipeline.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/recurrent-cell.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "lessons/rosenbrock.xml", LOOM_TASK_VIEW_NONE, FALSE, FALSE },
  { "lessons/self-attention.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "lessons/spirals.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/toy-model-parallel.xml", LOOM_TASK_VIEW_ROWS, FALSE, TRUE },
  { "lessons/toy-model.xml", LOOM_TASK_VIEW_ROWS, FALSE, TRUE },
  { "lessons/training-by-hand.xml", LOOM_TASK_VIEW_LINE, FALSE, TRUE },
  { "lessons/transfer-far.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "lessons/transfer-learning.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "lessons/data-parallel.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/mesh.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/parameter-server.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/sharded.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/split-products.xml", LOOM_TASK_VIEW_PLANE, TRUE, TRUE },
  { "lessons/several-devices.xml", LOOM_TASK_VIEW_LINE, FALSE, TRUE },
  { "lessons/transformer-block.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "lessons/two-layer-relu.xml", LOOM_TASK_VIEW_ROWS, FALSE, TRUE },
  { "lessons/vector-add.xml", LOOM_TASK_VIEW_NONE, FALSE, FALSE },
  { "lessons/vae.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "lessons/xyz-sum.xml", LOOM_TASK_VIEW_NONE, FALSE, FALSE },
  { "models/adding-lstm.xml", LOOM_TASK_VIEW_IMAGES, FALSE, TRUE },
  { "models/char-bert.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/alexnet.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/alexnet-two-devices.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/char-denoise.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/char-gpt.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/char-gpt-split.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/char-rnn.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/char-lstm.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/char-lstm-stateful.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/cifar-cnn.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/conv-autoencoder.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/copy-gru.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/copy-ntm.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/dates-attention.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, FALSE },
  { "models/dates-gru.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, FALSE },
  { "models/dates-scheduled.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, FALSE },
  { "models/dates-transformer.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, FALSE },
  { "models/fashion-cnn-bn.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/fashion-lenet.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/fashion-mlp.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/fashion-resnet.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/french-attention.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, FALSE },
  { "models/modular-network.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/resnet18.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/resnet50.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/gpt2.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, TRUE },
  { "models/shapes-captions.xml", LOOM_TASK_VIEW_IMAGES, TRUE, FALSE },
  { "models/shapes-detector.xml", LOOM_TASK_VIEW_IMAGES, FALSE, TRUE },
  { "models/shapes-unet.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
  { "models/tree-recursion.xml", LOOM_TASK_VIEW_SEQUENCES, TRUE, FALSE },
  { "models/vgg16.xml", LOOM_TASK_VIEW_IMAGES, TRUE, TRUE },
};

static guint
count_graphs (const char *folder)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", folder, NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;
  guint n = 0;

  g_assert_nonnull (dir);
  while ((name = g_dir_read_name (dir)))
    n += g_str_has_suffix (name, ".xml") ? 1 : 0;
  return n;
}

static void
test_examples (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", examples[i].file, NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, &error);
      g_assert_no_error (error);
      g_autoptr (LoomTaskView) task = task_of (graph);

      g_test_message ("%s: %s, %s", examples[i].file, kind_names[task->kind],
                      task->predicts      ? task->answer_path
                      : task->why != NULL ? task->why
                                          : task->why_not);
      g_assert_cmpstr (kind_names[task->kind], ==, kind_names[examples[i].kind]);
      g_assert_cmpint (task->classes, ==, examples[i].classes);
      g_assert_cmpint (task->predicts, ==, examples[i].predicts);
      g_assert_cmpint (task->boxes, ==, g_str_has_suffix (examples[i].file, "-detector.xml"));
      g_assert_true ((task->kind == LOOM_TASK_VIEW_NONE) == (task->why != NULL));
    }
  g_assert_cmpuint (G_N_ELEMENTS (examples), ==, count_graphs ("lessons") + count_graphs ("models"));
}

#define GRAPH(body) "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">" body "</graph>"

/* Why there is no picture, or no answer in it. */
static void
test_without (void)
{
  g_autoptr (LoomTaskView) two = task_of_xml (GRAPH ("<node id=\"a\" op=\"dataset\" source=\"spirals\"/>"
                                                     "<node id=\"b\" op=\"dataset\" source=\"xor\"/>"));
  g_autoptr (LoomTaskView) alone = task_of_xml (GRAPH ("<node id=\"a\" op=\"dataset\" source=\"spirals\"/>"));
  g_autoptr (LoomTaskView) unknown = task_of_xml (GRAPH ("<node id=\"a\" op=\"dataset\" source=\"spirals\"/>"
                                                         "<node id=\"b\" op=\"no_such_thing\"/>"
                                                         "<wire from=\"a.x\" to=\"b\"/>"));

  g_assert_cmpint (two->kind, ==, LOOM_TASK_VIEW_NONE);
  g_assert_nonnull (strstr (two->why, "several"));
  /* Data alone have a picture already. */
  g_assert_cmpint (alone->kind, ==, LOOM_TASK_VIEW_PLANE);
  g_assert_cmpuint (alone->y, ==, 1);
  g_assert_false (alone->predicts);
  g_assert_nonnull (alone->why_not);
  g_assert_cmpint (unknown->kind, ==, LOOM_TASK_VIEW_PLANE);
  g_assert_false (unknown->predicts);
}

/* The ports of the data that a prediction depends on in addition to x. */
static void
test_others (void)
{
  static const struct
  {
    const char *file, *others;
    gboolean writes;
  } cases[] = {
    { "models/tree-recursion.xml", "parent length ", FALSE },
    { "models/dates-attention.xml", "", TRUE },
    { "models/shapes-captions.xml", "", TRUE },
    { "lessons/spirals.xml", "", FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", cases[i].file, NULL);
      g_autoptr (LoomFaults) faults = loom_faults_new ();
      g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
      g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
      g_autoptr (LoomTaskView) task = task_of (graph);
      g_autoptr (GString) names = g_string_new (NULL);

      for (guint k = 0; k < task->n_others; k++)
        g_string_append_printf (names, "%s ", loom_net_node (net, task->data)->output_spec[task->other[k]].name);
      g_assert_cmpstr (names->str, ==, cases[i].others);
      g_assert_cmpint (task->writes, ==, cases[i].writes);
    }
}

static LoomTensor *
floats_of (LoomTrainer *trainer, const char *port)
{
  g_autoptr (GError) error = NULL;
  gint64 step;
  g_autoptr (LoomTensor) t = loom_trainer_snapshot (trainer, port, &step, &error);
  LoomTensor *floats;

  g_assert_no_error (error);
  floats = loom_tensor_convert (t, LOOM_F32, TRUE, &error);
  g_assert_no_error (error);
  return floats;
}

/* A net with several inputs predicts samples as it computes them in a batch of the data; one that is missing is named.
 */
static void
test_several_inputs (void)
{
  g_autofree char *path
      = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", "models", "tree-recursion.xml", NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
  const LoomTrainerOptions options = { .epochs = 1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  g_assert_no_error (error);
  loom_trainer_set_last_step (trainer, 3);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);

  static const char *const names[] = { "data.parent", "data.length" };
  g_autoptr (LoomTensor) x = floats_of (trainer, "data.x"), logits = floats_of (trainer, "now:digit");
  g_autoptr (GPtrArray) others = loom_named_tensors_new ();
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LoomTensor) t = floats_of (trainer, names[i]);
      g_ptr_array_add (others, loom_named_tensor_new (names[i], t));
    }
  g_autoptr (GPtrArray) answers = loom_trainer_predict (trainer, x, others, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (answers->len, ==, x->dim[0]);
  for (guint i = 0; i < answers->len; i++)
    {
      const LoomAnswer *answer = answers->pdata[i];
      double sum = 0;

      g_assert_cmpint (answer->n_classes, ==, 10);
      for (gint64 k = 0; k < 10; k++)
        sum += exp (loom_tensor_get (logits, (gint64)i * 10 + k));
      for (gint64 k = 0; k < 10; k++)
        g_assert_cmpfloat_with_epsilon (answer->value[k], exp (loom_tensor_get (logits, (gint64)i * 10 + k)) / sum,
                                        1e-5);
    }
  g_ptr_array_remove_index (others, 1);
  g_assert_null (loom_trainer_predict (trainer, x, others, NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "data.length"));
}

/* A trainer's answers are a predictor's, before the first step and after the last; asking changes no bit of the run. */
static void
test_predict (void)
{
  static const char *const xml = TRAIN_TEST_SPIRALS (
      "",
      "16") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"96\" epochs=\"2\" seed=\"3\"/></graph>";
  g_autofree char *folder = g_dir_make_tmp ("gradloom-task-view-XXXXXX", NULL);
  g_autofree char *run = g_build_filename (folder, "run", NULL), *weights = NULL;
  g_autoptr (LoomTrainer) trainer = train_test_new (xml, (LoomTrainerOptions){ .out = run });
  g_autoptr (LoomTrainer) other = train_test_new (xml, (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTensor) points = loom_tensor_new (LOOM_F32, 2, (const gint64[]){ 7, 2 }, NULL);
  g_autoptr (LoomTensor) wrong = loom_tensor_new (LOOM_F32, 2, (const gint64[]){ 7, 3 }, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  LoomTrainerMoment moment;
  LoomTensor *sample[7];

  for (gint64 i = 0; i < points->count; i++)
    loom_tensor_set (points, i, cos ((double)i));
  for (gint64 i = 0; i < 7; i++)
    {
      sample[i] = loom_tensor_new (LOOM_F32, 1, (const gint64[]){ 2 }, NULL);
      loom_tensor_set (sample[i], 0, loom_tensor_get (points, 2 * i));
      loom_tensor_set (sample[i], 1, loom_tensor_get (points, 2 * i + 1));
    }
  g_autoptr (GPtrArray) first = loom_trainer_predict (trainer, points, NULL, &moment, &error);
  g_assert_no_error (error);
  g_assert_cmpint (moment.step, ==, 0);
  train_test_run (trainer);
  train_test_run (other);
  g_autoptr (GPtrArray) last = loom_trainer_predict (trainer, points, NULL, &moment, &error);
  g_assert_no_error (error);
  g_assert_cmpint (moment.step, ==, loom_trainer_steps (trainer));
  g_autoptr (GPtrArray) same = loom_trainer_predict (other, points, NULL, NULL, &error);
  g_assert_no_error (error);

  weights = loom_run_newest_weights (run, &error);
  g_assert_no_error (error);
  g_autoptr (LoomGraph) graph = loom_run_read_graph (run, faults, &error);
  g_assert_no_error (error);
  g_autoptr (LoomPredictor) predictor
      = loom_predictor_new (graph, &(LoomPredictorOptions){ .weights = weights, .threads = 1 }, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) expected = loom_predictor_run (predictor, sample, 7, &error);
  g_assert_no_error (error);
  double moved = 0;
  for (guint i = 0; i < 7; i++)
    for (guint c = 0; c < 2; c++)
      {
        const LoomAnswer *a = last->pdata[i], *b = expected->pdata[i], *c0 = first->pdata[i], *d = same->pdata[i];
        g_assert_cmpint (a->kind, ==, LOOM_ANSWER_PROBABILITIES);
        g_assert_cmpfloat_with_epsilon (a->value[c], b->value[c], 1e-6);
        g_assert_cmpfloat (a->value[c], ==, d->value[c]);
        moved += fabs (a->value[c] - c0->value[c]);
      }
  g_assert_cmpfloat (moved, >, 0.01);
  g_assert_null (loom_trainer_predict (trainer, wrong, NULL, NULL, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE);
  for (gint64 i = 0; i < 7; i++)
    loom_tensor_unref (sample[i]);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/task/examples", test_examples);
  g_test_add_func ("/task/without", test_without);
  g_test_add_func ("/task/others", test_others);
  g_test_add_func ("/task/predict", test_predict);
  g_test_add_func ("/task/predict/several-inputs", test_several_inputs);
  return g_test_run ();
}
