/* Draws a confusion matrix: rows are classes, columns are predictions. It is no widget, so that the same drawing serves
 * the screen and reports. */
#pragma once

#include <pango/pangocairo.h>

#include "engine/loom.h"

typedef struct
{
  const LoomConfusion *is;
  const char *const *names; /* of the classes; NULL, or too few: numbers */
  gboolean share;           /* cells have the fraction of their class's samples in place of counts */
  PangoContext *context;
  double scale; /* of text */
  double ink;   /* of text: 0 black, 1 white */
} ConfusionDrawing;

/* The square of the cells in a picture, in pixels. */
typedef struct
{
  double x, y, side, cell;
} ConfusionCells;

/* (transfer full) */
char *confusion_drawing_name (const ConfusionDrawing *d, guint k);
/* The fraction of a row's samples that are in a cell. */
double confusion_drawing_share (const LoomConfusion *is, guint row, guint column);
/* The height of a picture of this width. */
double confusion_drawing_height (const ConfusionDrawing *d, double width);
ConfusionCells confusion_drawing_fit (const ConfusionDrawing *d, double width, double height);
void confusion_drawing_draw (const ConfusionDrawing *d, const ConfusionCells *cells, cairo_t *cr);
