/* Writes the emitted nodes as a graph: the needed ones, in order, laid out from left to right. */
#include "engine/onnx/onnx-data-free.h"

#include <string.h>

/* The maximum size of cards: 200 wide and, with ports and a second row, about 120 high. */
#define COLUMN_WIDTH 240
#define ROW_HEIGHT   144
#define MARGIN       40
/* A long chain continues in the other direction, so that a model of 100 layers is not a single line of 24,000
 * points. */
#define COLUMNS 16

#define MAX_ID     60
#define ID_LETTERS G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-"

/* An id has letters, digits, underscores and hyphens; names are such as "/layer1/conv/Conv". One that is an id, such as
 * "_u", stays, because the names of weights are made of them. */
static char *
clean_name (const char *name)
{
  GString *s = g_string_new (NULL);

  if (g_ascii_isalnum (name[strspn (name, "_")]) && strlen (name) <= MAX_ID
      && strspn (name, ID_LETTERS) == strlen (name))
    return g_string_free (g_string_assign (s, name), FALSE);
  for (const char *p = name; *p; p++)
    {
      if (g_ascii_isalnum (*p) || (*p == '-' && s->len > 0))
        g_string_append_c (s, *p);
      else if (s->len > 0 && s->str[s->len - 1] != '_')
        g_string_append_c (s, '_');
    }
  while (s->len > 0 && s->str[s->len - 1] == '_')
    g_string_truncate (s, s->len - 1);
  if (s->len > MAX_ID)
    g_string_truncate (s, MAX_ID);
  if (s->len == 0)
    g_string_append (s, "node");
  return g_string_free (s, FALSE);
}

char *
onnx_free_id (OnnxImport *all, const char *wanted)
{
  g_autofree char *base = clean_name (wanted);
  char *id = g_strdup (base);
  /* The next number of a name is stored, so that a thousand nodes of one name do not search a thousand times. */
  guint n = GPOINTER_TO_UINT (g_hash_table_lookup (all->ids, base));

  for (; g_hash_table_contains (all->ids, id); n++)
    {
      g_free (id);
      id = g_strdup_printf ("%s_%u", base, n + 1);
    }
  g_hash_table_insert (all->ids, g_strdup (id), GUINT_TO_POINTER (1));
  if (!g_str_equal (id, base))
    g_hash_table_insert (all->ids, g_steal_pointer (&base), GUINT_TO_POINTER (n));
  return id;
}

/* Nodes are made after their inputs, so one backward pass finds all that outputs need. */
static void
mark_live (OnnxImport *all)
{
  for (guint i = all->nodes->len; i-- > 0;)
    {
      OnnxNode *node = all->nodes->pdata[i];
      node->live = node->live || node->op->role == LOOM_ROLE_OUTPUT || node->op->role == LOOM_ROLE_MODULE_INPUT
                   || node->op->role == LOOM_ROLE_MODULE_OUTPUT;
      for (guint k = 0; node->live && k < node->n_in; k++)
        if (node->in[k] != NULL)
          node->in[k]->node->live = TRUE;
    }
}

/* A node's column is its depth; a source without inputs is placed just before its first reader. */
static void
place (OnnxImport *all)
{
  for (guint i = 0; i < all->nodes->len; i++)
    {
      OnnxNode *node = all->nodes->pdata[i];
      for (guint k = 0; node->live && k < node->n_in; k++)
        if (node->in[k] != NULL)
          node->column = MAX (node->column, node->in[k]->node->column + 1);
    }
  for (guint i = all->nodes->len; i-- > 0;)
    {
      OnnxNode *node = all->nodes->pdata[i];
      for (guint k = 0; node->live && k < node->n_in; k++)
        {
          OnnxNode *from = node->in[k] != NULL ? node->in[k]->node : NULL;
          if (from != NULL && from->n_in == 0 && from->op->role != LOOM_ROLE_INPUT)
            from->column = from->row == 0 ? node->column - 1 : MIN (from->column, node->column - 1), from->row = 1;
        }
    }
}

