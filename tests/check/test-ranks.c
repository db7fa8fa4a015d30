/* The checker on exchanges: of ranks among each other, and of one rank with its computation while they run. */
#include <string.h>

#include "engine/check/loom-check.h"
#include "engine/plan/plan-private.h"
#include "engine/program/loom-optimizer.h"
#include "engine/program/loom-partition.h"
#include "tests/test-program.h"

#define RANKS 2
#define BATCH 8
#define WIDTH 32

/* ---- plans ------------------------------------------------------------------------ */

typedef struct
{
  LoomDevices *devices;
  LoomComm *comm[RANKS];
  LoomMesh mesh[RANKS];
  LoomPlan *plan[RANKS];
} Ranks;

static void
ranks_init (Ranks *self, const int size[LOOM_MESH_AXES])
{
  LoomMessage message;

  *self = (Ranks){ .devices = loom_devices_new (1) };
  g_assert_cmpint (loom_comm_threads_new (RANKS, self->comm, &message), ==, LOOM_STATUS_OK);
  for (int r = 0; r < RANKS; r++)
    self->mesh[r] = loom_mesh_open (self->comm[r], size);
}

static void
ranks_plan (Ranks *self, int r, LoomProgram *program)
{
  const LoomPlanOptions options = { .mesh = &self->mesh[r] };
  g_autoptr (GError) error = NULL;

  self->plan[r] = loom_plan_new (program, self->devices, &options, &error);
  g_assert_no_error (error);
}

static void
ranks_clear (Ranks *self)
{
  for (int r = 0; r < RANKS; r++)
    {
      loom_plan_free (self->plan[r]);
      loom_mesh_close (&self->mesh[r]);
      self->comm[r]->free (self->comm[r]);
    }
  loom_devices_unref (self->devices);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Ranks, ranks_clear)

/* Three layers and a factor, of which each rank computes the gradients of half of the samples. Sharded, the factor is
 * all of one rank's shard, and its update must leave it to the exchange to write the state. */
static LoomProgram *
make_whole (void)
{
  LoomProgram *p = loom_program_new ();
  const LoomOptimizer *optimizer = loom_optimizer ("adam");
  const LoomInit init = { LOOM_INIT_UNIFORM, -0.4, 0.4, NULL };
  const gint64 width[] = { WIDTH, WIDTH, WIDTH / 2, WIDTH };
  double hyper[32];
  LoomUpdateOptions options = { .optimizer = "adam", .hyper = hyper };
  g_autoptr (GError) error = NULL;
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ BATCH, WIDTH }), wrt[4], grads[4];
  const gint64 one = 1;
  int slot[4];

  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *name = g_strdup_printf ("fc%u.weight", i);

      slot[i] = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, 2, width + i, &init, TRUE);
      wrt[i] = loom_program_read (p, slot[i]);
      x = loom_unary (p, LOOM_SCALAR_TANH, loom_matmul (p, x, wrt[i], FALSE, FALSE));
    }
  slot[3] = loom_program_slot (p, "factor", LOOM_SLOT_PARAMETER, LOOM_F32, 1, &one, &init, TRUE);
  wrt[3] = loom_program_read (p, slot[3]);
  x = loom_binary (p, LOOM_SCALAR_MUL, x, wrt[3]);
  options.loss = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, x));
  loom_program_output (p, "loss", options.loss);
  for (guint i = 0; optimizer->hyper[i].name != NULL; i++)
    hyper[i] = optimizer->hyper[i].value;
  loom_differentiate (p, options.loss, 0, 4, wrt, grads, &error);
  g_assert_no_error (error);
  loom_emit_update (p, &options, 4, slot, grads, &error);
  g_assert_no_error (error);
  return p;
}

