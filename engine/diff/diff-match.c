/* Matches the modules and nodes of two graphs.
 *
 * Equal names match. An element without a partner is a renaming if exactly one pair is possible: first nodes with equal
 * attributes and wires, then nodes that differ in one of the two. Each pair makes the wires of its neighbours
 * comparable, so this repeats until no further pair is found. */
#include "engine/core/loom-compare.h"
#include "engine/graph/loom-modules.h"
#include "engine/diff/diff-private.h"

#include <string.h>

/* The most passes over nodes without a partner: enough for renames by hand. */
#define MAX_SIMILARITY_ROUNDS 100

/* ---- ends --------------------------------------------------------------- */

static const DiffScope *
find_scope (const DiffSide *side, const LoomElement *scope)
{
  if (side->names == NULL)
    return NULL;
  if (loom_element_tag (scope) == LOOM_TAG_GRAPH)
    return side->names->scopes->pdata[0];
  return g_hash_table_lookup (side->names->module, loom_element_get (scope, "name"));
}

static const char *
node_name (const DiffSide *side, const LoomElement *scope, const char *id)
{
  const DiffScope *pair = find_scope (side, scope);
  const char *name = pair != NULL ? g_hash_table_lookup (pair->node, id) : NULL;

  return name != NULL ? name : id;
}

static guint
count_ports (const LoomElement *module, LoomOpRole role)
{
  guint n = 0;

  for (guint i = 0; i < loom_element_n_children (module); i++)
    n += loom_op_has_role (loom_element_child (module, i), role);
  return n;
}

/* A port of an operator; NULL where a wire may leave it out. */
static char *
operator_port (const LoomElement *node, const char *port, gboolean is_input)
{
  const LoomOp *op = loom_op_of (node);
  const LoomPortSpec *specs;
  guint n;
  int omitted;

  if (op == NULL || (!is_input && op->dynamic_outputs != NULL))
    return g_strdup (port);
  if (op->role == LOOM_ROLE_MODULE_OUTPUT)
    return is_input && strcmp (port, "input") == 0 ? NULL : g_strdup (port);
  if (op->role == LOOM_ROLE_MODULE_INPUT)
    return !is_input && strcmp (port, "out") == 0 ? NULL : g_strdup (port);
  specs = is_input ? loom_op_inputs (op, node) : op->outputs;
  n = loom_op_count_ports (specs);
  if (n == 1 && specs[0].flags & LOOM_PORT_VARIADIC)
    return g_strdup (port);
  omitted = loom_op_output_index (specs, n, NULL);
  return omitted >= 0 && strcmp (specs[omitted].name, port) == 0 ? NULL : g_strdup (port);
}

/* The part after a node's id: a port, or the way to one inside a module. */
static char *
canonical_port (const DiffSide *side, const LoomElement *node, const char *way, gboolean is_input)
{
  const char *module_name = loom_node_module (node);
  LoomOpRole port = is_input ? LOOM_ROLE_MODULE_INPUT : LOOM_ROLE_MODULE_OUTPUT;
  const LoomElement *module, *inner;
  g_autofree char *rest = NULL;
  gsize digits = strspn (way, G_CSET_DIGITS);

  if (module_name == NULL)
    return operator_port (node, way, is_input);
  if (loom_node_numbers_modules (node) && way[digits] == '.')
    {
      g_autofree char *number = g_strndup (way, digits);

      module_name = loom_node_module_at (node, number);
      if (module_name == NULL)
        return g_strdup (way);
    }
  module = loom_graph_find_module (side->graph, module_name);
  if (module == NULL)
    return g_strdup (way);
  inner = loom_scope_find_node (module, way);
  if (inner != NULL && loom_op_has_role (inner, port))
    return count_ports (module, port) == 1 ? NULL : g_strdup (node_name (side, module, way));
  if ((loom_element_get (node, "repeat") == NULL && !loom_node_numbers_modules (node)) || way[digits] != '.')
    digits = 0;
  rest = diff_end (side, module, way + digits + (digits > 0), is_input);
  return digits > 0 ? g_strdup_printf ("%.*s.%s", (int)digits, way, rest) : g_steal_pointer (&rest);
}

char *
diff_end (const DiffSide *side, const LoomElement *scope, const char *end, gboolean is_input)
{
  const char *dot = strchr (end, '.');
  g_autofree char *id = dot != NULL ? g_strndup (end, dot - end) : g_strdup (end), *port = NULL;
  const LoomElement *node = loom_scope_find_node (scope, id);

  if (node == NULL)
    return g_strdup (end);
  if (dot != NULL)
    port = canonical_port (side, node, dot + 1, is_input);
  return g_strconcat (node_name (side, scope, id), port != NULL ? "." : NULL, port, NULL);
}

