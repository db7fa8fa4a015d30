/* The gauge of memory, "7.7 MB of 23 GB" with a bar: what the run that trains uses, else what the graph is planned to
 * need. A level has an icon in addition to its colour. */
#pragma once

#include <gtk/gtk.h>

#include "ui/run/studio-memory-forecast.h"

#define STUDIO_TYPE_MEMORY_GAUGE (studio_memory_gauge_get_type ())
G_DECLARE_FINAL_TYPE (StudioMemoryGauge, studio_memory_gauge, STUDIO, MEMORY_GAUGE, GtkWidget)

typedef enum
{
  STUDIO_MEMORY_UNKNOWN,
  STUDIO_MEMORY_FITS,
  STUDIO_MEMORY_SCARCE, /* more than three quarters are needed */
  STUDIO_MEMORY_EXCEEDED
} StudioMemoryLevel;

/* Bytes; 0: unknown. */
StudioMemoryLevel studio_memory_level (double needed, double available);

/* Shows the figures; without any it is hidden. */
void studio_memory_gauge_show (StudioMemoryGauge *self, StudioMemoryForecast *forecast, StudioRun *run);
/* One sentence for a tooltip and a screen reader, "Memory: 7.7 MB of 23 GB. It fits."; NULL: unknown. */
const char *studio_memory_gauge_get_words (StudioMemoryGauge *self);
