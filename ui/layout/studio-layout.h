/* Where cards go when nobody says where: a layered layout for the shape of a canvas, a place for one more card, and
 * lines that cards are brought onto. Arithmetic on a scene; nothing here changes one, and nothing is random, so that
 * arranging twice changes nothing. */
#pragma once

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

/* The canvas of a new window between its panes, for a layout that no canvas asked for. */
#define STUDIO_LAYOUT_WIDTH  720.0
#define STUDIO_LAYOUT_HEIGHT 640.0
/* What the text of a card is still read at. */
#define STUDIO_LAYOUT_READABLE 0.7

typedef struct
{
  double *x, *y;          /* of each item */
  StudioRect *annotation; /* of each frame and note */
} StudioLayout;

/* For a canvas of width × height pixels: the layers from left to right, cut into rows where they would become too small
 * to read in one. Weights and targets stand before their reader; what stands in a frame stays in it, with what lies on
 * the way between; notes stay beside the card that they stood beside. chosen: NULL for everything, else those items
 * alone move, to where their upper left corner was or near it, and hide no other card. */
StudioLayout *studio_layout_new (const StudioScene *scene, const gboolean *chosen, double width, double height);
void studio_layout_free (StudioLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioLayout, studio_layout_free)
/* Gives the items that the file has no place for the places of a layout. */
void studio_layout_fill (StudioScene *scene);
/* The corner of a card of this size that is to stand behind `beside` (or before it), with one of its ports level with
 * port_y; whatever is in the way moves aside in its row: dx of each item, all 0 where there is room. Nothing else
 * moves. */
void studio_layout_place_new (const StudioScene *scene, guint beside, gboolean before, double width, double height,
                              double port_y, double *x, double *y, double *dx);
/* What brings the layout into the graph that the scene was made from: LoomEdit, to be applied in order (the caller
 * takes them out, or frees the array). Empty where everything stands there already. */
GPtrArray *studio_layout_edits (const LoomGraph *graph, const LoomElement *scope, const StudioScene *scene,
                                const StudioLayout *layout);
char *studio_layout_coordinate (double v); /* as a file writes it */
/* The zoom at which all of it fits into a canvas of width × height pixels, at most 1. */
double studio_layout_zoom (double whole_width, double whole_height, double width, double height);

G_END_DECLS
