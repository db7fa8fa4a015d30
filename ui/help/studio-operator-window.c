/* The window that shows the documentation pages of operators, one at a time. */
#include <adwaita.h>
#include <glib/gi18n.h>

#include "ui/charts/studio-text-scale.h"
#include "ui/charts/studio-tool-window.h"
#include "ui/help/studio-operator-page.h"

#define WIDTH  640
#define HEIGHT 640

static GtkWidget *
new_window (GtkWindow *parent)
{
  GtkWidget *scroller = gtk_scrolled_window_new (), *window;
  const double scale = studio_text_scale (GTK_WIDGET (parent));

  gtk_scrolled_window_set_policy (GTK_SCROLLED_WINDOW (scroller), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  window = studio_tool_window_new (parent, NULL, (int)(WIDTH * MIN (scale, 1.5)), (int)(HEIGHT * MIN (scale, 1.2)),
                                   NULL, scroller);
  gtk_widget_insert_action_group (window, "win", G_ACTION_GROUP (parent));
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
