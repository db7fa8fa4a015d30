/* Finds widgets by their type. */
#pragma once

#include <gtk/gtk.h>

/* Appends the widget and all below it that are of the type, in order. */
static inline void
find_widgets (GtkWidget *widget, GType type, GPtrArray *found)
{
  if (g_type_is_a (G_OBJECT_TYPE (widget), type))
    g_ptr_array_add (found, widget);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    find_widgets (child, type, found);
}

/* The first of them; NULL. */
static inline GtkWidget *
find_widget (GtkWidget *widget, GType type)
{
  g_autoptr (GPtrArray) found = g_ptr_array_new ();

  find_widgets (widget, type, found);
  return found->len > 0 ? found->pdata[0] : NULL;
}
