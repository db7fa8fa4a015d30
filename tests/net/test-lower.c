/* Lowering: only requested ports, values from outside, tied and frozen weights, unknown sizes. */
#include "engine/net/loom-net.h"
#include "tests/program/eval.h"
#include "tests/test-program.h"

#include <string.h>

static const char text[] = "<graph xmlns='urn:gradloom:graph' version='1' name='lower'>"
                           "<node id='x' op='input' shape='B,3'/>"
                           "<node id='w' op='parameter' shape='3,3'/>"
                           "<node id='a' op='linear' out_features='3' bias='false'/>"
                           "<node id='act' op='relu'/>"
                           "<node id='b' op='linear' out_features='3' frozen='true'/>"
                           "<node id='c' op='linear' out_features='2' device='cpu'/>"
                           "<node id='stop' op='detach'/>"
                           "<node id='sum' op='sum'/>"
                           "<wire from='x' to='a.input'/><wire from='w' to='a.weight'/>"
                           "<wire from='a' to='act'/>"
                           "<wire from='act' to='b.input'/><wire from='w' to='b.weight'/>"
                           "<wire from='b' to='c.input'/>"
                           "<wire from='x' to='stop'/>"
                           "<wire from='c' to='sum'/>"
                           "</graph>";

typedef struct
{
  LoomGraph *graph;
  LoomFaults *faults;
  LoomNet *net;
} Fixture;

static void
set_up (Fixture *f, gconstpointer data)
{
  const LoomBinding *binding = data;
  g_autoptr (GError) error = NULL;

  f->faults = loom_faults_new ();
  f->graph = loom_graph_read_data (text, strlen (text), "lower", f->faults, &error);
  g_assert_no_error (error);
  f->net = loom_net_new (f->graph, binding, f->faults);
  for (guint i = 0; i < loom_faults_length (f->faults); i++)
    g_test_message ("%s", loom_faults_get (f->faults, i)->message);
  g_assert_cmpuint (loom_faults_length (f->faults), ==, 0);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  loom_net_free (f->net);
  loom_faults_free (f->faults);
  loom_graph_unref (f->graph);
}

static LoomNetSource
source (Fixture *f, const char *path)
{
  int node = loom_net_find (f->net, path);

  g_assert_cmpint (node, >=, 0);
  return (LoomNetSource){ (guint)node, 0 };
}

static LoomProgram *
lower_in (Fixture *f, LoomDType dtype, const char *wanted, const char *given, LoomValue *value, GError **error)
{
  LoomNetSource want = source (f, wanted), have;
  LoomLowerOptions options = { .training = TRUE, .float_dtype = dtype, .n_wanted = 1, .wanted = &want };

  if (given != NULL)
    {
      have = source (f, given);
      options.n_given = 1;
      options.given = &have;
    }
  return loom_lower (f->net, &options, value, error);
}

static LoomProgram *
lower (Fixture *f, const char *wanted, const char *given, LoomValue *value, GError **error)
{
  return lower_in (f, LOOM_F64, wanted, given, value, error);
}

/* One slot serves both layers, and its gradient is the sum of both uses. */
static void
test_ties (Fixture *f, gconstpointer data)
{
  LoomValue loss, wrt[2], grads[2];
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomProgram) p = lower (f, "sum", NULL, &loss, &error);
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  g_autoptr (Eval) e = NULL;

  g_assert_no_error (error);
  g_assert_cmpint (loom_program_find_slot (p, "a.weight"), ==, -1);
  g_assert_cmpint (loom_program_find_slot (p, "b.weight"), ==, -1);
  wrt[0] = loom_program_read (p, loom_program_find_slot (p, "w"));
  wrt[1] = loom_program_read (p, loom_program_find_slot (p, "b.bias"));
  loom_differentiate (p, loss, 0, 2, wrt, grads, &error);
  g_assert_no_error (error);
  e = eval_new (p);
  eval_fill_all (e, NULL, rand);
  eval_check_gradients (e, loss, 2, wrt, grads, "tied");
}

/* Layers tied to each other's own weights, the first one to the last, and one through a transpose: each is one slot,
 * and its gradient is the sum of all uses. */
