/* Draws the project's symbolic icons with Cairo, for drawings without an icon theme. */
#pragma once

#include "ui/drawing/studio-theme.h"

/* A StudioDrawIcon. Draws nothing for unknown names, except the icon of modules. */
gboolean studio_draw_own_icon (cairo_t *cr, const char *name, const StudioColor *color, gpointer unused);
