/* Shows a run over the canvas: pins, times, stages, values under the pointer, health, and a step taken apart. */
#pragma once

#include "ui/pins/studio-health-watch.h"
#include "ui/pins/studio-hover-values.h"
#include "ui/pins/studio-node-times.h"
#include "ui/pins/studio-pin.h"
#include "ui/shell/studio-panes.h"
#include "ui/stepper/studio-step-layer.h"
#include "ui/timeline/studio-pipeline-stages.h"

typedef struct
{
  StudioDocument *document;
  StudioCanvas *canvas;
  StudioRun *run;
  StudioPanes *panes;
  GtkWidget *toasts;

  StudioPins *pins;
  StudioNodeTimes *times;
  StudioPipelineStages *stages;
  StudioHoverValues *hover;
  StudioStepper *stepper;
  StudioBreakpoints *breakpoints;
  StudioInstant *instant;
  StudioHealthWatch *health;
  StudioStepLayer *step_layer; /* owned by its parent */
} PageRunViews;

/* The caller sets the fields before `pins`. overlay is over the canvas, and the step's bar is appended to `box`. Pins
 * at the side are a page of the end pane while there are any. */
void page_run_views_init (PageRunViews *self, GtkOverlay *overlay, GtkBox *box);
/* Call before anything that the views are made with goes. */
void page_run_views_close (PageRunViews *self);
void page_run_views_clear (PageRunViews *self);
