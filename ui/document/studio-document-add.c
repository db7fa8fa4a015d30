/* Adds nodes with their wires. The wires are determined before anything changes, with the operators' own type rules
 * (see loom-fit.h), so that the whole is one transaction. */
#include "ui/document/studio-document-add.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/document/document-edit.h"

#include "ui/document/studio-clipboard.h"
#include "ui/document/studio-document-arrange.h"
#include "ui/document/studio-library.h"
#include "ui/layout/studio-layout.h"
#include "ui/scene/studio-flow.h"
#include "ui/scene/studio-geometry.h"

#define GAP 64.0 /* between a card and the new one after it */

/* A node to add, and its wires. */
typedef struct
{
  StudioDocument *document;
  StudioScene *scene;
  const LoomOp *op;          /* NULL: a module */
  const LoomElement *module; /* its definition */
  LoomGraph *library;        /* the library that the module is copied from; NULL: it is in the document */
  char *name;                /* of the operator or module */
  LoomElement *node;         /* detached */
  char *id;
  GPtrArray *from, *to; /* ends of the new wires, as text */
  GArray *gone;         /* serials of the wires to remove */
  guint at;             /* the input to wire, if there is an operator; STUDIO_NO_ITEM */
  guint output;         /* the output of the card that feeds it */
  StudioPoint source;   /* where that wire begins, for a new card after another */
  double *moved;        /* the distances by which the scene's items move in its direction; NULL: none move */
  LoomType type;        /* the type at the new node's input */
  gboolean typed;
} Fresh;

static void
fresh_clear (Fresh *fresh)
{
  if (fresh->node != NULL)
    loom_element_free (fresh->node);
  g_clear_pointer (&fresh->library, loom_graph_unref);
  g_free (fresh->name);
  g_free (fresh->id);
  g_free (fresh->moved);
  g_ptr_array_unref (fresh->from);
  g_ptr_array_unref (fresh->to);
  g_array_unref (fresh->gone);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fresh, fresh_clear)

static gboolean
fresh_init (Fresh *fresh, StudioDocument *self, const char *name, gboolean is_module)
{
  LoomElement *scope = studio_document_get_scope (self);

  *fresh = (Fresh){ .document = self, .at = STUDIO_NO_ITEM };
  fresh->from = g_ptr_array_new_with_free_func (g_free);
  fresh->to = g_ptr_array_new_with_free_func (g_free);
  fresh->gone = g_array_new (FALSE, FALSE, sizeof (guint64));
  fresh->op = is_module ? NULL : loom_op (name);
  fresh->library = is_module ? studio_library_find (name, &fresh->name) : NULL;
  if (fresh->library == NULL)
    fresh->name = g_strdup (name);
  if (is_module)
    fresh->module = loom_graph_find_module (fresh->library != NULL ? fresh->library : studio_document_get_graph (self),
                                            fresh->name);
  if (fresh->op == NULL && fresh->module == NULL)
    return FALSE;
  studio_document_get_net (self);
  fresh->scene = studio_document_get_scene (self);
  fresh->id = loom_scope_free_id (scope, fresh->name);
  fresh->node = fresh->op != NULL ? loom_fit_fresh_node (fresh->op, fresh->id)
                                  : loom_element_new (LOOM_TAG_NODE, "id", fresh->id, "module", fresh->name, NULL);
  return TRUE;
}

/* ---- ends of wires -------------------------------------------------------- */

static gboolean
is_needed (const LoomPortSpec *spec)
{
  return (spec->flags & (LOOM_PORT_OPTIONAL | LOOM_PORT_WEIGHT)) == 0;
}

/* The name of a module's n-th input or output. */
static const char *
module_port (const LoomElement *module, LoomOpRole role)
{
  for (guint i = 0; i < loom_element_n_children (module); i++)
    if (loom_op_has_role (loom_element_child (module, i), role))
      return loom_element_get (loom_element_child (module, i), "id");
  return NULL;
}

static const LoomPortSpec *
input_specs (const Fresh *fresh, guint *n)
{
  const LoomPortSpec *specs = fresh->op != NULL ? loom_op_inputs (fresh->op, fresh->node) : NULL;

  *n = loom_op_count_ports (specs);
  return specs;
}

