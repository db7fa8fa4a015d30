/* Compiles a scope: finds the operator or module of each node, and the ends of each wire as indices.
 *
 * A module is compiled once, whatever the number of its uses, so an expansion to 10,000 copies only follows indices,
 * and a wrong wire is reported once. A module whose arguments are modules is compiled once for each choice of them. */
#include "engine/net/net-private.h"
#include "engine/program/loom-prim.h"

#include <string.h>

const char *
loom_net_skip_copy (const NetLocal *local, const char *way, int *copy)
{
  gsize n = strspn (way, G_CSET_DIGITS);

  *copy = -1;
  if (n == 0 || n > 6 || way[n] != '.'
      || (!loom_net_is_switch (local) && loom_element_get (local->element, "repeat") == NULL))
    return way;
  *copy = atoi (way);
  return way + n + 1;
}

const NetLocal *
loom_net_find_local (const NetScope *scope, const char *way, gsize n)
{
  for (guint i = 0; i < scope->n_locals; i++)
    {
      const char *id = scope->locals[i].id;

      if (id != NULL && strncmp (id, way, n) == 0 && id[n] == 0)
        return scope->locals + i;
    }
  return NULL;
}

/* ---- nodes -------------------------------------------------------------- */

/* The hint for an unknown operator name. */
typedef struct
{
  const char *op; /* the operator that is probably meant, or NULL */
  const char *text;
} Advice;

static Advice *
new_advice (LoomNet *net, const char *name)
{
  const LoomOp *const *ops = loom_ops ();
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  Advice *advice = loom_net_alloc (&net->arena, sizeof *advice);
  const LoomOp *called = loom_op_by_synonym (name);
  g_autofree char *text = NULL;

  for (guint i = 0; ops[i] != NULL; i++)
    g_ptr_array_add (names, (gpointer)ops[i]->name);
  g_ptr_array_add (names, NULL);
  /* A name that is known from another framework is a better hint than a similar spelling. */
  advice->op = called != NULL ? called->name : loom_nearest (name, (const char *const *)names->pdata);
  if (called != NULL)
    text = g_strdup_printf ("Did you mean “%s”, which also has this name?", called->name);
  else if (advice->op != NULL)
    text = g_strdup_printf ("Did you mean “%s”?", advice->op);
  else
    {
      g_autofree char *mentions = loom_ops_mentioning (name);

      if (mentions != NULL)
        text = g_strdup_printf ("Mentioned in: %s.", mentions);
    }
  advice->text = loom_net_strdup (&net->arena, text);
  return advice;
}

/* Cached: a graph from another program may have an unknown name in every node, and each search visits all operators. */
static const Advice *
find_advice (LoomNet *net, const char *name)
{
  Advice *advice = g_hash_table_lookup (net->advice, name);

  if (advice == NULL)
    {
      advice = new_advice (net, name);
      g_hash_table_insert (net->advice, loom_net_strdup (&net->arena, name), advice);
    }
  return advice;
}

static void
find_operator (LoomNet *net, NetLocal *local, const char *path, const char *name)
{
  const Advice *advice;
  LoomFault *fault;

  local->op = loom_op (name);
  if (local->op != NULL)
    {
      local->kind = NET_OP;
      return;
    }
  advice = find_advice (net, name);
  fault = loom_net_fault (net, local->element, path, LOOM_ERROR_UNKNOWN_OP, "op", "There is no operator “%s”.", name);
  if (fault != NULL && advice->text != NULL)
    loom_fault_set_fix (fault, advice->op != NULL ? "op" : NULL, advice->op, "%s", advice->text);
}

/* The attribute's text, which may be an expression; NULL after a fault. */
static const char *
evaluate_name (LoomNet *net, const NetLocal *local, const char *path, const NetEnvironment *arguments,
               const char *attribute)
{
  const char *text = loom_element_get (local->element, attribute);
  NetArgument value;

  return loom_expr_is (text) ? loom_net_evaluate (net, local->element, path, arguments, attribute, text, &value) : text;
}

