/* Desktops scale text in two ways: by the resolution, which "large text" raises, and by the font size. */
#include "ui/charts/studio-text-scale.h"

#define USUAL_POINTS 10.0
#define LARGEST      1.6
#define USUAL_DPI    (96.0 * 1024)

double
studio_text_scale (GtkWidget *widget)
{
  g_autofree char *name = NULL;
  int dpi = -1;
  g_object_get (gtk_widget_get_settings (widget), "gtk-font-name", &name, "gtk-xft-dpi", &dpi, NULL);
  PangoFontDescription *font = pango_font_description_from_string (name != NULL ? name : "");
  double points = pango_font_description_get_size (font) / (double)PANGO_SCALE;
  pango_font_description_free (font);
  return (points > 0 ? points / USUAL_POINTS : 1) * (dpi > 0 ? dpi / USUAL_DPI : 1);
}

double
studio_presentation_scale (GtkWidget *widget)
{
  return CLAMP (LARGEST / studio_text_scale (widget), 1, LARGEST);
}

void
studio_text_scale_window (GtkWindow *window, GtkWindow *parent, int width, int height)
{
  const double scale = studio_text_scale (GTK_WIDGET (parent));
  const int has_width = gtk_widget_get_width (GTK_WIDGET (parent));
  const int has_height = gtk_widget_get_height (GTK_WIDGET (parent));

  gtk_window_set_default_size (window, has_width > 0 ? MIN ((int)(width * scale), has_width) : width,
                               has_height > 0 ? MIN ((int)(height * scale), has_height) : height);
}
