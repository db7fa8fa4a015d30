#include "ui/charts/studio-tool-window.h"

#include <adwaita.h>

GtkWidget *
studio_tool_window_new (GtkWindow *parent, const char *title, int width, int height, GtkWidget *pages,
                        GtkWidget *content)
{
  GtkWidget *window = g_object_new (ADW_TYPE_WINDOW, "title", title, "transient-for", parent, "destroy-with-parent",
                                    TRUE, "default-width", width, "default-height", height, NULL);
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0), *header = adw_header_bar_new ();
  GtkEventController *keys = gtk_shortcut_controller_new ();

  gtk_widget_add_css_class (header, "flat");
  if (pages != NULL)
    {
      GtkWidget *switcher = gtk_stack_switcher_new ();

      gtk_stack_switcher_set_stack (GTK_STACK_SWITCHER (switcher), GTK_STACK (pages));
      adw_header_bar_set_title_widget (ADW_HEADER_BAR (header), switcher);
    }
  gtk_widget_set_vexpand (content, TRUE);
  gtk_box_append (GTK_BOX (box), header);
  gtk_box_append (GTK_BOX (box), content);
  adw_window_set_content (ADW_WINDOW (window), box);
  gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (keys),
                                        gtk_shortcut_new (gtk_shortcut_trigger_parse_string ("Escape|<Control>w"),
                                                          gtk_named_action_new ("window.close")));
  gtk_widget_add_controller (window, keys);
  return window;
}