/* The scope of a module by its name; NULL after a fault. */
static NetScope *
find_scope (LoomNet *net, const NetLocal *local, const char *path, const NetEnvironment *arguments,
            const char *attribute, const char *name)
{
  const LoomElement *element;
  NetEnvironment inner = { 0 };
  LoomFault *fault;

  element = loom_graph_find_module (net->graph, name);
  if (element == NULL)
    {
      g_autoptr (GPtrArray) names = g_ptr_array_new ();
      const LoomElement *root = loom_graph_root (net->graph);
      const char *near;

      for (guint i = 0; i < loom_element_n_children (root); i++)
        if (loom_element_tag (loom_element_child (root, i)) == LOOM_TAG_MODULE
            && loom_element_get (loom_element_child (root, i), "name") != NULL)
          g_ptr_array_add (names, (gpointer)loom_element_get (loom_element_child (root, i), "name"));
      g_ptr_array_add (names, NULL);
      near = loom_nearest (name, (const char *const *)names->pdata);
      fault = loom_net_fault (net, local->element, path, LOOM_ERROR_UNKNOWN_OP, attribute, "There is no module “%s”.",
                              name);
      if (fault != NULL && near != NULL)
        loom_fault_set_fix (fault, strcmp (name, loom_element_get (local->element, attribute)) == 0 ? attribute : NULL,
                            near, "Did you mean “%s”?", near);
      return NULL;
    }

  /* Only arguments that are modules affect the wiring of a scope. */
  inner.items = loom_net_alloc (&net->arena, sizeof (NetArgument) * (loom_element_n_children (element) + 1));
  for (guint i = 0; i < loom_element_n_children (element); i++)
    {
      const LoomElement *arg = loom_element_child (element, i);
      NetArgument *item = inner.items + inner.n;
      const char *given;

      if (loom_element_tag (arg) != LOOM_TAG_ARG || g_strcmp0 (loom_element_get (arg, "type"), "module") != 0)
        continue;
      item->name = loom_net_strdup (&net->arena, loom_element_get (arg, "name"));
      item->is_module = TRUE;
      given = loom_element_get (local->element, item->name);
      if (given != NULL && loom_expr_is (given))
        {
          NetArgument value;

          given = loom_net_evaluate (net, local->element, path, arguments, item->name, given, &value);
        }
      item->text = loom_net_strdup (&net->arena, given != NULL ? given : loom_element_get (arg, "default"));
      inner.n++;
    }
  return loom_net_scope (net, element, &inner, path);
}

static void
find_module (LoomNet *net, NetLocal *local, const char *path, const NetEnvironment *arguments, const char *attribute)
{
  const char *name = evaluate_name (net, local, path, arguments, attribute);

  if (name != NULL)
    local->module = find_scope (net, local, path, arguments, attribute, name);
  if (local->module != NULL)
    local->kind = NET_MODULE;
}

typedef struct
{
  LoomNet *net;
  const LoomElement *element;
  const char *path;
} Checked;

/* The LoomOpReport of LoomOp.check. */
static LoomFault *
report_check (gpointer data, const char *parameter, const char *message)
{
  const Checked *at = data;

  return loom_net_fault (at->net, at->element, at->path, LOOM_ERROR_SCHEMA, parameter, "%s", message);
}

