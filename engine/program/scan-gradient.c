/* The gradient of a scan: a scan in the other direction, backpropagation through time (Werbos, 1990).
 *
 * The body and the gradients of one iteration form a program (body-gradient.h), with the cotangents of the body's
 * results as further inputs. Values that the gradients read are kept: the forward scan gets them as additional stacked
 * results, and the backward body takes them as sequences. With `recompute` it takes the body's inputs and computes the
 * rest again. Cotangents of carried values are carried backwards.
 *
 * The gradient of a whole operand is a sum over iterations. If an iteration's summand is a product or a sum over rows,
 * the loop only stacks the factors, and one product over all iterations computes the sum. So an iteration does not read
 * and write the gradient of a weight. Other summands, and sums over rows that need an extra stack, are accumulated in a
 * carried value. */
#include "engine/program/scan-private.h"

static guint
index_of_sequence (const ScanGradient *s, guint k)
{
  return s->attrs.n_carried + k;
}

/* ---- one iteration and its gradients ---------------------------------------- */

static gboolean
differentiate_run (ScanGradient *s)
{
  g_autofree gboolean *of = g_new0 (gboolean, s->b.n_out + 1), *wanted = g_new0 (gboolean, s->n_in + 1);

  for (guint o = 0; o < s->b.n_out; o++)
    of[o] = o < s->attrs.n_carried || s->call->grad[o] != 0;
  for (guint i = 0; i < s->n_in; i++)
    wanted[i] = i < s->attrs.n_carried || s->call->needed[i];
  return body_gradient_differentiate (&s->b, of, wanted, s->call->error);
}

/* ---- gradients of whole operands -------------------------------------------- */

static const LoomInstr *
producer_of (const LoomProgram *p, LoomValue v)
{
  guint producer = loom_value_info (p, v)->producer;

  return producer == G_MAXUINT ? NULL : loom_program_instr (p, producer);
}

/* The instruction that computes the summand, before reshapes and casts. */
static const LoomInstr *
summand_producer (const LoomProgram *p, LoomValue v)
{
  const LoomInstr *instr = producer_of (p, v);

  while (instr != NULL && instr->prim->view != LOOM_VIEW_NEVER
         && loom_desc_count (value_desc (p, instr->in[0])) == loom_desc_count (value_desc (p, instr->out[0])))
    instr = producer_of (p, instr->in[0]);
  return instr;
}

/* The sum over iterations of an instruction's result, from stacks of its operands. */
static gboolean
sum_over_iterations (const LoomProgram *run, const LoomInstr *instr, LoomProgram *p, const LoomValue *stack,
                     LoomValue *sum)
{
  guint n = loom_instr_n_operands (instr);
  g_autofree LoomTensorDesc *in = g_new0 (LoomTensorDesc, n + 1);

  for (guint k = 0; k < n; k++)
    if (instr->in[k] == 0)
      return FALSE;
    else
      in[k] = *value_desc (run, instr->in[k]);
  return instr->prim->sum_over_iterations (p, instr->attrs, n, in, stack, sum);
}

/* Finds the factors of a summand if one call can sum their stacks; otherwise the sum is carried. */
static void
find_factors (ScanGradient *s, ScanTerm *t)
{
  const LoomInstr *instr = summand_producer (s->b.run, t->part);

  if (s->attrs.no_hoist || instr == NULL || instr->prim->sum_over_iterations == NULL
      || loom_instr_n_operands (instr) > G_N_ELEMENTS (t->factor)
      || !sum_over_iterations (s->b.run, instr, NULL, NULL, NULL))
    return;
  t->n_factors = loom_instr_n_operands (instr);
  for (guint k = 0; k < t->n_factors; k++)
    t->factor[k] = instr->in[k];
}

static void
add_terms (ScanGradient *s, guint operand, LoomValue part)
{
  const LoomInstr *instr = producer_of (s->b.run, part);
  ScanTerm t = { .operand = operand, .part = part };

  if (instr != NULL && instr->prim->scalar == LOOM_SCALAR_ADD && (instr->prim->flags & LOOM_PRIM_ELEMENTWISE)
      && loom_desc_same_shape (value_desc (s->b.run, instr->in[0]), value_desc (s->b.run, instr->in[1])))
    {
      add_terms (s, operand, instr->in[0]);
      add_terms (s, operand, instr->in[1]);
      return;
    }
  find_factors (s, &t);
  g_array_append_val (s->terms, t);
}

