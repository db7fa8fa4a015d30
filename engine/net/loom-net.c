/* The public functions of a net: making one and querying it. net-private.h describes how it is built. */
#include "engine/net/net-private.h"

#include <string.h>

/* ---- memory ----------------------------------------------------------- */

#define ARENA_BLOCK (64 * 1024)

gpointer
loom_net_alloc (NetArena *arena, gsize bytes)
{
  gpointer result;

  bytes = (bytes + 15) & ~(gsize)15;
  arena->size += bytes;
  if (bytes > ARENA_BLOCK / 4)
    {
      result = g_malloc0 (bytes);
      g_ptr_array_add (arena->blocks, result);
      return result;
    }
  if (bytes > arena->left)
    {
      arena->next = g_malloc0 (ARENA_BLOCK);
      arena->left = ARENA_BLOCK;
      g_ptr_array_add (arena->blocks, arena->next);
    }
  result = arena->next;
  arena->next += bytes;
  arena->left -= bytes;
  return result;
}

static char *
copy_text (NetArena *arena, const char *text, gsize n)
{
  char *copy = loom_net_alloc (arena, n + 1);

  memcpy (copy, text, n);
  return copy;
}

char *
loom_net_strdup (NetArena *arena, const char *text)
{
  return text != NULL ? copy_text (arena, text, strlen (text)) : NULL;
}

/* Interned names, and the number of live nets. */
static struct
{
  GMutex lock;
  GHashTable *known;
  GStringChunk *chunk;
  guint n_nets;
} interned;

const char *
loom_net_intern (const char *text)
{
  const char *found;

  g_mutex_lock (&interned.lock);
  if (interned.known == NULL)
    {
      interned.known = g_hash_table_new (g_str_hash, g_str_equal);
      interned.chunk = g_string_chunk_new (16 * 1024);
    }
  found = g_hash_table_lookup (interned.known, text);
  if (found == NULL)
    {
      found = g_string_chunk_insert (interned.chunk, text);
      g_hash_table_add (interned.known, (gpointer)found);
    }
  g_mutex_unlock (&interned.lock);
  return found;
}

static void
count_net (int more)
{
  g_mutex_lock (&interned.lock);
  interned.n_nets += (guint)more;
  g_mutex_unlock (&interned.lock);
}

/* Frees the names when the process ends, so that a leak checker reports none of them. A destructor needs no call in
 * any program or test. If a thread still uses a net then, such as one of Studio's that reads a picture, the names are
 * kept. */
static void __attribute__ ((destructor)) free_names (void)
{
  g_mutex_lock (&interned.lock);
  if (interned.n_nets == 0 && interned.known != NULL)
    {
      g_clear_pointer (&interned.known, g_hash_table_unref);
      g_clear_pointer (&interned.chunk, g_string_chunk_free);
    }
  g_mutex_unlock (&interned.lock);
}

const char *
loom_net_join (LoomNet *net, const char *path, const char *id)
{
  gsize n = path != NULL ? strlen (path) : 0, m = strlen (id);
  char joined[256];
  g_autofree char *longer = NULL;
  char *text = joined;

  if (n == 0)
    return loom_net_intern (id);
  if (n + m + 2 > sizeof joined)
    text = longer = g_malloc (n + m + 2);
  memcpy (text, path, n);
  text[n] = '.';
  memcpy (text + n + 1, id, m + 1);
  return loom_net_intern (text);
}

/* ---- faults ------------------------------------------------------------ */

#define MAX_FAULTS 1000

/* Remembers what has to be done again in the next version of the graph, so that the fault is reported again. */
static void
note_noise (LoomNet *net, const LoomElement *element)
{
  const LoomTag tag = loom_element_tag (element);

  if (net->noisy == NULL)
    return;
  if (loom_element_parent (element) != loom_graph_root (net->graph) || (tag != LOOM_TAG_NODE && tag != LOOM_TAG_WIRE))
    net->is_whole = TRUE;
  g_hash_table_add (net->noisy, GSIZE_TO_POINTER (loom_element_serial (element)));
}

