/* Makes a scene from one scope of a graph and the result of type inference, and changes it into that of the next
 * version.
 *
 * It changes at every edit but one of positions. Cards and wires stay if the versions of elements say so
 * (scene-change.h), and their types and costs if the net does (loom-net-since.h); what depends on several cards is
 * computed. */
#include "ui/scene/studio-scene.h"

#include <string.h>

#include "engine/net/loom-axes.h"
#include "ui/scene/scene-change.h"
#include "ui/scene/scene-faults.h"
#include "ui/scene/scene-frames.h"
#include "ui/scene/scene-links.h"
#include "ui/scene/scene-ports.h"
#include "ui/scene/scene-positions.h"
#include "ui/scene/studio-copies.h"
#include "ui/scene/studio-partitions.h"
#include "ui/scene/studio-flow.h"
#include "ui/scene/studio-routes.h"

typedef struct
{
  StudioScene *scene;
  GPtrArray *nodes, *wires;    /* LoomElement: of the scope, which is walked over once */
  GPtrArray *inputs, *outputs; /* while building: a GArray of StudioPort per item; NULL: it keeps its ports */
  gboolean plain;              /* without figures */
  GHashTable *insides;         /* module name → figure */
  const LoomNet *net;          /* NULL: there is none */
  LoomNetAxes **axes;          /* of the net's outputs; NULL if the net keeps them */
  GHashTable *wide;            /* of items with many inputs: port name → index + 1 */
  gboolean ports_came;         /* a wire named a port that its card did not have */
  SceneChange change;
  gboolean is_in_order; /* nodes of the net have the indices that kept cards know */
  guint shift;          /* of the index of a card's node since then; wraps */
} Build;

/* From this number of ports on, a hash table finds them: a concat of thousands of inputs would otherwise be searched by
 * each of its wires. */
#define WIDE 16

static void
free_table (gpointer table)
{
  g_hash_table_unref (table);
}

/* port_find() while wires are added, when an array only grows at its end. */
static guint
wire_port_find (Build *build, GArray *ports, const char *name)
{
  GHashTable *table;
  gpointer found;

  if (ports->len < WIDE)
    return scene_ports_find (ports, name);
  table = g_hash_table_lookup (build->wide, ports);
  if (table == NULL)
    {
      table = g_hash_table_new (g_str_hash, g_str_equal);
      g_hash_table_insert (build->wide, ports, table);
    }
  for (guint i = g_hash_table_size (table); i < ports->len; i++)
    g_hash_table_insert (table, (gpointer)g_array_index (ports, StudioPort, i).name, GUINT_TO_POINTER (i + 1));
  found = g_hash_table_lookup (table, name);
  return found != NULL ? GPOINTER_TO_UINT (found) - 1 : STUDIO_NO_ITEM;
}

/* The summary of a node that inference did not reach: its attributes as written. */
static char *
attributes_summary (const LoomElement *e, const LoomOp *op)
{
  GString *s = g_string_new (NULL);

  /* A formula, which determines the inputs, is shown instead of a summary; also an empty one. */
  for (const LoomParamSpec *p = op != NULL && op->dynamic_inputs != NULL ? op->params : NULL;
       p != NULL && p->name != NULL; p++)
    if (p->type == LOOM_PARAM_STRING && p->def != NULL && p->def[0] != '\0')
      {
        const char *text = loom_element_get (e, p->name);

        g_string_append (s, text != NULL ? text : p->def);
        return g_string_free (s, FALSE);
      }
  for (guint i = 0; i < loom_element_n_attributes (e); i++)
    {
      const char *name, *value;

      loom_element_attribute (e, i, &name, &value);
      if (loom_is_reserved (name))
        continue;
      g_string_append_printf (s, "%s%s %s", s->len > 0 ? " · " : "", name, value);
    }
  return g_string_free (s, FALSE);
}

static gboolean
is_variadic (const StudioItem *item)
{
  return item->op != NULL && item->op->inputs != NULL && item->op->inputs[0].name != NULL
         && (item->op->inputs[0].flags & LOOM_PORT_VARIADIC);
}

static const LoomNetAxes *
axes_of (const Build *build, guint node)
{
  return build->axes != NULL ? build->axes[node] : loom_net_kept_axes (build->net, node);
}

