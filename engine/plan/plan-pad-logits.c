/* Pads the rows of logits beyond the number of classes. The tensor cores of a GPU need rows that begin at multiples of
 * 16 bytes. With 50,257 classes they do not, and products that make or read the logits use kernels that load single
 * elements: several times slower (measured in tests/cuda/RESULTS.md).
 *
 * So logits get columns up to a multiple of eight. The weight is copied with additional rows of zeros. Losses and
 * argmax ignore the additional columns (LoomCrossEntropyAttrs.classes), and the gradient of the logits is 0 there. Sums
 * over rows (the gradients of weight and bias) are cut to size, as views if possible (plan-view-slices.c). The result
 * is exact if the rows are finite, because additional columns are multiplied only by zeros.
 *
 * The pass applies if all readers of the logits, or of values computed from them, are of these kinds, and if
 * element-wise instructions cannot make infinities of zeros. */
#include "engine/plan/plan-linear-cross-entropy.h"
#include "engine/plan/plan-pattern.h"

#define UNIT        8   /* elements: 16 bytes of 16-bit floats */
#define MIN_CLASSES 256 /* for fewer classes products are cheap compared with the copies */
#define MIN_LOGITS  (1 << 20)

typedef struct
{
  const PlanHead *h;
  PlanGraph *g;
  gint64 padded;             /* a row's length */
  GHashTable *padded_copies; /* padded copies, by operand with the axis in the lowest bit */
} Pad;

/* ---- conditions --------------------------------------------------------------- */

/* TRUE if its steps compute finite numbers from zeros and finite numbers. */
static gboolean
keeps_finite (const Pad *p, const PlanNode *instr)
{
  for (guint s = 0; instr->steps != NULL && s < instr->steps->len; s++)
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
        if (loom_desc_count (&graph_value (p->g, node_step (instr, s)->arg[1])->desc) != 1)
          return FALSE;
        break;
      default:
        return FALSE;
      }
  return TRUE;
}

/* The attribute with the number of classes in a row, among attributes of the instruction; NULL: it has none. */
static gint64 *
classes_of (const PlanNode *instr, gpointer attrs)
{
  if (node_is (instr, "cross_entropy") || node_is (instr, "cross_entropy_grad"))
    return &((LoomCrossEntropyAttrs *)attrs)->classes;
  return node_is (instr, "argreduce") ? &((LoomArgReduceAttrs *)attrs)->classes : NULL;
}

/* TRUE if its device can ignore extra columns. */
static gboolean
can_ignore_columns (Pad *p, PlanNode *instr)
{
  g_auto (PlanRewrite) r = { 0 };

  if (classes_of (instr, instr->attrs) == NULL)
    return TRUE;
  plan_rewrite_begin (&r, p->g, instr);
  *classes_of (instr, r.attrs) = p->h->classes - 1;
  return plan_rewrite_has_kernel (&r);
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
      LoomTensorDesc desc = graph_value (p->g, v)->desc;
      LoomPadTo to = { .to = { .rank = desc.rank } };
      PlanNode *first = p->h->instrs->pdata[0], *pad;

      desc.dim[axis] = p->padded;
      for (int i = 0; i < desc.rank; i++)
        {
          to.kernel.step[i] = 1;
          to.to.dim[i] = desc.dim[i];
        }
      padded_copies = graph_new_value (p->g, &desc, graph_value (p->g, v));
      /* The copy is inserted before all instructions of the head if the operand is available there, so that the chunks
       * of a head can share it. */
      pad = graph_insert_like (p->g, graph_is_ready (p->g, v, first) ? first : instr, instr, loom_prim ("pad"), &to,
                               "pad");
      graph_add_in (p->g, pad, v);
      graph_add_out (p->g, pad, padded_copies);
      g_hash_table_insert (p->padded_copies, key, GUINT_TO_POINTER (padded_copies));
    }
  graph_set_in (p->g, instr, k, padded_copies);
}

/* The conversion that is the only reader of a product, so that the product will write the converted type itself
 * (plan-cast.c); or NULL. */
static PlanNode *
find_cast (Pad *p, const PlanNode *instr)
{
  const guint v = node_out (instr, 0);
  PlanNode *reader = graph_only_reader (p->g, v, TRUE);

  return reader != NULL && node_is_step (reader, LOOM_SCALAR_ID) && node_in (reader, 0) == v
                 && reader->device_name == instr->device_name
                 && plan_same_dims (&graph_value (p->g, node_out (reader, 0))->desc, &graph_value (p->g, v)->desc)
             ? reader
             : NULL;
}

