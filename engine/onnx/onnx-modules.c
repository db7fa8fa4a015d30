/* Turns the groups of a model's nodes (onnx-group.c) into the modules of the network that it was exported from.
 *
 * A group of one node is that node, under the last word of the path, so that its weights have the names of the original
 * state dict. Other groups become modules, equal ones the same module, and a list of equal modules in a chain one
 * instance with `repeat`.
 *
 * Groups are processed from the innermost outwards. Until then inputs are the original wires; the tables of each group
 * say which wire carries them inside it. */
#include "engine/onnx/onnx-group.h"

#include <string.h>

const LoomOp onnx_instance = { .name = "module" };

typedef struct
{
  OnnxImport *all;
  OnnxGroups groups;
  GHashTable *by_text; /* what a module computes → OnnxModule */
} Modules;

/* ---- modules ------------------------------------------------------------------- */

/* Where readers in g find the wire: at its node, at the instance of an inner module, or nowhere (NULL) if it is from
 * outside. */
static const OnnxWire *
visible_in (const Modules *t, const OnnxGroup *g, const OnnxWire *wire)
{
  const OnnxGroup *at = onnx_group_of (&t->groups, wire->node);

  if (at == g || !onnx_group_is_within (at, g))
    return at == g ? wire : NULL;
  while (at->outer != g)
    at = at->outer;
  return at->instance == wire->node ? wire : g_hash_table_lookup (at->results, wire);
}

static gboolean
is_read_outside (const Modules *t, const OnnxGroup *g, const OnnxWire *wire)
{
  const GPtrArray *readers = g_hash_table_lookup (t->groups.readers, wire);

  for (guint i = 0; readers != NULL && i < readers->len; i++)
    if (!onnx_group_is_within (onnx_group_of (&t->groups, readers->pdata[i]), g))
      return TRUE;
  return FALSE;
}

static OnnxNode *
first_waiting (const GPtrArray *members, GHashTable *waits)
{
  guint i = 0;

  while (GPOINTER_TO_UINT (g_hash_table_lookup (waits, members->pdata[i])) < 2)
    i++;
  return members->pdata[i];
}

/* The nodes of a group and the instances of its modules, each after those from which it reads, else as they were.
 * (transfer container) */
static GPtrArray *
members_of (const Modules *t, const OnnxGroup *g)
{
  GPtrArray *sorted = g_ptr_array_new ();
  g_autoptr (GHashTable) waits = g_hash_table_new (NULL, NULL); /* member → number of inputs not yet there, from 1 on */
  g_autoptr (GHashTable) readers = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  g_autoptr (GPtrArray) members = g_ptr_array_new ();

  for (guint i = 0; i < g->nodes->len; i++)
    g_ptr_array_add (members, g->nodes->pdata[i]);
  for (guint i = 0; i < g->groups->len; i++)
    g_ptr_array_add (members, ((const OnnxGroup *)g->groups->pdata[i])->instance);
  g_ptr_array_sort (members, onnx_by_position);
  for (guint i = 0; i < members->len; i++)
    {
      OnnxNode *node = members->pdata[i];
      guint n = 1;

      for (guint k = 0; k < node->n_in; k++)
        {
          const OnnxWire *from = node->in[k] != NULL ? visible_in (t, g, node->in[k]) : NULL;
          GPtrArray *list = from != NULL ? g_hash_table_lookup (readers, from->node) : NULL;

          if (from == NULL)
            continue;
          if (list == NULL)
            g_hash_table_insert (readers, from->node, list = g_ptr_array_new ());
          g_ptr_array_add (list, node);
          n++;
        }
      g_hash_table_insert (waits, node, GUINT_TO_POINTER (n));
      if (n == 1)
        g_ptr_array_add (sorted, node);
    }
  for (guint i = 0; i < members->len; i++)
    {
      if (i >= sorted->len) /* the first one of a cycle of modules */
        g_ptr_array_add (sorted, first_waiting (members, waits));
      const GPtrArray *list = g_hash_table_lookup (readers, sorted->pdata[i]);

      g_hash_table_insert (waits, sorted->pdata[i], GUINT_TO_POINTER (0));

      for (guint k = 0; list != NULL && k < list->len; k++)
        {
          guint n = GPOINTER_TO_UINT (g_hash_table_lookup (waits, list->pdata[k]));

          if (n > 1)
            g_hash_table_insert (waits, list->pdata[k], GUINT_TO_POINTER (n - 1));
          if (n == 2)
            g_ptr_array_add (sorted, list->pdata[k]);
        }
    }
  g_assert (sorted->len == members->len);
  return sorted;
}

