/* Kinds for the weights of attention: all heads with one of them large, lines from targets to sources, arcs over one
 * sentence. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/heat-map-labels.h"
#include "ui/pins/pin-kinds.h"

/* The matrix of the chosen head, and its number. */
static const float *
chosen_head (const PinValue *v, gsize *head)
{
  const gsize n = pin_value_tiles (v);

  *head = v->rank >= 3 ? MIN ((gsize)MAX (v->index[pin_value_axis (v, 2)], 0), n - 1) : 0;
  return v->values + *head * pin_value_rows (v) * pin_value_columns (v);
}

static char *
token_or_number (const char *label, gsize i)
{
  return label != NULL ? g_strdup (pin_token (label)) : g_strdup_printf ("%zu", i + 1);
}

/* "“der” looks at “le”, weight 0.7": the strongest link. */
static char *
describe_strongest (const PinDrawing *d)
{
  const PinValue *v = d->value;
  const gsize columns = pin_value_columns (v), n = pin_value_rows (v) * columns;
  gsize head, best = 0;
  const float *weight = chosen_head (v, &head);

  for (gsize i = 0; i < n; i++)
    if (weight[i] > weight[best])
      best = i;
  g_autofree char *from = token_or_number (pin_value_row_label (v, best / columns), best / columns);
  g_autofree char *to = token_or_number (pin_value_column_label (v, best % columns), best % columns);
  return g_strdup_printf (_ ("%1$d heads; strongest of head %2$d: “%3$s” to “%4$s”, %5$.2f"), (int)pin_value_tiles (v),
                          (int)head + 1, from, to, weight[best]);
}

static int
attention_fits (const PinSubject *subject)
{
  return subject->is_attention ? 8 : 0;
}

static int
links_fits (const PinSubject *subject)
{
  return subject->is_attention ? 5 : 0;
}

/* ---- heads ------------------------------------------------------------------ */

/* Thumbnails of all heads above, the chosen one with tokens at both axes below. */
typedef struct
{
  PinTiles heads;
  PinRect large, cells;
  HeatMapCells labels;
} Heads;

static Heads
heads_of (const PinDrawing *d, HeatMapLabels *words)
{
  const PinValue *v = d->value;
  const gsize n = pin_value_tiles (v), rows = pin_value_rows (v), columns = pin_value_columns (v);
  PinRect room = d->room;
  Heads h = { 0 };

  room.height = MAX (1, room.height - pin_legend_height (d));
  h.large = room;
  if (n > 1)
    {
      /* In a wide room the heads are at the left. */
      const gboolean is_wide = room.width > 1.3 * room.height;
      PinRect few = is_wide ? (PinRect){ room.x, room.y, room.width * 0.26, room.height }
                            : (PinRect){ room.x, room.y, room.width, room.height * (n > 4 ? 0.3 : 0.24) };

      h.heads = pin_tiles_fit (n, rows, columns, 0, &few);
      if (is_wide)
        h.large = (PinRect){ few.x + few.width + 10, room.y, room.width - few.width - 10, room.height };
      else
        h.large = (PinRect){ room.x, few.y + few.height + 6, room.width, MAX (1, room.height - few.height - 6) };
    }
  heat_map_labels_set (words, (const char *const *)v->row_labels, (const char *const *)v->column_labels);
  h.labels
      = heat_map_labels_fit (words, d->context, d->scale, (guint)rows, (guint)columns, h.large.width, h.large.height);
  h.cells = (PinRect){ h.large.x + h.labels.x, h.large.y + h.labels.y, h.labels.width, h.labels.height };
  return h;
}

