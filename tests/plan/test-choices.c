/* Tests how the planner chooses: minimal sums of random costs against exhaustive search, layouts of whole graphs and of
 * states, and measurements against rates. */
#include <math.h>
#include <string.h>

#include "engine/plan/plan-cost-solver.h"
#include "tests/plan/run-once.h"
#include "tests/test-program.h"

#define WITHIN 1.05

/* ---- minimal sums ---------------------------------------------------------- */

/* Random variables and pairs, against every combination. Returns found ÷ minimum. */
static double
random_problem (guint32 seed, guint n, guint n_pairs, gsize largest)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (CostSolver) choice = cost_solver_new ();
  guint states[16], at[16] = { 0 }, found[16];
  double least = INFINITY, cost[16], sum;

  for (guint v = 0; v < n; v++)
    {
      states[v] = (guint)g_rand_int_range (rand, 1, 4);
      for (guint i = 0; i < states[v]; i++)
        cost[i] = g_rand_double (rand);
      cost_solver_add (choice, states[v], cost);
    }
  for (guint k = 0; k < n_pairs; k++)
    {
      guint a = (guint)g_rand_int_range (rand, 0, (gint32)n), b = (guint)g_rand_int_range (rand, 0, (gint32)n);

      if (a == b)
        continue;
      for (guint i = 0; i < states[a] * states[b]; i++)
        cost[i] = g_rand_int_range (rand, 0, 3) == 0 ? 2 * g_rand_double (rand) : 0;
      cost_solver_pair (choice, a, b, cost);
    }
  for (;;)
    {
      guint v = 0;

      least = MIN (least, cost_solver_cost (choice, at));
      while (v < n && ++at[v] == states[v])
        at[v++] = 0;
      if (v == n)
        break;
    }
  sum = cost_solver_solve (choice, largest, found);
  g_assert_cmpfloat (fabs (sum - cost_solver_cost (choice, found)), <, 1e-9);
  return sum / least;
}

static void
test_least_sums (void)
{
  double worst = 1;

  for (guint32 seed = 1; seed <= 40; seed++)
    {
      /* Exact for any set of pairs. */
      g_assert_cmpfloat (random_problem (seed, 10, 9 + seed, 65536), <, 1 + 1e-9);
      /* With smaller tables, approximate. */
      worst = MAX (worst, random_problem (1000 + seed, 10, 20, 12));
    }
  g_test_message ("with tables of 12 costs at most %.3f of the least sum", worst);
  g_assert_cmpfloat (worst, <=, WITHIN);
}

/* The number of visits for a strip of n variables of four states, each in a pair with the `reach` before it. */
static double
looked_at (guint n, guint reach, gsize largest)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (n + reach);
  g_autoptr (CostSolver) choice = cost_solver_new ();
  g_autofree guint *state = g_new (guint, n);
  double cost[16];

  for (guint v = 0; v < n; v++)
    {
      for (guint i = 0; i < 4; i++)
        cost[i] = g_rand_double (rand);
      cost_solver_add (choice, 4, cost);
      for (guint k = 1; k <= MIN (reach, v); k++)
        {
          for (guint i = 0; i < 16; i++)
            cost[i] = g_rand_double (rand);
          cost_solver_pair (choice, v - k, v, cost);
        }
    }
  cost_solver_solve (choice, largest, state);
  return (double)cost_solver_n_visited (choice);
}

/* A graph of twice the depth takes twice as long to solve, also if variables are fixed: there are no more rounds. */
static void
test_growth (void)
{
  double exact = looked_at (4000, 2, 65536) / looked_at (1000, 2, 65536);
  double held = looked_at (4000, 6, 64) / looked_at (1000, 6, 64);

  g_test_message ("four times the depth is %.2f times the work, %.2f times where some are held", exact, held);
  g_assert_cmpfloat (exact, <, 5);
  g_assert_cmpfloat (held, <, 5);
}

/* ---- layouts of a whole graph ------------------------------------------------ */

typedef struct
{
  LoomCostTable *table;
  GRand *rand;
  GHashTable *cost; /* "call|option" → double * */
} Tuning;

