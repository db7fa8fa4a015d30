/* The numbers of a batch in the tooltip of a card: while the pointer is on it, its inputs, weights and output are
 * pulled from the worker, all at once, and its formula is filled with them. A card that nobody points at costs nothing.
 */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_HOVER (studio_hover_get_type ())
G_DECLARE_FINAL_TYPE (StudioHover, studio_hover, STUDIO, HOVER, GObject)

StudioHover *studio_hover_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);

G_END_DECLS
