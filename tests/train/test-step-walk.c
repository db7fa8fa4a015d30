/* A step that is taken apart: its values, its places, that the run is the same with and without it, and breakpoints. */
#include "engine/loom-lab.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <math.h>
#include <string.h>

/* Dropout draws random numbers in each step; the last batch of an epoch is smaller. */
static const char *const GRAPH
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"200\"/>"
      "<node id=\"hidden\" op=\"linear\" out_features=\"16\"/><node id=\"act\" op=\"tanh\"/>"
      "<node id=\"drop\" op=\"dropout\" p=\"0.2\"/>"
      "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"drop\"/>"
      "<wire from=\"drop\" to=\"scores\"/>"
      "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"48\" epochs=\"3\" seed=\"3\">"
      "<metric type=\"accuracy\" input=\"scores\" target=\"data.y\"/></train></graph>";

/* A module of two copies, and a loop of eight iterations. */
static const char *const NESTED
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<module name=\"cell\"><node id=\"x\" op=\"module_input\"/><node id=\"h\" op=\"module_input\" shape=\"B,5\"/>"
      "<node id=\"w\" op=\"linear\" out_features=\"5\"/><node id=\"u\" op=\"linear\" out_features=\"5\"/>"
      "<node id=\"sum\" op=\"add\"/><node id=\"state\" op=\"tanh\"/><node id=\"y\" op=\"module_output\"/>"
      "<node id=\"h1\" op=\"module_output\" carry=\"h\"/><wire from=\"x\" to=\"w\"/><wire from=\"h\" to=\"u\"/>"
      "<wire from=\"w\" to=\"sum.input\"/><wire from=\"u\" to=\"sum.other\"/><wire from=\"sum\" to=\"state\"/>"
      "<wire from=\"state\" to=\"y\"/><wire from=\"state\" to=\"h1\"/></module>"
      "<module name=\"block\"><node id=\"x\" op=\"module_input\"/><node id=\"fc\" op=\"linear\" out_features=\"6\"/>"
      "<node id=\"act\" op=\"relu\"/><node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"fc\"/>"
      "<wire from=\"fc\" to=\"act\"/><wire from=\"act\" to=\"y\"/></module>"
      "<node id=\"data\" op=\"dataset\" source=\"tokens\" task=\"previous\" length=\"8\" values=\"7\"/>"
      "<node id=\"loop\" op=\"scan\" body=\"cell\" axis=\"1\"/><node id=\"mid\" module=\"block\" repeat=\"2\"/>"
      "<node id=\"head\" op=\"linear\" out_features=\"7\"/>"
      "<node id=\"classes\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"loop.x\"/><wire from=\"loop.y\" to=\"mid\"/><wire from=\"mid\" to=\"head\"/>"
      "<wire from=\"head\" to=\"classes\"/><wire from=\"classes\" to=\"loss.input\"/>"
      "<wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"16\" epochs=\"1\" seed=\"1\"/></graph>";

/* A number before a loop, which its body reads in one iteration. */
static const char *const BEFORE
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<module name=\"cell\"><node id=\"x\" op=\"module_input\"/><node id=\"h\" op=\"module_input\" shape=\"B,5\"/>"
      "<node id=\"w\" op=\"linear\" out_features=\"5\"/><node id=\"u\" op=\"linear\" out_features=\"5\"/>"
      "<node id=\"sum\" op=\"add\"/><node id=\"state\" op=\"tanh\"/><node id=\"y\" op=\"module_output\"/>"
      "<node id=\"h1\" op=\"module_output\" carry=\"h\"/><wire from=\"x\" to=\"w\"/><wire from=\"h\" to=\"u\"/>"
      "<wire from=\"w\" to=\"sum.input\"/><wire from=\"u\" to=\"sum.other\"/><wire from=\"sum\" to=\"state\"/>"
      "<wire from=\"state\" to=\"y\"/><wire from=\"state\" to=\"h1\"/></module>"
      "<node id=\"data\" op=\"dataset\" source=\"tokens\" task=\"previous\" length=\"8\" values=\"7\"/>"
      "<node id=\"pre\" op=\"linear\" out_features=\"3\"/>"
      "<node id=\"loop\" op=\"scan\" body=\"cell\" axis=\"1\"/><node id=\"head\" op=\"linear\" out_features=\"7\"/>"
      "<node id=\"classes\" op=\"transpose\" dim0=\"1\" dim1=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<wire from=\"data.x\" to=\"pre\"/><wire from=\"pre\" to=\"loop.x\"/><wire from=\"loop.y\" to=\"head\"/>"
      "<wire from=\"head\" to=\"classes\"/><wire from=\"classes\" to=\"loss.input\"/>"
      "<wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"4\" epochs=\"1\" seed=\"1\"/></graph>";

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

