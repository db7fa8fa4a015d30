/* The pane in which a lecturer creates, orders and edits the views of a presentation. */
#pragma once

#include <adwaita.h>

#include "ui/present/studio-slides.h"
#include "ui/canvas/studio-canvas.h"

#define STUDIO_TYPE_SLIDES_PANE (studio_slides_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioSlidesPane, studio_slides_pane, STUDIO, SLIDES_PANE, AdwBin)

StudioSlidesPane *studio_slides_pane_new (StudioDocument *document, StudioCanvas *canvas, StudioSlides *slides);
/* Adds this view and focuses its title. */
void studio_slides_pane_add_slide (StudioSlidesPane *self, const LoomSlide *slide);
