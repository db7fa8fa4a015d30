/* Tests the helpers that change the planner's working form, one by one: the form is consistent after each. */
#include "engine/plan/plan-pattern.h"
#include "tests/test-program.h"

typedef struct
{
  LoomDevices *devices;
  LoomProgram *p;
  LoomValue x, a, b, sum, flat;
  PlanGraph *g;
} Fixture;

/* a = exp x, b = sin x, flat = a as a row, sum = a + b; outputs are flat's relu and sum. */
static void
set_up (Fixture *f, gconstpointer data)
{
  LoomPlanOptions options = { .device = "ref" };

  f->devices = loom_devices_new (1);
  f->p = loom_program_new ();
  f->x = loom_program_input (f->p, "x", LOOM_F32, 2, (gint64[]){ 2, 3 });
  f->a = loom_unary (f->p, LOOM_SCALAR_EXP, f->x);
  f->b = loom_unary (f->p, LOOM_SCALAR_SIN, f->x);
  f->flat = loom_reshape (f->p, f->a, 1, (gint64[]){ 6 });
  f->sum = loom_binary (f->p, LOOM_SCALAR_ADD, f->a, f->b);
  loom_program_output (f->p, "row", loom_unary (f->p, LOOM_SCALAR_RELU, f->flat));
  loom_program_output (f->p, "sum", f->sum);
  f->g = graph_new (f->p, f->devices, &options);
}

static void
tear_down (Fixture *f, gconstpointer data)
{
  graph_free (f->g);
  loom_program_unref (f->p);
  loom_devices_unref (f->devices);
}

static void
assert_sound (PlanGraph *g)
{
  g_autofree char *why = NULL;

  graph_sweep (g);
  if (!graph_verify (g, &why))
    g_error ("%s", why);
}

static guint
count_uses (PlanGraph *g, guint v)
{
  guint n = 0;

  for (const PlanUse *use = graph_value (g, v)->first_use; use != NULL; use = use->next)
    n++;
  return n;
}

static void
test_uses (Fixture *f, gconstpointer data)
{
  assert_sound (f->g);
  g_assert_cmpuint (count_uses (f->g, f->x), ==, 2);
  g_assert_cmpuint (count_uses (f->g, f->a), ==, 2);
  g_assert_true (graph_only_reader (f->g, f->b, FALSE) == graph_value (f->g, f->sum)->producer);
  g_assert_null (graph_only_reader (f->g, f->a, TRUE));
  g_assert_null (graph_only_reader (f->g, f->sum, TRUE)); /* the caller reads it */
}

/* The readers of a view count, and a value that becomes a view passes its own views on. */
static void
test_views (Fixture *f, gconstpointer data)
{
  PlanGraph *g = f->g;
  LoomTensorDesc desc = graph_value (g, f->a)->desc;
  guint inner;

  pass_find_views (g);
  assert_sound (g);
  g_assert_cmpuint (graph_root (g, f->flat), ==, f->a);
  graph_erase (g, graph_value (g, f->sum)->producer);
  graph_value (g, f->sum)->is_output = FALSE;
  g_assert_nonnull (graph_only_reader (g, f->a, TRUE));
  g_assert_null (graph_only_reader (g, f->a, FALSE));
  inner = graph_new_value (g, &desc, NULL);
  graph_set_alias (g, inner, f->flat);
  g_assert_cmpuint (graph_root (g, inner), ==, f->a); /* never a view of a view */
  graph_erase (g, graph_value (g, f->a)->producer);
  graph_set_alias (g, f->a, f->b);
  assert_sound (g);
  g_assert_cmpuint (graph_root (g, inner), ==, f->b);
  g_assert_cmpuint (graph_root (g, f->flat), ==, f->b);
  g_assert_true (graph_is_used (g, f->b));
}