/* An end without a port is the only required input, or the only output. */
static char *
input_end (const Fresh *fresh, guint at)
{
  guint n, needed = 0;
  const LoomPortSpec *specs = input_specs (fresh, &n);

  if (fresh->op == NULL)
    return g_strdup_printf ("%s.%s", fresh->id, module_port (fresh->module, LOOM_ROLE_MODULE_INPUT));
  if (specs[0].flags & LOOM_PORT_VARIADIC)
    return g_strdup_printf ("%s.%u", fresh->id, at);
  for (guint i = 0; i < n; i++)
    needed += is_needed (&specs[i]);
  return needed == 1 && is_needed (&specs[at]) ? g_strdup (fresh->id)
                                               : g_strdup_printf ("%s.%s", fresh->id, specs[at].name);
}

static char *
output_end (const Fresh *fresh, const char *port)
{
  if (port == NULL
      || (fresh->op != NULL && fresh->op->outputs != NULL && loom_op_count_ports (fresh->op->outputs) == 1))
    return g_strdup (fresh->id);
  return g_strdup_printf ("%s.%s", fresh->id, port);
}

static void
add_wire (Fresh *fresh, char *from, char *to)
{
  g_ptr_array_add (fresh->from, from);
  g_ptr_array_add (fresh->to, to);
}

static gboolean
has_input (const Fresh *fresh)
{
  guint n;

  if (fresh->op == NULL)
    return module_port (fresh->module, LOOM_ROLE_MODULE_INPUT) != NULL;
  return input_specs (fresh, &n) != NULL && n > 0;
}

/* The input for an untyped wire, or of a module: the first required one. */
static guint
first_input (const Fresh *fresh)
{
  guint n, i = 0;
  const LoomPortSpec *specs = input_specs (fresh, &n);

  while (i + 1 < n && !is_needed (&specs[i]))
    i++;
  return i;
}

static LoomFit
fit_output (const Fresh *fresh, const StudioPort *port, guint *at)
{
  *at = first_input (fresh);
  if (!has_input (fresh))
    return LOOM_FIT_NOT;
  return port->typed && fresh->op != NULL ? loom_fit_after (fresh->op, &port->type, at) : LOOM_FIT_UNKNOWN;
}

/* Wires one of the card's outputs, or the given one, to the new node: the first that fits. */
static LoomFit
wire_after (Fresh *fresh, const StudioItem *item, guint only)
{
  LoomFit best = LOOM_FIT_NOT;
  guint output = 0;

  for (guint o = 0; o < item->n_outputs && best < LOOM_FIT_HINT; o++)
    {
      guint at;
      LoomFit fit = only == STUDIO_NO_ITEM || only == o ? fit_output (fresh, &item->output[o], &at) : LOOM_FIT_NOT;

      if (fit <= best)
        continue;
      best = fit;
      fresh->at = at;
      output = o;
    }
  if (best == LOOM_FIT_NOT)
    return best;
  studio_geometry_port (item, TRUE, output, &fresh->source.x, &fresh->source.y);
  fresh->output = output;
  fresh->typed = item->output[output].typed;
  fresh->type = item->output[output].type;
  add_wire (fresh, studio_document_end_text (item, TRUE, output), input_end (fresh, fresh->at));
  return best;
}

/* The output of a new node that fits the port: of several (a data set's) the first one. */
static const char *
output_for (const Fresh *fresh, const StudioItem *item, guint input)
{
  const LoomType *type[MOST_INPUTS] = { NULL };
  guint n = studio_item_input_types (item, type, MOST_INPUTS), best_output = 0;
  const LoomElement *element = studio_document_node (fresh->document, item->serial);
  LoomFit best = LOOM_FIT_NOT;
  LoomFitAnswer answer;

  if (fresh->op == NULL)
    return module_port (fresh->module, LOOM_ROLE_MODULE_OUTPUT);
  if (fresh->op->dynamic_outputs == NULL)
    return fresh->op->outputs != NULL ? fresh->op->outputs[0].name : NULL;
  loom_fit_infer (fresh->node, NULL, 0, &answer);
  for (guint o = 0; o < answer.n_outputs && input < MOST_INPUTS; o++)
    {
      LoomFitAnswer taken;

      type[input] = &answer.output[o];
      loom_fit_infer (element, type, MAX (n, input + 1), &taken);
      if (taken.fit > best)
        {
          best = taken.fit;
          best_output = o;
        }
      loom_fit_answer_clear (&taken);
    }
  loom_fit_answer_clear (&answer);
  return answer.n_outputs > 0 ? answer.output_name[best_output] : "0";
}

