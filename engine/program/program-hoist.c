/* Hoists work out of loops: computes values that do not depend on carried values before the loop, for all iterations at
 * once.
 *
 * x·W of a recurrent cell becomes one large product instead of a small one per iteration. The pass runs before
 * differentiation, so the same holds for its gradients: the loop's backward pass only stacks their operands. The pass
 * hoists products (a primitive's `over_iterations` emits the one call), the values that these are computed from, and
 * element-wise instructions on only their results. Loop-invariant values, such as a weight's copy in another type, are
 * computed once. Everything else stays, because hoisting it would only cost the memory of a stack. */
#include "engine/program/program-body.h"

/* What a value of the body depends on. */
typedef enum
{
  LOOP_INVARIANT, /* only on whole operands */
  ON_ROWS,        /* also on rows of sequences */
  ON_CARRIED
} Dependence;

typedef struct
{
  LoomRewrite *r;
  const LoomInstr *instr; /* the loop, in r->from */
  LoomScanAttrs attrs;    /* its attributes, with the current body */
  const LoomValue *in;    /* its operands, in r->to */
  Dependence *on;         /* by value of the body */
  gboolean *may_leave;    /* by value: it can be computed outside */
  gboolean *is_outside;   /* by value: computed outside, and an input of the body if it reads it */
  gboolean *is_hoisted;   /* by instruction: computed outside */
  LoomValue *outside;     /* by value: its value in r->to, a stack if it depends on rows; 0: none */
} Loop;

static LoomProgram *hoist (const LoomProgram *p, guint n, LoomValue *values);

static gboolean
can_hoist (const LoomInstr *instr)
{
  return (instr->prim->flags & LOOM_PRIM_LOOP) != 0 && !((const LoomScanAttrs *)instr->attrs)->no_hoist;
}

/* ---- candidates ----------------------------------------------------------------- */

/* TRUE for primitives that work element by element, so that a call on stacks computes the same as a call per
 * iteration. */
static gboolean
is_by_element (const LoomPrim *prim)
{
  return (prim->flags & (LOOM_PRIM_ELEMENTWISE | LOOM_PRIM_CONVERTS)) != 0;
}

static LoomTensorDesc *
operand_descs (const Loop *l, const LoomInstr *instr, gboolean *is_stack)
{
  LoomTensorDesc *d = g_new0 (LoomTensorDesc, instr->n_in + 1);

  for (guint k = 0; k < instr->n_in; k++)
    {
      if (instr->in[k] != 0)
        d[k] = *value_desc (l->attrs.body, instr->in[k]);
      else
        d[k].dtype = LOOM_N_DTYPES;
      is_stack[k] = instr->in[k] != 0 && l->on[instr->in[k]] == ON_ROWS;
    }
  return d;
}

static gboolean
has_call_over_iterations (const Loop *l, const LoomInstr *instr)
{
  g_autofree gboolean *is_stack = g_new0 (gboolean, instr->n_in + 1);
  g_autofree LoomTensorDesc *in = operand_descs (l, instr, is_stack);

  if (is_by_element (instr->prim))
    return value_desc (l->attrs.body, instr->out[0])->rank < LOOM_MAX_RANK;
  return instr->prim->over_iterations != NULL
         && instr->prim->over_iterations (NULL, instr->attrs, instr->n_in, in, is_stack, instr->in, NULL);
}

static void
find_input_dependences (Loop *l)
{
  for (guint i = 0; i < loom_program_n_inputs (l->attrs.body); i++)
    {
      LoomValue v = loom_program_get_input (l->attrs.body, i)->value;

      l->on[v] = i < l->attrs.n_carried                          ? ON_CARRIED
                 : i < l->attrs.n_carried + l->attrs.n_sequences ? ON_ROWS
                                                                 : LOOP_INVARIANT;
      l->may_leave[v] = l->on[v] != ON_CARRIED;
      l->outside[v] = l->in[i];
    }
}