LoomFault *
loom_net_fault (LoomNet *net, const LoomElement *element, const char *path, LoomErrorCode code, const char *port,
                const char *format, ...)
{
  g_autofree char *message = NULL, *key = NULL;
  gboolean repeated;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (loom_faults_translate (format), args);
  va_end (args);
  note_noise (net, element);
  key = g_strdup_printf ("%" G_GUINT64_FORMAT " %s %s", loom_element_serial (element), port != NULL ? port : "",
                         message);
  repeated
      = !g_hash_table_add (net->reported, g_steal_pointer (&key)) || loom_faults_length (net->faults) >= MAX_FAULTS;
  return loom_faults_add (repeated ? net->repeated_faults : net->faults, code, loom_element_line (element),
                          path != NULL && path[0] != 0 ? path : NULL, port, "%s", message);
}

/* ---- construction ---------------------------------------------------- */

static void
clear_weight (gpointer data)
{
  g_free (((LoomNetWeight *)data)->name);
}

GArray *
loom_net_weights_new (guint reserved)
{
  GArray *weights = g_array_sized_new (FALSE, TRUE, sizeof (LoomNetWeight), reserved);

  g_array_set_clear_func (weights, clear_weight);
  return weights;
}

/* Compiles unused modules too, so that their faults are reported while the user is drawing them. */
static void
check_unused_modules (LoomNet *net)
{
  const LoomElement *root = loom_graph_root (net->graph);

  for (guint i = 0; i < loom_element_n_children (root); i++)
    {
      const LoomElement *e = loom_element_child (root, i);
      NetEnvironment unknown = { 0 };
      const char *name = loom_element_get (e, "name");
      gboolean used = FALSE, has_modules = FALSE;
      GHashTableIter iter;
      gpointer scope;

      net->n_modules += loom_element_tag (e) == LOOM_TAG_MODULE;
      if (loom_element_tag (e) != LOOM_TAG_MODULE || name == NULL || loom_graph_find_module (net->graph, name) != e)
        continue;
      g_hash_table_iter_init (&iter, net->scopes);
      while (!used && g_hash_table_iter_next (&iter, NULL, &scope))
        used = ((NetScope *)scope)->element == e;
      for (guint k = 0; k < loom_element_n_children (e); k++)
        has_modules |= loom_element_tag (loom_element_child (e, k)) == LOOM_TAG_ARG
                       && loom_argument_type (loom_element_child (e, k)) == LOOM_ARGUMENT_MODULE;
      /* A module that takes modules as arguments cannot be checked without them. */
      if (!used && !has_modules)
        loom_net_scope (net, e, &unknown, name);
    }
}

void
loom_net_begin (LoomNet *net, const LoomGraph *graph, LoomFaults *faults)
{
  static guint64 last; /* under the lock of names: threads make nets, too */

  g_mutex_lock (&interned.lock);
  net->number = ++last;
  g_mutex_unlock (&interned.lock);
  net->graph = graph;
  net->faults = faults;
  net->n_typed = 0;
  loom_faults_set_file (faults, loom_graph_get_file (graph));
  net->repeated_faults = loom_faults_new ();
  net->reported = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  net->claimed = g_hash_table_new (g_str_hash, g_str_equal);
  net->advice = g_hash_table_new (g_str_hash, g_str_equal);
  net->compiling_modules = g_ptr_array_new ();
}

void
loom_net_end (LoomNet *net)
{
  g_clear_pointer (&net->reported, g_hash_table_unref);
  g_clear_pointer (&net->claimed, g_hash_table_unref);
  g_clear_pointer (&net->advice, g_hash_table_unref);
  g_clear_pointer (&net->compiling_modules, g_ptr_array_unref);
  g_clear_pointer (&net->repeated_faults, loom_faults_free);
  net->version = loom_graph_version (net->graph);
  net->graph = NULL;
  net->faults = NULL;
}

