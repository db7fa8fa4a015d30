/* Where cards go when nobody says where: a layered layout for the shape of a canvas, a place for one more card, and
 * lines that cards are brought onto. Arithmetic on a scene; nothing here changes one, and nothing is random, so that
 * arranging twice changes nothing. */
#pragma once

#include "ui/scene/studio-geometry.h"

G_BEGIN_DECLS

/* The canvas of a new window between its panes, for a layout that no canvas asked for. */
#define STUDIO_LAYOUT_WIDTH  720.0
#define STUDIO_LAYOUT_HEIGHT 640.0
/* The least zoom at which the text of a card is still read. */
#define STUDIO_LAYOUT_READABLE 0.7

/* The direction that a layout is to have. */
typedef enum
{
  STUDIO_LAYOUT_AUTOMATIC, /* the one that suits the canvas; what a graph says is kept while it can be read so */
  STUDIO_LAYOUT_KEEP,      /* the scene's */
  STUDIO_LAYOUT_RIGHT,
  STUDIO_LAYOUT_DOWN
} StudioLayoutDirection;
/* "auto", "right" or "down"; FALSE for anything else. */
gboolean studio_layout_parse_direction (const char *name, StudioLayoutDirection *direction);

typedef struct
{
  StudioFlow flow;
  gboolean stated;        /* the direction was asked for, and is written down for that */
  double *x, *y;          /* of each item */
  StudioRect *annotation; /* of each frame and note */
} StudioLayout;

/* For a canvas of width × height pixels: the layers from left to right, cut into rows where they would become too small
 * to read in one, or from top to bottom, cut into columns. Weights and targets stand before their reader; what stands
 * in a frame stays in it, with what lies on the way between; notes stay beside the card that they stood beside. chosen:
 * NULL for everything, else those items alone move, to where their upper left corner was or near it, and hide no other
 * card; they keep the scene's direction.
 */
StudioLayout *studio_layout_new (const StudioScene *scene, const gboolean *chosen, double width, double height,
                                 StudioLayoutDirection direction);
void studio_layout_free (StudioLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioLayout, studio_layout_free)
/* Gives the items that the file has no place for the places of a layout. */
void studio_layout_fill (StudioScene *scene);
/* The corner of a card of this size that is to stand behind `beside` (or before it), in the direction of the graph.
 * across: its y, or its x in a graph that runs down. Whatever is in the way moves on in that direction: by[] of each
 * item, all 0 where there is room. Nothing else moves. */
void studio_layout_place_new (const StudioScene *scene, guint beside, gboolean before, double width, double height,
                              double across, double *x, double *y, double *by);
/* Computes how far items move so that `more` units of height can hang on an item besides what does: by[] of each item,
 * downwards, or to the right where the graph runs down and things hang there. */
void studio_layout_make_room (const StudioScene *scene, guint item, double more, double *by);
/* Appends the edits that take a collapsed frame to this corner, with all that it stands for (LoomEdit). */
void
studio_layout_move_frame (GPtrArray *edits, const LoomElement *scope, const LoomElement *frame, double x, double y);
/* The edits that bring the layout into the graph that the scene was made from: LoomEdit, to be applied in order (the
 * caller takes them out, or frees the array). Empty where everything stands there already. */
GPtrArray *studio_layout_edits (const LoomGraph *graph, const LoomElement *scope, const StudioScene *scene,
                                const StudioLayout *layout);
char *studio_layout_coordinate (double v); /* as a file writes it */
/* The zoom at which all of it fits into a canvas of width × height pixels, at most 1. */
double studio_layout_zoom (double whole_width, double whole_height, double width, double height);

G_END_DECLS
