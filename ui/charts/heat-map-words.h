/* Words beside the rows and above the columns of a heat map: how much room they take, and their drawing. */
#pragma once

#include "ui/charts/studio-heat-map.h"

G_BEGIN_DECLS

typedef struct
{
  char **rows, **columns; /* as they are drawn; NULL: none */
} HeatMapWords;

/* Copies both; either may be NULL. White space, padding and the end of a sequence become signs. */
void heat_map_words_set (HeatMapWords *self, const char *const *rows, const char *const *columns);
void heat_map_words_clear (HeatMapWords *self);
/* The word of one row or column of n; NULL where there is none. */
const char *heat_map_word (char *const *words, guint n, guint i);

/* Where cells lie in a picture, in pixels, and how the words around them are set. */
typedef struct
{
  double x, y, width, height;
  double row_scale, column_scale;  /* of the 11 pixels of a chart's words; 0: no words */
  guint row_stride, column_stride; /* each so-manieth word has room */
  gboolean turned;                 /* the columns' words stand upright */
} HeatMapCells;

/* Divides a picture of width × height whose text has this scale. */
HeatMapCells heat_map_words_fit (const HeatMapWords *self, PangoContext *context, double scale, guint rows,
                                 guint columns, double width, double height);
/* Draws the words with the source that cr has. */
void heat_map_words_draw (const HeatMapWords *self, PangoContext *context, const HeatMapCells *cells, guint rows,
                          guint columns, cairo_t *cr);

/* What the rows and columns of a map stand for, copied; NULL: nothing. They are written beside maps that have as many
 * rows and columns, as many of them as there is room for, into the CSV file, and into the tooltip of a cell. */
void studio_heat_map_set_words (StudioHeatMap *self, const char *const *rows, const char *const *columns);

G_END_DECLS
