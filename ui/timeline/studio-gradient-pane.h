/* The pane of a gradient check: one sentence, and a row for each layer and each of its inputs and weights with the
 * largest difference between the engine's gradient and finite differences. */
#pragma once

#include <adwaita.h>

#include "ui/document/studio-document.h"

#define STUDIO_TYPE_GRADIENT_PANE (studio_gradient_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioGradientPane, studio_gradient_pane, STUDIO, GRADIENT_PANE, AdwBin)

StudioGradientPane *studio_gradient_pane_new (StudioDocument *document);
/* Checks the selected layers, or all if none is selected; a check that runs is cancelled. */
void studio_gradient_pane_check (StudioGradientPane *self);
void studio_gradient_pane_focus (StudioGradientPane *self);