/* Sets the type, axes and source of an output from the net. */
static void
type_port (const Build *build, const LoomNet *net, StudioPort *port, const LoomNetSource *source)
{
  port->typed = TRUE;
  port->type = loom_net_node (net, source->node)->output[source->output];
  port->source = *source;
  port->axes = axes_of (build, source->node)[source->output];
}

static void
read_words (Build *build, const LoomElement *e, StudioItem *item)
{
  const char *op = loom_element_get (e, "op"), *module = loom_node_module (e), *id = loom_element_get (e, "id");
  const char *repeat = loom_element_get (e, "repeat"), *title = loom_element_get (e, "title");

  item->id = g_strdup (id != NULL ? id : "");
  item->path = loom_node_path (build->scene->path, e);
  item->is_module = module != NULL;
  item->kind = g_strdup (module != NULL ? module : op != NULL ? op : "");
  item->op = op != NULL ? loom_op (op) : NULL;
  item->title = g_strdup (title != NULL && title[0] != '\0' ? title : item->id);
  item->repeat = repeat != NULL ? g_strdup_printf ("×%s", repeat) : NULL;
  item->muted = g_strcmp0 (loom_element_get (e, "mute"), "true") == 0;
  item->frozen = g_strcmp0 (loom_element_get (e, "frozen"), "true") == 0;
  item->has_table_ports = module == NULL && item->op != NULL && item->op->dynamic_inputs == NULL
                          && item->op->dynamic_outputs == NULL && item->op->role != LOOM_ROLE_LOOP
                          && !is_variadic (item);
}

/* The ports that a card has without its wires. */
static void
list_ports (const LoomGraph *graph, const LoomElement *e, const StudioItem *item, const LoomNetNode *node,
            GArray *inputs, GArray *outputs)
{
  const LoomElement *definition = item->is_module ? loom_graph_find_module (graph, item->kind) : NULL;

  if (definition != NULL)
    scene_ports_of_module (definition, loom_op_loop (item->op), inputs, outputs);
  if (item->is_module || item->op == NULL)
    return;
  /* A module's input or output node has ports on one side only: the other side is outside of the module. */
  gboolean is_entry = item->op->role == LOOM_ROLE_MODULE_INPUT;
  gboolean is_exit = item->op->role == LOOM_ROLE_MODULE_OUTPUT;

  for (const LoomPortSpec *p = is_entry ? NULL : loom_op_inputs (item->op, e); p != NULL && p->name != NULL; p++)
    if (!(p->flags & (LOOM_PORT_WEIGHT | LOOM_PORT_VARIADIC)))
      scene_ports_add (inputs, p->name, p->doc, !(p->flags & LOOM_PORT_OPTIONAL), FALSE);
  const LoomPortSpec *outs = is_exit ? NULL : item->op->outputs;
  if (node != NULL && node->output_spec != NULL && node->op == item->op && !is_exit)
    outs = node->outputs_dynamic ? item->op->outputs : node->output_spec;
  for (const LoomPortSpec *p = outs; p != NULL && p->name != NULL; p++)
    scene_ports_add (outputs, p->name, p->doc, !(p->flags & LOOM_PORT_OPTIONAL), FALSE);
}

static void
type_outputs (Build *build, const LoomNet *net, const StudioItem *item, const LoomNetNode *node, StudioPort *output,
              guint n)
{
  if (node != NULL && node->op == item->op && node->typed)
    for (guint i = 0; i < n && i < node->n_outputs; i++)
      type_port (build, net, &output[i], &(LoomNetSource){ item->order, i });
  else if (node == NULL && net != NULL)
    for (guint i = 0; i < n; i++)
      {
        LoomNetSource source;

        if (loom_net_type_of (net, build->scene->path, item->serial, output[i].name) != NULL
            && loom_net_source_of (net, build->scene->path, item->serial, output[i].name, &source))
          type_port (build, net, &output[i], &source);
      }
}

static void
summarise (const LoomElement *e, StudioItem *item, const LoomNetNode *node)
{
  const char *summary = node != NULL && node->op == item->op ? node->summary : NULL;

  /* Inference did not reach the node, so its formula is not known. */
  if (summary != NULL && !node->typed && item->op != NULL && item->op->dynamic_inputs != NULL)
    summary = NULL;
  if (summary != NULL && g_strcmp0 (summary, item->summary) == 0)
    return;
  g_free (item->summary);
  item->summary = summary != NULL ? g_strdup (summary) : attributes_summary (e, item->op);
}

