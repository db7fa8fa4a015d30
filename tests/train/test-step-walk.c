/* A step that is taken apart: its values and places, and that the run is the same with and without it. */
#include "tests/test-program.h"
#include "tests/train/step-graphs.h"
#include "tests/train/train-test.h"

/* An operator whose loop has no nodes. */
static const char *const OPERATOR
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"tokens\" task=\"previous\" length=\"8\" values=\"7\"/>"
      "<node id=\"memory\" op=\"gru\" hidden_size=\"5\" batch_first=\"true\"/>"
      "<node id=\"head\" op=\"linear\" out_features=\"7\"/>"
      "<node id=\"classes\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"memory\"/><wire from=\"memory.output\" to=\"head\"/>"
      "<wire from=\"head\" to=\"classes\"/><wire from=\"classes\" to=\"loss.input\"/>"
      "<wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"4\" epochs=\"1\" seed=\"1\"/></graph>";

static void
assert_place (const LoomStepperPlace *p, LoomRegion region, const char *node, guint index, guint count,
              gint64 iteration)
{
  g_assert_cmpint (p->region, ==, region);
  g_assert_cmpstr (p->node, ==, node);
  g_assert_cmpuint (p->index, ==, index);
  g_assert_cmpuint (p->count, ==, count);
  g_assert_cmpint (p->iteration, ==, iteration);
}

typedef struct
{
  double loss;
  gint64 steps;
} Seen;

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  *(Seen *)data = (Seen){ s->loss, s->step };
}

/* Every step is walked, at the beginning, in the middle and at the end of epochs, and then taken by the plan. */
static void
test_bits (gconstpointer device)
{
  g_autoptr (LoomTrainer) plain = train_test_new (GRAPH, (LoomTrainerOptions){ .device = (char *)device });
  g_autoptr (LoomTrainer) walked = train_test_new (GRAPH, (LoomTrainerOptions){ .device = (char *)device });
  const LoomTrainerObserver observer = { .step = step_cb };
  g_auto (LoomStepperPlace) place = { 0 };
  Seen seen = { 0 };

  loom_trainer_set_observer (walked, &observer, &seen);
  for (gint64 step = 1; step <= loom_trainer_total_steps (walked); step++)
    {
      g_autoptr (LoomTensor) loss = NULL, grad = NULL, again = NULL;
      g_autoptr (GPtrArray) before = weights_of (walked), after = NULL;

      g_assert_cmpint (command (walked, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place), ==, step);
      command (walked, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_BACKWARD }, &place);
      grad = value_of (walked, "grad:hidden.weight");
      command (walked, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_FORWARD }, &place);
      command (walked, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_UPDATE }, &place);
      g_assert_true (place.is_end);
      again = value_of (walked, "grad:hidden.weight");
      g_assert_true (loom_tensor_equal_bits (grad, again));
      loss = value_of (walked, "loss");
      after = weights_of (walked);
      assert_same_bits (before, after);
      if (step % 2 == 0)
        loom_trainer_end_walk (walked);
      run_to (walked, step);
      g_assert_cmpint (seen.steps, ==, step);
      if (g_str_equal (device, "ref"))
        g_assert_cmpfloat (seen.loss, ==, loom_tensor_get (loss, 0));
      else
        g_assert_cmpfloat_with_epsilon (seen.loss, loom_tensor_get (loss, 0), 1e-5);
    }
  run_to (plain, loom_trainer_total_steps (plain));
  g_autoptr (GPtrArray) a = weights_of (plain), b = weights_of (walked);
  assert_same_bits (a, b);
}

