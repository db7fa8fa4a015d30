/* The colours and line styles of graphs, for light, dark and high contrast. */
#pragma once

#include <cairo.h>

#include "ui/scene/studio-scene.h"

/* Like GdkRGBA, which needs GTK. */
typedef struct
{
  float red, green, blue, alpha;
} StudioColor;

typedef enum
{
  STUDIO_LINE_SOLID,
  STUDIO_LINE_LONG_DASH,
  STUDIO_LINE_SHORT_DASH,
  STUDIO_LINE_DOUBLE,
  STUDIO_LINE_DOTS,
  STUDIO_LINE_DOT_PAIRS,
  STUDIO_LINE_WIDE_DOTS,
  STUDIO_LINE_DASH_DOT,
  STUDIO_N_LINES
} StudioLine;

#define STUDIO_N_PARTITION_COLORS 6

typedef struct
{
  gboolean dark, high_contrast;
  StudioColor background, card, text, dim, border, dot, accent, error, error_background, advice, todo, shape_label;
  StudioColor added; /* added in a comparison; changed parts have the colour of warnings, removed ones that of errors */
  StudioColor category[LOOM_N_CATEGORIES + 1]; /* the last is that of modules */
  StudioColor dtype[LOOM_N_DTYPES], untyped;
  StudioColor part[STUDIO_N_PARTITION_COLORS]; /* of stages and devices, used cyclically */
} StudioTheme;

void studio_theme_init (StudioTheme *theme, gboolean dark, gboolean high_contrast);
/* Sets background, text and accent to those of the desktop's style. */
void studio_theme_set_base (StudioTheme *theme, const StudioColor *background, const StudioColor *text,
                            const StudioColor *accent);
/* Parses "#rrggbb"; FALSE leaves *color unchanged. */
gboolean studio_color_parse (const char *text, StudioColor *color);
void studio_color_set (const StudioColor *color, cairo_t *cr);

StudioLine studio_dtype_line (LoomDType dtype);
/* Sets the dash pattern of a line at this width; a double line is drawn by the caller. */
void studio_line_apply (StudioLine line, cairo_t *cr, double width);
const StudioColor *studio_theme_wire (const StudioTheme *theme, const StudioLink *link);
const StudioColor *studio_theme_category (const StudioTheme *theme, const StudioItem *item);
/* The colour of the item's stage or device; NULL: none. */
const StudioColor *studio_theme_partition_color (const StudioTheme *theme, const StudioItem *item);
