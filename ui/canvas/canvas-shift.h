/* The displacement of what a drag moves: selected cards and notes, and what frames among them contain. Only the scene
 * is changed, which is what is drawn; the document changes once, when the drag ends. */
#pragma once

#include "ui/document/studio-document.h"

typedef struct _CanvasShift CanvasShift;

/* document must outlive this. */
CanvasShift *canvas_shift_new (StudioDocument *document);
void canvas_shift_free (CanvasShift *self);

/* Displaces the document's scene by dx, dy from its own positions, in canvas units; 0, 0 takes it back. Returns whether
 * anything was moved. */
gboolean canvas_shift_to (CanvasShift *self, double dx, double dy);
void canvas_shift_get (const CanvasShift *self, double *dx, double *dy);
/* The scene has its own positions again: there is nothing to take back. */
void canvas_shift_forget (CanvasShift *self);
/* The scene's items that are displaced, one entry each; NULL while there is no drag. Valid until the next call. */
const gboolean *canvas_shift_get_items (const CanvasShift *self);
