/* Plans that are broken by hand, each in one way: the checker refuses every one by the rule that it breaks, and accepts
 * the plan as it was made. */
#include <string.h>

#include "engine/check/loom-check.h"
#include "engine/plan/plan-private.h"
#include "engine/program/loom-optimizer.h"
#include "tests/test-program.h"

#define BATCH 8
#define WIDTH 16

/* ---- programs ------------------------------------------------------------------ */

static LoomValue
parameter (LoomProgram *p, const char *name, GArray *slots)
{
  const LoomInit init = { LOOM_INIT_UNIFORM, -0.4, 0.4, NULL };
  int slot = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, 2, (gint64[]){ WIDTH, WIDTH }, &init, TRUE);

  g_array_append_val (slots, slot);
  return loom_program_read (p, slot);
}

static LoomValue
draw (LoomProgram *p, guint64 stream)
{
  const LoomRandomTo attrs
      = { .kernel = { LOOM_RANDOM_UNIFORM, stream }, .dtype = LOOM_F32, .to = { 2, { BATCH, WIDTH } } };
  LoomValue in[2] = { loom_program_scalar_i64 (p, "seed", 7), loom_program_scalar_i64 (p, "step", 0) };

  return loom_emit (p, loom_prim ("random"), &attrs, 2, in, NULL);
}

static void
add_update (LoomProgram *p, const char *name, LoomValue loss, GArray *slots)
{
  const LoomOptimizer *optimizer = loom_optimizer (name);
  g_autoptr (GError) error = NULL;
  double hyper[32];
  const LoomUpdateOptions options = { .optimizer = name, .hyper = hyper, .loss = loss };
  LoomValue wrt[8], grads[8];

  for (guint i = 0; optimizer->hyper[i].name != NULL; i++)
    hyper[i] = optimizer->hyper[i].value;
  for (guint i = 0; i < slots->len; i++)
    wrt[i] = loom_program_read (p, g_array_index (slots, int, i));
  loom_differentiate (p, loss, 0, slots->len, wrt, grads, &error);
  g_assert_no_error (error);
  loom_emit_update (p, &options, slots->len, &g_array_index (slots, int, 0), grads, &error);
  g_assert_no_error (error);
}

/* Two layers with dropout between them, a constant that is made once, a statistic that the forward pass changes. */
static LoomProgram *
make_step (const char *optimizer)
{
  LoomProgram *p = loom_program_new ();
  g_autoptr (GArray) slots = g_array_new (FALSE, FALSE, sizeof (int));
  const LoomIotaTo line
      = { .kernel = { .axis = 1, .start = 0.5, .step = 0.25 }, .dtype = LOOM_F32, .to = { 2, { BATCH, WIDTH } } };
  LoomValue x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ BATCH, WIDTH }), h, y, loss, mean;
  int seen = loom_program_slot (p, "seen", LOOM_SLOT_BUFFER, LOOM_F32, 0, NULL, NULL, FALSE);

  loom_program_set_origin (p, "fc1", NULL);
  h = loom_unary (p, LOOM_SCALAR_TANH, loom_matmul (p, x, parameter (p, "fc1.weight", slots), FALSE, FALSE));
  mean = loom_mean_all (p, h);
  loom_program_commit (p, seen, loom_binary (p, LOOM_SCALAR_ADD, loom_program_read (p, seen), mean));
  loom_program_set_origin (p, "drop", NULL);
  h = loom_binary (p, LOOM_SCALAR_MUL, h, draw (p, 11));
  loom_program_set_origin (p, "noise", NULL);
  h = loom_binary (p, LOOM_SCALAR_ADD, h, draw (p, 12));
  loom_program_set_origin (p, "fc2", NULL);
  y = loom_matmul (p, h, parameter (p, "fc2.weight", slots), FALSE, FALSE);
  y = loom_binary (p, LOOM_SCALAR_MUL, y, loom_emit (p, loom_prim ("iota"), &line, 0, NULL, NULL));
  loss = loom_mean_all (p, loom_unary (p, LOOM_SCALAR_SQUARE, y));
  loom_program_set_origin (p, NULL, NULL);
  loom_program_output (p, "loss", loss);
  add_update (p, optimizer, loss, slots);
  return p;
}

static LoomProgram *
make_adam (void)
{
  return make_step ("adam");
}

/* SGD without momentum has an undo log. */
static LoomProgram *
make_sgd (void)
{
  return make_step ("sgd");
}