static void
heads_draw (const PinDrawing *d)
{
  const PinValue *v = d->value;
  const gsize rows = pin_value_rows (v), columns = pin_value_columns (v);
  const PinRange range = pin_range (v->values, v->n_values, d->colors);
  HeatMapLabels words = { 0 };
  const Heads h = heads_of (d, &words);
  gsize head;
  const float *chosen = chosen_head (v, &head);

  if (h.heads.n > 1)
    {
      const PinRect frame = pin_tiles_tile (&h.heads, head);

      pin_tiles_draw (d, &h.heads, v->values, &range);
      pin_mark (d, &frame);
    }
  cairo_save (d->cr);
  cairo_translate (d->cr, h.large.x, h.large.y);
  pin_ink (d, 0.8);
  heat_map_labels_draw (&words, d->context, &h.labels, (guint)rows, (guint)columns, d->cr);
  cairo_restore (d->cr);
  heat_map_labels_clear (&words);
  const PinTiles large = { .n = 1,
                           .rows = rows,
                           .columns = columns,
                           .across = 1,
                           .down = 1,
                           .at = h.cells,
                           .width = h.cells.width / (double)columns,
                           .height = h.cells.height / (double)rows };
  pin_tiles_draw (d, &large, chosen, &range);
  pin_legend (d, &range);
}

static gint64
heads_cell_at (const PinDrawing *d, double x, double y)
{
  const PinValue *v = d->value;
  const gsize rows = pin_value_rows (v), columns = pin_value_columns (v);
  HeatMapLabels words = { 0 };
  const Heads h = heads_of (d, &words);
  const double column = (x - h.cells.x) / h.cells.width * (double)columns;
  const double row = (y - h.cells.y) / h.cells.height * (double)rows;
  gsize head;

  heat_map_labels_clear (&words);
  chosen_head (v, &head);
  if (!(column >= 0 && row >= 0 && column < (double)columns && row < (double)rows))
    return h.heads.n > 1 ? pin_tiles_at (&h.heads, x, y) : -1;
  return (gint64)((head * rows + (gsize)row) * columns + (gsize)column);
}

static gboolean
heads_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  const PinValue *v = d->value;
  const gsize rows = pin_value_rows (v), columns = pin_value_columns (v), tile = cell / (rows * columns);
  HeatMapLabels words = { 0 };
  const Heads h = heads_of (d, &words);
  gsize head;

  heat_map_labels_clear (&words);
  chosen_head (v, &head);
  if (tile != head && h.heads.n > 1)
    *rect = pin_tiles_cell (&h.heads, cell);
  else
    *rect = (PinRect){ h.cells.x + h.cells.width / (double)columns * (double)(cell % columns),
                       h.cells.y + h.cells.height / (double)rows * (double)(cell / columns % rows),
                       h.cells.width / (double)columns, h.cells.height / (double)rows };
  return TRUE;
}

static gint64
heads_tile_at (const PinDrawing *d, double x, double y)
{
  HeatMapLabels words = { 0 };
  const Heads h = heads_of (d, &words);

  heat_map_labels_clear (&words);
  return h.heads.n > 1 ? pin_tiles_tile_at (&h.heads, x, y) : -1;
}

const StudioPinKind pin_heads = {
  .name = "attention",
  .title = N_ ("Attention heads"),
  .width = 240,
  .height = 260,
  .lines = 1.4,
  .fits = attention_fits,
  .n_whole = 3,
  .chooses_tile = TRUE,
  .has_colors = TRUE,
  .draw = heads_draw,
  .cell_at = heads_cell_at,
  .cell_rect = heads_cell_rect,
  .tile_at = heads_tile_at,
  .describe = describe_strongest,
};

/* ---- lines between tokens --------------------------------------------------------- */

#define LEAST_WEIGHT 0.04 /* of the greatest; thinner lines only darken the picture */

/* The greatest weight of the chosen head. */
static double
greatest (const PinValue *v, const float *weight)
{
  double most = 0;

  for (gsize i = 0; i < pin_value_rows (v) * pin_value_columns (v); i++)
    if (isfinite (weight[i]))
      most = MAX (most, fabs (weight[i]));
  return most > 0 ? most : 1;
}

