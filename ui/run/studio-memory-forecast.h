/* Forecasts, while the graph is edited, whether its run would fit into memory.
 *
 * `gradloom plan --fits` plans the run in another process, some time after the last change. Nothing is planned while a
 * run trains. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/run/studio-memory-verdict.h"
#include "ui/run/studio-run.h"

#define STUDIO_TYPE_MEMORY_FORECAST (studio_memory_forecast_get_type ())
G_DECLARE_FINAL_TYPE (StudioMemoryForecast, studio_memory_forecast, STUDIO, MEMORY_FORECAST, GObject)

/* Signal "changed". */
StudioMemoryForecast *studio_memory_forecast_new (StudioDocument *document, StudioRun *run);
/* NULL: the run fits, as far as is known. Valid until "changed". */
const StudioMemoryVerdict *studio_memory_forecast_get (StudioMemoryForecast *self);

/* Bytes that the run needs, and those that its device has; 0: unknown, as for a run on a host. */
double studio_memory_forecast_get_needed (StudioMemoryForecast *self);
double studio_memory_forecast_get_available (StudioMemoryForecast *self);
/* The number of ranks that need them together; of several, worst receives the one that needs most, and most what it
 * needs. */
int studio_memory_forecast_get_ranks (StudioMemoryForecast *self, int *worst, double *most);