/* "node_Split_853", an exporter's number, is no name. */
static gboolean
has_name (const OnnxNode *node)
{
  return node->path == NULL && node->op != &onnx_instance && !g_str_has_prefix (node->id, "node_");
}

/* Words of the state dict get their ids first; other nodes of a module are named after their operators. */
static void
name_members (OnnxImport *scope, const GPtrArray *members)
{
  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; i < members->len; i++)
      {
        OnnxNode *node = members->pdata[i];

        if ((node->word == NULL) != (pass == 1) || node->op->role == LOOM_ROLE_INPUT
            || node->op->role == LOOM_ROLE_OUTPUT)
          continue;
        char *id = onnx_free_id (scope, node->word != NULL ? node->word : has_name (node) ? node->id : node->op->name);
        g_free (node->id);
        node->id = id;
      }
}

/* The place of its first node in the model. */
static guint
first_position (const OnnxGroup *g)
{
  guint first = G_MAXUINT;

  for (guint i = 0; i < g->nodes->len; i++)
    first = MIN (first, ((const OnnxNode *)g->nodes->pdata[i])->position);
  for (guint i = 0; i < g->groups->len; i++)
    first = MIN (first, first_position (g->groups->pdata[i]));
  return first;
}

static OnnxNode *
instance_new (OnnxGroup *g, guint n_in, guint n_out)
{
  OnnxNode *node = g_new0 (OnnxNode, 1);

  node->op = &onnx_instance;
  node->id = g_strdup (g->word);
  node->attributes = g_ptr_array_new_with_free_func (g_free);
  node->weights = g_ptr_array_new ();
  node->n_in = n_in;
  node->in = g_new0 (const OnnxWire *, MAX (n_in, 1));
  node->n_out = n_out;
  node->out = g_new0 (OnnxWire, MAX (n_out, 1));
  node->live = TRUE;
  node->position = first_position (g);
  onnx_name_node (node, g->word);
  g->instance = node;
  return node;
}

/* Text that is equal for modules that compute the same. */
static char *
text_of (const OnnxImport *scope)
{
  GString *s = g_string_new (NULL);

  for (guint i = 0; i < scope->nodes->len; i++)
    {
      const OnnxNode *node = scope->nodes->pdata[i];

      g_string_append_printf (s, "%s %s", node->id, node->op->name);
      for (guint k = 0; k + 1 < node->attributes->len; k += 2)
        g_string_append_printf (s, " %s=“%s”", (char *)node->attributes->pdata[k],
                                (char *)node->attributes->pdata[k + 1]);
      for (guint b = 0; b < G_N_ELEMENTS (node->body) && node->body[b] != NULL; b++)
        g_string_append_printf (s, " %s", onnx_written (node->body[b])->name);
      for (guint k = 0; k < node->n_in; k++)
        if (node->in[k] != NULL)
          g_string_append_printf (s, " %u:%s.%s", k, node->in[k]->node->id, node->in[k]->port);
      g_string_append_c (s, '\n');
    }
  return g_string_free (s, FALSE);
}

/* A node that stands for a port of the module, named x, x_2 … or y, y_2 … */
static OnnxNode *
port_new (OnnxImport *scope, const char *op, const char *name, const OnnxWire *from)
{
  OnnxNode *node = onnx_node_new (scope, loom_op (op), name);

  node->live = TRUE;
  node->in = g_new0 (const OnnxWire *, 1);
  node->n_out = 1;
  node->out = g_new0 (OnnxWire, 1);
  node->out[0] = (OnnxWire){ .node = node, .port = g_intern_static_string ("out"), .type = from->type };
  return node;
}

/* The path of the module that a group becomes, in the state dict. (transfer full) */
static char *
path_of_group (const OnnxGroup *g)
{
  char *path = g_strdup (g->word);

  for (g = g->outer; g != NULL && *g->word; g = g->outer)
    {
      char *longer = g_strconcat (g->word, ".", path, NULL);

      g_free (path);
      path = longer;
    }
  return path;
}

/* "weight" if a wire from outside is a weight that has a second name in the state dict, this module's "weight"; by it
 * `gradloom export --to safetensors` knows the name. Else "x". (transfer full) */
