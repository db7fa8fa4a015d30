/* Prints the cards, ports and wires of a page, and the state of its run, for tests/e2e (studio-dump.h). */
#pragma once

#include "ui/page/page-run-views.h"
#include "ui/page/studio-evaluate-tab.h"
#include "ui/page/studio-recording-bar.h"
#include "ui/page/studio-runs-tab.h"
#include "ui/present/studio-present-layer.h"
#include "ui/present/studio-slides.h"

typedef struct
{
  const PageRunViews *views;
  StudioSlides *slides;
  StudioPresentLayer *layer;
  StudioRecordingBar *recording_bar;
  StudioEvaluateTab *evaluate_tab;
  StudioRunsTab *runs_tab;
  gboolean is_presenting;
} PageDump;

void page_dump_cards (const PageDump *self);
void page_dump_state (const PageDump *self);