static gboolean
has_output (const Fresh *fresh)
{
  return fresh->op != NULL ? fresh->op->outputs != NULL || fresh->op->dynamic_outputs != NULL
                           : module_port (fresh->module, LOOM_ROLE_MODULE_OUTPUT) != NULL;
}

/* Its only output, or its first one. */
static char *
main_output_end (const Fresh *fresh)
{
  return output_end (fresh, fresh->op == NULL            ? module_port (fresh->module, LOOM_ROLE_MODULE_OUTPUT)
                            : fresh->op->outputs != NULL ? fresh->op->outputs[0].name
                                                         : "0");
}

/* TRUE if a card accepts at this input the new node's output for the given type. An unknown type is no obstacle. */
static gboolean
would_take (const Fresh *fresh, const StudioItem *item, guint input)
{
  const LoomType *comes[MOST_INPUTS] = { NULL }, *type[MOST_INPUTS] = { NULL };
  const LoomElement *element = studio_document_node (fresh->document, item->serial);
  LoomFitAnswer made, taken = { .fit = LOOM_FIT_UNKNOWN };

  if (!fresh->typed || fresh->op == NULL || fresh->at >= MOST_INPUTS || input >= MOST_INPUTS || item->op == NULL
      || element == NULL)
    return TRUE;
  comes[fresh->at] = &fresh->type;
  loom_fit_infer (fresh->node, comes, fresh->at + 1, &made);
  if (made.n_outputs > 0)
    {
      guint n = studio_item_input_types (item, type, MOST_INPUTS);

      type[input] = &made.output[0];
      loom_fit_infer (element, type, MAX (n, input + 1), &taken);
    }
  loom_fit_answer_clear (&made);
  loom_fit_answer_clear (&taken);
  return taken.fit != LOOM_FIT_NOT;
}

/* Inserts the new node between the card and its readers; a loss becomes the end of a branch. */
static void
insert_after (Fresh *fresh, const StudioItem *item)
{
  const StudioScene *scene = fresh->scene;

  if (!has_output (fresh) || (fresh->op != NULL && fresh->op->category == LOOM_CATEGORY_LOSS))
    return;
  for (guint l = item->output[fresh->output].link; l != STUDIO_NO_ITEM; l = scene->link[l].next_out)
    {
      const StudioLink *link = &scene->link[l];
      const LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (fresh->document), link->serial);

      if (wire == NULL || loom_element_tag (wire) != LOOM_TAG_WIRE
          || !would_take (fresh, &scene->item[link->to], link->input))
        continue;
      g_array_append_val (fresh->gone, link->serial);
      add_wire (fresh, main_output_end (fresh), g_strdup (loom_element_get (wire, "to")));
    }
}

/* ---- targets ------------------------------------------------------------------ */

/* How well the new node, with its wires so far, accepts an output at that input. A type that is not known yet, such as
 * that of missing data, excludes nothing. */
static LoomFit
fit_target (const Fresh *fresh, guint at, const StudioPort *output)
{
  const LoomType *input[MOST_INPUTS] = { NULL };
  LoomFitAnswer answer;

  if (at >= MOST_INPUTS || fresh->at >= MOST_INPUTS)
    return LOOM_FIT_NOT;
  if (!output->typed || !fresh->typed)
    return LOOM_FIT_UNKNOWN;
  input[fresh->at] = &fresh->type;
  input[at] = &output->type;
  loom_fit_infer (fresh->node, input, MAX (at, fresh->at) + 1, &answer);
  loom_fit_answer_clear (&answer);
  return answer.fit;
}

