/* Automatic positions of cards: a layered layout for the shape of a canvas, and a position for one new card. Arithmetic
 * on a scene, which is not changed; deterministic, so arranging twice changes nothing. */
#pragma once

#include "ui/scene/studio-geometry.h"

/* The canvas of a new window between its panes, for layouts without a canvas. */
#define STUDIO_LAYOUT_WIDTH  720.0
#define STUDIO_LAYOUT_HEIGHT 640.0
/* The minimum zoom at which the text of a card is readable. */
#define STUDIO_LAYOUT_READABLE 0.7

/* The direction of the layout. */
typedef enum
{
  STUDIO_LAYOUT_AUTOMATIC, /* the one that suits the canvas; the graph's direction is kept while it is readable */
  STUDIO_LAYOUT_KEEP,      /* the scene's */
  STUDIO_LAYOUT_RIGHT,
  STUDIO_LAYOUT_DOWN
} StudioLayoutDirection;
/* Parses "auto", "right" or "down"; FALSE for other words. */
gboolean studio_layout_parse_direction (const char *name, StudioLayoutDirection *direction);

typedef struct
{
  StudioFlow flow;
  gboolean stated;        /* the direction was requested, so it is written to the graph */
  double *x, *y;          /* of each item */
  StudioRect *annotation; /* of each frame and note */
} StudioLayout;

/* Lays out for a canvas of width × height pixels: layers from left to right, cut into rows if one row would be too
 * small to read, or from top to bottom, cut into columns. Weights and targets are before their reader; nodes stay in
 * their frame, with nodes on paths between them; notes stay next to their card. chosen: NULL for all, else only those
 * items move, to their old upper left corner or near it without covering other cards, in the scene's direction. */
StudioLayout *studio_layout_new (const StudioScene *scene, const gboolean *chosen, double width, double height,
                                 StudioLayoutDirection direction);
void studio_layout_free (StudioLayout *layout);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioLayout, studio_layout_free)
/* Gives items without a position in the file one from a layout. */
void studio_layout_fill (StudioScene *scene);
/* Computes the corner of a new card of this size after the item `anchor` (before: before it), in the direction of the
 * graph. across: its y, or its x in a graph that runs down. Cards in the way move on in that direction: by[] of each
 * item, all 0 if there is space. Nothing else moves. */
void studio_layout_place_new (const StudioScene *scene, guint anchor, gboolean before, double width, double height,
                              double across, double *x, double *y, double *by);
/* Computes how far items move so that `more` units of pins of this width fit under an item, or next to it if the graph
 * runs down: dx[] and dy[] of each item. */
void studio_layout_make_space (const StudioScene *scene, guint item, double more, double width, double *dx, double *dy);
/* Appends the edits that move a collapsed frame and its nodes to this corner (LoomEdit). */
void
studio_layout_move_frame (GPtrArray *edits, const LoomElement *scope, const LoomElement *frame, double x, double y);
/* Returns the edits (LoomEdit) that apply the layout to the graph of the scene, in order; the caller steals them or
 * frees the array. Empty: no change. */
GPtrArray *studio_layout_edits (const LoomGraph *graph, const LoomElement *scope, const StudioScene *scene,
                                const StudioLayout *layout);
char *studio_layout_coordinate (double v); /* as written in a file */
/* The zoom at which the whole fits into width × height pixels, at most 1. */
double studio_layout_zoom (double whole_width, double whole_height, double width, double height);
