/* Chains the layers of a tree of names, scope by scope.
 *
 * Each tensor has a form: the number of channels or features, and the number of sizes after them. A part of names
 * that holds others becomes a module, whose ports are its unconnected starts and ends, so layers and modules are
 * chained in the same way. An end is wired to a start of the next part if their forms match, then to any other start
 * that matches; starts of a module with the same form share an input, as branches do. */
#include "engine/template/loom-skeleton.h"

#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/template/skeleton-tree.h"

#define MAX_LISTED 40 /* sentences in the doc of the graph; left_out has all of them */

typedef struct
{
  int spatial; /* -1: of a norm whose input is not known yet */
  gint64 width;
  gboolean symbols;
} Form;

/* A place where a wire can begin or end. */
typedef struct
{
  char *port;
  Form form;
  guint item;
  gboolean taken;
} Open;

typedef struct
{
  LoomSkeleton *skeleton;
  LoomElement *scope;
  GArray *starts, *ends; /* Open */
  GArray *chain;         /* guint: for each item another item of its chain, or itself for the first one (union-find) */
} Level;

static void
open_clear (gpointer data)
{
  g_clear_pointer (&((Open *)data)->port, g_free);
}

static GArray *
opens_new (void)
{
  GArray *opens = g_array_new (FALSE, FALSE, sizeof (Open));

  g_array_set_clear_func (opens, open_clear);
  return opens;
}

#define OPEN(array, i) (&g_array_index (array, Open, i))

static void
add_open (GArray *opens, const char *port, Form form, guint item)
{
  Open open = { .port = g_strdup (port), .form = form, .item = item };

  g_array_append_val (opens, open);
}

/* ---- elements ------------------------------------------------------------------ */

static void
insert (LoomGraph *graph, LoomElement *scope, LoomElement *element)
{
  loom_edit_free (loom_graph_apply (
      graph, loom_edit_insert (scope, loom_element_place_for (scope, loom_element_tag (element)), element)));
}

static void
insert_wire (Level *level, const char *from, const char *to)
{
  insert (level->skeleton->graph, level->scope, loom_element_new (LOOM_TAG_WIRE, "from", from, "to", to, NULL));
}

/* (transfer full): the id of the new element */
static char *
insert_node (Level *level, const char *wanted, const char *name, const char *value, const char *attribute,
             const char *text)
{
  char *id = loom_scope_free_id (level->scope, wanted);
  LoomElement *node = loom_element_new (LOOM_TAG_NODE, "id", id, name, value, NULL);

  if (attribute != NULL)
    loom_element_set_detached (node, attribute, text);
  insert (level->skeleton->graph, level->scope, node);
  return id;
}

/* ---- forms ---------------------------------------------------------------------- */

/* The side of the square, cube … with this number of elements; 0 if there is none. */
static gint64
root_of (gint64 places, int spatial)
{
  for (gint64 side = 1; side <= places; side++)
    {
      gint64 n = 1;

      for (int i = 0; i < spatial; i++)
        n *= side;
      if (n == places)
        return side;
      if (n > places)
        return 0;
    }
  return 0;
}

/* The side to which an image with this number of channels is pooled before it is flattened; 0: they do not match. */
static gint64
pooled_side (const Form *from, const Form *to)
{
  if (from->spatial <= 0 || to->spatial != 0 || to->symbols || from->width <= 0 || to->width % from->width != 0)
    return 0;
  return root_of (to->width / from->width, from->spatial);
}

static gboolean
fits (const Form *from, const Form *to)
{
  if (to->symbols || from->symbols)
    return FALSE;
  if (from->width == to->width && (to->spatial == -1 || from->spatial == to->spatial))
    return TRUE;
  return pooled_side (from, to) > 0;
}

static gboolean
is_same (const Form *a, const Form *b)
{
  return a->spatial == b->spatial && a->width == b->width && a->symbols == b->symbols;
}

/* ---- chains ---------------------------------------------------------------------- */

static guint
chain_of (const Level *level, guint item)
{
  while (g_array_index (level->chain, guint, item) != item)
    item = g_array_index (level->chain, guint, item);
  return item;
}

/* The end for this start: of one item (G_MAXUINT: of any earlier item of another chain, the nearest first). */
static Open *
find_end (const Level *level, const Open *start, guint item)
{
  Open *best = NULL;

  for (guint i = 0; i < level->ends->len; i++)
    {
      Open *end = OPEN (level->ends, i);

      if (end->taken || end->item >= start->item || !fits (&end->form, &start->form)
          || (item != G_MAXUINT && end->item != item) || chain_of (level, end->item) == chain_of (level, start->item))
        continue;
      if (best == NULL || end->item > best->item)
        best = end;
    }
  return best;
}

