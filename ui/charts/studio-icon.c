#include "ui/charts/studio-icon.h"

static void
theme_changed_cb (GtkIconTheme *theme)
{
  g_object_set_data (G_OBJECT (theme), "studio-icons", NULL);
}

/* The icons of a theme by name, direction and scale; they belong to it. */
static GHashTable *
icons_of_theme (GtkIconTheme *theme)
{
  GHashTable *icons = g_object_get_data (G_OBJECT (theme), "studio-icons");

  if (icons == NULL)
    {
      icons = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
      g_object_set_data_full (G_OBJECT (theme), "studio-icons", icons, (GDestroyNotify)g_hash_table_unref);
      g_signal_handlers_disconnect_by_func (theme, theme_changed_cb, NULL);
      g_signal_connect (theme, "changed", G_CALLBACK (theme_changed_cb), NULL);
    }
  return icons;
}

void
studio_icon_show (GtkImage *image, GtkWidget *place, const char *name)
{
  GtkIconTheme *theme = gtk_icon_theme_get_for_display (gtk_widget_get_display (place));
  GHashTable *icons = icons_of_theme (theme);
  const int scale = gtk_widget_get_scale_factor (place);
  const GtkTextDirection direction = gtk_widget_get_direction (place);
  g_autofree char *key = g_strdup_printf ("%s %d %d", name, (int)direction, scale);
  GtkIconPaintable *icon = g_hash_table_lookup (icons, key);

  if (icon == NULL)
    {
      icon = gtk_icon_theme_lookup_icon (theme, name, NULL, 16, scale, direction, GTK_ICON_LOOKUP_FORCE_SYMBOLIC);
      g_hash_table_insert (icons, g_steal_pointer (&key), icon);
    }
  gtk_image_set_from_paintable (image, GDK_PAINTABLE (icon));
}

GtkWidget *
studio_icon_image_new (GtkWidget *place, const char *name)
{
  GtkWidget *image = gtk_image_new ();

  studio_icon_show (GTK_IMAGE (image), place, name);
  return image;
}