static void
set_cost (Tuning *t, const LoomPlanDevice *device, const char *call, const char *option)
{
  g_autofree char *key = g_strconcat (call, "|", option, NULL);
  double *seconds;

  if (g_hash_table_contains (t->cost, key))
    return;
  seconds = g_new (double, 1);
  *seconds = 1e-6 * exp (3 * g_rand_double (t->rand));
  loom_cost_table_set_measured (t->table, device->cost_key, call, option, *seconds);
  g_hash_table_insert (t->cost, g_steal_pointer (&key), seconds);
}

/* Gives every option of every call, and both reorders of every shape, a random time. */
static void
tune_call (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
           const LoomKernelOption *option, guint n, gpointer data)
{
  g_autofree char *call = loom_cost_call_key (spec, attributes);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = loom_cost_option_key (spec, &option[i]);

      set_cost (data, device, call, name);
    }
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    {
      static const char *const names[] = { "own plain", "own nhwc-plain", "own plain-nhwc", "own nhwc" };
      const LoomTensorDesc *d = i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in];
      LoomKernelSpec copy = { .primitive = "copy", .n_in = 1, .n_out = 1, .in = d, .out = d };
      g_autofree char *key = d->rank == 4 ? loom_cost_call_key (&copy, NULL) : NULL;

      for (guint k = 0; key != NULL && k < G_N_ELEMENTS (names); k++)
        set_cost (data, device, key, names[k]);
    }
}

#define N_INSTRS 12

static const LoomPool2dTo pool
    = { { .kernel = { 3, 3 }, .stride = { 1, 1 }, .pad = { 1, 1 }, .dilation = { 1, 1 }, .count_include_pad = true },
        { 6, 6 } };

/* Twelve instructions on images, each of which reads one or two earlier ones. */
static LoomProgram *
random_images (guint32 seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  LoomProgram *p = loom_program_new ();
  gint64 dims[] = { 2, 8, 6, 6 };
  LoomValue made[N_INSTRS + 1];

  made[0] = loom_program_input (p, "x", LOOM_F32, 4, dims);
  for (guint i = 1; i <= N_INSTRS; i++)
    {
      LoomValue a = made[g_rand_int_range (rand, MAX (0, (gint32)i - 3), (gint32)i)];
      LoomValue b = made[g_rand_int_range (rand, MAX (0, (gint32)i - 5), (gint32)i)];

      switch (g_rand_int_range (rand, 0, 4))
        {
        case 0:
          made[i] = loom_emit (p, loom_prim ("avg_pool2d"), &pool, 1, &a, NULL);
          break;
        case 1:
          made[i] = loom_unary (p, LOOM_SCALAR_TANH, a);
          break;
        case 2:
          /* A reshape there and back needs plain bytes in between. */
          made[i] = loom_reshape (p, loom_unary (p, LOOM_SCALAR_SIN, loom_reshape (p, a, 2, (gint64[]){ 2, 288 })), 4,
                                  dims);
          break;
        default:
          made[i] = loom_binary (p, LOOM_SCALAR_ADD, a, b);
          break;
        }
    }
  loom_program_output (p, "y", made[N_INSTRS]);
  loom_program_output (p, "z", made[N_INSTRS - 1]);
  return p;
}

static double
cost_of (GHashTable *costs, const char *call, const char *option)
{
  g_autofree char *key = g_strconcat (call, "|", option, NULL);
  const double *seconds = g_hash_table_lookup (costs, key);

  return seconds != NULL ? *seconds : INFINITY;
}

