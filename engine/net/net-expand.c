/* Expands a net: instances of scopes with their arguments, copies, and nodes with paths.
 *
 * A flat net has no ports of modules. A wire is followed from its input back across the borders of modules to the
 * operator that computes the value, by iteration instead of recursion, so 10,000 chained copies need no deep stack. */
#include "engine/net/net-private.h"
#include "engine/ops/loom-reserved.h"

#include <string.h>

static void expand_scope (LoomNet *net, NetInstance *instance);

static void
add_location (LoomNet *net, const char *path, NetInstance *instance, guint local, int copy)
{
  NetLocation *location = loom_net_alloc (&net->arena, sizeof (NetLocation));

  *location
      = (NetLocation){ .instance = instance, .local = local, .copy = copy, .next = instance->slots[local].locations };
  instance->slots[local].locations = location;
  g_hash_table_insert (net->locations, (gpointer)path, location);
}

static const char *
join_number (LoomNet *net, const char *path, guint n)
{
  char number[16];

  g_snprintf (number, sizeof number, "%u", n);
  return loom_net_join (net, path, number);
}

static gboolean
is_true (const LoomElement *element, const char *attribute)
{
  const char *text = loom_element_get (element, attribute);

  return text != NULL && strcmp (text, "true") == 0;
}

/* The number of copies; 0 after a fault. *repeated: TRUE if paths contain the number of the copy. */
static guint
count_copies (LoomNet *net, const NetEnvironment *arguments, const NetLocal *local, const char *path,
              gboolean *repeated)
{
  const char *text = loom_element_get (local->element, "repeat");
  NetArgument value;
  LoomFault *fault;

  *repeated = text != NULL;
  if (text == NULL)
    return 1;
  if (loom_net_is_switch (local))
    {
      fault = loom_net_fault (net, local->element, path, LOOM_ERROR_SCHEMA, "repeat",
                              "“%s” cannot be repeated, because numbers in its path identify its bodies.", local->id);
      loom_fault_set_fix (fault, "repeat", NULL, "Put it into a module, and repeat that.");
      return 0;
    }
  if (loom_net_evaluate (net, local->element, path, arguments, "repeat", text, &value) == NULL)
    return 0;
  if (loom_expr_is (text))
    loom_net_make_integer (net, &value);
  if (!value.is_number || !value.number.is_int || value.number.i < 1 || value.number.i > LOOM_MAX_COPIES)
    {
      fault = loom_net_fault (net, local->element, path, LOOM_ERROR_SCHEMA, "repeat",
                              "repeat is “%s”; it must be an integer from 1 to 10,000.", value.text);
      if (value.is_number
          && (value.number.is_int ? value.number.i > LOOM_MAX_COPIES : value.number.d > LOOM_MAX_COPIES))
        loom_fault_set_fix (fault, "repeat", G_STRINGIFY (LOOM_MAX_COPIES), "Set it to %d.", LOOM_MAX_COPIES);
      else
        loom_fault_set_fix (fault, "repeat", "1", "Set it to 1.");
      return 0;
    }
  return (guint)value.number.i;
}

/* ---- operators -------------------------------------------------------------- */

/* Makes the inputs of a node; their wires are followed later. */
static void
prepare_inputs (LoomNet *net, NetNode *n, const NetLocal *local)
{
  LoomInfer *infer = &n->infer;

  infer->n_inputs = local->n_ports;
  infer->input_spec = local->inputs;
  if (n->border >= 0)
    {
      infer->n_inputs = 1;
      infer->input_spec = local->op->inputs;
    }
  if (n->runs != NULL)
    loom_net_prepare_loop (net, n);
  infer->input = loom_net_alloc (&net->arena, sizeof (LoomType *) * (infer->n_inputs + 1));
  n->node.n_inputs = infer->n_inputs;
  n->node.input_spec = infer->input_spec;
  n->node.input = loom_net_alloc (&net->arena, sizeof (LoomNetSource) * (infer->n_inputs + 1));
}

static int
stage_of (const NetInstance *instance, const NetLocal *local)
{
  const char *text = loom_element_get (local->element, "stage");
  gint64 stage;

  /* A text that is no number is reported elsewhere. */
  return text != NULL && g_ascii_string_to_signed (text, 10, 0, LOOM_MAX_STAGES - 1, &stage, NULL) ? (int)stage
                                                                                                   : instance->stage;
}

