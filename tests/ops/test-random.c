/* Random operators: their distributions, their gradients, and their dependencies. Seeds are fixed, so each test has the
 * same numbers each time. Distributions are compared by the test of Kolmogorov and Smirnov: with the distance D of n
 * numbers, √n·D is above 1.95 once in a thousand times. */
#include "engine/net/loom-net.h"
#include "tests/program/eval.h"
#include "tests/test-program.h"

#include <math.h>
#include <string.h>

#define FAR 1.95

/* A graph with the node n, and its value. */
typedef struct
{
  LoomGraph *graph;
  LoomFaults *faults;
  LoomNet *net;
  LoomProgram *p;
  LoomValue value[2];
  Eval *e;
} Drawn;

static void
drawn_clear (Drawn *d)
{
  g_clear_pointer (&d->e, eval_free);
  g_clear_pointer (&d->p, loom_program_unref);
  g_clear_pointer (&d->net, loom_net_free);
  g_clear_pointer (&d->faults, loom_faults_free);
  g_clear_pointer (&d->graph, loom_graph_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Drawn, drawn_clear)

static void
drawn_open (Drawn *d, const char *body, const char *node, gboolean training)
{
  g_autofree char *xml
      = g_strdup_printf ("<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"random\">%s</graph>", body);
  LoomNetSource wanted = { 0 };
  LoomLowerOptions options
      = { .training = training, .float_dtype = LOOM_F64, .n_wanted = 1, .wanted = &wanted, .seed = 5 };
  g_autoptr (GError) error = NULL;

  memset (d, 0, sizeof *d);
  d->faults = loom_faults_new ();
  d->graph = loom_graph_read_data (xml, strlen (xml), "random", d->faults, &error);
  g_assert_no_error (error);
  d->net = loom_net_new (d->graph, NULL, d->faults);
  for (guint i = 0; i < loom_faults_length (d->faults); i++)
    {
      g_autofree char *text = loom_fault_to_string (loom_faults_get (d->faults, i));

      g_test_message ("%s", text);
    }
  g_assert_cmpuint (loom_faults_count (d->faults), ==, 0);
  wanted.node = (guint)loom_net_find (d->net, node);
  d->p = loom_lower (d->net, &options, d->value, &error);
  g_assert_no_error (error);
}

static void
set_scalar (Drawn *d, const char *name, double value)
{
  int slot = loom_program_find_slot (d->p, name);

  g_assert_cmpint (slot, >=, 0);
  for (LoomValue v = 1; v <= loom_program_n_values (d->p); v++)
    if (loom_value_info (d->p, v)->slot == slot)
      loom_tensor_set (eval_tensor (d->e, v), 0, value);
}

/* Numbers of the node at a seed and a step. Inputs get `range`. */
static LoomTensor *
draw (Drawn *d, const char *range, double seed, double step)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);

  if (d->e == NULL)
    d->e = eval_new (d->p);
  eval_fill_all (d->e, range, rand);
  set_scalar (d, "seed", seed);
  set_scalar (d, "step", step);
  eval_run (d->e);
  return eval_tensor (d->e, d->value[0]);
}

/* ---- distributions ------------------------------------------------------ */