/* The cost of a plan by the table: its kernels and reorders, read from its listing. */
static double
plan_cost (const LoomPlan *plan, GHashTable *costs, GPtrArray *call_keys)
{
  double sum = 0;
  guint next = 0;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      const LoomPlanValue *out = loom_plan_value (plan, instr->value[instr->n_in]);
      const LoomPlanValue *in = loom_plan_value (plan, instr->value[0]);

      if (g_str_has_prefix (instr->label, "reorder"))
        {
          LoomTensorDesc d = out->desc;
          LoomKernelSpec copy = { .primitive = "copy", .n_in = 1, .n_out = 1, .in = &d, .out = &d };
          g_autofree char *key = NULL;

          d.layout = LOOM_LAYOUT_PLAIN;
          key = loom_cost_call_key (&copy, NULL);
          sum += cost_of (costs, key, in->desc.layout == LOOM_LAYOUT_NHWC ? "own nhwc-plain" : "own plain-nhwc");
          continue;
        }
      g_assert_cmpuint (next, <, call_keys->len);
      if (strlen (g_ptr_array_index (call_keys, next)) > 0)
        sum += cost_of (costs, g_ptr_array_index (call_keys, next),
                        out->desc.layout == LOOM_LAYOUT_NHWC ? "own nhwc" : "own plain");
      next++;
    }
  return sum;
}

/* The calls of the plan in plain layout, in order: "" for one that has no choice. */
static GPtrArray *
calls_of (LoomPlan *plan, GHashTable *costs)
{
  GPtrArray *keys = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      LoomTensorDesc in[3], out = loom_plan_value (plan, instr->value[instr->n_in])->desc;
      LoomKernelSpec spec
          = { .primitive = instr->primitive, .n_in = (int)instr->n_in, .n_out = 1, .in = in, .out = &out };
      g_autofree char *plain = NULL, *key = NULL, *words = NULL;

      for (guint k = 0; k < instr->n_in; k++)
        in[k] = loom_plan_value (plan, instr->value[k])->desc;
      words = strcmp (instr->primitive, "avg_pool2d") == 0 ? loom_prim_describe (loom_prim ("avg_pool2d"), &pool)
                                                           : g_strdup (instr->label);
      key = loom_cost_call_key (&spec, words);
      plain = g_strconcat (key, "|own nhwc", NULL);
      g_ptr_array_add (keys, g_hash_table_contains (costs, plain) ? g_steal_pointer (&key) : g_strdup (""));
    }
  return keys;
}

/* The minimum over all combinations of layouts, on the structure of the plain plan. */
static double
exhaustive (LoomPlan *plan, GHashTable *costs, GPtrArray *keys)
{
  guint n = loom_plan_n_instrs (plan), free_at[32], n_free = 0;
  double least = INFINITY;

  for (guint i = 0; i < n; i++)
    if (strlen (g_ptr_array_index (keys, i)) > 0)
      free_at[n_free++] = i;
  g_assert_cmpuint (n_free, <=, 2 * N_INSTRS);
  for (guint32 combination = 0; combination < (1u << n_free); combination++)
    {
      g_autofree guint8 *nhwc = g_new0 (guint8, n);
      g_autofree guint8 *made = g_new0 (guint8, loom_plan_n_values (plan)),
                        *wanted = g_new0 (guint8, loom_plan_n_values (plan));
      double sum = 0;

      for (guint k = 0; k < n_free; k++)
        nhwc[free_at[k]] = (combination >> k) & 1;
      for (guint i = 0; i < n; i++)
        {
          const LoomPlanInstr *instr = loom_plan_instr (plan, i);

          if (strlen (g_ptr_array_index (keys, i)) > 0)
            sum += cost_of (costs, g_ptr_array_index (keys, i), nhwc[i] ? "own nhwc" : "own plain");
          made[instr->value[instr->n_in]] = nhwc[i];
          for (guint k = 0; k < instr->n_in; k++)
            wanted[instr->value[k]] |= nhwc[i] ? 2 : 1;
        }
      for (guint v = 1; v < loom_plan_n_values (plan); v++)
        {
          const LoomPlanValue *value = loom_plan_value (plan, v);

          /* A view of another shape has its root's bytes, which must then be plain. */
          for (guint r = 1; r < loom_plan_n_values (plan) && wanted[v] != 0; r++)
            {
              const LoomPlanValue *root = loom_plan_value (plan, r);

              if (r != v && root->location.kind == value->location.kind
                  && root->location.offset == value->location.offset && root->location.index == value->location.index
                  && root->desc.rank != value->desc.rank)
                wanted[r] |= 1;
            }
        }
      for (guint v = 1; v < loom_plan_n_values (plan); v++)
        {
          const LoomPlanValue *value = loom_plan_value (plan, v);
          LoomKernelSpec copy = { .primitive = "copy", .n_in = 1, .n_out = 1, .in = &value->desc, .out = &value->desc };
          g_autofree char *key = NULL;

          if (value->desc.rank != 4 || wanted[v] == 0 || !(wanted[v] & (made[v] ? 1 : 2)))
            continue;
          key = loom_cost_call_key (&copy, NULL);
          sum += cost_of (costs, key, made[v] ? "own nhwc-plain" : "own plain-nhwc");
        }
      least = MIN (least, sum);
    }
  return least;
}

