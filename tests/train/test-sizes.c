/* Sizes that depend on the data: counted, bound, planned for, and counted again when the data change. */
#include "engine/infer/loom-sizes.h"
#include "tests/test-program.h"

#include <string.h>

/* marked: the positive elements of x·w, whose number is N. places: the coordinates where x is not 0; kinds: the
 * distinct coordinates, which can be counted only after places. */
static const char xml[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                          "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"sizes\">\n"
                          "  <node id=\"x\" op=\"input\" shape=\"B,3\"/>\n"
                          "  <node id=\"w\" op=\"parameter\" shape=\"3\" init=\"ones\"/>\n"
                          "  <node id=\"wx\" op=\"mul\"/>\n"
                          "  <node id=\"zero\" op=\"constant\" value=\"0\"/>\n"
                          "  <node id=\"mask\" op=\"gt\"/>\n"
                          "  <node id=\"marked\" op=\"masked_select\"/>\n"
                          "  <node id=\"total\" op=\"sum\"/>\n"
                          "  <node id=\"places\" op=\"nonzero\"/>\n"
                          "  <node id=\"kinds\" op=\"unique\" return_counts=\"true\"/>\n"
                          "  <wire from=\"x\" to=\"wx.input\"/>\n"
                          "  <wire from=\"w\" to=\"wx.other\"/>\n"
                          "  <wire from=\"x\" to=\"mask.input\"/>\n"
                          "  <wire from=\"zero\" to=\"mask.other\"/>\n"
                          "  <wire from=\"wx\" to=\"marked.input\"/>\n"
                          "  <wire from=\"mask\" to=\"marked.mask\"/>\n"
                          "  <wire from=\"marked\" to=\"total\"/>\n"
                          "  <wire from=\"x\" to=\"places\"/>\n"
                          "  <wire from=\"places\" to=\"kinds\"/>\n"
                          "</graph>\n";

enum
{
  MARKED,
  TOTAL,
  PLACES,
  KINDS,
  COUNTS,
  N_WANTED
};

typedef struct
{
  LoomGraph *graph;
  LoomNet *symbolic;
  LoomDevices *devices;
  LoomState *state;
  LoomSizes *sizes;
  LoomNetSource wanted[N_WANTED];
  LoomLowerOptions options;
  LoomPlanOptions plan;
} Fixture;

static void
setup (Fixture *f, gconstpointer device)
{
  static const char *const ports[N_WANTED] = { "marked", "total", "places", "kinds.out", "kinds.counts" };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;

  f->graph = loom_graph_read_data (xml, strlen (xml), "sizes", faults, &error);
  g_assert_no_error (error);
  f->symbolic = loom_net_new (f->graph, NULL, faults);
  loom_faults_to_error (faults, NULL, &error);
  g_assert_no_error (error);
  for (int i = 0; i < N_WANTED; i++)
    {
      f->wanted[i].node = (guint)loom_net_find_port (f->symbolic, ports[i], &f->wanted[i].output, &error);
      g_assert_no_error (error);
    }
  f->options = (LoomLowerOptions){ .float_dtype = LOOM_F32, .n_wanted = N_WANTED, .wanted = f->wanted };
  f->plan = (LoomPlanOptions){ .device = device };
  f->devices = loom_devices_new (2);
  f->state = loom_state_new (f->devices, device, 0);
  f->sizes = loom_sizes_new (f->graph, &f->options, &f->plan, f->devices, f->state);
}

static void
teardown (Fixture *f, gconstpointer device)
{
  loom_sizes_free (f->sizes);
  loom_state_unref (f->state);
  loom_devices_unref (f->devices);
  loom_net_free (f->symbolic);
  loom_graph_unref (f->graph);
}

static gboolean
feed (LoomProgram *program, LoomExec *exec, gpointer data, GError **error)
{
  int x = loom_exec_find_input (exec, "x");

  if (x >= 0)
    loom_exec_feed (exec, (guint)x, data);
  return TRUE;
}

static void
check_list (LoomExec *exec, const char *name, guint n, const double *want)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) t = loom_exec_output (exec, (guint)loom_exec_find_output (exec, name), &error);

  g_assert_no_error (error);
  g_test_message ("%s has %" G_GINT64_FORMAT " elements", name, t->count);
  g_assert_cmpint (t->count, ==, n);
  for (guint i = 0; i < n; i++)
    g_assert_cmpfloat (loom_tensor_get (t, i), ==, want[i]);
}

