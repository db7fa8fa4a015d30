/* The tooltip of the card, port, wire or quick-fix button under the pointer. */
#pragma once

#include "ui/canvas/canvas-hit.h"
#include "ui/document/studio-document.h"

typedef struct _CanvasTooltip CanvasTooltip;
/* Requests the numbers of a card before its tooltip is made; they come by canvas_tooltip_set_numbers(). */
typedef void (*CanvasTooltipRequest) (const char *path, gpointer data);

/* document must outlive this. */
CanvasTooltip *canvas_tooltip_new (StudioDocument *document, CanvasTooltipRequest request, gpointer data);
void canvas_tooltip_free (CanvasTooltip *self);

/* Numbers of a run below the formula of one card's tooltip; NULL removes them. Returns whether anything changed. */
gboolean canvas_tooltip_set_numbers (CanvasTooltip *self, const char *path, const char *text);
/* The user is working: no tooltip for a moment. */
void canvas_tooltip_pause (CanvasTooltip *self);
gboolean canvas_tooltip_is_paused (const CanvasTooltip *self);
/* Pango markup; NULL: nothing is to be said about this target (transfer full). zoom: of the view, because a small card
 * shows less. */
char *canvas_tooltip_dup_markup (CanvasTooltip *self, const StudioScene *scene, const StudioHit *hit, double zoom);