LoomNet *
loom_net_new (const LoomGraph *graph, const LoomBinding *binding, LoomFaults *faults)
{
  g_autoptr (LoomFaults) dropped = faults == NULL ? loom_faults_new () : NULL;
  LoomNet *net;
  guint n_before;

  g_return_val_if_fail (graph != NULL, NULL);

  faults = faults != NULL ? faults : dropped;
  net = g_new0 (LoomNet, 1);
  count_net (1);
  net->refs = 1;
  net->arena.blocks = g_ptr_array_new_with_free_func (g_free);
  loom_net_begin (net, graph, faults);
  net->built = net->number;
  n_before = loom_faults_length (faults);
  net->folder = g_strdup (loom_graph_get_folder (graph));
  loom_guard_set (&net->guard, loom_graph_get_guard (graph)->own, loom_graph_get_guard (graph)->may_read);
  net->has_binding = binding != NULL;
  if (binding != NULL)
    net->binding = *binding;
  net->noisy = g_hash_table_new (NULL, NULL);
  net->scopes = g_hash_table_new (g_str_hash, g_str_equal);
  net->nodes = g_ptr_array_new ();
  net->loops = g_ptr_array_new ();
  net->weights = loom_net_weights_new (0);
  net->weight_by_name = g_hash_table_new (g_str_hash, g_str_equal);
  net->locations = g_hash_table_new (g_str_hash, g_str_equal);
  net->ids = g_hash_table_new (NULL, NULL);
  net->recomputed = g_hash_table_new (g_str_hash, g_str_equal);
  net->dtypes = g_hash_table_new (g_str_hash, g_str_equal);

  loom_graph_check (graph, faults);
  net->had_faults = net->is_whole = loom_faults_length (faults) > n_before;
  loom_net_expand (net);
  loom_net_infer_all (net);
  loom_net_keep_roots (net);
  loom_net_check_stages (net);
  check_unused_modules (net);
  net->is_whole |= net->loops->len > 0;
  net->arena_size = net->arena.size;
  loom_net_end (net);
  return net;
}

LoomNet *
loom_net_renew (LoomNet *net, const LoomGraph *graph, LoomFaults *faults)
{
  const guint n_before = loom_faults_length (faults);
  const LoomGuard *guard = loom_graph_get_guard (graph);
  gboolean done;

  g_return_val_if_fail (net != NULL && graph != NULL && faults != NULL, NULL);
  g_return_val_if_fail (!net->has_binding, NULL);

  /* What is replaced stays in the arena until the net is built as a whole. */
  if (!net->is_whole && g_atomic_int_get (&net->refs) == 1 && net->arena.size < 2 * net->arena_size
      && g_strcmp0 (net->folder, loom_graph_get_folder (graph)) == 0 && net->guard.may_read == guard->may_read
      && g_strcmp0 (net->guard.own, guard->own) == 0)
    {
      loom_net_begin (net, graph, faults);
      done = loom_net_change (net);
      if (done)
        {
          loom_net_keep_roots (net);
          loom_net_check_stages (net);
        }
      loom_net_end (net);
      if (done)
        return net;
      g_ptr_array_set_size (faults->items, (int)n_before);
    }
  loom_net_free (net);
  return loom_net_new (graph, NULL, faults);
}

LoomNet *
loom_net_ref (const LoomNet *net)
{
  LoomNet *self = (LoomNet *)net;

  g_atomic_int_inc (&self->refs);
  return self;
}

void
loom_net_free (LoomNet *net)
{
  if (net == NULL || !g_atomic_int_dec_and_test (&net->refs))
    return;
  g_ptr_array_unref (net->nodes);
  g_hash_table_unref (net->weight_by_name);
  g_array_unref (net->weights);
  if (net->base != NULL)
    {
      g_ptr_array_unref (net->arena.blocks);
      loom_net_free (net->base);
      g_free (net);
      return;
    }
  g_ptr_array_unref (net->loops);
  g_hash_table_unref (net->locations);
  g_hash_table_unref (net->ids);
  g_hash_table_unref (net->recomputed);
  g_hash_table_unref (net->dtypes);
  g_hash_table_unref (net->scopes);
  g_hash_table_unref (net->noisy);
  g_free (net->folder);
  loom_guard_clear (&net->guard);
  g_ptr_array_unref (net->arena.blocks);
  g_free (net);
  count_net (-1);
}

/* ---- accessors -------------------------------------------------------- */

GHashTable *
loom_net_recomputed (const LoomNet *net)
{
  return net->recomputed;
}

GHashTable *
loom_net_dtypes (const LoomNet *net)
{
  return net->dtypes;
}

guint64
loom_net_number (const LoomNet *net)
{
  return net->number;
}

guint64
loom_net_graph_version (const LoomNet *net)
{
  return net->version;
}

guint64
loom_net_node_since (const LoomNet *net, guint node)
{
  return MAX (((const NetNode *)net->nodes->pdata[node])->since, net->built);
}

guint64
loom_net_order_since (const LoomNet *net)
{
  return MAX (net->order_since, net->built);
}

gboolean
loom_net_may_split (const LoomNet *net)
{
  return net->has_splits;
}