/* TRUE if the value is stacked anyway: as the factor of a product, or as the gradient of a sequence. */
static gboolean
is_stacked_anyway (const ScanGradient *s, LoomValue v)
{
  for (guint k = 0; k < s->attrs.n_sequences; k++)
    if (s->b.grad[index_of_sequence (s, k)] == v)
      return TRUE;
  for (guint k = 0; k < s->terms->len; k++)
    {
      const ScanTerm *t = &g_array_index (s->terms, ScanTerm, k);

      if (t->n_factors == 2 && (t->factor[0] == v || t->factor[1] == v))
        return TRUE;
    }
  return FALSE;
}

/* Carries sums over rows if only they would need a stack: such a sum takes the same time in each iteration as over all
 * iterations, so the stack would only cost memory. */
static void
carry_sums (ScanGradient *s)
{
  for (guint k = 0; k < s->terms->len; k++)
    {
      ScanTerm *t = &g_array_index (s->terms, ScanTerm, k);

      if (t->n_factors == 1 && !is_stacked_anyway (s, t->factor[0]))
        t->n_factors = 0;
    }
}

/* ---- the forward scan, extended ------------------------------------------------ */

/* Stacks of these values of the body, in the outer program: existing results or additional ones. */
static void
extend_forward (ScanGradient *s, guint n, const LoomValue *value, LoomValue *stack)
{
  const LoomInstr *instr = s->call->instr;
  g_autofree LoomValue *made = g_new0 (LoomValue, n + 1);
  LoomScanAttrs attrs = s->attrs;
  g_auto (LoomBodyCall) more;
  guint n_new = 0;

  loom_body_call_init (&more, 1);
  body_gradient_set_call (&s->b, &more, 0);
  for (guint k = 0; k < n; k++)
    if (scan_find_stacked (s, value[k]) == s->attrs.n_stacked)
      g_array_append_val (more.out[0], value[k]);
  attrs.n_stacked = more.out[0]->len - attrs.n_carried;
  if (attrs.n_stacked > s->attrs.n_stacked)
    loom_body_call_extend (&more, s->call->p, instr, &attrs, made);
  for (guint k = 0; k < n; k++)
    {
      guint o = scan_find_stacked (s, value[k]);

      stack[k] = o < s->attrs.n_stacked ? instr->out[s->attrs.n_carried + o] : made[n_new++];
    }
}

/* ---- the backward scan ----------------------------------------------------------- */

/* TRUE for the first carried term of its operand. The other terms are added to it, in the order of an unrolled
 * program. */
static gboolean
begins_sum (const ScanGradient *s, guint k)
{
  const ScanTerm *t = &g_array_index (s->terms, ScanTerm, k);

  for (guint before = 0; before < k; before++)
    if (g_array_index (s->terms, ScanTerm, before).operand == t->operand
        && g_array_index (s->terms, ScanTerm, before).n_factors == 0)
      return FALSE;
  return t->n_factors == 0;
}

/* Adds an iteration's summands to a sum, which is f32 if the summands are 16-bit floats. */
static LoomValue
add_parts (ScanGradient *s, LoomValue sum, guint operand)
{
  for (guint k = 0; k < s->terms->len; k++)
    {
      const ScanTerm *t = &g_array_index (s->terms, ScanTerm, k);

      if (t->operand == operand && t->n_factors == 0)
        sum = loom_binary (s->b.run, LOOM_SCALAR_ADD, sum,
                           loom_cast (s->b.run, t->part, value_desc (s->b.run, sum)->dtype));
    }
  return sum;
}

/* Adds the first inputs of the backward body: the cotangents of carried values, then the sums that no product outside
 * the loop can compute. */