/* A loop that draws in every iteration. varies: its step is a number of the iteration. */
static LoomProgram *
make_loop_with (gboolean varies)
{
  LoomProgram *p = loom_program_new (), *body = loom_program_new ();
  const LoomRandomTo noise = { .kernel = { LOOM_RANDOM_NORMAL, 21 }, .dtype = LOOM_F32, .to = { 2, { BATCH, WIDTH } } };
  const LoomIotaTo count = { .kernel = { .axis = 0, .step = 1 }, .dtype = LOOM_I64, .to = { 1, { 5 } } };
  const LoomScanAttrs scan = { .body = body, .length = 5, .n_carried = 1, .n_sequences = 1 };
  LoomValue carried, number, seed, in[4], out, x;

  carried = loom_program_input (body, "carried", LOOM_F32, 2, (gint64[]){ BATCH, WIDTH });
  number = loom_program_input (body, "number", LOOM_I64, 0, NULL);
  seed = loom_program_input (body, "seed", LOOM_I64, 0, NULL);
  in[0] = seed;
  in[1] = varies ? number : seed;
  out = loom_emit (body, loom_prim ("random"), &noise, 2, in, NULL);
  out = loom_binary (body, LOOM_SCALAR_ADD, carried, out);
  if (!varies)
    out = loom_binary (body, LOOM_SCALAR_MUL, out, loom_cast (body, number, LOOM_F32));
  loom_program_output (body, "carried", out);
  x = loom_program_input (p, "x", LOOM_F32, 2, (gint64[]){ BATCH, WIDTH });
  in[0] = x;
  in[1] = loom_emit (p, loom_prim ("iota"), &count, 0, NULL, NULL);
  in[2] = loom_program_scalar_i64 (p, "seed", 7);
  loom_program_output (p, "y", loom_emit (p, loom_prim ("scan"), &scan, 3, in, NULL));
  loom_program_unref (body);
  return p;
}

static LoomProgram *
make_loop (void)
{
  return make_loop_with (TRUE);
}

static LoomProgram *
make_same_draws (void)
{
  return make_loop_with (FALSE);
}

/* Two nodes that draw from one stream. */
static LoomProgram *
make_one_stream (void)
{
  LoomProgram *p = loom_program_new ();
  LoomValue a, b;

  loom_program_set_origin (p, "a", NULL);
  a = draw (p, 5);
  loom_program_set_origin (p, "b", NULL);
  b = loom_unary (p, LOOM_SCALAR_EXP, draw (p, 5));
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_ADD, a, b));
  return p;
}

/* A draw and, in a recomputation, one of another stream. */
static LoomProgram *
make_recomputed (void)
{
  LoomProgram *p = loom_program_new ();
  LoomValue a, b;

  loom_program_set_origin (p, "a", NULL);
  a = draw (p, 5);
  loom_program_set_recomputation (p, 1);
  b = loom_unary (p, LOOM_SCALAR_EXP, draw (p, 6));
  loom_program_set_recomputation (p, 0);
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_ADD, a, b));
  return p;
}

/* ---- plans ----------------------------------------------------------------------- */

static LoomPlanInstr *
instr_at (LoomPlan *plan, guint i)
{
  return &g_array_index (plan->instrs, LoomPlanInstr, i);
}

static LoomPlanValue *
value_at (LoomPlan *plan, guint v)
{
  return &g_array_index (plan->values, LoomPlanValue, v);
}

static LoomPlanValue *
out_of (LoomPlan *plan, const LoomPlanInstr *instr, guint o)
{
  return value_at (plan, instr->value[instr->n_in + o]);
}

static LoomPlanValue *
in_of (LoomPlan *plan, const LoomPlanInstr *instr, guint k)
{
  return instr->value[k] != G_MAXUINT ? value_at (plan, instr->value[k]) : NULL;
}

static guint
find (LoomPlan *plan, const char *primitive)
{
  for (guint i = 0; i < plan->instrs->len; i++)
    if (g_strcmp0 (instr_at (plan, i)->primitive, primitive) == 0 && !instr_at (plan, i)->is_wait)
      return i;
  g_assert_not_reached ();
}

/* Exchanges two instructions. */
static void
swap (LoomPlan *plan, guint a, guint b)
{
  LoomPlanInstr kept = *instr_at (plan, a);

  *instr_at (plan, a) = *instr_at (plan, b);
  *instr_at (plan, b) = kept;
}

/* Moves a value to an offset, with its views. */
static void
move_value (LoomPlan *plan, guint root, gsize offset)
{
  for (guint v = 1; v < plan->values->len; v++)
    if (value_at (plan, v)->root == root)
      value_at (plan, v)->location.offset = offset;
}

