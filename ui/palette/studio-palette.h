/* The palette: all operators by category, which can be searched, dragged, or added with Enter. */
#pragma once

#include <adwaita.h>

#include "ui/canvas/studio-canvas.h"

#define STUDIO_TYPE_PALETTE (studio_palette_get_type ())
G_DECLARE_FINAL_TYPE (StudioPalette, studio_palette, STUDIO, PALETTE, AdwBin)

/* canvas: where activated operators are added; may be NULL. */
StudioPalette *studio_palette_new (StudioDocument *document, StudioCanvas *canvas);
/* Shows only these operators; NULL: all. */
void studio_palette_set_offered (StudioPalette *self, const char *const *names);
/* The operator of the focused row; NULL: no row, or none of an operator. */
const LoomOp *studio_palette_get_focused_op (StudioPalette *self);