static guint
add_carried (ScanGradient *s, LoomBodyCall *back)
{
  LoomProgram *p = s->call->p;

  for (guint k = 0; k < s->attrs.n_carried; k++)
    {
      LoomValue grad = s->b.grad[k];

      if (s->b.seed[k] == 0)
        continue;
      loom_body_call_add (back, s->b.seed[k],
                          s->call->grad[k] != 0 ? s->call->grad[k]
                                                : body_zeros_like (p, value_desc (s->b.run, s->b.seed[k])));
      if (grad == 0)
        grad = body_zeros_like (s->b.run, value_desc (s->b.run, s->b.seed[k]));
      g_array_append_val (back->out[0], grad);
    }
  for (guint k = 0; k < s->terms->len; k++)
    {
      const ScanTerm *t = &g_array_index (s->terms, ScanTerm, k);
      LoomTensorDesc d = *value_desc (s->b.run, t->part);
      g_autofree char *name = g_strdup_printf ("sum.%u", k);
      LoomValue sum, next;

      if (!begins_sum (s, k))
        continue;
      d.dtype = dtype_computed (d.dtype);
      sum = body_add_input (s->b.run, name, &d);
      next = add_parts (s, sum, t->operand);
      loom_body_call_add (back, sum, body_zeros_like (p, &d));
      g_array_append_val (back->out[0], next);
    }
  return back->in[0]->len;
}

static guint
add_sequences (ScanGradient *s, LoomBodyCall *back)
{
  const LoomInstr *instr = s->call->instr;
  guint first = back->in[0]->len, n = 0;
  g_autofree LoomValue *value = g_new0 (LoomValue, s->b.kept->len + s->attrs.n_carried + 1);
  g_autofree LoomValue *stack = g_new0 (LoomValue, s->b.kept->len + s->attrs.n_carried + 1);

  for (guint i = 0; i < s->attrs.n_carried; i++)
    if (s->reads[i])
      value[n++] = s->b.input[i];
  for (guint k = 0; k < s->b.kept->len; k++)
    value[n++] = g_array_index (s->b.kept, LoomValue, k);
  extend_forward (s, n, value, stack);
  for (guint k = 0; k < n; k++)
    loom_body_call_add (back, value[k], stack[k]);
  for (guint k = 0; k < s->attrs.n_sequences; k++)
    if (s->reads[index_of_sequence (s, k)])
      loom_body_call_add (back, s->b.input[index_of_sequence (s, k)], instr->in[index_of_sequence (s, k)]);
  for (guint k = 0; k < s->attrs.n_stacked; k++)
    if (s->stacked[k] != 0)
      loom_body_call_add (back, s->stacked[k], s->call->grad[s->attrs.n_carried + k]);
  return back->in[0]->len - first;
}

/* Finds the stack of a factor: a sequence of the backward scan, or a further result of it. */
static void
stack_factor (LoomBodyCall *back, guint n_carried, guint n_sequences, ScanTerm *t, guint k)
{
  GArray *out = back->out[0];

  for (guint i = n_carried; i < n_carried + n_sequences; i++)
    if (g_array_index (back->in[0], LoomValue, i) == t->factor[k])
      {
        t->stack[k] = g_array_index (back->operand, LoomValue, i);
        return;
      }
  for (guint i = n_carried; i < out->len; i++)
    if (g_array_index (out, LoomValue, i) == t->factor[k])
      {
        t->sequence[k] = i;
        return;
      }
  t->sequence[k] = out->len;
  g_array_append_val (out, t->factor[k]);
}

/* The sum of a term over all iterations. */
static LoomValue
sum_term (const ScanGradient *s, const ScanTerm *t, const LoomValue *result)
{
  LoomProgram *p = s->call->p;
  const LoomTensorDesc *d = value_desc (s->b.run, t->part);
  LoomValue stack[G_N_ELEMENTS (t->factor)], sum = 0;

  for (guint k = 0; k < t->n_factors; k++)
    stack[k] = t->stack[k] != 0 ? t->stack[k] : result[t->sequence[k]];
  sum_over_iterations (s->b.run, summand_producer (s->b.run, t->part), p, stack, &sum);
  return loom_cast (p, loom_reshape (p, sum, d->rank, d->dim), d->dtype);
}

