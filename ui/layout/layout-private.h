/* The parts of a layered layout: boxes and wires without a scene, their layers, the order within a layer, and places.
 *
 * A frame is laid out by itself first and is then one box of the graph around it, so nothing here knows frames. */
#pragma once

#include "ui/layout/studio-layout.h"

G_BEGIN_DECLS

#define LAYOUT_NONE       G_MAXUINT
#define LAYOUT_CHANNEL    40.0 /* between two layers at least: room for a wire's way up or down, and its ports */
#define LAYOUT_ROW_GAP    28.0 /* between cards of one layer */
#define LAYOUT_GUTTER     56.0 /* between wrapped rows at least: wires go back here */
#define LAYOUT_LANE       12.0 /* what one more wire takes in a gutter or past a card */
#define LAYOUT_LANE_ASIDE 16.0 /* between a wire that passes and a card */

typedef struct
{
  double width, height;
} LayoutNode;

typedef struct
{
  guint from, to;
  double out, in;     /* the ports' heights below the corners of their boxes */
  guint lane;         /* the same for all wires of one output */
  gboolean is_second; /* leads to another input than the first: not the main stream */
} LayoutEdge;

typedef struct
{
  guint n_nodes, n_edges;
  LayoutNode *node;
  LayoutEdge *edge;
  double label;                   /* width that the widest shape on a wire would like between two layers */
  double cell_width, cell_height; /* of most boxes: what counts as one column, and as one row */
} LayoutGraph;

/* ---- layers (layout-layers.c, layout-wrap.c) ---- */

typedef struct
{
  guint n_layers;
  guint *layer;        /* of each node */
  guint *component;    /* of each node; components are numbered by their first node */
  guint n_components;  /* of more than one node */
  gboolean *is_back;   /* edges that would close a circle, which layers leave out */
  gboolean *main_node; /* on the longest way through the component */
  gboolean *main_edge;
} LayoutLayers;

/* spread: a source that feeds several cards which have weights of their own gets a layer to itself, so that its wires
 * pass above the weights instead of across them. */
void layout_layers_init (LayoutLayers *self, const LayoutGraph *graph, gboolean spread);
void layout_layers_clear (LayoutLayers *self);
/* Where the layers of one component are cut into rows of at most `columns` columns: row[layer]; returns how many rows.
 * lanes[layer] becomes the number of wires between this layer or an earlier one and a later one. */
guint layout_layers_wrap (const LayoutLayers *self, const LayoutGraph *graph, const guint *nodes, guint n,
                          guint columns, guint *row, guint *lanes);
/* The row and the column of each node: a weight whose reader begins a row leads that row, instead of ending the one
 * before. */
void layout_layers_settle (const LayoutLayers *self, const LayoutGraph *graph, const guint *nodes, guint n, guint rows,
                           const guint *row, guint *row_of, guint *column_of);

/* ---- a row: its boxes and passing wires, layer by layer (layout-order.c, layout-place.c) ---- */

typedef struct
{
  guint node; /* LAYOUT_NONE: a wire passes here */
  guint layer, position;
  double height, y;
} LayoutSpot;

typedef struct
{
  guint from, to; /* spots of adjacent layers */
  double out, in;
  double weight; /* how much it should be straight */
} LayoutSegment;

typedef struct
{
  guint n_layers, n_spots;
  LayoutSpot *spot;
  guint *first;      /* of each layer in order[]; one more at the end */
  guint *order;      /* spots by layer and place */
  GArray *segment;   /* LayoutSegment */
  guint *first_left; /* segments by their `to`, and by their `from` */
  guint *left, *first_right, *right;
  guint64 crossings;
} LayoutRow;

/* Those of the nodes that have row_of[node] == which. */
LayoutRow *layout_row_new (const LayoutGraph *graph, const LayoutLayers *layers, const guint *nodes, guint n,
                           const guint *row_of, const guint *column_of, guint which);
void layout_row_free (LayoutRow *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LayoutRow, layout_row_free)
/* Orders each layer so that few segments cross. */
void layout_row_order (LayoutRow *self);
/* Sets each spot's y, the topmost at 0, and returns the height. */
double layout_row_place (LayoutRow *self);

/* ---- all of it (layout-graph.c) ---- */

/* The best shape for a canvas of width × height pixels: x, y of each node, and the size of the whole. Returns
 * what speaks against it: what would be half a step of zoom, or four rows, is worth 0.5 or so. */
double layout_graph (const LayoutGraph *graph, double width, double height, double *x, double *y, double *whole_width,
                     double *whole_height);

double layout_snap_up (double v);

/* ---- what is no box (layout-aside.c) ---- */

/* Notes and empty frames, which keep their place beside the card that was nearest where that one moves (chosen[item];
 * NULL: all do), or the nearest free place to it. */
void layout_place_anchored (const StudioScene *scene, const gboolean *chosen, const guint *anchored, guint n_anchored,
                            StudioLayout *layout);
/* Where a part of this size that was chosen goes: to its old corner, or near it where it would hide what stays. */
void layout_corner_of_part (const StudioScene *scene, const gboolean *chosen, double width, double height, double *x,
                            double *y);

G_END_DECLS