static void
find_dependence (Loop *l, const LoomInstr *instr)
{
  Dependence on = LOOP_INVARIANT;
  gboolean may_leave = TRUE;

  for (guint k = 0; k < instr->n_in; k++)
    if (instr->in[k] != 0)
      {
        on = MAX (on, l->on[instr->in[k]]);
        may_leave = may_leave && l->may_leave[instr->in[k]];
      }
  may_leave = may_leave && on != ON_CARRIED && (on == LOOP_INVARIANT || has_call_over_iterations (l, instr));
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      {
        l->on[instr->out[k]] = on;
        l->may_leave[instr->out[k]] = may_leave;
      }
}

/* ---- benefit -------------------------------------------------------------------- */

/* TRUE for constants that the planner folds into their readers. */
static gboolean
is_constant (const LoomInstr *instr)
{
  return instr->prim->constant != NULL || instr->n_in == 0;
}

static const LoomInstr *
producer_of (const Loop *l, LoomValue v)
{
  guint producer = v != 0 ? loom_value_info (l->attrs.body, v)->producer : G_MAXUINT;

  return producer == G_MAXUINT ? NULL : loom_program_instr (l->attrs.body, producer);
}

/* TRUE if an instruction reads results of hoisted instructions and its result is no larger than they are. */
static gboolean
follows (const Loop *l, const LoomInstr *instr)
{
  gint64 count = loom_desc_count (value_desc (l->attrs.body, instr->out[0]));

  if (!(instr->prim->flags & LOOM_PRIM_ELEMENTWISE) && instr->prim->view != LOOM_VIEW_ALWAYS)
    return FALSE;
  for (guint k = 0; k < instr->n_in; k++)
    if (instr->in[k] != 0 && l->on[instr->in[k]] == ON_ROWS
        && (!l->is_outside[instr->in[k]] || loom_desc_count (value_desc (l->attrs.body, instr->in[k])) != count))
      return FALSE;
  return TRUE;
}

/* FALSE for loop-invariant instructions that only rearrange or repeat elements, which cost a body nothing. */
static gboolean
computes (const Loop *l, const LoomInstr *instr)
{
  const LoomTensorDesc *out = value_desc (l->attrs.body, instr->out[0]);
  gint64 most = 0;

  if (is_constant (instr) || (instr->prim->flags & LOOM_PRIM_REARRANGES))
    return FALSE;
  if (instr->prim->view != LOOM_VIEW_NEVER && value_desc (l->attrs.body, instr->in[0])->dtype == out->dtype)
    return FALSE;
  for (guint k = 0; k < instr->n_in; k++)
    if (instr->in[k] != 0)
      most = MAX (most, loom_desc_count (value_desc (l->attrs.body, instr->in[k])));
  return loom_desc_count (out) <= most;
}

static gboolean
is_worth (const Loop *l, const LoomInstr *instr)
{
  if (instr->out[0] == 0 || !l->may_leave[instr->out[0]])
    return FALSE;
  if (instr->prim->flags & LOOM_PRIM_PRODUCT)
    return TRUE;
  return l->on[instr->out[0]] == ON_ROWS ? follows (l, instr) : computes (l, instr);
}

/* Hoists the instruction and the producers of its operands. */
static void
hoist_instr (Loop *l, const LoomInstr *instr)
{
  guint index = loom_value_info (l->attrs.body, instr->out[0])->producer;

  if (l->is_hoisted[index])
    return;
  l->is_hoisted[index] = TRUE;
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0 && !is_constant (instr))
      l->is_outside[instr->out[k]] = TRUE;
  for (guint k = 0; k < instr->n_in; k++)
    {
      const LoomInstr *made_by = producer_of (l, instr->in[k]);

      if (made_by != NULL)
        hoist_instr (l, made_by);
    }
}

/* Chooses the instructions to hoist; TRUE if there are any. */
static gboolean
choose_instrs (Loop *l)
{
  gboolean any = FALSE;

  find_input_dependences (l);
  for (guint i = 0; i < loom_program_n_instrs (l->attrs.body); i++)
    {
      const LoomInstr *instr = loom_program_instr (l->attrs.body, i);

      find_dependence (l, instr);
      if (!is_worth (l, instr))
        continue;
      hoist_instr (l, instr);
      any = TRUE;
    }
  return any;
}

/* ---- before the loop ------------------------------------------------------------- */

/* Reshapes a stack of operands of lower rank than the result, so that it broadcasts as before: axes of size 1 follow
 * that of the iterations. */
