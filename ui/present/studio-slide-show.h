/* Converts between a slide and the state of the canvas. */
#pragma once

#include "ui/canvas/studio-canvas.h"

/* Shows the slide's scope and region (NULL: the whole graph). light: with its spotlight, and the region stays fitted.
 */
void studio_slide_show (StudioDocument *document, StudioCanvas *canvas, const LoomSlide *slide, gboolean light);
/* A slide of the current state without title and note; several selected cards become its highlighted nodes (transfer
 * full). */
LoomSlide *studio_slide_capture (StudioDocument *document, StudioCanvas *canvas);
/* Ids of the selected nodes separated by spaces, "" for none (transfer full). */
char *studio_slide_dup_selected (StudioDocument *document);