static void
append (LoomGraph *graph, LoomElement *element)
{
  LoomElement *root = loom_graph_root (graph);

  loom_edit_free (loom_graph_apply (graph, loom_edit_insert (root, loom_element_n_children (root), element)));
}

static LoomElement *
layout_of (OnnxImport *all)
{
  LoomElement *layout = loom_element_new (LOOM_TAG_LAYOUT, NULL);
  g_autoptr (GHashTable) used = g_hash_table_new (NULL, NULL);
  g_autofree int *height = NULL;
  int columns = 0, bands;

  for (guint i = 0; i < all->nodes->len; i++)
    columns = MAX (columns, ((OnnxNode *)all->nodes->pdata[i])->column + 1);
  bands = columns / COLUMNS + 1;
  height = g_new0 (int, bands + 1);
  for (guint i = 0; i < all->nodes->len; i++)
    {
      OnnxNode *node = all->nodes->pdata[i];
      if (!node->live)
        continue;
      gpointer key = GINT_TO_POINTER (node->column + 1);
      node->row = GPOINTER_TO_INT (g_hash_table_lookup (used, key));
      g_hash_table_insert (used, key, GINT_TO_POINTER (node->row + 1));
      height[node->column / COLUMNS] = MAX (height[node->column / COLUMNS], node->row + 1);
    }
  for (guint i = 0; i < all->nodes->len; i++)
    {
      const OnnxNode *node = all->nodes->pdata[i];
      int above = node->row;
      if (!node->live)
        continue;
      for (int band = 0; band < node->column / COLUMNS; band++)
        above += height[band];
      g_autofree char *x = g_strdup_printf ("%d", MARGIN + COLUMN_WIDTH * (node->column % COLUMNS));
      g_autofree char *y = g_strdup_printf ("%d", MARGIN + ROW_HEIGHT * above);
      loom_element_append_detached (layout, loom_element_new (LOOM_TAG_PLACE, "node", node->id, "x", x, "y", y, NULL));
    }
  return layout;
}

/* The port may be omitted if it is the only one that must be wired. */
static gboolean
may_omit (const LoomOp *op)
{
  guint required = 0;

  for (const LoomPortSpec *p = op->inputs; p != NULL && p->name != NULL; p++)
    required += !(p->flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT | LOOM_PORT_VARIADIC));
  return required == 1;
}

static LoomElement *
wire_element (const OnnxNode *node, guint i)
{
  const OnnxWire *from = node->in[i];
  const LoomPortSpec *spec = node->op->inputs;
  g_autofree char *port = NULL, *source = NULL, *to = NULL;
  gboolean single = from->node->n_out == 1 && g_str_equal (from->port, from->node->out[0].port);

  if (node->ports != NULL)
    port = g_strdup (node->ports[i]);
  else if (spec[0].flags & LOOM_PORT_VARIADIC)
    port = g_strdup_printf ("%u", i);
  else
    port = g_strdup (spec[i].name);
  source = single ? g_strdup (from->node->id) : g_strdup_printf ("%s.%s", from->node->id, from->port);
  to = i == 0 && may_omit (node->op) ? g_strdup (node->id) : g_strdup_printf ("%s.%s", node->id, port);
  return loom_element_new (LOOM_TAG_WIRE, "from", source, "to", to, NULL);
}

/* Weights of bodies are named by the node that runs the bodies, then the number of the body if there are several, then
 * as in a module. */
static void
add_weights (const OnnxNode *node, const char *prefix, GPtrArray *weights)
{
  g_autofree char *path = g_strconcat (prefix, node->id, NULL), *inner = g_strconcat (path, ".", NULL);
  guint n_bodies = node->copies != NULL ? node->copies->len : (node->body[0] != NULL) + (node->body[1] != NULL);
  gboolean is_numbered = n_bodies > 1;

  for (guint i = 0; i < node->weights->len; i++)
    {
      const OnnxWeight *own = node->weights->pdata[i];
      gboolean bare = node->op->role == LOOM_ROLE_PARAMETER;
      g_autofree char *name = bare ? g_strdup (path) : g_strconcat (inner, own->port, NULL);
      g_ptr_array_add (weights, loom_named_tensor_new (name, own->tensor));
    }
  for (guint b = 0; b < n_bodies; b++)
    {
      const OnnxModule *body = node->copies != NULL ? node->copies->pdata[b] : node->body[b];
      g_autofree char *begin = is_numbered ? g_strdup_printf ("%s%u.", inner, b) : g_strdup (inner);
      for (guint i = 0; i < body->scope->nodes->len; i++)
        {
          const OnnxNode *within = body->scope->nodes->pdata[i];
          if (within->live)
            add_weights (within, begin, weights);
        }
    }
}

