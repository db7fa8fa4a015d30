/* Pen strokes over the canvas in a presentation, in canvas units, so that they follow panning and zooming. Arithmetic
 * without widgets; strokes are dropped with the view and never saved. */
#pragma once

#include <glib.h>

#define STUDIO_INK_COLOURS 4

typedef struct
{
  double x, y;
} StudioInkPoint;

typedef struct
{
  guint colour;          /* 0 … STUDIO_INK_COLOURS - 1 */
  double width;          /* in canvas units */
  GArray *points;        /* StudioInkPoint; at least one */
  double x0, y0, x1, y1; /* bounds, including its width */
} StudioStroke;

typedef struct _StudioInk StudioInk;

StudioInk *studio_ink_new (void);
void studio_ink_free (StudioInk *ink);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioInk, studio_ink_free)

/* Begins a stroke, which studio_ink_extend() continues. */
void studio_ink_begin (StudioInk *ink, guint colour, double width, double x, double y);
/* Skips a point nearer to the last than half the width, which would be invisible. */
void studio_ink_extend (StudioInk *ink, double x, double y);
/* Removes each stroke within this radius of the point; TRUE: there was one. */
gboolean studio_ink_erase (StudioInk *ink, double x, double y, double radius);
void studio_ink_clear (StudioInk *ink);

guint studio_ink_n_strokes (const StudioInk *ink);
const StudioStroke *studio_ink_get_stroke (const StudioInk *ink, guint i);

typedef struct
{
  double x, y, width, height;
} StudioInkArea;

/* Computes the visible part of a stroke, in whole pixels of a view of width × height whose upper left corner is at (x,
 * y) of the canvas; never larger than the view. FALSE: not visible. */
gboolean studio_stroke_visible (const StudioStroke *stroke, double x, double y, double zoom, double width,
                                double height, StudioInkArea *seen);