static int
by_size (const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* √n times the largest distance between how many numbers are smaller and how many should be. */
static double
distance (const LoomTensor *t, double (*cdf) (double x))
{
  g_autofree double *x = g_new (double, t->count);
  double far = 0, n = (double)t->count;

  for (gint64 i = 0; i < t->count; i++)
    x[i] = loom_tensor_get (t, i);
  qsort (x, (gsize)t->count, sizeof *x, by_size);
  for (gint64 i = 0; i < t->count; i++)
    far = MAX (far, MAX (fabs (cdf (x[i]) - (double)i / n), fabs ((double)(i + 1) / n - cdf (x[i]))));
  return sqrt (n) * far;
}

static double
uniform_cdf (double x)
{
  return CLAMP (x, 0, 1);
}

static double
shifted_cdf (double x)
{
  return CLAMP ((x + 2) / 5, 0, 1);
}

static double
normal_cdf (double x)
{
  return 0.5 * erfc (-x / sqrt (2));
}

static double
wide_cdf (double x)
{
  return normal_cdf ((x - 3) / 0.5);
}

static double
exponential_cdf (double x)
{
  return x < 0 ? 0 : 1 - exp (-2 * x);
}

/* Neighbours are independent: the correlation of numbers at a distance, in deviations. */
static double
correlation (const LoomTensor *t, gint64 lag)
{
  double mean = 0, square = 0, product = 0, n = (double)t->count;

  for (gint64 i = 0; i < t->count; i++)
    mean += loom_tensor_get (t, i) / n;
  for (gint64 i = 0; i + lag < t->count; i++)
    {
      double a = loom_tensor_get (t, i) - mean, b = loom_tensor_get (t, i + lag) - mean;

      square += a * a;
      product += a * b;
    }
  return product / square * sqrt (n);
}

static void
test_distributions (void)
{
  static const struct
  {
    const char *node;
    double (*cdf) (double x);
  } cases[] = {
    { "op=\"rand\" shape=\"200,100\"", uniform_cdf },
    { "op=\"randn\" shape=\"200,100\"", normal_cdf },
    { "op=\"uniform\" low=\"-2\" high=\"3\" shape=\"20000\"", shifted_cdf },
    { "op=\"normal\" mean=\"3\" std=\"0.5\" shape=\"20000\"", wide_cdf },
    { "op=\"exponential\" rate=\"2\" shape=\"20000\"", exponential_cdf },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int training = 0; training < 2; training++)
      for (int seed = 1; seed <= 3; seed++)
        {
          g_autofree char *body = g_strdup_printf ("<node id=\"n\" %s/>", cases[i].node);
          g_auto (Drawn) d = { 0 };
          LoomTensor *t;

          drawn_open (&d, body, "n", training);
          t = draw (&d, NULL, seed, 17);
          g_test_message ("%s: %g", cases[i].node, distance (t, cases[i].cdf));
          g_assert_cmpfloat (distance (t, cases[i].cdf), <, FAR);
          for (gint64 lag = 1; lag <= 4; lag++)
            g_assert_cmpfloat (fabs (correlation (t, lag)), <, 4.5);
        }
}

/* Frequencies of integers 0 … n-1 compared with the expected ones, by chi squared in units of its deviation. */
static double
chi_squared (const LoomTensor *t, int n, const double *share)
{
  g_autofree double *seen = g_new0 (double, n);
  double sum = 0;
  int kinds = 0;

  for (gint64 i = 0; i < t->count; i++)
    {
      double x = loom_tensor_get (t, i);

      g_assert_true (x >= 0 && x < n && x == floor (x));
      seen[(int)x]++;
    }
  for (int k = 0; k < n; k++)
    {
      double want = share[k] * (double)t->count;

      if (want == 0)
        g_assert_cmpfloat (seen[k], ==, 0);
      else
        {
          sum += (seen[k] - want) * (seen[k] - want) / want;
          kinds++;
        }
    }
  return (sum - (kinds - 1)) / sqrt (2.0 * (kinds - 1));
}

static void
test_integers (void)
{
  static const double even[7] = { 1 / 7.0, 1 / 7.0, 1 / 7.0, 1 / 7.0, 1 / 7.0, 1 / 7.0, 1 / 7.0 };
  static const double coin[2] = { 0.7, 0.3 }, weights[5] = { 0.1, 0, 0.4, 0.2, 0.3 };
  static const struct
  {
    const char *body;
    int n;
    const double *share;
  } cases[] = {
    { "<node id=\"n\" op=\"randint\" high=\"7\" shape=\"7000\"/>", 7, even },
    { "<node id=\"n\" op=\"bernoulli\" p=\"0.3\" shape=\"100,70\"/>", 2, coin },
    { "<node id=\"w\" op=\"constant\" value=\"1,0,4,2,3\" shape=\"5\"/><node id=\"n\" op=\"multinomial\" "
      "num_samples=\"10000\" replacement=\"true\"/><wire from=\"w\" to=\"n\"/>",
      5, weights },
    /* The first of those that are drawn one after the other is drawn by the weights. */
    { "<node id=\"w\" op=\"constant\" value=\"1,0,4,2,3\" shape=\"5\"/><node id=\"m\" op=\"expand\" shape=\"5000,5\"/>"
      "<node id=\"q\" op=\"multinomial\" num_samples=\"3\"/><node id=\"n\" op=\"select\" dim=\"1\" index=\"0\"/>"
      "<wire from=\"w\" to=\"m\"/><wire from=\"m\" to=\"q\"/><wire from=\"q\" to=\"n\"/>",
      5, weights },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int seed = 1; seed <= 3; seed++)
      {
        g_auto (Drawn) d = { 0 };
        double far;

        drawn_open (&d, cases[i].body, "n", FALSE);
        far = chi_squared (draw (&d, NULL, seed, 2), cases[i].n, cases[i].share);
        g_test_message ("%s: %g", cases[i].body, far);
        g_assert_cmpfloat (far, <, 4);
      }
}

/* Every position once, and each as likely at the front. */
static void
test_permutations (void)
{
  g_auto (Drawn) d = { 0 };
  int first[5] = { 0 };

  drawn_open (&d, "<node id=\"n\" op=\"randperm\" n=\"5\"/>", "n", FALSE);
  for (int step = 0; step < 2000; step++)
    {
      LoomTensor *t = draw (&d, NULL, 3, step);
      guint seen = 0;

      for (int i = 0; i < 5; i++)
        seen |= 1u << (int)loom_tensor_get (t, i);
      g_assert_cmpuint (seen, ==, 31);
      first[(int)loom_tensor_get (t, 0)]++;
    }
  for (int i = 0; i < 5; i++)
    g_assert_cmpint (ABS (first[i] - 400), <, 80);
}

/* Hard choices are one 1 among zeros, drawn by the softmax of the scores; soft ones sum to 1. */
static void
test_gumbel (void)
{
  static const double share[3] = { 0.2, 0.5, 0.3 };
  double seen[3] = { 0 };
  g_auto (Drawn) hard = { 0 }, soft = { 0 };
  const char *scores = "<node id=\"w\" op=\"constant\" value=\"2,5,3\" shape=\"3\"/><node id=\"l\" op=\"log\"/>"
                       "<node id=\"m\" op=\"expand\" shape=\"4000,3\"/><wire from=\"w\" to=\"l\"/>"
                       "<wire from=\"l\" to=\"m\"/><wire from=\"m\" to=\"n\"/>";
  g_autofree char *first = g_strconcat ("<node id=\"n\" op=\"gumbel_softmax\" hard=\"true\"/>", scores, NULL);
  g_autofree char *second = g_strconcat ("<node id=\"n\" op=\"gumbel_softmax\" tau=\"0.7\"/>", scores, NULL);
  LoomTensor *t;

  drawn_open (&hard, first, "n", TRUE);
  drawn_open (&soft, second, "n", FALSE);
  t = draw (&hard, NULL, 1, 0);
  for (gint64 i = 0; i < t->count; i++)
    {
      double x = loom_tensor_get (t, i);

      g_assert_true (x == 0 || x == 1);
      seen[i % 3] += x;
    }
  g_assert_cmpfloat (seen[0] + seen[1] + seen[2], ==, 4000);
  for (int k = 0; k < 3; k++)
    g_assert_cmpfloat_with_epsilon (seen[k] / 4000, share[k], 0.035);
  t = draw (&soft, NULL, 1, 0);
  for (gint64 i = 0; i < t->count; i += 3)
    g_assert_cmpfloat_with_epsilon (loom_tensor_get (t, i) + loom_tensor_get (t, i + 1) + loom_tensor_get (t, i + 2), 1,
                                    1e-12);
}

/* ---- keys --------------------------------------------------------------- */

static gboolean
same_numbers (const char *body_a, const char *node_a, double seed_a, double step_a, const char *body_b,
              const char *node_b, double seed_b, double step_b)
{
  g_auto (Drawn) a = { 0 }, b = { 0 };

  drawn_open (&a, body_a, node_a, FALSE);
  drawn_open (&b, body_b, node_b, TRUE);
  return loom_tensor_equal_bits (draw (&a, NULL, seed_a, step_a), draw (&b, NULL, seed_b, step_b));
}

/* The numbers depend on seed, path and step, and on nothing else: not on other nodes and not on the mode. */
static void
test_keys (void)
{
  const char *alone = "<node id=\"n\" op=\"randn\" shape=\"9\"/>";
  const char *pair = "<node id=\"m\" op=\"randn\" shape=\"9\"/><node id=\"n\" op=\"randn\" shape=\"9\"/>";

  g_assert_true (same_numbers (alone, "n", 1, 2, pair, "n", 1, 2));
  g_assert_false (same_numbers (alone, "n", 1, 2, pair, "m", 1, 2));
  g_assert_false (same_numbers (alone, "n", 1, 2, alone, "n", 2, 2));
  g_assert_false (same_numbers (alone, "n", 1, 2, alone, "n", 1, 3));
}

/* Copies of a module draw independently, also if they share weights. */
static void
test_copies (void)
{
  for (int share = 0; share < 2; share++)
    {
      g_autofree char *body = g_strdup_printf (
          "<module name=\"noise\"><node id=\"x\" op=\"module_input\"/><node id=\"r\" op=\"randn\"/>"
          "<node id=\"s\" op=\"mul\"/><node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"r.like\"/>"
          "<wire from=\"x\" to=\"s.input\"/><wire from=\"r\" to=\"s.other\"/><wire from=\"s\" to=\"y\"/></module>"
          "<node id=\"a\" op=\"ones\" shape=\"50\"/><node id=\"b\" module=\"noise\" repeat=\"2\"%s/>"
          "<node id=\"n\" op=\"identity\"/><wire from=\"a\" to=\"b\"/><wire from=\"b\" to=\"n\"/>",
          share ? " share=\"true\"" : "");
      g_auto (Drawn) d = { 0 };
      LoomTensor *t;
      int below = 0;

      drawn_open (&d, body, "n", TRUE);
      t = draw (&d, NULL, 1, 0);
      /* A product of a number with itself is never negative. */
      for (gint64 i = 0; i < t->count; i++)
        below += loom_tensor_get (t, i) < 0;
      g_assert_cmpint (below, >, 10);
    }
}

/* ---- refusals ----------------------------------------------------------- */

/* That a condition with this sentence is part of the program; tests/cli sees such sentences. */
static void
check_refused (const char *body, const char *sentence)
{
  g_auto (Drawn) d = { 0 };
  gboolean found = FALSE;

  drawn_open (&d, body, "n", FALSE);
  for (guint i = 0; i < loom_program_n_instrs (d.p) && !found; i++)
    {
      const LoomInstr *instr = loom_program_instr (d.p, i);

      found = g_str_equal (instr->prim->name, "require")
              && strstr (((const LoomRequireAttrs *)instr->attrs)->what, sentence) != NULL;
    }
  if (!found)
    g_error ("nothing in %s says “%s”", body, sentence);
}

static void
test_requirements (void)
{
  static const struct
  {
    const char *node, *port, *sentence;
  } cases[] = {
    { "op=\"bernoulli\"", "input", "a probability is not between 0 and 1" },
    { "op=\"multinomial\" num_samples=\"2\"", "input", "a weight is negative, infinite or NaN" },
    { "op=\"multinomial\" num_samples=\"2\"", "input", "all weights are 0" },
    { "op=\"multinomial\" num_samples=\"2\"", "input", "fewer weights are above 0" },
    { "op=\"normal\"", "std", "a standard deviation is negative" },
    { "op=\"exponential\"", "rate", "a rate is negative" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *body = g_strdup_printf (
          "<node id=\"x\" op=\"input\" shape=\"3\"/><node id=\"n\" %s/><wire from=\"x\" to=\"n.%s\"/>", cases[i].node,
          cases[i].port);

      check_refused (body, cases[i].sentence);
    }
}

/* The primitive of attention drops the shares that its port of weights shows as dropped: y is weights·v. */
static void
test_attention (void)
{
  static const char body[]
      = "<node id=\"q\" op=\"parameter\" shape=\"2,4,5,3\"/><node id=\"k\" op=\"parameter\" shape=\"2,2,7,3\"/>"
        "<node id=\"v\" op=\"parameter\" shape=\"2,2,7,6\"/>"
        "<node id=\"a\" op=\"scaled_dot_product_attention\" dropout_p=\"0.4\" enable_gqa=\"true\"/>"
        "<node id=\"each\" op=\"repeat_interleave\" repeats=\"2\" dim=\"1\"/><node id=\"m\" op=\"matmul\"/>"
        "<node id=\"n\" op=\"sub\"/><wire from=\"q\" to=\"a.query\"/><wire from=\"k\" to=\"a.key\"/>"
        "<wire from=\"v\" to=\"a.value\"/><wire from=\"v\" to=\"each\"/><wire from=\"a.weights\" to=\"m.input\"/>"
        "<wire from=\"each\" to=\"m.other\"/><wire from=\"a\" to=\"n.input\"/><wire from=\"m\" to=\"n.other\"/>";
  g_auto (Drawn) d;
  guint dropped = 0;

  drawn_open (&d, body, "n", TRUE);
  LoomTensor *t = draw (&d, "normal", 7, 3);
  g_assert_cmpint (t->count, ==, 2 * 4 * 5 * 6);
  for (gint64 i = 0; i < t->count; i++)
    g_assert_cmpfloat (fabs (loom_tensor_get (t, i)), <, 1e-12);
  for (guint i = 0; i < loom_program_n_instrs (d.p); i++)
    dropped += strcmp (loom_program_instr (d.p, i)->prim->name, "attention") == 0
               && ((const LoomAttentionAttrs *)loom_program_instr (d.p, i)->attrs)->dropout == 0.4;
  g_assert_cmpuint (dropped, ==, 1);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ops/random/distributions", test_distributions);
  g_test_add_func ("/ops/random/integers", test_integers);
  g_test_add_func ("/ops/random/permutations", test_permutations);
  g_test_add_func ("/ops/random/gumbel", test_gumbel);
  g_test_add_func ("/ops/random/keys", test_keys);
  g_test_add_func ("/ops/random/copies", test_copies);
  g_test_add_func ("/ops/random/requirements", test_requirements);
  g_test_add_func ("/ops/random/attention", test_attention);
  return g_test_run ();
}