/* The node of a card in the net. Its index differs from the one before as that of the card before it did, unless nodes
 * came or went in between. */
static int
find_node (Build *build, guint k)
{
  const StudioItem *item = &build->scene->item[k];
  const gboolean had_node = build->change.is_kept[k] && item->order != G_MAXUINT;
  const guint guess = had_node ? item->order + build->shift : G_MAXUINT;
  int found;

  if (build->net == NULL)
    return -1;
  if (had_node && build->is_in_order)
    return (int)item->order;
  if (guess < loom_net_n_nodes (build->net) && g_str_equal (loom_net_node (build->net, guess)->path, item->path))
    return (int)guess;
  found = loom_net_find (build->net, item->path);
  if (had_node && found >= 0)
    build->shift = (guint)found - item->order;
  return found;
}

/* TRUE if the outputs of a card may have other types, or names of axes, than in the scene before. */
static gboolean
is_retyped (const Build *build, guint k, int node)
{
  return !build->change.is_kept[k] || node < 0 || loom_net_node_since (build->net, (guint)node) > build->change.number
         || build->axes != NULL || loom_net_axes_since (build->net, (guint)node) > build->change.number;
}

/* Types the outputs of a card that has its ports already. */
static void
type_again (Build *build, const LoomElement *e, StudioItem *item, const LoomNetNode *node)
{
  for (guint i = 0; i < item->n_outputs; i++)
    item->output[i].typed = FALSE;
  type_outputs (build, build->net, item, node, item->output, item->n_outputs);
  summarise (e, item, node);
}

static void
add_item (Build *build, const LoomGraph *graph, const LoomElement *e, guint k)
{
  StudioItem *item = &build->scene->item[k];
  const gboolean is_kept = build->change.is_kept[k];
  GArray *inputs = NULL, *outputs = NULL;
  const LoomNetNode *node;
  guint was;
  int found;

  item->serial = loom_element_serial (e);
  if (is_kept)
    scene_change_reset (&build->change, k);
  else
    read_words (build, e, item);
  if (!is_kept || item->badge != NULL)
    {
      g_free (item->badge);
      item->badge = g_strdup (loom_element_get (e, "device"));
    }
  was = item->order;
  found = find_node (build, k);
  item->order = found >= 0 ? (guint)found : G_MAXUINT;
  node = found >= 0 ? loom_net_node (build->net, (guint)found) : NULL;
  build->change.is_retyped[k] = is_retyped (build, k, found);
  if (build->change.is_retyped[k])
    scene_change_touch (build->scene, k);
  if (!is_kept)
    {
      inputs = g_array_new (FALSE, FALSE, sizeof (StudioPort));
      outputs = g_array_new (FALSE, FALSE, sizeof (StudioPort));
      list_ports (graph, e, item, node, inputs, outputs);
      summarise (e, item, node);
      type_outputs (build, build->net, item, node, (StudioPort *)(gpointer)outputs->data, outputs->len);
    }
  else if (build->change.is_retyped[k])
    type_again (build, e, item, node);
  else
    for (guint i = 0; item->order != was && i < item->n_outputs; i++)
      item->output[i].source.node = item->order;
  g_ptr_array_add (build->inputs, inputs);
  g_ptr_array_add (build->outputs, outputs);
}

/* Adds the figure below the card's text. A module's definition is hashed once per scene, for any number of instances.
 */
static void
add_figure (Build *build, const LoomGraph *graph, const LoomElement *e, StudioItem *item, gboolean is_kept)
{
  const LoomElement *definition = item->is_module ? loom_graph_find_module (graph, item->kind) : NULL;
  const gboolean is_dataset = item->op != NULL && item->op->role == LOOM_ROLE_DATASET;

  /* The file of a data set changes on its own. */
  if (build->plain || (is_kept && !is_dataset))
    return;
  g_clear_pointer (&item->sample_key, g_free);
  g_clear_pointer (&item->figure, studio_figure_unref);
  item->figure_height = 0;
  if (definition != NULL)
    {
      item->figure = g_hash_table_lookup (build->insides, item->kind);
      if (item->figure == NULL)
        {
          item->figure = studio_figure_inside (graph, definition);
          g_hash_table_insert (build->insides, item->kind, item->figure);
        }
      else
        studio_figure_ref (item->figure);
    }
  else if (is_dataset)
    {
      item->sample_key = studio_figure_sample_key (e, loom_graph_get_folder (graph));
      studio_figure_sample_peek (item->sample_key, &item->figure);
    }
  else
    item->figure = studio_figure_curve (item->op, e);
  if (item->figure != NULL || item->sample_key != NULL)
    item->figure_height = STUDIO_CARD_FIGURE;
}

