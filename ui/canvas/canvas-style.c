/* Reads the colours that the desktop wants: light or dark, with how much contrast, and its own background, text and
 * accent. */
#include "ui/canvas/canvas-style.h"

#include <adwaita.h>

static void
look_up (GtkWidget *widget, const char *name, StudioColor *color)
{
  GdkRGBA found;

  if (gtk_style_context_lookup_color (gtk_widget_get_style_context (widget), name, &found))
    *color = (StudioColor){ found.red, found.green, found.blue, found.alpha };
}

void
studio_theme_load (StudioTheme *theme, GtkWidget *widget)
{
  AdwStyleManager *manager = adw_style_manager_get_for_display (gtk_widget_get_display (widget));
  StudioColor background, text, accent;

  studio_theme_init (theme, adw_style_manager_get_dark (manager), adw_style_manager_get_high_contrast (manager));
  background = theme->background;
  text = theme->text;
  accent = theme->accent;
  look_up (widget, "view_bg_color", &background);
  look_up (widget, "view_fg_color", &text);
  look_up (widget, "accent_color", &accent);
  studio_theme_set_base (theme, &background, &text, &accent);
}
