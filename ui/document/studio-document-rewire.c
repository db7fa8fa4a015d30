/* Commands for several wires: cutting, moving all wires of an output, and removing nodes while their wires are joined.
 */
#include "ui/document/document-edit.h"
#include "ui/document/studio-trials.h"

#include <glib/gi18n.h>

void
studio_document_cut_wires (StudioDocument *self, const guint64 *wires, guint n)
{
  g_autofree char *name
      = n == 1 ? g_strdup (_ ("Cut wire")) : g_strdup_printf (ngettext ("Cut %u wire", "Cut %u wires", n), n);

  studio_document_begin (self, name);
  for (guint i = 0; i < n; i++)
    {
      LoomElement *e = loom_graph_by_serial (studio_document_get_graph (self), wires[i]);

      if (e != NULL && loom_element_tag (e) == LOOM_TAG_WIRE)
        studio_document_remove_wire (self, e);
    }
  studio_document_end (self);
}

char *
studio_document_output_text (const StudioItem *item, guint port)
{
  /* The wires at a collapsed frame name the frame's ports. */
  if (item->is_frame)
    return g_strdup (item->output[port].name);
  return item->n_outputs == 1 ? g_strdup (item->id) : g_strdup_printf ("%s.%s", item->id, item->output[port].name);
}

gboolean
studio_document_move_wires (StudioDocument *self, guint64 from, const char *output, guint64 to, const char *to_output,
                            GError **error)
{
  StudioScene *scene = studio_document_get_scene (self);
  guint f = studio_scene_find (scene, from), t = studio_scene_find (scene, to);
  guint o = f != STUDIO_NO_ITEM ? studio_item_find_port (&scene->item[f], TRUE, output) : STUDIO_NO_ITEM;
  guint p = t != STUDIO_NO_ITEM ? studio_item_find_port (&scene->item[t], TRUE, to_output) : STUDIO_NO_ITEM;
  g_autofree char *text = NULL, *name = NULL;
  guint n = 0;

  if (o == STUDIO_NO_ITEM || p == STUDIO_NO_ITEM)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_PORT, _ ("One of the two outputs no longer exists."));
      return FALSE;
    }
  for (guint l = scene->item[f].output[o].link; l != STUDIO_NO_ITEM; l = scene->link[l].next_out, n++)
    if (!studio_scene_can_link (scene, t, p, scene->link[l].to, scene->link[l].input))
      {
        g_set_error (
            error, LOOM_ERROR, LOOM_ERROR_CYCLE,
            _ ("The wires cannot be moved: a wire from %s to %s would create a cycle, which cannot be computed."),
            scene->item[t].id, scene->item[scene->link[l].to].id);
        return FALSE;
      }
  text = studio_document_output_text (&scene->item[t], p);
  name = n == 1 ? g_strdup_printf (_ ("Move wire to %s"), scene->item[t].id)
                : g_strdup_printf (ngettext ("Move %u wire to %s", "Move %u wires to %s", n), n, scene->item[t].id);
  studio_document_begin (self, name);
  for (guint l = scene->item[f].output[o].link; l != STUDIO_NO_ITEM; l = scene->link[l].next_out)
    {
      LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (self), scene->link[l].serial);

      studio_document_forget_route (self, wire);
      studio_document_put (self, wire, "from", text);
    }
  studio_document_end (self);
  return TRUE;
}

/* The error of an operator that would refuse its new source if all wires of an output were moved; NULL if none would
 * (transfer full). The trial is reverted. */
static char *
try_moving (LoomGraph *trial, const StudioScene *scene, const LoomFaults *before, guint f, guint o, guint t, guint p)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GPtrArray) undo = g_ptr_array_new ();
  g_autofree char *text = studio_document_output_text (&scene->item[t], p);
  char *sentence = NULL;

  for (guint l = scene->item[f].output[o].link; l != STUDIO_NO_ITEM; l = scene->link[l].next_out)
    g_ptr_array_add (undo, loom_graph_apply (trial, loom_edit_set (loom_graph_by_serial (trial, scene->link[l].serial),
                                                                   "from", text)));
  loom_net_free (loom_net_new (trial, NULL, faults));
  for (guint l = scene->item[f].output[o].link; l != STUDIO_NO_ITEM && sentence == NULL; l = scene->link[l].next_out)
    {
      const char *path = scene->item[scene->link[l].to].path;
      const LoomFault *fault = studio_document_find_refusal (faults, path);

      if (fault != NULL && studio_document_find_refusal (before, path) == NULL)
        sentence = g_strdup (fault->message);
    }
  for (guint i = undo->len; i-- > 0;)
    loom_edit_free (loom_graph_apply (trial, undo->pdata[i]));
  return sentence;
}

