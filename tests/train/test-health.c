/* The health of a net: its numbers against plain arithmetic on snapshots, the rules, the lines, and that a run with an
 * observer has the bits of one without. */
#include "engine/loom-lab.h"
#include "engine/train/loom-health.h"
#include "tests/scratch.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <math.h>
#include <string.h>

#define NET(ACTIVATION, TRAIN)                                                                                         \
  "<graph xmlns=\"urn:gradloom:graph\" version=\"1\"><node id=\"data\" op=\"dataset\" source=\"spirals\" n=\"300\" "   \
  "n_test=\"32\"/>"                                                                                                    \
  "<node id=\"hidden\" op=\"linear\" out_features=\"16\"/><node id=\"act\" " ACTIVATION "/>"                           \
  "<node id=\"scores\" op=\"linear\" out_features=\"2\"/><node id=\"loss\" op=\"cross_entropy\"/>"                     \
  "<wire from=\"data.x\" to=\"hidden\"/><wire from=\"hidden\" to=\"act\"/><wire from=\"act\" to=\"scores\"/>"          \
  "<wire from=\"scores\" to=\"loss.input\"/><wire from=\"data.y\" to=\"loss.target\"/>"                                \
  "<train loss=\"loss\" batch_size=\"32\" epochs=\"20\" seed=\"3\" device=\"cpu\" " TRAIN "/></graph>"

static LoomTensor *
look (LoomTrainer *trainer, const char *port)
{
  g_autoptr (GError) error = NULL;
  LoomTensor *value = loom_trainer_snapshot (trainer, port, NULL, &error);

  g_assert_no_error (error);
  return value;
}

static double
norm (LoomTrainer *trainer, const char *port)
{
  g_autoptr (LoomTensor) value = look (trainer, port);
  double sum = 0;

  for (gint64 i = 0; i < value->count; i++)
    sum += loom_tensor_get (value, i) * loom_tensor_get (value, i);
  return sqrt (sum);
}

static GPtrArray *
ask (LoomTrainer *trainer)
{
  g_autoptr (LoomTensor) text = look (trainer, LOOM_SNAPSHOT_HEALTH);
  GPtrArray *nodes = loom_health_from_text (text->data, (gsize)text->count);

  g_assert_nonnull (nodes);
  return nodes;
}

static const LoomHealthNode *
find (const GPtrArray *nodes, const char *path)
{
  for (guint i = 0; i < nodes->len; i++)
    if (g_str_equal (((LoomHealthNode *)nodes->pdata[i])->node, path))
      return nodes->pdata[i];
  g_error ("no node “%s”", path);
}

static double
wire (const LoomHealthNode *node, const char *port)
{
  for (guint i = 0; i < node->wires->len; i++)
    if (g_str_equal (g_array_index (node->wires, LoomHealthWire, i).port, port))
      return g_array_index (node->wires, LoomHealthWire, i).gradient;
  g_error ("no wire “%s”", port);
}

#define near(a, b) g_assert_cmpfloat_with_epsilon (a, b, 1e-5 * (1e-6 + fabs (b)))

static void
set_all (LoomTrainer *trainer, const char *weight, double value)
{
  g_autoptr (LoomTensor) tensor = loom_state_get (loom_trainer_state (trainer), weight, NULL);

  for (gint64 i = 0; i < tensor->count; i++)
    loom_tensor_set (tensor, i, value);
  g_assert_true (loom_state_set (loom_trainer_state (trainer), weight, tensor, NULL));
}

/* Norms of weights and gradients, by node and at each wire; SGD moves a weight by the rate times its gradient. */
static void
test_norms (void)
{
  g_autoptr (LoomTrainer) trainer
      = train_test_new (NET ("op=\"relu\"", "optimizer=\"sgd\" lr=\"0.125\""), (LoomTrainerOptions){ 0 });
  g_autoptr (GPtrArray) nodes = NULL;

  train_test_run (trainer);
  nodes = ask (trainer);
  for (guint k = 0; k < 2; k++)
    {
      const LoomHealthNode *node = find (nodes, k ? "scores" : "hidden");
      const char *weight = k ? "scores.weight" : "hidden.weight", *bias = k ? "scores.bias" : "hidden.bias";
      g_autofree char *grad_weight = g_strconcat ("now:grad:", weight, NULL),
                      *grad_bias = g_strconcat ("now:grad:", bias, NULL),
                      *now_weight = g_strconcat ("now:", weight, NULL), *now_bias = g_strconcat ("now:", bias, NULL);

      near (node->weight, hypot (norm (trainer, now_weight), norm (trainer, now_bias)));
      near (node->gradient, hypot (norm (trainer, grad_weight), norm (trainer, grad_bias)));
      near (node->update, 0.125 * node->gradient);
      g_assert_cmpint (node->verdict, ==, LOOM_HEALTH_WELL);
    }
  near (wire (find (nodes, "act"), "act"), norm (trainer, "now:grad:act"));
  near (wire (find (nodes, "hidden"), "hidden"), norm (trainer, "now:grad:hidden"));
  near (wire (find (nodes, "data"), "data.x"), norm (trainer, "now:grad:data.x"));
}

