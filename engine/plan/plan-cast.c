/* Fuses type conversions into the instruction that reads or writes the converted value.
 *
 * An element-wise kernel converts as it loads, so an f32 copy that only such kernels read is removed: each reads the
 * smaller type (bf16, a 1-byte mask), which is also what the backward pass keeps. A product accumulates in f32 anyway,
 * so if its result is wanted only in f32 (the gradient of a weight), it stores f32. Sums and layer norms read 16-bit
 * operands or write 16-bit results if their kernels can, and so do losses of logits and their gradients. */
#include "engine/plan/plan-private.h"

static gboolean
is_cast (const PlanNode *instr)
{
  return node_is_step (instr, LOOM_SCALAR_ID);
}

/* The conversion of v from a smaller type, if that is the only instruction that makes v; else NULL. */
static PlanNode *
find_upcast (PlanGraph *g, guint v)
{
  PlanNode *instr = graph_value (g, v)->producer;

  if (instr == NULL || !is_cast (instr)
      || loom_dtype_size (graph_value (g, node_in (instr, 0))->desc.dtype)
             >= loom_dtype_size (graph_value (g, v)->desc.dtype))
    return NULL;
  return instr;
}

/* Makes operand k the cast's operand. Returns FALSE and changes nothing if the device has no such kernel. */
static gboolean
fuse_cast (PlanGraph *g, PlanNode *instr, guint k, PlanNode *cast)
{
  guint v = node_in (instr, k), narrow = node_in (cast, 0), n = 0;
  g_autofree guint *in = g_new (guint, instr->in->len + 1);
  PlanStep step = *node_step (cast, 0);
  GArray *before = instr->steps;
  gboolean seen = FALSE;

  /* The step has a result of its own, because the f32 value may have another reader. */
  step.result = graph_new_value (g, &graph_value (g, v)->desc, graph_value (g, v));
  instr->steps = g_array_new (FALSE, FALSE, sizeof (PlanStep));
  g_array_append_val (instr->steps, step);
  g_array_append_vals (instr->steps, before->data, before->len);
  for (guint s = 1; s < instr->steps->len; s++)
    for (int a = 0; a < loom_scalar_arity (node_step (instr, s)->op); a++)
      if (node_step (instr, s)->arg[a] == v)
        node_step (instr, s)->arg[a] = step.result;
  for (guint i = 0; i < instr->in->len; i++)
    seen |= node_in (instr, i) == narrow;
  for (guint i = 0; i < instr->in->len; i++)
    if (i != k)
      in[n++] = node_in (instr, i);
    else if (!seen)
      in[n++] = narrow;
  if (!graph_has_kernel (g, instr, n, in, instr->out->len, (const guint *)(const void *)instr->out->data))
    {
      g_array_unref (instr->steps);
      instr->steps = before;
      return FALSE;
    }
  g_array_unref (before);
  if (seen)
    graph_drop_in (g, instr, k);
  else
    graph_set_in (g, instr, k, narrow);
  return TRUE;
}

void
pass_fuse_operand_casts (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    {
      if (instr->steps == NULL || instr->compute != LOOM_F32)
        continue;
      for (guint k = 0; k < instr->in->len;)
        {
          PlanNode *cast = find_upcast (g, node_in (instr, k));
          guint n = instr->in->len;

          /* Repeats for a conversion of a conversion, down to the smallest type. */
          if (cast == NULL || cast == instr || instr->steps->len == LOOM_EW_MAX_STEPS
              || cast->device_name != instr->device_name || !fuse_cast (g, instr, k, cast))
            k++;
          else if (instr->in->len == n)
            continue;
        }
    }
}

