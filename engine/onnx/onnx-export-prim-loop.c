/* Exports loops: a scan is a Scan, whose body is written primitive by primitive as a graph of its own.
 *
 * A body reads outer weights and constants by name. Outer computed values become states that every iteration passes on
 * unchanged, because OpenVINO does not let a body read them. */
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

typedef struct
{
  OnnxExport *all;
  GHashTable *own;   /* set of values that belong to the body */
  GHashTable *state; /* outer value → input of the body that represents it */
  GPtrArray *outside;
} Closing;

static OnnxVar *
state_for (Closing *c, OnnxVar *v)
{
  OnnxVar *state = g_hash_table_lookup (c->state, v);

  if (state != NULL)
    return state;
  state = onnx_var_new (c->all, v->name);
  state->is_open = !onnx_var_get_type (v, &state->type);
  g_hash_table_insert (c->state, v, state);
  g_ptr_array_add (c->outside, v);
  return state;
}

/* Bodies inside the body read its states by name. */
static void
close_nodes (Closing *c, GPtrArray *nodes)
{
  for (guint i = 0; i < nodes->len; i++)
    {
      OnnxOutNode *node = nodes->pdata[i];

      for (guint k = 0; k < node->in->len; k++)
        {
          OnnxVar *v = node->in->pdata[k];
          if (v != NULL && v->tensor == NULL && !g_hash_table_contains (c->own, v))
            node->in->pdata[k] = state_for (c, v);
        }
      for (guint k = 0; k < node->bodies->len; k++)
        {
          OnnxBody *body = node->bodies->pdata[k];
          for (guint j = 0; j < body->inputs->len; j++)
            g_hash_table_add (c->own, body->inputs->pdata[j]);
          close_nodes (c, body->nodes);
        }
      for (guint k = 0; k < node->out->len; k++)
        g_hash_table_add (c->own, node->out->pdata[k]);
    }
}

guint
onnx_prim_close (OnnxExport *all, OnnxOutNode *node, OnnxBody *body, guint n_states)
{
  g_autoptr (GHashTable) own = g_hash_table_new (NULL, NULL), state = g_hash_table_new (NULL, NULL);
  g_autoptr (GPtrArray) outside = g_ptr_array_new ();
  Closing c = { all, own, state, outside };

  for (guint i = 0; i < body->inputs->len; i++)
    g_hash_table_add (own, body->inputs->pdata[i]);
  close_nodes (&c, body->nodes);
  for (guint i = 0; i < outside->len; i++)
    {
      OnnxVar *v = g_hash_table_lookup (state, outside->pdata[i]), *same = onnx_call (all, "Identity", ONNX_VARS (v));

      same->type = v->type;
      same->is_open = v->is_open;
      g_ptr_array_insert (node->in, (int)(n_states + i), outside->pdata[i]);
      g_ptr_array_insert (body->inputs, (int)(n_states + i), v);
      g_ptr_array_insert (body->outputs, (int)(n_states + i), same);
    }
  return outside->len;
}

static void
set_results (OnnxPrim *b, OnnxBody *body)
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
  /* Then the row that is put first is next to the row from which it was made. */
  onnx_node_set_ints (q->all, node, "scan_input_directions", a->n_sequences, ones);
  if (a->n_stacked > 0)
    onnx_node_set_ints (q->all, node, "scan_output_directions", a->n_stacked, ones);
}

static gboolean
write_scan (OnnxPrim *q)
{
  const LoomScanAttrs *a = attrs_of (q, 0);
  OnnxPrim b = { .w = q->w, .all = q->all, .n = q->n };
  guint n = a->n_carried + a->n_sequences, n_in = q->instr[0]->n_in, n_kept = 0;
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
      LoomType type = onnx_prim_type (q, q->instr[0]->in[i]);

      onnx_var_set_type (in[i], &type);
      var[loom_program_get_input (a->body, i)->value] = v;
      if (i < n)
        g_ptr_array_add (body->inputs, v);
    }
  q->all->out_nodes = body->nodes;
  onnx_prim_write_program (&b);
  set_results (&b, body);
  if (!q->w->failed)
    n_kept = onnx_prim_close (q->all, node, body, a->n_carried);
  q->all->out_nodes = around;
  for (guint i = 0; i < a->n_carried; i++)
    onnx_prim_out (q, i, onnx_node_result (q->all, node, i));
  for (guint i = 0; i < a->n_stacked; i++)
    onnx_prim_out (q, a->n_carried + i, onnx_node_result (q->all, node, a->n_carried + n_kept + i));
  return TRUE;
}

ONNX_PRIM (scan, write_scan)