/* ---- walking ---------------------------------------------------------- */

static gint64
command (LoomTrainer *trainer, const LoomWalkCommand *c, LoomStepperPlace *place)
{
  g_autoptr (GError) error = NULL;
  gint64 step = 0;

  loom_stepper_place_clear (place);
  loom_trainer_walk (trainer, c, place, &step, &error);
  g_assert_no_error (error);
  return step;
}

static void
move (LoomTrainer *trainer, LoomStepperMove how, LoomStepperPlace *place)
{
  command (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_MOVE, .move = how }, place);
}

static LoomTensor *
value_of (LoomTrainer *trainer, const char *port)
{
  g_autoptr (GError) error = NULL;
  double scale;
  LoomTensor *t = loom_trainer_walk_port (trainer, port, &scale, &error);

  g_assert_no_error (error);
  return t;
}

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

/* ---- the run is the same ---------------------------------------------- */

static LoomTrainer *
on_ref (const char *graph)
{
  return train_test_new (graph, (LoomTrainerOptions){ .device = (char *)"ref" });
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

static GPtrArray *
weights_of (LoomTrainer *trainer)
{
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomState *state = loom_trainer_state (trainer);

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (all, loom_state_get (state, name, NULL));
    }
  return all;
}

static void
assert_same_bits (const GPtrArray *a, const GPtrArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    g_assert_true (loom_tensor_equal_bits (a->pdata[i], b->pdata[i]));
}

