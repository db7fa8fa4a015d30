/* The vtable of a pin kind: how the value of a pinned tensor is drawn.
 *
 * A kind is one entry of the table in studio-pin-kind.c and draws with Cairo alone, so that the same drawing serves the
 * screen and files. The view (studio-pin-view.c), the graph's <view> and the tests use kinds only through this struct.
 */
#pragma once

#include "ui/pins/pin-paint.h"
#include "ui/pins/pin-subject.h"

typedef struct
{
  const char *name;  /* the attribute kind="…" of a <pin>; unique */
  const char *title; /* in the menu; marked for translation */
  int width, height; /* of a new pin, in pixels */
  double lines;      /* of text in the picture: larger text makes it higher by these */
  /* How well this kind suits a tensor: 0 not at all, 9 best. A new pin has the best kind, of equals the first. */
  int (*fits) (const PinSubject *subject);
  /* (optional) What the worker computes from the whole tensor, in place of its cells: "bins:", "norm:". */
  const char *summary;
  /* Number of last axes that are drawn at once, 1 to 4; one element of each other axis is chosen. */
  guint n_whole;
  gboolean chooses_tile; /* the axis before the last two is drawn whole, and one of its elements is chosen as well */
  gboolean remembers;    /* draws the values of earlier steps, too */
  gboolean draws_plane;  /* draws the samples and predictions of the task */
  gboolean has_colors;   /* draws with a range of colours, so that linear, log and row scale differ */
  void (*draw) (const PinDrawing *d);
  /* (optional) The cell at a point, -1: none; and its place. A cell is an index of the values, or of the steps of a
   * kind that remembers. */
  gint64 (*cell_at) (const PinDrawing *d, double x, double y);
  gboolean (*cell_rect) (const PinDrawing *d, gsize cell, PinRect *rect);
  /* (optional) The number of cells that are not those of the values, and of those in a row. */
  gsize (*n_cells) (const PinDrawing *d, gsize *across);
  /* (optional) The element at a point of a kind that chooses_tile; -1: none. */
  gint64 (*tile_at) (const PinDrawing *d, double x, double y);
  /* (optional) What a screen reader says of the picture, and of a cell; there are words for cells of any tensor.
   * (transfer full) */
  char *(*describe) (const PinDrawing *d);
  char *(*describe_cell) (const PinDrawing *d, gsize cell);
  /* (optional) What is drawn as CSV, if it is not the values. (transfer full) */
  char *(*to_csv) (const PinDrawing *d);
  /* (optional) Names of the values that are remembered, for the header of a CSV file; bins follow. */
  const char *const *columns;
} StudioPinKind;

guint studio_pin_n_kinds (void);
const StudioPinKind *studio_pin_kind (guint i);
/* By name. NULL and unknown names return the kind that accepts any tensor. */
const StudioPinKind *studio_pin_kind_find (const char *name);
/* The kinds that suit a tensor, the best first. (transfer container) */
GPtrArray *studio_pin_kinds_for (const PinSubject *subject);

/* The number of cells of a drawing, and the number of cells in a row. */
gsize studio_pin_n_cells (const StudioPinKind *kind, const PinDrawing *d);
gsize studio_pin_cells_across (const StudioPinKind *kind, const PinDrawing *d);
/* "channel 3, row 1, column 2: 0.25 · conv1[0, 2, 0, 1]". (transfer full) */
char *studio_pin_describe_cell (const StudioPinKind *kind, const PinDrawing *d, gsize cell);
/* "3 rows, 4 columns, from 0 to 1". (transfer full) */
char *studio_pin_describe (const StudioPinKind *kind, const PinDrawing *d);