/* Finds the modules that a loop runs; the attribute names them, separated by commas. */
static void
find_bodies (LoomNet *net, NetLocal *local, const char *path, const NetEnvironment *arguments)
{
  const LoomLoop *loop = loom_op_loop (local->op);
  const char *text = loom_element_get (local->element, loop->attribute);
  g_auto (GStrv) names = NULL;
  gboolean several = loop->kind == LOOM_LOOP_SWITCH;

  if (text == NULL || *text == '\0')
    {
      loom_net_fault (net, local->element, path, LOOM_ERROR_SCHEMA, loop->attribute,
                      several ? "“%s” needs the names of the modules from which it selects."
                              : "“%s” needs the name of the module that it runs.",
                      local->op->name)
          ->is_todo
          = TRUE;
      return;
    }
  text = evaluate_name (net, local, path, arguments, loop->attribute);
  if (text == NULL)
    return;
  names = several ? g_strsplit (text, ",", -1) : g_strdupv ((char *[]){ (char *)text, NULL });
  if (g_strv_length (names) > LOOM_VISIT_MAX_BODIES)
    {
      loom_net_fault (net, local->element, path, LOOM_ERROR_SCHEMA, loop->attribute,
                      "“%s” names %u modules; the limit is %d.", local->id, g_strv_length (names),
                      LOOM_VISIT_MAX_BODIES);
      return;
    }
  local->bodies = loom_net_alloc (&net->arena, sizeof (NetBody) * g_strv_length (names));
  for (guint b = 0; names[b] != NULL; b++)
    {
      local->bodies[b].scope = find_scope (net, local, path, arguments, loop->attribute, g_strstrip (names[b]));
      if (local->bodies[b].scope == NULL)
        return;
    }
  local->n_bodies = g_strv_length (names);
  local->module = local->bodies[0].scope;
  if (loom_net_match_bodies (net, local))
    local->kind = NET_MODULE;
}

static gboolean
find_kind (LoomNet *net, NetScope *scope, NetLocal *local, const NetEnvironment *arguments, const char *path)
{
  const char *op = loom_element_get (local->element, "op"), *module = loom_element_get (local->element, "module");
  const LoomOp *known = loom_op (op);
  LoomOpRole role = known != NULL ? known->role : LOOM_ROLE_NONE;

  if (!loom_id_is_valid (local->id) || loom_scope_find_node (scope->element, local->id) != local->element)
    return FALSE; /* loom_graph_check() has reported it */
  path = local->path = loom_net_join (net, path, local->id);
  if (op == NULL || module != NULL)
    {
      if (op != NULL || module == NULL)
        loom_net_fault (net, local->element, path, LOOM_ERROR_SCHEMA, NULL,
                        "A node needs either op (an operator) or module (a module), not both.");
      else
        find_module (net, local, path, arguments, "module");
      return TRUE;
    }
  if (role == LOOM_ROLE_LOOP)
    {
      local->op = known;
      find_bodies (net, local, path, arguments);
      return TRUE;
    }
  if (role != LOOM_ROLE_MODULE_INPUT && role != LOOM_ROLE_MODULE_OUTPUT)
    {
      find_operator (net, local, path, op);
      return TRUE;
    }
  if (scope->name == NULL)
    {
      loom_net_fault (net, local->element, path, LOOM_ERROR_SCHEMA, "op",
                      "“%s” is a port of a module and is allowed only inside a <module>.", op);
      return TRUE;
    }
  local->kind = role == LOOM_ROLE_MODULE_INPUT ? NET_INPUT : NET_OUTPUT;
  local->op = known;
  return TRUE;
}

gboolean
loom_net_compile_local (LoomNet *net, NetScope *scope, NetLocal *local, const LoomElement *element,
                        const NetEnvironment *arguments, const char *path)
{
  *local = (NetLocal){ .element = element,
                       .serial = loom_element_serial (element),
                       .id = loom_net_strdup (&net->arena, loom_element_get (element, "id")) };
  g_hash_table_insert (net->ids, GSIZE_TO_POINTER (local->serial), (gpointer)local->id);
  if (!find_kind (net, scope, local, arguments, path))
    return FALSE;
  loom_net_check_reserved (net, element, local->path, local->kind == NET_MODULE ? NULL : local->op);
  if (local->kind == NET_OP && local->op->check != NULL)
    local->faulty = local->op->check (element, report_check, &(Checked){ net, element, local->path });
  return TRUE;
}

/* ---- inputs --------------------------------------------------------------- */