gboolean
loom_net_names_devices (const LoomNet *net)
{
  return net->has_devices;
}

guint
loom_net_n_typed (const LoomNet *net)
{
  return net->n_typed;
}

guint
loom_net_n_nodes (const LoomNet *net)
{
  return net->nodes->len;
}

const LoomNetNode *
loom_net_node (const LoomNet *net, guint i)
{
  g_return_val_if_fail (i < net->nodes->len, NULL);

  return &((NetNode *)net->nodes->pdata[i])->node;
}

const LoomInfer *
loom_net_infer (const LoomNet *net, guint node)
{
  g_return_val_if_fail (node < net->nodes->len, NULL);

  return &((NetNode *)net->nodes->pdata[node])->infer;
}

gboolean
loom_net_is_dataset (const LoomNet *net, guint node)
{
  const LoomOp *op = loom_net_node (net, node)->op;

  return op != NULL && op->open_dataset != NULL;
}

LoomDataset *
loom_net_open_dataset (const LoomNet *net, int node, const char *folder, GError **error)
{
  if (node < 0)
    return loom_dataset_new_empty ();
  g_return_val_if_fail (loom_net_is_dataset (net, (guint)node), NULL);

  return loom_net_node (net, (guint)node)->op->open_dataset (loom_net_infer (net, (guint)node), folder, error);
}

guint
loom_net_n_weights (const LoomNet *net)
{
  return net->weights->len;
}

const LoomNetWeight *
loom_net_weight (const LoomNet *net, guint i)
{
  g_return_val_if_fail (i < net->weights->len, NULL);

  return &g_array_index (net->weights, LoomNetWeight, i);
}

const LoomNetWeight *
loom_net_weight_named (const LoomNet *net, const char *name)
{
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    if (g_str_equal (loom_net_weight (net, i)->name, name))
      return loom_net_weight (net, i);
  return NULL;
}

/* slot.first counts nodes in the order of the file, which differs from the public order. */
static const NetLocal *
local_of (const NetLocation *location)
{
  return location->instance->scope->locals + location->local;
}

/* TRUE if the path is that of a single node: an operator, a loop or an input of a loop's body. */
static gboolean
is_node (const NetLocation *location)
{
  const NetLocal *local = local_of (location);

  return local->kind == NET_OP || (local->kind == NET_MODULE && local->op != NULL)
         || (local->kind == NET_INPUT && location->instance->is_body);
}

int
loom_net_find (const LoomNet *net, const char *path)
{
  const NetLocation *location;
  LoomNetSource source;

  g_return_val_if_fail (net != NULL && path != NULL, -1);

  location = g_hash_table_lookup (net->locations, path);
  if (location == NULL || !is_node (location) || location->instance->slots[location->local].n == 0)
    return -1;
  if (!loom_net_follow ((LoomNet *)net, location->instance, location->local, location->copy, -2, NULL, &source))
    return -1;
  return (int)source.node;
}

static void
list_outputs (const LoomNet *net, const NetLocation *location, GPtrArray *names)
{
  const NetLocal *local = local_of (location);

  if (local->kind == NET_MODULE)
    for (guint i = 0; i < local->module->n_outputs; i++)
      g_ptr_array_add (names, (gpointer)local->module->locals[local->module->outputs[i]].id);
  else if (local->kind == NET_INPUT || local->kind == NET_OUTPUT)
    g_ptr_array_add (names, (gpointer) "out");
  else
    {
      LoomNetSource source;

      if (loom_net_follow ((LoomNet *)net, location->instance, location->local, location->copy, -2, NULL, &source))
        for (guint i = 0; i < loom_net_node (net, source.node)->n_outputs; i++)
          g_ptr_array_add (names, (gpointer)loom_net_node (net, source.node)->output_spec[i].name);
    }
}

gboolean
loom_net_is_weight (const LoomNet *net, const LoomNetSource *source)
{
  return source->node != G_MAXUINT && source->output >= loom_net_node (net, source->node)->n_outputs;
}

gboolean
loom_net_is_from_body (const LoomNet *net, guint node, guint input)
{
  const NetNode *n = net->nodes->pdata[node];

  return n->runs != NULL && input > n->runs->body->scope->n_inputs;
}

