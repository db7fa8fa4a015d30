/* The window's part of a presentation: full screen without header and tabs. Each page keeps its own presentation mode
 * (studio-page-present.c). */
#include "ui/window/studio-window-private.h"

void
studio_window_set_presenting (StudioWindow *self, gboolean on)
{
  if (self->presenting == on)
    return;
  self->presenting = on;
  if (on)
    gtk_window_fullscreen (GTK_WINDOW (self));
  else
    gtk_window_unfullscreen (GTK_WINDOW (self));
  gtk_widget_set_visible (self->header, !on);
  gtk_widget_set_visible (GTK_WIDGET (self->tab_bar), !on);
  studio_page_set_presenting (self->page, on);
}

/* The focus may be nowhere after the focused widget was hidden, so the window handles these keys. */
static gboolean
key_cb (GtkEventControllerKey *controller, guint keyval, guint keycode, GdkModifierType state, StudioWindow *self)
{
  if (!self->presenting || self->page == NULL)
    return GDK_EVENT_PROPAGATE;
  /* The command palette handles Escape itself. */
  if (gtk_widget_get_visible (GTK_WIDGET (self->action_list)))
    return GDK_EVENT_PROPAGATE;
  if (studio_page_presenting_key (self->page, keyval, state))
    return GDK_EVENT_STOP;
  if (keyval != GDK_KEY_Escape || (state & (GDK_CONTROL_MASK | GDK_ALT_MASK)) != 0)
    return GDK_EVENT_PROPAGATE;
  studio_window_set_presenting (self, FALSE);
  return GDK_EVENT_STOP;
}

void
studio_window_setup_presentation (StudioWindow *self)
{
  GtkEventController *keys = gtk_event_controller_key_new ();
  gtk_event_controller_set_propagation_phase (keys, GTK_PHASE_CAPTURE);
  g_signal_connect (keys, "key-pressed", G_CALLBACK (key_cb), self);
  gtk_widget_add_controller (GTK_WIDGET (self), keys);
}