static char *
input_name (const Modules *t, const OnnxGroup *g, const OnnxWire *wire)
{
  const OnnxNode *node = wire->node;
  const char *port
      = onnx_is_in_state (node) ? strrchr (((const OnnxWeight *)node->weights->pdata[0])->name, '.') : NULL;
  g_autofree char *path = path_of_group (g), *own = NULL;

  for (guint i = 0; port == NULL && i < node->weights->len; i++)
    {
      const OnnxWeight *weight = node->weights->pdata[i];

      if (weight->name != NULL && g_str_equal (weight->port, wire->port))
        port = strrchr (weight->name, '.');
    }
  own = port != NULL ? g_strconcat (path, port, NULL) : NULL;
  return g_strdup (own != NULL && g_hash_table_contains (t->all->kinds, own) ? port + 1 : "x");
}

/* Lets members read what is visible in the group; wires from outside become inputs of the scope, and are added to
 * `outside`. */
static void
bring_in (const Modules *t, const OnnxGroup *g, OnnxImport *scope, const GPtrArray *members, GPtrArray *outside)
{
  g_autoptr (GHashTable) inputs = g_hash_table_new (NULL, NULL); /* OnnxWire → OnnxNode */

  for (guint i = 0; i < members->len; i++)
    {
      OnnxNode *node = members->pdata[i];

      for (guint k = 0; k < node->n_in; k++)
        {
          const OnnxWire *wire = node->in[k];
          OnnxNode *input;

          if (wire == NULL)
            continue;
          node->in[k] = visible_in (t, g, wire);
          if (node->in[k] != NULL)
            continue;
          input = g_hash_table_lookup (inputs, wire);
          if (input == NULL)
            {
              g_autofree char *name = input_name (t, g, wire);

              input = port_new (scope, "module_input", name, wire);
              g_ptr_array_add (scope->module->inputs, input);
              g_hash_table_insert (inputs, (gpointer)wire, input);
              g_ptr_array_add (outside, (gpointer)wire);
            }
          node->in[k] = input->out;
        }
    }
}

/* The original wires of a group that are read outside of it, in order. (transfer container) */
static GPtrArray *
results_of (const Modules *t, const OnnxGroup *g)
{
  GPtrArray *results = g_ptr_array_new ();
  g_autoptr (GPtrArray) nodes = onnx_group_nodes (g);

  for (guint i = 0; i < nodes->len; i++)
    {
      const GPtrArray *wires = g_hash_table_lookup (t->groups.wires_of, nodes->pdata[i]);

      for (guint k = 0; wires != NULL && k < wires->len; k++)
        if (is_read_outside (t, g, wires->pdata[k]))
          g_ptr_array_add (results, wires->pdata[k]);
    }
  return results;
}

/* Makes a module of the group's members, and its instance. */
static void
enclose (Modules *t, OnnxGroup *g)
{
  g_autoptr (GPtrArray) members = members_of (t, g), outside = g_ptr_array_new (), results = results_of (t, g);
  OnnxImport *scope = onnx_scope_new (t->all, NULL);
  OnnxModule *module = onnx_module_new (scope), *same;
  g_autofree char *text = NULL;
  OnnxNode *instance;
  const char **ports;

  bring_in (t, g, scope, members, outside);
  for (guint i = 0; i < results->len; i++)
    {
      OnnxNode *output = port_new (scope, "module_output", "y", results->pdata[i]);

      output->n_in = 1;
      output->in[0] = visible_in (t, g, results->pdata[i]);
      g_ptr_array_add (module->outputs, output);
    }
  name_members (scope, members);
  /* Inputs, members, outputs */
  for (guint i = 0; i < module->outputs->len; i++)
    g_ptr_array_steal_index (scope->nodes, scope->nodes->len - 1);
  for (guint i = 0; i < members->len; i++)
    g_ptr_array_add (scope->nodes, members->pdata[i]);
  for (guint i = 0; i < module->outputs->len; i++)
    g_ptr_array_add (scope->nodes, module->outputs->pdata[i]);

  text = text_of (scope);
  same = g_hash_table_lookup (t->by_text, text);
  if (same == NULL)
    {
      /* An element of a list without a class is named after the list. */
      gboolean is_number = g_ascii_isdigit (g->word[0]) && g->outer->word[0] != 0;
      onnx_module_name (module, g->class_name != NULL ? g->class_name : is_number ? g->outer->word : g->word);
      g_hash_table_insert (t->by_text, g_steal_pointer (&text), module);
    }
  module->same = same != NULL ? same : module;

  instance = instance_new (g, outside->len, results->len);
  instance->body[0] = module;
  ports = g_new0 (const char *, outside->len + 1);
  g_ptr_array_add (t->all->memory, ports);
  instance->ports = ports;
  for (guint i = 0; i < outside->len; i++)
    {
      instance->in[i] = outside->pdata[i];
      ports[i] = g_intern_string (((const OnnxNode *)module->inputs->pdata[i])->id);
    }
  for (guint i = 0; i < results->len; i++)
    {
      const OnnxWire *wire = results->pdata[i];

      instance->out[i] = (OnnxWire){ .node = instance,
                                     .port = g_intern_string (((const OnnxNode *)module->outputs->pdata[i])->id),
                                     .type = wire->type };
      g_hash_table_insert (g->results, (gpointer)wire, &instance->out[i]);
    }
}