/* The program of a walk computes the next weights, too: those that the plan's update writes. */
static void
test_update (void)
{
  g_autoptr (LoomTrainer) trainer = on_ref (GRAPH);
  g_auto (LoomStepperPlace) place = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) scores = NULL, planned = NULL;
  LoomPortSummary value[3];
  const char *const ports[] = { "act", "grad:act", "nothing" };

  run_to (trainer, 5);
  command (trainer, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place);
  g_assert_true (loom_trainer_walk_values (trainer, 3, ports, value, &error));
  g_assert_false (value[0].is_known || value[1].is_known || value[2].is_known);
  command (trainer, &(LoomWalkCommand){ LOOM_WALK_GO_TO, 0, LOOM_REGION_FORWARD, "act" }, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "act", 2, 5, 0);
  g_assert_true (loom_trainer_walk_values (trainer, 3, ports, value, &error));
  g_assert_true (value[0].is_known);
  g_assert_false (value[1].is_known || value[2].is_known);
  g_assert_cmpint (value[0].summary.count, ==, 48 * 16);
  g_assert_cmpfloat (value[0].summary.max, <=, 1);
  g_assert_cmpfloat (value[0].summary.deviation, >, 0);
  command (trainer, &(LoomWalkCommand){ LOOM_WALK_GO_TO, 0, LOOM_REGION_BACKWARD, "scores" }, &place);
  g_assert_cmpstr (place.node, ==, "scores");
  g_assert_cmpint (place.region, ==, LOOM_REGION_BACKWARD);
  g_assert_true (loom_trainer_walk_values (trainer, 3, ports, value, &error));
  g_assert_true (value[0].is_known);
  g_assert_false (value[1].is_known);
  /* A walk stays what it is while the run continues. */
  scores = value_of (trainer, "scores");
  run_to (trainer, 7);
  planned = value_of (trainer, "scores");
  g_assert_true (loom_tensor_equal_bits (scores, planned));
  loom_trainer_end_walk (trainer);
  loom_trainer_walk_values (trainer, 1, ports, value, &error);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
}

/* In the time steps of an operator the place is the operator, and its value the state: row t of its output. */
static void
test_time_steps (void)
{
  g_autoptr (LoomTrainer) trainer = on_ref (OPERATOR);
  g_auto (LoomStepperPlace) place = { 0 };
  g_autoptr (LoomTensor) output = NULL;

  command (trainer, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place);
  command (trainer, &(LoomWalkCommand){ LOOM_WALK_GO_TO, 0, LOOM_REGION_FORWARD, "memory" }, &place);
  output = value_of (trainer, "memory");
  move (trainer, LOOM_STEPPER_INTO, &place);
  for (gint64 t = 0; t < 3; t++)
    {
      g_autoptr (LoomTensor) state = value_of (trainer, "memory");

      assert_place (&place, LOOM_REGION_FORWARD, "memory", 1, 1, t);
      g_assert_cmpstr (place.scope, ==, "");
      g_assert_cmpint (place.iterations, ==, 8);
      g_assert_false (place.has_inside);
      g_assert_cmpint (state->count, ==, 4 * 5);
      for (gint64 k = 0; k < state->count; k++)
        g_assert_cmpfloat (loom_tensor_get (state, k), ==, loom_tensor_get (output, (k / 5 * 8 + t) * 5 + k % 5));
      move (trainer, LOOM_STEPPER_NEXT, &place);
    }
  move (trainer, LOOM_STEPPER_OUT, &place);
  g_assert_cmpint (place.iterations, ==, 0);
  g_assert_cmpstr (place.node, ==, "memory");
}

