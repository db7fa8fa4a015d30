/* The tooltip of the card, port or wire under the pointer. */
#include "ui/canvas/studio-canvas-private.h"

#include <glib/gi18n.h>

#include "ui/drawing/studio-formula.h"
#include "ui/scene/studio-partitions.h"

/* In a field, a tooltip of the canvas would come from a pointer that was left lying there. */
static gboolean
is_typing (StudioCanvas *self)
{
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;

  return focus != NULL && GTK_IS_EDITABLE (focus);
}

static void
add_line (GString *markup, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  g_string_append_printf (markup, "%s%s", markup->len > 0 ? "\n" : "", escaped);
}

static void
add_title (GString *markup, const char *text)
{
  g_autofree char *escaped = g_markup_escape_text (text, -1);

  g_string_append_printf (markup, "<b>%s</b>", escaped);
}

static void
add_type (GString *markup, gboolean typed, const LoomType *type)
{
  g_autofree char *shape = typed ? loom_shape_to_string (&type->shape) : NULL;
  g_autofree char *line = typed ? g_strdup_printf ("%s  %s", shape, loom_dtype_name (type->dtype)) : NULL;

  add_line (markup, typed ? line : _ ("shape not known yet"));
}

/* "Parameters 1.2 k (4 %)", a line each that there is something to say of. */
static void
add_costs (GString *markup, const StudioScene *scene, const StudioItem *item)
{
  for (StudioMeasure m = STUDIO_MEASURE_NONE + 1; m < STUDIO_N_MEASURES; m++)
    {
      double value = studio_measure_of (item, m);
      g_autofree char *number = studio_measure_text (m, value);
      g_autofree char *line = g_strdup_printf ("%s %s (%.0f %%)", studio_measure_title (m), number,
                                               100 * studio_measure_share (scene, item, m));

      if (value > 0)
        add_line (markup, line);
    }
}

static void
add_device (GString *markup, const StudioItem *item)
{
  g_autofree char *line = NULL;

  if (item->badge == NULL)
    return;
  line = g_strdup_printf (item->is_device_missing ? _ (
                              "Runs on %s, which this machine does not have. Train the graph on a machine that has it.")
                                                  : _ ("Runs on %s."),
                          item->badge);
  add_line (markup, line);
}

/* Which part of a divided graph it is. */
static void
add_part (GString *markup, const StudioItem *item)
{
  g_autofree char *stage = studio_item_stage_text (item), *split = studio_item_split_text (item);

  if (stage != NULL)
    add_line (markup, stage);
  if (split != NULL)
    add_line (markup, split);
}

/* Adds the run's numbers of the card, in figures of one width. */
static void
add_numbers (GString *markup, StudioCanvas *self, const StudioItem *item)
{
  g_autofree char *escaped = NULL;

  g_signal_emit (self, studio_canvas_signals[STUDIO_CANVAS_DESCRIBE], 0, item->path);
  if (self->numbers == NULL || g_strcmp0 (self->numbers_path, item->path) != 0)
    return;
  escaped = studio_formula_markup (self->numbers);
  g_string_append_printf (markup, "\n<span font_features=\"tnum=1\">%s</span>", escaped);
}

void
studio_canvas_set_numbers (StudioCanvas *self, const char *node_path, const char *text)
{
  if (g_strcmp0 (self->numbers, text) == 0 && g_strcmp0 (self->numbers_path, node_path) == 0)
    return;
  g_free (self->numbers);
  g_free (self->numbers_path);
  self->numbers = g_strdup (text);
  self->numbers_path = text != NULL ? g_strdup (node_path) : NULL;
  if (text != NULL)
    gtk_widget_trigger_tooltip_query (GTK_WIDGET (self));
}

