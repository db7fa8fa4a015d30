/* Batch normalisation with the ReLU behind it, forward and backward.
 *
 * A ReLU's gradient wants to know where the ReLU was open, which the normalisation can tell anew from its own input and
 * statistics, and those are kept anyway. So the pair becomes one pass each way, and its result need not outlive the
 * forward pass: where a later gradient does read it (a convolution's, for its weight), it is made again right before,
 * by a pass that costs a few per cent of the convolution. A deep convolutional net then keeps one tensor a layer, not
 * two (the idea of Rota Bulò et al. 2018, with the kept and the recomputed tensor exchanged). */
#include "engine/plan/plan-private.h"

#include <string.h>

/* Below this many bytes keeping costs less than making again. */
#define WORTH_MAKING_AGAIN (256 * 1024)

static gboolean
is_relu_step (const WorkInstr *instr, LoomScalarOp op, guint n_args)
{
  return instr->steps != NULL && instr->steps->len == 1 && g_array_index (instr->steps, WorkStep, 0).op == op
         && loom_scalar_arity (op) == (int)n_args;
}

/* The only living instruction that reads v, with v neither an output nor a state's next value; NULL otherwise. */
static WorkInstr *
only_reader (Work *w, guint v)
{
  const WorkValue *value = work_value (w, v);
  WorkInstr *found = NULL;

  if (value->n_uses != 1 || value->is_output || value->commit >= 0)
    return NULL;
  for (guint i = 0; i < w->instrs->len && found == NULL; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      for (guint k = 0; k < instr->in->len && !instr->dead && found == NULL; k++)
        if (work_in (instr, k) == v)
          found = instr;
    }
  return found;
}

/* The gradient of a normalisation takes the ReLU's cotangent itself. relu_grad(g, y) must be read by it alone. */
static void
open_gradients (Work *w, const WorkInstr *norm, guint y)
{
  const LoomNormAttrs *attrs = norm->attrs;

  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *gate = work_instr (w, i), *grad;
      const WorkStep *step;
      guint bias;

      if (gate->dead || !is_relu_step (gate, LOOM_SCALAR_RELU_GRAD, 2))
        continue;
      step = &g_array_index (gate->steps, WorkStep, 0);
      if (step->arg[1] != y || work_value (w, step->arg[0])->is_uniform)
        continue;
      grad = only_reader (w, work_out (gate, 0));
      if (grad == NULL || strcmp (grad->primitive, "batch_norm_grad") != 0 || work_in (grad, 0) != work_out (gate, 0)
          || work_in (grad, 1) != work_in (norm, 0) || work_in (grad, 2) != work_out (norm, 1)
          || ((LoomNormAttrs *)grad->attrs)->act != LOOM_SCALAR_ID
          || memcmp (work_value (w, step->arg[0])->desc.dim, work_value (w, y)->desc.dim,
                     (gsize)work_value (w, y)->desc.rank * sizeof (gint64))
                 != 0)
        continue;
      ((LoomNormAttrs *)grad->attrs)->act = LOOM_SCALAR_RELU;
      g_array_index (grad->in, guint, 0) = step->arg[0];
      if (attrs->affine)
        {
          bias = work_in (norm, 2);
          if (grad->in->len > 5)
            g_array_set_size (grad->in, 5);
          g_array_append_val (grad->in, bias);
        }
      g_string_append (grad->label, "+relu");
      gate->dead = TRUE;
    }
}

static void
fuse_relu (Work *w, WorkInstr *norm)
{
  LoomNormAttrs *attrs = norm->attrs;
  WorkInstr *relu = only_reader (w, work_out (norm, 0));
  guint y;

  if (relu == NULL || !is_relu_step (relu, LOOM_SCALAR_RELU, 1) || relu->device_name != norm->device_name)
    return;
  y = work_out (relu, 0);
  if (work_value (w, y)->desc.dtype != work_value (w, work_out (norm, 0))->desc.dtype)
    return;
  attrs->act = LOOM_SCALAR_RELU;
  g_array_index (norm->out, guint, 0) = y;
  for (guint i = 0; i < w->instrs->len; i++)
    if (work_instr (w, i) == norm)
      work_value (w, y)->producer = (int)i;
  relu->dead = TRUE;
  g_string_append (norm->label, "+relu");
  open_gradients (w, norm, y);
}

