/* Pango layouts for text on charts, heat maps and bars: the context's font at 11 pixels with tabular figures. */
#pragma once

#include <pango/pango.h>

/* scale: 1, or more in a presentation. (transfer full) */
PangoLayout *chart_text_layout (PangoContext *context, double scale, gboolean strong, const char *text);
