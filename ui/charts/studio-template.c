#include "ui/charts/studio-template.h"

GtkWidget *
studio_template_new (const char *file)
{
  g_autofree char *path = g_strconcat ("/org/gradloom/Studio/", file, NULL);
  g_autoptr (GtkBuilder) builder = gtk_builder_new_from_resource (path);
  GObject *root = gtk_builder_get_object (builder, "root");
  GSList *objects = gtk_builder_get_objects (builder);

  for (GSList *l = objects; l != NULL; l = l->next)
    {
      const char *name = GTK_IS_BUILDABLE (l->data) ? gtk_buildable_get_buildable_id (l->data) : NULL;

      if (name != NULL && !g_str_has_prefix (name, "___"))
        g_object_set_data (root, name, l->data);
    }
  g_slist_free (objects);
  /* The builder owns the widget, and a caller that adds it to another expects to do so first. */
  g_object_ref (root);
  g_object_force_floating (root);
  return GTK_WIDGET (root);
}
