/* The arithmetic of the minimap: a small picture of all cards with the rectangle that the canvas shows. */
#pragma once

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

#define STUDIO_MAP_WIDTH  184.0
#define STUDIO_MAP_HEIGHT 128.0

typedef struct
{
  StudioRect bounds;    /* of the scene, in canvas units */
  double width, height; /* of the map, in pixels */
  double scale, x, y;   /* pixels a unit; where the corner of the bounds is */
} StudioMap;

/* A map of these bounds, as large as allowed: as wide as high as they are, and never a hair. larger: the text's size,
 * which the map grows with; view: the canvas, of which it may cover a third of width and height. */
void studio_map_init (StudioMap *map, const StudioRect *bounds, double larger, const StudioView *view);
void studio_map_to_map (const StudioMap *map, double x, double y, double *mx, double *my);
void studio_map_to_canvas (const StudioMap *map, double mx, double my, double *x, double *y);
StudioRect studio_map_rect (const StudioMap *map, const StudioRect *rect);
/* The visible part of the canvas, on the map; what of it lies beyond the map is left out. */
StudioRect studio_map_seen (const StudioMap *map, const StudioView *view);
/* Whether there is more than is seen, and room to say so. */
gboolean studio_map_is_needed (const StudioRect *bounds, const StudioView *view);

/* A drag on the map: takes the rectangle where it is pressed, or brings its middle there first. */
typedef struct
{
  double dx, dy; /* from the pointer to the middle of what is seen, in canvas units */
} StudioMapDrag;
void studio_map_press (const StudioMap *map, const StudioView *view, double mx, double my, StudioMapDrag *drag);
/* Moves the view so that the drag's hold stays under the pointer. The middle stays within the bounds. */
void studio_map_move (const StudioMap *map, const StudioMapDrag *drag, double mx, double my, StudioView *view);

G_END_DECLS
