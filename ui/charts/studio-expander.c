#include "ui/charts/studio-expander.h"

GtkWidget *
studio_expander_new (const char *title, GtkWidget *child)
{
  GtkWidget *expander = gtk_expander_new (title);

  gtk_accessible_update_property (GTK_ACCESSIBLE (expander), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_expander_set_child (GTK_EXPANDER (expander), child);
  /* Tab would lead into a folded child, which is in no window: GTK looks only whether it is visible. */
  g_object_bind_property (expander, "expanded", child, "visible", G_BINDING_SYNC_CREATE);
  return expander;
}
