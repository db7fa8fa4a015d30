/* Kinds of one row: bars for classes, and the words of a sentence. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/pins/pin-kinds.h"
#include "ui/scene/studio-format.h"

#define MAX_BARS 512

/* ---- bars -------------------------------------------------------------------- */

static int
classes_fits (const PinSubject *subject)
{
  const gsize rank = subject->rank - subject->n_loops;
  const gint64 n = subject->rank > 0 ? subject->dims[subject->rank - 1] : 0;

  if (subject->is_integer || n > MAX_BARS || rank == 0)
    return 0;
  if (subject->is_weight)
    return rank == 1 ? 5 : 0;
  if (rank == 2 && n > 1)
    return subject->is_prediction && !subject->is_gradient ? 7 : n <= 32 ? 4 : 2;
  return rank == 1 ? 5 : 0;
}

typedef struct
{
  double names, numbers; /* widths of the columns at both sides; 0: bars are too thin for text */
  double zero, unit;     /* x of the value 0, pixels of the value 1 */
  double height;         /* of a row */
  double size;           /* the scale of text that fits into a row */
} Bars;

static char *
bar_name (const PinValue *v, gsize i)
{
  const char *label = pin_value_column_label (v, i);

  return label != NULL ? g_strdup (pin_token (label)) : g_strdup_printf ("%zu", i);
}

static Bars
bars_of (const PinDrawing *d)
{
  const PinValue *v = d->value;
  const gsize n = pin_value_columns (v);
  Bars b = { .height = d->room.height / (double)n };
  double least = 0, most = 0;

  b.size = MIN (1, b.height / (0.75 * pin_line (d)));
  for (gsize i = 0; i < n; i++)
    {
      if (isfinite (v->values[i]))
        {
          least = MIN (least, v->values[i]);
          most = MAX (most, v->values[i]);
        }
      if (b.size < pin_least_type (d))
        continue;
      g_autofree char *name = bar_name (v, i), *number = studio_format_number (v->values[i]);
      double width;
      pin_text_size (d, name, b.size, &width, NULL);
      b.names = MAX (b.names, MIN (width + 6, d->room.width * 0.35));
      pin_text_size (d, number, b.size, &width, NULL);
      b.numbers = MAX (b.numbers, MIN (width + 6, d->room.width * 0.35));
    }
  const double width = MAX (1, d->room.width - b.names - b.numbers);
  b.unit = width / MAX (most - least, 1e-30);
  b.zero = d->room.x + b.names - least * b.unit;
  return b;
}

static gsize
greatest (const PinValue *v)
{
  gsize best = 0;

  for (gsize i = 0; i < pin_value_columns (v); i++)
    if (v->values[i] > v->values[best] || !isfinite (v->values[best]))
      best = i;
  return best;
}

static void
classes_draw (const PinDrawing *d)
{
  const PinValue *v = d->value;
  const Bars b = bars_of (d);
  const gsize best = greatest (v);

  for (gsize i = 0; i < pin_value_columns (v); i++)
    {
      const double y = d->room.y + (double)i * b.height, x = isfinite (v->values[i]) ? v->values[i] * b.unit : 0;
      const double gap = MIN (2, b.height * 0.15);

      pin_curve_color (d, v->values[i] < 0 ? 1 : 0, i == best ? 1 : 0.55);
      cairo_rectangle (d->cr, MIN (b.zero, b.zero + x), y + gap, MAX (fabs (x), 1), MAX (1, b.height - 2 * gap));
      cairo_fill (d->cr);
      if (b.names == 0)
        continue;
      g_autofree char *name = bar_name (v, i), *number = studio_format_number (v->values[i]);
      pin_text (d, name, d->room.x + b.names - 5, y + b.height / 2, 1, b.names, i == best ? 1 : 0.8, b.size);
      pin_text (d, number, d->room.x + d->room.width, y + b.height / 2, 1, b.numbers, i == best ? 1 : 0.8, b.size);
    }
  pin_ink (d, 0.4);
  cairo_set_line_width (d->cr, 1);
  cairo_move_to (d->cr, floor (b.zero) + 0.5, d->room.y);
  cairo_line_to (d->cr, floor (b.zero) + 0.5, d->room.y + d->room.height);
  cairo_stroke (d->cr);
}

static gint64
classes_cell_at (const PinDrawing *d, double x, double y)
{
  const double i = (y - d->room.y) / d->room.height * (double)pin_value_columns (d->value);

  return i >= 0 && i < (double)pin_value_columns (d->value) ? (gint64)i : -1;
}

static gboolean
classes_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  const Bars b = bars_of (d);

  *rect = (PinRect){ d->room.x + b.names, d->room.y + (double)cell * b.height, d->room.width - b.names - b.numbers,
                     b.height };
  return TRUE;
}

static char *
classes_describe (const PinDrawing *d)
{
  const gsize best = greatest (d->value), n = pin_value_columns (d->value);
  g_autofree char *name = bar_name (d->value, best), *number = studio_format_number (d->value->values[best]);

  return g_strdup_printf (ngettext ("%1$d bar, greatest %2$s: %3$s", "%1$d bars, greatest %2$s: %3$s", n), (int)n, name,
                          number);
}

