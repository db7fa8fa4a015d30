/* Places of chips next to wires, where they lie on no card, label or other chip. Arithmetic without widgets. */
#pragma once

#include "ui/scene/studio-routes.h"

typedef struct
{
  StudioRect rect; /* width 0: no space */
} ChipPlace;

/* A place for each output port of each item, in the order of items and outputs; only those with a size get one.
 * labels: the shape label of each link; place and size in canvas units. */
void chip_places (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place);
/* Moves the chips of cards in the view that are beyond its edge into it, where there is space; view in canvas units. */
void
chip_places_within (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place, const StudioRect *view);