/* Reports required inputs that are not wired, and gaps in numbered ones. */
void
loom_net_check_inputs (LoomNet *net, NetLocal *local)
{
  const char *path = local->path;
  const LoomPortSpec *specs = local->inputs;
  guint n = loom_op_count_ports (specs);

  if (n == 1 && specs[0].flags & LOOM_PORT_VARIADIC)
    {
      guint used = local->n_ports;

      while (used > 0 && local->wires[used - 1] == NULL && !local->wrong[used - 1])
        used--;
      local->n_ports = used;
      for (guint i = 0; i < used; i++)
        if (local->wires[i] == NULL && !local->wrong[i])
          {
            g_autofree char *port = g_strdup_printf ("%u", i);

            loom_net_fault (net, local->element, path, LOOM_ERROR_PORT, port,
                            "Input %u is not wired, but input %u is: the inputs are numbered from 0 without gaps.", i,
                            used - 1);
            local->wrong[i] = TRUE;
          }
      if (used == 0 && !(specs[0].flags & LOOM_PORT_OPTIONAL))
        {
          loom_net_fault (net, local->element, path, LOOM_ERROR_PORT, "0", "Nothing is wired into “%s”.", local->id)
              ->is_todo
              = TRUE;
          loom_net_grow_inputs (net, local, 1);
          local->wrong[0] = TRUE;
        }
      return;
    }
  for (guint i = 0; i < local->n_ports; i++)
    {
      const char *name = "input";

      if (local->wires[i] != NULL || local->wrong[i])
        continue;
      if (local->kind == NET_OP && specs[i].flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT))
        continue;
      if (local->kind == NET_MODULE && local->op != NULL && loom_net_begins_as_zeros (local, i))
        continue;
      /* In a chain of copies the first input of all but the first copy is wired to the copy before; the first copy
       * needs a wire. */
      if (local->kind == NET_OP)
        name = specs[i].name;
      else if (local->kind == NET_MODULE)
        name = i < local->module->n_inputs ? local->module->locals[local->module->inputs[i]].id
                                           : loom_op_loop (local->op)->port;
      if (!local->faulty)
        loom_net_fault (net, local->element, path, LOOM_ERROR_PORT, name, loom_net_why_unwired (local, i), name)
            ->is_todo
            = TRUE;
      local->wrong[i] = TRUE;
    }
}

/* ---- scopes --------------------------------------------------------------- */

void
loom_net_prepare_ports (LoomNet *net, NetLocal *local)
{
  guint n = local->kind == NET_OUTPUT;

  if (local->kind == NET_MODULE)
    n = local->module->n_inputs + (local->op != NULL);
  else if (local->kind == NET_OP)
    {
      local->inputs = loom_op_inputs (local->op, local->element);
      n = loom_op_count_ports (local->inputs);
      if (n == 1 && local->inputs[0].flags & LOOM_PORT_VARIADIC)
        n = 0;
    }
  if (n == 0)
    return;
  local->n_ports = n;
  local->wires = loom_net_alloc (&net->arena, sizeof (NetWire *) * n);
  local->wrong = loom_net_alloc (&net->arena, sizeof (gboolean) * n);
}

static void
prepare_ports (LoomNet *net, NetScope *scope)
{
  guint n_inputs = 0, n_outputs = 0;

  scope->inputs = loom_net_alloc (&net->arena, sizeof (guint) * (scope->n_locals + 1));
  scope->outputs = loom_net_alloc (&net->arena, sizeof (guint) * (scope->n_locals + 1));
  for (guint i = 0; i < scope->n_locals; i++)
    {
      NetLocal *local = scope->locals + i;

      if (local->kind == NET_INPUT)
        {
          local->port = n_inputs;
          scope->inputs[n_inputs++] = i;
        }
      else if (local->kind == NET_OUTPUT)
        {
          local->port = n_outputs;
          scope->outputs[n_outputs++] = i;
        }
      loom_net_prepare_ports (net, local);
    }
  scope->n_inputs = n_inputs;
  scope->n_outputs = n_outputs;
  loom_net_pair_carried (net, scope);
}