/* ---- neighbours --------------------------------------------------------- */

/* One side of a scope while its nodes are matched. */
typedef struct
{
  DiffSide side;
  const LoomElement *scope;
  GHashTable *wires;  /* id → GPtrArray of Neighbour */
  GHashTable *taken;  /* ids that have a partner: id → b's id */
  GHashTable *border; /* ids without one that are wired to one that has: a set */
} Half;

typedef struct
{
  char *own, *other; /* this node's end without the id, and the id of the node on the other side */
  char *port;        /* of that node, by its own name */
} Neighbour;

static void
neighbour_free (gpointer data)
{
  Neighbour *neighbour = data;

  g_free (neighbour->own);
  g_free (neighbour->other);
  g_free (neighbour->port);
  g_free (neighbour);
}

static void
add_neighbour (Half *half, const char *end, const char *other, gboolean is_input)
{
  const char *dot = strchr (end, '.'), *other_dot = strchr (other, '.');
  g_autofree char *id = dot != NULL ? g_strndup (end, dot - end) : g_strdup (end);
  Neighbour *neighbour = g_new0 (Neighbour, 1);
  GPtrArray *list = g_hash_table_lookup (half->wires, id);

  if (list == NULL)
    {
      list = g_ptr_array_new_with_free_func (neighbour_free);
      g_hash_table_insert (half->wires, g_strdup (id), list);
    }
  neighbour->own = g_strdup_printf ("%s%s", is_input ? "<" : ">", dot != NULL ? dot : "");
  neighbour->other = other_dot != NULL ? g_strndup (other, other_dot - other) : g_strdup (other);
  neighbour->port = g_strdup (other_dot != NULL ? other_dot : "");
  g_ptr_array_add (list, neighbour);
}

static void
half_init (Half *half, const LoomGraph *graph, const LoomElement *scope, const DiffNames *names)
{
  half->side = (DiffSide){ graph, names };
  half->scope = scope;
  half->wires = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
  half->taken = g_hash_table_new (g_str_hash, g_str_equal);
  half->border = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      const LoomElement *wire = loom_element_child (scope, i);
      const DiffSide plain = { graph, NULL };
      g_autofree char *from = NULL, *to = NULL;

      if (loom_element_tag (wire) != LOOM_TAG_WIRE)
        continue;
      from = diff_end (&plain, scope, loom_element_get (wire, "from"), FALSE);
      to = diff_end (&plain, scope, loom_element_get (wire, "to"), TRUE);
      add_neighbour (half, from, to, FALSE);
      add_neighbour (half, to, from, TRUE);
    }
}

static void
half_clear (Half *half)
{
  g_hash_table_unref (half->wires);
  g_hash_table_unref (half->taken);
  g_hash_table_unref (half->border);
}

/* Its wires to nodes that have a partner, sorted, in b's names. */
static GPtrArray *
known_wires (const Half *half, const char *id)
{
  GPtrArray *lines = g_ptr_array_new_with_free_func (g_free), *list = g_hash_table_lookup (half->wires, id);

  for (guint i = 0; list != NULL && i < list->len; i++)
    {
      const Neighbour *n = list->pdata[i];
      const char *other = g_hash_table_lookup (half->taken, n->other);

      if (other != NULL)
        g_ptr_array_add (lines, g_strdup_printf ("%s %s%s", n->own, other, n->port));
    }
  g_ptr_array_sort (lines, loom_compare_texts);
  return lines;
}

/* ---- nodes -------------------------------------------------------------- */

typedef enum
{
  BY_BOTH,  /* alike, and wired alike */
  BY_WIRES, /* of one type, and wired alike */
  BY_SIMILARITY,
  N_WAYS
} Way;

static char *
signature (const Half *half, const LoomElement *node, Way way)
{
  g_autoptr (GPtrArray) lines = known_wires (half, loom_element_get (node, "id"));
  g_autofree char *what = way == BY_WIRES ? diff_node_type (&half->side, node) : diff_fingerprint (&half->side, node);
  g_autofree char *wires = NULL;

  if (way != BY_SIMILARITY && lines->len == 0)
    return NULL;
  g_ptr_array_add (lines, NULL);
  wires = way != BY_SIMILARITY ? g_strjoinv ("\x1e", (char **)lines->pdata) : NULL;
  return g_strconcat (what, "\x1d", wires, NULL);
}

static void
note_signature (const Half *half, LoomElement *node, Way way, GHashTable *found)
{
  char *text = node != NULL ? signature (half, node, way) : NULL;

  if (text != NULL)
    g_hash_table_replace (found, text, g_hash_table_contains (found, text) ? NULL : node);
}

/* signature → the only node without a partner that has it; NULL where several have. By wires only the border can have
 * one, so that a long chain is not gone through again for each of its nodes. */