PlanNode *
graph_only_upcast (PlanGraph *g, guint v, const char *device_name)
{
  const LoomTensorDesc *d = &graph_value (g, v)->desc, *wide;
  PlanNode *reader;

  if (d->dtype != LOOM_BF16 && d->dtype != LOOM_F16)
    return NULL;
  reader = graph_only_reader (g, v, TRUE);
  if (reader == NULL || !is_cast (reader) || reader->device_name != device_name)
    return NULL;
  wide = &graph_value (g, node_out (reader, 0))->desc;
  return wide->dtype == LOOM_F32 && plan_same_dims (wide, d) ? reader : NULL;
}

/* If result o of a product is only converted to f32, makes the product store f32, which it has before it rounds. For
 * other primitives rounding is part of the result. */
static void
store_f32 (PlanGraph *g, PlanNode *instr, guint o)
{
  const guint v = node_out (instr, o);
  PlanNode *reader = v != 0 ? graph_only_upcast (g, v, instr->device_name) : NULL;
  g_autofree guint *in = g_new (guint, instr->in->len + 1), *out = g_new (guint, instr->out->len + 1);

  if (reader == NULL)
    return;
  for (guint k = 0; k < instr->in->len; k++)
    in[k] = node_in (instr, k);
  for (guint k = 0; k < instr->out->len; k++)
    out[k] = k == o ? node_out (reader, 0) : node_out (instr, k);
  if (!graph_has_kernel (g, instr, instr->in->len, in, instr->out->len, out))
    return;
  graph_set_out (g, instr, o, node_out (reader, 0));
  graph_erase (g, reader);
}

void
pass_f32_results (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "conv2d_weight_grad")
        || (node_is (instr, "matmul") && ((const LoomMatmulAttrs *)instr->attrs)->act == LOOM_SCALAR_ID))
      for (guint o = 0; o < instr->out->len; o++)
        store_f32 (g, instr, o);
}

/* A new value of v's shape in another type. */
static guint
value_in_type (PlanGraph *g, guint v, LoomDType dtype)
{
  LoomTensorDesc desc = graph_value (g, v)->desc;

  desc.dtype = dtype;
  return graph_new_value (g, &desc, graph_value (g, v));
}

/* Makes a sum read 16-bit floats that were converted to f32 for it alone, perhaps in another shape. */
static void
read_16bit (PlanGraph *g, PlanNode *instr)
{
  guint seen = node_in (instr, 0), wide = graph_root (g, seen), narrow, out = node_out (instr, 0);
  PlanNode *cast = find_upcast (g, wide);
  LoomDType from = cast != NULL ? graph_value (g, node_in (cast, 0))->desc.dtype : LOOM_F32;

  if (cast == NULL || cast->device_name != instr->device_name || graph_only_reader (g, wide, TRUE) != instr
      || (from != LOOM_BF16 && from != LOOM_F16))
    return;
  narrow = value_in_type (g, seen, from);
  if (!graph_has_small_kernel (g, instr, 1, &narrow, 1, &out, loom_desc_bytes (&graph_value (g, wide)->desc)))
    return;
  graph_set_alias (g, narrow, node_in (cast, 0));
  graph_set_in (g, instr, 0, narrow);
}

/* Makes a layer norm, or a gradient of logits, write the 16-bit floats to which its f32 result is only converted,
 * perhaps in another shape. */
static void
write_16bit (PlanGraph *g, PlanNode *instr)
{
  guint wide = node_out (instr, 0), narrow, rounded;
  PlanNode *reader = wide != 0 ? graph_only_reader (g, wide, TRUE) : NULL;
  g_autofree guint *in = NULL, *out = NULL;
  LoomDType to;

  if (reader == NULL || !is_cast (reader) || reader->device_name != instr->device_name
      || graph_value (g, wide)->desc.dtype != LOOM_F32)
    return;
  rounded = node_out (reader, 0);
  to = graph_value (g, rounded)->desc.dtype;
  if ((to != LOOM_BF16 && to != LOOM_F16) || graph_value (g, rounded)->is_output
      || graph_value (g, rounded)->commit >= 0)
    return;
  narrow = value_in_type (g, wide, to);
  in = g_new (guint, instr->in->len + 1);
  out = g_new (guint, instr->out->len + 1);
  for (guint k = 0; k < instr->in->len; k++)
    in[k] = node_in (instr, k);
  for (guint k = 0; k < instr->out->len; k++)
    out[k] = k == 0 ? narrow : node_out (instr, k);
  if (!graph_has_small_kernel (g, instr, instr->in->len, in, instr->out->len, out,
                               loom_desc_bytes (&graph_value (g, wide)->desc)))
    return;
  graph_set_out (g, instr, 0, narrow);
  graph_erase (g, reader);
  graph_set_alias (g, rounded, narrow);
}