/* What observers request is counted from the second time on. */
static void
test_costs (void)
{
  g_autoptr (LoomTrainer) trainer
      = train_test_new (NET ("op=\"relu\"", "optimizer=\"sgd\" lr=\"0.125\""), (LoomTrainerOptions){ 0 });

  train_test_run (trainer);
  g_autoptr (GPtrArray) first = ask (trainer);
  g_autoptr (LoomTensor) none = look (trainer, LOOM_SNAPSHOT_COSTS);
  g_assert_cmpint (none->count, ==, 0);
  g_autoptr (GPtrArray) second = ask (trainer), third = ask (trainer);
  g_autoptr (LoomTensor) text = look (trainer, LOOM_SNAPSHOT_COSTS);
  g_autofree char *line = g_strndup (text->data, (gsize)text->count);
  g_assert_true (g_str_has_prefix (line, "{\"view\":\"health:\",\"requests\":2,\"seconds\":"));
  g_assert_true (g_str_has_suffix (line, "}\n"));
}

/* Adam's first step moves each weight by the rate, whatever the size of its gradient. */
static void
test_adam (void)
{
  g_autoptr (LoomTrainer) trainer
      = train_test_new (NET ("op=\"tanh\"", "optimizer=\"adam\" lr=\"0.01\""), (LoomTrainerOptions){ 0 });
  g_autoptr (GPtrArray) nodes = ask (trainer);

  /* 2 × 16 weights and 16 of the bias. */
  g_assert_cmpfloat_with_epsilon (find (nodes, "hidden")->update, 0.01 * sqrt (48), 1e-4);
}

static void
test_dead (void)
{
  g_autoptr (LoomTrainer) trainer
      = train_test_new (NET ("op=\"relu\"", "optimizer=\"sgd\" lr=\"0.1\""), (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTensor) bias = loom_state_get (loom_trainer_state (trainer), "hidden.bias", NULL);
  g_autoptr (GPtrArray) before = ask (trainer), after = NULL;

  g_assert_cmpint (find (before, "act")->units, ==, 16);
  g_assert_cmpint (find (before, "act")->dead, <=, 8);
  g_assert_cmpint (find (before, "act")->verdict, ==, LOOM_HEALTH_WELL);
  for (gint64 i = 0; i < 13; i++)
    loom_tensor_set (bias, i, -1000);
  g_assert_true (loom_state_set (loom_trainer_state (trainer), "hidden.bias", bias, NULL));
  after = ask (trainer);
  g_assert_cmpint (find (after, "act")->dead, >=, 13);
  g_assert_cmpint (find (after, "act")->verdict, ==, LOOM_HEALTH_DEAD);
  g_assert_true (isnan (find (after, "act")->saturated));
}

/* The share of outputs at a limit, counted in the values of the port; the limits are the operator's, with its
 * parameters. */
static void
test_saturated (void)
{
  static const struct
  {
    const char *xml;
    double low, high;
  } cases[] = {
    { NET ("op=\"tanh\"", "optimizer=\"sgd\" lr=\"0.1\""), -1, 1 },
    { NET ("op=\"sigmoid\"", "optimizer=\"sgd\" lr=\"0.1\""), 0, 1 },
    { NET ("op=\"hardtanh\" min_val=\"-0.5\" max_val=\"2\"", "optimizer=\"sgd\" lr=\"0.1\""), -0.5, 2 },
  };

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      g_autoptr (LoomTrainer) trainer = train_test_new (cases[c].xml, (LoomTrainerOptions){ 0 });
      g_autoptr (LoomTensor) value = NULL;
      g_autoptr (GPtrArray) nodes = NULL;
      const double within = 1e-3 * (cases[c].high - cases[c].low);
      gint64 n = 0;

      set_all (trainer, "hidden.weight", 12);
      nodes = ask (trainer);
      value = look (trainer, "now:act");
      for (gint64 i = 0; i < value->count; i++)
        n += loom_tensor_get (value, i) < cases[c].low + within || loom_tensor_get (value, i) > cases[c].high - within;
      g_assert_cmpint (n, >, 0);
      g_assert_cmpint (n, <, value->count);
      g_assert_cmpfloat_with_epsilon (find (nodes, "act")->saturated, (double)n / (double)value->count, 1e-6);
      g_assert_cmpint (find (nodes, "act")->units, ==, 0);
    }
}

