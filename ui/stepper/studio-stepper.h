/* A step of the run taken apart: where it stands, and the chips of the shown scope. The worker walks it; commands are
 * queued and answered one after another. */
#pragma once

#include "ui/canvas/studio-canvas.h"
#include "ui/run/studio-run.h"
#include "ui/stepper/step-chips.h"

#define STUDIO_TYPE_STEPPER (studio_stepper_get_type ())
G_DECLARE_FINAL_TYPE (StudioStepper, studio_stepper, STUDIO, STEPPER, GObject)

typedef struct
{
  gint64 step;        /* its number, from 1 */
  char *phase;        /* "forward", "backward", "update" */
  char *node, *scope; /* the node or module that was computed last, and the module or loop around it; "": none */
  guint index, count;
  gint64 iteration, iterations;
  gboolean has_inside, is_end;
  int rank; /* whose samples are walked; -1: the only one */
} StudioStepPlace;

/* Signals:
 *   "changed"         place or chips
 *   "begin"           there is no run that can be walked: start one, paused
 *   "marked"          the marked ports
 *   "say" (sentence)  a sentence worth a toast */
StudioStepper *studio_stepper_new (StudioDocument *document, StudioCanvas *canvas, StudioRun *run);

/* Each begins a walk of the next step if none goes on, and pauses a run that trains. */
void studio_stepper_next (StudioStepper *self);
void studio_stepper_back (StudioStepper *self);
void studio_stepper_into (StudioStepper *self);
void studio_stepper_out (StudioStepper *self);
void studio_stepper_forward (StudioStepper *self);
void studio_stepper_backward (StudioStepper *self);
/* Takes the step, and goes before the first node of the next one. */
void studio_stepper_update (StudioStepper *self);
/* Runs forward to the selected card; in the backward pass, or from the card that is selected already, backward. */
void studio_stepper_go_to_selected (StudioStepper *self);
/* phase: "forward" or "backward". */
void studio_stepper_go_to (StudioStepper *self, const char *node, const char *phase);
void studio_stepper_end (StudioStepper *self);

gboolean studio_stepper_is_on (StudioStepper *self);
/* TRUE while an update is computed, before the next step begins. */
gboolean studio_stepper_is_between (StudioStepper *self);
const StudioStepPlace *studio_stepper_get_place (StudioStepper *self); /* NULL: not on */
GHashTable *studio_stepper_get_chips (StudioStepper *self);            /* step-chips.h */
/* "Forward 3 of 9: conv1 · iteration 2 of 5 · value 0.12 ± 0.4". (transfer full) */
char *studio_stepper_dup_text (StudioStepper *self);

/* The ports of a chain of derivatives, which the canvas shows in their order; NULL: none. (transfer full) */
void studio_stepper_mark (StudioStepper *self, GPtrArray *ports);
const GPtrArray *studio_stepper_get_marked (StudioStepper *self); /* char *; NULL: none */
