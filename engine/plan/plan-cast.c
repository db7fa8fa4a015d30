/* Fuses type conversions into the instruction that reads or writes the converted value.
 *
 * An element-wise kernel converts as it loads, so an f32 copy that only such kernels read is removed: each reads the
 * smaller type (bf16, a 1-byte mask), which is also what the backward pass keeps. A product accumulates in f32 anyway,
 * so if its result is wanted only in f32 (the gradient of a weight), it stores f32. Sums and layer norms read 16-bit
 * operands or write 16-bit results if their kernels can, and so do losses of logits and their gradients. */
#include "engine/plan/plan-pattern.h"

static gboolean
is_cast (const PlanNode *instr)
{
  return node_is_step (instr, LOOM_SCALAR_ID);
}

static const LoomTensorDesc *
desc_of (PlanGraph *g, guint v)
{
  return &graph_value (g, v)->desc;
}

/* TRUE if the conversion is from a smaller type. */
static gboolean
is_upcast (PlanGraph *g, const PlanNode *cast)
{
  return loom_dtype_size (desc_of (g, node_in (cast, 0))->dtype)
         < loom_dtype_size (desc_of (g, node_out (cast, 0))->dtype);
}

static gboolean
is_16bit (LoomDType dtype)
{
  return dtype == LOOM_BF16 || dtype == LOOM_F16;
}

/* ---- operands ----------------------------------------------------------------- */

/* Makes the operand the conversion's. The step has a result of its own, because the f32 value may have another
 * reader. */
static gboolean
fuse_operand (PlanRewrite *r)
{
  const guint v = rewrite_in (r, r->at), from = node_in (r->other, 0);
  PlanStep step = *node_step (r->other, 0);
  gboolean has = FALSE;

  if (r->root->compute != LOOM_F32 || !is_upcast (r->g, r->other) || r->steps->len == LOOM_EW_MAX_STEPS)
    return FALSE;
  step.result = graph_value_like (r->g, v);
  for (guint s = 0; s < r->steps->len; s++)
    {
      PlanStep *to = &g_array_index (r->steps, PlanStep, s);

      for (int a = 0; a < loom_scalar_arity (to->op); a++)
        if (to->arg[a] == v)
          to->arg[a] = step.result;
    }
  g_array_prepend_val (r->steps, step);
  for (guint k = 0; k < r->in->len; k++)
    has = has || rewrite_in (r, k) == from;
  if (has)
    g_array_remove_index (r->in, r->at);
  else
    rewrite_set_in (r, r->at, from);
  return TRUE;
}

const PlanPattern patterns_of_operand_casts[] = {
  { .other = PATTERN_STEP (LOOM_SCALAR_ID),
    .find = pattern_producer,
    .last = PATTERN_EACH,
    .flags = PATTERN_KEEPS_OTHER,
    .rewrite = fuse_operand },
  { .rewrite = NULL },
};

/* ---- results of products --------------------------------------------------------- */

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

/* If a result of a product is only converted to f32, makes the product store f32, which it has before it rounds. For
 * other primitives rounding is part of the result. */
static gboolean
store_f32 (PlanRewrite *r)
{
  if (node_is (r->root, "matmul") && ((const LoomMatmulAttrs *)r->attrs)->act != LOOM_SCALAR_ID)
    return FALSE;
  rewrite_set_out (r, r->at, node_out (r->other, 0));
  return graph_only_upcast (r->g, node_out (r->root, r->at), r->root->device_name) == r->other;
}

const PlanPattern patterns_of_f32_results[] = {
  { .root = PATTERN_CALL ("conv2d_weight_grad", "matmul"),
    .other = PATTERN_STEP (LOOM_SCALAR_ID),
    .find = pattern_reader_of_bytes,
    .last = PATTERN_EACH,
    .rewrite = store_f32 },
  { .rewrite = NULL },
};

/* ---- sums, layer norms and gradients of logits ----------------------------------- */

/* A new value of v's shape in another type. */
static guint
value_in_type (PlanGraph *g, guint v, LoomDType dtype)
{
  LoomTensorDesc desc = graph_value (g, v)->desc;

  desc.dtype = dtype;
  return graph_new_value (g, &desc, graph_value (g, v));
}

/* Makes a sum read 16-bit floats that were converted to f32 for it alone, perhaps in another shape. */
static gboolean
read_16bit (PlanRewrite *r)
{
  const guint v = rewrite_in (r, 0), wide = node_out (r->other, 0);
  const LoomDType from = desc_of (r->g, node_in (r->other, 0))->dtype;

  if (!is_upcast (r->g, r->other) || !is_16bit (from) || graph_only_reader (r->g, wide, TRUE) != r->root)
    return FALSE;
  rewrite_set_in (r, 0, value_in_type (r->g, v, from));
  r->max_scratch = loom_desc_bytes (desc_of (r->g, wide));
  return TRUE;
}