static GPtrArray *
outputs_of (LoomDevices *devices, LoomPlan *plan /* taken */)
{
  float x[2 * 8 * 6 * 6];

  for (guint i = 0; i < G_N_ELEMENTS (x); i++)
    x[i] = (float)sin (i * 0.37);
  return run_once (devices, plan, "cpu", x);
}

static void
assert_near (GPtrArray *a, GPtrArray *b)
{
  for (guint o = 0; o < a->len; o++)
    for (gint64 i = 0; i < ((LoomTensor *)a->pdata[o])->count; i++)
      g_assert_cmpfloat (fabs (loom_tensor_get (a->pdata[o], i) - loom_tensor_get (b->pdata[o], i)), <, 1e-4);
}

/* On random cost tables a plan costs at most 5 % more than the best combination, and computes the same. */
static void
test_random_tables (void)
{
  double worst = 1;
  guint mixed = 0;

  for (guint32 seed = 1; seed <= 12; seed++)
    {
      g_autoptr (LoomProgram) p = random_images (seed);
      g_autoptr (LoomCostTable) table = loom_cost_table_new ();
      g_autoptr (LoomDevices) devices = loom_devices_new (1);
      g_autoptr (GHashTable) cost = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      Tuning tuning = { table, rand, cost };
      LoomPlanOptions plain = { .device = "cpu", .no_fusion = TRUE, .no_layout = TRUE, .no_reuse = TRUE };
      LoomPlanOptions first = { .device = "cpu", .no_fusion = TRUE, .visit = tune_call, .visit_data = &tuning };
      LoomPlanOptions tuned = { .device = "cpu", .no_fusion = TRUE };
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomPlan) structure = NULL, plan = NULL;
      g_autoptr (GPtrArray) keys = NULL, a = NULL, b = NULL;
      double found, least;
      guint nhwc = 0;

      loom_devices_set_costs (devices, table);
      structure = loom_plan_new (p, devices, &plain, &error);
      g_assert_no_error (error);
      /* This plan chooses by shipped rates, and the table must drop these choices. */
      plan = loom_plan_new (p, devices, &first, &error);
      g_assert_no_error (error);
      g_clear_pointer (&plan, loom_plan_free);
      loom_cost_table_drop_choices (table);
      plan = loom_plan_new (p, devices, &tuned, &error);
      g_assert_no_error (error);

      keys = calls_of (structure, cost);
      found = plan_cost (plan, cost, keys);
      least = exhaustive (structure, cost, keys);
      worst = MAX (worst, found / least);
      g_assert_cmpfloat (found, >=, least * (1 - 1e-9));
      for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
        {
          const LoomPlanInstr *instr = loom_plan_instr (plan, i);

          nhwc += loom_plan_value (plan, instr->value[instr->n_in])->desc.layout == LOOM_LAYOUT_NHWC;
        }
      mixed += nhwc > 0 && nhwc < loom_plan_n_instrs (plan);
      a = outputs_of (devices, g_steal_pointer (&structure));
      b = outputs_of (devices, g_steal_pointer (&plan));
      assert_near (a, b);
    }
  g_test_message ("at most %.4f of the least cost; %u plans mix layouts", worst, mixed);
  g_assert_cmpfloat (worst, <=, WITHIN);
  g_assert_cmpuint (mixed, >, 3);
}

