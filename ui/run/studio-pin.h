/* Pins: tensors that are watched under their card while a run goes on, each drawn by its kind (studio-pin-kind.h), and
 * the loss on its own card.
 *
 * Which tensors are pinned stands in the graph's <view>; their values are pulled from the worker, one request in flight
 * a pin, ten a second at most, and never pushed. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/studio-canvas.h"
#include "ui/charts/studio-heat-map.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_PINS (studio_pins_get_type ())
G_DECLARE_FINAL_TYPE (StudioPins, studio_pins, STUDIO, PINS, GObject)

StudioPins *studio_pins_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);
/* A tensor so called is the loss's gradient with respect to the port or weight that follows. */
#define STUDIO_PIN_GRADIENT "grad:"

/* Pins the node's output, or its gradient, or takes that pin away: one transaction. */
void studio_pins_toggle (StudioPins *self, const char *node_path, gboolean gradient);
/* The heat map of this node, else the first one; NULL when none is pinned. tensor receives its name (transfer none). */
StudioHeatMap *studio_pins_get_map (StudioPins *self, const char *node_path, const char **tensor);
/* Hides all pins but those of these tensors; NULL: all are seen. */
void studio_pins_set_shown (StudioPins *self, const char *const *tensors);
/* Larger, for the back row; the first map goes from its card to the stage, a box of its own. NULL: as usual. */
void studio_pins_set_presentation (StudioPins *self, GtkWidget *stage);

G_END_DECLS
