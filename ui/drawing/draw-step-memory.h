/* Draws the memory along a step: a band for each kind of memory, stacked, over the instructions of a step. */
#pragma once

#include <pango/pangocairo.h>

#include "ui/drawing/step-memory.h"

typedef struct
{
  gboolean dark;
  double scale; /* of text */
  guint moment; /* the one that is marked; G_MAXUINT: none */
} StudioStepMemoryStyle;

/* The height that the picture needs at least: the bands and a line for each kind. */
double studio_step_memory_height (const StudioStepMemory *memory, double scale);
/* Draws into width × height. The peak has a dashed line; the lines below name the kinds with their bytes at the marked
 * moment, else at the peak. */
void studio_draw_step_memory (const StudioStepMemory *memory, cairo_t *cr, PangoContext *context,
                              const StudioStepMemoryStyle *style, double width, double height);
/* The moment that is drawn at a pixel, or the nearest one; right to left pictures are not mirrored. */
guint studio_step_memory_at (const StudioStepMemory *memory, double width, double x);
/* By extension: .svg, .pdf, .png, or .csv. Errors: USAGE, IO. */
gboolean studio_step_memory_export (const StudioStepMemory *memory, const char *path, GError **error);