/* ---- repeats ------------------------------------------------------------------- */

/* The input of copy b that is the only result of copy a; −1 if there is none, or if others read it, too. */
static int
link_between (const Modules *t, const OnnxGroup *a, const OnnxGroup *b)
{
  const OnnxNode *node = b->instance;
  int found = -1;

  for (guint k = 0; k < node->n_in; k++)
    if (g_hash_table_contains (a->results, node->in[k]))
      {
        const GPtrArray *readers = g_hash_table_lookup (t->groups.readers, node->in[k]);

        if (found >= 0)
          return -1;
        for (guint i = 0; i < readers->len; i++)
          if (!onnx_group_is_within (onnx_group_of (&t->groups, readers->pdata[i]), a)
              && !onnx_group_is_within (onnx_group_of (&t->groups, readers->pdata[i]), b))
            return -1;
        found = (int)k;
      }
  return found;
}

static gboolean
is_copy (const OnnxGroup *g, guint i)
{
  g_autofree char *number = g_strdup_printf ("%u", i);

  return g_str_equal (g->word, number) && g->instance->op == &onnx_instance && g->instance->copies == NULL
         && g->instance->n_out == 1;
}

/* The input that is chained if the group is a list of equal modules, each of which reads from the one before it; else
 * −1. */
static int
chain_of (const Modules *t, const OnnxGroup *list)
{
  const OnnxGroup *first = list->groups->len > 1 ? list->groups->pdata[0] : NULL;
  int chain = -1;

  if (first == NULL || list->nodes->len > 0 || !is_copy (first, 0))
    return -1;
  for (guint i = 1; i < list->groups->len; i++)
    {
      const OnnxGroup *copy = list->groups->pdata[i], *before = list->groups->pdata[i - 1];

      if (!is_copy (copy, i) || copy->instance->body[0]->same != first->instance->body[0]->same)
        return -1;
      int link = link_between (t, before, copy);
      if (link < 0 || (chain >= 0 && link != chain))
        return -1;
      chain = link;
      for (guint k = 0; k < copy->instance->n_in; k++)
        if ((int)k != chain && copy->instance->in[k] != first->instance->in[k])
          return -1;
    }
  return chain;
}

/* Makes the input of this name the first one of a module, which is chained. FALSE if another one has to be it. */
static gboolean
put_first (OnnxModule *module, const char *id)
{
  for (guint i = 0; i < module->inputs->len; i++)
    {
      OnnxNode *node = module->inputs->pdata[i];

      if (!g_str_equal (node->id, id))
        continue;
      if (module->first != NULL || i == 0)
        {
          gboolean is_first = module->first == NULL || module->first == node;

          module->first = module->first == NULL ? node : module->first;
          return is_first;
        }
      g_ptr_array_steal_index (module->inputs, i);
      g_ptr_array_insert (module->inputs, 0, node);
      g_ptr_array_steal_index (module->scope->nodes, i);
      g_ptr_array_insert (module->scope->nodes, 0, node);
      module->first = node;
      return TRUE;
    }
  return FALSE;
}

