/* Shows the tensor values of the card under the pointer in its tooltip. While the pointer is on a card, its inputs,
 * weights and output are requested from the worker and put into its formula; other cards cost nothing. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_HOVER_VALUES (studio_hover_values_get_type ())
G_DECLARE_FINAL_TYPE (StudioHoverValues, studio_hover_values, STUDIO, HOVER_VALUES, GObject)

StudioHoverValues *studio_hover_values_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);
