/* The pane of what runs: the memory along a step, and each instruction of the plan by phase. Steps and cards are linked
 * both ways: selecting steps selects the cards that they compute, selecting cards selects their steps. */
#pragma once

#include <adwaita.h>

#include "ui/canvas/studio-canvas.h"
#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"
#include "ui/timeline/studio-step-picture.h"

#define STUDIO_TYPE_STEPS_PANE (studio_steps_pane_get_type ())
G_DECLARE_FINAL_TYPE (StudioStepsPane, studio_steps_pane, STUDIO, STEPS_PANE, AdwBin)

StudioStepsPane *studio_steps_pane_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);
void studio_steps_pane_focus (StudioStepsPane *self);
/* The memory along a step, to be exported; NULL: there is no plan. */
const StudioStepMemory *studio_steps_pane_get_memory (StudioStepsPane *self);

/* For tests. Shows a plan without a planner: events of `gradloom plan --steps --json` (transfer none). */
void studio_steps_pane_set_events (StudioStepsPane *self, GPtrArray *events);
/* The rows that the search lets through, headings among them, and which of them are selected. */
GtkSelectionModel *studio_steps_pane_get_rows (StudioStepsPane *self);
StudioStepPicture *studio_steps_pane_get_picture (StudioStepsPane *self);