/* Counts the data's outputs that fit so well, unread ones only or all; the last is in *from and *output. */
static guint
count_targets (const Fresh *fresh, guint at, LoomFit least, gboolean unread, guint *from, guint *output)
{
  guint n = 0;

  for (guint i = 0; i < fresh->scene->n_items; i++)
    {
      const StudioItem *item = &fresh->scene->item[i];

      if (item->op == NULL || (item->op->role != LOOM_ROLE_DATASET && item->op->role != LOOM_ROLE_INPUT))
        continue;
      for (guint o = 0; o < item->n_outputs; o++)
        if (!(unread && item->output[o].n_links > 0) && fit_target (fresh, at, &item->output[o]) >= least)
          {
            n++;
            *from = i;
            *output = o;
          }
    }
  return n;
}

/* The data set's output that fits; an output without a reader is preferred to one that the network reads. If there are
 * several, the user has to choose. */
static gboolean
find_target (const Fresh *fresh, guint at, guint *from, guint *output)
{
  guint n = count_targets (fresh, at, LOOM_FIT_WELL, TRUE, from, output);

  if (n == 0)
    n = count_targets (fresh, at, LOOM_FIT_WELL, FALSE, from, output);
  if (n == 0)
    n = count_targets (fresh, at, LOOM_FIT_UNKNOWN, TRUE, from, output);
  return n == 1;
}

static void
join_targets (Fresh *fresh)
{
  guint n, from, output;
  const LoomPortSpec *specs = input_specs (fresh, &n);

  if (fresh->at == STUDIO_NO_ITEM)
    return;
  for (guint i = 0; i < n; i++)
    if (i != fresh->at && (specs[i].flags & LOOM_PORT_TARGET) && find_target (fresh, i, &from, &output))
      add_wire (fresh, studio_document_end_text (&fresh->scene->item[from], TRUE, output), input_end (fresh, i));
}

/* ---- positions ----------------------------------------------------------------- */

/* The node as an item, for its size and ports; find_corner() sets x and y. */
static StudioScene *
lone_scene (const Fresh *fresh)
{
  g_autoptr (LoomGraph) graph = loom_graph_new (NULL);
  LoomElement *root = loom_graph_root (graph);
  g_autoptr (LoomNet) net = NULL;
  StudioScene *alone;

  if (fresh->module != NULL)
    loom_edit_free (loom_graph_apply (graph, loom_edit_insert (root, 0, loom_element_copy (fresh->module))));
  loom_edit_free (loom_graph_apply (
      graph, loom_edit_insert (root, loom_element_place_for (root, LOOM_TAG_NODE), loom_element_copy (fresh->node))));
  net = loom_net_new (graph, NULL, NULL);
  alone = studio_scene_new (graph, root, "", net, NULL, NULL, NULL);
  studio_scene_set_flow (alone, fresh->scene->flow);
  return alone;
}

static gboolean
is_on_card (const StudioScene *scene, const StudioItem *card)
{
  StudioRect room = { card->x - 6, card->y - 6, card->width + 12, card->height + 12 };

  for (guint i = 0; i < scene->n_items; i++)
    {
      StudioRect other = studio_geometry_with_pins (&scene->item[i]);

      if (studio_rect_intersects (&room, &other))
        return TRUE;
    }
  return FALSE;
}

/* The position of the wire's end at the card, relative to its corner. */
static StudioPoint
level_of (const Fresh *fresh, const StudioItem *card)
{
  StudioPoint level = { card->width / 2, card->height / 2 };

  if (fresh->at >= card->n_inputs)
    return level;
  studio_geometry_port (card, FALSE, fresh->at, &level.x, &level.y);
  return (StudioPoint){ level.x - card->x, level.y - card->y };
}

/* After another card in the direction of the graph, so that the wire between them is straight. */
static void
position_after (const Fresh *fresh, const StudioItem *item, StudioItem *card)
{
  StudioPoint level = level_of (fresh, card), source = { item->x + item->width / 2, item->y + item->height / 2 };

  if (fresh->at < card->n_inputs)
    source = fresh->source;
  if (card->flow == STUDIO_FLOW_DOWN)
    {
      card->x = source.x - level.x;
      card->y = item->y + item->height + GAP;
      return;
    }
  card->x = item->x + item->width + GAP;
  card->y = source.y - level.y;
}

