/* Imports If.
 *
 * A branch that is known during import is inlined. If the data choose, the branches become the modules of a switch,
 * which runs one of them. */
#include "engine/onnx/onnx-private.h"

void
onnx_pass_output (OnnxCtx *c, OnnxImport *scope, const char *name, guint output)
{
  OnnxCtx within = onnx_scope_ctx (c, scope);
  OnnxValue *value = onnx_reach (&within, name);

  if (value == NULL)
    onnx_fail (c, "nothing makes “%s”.", name);
  else if (value->failed || within.failed)
    c->failed = TRUE;
  else if (onnx_has_output (c, output))
    onnx_alias (c->all, c->node->output[output], value);
}

static void
inline_branch (OnnxCtx *c, const Onnx__GraphProto *branch)
{
  OnnxImport *scope = onnx_scope_new (c->all, NULL);

  onnx_add_tensors (scope, branch);
  onnx_map_nodes (scope, branch);
  for (guint i = 0; i < branch->n_output && !c->failed; i++)
    onnx_pass_output (c, scope, branch->output[i]->name, i);
  c->first_node = c->all->nodes->len; /* these were recorded one by one */
}

/* ---- a branch that data choose ------------------------------------------------ */

static OnnxImport *
draw_module (OnnxCtx *c, const Onnx__GraphProto *branch, const char *name)
{
  OnnxImport *scope = onnx_scope_new (c->all, name);
  OnnxCtx within = onnx_scope_ctx (c, scope);

  onnx_add_tensors (scope, branch);
  onnx_map_nodes (scope, branch);
  for (guint i = 0; i < branch->n_output && !within.failed; i++)
    onnx_scope_output (&within, branch->output[i]->name, onnx_reach_wire (&within, branch->output[i]->name), NULL);
  c->failed = c->failed || within.failed;
  return scope;
}

/* Gives nodes of two modules the same id. */
static void
call_alike (OnnxImport *a, OnnxNode *x, OnnxImport *b, OnnxNode *y)
{
  while (g_strcmp0 (x->id, y->id) != 0)
    {
      g_autofree char *id = onnx_free_id (a, x->id);

      if (!g_hash_table_add (b->ids, g_strdup (id)))
        continue;
      g_free (x->id);
      g_free (y->id);
      x->id = g_strdup (id);
      y->id = g_strdup (id);
    }
}

/* The input of `module` for the outer value of an input of another module; it is added if necessary. */
static OnnxNode *
same_input (OnnxModule *module, const OnnxModule *other, guint input)
{
  const OnnxWire *outside = other->captured->pdata[input];

  return onnx_scope_capture (module->scope, ((OnnxNode *)other->inputs->pdata[input])->id, outside)->node;
}

/* The modules of a switch must have the same ports, by name. */
static void
match_ports (OnnxModule *a, OnnxModule *b)
{
  for (guint i = 0; i < a->inputs->len; i++)
    call_alike (a->scope, a->inputs->pdata[i], b->scope, same_input (b, a, i));
  for (guint i = 0; i < b->inputs->len; i++)
    call_alike (b->scope, b->inputs->pdata[i], a->scope, same_input (a, b, i));
  for (guint i = 0; i < a->outputs->len; i++)
    call_alike (a->scope, a->outputs->pdata[i], b->scope, b->outputs->pdata[i]);
}

static void
emit_switch (OnnxCtx *c, const OnnxModule *const *module, const OnnxWire *index)
{
  guint n = module[0]->inputs->len;
  OnnxNode *node
      = onnx_node_new (c->all, loom_op ("switch"), c->node->name != NULL && *c->node->name ? c->node->name : "choice");
  const char **ports = g_new0 (const char *, n + 1);

  g_ptr_array_add (c->all->memory, ports);
  node->ports = ports;
  node->n_in = n + 1;
  node->in = g_new0 (const OnnxWire *, n + 1);
  for (guint i = 0; i < n; i++)
    {
      ports[i] = g_intern_string (((OnnxNode *)module[0]->inputs->pdata[i])->id);
      node->in[i] = module[0]->captured->pdata[i];
    }
  ports[n] = g_intern_static_string ("index");
  node->in[n] = index;
  for (guint b = 0; b < 2; b++)
    node->body[b] = module[b];
  onnx_node_set (node, "bodies", onnx_text (c, "%s,%s", module[0]->name, module[1]->name));
  onnx_infer (c, node);
  for (guint i = 0; i < node->n_out && !c->failed; i++)
    onnx_out (c, i, &node->out[i]);
}

/* False is number 0, and true is number 1. */
static void
choose (OnnxCtx *c)
{
  static const LoomShape single = { 0 };
  static const char *const names[] = { "else_branch", "then_branch" }, *const modules[] = { "otherwise", "then" };
  const OnnxWire *condition = onnx_in (c, 0);
  const Onnx__GraphProto *graph[2];
  OnnxModule *module[2] = { NULL, NULL };

  for (guint b = 0; b < 2; b++)
    graph[b] = onnx_graph_of (c, names[b]);
  if (c->failed)
    return;
  if (graph[0]->n_output != graph[1]->n_output)
    onnx_fail (c, "its branches have %u and %u outputs.", (guint)graph[1]->n_output, (guint)graph[0]->n_output);
  condition = onnx_cast (c, onnx_cast (c, onnx_reshape (c, condition, &single), LOOM_BOOL), LOOM_I64);
  for (guint b = 0; b < 2 && !c->failed; b++)
    module[b] = draw_module (c, graph[b], modules[b])->module;
  if (c->failed)
    return;
  match_ports (module[0], module[1]);
  emit_switch (c, (const OnnxModule *const *)module, condition);
}

static void
map_if (OnnxCtx *c)
{
  const LoomTensor *condition = onnx_is_constant (c, 0) ? onnx_const_or_null (c, 0) : NULL;
  const Onnx__GraphProto *branch;

  if (condition == NULL || condition->count != 1)
    {
      choose (c);
      return;
    }
  branch = onnx_graph_of (c, loom_tensor_get (condition, 0) != 0 ? "then_branch" : "else_branch");
  if (branch != NULL)
    inline_branch (c, branch);
}

const OnnxMap onnx_map_branch[] = {
  { "If", NULL, map_if },
  { NULL },
};