const StudioPinKind pin_classes = {
  .name = "bars",
  .title = N_ ("Class bars"),
  .width = 176,
  .height = 176,
  .lines = 3,
  .fits = classes_fits,
  .n_whole = 1,
  .draw = classes_draw,
  .cell_at = classes_cell_at,
  .cell_rect = classes_cell_rect,
  .describe = classes_describe,
};

/* ---- text ---------------------------------------------------------------------- */

static int
text_fits (const PinSubject *subject)
{
  const gsize rank = subject->rank - subject->n_loops;

  if (subject->is_integer && rank == 2)
    return 8;
  return !subject->is_weight && rank == 2 && subject->letter[subject->rank - 1] == 'T' ? 4 : 0;
}

/* The words as lines; called for each with its place. Stops when the function returns TRUE. */
static void
flow (const PinDrawing *d,
      gboolean (*word) (const PinDrawing *d, gsize i, const char *text, const PinRect *at, gpointer data),
      gpointer data)
{
  const PinValue *v = d->value;
  const double line = pin_line (d) * 1.45, gap = 4 * d->scale;
  double x = d->room.x, y = d->room.y;

  for (gsize i = 0; i < pin_value_columns (v) && y + line <= d->room.y + d->room.height + 1; i++)
    {
      const char *label = pin_value_column_label (v, i);
      g_autofree char *text = label != NULL ? g_strdup (pin_token (label)) : studio_format_number (v->values[i]);
      double width;

      pin_text_size (d, text, 1, &width, NULL);
      if (x > d->room.x && x + width > d->room.x + d->room.width)
        {
          x = d->room.x;
          y += line;
        }
      const PinRect at = { x, y, MIN (width + gap, d->room.width), line - 2 };
      if (word (d, i, text, &at, data))
        return;
      x += width + gap * 1.5;
    }
}

/* Values shade the words; those of a word that names its own number are equal to it and say nothing more. */
static gboolean
draw_word (const PinDrawing *d, gsize i, const char *text, const PinRect *at, gpointer data)
{
  const PinRange *range = data;

  if (range != NULL)
    {
      const double t = (d->value->values[i] - range->least) / MAX (range->most - range->least, 1e-30);

      pin_curve_color (d, d->value->values[i] < 0 ? 1 : 0, 0.08 + 0.5 * CLAMP (t, 0, 1));
      cairo_rectangle (d->cr, at->x, at->y, at->width, at->height);
      cairo_fill (d->cr);
    }
  pin_text (d, text, at->x + at->width / 2, at->y + at->height / 2, 0.5, at->width, 0.95, 1);
  return FALSE;
}

static gboolean
is_whole (const PinValue *v)
{
  for (gsize i = 0; i < v->n_values; i++)
    if (v->values[i] != roundf (v->values[i]))
      return FALSE;
  return TRUE;
}

static void
text_draw (const PinDrawing *d)
{
  PinRange range = pin_range (d->value->values, d->value->n_values, PIN_SCALE_LINEAR);

  flow (d, draw_word, is_whole (d->value) ? NULL : &range);
}

typedef struct
{
  double x, y;
  gint64 found; /* the word at the point, or with this number */
  PinRect rect;
} Search;

static gboolean
is_at (const PinDrawing *d, gsize i, const char *text, const PinRect *at, gpointer data)
{
  Search *search = data;
  const gboolean hit
      = search->x >= at->x && search->x < at->x + at->width && search->y >= at->y && search->y < at->y + at->height;

  if (hit)
    search->found = (gint64)i;
  return hit;
}

static gint64
text_cell_at (const PinDrawing *d, double x, double y)
{
  Search search = { .x = x, .y = y, .found = -1 };

  flow (d, is_at, &search);
  return search.found;
}

static gboolean
is_number (const PinDrawing *d, gsize i, const char *text, const PinRect *at, gpointer data)
{
  Search *search = data;

  search->rect = *at;
  return (gint64)i == search->found;
}

static gboolean
text_cell_rect (const PinDrawing *d, gsize cell, PinRect *rect)
{
  Search search = { .found = (gint64)cell };

  flow (d, is_number, &search);
  *rect = search.rect;
  return search.rect.width > 0;
}

static char *
text_describe (const PinDrawing *d)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (gsize i = 0; i < pin_value_columns (d->value) && i < 100; i++)
    {
      const char *label = pin_value_column_label (d->value, i);
      g_autofree char *number = studio_format_number (d->value->values[i]);
      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", label != NULL ? label : number);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

const StudioPinKind pin_text_kind = {
  .name = "text",
  .title = N_ ("Text"),
  .width = 240,
  .height = 112,
  .lines = 2,
  .fits = text_fits,
  .n_whole = 1,
  .draw = text_draw,
  .cell_at = text_cell_at,
  .cell_rect = text_cell_rect,
  .describe = text_describe,
};