static void
compile (LoomNet *net, NetScope *scope, const NetEnvironment *arguments, const char *path)
{
  const LoomElement *element = scope->element;
  guint n = loom_element_n_children (element);
  g_autofree guint *local_of_child = g_new (guint, n + 1);

  for (guint i = 0; i < n; i++)
    {
      scope->n_locals += loom_element_tag (loom_element_child (element, i)) == LOOM_TAG_NODE;
      scope->n_wires += loom_element_tag (loom_element_child (element, i)) == LOOM_TAG_WIRE;
    }
  scope->locals = loom_net_alloc (&net->arena, sizeof (NetLocal) * (scope->n_locals + 1));
  scope->wires = loom_net_alloc (&net->arena, sizeof (NetEnds) * (scope->n_wires + 1));
  scope->locals_room = scope->n_locals;
  scope->wires_room = scope->n_wires;
  for (guint i = 0, k = 0; i < n; i++)
    {
      const LoomElement *child = loom_element_child (element, i);

      local_of_child[i] = G_MAXUINT;
      if (loom_element_tag (child) != LOOM_TAG_NODE)
        continue;
      if (loom_net_compile_local (net, scope, scope->locals + k, child, arguments, path))
        local_of_child[i] = k;
      k++;
    }
  prepare_ports (net, scope);
  for (guint i = 0, k = 0; i < n; i++)
    if (loom_element_tag (loom_element_child (element, i)) == LOOM_TAG_WIRE)
      {
        NetEnds *ends = scope->wires + k++;

        ends->wire = loom_element_child (element, i);
        ends->serial = loom_element_serial (ends->wire);
        loom_net_find_ends (scope, local_of_child, ends);
        loom_net_compile_wire (net, scope, ends);
      }
  for (guint i = 0; i < scope->n_locals; i++)
    if (scope->locals[i].kind != NET_BROKEN)
      loom_net_check_inputs (net, scope->locals + i);
}

/* Maximum nesting of modules in modules. The compiler, and all functions that walk through modules, recurse for
 * each. */
#define MAX_MODULES 60

static void
report_recursion (LoomNet *net, const NetScope *scope, const char *path)
{
  g_autoptr (GString) chain = g_string_new (NULL);
  gboolean inside = FALSE;

  for (guint i = 0; i < net->compiling_modules->len; i++)
    {
      const NetScope *each = net->compiling_modules->pdata[i];

      inside |= strcmp (each->name, scope->name) == 0;
      if (inside)
        g_string_append_printf (chain, "“%s” holds ", each->name);
    }
  if (!inside)
    {
      loom_net_fault (net, scope->element, path, LOOM_ERROR_CYCLE, "module",
                      "Modules are nested more than %d deep here, down to “%s”. Use fewer levels.", MAX_MODULES,
                      scope->name);
      return;
    }
  loom_net_fault (net, scope->element, path, LOOM_ERROR_CYCLE, "module", "A module cannot contain itself: %s“%s”.",
                  chain->str, scope->name);
}

NetScope *
loom_net_scope (LoomNet *net, const LoomElement *element, const NetEnvironment *arguments, const char *path)
{
  const char *name = loom_element_tag (element) == LOOM_TAG_MODULE ? loom_element_get (element, "name") : NULL;
  g_autoptr (GString) key = g_string_new (name);
  NetScope *scope;

  for (guint i = 0; arguments != NULL && i < arguments->n; i++)
    g_string_append_printf (key, "|%s=%s", arguments->items[i].name,
                            arguments->items[i].text != NULL ? arguments->items[i].text : "");
  scope = g_hash_table_lookup (net->scopes, key->str);
  if (scope != NULL && !scope->compiling)
    return scope;
  if (scope != NULL || net->compiling_modules->len > MAX_MODULES)
    {
      NetScope self = { .name = name, .element = element };

      report_recursion (net, &self, path);
      return NULL;
    }
  scope = loom_net_alloc (&net->arena, sizeof (NetScope));
  scope->element = element;
  scope->name = loom_net_strdup (&net->arena, name);
  scope->compiling = TRUE;
  g_hash_table_insert (net->scopes, loom_net_strdup (&net->arena, key->str), scope);
  if (name != NULL)
    g_ptr_array_add (net->compiling_modules, scope);
  compile (net, scope, arguments, path);
  if (name != NULL)
    g_ptr_array_set_size (net->compiling_modules, (int)net->compiling_modules->len - 1);
  scope->compiling = FALSE;
  return scope;
}
