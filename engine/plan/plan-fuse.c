/* Fusion: bias and activation into products and convolutions, and chains of element-wise
 * work into one pass over memory.
 *
 * A step of a small network is bound by the number of kernels, a large one by the bytes that element-wise
 * work moves; both fall here. Fusion comes after differentiation, so a value that
 * the backward pass reads keeps its place: it has a second use and is left alone. */
#include "engine/plan/plan-private.h"

#include <string.h>

static WorkInstr *
producer_of (Work *w, guint v)
{
  int p = work_value (w, v)->producer;

  return p >= 0 && !work_instr (w, (guint)p)->dead ? work_instr (w, (guint)p) : NULL;
}

static gboolean
same_dims (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  return a->rank == b->rank && memcmp (a->dim, b->dim, (gsize)a->rank * sizeof a->dim[0]) == 0;
}

/* One reader of v less, and of what v is an alias of: counting anew after each merge would make planning quadratic. */
static void
forget_use (Work *w, guint v)
{
  guint root = work_root (w, v);

  work_value (w, v)->n_uses--;
  if (root != v)
    work_value (w, root)->n_uses--;
}

/* ---- epilogues -------------------------------------------------------- */

/* Whether v holds one number per output column (of a product) or channel (of a convolution), and nothing else: n
 * elements on the given axis counted from the end, 1 elsewhere. */
static gboolean
is_bias_shape (const LoomTensorDesc *d, gint64 n, int axis_from_end)
{
  if (d->rank <= axis_from_end)
    return FALSE;
  for (int i = 0; i < d->rank; i++)
    if (d->dim[i] != (i == d->rank - 1 - axis_from_end ? n : 1))
      return FALSE;
  return TRUE;
}

/* Gives `instr` the result of its consumer, which dies. */
static void
take_result (Work *w, WorkInstr *instr, guint index, WorkInstr *consumer)
{
  guint result = work_out (consumer, 0);

  work_value (w, work_out (instr, 0))->n_uses = 0;
  g_array_index (instr->out, guint, 0) = result;
  work_value (w, result)->producer = (int)index;
  consumer->dead = TRUE;
  g_string_append_printf (instr->label, "+%s", consumer->label->str);
}

/* Behind a short float only what commutes with rounding: a product then has the same bits with its activation and
 * without, as it is computed again for the backward pass. */
static gboolean
is_epilogue_activation (LoomScalarOp op, LoomDType dtype)
{
  if (dtype == LOOM_BF16 || dtype == LOOM_F16)
    return op == LOOM_SCALAR_RELU;
  return op == LOOM_SCALAR_RELU || op == LOOM_SCALAR_SIGMOID || op == LOOM_SCALAR_TANH || op == LOOM_SCALAR_GELU
         || op == LOOM_SCALAR_GELU_TANH;
}

/* A producer must not move past what comes between it and its consumer, but it need not: the result is only made
 * earlier than it was. What it must not do is read something that is made later (the bias). */
static gboolean
is_ready_before (Work *w, guint v, guint index)
{
  int p = work_value (w, work_root (w, v))->producer;

  return p < (int)index;
}

static void
fuse_epilogue (Work *w, const WorkReaders *readers, guint index)
{
  WorkInstr *instr = work_instr (w, index);
  gboolean conv = strcmp (instr->primitive, "conv2d") == 0;
  LoomScalarOp *act;
  bool *has_bias;
  guint at;

  if (conv)
    {
      act = &((LoomConv2dAttrs *)instr->attrs)->act;
      has_bias = &((LoomConv2dAttrs *)instr->attrs)->has_bias;
    }
  else
    {
      act = &((LoomMatmulAttrs *)instr->attrs)->act;
      has_bias = &((LoomMatmulAttrs *)instr->attrs)->has_bias;
    }
  for (;;)
    {
      guint v = work_out (instr, 0);
      WorkInstr *next = work_only_reader (w, readers, v, TRUE, &at);
      const LoomTensorDesc *d = &work_value (w, v)->desc;
      const WorkStep *step;
      guint other;

      if (*act != LOOM_SCALAR_ID || next == NULL || next->steps == NULL || next->steps->len != 1
          || next->device_name != instr->device_name)
        return;
      step = &g_array_index (next->steps, WorkStep, 0);
      if (!same_dims (&work_value (w, work_out (next, 0))->desc, d)
          || work_value (w, work_out (next, 0))->desc.dtype != d->dtype)
        return;
      if (loom_scalar_arity (step->op) == 1 && step->arg[0] == v && is_epilogue_activation (step->op, d->dtype))
        {
          *act = step->op;
          take_result (w, instr, index, next);
          return;
        }
      if (*has_bias || step->op != LOOM_SCALAR_ADD || (step->arg[0] != v && step->arg[1] != v))
        return;
      other = step->arg[0] == v ? step->arg[1] : step->arg[0];
      if (work_value (w, other)->is_uniform || work_value (w, other)->desc.dtype != d->dtype
          || !is_bias_shape (&work_value (w, other)->desc, d->dim[conv ? 1 : d->rank - 1], conv ? 2 : 0)
          || !is_ready_before (w, other, index))
        return;
      *has_bias = true;
      /* The kernels want the bias as a plain vector. */
      if (work_value (w, other)->desc.rank != 1)
        {
          LoomTensorDesc vector = { .dtype = d->dtype, .rank = 1, .dim = { d->dim[conv ? 1 : d->rank - 1] } };
          guint flat = work_new_value (w, &vector, work_value (w, other));

          work_value (w, flat)->alias = other;
          work_value (w, flat)->n_uses = 1;
          other = flat;
        }
      g_array_set_size (instr->in, 2); /* an absent bias may hold its place already */
      g_array_append_val (instr->in, other);
      take_result (w, instr, index, next);
    }
}

