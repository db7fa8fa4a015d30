/* The times of a recorded step of the run: of its worker, again every few seconds while somebody watches, else of the
 * file in the folder of a run that has ended. */
#pragma once

#include "ui/run/studio-run.h"

#define STUDIO_TYPE_STEP_CLOCK (studio_step_clock_get_type ())
G_DECLARE_FINAL_TYPE (StudioStepClock, studio_step_clock, STUDIO, STEP_CLOCK, GObject)

/* Signal "changed". */
StudioStepClock *studio_step_clock_new (StudioRun *run);
void studio_step_clock_watch (StudioStepClock *self, gboolean watch);
/* LoomTraceSpan; NULL: no step is recorded. (transfer none) */
const GArray *studio_step_clock_get_spans (StudioStepClock *self);
