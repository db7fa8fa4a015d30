/* Classifies tiles as light or dark; see the header. */
#include "ui/present/studio-spotlight.h"

#include <math.h>

static StudioSpotlightTile
in_circle (const StudioSpotlight *beam, double x, double y, double width, double height)
{
  const double near_x = CLAMP (beam->x, x, x + width), near_y = CLAMP (beam->y, y, y + height);
  const double far_x = MAX (fabs (beam->x - x), fabs (beam->x - x - width));
  const double far_y = MAX (fabs (beam->y - y), fabs (beam->y - y - height));

  if (hypot (near_x - beam->x, near_y - beam->y) >= beam->radius)
    return STUDIO_SPOTLIGHT_DARK;
  return hypot (far_x, far_y) <= beam->radius ? STUDIO_SPOTLIGHT_LIT : STUDIO_SPOTLIGHT_EDGE;
}

static StudioSpotlightTile
in_card (const StudioSpotlight *beam, double x, double y, double width, double height)
{
  const double right = beam->card_x + beam->card_width, bottom = beam->card_y + beam->card_height;

  if (beam->card_width <= 0 || x >= right || y >= bottom || x + width <= beam->card_x || y + height <= beam->card_y)
    return STUDIO_SPOTLIGHT_DARK;
  return x >= beam->card_x && y >= beam->card_y && x + width <= right && y + height <= bottom ? STUDIO_SPOTLIGHT_LIT
                                                                                              : STUDIO_SPOTLIGHT_EDGE;
}

StudioSpotlightTile
studio_spotlight_tile (const StudioSpotlight *beam, double x, double y, double width, double height)
{
  const StudioSpotlightTile circle = in_circle (beam, x, y, width, height), card = in_card (beam, x, y, width, height);

  if (circle == STUDIO_SPOTLIGHT_LIT || card == STUDIO_SPOTLIGHT_LIT)
    return STUDIO_SPOTLIGHT_LIT;
  return circle == STUDIO_SPOTLIGHT_DARK && card == STUDIO_SPOTLIGHT_DARK ? STUDIO_SPOTLIGHT_DARK
                                                                          : STUDIO_SPOTLIGHT_EDGE;
}