/* The ports of an item while wires are added. Those that were taken may grow from here on. */
static GArray *
ports_of (Build *build, gboolean is_output, guint i)
{
  StudioItem *item = &build->scene->item[i];
  GPtrArray *all = is_output ? build->outputs : build->inputs;
  StudioPort **taken = is_output ? &item->output : &item->input;

  if (all->pdata[i] == NULL)
    {
      GArray *ports = g_array_new (FALSE, FALSE, sizeof (StudioPort));

      /* Without the weights that are offered after them. */
      g_array_append_vals (ports, *taken, is_output ? item->n_outputs : item->n_inputs);
      g_clear_pointer (taken, g_free);
      all->pdata[i] = ports;
    }
  return all->pdata[i];
}

/* Finds the item and port of a wire's end. A missing port is added, so that every wire is shown. */
static gboolean
resolve_end (Build *build, const char *end, gboolean is_output, guint *item, guint *port)
{
  g_autofree char *id = NULL, *name = NULL;
  GArray *ports;

  if (end == NULL || !loom_end_split (end, &id, &name))
    return FALSE;
  *item = studio_scene_find_card (build->scene, id);
  if (*item == STUDIO_NO_ITEM)
    return FALSE;
  ports = ports_of (build, is_output, *item);
  if (name == NULL)
    {
      *port = scene_ports_default (ports);
      if (*port == STUDIO_NO_ITEM)
        name = g_strdup (is_output ? "out" : is_variadic (&build->scene->item[*item]) ? "0" : "input");
    }
  else
    *port = wire_port_find (build, ports, name);
  if (*port == STUDIO_NO_ITEM)
    {
      const LoomPortSpec *weight = is_output ? NULL : scene_ports_weight (build->scene->item[*item].op, name);

      scene_ports_add (ports, name, weight != NULL ? weight->doc : NULL, FALSE, FALSE);
      build->scene->item[*item].has_table_ports = FALSE;
      build->ports_came = TRUE;
      *port = ports->len - 1;
      g_array_index (ports, StudioPort, *port).weight = weight != NULL;
    }
  return TRUE;
}

/* A wire's end is at a port of the table, or makes a port. Ports of variadic inputs are sorted when all are known. */
static void
sort_variadic (Build *build)
{
  StudioScene *scene = build->scene;

  for (guint k = 0; k < scene->n_items + scene->n_hidden; k++)
    if (!build->change.is_kept[k] && is_variadic (&scene->item[k]))
      {
        GArray *ports = g_ptr_array_index (build->inputs, k);
        g_autofree char *free_name = NULL;
        int next = 0;

        build->ports_came = TRUE;
        g_array_sort (ports, scene_ports_compare);
        for (guint p = 0; p < ports->len; p++)
          next = MAX (next, atoi (g_array_index (ports, StudioPort, p).name) + 1);
        free_name = g_strdup_printf ("%d", next);
        scene_ports_add (ports, free_name, scene->item[k].op->inputs[0].doc, FALSE, TRUE);
      }
}

static void
add_links (Build *build)
{
  SceneChange *change = &build->change;

  /* Ports of variadic inputs come from the wires, so they are sorted before any index is used. */
  for (guint pass = 0; pass < 2 && (pass == 0 || build->ports_came); pass++)
    {
      scene_change_begin_links (change);
      g_hash_table_remove_all (build->wide);
      for (guint i = 0; i < build->wires->len; i++)
        {
          const LoomElement *e = build->wires->pdata[i];
          SceneEnds ends;

          if (scene_change_keep_link (change, e, &ends)
              || (resolve_end (build, loom_element_get (e, "from"), TRUE, &ends.from, &ends.output)
                  && resolve_end (build, loom_element_get (e, "to"), FALSE, &ends.to, &ends.input)))
            g_array_append_val (change->ends, ends);
        }
      if (pass == 0)
        sort_variadic (build);
    }
  scene_change_arrange_links (change);
}

static void
add_cost (LoomCost *sum, const LoomCost *cost)
{
  sum->parameters += cost->parameters;
  sum->flops += cost->flops;
  sum->bytes += cost->bytes;
}

