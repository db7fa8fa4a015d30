/* Scopes of the import: graphs inside a model's graph, the bodies of loops and branches.
 *
 * An inner graph reads outer names. If it is inlined (a branch that is chosen during import), the names need no work.
 * If it becomes a module, outer constants are copied, so that a layer of the body owns its weights, and other outer
 * values become invariant inputs of the module. */
#include "engine/onnx/onnx-private.h"

#include <string.h>

/* Maximum number of bodies and branches of a model, counted each time they are imported, since nested loops multiply
 * them. */
#define MAX_SCOPES 20000

OnnxImport *
onnx_scope_new (OnnxImport *outer, const char *module)
{
  OnnxImport *scope = g_new (OnnxImport, 1);

  *scope = *outer;
  scope->outer = outer;
  scope->last_error = NULL;
  scope->given = NULL;
  scope->values = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, onnx_value_free);
  scope->uses = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  scope->kept = NULL;
  scope->module = NULL;
  if (module != NULL)
    onnx_module_name (onnx_module_new (scope), module);
  g_ptr_array_add (outer->scopes, scope);
  return scope;
}

OnnxModule *
onnx_module_new (OnnxImport *scope)
{
  OnnxModule *module = g_new0 (OnnxModule, 1);

  module->scope = scope;
  module->inputs = g_ptr_array_new ();
  module->outputs = g_ptr_array_new ();
  module->captured = g_ptr_array_new ();
  module->cut = g_ptr_array_new ();
  scope->module = module;
  scope->ids = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  scope->nodes = g_ptr_array_new_with_free_func ((GDestroyNotify)onnx_node_free);
  g_ptr_array_add (scope->modules, module);
  return module;
}

void
onnx_module_name (OnnxModule *module, const char *name)
{
  OnnxImport names = { .ids = module->scope->module_names };

  module->name = onnx_free_id (&names, name);
}

void
onnx_scope_free (gpointer data)
{
  OnnxImport *scope = data;

  if (scope->module != NULL)
    {
      g_hash_table_unref (scope->ids);
      g_ptr_array_unref (scope->nodes);
    }
  g_hash_table_unref (scope->values);
  g_hash_table_unref (scope->uses);
  g_clear_pointer (&scope->kept, g_hash_table_unref);
  g_free (scope->last_error);
  g_free (scope);
}

void
onnx_module_free (gpointer data)
{
  OnnxModule *module = data;

  g_ptr_array_unref (module->inputs);
  g_ptr_array_unref (module->outputs);
  g_ptr_array_unref (module->captured);
  g_ptr_array_unref (module->cut);
  g_free (module->name);
  g_free (module);
}

OnnxCtx
onnx_scope_ctx (const OnnxCtx *c, OnnxImport *scope)
{
  OnnxCtx within = *c;

  within.all = scope;
  within.first_node = scope->nodes->len;
  within.drawn = TRUE;
  return within;
}

/* ---- graphs of a node ---------------------------------------------------- */

gboolean
onnx_has_room (OnnxCtx *c)
{
  if (c->all->scopes->len > MAX_SCOPES)
    onnx_fail (c, "the model's bodies and branches expand to more than %d copies.", MAX_SCOPES);
  return !c->failed;
}

const Onnx__GraphProto *
onnx_graph_of (OnnxCtx *c, const char *name)
{
  const Onnx__AttributeProto *a = onnx_attr (c, name);

  if (!onnx_has_room (c))
    return NULL;
  if (a == NULL || a->g == NULL)
    onnx_fail (c, "its “%s” is missing.", name);
  for (gsize i = 0; !c->failed && i < a->g->n_input + a->g->n_output; i++)
    {
      const Onnx__ValueInfoProto *port = i < a->g->n_input ? a->g->input[i] : a->g->output[i - a->g->n_input];

      if (port->name == NULL || !*port->name)
        onnx_fail (c, "an input or output of its “%s” has no name.", name);
    }
  return c->failed ? NULL : a->g;
}

/* ---- ports of the module ------------------------------------------------------ */

const OnnxWire *
onnx_scope_input (OnnxImport *scope, const char *name, const LoomType *type)
{
  OnnxNode *node = onnx_node_new (scope, loom_op ("module_input"), name);

  node->n_out = 1;
  node->out = g_new0 (OnnxWire, 1);
  node->out[0] = (OnnxWire){ .node = node, .port = g_intern_static_string ("out"), .type = *type };
  g_ptr_array_add (scope->module->inputs, node);
  g_ptr_array_add (scope->module->captured, NULL);
  g_ptr_array_add (scope->module->cut, NULL);
  return node->out;
}

