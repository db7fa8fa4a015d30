/* Types and functions shared by the files of the wire router. */
#pragma once

#include "ui/scene/studio-routes.h"

#define ROUTE_CLEAR 8.0  /* distance from cards during the search */
#define ROUTE_TIGHT 3.0  /* if it is crowded */
#define ROUTE_SLIDE 64.0 /* how far a segment may shift into its track */

typedef StudioPoint RoutePoint;

/* Spatial index of the cards. */
typedef struct
{
  const StudioRect *card;
  guint n_cards, columns, rows;
  double x, y, cell;
  guint *first, *entry; /* entry[first[cell]] is a cell's first card */
  guint *asked;         /* per card: the number of the last query that returned it */
  guint question;
  GArray *found; /* guint */
} RouteIndex;

void route_index_init (RouteIndex *index, const StudioRect *card, guint n);
void route_index_clear (RouteIndex *index);
/* The range of columns and rows that a rectangle touches; areas outside the grid belong to its border cells. */
void route_index_cells (const RouteIndex *index, const StudioRect *r, guint *c0, guint *r0, guint *c1, guint *r1);
/* TRUE if the area has so few cards that all can be checked for one wire. */
gboolean route_index_is_small (const RouteIndex *index, const StudioRect *rect);
/* The cards that touch the rectangle; valid until the next call. */
const guint *route_index_find (RouteIndex *index, const StudioRect *rect, guint *n);

/* A wire to route, or the part of one between two waypoints: its ends and its route. */
typedef struct
{
  guint64 key, net;     /* net: id of its output; wires of one net may overlap */
  guint link, from, to; /* the wire; the cards at its ends, STUDIO_NO_ITEM for a waypoint */
  double x0, y0, x1, y1;
  gboolean routed;
  StudioRect region;  /* only cards in it are considered */
  GArray *base, *way; /* RoutePoint; corners of alternating horizontal and vertical segments: as found, and after
                         shifting into tracks; or NULL */
} RouteWire;

/* Finds corners from one port to the other that avoid cards; FALSE: no route. region receives the searched area. */
gboolean route_search (RouteIndex *index, const RouteWire *wire, GArray *corners, StudioRect *region);
/* TRUE if the segment between corners k and k + 1 ends at a port or waypoint, and therefore stays. */
gboolean route_is_fixed (const GArray *corners, guint k);
/* Moves each inner segment to the middle of the channel between cards. */
void route_centre (RouteIndex *index, GArray *corners);
/* The range of coordinates into which the segment between corners k and k + 1 may shift. */
void route_slack (RouteIndex *index, const GArray *corners, guint k, double *low, double *high);
/* The segment between the corners k and k + 1. */
typedef struct
{
  const GArray *way;
  guint k;
} RoutePiece;
#define ROUTE_SURE 1000
/* Whether s belongs after t: positive if more ends of s and t say so than say before; at least ROUTE_SURE in magnitude
 * if they would otherwise overlap. */
int route_side (const RoutePiece *s, const RoutePiece *t);
/* Separates segments of different nets. */
void route_tracks (RouteIndex *index, RouteWire *wire, guint n);
/* Appends the segments of a route with round corners to pieces (StudioCurve). */
void route_round (RouteIndex *index, const GArray *corners, double radius, GArray *pieces);
/* Places the shape labels. stale: the labels to place again, while others stay; NULL: all. */
void route_place_shape_labels (const StudioScene *scene, const StudioRoute *route, const guint8 *stale,
                               StudioShapeLabelSize size, gpointer data, StudioShapeLabel *shape_label);