/* One instance with `repeat` for a list of copies. */
static gboolean
repeat (Modules *t, OnnxGroup *list)
{
  int chain = chain_of (t, list);
  const OnnxGroup *first = chain >= 0 ? list->groups->pdata[0] : NULL;
  const OnnxGroup *last = chain >= 0 ? list->groups->pdata[list->groups->len - 1] : NULL;
  OnnxNode *node;
  GHashTableIter iter;
  gpointer wire, result;

  if (chain < 0 || !put_first (first->instance->body[0]->same, first->instance->ports[chain]))
    return FALSE;
  node = instance_new (list, first->instance->n_in, 1);
  node->body[0] = first->instance->body[0]->same;
  node->ports = first->instance->ports;
  for (guint k = 0; k < node->n_in; k++)
    node->in[k] = first->instance->in[k];
  node->out[0] = last->instance->out[0];
  node->out[0].node = node;
  node->copies = g_ptr_array_new ();
  g_ptr_array_add (node->attributes, g_strdup ("repeat"));
  g_ptr_array_add (node->attributes, g_strdup_printf ("%u", list->groups->len));
  for (guint i = 0; i < list->groups->len; i++)
    {
      OnnxNode *copy = ((OnnxGroup *)list->groups->pdata[i])->instance;

      g_ptr_array_add (node->copies, (gpointer)copy->body[0]);
      copy->live = FALSE;
      g_ptr_array_add (t->all->nodes, copy);
    }
  g_hash_table_iter_init (&iter, last->results);
  while (g_hash_table_iter_next (&iter, &wire, &result))
    g_hash_table_insert (list->results, wire, node->out);
  return TRUE;
}

/* ---- the whole ------------------------------------------------------------------- */

static void
enclose_all (Modules *t, OnnxGroup *g)
{
  for (guint i = 0; i < g->groups->len; i++)
    enclose_all (t, g->groups->pdata[i]);
  if (g == t->groups.root)
    return;
  if (g->nodes->len == 1 && g->groups->len == 0 && !onnx_is_in_state (g->nodes->pdata[0]))
    {
      g->instance = g->nodes->pdata[0];
      onnx_name_node (g->instance, g->word);
    }
  else if (!repeat (t, g))
    enclose (t, g);
}

/* The needed nodes, which leave the import's list. */
static GPtrArray *
take_live (OnnxImport *all)
{
  GPtrArray *live = g_ptr_array_new ();
  g_autoptr (GPtrArray) others = g_ptr_array_new ();

  for (guint i = 0; i < all->nodes->len; i++)
    {
      OnnxNode *node = all->nodes->pdata[i];

      g_ptr_array_add (node->live ? live : others, node);
    }
  while (all->nodes->len > 0)
    g_ptr_array_steal_index_fast (all->nodes, all->nodes->len - 1);
  for (guint i = 0; i < others->len; i++)
    g_ptr_array_add (all->nodes, others->pdata[i]);
  return live;
}

static gboolean
has_paths (const OnnxImport *all)
{
  for (guint i = 0; i < all->nodes->len; i++)
    {
      const OnnxNode *node = all->nodes->pdata[i];

      if (node->live && node->path != NULL && *node->path)
        return TRUE;
    }
  return FALSE;
}

/* Outputs are the last ones, in the model's order. */
static void
append_members (OnnxImport *all, const GPtrArray *members)
{
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < members->len; i++)
    {
      OnnxNode *node = members->pdata[i];

      g_ptr_array_add (node->op->role == LOOM_ROLE_OUTPUT ? outputs : all->nodes, node);
    }
  g_ptr_array_sort (outputs, onnx_by_position);
  for (guint i = 0; i < outputs->len; i++)
    g_ptr_array_add (all->nodes, outputs->pdata[i]);
}

void
onnx_make_modules (OnnxImport *all)
{
  Modules t = { .all = all };
  g_autoptr (GPtrArray) live = NULL, members = NULL;

  if (!has_paths (all))
    return;
  t.by_text = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  live = take_live (all);
  onnx_groups_init (&t.groups, all, live);
  enclose_all (&t, t.groups.root);

  members = members_of (&t, t.groups.root);
  for (guint i = 0; i < members->len; i++)
    {
      OnnxNode *node = members->pdata[i];

      for (guint k = 0; k < node->n_in; k++)
        if (node->in[k] != NULL)
          node->in[k] = visible_in (&t, t.groups.root, node->in[k]);
    }
  g_hash_table_remove_all (all->ids);
  for (guint i = 0; i < members->len; i++)
    {
      const OnnxNode *node = members->pdata[i];

      if (node->op->role == LOOM_ROLE_INPUT || node->op->role == LOOM_ROLE_OUTPUT)
        g_hash_table_insert (all->ids, g_strdup (node->id), GUINT_TO_POINTER (1));
    }
  name_members (all, members);
  append_members (all, members);
  onnx_groups_clear (&t.groups);
  g_hash_table_unref (t.by_text);
}