/* Appends to a module under construction, or to the graph itself. */
static void
put (LoomGraph *graph, LoomElement *module, LoomElement *element)
{
  if (module != NULL)
    loom_element_append_detached (module, element);
  else
    append (graph, element);
}

const OnnxModule *
onnx_written (const OnnxModule *module)
{
  return module->same != NULL ? module->same : module;
}

/* Writes the nodes and wires of a module (NULL: the graph), with their positions. */
static void
fill (OnnxImport *all, LoomGraph *graph, LoomElement *module)
{
  mark_live (all);
  place (all);
  for (guint i = 0; i < all->nodes->len; i++)
    {
      const OnnxNode *node = all->nodes->pdata[i];
      if (!node->live)
        continue;
      gboolean is_instance = node->op == &onnx_instance;
      LoomElement *element = loom_element_new (LOOM_TAG_NODE, "id", node->id, is_instance ? "module" : "op",
                                               is_instance ? onnx_written (node->body[0])->name : node->op->name, NULL);
      for (guint k = 0; k + 1 < node->attributes->len; k += 2)
        loom_element_set_detached (element, node->attributes->pdata[k], node->attributes->pdata[k + 1]);
      put (graph, module, element);
    }
  for (guint i = 0; i < all->nodes->len; i++)
    {
      const OnnxNode *node = all->nodes->pdata[i];
      for (guint k = 0; node->live && k < node->n_in; k++)
        if (node->in[k] != NULL)
          put (graph, module, wire_element (node, k));
    }
  put (graph, module, layout_of (all));
}

/* The modules that needed nodes run. */
static void
write_modules (const OnnxImport *all, LoomGraph *graph, GHashTable *done)
{
  for (guint i = 0; i < all->nodes->len; i++)
    {
      const OnnxNode *node = all->nodes->pdata[i];
      for (guint b = 0; node->live && b < G_N_ELEMENTS (node->body) && node->body[b] != NULL; b++)
        onnx_write_module (onnx_written (node->body[b]), graph, done);
    }
}

void
onnx_write_module (const OnnxModule *module, LoomGraph *graph, GHashTable *done)
{
  LoomElement *element;

  if (!g_hash_table_add (done, (gpointer)module))
    return;
  element = loom_element_new (LOOM_TAG_MODULE, "name", module->name, NULL);
  fill (module->scope, graph, element);
  write_modules (module->scope, graph, done);
  append (graph, element);
}

LoomGraph *
onnx_write_graph (OnnxImport *all, const char *name, GPtrArray *weights)
{
  g_autofree char *title = g_utf8_make_valid (name != NULL && *name ? name : "model", -1);
  g_autoptr (GHashTable) done = g_hash_table_new (NULL, NULL);
  /* XML cannot contain control characters. */
  for (char *p = title; *p; p++)
    if (g_ascii_iscntrl (*p))
      *p = ' ';
  LoomGraph *graph = loom_graph_new (title);

  mark_live (all);
  onnx_fold_data_free (all);
  for (guint i = 0; i < all->nodes->len; i++)
    ((OnnxNode *)all->nodes->pdata[i])->live = FALSE;
  mark_live (all);
  onnx_note_random (all);
  onnx_make_modules (all);
  write_modules (all, graph, done);
  fill (all, graph, NULL);
  for (guint i = 0; i < all->nodes->len; i++)
    if (((OnnxNode *)all->nodes->pdata[i])->live)
      add_weights (all->nodes->pdata[i], "", weights);
  return graph;
}