/* Makes y of a normalisation again in front of the first instruction of the backward pass that reads it. */
static WorkInstr *
make_again (Work *w, const WorkInstr *norm, guint first)
{
  const LoomNormAttrs *attrs = norm->attrs;
  guint y = work_out (norm, 0), again = work_new_value (w, &work_value (w, y)->desc, work_value (w, y));
  WorkInstr *apply = work_new_instr (w, "batch_norm_apply", attrs, norm->attrs_size);
  guint in[5] = { work_in (norm, 0), work_out (norm, 1), work_out (norm, 2) };

  if (attrs->affine)
    {
      in[3] = work_in (norm, 1);
      in[4] = work_in (norm, 2);
    }
  g_array_append_vals (apply->in, in, attrs->affine ? 5 : 3);
  g_array_append_val (apply->out, again);
  apply->prim = norm->prim; /* it is the same work but for the statistics */
  apply->region = LOOM_REGION_BACKWARD;
  apply->origin = norm->origin;
  apply->device_name = norm->device_name;
  g_string_append (apply->label, attrs->act == LOOM_SCALAR_RELU ? "+relu again" : " again");
  work_value (w, again)->region = LOOM_REGION_BACKWARD;
  work_value (w, again)->alias = 0;
  for (guint i = first; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      for (guint k = 0; k < instr->in->len && !instr->dead; k++)
        if (work_in (instr, k) == y)
          g_array_index (instr->in, guint, k) = again;
    }
  return apply;
}

/* Where the backward pass reads y directly and only in products with weights, the index of the first such reader; else
 * -1. An alias of y (a flatten) or element-wise work on it is left as it is. */
static int
first_late_reader (Work *w, guint y)
{
  int first = -1;

  if (work_value (w, y)->is_output || work_value (w, y)->commit >= 0)
    return -1;
  for (guint i = 0; i < w->instrs->len; i++)
    {
      const WorkInstr *instr = work_instr (w, i);

      for (guint k = 0; k < instr->in->len && !instr->dead; k++)
        {
          guint v = work_in (instr, k);

          if (v == 0 || work_root (w, v) != y || instr->region == LOOM_REGION_FORWARD)
            continue;
          if (v != y || strcmp (instr->primitive, "conv2d_weight_grad") != 0)
            return -1;
          if (first < 0)
            first = (int)i;
        }
    }
  return first;
}

void
work_fuse_norms (Work *w)
{
  g_autoptr (GHashTable) before = g_hash_table_new (NULL, NULL);
  GPtrArray *instrs;

  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);

      if (!instr->dead && strcmp (instr->primitive, "batch_norm") == 0)
        fuse_relu (w, instr);
    }
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *instr = work_instr (w, i);
      int first;

      if (instr->dead || instr->region != LOOM_REGION_FORWARD || strcmp (instr->primitive, "batch_norm") != 0
          || loom_desc_bytes (&work_value (w, work_out (instr, 0))->desc) < WORTH_MAKING_AGAIN)
        continue;
      first = first_late_reader (w, work_out (instr, 0));
      if (first >= 0)
        g_hash_table_insert (before, work_instr (w, (guint)first), make_again (w, instr, (guint)first));
    }
  if (g_hash_table_size (before) == 0)
    return;
  instrs = g_ptr_array_new_with_free_func ((GDestroyNotify)work_instr_free);
  for (guint i = 0; i < w->instrs->len; i++)
    {
      WorkInstr *apply = g_hash_table_lookup (before, work_instr (w, i));

      if (apply != NULL)
        g_ptr_array_add (instrs, apply);
      g_ptr_array_add (instrs, work_instr (w, i));
    }
  g_ptr_array_set_free_func (w->instrs, NULL);
  g_ptr_array_unref (w->instrs);
  w->instrs = instrs;
  for (guint i = 0; i < instrs->len; i++)
    for (guint k = 0; k < work_instr (w, i)->out->len && !work_instr (w, i)->dead; k++)
      if (work_out (work_instr (w, i), k) != 0)
        work_value (w, work_out (work_instr (w, i), k))->producer = (int)i;
}