static void
connect (Level *level, Open *end, Open *start)
{
  static const char *const pools[] = { "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d" };
  const gboolean is_pooled = end->form.spatial > 0 && start->form.spatial == 0;

  end->taken = start->taken = TRUE;
  g_array_index (level->chain, guint, chain_of (level, start->item)) = chain_of (level, end->item);
  if (!is_pooled)
    {
      insert_wire (level, end->port, start->port);
      return;
    }
  g_autofree char *side = g_strdup_printf ("%" G_GINT64_FORMAT, pooled_side (&end->form, &start->form));
  g_autofree char *pool = insert_node (level, "pool", "op", pools[end->form.spatial - 1], "output_size", side);
  g_autofree char *flat = insert_node (level, "flat", "op", "flatten", NULL, NULL);

  insert_wire (level, end->port, pool);
  insert_wire (level, pool, flat);
  insert_wire (level, flat, start->port);
}

/* ---- items ------------------------------------------------------------------------ */

static void build (LoomSkeleton *self, const SkeletonPart *part, LoomElement *scope, GArray *starts, GArray *ends);

static guint
add_item (Level *level)
{
  const guint item = level->chain->len;

  g_array_append_val (level->chain, item);
  return item;
}

/* A batch norm has the number of dimensions of its input, or of the convolutions in its scope. */
static void
adapt_norm (const Level *level, SkeletonLayer *layer, int around)
{
  const Form form = { -1, layer->in, FALSE };

  if (layer->op != NULL)
    return;
  layer->spatial = around;
  for (guint i = level->ends->len; i-- > 0;)
    if (!OPEN (level->ends, i)->taken && OPEN (level->ends, i)->item + 1 == level->chain->len
        && fits (&OPEN (level->ends, i)->form, &form))
      layer->spatial = OPEN (level->ends, i)->form.spatial;
  layer->op = skeleton_batch_norm (layer->spatial);
}

/* One input channel of several: a depthwise convolution. */
static void
adapt_groups (const Level *level, SkeletonLayer *layer)
{
  if (layer->spatial <= 0 || layer->in != 1 || layer->out == 1 || !g_str_has_prefix (layer->op, "conv")
      || level->ends->len == 0)
    return;
  const Open *before = OPEN (level->ends, level->ends->len - 1);

  if (before->taken || before->form.spatial != layer->spatial || before->form.width <= 1
      || layer->out % before->form.width != 0)
    return;
  layer->in = before->form.width;
  g_ptr_array_add (layer->attribute, g_strdup ("groups"));
  g_ptr_array_add (layer->attribute, g_strdup_printf ("%" G_GINT64_FORMAT, layer->in));
}

static void
add_layer (Level *level, const SkeletonPart *part, int around)
{
  SkeletonLayer *layer = part->layer;
  LoomElement *node;
  guint item;

  adapt_norm (level, layer, around);
  adapt_groups (level, layer);
  node = loom_element_new (LOOM_TAG_NODE, "id", part->id, "op", layer->op, NULL);
  for (guint i = 0; i + 1 < layer->attribute->len; i += 2)
    loom_element_set_detached (node, layer->attribute->pdata[i], layer->attribute->pdata[i + 1]);
  insert (level->skeleton->graph, level->scope, node);
  item = add_item (level);
  add_open (level->starts, part->id, (Form){ MAX (layer->spatial, 0), layer->in, layer->symbols }, item);
  add_open (level->ends, part->id, (Form){ MAX (layer->spatial, 0), layer->out, FALSE }, item);
  level->skeleton->n_layers++;
}

static gboolean
elements_equal (const LoomElement *a, const LoomElement *b, gboolean names)
{
  if (loom_element_tag (a) != loom_element_tag (b) || loom_element_n_children (a) != loom_element_n_children (b)
      || loom_element_n_attributes (a) != loom_element_n_attributes (b))
    return FALSE;
  for (guint i = 0; i < loom_element_n_attributes (a); i++)
    {
      const char *name, *value;

      loom_element_attribute (a, i, &name, &value);
      if ((names || !g_str_equal (name, "name")) && g_strcmp0 (loom_element_get (b, name), value) != 0)
        return FALSE;
    }
  for (guint i = 0; i < loom_element_n_children (a); i++)
    if (!elements_equal (loom_element_child (a, i), loom_element_child (b, i), TRUE))
      return FALSE;
  return TRUE;
}

