/* Graphs: the tree as a whole, with serials, look-ups and its hash. Each scope has hash tables of its nodes and of
 * their <place> elements, updated by every edit, because the canvas, the check of wires and the search for a free id
 * use them often. */
#include "engine/graph/loom-modules.h"
#include "engine/graph/graph-private.h"

#include <string.h>

/* ---- indexes of scopes ---------------------------------------------------- */

/* The table that contains e, and its key; NULL if no table does. */
static ScopeIndex *
index_of (LoomElement *e, const char **name)
{
  gboolean is_place = e->tag == LOOM_TAG_PLACE, is_module = e->tag == LOOM_TAG_MODULE;
  LoomElement *scope = e->parent;

  if (e->tag != LOOM_TAG_NODE && !is_place && !is_module)
    return NULL;
  *name = loom_element_get (e, is_place ? "node" : is_module ? "name" : "id");
  if (is_place && scope != NULL)
    scope = scope->parent;
  if (*name == NULL || scope == NULL || !loom_element_is_scope (scope))
    return NULL;
  return is_place ? scope->places : is_module ? scope->modules : scope->nodes;
}

static ScopeIndex *
scope_index_new (void)
{
  ScopeIndex *index = g_new0 (ScopeIndex, 1);

  index->table = g_hash_table_new (g_str_hash, g_str_equal);
  return index;
}

static void
scope_index_clear (ScopeIndex *index)
{
  g_hash_table_remove_all (index->table);
  index->after_duplicate = FALSE;
}

static void
index_add (LoomElement *e)
{
  const char *name;
  ScopeIndex *index = index_of (e, &name);

  if (index == NULL)
    return;
  if (g_hash_table_contains (index->table, name))
    index->after_duplicate = TRUE;
  else
    g_hash_table_insert (index->table, (gpointer)name, e);
}

static void
index_remove (LoomElement *e)
{
  const char *name;
  ScopeIndex *index = index_of (e, &name);

  if (index == NULL)
    return;
  if (g_hash_table_lookup (index->table, name) == e)
    g_hash_table_remove (index->table, name);
}

void
loom_graph_index (LoomElement *e, gboolean present)
{
  if (present)
    index_add (e);
  else
    index_remove (e);
}

void
loom_graph_rebuild_duplicates (LoomElement *e)
{
  LoomElement *scope = e;

  while (scope != NULL && !loom_element_is_scope (scope))
    scope = scope->parent;
  if (scope == NULL || scope->nodes == NULL
      || !(scope->nodes->after_duplicate || scope->places->after_duplicate
           || (scope->modules != NULL && scope->modules->after_duplicate)))
    return;
  scope_index_clear (scope->nodes);
  scope_index_clear (scope->places);
  if (scope->modules != NULL)
    scope_index_clear (scope->modules);
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *child = loom_element_child (scope, i);

      index_add (child);
      for (guint j = 0; child->tag == LOOM_TAG_LAYOUT && j < loom_element_n_children (child); j++)
        index_add (loom_element_child (child, j));
    }
}

/* ---- construction ---------------------------------------------------- */

void
loom_graph_register (LoomGraph *graph, LoomElement *tree)
{
  /* An element may already have a serial (undo of a removal); it keeps that unless another element has it. */
  if (tree->serial != 0 && (tree->serial >= graph->by_serial->len || graph->by_serial->pdata[tree->serial] != NULL))
    tree->serial = 0;
  if (tree->serial == 0)
    {
      tree->serial = graph->by_serial->len;
      g_ptr_array_add (graph->by_serial, tree);
    }
  else
    graph->by_serial->pdata[tree->serial] = tree;

  if (loom_element_is_scope (tree) && tree->nodes == NULL)
    {
      tree->nodes = scope_index_new ();
      tree->places = scope_index_new ();
      if (tree->tag == LOOM_TAG_GRAPH)
        tree->modules = scope_index_new ();
    }
  index_add (tree);
  for (guint i = 0; i < loom_element_n_children (tree); i++)
    loom_graph_register (graph, loom_element_child (tree, i));
}

void
loom_graph_unregister (LoomGraph *graph, LoomElement *tree)
{
  index_remove (tree);
  graph->by_serial->pdata[tree->serial] = NULL;
  for (guint i = 0; i < loom_element_n_children (tree); i++)
    loom_graph_unregister (graph, loom_element_child (tree, i));
}

static LoomGraph *
graph_allocate (LoomElement *root)
{
  LoomGraph *graph = g_new0 (LoomGraph, 1);

  g_atomic_ref_count_init (&graph->refs);
  graph->root = root;
  graph->by_serial = g_ptr_array_new ();
  return graph;
}

