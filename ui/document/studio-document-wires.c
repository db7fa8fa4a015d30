/* Commands for wires: connecting, moving an end, removing, and finding compatible ports. */
#include "ui/document/document-edit.h"
#include "ui/document/studio-trials.h"

#include <glib/gi18n.h>
#include <stdlib.h>
#include <string.h>

char *
studio_document_end_text (const StudioItem *item, gboolean is_output, guint port)
{
  const StudioPort *ports = is_output ? item->output : item->input;
  guint n = is_output ? item->n_outputs : item->n_inputs, required = 0;

  if (item->is_frame)
    return g_strdup (ports[port].name);
  if (is_output && n == 1)
    return g_strdup (item->id);
  for (guint i = 0; i < n; i++)
    required += ports[i].required;
  if (!is_output && required == 1 && ports[port].required)
    return g_strdup (item->id);
  return g_strdup_printf ("%s.%s", item->id, ports[port].name);
}

/* The wires of a variadic input are numbered without gaps: after one is removed, later ones move up. */
void
studio_document_close_gaps (StudioDocument *self, LoomElement *scope, const char *id)
{
  LoomElement *node = loom_scope_find_node (scope, id);
  const LoomOp *op = loom_op_of (node);
  guint next = 0;

  if (op == NULL || op->inputs == NULL || op->inputs[0].name == NULL || !(op->inputs[0].flags & LOOM_PORT_VARIADIC))
    return;
  for (guint wanted = 0, missed = 0; missed <= loom_element_n_children (scope); wanted++)
    {
      gboolean found = FALSE;

      for (guint i = 0; i < loom_element_n_children (scope); i++)
        {
          LoomElement *e = loom_element_child (scope, i);
          const char *to = loom_element_tag (e) == LOOM_TAG_WIRE ? loom_element_get (e, "to") : NULL;
          g_autofree char *to_id = NULL, *port = NULL;

          if (to == NULL || !loom_end_split (to, &to_id, &port) || strcmp (to_id, id) != 0
              || (port != NULL ? atoi (port) : 0) != (int)wanted)
            continue;
          found = TRUE;
          if (wanted != next)
            {
              g_autofree char *text = g_strdup_printf ("%s.%u", id, next);

              studio_document_put (self, e, "to", text);
            }
          next++;
          break;
        }
      if (!found)
        missed++;
      if (missed > 64)
        break;
    }
}

static char *
wire_target_id (const LoomElement *wire)
{
  char *id = NULL, *port = NULL;
  const char *to = loom_element_get (wire, "to");

  if (to == NULL || !loom_end_split (to, &id, &port))
    return NULL;
  g_free (port);
  return id;
}

void
studio_document_forget_route (StudioDocument *self, const LoomElement *wire)
{
  const LoomElement *layout = loom_element_find (loom_element_parent (wire), LOOM_TAG_LAYOUT);

  for (guint i = layout != NULL ? loom_element_n_children (layout) : 0; i-- > 0;)
    {
      LoomElement *e = loom_element_child (layout, i);

      if (loom_element_tag (e) == LOOM_TAG_ROUTE
          && g_strcmp0 (loom_element_get (e, "from"), loom_element_get (wire, "from")) == 0
          && g_strcmp0 (loom_element_get (e, "to"), loom_element_get (wire, "to")) == 0)
        studio_document_remove_element (self, e);
    }
}

void
studio_document_remove_wire (StudioDocument *self, LoomElement *wire)
{
  LoomElement *scope = loom_element_parent (wire);
  g_autofree char *id = wire_target_id (wire);

  studio_document_forget_route (self, wire);
  studio_document_remove_element (self, wire);
  if (id != NULL)
    studio_document_close_gaps (self, scope, id);
}

static gboolean
find_ends (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input, guint *f, guint *o,
           guint *t, guint *i, GError **error)
{
  StudioScene *scene = studio_document_get_scene (self);

  *f = studio_scene_find (scene, from);
  *t = studio_scene_find (scene, to);
  if (*f == STUDIO_NO_ITEM || *t == STUDIO_NO_ITEM)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_PORT, _ ("One of the two nodes no longer exists."));
      return FALSE;
    }
  *o = studio_item_find_port (&scene->item[*f], TRUE, output);
  *i = studio_item_find_port (&scene->item[*t], FALSE, input);
  if (*o == STUDIO_NO_ITEM || *i == STUDIO_NO_ITEM)
    {
      if (*o == STUDIO_NO_ITEM)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, _ ("Node %s has no output “%s”."), scene->item[*f].id, output);
      else
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, _ ("Node %s has no input “%s”."), scene->item[*t].id, input);
      return FALSE;
    }
  if (!studio_scene_can_link (scene, *f, *o, *t, *i))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_CYCLE,
                   _ ("A wire from %s to %s would create a cycle, which cannot be computed."), scene->item[*f].id,
                   scene->item[*t].id);
      return FALSE;
    }
  return TRUE;
}