/* Sets the source for a weight; FALSE: too thin to draw. Of other targets than the marked one, a trace remains. */
static gboolean
set_link (const PinDrawing *d, double weight, double most, gsize row)
{
  const gsize columns = pin_value_columns (d->value), rows = pin_value_rows (d->value);
  const double w = fabs (weight) / most;
  const gboolean is_other = d->cell >= 0 && (gsize)d->cell / columns % rows != row;

  if (!isfinite (w) || w < LEAST_WEIGHT)
    return FALSE;
  cairo_set_line_width (d->cr, (0.5 + 3 * w) * d->scale);
  pin_curve_color (d, weight < 0 ? 1 : 0, (0.15 + 0.8 * w) * (is_other ? 0.12 : 1));
  return TRUE;
}

/* ---- threads: targets at the left, sources at the right ------------------------------ */

static double
spot (const PinRect *room, gsize i, gsize n)
{
  return room->y + room->height * ((double)i + 0.5) / (double)n;
}

static double
words_width (const PinDrawing *d, gboolean targets, double size, gsize stride)
{
  const PinValue *v = d->value;
  double widest = 0;

  for (gsize i = 0; i < (targets ? pin_value_rows (v) : pin_value_columns (v)); i += stride)
    {
      g_autofree char *word = token_or_number (targets ? pin_value_row_label (v, i) : pin_value_column_label (v, i), i);
      double width;

      pin_text_size (d, word, size, &width, NULL);
      widest = MAX (widest, width);
    }
  return MIN (widest, d->room.width * 0.36);
}

/* Text shrinks until the words of both sides are apart, and then only every second, third … is drawn. */
static double
words_size (const PinDrawing *d, gsize n, double room, gsize *stride)
{
  const double fitting = CLAMP (room / (double)n / pin_line (d), 0.62, 1);

  *stride = (gsize)MAX (1, ceil (fitting * pin_line (d) * (double)n / MAX (room, 1) - 0.01));
  return fitting;
}

static void
threads_draw (const PinDrawing *d)
{
  const PinValue *v = d->value;
  const gsize rows = pin_value_rows (v), columns = pin_value_columns (v);
  gsize head, stride;
  const float *weight = chosen_head (v, &head);
  const double most = greatest (v, weight), size = words_size (d, MAX (rows, columns), d->room.height, &stride);
  const double left = d->room.x + words_width (d, TRUE, size, stride) + 4;
  const double right = d->room.x + d->room.width - words_width (d, FALSE, size, stride) - 4,
               middle = (left + right) / 2;

  for (gsize r = 0; r < rows; r++)
    for (gsize c = 0; c < columns; c++)
      if (set_link (d, weight[r * columns + c], most, r))
        {
          cairo_move_to (d->cr, left, spot (&d->room, r, rows));
          cairo_curve_to (d->cr, middle, spot (&d->room, r, rows), middle, spot (&d->room, c, columns), right,
                          spot (&d->room, c, columns));
          cairo_stroke (d->cr);
        }
  for (gsize r = 0; r < rows; r += stride)
    {
      g_autofree char *word = token_or_number (pin_value_row_label (v, r), r);
      pin_text (d, word, left - 4, spot (&d->room, r, rows), 1, left - d->room.x, 0.9, size);
    }
  for (gsize c = 0; c < columns; c += stride)
    {
      g_autofree char *word = token_or_number (pin_value_column_label (v, c), c);
      pin_text (d, word, right + 4, spot (&d->room, c, columns), 0, d->room.x + d->room.width - right, 0.9, size);
    }
}

static gint64
row_cell (const PinDrawing *d, gsize row, gsize column)
{
  gsize head;

  chosen_head (d->value, &head);
  return (gint64)((head * pin_value_rows (d->value) + row) * pin_value_columns (d->value) + column);
}

/* The strongest link of the target next to the pointer. */
static gint64
strongest_of (const PinDrawing *d, gsize row)
{
  const gsize columns = pin_value_columns (d->value);
  gsize head, best = 0;
  const float *weight = chosen_head (d->value, &head) + row * columns;

  for (gsize c = 0; c < columns; c++)
    if (weight[c] > weight[best])
      best = c;
  return row_cell (d, row, best);
}