static void
run_to (LoomTrainer *trainer, gint64 step)
{
  g_autoptr (GError) error = NULL;

  loom_trainer_set_last_step (trainer, step);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
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

/* ---- modules and loops ------------------------------------------------ */

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

/* ---- the chain rule --------------------------------------------------- */

/* Terms are listed by size, and if all are, their sum is that of the link. */
static void
check_terms (const LoomDerivative *d)
{
  double sum = 0;

  g_assert_cmpint (d->n_terms, >=, 1);
  g_assert_cmpint (d->n_listed, ==, MIN (d->n_terms, LOOM_DERIVATIVE_TERMS));
  for (guint i = 0; i < d->n_listed; i++)
    {
      sum += d->term[i].local * d->term[i].gradient;
      if (i > 0)
        g_assert_cmpfloat (fabs (d->term[i].local * d->term[i].gradient), <=,
                           fabs (d->term[i - 1].local * d->term[i - 1].gradient));
    }
  if (d->n_listed == d->n_terms)
    g_assert_cmpfloat_with_epsilon (sum, d->sum, 1e-9);
  g_assert_cmpfloat (d->size, >=, fabs (d->sum) - 1e-9);
}

/* A number of one iteration has the value and the gradient that the walk has there. */
static void
check_inside (LoomTrainer *trainer, const char *port, gint64 element, double value, double gradient)
{
  g_autofree char *grad = g_strconcat ("grad:", port, NULL);
  g_auto (LoomStepperPlace) place = { 0 };
  g_autoptr (LoomTensor) v = NULL, g = NULL;

  command (trainer, &(LoomWalkCommand){ LOOM_WALK_GO_TO, 0, LOOM_REGION_FORWARD, (char *)port }, &place);
  v = value_of (trainer, port);
  const gint64 iteration = element / v->count;
  while (place.iteration < iteration)
    move (trainer, LOOM_STEPPER_NEXT, &place);
  while (g_strcmp0 (place.node, port) != 0)
    move (trainer, LOOM_STEPPER_NEXT, &place);
  g_clear_pointer (&v, loom_tensor_unref);
  v = value_of (trainer, port);
  g_assert_cmpfloat_with_epsilon (loom_tensor_get (v, element % v->count), value, 1e-6);
  command (trainer, &(LoomWalkCommand){ LOOM_WALK_GO_TO, 0, LOOM_REGION_BACKWARD, (char *)"loop" }, &place);
  move (trainer, LOOM_STEPPER_INTO, &place);
  while (place.iteration > iteration || place.index < place.count)
    move (trainer, LOOM_STEPPER_NEXT, &place);
  g = value_of (trainer, grad);
  g_assert_cmpfloat_with_epsilon (loom_tensor_get (g, element % g->count), gradient, 1e-6);
}

/* The layer `second` computes with the weight of `first`. */
static const char *const TIED
    = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\">"
      "<node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"200\"/>"
      "<node id=\"first\" op=\"linear\" out_features=\"2\"/><node id=\"act\" op=\"tanh\"/>"
      "<node id=\"second\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"
      "<node id=\"still\" op=\"linear\" out_features=\"2\" frozen=\"true\"/>"
      "<wire from=\"data.x\" to=\"still\"/><wire from=\"still\" to=\"first\"/><wire from=\"first\" to=\"act\"/>"
      "<wire from=\"act\" to=\"second\"/><wire from=\"first.weight\" to=\"second.weight\"/>"
      "<wire from=\"second\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"
      "<train loss=\"loss\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"20\" epochs=\"1\" seed=\"1\"/></graph>";

/* At every link the sum over all paths is the gradient that the engine has, also if a value is read twice; along a path
 * of single numbers the product of the local derivatives is the gradient. */
static void
test_chain (void)
{
  /* f(u) = u · tanh(u) with u = a · b, of numbers alone. */
  static const char *const numbers
      = "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"a\" op=\"parameter\" shape=\"\"/>"
        "<node id=\"b\" op=\"parameter\" shape=\"\"/><node id=\"u\" op=\"mul\"/><node id=\"t\" op=\"tanh\"/>"
        "<node id=\"f\" op=\"mul\"/><wire from=\"a\" to=\"u.input\"/><wire from=\"b\" to=\"u.other\"/>"
        "<wire from=\"u\" to=\"t\"/><wire from=\"u\" to=\"f.input\"/><wire from=\"t\" to=\"f.other\"/>"
        "<train loss=\"f\" optimizer=\"sgd\" lr=\"0.1\" batch_size=\"1\" epochs=\"1\" seed=\"1\"/></graph>";
  const struct
  {
    const char *graph, *port;
    gint64 element;
  } cases[] = { { GRAPH, "act", 17 },
                { GRAPH, "scores", 3 },
                { NESTED, "mid.0.act", 5 },
                { numbers, "u", 0 },
                { BEFORE, "pre", 7 },
                { NESTED, "loop.state", 45 },
                { BEFORE, "loop.sum", 90 },
                { GRAPH, "hidden.weight", 21 },
                { GRAPH, "scores.bias", 1 },
                { NESTED, "mid.0.fc.weight", 8 },
                { NESTED, "loop.u.weight", 13 },
                { TIED, "first.weight", 1 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomTrainer) trainer = on_ref (cases[i].graph);
      g_auto (LoomStepperPlace) place = { 0 };
      g_autoptr (GError) error = NULL;
      double value, gradient, before;

      command (trainer, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place);
      g_assert_null (loom_trainer_derivatives (trainer, cases[i].port, -1, &value, &gradient, &error));
      g_assert_nonnull (error);
      g_clear_error (&error);
      command (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_BACKWARD }, &place);
      g_autoptr (GArray) chain
          = loom_trainer_derivatives (trainer, cases[i].port, cases[i].element, &value, &gradient, &error);
      g_assert_no_error (error);
      g_assert_cmpuint (chain->len, >=, 1);
      before = gradient;
      for (guint k = 0; k < chain->len; k++)
        {
          const LoomDerivative *d = &g_array_index (chain, LoomDerivative, k);

          check_terms (d);
          g_assert_cmpfloat_with_epsilon (d->sum, before, 1e-6 + 1e-5 * fabs (before));
          before = d->term[0].gradient;
        }
      g_assert_cmpfloat (before, ==, 1);
      if (g_str_has_prefix (cases[i].port, "loop.") && !g_str_has_suffix (cases[i].port, ".weight"))
        check_inside (trainer, cases[i].port, cases[i].element, value, gradient);
      if (cases[i].graph == numbers)
        {
          const LoomDerivative *first = &g_array_index (chain, LoomDerivative, 0);

          g_assert_cmpuint (first->n_readers, ==, 2);
          g_assert_cmpint (first->n_terms, ==, 2);
          g_assert_cmpfloat_with_epsilon (gradient, tanh (value) + value * (1 - tanh (value) * tanh (value)), 1e-5);
        }
    }
}

