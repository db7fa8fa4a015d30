/* Implements studio-layer-commands.h. */
#include "ui/page/studio-layer-commands.h"

#include <glib/gi18n.h>

#include "ui/document/studio-example.h"
#include "ui/page/selected-node.h"
#include "ui/shell/studio-toasts.h"
#include "ui/stepper/studio-derivatives.h"

static void
watch (const StudioLayerCommands *self, gboolean gradient)
{
  g_autofree char *path = selected_node_dup_path (self->document);
  if (path == NULL)
    studio_toasts_say (self->toasts, _ ("Select a layer first to watch its output."));
  else if (!studio_pins_toggle (self->pins, path, gradient))
    studio_toasts_say (self->toasts, _ ("The selected node has no output whose shape is known."));
}

void
studio_layer_commands_watch (const StudioLayerCommands *self)
{
  watch (self, FALSE);
}

void
studio_layer_commands_watch_gradient (const StudioLayerCommands *self)
{
  watch (self, TRUE);
}

void
studio_layer_commands_break (const StudioLayerCommands *self)
{
  g_autofree char *path = selected_node_dup_path (self->document);
  if (path != NULL)
    studio_breakpoints_ask (self->breakpoints, path, self->toasts);
  else
    studio_toasts_say (self->toasts, _ ("Select the layer at which training is to stop."));
}

/* The first output of a card, of a module that of a node in it. NULL: it has none. */
static char *
dup_output (StudioDocument *document, const char *path)
{
  LoomNet *net = studio_document_get_net (document);
  const StudioScene *scene = studio_document_get_scene (document);
  const int node = net != NULL ? loom_net_find (net, path) : -1;
  const guint card = scene != NULL ? studio_scene_card_of (scene, path) : STUDIO_NO_ITEM;
  const StudioPort *port;
  if (node >= 0)
    return loom_net_node (net, (guint)node)->n_outputs > 0 ? loom_net_port_name (net, (guint)node, 0) : NULL;
  if (net == NULL || card == STUDIO_NO_ITEM || scene->item[card].n_outputs == 0)
    return NULL;
  port = &scene->item[card].output[0];
  return port->typed ? loom_net_port_name (net, port->source.node, port->source.output) : NULL;
}

/* Of the number under the cursor of a pin, else of the first one of the selected layer, or of that where the step
 * stands. */
void
studio_layer_commands_derivatives (const StudioLayerCommands *self)
{
  const StudioStepPlace *place = studio_stepper_get_place (self->stepper);
  g_autofree char *path = selected_node_dup_path (self->document), *port = NULL;
  gint64 element = 0;
  if (path == NULL && place != NULL)
    path = g_strdup (place->node);
  if (!studio_pins_get_number (self->pins, &port, &element))
    port = path != NULL ? dup_output (self->document, path) : NULL;
  if (port == NULL)
    studio_toasts_say (self->toasts, _ ("Select the layer whose derivatives are to be shown, or a cell of a pin."));
  else
    studio_derivatives_show (self->document, self->run, self->stepper, self->instant, port, element, self->toasts);
}

const LoomOp *
studio_layer_commands_get_op_at_focus (const StudioLayerCommands *self)
{
  GtkWidget *canvas = GTK_WIDGET (self->canvas), *focus = gtk_root_get_focus (gtk_widget_get_root (canvas));
  if (focus != NULL && (focus == canvas || gtk_widget_is_ancestor (focus, canvas)))
    return selected_node_op (self->document);
  return studio_palette_get_focused_op (self->palette);
}

void
studio_layer_commands_show_documentation (const StudioLayerCommands *self)
{
  const LoomOp *op = selected_node_op (self->document);
  if (op != NULL)
    gtk_widget_activate_action (self->toasts, "win.documentation-of", "s", op->name);
  else
    studio_toasts_say (self->toasts, _ ("Select a layer first to show its documentation."));
}

void
studio_layer_commands_insert_example_of (const StudioLayerCommands *self, const char *name)
{
  const LoomOp *op = loom_op (name);
  g_autoptr (GError) error = NULL;
  if (op == NULL)
    return;
  if (!studio_example_insert (self->document, op, &error))
    {
      studio_toasts_say (self->toasts, error->message);
      return;
    }
  g_autofree char *text = g_strdup_printf (_ ("Inserted the example of %s"), op->title);
  studio_canvas_zoom_to_selection (self->canvas);
  studio_toasts_say (self->toasts, text);
}
