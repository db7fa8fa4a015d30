/* Colours and line patterns of the canvas, for light, dark and high contrast. */
#pragma once

#include <gtk/gtk.h>

#include "ui/studio-scene.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_LINE_SOLID,
  STUDIO_LINE_LONG_DASH,
  STUDIO_LINE_DOUBLE,
  STUDIO_LINE_DOTS,
  STUDIO_LINE_DASH_DOT
} StudioLine;

typedef struct
{
  gboolean dark, high_contrast;
  GdkRGBA background, card, text, dim, border, dot, accent, error, error_background, pill;
  GdkRGBA category[LOOM_N_CATEGORIES + 1]; /* the last is a module's */
  GdkRGBA dtype[LOOM_N_DTYPES], untyped;
} StudioTheme;

/* From the style manager and the widget's named colours. */
void studio_theme_load (StudioTheme *theme, GtkWidget *widget);
StudioLine studio_dtype_line (LoomDType dtype);
/* Sets the dash pattern of a line at this width; a double line is drawn by the caller. */
void studio_line_apply (StudioLine line, cairo_t *cr, double width);
const GdkRGBA *studio_theme_wire (const StudioTheme *theme, const StudioLink *link);
const GdkRGBA *studio_theme_category (const StudioTheme *theme, const StudioItem *item);

G_END_DECLS