/* All readers and views of a move to b; an element-wise reader of both names b once; an output stays, as b's view. */
static void
test_replace (Fixture *f, gconstpointer data)
{
  PlanGraph *g = f->g;
  PlanNode *made = graph_value (g, f->a)->producer, *sum = graph_value (g, f->sum)->producer;

  pass_find_views (g);
  graph_value (g, f->a)->is_output = data != NULL;
  /* Before its readers. */
  graph_move (g, graph_value (g, f->b)->producer, made);
  graph_replace (g, f->a, f->b);
  graph_erase (g, made);
  assert_sound (g);
  g_assert_cmpuint (sum->in->len, ==, 1);
  g_assert_cmpuint (node_in (sum, 0), ==, f->b);
  g_assert_cmpuint (node_step (sum, 0)->arg[0], ==, f->b);
  g_assert_cmpuint (node_step (sum, 0)->arg[1], ==, f->b);
  g_assert_cmpuint (graph_root (g, f->flat), ==, f->b);
  g_assert_cmpuint (graph_root (g, f->a), ==, data != NULL ? f->b : f->a);
}

/* Repeated insertions between two instructions work, and the numbers keep their order. */
static void
test_order (Fixture *f, gconstpointer data)
{
  PlanGraph *g = f->g;
  PlanNode *places[3] = { graph_first (g), graph_value (g, f->sum)->producer, NULL };

  for (guint i = 0; i < 600; i++)
    {
      PlanNode *instr = graph_insert (g, places[i % 3], loom_prim ("copy"), &(LoomCopyTo){ LOOM_F32 });
      LoomTensorDesc desc = graph_value (g, f->x)->desc;

      graph_add_in (g, instr, f->x);
      graph_add_out (g, instr, graph_new_value (g, &desc, NULL));
      if (places[i % 3] != NULL)
        g_assert_true (node_is_before (instr, places[i % 3]));
      if (i % 100 == 0)
        assert_sound (g);
    }
  assert_sound (g);
  g_assert_cmpuint (graph_n_nodes (g), ==, 605);
  pass_remove_dead (g);
  assert_sound (g);
  g_assert_cmpuint (graph_n_nodes (g), ==, 5);
  g_assert_cmpuint (count_uses (g, f->x), ==, 2);
}

/* The checker finds faults that the helpers never cause. */
static void
test_checker (Fixture *f, gconstpointer data)
{
  PlanGraph *g = f->g;
  PlanNode *sum = graph_value (g, f->sum)->producer, *made = graph_value (g, f->a)->producer;
  g_autofree char *order = NULL, *producer = NULL, *step = NULL, *use = NULL;

  graph_move (g, made, NULL);
  g_assert_false (graph_verify (g, &order));
  graph_move (g, made, graph_first (g));
  assert_sound (g);
  graph_value (g, f->a)->producer = NULL;
  g_assert_false (graph_verify (g, &producer));
  graph_value (g, f->a)->producer = made;
  node_step (sum, 0)->arg[1] = f->x;
  g_assert_false (graph_verify (g, &step));
  node_step (sum, 0)->arg[1] = f->b;
  ((PlanUse *)g_ptr_array_index (sum->in, 0))->value = f->x;
  g_assert_false (graph_verify (g, &use));
  ((PlanUse *)g_ptr_array_index (sum->in, 0))->value = f->a;
  assert_sound (g);
}

/* Joins an element-wise instruction with the first operand's producer, as often as that is possible. */
static gboolean
join_steps (PlanRewrite *r)
{
  const PlanNode *from = r->other;

  if (graph_only_reader (r->g, rewrite_in (r, r->at), FALSE) != r->root)
    return FALSE;
  g_array_remove_index (r->in, r->at);
  for (guint k = 0; k < from->in->len; k++)
    rewrite_add_in (r, node_in (from, k));
  g_array_prepend_vals (r->steps, from->steps->data, from->steps->len);
  g_string_append (r->label, " joined");
  return TRUE;
}

