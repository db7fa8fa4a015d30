/* Pins: tensors whose values are shown during a run, under their card, at the side or over the canvas, each drawn by
 * its kind (studio-pin-kind.h); and the loss on its own card.
 *
 * The graph's <view> lists the pinned tensors. Their values are requested from the worker, with one request in flight
 * per pin and at most ten a second. */
#pragma once

#include <gtk/gtk.h>

#include "ui/canvas/studio-canvas.h"
#include "ui/pins/studio-pin-view.h"
#include "ui/run/studio-run.h"
#include "ui/run/studio-task.h"

#define STUDIO_TYPE_PINS (studio_pins_get_type ())
G_DECLARE_FINAL_TYPE (StudioPins, studio_pins, STUDIO, PINS, GObject)

/* Signals: "docked": studio_pins_has_docked() may have changed; "save"(StudioPinView, tensor, suffix): the user wants a
 * file of a pin. */
StudioPins *studio_pins_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);
/* The samples and predictions of decision surfaces; without, there are none. */
void studio_pins_set_task (StudioPins *self, StudioTask *task);
/* Over the canvas, for the enlarged pin. */
void studio_pins_set_overlay (StudioPins *self, GtkOverlay *overlay);
/* The box of the pins at the side (transfer none), for a page of a pane while there are any. */
GtkWidget *studio_pins_get_dock (StudioPins *self);
gboolean studio_pins_has_docked (StudioPins *self);

/* Pins the first output of a node, or of a module of the shown scope, or its gradient, or removes that pin, in one
 * transaction. FALSE: it has no known output. */
gboolean studio_pins_toggle (StudioPins *self, const char *path, gboolean gradient);
/* Returns the picture of this node, or else the first one; NULL: only numbers are pinned. tensor receives its name
 * (transfer none). */
StudioPinView *studio_pins_get_picture (StudioPins *self, const char *node_path, const char **tensor);
guint studio_pins_n (StudioPins *self);
StudioPinView *studio_pins_get (StudioPins *self, guint i, const char **tensor);
/* The number under the pointer or the cursor of a pin, of several the one that was marked last: its port or weight, and
 * its row-major index. FALSE: none is marked. (transfer full) */
gboolean studio_pins_get_number (StudioPins *self, char **port, gint64 *element);
/* Hides all pins except those of these tensors; NULL: shows all. */
void studio_pins_set_shown (StudioPins *self, const char *const *tensors);
/* Enlarges the pins for a presentation and moves the first picture to stage, a GtkBox. NULL: back to normal. */
void studio_pins_set_presentation (StudioPins *self, GtkWidget *stage);
