/* Pads the rows of logits beyond the number of classes. The tensor cores of a GPU need rows that begin at multiples of
 * 16 bytes. With 50,257 classes they do not, and products that make or read the logits use kernels that load single
 * elements: several times slower (measured in tests/cuda/RESULTS.md).
 *
 * So logits get columns up to a multiple of eight. The weight is copied with additional rows of zeros, losses and
 * argmax ignore the additional columns (LoomCrossEntropyAttrs.classes), the gradient of the logits is 0 there, and sums
 * over rows (the gradients of weight and bias) are cut to size, as views if possible (plan-view-slices.c). The result
 * is exact if the rows are finite, because additional columns are multiplied only by zeros.
 *
 * The pass applies if all readers of the logits, or of values computed from them, are of these kinds, and if
 * element-wise instructions cannot make infinities of zeros. */
#include "engine/plan/plan-private.h"

#define UNIT        8   /* elements: 16 bytes of 16-bit floats */
#define MIN_CLASSES 256 /* for fewer classes products are cheap compared with the copies */
#define MIN_LOGITS  (1 << 20)

typedef struct
{
  PlanLogits s;
  gint64 padded;             /* a row's length */
  GHashTable *padded_copies; /* padded copies, by operand with the axis in the lowest bit */
} Pad;

static gboolean
is_logits (const Pad *p, guint v)
{
  return plan_logits_has (&p->s, v);
}

static gboolean
is_full (const Pad *p, guint v)
{
  return plan_logits_is_rows_by (&p->s, v, p->s.classes);
}

/* TRUE if v is one number for each class. */
static gboolean
is_by_class (const Pad *p, guint v)
{
  const LoomTensorDesc *d = &graph_value (p->s.g, v)->desc;

  return d->rank > 0 && d->dim[d->rank - 1] == p->s.classes && loom_desc_count (d) == p->s.classes;
}

static gboolean
is_matrix (const Pad *p, guint v)
{
  return graph_value (p->s.g, v)->desc.rank == 2;
}

/* ---- conditions --------------------------------------------------------------- */

/* TRUE if its steps compute finite numbers from zeros and finite numbers. */
static gboolean
keeps_finite (const Pad *p, const PlanNode *instr)
{
  for (guint s = 0; s < instr->steps->len; s++)
    switch (node_step (instr, s)->op)
      {
      case LOOM_SCALAR_ID:
      case LOOM_SCALAR_CONST:
      case LOOM_SCALAR_NEG:
      case LOOM_SCALAR_ADD:
      case LOOM_SCALAR_SUB:
      case LOOM_SCALAR_MUL:
      case LOOM_SCALAR_TANH:
      case LOOM_SCALAR_TANH_GRAD:
        break;
      /* The divisor must be a single number: if that is 0, the unpadded logits are not finite either. */
      case LOOM_SCALAR_DIV:
        if (loom_desc_count (&graph_value (p->s.g, node_step (instr, s)->arg[1])->desc) != 1)
          return FALSE;
        break;
      default:
        return FALSE;
      }
  return TRUE;
}

static gboolean
can_pad_elementwise (const Pad *p, const PlanNode *instr)
{
  if (!keeps_finite (p, instr) || instr->out->len != 1)
    return FALSE;
  for (guint k = 0; k < instr->in->len; k++)
    {
      const guint v = node_in (instr, k);
      const LoomTensorDesc *d = &graph_value (p->s.g, v)->desc;

      if (!is_full (p, v) && d->rank > 0 && d->dim[d->rank - 1] != 1 && !is_by_class (p, v))
        return FALSE;
    }
  return TRUE;
}

static gboolean
can_pad_product (const Pad *p, const PlanNode *instr)
{
  const LoomMatmulAttrs *a = instr->attrs;
  const gboolean first = is_logits (p, node_in (instr, 0)), second = is_logits (p, node_in (instr, 1));

  if (a->act != LOOM_SCALAR_ID || instr->out->len != 1 || !is_matrix (p, node_in (instr, 0))
      || !is_matrix (p, node_in (instr, 1)) || !is_matrix (p, node_out (instr, 0)))
    return FALSE;
  if (is_logits (p, node_out (instr, 0)))
    return !first && !second;
  return !a->has_bias && first != second && (first || !a->trans_b);
}

