/* Positions on the canvas, and hit testing: arithmetic on a scene without widgets, tested without a display.
 *
 * Canvas units are pixels at zoom 1. */
#pragma once

#include "ui/scene/studio-scene.h"

#define STUDIO_CARD_WIDTH        176.0
#define STUDIO_CARD_HEIGHT       56.0
#define STUDIO_CARD_FOLDED       32.0 /* height of a card with its name only */
#define STUDIO_CARD_FIGURE       56.0 /* additional height of a card with a figure */
#define STUDIO_CARD_MARGIN       8.0  /* around a card, for ports and rings */
#define STUDIO_CARD_RADIUS       10.0
#define STUDIO_PORT_STEP         24.0 /* also the side of a port's hit area in screen pixels */
#define STUDIO_PORT_RADIUS       5.0
#define STUDIO_POINT_REACH       9.0 /* in screen pixels around a waypoint */
#define STUDIO_GRID              24.0
#define STUDIO_SNAP              12.0
#define STUDIO_ZOOM_MIN          0.1
#define STUDIO_ZOOM_MAX          4.0
#define STUDIO_ZOOM_DETAIL       0.5  /* below this, a card has only name, icon and colour, and wires are straight */
#define STUDIO_ZOOM_NAMES        0.25 /* below this, only frames and modules are named */
#define STUDIO_ZOOM_SHAPE_LABELS 0.7
#define STUDIO_FAULT_GAP         8.0
#define STUDIO_FRAME_TITLE       30.0 /* height of the strip by which a frame is dragged */
#define STUDIO_FRAME_ARROW       24.0 /* side of the button in the upper right corner that collapses and expands a frame */
#define STUDIO_NOTE_WIDTH        208.0

typedef struct
{
  double x, y, width, height;
} StudioRect;

typedef struct
{
  double zoom;
  double x, y;          /* canvas coordinates of the widget's upper left corner */
  double width, height; /* of the widget, in pixels */
} StudioView;

void studio_view_to_screen (const StudioView *view, double x, double y, double *sx, double *sy);
void studio_view_to_canvas (const StudioView *view, double sx, double sy, double *x, double *y);
StudioRect studio_view_visible (const StudioView *view); /* in canvas units */
/* Keeps the point under (sx, sy) fixed. */
void studio_view_zoom_at (StudioView *view, double zoom, double sx, double sy);
/* Fits bounds with a margin, at most at zoom 1; up to 2 on a very high canvas. */
void studio_view_fit (StudioView *view, const StudioRect *bounds);
/* Like studio_view_fit() with at least zoom `least`; then the view starts at the upper left of the bounds, or further
 * on so that `start` is visible. */
void studio_view_fit_from (StudioView *view, const StudioRect *bounds, const StudioRect *start, double least);
/* Scrolls as little as possible so that rect is visible with a margin; TRUE: scrolled. */
gboolean studio_view_reveal (StudioView *view, const StudioRect *rect);

/* The level of detail at a zoom. */
typedef enum
{
  STUDIO_DETAIL_ALL,
  STUDIO_DETAIL_NAMES, /* name, icon and colour */
  STUDIO_DETAIL_BLOCKS /* colour; frames and modules keep their names */
} StudioDetail;

StudioDetail studio_geometry_detail (double zoom);
gboolean studio_geometry_is_named (const StudioItem *item, double zoom);
/* The factor by which a card's text is enlarged, in a few steps, so that names have at least twelve pixels while all
 * text is shown. larger: the user's text size; at zoom 1 text grows by it as far as the card has space, and beyond that
 * the card grows. */
double studio_geometry_text_scale (double zoom, double larger);
/* The minimum zoom at which names have twelve pixels times larger; limited so that a few cards stay visible. */
double studio_geometry_readable_zoom (double larger);

double studio_geometry_snap (double v);
gboolean studio_rect_intersects (const StudioRect *a, const StudioRect *b);
StudioRect studio_rect_union (StudioRect a, StudioRect b);
StudioRect studio_rect_between (double x0, double y0, double x1, double y1);

StudioRect studio_geometry_card (const StudioItem *item);
/* The card with its pins: below it, or at its right if it runs down and wires leave below. */
StudioRect studio_geometry_with_pins (const StudioItem *item);
/* The rectangle of the pins; width 0: none. */
StudioRect studio_geometry_pins (const StudioItem *item);
/* The height on the canvas of a pin of this height, with its margin and caption. */
double studio_geometry_pin_height (double height);
/* The rectangle of the card's figure; height 0: none. */
StudioRect studio_geometry_figure (const StudioItem *item);
/* Everything that is drawn for the item: card, ports, rings, and the fault's bubble. */
StudioRect studio_geometry_extent (const StudioItem *item);
/* The bubble with the fault; height 0: none, or no space, in which case the card shows only the icon. */
StudioRect studio_geometry_fault (const StudioItem *item);
/* Places each bubble where it covers no card and no other bubble: below or above its card, or at its side if the graph
 * runs down. */
void studio_geometry_place_faults (StudioScene *scene);
StudioRect studio_geometry_fix_button (const StudioItem *item); /* height 0: none */
/* The size of a note's text, estimated from its length without a font. */
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

/* A cubic Bézier curve that leaves to the right and arrives from the left: the shape of a wire without obstacles (see
 * studio-routes.h for the others). */
typedef struct
{
  double x[4], y[4];
} StudioCurve;
StudioCurve studio_geometry_curve (double x0, double y0, double x1, double y1);
void studio_curve_at (const StudioCurve *curve, double t, double *x, double *y);
StudioRect studio_curve_bounds (const StudioCurve *curve);
double studio_curve_distance (const StudioCurve *curve, double x, double y);
/* TRUE if the line between two points crosses a wire. */
gboolean studio_geometry_crosses (const StudioScene *scene, guint link, double x0, double y0, double x1, double y1);

/* TRUE if (x, y) is acceptable. */
typedef gboolean (*StudioPlaceTest) (double x, double y, gconstpointer data);
/* Moves (x, y) to the nearest position that passes the test, in squares around it of growing size, up to `rings`; of
 * equal ones to the right or below, where graphs grow. FALSE: none, (x, y) is unchanged. */
gboolean studio_geometry_search (double *x, double *y, guint rings, StudioPlaceTest test, gconstpointer data);
/* Moves (x, y) to a nearby position where a new card covers no card and no wire. */
void studio_geometry_free_place (const StudioScene *scene, double *x, double *y);
