/* The geometry of the minimap: a small picture of all cards with the rectangle of the visible part. */
#pragma once

#include "ui/scene/studio-geometry.h"

#define STUDIO_MAP_WIDTH  184.0
#define STUDIO_MAP_HEIGHT 128.0

typedef struct
{
  StudioRect bounds;    /* of the scene, in canvas units */
  double width, height; /* of the map, in pixels */
  double scale, x, y;   /* pixels per unit; position of the bounds' corner */
} StudioMap;

/* The rectangle of what a map shows: cards with their pins, frames and notes. Routes of wires, which it does not show,
 * are not searched for it. */
StudioRect studio_map_bounds (const StudioScene *scene);
/* Computes a map with the aspect ratio of the bounds, within limits. larger: the user's text size, by which the map
 * grows; view: the canvas, of which it may cover a third of width and height. */
void studio_map_init (StudioMap *map, const StudioRect *bounds, double larger, const StudioView *view);
/* The width at the canvas's lower right that a map may cover; 0 where there is no space for one. */
double studio_map_room (const StudioView *view, double larger);
void studio_map_to_map (const StudioMap *map, double x, double y, double *mx, double *my);
void studio_map_to_canvas (const StudioMap *map, double mx, double my, double *x, double *y);
StudioRect studio_map_rect (const StudioMap *map, const StudioRect *rect);
/* The visible part of the canvas on the map, clipped. */
StudioRect studio_map_visible (const StudioMap *map, const StudioView *view);
/* TRUE if the bounds are not fully visible and there is space for a map. */
gboolean studio_map_is_needed (const StudioRect *bounds, const StudioView *view);

/* Whether a map at the canvas's lower right, at this distance from its edges, would cover a part of a pin. */
gboolean studio_map_covers_pin (const StudioMap *map, const StudioScene *scene, const StudioView *view, double edge);

/* A drag on the map: holds the rectangle where it was pressed, or first centres it there. */
typedef struct
{
  double dx, dy; /* from the pointer to the middle of the visible part, in canvas units */
} StudioMapDrag;
void studio_map_press (const StudioMap *map, const StudioView *view, double mx, double my, StudioMapDrag *drag);
/* Scrolls the view so that the held point stays under the pointer. The middle stays within the bounds. */
void studio_map_move (const StudioMap *map, const StudioMapDrag *drag, double mx, double my, StudioView *view);