static gboolean
can_pad (const Pad *p, const PlanNode *instr)
{
  if (instr->device_name != p->s.device_name)
    return FALSE;
  if (instr->steps != NULL)
    return can_pad_elementwise (p, instr);
  if (node_is (instr, "matmul"))
    return can_pad_product (p, instr);
  /* A receive from another rank has no operands. */
  if (instr->in->len == 0 || !is_logits (p, node_in (instr, 0)) || !is_full (p, node_in (instr, 0)))
    return FALSE;
  if (node_is (instr, "reduce"))
    {
      const LoomReduceAttrs *a = instr->attrs;

      return a->op == LOOM_REDUCE_SUM
             && a->axes == (1u << (graph_value (p->s.g, node_in (instr, 0))->desc.rank - 1)) - 1;
    }
  if (!is_matrix (p, node_in (instr, 0)))
    return FALSE;
  if (node_is (instr, "argreduce"))
    return ((const LoomArgReduceAttrs *)instr->attrs)->axis == 1;
  return node_is (instr, "cross_entropy") || node_is (instr, "cross_entropy_grad");
}

/* The attribute with the number of classes in a row, or NULL. */
static gint64 *
classes_of (const PlanNode *instr)
{
  if (node_is (instr, "cross_entropy") || node_is (instr, "cross_entropy_grad"))
    return &((LoomCrossEntropyAttrs *)instr->attrs)->classes;
  return node_is (instr, "argreduce") ? &((LoomArgReduceAttrs *)instr->attrs)->classes : NULL;
}

/* TRUE if its device can ignore extra columns. */
static gboolean
can_ignore_columns (Pad *p, PlanNode *instr)
{
  gint64 *classes = classes_of (instr);
  g_autofree guint *in = g_new (guint, instr->in->len + 1);
  gboolean has;

  if (classes == NULL)
    return TRUE;
  for (guint k = 0; k < instr->in->len; k++)
    in[k] = node_in (instr, k);
  *classes = p->s.classes - 1;
  has = graph_has_kernel (p->s.g, instr, instr->in->len, in, instr->out->len,
                          (const guint *)(const void *)instr->out->data);
  *classes = 0;
  return has;
}

/* ---- padding ---------------------------------------------------------------------------------- */

/* Pads operand k with zeros along its axis of classes. */
static void
pad_operand (Pad *p, PlanNode *instr, guint k, int axis)
{
  const guint v = node_in (instr, k);
  const gpointer key = GUINT_TO_POINTER (v * 2 + (guint)(axis == 0));
  guint padded_copies = GPOINTER_TO_UINT (g_hash_table_lookup (p->padded_copies, key));

  if (padded_copies == 0)
    {
      LoomTensorDesc desc = graph_value (p->s.g, v)->desc;
      LoomPadTo to = { .to = { .rank = desc.rank } };
      PlanNode *first = p->s.instrs->pdata[0], *pad;

      desc.dim[axis] = p->padded;
      for (int i = 0; i < desc.rank; i++)
        {
          to.kernel.step[i] = 1;
          to.to.dim[i] = desc.dim[i];
        }
      padded_copies = graph_new_value (p->s.g, &desc, graph_value (p->s.g, v));
      /* The copy is inserted before all instructions of the head if the operand is available there, so that the chunks
       * of a head can share it. */
      pad = graph_insert_like (p->s.g, graph_is_ready (p->s.g, v, first) ? first : instr, instr, loom_prim ("pad"), &to,
                               "pad");
      graph_add_in (p->s.g, pad, v);
      graph_add_out (p->s.g, pad, padded_copies);
      g_hash_table_insert (p->padded_copies, key, GUINT_TO_POINTER (padded_copies));
    }
  graph_set_in (p->s.g, instr, k, padded_copies);
}

/* The conversion that is the only reader of a product, so that the product will write the converted type itself
 * (plan-cast.c); or NULL. */
static PlanNode *
find_cast (Pad *p, const PlanNode *instr)
{
  const guint v = node_out (instr, 0);
  PlanNode *reader = graph_only_reader (p->s.g, v, TRUE);

  return reader != NULL && node_is_step (reader, LOOM_SCALAR_ID) && node_in (reader, 0) == v
                 && reader->device_name == instr->device_name
                 && plan_same_dims (&graph_value (p->s.g, node_out (reader, 0))->desc, &graph_value (p->s.g, v)->desc)
             ? reader
             : NULL;
}

/* A new value of v's type with a padded axis. */
static guint
padded_value (Pad *p, guint v, int axis)
{
  LoomTensorDesc desc = graph_value (p->s.g, v)->desc;

  desc.dim[axis] = p->padded;
  return graph_new_value (p->s.g, &desc, graph_value (p->s.g, v));
}