void
loom_net_prepare_outputs (NetNode *n)
{
  LoomInfer *infer = &n->infer;
  const LoomOp *op = infer->op;
  NetArena *arena = &n->net->arena;
  guint n_readable;

  if (op->dynamic_outputs != NULL)
    infer->output_spec = infer->has_fault ? NULL : op->dynamic_outputs (infer);
  infer->n_outputs = loom_op_count_ports (infer->output_spec);
  n_readable = infer->n_outputs + loom_op_count_weights (op);
  if (infer->output == NULL || n_readable > n->outputs_room)
    {
      infer->output = loom_net_alloc (arena, sizeof (LoomType) * (n_readable + 1));
      infer->output_is_set = loom_net_alloc (arena, sizeof (gboolean) * (n_readable + 1));
      n->outputs_room = n_readable;
    }
  else
    {
      memset (infer->output, 0, sizeof (LoomType) * (n_readable + 1));
      memset (infer->output_is_set, 0, sizeof (gboolean) * (n_readable + 1));
    }
  n->node.n_outputs = infer->n_outputs;
  n->node.output_spec = infer->output_spec;
  n->node.outputs_dynamic = infer->n_outputs == LOOM_OP_MAX_OUTPUTS && op->counts_outputs != NULL
                            && !loom_infer_is_set (infer, op->counts_outputs);
  n->node.output = infer->output;
}

/* runs: the loop that the node runs, or NULL. */
static void
add_node (LoomNet *net, NetInstance *instance, const NetLocal *local, const char *path, const char *weight_path,
          NetLoop *runs)
{
  NetNode *n = loom_net_alloc (&net->arena, sizeof (NetNode));
  const char *device = loom_element_get (local->element, "device");
  LoomInfer *infer = &n->infer;

  n->net = net;
  n->loop = instance->loop;
  n->body = instance->body;
  n->runs = runs;
  n->border = local->kind == NET_INPUT ? (int)local->port : -1;
  n->weight_path = weight_path;
  n->frozen = instance->frozen || is_true (local->element, "frozen");
  n->node.muted = instance->muted || is_true (local->element, "mute");
  n->node.loop = G_MAXUINT;
  /* A muted loop bypasses its body, as a muted module does. */
  n->bypassed = local->kind == NET_OP && is_true (local->element, "mute");
  n->arguments = &instance->arguments;
  infer->host = &loom_net_infer_host;
  infer->data = n;
  infer->folder = net->folder;
  infer->guard = &net->guard;
  infer->op = local->op;
  infer->element = local->element;
  infer->path = path;
  infer->binding = net->has_binding ? &net->binding : NULL;
  loom_net_parse_params (infer);
  infer->output_spec = local->op->outputs;
  prepare_inputs (net, n, local);
  loom_net_prepare_outputs (n);
  n->node.path = path;
  n->node.op = local->op;
  n->node.element = local->element;
  n->node.serial = loom_element_serial (local->element);
  n->node.line = loom_element_line (local->element);
  n->node.device = device != NULL ? loom_net_intern (device) : instance->device;
  n->node.stage = stage_of (instance, local);
  net->has_stages |= n->node.stage >= 0;
  net->has_devices |= n->node.device != NULL;
  net->has_splits |= loom_element_get (local->element, "split") != NULL;
  n->index = net->nodes->len;
  g_ptr_array_add (net->nodes, n);
}

/* ---- modules ---------------------------------------------------------------- */

static gboolean
fits_type (LoomArgumentType type, const NetArgument *value)
{
  gboolean boolean;

  switch (type)
    {
    case LOOM_ARGUMENT_INT:
      return value->is_number && value->number.is_int;
    case LOOM_ARGUMENT_FLOAT:
      return value->is_number;
    case LOOM_ARGUMENT_BOOL:
      return loom_param_parse_bool (value->text, &boolean);
    default:
      return TRUE;
    }
}