guint64
studio_document_connect (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input,
                         GError **error)
{
  LoomElement *scope = studio_document_get_scope (self), *wire;
  g_autofree char *from_text = NULL, *to_text = NULL, *name = NULL;
  StudioScene *scene;
  const StudioPort *port;
  guint f, o, t, i;
  guint64 serial, old;

  if (!find_ends (self, from, output, to, input, &f, &o, &t, &i, error))
    return 0;
  scene = studio_document_get_scene (self);
  port = &scene->item[t].input[i];
  old = port->n_links > 0 ? scene->link[port->link].serial : 0;
  if (old != 0 && scene->link[port->link].from == f && scene->link[port->link].output == o)
    return old;
  from_text = studio_document_end_text (&scene->item[f], TRUE, o);
  to_text = studio_document_end_text (&scene->item[t], FALSE, i);
  name = g_strdup_printf (_ ("Connect %s to %s"), scene->item[f].id, scene->item[t].id);
  wire = loom_element_new (LOOM_TAG_WIRE, "from", from_text, "to", to_text, NULL);

  studio_document_begin (self, name);
  if (old != 0)
    studio_document_remove_element (self, loom_graph_by_serial (studio_document_get_graph (self), old));
  serial = loom_element_serial (studio_document_insert (self, scope, wire));
  studio_document_end (self);
  return serial;
}

/* The error about shapes or types of the operator at a wire's end, or NULL. */
const LoomFault *
studio_document_find_refusal (const LoomFaults *faults, const char *path)
{
  for (guint f = 0; f < loom_faults_length (faults); f++)
    {
      const LoomFault *fault = loom_faults_get (faults, f);

      if (!fault->is_warning && (fault->code == LOOM_ERROR_SHAPE || fault->code == LOOM_ERROR_DTYPE)
          && g_strcmp0 (fault->node, path) == 0)
        return fault;
    }
  return NULL;
}

/* NULL if the operator accepts the wire, else its error (transfer full). */
static char *
try_link (LoomGraph *trial, const StudioScene *scene, guint64 scope_serial, guint from, guint output, guint to,
          guint input)
{
  LoomElement *scope = loom_graph_by_serial (trial, scope_serial), *old = NULL;
  const StudioPort *port = &scene->item[to].input[input];
  g_autofree char *from_text = studio_document_end_text (&scene->item[from], TRUE, output);
  g_autofree char *to_text = studio_document_end_text (&scene->item[to], FALSE, input);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomEdit *undo_old = NULL, *undo_new;
  const LoomFault *fault;
  LoomNet *net;

  if (port->n_links > 0)
    old = loom_graph_by_serial (trial, scene->link[port->link].serial);
  if (old != NULL)
    undo_old = loom_graph_apply (trial, loom_edit_remove (old));
  undo_new = loom_graph_apply (
      trial, loom_edit_insert (scope, loom_element_place_for (scope, LOOM_TAG_WIRE),
                               loom_element_new (LOOM_TAG_WIRE, "from", from_text, "to", to_text, NULL)));
  net = loom_net_new (trial, NULL, faults);
  loom_net_free (net);
  loom_edit_free (loom_graph_apply (trial, undo_new));
  if (undo_old != NULL)
    loom_edit_free (loom_graph_apply (trial, undo_old));
  fault = studio_document_find_refusal (faults, scene->item[to].path);
  return fault != NULL ? g_strdup (fault->message) : NULL;
}

/* TRUE if the tensor can replace the weight of this port: the layer has it, in the same shape. */
static gboolean
ties (const LoomNet *net, const StudioItem *item, guint input, const StudioPort *from)
{
  g_autofree char *name = g_strdup_printf ("%s.%s", item->path, item->input[input].name);
  const LoomNetWeight *weight = from->typed && net != NULL ? loom_net_weight_named (net, name) : NULL;

  return weight != NULL && weight->dtype == from->type.dtype && loom_shape_equal (&weight->shape, &from->type.shape);
}