LoomGraph *
loom_graph_create (LoomElement *root)
{
  LoomGraph *graph = graph_allocate (root);

  g_ptr_array_add (graph->by_serial, NULL); /* serial 0 means "none yet" */
  loom_graph_register (graph, root);
  return graph;
}

LoomGraph *
loom_graph_new (const char *name)
{
  LoomElement *root = loom_element_create (LOOM_TAG_GRAPH);
  g_autofree char *version = g_strdup_printf ("%d", LOOM_GRAPH_VERSION);

  loom_element_set_value (root, "version", version);
  if (name != NULL)
    loom_element_set_value (root, "name", name);
  return loom_graph_create (root);
}

LoomGraph *
loom_graph_ref (LoomGraph *graph)
{
  g_return_val_if_fail (graph != NULL, NULL);

  g_atomic_ref_count_inc (&graph->refs);
  return graph;
}

void
loom_graph_unref (LoomGraph *graph)
{
  if (graph == NULL || !g_atomic_ref_count_dec (&graph->refs))
    return;
  loom_element_free (graph->root);
  g_ptr_array_unref (graph->by_serial);
  g_free (graph->folder);
  loom_guard_clear (&graph->guard);
  g_free (graph->file);
  g_free (graph);
}

LoomGraph *
loom_graph_copy (const LoomGraph *graph)
{
  LoomGraph *copy;

  g_return_val_if_fail (graph != NULL, NULL);

  copy = graph_allocate (loom_element_copy_tree (graph->root, TRUE));
  /* Serials of removed elements stay reserved, so that an undo recorded for the original also applies to the copy. */
  g_ptr_array_set_size (copy->by_serial, (int)graph->by_serial->len);
  copy->version = graph->version;
  copy->folder = g_strdup (graph->folder);
  loom_guard_set (&copy->guard, graph->guard.own, graph->guard.may_read);
  copy->file = g_strdup (graph->file);
  loom_graph_register (copy, copy->root);
  return copy;
}

LoomGraph *
loom_graph_freeze (const LoomGraph *graph)
{
  LoomGraph *copy;

  g_return_val_if_fail (graph != NULL, NULL);

  if (graph->frozen)
    return loom_graph_ref ((LoomGraph *)graph);
  copy = loom_graph_copy (graph);
  copy->frozen = TRUE;
  return copy;
}

gboolean
loom_graph_is_frozen (const LoomGraph *graph)
{
  return graph->frozen;
}

guint
loom_graph_n_dropped (const LoomGraph *graph)
{
  return graph->n_dropped;
}

const char *
loom_graph_get_folder (const LoomGraph *graph)
{
  return graph->folder;
}

const char *
loom_graph_get_file (const LoomGraph *graph)
{
  return graph->file;
}

void
loom_graph_set_folder (LoomGraph *graph, const char *folder)
{
  g_return_if_fail (graph != NULL && !graph->frozen);

  g_free (graph->folder);
  graph->folder = g_strdup (folder);
}

void
loom_graph_set_guard (LoomGraph *graph, const char *own, LoomMayRead may_read)
{
  g_return_if_fail (graph != NULL && !graph->frozen);

  loom_guard_set (&graph->guard, own, may_read);
}

const LoomGuard *
loom_graph_get_guard (const LoomGraph *graph)
{
  return &graph->guard;
}

/* ---- accessors -------------------------------------------------------- */

LoomElement *
loom_graph_root (const LoomGraph *graph)
{
  return graph->root;
}

LoomElement *
loom_graph_find_module (const LoomGraph *graph, const char *name)
{
  g_return_val_if_fail (graph != NULL && name != NULL, NULL);

  /* Of two modules with one name the first in the file is used, which the table does not know. */
  if (!graph->root->modules->after_duplicate)
    return g_hash_table_lookup (graph->root->modules->table, name);
  for (guint i = 0; i < loom_element_n_children (graph->root); i++)
    {
      LoomElement *e = loom_element_child (graph->root, i);

      if (e->tag == LOOM_TAG_MODULE && g_strcmp0 (loom_element_get (e, "name"), name) == 0)
        return e;
    }
  return NULL;
}

gboolean
loom_graph_strict_devices (const LoomGraph *graph)
{
  g_return_val_if_fail (graph != NULL, FALSE);

  return g_strcmp0 (loom_element_get (graph->root, "strict_devices"), "true") == 0;
}

guint64
loom_graph_version (const LoomGraph *graph)
{
  return graph->version;
}

LoomElement *
loom_graph_by_serial (const LoomGraph *graph, guint64 serial)
{
  g_return_val_if_fail (graph != NULL, NULL);

  return serial < graph->by_serial->len ? graph->by_serial->pdata[serial] : NULL;
}

