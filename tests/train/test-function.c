/* Runs that have no data or no epochs: a function of parameters that is minimised, and weights that are only begun. */
#include "engine/train/loom-trainer.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#define ROSENBROCK(train)                                                                                              \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"f\">\n"                                                    \
  "<node id=\"x\" op=\"parameter\" shape=\"\" init=\"constant\" value=\"-1.2\"/>\n"                                    \
  "<node id=\"y\" op=\"parameter\" shape=\"\" init=\"constant\" value=\"1\"/>\n"                                       \
  "<node id=\"f\" op=\"expression\" formula=\"(1 - x)**2 + 100*(y - x**2)**2\"/>\n"                                    \
  "<wire from=\"x\" to=\"f.x\"/>\n<wire from=\"y\" to=\"f.y\"/>\n" train "</graph>\n"

#define SPIRALS                                                                                                        \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"s\">\n"                                                    \
  "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"128\" n_test=\"64\"/>\n"                                    \
  "<node id=\"fc\" op=\"linear\" out_features=\"2\"/>\n<node id=\"loss\" op=\"cross_entropy\"/>\n"                     \
  "<wire from=\"data.x\" to=\"fc\"/>\n<wire from=\"fc\" to=\"loss.input\"/>\n"                                         \
  "<wire from=\"data.y\" to=\"loss.target\"/>\n"                                                                       \
  "<train loss=\"loss\" optimizer=\"adam\" batch_size=\"32\" epochs=\"2\" seed=\"3\"/>\n</graph>\n"

#define INPUT                                                                                                          \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"i\">\n<node id=\"u\" op=\"input\" shape=\"3\"/>\n"         \
  "<node id=\"loss\" op=\"mean\"/>\n<wire from=\"u\" to=\"loss\"/>\n<train loss=\"loss\"/>\n</graph>\n"

static char *scratch;

static double
value (LoomTrainer *t, const char *name)
{
  g_autoptr (LoomTensor) tensor = loom_state_get (loom_trainer_state (t), name, NULL);
  return loom_tensor_get (tensor, 0);
}

#define PRODUCT(train)                                                                                                 \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"p\">\n"                                                    \
  "<node id=\"x\" op=\"parameter\" shape=\"\" init=\"constant\" value=\"2\"/>\n"                                       \
  "<node id=\"y\" op=\"parameter\" shape=\"\" init=\"constant\" value=\"3\"/>\n"                                       \
  "<node id=\"z\" op=\"parameter\" shape=\"\" init=\"constant\" value=\"4\"/>\n"                                       \
  "<node id=\"product\" op=\"mul\"/>\n<node id=\"s\" op=\"add\"/>\n"                                                   \
  "<wire from=\"x\" to=\"product.input\"/>\n<wire from=\"y\" to=\"product.other\"/>\n"                                 \
  "<wire from=\"product\" to=\"s.input\"/>\n<wire from=\"z\" to=\"s.other\"/>\n" train "</graph>\n"

/* The gradient of x·y with respect to y is x, which the same step writes: every parameter's update uses the old values
 * of the others, also in different groups. */
static void
test_product (void)
{
  static const char *const runs[] = {
    PRODUCT ("<train loss=\"s\" optimizer=\"sgd\" lr=\"0.1\" epochs=\"1\"/>\n"),
    PRODUCT ("<train loss=\"s\" optimizer=\"sgd\" lr=\"0.1\" momentum=\"0.9\" epochs=\"1\"/>\n"),
    PRODUCT ("<train loss=\"s\" optimizer=\"sgd\" lr=\"0.1\" epochs=\"1\"><group match=\"x\" "
             "weight_decay=\"0\"/></train>\n"),
    PRODUCT ("<train loss=\"s\" optimizer=\"sgd\" lr=\"0.1\" epochs=\"1\"><group match=\"y\" lr=\"0.1\"/></train>\n"),
  };
  static const char *const devices[] = { "cpu", "ref" };

  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    for (guint d = 0; d < G_N_ELEMENTS (devices); d++)
      {
        g_autoptr (LoomTrainer) t = train_test_new (runs[i], (LoomTrainerOptions){ .device = devices[d] });

        train_test_run (t);
        g_assert_cmpfloat_with_epsilon (value (t, "x"), 1.7, 1e-6);
        g_assert_cmpfloat_with_epsilon (value (t, "y"), 2.8, 1e-6);
        g_assert_cmpfloat_with_epsilon (value (t, "z"), 3.9, 1e-6);
      }
}

/* The minimum is at (1, 1); how many steps it takes to it depends on the method. */
static void
test_rosenbrock (void)
{
  static const char *const runs[] = {
    ROSENBROCK ("<train loss=\"f\" optimizer=\"newton\" epochs=\"10\"/>\n"),
    ROSENBROCK ("<train loss=\"f\" optimizer=\"lbfgs\" line_search_fn=\"strong_wolfe\" epochs=\"10\"/>\n"),
    ROSENBROCK ("<train loss=\"f\" optimizer=\"adam\" lr=\"0.01\" epochs=\"6000\"/>\n"),
  };

  for (guint i = 0; i < G_N_ELEMENTS (runs); i++)
    {
      g_autoptr (LoomTrainer) t = train_test_new (runs[i], (LoomTrainerOptions){ 0 });

      g_assert_cmpint (loom_trainer_total_steps (t), ==, loom_trainer_spec (t)->epochs);
      train_test_run (t);
      g_assert_cmpfloat_with_epsilon (value (t, "x"), 1, 2e-3);
      g_assert_cmpfloat_with_epsilon (value (t, "y"), 1, 4e-3);
    }
}