static LoomValue
aligned (LoomProgram *p, LoomValue stack, int rank)
{
  const LoomTensorDesc *d = value_desc (p, stack);
  gint64 dims[LOOM_MAX_RANK] = { d->dim[0] };

  for (int i = 1; i <= rank; i++)
    dims[i] = i <= rank - (d->rank - 1) ? 1 : d->dim[i - (rank - (d->rank - 1))];
  return loom_reshape (p, stack, rank + 1, dims);
}

static void
emit_over_iterations (Loop *l, const LoomInstr *instr)
{
  LoomProgram *to = l->r->to;
  g_autofree gboolean *is_stack = g_new0 (gboolean, instr->n_in + 1);
  g_autofree LoomTensorDesc *in = operand_descs (l, instr, is_stack);
  g_autofree LoomValue *value = g_new0 (LoomValue, instr->n_in + 1);
  int rank = value_desc (l->attrs.body, instr->out[0])->rank;

  for (guint k = 0; k < instr->n_in; k++)
    value[k] = instr->in[k] != 0 ? l->outside[instr->in[k]] : 0;
  if (!is_by_element (instr->prim))
    {
      instr->prim->over_iterations (to, instr->attrs, instr->n_in, in, is_stack, value, &l->outside[instr->out[0]]);
      return;
    }
  for (guint k = 0; k < instr->n_in; k++)
    if (is_stack[k])
      value[k] = aligned (to, value[k], rank);
  l->outside[instr->out[0]] = loom_emit (to, instr->prim, instr->attrs, instr->n_in, value, NULL);
}

static void
emit_once (Loop *l, const LoomInstr *instr)
{
  g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1), *out = g_new0 (LoomValue, instr->n_out + 1);

  for (guint k = 0; k < instr->n_in; k++)
    in[k] = instr->in[k] != 0 ? l->outside[instr->in[k]] : 0;
  loom_emit (l->r->to, instr->prim, instr->attrs, instr->n_in, in, out);
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0)
      l->outside[instr->out[k]] = out[k];
}

static void
emit_taken (Loop *l)
{
  for (guint i = 0; i < loom_program_n_instrs (l->attrs.body); i++)
    {
      const LoomInstr *instr = loom_program_instr (l->attrs.body, i);

      if (!l->is_hoisted[i])
        continue;
      loom_rewrite_set_origin (l->r, instr);
      if (l->on[instr->out[0]] == ON_ROWS)
        emit_over_iterations (l, instr);
      else
        emit_once (l, instr);
    }
}

/* ---- the remaining loop ----------------------------------------------------------- */

/* By value: TRUE if the outputs need it and the body reads it. */
static gboolean *
find_read (const Loop *l, const GArray *out)
{
  const LoomProgram *body = l->attrs.body;
  gboolean *read = g_new0 (gboolean, loom_program_n_values (body) + 1);

  for (guint o = 0; o < out->len; o++)
    read[g_array_index (out, LoomValue, o)] = TRUE;
  for (guint i = loom_program_n_instrs (body); i > 0; i--)
    {
      const LoomInstr *instr = loom_program_instr (body, i - 1);
      gboolean needed = FALSE;

      for (guint k = 0; k < instr->n_out; k++)
        needed = needed || (instr->out[k] != 0 && read[instr->out[k]] && !l->is_outside[instr->out[k]]);
      for (guint k = 0; needed && k < instr->n_in; k++)
        read[instr->in[k]] = TRUE;
    }
  return read;
}

/* Adds the body's inputs: carried values, then values computed outside that have this dependence and are read. */
static void
add_operands (const Loop *l, const gboolean *read, Dependence on, LoomBodyCall *call)
{
  for (LoomValue v = 1; v <= loom_program_n_values (l->attrs.body); v++)
    {
      gboolean is_input = loom_value_info (l->attrs.body, v)->input >= 0;

      if (l->on[v] != on || !(is_input || l->is_outside[v]) || !(read[v] || on == ON_CARRIED))
        continue;
      loom_body_call_add (call, v, l->outside[v]);
    }
}

