/* Places of chips next to wires, where they lie on no card, label or other chip. Arithmetic without widgets. */
#pragma once

#include "ui/scene/studio-routes.h"

/* Values with gradients get places first; targets last, and next to their card: their wires are long, and a chip in
 * the middle of one would be read as the value of a card there. */
typedef enum
{
  CHIP_GRADIENT,
  CHIP_VALUE,
  CHIP_TARGET,
  N_CHIP_RANKS
} ChipRank;

typedef struct
{
  StudioRect rect; /* width 0: no space */
  ChipRank rank;
} ChipPlace;

/* The rank of the chip of an output. */
ChipRank chip_rank (const LoomNet *net, const StudioPort *port, gboolean has_gradient);
/* A place for each output port of each item, in the order of items and outputs; only those with a size get one.
 * labels: the shape label of each link; place and size in canvas units. */
void chip_places (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place);
/* Moves the chips of cards in the view that are beyond its edge into it, where there is space; view in canvas units. */
void
chip_places_within (const StudioScene *scene, const StudioShapeLabel *labels, ChipPlace *place, const StudioRect *view);