static void
ranks_divide (Ranks *self, LoomShards shards)
{
  g_autoptr (LoomProgram) whole = make_whole ();

  ranks_init (self, (const int[LOOM_MESH_AXES]){ RANKS, 1, 1 });
  for (int r = 0; r < RANKS; r++)
    {
      const LoomPartition partition = { .along = LOOM_MESH_DATA,
                                        .samples = BATCH,
                                        .rank = r,
                                        .ranks = RANKS,
                                        .shards = shards,
                                        .bucket = 64,
                                        .sync_batch_norm = TRUE };
      g_autoptr (LoomProgram) part = loom_program_partition (whole, &partition);

      ranks_plan (self, r, part);
    }
}

/* A rank of two stages: sends and receives in an order of its own. "s1r2": sends with tag 1, receives with tag 2. */
static LoomProgram *
make_stage (int rank, const char *order, gint64 width)
{
  LoomProgram *p = loom_program_new ();
  LoomValue value = loom_program_input (p, "x", LOOM_F32, 1, &width);

  for (const char *at = order; *at != '\0'; at += 2)
    {
      LoomTransferAttrs attrs
          = { .rank = 1 - rank, .tag = at[1] - '0', .micro = -1, .dtype = LOOM_F32, .to = { 1, { width } } };

      if (*at == 's')
        loom_emit (p, loom_prim ("send"), &attrs, 1, &value, NULL);
      else
        value = loom_unary (p, LOOM_SCALAR_EXP, loom_emit (p, loom_prim ("receive"), &attrs, 0, NULL, NULL));
    }
  loom_program_output (p, "y", value);
  return p;
}

static LoomPlanInstr *
instr_at (LoomPlan *plan, guint i)
{
  return &g_array_index (plan->instrs, LoomPlanInstr, i);
}

static guint
find_async (LoomPlan *plan)
{
  for (guint i = 0; i < plan->instrs->len; i++)
    if (instr_at (plan, i)->is_async)
      return i;
  g_assert_not_reached ();
}

static gboolean
has_order_fault (const LoomCheckReport *report, const char *pattern)
{
  for (guint i = 0; i < report->faults->len; i++)
    {
      const LoomCheckFault *fault = g_ptr_array_index (report->faults, i);

      g_test_message ("%s: %s", loom_check_rule_name (fault->rule), fault->text);
      if (fault->rule == LOOM_CHECK_ORDER && g_pattern_match_simple (pattern, fault->text))
        return TRUE;
    }
  return FALSE;
}

static gboolean
fit (const Ranks *ranks)
{
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();
  const gboolean ok = loom_check_ranks ((const LoomPlan *const *)ranks->plan, RANKS, report);

  g_assert_true (ok == (report->faults->len == 0));
  return ok;
}

static void
assert_refused (const Ranks *ranks, const char *pattern)
{
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();

  g_assert_false (loom_check_ranks ((const LoomPlan *const *)ranks->plan, RANKS, report));
  g_assert_true (has_order_fault (report, pattern));
}

/* ---- several ranks ------------------------------------------------------------------- */

static void
test_fit (void)
{
  for (LoomShards shards = LOOM_SHARDS_NONE; shards <= LOOM_SHARDS_PARAMETERS; shards++)
    {
      g_auto (Ranks) ranks = { 0 };

      ranks_divide (&ranks, shards);
      g_assert_true (fit (&ranks));
      for (int r = 0; r < RANKS; r++)
        {
          g_autoptr (LoomCheckReport) report = loom_check_report_new ();

          g_assert_true (loom_check_plan (ranks.plan[r], NULL, report));
        }
    }
}

