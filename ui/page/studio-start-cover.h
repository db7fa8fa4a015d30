/* The start page over the canvas of an empty document, until the user begins with an empty graph. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/start/studio-start-page.h"

typedef struct
{
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioStartPage *page;
  gboolean is_dismissed;
  guint timer; /* of the list of runs without a window, while the page is shown; 0: it is not */
} StudioStartCover;

/* Shows or hides the start page. presenting: it is not for a projector. */
void studio_start_cover_update (StudioStartCover *self, gboolean presenting);
/* Hides the start page over a document that is still empty, and focuses the canvas. */
void studio_start_cover_dismiss (StudioStartCover *self);
/* Ends what it watches. */
void studio_start_cover_clear (StudioStartCover *self);