static const OnnxWire *
bring_in (OnnxImport *scope, const char *name, const OnnxWire *outside, const LoomType *type, gboolean cut)
{
  OnnxModule *module = scope->module;
  const OnnxWire *within;

  for (guint i = 0; i < module->captured->len; i++)
    if (module->captured->pdata[i] == outside && (module->cut->pdata[i] != NULL) == cut)
      return ((OnnxNode *)module->inputs->pdata[i])->out;
  within = onnx_scope_input (scope, name, type);
  module->captured->pdata[module->captured->len - 1] = (gpointer)outside;
  module->cut->pdata[module->cut->len - 1] = GINT_TO_POINTER (cut);
  return within;
}

const OnnxWire *
onnx_scope_capture (OnnxImport *scope, const char *name, const OnnxWire *outside)
{
  return bring_in (scope, name, outside, &outside->type, FALSE);
}

const char *
onnx_scope_output (OnnxCtx *c, const char *name, const OnnxWire *wire, const OnnxWire *carry)
{
  OnnxNode *node;

  if (c->failed || wire->node == NULL)
    return NULL;
  node = onnx_node_new (c->all, loom_op ("module_output"), name);
  if (carry != NULL)
    onnx_node_set (node, "carry", carry->node->id);
  node->n_in = 1;
  node->in = g_new0 (const OnnxWire *, 1);
  node->in[0] = wire;
  node->n_out = 1;
  node->out = g_new0 (OnnxWire, 1);
  node->out[0] = (OnnxWire){ .node = node, .port = g_intern_static_string ("out"), .type = wire->type };
  g_ptr_array_add (c->all->module->outputs, node);
  return node->id;
}

/* ---- outer names -------------------------------------------------------------- */

/* The scope that opened the module into which a scope is imported; the model's own graph if there is none. */
static OnnxImport *
drawing_of (OnnxImport *scope)
{
  while (scope->module == NULL && scope->outer != NULL)
    scope = scope->outer;
  return scope;
}

/* Numbers are copied into the module, except a weight that has other readers, which must remain one. */
static gboolean
is_copied (const OnnxValue *value)
{
  const LoomTensor *t = value->constant;

  if (t == NULL || !value->is_weight || !onnx_is_trained (value->home, value->name, t))
    return t != NULL;
  return value->wire == NULL && GPOINTER_TO_UINT (g_hash_table_lookup (value->home->uses, value->name)) == 1;
}

OnnxValue *
onnx_reach (OnnxCtx *c, const char *name)
{
  OnnxValue *value = onnx_value_of (c->all, name), *local;
  OnnxImport *drawing = drawing_of (c->all);

  if (value == NULL || value->failed || value->home->nodes == c->all->nodes)
    return value;
  if (value->sequence != NULL || value->is_none) /* their elements are reached one by one */
    return value;
  name = value->name; /* outside it may have another name */
  if (is_copied (value))
    {
      local = onnx_declare (drawing, name);
      local->constant = loom_tensor_ref (value->constant);
      local->is_weight = value->is_weight;
      local->elem_type = value->elem_type;
      return local;
    }
  OnnxCtx outside = *c;
  outside.all = drawing->outer;
  const OnnxWire *wire = onnx_reach_wire (&outside, name);
  c->failed = c->failed || outside.failed;
  if (c->failed)
    return value;
  wire = onnx_scope_capture (drawing, name, wire);
  local = onnx_declare (drawing, name);
  local->wire = wire;
  local->given = value->given != NULL ? loom_tensor_ref (value->given) : NULL;
  local->producer = value->producer;
  local->elem_type = value->elem_type;
  return local;
}

const OnnxWire *
onnx_scope_row (OnnxCtx *c, const char *name, const OnnxWire *index, gint64 axis)
{
  OnnxImport *drawing = drawing_of (c->all);
  const OnnxValue *value = onnx_value_of (c->all, name);
  OnnxCtx outside = *c;
  const OnnxWire *wire;
  LoomType row;

  if (c->failed || drawing->module == NULL || drawing->module->step != index || value == NULL
      || value->home->nodes == c->all->nodes)
    return NULL;
  outside.all = drawing->outer;
  wire = onnx_reach_wire (&outside, value->name);
  if (outside.failed)
    return NULL;
  axis = axis < 0 ? axis + wire->type.shape.rank : axis;
  if (axis < 0 || axis >= wire->type.shape.rank || !loom_dim_equal (wire->type.shape.dim[axis], drawing->module->steps))
    return NULL;
  if (axis > 0)
    wire = onnx_emit (&outside, "movedim", ONNX_IN (wire), "source", onnx_text (c, "%d", (int)axis), "destination", "0",
                      NULL);
  row = wire->type;
  row.shape.rank--;
  memmove (row.shape.dim, row.shape.dim + 1, sizeof *row.shape.dim * (gsize)row.shape.rank);
  return outside.failed ? NULL : bring_in (drawing, name, wire, &row, TRUE);
}

