/* A step taken apart: its instructions, values and breakpoints, as the worker reports them. */
#include <string.h>

#include "tests/test-program.h"
#include "tests/worker/worker-test.h"

typedef struct
{
  gint64 step;
  char phase[16], node[64];
  guint index, count;
} Place;

static Place
read_place (GVariant *place)
{
  Place p;
  const char *phase, *node;

  g_variant_get (place, "(x&s&s&suuxxbbi)", &p.step, &phase, &node, NULL, &p.index, &p.count, NULL, NULL, NULL, NULL,
                 NULL);
  g_strlcpy (p.phase, phase, sizeof p.phase);
  g_strlcpy (p.node, node, sizeof p.node);
  g_variant_unref (place);
  return p;
}

static gboolean
is_known (Fixture *f, const char *port)
{
  const char *const ports[] = { port, NULL };
  g_autoptr (GVariant) values = NULL, first = NULL, known = NULL;

  CALL (f, get_step_values, ports, &values);
  first = g_variant_get_child_value (values, 0);
  known = g_variant_get_child_value (first, 0);
  return g_variant_get_boolean (known);
}

static void
test_step (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;
  GVariant *place = NULL;
  Place p;

  loom_bus_worker1_call_begin_step_sync (f->bus, &place, NULL, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  loom_bus_worker1_call_move_step_sync (f->bus, "next", &place, NULL, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);

  CALL (f, begin_step, &place);
  p = read_place (place);
  g_assert_cmpint (p.step, ==, 1);
  g_assert_cmpstr (p.node, ==, "");
  CALL (f, move_step, "next", &place);
  p = read_place (place);
  g_assert_cmpstr (p.node, ==, "hidden");
  g_assert_cmpstr (p.phase, ==, "forward");
  g_assert_cmpuint (p.index, ==, 1);
  g_assert_true (is_known (f, "hidden"));
  g_assert_false (is_known (f, "act") || is_known (f, "grad:hidden"));
  CALL (f, finish_phase, "backward", &place);
  p = read_place (place);
  g_assert_cmpstr (p.phase, ==, "backward");
  g_assert_cmpuint (p.index, ==, p.count);
  g_assert_true (is_known (f, "grad:hidden"));
  loom_bus_worker1_call_go_to_node_sync (f->bus, "nothing", "forward", &place, NULL, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);
  loom_bus_worker1_call_move_step_sync (f->bus, "sideways", &place, NULL, &error);
  g_assert_nonnull (error);
  g_clear_error (&error);
  CALL (f, go_to_node, "act", "forward", &place);
  p = read_place (place);
  g_assert_cmpstr (p.node, ==, "act");
  g_assert_cmpint (f->points, ==, 0);

  CALL (f, step_batch);
  WAIT_UNTIL (f->points == 1);
  CALL (f, end_step);
  CALL (f, begin_step, &place);
  p = read_place (place);
  g_assert_cmpint (p.step, ==, 2);
  CALL (f, end_step);
}

/* A graph without data is computed without a run. */
static void
test_compute (Fixture *f, gconstpointer data)
{
  static const char *const ports[] = { "y", "nothing", NULL };
  g_autoptr (GVariant) values = NULL, none = NULL, first = NULL, is_known = NULL, second = NULL, is_unknown = NULL;
  g_autoptr (GError) error = NULL;

  CALL (f, compute_graph,
        "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"x\" op=\"parameter\" shape=\"3\"/>"
        "<node id=\"y\" op=\"relu\"/><wire from=\"x\" to=\"y\"/></graph>",
        ports, &values);
  first = g_variant_get_child_value (values, 0);
  second = g_variant_get_child_value (values, 1);
  is_known = g_variant_get_child_value (first, 0);
  is_unknown = g_variant_get_child_value (second, 0);
  g_assert_true (g_variant_get_boolean (is_known));
  g_assert_false (g_variant_get_boolean (is_unknown));
  g_assert_false (loom_bus_worker1_call_compute_graph_sync (f->bus, worker_graph, ports, &none, NULL, &error));
  g_assert_nonnull (strstr (error->message, "needs data"));
}

static void
test_breakpoint (Fixture *f, gconstpointer data)
{
  g_autoptr (GError) error = NULL;

  loom_bus_worker1_call_set_breakpoints_sync (f->bus, g_variant_new_parsed ("[('act', 'odd', 1.0)]"), NULL, &error);
  g_assert_nonnull (error);
  CALL (f, set_breakpoints, g_variant_new_parsed ("[('act', 'gradient_above', 0.0)]"));
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, FALSE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  g_assert_cmpint (f->points, ==, 0);
  g_assert_nonnull (strstr (f->problem, "Stopped before the update of step 1"));
  g_assert_cmpstr (f->failed_node, ==, "act");
  CALL (f, set_breakpoints, g_variant_new_array (G_VARIANT_TYPE ("(ssd)"), NULL, 0));
  CALL (f, resume);
  WAIT_UNTIL (f->last_step > 20);
  g_assert_true (worker_state_is (f, "running"));
  CALL (f, stop);
  WAIT_UNTIL (worker_state_is (f, "stopped"));
}

/* Breakpoints that are set before the run continues are tested in its next step, also if the worker reads both at once
 * and is busy with views. */
static void
test_breakpoint_first (Fixture *f, gconstpointer data)
{
  worker_load (f, worker_graph, 0);
  worker_start_ok (f, 1000000, TRUE);
  WAIT_UNTIL (worker_state_is (f, "paused"));
  for (gint64 i = 0; i < 30; i++)
    {
      const gint64 before = f->last_step;

      g_clear_pointer (&f->problem, g_free);
      for (int k = 0; k < 8; k++)
        loom_bus_worker1_call_begin_step (f->bus, NULL, NULL, NULL);
      loom_bus_worker1_call_set_breakpoints (f->bus, g_variant_new_parsed ("[('act', 'gradient_above', 0.0)]"), NULL,
                                             NULL, NULL);
      loom_bus_worker1_call_resume (f->bus, NULL, NULL, NULL);
      WAIT_UNTIL (f->problem != NULL && strstr (f->problem, "Stopped before the update") != NULL);
      WAIT_UNTIL (worker_state_is (f, "paused"));
      g_assert_cmpint (f->last_step, <=, before + 1);
    }
  CALL (f, stop);
  WAIT_UNTIL (worker_state_is (f, "stopped"));
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/worker/step", Fixture, NULL, worker_set_up, test_step, worker_tear_down);
  g_test_add ("/worker/compute", Fixture, NULL, worker_set_up, test_compute, worker_tear_down);
  g_test_add ("/worker/breakpoint", Fixture, NULL, worker_set_up, test_breakpoint, worker_tear_down);
  g_test_add ("/worker/breakpoint-first", Fixture, NULL, worker_set_up, test_breakpoint_first, worker_tear_down);
  return g_test_run ();
}