/* A relu6 that is 0 is off, and one that is 6 is at its limit. */
static void
test_off_and_full (void)
{
  g_autoptr (LoomTrainer) trainer
      = train_test_new (NET ("op=\"relu6\"", "optimizer=\"sgd\" lr=\"0.1\""), (LoomTrainerOptions){ 0 });
  g_autoptr (GPtrArray) off = NULL, full = NULL;

  set_all (trainer, "hidden.bias", -1000);
  off = ask (trainer);
  g_assert_cmpint (find (off, "act")->dead, ==, 16);
  g_assert_cmpfloat (find (off, "act")->saturated, ==, 0);
  set_all (trainer, "hidden.bias", 1000);
  full = ask (trainer);
  g_assert_cmpint (find (full, "act")->dead, ==, 0);
  g_assert_cmpfloat (find (full, "act")->saturated, ==, 1);
  g_assert_cmpint (find (full, "act")->verdict, ==, LOOM_HEALTH_SATURATED);
}

/* The optimizer does not update a parameter that the graph assigns to. */
static void
test_assigned (void)
{
  g_auto (GStrv) part = g_strsplit (NET ("op=\"relu\"", "optimizer=\"sgd\" lr=\"0.125\""), "<train ", 2);
  g_autofree char *graph = g_strconcat (part[0],
                                        "<node id=\"minus\" op=\"neg\"/><node id=\"set\" op=\"assign\"/>"
                                        "<wire from=\"scores.bias\" to=\"minus\"/>"
                                        "<wire from=\"scores.bias\" to=\"set.target\"/>"
                                        "<wire from=\"minus\" to=\"set.value\"/><train ",
                                        part[1], NULL);
  g_autoptr (LoomTrainer) trainer = train_test_new (graph, (LoomTrainerOptions){ 0 });
  g_autoptr (GPtrArray) nodes = ask (trainer);

  near (find (nodes, "scores")->update, 0.125 * norm (trainer, "now:grad:scores.weight"));
}

/* Numbers that are not finite are reported, though an update from them is a fault; later updates are reported again. */
static void
test_not_finite (void)
{
  g_autoptr (LoomTrainer) trainer
      = train_test_new (NET ("op=\"relu\"", "optimizer=\"sgd\" lr=\"0.1\""), (LoomTrainerOptions){ 0 });
  g_autoptr (GPtrArray) nodes = NULL;

  set_all (trainer, "hidden.weight", NAN);
  nodes = ask (trainer);
  g_assert_cmpint (find (nodes, "hidden")->verdict, ==, LOOM_HEALTH_NOT_FINITE);
  g_assert_true (isnan (find (nodes, "hidden")->update));
  set_all (trainer, "hidden.weight", 0.1);
  for (guint i = 0; i < 16; i++)
    {
      g_clear_pointer (&nodes, g_ptr_array_unref);
      nodes = ask (trainer);
    }
  g_assert_cmpfloat (find (nodes, "hidden")->update, >, 0);
}

/* ---- rules and lines -------------------------------------------------------- */

