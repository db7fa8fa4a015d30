/* Keeps cards in agreement with the scene of a document: at once if the net or the selection changes, and before the
 * next frame, or when the scene is needed, if the graph does. */
#pragma once

#include "ui/canvas/canvas-cards.h"
#include "ui/canvas/canvas-options.h"
#include "ui/canvas/canvas-shift.h"

typedef struct _CanvasSync CanvasSync;

typedef struct
{
  void (*shift) (double dx, double dy, gpointer data); /* displaces a new scene as a drag has displaced the last */
  void (*synced) (gpointer data);                      /* wires have to be drawn, and cards to be placed */
  gpointer data;
} CanvasSyncOwner;

/* parent: of the cards. All must outlive this. */
CanvasSync *canvas_sync_new (GtkWidget *parent, StudioDocument *document, CanvasCards *cards,
                             const CanvasOptions *options, CanvasShift *shift, CanvasSyncOwner owner);
void canvas_sync_free (CanvasSync *self);

/* The document's scene; cards agree with it afterwards. */
StudioScene *canvas_sync_scene (CanvasSync *self);
/* Agrees at once, also if nothing is known to have changed. */
void canvas_sync_now (CanvasSync *self);
/* The document has another graph: agrees before the next frame. */
void canvas_sync_later (CanvasSync *self);
/* Whether the cards are those of an earlier graph. */
gboolean canvas_sync_is_stale (const CanvasSync *self);
/* The selection changed. FALSE: cards are made with it before the next frame, once for several changes. */
gboolean canvas_sync_select (CanvasSync *self);
/* The parent goes. */
void canvas_sync_stop (CanvasSync *self);
