/* The chips of a step: the value and the gradient of each port of the shown scope. Without widgets. */
#pragma once

#include "ui/drawing/draw-chip.h"
#include "ui/scene/studio-scene.h"

typedef struct
{
  StudioChip *value, *gradient; /* NULL: not computed yet */
} StepChip;

/* By LoomNetSource. */
GHashTable *step_chips_new (void);
/* The names of the ports of a scene that can have values, then of their gradients; *sources receives the sources of the
 * first half. (transfer full) */
char **step_chips_ports (const StudioScene *scene, const LoomNet *net, GArray **sources);
/* Fills the table with the reply to these ports, a(baxxxddddddau). */
void step_chips_fill (GHashTable *chips, const GArray *sources, GVariant *values);
const StepChip *step_chips_find (GHashTable *chips, const LoomNetSource *source); /* NULL: none */
/* A chip in words, for screen readers: "value 0.12 ± 0.4, gradient 0.03". NULL: none. (transfer full) */
char *step_chip_words (const StepChip *chip);
