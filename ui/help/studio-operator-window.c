/* The window that shows the documentation pages of operators, one at a time. */
#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/help/studio-operator-page.h"

#define WIDTH  640
#define HEIGHT 640

static gboolean
close_cb (GtkWidget *window, GVariant *arguments, gpointer data)
{
  gtk_window_close (GTK_WINDOW (window));
  return TRUE;
}

static void
add_key (GtkEventController *keys, guint key, GdkModifierType mods)
{
  gtk_shortcut_controller_add_shortcut (
      GTK_SHORTCUT_CONTROLLER (keys),
      gtk_shortcut_new (gtk_keyval_trigger_new (key, mods), gtk_callback_action_new (close_cb, NULL, NULL)));
}

static GtkWidget *
new_window (GtkWindow *parent)
{
  GtkWidget *window = adw_window_new (), *header = adw_header_bar_new (),
            *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *scroller = gtk_scrolled_window_new ();
  GtkEventController *keys = gtk_shortcut_controller_new ();
  double scale = studio_text_scale (GTK_WIDGET (parent));

  gtk_widget_add_css_class (header, "flat");
  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_vexpand (scroller, TRUE);
  gtk_box_append (GTK_BOX (box), header);
  gtk_box_append (GTK_BOX (box), scroller);
  adw_window_set_content (ADW_WINDOW (window), box);
  gtk_window_set_transient_for (GTK_WINDOW (window), parent);
  gtk_window_set_destroy_with_parent (GTK_WINDOW (window), TRUE);
  gtk_window_set_default_size (GTK_WINDOW (window), (int)(WIDTH * MIN (scale, 1.5)), (int)(HEIGHT * MIN (scale, 1.2)));
  gtk_widget_insert_action_group (window, "win", G_ACTION_GROUP (parent));
  add_key (keys, GDK_KEY_Escape, 0);
  add_key (keys, GDK_KEY_w, GDK_CONTROL_MASK);
  gtk_widget_add_controller (window, keys);
  g_object_set_data (G_OBJECT (window), "scroller", scroller);
  return window;
}

void
studio_operator_window_present (GtkWindow *parent, GtkWidget **window, const LoomOp *op)
{
  GtkWidget *clamp = adw_clamp_new ();
  g_autofree char *title = NULL;

  if (*window == NULL)
    g_set_weak_pointer (window, new_window (parent));
  adw_clamp_set_maximum_size (ADW_CLAMP (clamp), (int)(WIDTH * studio_text_scale (GTK_WIDGET (parent))));
  adw_clamp_set_child (ADW_CLAMP (clamp), studio_operator_page_new (op));
  gtk_scrolled_window_set_child (GTK_SCROLLED_WINDOW (g_object_get_data (G_OBJECT (*window), "scroller")), clamp);
  title = g_strdup_printf (_ ("Documentation of %s"), op->title);
  gtk_window_set_title (GTK_WINDOW (*window), title);
  gtk_window_present (GTK_WINDOW (*window));
}
