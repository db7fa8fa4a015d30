/* Forecasts, while the graph is edited, whether its run would fit into memory.
 *
 * A rough estimate from the sizes of weights and outputs decides whether to ask at all; then `gradloom plan --fits`
 * plans the run in another process, some time after the last change. Nothing is asked while a run trains. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-memory-verdict.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_MEMORY_FORECAST (studio_memory_forecast_get_type ())
G_DECLARE_FINAL_TYPE (StudioMemoryForecast, studio_memory_forecast, STUDIO, MEMORY_FORECAST, GObject)

/* Signal "changed". */
StudioMemoryForecast *studio_memory_forecast_new (StudioDocument *document, StudioRun *run);
/* NULL: the run fits, as far as is known. Valid until "changed". */
const StudioMemoryVerdict *studio_memory_forecast_get (StudioMemoryForecast *self);

G_END_DECLS