char *
studio_document_dup_moving_refusal (StudioDocument *self, guint64 from, const char *output, guint64 to,
                                    const char *to_output)
{
  LoomFaults *before = studio_document_get_faults (self);
  StudioScene *scene = studio_document_get_scene (self);
  guint f = studio_scene_find (scene, from), t = studio_scene_find (scene, to);
  guint o = f != STUDIO_NO_ITEM ? studio_item_find_port (&scene->item[f], TRUE, output) : STUDIO_NO_ITEM;
  guint p = t != STUDIO_NO_ITEM ? studio_item_find_port (&scene->item[t], TRUE, to_output) : STUDIO_NO_ITEM;
  g_autoptr (LoomGraph) trial = NULL;

  if (o == STUDIO_NO_ITEM || p == STUDIO_NO_ITEM)
    return NULL;
  for (guint l = scene->item[f].output[o].link; l != STUDIO_NO_ITEM; l = scene->link[l].next_out)
    if (!studio_scene_can_link (scene, t, p, scene->link[l].to, scene->link[l].input))
      return g_strdup_printf (_ ("A wire from %s to %s would create a cycle, which cannot be computed."),
                              scene->item[t].id, scene->item[scene->link[l].to].id);
  if (!scene->item[t].output[p].typed)
    return NULL;
  trial = loom_graph_copy (studio_document_get_graph (self));
  return try_moving (trial, scene, before, f, o, t, p);
}

void
studio_document_movable_ports (StudioDocument *self, guint64 from, guint output, gboolean *lit, const guint *first)
{
  const gint64 budget = 30 * 1000;
  LoomFaults *before = studio_document_get_faults (self);
  StudioScene *scene = studio_document_get_scene (self);
  guint f = studio_scene_find (scene, from);
  g_autofree gboolean *circle = g_new0 (gboolean, scene->n_items + 1);
  g_autoptr (LoomGraph) trial = NULL;
  gint64 start = studio_trials_clock ();

  if (f == STUDIO_NO_ITEM || output >= scene->item[f].n_outputs)
    return;
  for (guint l = scene->item[f].output[output].link; l != STUDIO_NO_ITEM; l = scene->link[l].next_out)
    studio_scene_reach (scene, scene->link[l].to, FALSE, circle);
  for (guint i = 0; i < scene->n_items; i++)
    for (guint p = 0; p < MIN (scene->item[i].n_outputs, first[i + 1] - first[i]); p++)
      {
        gboolean *it = &lit[first[i] + p];
        g_autofree char *sentence = NULL;

        *it = !circle[i];
        if (!*it || (i == f && p == output) || !scene->item[i].output[p].typed
            || (!studio_document_has_unlimited_trials (self) && studio_trials_clock () - start > budget))
          continue;
        if (trial == NULL)
          trial = loom_graph_copy (studio_document_get_graph (self));
        sentence = try_moving (trial, scene, before, f, output, i, p);
        *it = sentence == NULL;
      }
}

/* ---- dissolving ----------------------------------------------------------- */

/* A wire from a removed node to one that stays, and its new source. */
typedef struct
{
  LoomElement *wire;
  char *was;
  guint to; /* item */
} Rewired;

static void
rewired_clear (Rewired *self)
{
  g_free (self->was);
}

/* The input whose source replaces a removed node's output: the first wired one with the output's type, else the first
 * wired one. */