static GHashTable *
unmatched (const Half *half, Way way)
{
  GHashTable *found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer id;

  g_hash_table_iter_init (&iter, half->border);
  while (way != BY_SIMILARITY && g_hash_table_iter_next (&iter, &id, NULL))
    note_signature (half, loom_scope_find_node (half->scope, id), way, found);
  for (guint i = 0; way == BY_SIMILARITY && i < loom_element_n_children (half->scope); i++)
    {
      LoomElement *node = loom_element_child (half->scope, i);

      if (loom_element_tag (node) == LOOM_TAG_NODE
          && !g_hash_table_contains (half->taken, loom_element_get (node, "id")))
        note_signature (half, node, way, found);
    }
  return found;
}

/* Two nodes with equal attributes match only if their wires do not contradict it. */
static gboolean
wires_agree (const Half *a, const char *from, const Half *b, const char *to)
{
  g_autoptr (GPtrArray) here = known_wires (a, from), there = known_wires (b, to);

  if (here->len == 0 && there->len == 0)
    return TRUE;
  for (guint i = 0; i < here->len; i++)
    if (g_ptr_array_find_with_equal_func (there, here->pdata[i], g_str_equal, NULL))
      return TRUE;
  return FALSE;
}

static void
take (Half *half, const char *id, const char *name)
{
  GPtrArray *list = g_hash_table_lookup (half->wires, id);

  g_hash_table_insert (half->taken, (gpointer)id, (gpointer)name);
  g_hash_table_remove (half->border, id);
  for (guint i = 0; list != NULL && i < list->len; i++)
    {
      const Neighbour *neighbour = list->pdata[i];

      if (!g_hash_table_contains (half->taken, neighbour->other))
        g_hash_table_add (half->border, neighbour->other);
    }
}

static void
pair_up (DiffScope *scope, Half *a, Half *b, const char *from, const char *to)
{
  g_hash_table_insert (scope->node, g_strdup (from), g_strdup (to));
  take (a, from, to);
  take (b, to, to);
}

static gboolean
pair_unmatched (DiffScope *scope, Half *a, Half *b, Way way)
{
  g_autoptr (GHashTable) here = unmatched (a, way), there = unmatched (b, way);
  g_autoptr (GPtrArray) pairs = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer text, node;

  g_hash_table_iter_init (&iter, here);
  while (g_hash_table_iter_next (&iter, &text, &node))
    {
      const LoomElement *partner = g_hash_table_lookup (there, text);
      const char *from = node != NULL ? loom_element_get (node, "id") : NULL;
      const char *to = partner != NULL ? loom_element_get (partner, "id") : NULL;

      if (from == NULL || to == NULL || (way == BY_SIMILARITY && !wires_agree (a, from, b, to)))
        continue;
      g_ptr_array_add (pairs, (gpointer)from);
      g_ptr_array_add (pairs, (gpointer)to);
    }
  /* Applied at the end, so that the result does not depend on the order of a hash table. */
  for (guint i = 0; i < pairs->len; i += 2)
    pair_up (scope, a, b, pairs->pdata[i], pairs->pdata[i + 1]);
  return pairs->len > 0;
}

static void
match_nodes (DiffScope *scope, const LoomGraph *a, const LoomGraph *b, const DiffNames *names)
{
  Half here, there;
  Way way = 0;
  guint n_similarity_rounds = 0;

  half_init (&here, a, scope->a, names);
  half_init (&there, b, scope->b, NULL);
  for (guint i = 0; i < loom_element_n_children (scope->a); i++)
    {
      const LoomElement *node = loom_element_child (scope->a, i), *partner;
      const char *id = loom_element_get (node, "id");

      if (loom_element_tag (node) != LOOM_TAG_NODE || id == NULL)
        continue;
      partner = loom_scope_find_node (scope->b, id);
      if (partner != NULL)
        pair_up (scope, &here, &there, id, loom_element_get (partner, "id"));
    }
  while (way < N_WAYS && n_similarity_rounds < MAX_SIMILARITY_ROUNDS)
    {
      n_similarity_rounds += way == BY_SIMILARITY;
      way = pair_unmatched (scope, &here, &there, way) ? 0 : way + 1;
    }
  half_clear (&here);
  half_clear (&there);
}

/* ---- modules ------------------------------------------------------------ */

static void
scope_free (gpointer data)
{
  DiffScope *scope = data;

  g_hash_table_unref (scope->node);
  g_free (scope);
}