static LoomKernelSpec *
spec_of (LoomPlan *plan, guint i)
{
  return (LoomKernelSpec *)instr_at (plan, i)->spec;
}

/* ---- memory ------------------------------------------------------------------------ */

/* A result in the place of a value of the same size that is read later. */
static void
break_overwritten (LoomPlan *plan)
{
  for (guint v = 1; v < plan->values->len; v++)
    for (guint i = plan->n_setup; i < plan->instrs->len; i++)
      {
        const LoomPlanValue *kept = value_at (plan, v);
        const LoomPlanInstr *instr = instr_at (plan, i);

        if (kept->location.kind != LOOM_LOCATION_ARENA || kept->root != v || kept->first >= i || kept->last <= i
            || instr->n_out == 0 || instr->value[instr->n_in] == G_MAXUINT)
          continue;
        const LoomPlanValue *result = out_of (plan, instr, 0);
        if (result->location.kind != LOOM_LOCATION_ARENA || result->root == v || result->first != i
            || loom_desc_bytes (&result->desc) > loom_desc_bytes (&kept->desc))
          continue;
        gboolean reads = FALSE;
        for (guint k = 0; k < instr->n_in; k++)
          reads |= instr->value[k] != G_MAXUINT && value_at (plan, instr->value[k])->root == v;
        if (reads)
          continue;
        move_value (plan, result->root, kept->location.offset);
        return;
      }
  g_assert_not_reached ();
}

/* A product cannot write over its operand. */
static void
break_in_place (LoomPlan *plan)
{
  const LoomPlanInstr *product;

  for (guint i = plan->n_setup; i < plan->instrs->len; i++)
    {
      product = instr_at (plan, i);
      if (g_strcmp0 (product->primitive, "matmul") != 0
          || out_of (plan, product, 0)->location.kind != LOOM_LOCATION_ARENA)
        continue;
      for (guint k = 0; k < product->n_in; k++)
        if (in_of (plan, product, k)->location.kind == LOOM_LOCATION_ARENA)
          {
            move_value (plan, out_of (plan, product, 0)->root, in_of (plan, product, k)->location.offset);
            return;
          }
    }
  g_assert_not_reached ();
}

static void
break_too_early (LoomPlan *plan)
{
  for (guint i = plan->n_setup; i + 1 < plan->instrs->len; i++)
    for (guint k = 0; k < instr_at (plan, i + 1)->n_in; k++)
      if (instr_at (plan, i)->n_out > 0 && instr_at (plan, i + 1)->value[k] != G_MAXUINT
          && instr_at (plan, i)->value[instr_at (plan, i)->n_in] == instr_at (plan, i + 1)->value[k])
        {
          swap (plan, i, i + 1);
          return;
        }
  g_assert_not_reached ();
}

static guint
any_value (LoomPlan *plan, LoomLocationKind kind)
{
  for (guint v = 1; v < plan->values->len; v++)
    if (value_at (plan, v)->location.kind == kind && value_at (plan, v)->root == v
        && loom_desc_bytes (&value_at (plan, v)->desc) > 64)
      return v;
  g_assert_not_reached ();
}

static void
break_alignment (LoomPlan *plan)
{
  const guint v = any_value (plan, LOOM_LOCATION_ARENA);

  move_value (plan, v, value_at (plan, v)->location.offset + 4);
}

static void
break_end (LoomPlan *plan)
{
  move_value (plan, any_value (plan, LOOM_LOCATION_ARENA), g_array_index (plan->memory, LoomPlanMemory, 0).arena);
}

static void
break_view (LoomPlan *plan)
{
  for (guint v = 1; v < plan->values->len; v++)
    if (value_at (plan, v)->root != v && value_at (plan, v)->location.kind == LOOM_LOCATION_ARENA)
      {
        value_at (plan, v)->desc = (LoomTensorDesc){ .dtype = LOOM_F32, .rank = 1, .dim = { 1 << 20 } };
        return;
      }
  g_assert_not_reached ();
}

static void
break_type (LoomPlan *plan)
{
  out_of (plan, instr_at (plan, find (plan, "matmul")), 0)->desc.layout = LOOM_LAYOUT_NHWC;
}

