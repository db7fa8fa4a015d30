/* Builds a scene from one scope of a graph and the result of type inference.
 *
 * It is built at every change but one of positions. What has not changed since the earlier scene, by the versions of
 * elements, is taken from that scene; everything that depends on other elements is computed. */
#include "ui/scene/studio-scene.h"

#include <string.h>

#include "ui/scene/scene-earlier.h"
#include "ui/scene/scene-faults.h"
#include "ui/scene/scene-frames.h"
#include "ui/scene/scene-ports.h"
#include "ui/scene/scene-positions.h"
#include "ui/scene/studio-copies.h"
#include "ui/scene/studio-partitions.h"
#include "ui/scene/studio-flow.h"
#include "ui/scene/studio-routes.h"
#include "ui/scene/studio-shapes.h"

typedef struct
{
  StudioScene *scene;
  GPtrArray *nodes, *wires;    /* LoomElement: of the scope, which is walked over once */
  GPtrArray *inputs, *outputs; /* while building: a GArray of StudioPort per item */
  gboolean plain;              /* without figures */
  GHashTable *insides;         /* module name → figure */
  LoomNetAxes **axes;          /* of the net's outputs; NULL without a net */
  GHashTable *wide;            /* of items with many inputs: port name → index + 1 */
  gboolean ports_came;         /* a wire named a port that its card did not have */
  SceneEarlier earlier;
  guint shift;              /* of the index of a card's node since then; wraps */
  gboolean *is_typed_alike; /* by item: its outputs have the types and names of axes that they had before */
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

/* Sets the type, axes and source of an output from the net. */
static void
type_port (const Build *build, const LoomNet *net, StudioPort *port, const LoomNetSource *source)
{
  port->typed = TRUE;
  port->type = loom_net_node (net, source->node)->output[source->output];
  port->source = *source;
  port->axes = build->axes[source->node][source->output];
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

/* TRUE if the outputs of the card have the types that they had in the scene before, where they are still. */
static gboolean
has_types_of (const StudioItem *was, const LoomNetNode *node)
{
  if (node == NULL || node->op != was->op || !node->typed || was->n_outputs > node->n_outputs)
    return FALSE;
  for (guint i = 0; i < was->n_outputs; i++)
    if (!was->output[i].typed || was->output[i].type.dtype != node->output[i].dtype
        || !loom_shape_equal (&was->output[i].type.shape, &node->output[i].shape))
      return FALSE;
  return TRUE;
}

/* Sets the sources of typed outputs, and the names of their axes, which depend on other nodes. TRUE if these have the
 * names that they had. */
static gboolean
rename_outputs (const Build *build, StudioItem *item)
{
  const LoomNetAxes *axes = build->axes[item->order];
  gboolean same = TRUE;

  for (guint i = 0; i < item->n_outputs; i++)
    {
      item->output[i].source.node = item->order;
      same &= memcmp (&item->output[i].axes, &axes[i], sizeof *axes) == 0;
      item->output[i].axes = axes[i];
    }
  return same;
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

static char *
summary_of (const LoomElement *e, const StudioItem *item, const LoomNetNode *node)
{
  const char *summary = node != NULL && node->op == item->op ? node->summary : NULL;

  /* Inference did not reach the node, so its formula is not known. */
  if (summary != NULL && !node->typed && item->op != NULL && item->op->dynamic_inputs != NULL)
    summary = NULL;
  return summary != NULL ? g_strdup (summary) : attributes_summary (e, item->op);
}

/* The node of a path in the net. Its index differs from the one before as that of the card before it did, unless nodes
 * came or went in between. */
static int
find_node (Build *build, const LoomNet *net, const StudioItem *was, const char *path)
{
  const gboolean had_node = was != NULL && was->order != G_MAXUINT;
  const guint guess = had_node ? was->order + build->shift : G_MAXUINT;
  int found;

  if (guess < loom_net_n_nodes (net) && g_str_equal (loom_net_node (net, guess)->path, path))
    return (int)guess;
  found = loom_net_find (net, path);
  if (had_node && found >= 0)
    build->shift = (guint)found - was->order;
  return found;
}

static void
add_item (Build *build, const LoomGraph *graph, const LoomElement *e, const LoomNet *net, StudioItem *item)
{
  const guint k = (guint)(item - build->scene->item);
  StudioItem *was = scene_earlier_find (&build->earlier, e);
  GArray *inputs = NULL, *outputs = NULL;
  const LoomNetNode *node;
  gboolean is_alike;
  int found;

  item->serial = loom_element_serial (e);
  if (was != NULL)
    scene_earlier_take_words (&build->earlier, was, k, item);
  else
    read_words (build, e, item);
  item->badge = g_strdup (loom_element_get (e, "device"));
  found = net != NULL ? find_node (build, net, was, item->path) : -1;
  item->order = found >= 0 ? (guint)found : G_MAXUINT;
  node = found >= 0 ? loom_net_node (net, (guint)found) : NULL;
  is_alike = was != NULL && has_types_of (was, node);
  if (was != NULL)
    {
      item->input = scene_earlier_take_ports (&was->input, was->n_offered, FALSE);
      item->output = scene_earlier_take_ports (&was->output, was->n_outputs, is_alike);
    }
  else
    {
      inputs = g_array_new (FALSE, FALSE, sizeof (StudioPort));
      outputs = g_array_new (FALSE, FALSE, sizeof (StudioPort));
      list_ports (graph, e, item, node, inputs, outputs);
    }
  if (is_alike && node->summary != NULL && g_strcmp0 (was->summary, node->summary) == 0)
    item->summary = g_steal_pointer (&was->summary);
  else
    item->summary = summary_of (e, item, node);
  if (is_alike)
    build->is_typed_alike[k] = rename_outputs (build, item);
  else
    type_outputs (build, net, item, node, was != NULL ? item->output : (StudioPort *)(gpointer)outputs->data,
                  was != NULL ? item->n_outputs : outputs->len);
  g_ptr_array_add (build->inputs, inputs);
  g_ptr_array_add (build->outputs, outputs);
}

/* Adds the figure below the card's text. A module's definition is hashed once per scene, for any number of instances.
 */
static void
add_figure (Build *build, const LoomGraph *graph, const LoomElement *e, StudioItem *item)
{
  const LoomElement *definition = item->is_module ? loom_graph_find_module (graph, item->kind) : NULL;

  if (build->plain)
    return;
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
  else if (item->op != NULL && item->op->role == LOOM_ROLE_DATASET)
    {
      item->sample_key = studio_figure_sample_key (e, loom_graph_get_folder (graph));
      studio_figure_sample_peek (item->sample_key, &item->figure);
    }
  else if (build->earlier.item[item - build->scene->item] != NULL)
    item->figure = g_steal_pointer (&build->earlier.item[item - build->scene->item]->figure);
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
  gpointer found;
  GArray *ports;

  if (end == NULL || !loom_end_split (end, &id, &name))
    return FALSE;
  found = g_hash_table_lookup (build->scene->by_id, id);
  if (found == NULL)
    return FALSE;
  *item = GPOINTER_TO_UINT (found) - 1;
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

static void
add_links (Build *build)
{
  StudioScene *scene = build->scene;
  GArray *links = g_array_sized_new (FALSE, FALSE, sizeof (StudioLink), build->wires->len + 1);

  /* Ports of variadic inputs come from the wires, so they are sorted before any index is used. */
  for (guint pass = 0; pass < 2 && (pass == 0 || build->ports_came); pass++)
    {
      g_array_set_size (links, 0);
      scene_earlier_begin_links (&build->earlier);
      g_hash_table_remove_all (build->wide);
      for (guint i = 0; i < build->wires->len; i++)
        {
          const LoomElement *e = build->wires->pdata[i];
          StudioLink link = { 0 };
          guint was;

          if (!scene_earlier_take_ends (&build->earlier, e, &link, &was)
              && (!resolve_end (build, loom_element_get (e, "from"), TRUE, &link.from, &link.output)
                  || !resolve_end (build, loom_element_get (e, "to"), FALSE, &link.to, &link.input)))
            continue;
          g_array_append_val (build->earlier.link, was);
          link.serial = loom_element_serial (e);
          g_array_append_val (links, link);
        }
      if (pass == 0)
        for (guint k = 0; k < scene->n_items + scene->n_hidden; k++)
          if (is_variadic (&scene->item[k]))
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
  scene->n_links = links->len;
  scene->link = (StudioLink *)(gpointer)g_array_free (links, FALSE);
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

  for (guint i = 0; i < n; i++)
    card_of[i] = STUDIO_NO_ITEM;
  for (guint i = 0; i < scene->n_items; i++)
    if (!scene->item[i].is_frame && scene->item[i].order < n)
      card_of[scene->item[i].order] = i;
  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      const guint card = card_of[i] != STUDIO_NO_ITEM ? card_of[i] : studio_scene_card_of (scene, node->path);

      add_cost (&scene->costs, &node->cost);
      if (card != STUDIO_NO_ITEM)
        add_cost (&scene->item[card].costs, &node->cost);
    }
  for (guint i = 0; scene->costs.flops > 0 && i < scene->n_items; i++)
    scene->item[i].cost = scene->item[i].costs.flops / scene->costs.flops;
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
add_items (Build *build, const LoomGraph *graph, const LoomNet *net, GPtrArray *frames, GHashTable *members)
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
          add_item (build, graph, e, net, &scene->item[k]);
          if (pass == 0)
            add_figure (build, graph, e, &scene->item[k]);
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
      g_hash_table_insert (build->scene->by_id, hidden->id, GUINT_TO_POINTER (card[h] + 1));
    }
  if (scene->n_hidden > 0)
    scene->n_links = scene_frames_lead (scene, build->inputs, build->outputs, card, scene->link, scene->n_links);
}

/* Takes type and label of a link from the scene before, if its output has the same type. */
static gboolean
take_type (Build *build, guint i, StudioLink *link)
{
  StudioLink *old = scene_earlier_link (&build->earlier, i);
  StudioPort *in = &build->scene->item[link->to].input[link->input];

  if (old == NULL || !build->is_typed_alike[link->from] || old->copy != NULL
      || build->earlier.scene->shapes != build->scene->shapes)
    return FALSE;
  in->typed = link->typed = old->typed;
  in->type = link->type = old->type;
  in->axes = link->axes = old->axes;
  link->label = g_steal_pointer (&old->label);
  return TRUE;
}

static void
type_link (StudioScene *scene, StudioLink *link)
{
  const StudioPort *out = &scene->item[link->from].output[link->output];
  StudioPort *in = &scene->item[link->to].input[link->input];

  link->typed = in->typed = out->typed;
  link->type = in->type = out->type;
  link->axes = in->axes = out->axes;
  studio_link_relabel (scene, link);
}

/* Enters the links into the lists of their ports, in the order of the file, with their types. */
static void
join_links (Build *build)
{
  StudioScene *scene = build->scene;

  for (guint i = scene->n_links; i-- > 0;)
    {
      StudioLink *link = &scene->link[i];
      StudioPort *out = &scene->item[link->from].output[link->output];
      StudioPort *in = &scene->item[link->to].input[link->input];

      out->n_links++;
      in->n_links++;
      link->next_out = out->link;
      link->next_in = in->link;
      out->link = in->link = i;
      if (!take_type (build, i, link))
        type_link (scene, link);
    }
}

static StudioScene *
scene_new (const LoomGraph *graph, const LoomElement *scope, const char *scope_path, const LoomNet *net,
           const LoomFaults *faults, StudioSceneFix fix, gpointer data, gboolean plain, StudioScene *before)
{
  static guint last_id; /* atomic: threads make scenes, too */
  StudioScene *scene = g_new0 (StudioScene, 1);
  Build build = { .scene = scene,
                  .nodes = g_ptr_array_new (),
                  .wires = g_ptr_array_new (),
                  .inputs = g_ptr_array_new (),
                  .outputs = g_ptr_array_new (),
                  .plain = plain,
                  .insides = g_hash_table_new (g_str_hash, g_str_equal),
                  .axes = net != NULL ? loom_net_name_axes (net) : NULL,
                  .wide = g_hash_table_new_full (NULL, NULL, NULL, free_table) };
  g_autoptr (GHashTable) members = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) frames = scene_frames_collapsed (scope, members);

  scene->scope = loom_element_serial (scope);
  scene->version = loom_graph_version (graph);
  scene->id = (guint)g_atomic_int_add (&last_id, 1) + 1u;
  scene->n_hidden = g_hash_table_size (members);
  list_children (&build, scope);
  scene->n_items = frames->len + build.nodes->len - scene->n_hidden;
  scene->item = g_new0 (StudioItem, scene->n_items + scene->n_hidden + 1);
  /* What a collapsed frame stands for is not in the place where it would be looked for. */
  if (before != NULL
      && (frames->len > 0 || before->n_hidden > 0 || before->scope != scene->scope
          || !g_str_equal (before->path, scope_path)))
    before = NULL;
  scene_earlier_init (&build.earlier, before, scene->n_items + scene->n_hidden, build.wires->len);
  build.is_typed_alike = g_new0 (gboolean, scene->n_items + scene->n_hidden + 1);
  scene->path = g_strdup (scope_path);
  scene->routes = studio_routes_new ();
  scene->flow = studio_flow_of (scope, &scene->flow_stated);
  scene->batch = batch_of (graph);
  scene->device = g_strdup (device_of (graph));
  add_items (&build, graph, net, frames, members);
  scene_earlier_take_indexes (&build.earlier, scene);
  add_links (&build);
  lead_links (&build, members);
  for (guint i = 0; i < scene->n_items + scene->n_hidden; i++)
    {
      StudioItem *item = &scene->item[i];
      GArray *in = g_ptr_array_index (build.inputs, i), *out = g_ptr_array_index (build.outputs, i);

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
      else
        item->n_offered = build.earlier.item[i]->n_offered;
      if (out != NULL)
        {
          item->n_outputs = out->len;
          item->output = (StudioPort *)(gpointer)g_array_free (out, FALSE);
        }
      item->flow = scene->flow;
      studio_item_resize (item);
    }
  join_links (&build);
  if (faults != NULL)
    scene_faults_add (scene, faults, fix, data);
  for (guint i = 0; i < scene->n_links; i++)
    {
      StudioLink *link = &scene->link[i];
      const StudioItem *to = &scene->item[link->to];

      link->fault = studio_item_tone (to) == STUDIO_TONE_ERROR && to->fault_port != NULL
                    && strcmp (to->fault_port, to->input[link->input].name) == 0;
    }
  if (net != NULL)
    {
      studio_scene_add_devices (scene, graph, net);
      studio_scene_add_partitions (scene, net);
      scene_faults_follow (scene);
    }
  scene_positions_read (scene, graph, scope);
  studio_geometry_place_faults (scene);
  if (net != NULL)
    add_costs (scene, net);

  g_ptr_array_unref (build.nodes);
  g_ptr_array_unref (build.wires);
  g_ptr_array_unref (build.inputs);
  g_ptr_array_unref (build.outputs);
  g_free (build.axes);
  g_hash_table_unref (build.wide);
  g_hash_table_unref (build.insides);
  scene_earlier_clear (&build.earlier);
  g_free (build.is_typed_alike);
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
    {
      StudioItem *item = &scene->item[i];

      g_free (item->id);
      g_free (item->path);
      g_free (item->kind);
      g_free (item->sample_key);
      g_clear_pointer (&item->figure, studio_figure_unref);
      g_free (item->summary);
      g_free (item->title);
      g_free (item->badge);
      g_free (item->mark);
      g_free (item->split);
      g_free (item->repeat);
      g_free (item->input);
      g_free (item->output);
      g_free (item->fault);
      g_free (item->fault_port);
      g_free (item->fix);
      g_free (item->waits_for);
    }
  for (guint i = 0; i < scene->n_links; i++)
    {
      g_free (scene->link[i].label);
      g_free (scene->link[i].copy);
      g_free (scene->link[i].copy_doc);
      g_free (scene->link[i].point);
    }
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
  studio_routes_free (scene->routes);
  g_free (scene);
}