static DiffScope *
add_scope (DiffNames *names, const LoomElement *a, const LoomElement *b)
{
  DiffScope *scope = g_new0 (DiffScope, 1);
  const char *old = a != NULL ? loom_element_get (a, "name") : NULL;

  scope->a = a;
  scope->b = b;
  scope->node = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_ptr_array_add (names->scopes, scope);
  if (names->scopes->len == 1)
    return scope; /* the graph, whose name is only a title */
  scope->name = b != NULL ? loom_element_get (b, "name") : old;
  if (a != NULL && strcmp (old, scope->name) != 0)
    scope->old_name = old;
  if (a != NULL)
    g_hash_table_insert (names->module, (gpointer)old, scope);
  return scope;
}

/* All that a module holds, in no order. */
static char *
module_text (const LoomGraph *graph, const LoomElement *module)
{
  const DiffSide side = { graph, NULL };
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < loom_element_n_children (module); i++)
    {
      const LoomElement *e = loom_element_child (module, i);
      LoomTag tag = loom_element_tag (e);
      g_autofree char *print = NULL;

      if (tag == LOOM_TAG_WIRE)
        {
          g_autofree char *from = diff_end (&side, module, loom_element_get (e, "from"), FALSE);
          g_autofree char *to = diff_end (&side, module, loom_element_get (e, "to"), TRUE);

          g_ptr_array_add (lines, g_strdup_printf ("%s>%s", from, to));
        }
      if (tag != LOOM_TAG_NODE && tag != LOOM_TAG_ARG)
        continue;
      print = diff_fingerprint (&side, e);
      g_ptr_array_add (lines,
                       g_strdup_printf ("%s %s", loom_element_get (e, tag == LOOM_TAG_NODE ? "id" : "name"), print));
    }
  g_ptr_array_sort (lines, loom_compare_texts);
  g_ptr_array_add (lines, NULL);
  return g_strjoinv ("\n", (char **)lines->pdata);
}

/* What a module holds → the only module of `graph` that `other` has no name for and that holds this; NULL if several
 * do. */
static GHashTable *
unnamed_modules (const LoomGraph *graph, const LoomGraph *other)
{
  GHashTable *found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  const LoomElement *root = loom_graph_root (graph);

  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      LoomElement *module = loom_element_child (root, i);
      char *text;

      if (loom_element_tag (module) != LOOM_TAG_MODULE
          || loom_graph_find_module (other, loom_element_get (module, "name")) != NULL)
        continue;
      text = module_text (graph, module);
      g_hash_table_replace (found, text, g_hash_table_contains (found, text) ? NULL : module);
    }
  return found;
}

/* Modules of b that have no namesake in a → their partners in a. */
static GHashTable *
partners_by_content (const LoomGraph *a, const LoomGraph *b)
{
  g_autoptr (GHashTable) in_a = unnamed_modules (a, b), in_b = unnamed_modules (b, a);
  GHashTable *partners = g_hash_table_new (NULL, NULL);
  GHashTableIter iter;
  gpointer text, module;

  g_hash_table_iter_init (&iter, in_b);
  while (g_hash_table_iter_next (&iter, &text, &module))
    {
      gpointer partner = module != NULL ? g_hash_table_lookup (in_a, text) : NULL;

      if (partner != NULL)
        g_hash_table_insert (partners, module, partner);
    }
  return partners;
}

DiffNames *
diff_names_new (const LoomGraph *a, const LoomGraph *b)
{
  DiffNames *names = g_new0 (DiffNames, 1);
  const LoomElement *root_a = loom_graph_root (a), *root_b = loom_graph_root (b);
  g_autoptr (GHashTable) partners = partners_by_content (a, b);

  names->scopes = g_ptr_array_new_with_free_func (scope_free);
  names->module = g_hash_table_new (g_str_hash, g_str_equal);
  add_scope (names, root_a, root_b);
  for (guint i = 0; i < loom_element_n_children (root_b); i++)
    {
      const LoomElement *module = loom_element_child (root_b, i), *same;

      if (loom_element_tag (module) != LOOM_TAG_MODULE)
        continue;
      same = loom_graph_find_module (a, loom_element_get (module, "name"));
      add_scope (names, same != NULL ? same : g_hash_table_lookup (partners, module), module);
    }
  for (guint i = 0; i < loom_element_n_children (root_a); i++)
    {
      const LoomElement *module = loom_element_child (root_a, i);

      if (loom_element_tag (module) == LOOM_TAG_MODULE
          && !g_hash_table_contains (names->module, loom_element_get (module, "name")))
        add_scope (names, module, NULL);
    }
  /* Modules first: the ports of a node are their nodes. */
  for (guint i = names->scopes->len; i-- > 0;)
    {
      DiffScope *scope = names->scopes->pdata[i];

      if (scope->a != NULL && scope->b != NULL)
        match_nodes (scope, a, b, names);
    }
  return names;
}

void
diff_names_free (DiffNames *names)
{
  g_ptr_array_unref (names->scopes);
  g_hash_table_unref (names->module);
  g_free (names);
}