static void
test_inside (void)
{
  g_autoptr (LoomTrainer) trainer = on_ref (NESTED);
  g_auto (LoomStepperPlace) place = { 0 };

  command (trainer, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place);
  assert_place (&place, LOOM_REGION_FORWARD, NULL, 0, 5, 0);
  move (trainer, LOOM_STEPPER_NEXT, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "loop", 1, 5, 0);
  g_assert_true (place.has_inside);
  g_autoptr (LoomTensor) whole = value_of (trainer, "loop.y");

  move (trainer, LOOM_STEPPER_INTO, &place);
  g_assert_cmpstr (place.scope, ==, "loop");
  g_assert_cmpint (place.iterations, ==, 8);
  g_assert_cmpint (place.iteration, ==, 0);
  const guint per_iteration = place.count;
  g_autofree char *first = g_strdup (place.node);
  for (guint i = 1; i < per_iteration; i++)
    move (trainer, LOOM_STEPPER_NEXT, &place);
  g_assert_cmpstr (place.node, ==, "loop.state");
  g_autoptr (LoomTensor) state = value_of (trainer, "loop.state");
  for (gint64 k = 0; k < 5; k++)
    g_assert_cmpfloat (loom_tensor_get (state, k), ==, loom_tensor_get (whole, k));
  move (trainer, LOOM_STEPPER_NEXT, &place);
  g_assert_cmpstr (place.node, ==, first);
  g_assert_cmpint (place.iteration, ==, 1);
  move (trainer, LOOM_STEPPER_BACK, &place);
  g_assert_cmpstr (place.node, ==, "loop.state");
  g_assert_cmpint (place.iteration, ==, 0);
  g_autoptr (LoomTensor) again = value_of (trainer, "loop.state");
  g_assert_true (loom_tensor_equal_bits (state, again));
  for (guint i = 0; i < per_iteration * 7; i++)
    move (trainer, LOOM_STEPPER_NEXT, &place);
  g_assert_cmpint (place.iteration, ==, 7);
  g_assert_cmpstr (place.node, ==, "loop.state");
  move (trainer, LOOM_STEPPER_NEXT, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "loop", 1, 5, 0);
  g_autoptr (LoomTensor) complete = value_of (trainer, "loop.y");
  g_assert_true (loom_tensor_equal_bits (whole, complete));

  move (trainer, LOOM_STEPPER_NEXT, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "mid", 2, 5, 0);
  move (trainer, LOOM_STEPPER_INTO, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "mid.0", 1, 2, 0);
  move (trainer, LOOM_STEPPER_INTO, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "mid.0.fc", 1, 2, 0);
  g_assert_cmpstr (place.scope, ==, "mid.0");
  move (trainer, LOOM_STEPPER_NEXT, &place);
  move (trainer, LOOM_STEPPER_NEXT, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "mid.1", 2, 2, 0);
  move (trainer, LOOM_STEPPER_OUT, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "mid", 2, 5, 0);
  move (trainer, LOOM_STEPPER_NEXT, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "head", 3, 5, 0);

  command (trainer, &(LoomWalkCommand){ LOOM_WALK_GO_TO, 0, LOOM_REGION_FORWARD, "loop.sum" }, &place);
  g_assert_cmpstr (place.node, ==, "loop.sum");
  g_assert_cmpint (place.iteration, ==, 0);
  command (trainer, &(LoomWalkCommand){ LOOM_WALK_GO_TO, 0, LOOM_REGION_FORWARD, "mid.1.act" }, &place);
  assert_place (&place, LOOM_REGION_FORWARD, "mid.1.act", 2, 2, 0);

  /* Backward, the loop begins with the last row, and has gradients inside. */
  command (trainer, &(LoomWalkCommand){ LOOM_WALK_GO_TO, 0, LOOM_REGION_BACKWARD, "loop" }, &place);
  g_assert_cmpint (place.region, ==, LOOM_REGION_BACKWARD);
  move (trainer, LOOM_STEPPER_INTO, &place);
  g_assert_cmpint (place.region, ==, LOOM_REGION_BACKWARD);
  g_assert_cmpint (place.iteration, ==, 7);
  g_assert_cmpint (place.iterations, ==, 8);
  for (guint i = place.index; i < place.count; i++)
    move (trainer, LOOM_STEPPER_NEXT, &place);
  g_autoptr (LoomTensor) inside = value_of (trainer, "grad:loop.sum");
  g_assert_cmpint (inside->count, ==, 16 * 5);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/step-walk/bits/ref", "ref", test_bits);
  g_test_add_data_func ("/step-walk/bits/cpu", "cpu", test_bits);
  g_test_add_func ("/step-walk/update", test_update);
  g_test_add_func ("/step-walk/inside", test_inside);
  g_test_add_func ("/step-walk/time-steps", test_time_steps);
  return g_test_run ();
}
