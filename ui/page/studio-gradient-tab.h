/* The page of the end pane with the gradient check, which the first check opens. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/shell/studio-panes.h"

#define STUDIO_TYPE_GRADIENT_TAB (studio_gradient_tab_get_type ())
G_DECLARE_FINAL_TYPE (StudioGradientTab, studio_gradient_tab, STUDIO, GRADIENT_TAB, GObject)

StudioGradientTab *studio_gradient_tab_new (StudioDocument *document, StudioPanes *panes);
/* Shows the page and checks the gradients of the selected layers, or of all. */
void studio_gradient_tab_check (StudioGradientTab *self);