static void
set_argument (LoomNet *net, const LoomElement *arg, const LoomElement *node, const char *path,
              const NetEnvironment *outer, NetEnvironment *inner)
{
  LoomArgumentType type = loom_argument_type (arg);
  const char *given, *written;
  NetArgument *item = inner->items + inner->n;
  NetArgument value = { 0 };

  item->name = loom_net_strdup (&net->arena, loom_element_get (arg, "name"));
  item->is_module = type == LOOM_ARGUMENT_MODULE;
  if (type == LOOM_ARGUMENT_UNKNOWN)
    loom_net_fault (net, arg, NULL, LOOM_ERROR_SCHEMA, "type",
                    "An argument's type must be int, float, bool, string or module, not “%s”.",
                    loom_element_get (arg, "type"));
  given = loom_element_get (node, item->name);
  written = given != NULL ? given : loom_element_get (arg, "default");
  if (given != NULL)
    given = loom_net_evaluate (net, node, path, outer, item->name, given, &value);
  else if (loom_element_get (arg, "default") != NULL)
    given = loom_net_evaluate (net, arg, path, inner, "default", loom_element_get (arg, "default"), &value);
  else
    loom_net_fault (net, node, path, LOOM_ERROR_SCHEMA, item->name, "The module needs the argument “%s”.", item->name);
  if (given != NULL && written != NULL && loom_expr_is (written) && type == LOOM_ARGUMENT_INT)
    loom_net_make_integer (net, &value);
  if (given != NULL && !fits_type (type, &value))
    {
      LoomFault *fault
          = loom_net_fault (net, node, path, LOOM_ERROR_SCHEMA, item->name, "%s is “%s”, which is not of type %s.",
                            item->name, value.text, loom_element_get (arg, "type"));

      if (value.is_number && type == LOOM_ARGUMENT_INT)
        loom_fault_set_fix (fault, NULL, NULL, "Use // for integer division in an expression.");
      given = NULL;
    }
  if (given != NULL)
    {
      item->text = value.text;
      item->is_number = value.is_number;
      item->number = value.number;
    }
  inner->n++;
}

/* Evaluates the arguments of a module. scope: the module; a switch has several, each with arguments of its own. */
static void
set_arguments (LoomNet *net, const NetEnvironment *outer, const NetLocal *local, const NetScope *scope,
               const char *path, NetEnvironment *inner)
{
  const LoomElement *module = scope->element;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  inner->items = loom_net_alloc (&net->arena, sizeof (NetArgument) * (loom_element_n_children (module) + 1));
  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      const LoomElement *arg = loom_element_child (module, i);

      if (loom_element_tag (arg) != LOOM_TAG_ARG || loom_element_get (arg, "name") == NULL)
        continue;
      set_argument (net, arg, local->element, path, outer, inner);
      g_ptr_array_add (names, (gpointer)loom_element_get (arg, "name"));
    }
  for (guint b = 0; b < local->n_bodies; b++)
    for (guint i = 0; i < loom_element_n_children (local->bodies[b].scope->element); i++)
      {
        const LoomElement *arg = loom_element_child (local->bodies[b].scope->element, i);

        if (loom_element_tag (arg) == LOOM_TAG_ARG && loom_element_get (arg, "name") != NULL)
          g_ptr_array_add (names, (gpointer)loom_element_get (arg, "name"));
      }
  for (const LoomParamSpec *p = local->op != NULL ? local->op->params : NULL; p != NULL && p->name != NULL; p++)
    g_ptr_array_add (names, (gpointer)p->name);
  g_ptr_array_add (names, NULL);
  for (guint i = 0; i < loom_element_n_attributes (local->element); i++)
    {
      const char *name;
      LoomFault *fault;

      loom_element_attribute (local->element, i, &name, NULL);
      if (loom_is_reserved (name) || strchr (name, ':') != NULL
          || g_strv_contains ((const char *const *)names->pdata, name))
        continue;
      fault = local->op == NULL ? loom_net_fault (net, local->element, path, LOOM_ERROR_SCHEMA, name,
                                                  "The module “%s” has no argument “%s”.", local->module->name, name)
                                : loom_net_fault (net, local->element, path, LOOM_ERROR_SCHEMA, name,
                                                  "Neither “%s” nor its module “%s” has a parameter “%s”.",
                                                  local->op->name, local->module->name, name);
      loom_fault_suggest_name (fault, local->element, name, loom_nearest (name, (const char *const *)names->pdata));
    }
}

/* ---- scopes --------------------------------------------------------------- */

/* The dtype in which a node computes, if it is not the graph's: its own attribute, or that of the innermost module
 * around it. If the operator has a parameter of this name (input, constant), the attribute is the type of its elements
 * instead. */
static const char *
dtype_of (const NetInstance *instance, const NetLocal *local)
{
  const char *dtype = loom_element_get (local->element, "dtype");

  for (guint i = 0; local->kind == NET_OP && local->op->params != NULL && local->op->params[i].name != NULL; i++)
    if (strcmp (local->op->params[i].name, "dtype") == 0)
      return instance->dtype;
  return dtype != NULL ? loom_net_intern (dtype) : instance->dtype;
}