static void
take_gradients (ScanGradient *s, guint n_sums_at, const LoomValue *result, const guint *stacked_at)
{
  const LoomGradCall *call = s->call;
  guint at = 0;

  for (guint k = 0; k < s->attrs.n_carried; k++)
    if (s->b.seed[k] != 0)
      call->in_grad[k] = result[at++];
  for (guint k = 0; k < s->attrs.n_sequences; k++)
    if (s->b.grad[index_of_sequence (s, k)] != 0)
      call->in_grad[index_of_sequence (s, k)] = result[stacked_at[k]];
  for (guint k = 0; k < s->terms->len; k++)
    {
      const ScanTerm *t = &g_array_index (s->terms, ScanTerm, k);
      LoomValue sum, *to = &call->in_grad[t->operand];

      if (t->n_factors == 0 && !begins_sum (s, k))
        continue;
      sum = t->n_factors > 0 ? sum_term (s, t, result)
                             : loom_cast (call->p, result[n_sums_at++], value_desc (s->b.run, t->part)->dtype);
      *to = *to == 0 ? sum : loom_binary (call->p, LOOM_SCALAR_ADD, *to, sum);
    }
}

static void
emit_backward (ScanGradient *s)
{
  g_autofree guint *stacked_at = g_new0 (guint, s->attrs.n_sequences + 1);
  g_autofree LoomValue *result = NULL;
  LoomScanAttrs attrs = { .length = s->attrs.length,
                          .reverse = !s->attrs.reverse,
                          .recompute = s->attrs.recompute,
                          .no_hoist = s->attrs.no_hoist };
  g_auto (LoomBodyCall) back;
  guint n_sums_at = 0;

  loom_body_call_init (&back, 1);
  back.from[0] = loom_program_ref (s->b.run);
  for (guint k = 0; k < s->attrs.n_carried; k++)
    n_sums_at += s->b.seed[k] != 0;
  attrs.n_carried = add_carried (s, &back);
  attrs.n_sequences = add_sequences (s, &back);
  for (guint k = 0; k < s->attrs.n_sequences; k++)
    {
      LoomValue grad = s->b.grad[index_of_sequence (s, k)];

      stacked_at[k] = back.out[0]->len;
      if (grad != 0)
        g_array_append_val (back.out[0], grad);
    }
  for (guint k = 0; k < s->terms->len; k++)
    for (guint f = 0; f < g_array_index (s->terms, ScanTerm, k).n_factors; f++)
      stack_factor (&back, attrs.n_carried, attrs.n_sequences, &g_array_index (s->terms, ScanTerm, k), f);
  attrs.n_stacked = back.out[0]->len - attrs.n_carried;
  for (guint i = s->n_in - s->n_whole; i < s->n_in; i++)
    if (s->reads[i])
      loom_body_call_add (&back, s->b.input[i], s->call->instr->in[i]);
  result = loom_body_call_emit (&back, s->call->p, s->call->instr->prim, &attrs, back.out[0]->len);
  take_gradients (s, n_sums_at, result, stacked_at);
}

gboolean
loom_scan_gradient (const LoomGradCall *call)
{
  ScanGradient s = { .call = call, .attrs = *(const LoomScanAttrs *)call->instr->attrs, .n_in = call->instr->n_in };
  gboolean ok;

  s.n_whole = s.n_in - s.attrs.n_carried - s.attrs.n_sequences;
  s.reads = g_new0 (gboolean, s.n_in + 1);
  s.terms = g_array_new (FALSE, TRUE, sizeof (ScanTerm));
  body_gradient_begin (&s.b, s.attrs.body);
  s.stacked = s.b.seed + s.attrs.n_carried;
  ok = differentiate_run (&s);
  if (ok)
    {
      for (guint i = s.n_in - s.n_whole; i < s.n_in; i++)
        if (s.b.grad[i] != 0)
          add_terms (&s, i, s.b.grad[i]);
      carry_sums (&s);
      scan_find_saved (&s);
      emit_backward (&s);
    }
  body_gradient_clear (&s.b);
  g_array_unref (s.terms);
  g_free (s.reads);
  return ok;
}
