/* Implements page-run-views.h. */
#include "ui/page/page-run-views.h"

#include <glib/gi18n.h>

#include "ui/shell/studio-toasts.h"
#include "ui/stepper/studio-step-bar.h"

static void
docked_cb (PageRunViews *self)
{
  GtkWidget *dock = studio_pins_get_dock (self->pins);
  const gboolean is_there = gtk_widget_get_parent (dock) != NULL;
  if (studio_pins_has_docked (self->pins) == is_there)
    return;
  if (is_there)
    {
      gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (gtk_widget_get_ancestor (dock, GTK_TYPE_SCROLLED_WINDOW)),
                                     NULL);
      studio_panes_remove_page (self->panes, "pins");
      return;
    }
  GtkWidget *scrolled = gtk_scrolled_window_new ();
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (scrolled), dock);
  studio_panes_add_page (self->panes, STUDIO_PANE_END, scrolled, "pins", _ ("Pins"));
  studio_panes_show_page (self->panes, "pins");
}

/* The step before whose update training stands is taken apart at the node. */
static void
breakpoint_cb (PageRunViews *self, const char *node, const char *port, const char *sentence)
{
  const LoomNet *net = studio_document_get_net (self->document);
  g_autofree char *text = g_strdup_printf ("%s: %s", node, sentence);

  studio_toasts_say (self->toasts, text);
  /* A data set is not computed, and has its values before the first node. */
  if (loom_net_is_dataset (net, (guint)MAX (loom_net_find (net, node), 0)))
    studio_stepper_next (self->stepper);
  else
    studio_stepper_go_to (self->stepper, node, g_str_has_prefix (port, "grad:") ? "backward" : "forward");
}

void
page_run_views_init (PageRunViews *self, GtkOverlay *overlay, GtkBox *box)
{
  self->pins = studio_pins_new (self->document, self->canvas, self->run);
  studio_pins_set_overlay (self->pins, overlay);
  self->times = studio_node_times_new (self->document, self->canvas, self->run);
  self->stages = studio_pipeline_stages_new (self->document, self->canvas);
  self->hover = studio_hover_values_new (self->document, self->canvas, self->run);
  self->stepper = studio_stepper_new (self->document, self->canvas, self->run);
  self->breakpoints = studio_breakpoints_new (self->document, self->run);
  self->instant = studio_instant_new (self->document);
  self->step_layer
      = studio_step_layer_new (self->document, self->canvas, self->stepper, self->breakpoints, self->instant);
  gtk_overlay_add_overlay (overlay, GTK_WIDGET (self->step_layer));
  gtk_box_append (box, studio_step_bar_new (self->stepper));
  self->health = studio_health_watch_new (self->document, self->canvas, self->run);
  g_signal_connect_swapped (self->pins, "docked", G_CALLBACK (docked_cb), self);
  g_signal_connect_swapped (self->breakpoints, "hit", G_CALLBACK (breakpoint_cb), self);
  g_signal_connect_object (self->stepper, "say", G_CALLBACK (studio_toasts_say), self->toasts, G_CONNECT_SWAPPED);
}

void
page_run_views_close (PageRunViews *self)
{
  g_signal_handlers_disconnect_by_data (self->pins, self);
  g_signal_handlers_disconnect_by_data (self->breakpoints, self);
}

void
page_run_views_clear (PageRunViews *self)
{
  g_clear_object (&self->pins);
  g_clear_object (&self->times);
  g_clear_object (&self->stages);
  g_clear_object (&self->hover);
  g_clear_object (&self->stepper);
  g_clear_object (&self->breakpoints);
  if (self->instant != NULL)
    g_object_run_dispose (G_OBJECT (self->instant));
  g_clear_object (&self->instant);
  g_clear_object (&self->health);
}