static gint64
threads_cell_at (const PinDrawing *d, double x, double y)
{
  const double row = (y - d->room.y) / d->room.height * (double)pin_value_rows (d->value);

  return row >= 0 && row < (double)pin_value_rows (d->value) ? strongest_of (d, (gsize)row) : -1;
}

const StudioPinKind pin_threads = {
  .name = "threads",
  .title = N_ ("Threads between sentences"),
  .width = 240,
  .height = 260,
  .lines = 2,
  .fits = links_fits,
  .n_whole = 3,
  .chooses_tile = TRUE,
  .draw = threads_draw,
  .cell_at = threads_cell_at,
  .describe = describe_strongest,
};

/* ---- arcs over one sentence ---------------------------------------------------------- */

static double
arcs_base (const PinDrawing *d)
{
  return d->room.y + d->room.height - 4.5 * pin_line (d);
}

static double
arcs_x (const PinDrawing *d, gsize i)
{
  const gsize n = MAX (pin_value_rows (d->value), pin_value_columns (d->value));

  return d->room.x + d->room.width * ((double)i + 0.5) / (double)n;
}

static void
draw_upright (const PinDrawing *d, const char *word, double x, double y, double most, double size)
{
  cairo_save (d->cr);
  cairo_translate (d->cr, x, y);
  cairo_rotate (d->cr, -G_PI / 2);
  pin_text (d, word, 0, 0, 1, most, 0.9, size);
  cairo_restore (d->cr);
}

static void
arcs_draw (const PinDrawing *d)
{
  const PinValue *v = d->value;
  const gsize rows = pin_value_rows (v), columns = pin_value_columns (v), n = MAX (rows, columns);
  const double base = MAX (d->room.y + 4, arcs_base (d)), high = base - d->room.y - 4;
  gsize head, stride;
  const float *weight = chosen_head (v, &head);
  const double most = greatest (v, weight), size = words_size (d, n, d->room.width, &stride);

  for (gsize r = 0; r < rows; r++)
    for (gsize c = 0; c < columns; c++)
      {
        const double a = arcs_x (d, r), b = arcs_x (d, c), reach = fabs (b - a) / d->room.width;

        if (!set_link (d, weight[r * columns + c], most, r))
          continue;
        cairo_new_path (d->cr);
        if (r == c)
          cairo_arc (d->cr, a, base - 4, 3 * d->scale, 0, 2 * G_PI);
        else
          {
            /* A curve reaches three quarters of the height of its handles. */
            const double top = base - 4 / 3. * high * (0.12 + 0.88 * reach);

            cairo_move_to (d->cr, a, base);
            cairo_curve_to (d->cr, a, top, b, top, b, base);
          }
        cairo_stroke (d->cr);
      }
  for (gsize i = 0; i < n; i += stride)
    {
      const char *label = pin_value_row_label (v, i);
      g_autofree char *word = token_or_number (label != NULL ? label : pin_value_column_label (v, i), i);
      draw_upright (d, word, arcs_x (d, i), base + 5, d->room.y + d->room.height - base - 5, size);
    }
}

static gint64
arcs_cell_at (const PinDrawing *d, double x, double y)
{
  const gsize rows = pin_value_rows (d->value), n = MAX (rows, pin_value_columns (d->value));
  const double row = (x - d->room.x) / d->room.width * (double)n;

  return row >= 0 && row < (double)rows ? strongest_of (d, (gsize)row) : -1;
}

const StudioPinKind pin_arcs = {
  .name = "arcs",
  .title = N_ ("Arcs over the sentence"),
  .width = 240,
  .height = 200,
  .lines = 1.5,
  .fits = links_fits,
  .n_whole = 3,
  .chooses_tile = TRUE,
  .draw = arcs_draw,
  .cell_at = arcs_cell_at,
  .describe = describe_strongest,
};
