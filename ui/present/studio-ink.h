/* Strokes drawn over the canvas in a lecture, in canvas units, so that they stay on what they point at while one pans
 * and zooms. Arithmetic, without widgets; kept for as long as the view is talked about, and never in a file. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define STUDIO_INK_COLOURS 4

typedef struct
{
  double x, y;
} StudioInkPoint;

typedef struct
{
  guint colour;          /* 0 … STUDIO_INK_COLOURS - 1 */
  double width;          /* in canvas units */
  GArray *points;        /* StudioInkPoint; one at least */
  double x0, y0, x1, y1; /* what it covers, its width among it */
} StudioStroke;

typedef struct _StudioInk StudioInk;

StudioInk *studio_ink_new (void);
void studio_ink_free (StudioInk *ink);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioInk, studio_ink_free)

/* A new stroke, which studio_ink_extend() leads on. */
void studio_ink_begin (StudioInk *ink, guint colour, double width, double x, double y);
/* A point that is nearer to the last than half the width is left out: it would not be seen. */
void studio_ink_extend (StudioInk *ink, double x, double y);
/* Takes away each stroke that comes within this radius of the point. TRUE: there was one. */
gboolean studio_ink_erase (StudioInk *ink, double x, double y, double radius);
void studio_ink_clear (StudioInk *ink);

guint studio_ink_n_strokes (const StudioInk *ink);
const StudioStroke *studio_ink_get_stroke (const StudioInk *ink, guint i);

typedef struct
{
  double x, y, width, height;
} StudioInkArea;

/* The part of a stroke that is seen, in whole pixels of a view of width × height whose upper left corner is at (x, y)
 * of the canvas: however far one zooms in, no more is drawn than the view. FALSE: nothing of it is. */
gboolean studio_stroke_seen (const StudioStroke *stroke, double x, double y, double zoom, double width, double height,
                             StudioInkArea *seen);

G_END_DECLS