/* Both layers are readers of a weight that they share; a frozen one has no chain. */
static void
test_chain_of_weights (void)
{
  g_autoptr (LoomTrainer) trainer = on_ref (TIED);
  g_auto (LoomStepperPlace) place = { 0 };
  g_autoptr (GError) error = NULL;
  double value, gradient;

  command (trainer, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place);
  command (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_BACKWARD }, &place);
  g_autoptr (GArray) chain = loom_trainer_derivatives (trainer, "first.weight", 1, &value, &gradient, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_array_index (chain, LoomDerivative, 0).n_readers, ==, 2);
  g_assert_null (loom_trainer_derivatives (trainer, "still.weight", 0, &value, &gradient, &error));
  g_assert_cmpstr (error->message, ==, "“still.weight” is not trained, so it has no gradient.");
}

/* ---- breakpoints ------------------------------------------------------ */

typedef struct
{
  gint64 hits, at, stood; /* the step of the last hit; steps that were finished when the run stood */
  const char *node;
  char *port;
  double figure;
  gboolean is_gradient;
  LoomCommandKind then;
  gboolean is_single;   /* single steps until the first hit */
  gint64 steps, failed; /* the last finite step; the number of reports of steps that are not */
} Stand;

static void
breakpoint_cb (LoomTrainer *trainer, const LoomBreakHit *hit, gpointer data)
{
  Stand *s = data;

  s->hits++;
  s->at = hit->step;
  s->node = hit->node;
  g_free (s->port);
  s->port = g_strdup (hit->port);
  s->figure = hit->figure;
  s->is_gradient = hit->is_gradient;
}

static void
stand_step_cb (LoomTrainer *trainer, const LoomTrainerStep *step, gpointer data)
{
  Stand *s = data;

  if (isfinite (step->loss))
    s->steps = step->step;
  else
    s->failed++;
}

static void
stand_state_cb (LoomTrainer *trainer, const char *state, gpointer data)
{
  Stand *s = data;

  if (!g_str_equal (state, "paused"))
    return;
  s->stood = loom_trainer_steps (trainer);
  loom_trainer_post (trainer, s->is_single && s->hits == 0 ? LOOM_COMMAND_STEP : s->then, NULL, 0);
}

static const LoomTrainerObserver standing
    = { .step = stand_step_cb, .state = stand_state_cb, .breakpoint = breakpoint_cb };

static LoomTrainerEnd
run_with (LoomTrainer *trainer, const char *node, const char *kind, double limit, Stand *s, GError **error)
{
  const LoomBreakpoint b = { (char *)node, loom_break_kind (kind), limit };

  g_assert_nonnull (b.kind);
  loom_trainer_set_observer (trainer, &standing, s);
  loom_trainer_set_breakpoints (trainer, &b, 1);
  return loom_trainer_run (trainer, error);
}

/* The run stands before the step, and the rest of it has the same bits. */
static void
test_break (void)
{
  g_autoptr (LoomTrainer) plain = on_ref (GRAPH), stopped = on_ref (GRAPH);
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) before = NULL, after = NULL;
  Stand s = { .then = LOOM_COMMAND_RESUME };

  before = loom_state_get (loom_trainer_state (stopped), "hidden.weight", NULL);
  g_assert_cmpint (run_with (stopped, "act", "gradient_above", 0, &s, &error), ==, LOOM_TRAINER_DONE);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, loom_trainer_total_steps (plain));
  g_assert_cmpint (s.at, ==, s.hits);
  g_assert_cmpint (s.stood, ==, s.hits - 1);
  g_assert_cmpstr (s.port, ==, "act");
  g_assert_true (s.is_gradient);
  g_assert_cmpfloat (s.figure, >, 0);
  run_to (plain, loom_trainer_total_steps (plain));
  g_autoptr (GPtrArray) a = weights_of (plain), b = weights_of (stopped);
  assert_same_bits (a, b);
  g_free (s.port);

  /* A condition that is never met. */
  g_autoptr (LoomTrainer) never = on_ref (GRAPH);
  s = (Stand){ .then = LOOM_COMMAND_RESUME };
  run_with (never, "act", "dead_above", 0.99, &s, &error);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 0);
  g_autoptr (GPtrArray) c = weights_of (never);
  assert_same_bits (a, c);
}

