/* Loads the colours of graphs from the style of the desktop: light, dark or high contrast. */
#pragma once

#include <gtk/gtk.h>

#include "ui/drawing/studio-theme.h"

/* From the style manager and the widget's named colours. */
void studio_theme_load (StudioTheme *theme, GtkWidget *widget);

G_STATIC_ASSERT (sizeof (StudioColor) == sizeof (GdkRGBA));

static inline const GdkRGBA *
studio_rgba (const StudioColor *color)
{
  return (const GdkRGBA *)color;
}
