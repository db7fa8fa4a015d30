/* The list of views beside the canvas, where a lecturer makes, orders and writes them. */
#pragma once

#include "ui/present/studio-slides.h"
#include "ui/canvas/studio-canvas.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_SLIDES_PANE (studio_slides_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioSlidesPane, studio_slides_pane, STUDIO, SLIDES_PANE, GtkWidget)

StudioSlidesPane *studio_slides_pane_new (StudioDocument *document, StudioCanvas *canvas, StudioSlides *slides);
/* Adds a view of what is seen now, and waits for its title. */
void studio_slides_pane_add_slide (StudioSlidesPane *self, const LoomSlide *slide);

G_END_DECLS
