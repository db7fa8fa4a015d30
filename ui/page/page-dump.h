/* Prints the cards, ports and wires of a page, and the state of its run, for tests/e2e (studio-dump.h). */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/present/studio-present-layer.h"
#include "ui/present/studio-slides.h"
#include "ui/pins/studio-health-watch.h"
#include "ui/pins/studio-pin.h"
#include "ui/run/studio-run.h"

typedef struct
{
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioRun *run;
  StudioPins *pins;
  StudioHealthWatch *health;
  StudioSlides *slides;
  StudioPresentLayer *layer;
  gboolean is_presenting;
} PageDump;

void page_dump_cards (const PageDump *self);
void page_dump_state (const PageDump *self);
