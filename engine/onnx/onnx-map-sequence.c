/* Imports sequences and optional values, whose elements are known during the import: the graph gets the tensors alone.
 *
 * A sequence is a list of values. Its length and positions must be known, as they are where an exporter splits a
 * tensor, collects the results of layers, or unrolls a loop. */
#include "engine/onnx/onnx-private.h"

#define MAX_SEQUENCE 4096

static GPtrArray *
new_sequence (OnnxCtx *c)
{
  GPtrArray *list = g_ptr_array_new ();

  g_ptr_array_add (c->all->lists, list);
  return list;
}

static GPtrArray *
copy_of (OnnxCtx *c, const GPtrArray *from)
{
  GPtrArray *list = new_sequence (c);

  for (guint i = 0; i < from->len; i++)
    g_ptr_array_add (list, from->pdata[i]);
  return list;
}

static const GPtrArray *
sequence_in (OnnxCtx *c, guint i)
{
  static GPtrArray none;
  const OnnxValue *value = onnx_has (c, i) ? onnx_value_of (c->all, c->node->input[i]) : NULL;

  if (value != NULL && value->sequence != NULL && !c->failed)
    return value->sequence;
  onnx_fail (c, "its input number %u must be a sequence whose elements are known during the import.", i + 1);
  return &none;
}

static void
put_sequence (OnnxCtx *c, const GPtrArray *list)
{
  if (list->len > MAX_SEQUENCE)
    onnx_fail (c, "its sequence has more than %d elements.", MAX_SEQUENCE);
  if (!c->failed && onnx_has_output (c, 0))
    onnx_declare (c->all, c->node->output[0])->sequence = list;
}

static OnnxValue *
value_in (OnnxCtx *c, guint i)
{
  OnnxValue *value = onnx_has (c, i) && !c->failed ? onnx_reach (c, c->node->input[i]) : NULL;

  if (value == NULL)
    onnx_fail (c, "its input number %u is missing.", i + 1);
  return value;
}

/* An element for nodes of c, which may be in another module than the sequence. */
static OnnxValue *
element (OnnxCtx *c, OnnxValue *value)
{
  if (value->home->nodes == c->all->nodes || onnx_value_of (c->all, value->name) != value)
    return value;
  return onnx_reach (c, value->name);
}

/* A position from input i, from 0 to `last`; without one, `last`. */
static guint
position (OnnxCtx *c, guint i, guint length, guint last)
{
  const LoomTensor *t = onnx_has (c, i) ? onnx_const (c, i, "position") : NULL;
  gint64 at = t != NULL && t->count == 1 ? onnx_tensor_int (t, 0) : last;

  at = at < 0 ? at + length : at;
  if (at >= 0 && at <= last && last != G_MAXUINT)
    return (guint)at;
  onnx_fail (c, "its position is outside of a sequence of %u elements.", length);
  return 0;
}

static void
map_construct (OnnxCtx *c)
{
  GPtrArray *list = new_sequence (c);

  for (guint i = 0; i < onnx_n_inputs (c); i++)
    g_ptr_array_add (list, value_in (c, i));
  put_sequence (c, list);
}

static void
map_empty (OnnxCtx *c)
{
  onnx_attr_int (c, "dtype", 1);
  put_sequence (c, new_sequence (c));
}

static void
map_insert (OnnxCtx *c)
{
  GPtrArray *list = copy_of (c, sequence_in (c, 0));

  g_ptr_array_insert (list, (int)position (c, 2, list->len, list->len), value_in (c, 1));
  put_sequence (c, list);
}

static void
map_erase (OnnxCtx *c)
{
  GPtrArray *list = copy_of (c, sequence_in (c, 0));
  guint at = position (c, 1, list->len, list->len - 1);

  if (!c->failed)
    g_ptr_array_remove_index (list, at);
  put_sequence (c, list);
}

static void
map_at (OnnxCtx *c)
{
  const GPtrArray *list = sequence_in (c, 0);
  guint at = position (c, 1, list->len, list->len - 1);

  if (!c->failed && onnx_has_output (c, 0))
    onnx_alias (c->all, c->node->output[0], element (c, list->pdata[at]));
}

static LoomTensor *
scalar (LoomDType dtype, gint64 value)
{
  LoomTensor *t = loom_tensor_new (dtype, 0, NULL, NULL);

  loom_tensor_set (t, 0, (double)value);
  return t;
}

static void
map_length (OnnxCtx *c)
{
  onnx_out_tensor (c, 0, scalar (LOOM_I64, sequence_in (c, 0)->len));
}

/* A value without a name in the model, for the result of a node. */
static OnnxValue *
new_element (OnnxCtx *c, const OnnxWire *wire, guint i)
{
  g_autofree char *name = g_strdup_printf ("%s[%u]", c->node->output[0], i);
  OnnxValue *value = onnx_declare (c->all, name);

  value->wire = wire;
  value->elem_type = onnx_elem_type (c, 0);
  return value;
}

/* The sizes of the parts: a list, one size for all, or 1, and then the dimension is removed unless keepdims. */
static guint
read_parts (OnnxCtx *c, gint64 size, gint64 *parts, gboolean *squeeze)
{
  const LoomTensor *t = onnx_has (c, 1) ? onnx_const (c, 1, "split") : NULL;
  gboolean is_list = t != NULL && t->rank > 0, keeps = onnx_attr_int (c, "keepdims", 1) != 0;
  gint64 each = t == NULL ? 1 : is_list ? 0 : onnx_tensor_int (t, 0), rest = size;
  guint n = 0;

  *squeeze = !onnx_has (c, 1) && !keeps;
  for (; rest >= 0 && n < MAX_SEQUENCE && (is_list ? n < t->count : each > 0 && rest > 0); n++)
    {
      parts[n] = is_list ? onnx_tensor_int (t, n) : MIN (each, rest);
      rest = parts[n] >= 0 && parts[n] <= rest ? rest - parts[n] : -1;
    }
  rest = is_list && n < t->count ? -1 : rest;
  if (rest != 0)
    onnx_fail (c, "its parts do not fit %" G_GINT64_FORMAT " positions, or are more than %d.", size, MAX_SEQUENCE);
  return n;
}