/* In a loop, and a value that occurs: the padding of one iteration. */
static void
test_break_inside (void)
{
  g_autoptr (LoomTrainer) trainer = on_ref (NESTED);
  g_autoptr (GError) error = NULL;
  Stand s = { .then = LOOM_COMMAND_STOP };

  g_assert_cmpint (run_with (trainer, "loop.u", "gradient_above", 0, &s, &error), ==, LOOM_TRAINER_STOPPED);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 1);
  g_assert_cmpint (s.stood, ==, 0);
  g_free (s.port);
  g_autoptr (LoomTrainer) equal = on_ref (NESTED);
  s = (Stand){ .then = LOOM_COMMAND_STOP };
  run_with (equal, "mid.0.act", "equals", 0, &s, &error);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 1);
  g_free (s.port);
  /* A token, which is a whole number. */
  g_autoptr (LoomTrainer) token = on_ref (NESTED);
  s = (Stand){ .then = LOOM_COMMAND_STOP };
  run_with (token, "data", "equals", 3, &s, &error);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 1);
  g_assert_cmpstr (s.port, ==, "data.y");
  g_free (s.port);
}

static char *
without_finite_values (void)
{
  g_auto (GStrv) part = g_strsplit (GRAPH, "tanh", 2);

  return g_strjoin ("log", part[0], part[1], NULL);
}

/* A module stands for each node in it; the hit says which. */
static void
test_break_module (void)
{
  static const struct
  {
    const char *module, *kind, *node, *port;
    double limit;
  } cases[] = { { "mid", "gradient_above", "mid.0.fc", "mid.0.fc", 0 },
                { "mid.1", "equals", "mid.1.act", "mid.1.act", 0 },
                { "mid.1", "gradient_above", "mid.1.fc", "mid.1.fc", 0 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (LoomTrainer) trainer = on_ref (NESTED);
      g_autoptr (GError) error = NULL;
      Stand s = { .then = LOOM_COMMAND_STOP };

      g_assert_cmpint (run_with (trainer, cases[i].module, cases[i].kind, cases[i].limit, &s, &error), ==,
                       LOOM_TRAINER_STOPPED);
      g_assert_no_error (error);
      g_assert_cmpint (s.hits, ==, 1);
      g_assert_cmpstr (s.node, ==, cases[i].node);
      g_assert_cmpstr (s.port, ==, cases[i].port);
      g_free (s.port);
    }
}

/* ---- ranks ---- */

typedef struct
{
  const char *graph, *kind;
  LoomComm *comm;
  gboolean with_breakpoint;
  double limit;
  LoomTrainerEnd end;
  Stand stand;
  int hit_rank;
  guint walked[2]; /* steps that were walked on the samples of each rank */
  GArray *figures; /* double: of all hits */
  LoomTrainer *trainer;
  GPtrArray *weights;
} Together;

static void
hit_cb (LoomTrainer *trainer, const LoomBreakHit *hit, gpointer data)
{
  Together *t = data;

  t->hit_rank = hit->rank;
  g_array_append_val (t->figures, hit->figure);
  breakpoint_cb (trainer, hit, &t->stand);
}

/* The step at which training stands is walked on the samples of the rank that met the condition: they have the figure
 * that it has reported. There is no update, which would need the gradients of both. */
static void
walk_hit (LoomTrainer *trainer, Together *t)
{
  g_auto (LoomStepperPlace) place = { 0 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTensor) g = NULL;
  LoomSummary summary;
  double scale;
  gint64 step;

  command (trainer, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place);
  g_assert_cmpint (loom_trainer_walk_rank (trainer), ==, MAX (t->hit_rank, 0));
  command (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_BACKWARD }, &place);
  g = loom_trainer_walk_port (trainer, LOOM_PORT_GRADIENT "act", &scale, &error);
  g_assert_no_error (error);
  loom_summary_of (g, scale, &summary);
  g_assert_cmpfloat (summary.norm, ==, t->stand.figure);
  t->walked[MAX (t->hit_rank, 0)]++;
  g_assert_false (loom_trainer_walk (
      trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_UPDATE }, &place, &step, &error));
  g_assert_nonnull (strstr (error->message, "Take the step"));
  loom_trainer_end_walk (trainer);
}

