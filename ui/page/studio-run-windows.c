/* Implements studio-run-windows.h. */
#include "ui/page/studio-run-windows.h"

#include <glib/gi18n.h>

#include "ui/run/studio-devices-popover.h"
#include "ui/timeline/studio-inventory-window.h"
#include "ui/timeline/studio-timeline-window.h"
#include "ui/shell/studio-toasts.h"

struct _StudioRunWindows
{
  StudioDocument *document;
  StudioRun *run;
  GtkWidget *toasts;
  GtkWidget *timeline, *inventory, *devices_button; /* weak */
};

static GtkWindow *
parent_of (StudioRunWindows *self)
{
  return GTK_WINDOW (gtk_widget_get_root (self->toasts));
}

void
studio_run_windows_show_timeline (StudioRunWindows *self)
{
  studio_timeline_window_present (parent_of (self), &self->timeline, self->run);
}

void
studio_run_windows_set_devices_button (StudioRunWindows *self, GtkWidget *button)
{
  g_set_weak_pointer (&self->devices_button, button);
}

void
studio_run_windows_show_devices (StudioRunWindows *self)
{
  studio_devices_popover_open (self->document, self->run, gtk_widget_get_first_child (self->toasts),
                               self->devices_button);
}

static void
show_inventory (StudioRunWindows *self, const char *page)
{
  studio_inventory_window_present (parent_of (self), &self->inventory, self->document, self->run, page);
}

void
studio_run_windows_show_parameters (StudioRunWindows *self)
{
  show_inventory (self, "parameters");
}

void
studio_run_windows_show_memory (StudioRunWindows *self)
{
  show_inventory (self, "memory");
}

void
studio_run_windows_show_graph (StudioRunWindows *self)
{
  const char *folder = studio_run_get_folder (self->run);
  g_autoptr (GFile) file = folder != NULL ? g_file_new_build_filename (folder, "graph.xml", NULL) : NULL;
  if (file == NULL || !g_file_query_exists (file, NULL))
    {
      studio_toasts_say (self->toasts, _ ("The run has not written its graph yet."));
      return;
    }
  g_autofree char *uri = g_file_get_uri (file);
  gtk_widget_activate_action (self->toasts, "win.open-recent", "s", uri);
}

/* A plan in progress keeps its window until it is done, which may be after the parent of the window was freed. */
static void
close_window (GtkWidget **window)
{
  if (*window != NULL)
    {
      gtk_window_set_transient_for (GTK_WINDOW (*window), NULL);
      gtk_window_destroy (GTK_WINDOW (*window));
    }
  g_clear_weak_pointer (window);
}

StudioRunWindows *
studio_run_windows_new (StudioDocument *document, StudioRun *run, GtkWidget *toasts)
{
  StudioRunWindows *self = g_new0 (StudioRunWindows, 1);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->toasts = toasts;
  return self;
}

void
studio_run_windows_free (StudioRunWindows *self)
{
  close_window (&self->timeline);
  close_window (&self->inventory);
  g_clear_weak_pointer (&self->devices_button);
  g_object_unref (self->document);
  g_object_unref (self->run);
  g_free (self);
}
