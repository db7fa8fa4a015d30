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

/* Of the number under the cursor of a pin, else of the first one of the selected layer. */
void
studio_layer_commands_derivatives (const StudioLayerCommands *self)
{
  g_autofree char *path = selected_node_dup_path (self->document), *port = NULL;
  LoomNet *net = studio_document_get_net (self->document);
  const int node = path != NULL ? loom_net_find (net, path) : -1;
  gint64 element = 0;
  if (!studio_pins_get_number (self->pins, &port, &element))
    {
      if (node < 0 || loom_net_node (net, (guint)node)->n_outputs == 0)
        {
          studio_toasts_say (self->toasts,
                             _ ("Select the layer whose derivatives are to be shown, or a cell of a pin."));
          return;
        }
      port = loom_net_port_name (net, (guint)node, 0);
    }
  studio_derivatives_show (self->document, self->run, self->stepper, port, element, self->toasts);
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