LoomElement *
loom_scope_find_node (const LoomElement *scope, const char *id)
{
  g_return_val_if_fail (scope != NULL && loom_element_is_scope (scope) && id != NULL, NULL);

  return scope->nodes != NULL ? g_hash_table_lookup (scope->nodes->table, id) : NULL;
}

static gboolean has_list (const LoomElement *node);

gboolean
loom_node_is_copy (const LoomElement *node, const char *part)
{
  return part[0] != '\0' && part[strspn (part, G_CSET_DIGITS)] == '\0'
         && (loom_element_get (node, "repeat") != NULL || has_list (node));
}

char *
loom_node_path (const char *scope_path, const LoomElement *node)
{
  const char *id = loom_element_get (node, "id");

  g_return_val_if_fail (scope_path != NULL, NULL);

  return g_strconcat (scope_path, scope_path[0] != '\0' ? "." : "", id != NULL ? id : "",
                      loom_element_get (node, "repeat") != NULL ? ".0" : "", NULL);
}

/* A switch names its modules in a list, separated by commas. */
static gboolean
has_list (const LoomElement *node)
{
  return loom_element_tag (node) == LOOM_TAG_NODE && loom_element_get (node, "module") == NULL
         && loom_element_get (node, "op") != NULL && loom_element_get (node, "body") == NULL
         && loom_element_get (node, "bodies") != NULL;
}

const char *
loom_node_module_attribute (const LoomElement *node)
{
  g_return_val_if_fail (node != NULL, NULL);

  if (loom_element_tag (node) != LOOM_TAG_NODE)
    return NULL;
  if (loom_element_get (node, "module") != NULL)
    return "module";
  if (has_list (node))
    return "bodies";
  return loom_element_get (node, "op") != NULL && loom_element_get (node, "body") != NULL ? "body" : NULL;
}

static char **
split_modules (const LoomElement *node)
{
  char **names = g_strsplit (loom_element_get (node, "bodies"), ",", -1);

  for (guint i = 0; names[i] != NULL; i++)
    g_strstrip (names[i]);
  return names;
}

guint
loom_node_n_modules (const LoomElement *node)
{
  g_auto (GStrv) names = has_list (node) ? split_modules (node) : NULL;

  return names != NULL ? g_strv_length (names) : loom_node_module_attribute (node) != NULL;
}

const char *
loom_node_nth_module (const LoomElement *node, guint n)
{
  const char *attribute = loom_node_module_attribute (node);
  g_auto (GStrv) names = NULL;

  if (attribute == NULL || !has_list (node))
    return attribute != NULL && n == 0 ? loom_element_get (node, attribute) : NULL;
  names = split_modules (node);
  return n < g_strv_length (names) ? g_intern_string (names[n]) : NULL;
}

const char *
loom_node_module (const LoomElement *node)
{
  return loom_node_nth_module (node, 0);
}

gboolean
loom_node_uses_module (const LoomElement *node, const char *module)
{
  for (guint n = loom_node_n_modules (node); n-- > 0;)
    if (g_strcmp0 (loom_node_nth_module (node, n), module) == 0)
      return TRUE;
  return FALSE;
}

gboolean
loom_node_numbers_modules (const LoomElement *node)
{
  return has_list (node);
}

char *
loom_node_rename_module (const LoomElement *node, guint n, const char *now)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < loom_node_n_modules (node); i++)
    g_string_append_printf (text, "%s%s", i > 0 ? "," : "", i == n ? now : loom_node_nth_module (node, i));
  return g_string_free (text, FALSE);
}

const char *
loom_node_module_at (const LoomElement *node, const char *part)
{
  guint64 n = 0;

  if (has_list (node) && (part == NULL || !g_ascii_string_to_unsigned (part, 10, 0, G_MAXINT32, &n, NULL)))
    return NULL;
  return loom_node_nth_module (node, (guint)n);
}

LoomElement *
loom_graph_find_path (const LoomGraph *graph, const char *path, LoomElement **inside)
{
  g_auto (GStrv) part = g_strsplit (path, ".", -1);
  LoomElement *node = NULL, *scope = loom_graph_root (graph);

  for (guint i = 0; part[i] != NULL; i++)
    {
      const char *module;

      if (node != NULL && loom_node_is_copy (node, part[i]))
        {
          module = loom_node_module_at (node, part[i]);
          scope = module != NULL ? loom_graph_find_module (graph, module) : NULL;
          continue;
        }
      node = scope != NULL ? loom_scope_find_node (scope, part[i]) : NULL;
      module = node != NULL ? loom_node_module (node) : NULL;
      scope = module != NULL ? loom_graph_find_module (graph, module) : NULL;
      if (node == NULL)
        break;
    }
  if (inside != NULL)
    *inside = scope;
  return node;
}