int
loom_net_find_weight (const LoomNet *net, guint node, const char *name)
{
  const LoomInfer *infer = loom_net_infer (net, node);

  for (guint i = 0; i < infer->n_declared; i++)
    if (strcmp (infer->declared[i].spec.name, name) == 0)
      return infer->declared[i].weight == G_MAXUINT ? -1 : (int)infer->declared[i].weight;
  return -1;
}

int
loom_net_source_weight (const LoomNet *net, const LoomNetSource *source)
{
  const LoomNetNode *n = loom_net_node (net, source->node);

  g_return_val_if_fail (loom_net_is_weight (net, source), -1);

  return loom_net_find_weight (net, source->node, loom_op_weight_name (n->op, source->output - n->n_outputs));
}

/* FALSE if the node does not declare such a weight with these parameters. */
static gboolean
declares_weight (const LoomNet *net, const LoomNetSource *source)
{
  const NetNode *n = net->nodes->pdata[source->node];

  return !loom_net_is_weight (net, source) || !n->node.typed || n->infer.output_is_set[source->output];
}

static gboolean
follow_location (const LoomNet *net, const NetLocation *location, const char *port, LoomNetSource *source)
{
  const NetLocal *local = local_of (location);

  if (local->kind == NET_OUTPUT && location->instance->is_body)
    {
      *source
          = (LoomNetSource){ location->instance->loop->node, loom_net_loop_output (location->instance, local->port) };
      return port == NULL;
    }
  if (local->kind == NET_OUTPUT)
    return port == NULL && local->wires[0] != NULL
           && loom_net_follow_wire ((LoomNet *)net, location->instance, local->wires[0], source);
  if (local->kind == NET_MODULE)
    {
      for (guint i = 0; i < local->module->n_outputs; i++)
        if (port == NULL ? local->module->n_outputs == 1
                         : strcmp (local->module->locals[local->module->outputs[i]].id, port) == 0)
          return loom_net_follow ((LoomNet *)net, location->instance, location->local, location->copy, (int)i, NULL,
                                  source);
      return FALSE;
    }
  if (local->kind == NET_INPUT && port != NULL && strcmp (port, "out") != 0)
    return FALSE;
  return loom_net_follow ((LoomNet *)net, location->instance, location->local, location->copy, -1, port, source);
}

/* Finds a weight whose name contains a dot (“heads.out_proj.weight”); FALSE if there is none. */
static gboolean
find_dotted (const LoomNet *net, const char *port, LoomNetSource *source)
{
  g_autofree char *path = g_strdup (port);
  char *name = strrchr (path, '.'), *dot;
  const NetLocation *location;

  *name = 0;
  dot = strrchr (path, '.');
  *name = '.';
  if (dot == NULL)
    return FALSE;
  *dot = 0;
  location = g_hash_table_lookup (net->locations, path);
  return location != NULL && follow_location (net, location, dot + 1, source) && declares_weight (net, source)
         && loom_net_pass_by ((LoomNet *)net, source);
}

int
loom_net_find_port (const LoomNet *net, const char *port, guint *output, GError **error)
{
  g_autofree char *path = NULL;
  g_autoptr (GPtrArray) names = NULL;
  g_autofree char *list = NULL;
  const NetLocation *location;
  const char *rest = NULL;
  LoomNetSource source;
  char *dot;

  g_return_val_if_fail (net != NULL && port != NULL, -1);

  path = g_strdup (port);
  location = g_hash_table_lookup (net->locations, path);
  if (location == NULL && (dot = strrchr (path, '.')) != NULL)
    {
      *dot = 0;
      rest = dot + 1;
      location = g_hash_table_lookup (net->locations, path);
      if (location == NULL && find_dotted (net, port, &source))
        {
          if (output != NULL)
            *output = source.output;
          return (int)source.node;
        }
    }
  names = g_ptr_array_new ();
  if (location == NULL)
    {
      const char *near;
      GHashTableIter iter;
      gpointer key;

      g_hash_table_iter_init (&iter, net->locations);
      while (g_hash_table_iter_next (&iter, &key, NULL) && names->len < 5000)
        g_ptr_array_add (names, key);
      g_ptr_array_add (names, NULL);
      near = loom_nearest (port, (const char *const *)names->pdata);
      if (near == NULL)
        near = loom_nearest (path, (const char *const *)names->pdata);
      if (near != NULL)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "There is no node or port “%s”. Did you mean “%s”?", port,
                     near);
      else
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "There is no node or port “%s”.", port);
      return -1;
    }
  if (follow_location (net, location, rest, &source) && declares_weight (net, &source)
      && loom_net_pass_by ((LoomNet *)net, &source))
    {
      if (output != NULL)
        *output = source.output;
      return (int)source.node;
    }
  list_outputs (net, location, names);
  if (names->len == 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "“%s” has no output.", path);
  else
    {
      g_ptr_array_add (names, NULL);
      list = g_strjoinv (", ", (char **)names->pdata);
      if (rest != NULL)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "“%s” has no output “%s”. It has: %s.", path, rest, list);
      else if (names->len > 2)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "“%s” has several outputs; name one of: %s.", path, list);
      else
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "“%s” has no value, because a wire before it has a fault.",
                     path);
    }
  return -1;
}