static void
break_scratch (LoomPlan *plan)
{
  LoomPlanInstr *instr = instr_at (plan, find (plan, "matmul"));

  for (guint i = plan->n_setup; i < plan->instrs->len; i++)
    if (out_of (plan, instr_at (plan, i), 0)->location.kind == LOOM_LOCATION_ARENA)
      instr = instr_at (plan, i);
  instr->kernel->scratch_bytes = 64;
  instr->scratch = out_of (plan, instr, 0)->location.offset;
}

/* A result of a step in the block of setup results. */
static void
break_setup (LoomPlan *plan)
{
  const LoomPlanValue *once = value_at (plan, any_value (plan, LOOM_LOCATION_SETUP));

  for (guint i = plan->n_setup; i < plan->instrs->len; i++)
    {
      LoomPlanValue *result = out_of (plan, instr_at (plan, i), 0);

      if (result->location.kind != LOOM_LOCATION_ARENA
          || loom_desc_bytes (&result->desc) > loom_desc_bytes (&once->desc))
        continue;
      const guint root = result->root;
      for (guint v = 1; v < plan->values->len; v++)
        if (value_at (plan, v)->root == root)
          value_at (plan, v)->location = once->location;
      return;
    }
  g_assert_not_reached ();
}

/* An optimizer's result outside the memory of its parameter. */
static void
break_update (LoomPlan *plan)
{
  LoomPlanValue *moment = out_of (plan, instr_at (plan, find (plan, "adam_step")), 2);

  moment->location = value_at (plan, any_value (plan, LOOM_LOCATION_ARENA))->location;
}

/* ---- state ---------------------------------------------------------------------------- */

/* The step before the gate. Its scalar operands are too early as well, which is not what this case is about. */
static void
break_gate (LoomPlan *plan)
{
  const guint gate = find (plan, "update_gate"), step = find (plan, "adam_step");

  for (guint i = step; i > gate; i--)
    swap (plan, i, i - 1);
}

static void
break_undo (LoomPlan *plan)
{
  const guint gate = find (plan, "update_gate"), undo = find (plan, "undo_step");

  for (guint i = undo; i < gate; i++)
    swap (plan, i, i + 1);
}

/* The undo reads another flag than the gate. */
static void
break_undo_flag (LoomPlan *plan)
{
  LoomPlanInstr *undo = instr_at (plan, find (plan, "undo_step"));
  const LoomPlanInstr *step = instr_at (plan, find (plan, "sgd_step_logged"));

  ((guint *)undo->value)[undo->n_in - 1] = step->value[step->n_in + step->n_out - 2];
}

/* A call that may report a fault between the step and its undo. */
static void
break_undo_fault (LoomPlan *plan)
{
  const guint logged = find (plan, "sgd_step_logged");

  instr_at (plan, logged + 1)->primitive = "require";
}

static void
break_twice (LoomPlan *plan)
{
  const LoomPlanInstr *step = instr_at (plan, find (plan, "adam_step"));
  const guint pair[2] = { step->value[step->n_in], out_of (plan, step, 0)->location.index };

  g_array_append_vals (plan->commit_copy, pair, 2);
}

static void
break_never (LoomPlan *plan)
{
  const LoomPlanValue *arena = value_at (plan, any_value (plan, LOOM_LOCATION_ARENA));

  for (guint i = 0; i < plan->instrs->len; i++)
    for (guint o = 0; o < instr_at (plan, i)->n_out; o++)
      if (out_of (plan, instr_at (plan, i), o)->location.kind == LOOM_LOCATION_SLOT
          && g_strcmp0 (instr_at (plan, i)->primitive, "elementwise") == 0)
        {
          out_of (plan, instr_at (plan, i), o)->location = arena->location;
          return;
        }
  g_assert_not_reached ();
}

/* The gate decides by a number that the gradients do not reach. */
static void
break_statistics (LoomPlan *plan)
{
  LoomPlanInstr *gate = instr_at (plan, find (plan, "update_gate"));

  ((guint *)gate->value)[0] = gate->value[1];
}

/* A loop without the memory of its body. */
static void
break_body (LoomPlan *plan)
{
  instr_at (plan, find (plan, "scan"))->kernel->scratch_bytes = 64;
}

/* A sum over other axes, whose result is larger. */
static void
break_size (LoomPlan *plan)
{
  ((LoomReduceAttrs *)spec_of (plan, find (plan, "reduce"))->attrs)->axes = 0;
}

/* ---- random numbers and determinism ------------------------------------------------------ */

static void
break_stream (LoomPlan *plan)
{
  ((LoomRandomTo *)spec_of (plan, find (plan, "random"))->attrs)->kernel.stream++;
}