static void
test_ties_to_layers (void)
{
  static const char tied[] = "<graph xmlns='urn:gradloom:graph' version='1' name='tied'>"
                             "<node id='x' op='input' shape='B,3'/>"
                             "<node id='a' op='linear' out_features='3'/><node id='act' op='tanh'/>"
                             "<node id='enc' op='linear' out_features='2'/>"
                             "<node id='flip' op='transpose' dim0='0' dim1='1'/>"
                             "<node id='dec' op='linear' out_features='3'/><node id='c' op='linear' out_features='3'/>"
                             "<node id='m' op='mul'/><node id='sum' op='sum'/>"
                             "<wire from='x' to='a'/><wire from='c.weight' to='a.weight'/>"
                             "<wire from='a' to='act'/><wire from='act' to='enc'/>"
                             "<wire from='enc.weight' to='flip'/><wire from='flip' to='dec.weight'/>"
                             "<wire from='enc' to='dec'/><wire from='dec' to='c'/>"
                             "<wire from='c' to='m.input'/><wire from='c' to='m.other'/>"
                             "<wire from='m' to='sum'/></graph>";
  static const LoomBinding bound = { .value = { ['B' - 'A'] = 4 } };
  static const char *const names[] = { "c.weight", "enc.weight", "a.bias" };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (tied, strlen (tied), "tied", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, &bound, faults);
  LoomNetSource want = { .node = (guint)loom_net_find (net, "sum") };
  LoomLowerOptions options = { .training = TRUE, .float_dtype = LOOM_F64, .n_wanted = 1, .wanted = &want };
  LoomValue loss, wrt[G_N_ELEMENTS (names)], grads[G_N_ELEMENTS (names)];
  g_autoptr (LoomProgram) p = loom_lower (net, &options, &loss, &error);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  g_autoptr (Eval) e = NULL;

  g_assert_no_error (error);
  g_assert_cmpuint (loom_faults_length (faults), ==, 0);
  g_assert_cmpint (loom_program_find_slot (p, "a.weight"), ==, -1);
  g_assert_cmpint (loom_program_find_slot (p, "dec.weight"), ==, -1);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    wrt[i] = loom_program_read (p, loom_program_find_slot (p, names[i]));
  loom_differentiate (p, loss, 0, G_N_ELEMENTS (names), wrt, grads, &error);
  g_assert_no_error (error);
  e = eval_new (p);
  eval_fill_all (e, NULL, rand);
  eval_check_gradients (e, loss, G_N_ELEMENTS (names), wrt, grads, "tied to layers");
}

/* frozen applies to the layer's own weights, not to wired ones. */
static void
test_frozen (Fixture *f, gconstpointer data)
{
  LoomValue loss;
  g_autoptr (LoomProgram) p = lower (f, "sum", NULL, &loss, NULL);

  g_assert_true (loom_program_get_slot (p, loom_program_find_slot (p, "w"))->trainable);
  g_assert_false (loom_program_get_slot (p, loom_program_find_slot (p, "b.bias"))->trainable);
  g_assert_true (loom_program_get_slot (p, loom_program_find_slot (p, "c.bias"))->trainable);
}

static void
test_wanted_only (Fixture *f, gconstpointer data)
{
  LoomValue value;
  g_autoptr (LoomProgram) p = lower (f, "act", NULL, &value, NULL);

  g_assert_cmpint (loom_program_find_slot (p, "c.weight"), ==, -1);
  g_assert_cmpuint (loom_program_n_inputs (p), ==, 1);
  g_assert_cmpstr (loom_program_get_input (p, 0)->name, ==, "x");
  g_assert_cmpstr (loom_value_info (p, value)->origin, ==, "act");
}

/* A value from outside replaces the nodes that would compute it. */
static void
test_given (Fixture *f, gconstpointer data)
{
  LoomValue value;
  g_autoptr (LoomProgram) p = lower (f, "c", "b", &value, NULL);

  g_assert_cmpuint (loom_program_n_inputs (p), ==, 1);
  g_assert_cmpstr (loom_program_get_input (p, 0)->name, ==, "b");
  g_assert_cmpint (loom_program_find_slot (p, "w"), ==, -1);
}

