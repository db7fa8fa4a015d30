/* Types and functions that the files of the router share. */
#pragma once

#include "ui/scene/studio-routes.h"

G_BEGIN_DECLS

#define ROUTE_CLEAR 8.0  /* from cards, while a way is looked for */
#define ROUTE_TIGHT 3.0  /* where it is crowded */
#define ROUTE_SLIDE 64.0 /* how far a piece may slide to find its lane */

typedef StudioPoint RoutePoint;

/* Cards by place, for questions about a rectangle. */
typedef struct
{
  const StudioRect *card;
  guint n_cards, columns, rows;
  double x, y, cell;
  guint *first, *entry; /* of each cell, into entry */
  guint *asked;         /* per card: the last question that it answered */
  guint question;
  GArray *found; /* guint */
} RouteIndex;

void route_index_init (RouteIndex *index, const StudioRect *card, guint n);
void route_index_clear (RouteIndex *index);
/* The first and the last column and row that a rectangle touches; what lies outside belongs to those at the border. */
void route_index_cells (const RouteIndex *index, const StudioRect *r, guint *c0, guint *r0, guint *c1, guint *r1);
/* Whether so few cards are there that they may all be looked at for one wire. */
gboolean route_index_is_small (const RouteIndex *index, const StudioRect *rect);
/* The cards that touch the rectangle; valid until the next question. */
const guint *route_index_find (RouteIndex *index, const StudioRect *rect, guint *n);

/* A wire as it is looked for, or the part of one between two points that the user led it through: its ends, and what
 * was found. */
typedef struct
{
  guint64 key, net;     /* net: of the output that it comes from; wires of one net may lie on each other */
  guint link, from, to; /* the wire; the cards at its ends, STUDIO_NO_ITEM where it ends at a point */
  double x0, y0, x1, y1;
  gboolean routed;
  StudioRect region;  /* cards outside it have no say */
  GArray *base, *way; /* RoutePoint; corners, level and upright in turn: as found, and in their lanes; or NULL */
} RouteWire;

/* Finds corners from one port to the other that keep clear of cards; FALSE where there is no way. region: what was
 * looked at. */
gboolean route_search (RouteIndex *index, const RouteWire *wire, GArray *corners, StudioRect *region);
/* Whether the piece between corners k and k + 1 ends at a port or a point, and so stays. */
gboolean route_is_fixed (const GArray *corners, guint k);
/* Moves each inner piece to the middle of the channel that it runs in. */
void route_centre (RouteIndex *index, GArray *corners);
/* How far the piece between corners k and k + 1 may slide across itself. */
void route_room (RouteIndex *index, const GArray *corners, guint k, double *low, double *high);
/* A piece of a way: that between the corners k and k + 1. */
typedef struct
{
  const GArray *way;
  guint k;
} RoutePiece;
#define ROUTE_SURE 1000
/* Votes for s behind t, less those for before; ROUTE_SURE and more where they would else lie on each other. */
int route_side (const RoutePiece *s, const RoutePiece *t);
/* Puts pieces of different nets beside each other. */
void route_lanes (RouteIndex *index, RouteWire *wire, guint n);
/* The pieces of a way with round corners, appended to pieces (StudioCurve). */
void route_round (RouteIndex *index, const GArray *corners, double radius, GArray *pieces);
/* stale: those to place anew, while the others stay where they are; NULL: all of them. */
void route_place_pills (const StudioScene *scene, const StudioRoute *route, const guint8 *stale, StudioPillSize size,
                        gpointer data, StudioPill *pill);

G_END_DECLS