static void
break_seed (LoomPlan *plan)
{
  LoomPlanInstr *random = instr_at (plan, find (plan, "random"));

  ((guint *)random->value)[1] = random->value[0];
}

/* Both draws are one. */
static void
break_shared_draw (LoomPlan *plan)
{
  const guint first = find (plan, "random");
  guint second = first + 1;

  while (g_strcmp0 (instr_at (plan, second)->primitive, "random") != 0)
    second++;
  *(LoomRandomTo *)spec_of (plan, second)->attrs = *(const LoomRandomTo *)spec_of (plan, first)->attrs;
}

static void
break_algorithm (LoomPlan *plan)
{
  instr_at (plan, find (plan, "matmul"))->algorithm = "atomics";
}

static void
break_tf32 (LoomPlan *plan)
{
  spec_of (plan, find (plan, "matmul"))->tf32 = TRUE;
}

/* ---- the forecast -------------------------------------------------------------------------- */

static LoomPlanMemory *
memory_of (LoomPlan *plan)
{
  return &g_array_index (plan->memory, LoomPlanMemory, 0);
}

static void
break_arena (LoomPlan *plan)
{
  memory_of (plan)->arena += 64;
}

static void
break_peak (LoomPlan *plan)
{
  memory_of (plan)->lower_bound -= 64;
}

static void
break_owners (LoomPlan *plan)
{
  memory_of (plan)->peak[LOOM_OWNER_ACTIVATIONS] += 64;
}

static void
break_once (LoomPlan *plan)
{
  memory_of (plan)->once[LOOM_OWNER_WORKSPACE] += 64;
}

static void
break_sum_of_state (LoomPlan *plan)
{
  memory_of (plan)->state[LOOM_OWNER_PARAMETERS] -= 64;
}

/* ---- the cases ------------------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  LoomCheckRule rule;
  LoomProgram *(*make) (void);
  void (*damage) (LoomPlan *plan); /* NULL: the program is what is wrong */
} Case;

static const Case cases[] = {
  { "memory/overwritten", LOOM_CHECK_MEMORY, make_adam, break_overwritten },
  { "memory/in-place", LOOM_CHECK_MEMORY, make_adam, break_in_place },
  { "memory/too-early", LOOM_CHECK_MEMORY, make_adam, break_too_early },
  { "memory/alignment", LOOM_CHECK_MEMORY, make_adam, break_alignment },
  { "memory/end", LOOM_CHECK_MEMORY, make_adam, break_end },
  { "memory/view", LOOM_CHECK_MEMORY, make_adam, break_view },
  { "memory/layout", LOOM_CHECK_MEMORY, make_adam, break_type },
  { "memory/scratch", LOOM_CHECK_MEMORY, make_adam, break_scratch },
  { "memory/setup", LOOM_CHECK_MEMORY, make_adam, break_setup },
  { "memory/update", LOOM_CHECK_MEMORY, make_adam, break_update },
  { "memory/size", LOOM_CHECK_MEMORY, make_adam, break_size },
  { "memory/body", LOOM_CHECK_MEMORY, make_loop, break_body },
  { "state/gate", LOOM_CHECK_STATE, make_adam, break_gate },
  { "state/twice", LOOM_CHECK_STATE, make_adam, break_twice },
  { "state/never", LOOM_CHECK_STATE, make_adam, break_never },
  { "state/statistics", LOOM_CHECK_STATE, make_adam, break_statistics },
  { "state/undo", LOOM_CHECK_STATE, make_sgd, break_undo },
  { "state/undo-flag", LOOM_CHECK_STATE, make_sgd, break_undo_flag },
  { "state/undo-fault", LOOM_CHECK_STATE, make_sgd, break_undo_fault },
  { "random/stream", LOOM_CHECK_RANDOM, make_adam, break_stream },
  { "random/seed", LOOM_CHECK_RANDOM, make_adam, break_seed },
  { "random/shared", LOOM_CHECK_RANDOM, make_adam, break_shared_draw },
  { "random/algorithm", LOOM_CHECK_RANDOM, make_adam, break_algorithm },
  { "random/tf32", LOOM_CHECK_RANDOM, make_adam, break_tf32 },
  { "random/iterations", LOOM_CHECK_RANDOM, make_same_draws, NULL },
  { "random/one-stream", LOOM_CHECK_RANDOM, make_one_stream, NULL },
  { "random/recomputed", LOOM_CHECK_RANDOM, make_recomputed, NULL },
  { "forecast/arena", LOOM_CHECK_FORECAST, make_adam, break_arena },
  { "forecast/peak", LOOM_CHECK_FORECAST, make_adam, break_peak },
  { "forecast/owners", LOOM_CHECK_FORECAST, make_adam, break_owners },
  { "forecast/once", LOOM_CHECK_FORECAST, make_adam, break_once },
  { "forecast/state", LOOM_CHECK_FORECAST, make_adam, break_sum_of_state },
};

