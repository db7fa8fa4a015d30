#include "ui/task/studio-task-view.h"
#include "ui/window/studio-dump.h"

void
studio_dump_rect (const char *what, const char *name, GtkWidget *from, const graphene_rect_t *rect)
{
  GtkNative *window = gtk_widget_get_native (from);
  double x, y, dx, dy;
  gtk_native_get_surface_transform (window, &dx, &dy);
  if (!gtk_widget_translate_coordinates (from, GTK_WIDGET (window), rect->origin.x, rect->origin.y, &x, &y))
    return;
  g_printerr ("geometry %s\t%s\t%.0f\t%.0f\t%.0f\t%.0f\n", what, name, x + dx, y + dy, rect->size.width,
              rect->size.height);
}

static const char *
words_of (GtkWidget *widget)
{
  if (GTK_IS_LABEL (widget))
    return gtk_label_get_text (GTK_LABEL (widget));
  if (GTK_IS_EDITABLE (widget))
    {
      const char *text = gtk_editable_get_text (GTK_EDITABLE (widget));
      return *text != '\0' ? text : "(empty)";
    }
  /* The window's own button has neither words nor a tooltip. */
  if (GTK_IS_BUTTON (widget) && gtk_widget_has_css_class (widget, "close"))
    return "Close";
  if (STUDIO_IS_TASK_VIEW (widget))
    return studio_task_view_get_description (STUDIO_TASK_VIEW (widget));
  return gtk_widget_get_tooltip_text (widget);
}

static void
dump_widget (GtkWidget *widget)
{
  if (!gtk_widget_get_mapped (widget) || !gtk_widget_get_child_visible (widget))
    return;
  const char *words = words_of (widget);
  if (words != NULL && *words != '\0')
    {
      graphene_rect_t rect;
      graphene_rect_init (&rect, 0, 0, (float)gtk_widget_get_width (widget), (float)gtk_widget_get_height (widget));
      g_autofree char *one_line = g_strdelimit (g_strdup (words), "\n\t", ' ');
      studio_dump_rect (G_OBJECT_TYPE_NAME (widget), one_line, widget, &rect);
    }
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    dump_widget (child);
}

void
studio_dump_widgets (GtkNative *window)
{
  dump_widget (GTK_WIDGET (window));
}

static gboolean
dump_cb (GtkWidget *window, GVariant *arguments, gpointer data)
{
  studio_dump_widgets (GTK_NATIVE (window));
  g_printerr ("geometry end\n");
  return TRUE;
}

void
studio_dump_on_keys (GtkWidget *window)
{
  GtkEventController *keys = gtk_shortcut_controller_new ();

  gtk_shortcut_controller_add_shortcut (GTK_SHORTCUT_CONTROLLER (keys),
                                        gtk_shortcut_new (gtk_shortcut_trigger_parse_string ("<Control><Alt><Shift>d"),
                                                          gtk_callback_action_new (dump_cb, NULL, NULL)));
  gtk_widget_add_controller (window, keys);
}
