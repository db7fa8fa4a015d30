/* The palette: every operator by category, to be searched, dragged, or added by Enter. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/studio-canvas.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_PALETTE (studio_palette_get_type ())
G_DECLARE_FINAL_TYPE (StudioPalette, studio_palette, STUDIO, PALETTE, GtkWidget)

/* The canvas receives what is activated; it may be NULL. */
StudioPalette *studio_palette_new (StudioDocument *document, StudioCanvas *canvas);
/* Only these operators (NULL: all) are shown. */
void studio_palette_set_offered (StudioPalette *self, const char *const *names);
/* The operator of the row that has the keyboard; NULL where none has, or it is no operator's. */
const LoomOp *studio_palette_get_focused_op (StudioPalette *self);

G_END_DECLS
