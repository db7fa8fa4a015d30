/* Folds values that depend on no data, though on open sizes: masks and positions that the exporter has spelled out.
 *
 * PyTorch's exporter writes a causal mask as thirty nodes on indices of samples and positions, repeated for a batch of
 * any size; onnx-trial.c computes them. */
#include "engine/onnx/onnx-data-free.h"

#include "engine/onnx/onnx-constant.h"
#include "engine/onnx/onnx-trial.h"

static void
tensor_unref (gpointer tensor)
{
  if (tensor != NULL)
    loom_tensor_unref (tensor);
}

const LoomTensor *
onnx_data_free_value (OnnxImport *all, const OnnxWire *wire)
{
  gpointer value;

  while (all->outer != NULL)
    all = all->outer;
  if (all->data_free == NULL)
    all->data_free = g_hash_table_new_full (NULL, NULL, NULL, tensor_unref);
  if (!g_hash_table_lookup_extended (all->data_free, wire, NULL, &value))
    {
      value = onnx_trial_value (wire);
      g_hash_table_insert (all->data_free, (gpointer)wire, value);
    }
  return value;
}

/* ---- the pass ------------------------------------------------------------------------ */

/* A mask of a few nodes says more than its numbers. */
#define FEW 6

static gboolean
is_long (const OnnxWire *wire)
{
  g_autoptr (GHashTable) known = g_hash_table_new (NULL, NULL);

  return wire != NULL && onnx_reads_no_data (wire, known) && g_hash_table_size (known) > FEW;
}

/* TRUE if input k may have size 1 where its sizes are open, because others of the node have them. */
static gboolean
may_broadcast (const OnnxNode *node, guint k, const LoomTensor *value)
{
  LoomShape shape = loom_tensor_shape (value);

  if (g_str_equal (node->op->name, "scaled_dot_product_attention"))
    return k == 3;
  if (!onnx_trial_broadcasts (node))
    return FALSE;
  for (guint i = 0; i < node->n_in; i++)
    if (i != k && node->in[i] != NULL && !loom_shape_broadcast (&shape, &node->in[i]->type.shape, &shape))
      return FALSE;
  return loom_shape_equal (&shape, &node->out[0].type.shape);
}

/* The constant for a value, or what repeats it for each sample; it comes before all nodes. NULL: it is too large. */
static const OnnxWire *
emit_value (OnnxImport *all, const LoomTensor *value, const OnnxWire *wire, gboolean is_whole)
{
  Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
  OnnxCtx c = { .all = all, .node = &node, .drawn = TRUE };
  g_autoptr (LoomTensor) t = loom_tensor_convert (value, wire->type.dtype, FALSE, NULL);
  guint before = all->nodes->len;
  const OnnxWire *y;

  node.op_type = (char *)"Constant";
  if (t == NULL)
    return NULL;
  y = onnx_tensor_wire (&c, t, NULL, FALSE);
  if (is_whole && !loom_shape_equal (&y->type.shape, &wire->type.shape))
    y = onnx_emit (&c, "expand", ONNX_IN (y), "shape", onnx_dims (&c, &wire->type.shape), NULL);
  for (guint i = before; i < all->nodes->len; i++)
    g_ptr_array_insert (all->nodes, (int)(i - before), g_ptr_array_steal_index (all->nodes, i));
  if (c.failed || ((const OnnxNode *)all->nodes->pdata[0])->op->role == LOOM_ROLE_PARAMETER)
    return NULL;
  return y;
}

void
onnx_fold_data_free (OnnxImport *all)
{
  g_autoptr (GPtrArray) nodes = g_ptr_array_new (); /* the list grows */
  g_autoptr (GHashTable) short_ones = g_hash_table_new (NULL, NULL), whole_ones = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < all->nodes->len; i++)
    g_ptr_array_add (nodes, all->nodes->pdata[i]);
  for (guint i = 0; i < nodes->len; i++)
    {
      OnnxNode *node = nodes->pdata[i];

      for (guint k = 0; node->live && k < node->n_in; k++)
        {
          const OnnxWire *wire = node->in[k], *y;
          const LoomTensor *value = is_long (wire) && onnx_data_free_value (all, &node->out[0]) == NULL
                                        ? onnx_data_free_value (all, wire)
                                        : NULL;
          gboolean is_whole = value != NULL && !may_broadcast (node, k, value);
          GHashTable *made = is_whole ? whole_ones : short_ones; /* OnnxWire → OnnxWire */

          if (value == NULL)
            continue;
          y = g_hash_table_lookup (made, wire);
          if (y == NULL)
            y = emit_value (all, value, wire, is_whole);
          if (y == NULL)
            continue;
          g_hash_table_insert (made, (gpointer)wire, (gpointer)y);
          node->in[k] = y;
        }
    }
}
