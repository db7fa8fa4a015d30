/* Loops, in ONNX: a scan is a Scan, whose body is written primitive by primitive as a graph of its own.
 *
 * What a body reads whole of outside (weights, and what does not change from step to step) it finds there by name, and
 * constants stand outside as well, so that only what is carried and the rows of sequences are its inputs. */
#include "engine/onnx/onnx-export-prim.h"

#include <string.h>

static const LoomScanAttrs *
attrs_of (const OnnxPrim *q, guint binding)
{
  return q->instr[binding]->attrs;
}

LoomType
onnx_prim_type (const OnnxPrim *q, LoomValue v)
{
  const LoomTensorDesc *d = &loom_value_info (q->p[0], v)->desc;
  LoomType type = { .dtype = d->dtype, .shape = { .rank = d->rank } };

  for (int i = 0; i < d->rank; i++)
    {
      gint64 number[ONNX_BINDINGS] = { 0 };
      OnnxSize size;

      for (guint k = 0; k < q->n; k++)
        number[k] = loom_value_info (q->p[k], v)->desc.dim[i];
      size = onnx_size_of (q->all, number);
      type.shape.dim[i] = loom_dim_unknown ();
      if (size.known && size.coef == 0)
        type.shape.dim[i] = loom_dim (size.add);
      else if (size.known && size.add == 0)
        {
          type.shape.dim[i] = loom_dim (size.coef);
          memcpy (type.shape.dim[i].symbol, size.symbol, LOOM_DIM_MAX_SYMBOLS);
        }
    }
  return type;
}

static OnnxVar *
body_input (OnnxPrim *b, guint i)
{
  const LoomProgramInput *input = loom_program_get_input (b->p[0], i);
  g_autofree char *name = g_strdup_printf ("%s/%s", b->all->path != NULL ? b->all->path : "", input->name);
  OnnxVar *v = onnx_var_new (b->all, name);

  v->type = onnx_prim_type (b, input->value);
  return v;
}

void
onnx_prim_give (OnnxPrim *b, OnnxBody *body, OnnxVar *result, const LoomType *type)
{
  OnnxVar *v = onnx_call (b->all, "Identity", ONNX_VARS (result));

  v->type = *type;
  g_ptr_array_add (body->outputs, v);
}

static void
give_results (OnnxPrim *b, OnnxBody *body)
{
  for (guint i = 0; i < loom_program_n_outputs (b->p[0]) && !b->w->failed; i++)
    {
      LoomValue value = loom_program_get_output (b->p[0], i)->value;
      LoomType type = onnx_prim_type (b, value);

      onnx_prim_give (b, body, onnx_prim_value (b, value), &type);
    }
}

static void
set_directions (OnnxPrim *q, OnnxOutNode *node)
{
  const LoomScanAttrs *a = attrs_of (q, 0);
  g_autofree gint64 *ones = g_new0 (gint64, MAX (a->n_sequences, a->n_stacked) + 1);

  onnx_node_set_int (q->all, node, "num_scan_inputs", a->n_sequences);
  for (guint i = 0; i < MAX (a->n_sequences, a->n_stacked); i++)
    ones[i] = 1;
  if (!a->reverse)
    return;
  /* What is put before the others then lies beside what it was made from. */
  onnx_node_set_ints (q->all, node, "scan_input_directions", a->n_sequences, ones);
  if (a->n_stacked > 0)
    onnx_node_set_ints (q->all, node, "scan_output_directions", a->n_stacked, ones);
}

static gboolean
write_scan (OnnxPrim *q)
{
  const LoomScanAttrs *a = attrs_of (q, 0);
  OnnxPrim b = { .w = q->w, .all = q->all, .n = q->n };
  guint n = a->n_carried + a->n_sequences, n_in = q->instr[0]->n_in, n_out = a->n_carried + a->n_stacked;
  g_autofree OnnxVar **in = g_new0 (OnnxVar *, n_in + 1);
  g_autofree OnnxVar **var = g_new0 (OnnxVar *, loom_program_n_values (a->body) + 1);
  GPtrArray *around = q->all->out_nodes;
  OnnxOutNode *node;
  OnnxBody *body;

  for (guint i = 0; i < n_in; i++)
    if ((in[i] = onnx_prim_in (q, i)) == NULL)
      return FALSE;
  for (guint k = 0; k < q->n; k++)
    b.p[k] = attrs_of (q, k)->body;
  b.var = var;
  node = onnx_add_node (q->all, "Scan", n, in);
  body = onnx_node_add_body (q->all, node, "body");
  set_directions (q, node);
  for (guint i = 0; i < n_in; i++)
    {
      OnnxVar *v = i < n ? body_input (&b, i) : in[i];

      var[loom_program_get_input (a->body, i)->value] = v;
      if (i < n)
        g_ptr_array_add (body->inputs, v);
    }
  q->all->out_nodes = body->nodes;
  onnx_prim_write_program (&b);
  give_results (&b, body);
  q->all->out_nodes = around;
  for (guint i = 0; i < n_out; i++)
    onnx_prim_out (q, i, onnx_node_result (q->all, node, i));
  return TRUE;
}

const OnnxPrimWriter onnx_prims_loop[] = {
  { "scan", write_scan },
  { NULL },
};