/* Equal modules are defined once. */
static const char *
share_module (LoomGraph *graph, LoomElement *module)
{
  LoomElement *root = loom_graph_root (graph);

  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      LoomElement *other = loom_element_child (root, i);

      if (other == module || loom_element_tag (other) != LOOM_TAG_MODULE || !elements_equal (other, module, FALSE))
        continue;
      loom_edit_free (loom_graph_apply (graph, loom_edit_remove (module)));
      return loom_element_get (other, "name");
    }
  return loom_element_get (module, "name");
}

static LoomElement *
insert_module (LoomGraph *graph, const char *path)
{
  g_autofree char *name = g_strdelimit (g_strdup (path), ".", '_');
  LoomElement *module;

  while (loom_graph_find_module (graph, name) != NULL)
    {
      char *longer = g_strconcat (name, "_", NULL);

      g_free (name);
      name = longer;
    }
  module = loom_element_new (LOOM_TAG_MODULE, "name", name, NULL);
  insert (graph, loom_graph_root (graph), module);
  return loom_graph_find_module (graph, name);
}

static void
add_ports (Level *level, const char *id, GArray *from, GArray *to, guint item)
{
  for (guint i = 0; i < from->len; i++)
    {
      g_autofree char *port = g_strdup_printf ("%s.%s", id, OPEN (from, i)->port);

      add_open (to, port, OPEN (from, i)->form, item);
    }
}

static void
add_module (Level *level, const SkeletonPart *part)
{
  LoomGraph *graph = level->skeleton->graph;
  g_autoptr (GArray) starts = opens_new (), ends = opens_new ();
  LoomElement *module = insert_module (graph, part->path);
  guint item;

  build (level->skeleton, part, module, starts, ends);
  if (starts->len == 0) /* no layer in it could be guessed */
    {
      loom_edit_free (loom_graph_apply (graph, loom_edit_remove (module)));
      return;
    }
  insert (graph, level->scope,
          loom_element_new (LOOM_TAG_NODE, "id", part->id, "module", share_module (graph, module), NULL));
  item = add_item (level);
  add_ports (level, part->id, starts, level->starts, item);
  add_ports (level, part->id, ends, level->ends, item);
}

/* ---- scopes ------------------------------------------------------------------------- */

static void
chain_item (Level *level, const SkeletonPart *part, int around)
{
  const guint before = level->chain->len, first = level->starts->len;

  if (part->parts->len > 0)
    add_module (level, part);
  else if (part->layer != NULL)
    add_layer (level, part, around);
  for (guint i = first; before > 0 && i < level->starts->len; i++)
    {
      Open *end = find_end (level, OPEN (level->starts, i), before - 1);

      if (end != NULL)
        connect (level, end, OPEN (level->starts, i));
    }
}

static void
chain_rest (Level *level)
{
  for (guint i = 0; i < level->starts->len; i++)
    {
      Open *start = OPEN (level->starts, i), *end = start->taken ? NULL : find_end (level, start, G_MAXUINT);

      if (end != NULL)
        connect (level, end, start);
    }
}

/* The end of the longest chain first, and in a chain its last, because the output usually follows it. */
static int
compare_ends (gconstpointer a, gconstpointer b, gpointer data)
{
  const Level *level = data;
  const Open *p = a, *q = b;
  guint n[2] = { 0, 0 };

  for (guint i = 0; i < level->chain->len; i++)
    {
      n[0] += chain_of (level, i) == chain_of (level, p->item);
      n[1] += chain_of (level, i) == chain_of (level, q->item);
    }
  if (n[0] != n[1])
    return n[0] > n[1] ? -1 : 1;
  return p->item != q->item ? (p->item > q->item ? -1 : 1) : strcmp (p->port, q->port);
}

/* The ports of a module: an input for each form of its starts, an output for each end. */
static void
make_ports (Level *level, GArray *starts, GArray *ends)
{
  for (guint i = 0; i < level->starts->len; i++)
    {
      const Open *start = OPEN (level->starts, i);
      g_autofree char *port = NULL;

      for (guint k = 0; k < starts->len && port == NULL && !start->taken; k++)
        if (is_same (&OPEN (starts, k)->form, &start->form))
          port = g_strdup (OPEN (starts, k)->port);
      if (start->taken)
        continue;
      if (port == NULL)
        {
          port = insert_node (level, "x", "op", "module_input", NULL, NULL);
          add_open (starts, port, start->form, 0);
        }
      insert_wire (level, port, start->port);
    }
  for (guint i = level->ends->len; i-- > 0;)
    if (OPEN (level->ends, i)->taken)
      g_array_remove_index (level->ends, i);
  g_array_sort_with_data (level->ends, compare_ends, level);
  for (guint i = 0; i < level->ends->len; i++)
    {
      const Open *end = OPEN (level->ends, i);
      g_autofree char *port = insert_node (level, "y", "op", "module_output", NULL, NULL);
      insert_wire (level, end->port, port);
      add_open (ends, port, end->form, 0);
    }
}

