/* Words on charts, heat maps and bars: the font of the context at 11 pixels, with figures of one width. */
#pragma once

#include <pango/pango.h>

/* (transfer full) scale: 1, or more for a class. */
PangoLayout *chart_text_layout (PangoContext *context, double scale, gboolean strong, const char *text);