/* Pads a result along its axis of classes, and cuts it to size after it, or after its conversion. */
static void
pad_result (Pad *p, PlanNode *instr, int axis)
{
  PlanNode *cast = find_cast (p, instr), *last = cast != NULL ? cast : instr, *slice;
  const guint v = node_out (last, 0);
  const LoomTensorDesc desc = graph_value (p->s.g, v)->desc;
  LoomSliceTo to = { .to = { .rank = desc.rank } };
  guint padded_copies = padded_value (p, node_out (instr, 0), axis);

  for (int i = 0; i < desc.rank; i++)
    {
      to.kernel.step[i] = 1;
      to.to.dim[i] = desc.dim[i];
    }
  graph_set_out (p->s.g, instr, 0, padded_copies);
  if (cast != NULL)
    {
      graph_set_in (p->s.g, cast, 0, padded_copies);
      padded_copies = padded_value (p, v, axis);
      node_step (cast, 0)->result = padded_copies;
      graph_set_out (p->s.g, cast, 0, padded_copies);
    }
  slice = graph_insert_like (p->s.g, node_next (last), last, loom_prim ("slice"), &to, "slice");
  graph_add_in (p->s.g, slice, padded_copies);
  graph_add_out (p->s.g, slice, v);
}

static void
pad_product (Pad *p, PlanNode *instr)
{
  const LoomMatmulAttrs *a = instr->attrs;

  if (is_logits (p, node_out (instr, 0)))
    {
      pad_operand (p, instr, 1, a->trans_b ? 0 : 1);
      if (a->has_bias)
        pad_operand (p, instr, 2, graph_value (p->s.g, node_in (instr, 2))->desc.rank - 1);
    }
  else if (is_logits (p, node_in (instr, 1)))
    pad_result (p, instr, 1);
  else if (a->trans_a)
    pad_result (p, instr, 0);
  else
    pad_operand (p, instr, 1, a->trans_b ? 1 : 0);
}

static void
pad_instr (Pad *p, PlanNode *instr)
{
  if (instr->steps != NULL)
    {
      for (guint k = 0; k < instr->in->len; k++)
        if (!is_logits (p, node_in (instr, k)) && is_by_class (p, node_in (instr, k)))
          pad_operand (p, instr, k, graph_value (p->s.g, node_in (instr, k))->desc.rank - 1);
    }
  else if (node_is (instr, "matmul"))
    pad_product (p, instr);
  else if (node_is (instr, "reduce"))
    pad_result (p, instr, graph_value (p->s.g, node_out (instr, 0))->desc.rank - 1);
  else
    *classes_of (instr) = p->s.classes;
}

/* Pads the rows of the logits and of all their views. */
static void
lengthen_rows (Pad *p, guint v)
{
  PlanValue *value = graph_value (p->s.g, v);

  if (is_full (p, v)) /* an unread view may have another shape */
    value->desc.dim[value->desc.rank - 1] = p->padded;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL)
      lengthen_rows (p, use->at);
}

static void
pad_logits (PlanGraph *g, PlanNode *loss)
{
  g_autoptr (GHashTable) padded_copies = g_hash_table_new (NULL, NULL);
  g_auto (PlanLogits) logits = { 0 };
  GHashTableIter each;
  gpointer root;

  plan_logits_init (&logits, g, loss);
  Pad p = { logits, (logits.classes + UNIT - 1) / UNIT * UNIT, padded_copies };
  if (graph_value (g, node_in (loss, 0))->desc.dtype == LOOM_F64 || p.padded == logits.classes
      || logits.classes < MIN_CLASSES || logits.rows * logits.classes < MIN_LOGITS || *classes_of (loss) != 0
      || !graph_is_on_gpu (g, p.s.device_name) || !plan_logits_find (&logits, loss))
    return;
  for (guint i = 0; i < logits.instrs->len; i++)
    if (!can_pad (&p, logits.instrs->pdata[i]) || !can_ignore_columns (&p, logits.instrs->pdata[i]))
      return;
  for (guint i = 0; i < logits.instrs->len; i++)
    pad_instr (&p, logits.instrs->pdata[i]);
  g_hash_table_iter_init (&each, logits.roots);
  while (g_hash_table_iter_next (&each, &root, NULL))
    lengthen_rows (&p, GPOINTER_TO_UINT (root));
}

void
pass_pad_logits (PlanGraph *g)
{
  g_autoptr (GPtrArray) losses = g_ptr_array_new ();

  for (PlanNode *instr = graph_first (g); instr != NULL; instr = node_next (instr))
    if (node_is (instr, "cross_entropy"))
      g_ptr_array_add (losses, instr);
  for (guint i = 0; i < losses->len; i++)
    pad_logits (g, losses->pdata[i]);
}
