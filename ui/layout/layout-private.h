/* The types and stages of the layered layout: boxes and wires without a scene, their layers, the order within a layer,
 * and coordinates.
 *
 * A frame is laid out first and is then one box of the graph around it, so these stages have no frames. */
#pragma once

#include "ui/layout/studio-layout.h"

#define LAYOUT_NONE        G_MAXUINT
#define LAYOUT_CHANNEL     40.0 /* minimum between two layers: space for vertical wires and ports */
#define LAYOUT_ROW_GAP     28.0 /* between cards of one layer */
#define LAYOUT_GUTTER      56.0 /* minimum between wrapped rows, where wires return */
#define LAYOUT_TRACK       12.0 /* space per wire in a gutter or past a card */
#define LAYOUT_TRACK_ASIDE 16.0 /* between a passing wire and a card */

typedef struct
{
  double width, height;
} LayoutNode;

typedef struct
{
  guint from, to;
  double out, in;     /* y of the ports relative to their boxes */
  guint track;        /* equal for all wires of one output */
  gboolean is_second; /* ends at another input than the first: not on the main path */
} LayoutEdge;

typedef struct
{
  guint n_nodes, n_edges;
  LayoutNode *node;
  LayoutEdge *edge;
  double label;                   /* desired width between two layers, for the widest shape label */
  double cell_width, cell_height; /* of most boxes: the size of one column and one row */
} LayoutGraph;

/* ---- layers (layout-layers.c, layout-wrap.c) ---- */

typedef struct
{
  guint n_layers;
  guint *layer;        /* of each node */
  guint *component;    /* of each node; components are numbered by their first node */
  guint n_components;  /* with more than one node */
  gboolean *is_back;   /* edges that would close a cycle; ignored */
  gboolean *main_node; /* on the longest path of the component */
  gboolean *main_edge;
} LayoutLayers;

/* spread: a source that feeds several cards with weights of their own gets a layer to itself, so that its wires pass
 * above the weights and do not cross them. */
void layout_layers_init (LayoutLayers *self, const LayoutGraph *graph, gboolean spread);
void layout_layers_clear (LayoutLayers *self);
/* Cuts the layers of a component into rows of at most `columns` columns: row[layer]; returns the number of rows.
 * tracks[layer] receives the number of wires between this layer or an earlier one and a later one. */
guint layout_layers_wrap (const LayoutLayers *self, const LayoutGraph *graph, const guint *nodes, guint n,
                          guint columns, guint *row, guint *tracks);
/* Computes the row and column of each node. A weight whose reader begins a row is put first in that row instead of last
 * in the row before. */
void layout_layers_settle (const LayoutLayers *self, const LayoutGraph *graph, const guint *nodes, guint n, guint rows,
                           const guint *row, guint *row_of, guint *column_of);

/* ---- one row: boxes and passing wires, by layer (layout-order.c, layout-place.c) ------------ */

typedef struct
{
  guint node; /* LAYOUT_NONE: a passing wire */
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
  guint *first;      /* [layers + 1] offsets into order */
  guint *order;      /* spots by layer and position */
  GArray *segment;   /* LayoutSegment */
  guint *first_left; /* segments by their `to`, and by their `from` */
  guint *left, *first_right, *right;
  guint64 crossings;
} LayoutRow;

/* A row with the nodes for which row_of[node] == which. */
LayoutRow *layout_row_new (const LayoutGraph *graph, const LayoutLayers *layers, const guint *nodes, guint n,
                           const guint *row_of, const guint *column_of, guint which);
void layout_row_free (LayoutRow *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LayoutRow, layout_row_free)
/* Orders each layer to reduce crossings. */
void layout_row_order (LayoutRow *self);
/* Sets each spot's y, the topmost at 0, and returns the height. */
double layout_row_place (LayoutRow *self);

/* ---- whole layout (layout-graph.c) ---- */

/* Computes x and y of each node for the best shape on a canvas of width × height pixels, and the size of the whole.
 * Returns the cost: about 0.5 for half a step of zoom, or for four rows. */
double layout_graph (const LayoutGraph *graph, double width, double height, double *x, double *y, double *whole_width,
                     double *whole_height);

double layout_snap_up (double v);

/* ---- notes and parts (layout-notes.c) ---- */

/* Places notes and empty frames next to the card that was nearest, if that card has moved (chosen[item]; NULL: all), or
 * at the nearest free position. */
void layout_place_anchored (const StudioScene *scene, const gboolean *chosen, const guint *anchored, guint n_anchored,
                            StudioLayout *layout);
/* Computes the corner of a chosen part of this size: its old corner, or one nearby where it covers no other card. */
void layout_corner_of_part (const StudioScene *scene, const gboolean *chosen, double width, double height, double *x,
                            double *y);