gboolean
loom_net_port_is_unknown (const LoomNet *net, const char *port)
{
  g_autofree char *path = g_strdup (port);
  char *dot;
  int node;

  g_return_val_if_fail (net != NULL && port != NULL, FALSE);

  node = loom_net_find (net, path);
  if (node < 0 && (dot = strrchr (path, '.')) != NULL)
    {
      *dot = 0;
      node = loom_net_find (net, path);
    }
  return node >= 0 && loom_net_node (net, (guint)node)->op->dynamic_outputs != NULL
         && loom_net_node (net, (guint)node)->n_outputs == 0 && loom_net_infer (net, (guint)node)->has_fault;
}

char *
loom_net_port_name (const LoomNet *net, guint node, guint output)
{
  const LoomNetNode *n = loom_net_node (net, node);

  g_return_val_if_fail (n != NULL && output < n->n_outputs + loom_op_count_weights (n->op), NULL);

  if (output >= n->n_outputs)
    return g_strconcat (n->path, ".", loom_op_weight_name (n->op, output - n->n_outputs), NULL);
  if (loom_op_output_index (n->output_spec, n->n_outputs, NULL) == (int)output)
    return g_strdup (n->path);
  return g_strconcat (n->path, ".", n->output_spec[output].name, NULL);
}

char *
loom_net_symbols (const LoomNet *net)
{
  gboolean used[26] = { FALSE };
  GString *symbols = g_string_new (NULL);

  for (guint i = 0; i < net->nodes->len; i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);

      for (guint k = 0; n->typed && k < n->n_outputs; k++)
        for (int d = 0; d < n->output[k].shape.rank; d++)
          for (int s = 0; s < LOOM_DIM_MAX_SYMBOLS; s++)
            {
              char symbol = n->output[k].shape.dim[d].symbol[s];

              if (n->output[k].shape.dim[d].coef >= 0 && symbol >= 'A' && symbol <= 'Z')
                used[symbol - 'A'] = TRUE;
            }
    }
  for (int s = 0; s < 26; s++)
    if (used[s])
      g_string_append_c (symbols, (char)('A' + s));
  return g_string_free (symbols, FALSE);
}

/* The node or instance `id` in the instance `path` ("" or NULL: the root). infix: the text between both, "." or
 * ".0.". */
static const NetLocation *
find_location (const LoomNet *net, const char *path, const char *infix, const char *id)
{
  g_autofree char *longer = path != NULL && path[0] != '\0' ? g_strconcat (path, infix, id, NULL) : NULL;

  return g_hash_table_lookup (net->locations, longer != NULL ? longer : id);
}

gboolean
loom_net_source_of (const LoomNet *net, const char *instance_path, guint64 serial, const char *port,
                    LoomNetSource *source)
{
  const char *id;
  const NetLocation *location;

  g_return_val_if_fail (net != NULL && source != NULL, FALSE);

  id = g_hash_table_lookup (net->ids, GSIZE_TO_POINTER (serial));
  if (id == NULL)
    return FALSE;
  location = find_location (net, instance_path, ".", id);
  if (location == NULL)
    location = find_location (net, instance_path, ".0.", id);
  return location != NULL && follow_location (net, location, port, source);
}

const LoomType *
loom_net_type_of (const LoomNet *net, const char *instance_path, guint64 serial, const char *port)
{
  const LoomNetNode *node;
  LoomNetSource source;

  g_return_val_if_fail (net != NULL, NULL);

  if (!loom_net_source_of (net, instance_path, serial, port, &source))
    return NULL;
  node = loom_net_node (net, source.node);
  return node->typed && declares_weight (net, &source) ? node->output + source.output : NULL;
}