/* ---- state in another layout ------------------------------------------------- */

static void
prefer_nhwc (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
             const LoomKernelOption *option, guint n, gpointer table)
{
  g_autofree char *call = loom_cost_call_key (spec, attributes);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = loom_cost_option_key (spec, &option[i]);

      loom_cost_table_set_measured (table, device->cost_key, call, name, option[i].nhwc != 0 ? 1e-6 : 1e-2);
    }
}

typedef struct
{
  guint n, n_tf32;
} Tf32;

static void
count_tf32 (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
            const LoomKernelOption *option, guint n, gpointer data)
{
  g_autofree char *key = loom_cost_call_key (spec, attributes);
  Tf32 *seen = data;

  seen->n++;
  seen->n_tf32 += spec->tf32 && g_str_has_suffix (key, "; tf32");
  g_assert_true (!spec->tf32 || g_str_has_prefix (key, "conv2d"));
}

/* A back end may round the operands of products to TF32 only if the program allows it; passes keep the setting, and its
 * measurements are separate. */
static void
test_tf32 (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  gint64 dims[] = { 2, 8, 6, 6 }, kernel[] = { 8, 8, 3, 3 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, dims), w = loom_program_input (p, "w", LOOM_F32, 4, kernel);
  LoomConv2dTo to = { .kernel = { .stride = { 1, 1 }, .pad = { 1, 1, 1, 1 }, .dilation = { 1, 1 }, .groups = 1 } };

  x = loom_emit (p, loom_prim ("avg_pool2d"), &pool, 1, &x, NULL);
  loom_program_output (p, "y", loom_emit (p, loom_prim ("conv2d"), &to, 3, (LoomValue[]){ x, w, 0 }, NULL));
  for (int tf32 = 0; tf32 < 2; tf32++)
    {
      Tf32 seen = { 0 };
      LoomPlanOptions options = { .device = "cpu", .visit = count_tf32, .visit_data = &seen };
      g_autoptr (GError) error = NULL;

      loom_program_set_tf32 (p, tf32);
      loom_plan_free (loom_plan_new (p, devices, &options, &error));
      g_assert_no_error (error);
      g_assert_cmpuint (seen.n, ==, 2);
      g_assert_cmpuint (seen.n_tf32, ==, tf32 ? 1 : 0);
    }
}

/* Several states may take one value, or equal ones, also in NHWC: each gets it in plain order. */
static void
test_states_of_one_value (void)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autoptr (LoomCostTable) table = loom_cost_table_new ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  LoomPlanOptions options = { .device = "cpu", .visit = prefer_nhwc, .visit_data = table };
  LoomInit init = { .kind = LOOM_INIT_ZEROS };
  static const char *const names[] = { "a", "b", "c", "d" };
  gint64 dims[] = { 2, 8, 6, 6 };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, dims), y, same;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", 1);
  g_autoptr (LoomExec) exec = NULL;
  g_autofree char *listing = NULL;
  float given[2 * 8 * 6 * 6];
  LoomPlan *plan;

  y = loom_emit (p, loom_prim ("avg_pool2d"), &pool, 1, &x, NULL);
  same = loom_emit (p, loom_prim ("avg_pool2d"), &pool, 1, &x, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      int slot = loom_program_slot (p, names[i], LOOM_SLOT_BUFFER, LOOM_F32, 4, dims, &init, FALSE);

      loom_program_commit (p, slot, i < 2 ? y : same);
    }
  loom_devices_set_costs (devices, table);
  loom_plan_free (loom_plan_new (p, devices, &options, &error));
  g_assert_no_error (error);
  loom_cost_table_drop_choices (table);
  plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
  g_assert_no_error (error);
  listing = loom_plan_print (plan);
  g_assert_nonnull (strstr (listing, "reorder→NCHW"));
  exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < G_N_ELEMENTS (given); i++)
    given[i] = (float)sin (i * 0.37);
  loom_exec_feed (exec, 0, given);
  g_assert_true (loom_exec_step (exec, &error));
  for (guint s = 0; s < G_N_ELEMENTS (names); s++)
    {
      g_autoptr (LoomTensor) t = loom_state_get (state, names[s], &error);

      g_assert_no_error (error);
      for (gint64 i = 0; i < t->count; i++)
        {
          gint64 row = i / 6 % 6, column = i % 6;
          double sum = 0;

          for (gint64 r = MAX (row - 1, 0); r <= MIN (row + 1, 5); r++)
            for (gint64 c = MAX (column - 1, 0); c <= MIN (column + 1, 5); c++)
              sum += given[i / 36 * 36 + r * 6 + c];
          if (fabs (loom_tensor_get (t, i) - sum / 9) > 1e-5)
            g_error ("state %s has %g at %d, not %g:\n%s", names[s], loom_tensor_get (t, i), (int)i, sum / 9, listing);
        }
    }
}

