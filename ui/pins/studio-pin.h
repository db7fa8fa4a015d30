/* Pins: tensors whose values are shown under their card during a run, each drawn by its kind (studio-pin-kind.h), and
 * the loss on its own card.
 *
 * The graph's <view> lists the pinned tensors. Their values are requested from the worker, with one request in flight
 * per pin and at most ten a second. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/studio-canvas.h"
#include "ui/charts/studio-heat-map.h"
#include "ui/run/studio-run.h"

G_BEGIN_DECLS

#define STUDIO_TYPE_PINS (studio_pins_get_type ())
G_DECLARE_FINAL_TYPE (StudioPins, studio_pins, STUDIO, PINS, GObject)

StudioPins *studio_pins_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);
/* The prefix of the gradient of the loss with respect to the port or weight that follows. */
#define STUDIO_PIN_GRADIENT "grad:"

/* Pins the node's output or its gradient, or removes that pin, in one transaction. */
void studio_pins_toggle (StudioPins *self, const char *node_path, gboolean gradient);
/* Returns the heat map of this node, or else the first one; NULL: no map is pinned. tensor receives its name (transfer
 * none). */
StudioHeatMap *studio_pins_get_map (StudioPins *self, const char *node_path, const char **tensor);
/* Hides all pins except those of these tensors; NULL: shows all. */
void studio_pins_set_shown (StudioPins *self, const char *const *tensors);
/* Enlarges the pins for a presentation and moves the first map to stage, a GtkBox. NULL: back to normal. */
void studio_pins_set_presentation (StudioPins *self, GtkWidget *stage);

G_END_DECLS
