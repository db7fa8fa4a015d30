/* The window of a timeline: that of a run, with the losses of its ranks on a second page, or that of a file. */
#include "ui/timeline/studio-timeline-window.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/timeline/studio-rank-losses.h"
#include "ui/timeline/studio-timeline-view.h"

#define WIDTH  900
#define HEIGHT 360

static gboolean
close_cb (GtkWidget *window, GVariant *arguments, gpointer data)
{
  gtk_window_close (GTK_WINDOW (window));
  return TRUE;
}

/* Adds the timeline, and for a run a second page with the losses of its ranks. */
static void
add_pages (GtkWidget *view, StudioRun *run, GtkWidget *header, GtkWidget *box)
{
  GtkWidget *pages, *switcher;

  if (run == NULL)
    {
      gtk_box_append (GTK_BOX (box), view);
      return;
    }
  pages = gtk_stack_new ();
  switcher = gtk_stack_switcher_new ();
  gtk_stack_add_titled (GTK_STACK (pages), view, "step", _ ("Step"));
  gtk_stack_add_titled (GTK_STACK (pages), GTK_WIDGET (studio_rank_losses_new (run)), "losses",
                        _ ("Loss of Each Rank"));
  gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (switcher), GTK_STACK (pages));
  adw_header_bar_set_title_widget (ADW_HEADER_BAR (header), switcher);
  gtk_widget_set_vexpand (pages, TRUE);
  gtk_box_append (GTK_BOX (box), pages);
}

/* run: NULL for a file. */
static GtkWidget *
new_window (GtkWindow *parent, GtkWidget *view, StudioRun *run)
{
  GtkWidget *window = adw_window_new (), *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0),
            *header = adw_header_bar_new ();
  GtkEventController *keys = gtk_shortcut_controller_new ();
  double scale = studio_text_scale (GTK_WIDGET (parent));

  gtk_widget_add_css_class (header, "flat");
  gtk_box_append (GTK_BOX (box), header);
  add_pages (view, run, header, box);
  adw_window_set_content (ADW_WINDOW (window), box);
  gtk_window_set_title (GTK_WINDOW (window), _ ("Timeline of a Step"));
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_destroy_with_parent (GTK_WINDOW (window), TRUE);
  gtk_window_set_default_size (GTK_WINDOW (window), (int)(WIDTH * MIN (scale, 1.3)), (int)(HEIGHT * MIN (scale, 1.5)));
  for (guint i = 0; i < 2; i++)
    gtk_shortcut_controller_add_shortcut (
        GTK_SHORTCUT_CONTROLLER (keys),
        gtk_shortcut_new (gtk_keyval_trigger_new (i == 0 ? GDK_KEY_Escape : GDK_KEY_w, i == 0 ? 0 : GDK_CONTROL_MASK),
                          gtk_callback_action_new (close_cb, NULL, NULL)));
  gtk_widget_add_controller (window, keys);
  return window;
}

void
studio_timeline_window_present (GtkWindow *parent, GtkWidget **window, StudioRun *run)
{
  if (*window == NULL)
    g_set_weak_pointer (window, new_window (parent, GTK_WIDGET (studio_timeline_view_new (run)), run));
  gtk_window_present (GTK_WINDOW (*window));
}

GtkWidget *
studio_timeline_window_open (GtkWindow *parent, const char *path)
{
  GtkWidget *window = new_window (parent, GTK_WIDGET (studio_timeline_view_new_for_file (path)), NULL);
  g_autofree char *name = g_path_get_basename (path);

  gtk_window_set_title (GTK_WINDOW (window), name);
  gtk_window_present (GTK_WINDOW (window));
  return window;
}