/* ---- measurements and rates ------------------------------------------------------- */

static void
measure_pools (const LoomPlanDevice *device, const LoomKernelSpec *spec, const char *attributes,
               const LoomKernelOption *option, guint n, gpointer data)
{
  const gpointer *job = data;
  double speed = *(const double *)job[1];
  g_autofree char *call = loom_cost_call_key (spec, attributes);

  for (guint i = 0; i < n && g_str_equal (spec->primitive, "avg_pool2d"); i++)
    {
      g_autofree char *name = loom_cost_option_key (spec, &option[i]);

      loom_cost_table_set_measured (job[0], device->cost_key, call, name,
                                    option[0].seconds / speed * (option[i].nhwc != 0 ? 0.5 : 1));
    }
}

/* Pooling was measured, reorders were not: the layout must not depend on the machine's speed. */
static void
test_clocks_and_rates (void)
{
  static const double speeds[] = { 0.001, 1, 1000 };
  guint n_reorders[G_N_ELEMENTS (speeds)] = { 0 };

  for (guint s = 0; s < G_N_ELEMENTS (speeds); s++)
    for (guint n_pools = 1; n_pools <= 32; n_pools *= 32)
      {
        g_autoptr (LoomProgram) p = loom_program_new ();
        g_autoptr (LoomCostTable) table = loom_cost_table_new ();
        g_autoptr (LoomDevices) devices = loom_devices_new (1);
        gconstpointer job[] = { table, &speeds[s] };
        LoomPlanOptions options = { .device = "cpu", .visit = measure_pools, .visit_data = job };
        LoomValue x = loom_program_input (p, "x", LOOM_F32, 4, (gint64[]){ 2, 8, 6, 6 });
        g_autoptr (GError) error = NULL;
        g_autoptr (LoomPlan) plan = NULL;

        for (guint i = 0; i < n_pools; i++)
          x = loom_emit (p, loom_prim ("avg_pool2d"), &pool, 1, &x, NULL);
        loom_program_output (p, "y", loom_reshape (p, x, 2, (gint64[]){ 2, 288 }));
        loom_devices_set_costs (devices, table);
        loom_plan_free (loom_plan_new (p, devices, &options, &error));
        g_assert_no_error (error);
        loom_cost_table_drop_choices (table);
        plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = "cpu" }, &error);
        g_assert_no_error (error);
        for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
          n_reorders[s] += g_str_has_prefix (loom_plan_instr (plan, i)->label, "reorder");
      }
  for (guint s = 0; s < G_N_ELEMENTS (speeds); s++)
    g_assert_cmpuint (n_reorders[s], ==, 2); /* around the 32, not around the single one */
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, G_TEST_OPTION_ISOLATE_DIRS, NULL);
  g_test_add_func ("/plan/choices/least-sums", test_least_sums);
  g_test_add_func ("/plan/choices/growth", test_growth);
  g_test_add_func ("/plan/choices/random-tables", test_random_tables);
  g_test_add_func ("/plan/choices/states-of-one-value", test_states_of_one_value);
  g_test_add_func ("/plan/choices/clocks-and-rates", test_clocks_and_rates);
  g_test_add_func ("/plan/choices/tf32", test_tf32);
  return g_test_run ();
}
