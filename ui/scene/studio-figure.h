/* The figure that a card shows of its node beside words: the curve of an activation, the inside of a module, a sample
 * of a data set.
 *
 * Figures are plain data in units of their own, made once and shared: a scene holds references, and
 * ui/drawing draws them for canvas and file alike. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

typedef enum
{
  STUDIO_FIGURE_CURVE,  /* y over x, the points in order */
  STUDIO_FIGURE_INSIDE, /* cards and wires of a module */
  STUDIO_FIGURE_IMAGE,
  STUDIO_FIGURE_POINTS, /* samples in a plane, with their classes as groups */
  STUDIO_FIGURE_WORDS   /* the label alone: a piece of text, or numbers */
} StudioFigureKind;

typedef struct
{
  float x, y;
  int group;
} StudioFigurePoint;

typedef struct
{
  float x, y, width, height; /* in parts of the figure's width and height */
  int category;              /* LoomCategory; LOOM_N_CATEGORIES for a module */
} StudioFigureBox;

typedef struct
{
  StudioFigureKind kind;
  guint id; /* another one for each figure of the process: pictures of it are kept under this */
  guint n_points;
  StudioFigurePoint *point;
  float x0, x1, y0, y1; /* what the points lie in */
  guint n_groups;       /* 0: the points have no classes */
  guint n_boxes, n_lines;
  StudioFigureBox *box;
  StudioFigurePoint *line; /* pairs of ends, in parts of the figure's width and height */
  double aspect;           /* width / height of the inside */
  guint width, height;     /* of an image */
  guint8 *pixels;          /* red, green, blue; row by row */
  char *label;             /* or NULL */
  gatomicrefcount refs;
} StudioFigure;

StudioFigure *studio_figure_new (StudioFigureKind kind);
StudioFigure *studio_figure_ref (StudioFigure *figure);
void studio_figure_unref (StudioFigure *figure);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioFigure, studio_figure_unref)

/* The curve of an activation as its own operator computes it with the node's parameters; NULL where a number does not
 * become a number by itself (softmax). node may be NULL for the defaults. Kept by operator and parameters. */
StudioFigure *studio_figure_curve (const LoomOp *op, const LoomElement *node);
/* The function's value at x, between the points that are known. */
double studio_figure_curve_at (const StudioFigure *curve, double x);

/* The inside of a module. The same figure as long as its definition stays the same. */
StudioFigure *studio_figure_inside (const LoomGraph *graph, const LoomElement *definition);

/* The key of the sample of a data set's node: its options and the folder that its paths start at. NULL where the node's
 * operator gives none. */
char *studio_figure_sample_key (const LoomElement *node, const char *folder);
/* The figure that was read for this key; FALSE where none was tried. *figure (transfer full) is NULL where there is no
 * data. */
gboolean studio_figure_sample_peek (const char *key, StudioFigure **figure);
/* A copy of the node for studio_figure_sample_read, which may go to another thread. */
LoomGraph *studio_figure_sample_graph (const LoomElement *node, const LoomGraph *graph);
/* Why the data of such a graph are not read for a picture: they are not there, are too many, or lie outside the graph's
 * folder and were not agreed to; NULL where they may be. */
const char *studio_figure_sample_refusal (const LoomGraph *alone);
/* Opens the data set and reads; slow. The result is kept for the key; that it could not be read, for a few
 * seconds; that there is nothing, never. */
StudioFigure *studio_figure_sample_read (const LoomGraph *alone, const char *key);

G_END_DECLS
