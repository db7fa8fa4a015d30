/* From a slide to what the canvas shows, and back. */
#pragma once

#include "ui/canvas/studio-canvas.h"

G_BEGIN_DECLS

/* Shows the slide's scope and part (NULL: the whole graph). With light its spotlight is on, and the part stays fitted.
 */
void studio_slide_show (StudioDocument *document, StudioCanvas *canvas, const LoomSlide *slide, gboolean light);
/* A slide of what is seen now, without title and note; of several selected cards, those in the light (transfer full).
 */
LoomSlide *studio_slide_capture (StudioDocument *document, StudioCanvas *canvas);
/* Ids of the selected nodes, with blanks between, "" for none (transfer full). */
char *studio_slide_dup_selected (StudioDocument *document);

G_END_DECLS
