/* The figure that a card shows: the curve of an activation, the inside of a module, a sample of a data set.
 *
 * Figures are immutable data in units of their own, created once and shared: a scene holds references, and ui/drawing
 * draws them for canvas and files. */
#pragma once

#include "engine/loom.h"

typedef enum
{
  STUDIO_FIGURE_CURVE,  /* y over x, the points in order */
  STUDIO_FIGURE_INSIDE, /* cards and wires of a module */
  STUDIO_FIGURE_IMAGE,
  STUDIO_FIGURE_POINTS, /* points in a plane, grouped by class */
  STUDIO_FIGURE_WORDS   /* only the label: text or numbers */
} StudioFigureKind;

typedef struct
{
  float x, y;
  int group;
} StudioFigurePoint;

typedef struct
{
  float x, y, width, height; /* relative to the figure's width and height */
  int category;              /* LoomCategory; LOOM_N_CATEGORIES for a module */
} StudioFigureBox;

typedef struct
{
  StudioFigureKind kind;
  guint id; /* unique in the process; cached pictures use it as the key */
  guint n_points;
  StudioFigurePoint *point;
  float x0, x1, y0, y1; /* the range of the points */
  guint n_groups;       /* 0: the points have no classes */
  guint n_boxes, n_lines;
  StudioFigureBox *box;
  StudioFigurePoint *line; /* pairs of end points, relative to the figure's width and height */
  double aspect;           /* width / height of the inside */
  guint width, height;     /* of an image */
  guint8 *pixels;          /* red, green, blue; row major */
  char *label;             /* or NULL */
  gatomicrefcount refs;
} StudioFigure;

StudioFigure *studio_figure_new (StudioFigureKind kind);
StudioFigure *studio_figure_ref (StudioFigure *figure);
void studio_figure_unref (StudioFigure *figure);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (StudioFigure, studio_figure_unref)

/* The curve of an element-wise operator with the node's parameters, computed by the operator; NULL if it is not
 * element-wise (softmax). node may be NULL for the defaults. Cached by operator and parameters. */
StudioFigure *studio_figure_curve (const LoomOp *op, const LoomElement *node);

/* The inside of a module; the same figure as long as the definition is unchanged. */
StudioFigure *studio_figure_inside (const LoomGraph *graph, const LoomElement *definition);

/* The key of a data set node's sample: its options and the folder of relative paths. NULL: the operator is no data set.
 */
char *studio_figure_sample_key (const LoomElement *node, const char *folder);
/* Looks up the figure of this key; FALSE: not read yet. *figure (transfer full) is NULL if there are no data. */
gboolean studio_figure_sample_peek (const char *key, StudioFigure **figure);
/* A copy of the node for studio_figure_sample_read, which may go to another thread. */
LoomGraph *studio_figure_sample_graph (const LoomElement *node, const LoomGraph *graph);
/* The reason why the data of such a graph are not read for a picture: they are missing, too large, or outside the
 * graph's folder and not allowed; NULL if they may be read. */
const char *studio_figure_sample_refusal (const LoomGraph *alone);
/* Opens the data set and reads a sample; slow. The result is cached by the key, a failure only for a few seconds. */
StudioFigure *studio_figure_sample_read (const LoomGraph *alone, const char *key);