static gboolean
has_rule (const LoomCheckReport *report, LoomCheckRule rule)
{
  for (guint i = 0; i < report->faults->len; i++)
    if (((LoomCheckFault *)g_ptr_array_index (report->faults, i))->rule == rule)
      return TRUE;
  return FALSE;
}

static void
test_case (gconstpointer data)
{
  const Case *c = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomProgram) program = c->make ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomPlan) plan = loom_plan_new (program, devices, NULL, &error);
  g_autoptr (LoomCheckReport) before = loom_check_report_new (), after = loom_check_report_new ();
  g_autofree char *verdict = NULL, *found = NULL;

  g_assert_no_error (error);
  loom_check_plan (plan, NULL, before);
  verdict = loom_check_report_print (before);
  if (c->damage != NULL)
    {
      g_assert_cmpuint (before->faults->len, ==, 0);
      g_assert_true (g_str_has_prefix (verdict, "plan checked: "));
      c->damage (plan);
    }
  g_assert_false (loom_check_plan (plan, NULL, after));
  found = loom_check_report_print (after);
  g_test_message ("%s", found);
  g_assert_true (g_str_has_prefix (found, "check: "));
  g_assert_true (has_rule (after, c->rule));
}

/* A loop is accepted, with its body, and a fault in the body is found. */
static void
test_body (void)
{
  g_autoptr (LoomProgram) program = make_loop ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomPlan) plan = loom_plan_new (program, devices, NULL, NULL);
  g_autoptr (LoomCheckReport) before = loom_check_report_new (), after = loom_check_report_new ();
  LoomPlan *body;

  g_assert_true (loom_check_plan (plan, NULL, before));
  g_assert_cmpuint (before->n_plans, ==, 2);
  g_assert_cmpuint (before->n_instrs, >, loom_plan_n_instrs (plan));
  body = (LoomPlan *)instr_at (plan, find (plan, "scan"))->body[0];
  memory_of (body)->arena += 64;
  g_assert_false (loom_check_plan (plan, NULL, after));
  g_assert_true (has_rule (after, LOOM_CHECK_FORECAST));
}

/* A right plan has no guilty pass, and a wrong program none that can be left out. */
static void
test_blame (void)
{
  g_autoptr (LoomProgram) right = make_adam (), wrong = make_one_stream ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);

  g_assert_null (loom_check_blame (right, devices, NULL, NULL));
  g_assert_cmpstr (loom_check_blame (wrong, devices, NULL, NULL), ==, "program");
}

/* Fusions after the named pass do not run. */
static void
note_fusion (const LoomPlanPass *pass, gpointer data)
{
  if (!pass->ran)
    g_string_append_printf (data, "%s,", pass->name);
}

static void
test_last_fusion (void)
{
  g_autoptr (LoomProgram) program = make_adam ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (GString) skipped = g_string_new (NULL);
  const LoomPlanOptions options
      = { .last_fusion = "rematerialisation", .on_pass = note_fusion, .on_pass_data = skipped };
  g_autoptr (LoomPlan) plan = loom_plan_new (program, devices, &options, NULL);

  g_assert_nonnull (plan);
  g_assert_cmpstr (skipped->str, ==, "bundles,leading rows,overlap,");
}

/* A process whose plans are all checked ends at a wrong one. */
static void
test_install (void)
{
  if (g_test_subprocess ())
    {
      g_autoptr (LoomProgram) wrong = make_one_stream ();
      g_autoptr (LoomDevices) devices = loom_devices_new (1);
      g_autoptr (LoomPlan) plan = NULL;

      loom_check_install ();
      plan = loom_plan_new (wrong, devices, NULL, NULL);
      return;
    }
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr ("*check: random: a and b draw from one stream of random numbers*");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strconcat ("/check/", cases[i].name, NULL);

      g_test_add_data_func (path, &cases[i], test_case);
    }
  g_test_add_func ("/check/body", test_body);
  g_test_add_func ("/check/blame", test_blame);
  g_test_add_func ("/check/last-fusion", test_last_fusion);
  g_test_add_func ("/check/install", test_install);
  return g_test_run ();
}