/* As an observer on another thread does, while the run stands. */
static gpointer
walk_and_resume (gpointer data)
{
  Together *t = data;

  walk_hit (t->trainer, t);
  loom_trainer_post (t->trainer, LOOM_COMMAND_RESUME, NULL, 0);
  return NULL;
}

static void
paused_cb (LoomTrainer *trainer, const char *state, gpointer data)
{
  Together *t = data;

  t->trainer = trainer;
  if (g_str_equal (state, "paused") && t->stand.hits > 0 && g_str_equal (t->kind, "gradient_above"))
    {
      t->stand.stood = loom_trainer_steps (trainer);
      g_thread_unref (g_thread_new ("walk", walk_and_resume, t));
    }
  else
    stand_state_cb (trainer, state, &t->stand);
}

static gpointer
run_together (gpointer data)
{
  static const LoomTrainerObserver observer = { .state = paused_cb, .breakpoint = hit_cb };
  Together *t = data;
  g_autoptr (GError) error = NULL;
  const LoomBreakpoint b = { (char *)"act", loom_break_kind (t->kind), t->limit };
  g_autoptr (LoomTrainer) trainer
      = train_test_new (t->graph, (LoomTrainerOptions){ .device = (char *)"ref", .comm = t->comm });

  loom_trainer_set_observer (trainer, &observer, t);
  if (t->with_breakpoint && t->comm->rank == 0)
    loom_trainer_set_breakpoints (trainer, &b, 1);
  t->end = loom_trainer_run (trainer, &error);
  t->weights = weights_of (trainer);
  return NULL;
}

static void
run_two (Together t[2], const char *graph, const char *kind, gboolean with_breakpoint, double limit)
{
  LoomComm *comm[2];
  GThread *thread[2];
  LoomMessage message;

  g_assert_cmpint (loom_comm_threads_new (2, comm, &message), ==, LOOM_STATUS_OK);
  for (int k = 0; k < 2; k++)
    {
      t[k] = (Together){ .graph = graph,
                         .kind = kind,
                         .comm = comm[k],
                         .with_breakpoint = with_breakpoint,
                         .limit = limit,
                         .figures = g_array_new (FALSE, FALSE, sizeof (double)) };
      t[k].stand.then = LOOM_COMMAND_RESUME;
      thread[k] = g_thread_new ("rank", run_together, &t[k]);
    }
  for (int k = 0; k < 2; k++)
    g_thread_join (thread[k]);
  for (int k = 0; k < 2; k++)
    comm[k]->free (comm[k]);
}

static void
clear_two (Together t[2])
{
  for (int k = 0; k < 2; k++)
    {
      g_ptr_array_unref (t[k].weights);
      g_array_unref (t[k].figures);
      g_free (t[k].stand.port);
    }
}

static int
compare_figures (gconstpointer a, gconstpointer b)
{
  return *(const double *)a < *(const double *)b ? -1 : 1;
}

/* Two ranks stand before each step together, and the run has the same bits as without it. */
static void
test_break_ranks (void)
{
  g_auto (GStrv) part = g_strsplit (GRAPH, "<node id=\"drop\" op=\"dropout\" p=\"0.2\"/>", 2);
  g_autofree char *graph = g_strjoinv ("<node id=\"drop\" op=\"relu\"/>", part), *negative = NULL;
  Together plain[2], stopped[2];
  double median;

  run_two (plain, graph, "gradient_above", FALSE, 0);
  run_two (stopped, graph, "gradient_above", TRUE, 0);
  for (int k = 0; k < 2; k++)
    {
      g_assert_cmpint (stopped[k].end, ==, LOOM_TRAINER_DONE);
      assert_same_bits (plain[k].weights, stopped[k].weights);
    }
  g_assert_cmpint (stopped[0].stand.hits, >, 1);
  g_assert_cmpint (stopped[0].stand.at, ==, stopped[0].stand.hits);
  g_assert_cmpint (stopped[0].stand.stood, ==, stopped[0].stand.hits - 1);
  g_assert_cmpint (stopped[0].hit_rank, ==, 0);
  g_assert_cmpint (stopped[1].stand.hits, ==, 0);
  /* Half of the steps of the first rank are under the limit: in some of them the other one is above it. */
  g_array_sort (stopped[0].figures, compare_figures);
  median = g_array_index (stopped[0].figures, double, stopped[0].figures->len / 2);
  clear_two (stopped);
  run_two (stopped, graph, "gradient_above", TRUE, median);
  for (int k = 0; k < 2; k++)
    {
      g_assert_cmpuint (stopped[0].walked[k], >, 0);
      assert_same_bits (plain[k].weights, stopped[k].weights);
    }
  clear_two (plain);
  clear_two (stopped);

  /* A step that is not finite is repeated by both, and both stand before its update. */
  negative = without_finite_values ();
  run_two (stopped, negative, "not_finite", TRUE, 0);
  for (int k = 0; k < 2; k++)
    g_assert_cmpint (stopped[k].end, ==, LOOM_TRAINER_FAILED);
  g_assert_cmpint (stopped[0].stand.hits, ==, 1);
  g_assert_cmpint (stopped[0].stand.stood, ==, stopped[0].stand.at - 1);
  clear_two (stopped);
}

