/* Rematerialisation: recomputes cheap values for the backward pass instead of keeping them.
 *
 * A gradient often reads a value that one pass over memory can compute from values that are kept anyway. Examples are
 * the ReLU of a normalised convolution, a GELU, the result of a layer norm, and the sum at the end of a residual block.
 * Such a value is recomputed before the first gradient that reads it, and its bytes are free in between. A deep
 * convolutional net then keeps little more than its convolutions' results, for a small part of the convolutions' time.
 * No value is kept only to rematerialise another. (Chen et al. 2016 recompute whole segments; this pass repeats one or
 * two instructions.) */
#include "engine/plan/plan-private.h"

/* For smaller values recomputation costs more than it saves. */
#define MIN_BYTES (1 << 20)

static gboolean
is_norm (const PlanNode *instr)
{
  return node_is (instr, "batch_norm");
}

/* TRUE for a conversion to a smaller type, such as of weights for products. */
static gboolean
is_narrowing (PlanGraph *g, const PlanNode *instr)
{
  return node_is_step (instr, LOOM_SCALAR_ID)
         && loom_dtype_size (graph_value (g, node_out (instr, 0))->desc.dtype)
                < loom_dtype_size (graph_value (g, node_in (instr, 0))->desc.dtype);
}

/* TRUE for an instruction that reads and writes memory once. Conversions are excluded, because recomputing them saves
 * nothing: the result is smaller than the operand, or the operand has no other reader. */
static gboolean
is_one_pass (PlanGraph *g, const PlanNode *instr)
{
  return (instr->steps != NULL && !is_narrowing (g, instr)) || is_norm (instr)
         || (instr->prim != NULL && (instr->prim->flags & (LOOM_PRIM_ELEMENTWISE | LOOM_PRIM_ONE_PASS)) != 0
             && (instr->prim->flags & LOOM_PRIM_CONVERTS) == 0);
}

/* TRUE if an instruction of the backward pass or the update reads v or a view of it. Uses are in program order, so the
 * list is searched from its end. */
static gboolean
is_read_later (PlanGraph *g, guint v)
{
  for (const PlanUse *use = graph_value (g, v)->last_use; use != NULL; use = use->prev)
    if (use->instr != NULL ? use->instr->region != LOOM_REGION_FORWARD : is_read_later (g, use->at))
      return TRUE;
  return FALSE;
}

/* TRUE if v is a vector of parameters that is sharded over ranks (ZeRO-3): it is small, and recomputing it would take a
 * second exchange. */
static gboolean
is_gathered_vector (PlanGraph *g, guint v)
{
  const PlanNode *producer = graph_value (g, v)->producer;

  return producer != NULL && node_is (producer, "unshard") && graph_value (g, v)->desc.rank <= 1;
}

/* TRUE if v is alive until the backward pass in any case, or costs nothing to keep. */
static gboolean
is_kept (PlanGraph *g, guint v)
{
  const PlanValue *value;

  v = graph_root (g, v);
  value = graph_value (g, v);
  return is_gathered_vector (g, v) || value->slot >= 0 || value->input >= 0 || value->is_uniform || value->is_output
         || is_read_later (g, v);
}

/* The operands of the batch_norm_apply that recomputes the normalisation's result from its statistics; returns their
 * number. */
static guint
apply_operands (const PlanNode *norm, guint in[6])
{
  guint n = 3;

  in[0] = node_in (norm, 0);
  in[1] = node_out (norm, 1);
  in[2] = node_out (norm, 2);
  for (guint k = 1; k < norm->in->len; k++)
    if (node_in (norm, k) != 0)
      in[n++] = node_in (norm, k);
  return n;
}

static gboolean
has_apply_kernel (PlanGraph *g, const PlanNode *norm)
{
  PlanNode apply = { .prim = loom_prim ("batch_norm_apply"), .attrs = norm->attrs, .device_name = norm->device_name };
  guint in[6], n = apply_operands (norm, in), out = node_out (norm, 0);

  return graph_has_kernel (g, &apply, n, in, 1, &out);
}

/* The normalisation whose result a residual block adds to this one, if that result is not kept and one kernel can
 * recompute it. */
static PlanNode *
residual_norm (PlanGraph *g, const PlanNode *norm)
{
  guint r = node_norm_residual (norm);
  PlanNode *p = r != 0 && !is_kept (g, r) ? graph_value (g, r)->producer : NULL;

  return p != NULL && is_norm (p) && node_out (p, 0) == r && node_norm_residual (p) == 0 ? p : NULL;
}

static gboolean
can_rematerialise_norm (PlanGraph *g, const PlanNode *norm)
{
  for (guint k = 0; k < norm->in->len; k++)
    if (node_in (norm, k) != 0 && !is_kept (g, node_in (norm, k)))
      {
        const PlanNode *added = node_in (norm, k) == node_norm_residual (norm) ? residual_norm (g, norm) : NULL;

        if (added == NULL || !can_rematerialise_norm (g, added))
          return FALSE;
      }
  return is_kept (g, node_out (norm, 1)) && is_kept (g, node_out (norm, 2)) && has_apply_kernel (g, norm);
}

/* TRUE if an operand of element-wise work is kept, or is a normalisation's result that one kernel can recompute. */
static gboolean
can_rematerialise_operand (PlanGraph *g, guint v)
{
  const PlanNode *p = graph_value (g, v)->producer;

  return v == 0 || is_kept (g, v)
         || (p != NULL && is_norm (p) && node_out (p, 0) == v && can_rematerialise_norm (g, p));
}

