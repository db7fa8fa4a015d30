/* The views of a lecture as a page of the end pane, which is there while there are views, or after it was opened. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/present/studio-slides.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_SLIDES_TAB (studio_slides_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioSlidesTab, studio_slides_tab, STUDIO, SLIDES_TAB, GObject)

StudioSlidesTab *
studio_slides_tab_new (StudioDocument *document, StudioCanvas *canvas, StudioSlides *slides, StudioPanes *panes);
void studio_slides_tab_show (StudioSlidesTab *self);
/* Adds the present view. */
void studio_slides_tab_add (StudioSlidesTab *self);
