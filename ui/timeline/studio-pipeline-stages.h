/* Shows on the canvas the pipeline stage of each node, for graphs that leave the cut to the planner. The stages come
 * from `gradloom plan`, which runs when the graph has not changed for a moment. */
#pragma once

#include "ui/canvas/studio-canvas.h"

#define STUDIO_TYPE_PIPELINE_STAGES (studio_pipeline_stages_get_type ())
G_DECLARE_FINAL_TYPE (StudioPipelineStages, studio_pipeline_stages, STUDIO, PIPELINE_STAGES, GObject)

StudioPipelineStages *studio_pipeline_stages_new (StudioDocument *document, StudioCanvas *canvas);
/* Returns a table from node path to GINT_TO_POINTER (stage + 1) from the events of `gradloom plan --stages --json`;
 * NULL: the events name no stages. */
GHashTable *studio_pipeline_stages_parse (GPtrArray *events);
