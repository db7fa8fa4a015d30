/* A page on the projector: the caption and keys around the canvas, the walk along the computation and through the views
 * of a lecture, spotlight and pen, and the single keys that work only there. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/page/studio-caption.h"
#include "ui/page/studio-key-card.h"
#include "ui/page/studio-rate-card.h"
#include "ui/present/studio-present-layer.h"
#include "ui/present/studio-slides.h"
#include "ui/pins/studio-pin.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_PRESENTATION (studio_presentation_get_type ())
G_DECLARE_FINAL_TYPE (StudioPresentation, studio_presentation, STUDIO, PRESENTATION, GObject)

/* What a presentation shows and changes. */
typedef struct
{
  StudioDocument *document;
  StudioRun *run;
  StudioCanvas *canvas;
  StudioPins *pins;
  StudioSlides *slides;
  StudioPresentLayer *layer; /* over the canvas */
  StudioCaption *caption;
  StudioKeyCard *keys;
  StudioRateCard *rate;
  GtkWidget *toasts; /* an AdwToastOverlay for sentences */
} StudioPresentationParts;

/* The widgets live as long as the presentation. Signals:
 *   "changed"  it has begun or ended; before caption and views are shown
 *   "step"     one batch is to be trained
 *   "learning-rate"  it was asked for while no presentation is on */
StudioPresentation *studio_presentation_new (const StudioPresentationParts *parts);
gboolean studio_presentation_is_on (StudioPresentation *self);
void studio_presentation_set_on (StudioPresentation *self, gboolean on);
/* The height for caption, canvas and keys has changed. */
void studio_presentation_fit (StudioPresentation *self, int height);
/* TRUE if the key has a meaning in a presentation, and has been handled. */
gboolean studio_presentation_key (StudioPresentation *self, guint key, GdkModifierType state);

/* Opens the card, or emits "learning-rate". */
void studio_presentation_ask_learning_rate (StudioPresentation *self);
void studio_presentation_next_view (StudioPresentation *self);
void studio_presentation_previous_view (StudioPresentation *self);
void studio_presentation_toggle_spotlight (StudioPresentation *self);
void studio_presentation_toggle_pen (StudioPresentation *self);
void studio_presentation_toggle_eraser (StudioPresentation *self);
void studio_presentation_clear_drawing (StudioPresentation *self);