/* The results of exchanges, also of those that run while something else is computed. */
static void
test_results (void)
{
  for (LoomShards shards = LOOM_SHARDS_NONE; shards <= LOOM_SHARDS_PARAMETERS; shards++)
    {
      g_auto (Ranks) ranks = { 0 };
      g_autoptr (LoomCheckReport) report = loom_check_report_new (), other = loom_check_report_new ();
      const LoomPlan *const *plans;
      guint i = 0;

      ranks_divide (&ranks, shards);
      plans = (const LoomPlan *const *)ranks.plan;
      g_assert_true (loom_check_exchanges (plans, RANKS, report));
      g_assert_cmpuint (report->n_exchanges, >, 0);
      while (g_strcmp0 (instr_at (ranks.plan[1], i)->primitive, "all_reduce") != 0)
        i++;
      ((LoomAllReduceAttrs *)instr_at (ranks.plan[1], i)->spec->attrs)->op = LOOM_REDUCE_MAX;
      g_assert_false (loom_check_exchanges (plans, RANKS, other));
      g_assert_cmpuint (other->faults->len, ==, 1);
    }
}

/* The calls of two exchanges of one rank in the other order. */
static void
test_other_order (void)
{
  g_auto (Ranks) ranks = { 0 };
  guint first, second;

  ranks_divide (&ranks, LOOM_SHARDS_PARAMETERS);
  first = second = find_async (ranks.plan[1]);
  do
    second++;
  while (instr_at (ranks.plan[1], second)->spec == NULL || !loom_plan_exchanges (instr_at (ranks.plan[1], second)));
  const LoomKernelSpec *kept = instr_at (ranks.plan[1], first)->spec;
  instr_at (ranks.plan[1], first)->spec = instr_at (ranks.plan[1], second)->spec;
  instr_at (ranks.plan[1], second)->spec = kept;
  assert_refused (&ranks, "rank ?, instruction * it makes “unshard *”, and rank ? “unshard *”");
}

/* One rank divides the state, the other does not. */
static void
test_other_program (void)
{
  g_auto (Ranks) ranks = { 0 }, others = { 0 };
  LoomPlan *kept;

  ranks_divide (&ranks, LOOM_SHARDS_NONE);
  ranks_divide (&others, LOOM_SHARDS_OPTIMIZER);
  kept = ranks.plan[1];
  ranks.plan[1] = others.plan[1];
  g_assert_false (fit (&ranks));
  ranks.plan[1] = kept;
}

/* One rank keeps the shard of another. */
static void
test_other_shard (void)
{
  g_auto (Ranks) ranks = { 0 };
  guint i = 0;

  ranks_divide (&ranks, LOOM_SHARDS_GRADIENTS);
  while (g_strcmp0 (instr_at (ranks.plan[1], i)->primitive, "reduce_scatter") != 0)
    i++;
  ((LoomReduceScatterAttrs *)instr_at (ranks.plan[1], i)->spec->attrs)->rank = 0;
  assert_refused (&ranks, "rank 1, instruction * it keeps shard 0 of 2, and the rank is number 1 of 2");
}

/* Plans of one rank twice. */
static void
test_same_rank (void)
{
  g_auto (Ranks) ranks = { 0 };
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();

  ranks_divide (&ranks, LOOM_SHARDS_NONE);
  g_assert_false (loom_check_ranks ((const LoomPlan *const[]){ ranks.plan[0], ranks.plan[0] }, RANKS, report));
}

typedef struct
{
  const char *name, *order[RANKS], *why; /* why NULL: they fit */
  gint64 width[RANKS];
} Stages;

static const Stages stages[] = {
  { "fit", { "s1r2", "r1s2" }, NULL, { 8, 8 } },
  { "ahead", { "s1s2r3", "r1s3r2" }, NULL, { 8, 8 } },
  { "hang", { "r2s1", "r1s2" }, "rank 0, instruction * it waits forever *", { 8, 8 } },
  { "size", { "s1", "r1" }, "rank 1, instruction * it receives 64 bytes, and rank 0 sends 32", { 8, 16 } },
  { "tag", { "s1", "r2" }, "rank 1, instruction * it waits forever *", { 8, 8 } },
  { "unread", { "s1s2", "r1" }, "rank 1 receives 1 fewer messages with tag 2 than rank 0 sends*", { 8, 8 } },
};

