/* The chain rule through a step that is taken apart. */
#include <math.h>

#include "tests/test-program.h"
#include "tests/train/step-graphs.h"

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
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/step-walk/chain", test_chain);
  g_test_add_func ("/step-walk/chain-of-weights", test_chain_of_weights);
  g_test_add_func ("/step-walk/chain/nan", test_chain_nan);
  return g_test_run ();
}
