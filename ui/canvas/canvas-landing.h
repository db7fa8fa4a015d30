/* Shows where a drag will land: the ghost of a card that comes from the palette, and the wire that takes what is
 * dropped on it. Also what the quick fix of a card would add, while the pointer is over its button.
 *
 * Wires are routed around a card that is moved across them. Whether it may be dropped on one is therefore decided by
 * the routes without the card, which are kept while the drag goes on. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/studio-drag-op.h"
#include "ui/document/studio-document-add.h"
#include "ui/document/studio-quick-fix.h"
#include "ui/drawing/studio-theme.h"
#include "ui/scene/studio-geometry.h"

typedef struct _CanvasLanding CanvasLanding;

/* widget: the source of fonts, redrawn when what is shown changes. It and the document must outlive this. */
CanvasLanding *canvas_landing_new (GtkWidget *widget, StudioDocument *document);
void canvas_landing_free (CanvasLanding *self);

/* Finds the wire below the only selected card, which is displaced in this scene. */
void canvas_landing_aim (CanvasLanding *self, StudioScene *scene);
/* Puts the card that was aimed into the wire, moved by dx, dy; FALSE: there is no such wire. */
gboolean canvas_landing_land (CanvasLanding *self, double dx, double dy);
/* The position for what is dragged over a point in pixels: in a wire that passes there and takes it, else alone. */
StudioAddPlace canvas_landing_find_place (CanvasLanding *self, const StudioDragOp *drag, StudioScene *scene,
                                          const StudioView *view, double x, double y);
/* Shows the ghost of what is dragged. below: the distance from the point to the ghost's lower edge, in canvas units.
 * FALSE: there is no ghost. */
gboolean
canvas_landing_show (CanvasLanding *self, const StudioDragOp *drag, const StudioAddPlace *place, double *below);
/* Shows what this fix would insert; NULL, and for other fixes: nothing. */
void canvas_landing_preview_fix (CanvasLanding *self, const LoomFix *fix);
/* Shows what the quick fix of this card would add; 0: nothing. */
void canvas_landing_show_fix (CanvasLanding *self, guint64 serial);
/* The drag is over, or the pointer is elsewhere. */
void canvas_landing_forget (CanvasLanding *self);

/* The wire and the ghost, above the cards. */
void canvas_landing_snapshot (const CanvasLanding *self, GtkSnapshot *snapshot, StudioScene *scene,
                              const StudioView *view, const StudioTheme *theme);
