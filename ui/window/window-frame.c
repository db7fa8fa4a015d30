/* Implements window-frame.h.
 *
 * On X11 the window manager grabs the pointer for that. Without one (a kiosk, a bare X server) GDK moves the window
 * itself and consumes the button release, so that GTK warns of a "broken accounting of active state" at every later
 * click. */
#include "ui/window/window-frame.h"

#ifdef GDK_WINDOWING_X11
#include <gdk/x11/gdkx.h>

static gboolean
is_managed (GtkWidget *widget)
{
  GdkDisplay *display = gtk_widget_get_display (widget);

  return !GDK_IS_X11_DISPLAY (display)
         || gdk_x11_screen_supports_net_wm_hint (gdk_x11_display_get_screen (display),
                                                 g_intern_static_string ("_NET_WM_MOVERESIZE"));
}

static void
drag_update_cb (GtkGestureDrag *drag, double dx, double dy, GtkWidget *header)
{
  if (gtk_drag_check_threshold (header, 0, 0, (int)dx, (int)dy) && !is_managed (header))
    gtk_gesture_set_state (GTK_GESTURE (drag), GTK_EVENT_SEQUENCE_CLAIMED);
}

/* A press on the border of the window, outside of every widget. */
static gboolean
border_cb (GtkEventControllerLegacy *controller, GdkEvent *event, GtkWidget *window)
{
  double x, y, dx, dy;

  if (gdk_event_get_event_type (event) != GDK_BUTTON_PRESS || !gdk_event_get_position (event, &x, &y)
      || gdk_event_get_surface (event) != gtk_native_get_surface (GTK_NATIVE (window)))
    return FALSE;
  gtk_native_get_surface_transform (GTK_NATIVE (window), &dx, &dy);
  return gtk_widget_pick (window, x - dx, y - dy, GTK_PICK_DEFAULT) == window && !is_managed (window);
}

void
window_frame_setup (GtkWidget *window, GtkWidget *header)
{
  GtkGesture *drag = gtk_gesture_drag_new ();
  GtkEventController *border = gtk_event_controller_legacy_new ();

  gtk_event_controller_set_propagation_phase (GTK_EVENT_CONTROLLER (drag), GTK_PHASE_CAPTURE);
  g_signal_connect (drag, "drag-update", G_CALLBACK (drag_update_cb), header);
  gtk_widget_add_controller (header, GTK_EVENT_CONTROLLER (drag));
  gtk_event_controller_set_propagation_phase (border, GTK_PHASE_CAPTURE);
  g_signal_connect (border, "event", G_CALLBACK (border_cb), window);
  gtk_widget_add_controller (window, border);
}
#else
void
window_frame_setup (GtkWidget *window, GtkWidget *header)
{
}
#endif
