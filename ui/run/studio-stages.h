/* The stages of a pipeline that no node names: asked of `gradloom plan` when the graph has changed and rests, for the
 * canvas to show. */
#pragma once

#include "ui/canvas/studio-canvas.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_STAGES (studio_stages_get_type ())
G_DECLARE_FINAL_TYPE (StudioStages, studio_stages, STUDIO, STAGES, GObject)

StudioStages *studio_stages_new (StudioDocument *document, StudioCanvas *canvas);
/* path → GINT_TO_POINTER (stage + 1), of the events of `gradloom plan --stages --json`; NULL: they name none. */
GHashTable *studio_stages_parse (GPtrArray *events);

G_END_DECLS
