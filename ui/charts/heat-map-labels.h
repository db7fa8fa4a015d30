/* Lays out and draws the labels next to the rows and above the columns of a heat map. */
#pragma once

#include <cairo.h>
#include <pango/pango.h>

typedef struct
{
  char **rows, **columns; /* as drawn; NULL: none */
} HeatMapLabels;

/* Copies both; either may be NULL. White space, padding and end-of-sequence tokens are shown as symbols. */
void heat_map_labels_set (HeatMapLabels *self, const char *const *rows, const char *const *columns);
void heat_map_labels_clear (HeatMapLabels *self);
/* The rectangle of the cells in a picture, in pixels, and the layout of the labels around it. */
typedef struct
{
  double x, y, width, height;
  double row_scale, column_scale;  /* relative to 11 pixels; 0: no labels */
  guint row_stride, column_stride; /* every n-th label is drawn */
  gboolean turned;                 /* column labels are upright */
} HeatMapCells;

/* Divides a picture of width × height; scale is that of its text. */
HeatMapCells heat_map_labels_fit (const HeatMapLabels *self, PangoContext *context, double scale, guint rows,
                                  guint columns, double width, double height);
/* Draws the labels with cr's source. */
void heat_map_labels_draw (const HeatMapLabels *self, PangoContext *context, const HeatMapCells *cells, guint rows,
                           guint columns, cairo_t *cr);