/* ---- chains ----------------------------------------------------------- */

static guint
count_outside_inputs (const WorkInstr *a, const WorkInstr *b, guint joint)
{
  guint n = a->in->len;

  for (guint i = 0; i < b->in->len; i++)
    {
      guint v = work_in (b, i);
      gboolean seen = v == joint;

      for (guint k = 0; k < a->in->len && !seen; k++)
        seen = work_in (a, k) == v;
      n += !seen;
    }
  return n;
}

/* How often instr reads v. */
static guint
count_reads (const WorkInstr *instr, guint v)
{
  guint n = 0;

  for (guint i = 0; i < instr->in->len; i++)
    n += work_in (instr, i) == v;
  return n;
}

/* Puts the work of `from`, whose one result only `into` reads, in front of into's. `from` moves to a later
 * place, which is safe: nobody else waits for it, and what it reads stays alive. */
static gboolean
merge_into (Work *w, WorkInstr *from, WorkInstr *into, guint joint)
{
  g_autoptr (GArray) inputs = NULL;
  const WorkValue *v = work_value (w, joint);

  if (from == into || from->steps == NULL || from->out->len != 1 || from->compute != into->compute
      || from->device_name != into->device_name || v->is_output || v->commit >= 0
      || v->n_uses != count_reads (into, joint) || !same_dims (&v->desc, &work_value (w, work_out (into, 0))->desc)
      || from->steps->len + into->steps->len > LOOM_EW_MAX_STEPS
      || count_outside_inputs (from, into, joint) > LOOM_EW_MAX_IN)
    return FALSE;

  g_array_prepend_vals (into->steps, from->steps->data, from->steps->len);
  inputs = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_vals (inputs, from->in->data, from->in->len);
  for (guint i = 0; i < into->in->len; i++)
    {
      guint x = work_in (into, i);
      gboolean seen = x == joint;

      for (guint k = 0; k < inputs->len && !seen; k++)
        if (g_array_index (inputs, guint, k) == x)
          {
            seen = TRUE;
            forget_use (w, x); /* both read it; one reader is left */
          }
      if (!seen)
        g_array_append_val (inputs, x);
    }
  g_array_set_size (into->in, 0);
  g_array_append_vals (into->in, inputs->data, inputs->len);
  g_string_prepend_c (into->label, ',');
  g_string_prepend (into->label, from->label->str);
  from->dead = TRUE;
  work_value (w, joint)->n_uses = 0;
  return TRUE;
}

static void
fuse_chain (Work *w, WorkInstr *instr)
{
  gboolean changed = TRUE;

  while (changed)
    {
      changed = FALSE;
      for (guint i = 0; i < instr->in->len && !changed; i++)
        {
          guint v = work_in (instr, i);
          WorkInstr *from = producer_of (w, v);

          changed = from != NULL && merge_into (w, from, instr, v);
        }
    }
}

/* Each operand once: merging relies on it. */
static void
drop_repeated_inputs (WorkInstr *instr)
{
  for (guint i = 0; i < instr->in->len; i++)
    for (guint k = i + 1; k < instr->in->len;)
      if (work_in (instr, k) == work_in (instr, i))
        g_array_remove_index (instr->in, k);
      else
        k++;
}

void
work_fuse (Work *w)
{
  g_autoptr (WorkReaders) readers = NULL;

  for (guint i = 0; i < w->instrs->len; i++)
    if (!work_instr (w, i)->dead && work_instr (w, i)->steps != NULL)
      drop_repeated_inputs (work_instr (w, i));
  work_count_uses (w);
  if (w->options.no_fusion)
    return;
  work_move_relus (w);
  work_count_uses (w);
  readers = work_readers_new (w);
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (!instr->dead && (strcmp (instr->primitive, "matmul") == 0 || strcmp (instr->primitive, "conv2d") == 0))
        fuse_epilogue (w, readers, i);
    }
  work_fuse_norms (w, readers);
  work_count_uses (w);
  work_settle_casts (w);
  for (guint i = 0; i < w->instrs->len; i++)
    if (!work_instr (w, i)->dead && work_instr (w, i)->steps != NULL)
      fuse_chain (w, work_instr (w, i));
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (!instr->dead && instr->steps != NULL && strchr (instr->label->str, ',') != NULL)
        {
          g_string_prepend (instr->label, "fused(");
          g_string_append_c (instr->label, ')');
        }
    }
  work_make_again (w);
  work_remove_dead (w);
  work_count_uses (w);
}