static guint
main_input (const StudioItem *item, guint output)
{
  guint first = STUDIO_NO_ITEM;

  for (guint p = 0; p < item->n_inputs; p++)
    {
      const StudioPort *port = &item->input[p];

      if (port->n_links == 0 || port->weight)
        continue;
      if (first == STUDIO_NO_ITEM)
        first = p;
      if (port->typed && item->output[output].typed && port->type.dtype == item->output[output].type.dtype
          && loom_shape_equal (&port->type.shape, &item->output[output].type.shape))
        return p;
    }
  return first;
}

/* Follows a wire back through removed nodes to one that stays; FALSE if there is none. */
static gboolean
find_source (StudioDocument *self, const StudioScene *scene, guint *item, guint *output)
{
  for (guint steps = 0; steps <= scene->n_items; steps++)
    {
      const StudioItem *at = &scene->item[*item];
      const StudioLink *link;
      guint p;

      if (!studio_document_is_selected (self, at->serial))
        return TRUE;
      p = main_input (at, *output);
      if (p == STUDIO_NO_ITEM)
        return FALSE;
      link = &scene->link[at->input[p].link];
      *item = link->from;
      *output = link->output;
    }
  return FALSE;
}

/* Wires whose reader now has an error that it did not have before are removed with their node. */
static void
give_back_refused (StudioDocument *self, const StudioScene *scene, const LoomFaults *before, GArray *rewired)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_new (studio_document_get_graph (self), NULL, faults);

  for (guint i = 0; i < rewired->len; i++)
    {
      Rewired *r = &g_array_index (rewired, Rewired, i);
      const char *path = scene->item[r->to].path;

      if (studio_document_find_refusal (faults, path) != NULL && studio_document_find_refusal (before, path) == NULL)
        studio_document_put (self, r->wire, "from", r->was);
    }
}

static void
dissolve_selected (StudioDocument *self)
{
  LoomFaults *before = studio_document_get_faults (self);
  StudioScene *scene = studio_document_get_scene (self);
  g_autoptr (GArray) rewired = g_array_new (FALSE, FALSE, sizeof (Rewired));
  g_autofree char *name = NULL;
  const char *only = NULL;
  guint n = 0;

  g_array_set_clear_func (rewired, (GDestroyNotify)rewired_clear);
  for (guint i = 0; i < scene->n_items; i++)
    if (studio_document_is_selected (self, scene->item[i].serial))
      {
        only = scene->item[i].id;
        n++;
      }
  name = n == 1   ? g_strdup_printf (_ ("Dissolve %s"), only)
         : n == 0 ? g_strdup (_ ("Cut"))
                  : g_strdup_printf (ngettext ("Dissolve %u node", "Dissolve %u nodes", n), n);
  studio_document_begin (self, name);
  for (guint l = 0; l < scene->n_links; l++)
    {
      const StudioLink *link = &scene->link[l];
      guint from = link->from, output = link->output;
      LoomElement *wire = loom_graph_by_serial (studio_document_get_graph (self), link->serial);
      g_autofree char *text = NULL;
      Rewired r = { wire, NULL, link->to };

      if (studio_document_is_selected (self, scene->item[link->to].serial)
          || studio_document_is_selected (self, link->serial)
          || !studio_document_is_selected (self, scene->item[from].serial)
          || scene->item[link->to].input[link->input].weight || !find_source (self, scene, &from, &output))
        continue;
      r.was = g_strdup (loom_element_get (wire, "from"));
      text = studio_document_output_text (&scene->item[from], output);
      studio_document_forget_route (self, wire);
      studio_document_put (self, wire, "from", text);
      g_array_append_val (rewired, r);
    }
  if (rewired->len > 0)
    {
      give_back_refused (self, scene, before, rewired);
      studio_document_refresh_scene (self);
    }
  studio_document_delete_selection (self);
  studio_document_end (self);
}

void
studio_document_dissolve_selection (StudioDocument *self)
{
  /* The nodes of a collapsed frame are removed like any other cards. */
  if (studio_scene_n_frames (studio_document_get_scene (self)) > 0 && studio_document_selects_frame (self))
    {
      studio_document_begin (self, _ ("Dissolve a frame"));
      g_ptr_array_unref (studio_document_open_selected (self));
      dissolve_selected (self);
      studio_document_end (self);
      return;
    }
  dissolve_selected (self);
}