static void
test_stages (gconstpointer data)
{
  const Stages *c = data;
  g_auto (Ranks) ranks = { 0 };

  ranks_init (&ranks, (const int[LOOM_MESH_AXES]){ 1, RANKS, 1 });
  for (int r = 0; r < RANKS; r++)
    {
      g_autoptr (LoomProgram) program = make_stage (r, c->order[r], c->width[r]);

      ranks_plan (&ranks, r, program);
    }
  if (c->why == NULL)
    g_assert_true (fit (&ranks));
  else
    assert_refused (&ranks, c->why);
}

/* ---- one rank ---------------------------------------------------------------------------- */

static void
assert_plan_refused (const LoomPlan *plan, const char *pattern)
{
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();

  g_assert_false (loom_check_plan (plan, NULL, report));
  g_assert_true (has_order_fault (report, pattern));
}

static void
test_no_wait (void)
{
  g_auto (Ranks) ranks = { 0 };

  ranks_divide (&ranks, LOOM_SHARDS_PARAMETERS);
  instr_at (ranks.plan[0], find_async (ranks.plan[0]))->until = G_MAXUINT;
  assert_plan_refused (ranks.plan[0], "nothing waits for instruction *");
  assert_plan_refused (ranks.plan[0], "no event orders instruction * before instruction *");
}

/* The wait is for another exchange. */
static void
test_late_wait (void)
{
  g_auto (Ranks) ranks = { 0 };
  LoomPlan *plan;
  guint first;

  ranks_divide (&ranks, LOOM_SHARDS_PARAMETERS);
  plan = ranks.plan[0];
  first = find_async (plan);
  for (guint i = plan->instrs->len; i-- > 0;)
    if (instr_at (plan, i)->is_wait)
      {
        g_assert_cmpuint (i, !=, instr_at (plan, first)->until);
        instr_at (plan, first)->until = i;
        break;
      }
  assert_plan_refused (plan, "no event orders instruction * before instruction *");
}

/* While an exchange runs, its operand is overwritten by the computation. */
static void
test_overwritten (void)
{
  g_auto (Ranks) ranks = { 0 };
  LoomPlan *plan;
  guint first;

  ranks_divide (&ranks, LOOM_SHARDS_PARAMETERS);
  plan = ranks.plan[0];
  first = find_async (plan);
  for (guint i = first + 1; i < instr_at (plan, first)->until; i++)
    for (guint o = 0; o < instr_at (plan, i)->n_out; o++)
      {
        const LoomPlanInstr *exchange = instr_at (plan, first), *other = instr_at (plan, i);
        LoomPlanValue *made = &g_array_index (plan->values, LoomPlanValue, other->value[other->n_in + o]);

        if (made->location.kind != LOOM_LOCATION_ARENA)
          continue;
        made->location.offset
            = g_array_index (plan->values, LoomPlanValue, exchange->value[exchange->n_in]).location.offset;
        assert_plan_refused (plan, "no event orders instruction * before instruction *");
        return;
      }
  g_assert_not_reached (); /* an instruction is computed while the first exchange runs */
}

TEST_FILE (argc, argv)
{
  g_setenv ("GRADLOOM_COMM_LANE", "1", TRUE);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/check/ranks/fit", test_fit);
  g_test_add_func ("/check/ranks/results", test_results);
  g_test_add_func ("/check/ranks/other-order", test_other_order);
  g_test_add_func ("/check/ranks/other-program", test_other_program);
  g_test_add_func ("/check/ranks/other-shard", test_other_shard);
  g_test_add_func ("/check/ranks/same-rank", test_same_rank);
  for (guint i = 0; i < G_N_ELEMENTS (stages); i++)
    {
      g_autofree char *path = g_strconcat ("/check/stages/", stages[i].name, NULL);

      g_test_add_data_func (path, &stages[i], test_stages);
    }
  g_test_add_func ("/check/exchange/no-wait", test_no_wait);
  g_test_add_func ("/check/exchange/late-wait", test_late_wait);
  g_test_add_func ("/check/exchange/overwritten", test_overwritten);
  return g_test_run ();
}