static void
map_split (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *y;
  int axis = onnx_axis (c, onnx_attr_int (c, "axis", 0), MAX (x->type.shape.rank, 1));
  g_autofree gint64 *parts = g_new (gint64, MAX_SEQUENCE);
  GPtrArray *list = new_sequence (c);
  gboolean squeeze;
  guint n = read_parts (c, onnx_dim (c, x, axis), parts, &squeeze);
  const char *dim = onnx_text (c, "%d", axis);

  y = onnx_emit (c, "split", ONNX_IN (x), "sections", onnx_list (c, n, parts), "dim", dim, NULL);
  for (guint i = 0; i < n && !c->failed; i++)
    {
      const OnnxWire *part = i == 0 ? y : onnx_sibling (c, y, onnx_text (c, "%u", i));

      if (squeeze)
        part = onnx_emit (c, "squeeze", ONNX_IN (part), "dim", dim, NULL);
      g_ptr_array_add (list, new_element (c, part, i));
    }
  put_sequence (c, list);
}

static void
map_concat (OnnxCtx *c)
{
  const GPtrArray *list = sequence_in (c, 0);
  g_autofree const OnnxWire **in = g_new0 (const OnnxWire *, list->len + 1);

  for (guint i = 0; i < list->len && !c->failed; i++)
    in[i] = onnx_value_wire (c, element (c, list->pdata[i]));
  if (list->len == 0)
    onnx_fail (c, "its sequence is empty.");
  onnx_out (c, 0,
            onnx_emit (c, onnx_attr_int (c, "new_axis", 0) ? "stack" : "concat", list->len, in, "dim",
                       onnx_text (c, "%d", (int)CLAMP (onnx_attr_int (c, "axis", 0), -99, 99)), NULL));
}

/* Runs a graph for each element; other inputs are sequences of the same length, or the same for all elements. */
static void
map_map (OnnxCtx *c)
{
  const Onnx__GraphProto *body = onnx_graph_of (c, "body");
  guint n = sequence_in (c, 0)->len, n_out = (guint)c->node->n_output;
  g_autoptr (GPtrArray) results = g_ptr_array_new ();

  if (c->failed)
    return;
  if (body->n_input != onnx_n_inputs (c) || body->n_output != n_out)
    onnx_fail (c, "its body has another number of inputs or outputs.");
  for (guint k = 0; k < n_out; k++)
    g_ptr_array_add (results, new_sequence (c));
  for (guint i = 0; i < n && onnx_has_room (c); i++)
    {
      OnnxImport *scope = onnx_scope_new (c->all, NULL);
      OnnxCtx within = onnx_scope_ctx (c, scope);

      for (guint k = 0; k < body->n_input && !c->failed; k++)
        {
          const OnnxValue *value = value_in (c, k);
          if (value != NULL && value->sequence != NULL && value->sequence->len != n)
            onnx_fail (c, "its sequences have different lengths.");
          else if (value != NULL)
            onnx_alias (scope, body->input[k]->name, value->sequence != NULL ? value->sequence->pdata[i] : value);
        }
      onnx_add_tensors (scope, body);
      onnx_map_nodes (scope, body);
      for (guint k = 0; k < n_out && !c->failed; k++)
        {
          OnnxValue *value = onnx_reach (&within, body->output[k]->name);
          c->failed = value == NULL || value->failed;
          g_ptr_array_add (results->pdata[k], value);
        }
    }
  for (guint k = 0; k < n_out && !c->failed; k++)
    if (onnx_has_output (c, k))
      onnx_declare (c->all, c->node->output[k])->sequence = results->pdata[k];
  c->first_node = c->all->nodes->len; /* these were recorded one by one */
}

/* ---- optional values --------------------------------------------------------------- */

static void
map_optional (OnnxCtx *c)
{
  onnx_attr (c, "type");
  if (onnx_n_inputs (c) > 0 && onnx_has (c, 0))
    {
      const OnnxValue *value = value_in (c, 0);
      if (value != NULL && onnx_has_output (c, 0))
        onnx_alias (c->all, c->node->output[0], value);
    }
  else if (onnx_has_output (c, 0))
    onnx_declare (c->all, c->node->output[0])->is_none = TRUE;
}

static void
map_has_element (OnnxCtx *c)
{
  const OnnxValue *value = onnx_n_inputs (c) > 0 && onnx_has (c, 0) ? value_in (c, 0) : NULL;

  onnx_out_tensor (c, 0, scalar (LOOM_BOOL, value != NULL && !value->is_none));
}

const OnnxMap onnx_map_sequence[] = {
  { "SequenceConstruct", NULL, map_construct },
  { "SequenceEmpty", NULL, map_empty },
  { "SequenceInsert", NULL, map_insert },
  { "SequenceErase", NULL, map_erase },
  { "SequenceAt", NULL, map_at },
  { "SequenceLength", NULL, map_length },
  { "SequenceMap", NULL, map_map },
  { "SplitToSequence", "split", map_split },
  { "ConcatFromSequence", "concat", map_concat },
  { "Optional", NULL, map_optional },
  { "OptionalGetElement", NULL, map_optional },
  { "OptionalHasElement", NULL, map_has_element },
  { NULL },
};