static void
describe_card (GString *markup, StudioCanvas *self, const StudioScene *scene, const StudioItem *item, double zoom)
{
  const char *formula = item->op != NULL ? item->op->formula : NULL;

  add_title (markup, studio_item_title (item));
  if (studio_geometry_detail (zoom) != STUDIO_DETAIL_ALL)
    add_line (markup, item->title);
  if (item->summary[0] != '\0')
    add_line (markup, item->summary);
  if (formula != NULL)
    {
      g_autofree char *shown = studio_formula_markup (formula);

      g_string_append_printf (markup, "\n<span size=\"larger\">%s</span>", shown);
    }
  add_numbers (markup, self, item);
  for (guint p = 0; p < item->n_outputs; p++)
    if (item->output[p].typed)
      add_type (markup, TRUE, &item->output[p].type);
  add_costs (markup, scene, item);
  add_device (markup, item);
  add_part (markup, item);
  if (item->waits_for != NULL)
    {
      g_autofree char *waits = g_strdup_printf (_ ("Has no shape until “%s” is fixed."), item->waits_for);

      add_line (markup, waits);
    }
  /* Where there is no room for the bubble, or it is too small to be read. */
  if (item->fault != NULL
      && (item->fault_place == STUDIO_FAULT_AS_SIGN || studio_geometry_detail (zoom) != STUDIO_DETAIL_ALL))
    add_line (markup, item->fault);
}

static void
describe_port (GString *markup, const StudioItem *item, const StudioPort *port)
{
  g_autofree char *name = g_strdup_printf ("%s.%s", item->id, port->name);

  add_title (markup, name);
  add_type (markup, port->typed, &port->type);
  if (port->doc != NULL)
    add_line (markup, port->doc);
}

static void
describe_link (GString *markup, const StudioScene *scene, const StudioLink *link)
{
  g_autofree char *ends = g_strdup_printf ("%s → %s", scene->item[link->from].id, scene->item[link->to].id);

  add_title (markup, ends);
  add_type (markup, link->typed, &link->type);
  if (link->copy_doc != NULL)
    add_line (markup, link->copy_doc);
}

/* Describes what the button below a card would do. */
static void
describe_fix (GString *markup, StudioCanvas *self, guint64 serial)
{
  StudioMend *mend = studio_document_first_mend (self->document, serial);

  if (mend != NULL)
    add_title (markup, mend->label);
  if (mend != NULL && mend->preview != NULL)
    add_line (markup, mend->preview);
  g_clear_pointer (&mend, studio_mend_free);
}

gboolean
studio_canvas_query_tooltip (GtkWidget *widget, int x, int y, gboolean keyboard, GtkTooltip *tooltip)
{
  StudioCanvas *self = STUDIO_CANVAS (widget);
  StudioScene *scene = studio_canvas_scene (self);
  StudioHit hit = studio_geometry_hit (scene, &self->view, x, y);
  g_autoptr (GString) markup = g_string_new (NULL);

  if (keyboard || self->gesture.state != STUDIO_GESTURE_IDLE || self->popover != NULL
      || g_get_monotonic_time () < self->quiet_until || is_typing (self))
    return FALSE;
  if (hit.kind == STUDIO_HIT_INPUT || hit.kind == STUDIO_HIT_OUTPUT)
    describe_port (markup, &scene->item[hit.item],
                   hit.kind == STUDIO_HIT_INPUT ? &scene->item[hit.item].input[hit.port]
                                                : &scene->item[hit.item].output[hit.port]);
  else if (hit.kind == STUDIO_HIT_FIX)
    describe_fix (markup, self, scene->item[hit.item].serial);
  else if (hit.kind == STUDIO_HIT_CARD)
    describe_card (markup, self, scene, &scene->item[hit.item], self->view.zoom);
  else if (hit.kind == STUDIO_HIT_LINK)
    describe_link (markup, scene, &scene->link[hit.item]);
  if (markup->len == 0)
    return FALSE;
  gtk_tooltip_set_markup (tooltip, markup->str);
  return TRUE;
}