/* Records by path the attributes that passes over programs read: recompute and dtype. */
static void
record_requests (LoomNet *net, const NetInstance *instance, const NetLocal *local, const char *path)
{
  const char *dtype = dtype_of (instance, local);

  if (is_true (local->element, "recompute"))
    g_hash_table_add (net->recomputed, (gpointer)path);
  for (guint t = 0; dtype != NULL && t < LOOM_N_DTYPES; t++)
    if (local->kind == NET_OP && strcmp (dtype, loom_dtype_name ((LoomDType)t)) == 0)
      g_hash_table_insert (net->dtypes, (gpointer)path, GUINT_TO_POINTER (t + 1));
}

/* Expands the nodes of the bodies, then the node that runs them. */
static void
expand_loop (LoomNet *net, NetInstance *instance, const NetLocal *local, NetInstance **bodies, guint n,
             const char *path, const char *weight_path)
{
  NetLoop *loop = loom_net_alloc (&net->arena, sizeof (NetLoop));

  loop->spec = loom_op_loop (local->op);
  loop->local = local;
  loop->n_bodies = n;
  loop->bodies = loom_net_alloc (&net->arena, sizeof (NetInstance *) * n);
  loop->body = bodies[0];
  loop->outer = instance->loop;
  loop->steps = loom_dim_unknown ();
  g_ptr_array_add (net->loops, loop);
  for (guint b = 0; b < n; b++)
    {
      loop->bodies[b] = bodies[b];
      bodies[b]->loop = loop;
      bodies[b]->body = b;
      bodies[b]->is_body = TRUE;
      expand_scope (net, bodies[b]);
    }
  loop->node = net->nodes->len;
  add_node (net, instance, local, path, weight_path, loop);
}

/* One copy of the module `local` of an instance. */
static NetInstance *
new_instance (LoomNet *net, NetInstance *instance, const NetLocal *local, NetScope *scope, guint copy, const char *path,
              const char *weight_path)
{
  NetSlot *slot = instance->slots + (local - instance->scope->locals);
  const char *device = loom_element_get (local->element, "device");
  NetInstance *inner = loom_net_alloc (&net->arena, sizeof (NetInstance));

  inner->scope = scope;
  inner->parent = instance;
  inner->local = (guint)(local - instance->scope->locals);
  inner->copy = copy;
  inner->siblings = slot->copies;
  inner->path = path;
  inner->weight_path = weight_path;
  inner->device = device != NULL ? loom_net_intern (device) : instance->device;
  inner->frozen = instance->frozen || is_true (local->element, "frozen");
  inner->muted = instance->muted || is_true (local->element, "mute");
  inner->dtype = dtype_of (instance, local);
  inner->stage = stage_of (instance, local);
  inner->loop = instance->loop;
  inner->body = instance->body;
  slot->copies[copy] = inner;
  return inner;
}

/* Expands a switch, whose bodies have numbers in paths like copies. */
static void
expand_switch (LoomNet *net, NetInstance *instance, const NetLocal *local, const char *path, const char *weight_path)
{
  guint k = (guint)(local - instance->scope->locals);
  NetSlot *slot = instance->slots + k;

  slot->copies = loom_net_alloc (&net->arena, sizeof (NetInstance *) * (local->n_bodies + 1));
  for (guint b = 0; b < local->n_bodies; b++)
    {
      const char *own = join_number (net, path, b);
      const char *weights = weight_path == path ? own : join_number (net, weight_path, b);
      NetInstance *inner = new_instance (net, instance, local, local->bodies[b].scope, b, own, weights);

      add_location (net, own, instance, k, (int)b);
      set_arguments (net, &instance->arguments, local, local->bodies[b].scope, path, &inner->arguments);
    }
  slot->n = local->n_bodies;
  record_requests (net, instance, local, path);
  expand_loop (net, instance, local, slot->copies, slot->n, path, weight_path);
}