static void
function_eval_cb (LoomTrainer *t, const LoomTrainerEval *eval, gpointer data)
{
  g_assert_cmpstr (eval->split, ==, "train");
  g_assert_cmpfloat_with_epsilon (eval->loss, 24.2, 1e-4);
  ++*(guint *)data;
}

/* Without data a value is still reported. */
static void
test_begun_function (void)
{
  g_autoptr (LoomTrainer) t
      = train_test_new (ROSENBROCK ("<train loss=\"f\" optimizer=\"sgd\" epochs=\"0\"/>\n"), (LoomTrainerOptions){ 0 });
  LoomTrainerObserver observer = { .eval = function_eval_cb };
  guint evaluated = 0;

  loom_trainer_set_observer (t, &observer, &evaluated);
  train_test_run (t);
  g_assert_cmpuint (evaluated, ==, 1);
}

/* A snapshot has an empty batch here. */
static void
test_snapshot (void)
{
  g_autoptr (LoomTrainer) t
      = train_test_new (ROSENBROCK ("<train loss=\"f\" optimizer=\"sgd\" lr=\"0\"/>\n"), (LoomTrainerOptions){ 0 });
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) f = loom_trainer_snapshot (t, "f", NULL, &error);

  g_assert_no_error (error);
  g_assert_cmpfloat_with_epsilon (loom_tensor_get (f, 0), 24.2, 1e-4);
}

static void
eval_cb (LoomTrainer *t, const LoomTrainerEval *eval, gpointer data)
{
  g_assert_cmpint (eval->step, ==, 0);
  g_assert_cmpstr (eval->split, ==, "test");
  ++*(guint *)data;
}

/* Without epochs the initial weights are evaluated; trained from there, the run equals one that never paused. */
static void
test_no_epochs (void)
{
  g_autofree char *whole = g_build_filename (scratch, "whole", NULL),
                  *begun = g_build_filename (scratch, "begun", NULL);
  g_autofree char *a = NULL, *b = NULL;
  LoomTrainerObserver observer = { .eval = eval_cb };
  gsize n_a, n_b;
  guint evaluated = 0;

  g_autoptr (LoomTrainer) first = train_test_new (SPIRALS, (LoomTrainerOptions){ .out = whole });
  train_test_run (first);
  g_autoptr (LoomTrainer) none = train_test_new (SPIRALS, (LoomTrainerOptions){ .out = begun, .no_epochs = TRUE });
  loom_trainer_set_observer (none, &observer, &evaluated);
  train_test_run (none);
  g_assert_cmpuint (evaluated, ==, 1);
  g_assert_cmpint (loom_trainer_steps (none), ==, 0);
  g_clear_pointer (&none, loom_trainer_free);

  g_autofree char *weights_begun = g_build_filename (begun, "weights.safetensors", NULL);
  g_autofree char *weights_whole = g_build_filename (whole, "weights.safetensors", NULL);
  g_assert_cmpint (loom_weights_step (weights_begun), ==, 0);
  g_assert_cmpint (loom_weights_step (weights_whole), ==, 8);
  g_assert_cmpint (loom_weights_step (scratch), ==, -1);

  g_autoptr (LoomTrainer) on = train_test_new (NULL, (LoomTrainerOptions){ .resume = begun, .epochs = 2 });
  train_test_run (on);
  g_assert_true (g_file_get_contents (weights_whole, &a, &n_a, NULL));
  g_assert_true (g_file_get_contents (weights_begun, &b, &n_b, NULL));
  g_assert_cmpmem (a, n_a, b, n_b);
}

/* An input that nothing provides is reported before the first step, wherever there is also data. */
static void
test_input (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_data (INPUT, strlen (INPUT), "test", faults, &error);
  LoomTrainerOptions o = { .lr = NAN, .seed = -1, .threads = 1 };
  g_autoptr (LoomTrainer) t = loom_trainer_new (graph, &o, &error);

  g_assert_null (t);
  g_assert_nonnull (strstr (error->message, "input “u”, which no data set provides"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  scratch = g_dir_make_tmp ("gradloom-function-XXXXXX", NULL);
  g_test_add_func ("/function/product", test_product);
  g_test_add_func ("/train/function/rosenbrock", test_rosenbrock);
  g_test_add_func ("/train/function/begun", test_begun_function);
  g_test_add_func ("/train/function/snapshot", test_snapshot);
  g_test_add_func ("/train/function/no-epochs", test_no_epochs);
  g_test_add_func ("/train/function/input", test_input);
  int status = g_test_run ();
  g_autofree char *remove = g_strdup_printf ("rm -rf '%s'", scratch);
  return system (remove) == 0 ? status : 1;
}