/* The graph, divided among ranks. (transfer full) */
static char *
divided (const char *graph, const char *parallel)
{
  g_autoptr (GString) xml = g_string_new (graph);
  g_autofree char *element = g_strdup_printf ("<parallel %s/>", parallel);

  g_string_insert (xml, strstr (xml->str, "<metric") - xml->str, element);
  if (strstr (parallel, "tensor") != NULL)
    {
      g_string_replace (xml, "features=\"16\"", "features=\"16\" split=\"column\"", 1);
      g_string_replace (xml, "features=\"2\"", "features=\"2\" split=\"row\"", 1);
    }
  return g_strdup (xml->str);
}

/* Ranks with parts of the weights, or of their updates, stand before each step together, at the values of one rank. */
static void
test_break_divided (gconstpointer parallel)
{
  const gboolean of_samples = strstr (parallel, "zero") != NULL;
  g_auto (GStrv) part = g_strsplit (GRAPH, "<node id=\"drop\" op=\"dropout\" p=\"0.2\"/>", 2);
  g_autofree char *whole = g_strjoinv ("<node id=\"drop\" op=\"relu\"/>", part), *graph = divided (whole, parallel);
  g_auto (GStrv) around = g_strsplit (whole, "tanh", 2);
  g_autofree char *without = g_strjoinv ("log", around), *negative = divided (without, parallel);
  Together plain[2], stopped[2], wanted[2];

  run_two (plain, graph, "gradient_above", FALSE, 0);
  run_two (stopped, graph, "gradient_above", TRUE, 0);
  for (int k = 0; k < 2; k++)
    {
      g_assert_cmpint (stopped[k].end, ==, LOOM_TRAINER_DONE);
      assert_same_bits (plain[k].weights, stopped[k].weights);
    }
  g_assert_cmpint (stopped[0].stand.hits, >, 1);
  g_assert_cmpint (stopped[0].stand.hits, ==, stopped[0].stand.at);
  g_assert_cmpint (stopped[0].stand.stood, ==, stopped[0].stand.hits - 1);
  g_assert_cmpint (stopped[0].hit_rank, ==, of_samples ? 0 : -1);
  g_assert_cmpint (stopped[1].stand.hits, ==, 0);
  if (of_samples)
    {
      double median;

      /* The gradients are those of ranks with whole weights. */
      run_two (wanted, whole, "gradient_above", TRUE, 0);
      g_assert_cmpuint (wanted[0].figures->len, ==, stopped[0].figures->len);
      for (guint i = 0; i < wanted[0].figures->len; i++)
        g_assert_cmpfloat_with_epsilon (g_array_index (stopped[0].figures, double, i),
                                        g_array_index (wanted[0].figures, double, i), 1e-5);
      clear_two (wanted);
      g_array_sort (stopped[0].figures, compare_figures);
      median = g_array_index (stopped[0].figures, double, stopped[0].figures->len / 2);
      clear_two (stopped);
      run_two (stopped, graph, "gradient_above", TRUE, median);
      for (int k = 0; k < 2; k++)
        {
          g_assert_cmpuint (stopped[0].walked[k], >, 0);
          assert_same_bits (plain[k].weights, stopped[k].weights);
        }
    }
  clear_two (plain);
  clear_two (stopped);
  run_two (stopped, negative, "not_finite", TRUE, 0);
  for (int k = 0; k < 2; k++)
    g_assert_cmpint (stopped[k].end, ==, LOOM_TRAINER_FAILED);
  g_assert_cmpint (stopped[0].stand.hits, ==, 1);
  g_assert_cmpint (stopped[0].stand.stood, ==, stopped[0].stand.at - 1);
  clear_two (stopped);
}