void
loom_net_expand_local (LoomNet *net, NetInstance *instance, guint k)
{
  NetLocal *local = instance->scope->locals + k;
  NetSlot *slot = instance->slots + k;
  const char *path, *weight_path;
  gboolean repeated, share;
  NetEnvironment arguments = { 0 };
  guint n;

  if (local->kind == NET_BROKEN)
    return;
  path = loom_net_join (net, instance->path, local->id);
  add_location (net, path, instance, k, -1);
  if (local->kind == NET_INPUT && instance->is_body)
    {
      slot->first = net->nodes->len;
      slot->n = 1;
      add_node (net, instance, local, path, path, NULL);
    }
  if (local->kind == NET_INPUT || local->kind == NET_OUTPUT)
    return;
  n = count_copies (net, &instance->arguments, local, path, &repeated);
  share = is_true (local->element, "share");
  weight_path = instance->weight_path == instance->path ? path : loom_net_join (net, instance->weight_path, local->id);
  if (local->kind == NET_MODULE && loom_net_is_switch (local))
    {
      if (n > 0)
        expand_switch (net, instance, local, path, weight_path);
      return;
    }
  if (local->kind == NET_MODULE)
    {
      set_arguments (net, &instance->arguments, local, local->module, path, &arguments);
      slot->copies = loom_net_alloc (&net->arena, sizeof (NetInstance *) * (n + 1));
    }
  slot->first = net->nodes->len;
  for (guint copy = 0; copy < n; copy++)
    {
      const char *own = repeated ? join_number (net, path, copy) : path;
      const char *weights = share || !repeated    ? weight_path
                            : weight_path == path ? own
                                                  : join_number (net, weight_path, copy);
      NetInstance *inner;

      slot->n = copy + 1;
      if (repeated)
        add_location (net, own, instance, k, (int)copy);
      record_requests (net, instance, local, own);
      if (local->kind == NET_OP)
        {
          add_node (net, instance, local, own, weights, NULL);
          continue;
        }
      inner = new_instance (net, instance, local, local->module, copy, own, weights);
      inner->arguments = arguments;
      if (local->op != NULL)
        expand_loop (net, instance, local, &inner, 1, inner->path, inner->weight_path);
      else
        expand_scope (net, inner);
    }
}

static void
expand_scope (LoomNet *net, NetInstance *instance)
{
  instance->slots = loom_net_alloc (&net->arena, sizeof (NetSlot) * (instance->scope->n_locals + 1));
  for (guint k = 0; k < instance->scope->n_locals; k++)
    loom_net_expand_local (net, instance, k);
}

/* Counts the nodes and modules before they are made. One copy is counted, times the number of copies. *visits bounds
 * the work for deeply nested modules. */
static double
count_scope (LoomNet *net, const NetScope *scope, const NetEnvironment *arguments, guint *visits)
{
  double total = 0;

  for (guint k = 0; k < scope->n_locals && total <= NET_MAX_NODES; k++)
    {
      const NetLocal *local = scope->locals + k;
      gboolean repeated;
      double each = 1;

      if ((local->kind != NET_OP && local->kind != NET_MODULE) || ++*visits > NET_MAX_NODES)
        continue;
      if (local->kind == NET_MODULE)
        {
          for (guint b = 0; b < MAX (local->n_bodies, 1); b++)
            {
              NetScope *inside = local->n_bodies > 0 ? local->bodies[b].scope : local->module;
              NetEnvironment inner = { 0 };

              set_arguments (net, arguments, local, inside, local->path, &inner);
              each += count_scope (net, inside, &inner, visits);
            }
        }
      total += each * count_copies (net, arguments, local, local->path, &repeated);
      if (scope->name == NULL && (total > NET_MAX_NODES || *visits > NET_MAX_NODES))
        {
          loom_net_fault (net, local->element, local->path, LOOM_ERROR_SCHEMA, "repeat",
                          "The graph expands to more than 200,000 nodes here. Lower repeat.");
          return NET_MAX_NODES + 1.0;
        }
    }
  return total;
}

void
loom_net_count_copies (LoomNet *net, NetInstance *instance, guint local)
{
  const NetLocal *l = instance->scope->locals + local;
  gboolean repeated;

  count_copies (net, &instance->arguments, l, l->path, &repeated);
}

void
loom_net_expand (LoomNet *net)
{
  NetInstance *root = loom_net_alloc (&net->arena, sizeof (NetInstance));
  guint visits = 0;

  root->scope = loom_net_scope (net, loom_graph_root (net->graph), NULL, "");
  root->path = root->weight_path = "";
  root->stage = -1;
  net->root = root;
  /* A graph that is too large is not expanded at all, because a net of a part of it would be misleading. */
  root->slots = loom_net_alloc (&net->arena, sizeof (NetSlot) * (root->scope->n_locals + 1));
  if (count_scope (net, root->scope, &root->arguments, &visits) > NET_MAX_NODES)
    {
      net->is_whole = TRUE;
      return;
    }
  expand_scope (net, root);
  loom_net_connect (net, root);
}