/* A new value of v's type with a padded axis. */
static guint
padded_value (Pad *p, guint v, int axis)
{
  LoomTensorDesc desc = graph_value (p->g, v)->desc;

  desc.dim[axis] = p->padded;
  return graph_new_value (p->g, &desc, graph_value (p->g, v));
}

/* Pads a result along its axis of classes, and cuts it to size after it, or after its conversion. */
static void
pad_result (Pad *p, PlanNode *instr, int axis)
{
  PlanNode *cast = find_cast (p, instr), *last = cast != NULL ? cast : instr, *slice;
  const guint v = node_out (last, 0);
  const LoomTensorDesc desc = graph_value (p->g, v)->desc;
  LoomSliceTo to = { .to = { .rank = desc.rank } };
  guint padded_copies = padded_value (p, node_out (instr, 0), axis);

  for (int i = 0; i < desc.rank; i++)
    {
      to.kernel.step[i] = 1;
      to.to.dim[i] = desc.dim[i];
    }
  graph_set_out (p->g, instr, 0, padded_copies);
  if (cast != NULL)
    {
      graph_set_in (p->g, cast, 0, padded_copies);
      padded_copies = padded_value (p, v, axis);
      node_step (cast, 0)->result = padded_copies;
      graph_set_out (p->g, cast, 0, padded_copies);
    }
  slice = graph_insert_like (p->g, node_next (last), last, loom_prim ("slice"), &to, "slice");
  graph_add_in (p->g, slice, padded_copies);
  graph_add_out (p->g, slice, v);
}

static void
pad_instr (Pad *p, PlanNode *instr)
{
  gint64 *classes = classes_of (instr, instr->attrs);

  for (guint k = 0; k < instr->in->len; k++)
    if (plan_head_operand (p->h, instr, k).classes >= 0)
      pad_operand (p, instr, k, plan_head_operand (p->h, instr, k).classes);
  for (guint o = 0; o < instr->out->len; o++)
    if (plan_head_result (p->h, instr, o).classes >= 0)
      pad_result (p, instr, plan_head_result (p->h, instr, o).classes);
  if (classes != NULL)
    *classes = p->h->classes;
}

/* Pads the rows of the logits and of all their views. */
static void
lengthen_rows (Pad *p, guint v)
{
  PlanValue *value = graph_value (p->g, v);

  if (plan_head_is_rows_by (p->h, v, p->h->classes)) /* an unread view may have another shape */
    value->desc.dim[value->desc.rank - 1] = p->padded;
  for (const PlanUse *use = value->first_use; use != NULL; use = use->next)
    if (use->instr == NULL)
      lengthen_rows (p, use->at);
}

static void
pad_head (PlanHead *h, PlanNode *loss)
{
  g_autoptr (GHashTable) padded_copies = g_hash_table_new (NULL, NULL);
  Pad p = { h, h->g, (h->classes + UNIT - 1) / UNIT * UNIT, padded_copies };
  GHashTableIter each;
  gpointer root;

  if (graph_value (h->g, node_in (loss, 0))->desc.dtype == LOOM_F64 || p.padded == h->classes
      || h->classes < MIN_CLASSES || h->rows * h->classes < MIN_LOGITS || *classes_of (loss, loss->attrs) != 0
      || !graph_is_on_gpu (h->g, h->device_name) || !plan_head_find (h, loss))
    return;
  for (guint i = 0; i < h->instrs->len; i++)
    {
      PlanNode *instr = h->instrs->pdata[i];

      if (!plan_head_knows (h, instr) || !keeps_finite (&p, instr) || !can_ignore_columns (&p, instr))
        return;
    }
  for (guint i = 0; i < h->instrs->len; i++)
    pad_instr (&p, h->instrs->pdata[i]);
  g_hash_table_iter_init (&each, h->roots);
  while (g_hash_table_iter_next (&each, &root, NULL))
    lengthen_rows (&p, GPOINTER_TO_UINT (root));
}

void
pass_pad_logits (PlanGraph *g)
{
  plan_heads_each (g, pad_head);
}