LoomElement *
loom_scope_find_place (const LoomElement *scope, const char *id)
{
  g_return_val_if_fail (scope != NULL && loom_element_is_scope (scope) && id != NULL, NULL);

  return scope->places != NULL ? g_hash_table_lookup (scope->places->table, id) : NULL;
}

char *
loom_scope_free_id (const LoomElement *scope, const char *wanted)
{
  g_autofree char *stem = NULL;
  char *digits;

  g_return_val_if_fail (scope != NULL && wanted != NULL, NULL);

  stem = g_strdup (wanted);
  if (!loom_id_is_valid (stem))
    g_strcanon (stem, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_", '_');
  if (stem[0] == 0)
    {
      g_free (stem);
      stem = g_strdup ("node");
    }
  if (loom_scope_find_node (scope, stem) == NULL)
    return g_steal_pointer (&stem);
  /* The next free name after "linear_2" is "linear_3", not "linear_2_2". */
  digits = strrchr (stem, '_');
  if (digits != NULL && digits != stem && digits[1] >= '1' && digits[1] <= '9'
      && strspn (digits + 1, "0123456789") == strlen (digits + 1))
    *digits = 0;
  for (guint n = 2;; n++)
    {
      char *id = g_strdup_printf ("%s_%u", stem, n);

      if (loom_scope_find_node (scope, id) == NULL)
        return id;
      g_free (id);
    }
}

#define NAME_LETTERS G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_"

/* Hyphens are in names of PyTorch's modules, such as "block1-0" of RegNet. */
gboolean
loom_id_is_valid (const char *id)
{
  return id != NULL && id[0] != 0 && id[0] != '-' && strspn (id, NAME_LETTERS "-") == strlen (id);
}

gboolean
loom_name_is_valid (const char *name)
{
  return name != NULL && name[0] != 0 && strspn (name, NAME_LETTERS) == strlen (name);
}

gboolean
loom_end_split (const char *end, char **node_id, char **port)
{
  const char *dot;

  g_return_val_if_fail (end != NULL, FALSE);

  dot = strchr (end, '.');
  if (end[0] == 0 || dot == end || (dot != NULL && dot[1] == 0))
    return FALSE;
  if (node_id != NULL)
    *node_id = dot != NULL ? g_strndup (end, dot - end) : g_strdup (end);
  if (port != NULL)
    *port = dot != NULL ? g_strdup (dot + 1) : NULL;
  return TRUE;
}

/* ---- hash ------------------------------------------------------------ */

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (((const Attribute *)a)->name, ((const Attribute *)b)->name);
}

/* Each text is preceded by its length, so that different trees have different bytes. */
static void
hash_text (GChecksum *sum, const char *text)
{
  char length[24];

  g_snprintf (length, sizeof length, "%zu:", strlen (text));
  g_checksum_update (sum, (const guchar *)length, -1);
  g_checksum_update (sum, (const guchar *)text, (gssize)strlen (text));
}

gboolean
loom_element_has_meaning (const LoomElement *e)
{
  static const guint32 meaningless = 1u << LOOM_TAG_DOC | 1u << LOOM_TAG_COMMENT | 1u << LOOM_TAG_FOREIGN
                                     | 1u << LOOM_TAG_LAYOUT | 1u << LOOM_TAG_VIEW | 1u << LOOM_TAG_LESSON;

  return !(meaningless & 1u << e->tag);
}

gboolean
loom_attribute_has_meaning (const Attribute *attribute)
{
  return strchr (attribute->name, ':') == NULL;
}

static void
hash_element (GChecksum *sum, const LoomElement *e)
{
  g_autofree Attribute *sorted = NULL;

  if (!loom_element_has_meaning (e))
    return;
  g_checksum_update (sum, (const guchar *)"<", 1);
  hash_text (sum, loom_tag_name (e->tag));
  sorted = g_memdup2 (e->attributes, e->n_attributes * sizeof (Attribute));
  if (e->n_attributes > 1)
    qsort (sorted, e->n_attributes, sizeof (Attribute), compare_names);
  for (guint i = 0; i < e->n_attributes; i++)
    if (loom_attribute_has_meaning (&sorted[i]))
      {
        hash_text (sum, sorted[i].name);
        hash_text (sum, sorted[i].value);
      }
  for (guint i = 0; i < loom_element_n_children (e); i++)
    hash_element (sum, loom_element_child (e, i));
  g_checksum_update (sum, (const guchar *)">", 1);
}

char *
loom_graph_hash (const LoomGraph *graph)
{
  g_autoptr (GChecksum) sum = NULL;

  g_return_val_if_fail (graph != NULL, NULL);

  sum = g_checksum_new (G_CHECKSUM_SHA256);
  hash_element (sum, graph->root);
  return g_strdup (g_checksum_get_string (sum));
}
