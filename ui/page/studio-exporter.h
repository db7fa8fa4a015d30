/* Writes pictures and tables of what a page shows next to its graph: the pinned map, the charts of the run, the picture
 * of the task. */
#pragma once

#include "ui/document/studio-document.h"
#include "ui/pins/studio-pin.h"
#include "ui/run/studio-run-panel.h"
#include "ui/drawing/draw-step-memory.h"
#include "ui/run/studio-task.h"

typedef struct
{
  StudioDocument *document;
  StudioPins *pins;
  StudioRunPanel *panel;
  StudioTask *task;
  GtkWidget *toasts; /* an AdwToastOverlay for sentences */
} StudioExporter;

/* A pin, as svg, png or csv. */
void
studio_exporter_write_pin (const StudioExporter *self, StudioPinView *view, const char *tensor, const char *suffix);
/* The picture of the selected node, else the first, as SVG. */
void studio_exporter_write_map (const StudioExporter *self);
/* what: "loss.svg", "metric.csv". */
void studio_exporter_write_chart (const StudioExporter *self, const char *what);
void studio_exporter_write_task (const StudioExporter *self);
/* The memory along a step, as "svg", "png" or "csv"; memory NULL: says that there is none. */
void studio_exporter_write_memory (const StudioExporter *self, const StudioStepMemory *memory, const char *suffix);