/* Each rule at both sides of its limit. */
static void
test_rules (void)
{
  static const struct
  {
    double gradient, update;
    gint64 dead;
    double saturated;
    LoomHealthVerdict verdict;
  } cases[] = {
    { 1, 1e-3, 0, NAN, LOOM_HEALTH_WELL },           { 9.9, 1e-3, 0, NAN, LOOM_HEALTH_WELL },
    { 11, 1e-3, 0, NAN, LOOM_HEALTH_EXPLODING },     { 1, 0.2, 0, NAN, LOOM_HEALTH_HASTY },
    { 1e-7, 1e-9, 0, NAN, LOOM_HEALTH_VANISHING },   { 1e-6, 1e-9, 0, NAN, LOOM_HEALTH_WELL },
    { 1, 1e-3, 6, NAN, LOOM_HEALTH_DEAD },           { 1, 1e-3, 5, NAN, LOOM_HEALTH_WELL },
    { 1, 1e-3, 0, 0.6, LOOM_HEALTH_SATURATED },      { 1, 1e-3, 0, 0.4, LOOM_HEALTH_WELL },
    { INFINITY, 0.2, 9, 1, LOOM_HEALTH_NOT_FINITE },
  };

  for (guint c = 0; c < G_N_ELEMENTS (cases); c++)
    {
      g_autoptr (GPtrArray) nodes = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_health_node_free), back = NULL;
      LoomHealthNode *node = loom_health_node_new ("fc"), *last = loom_health_node_new ("loss");
      LoomHealthWire wires[] = { { g_strdup ("fc"), cases[c].gradient }, { g_strdup ("last"), 1 } };
      g_autofree char *text = NULL, *again = NULL;

      *node = (LoomHealthNode){ .node = node->node,
                                .weight = 1,
                                .gradient = cases[c].gradient,
                                .update = cases[c].update,
                                .units = 10,
                                .dead = cases[c].dead,
                                .saturated = cases[c].saturated,
                                .wires = node->wires };
      g_array_append_val (node->wires, wires[0]);
      g_array_append_val (last->wires, wires[1]);
      g_ptr_array_add (nodes, node);
      g_ptr_array_add (nodes, last);
      loom_health_apply_rules (nodes);
      g_assert_cmpint (node->verdict, ==, cases[c].verdict);
      text = loom_health_to_text (nodes);
      back = loom_health_from_text (text, strlen (text));
      again = loom_health_to_text (back);
      g_assert_cmpstr (text, ==, again);
      g_assert_cmpint (find (back, "fc")->verdict, ==, cases[c].verdict);
    }
  for (int v = LOOM_HEALTH_WELL + 1; v < LOOM_N_HEALTH; v++)
    g_assert_cmpint (strlen (loom_health_rule ((LoomHealthVerdict)v)->source), >, 10);
}

static void
test_other_text (void)
{
  static const char *const texts[]
      = { "nonsense", "[1]", "{\"node\":1,\"wires\":{}}", "{\"node\":\"a\"}", "{\"node\":\"a\",\"wires\":3}",
          "null",     "{" };

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    g_assert_null (loom_health_from_text (texts[i], strlen (texts[i])));
  g_autoptr (GPtrArray) none = loom_health_from_text ("", 0);
  g_assert_cmpint (none->len, ==, 0);
}

/* ---- the run ---------------------------------------------------------------- */

typedef struct
{
  LoomTrainer *trainer;
  gint over; /* atomic */
  guint n;
} Watcher;

static gpointer
watch (gpointer data)
{
  Watcher *watcher = data;

  while (!g_atomic_int_get (&watcher->over))
    {
      g_autoptr (GPtrArray) nodes = ask (watcher->trainer);

      watcher->n += nodes->len > 0;
    }
  return NULL;
}

static void
test_same_bits (void)
{
  static const char *const xml = NET ("op=\"relu\"", "optimizer=\"adam\" lr=\"0.02\"");
  g_autoptr (LoomTrainer) alone = train_test_new (xml, (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTrainer) watched = train_test_new (xml, (LoomTrainerOptions){ 0 });
  Watcher watcher = { .trainer = watched };
  GThread *thread = g_thread_new ("watcher", watch, &watcher);

  train_test_run (alone);
  train_test_run (watched);
  g_atomic_int_set (&watcher.over, 1);
  g_thread_join (thread);
  g_assert_cmpint (watcher.n, >, 0);
  for (guint i = 0; i < loom_state_n_slots (loom_trainer_state (alone)); i++)
    {
      const char *name;
      LoomSlotKind kind;
      g_autoptr (LoomTensor) a = NULL, b = NULL;

      loom_state_slot (loom_trainer_state (alone), i, &name, &kind, NULL);
      a = loom_state_get (loom_trainer_state (alone), name, NULL);
      b = loom_state_get (loom_trainer_state (watched), name, NULL);
      g_assert_true (loom_tensor_equal_bits (a, b));
    }
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/health/norms", test_norms);
  g_test_add_func ("/health/adam", test_adam);
  g_test_add_func ("/health/dead", test_dead);
  g_test_add_func ("/health/saturated", test_saturated);
  g_test_add_func ("/health/off-and-full", test_off_and_full);
  g_test_add_func ("/health/assigned", test_assigned);
  g_test_add_func ("/health/not-finite", test_not_finite);
  g_test_add_func ("/health/rules", test_rules);
  g_test_add_func ("/health/other-text", test_other_text);
  g_test_add_func ("/health/costs", test_costs);
  g_test_add_func ("/health/same-bits", test_same_bits);
  return g_test_run ();
}
