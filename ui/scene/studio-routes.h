/* The way that each wire takes: a curve where nothing lies between its ends, else round the cards.
 *
 * A way is found for each wire by itself (routes-search.c), from the cards of a region that is kept with it; wires that
 * run beside each other are then given lanes (routes-lanes.c). So a card that moves changes only the ways whose region
 * it leaves or enters, and what comes out is the same as from scratch. */
#pragma once

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

typedef struct
{
  guint n_pieces;
  const StudioCurve *piece; /* end to end, from the output to the input; a straight piece has its controls on it */
  StudioRect bounds;
  gboolean routed; /* round cards; else the plain curve */
} StudioRoute;

StudioRoutes *studio_routes_new (void);
void studio_routes_free (StudioRoutes *self);
/* TRUE: every wire in right angles. */
void studio_routes_set_right_angles (StudioRoutes *self, gboolean on);
gboolean studio_routes_get_right_angles (const StudioRoutes *self);
/* How many wires were looked for since the routes were made: what moving a card costs. */
guint studio_routes_n_searched (const StudioRoutes *self);

/* One for each wire of the scene, as its cards lie now. Valid until a card moves or the scene goes. */
const StudioRoute *studio_scene_routes (const StudioScene *scene);
/* For the next version of a graph: what was found for one scene is a start for another (transfer full, both). */
StudioRoutes *studio_scene_steal_routes (StudioScene *scene);
void studio_scene_set_routes (StudioScene *scene, StudioRoutes *routes);

gboolean studio_curve_is_straight (const StudioCurve *curve);
double studio_route_distance (const StudioRoute *route, double x, double y);
/* The point at this share of the length. */
void studio_route_at (const StudioRoute *route, double share, double *x, double *y);
/* Whether any of it lies within the rectangle. */
gboolean studio_route_meets (const StudioRoute *route, const StudioRect *rect);

/* How the shape of a wire is written: on one line where there is room. */
typedef enum
{
  STUDIO_PILL_LINE,
  STUDIO_PILL_TWO_LINES,
  STUDIO_PILL_COLUMN /* one size a line */
} StudioPillForm;
#define STUDIO_N_PILL_FORMS 3

typedef struct
{
  StudioPillForm form;
  StudioRect rect; /* of width 0: there is no room, or it stands on another wire of its output, which runs here, too */
} StudioPill;

/* label: a shape and, where its tensor is copied to another device, behind tabulators the way and the bytes. NULL where
 * it has no such form. (transfer full) */
char *studio_pill_text (const char *label, StudioPillForm form);
/* The size of a label in a form, in canvas units; FALSE where it has none. */
typedef gboolean (*StudioPillSize) (const char *label, StudioPillForm form, double *width, double *height,
                                    gpointer data);
/* Where the shapes of wires stand, one for each wire; found anew when cards move or key, which says what text is like,
 * is another. */
const StudioPill *studio_scene_pills (const StudioScene *scene, guint key, StudioPillSize size, gpointer data);

G_END_DECLS
