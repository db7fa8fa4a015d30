/* The project's symbolic icons on Cairo, for where there is no icon theme. */
#pragma once

#include "ui/drawing/studio-theme.h"

G_BEGIN_DECLS

/* A StudioDrawIcon. Unknown names are not drawn, but for that of modules. */
gboolean studio_draw_own_icon (cairo_t *cr, const char *name, const StudioColor *color, gpointer unused);

G_END_DECLS
