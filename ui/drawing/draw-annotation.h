/* Draws frames and notes with Cairo. */
#pragma once

#include <pango/pango.h>

#include "ui/drawing/studio-theme.h"

PangoLayout *studio_annotation_text_new (PangoContext *context, const StudioAnnotation *annotation);
/* At (0, 0) in screen pixels, so that borders have the same width at every zoom. Text too small to read is omitted. */
void studio_draw_annotation (cairo_t *cr, const StudioAnnotation *annotation, PangoLayout *text,
                             const StudioTheme *theme, double zoom, gboolean selected);
