/* The plan of a training step, as events: of the run that trains, else of the graph as it is edited. It is planned by
 * another process some time after the last change, and only while somebody watches. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_STEP_PLAN (studio_step_plan_get_type ())
G_DECLARE_FINAL_TYPE (StudioStepPlan, studio_step_plan, STUDIO, STEP_PLAN, GObject)

/* Signal "changed": the events or the message are others. */
StudioStepPlan *studio_step_plan_new (StudioDocument *document, StudioRun *run);
/* Plans now if that is necessary, and after changes; FALSE: no longer. */
void studio_step_plan_watch (StudioStepPlan *self, gboolean watch);
/* JsonObject of `gradloom plan --steps`; NULL: there is no plan. (transfer none) */
GPtrArray *studio_step_plan_get_events (StudioStepPlan *self);
/* The reason why there is no plan; NULL: it is being made. */
const char *studio_step_plan_get_message (StudioStepPlan *self);
/* TRUE if the plan is that of a run that trains. */
gboolean studio_step_plan_is_of_run (StudioStepPlan *self);
