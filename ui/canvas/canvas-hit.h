/* Finds the target under a point of the canvas, and which card an arrow key leads to: arithmetic on a scene, without
 * widgets. */
#pragma once

#include "ui/scene/studio-geometry.h"

typedef enum
{
  STUDIO_HIT_NOTHING,
  STUDIO_HIT_CARD,
  STUDIO_HIT_INPUT,
  STUDIO_HIT_OUTPUT,
  STUDIO_HIT_LINK,
  STUDIO_HIT_FIX,
  STUDIO_HIT_ANNOTATION /* item is its index; a frame is hit by its title and its border */
} StudioHitKind;

typedef struct
{
  StudioHitKind kind;
  guint item; /* or link */
  guint port; /* of a link: its waypoint; of a frame or a card: 0 is its arrow; STUDIO_NO_ITEM */
} StudioHit;

/* The target under a point in screen pixels: ports before cards before wires; of two cards the later, which is on top.
 */
StudioHit studio_geometry_hit (const StudioScene *scene, const StudioView *view, double sx, double sy);
/* Only ports, within their hit areas: for the loose end of a wire, to which weights are offered as well. */
StudioHit
studio_geometry_hit_port (const StudioScene *scene, const StudioView *view, gboolean is_output, double sx, double sy);

/* The card that an arrow key leads to: those along the graph's direction follow wires if there are any, those across it
 * go to the nearest card. STUDIO_NO_ITEM at the border. */
guint studio_geometry_neighbour (const StudioScene *scene, guint item, StudioDirection direction);
