/* Aligns cards by command, and snaps a card while it is dragged. Arithmetic on rectangles. */
#pragma once

#include "ui/scene/studio-geometry.h"

typedef enum
{
  STUDIO_ALIGN_LEFT,
  STUDIO_ALIGN_CENTRE,
  STUDIO_ALIGN_RIGHT,
  STUDIO_ALIGN_TOP,
  STUDIO_ALIGN_MIDDLE,
  STUDIO_ALIGN_BOTTOM,
  STUDIO_DISTRIBUTE_HORIZONTALLY, /* equal gaps; the outermost stay */
  STUDIO_DISTRIBUTE_VERTICALLY
} StudioAlign;

/* Moves the rectangles. Rectangles that would overlap on the common line are moved apart in their old order. */
void studio_align (StudioRect *rect, guint n, StudioAlign how);

/* A guide line of the snap, to be shown: from y0 to y1 at x, or from x0 to x1 at y. */
typedef struct
{
  gboolean is_upright;
  double at, from, to;
} StudioGuide;

typedef struct
{
  double x, y; /* of the rectangle's corner */
  guint n_guides;
  StudioGuide guide[2];
} StudioSnapped;

/* Snaps a rectangle dragged to `rect`: its edges and vertical middle to those of another card within `reach`, its ports
 * to those they are wired to, else its corner to the grid of 24, or to where the drag began (from_x, from_y). item: the
 * dragged card, or STUDIO_NO_ITEM; moving: items dragged along, or NULL. Only visible cards count. */
StudioSnapped studio_align_snap (const StudioScene *scene, guint item, const gboolean *moving, const StudioRect *rect,
                                 double from_x, double from_y, double reach, const StudioRect *sight);