/* The inputs from outside: sizes that the file does not determine are symbols. */
static void
make_inputs (Level *level)
{
  static const char *const sizes[] = { "", ",L", ",H,W", ",D,H,W" };

  for (guint i = 0; i < level->starts->len; i++)
    {
      const Open *start = OPEN (level->starts, i);
      g_autofree char *shape = NULL;

      if (start->taken)
        continue;
      shape = start->form.symbols ? g_strdup ("B,T")
                                  : g_strdup_printf ("B,%" G_GINT64_FORMAT "%s", start->form.width,
                                                     sizes[CLAMP (start->form.spatial, 0, 3)]);
      g_autofree char *id = insert_node (level, "input", "op", "input", "shape", shape);

      if (start->form.symbols)
        loom_edit_free (loom_graph_apply (level->skeleton->graph,
                                          loom_edit_set (loom_scope_find_node (level->scope, id), "dtype", "i64")));
      insert_wire (level, id, start->port);
      level->skeleton->n_chains++;
    }
}

/* starts: NULL at the root. */
static void
build (LoomSkeleton *self, const SkeletonPart *part, LoomElement *scope, GArray *starts, GArray *ends)
{
  Level level = { .skeleton = self, .scope = scope };
  const int around = skeleton_part_spatial (part);

  level.starts = opens_new ();
  level.ends = opens_new ();
  level.chain = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint i = 0; i < part->parts->len; i++)
    chain_item (&level, part->parts->pdata[i], around);
  chain_rest (&level);
  if (starts != NULL)
    make_ports (&level, starts, ends);
  else
    make_inputs (&level);
  g_array_unref (level.starts);
  g_array_unref (level.ends);
  g_array_unref (level.chain);
}

/* ---- the graph -------------------------------------------------------------------------- */

static char *
describe (const LoomSkeleton *self)
{
  GString *s = g_string_new (
      "A skeleton: layers guessed from the names and shapes of a weights file, and chained if their sizes match. A "
      "weights file has no activations, pooling, strides or branches; add them where they belong.");

  if (self->left_out->len > 0)
    g_string_append (s, "\n\nLeft out:\n");
  for (guint i = 0; i < MIN (self->left_out->len, MAX_LISTED); i++)
    g_string_append_printf (s, "\n- %s", (const char *)self->left_out->pdata[i]);
  if (self->left_out->len > MAX_LISTED)
    g_string_append_printf (s, "\n- and %u more.", self->left_out->len - MAX_LISTED);
  return g_string_free (s, FALSE);
}

static void
insert_doc (LoomSkeleton *self)
{
  LoomElement *root = loom_graph_root (self->graph);
  g_autofree char *text = describe (self);

  insert (self->graph, root, loom_element_new (LOOM_TAG_DOC, NULL));
  loom_edit_free (loom_graph_apply (self->graph, loom_edit_set_text (loom_element_find (root, LOOM_TAG_DOC), text)));
}

LoomSkeleton *
loom_skeleton_new (const LoomTensorFile *file, const char *weights, const char *name, GError **error)
{
  g_autoptr (LoomSkeleton) self = g_new0 (LoomSkeleton, 1);
  SkeletonPart *tree;

  self->left_out = g_ptr_array_new_with_free_func (g_free);
  self->graph = loom_graph_new (name);
  tree = skeleton_tree_new (file, self->left_out);
  build (self, tree, loom_graph_root (self->graph), NULL, NULL);
  skeleton_part_free (tree);
  if (self->n_layers == 0)
    return loom_refuse_null (error, LOOM_ERROR_DATA, "No layer can be guessed from this file: %s",
                             self->left_out->len > 0 ? (const char *)self->left_out->pdata[0] : "it has no tensors.");
  insert_doc (self);
  if (weights != NULL)
    insert (self->graph, loom_graph_root (self->graph),
            loom_element_new (LOOM_TAG_TRAIN, "weights", weights, "optimizer", "adam", "lr", "0.001", NULL));
  return g_steal_pointer (&self);
}

void
loom_skeleton_free (LoomSkeleton *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_clear_pointer (&self->left_out, g_ptr_array_unref);
  g_free (self);
}