/* Computes each card's fraction of the whole net's operations: nodes inside a module, and all copies of a repeat, count
 * for its card. */
static void
add_costs (StudioScene *scene, const LoomNet *net)
{
  const guint n = loom_net_n_nodes (net);
  g_autofree guint *card_of = g_new (guint, n + 1);

  memset (card_of, 0xff, n * sizeof *card_of); /* STUDIO_NO_ITEM */
  for (guint i = 0; i < scene->n_items; i++)
    {
      scene->item[i].costs = (LoomCost){ 0 };
      if (!scene->item[i].is_frame && scene->item[i].order < n)
        card_of[scene->item[i].order] = i;
    }
  scene->costs = (LoomCost){ 0 };
  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      const guint card = card_of[i] != STUDIO_NO_ITEM ? card_of[i] : studio_scene_card_of (scene, node->path);

      add_cost (&scene->costs, &node->cost);
      if (card != STUDIO_NO_ITEM)
        add_cost (&scene->item[card].costs, &node->cost);
    }
  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioItem *item = &scene->item[i];
      const double cost = scene->costs.flops > 0 ? item->costs.flops / scene->costs.flops : 0;

      /* Cards show it with three digits. */
      if ((guint)(cost * 1000) != (guint)(item->cost * 1000))
        scene_change_touch (scene, i);
      item->cost = cost;
    }
}

static void
list_children (Build *build, const LoomElement *scope)
{
  for (guint i = 0; i < loom_element_n_children (scope); i++)
    {
      LoomElement *e = loom_element_child (scope, i);
      const LoomTag tag = loom_element_tag (e);

      if (tag == LOOM_TAG_NODE)
        g_ptr_array_add (build->nodes, e);
      else if (tag == LOOM_TAG_WIRE)
        g_ptr_array_add (build->wires, e);
    }
}

static gint64
batch_of (const LoomGraph *graph)
{
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const char *text = train != NULL ? loom_element_get (train, "batch_size") : NULL;

  return text != NULL ? MAX (g_ascii_strtoll (text, NULL, 10), 0) : 0;
}

static const char *
device_of (const LoomGraph *graph)
{
  const LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const char *device = train != NULL ? loom_element_get (train, "device") : NULL;

  return device != NULL ? device : loom_attribute (LOOM_TAG_TRAIN, "device")->spec.def;
}

/* Adds cards of nodes, then cards of collapsed frames, then the nodes inside these frames. */
static void
add_items (Build *build, const LoomGraph *graph, GPtrArray *frames, GHashTable *members)
{
  StudioScene *scene = build->scene;
  guint k = 0;

  for (guint pass = 0; pass < 2 && (pass == 0 || scene->n_hidden > 0); pass++)
    {
      for (guint i = 0; i < build->nodes->len; i++)
        {
          const LoomElement *e = build->nodes->pdata[i];
          const char *id = scene->n_hidden > 0 ? loom_element_get (e, "id") : NULL;

          if ((id != NULL && g_hash_table_contains (members, id)) != (pass == 1))
            continue;
          add_item (build, graph, e, k);
          if (pass == 0)
            add_figure (build, graph, e, &scene->item[k], build->change.is_kept[k]);
          k++;
        }
      for (guint f = 0; pass == 0 && f < frames->len; f++)
        {
          GHashTableIter iter;
          gpointer frame;
          guint n = 0;

          g_hash_table_iter_init (&iter, members);
          while (g_hash_table_iter_next (&iter, NULL, &frame))
            n += GPOINTER_TO_UINT (frame) == f + 1;
          scene_frames_card (frames->pdata[f], n, &scene->item[k]);
          g_ptr_array_add (build->inputs, g_array_new (FALSE, FALSE, sizeof (StudioPort)));
          g_ptr_array_add (build->outputs, g_array_new (FALSE, FALSE, sizeof (StudioPort)));
          k++;
        }
    }
}

/* From here on a fault of a node in a collapsed frame belongs to the frame's card. */
static void
lead_links (Build *build, GHashTable *members)
{
  StudioScene *scene = build->scene;
  const guint first = scene->n_items - studio_scene_n_frames (scene);
  g_autofree guint *card = g_new (guint, scene->n_hidden + 1);

  for (guint h = 0; h < scene->n_hidden; h++)
    {
      StudioItem *hidden = &scene->item[scene->n_items + h];

      card[h] = first + GPOINTER_TO_UINT (g_hash_table_lookup (members, hidden->id)) - 1;
      scene->item[card[h]].order = MIN (scene->item[card[h]].order, hidden->order);
      g_hash_table_insert (scene->by_id, hidden->id, GUINT_TO_POINTER (scene->item[card[h]].slot + 1));
    }
  if (scene->n_hidden > 0)
    scene->n_links = scene_frames_lead (scene, build->inputs, build->outputs, card, scene->link, scene->n_links);
}