void
studio_document_compatible_ports (StudioDocument *self, guint64 serial, gboolean from_output, guint port, gboolean *lit,
                                  const guint *first)
{
  const gint64 budget = 30 * 1000;
  LoomFaults *faults = studio_document_get_faults (self);
  StudioScene *scene = studio_document_get_scene (self);
  guint64 scope = loom_element_serial (studio_document_get_scope (self));
  guint fixed = studio_scene_find (scene, serial);
  g_autofree gboolean *circle = g_new0 (gboolean, scene->n_items + 1);
  g_autoptr (LoomGraph) trial = NULL;
  gint64 start = studio_trials_clock ();

  if (fixed == STUDIO_NO_ITEM)
    return;
  studio_scene_reach (scene, fixed, from_output, circle);
  for (guint i = 0; i < scene->n_items; i++)
    {
      const StudioItem *item = &scene->item[i];
      guint n = MIN (from_output ? item->n_offered : item->n_outputs, first[i + 1] - first[i]);

      for (guint p = 0; p < n; p++)
        {
          guint from = from_output ? fixed : i, output = from_output ? port : p;
          guint to = from_output ? i : fixed, input = from_output ? p : port;
          gboolean *it = &lit[first[i] + p];
          g_autofree char *sentence = NULL;

          *it = !circle[i];
          if (from_output && p >= item->n_inputs)
            {
              *it = *it && ties (studio_document_peek_net (self), item, p, &scene->item[fixed].output[port]);
              continue;
            }
          if (!*it || !scene->item[from].output[output].typed
              || studio_document_find_refusal (faults, scene->item[to].path) != NULL
              || (!studio_document_has_unlimited_trials (self) && studio_trials_clock () - start > budget))
            continue;
          if (trial == NULL)
            trial = loom_graph_copy (studio_document_get_graph (self));
          sentence = try_link (trial, scene, scope, from, output, to, input);
          *it = sentence == NULL;
        }
    }
}

char *
studio_document_dup_refusal (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *input)
{
  LoomFaults *faults = studio_document_get_faults (self);
  guint64 scope = loom_element_serial (studio_document_get_scope (self));
  g_autoptr (LoomGraph) trial = NULL;
  g_autoptr (GError) error = NULL;
  StudioScene *scene;
  guint f, o, t, i;

  if (from == to)
    return g_strdup (_ ("A card cannot be connected to itself."));
  if (!find_ends (self, from, output, to, input, &f, &o, &t, &i, &error))
    return g_strdup (error->message);
  scene = studio_document_get_scene (self);
  if (!scene->item[f].output[o].typed || studio_document_find_refusal (faults, scene->item[t].path) != NULL)
    return NULL;
  if (i >= scene->item[t].n_inputs
      && ties (studio_document_peek_net (self), &scene->item[t], i, &scene->item[f].output[o]))
    return NULL;
  trial = loom_graph_copy (studio_document_get_graph (self));
  return try_link (trial, scene, scope, f, o, t, i);
}

guint64
studio_document_reconnect (StudioDocument *self, guint64 wire, guint64 to, const char *input, GError **error)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint link = studio_scene_find_link (scene, wire);
  const char *output;
  guint64 from, made;

  if (link == STUDIO_NO_ITEM)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_PORT, _ ("The wire no longer exists."));
      return 0;
    }
  from = scene->item[scene->link[link].from].serial;
  output = scene->item[scene->link[link].from].output[scene->link[link].output].name;
  if (scene->item[scene->link[link].to].serial == to
      && g_strcmp0 (scene->item[scene->link[link].to].input[scene->link[link].input].name, input) == 0)
    return wire;
  studio_document_begin (self, _ ("Move wire"));
  made = studio_document_connect (self, from, output, to, input, error);
  if (made != 0)
    studio_document_remove_wire (self, loom_graph_by_serial (studio_document_get_graph (self), wire));
  studio_document_end (self);
  return made;
}

void
studio_document_disconnect (StudioDocument *self, guint64 wire)
{
  LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self), wire);

  if (e == NULL || loom_element_tag (e) != LOOM_TAG_WIRE)
    return;
  studio_document_begin (self, _ ("Disconnect"));
  studio_document_remove_wire (self, e);
  studio_document_end (self);
}