void
onnx_alias (OnnxImport *scope, const char *name, const OnnxValue *value)
{
  OnnxValue *other = onnx_declare (scope, name);

  if (other == value)
    return;
  g_clear_pointer (&other->constant, loom_tensor_unref);
  other->constant = value->constant != NULL ? loom_tensor_ref (value->constant) : NULL;
  g_clear_pointer (&other->given, loom_tensor_unref);
  other->given = value->given != NULL ? loom_tensor_ref (value->given) : NULL;
  other->is_weight = value->is_weight;
  other->sequence = value->sequence;
  other->is_none = value->is_none;
  other->elem_type = value->elem_type;
  other->wire = value->wire;
  other->failed = value->failed;
  other->producer = value->producer;
}

/* A value with n positions along an axis, for nodes of c. */
static const OnnxWire *
find_size (OnnxCtx *c, LoomDim size, int *axis)
{
  OnnxImport *drawing = drawing_of (c->all);
  OnnxCtx outside = *c;
  const OnnxWire *wire;

  for (guint i = 0; i < c->all->nodes->len; i++)
    {
      const OnnxNode *node = c->all->nodes->pdata[i];
      for (guint k = 0; k < node->n_out; k++)
        for (int d = 0; d < node->out[k].type.shape.rank; d++)
          if (loom_dim_equal (node->out[k].type.shape.dim[d], size))
            {
              *axis = d;
              return &node->out[k];
            }
    }
  outside.all = drawing->outer;
  wire = drawing->outer != NULL ? find_size (&outside, size, axis) : NULL;
  return wire != NULL ? onnx_scope_capture (drawing, "like", wire) : NULL;
}

const OnnxWire *
onnx_count (OnnxCtx *c, LoomDim size)
{
  const OnnxWire *like;
  int axis;

  if (loom_dim_is_known (size))
    return onnx_emit (c, "arange", 0, NULL, "end", onnx_text (c, "%" G_GINT64_FORMAT, size.coef), "dtype", "i64", NULL);
  like = c->failed ? NULL : find_size (c, size, &axis);
  if (like == NULL)
    onnx_fail (c, "no earlier value has as many positions as its range.");
  return onnx_emit (c, "arange", ONNX_IN (like), "dim", onnx_text (c, "%d", axis), "dtype", "i64", NULL);
}

/* ---- loops ----------------------------------------------------------------- */

const OnnxNode *
onnx_emit_loop (OnnxCtx *c, const OnnxImport *scope, const OnnxLoop *loop)
{
  const OnnxModule *module = scope->module;
  g_autoptr (GString) sequence = g_string_new (NULL);
  guint n = module->inputs->len;
  const char **ports;
  OnnxNode *node;

  if (c->failed)
    return NULL;
  node = onnx_node_new (c->all, loom_op ("scan"),
                        c->node->name != NULL && *c->node->name ? c->node->name : module->name);
  ports = g_new0 (const char *, n + 1);
  g_ptr_array_add (c->all->memory, ports);
  node->ports = ports;
  node->in = g_new0 (const OnnxWire *, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const char *id = ((OnnxNode *)module->inputs->pdata[i])->id;

      ports[i] = g_intern_string (id);
      node->in[i] = module->captured->pdata[i] != NULL ? module->captured->pdata[i] : loop->in[i];
      if (module->captured->pdata[i] != NULL ? module->cut->pdata[i] != NULL : loop->is_sequence[i])
        g_string_append_printf (sequence, "%s%s", sequence->len > 0 ? "," : "", id);
    }
  ports[n] = g_intern_static_string ("lengths");
  node->in[n] = loop->lengths;
  node->n_in = n + 1;
  node->body[0] = module;
  onnx_node_set (node, "body", module->name);
  onnx_node_set (node, "axis", onnx_text (c, "%d", loop->axis));
  onnx_node_set (node, "reverse", loop->reverse ? "true" : "false");
  onnx_node_set (node, "sequence", sequence->str);
  onnx_infer (c, node);
  onnx_batch_check_node (c, node);
  return c->failed ? NULL : node;
}