typedef struct
{
  gint64 rows;
  float x[12];
  guint n_marked, n_places, n_kinds; /* numbers of elements; places counts twice */
  double marked[12], places[24], kinds[4], counts[4], slope[3];
} Case;

static void
check_case (Fixture *f, const Case *c)
{
  static const char *const names[N_WANTED] = { "marked", "total", "places", "kinds", "counts" };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomProgram) p = NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autoptr (LoomExec) exec = NULL;
  LoomBinding binding = { .value = { ['B' - 'A'] = c->rows } };
  LoomValue value[N_WANTED], wrt, grad;
  LoomPlan *plan;

  loom_sizes_resolve (f->sizes, &binding, feed, (gpointer)c->x, &error);
  g_assert_no_error (error);
  net = loom_net_new (f->graph, &binding, faults);
  g_assert_cmpint (loom_net_dynamic_size (net, &f->options), ==, -1);
  p = loom_lower (net, &f->options, value, &error);
  g_assert_no_error (error);
  for (int i = 0; i < N_WANTED; i++)
    loom_program_output (p, names[i], value[i]);
  wrt = loom_program_get_slot (p, (guint)loom_program_find_slot (p, "w"))->read;
  loom_differentiate (p, value[TOTAL], 0, 1, &wrt, &grad, &error);
  g_assert_no_error (error);
  loom_program_output (p, "slope", grad);
  plan = loom_plan_new (p, f->devices, &f->plan, &error);
  g_assert_no_error (error);
  exec = loom_exec_new (plan, f->state, &error);
  g_assert_no_error (error);
  feed (p, exec, (gpointer)c->x, NULL);
  loom_exec_step (exec, &error);
  g_assert_no_error (error);
  check_list (exec, "marked", c->n_marked, c->marked);
  check_list (exec, "places", c->n_places, c->places);
  check_list (exec, "kinds", c->n_kinds, c->kinds);
  check_list (exec, "counts", c->n_kinds, c->counts);
  check_list (exec, "slope", 3, c->slope);
}

static void
test_changing (Fixture *f, gconstpointer device)
{
  static const Case first = { .rows = 2,
                              .x = { 1, 0, -2, 3, 4, 0 },
                              .n_marked = 3,
                              .marked = { 1, 3, 4 },
                              .n_places = 8,
                              .places = { 0, 0, 0, 2, 1, 0, 1, 1 },
                              .n_kinds = 3,
                              .kinds = { 0, 1, 2 },
                              .counts = { 4, 3, 1 },
                              .slope = { 4, 4, 0 } };
  static const Case second = { .rows = 2,
                               .x = { 0, 0, 0, 0, 0, 7 },
                               .n_marked = 1,
                               .marked = { 7 },
                               .n_places = 2,
                               .places = { 1, 2 },
                               .n_kinds = 2,
                               .kinds = { 1, 2 },
                               .counts = { 1, 1 },
                               .slope = { 0, 0, 7 } };
  static const Case none = { .rows = 3, .slope = { 0, 0, 0 } };

  check_case (f, &first);
  check_case (f, &second);
  check_case (f, &none);
  check_case (f, &first); /* by the programs that the first time left */
}

/* Every node with a data-dependent size has a symbol of its own, which stays the same whatever is bound. */
static void
test_symbols (Fixture *f, gconstpointer device)
{
  LoomBinding binding = { .value = { ['B' - 'A'] = 2 } };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) bound = loom_net_new (f->graph, &binding, faults);
  g_autoptr (GString) letters = g_string_new (NULL);

  for (guint i = 0; i < loom_net_n_nodes (f->symbolic); i++)
    {
      char symbol = loom_net_node (f->symbolic, i)->own_symbol;

      g_assert_cmpint (symbol, ==, loom_net_node (bound, i)->own_symbol);
      if (symbol == 0)
        continue;
      g_assert_cmpint (symbol, !=, 'B');
      g_assert_null (strchr (letters->str, symbol));
      g_string_append_c (letters, symbol);
    }
  g_assert_cmpuint (letters->len, ==, 3);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/sizes/symbols", Fixture, "ref", setup, test_symbols, teardown);
  g_test_add ("/sizes/changing/ref", Fixture, "ref", setup, test_changing, teardown);
  g_test_add ("/sizes/changing/cpu", Fixture, "cpu", setup, test_changing, teardown);
  return g_test_run ();
}
