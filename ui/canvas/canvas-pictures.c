#include "ui/canvas/canvas-pictures.h"

#include "ui/canvas/canvas-style.h"

struct _CanvasPictures
{
  GtkWidget *widget;
  StudioTheme theme;
  gboolean theme_valid;
  GHashTable *icons;        /* name → GtkIconPaintable, or NULL */
  GHashTable *shape_labels; /* text → PangoLayout */
  GHashTable *frames;       /* key → cairo_surface_t */
  PangoLayout *far_text;
};

static void
unref_icon (gpointer icon)
{
  if (icon != NULL)
    g_object_unref (icon);
}

CanvasPictures *
canvas_pictures_new (GtkWidget *widget)
{
  CanvasPictures *self = g_new0 (CanvasPictures, 1);

  self->widget = widget;
  self->icons = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, unref_icon);
  self->shape_labels = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  self->frames = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)cairo_surface_destroy);
  return self;
}

void
canvas_pictures_free (CanvasPictures *self)
{
  g_hash_table_unref (self->icons);
  g_hash_table_unref (self->shape_labels);
  g_hash_table_unref (self->frames);
  g_clear_object (&self->far_text);
  g_free (self);
}

const StudioTheme *
canvas_pictures_theme (CanvasPictures *self)
{
  if (!self->theme_valid)
    {
      studio_theme_load (&self->theme, self->widget);
      self->theme_valid = TRUE;
    }
  return &self->theme;
}

PangoLayout *
canvas_pictures_far_text (CanvasPictures *self)
{
  if (self->far_text == NULL)
    self->far_text = gtk_widget_create_pango_layout (self->widget, NULL);
  return self->far_text;
}

GdkPaintable *
canvas_pictures_icon (CanvasPictures *self, const char *name)
{
  gpointer icon = NULL;

  if (!g_hash_table_lookup_extended (self->icons, name, NULL, &icon))
    {
      GtkIconTheme *theme = gtk_icon_theme_get_for_display (gtk_widget_get_display (self->widget));

      GtkIconPaintable *found
          = gtk_icon_theme_lookup_icon (theme, name, NULL, 16, gtk_widget_get_scale_factor (self->widget),
                                        gtk_widget_get_direction (self->widget), GTK_ICON_LOOKUP_FORCE_SYMBOLIC);

      /* A theme without the icon returns a broken picture, which would suggest a fault of the layer. */
      if (g_strcmp0 (gtk_icon_paintable_get_icon_name (found), "image-missing") == 0)
        g_clear_object (&found);
      icon = found;
      g_hash_table_insert (self->icons, g_strdup (name), icon);
    }
  return icon;
}

GHashTable *
canvas_pictures_shape_labels (CanvasPictures *self)
{
  return self->shape_labels;
}

cairo_surface_t *
canvas_pictures_get_frame (CanvasPictures *self, const char *key)
{
  return g_hash_table_lookup (self->frames, key);
}

void
canvas_pictures_put_frame (CanvasPictures *self, const char *key, cairo_surface_t *frame)
{
  g_hash_table_insert (self->frames, g_strdup (key), frame);
}

void
canvas_pictures_forget_style (CanvasPictures *self, gboolean text)
{
  self->theme_valid = FALSE;
  g_clear_object (&self->far_text);
  g_hash_table_remove_all (self->frames);
  if (text)
    g_hash_table_remove_all (self->shape_labels);
}

void
canvas_pictures_forget_frames (CanvasPictures *self)
{
  g_hash_table_remove_all (self->frames);
}

void
canvas_pictures_forget_icons (CanvasPictures *self)
{
  g_hash_table_remove_all (self->icons);
}