/* A node's own device is kept, in f64, too, where the planner uses the corresponding reference device. */
static void
test_device (Fixture *f, gconstpointer data)
{
  LoomValue value;
  g_autoptr (LoomProgram) p = lower_in (f, LOOM_F32, "c", "b", &value, NULL);
  g_autoptr (LoomProgram) q = NULL;

  g_assert_cmpstr (loom_value_info (p, value)->device, ==, "cpu");
  q = lower_in (f, LOOM_F64, "c", "b", &value, NULL);
  g_assert_cmpstr (loom_value_info (q, value)->device, ==, "cpu");
}

/* A requested port may itself be set: its value is returned. */
static void
test_given_and_wanted (Fixture *f, gconstpointer data)
{
  LoomValue value;
  g_autoptr (LoomProgram) p = lower (f, "b", "b", &value, NULL);

  g_assert_cmpuint (loom_program_n_instrs (p), ==, 0);
  g_assert_cmpuint (value, ==, loom_program_get_input (p, 0)->value);
}

static void
test_detach (Fixture *f, gconstpointer data)
{
  LoomValue value, x, grad = 1;
  g_autoptr (LoomProgram) p = lower (f, "stop", NULL, &value, NULL);

  x = loom_program_get_input (p, 0)->value;
  g_assert_true (loom_differentiate (p, loom_sum_all (p, value), 0, 1, &x, &grad, NULL));
  g_assert_cmpuint (grad, ==, 0);
}

/* Without a size for B there is nothing to run. */
static void
test_unbound (Fixture *f, gconstpointer data)
{
  LoomValue value;
  g_autoptr (GError) error = NULL;

  g_assert_null (lower (f, "sum", NULL, &value, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE);
  g_assert_nonnull (strstr (error->message, "B × 3"));
}

/* The program of a graph with a muted node is, to the letter, that of the graph without the node. */
static char *
print_lowered (const char *body)
{
  static const LoomBinding binding = { .value = { ['B' - 'A'] = 2 } };
  g_autofree char *graph_text = g_strconcat ("<graph xmlns='urn:gradloom:graph' version='1'>", body, "</graph>", NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (graph_text, strlen (graph_text), "muted", faults, &error);
  g_autoptr (LoomNet) net = loom_net_new (graph, &binding, faults);
  LoomNetSource want = { (guint)loom_net_find (net, "out"), 0 };
  LoomLowerOptions options = { .training = TRUE, .float_dtype = LOOM_F32, .n_wanted = 1, .wanted = &want };
  LoomProgram *program;
  LoomValue value;
  char *printed;

  g_assert_cmpuint (loom_faults_length (faults), ==, 0);
  program = loom_lower (net, &options, &value, &error);
  g_assert_no_error (error);
  printed = loom_program_print (program);
  loom_program_unref (program);
  return printed;
}

static void
test_muted (void)
{
  g_autofree char *with = print_lowered ("<node id='x' op='input' shape='B,3'/><node id='a' op='relu' mute='true'/>"
                                         "<node id='b' op='linear' out_features='3' mute='true'/>"
                                         "<node id='out' op='linear' out_features='2'/>"
                                         "<wire from='x' to='a'/><wire from='a' to='b'/><wire from='b' to='out'/>");
  g_autofree char *without = print_lowered ("<node id='x' op='input' shape='B,3'/>"
                                            "<node id='out' op='linear' out_features='2'/><wire from='x' to='out'/>");

  g_assert_cmpstr (with, ==, without);
}

TEST_FILE (argc, argv)
{
  static const LoomBinding bound = { .value = { ['B' - 'A'] = 4 } };

  g_test_init (&argc, &argv, NULL);
#define ADD(name, data, test) g_test_add ("/ops/lower/" name, Fixture, data, set_up, test, tear_down)
  ADD ("ties", &bound, test_ties);
  g_test_add_func ("/ops/lower/ties-to-layers", test_ties_to_layers);
  ADD ("frozen", &bound, test_frozen);
  ADD ("wanted-only", &bound, test_wanted_only);
  ADD ("given", &bound, test_given);
  ADD ("device", &bound, test_device);
  ADD ("given-and-wanted", &bound, test_given_and_wanted);
  ADD ("detach", &bound, test_detach);
  ADD ("unbound", NULL, test_unbound);
  g_test_add_func ("/net/lower/muted", test_muted);
  return g_test_run ();
}