/* A card in a wire whose ends are too close: it is placed after the first of them, and the cards there move on. */
static void
make_space (Fresh *fresh, guint link, StudioItem *card)
{
  const StudioScene *scene = fresh->scene;
  StudioPoint level = level_of (fresh, card);

  fresh->moved = g_new0 (double, scene->n_items);
  studio_layout_place_new (scene, scene->link[link].from, FALSE, card->width, card->height,
                           studio_flow_across (scene->flow, fresh->source.x - level.x, fresh->source.y - level.y),
                           &card->x, &card->y, fresh->moved);
}

static void
find_corner (Fresh *fresh, const StudioAddPlace *place, StudioItem *card)
{
  guint link
      = place->kind == STUDIO_ADD_ON_WIRE ? studio_scene_find_link (fresh->scene, place->serial) : STUDIO_NO_ITEM;
  const guint64 gone = fresh->gone->len > 0 ? g_array_index (fresh->gone, guint64, 0) : 0;
  guint predecessor
      = place->kind == STUDIO_ADD_AFTER ? studio_scene_find (fresh->scene, place->serial) : STUDIO_NO_ITEM;
  double x_wished, y_wished;

  if (predecessor != STUDIO_NO_ITEM)
    {
      position_after (fresh, &fresh->scene->item[predecessor], card);
      if (gone != 0)
        {
          if (is_on_card (fresh->scene, card))
            make_space (fresh, studio_scene_find_link (fresh->scene, gone), card);
          return;
        }
    }
  else
    {
      card->x = studio_geometry_snap (place->x - card->width / 2);
      card->y = studio_geometry_snap (place->y - card->height / 2);
      /* A wire is no obstacle for a card that is inserted into it. */
      if (link != STUDIO_NO_ITEM && !is_on_card (fresh->scene, card))
        return;
      if (link != STUDIO_NO_ITEM && gone != 0)
        {
          make_space (fresh, link, card);
          return;
        }
    }
  x_wished = card->x;
  y_wished = card->y;
  studio_geometry_free_place (fresh->scene, &card->x, &card->y);
  /* Snapping to the grid must not bend a wire. */
  if (fabs (card->x - x_wished) < STUDIO_SNAP && fabs (card->y - y_wished) < STUDIO_SNAP)
    {
      card->x = x_wished;
      card->y = y_wished;
    }
}

/* ---- adding -------------------------------------------------------------------- */

static void
complain (const Fresh *fresh, const StudioItem *item, char **said)
{
  g_autofree char *shape = NULL;

  if (said == NULL || item->n_outputs == 0 || !has_input (fresh))
    return;
  if (!item->output[0].typed)
    {
      *said = g_strdup_printf (_ ("%s is not connected to %s because it does not accept its output."), fresh->id,
                               item->id);
      return;
    }
  shape = loom_shape_to_string (&item->output[0].type.shape);
  *said = g_strdup_printf (_ ("%s is not connected to %s because it does not accept %s."), fresh->id, item->id, shape);
}