/* The ports of cards that do not keep them, with the weights that a wire can replace. */
static void
take_ports (Build *build, guint i)
{
  StudioItem *item = &build->scene->item[i];
  GArray *in = g_ptr_array_index (build->inputs, i), *out = g_ptr_array_index (build->outputs, i);

  if (in != NULL)
    {
      item->n_inputs = in->len;
      for (const LoomPortSpec *p = item->op != NULL ? item->op->inputs : NULL; p != NULL && p->name != NULL; p++)
        if ((p->flags & LOOM_PORT_WEIGHT) && scene_ports_find (in, p->name) == STUDIO_NO_ITEM)
          {
            scene_ports_add (in, p->name, p->doc, FALSE, FALSE);
            g_array_index (in, StudioPort, in->len - 1).weight = TRUE;
          }
      item->n_offered = in->len;
      item->input = (StudioPort *)(gpointer)g_array_free (in, FALSE);
    }
  if (out != NULL)
    {
      item->n_outputs = out->len;
      item->output = (StudioPort *)(gpointer)g_array_free (out, FALSE);
    }
  if (in == NULL && out == NULL)
    return;
  item->flow = build->scene->flow;
  studio_item_resize (item);
}

/* Whether a scene can be changed into that of this scope. What a collapsed frame stands for is not in the place where
 * it would be looked for. */
static gboolean
can_change (const StudioScene *scene, const LoomGraph *graph, const LoomElement *scope, const char *scope_path,
            const GPtrArray *frames)
{
  gboolean stated;

  return frames->len == 0 && scene->n_hidden == 0 && studio_scene_n_frames (scene) == 0
         && scene->scope == loom_element_serial (scope) && g_str_equal (scene->path, scope_path)
         && scene->flow == studio_flow_of (scope, &stated) && g_str_equal (scene->device, device_of (graph));
}

static StudioScene *
scene_begin (const LoomGraph *graph, const LoomElement *scope, const char *scope_path)
{
  StudioScene *scene = g_new0 (StudioScene, 1);

  scene->scope = loom_element_serial (scope);
  scene->path = g_strdup (scope_path);
  scene->routes = studio_routes_new ();
  scene->device = g_strdup (device_of (graph));
  scene->by_serial = g_hash_table_new (NULL, NULL);
  scene->by_id = g_hash_table_new (g_str_hash, g_str_equal);
  scene->slots = g_array_new (FALSE, FALSE, sizeof (guint));
  return scene;
}

