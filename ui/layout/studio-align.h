/* Bringing cards onto common lines: on command, and while one is dragged. Arithmetic on rectangles. */
#pragma once

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

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

/* Moves the rectangles. What is aligned to one line must not come to lie on each other: it is then set one behind the
 * other, in the order in which it stood, as far as it has to be. */
void studio_align (StudioRect *rect, guint n, StudioAlign how);

/* A line that what is dragged has come onto, to be shown: from y0 to y1 at x, or the other way. */
typedef struct
{
  gboolean is_upright;
  double at, from, to;
} StudioGuide;

typedef struct
{
  double x, y; /* of the dragged rectangle's corner */
  guint n_guides;
  StudioGuide guide[2];
} StudioSnapped;

/* Where a rectangle that is dragged to `rect` comes to lie: its edges and its vertical middle on those of another card
 * within `reach`, its ports level with those that they are wired to, else its corner on the grid of 24, or level with
 * where it began (from_x, from_y). item: the card that is dragged, or STUDIO_NO_ITEM; moving: those that go along, or
 * NULL. Only what is in sight counts. */
StudioSnapped studio_align_snap (const StudioScene *scene, guint item, const gboolean *moving, const StudioRect *rect,
                                 double from_x, double from_y, double reach, const StudioRect *sight);

G_END_DECLS
