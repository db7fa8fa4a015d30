/* Where things are on the canvas, and what is under a point: arithmetic on a scene, without widgets.
 *
 * Canvas units are pixels at zoom 1. Everything here can be tested without a display. */
#pragma once

#include "ui/scene/studio-scene.h"

G_BEGIN_DECLS

#define STUDIO_CARD_WIDTH  176.0
#define STUDIO_CARD_HEIGHT 56.0
#define STUDIO_CARD_FOLDED 32.0 /* height of a card that shows its name alone */
#define STUDIO_CARD_FIGURE 56.0 /* what a figure adds to a card's height */
#define STUDIO_CARD_MARGIN 8.0  /* around a card: ports and rings */
#define STUDIO_CARD_RADIUS 10.0
#define STUDIO_PORT_STEP   24.0 /* also the side of a port's hit area, in screen pixels */
#define STUDIO_PORT_RADIUS 5.0
#define STUDIO_POINT_REACH 9.0 /* in screen pixels, from the middle of a point that a wire is led through */
#define STUDIO_GRID        24.0
#define STUDIO_SNAP        12.0
#define STUDIO_ZOOM_MIN    0.1
#define STUDIO_ZOOM_MAX    4.0
#define STUDIO_ZOOM_DETAIL 0.5  /* below: a card keeps its name, icon and colour; wires are straight lines */
#define STUDIO_ZOOM_NAMES  0.25 /* below: only frames and modules are named */
#define STUDIO_ZOOM_PILLS  0.7
#define STUDIO_FAULT_GAP   8.0
#define STUDIO_FRAME_TITLE 30.0 /* height of the strip that a frame is taken by */
#define STUDIO_FRAME_ARROW 24.0 /* side of the place in the upper right corner that collapses and opens a frame */
#define STUDIO_NOTE_WIDTH  208.0

typedef struct
{
  double x, y, width, height;
} StudioRect;

typedef struct
{
  double zoom;
  double x, y;          /* canvas coordinates of the widget's corner */
  double width, height; /* of the widget, in pixels */
} StudioView;

void studio_view_to_screen (const StudioView *view, double x, double y, double *sx, double *sy);
void studio_view_to_canvas (const StudioView *view, double sx, double sy, double *x, double *y);
StudioRect studio_view_visible (const StudioView *view); /* in canvas units */
/* Keeps what is under (sx, sy) there. */
void studio_view_zoom_at (StudioView *view, double zoom, double sx, double sy);
/* Shows all of bounds with a margin, enlarging at most to 1; on a canvas higher than usual, up to 2. */
void studio_view_fit (StudioView *view, const StudioRect *bounds);
/* The same, but where the zoom would be less than `least`, it is that, and the view is at the upper left of the bounds,
 * or further on where `start` is. */
void studio_view_fit_from (StudioView *view, const StudioRect *bounds, const StudioRect *start, double least);
/* Moves as little as possible so that rect is visible with a margin. TRUE when it moved. */
gboolean studio_view_reveal (StudioView *view, const StudioRect *rect);

/* The detail that can be told apart at a zoom, as on a map. */
typedef enum
{
  STUDIO_DETAIL_ALL,
  STUDIO_DETAIL_NAMES, /* name, icon and colour */
  STUDIO_DETAIL_BLOCKS /* colour; frames and modules are still named */
} StudioDetail;

StudioDetail studio_geometry_detail (double zoom);
gboolean studio_geometry_is_named (const StudioItem *item, double zoom);
/* How many times as large as usual a card's words are written in it, in few steps. While they all are shown, names have
 * twelve pixels or more; and who wants text larger, by that many times, has it so at zoom 1, as far as a card has room
 * for it, and from there the card grows first. */
double studio_geometry_text_scale (double zoom, double larger);
/* The least zoom at which names have twelve pixels, for who wants text larger that many times twelve; no zoom is asked
 * for that would show less than a card or two. */
double studio_geometry_readable_zoom (double larger);

double studio_geometry_snap (double v);
gboolean studio_rect_intersects (const StudioRect *a, const StudioRect *b);
StudioRect studio_rect_union (StudioRect a, StudioRect b);
StudioRect studio_rect_between (double x0, double y0, double x1, double y1);

StudioRect studio_geometry_card (const StudioItem *item);
/* The card with what hangs on it: below it, or at its right where it runs down and wires leave it below. */
StudioRect studio_geometry_room (const StudioItem *item);
/* What hangs on the card alone; width 0: nothing does. */
StudioRect studio_geometry_pins (const StudioItem *item);
/* The height that a pin of this `height` needs on the canvas, with its distance and its words. */
double studio_geometry_pin_height (double height);
/* The part of the card below its words that a figure is drawn in; height 0: none. */
StudioRect studio_geometry_figure (const StudioItem *item);
/* Everything the item draws: card, ports, rings, and the fault's sentence below. */
StudioRect studio_geometry_extent (const StudioItem *item);
/* The bubble with the fault's sentence; height 0: none, or no room for one, and then the card has the sign alone. */
StudioRect studio_geometry_fault (const StudioItem *item);
/* Puts each bubble where it covers no card and no other bubble: below or above its card, or beside it where the graph
 * runs down. */
void studio_geometry_place_faults (StudioScene *scene);
StudioRect studio_geometry_fix_button (const StudioItem *item); /* height 0: none */
/* The room for a note's text, from its length: no font is asked. */
void studio_geometry_note_size (const char *text, double *width, double *height);
gboolean studio_geometry_is_within (const StudioAnnotation *frame, double x, double y, double width, double height);
StudioRect studio_geometry_bounds (const StudioScene *scene);
StudioRect studio_geometry_bounds_with_pins (const StudioScene *scene);
void studio_geometry_port (const StudioItem *item, gboolean is_output, guint port, double *x, double *y);

typedef enum
{
  STUDIO_LEFT,
  STUDIO_RIGHT,
  STUDIO_UP,
  STUDIO_DOWN
} StudioDirection;

/* A cubic that leaves to the right and arrives from the left: the way of a wire that has nothing in it (studio-routes.h
 * has the others). */
typedef struct
{
  double x[4], y[4];
} StudioCurve;
StudioCurve studio_geometry_curve (double x0, double y0, double x1, double y1);
void studio_curve_at (const StudioCurve *curve, double t, double *x, double *y);
StudioRect studio_curve_bounds (const StudioCurve *curve);
double studio_curve_distance (const StudioCurve *curve, double x, double y);
/* Whether the straight line between two points crosses a wire. */
gboolean studio_geometry_crosses (const StudioScene *scene, guint link, double x0, double y0, double x1, double y1);

/* Whether something may stand at (x, y). */
typedef gboolean (*StudioPlaceTest) (double x, double y, gconstpointer data);
/* Moves (x, y) to a place that passes the test: squares around it, one snap larger each time, up to so many rings; of
 * the first that holds one the nearest is taken, and of equals the one to the right or below, which is where graphs
 * grow. FALSE, and (x, y) as it was, where there is none. */
gboolean studio_geometry_search (double *x, double *y, guint rings, StudioPlaceTest test, gconstpointer data);
/* A place for a new card at or near (x, y) where it hides no other and lies on no wire. */
void studio_geometry_free_place (const StudioScene *scene, double *x, double *y);

G_END_DECLS