/* FALSE if the wire or card no longer exists. */
static gboolean
join (Fresh *fresh, const StudioAddPlace *place, char **said)
{
  const StudioScene *scene = fresh->scene;
  guint item = studio_scene_find (scene, place->serial), link, port;

  switch (place->kind)
    {
    case STUDIO_ADD_AT:
      return TRUE;
    case STUDIO_ADD_AFTER:
      if (item == STUDIO_NO_ITEM)
        return FALSE;
      if (wire_after (fresh, &scene->item[item], STUDIO_NO_ITEM) == LOOM_FIT_NOT)
        complain (fresh, &scene->item[item], said);
      else if (!place->branch)
        insert_after (fresh, &scene->item[item]);
      join_targets (fresh);
      return TRUE;
    case STUDIO_ADD_LOOSE:
      port = item != STUDIO_NO_ITEM ? studio_item_find_port (&scene->item[item], place->from_output, place->port)
                                    : STUDIO_NO_ITEM;
      if (port == STUDIO_NO_ITEM)
        return FALSE;
      if (place->from_output)
        {
          if (wire_after (fresh, &scene->item[item], port) == LOOM_FIT_NOT)
            complain (fresh, &scene->item[item], said);
          join_targets (fresh);
        }
      else if (has_output (fresh))
        {
          const StudioPort *input = &scene->item[item].input[port];

          if (input->n_links > 0)
            g_array_append_val (fresh->gone, scene->link[input->link].serial);
          add_wire (fresh, output_end (fresh, output_for (fresh, &scene->item[item], port)),
                    studio_document_end_text (&scene->item[item], FALSE, port));
        }
      return TRUE;
    case STUDIO_ADD_ON_WIRE:
      link = studio_scene_find_link (scene, place->serial);
      if (link == STUDIO_NO_ITEM)
        return FALSE;
      if (!has_output (fresh)
          || wire_after (fresh, &scene->item[scene->link[link].from], scene->link[link].output) == LOOM_FIT_NOT)
        {
          complain (fresh, &scene->item[scene->link[link].from], said);
          return TRUE;
        }
      join_targets (fresh);
      g_array_append_val (fresh->gone, place->serial);
      add_wire (fresh, main_output_end (fresh),
                g_strdup (loom_element_get (
                    loom_graph_by_serial (studio_document_get_graph (fresh->document), place->serial), "to")));
      return TRUE;
    }
  return FALSE;
}

/* Copies the definition into the document if the node's module is from the library. */
static gboolean
bring (Fresh *fresh, char **said)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *name = NULL;

  if (fresh->library == NULL)
    return TRUE;
  name = studio_clipboard_bring_module (fresh->document, fresh->library, fresh->name, &error);
  if (name != NULL)
    loom_element_set_detached (fresh->node, "module", name);
  else if (said != NULL)
    {
      g_free (*said);
      *said = g_strdup (error->message);
    }
  return name != NULL;
}

/* Inserts the node with its future wires into the graph; 0 if that is not possible. */
static guint64
put (Fresh *fresh, const StudioAddPlace *place, char **said)
{
  StudioDocument *self = fresh->document;
  LoomElement *scope = studio_document_get_scope (self);
  g_autoptr (StudioScene) alone = lone_scene (fresh);
  g_autofree char *step = g_strdup_printf (
      place->kind != STUDIO_ADD_LOOSE && fresh->gone->len > 0 ? _ ("Insert %s") : _ ("Add %s"), fresh->name);
  guint64 serial;

  find_corner (fresh, place, &alone->item[0]);
  studio_document_begin (self, step);
  if (!bring (fresh, said))
    {
      studio_document_cancel (self);
      return 0;
    }
  serial = loom_element_serial (studio_document_insert (self, scope, g_steal_pointer (&fresh->node)));
  for (guint i = 0; i < fresh->gone->len; i++)
    studio_document_remove_element (
        self, loom_graph_by_serial (studio_document_get_graph (self), g_array_index (fresh->gone, guint64, i)));
  for (guint i = 0; i < fresh->from->len; i++)
    studio_document_insert (
        self, scope, loom_element_new (LOOM_TAG_WIRE, "from", fresh->from->pdata[i], "to", fresh->to->pdata[i], NULL));
  /* Cards without a position keep the one from the layout; they must not jump when one gets a position. */
  for (guint i = 0; i < fresh->scene->n_items; i++)
    {
      const StudioItem *item = &fresh->scene->item[i];
      double by = fresh->moved != NULL ? fresh->moved[i] : 0;

      if (by != 0 || loom_scope_find_place (scope, item->id) == NULL)
        studio_document_place_on (self, fresh->scene, i, by);
    }
  studio_document_place (self, fresh->id, alone->item[0].x, alone->item[0].y);
  studio_document_end (self);
  studio_document_select_only (self, serial);
  return serial;
}