/* before: NULL, or a scene that is changed, and returned, if it can be. */
static StudioScene *
scene_new (const LoomGraph *graph, const LoomElement *scope, const char *scope_path, const LoomNet *net,
           const LoomFaults *faults, StudioSceneFix fix, gpointer data, gboolean plain, StudioScene *before)
{
  static guint last_id; /* atomic: threads make scenes, too */
  const guint n_children = loom_element_n_children (scope);
  Build build = { .nodes = g_ptr_array_sized_new (n_children),
                  .wires = g_ptr_array_sized_new (n_children),
                  .inputs = g_ptr_array_sized_new (n_children),
                  .outputs = g_ptr_array_sized_new (n_children),
                  .plain = plain,
                  .net = net,
                  .insides = g_hash_table_new (g_str_hash, g_str_equal),
                  .wide = g_hash_table_new_full (NULL, NULL, NULL, free_table) };
  g_autoptr (GHashTable) members = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) frames = scene_frames_collapsed (scope, members);
  const gboolean is_changed = before != NULL && can_change (before, graph, scope, scope_path, frames);
  StudioScene *scene = is_changed ? before : scene_begin (graph, scope, scope_path);
  const gint64 batch = batch_of (graph);
  const gboolean relabel = is_changed && batch != scene->batch && scene->shapes == STUDIO_SHAPES_NUMBERS;

  build.scene = scene;
  list_children (&build, scope);
  scene->n_hidden = g_hash_table_size (members);
  scene_change_begin (&build.change, scene, graph, build.nodes, frames->len + build.nodes->len, build.wires->len);
  if (net != NULL && loom_net_n_nodes (net) > 0 && loom_net_kept_axes (net, 0) == NULL)
    build.axes = loom_net_name_axes (net);
  build.is_in_order = scene->is_of_net && net != NULL && loom_net_order_since (net) <= scene->number;
  scene->n_items = frames->len + build.nodes->len - scene->n_hidden;
  scene->id = (guint)g_atomic_int_add (&last_id, 1) + 1u;
  scene->version = loom_graph_version (graph);
  scene->number = net != NULL ? loom_net_number (net) : 0;
  scene->is_of_net = net != NULL && loom_net_graph_version (net) == scene->version;
  scene->flow = studio_flow_of (scope, &scene->flow_stated);
  scene->batch = batch;
  scene->seconds = 0;
  scene->has_health = FALSE;
  add_items (&build, graph, frames, members);
  scene_change_index (&build.change);
  add_links (&build);
  lead_links (&build, members);
  for (guint i = 0; i < scene->n_items + scene->n_hidden; i++)
    take_ports (&build, i);
  if (is_changed)
    scene_links_reset (scene, relabel);
  scene_links_list (&build.change);
  scene_links_type (&build.change);
  if (faults != NULL)
    {
      scene_faults_add (scene, faults, fix, data);
      scene_links_mark_faulty (scene);
    }
  if (net != NULL)
    {
      studio_scene_add_devices (scene, graph, net);
      studio_scene_add_partitions (scene, net);
      scene_faults_follow (scene);
    }
  scene_positions_read (scene, graph, scope, build.change.version);
  studio_geometry_place_faults (scene);
  if (net != NULL)
    add_costs (scene, net);
  for (guint i = 0; !is_changed && i < scene->n_items; i++)
    scene_change_touch (scene, i);

  g_ptr_array_unref (build.nodes);
  g_ptr_array_unref (build.wires);
  g_ptr_array_unref (build.inputs);
  g_ptr_array_unref (build.outputs);
  g_free (build.axes);
  g_hash_table_unref (build.wide);
  g_hash_table_unref (build.insides);
  scene_change_clear (&build.change);
  return scene;
}

StudioScene *
studio_scene_new (const LoomGraph *graph, const LoomElement *scope, const char *scope_path, const LoomNet *net,
                  const LoomFaults *faults, StudioSceneFix fix, gpointer data)
{
  return scene_new (graph, scope, scope_path, net, faults, fix, data, FALSE, NULL);
}

StudioScene *
studio_scene_renew (StudioScene *before, const LoomGraph *graph, const LoomElement *scope, const char *scope_path,
                    const LoomNet *net, const LoomFaults *faults, StudioSceneFix fix, gpointer data)
{
  StudioRoutes *routes = studio_scene_steal_routes (before);
  StudioScene *scene = scene_new (graph, scope, scope_path, net, faults, fix, data, FALSE, before);

  /* Most wires are where they were. */
  studio_scene_set_routes (scene, routes);
  if (scene != before)
    studio_scene_free (before);
  return scene;
}

void
studio_scene_disown (StudioScene *scene)
{
  scene->scope = G_MAXUINT64;
}

StudioScene *
studio_scene_new_plain (const LoomGraph *graph, const LoomElement *scope)
{
  return scene_new (graph, scope, "", NULL, NULL, NULL, NULL, TRUE, NULL);
}

void
studio_scene_free (StudioScene *scene)
{
  if (scene == NULL)
    return;
  for (guint i = 0; i < scene->n_items + scene->n_hidden; i++)
    scene_item_clear (&scene->item[i]);
  for (guint i = 0; i < scene->n_links; i++)
    scene_link_clear (&scene->link[i]);
  for (guint i = 0; i < scene->n_annotations; i++)
    {
      g_free (scene->annotation[i].text);
      g_free (scene->annotation[i].color);
    }
  g_free (scene->annotation);
  g_free (scene->device);
  g_free (scene->item);
  g_free (scene->link);
  g_free (scene->path);
  g_clear_pointer (&scene->by_id, g_hash_table_unref);
  g_clear_pointer (&scene->by_serial, g_hash_table_unref);
  g_clear_pointer (&scene->slots, g_array_unref);
  studio_routes_free (scene->routes);
  g_free (scene);
}