static void
view_operand (PlanRewrite *r)
{
  graph_set_alias (r->g, rewrite_in (r, 0), node_in (r->other, 0));
}

/* Makes a layer norm, or a gradient of logits, write the 16-bit floats to which its f32 result is only converted,
 * perhaps in another shape. */
static gboolean
write_16bit (PlanRewrite *r)
{
  const guint wide = rewrite_out (r, 0);
  const PlanValue *rounded = graph_value (r->g, node_out (r->other, 0));

  if (desc_of (r->g, wide)->dtype != LOOM_F32 || !is_16bit (rounded->desc.dtype) || rounded->is_output
      || rounded->commit >= 0)
    return FALSE;
  rewrite_set_out (r, 0, value_in_type (r->g, wide, rounded->desc.dtype));
  r->max_scratch = loom_desc_bytes (desc_of (r->g, wide));
  return TRUE;
}

static void
view_result (PlanRewrite *r)
{
  graph_set_alias (r->g, node_out (r->other, 0), node_out (r->root, 0));
}

#define WRITES_16BIT(primitive)                                                                                        \
  {                                                                                                                    \
    .root = PATTERN_CALL (primitive), .other = PATTERN_STEP (LOOM_SCALAR_ID), .find = pattern_reader_of_bytes,         \
    .rewrite = write_16bit, .applied = view_result                                                                     \
  }

const PlanPattern patterns_of_sum_casts[] = {
  { .root = PATTERN_CALL ("reduce"),
    .other = PATTERN_STEP (LOOM_SCALAR_ID),
    .find = pattern_producer_of_bytes,
    .flags = PATTERN_KEEPS_OTHER,
    .rewrite = read_16bit,
    .applied = view_operand },
  WRITES_16BIT ("layer_norm"),
  { .rewrite = NULL },
};

static const PlanPattern patterns_of_logit_gradients[] = {
  WRITES_16BIT ("cross_entropy_grad"),
  { .rewrite = NULL },
};

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

/* Makes a reader of a loss's converted logits read the unconverted ones; FALSE if it is no such reader. */
static gboolean
read_logits (PlanRewrite *r, const PlanNode *cast)
{
  static const char *const kinds[] = { "cross_entropy", "cross_entropy_grad", "argreduce" };
  const guint wide = node_out (cast, 0);
  gboolean is_reader = FALSE;

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    is_reader = is_reader || node_is (r->root, kinds[i]);
  for (guint k = 0; k < r->in->len && is_reader; k++)
    is_reader = (rewrite_in (r, k) != 0 && graph_root (r->g, rewrite_in (r, k)) == wide) == (k == 0);
  if (!is_reader || r->root->device_name != cast->device_name)
    return FALSE;
  rewrite_set_in (r, 0, value_in_type (r->g, rewrite_in (r, 0), desc_of (r->g, node_in (cast, 0))->dtype));
  r->max_scratch = loom_desc_bytes (desc_of (r->g, wide));
  return plan_rewrite_has_kernel (r);
}

/* Makes a loss read 16-bit logits if no reader needs them in f32: the product writes 2 bytes a logit instead of 4, and
 * each reader reads 2. The numbers are those of the unfused plan, although store_f32() would make them more precise. */
static void
read_16bit_logits (PlanGraph *g, const PlanNode *loss)
{
  const PlanNode *cast = pattern_producer_of_bytes (g, loss, 0);
  g_autoptr (GPtrArray) readers = g_ptr_array_new ();
  g_autofree PlanRewrite *calls = NULL;
  guint n = 0;

  if (cast == NULL || !is_cast (cast) || !is_upcast (g, cast) || !is_16bit (desc_of (g, node_in (cast, 0))->dtype)
      || desc_of (g, node_out (cast, 0))->dtype != LOOM_F32 || !add_readers (g, node_out (cast, 0), readers))
    return;
  calls = g_new0 (PlanRewrite, readers->len + 1);
  do
    plan_rewrite_begin (&calls[n], g, readers->pdata[n]);
  while (read_logits (&calls[n], cast) && ++n < readers->len);
  for (guint i = 0; i < readers->len; i++)
    {
      if (n == readers->len)
        {
          graph_set_alias (g, rewrite_in (&calls[i], 0), node_in (cast, 0));
          plan_rewrite_apply (&calls[i]);
        }
      plan_rewrite_clear (&calls[i]);
    }
}

void
pass_read_16bit_logits (PlanGraph *g)
{
  graph_apply_patterns (g, patterns_of_logit_gradients);
  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "cross_entropy"))
      read_16bit_logits (g, instr);
}