void
pass_fuse_sum_casts (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "reduce"))
      read_16bit (g, instr);
    else if (node_is (instr, "layer_norm"))
      write_16bit (g, instr);
}

/* ---- logits ----------------------------------------------------------------------------------- */

/* Adds all readers of v or its views; FALSE if not all are instructions. */
static gboolean
add_readers (PlanGraph *g, guint v, GPtrArray *readers)
{
  const PlanValue *value = graph_value (g, v);

  if (value->is_output || value->commit >= 0)
    return FALSE;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr != NULL)
      g_ptr_array_add (readers, use->instr);
    else if (!add_readers (g, use->at, readers))
      return FALSE;
  return TRUE;
}

/* TRUE if the reader of a loss's converted logits has a kernel for the unconverted ones. */
static gboolean
can_read_16bit_logits (PlanGraph *g, const PlanNode *reader, const PlanNode *cast)
{
  const guint wide = node_out (cast, 0), v = node_in (reader, 0);
  g_autofree guint *in = g_new (guint, reader->in->len + 1);

  if (reader->device_name != cast->device_name
      || (!node_is (reader, "cross_entropy") && !node_is (reader, "cross_entropy_grad")
          && !node_is (reader, "argreduce")))
    return FALSE;
  for (guint k = 0; k < reader->in->len; k++)
    {
      in[k] = node_in (reader, k);
      if ((in[k] != 0 && graph_root (g, in[k]) == wide) != (k == 0))
        return FALSE;
    }
  in[0] = value_in_type (g, v, graph_value (g, node_in (cast, 0))->desc.dtype);
  return graph_has_small_kernel (g, reader, reader->in->len, in, reader->out->len,
                                 (const guint *)(const void *)reader->out->data,
                                 loom_desc_bytes (&graph_value (g, wide)->desc));
}

/* Makes a loss read 16-bit logits if no reader needs them in f32: the product writes 2 bytes a logit instead of 4, and
 * each reader reads 2. The numbers are those of the unfused plan, although store_f32() would make them more precise. */
static void
read_16bit_logits (PlanGraph *g, const PlanNode *loss)
{
  const guint wide = graph_root (g, node_in (loss, 0));
  const PlanNode *cast = find_upcast (g, wide);
  g_autoptr (GPtrArray) readers = g_ptr_array_new ();
  LoomDType from;

  if (cast == NULL || !add_readers (g, wide, readers))
    return;
  from = graph_value (g, node_in (cast, 0))->desc.dtype;
  if ((from != LOOM_BF16 && from != LOOM_F16) || graph_value (g, wide)->desc.dtype != LOOM_F32)
    return;
  for (guint i = 0; i < readers->len; i++)
    if (!can_read_16bit_logits (g, readers->pdata[i], cast))
      return;
  for (guint i = 0; i < readers->len; i++)
    {
      PlanNode *reader = readers->pdata[i];
      const guint narrow = value_in_type (g, node_in (reader, 0), from);

      graph_set_alias (g, narrow, node_in (cast, 0));
      graph_set_in (g, reader, 0, narrow);
    }
}

void
pass_read_16bit_logits (PlanGraph *g)
{
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "cross_entropy_grad"))
      write_16bit (g, instr);
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "cross_entropy"))
      read_16bit_logits (g, instr);
}
