/* The route of each wire: a curve if nothing is between its ends, else around the cards.
 *
 * Each wire is routed on its own (routes-search.c), considering only the cards of a region that is cached with it; then
 * parallel wires get tracks (routes-tracks.c). So moving a card changes only routes whose region it leaves or enters,
 * and the result is the same as from scratch. */
#pragma once

#include "ui/scene/studio-geometry.h"

typedef struct
{
  guint n_pieces;
  const StudioCurve *piece; /* from the output to the input; a straight piece has its control points on it */
  StudioRect bounds;
  gboolean routed; /* around cards; else a plain curve */
} StudioRoute;

StudioRoutes *studio_routes_new (void);
void studio_routes_free (StudioRoutes *self);
/* TRUE: all wires have right angles. */
void studio_routes_set_right_angles (StudioRoutes *self, gboolean on);
gboolean studio_routes_get_right_angles (const StudioRoutes *self);
/* The number of routes searched so far: the cost of moving a card. */
guint studio_routes_n_searched (const StudioRoutes *self);

/* One route per wire. Valid until a card moves or the scene is freed. */
const StudioRoute *studio_scene_routes (const StudioScene *scene);
/* Takes the routes of one scene for the next version of the graph (transfer full, both). */
StudioRoutes *studio_scene_steal_routes (StudioScene *scene);
void studio_scene_set_routes (StudioScene *scene, StudioRoutes *routes);

gboolean studio_curve_is_straight (const StudioCurve *curve);
double studio_route_distance (const StudioRoute *route, double x, double y);
/* The point at this fraction of the length. */
void studio_route_at (const StudioRoute *route, double share, double *x, double *y);
/* TRUE if a part of the route is in the rectangle. */
gboolean studio_route_intersects (const StudioRoute *route, const StudioRect *rect);

/* The layout of a shape label, on one line if there is space. */
typedef enum
{
  STUDIO_SHAPE_LABEL_LINE,
  STUDIO_SHAPE_LABEL_TWO_LINES,
  STUDIO_SHAPE_LABEL_COLUMN /* one dimension per line */
} StudioShapeLabelForm;
#define STUDIO_N_SHAPE_LABEL_FORMS 3

typedef struct
{
  StudioShapeLabelForm form;
  StudioRect rect; /* width 0: no space, or shown on another wire of the same output */
} StudioShapeLabel;

/* label: a shape and, if its tensor is copied to another device, tab-separated the direction and the bytes. NULL: the
 * label has no such form. (transfer full) */
char *studio_shape_label_text (const char *label, StudioShapeLabelForm form);
/* Measures a label in canvas units; FALSE: no such form. */
typedef gboolean (*StudioShapeLabelSize) (const char *label, StudioShapeLabelForm form, double *width, double *height,
                                          gpointer data);
/* The shape label of each wire, placed again when cards move or key, which identifies the text style, changes. */
const StudioShapeLabel *
studio_scene_shape_labels (const StudioScene *scene, guint key, StudioShapeLabelSize size, gpointer data);