guint64
studio_document_add (StudioDocument *self, const char *name, gboolean is_module, const char *const *parameters,
                     const StudioAddPlace *place, char **said)
{
  g_auto (Fresh) fresh;

  if (said != NULL)
    *said = NULL;
  if (!fresh_init (&fresh, self, name, is_module))
    return 0;
  for (guint i = 0; parameters != NULL && parameters[i] != NULL; i += 2)
    loom_element_set_detached (fresh.node, parameters[i], parameters[i + 1]);
  return join (&fresh, place, said) ? put (&fresh, place, said) : 0;
}

guint64
studio_document_add_with (StudioDocument *self, const char *op, const char *attributes, const StudioAddPlace *place)
{
  g_auto (Fresh) fresh;
  g_auto (GStrv) parts = g_strsplit (attributes, " ", -1);

  if (!fresh_init (&fresh, self, op, FALSE))
    return 0;
  for (guint i = 0; parts[i] != NULL; i++)
    {
      char *equals = strchr (parts[i], '=');

      if (equals == NULL)
        continue;
      *equals = '\0';
      loom_element_set_detached (fresh.node, parts[i], equals + 1);
    }
  return join (&fresh, place, NULL) ? put (&fresh, place, NULL) : 0;
}

StudioScene *
studio_document_preview (StudioDocument *self, const char *name, gboolean is_module, const StudioAddPlace *place)
{
  g_auto (Fresh) fresh;
  StudioScene *alone;

  if (!fresh_init (&fresh, self, name, is_module) || !join (&fresh, place, NULL))
    return NULL;
  alone = lone_scene (&fresh);
  find_corner (&fresh, place, &alone->item[0]);
  return alone;
}

/* ---- fits ----------------------------------------------------------------------- */

static LoomFit
fit_port (const LoomOp *op, const StudioPort *port)
{
  if (op->inputs == NULL && op->dynamic_inputs == NULL)
    return LOOM_FIT_NOT;
  return port->typed ? loom_fit_after (op, &port->type, NULL) : LOOM_FIT_UNKNOWN;
}

static LoomFit
fit_before (StudioDocument *self, const LoomOp *op, const StudioItem *item, guint input)
{
  const LoomType *type[MOST_INPUTS] = { NULL };
  const LoomElement *element = studio_document_node (self, item->serial);

  if (op->outputs == NULL && op->dynamic_outputs == NULL)
    return LOOM_FIT_NOT;
  if (item->op == NULL || element == NULL || input >= MOST_INPUTS)
    return LOOM_FIT_UNKNOWN;
  return loom_fit_before (op, element, type, studio_item_input_types (item, type, MOST_INPUTS), input);
}

LoomFit
studio_document_fit (StudioDocument *self, const LoomOp *op, const StudioAddPlace *place)
{
  StudioScene *scene;
  const StudioItem *item;
  LoomFit best = LOOM_FIT_NOT;
  guint at, port;

  studio_document_get_net (self);
  scene = studio_document_get_scene (self);
  at = place->kind == STUDIO_ADD_ON_WIRE ? studio_scene_find_link (scene, place->serial)
                                         : studio_scene_find (scene, place->serial);
  if (place->kind == STUDIO_ADD_AT || at == STUDIO_NO_ITEM)
    return LOOM_FIT_WELL;
  if (place->kind == STUDIO_ADD_ON_WIRE)
    return op->outputs == NULL ? LOOM_FIT_NOT
                               : fit_port (op, &scene->item[scene->link[at].from].output[scene->link[at].output]);
  item = &scene->item[at];
  if (place->kind == STUDIO_ADD_LOOSE)
    {
      port = studio_item_find_port (item, place->from_output, place->port);
      return port == STUDIO_NO_ITEM ? LOOM_FIT_WELL
             : place->from_output   ? fit_port (op, &item->output[port])
                                    : fit_before (self, op, item, port);
    }
  /* The first output is the main one, so a reader of only another output ranks lower. */
  for (guint o = 0; o < item->n_outputs && best < LOOM_FIT_HINT; o++)
    best = MAX (best, MIN (fit_port (op, &item->output[o]), o == 0 ? LOOM_FIT_WELL : LOOM_FIT_HINT));
  return item->n_outputs > 0 ? best : LOOM_FIT_WELL;
}