/* The same, with a call that no device has. */
static gboolean
join_impossible (PlanRewrite *r)
{
  PlanStep step = *node_step (r->root, 0);

  if (!join_steps (r))
    return FALSE;
  for (guint k = 0; k <= LOOM_EW_MAX_IN; k++)
    {
      const LoomTensorDesc *d = &graph_value (r->g, node_out (r->root, 0))->desc;

      step.result = graph_new_value (r->g, d, NULL);
      step.arg[0] = graph_new_value (r->g, d, NULL);
      rewrite_add_in (r, step.arg[0]);
      g_array_append_val (r->steps, step);
    }
  return TRUE;
}

static void
count_application (PlanRewrite *r)
{
  g_string_append (r->root->label, " and completed");
}

/* A pattern without a kernel changes nothing, and one with a kernel changes the root alone. */
static void
test_pattern (Fixture *f, gconstpointer data)
{
  PlanPattern pattern[] = { { .other = PATTERN_STEP (LOOM_SCALAR_SIN),
                              .find = pattern_producer,
                              .last = PATTERN_EACH,
                              .rewrite = join_impossible,
                              .applied = count_application },
                            { .rewrite = NULL } };
  PlanGraph *g = f->g;
  PlanNode *sum = graph_value (g, f->sum)->producer, *sine = graph_value (g, f->b)->producer;
  const guint n = graph_n_nodes (g);

  graph_apply_patterns (g, pattern);
  assert_sound (g);
  g_assert_cmpuint (graph_n_nodes (g), ==, n);
  g_assert_cmpuint (sum->in->len, ==, 2);
  g_assert_cmpuint (sum->steps->len, ==, 1);
  g_assert_null (strstr (sum->label->str, "joined"));

  pattern[0].rewrite = join_steps;
  pattern[0].other.op = LOOM_SCALAR_COS;
  graph_apply_patterns (g, pattern);
  g_assert_cmpuint (graph_n_nodes (g), ==, n);

  pattern[0].other.op = LOOM_SCALAR_SIN;
  sine->device_name = "elsewhere";
  graph_apply_patterns (g, pattern);
  g_assert_cmpuint (graph_n_nodes (g), ==, n);

  sine->device_name = sum->device_name;
  graph_apply_patterns (g, pattern);
  assert_sound (g);
  g_assert_cmpuint (graph_n_nodes (g), ==, n - 1);
  g_assert_true (graph_value (g, f->sum)->producer == sum);
  g_assert_cmpuint (sum->steps->len, ==, 2);
  g_assert_cmpuint (node_in (sum, 0), ==, f->a);
  g_assert_cmpuint (node_in (sum, 1), ==, f->x);
  g_assert_cmpuint (count_uses (g, f->b), ==, 0);
  g_assert_true (g_str_has_suffix (sum->label->str, " joined and completed"));
}

/* Earlier passes establish the properties that a pass needs, also without fusion; and each property comes from one
 * pass. */
static void
test_needs (void)
{
  guint have = 0;

  for (const PlanPass *pass = graph_passes; pass->name != NULL; pass++)
    {
      if ((pass->needs & have) != pass->needs)
        g_error ("the pass “%s” needs what no pass before it provides", pass->name);
      g_assert_cmpuint (pass->provides & have, ==, 0);
      g_assert_true (pass->provides == 0 || !(pass->flags & PASS_IS_FUSION));
      have |= pass->provides;
    }
  g_assert_cmpuint (have, ==, GRAPH_HAS_MEMORY * 2 - 1);
}

TEST_FILE (argc, argv)
{
  static const struct
  {
    const char *path;
    void (*run) (Fixture *f, gconstpointer data);
  } tests[] = {
    { "/plan/work/uses", test_uses },   { "/plan/work/views", test_views },     { "/plan/work/replace", test_replace },
    { "/plan/work/order", test_order }, { "/plan/work/checker", test_checker }, { "/plan/work/pattern", test_pattern },
  };

  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (tests); i++)
    g_test_add (tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
  g_test_add_func ("/plan/work/needs", test_needs);
  g_test_add ("/plan/work/replace-output", Fixture, "output", set_up, test_replace, tear_down);
  return g_test_run ();
}