/* Results that are stacks already need no loop. */
static void
emit_rest (Loop *l)
{
  const LoomProgram *body = l->attrs.body;
  guint before = l->attrs.n_carried + l->attrs.n_stacked, n_out = 0;
  g_autofree LoomValue *all = g_new0 (LoomValue, before + 1), *result = NULL;
  g_autofree gboolean *read = NULL;
  g_auto (LoomBodyCall) call;
  LoomScanAttrs attrs = l->attrs;

  loom_body_call_init (&call, 1);
  call.from[0] = loom_program_ref (l->attrs.body);
  for (guint o = 0; o < before; o++)
    {
      LoomValue v = loom_program_get_output (body, o)->value;

      if (o >= l->attrs.n_carried && l->is_outside[v] && l->on[v] == ON_ROWS)
        all[o] = l->outside[v];
      else
        g_array_append_val (call.out[0], v);
    }
  read = find_read (l, call.out[0]);
  add_operands (l, read, ON_CARRIED, &call);
  attrs.n_carried = call.in[0]->len;
  add_operands (l, read, ON_ROWS, &call);
  attrs.n_sequences = call.in[0]->len - attrs.n_carried;
  add_operands (l, read, LOOP_INVARIANT, &call);
  attrs.n_stacked = call.out[0]->len - attrs.n_carried;
  g_assert (attrs.n_carried == l->attrs.n_carried);
  loom_rewrite_set_origin (l->r, l->instr);
  result = loom_body_call_emit (&call, l->r->to, l->instr->prim, &attrs, call.out[0]->len);
  for (guint o = 0; o < before; o++)
    if (all[o] == 0)
      all[o] = result[n_out++];
  loom_rewrite_results (l->r, l->instr, all);
}

/* ---- the pass ----------------------------------------------------------------------- */

static void
hoist_loop (LoomRewrite *r, const LoomInstr *instr, const LoomValue *in)
{
  Loop l = { .r = r, .instr = instr, .attrs = *(const LoomScanAttrs *)instr->attrs, .in = in };
  g_autoptr (LoomProgram) body = hoist (l.attrs.body, 0, NULL);
  guint n = loom_program_n_values (body) + 1;

  l.attrs.body = body;
  l.on = g_new0 (Dependence, n);
  l.may_leave = g_new0 (gboolean, n);
  l.is_outside = g_new0 (gboolean, n);
  l.outside = g_new0 (LoomValue, n);
  l.is_hoisted = g_new0 (gboolean, loom_program_n_instrs (body) + 1);
  if (choose_instrs (&l))
    emit_taken (&l);
  emit_rest (&l);
  g_free (l.on);
  g_free (l.may_leave);
  g_free (l.is_outside);
  g_free (l.outside);
  g_free (l.is_hoisted);
}

static gboolean
has_bodies (const LoomProgram *p)
{
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    if (loom_prim_has_bodies (loom_program_instr (p, i)->prim))
      return TRUE;
  return FALSE;
}

static LoomProgram *
hoist_body (LoomProgram *body, gpointer data)
{
  return hoist (body, 0, NULL);
}

/* (transfer full) */
static LoomProgram *
hoist (const LoomProgram *p, guint n, LoomValue *values)
{
  LoomRewrite r = { 0 };

  if (!has_bodies (p))
    return loom_program_ref ((LoomProgram *)p);
  loom_rewrite_begin (&r, p, "loops",
                      "Computes values that do not depend on a loop's carried values for all iterations at once.");
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      g_autofree LoomValue *in = g_new0 (LoomValue, instr->n_in + 1);

      for (guint k = 0; k < instr->n_in; k++)
        in[k] = loom_rewrite_value (&r, instr->in[k]);
      if (can_hoist (instr))
        hoist_loop (&r, instr, in);
      else if (loom_prim_has_bodies (instr->prim))
        loom_rewrite_bodies (&r, instr, in, hoist_body, NULL);
      else
        loom_rewrite_copy (&r, instr, in);
    }
  for (guint i = 0; i < n; i++)
    values[i] = loom_rewrite_value (&r, values[i]);
  return loom_rewrite_end (&r);
}

LoomProgram *
loom_program_hoist (LoomProgram *p, guint n, LoomValue *values)
{
  return hoist (p, n, values);
}