static gboolean
can_rematerialise (PlanGraph *g, const PlanNode *instr)
{
  if (is_norm (instr))
    return can_rematerialise_norm (g, instr);
  for (guint k = 0; k < instr->in->len; k++)
    if (!can_rematerialise_operand (g, node_in (instr, k)))
      return FALSE;
  return instr->in->len > 0;
}

/* Finds the first instruction of the backward pass that reads y or a view of it; *first is NULL at first. FALSE if y
 * must be kept, because the update, the caller or a slot reads it. */
static gboolean
find_first_reader (PlanGraph *g, guint y, PlanNode **first)
{
  const PlanValue *value = graph_value (g, y);

  if (value->is_output || value->commit >= 0 || value->is_uniform)
    return FALSE;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL)
      {
        if (!find_first_reader (g, use->at, first))
          return FALSE;
      }
    else if (use->instr->region == LOOM_REGION_UPDATE)
      return FALSE;
    else if (use->instr->region == LOOM_REGION_BACKWARD && (*first == NULL || node_is_before (use->instr, *first)))
      *first = use->instr;
  return TRUE;
}

/* A new value of v's type and device, made in the backward pass. */
static guint
value_like (PlanGraph *g, guint v)
{
  guint like = graph_value_like (g, v);

  graph_value (g, like)->region = LOOM_REGION_BACKWARD;
  return like;
}

static PlanNode *
copy_of (PlanGraph *g, const PlanNode *instr, const LoomPrim *prim, PlanNode *before)
{
  PlanNode *copy = graph_insert (g, before, prim, instr->attrs);

  copy->compute = instr->compute;
  copy->pass = before->pass;
  copy->region = LOOM_REGION_BACKWARD;
  copy->origin = instr->origin;
  copy->device_name = instr->device_name;
  g_string_append_printf (copy->label, "%s rematerialised", instr->label->str);
  return copy;
}

/* Recomputes the normalised values from the statistics, which are kept. */
static guint
recompute_norm (PlanGraph *g, const PlanNode *norm, PlanNode *before)
{
  guint out = value_like (g, node_out (norm, 0)), in[6], n = apply_operands (norm, in);
  const PlanNode *added = residual_norm (g, norm);
  PlanNode *apply;

  if (added != NULL)
    in[n - 1] = recompute_norm (g, added, before);
  apply = copy_of (g, norm, loom_prim ("batch_norm_apply"), before);
  for (guint k = 0; k < n; k++)
    graph_add_in (g, apply, in[k]);
  graph_add_out (g, apply, out);
  return out;
}

/* Repeats the instruction for its first result, before `before`. */
static guint
repeat_instr (PlanGraph *g, const PlanNode *instr, PlanNode *before)
{
  g_autofree guint *now = g_new (guint, instr->in->len);
  PlanNode *copy;
  guint out = value_like (g, node_out (instr, 0));

  for (guint k = 0; k < instr->in->len; k++)
    {
      guint v = node_in (instr, k);

      now[k] = v == 0 || is_kept (g, v) ? v : recompute_norm (g, graph_value (g, v)->producer, before);
    }
  copy = copy_of (g, instr, instr->prim, before);
  if (instr->steps != NULL)
    {
      copy->steps = g_array_sized_new (FALSE, FALSE, sizeof (PlanStep), instr->steps->len);
      g_array_append_vals (copy->steps, instr->steps->data, instr->steps->len);
    }
  for (guint k = 0; k < instr->in->len; k++)
    {
      graph_add_in (g, copy, node_in (instr, k));
      graph_set_in (g, copy, k, now[k]);
    }
  /* The results of inner steps are names of registers, which two instructions may share; the last result needs a new
   * value. */
  for (guint s = 0; copy->steps != NULL && s < copy->steps->len; s++)
    if (node_step (copy, s)->result == node_out (instr, 0))
      node_step (copy, s)->result = out;
  graph_add_out (g, copy, out);
  for (guint o = 1; o < instr->out->len; o++)
    graph_add_out (g, copy, node_out (instr, o) != 0 ? value_like (g, node_out (instr, o)) : 0);
  return out;
}

/* Makes readers after the forward pass read `now` instead of y. */
static void
replace_later (PlanGraph *g, guint y, guint now)
{
  for (PlanUse *use = graph_value (g, y)->first_use, *next; use != NULL; use = next)
    {
      next = use->next;
      if (use->instr == NULL && is_read_later (g, use->at))
        {
          guint view = value_like (g, use->at);

          graph_set_alias (g, view, now);
          replace_later (g, use->at, view);
        }
      else if (use->instr != NULL && use->instr->region != LOOM_REGION_FORWARD)
        graph_set_in (g, use->instr, use->at, now);
    }
}

void
pass_rematerialise (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      PlanNode *first = NULL;
      guint y;

      if (instr->region != LOOM_REGION_FORWARD || !is_one_pass (g, instr) || node_out (instr, 0) == 0)
        continue;
      y = node_out (instr, 0);
      if (loom_desc_bytes (&graph_value (g, y)->desc) >= MIN_BYTES && find_first_reader (g, y, &first) && first != NULL
          && can_rematerialise (g, instr))
        replace_later (g, y, is_norm (instr) ? recompute_norm (g, instr, first) : repeat_instr (g, instr, first));
    }
}
