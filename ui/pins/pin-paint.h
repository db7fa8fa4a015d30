/* Drawing that the kinds of pins share: text, the range of colours, images of cells, tiles, the legend. */
#pragma once

#include <pango/pangocairo.h>

#include "ui/pins/pin-value.h"

#define PIN_LINE 13.

typedef struct
{
  double x, y, width, height;
} PinRect;

/* How values become colours: all alike, by their logarithm, or each row by its own range. */
typedef enum
{
  PIN_SCALE_LINEAR,
  PIN_SCALE_LOG,
  PIN_SCALE_ROW,
  PIN_N_SCALES
} PinScale;

/* The words of a scale in <pin>: "linear", "log", "row". Unknown words are linear. */
const char *pin_scale_word (PinScale scale);
PinScale pin_scale_find (const char *word);

typedef struct
{
  PinValue *value;
  const PinHistory *history;
  PinScale colors;
  cairo_t *cr; /* NULL: measure only */
  PangoContext *context;
  double scale; /* of text */
  gboolean dark, vector;
  int caption_lines;
  PinRect room; /* between the caption and the lower edge */
  gint64 cell;  /* the one under the pointer or the cursor; -1: none */
} PinDrawing;

/* ---- text ---- */

/* The size of text. */
void pin_text_size (const PinDrawing *d, const char *text, double scale, double *width, double *height);
/* The scale of the smallest type, by which text is reduced before it is shortened. */
double pin_least_type (const PinDrawing *d);
/* TRUE if the text is at most as wide. */
gboolean pin_text_fits (const PinDrawing *d, const char *text, double most);
/* The scale of text that is reduced to `most` pixels, if the smallest type permits it. */
double pin_text_scale (const PinDrawing *d, const char *text, double scale, double most);
/* The same for two texts next to each other, which have one size. */
double pin_pair_scale (const PinDrawing *d, const char *a, const char *b, double most);
/* Text with its left, middle or right (align 0, 0.5, 1) at x and its middle at y, reduced and then shortened to `most`
 * pixels. */
void pin_text (const PinDrawing *d, const char *text, double x, double y, double align, double most, double alpha,
               double scale);
double pin_line (const PinDrawing *d); /* the height of a line of text, PIN_LINE at its default size */
void pin_ink (const PinDrawing *d, double alpha);
/* Space and line breaks as signs. */
const char *pin_token (const char *word);

/* ---- colours ---- */

typedef struct
{
  double least, most;
  gboolean is_signed; /* values of both signs: symmetric, and 0 is white */
  PinScale scale;
} PinRange;

/* The range of n values. */
PinRange pin_range (const float *values, gsize n, PinScale scale);
guint32 pin_range_color (const PinRange *range, double value); /* 0xffRRGGBB */
/* The accent colour of curves and bars; i: of the curve. */
void pin_curve_color (const PinDrawing *d, guint i, double alpha);
double pin_legend_height (const PinDrawing *d);
/* A bar of the colours between the numbers at its ends, at the lower edge of the room. */
void pin_legend (const PinDrawing *d, const PinRange *range);

/* ---- cells ---- */

/* An image of rows × columns pixels (0xAARRGGBB), enlarged without smoothing; rectangles in a file, so that it scales.
 */
void pin_image (const PinDrawing *d, const PinRect *at, gsize rows, gsize columns, const guint32 *pixels);
/* A frame around the marked cell. */
void pin_mark (const PinDrawing *d, const PinRect *at);

/* n pictures of rows × columns cells side by side, with a gap of one cell. */
typedef struct
{
  gsize n, rows, columns; /* of a tile */
  gsize across, down;     /* tiles of the grid */
  PinRect at;             /* of the whole grid */
  double width, height;   /* of a cell */
} PinTiles;

/* As large as fits into the room with square cells; across: 0: as fits best. */
PinTiles pin_tiles_fit (gsize n, gsize rows, gsize columns, gsize across, const PinRect *room);
void pin_tiles_draw (const PinDrawing *d, const PinTiles *tiles, const float *values, const PinRange *range);
PinRect pin_tiles_cell (const PinTiles *tiles, gsize cell);
PinRect pin_tiles_tile (const PinTiles *tiles, gsize tile);
gint64 pin_tiles_at (const PinTiles *tiles, double x, double y); /* -1: none */
/* The index of the tile at a point; -1: none. */
gint64 pin_tiles_tile_at (const PinTiles *tiles, double x, double y);