/* A step that is not finite stops the run before its update; resumed, it fails as it does without a breakpoint. */
static void
test_break_nan (void)
{
  g_autofree char *negative = without_finite_values ();
  g_autoptr (LoomTrainer) trainer = on_ref (negative);
  g_autoptr (GError) error = NULL;
  Stand s = { .then = LOOM_COMMAND_RESUME };

  g_assert_cmpint (run_with (trainer, "scores", "not_finite", 0, &s, &error), ==, LOOM_TRAINER_FAILED);
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_NAN);
  g_assert_cmpint (s.hits, ==, 1);
  g_assert_cmpint (s.stood, ==, s.at - 1);
  g_assert_cmpint (s.steps, ==, s.at - 1);
  g_assert_cmpint (s.failed, ==, 1);
  g_free (s.port);
}

/* A single step that is not finite is repeated in the same pause. A run that is then stopped has no failed node. */
static void
test_break_single (void)
{
  g_autofree char *negative = without_finite_values ();
  g_autoptr (LoomTrainer) trainer = on_ref (negative);
  g_autoptr (GError) error = NULL;
  const char *port;
  Stand s = { .then = LOOM_COMMAND_STOP, .is_single = TRUE };

  loom_trainer_post (trainer, LOOM_COMMAND_PAUSE, NULL, 0);
  g_assert_cmpint (run_with (trainer, "scores", "not_finite", 0, &s, &error), ==, LOOM_TRAINER_STOPPED);
  g_assert_no_error (error);
  g_assert_cmpint (s.hits, ==, 1);
  g_assert_cmpint (s.stood, ==, 0);
  g_assert_null (loom_trainer_get_failed_node (trainer, &port));
  g_free (s.port);
}

/* A product that is NaN is followed like any other. */
static void
test_chain_nan (void)
{
  g_autofree char *negative = without_finite_values ();
  g_autoptr (LoomTrainer) trainer = on_ref (negative);
  g_auto (LoomStepperPlace) place = { 0 };
  g_autoptr (GError) error = NULL;
  double value, gradient;

  command (trainer, &(LoomWalkCommand){ LOOM_WALK_BEGIN }, &place);
  command (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_FINISH, .region = LOOM_REGION_BACKWARD }, &place);
  g_autoptr (GArray) chain = loom_trainer_derivatives (trainer, "scores", 3, &value, &gradient, &error);
  g_assert_no_error (error);
  g_assert_true (isnan (gradient));
  g_assert_cmpuint (chain->len, ==, 1);
  g_assert_cmpstr (g_array_index (chain, LoomDerivative, 0).term[0].port, ==, "loss");
}

TEST_FILE (argc, argv)
{
  static const char *const divisions[] = { "strategy=\"zero1\"", "strategy=\"zero2\"", "strategy=\"zero3\"",
                                           "tensor=\"2\"", "pipeline=\"2\" microbatches=\"2\"" };
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/step-walk/bits/ref", "ref", test_bits);
  g_test_add_data_func ("/step-walk/bits/cpu", "cpu", test_bits);
  g_test_add_func ("/step-walk/update", test_update);
  g_test_add_func ("/step-walk/inside", test_inside);
  g_test_add_func ("/step-walk/chain", test_chain);
  g_test_add_func ("/step-walk/chain-of-weights", test_chain_of_weights);
  g_test_add_func ("/step-walk/chain/nan", test_chain_nan);
  g_test_add_func ("/step-walk/break", test_break);
  g_test_add_func ("/step-walk/break/inside", test_break_inside);
  g_test_add_func ("/step-walk/break/module", test_break_module);
  g_test_add_func ("/step-walk/break/ranks", test_break_ranks);
  for (guint i = 0; i < G_N_ELEMENTS (divisions); i++)
    {
      g_autofree char *path = g_strdup_printf ("/step-walk/break-divided/%u", i);
      g_test_add_data_func (path, divisions[i], test_break_divided);
    }
  g_test_add_func ("/step-walk/time-steps", test_time_steps);
  g_test_add_func ("/step-walk/break/nan", test_break_nan);
  g_test_add_func ("/step-walk/break/single", test_break_single);
  return g_test_run ();
}
