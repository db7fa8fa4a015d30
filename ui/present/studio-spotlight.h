/* The spotlight around the pointer: which tiles of the canvas are dark. Arithmetic without widgets.
 *
 * Tiles have fixed positions, so that a moving pointer changes only tiles at the edge of the light and the canvas below
 * the others is not redrawn. */
#pragma once

#include <glib.h>

#define STUDIO_SPOTLIGHT_TILE 64.0 /* pixels */

typedef struct
{
  double x, y, radius;                            /* the circle of light */
  double card_x, card_y, card_width, card_height; /* the card under the pointer; width 0: none */
} StudioSpotlight;

typedef enum
{
  STUDIO_SPOTLIGHT_DARK,
  STUDIO_SPOTLIGHT_LIT,
  STUDIO_SPOTLIGHT_EDGE /* partly dark */
} StudioSpotlightTile;

/* Classifies the tile with this corner and size, in the pixels of the beam. */
StudioSpotlightTile
studio_spotlight_tile (const StudioSpotlight *beam, double x, double y, double width, double height);
