/* Kinds that draw cells as colours: a matrix, the channels of a picture, the kernels of a convolution, the weights of
 * units that see a picture. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/heat-map-labels.h"
#include "ui/pins/pin-kinds.h"

static PinRect
above_legend (const PinDrawing *d)
{
  PinRect room = d->room;

  room.height = MAX (1, room.height - pin_legend_height (d));
  return room;
}

/* ---- matrix ------------------------------------------------------------- */

static int
matrix_fits (const PinSubject *subject)
{
  return subject->rank == 0 ? 1 : 3;
}

/* Labels are set by the view's value; the words of the layout are those signs that heat maps use. */
static HeatMapCells
matrix_cells (const PinDrawing *d, HeatMapLabels *labels)
{
  const PinRect room = above_legend (d);
  const PinValue *v = d->value;

  heat_map_labels_set (labels, (const char *const *)v->row_labels, (const char *const *)v->column_labels);
  HeatMapCells cells = heat_map_labels_fit (labels, d->context, d->scale, (guint)pin_value_rows (v),
                                            (guint)pin_value_columns (v), room.width, room.height);
  return cells;
}

static PinRect
matrix_at (const PinDrawing *d, const HeatMapCells *cells)
{
  return (PinRect){ d->room.x + cells->x, d->room.y + cells->y, cells->width, cells->height };
}

static void
matrix_paint (const PinDrawing *d, const PinRect *at, const float *values, gsize rows, gsize columns,
              const PinRange *range)
{
  g_autofree guint32 *pixels = g_new (guint32, rows * columns);

  for (gsize r = 0; r < rows; r++)
    {
      const PinRange own
          = range->scale == PIN_SCALE_ROW ? pin_range (values + r * columns, columns, PIN_SCALE_ROW) : *range;
      for (gsize c = 0; c < columns; c++)
        pixels[r * columns + c] = pin_range_color (&own, values[r * columns + c]);
    }
  pin_image (d, at, rows, columns, pixels);
}

static void
matrix_draw (const PinDrawing *d)
{
  const PinValue *v = d->value;
  const PinRange range = pin_range (v->values, v->n_values, d->colors);
  HeatMapLabels labels = { 0 };
  const HeatMapCells cells = matrix_cells (d, &labels);
  const PinRect at = matrix_at (d, &cells);

  cairo_save (d->cr);
  cairo_translate (d->cr, d->room.x, d->room.y);
  pin_ink (d, 0.8);
  heat_map_labels_draw (&labels, d->context, &cells, (guint)pin_value_rows (v), (guint)pin_value_columns (v), d->cr);
  cairo_restore (d->cr);
  heat_map_labels_clear (&labels);
  matrix_paint (d, &at, v->values, pin_value_rows (v), pin_value_columns (v), &range);
  pin_legend (d, &range);
}

static gboolean
matrix_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  HeatMapLabels labels = { 0 };
  const HeatMapCells cells = matrix_cells (d, &labels);
  const PinRect at = matrix_at (d, &cells);
  const gsize columns = pin_value_columns (d->value), rows = pin_value_rows (d->value);

  heat_map_labels_clear (&labels);
  *rect = (PinRect){ at.x + at.width / (double)columns * (double)(cell % columns),
                     at.y + at.height / (double)rows * (double)(cell / columns), at.width / (double)columns,
                     at.height / (double)rows };
  return TRUE;
}

static gint64
matrix_cell_at (const PinDrawing *d, double x, double y)
{
  HeatMapLabels labels = { 0 };
  const HeatMapCells cells = matrix_cells (d, &labels);
  const PinRect at = matrix_at (d, &cells);
  const double column = (x - at.x) / at.width * (double)pin_value_columns (d->value);
  const double row = (y - at.y) / at.height * (double)pin_value_rows (d->value);

  heat_map_labels_clear (&labels);
  if (!(column >= 0 && row >= 0 && column < (double)pin_value_columns (d->value)
        && row < (double)pin_value_rows (d->value)))
    return -1;
  return (gint64)row * (gint64)pin_value_columns (d->value) + (gint64)column;
}

const StudioPinKind pin_matrix = {
  .name = "heatmap",
  .title = N_ ("Matrix"),
  .width = 176,
  .height = 176,
  .lines = 1.4,
  .fits = matrix_fits,
  .n_whole = 2,
  .has_colors = TRUE,
  .draw = matrix_draw,
  .cell_at = matrix_cell_at,
  .cell_rect = matrix_cell_rect,
};

/* ---- tiles ---------------------------------------------------------------- */

/* The side of the picture that a unit with this number of inputs sees; 0: none. */
static gsize
side_of (gint64 inputs)
{
  const gsize side = (gsize)lround (sqrt ((double)MAX (inputs, 0)));

  return side >= 3 && (gint64)(side * side) == inputs ? side : 0;
}

/* Of four dimensions, a row of tiles for each element of the first; of three, as fits best; of two, the row of each
 * unit as the picture that it sees. */
static PinTiles
tiles_of (const PinDrawing *d)
{
  const PinRect room = above_legend (d);
  const PinValue *v = d->value;
  const gsize side = v->rank == 2 ? side_of (v->dims[1]) : 0;
  const gsize across = v->rank >= 4 && v->dims[v->rank - 3] > 1 ? (gsize)v->dims[v->rank - 3] : 0;

  if (side > 0)
    return pin_tiles_fit (v->n_values / (side * side), side, side, 0, &room);
  return pin_tiles_fit (pin_value_tiles (v), pin_value_rows (v), pin_value_columns (v), across, &room);
}

static void
tiles_draw (const PinDrawing *d)
{
  const PinTiles tiles = tiles_of (d);
  const PinRange range = pin_range (d->value->values, d->value->n_values, d->colors);

  pin_tiles_draw (d, &tiles, d->value->values, &range);
  pin_legend (d, &range);
}

static gint64
tiles_cell_at (const PinDrawing *d, double x, double y)
{
  const PinTiles tiles = tiles_of (d);

  return pin_tiles_at (&tiles, x, y);
}

static gboolean
tiles_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  const PinTiles tiles = tiles_of (d);

  *rect = pin_tiles_cell (&tiles, cell);
  return TRUE;
}

static int
montage_fits (const PinSubject *subject)
{
  if (subject->is_weight || subject->is_attention || subject->rank < 3)
    return 0;
  return subject->rank - subject->n_loops >= 4 ? 7 : 2;
}

static int
kernels_fits (const PinSubject *subject)
{
  return subject->is_weight && subject->rank >= 4 ? 8 : 0;
}

static int
units_fits (const PinSubject *subject)
{
  return subject->is_weight && !subject->is_embedding && subject->rank == 2 && side_of (subject->dims[1]) > 0 ? 6 : 0;
}

#define TILES(NAME, TITLE, FITS, WHOLE)                                                                                \
  {                                                                                                                    \
    .name = NAME, .title = TITLE, .width = 176, .height = 200, .lines = 1.4, .fits = FITS, .n_whole = WHOLE,           \
    .has_colors = TRUE, .draw = tiles_draw, .cell_at = tiles_cell_at, .cell_rect = tiles_cell_rect                     \
  }

const StudioPinKind pin_montage = TILES ("montage", N_ ("Channels"), montage_fits, 3);
const StudioPinKind pin_kernels = TILES ("kernels", N_ ("Kernels"), kernels_fits, 4);
const StudioPinKind pin_units = TILES ("weights", N_ ("Weights of units"), units_fits, 2);
