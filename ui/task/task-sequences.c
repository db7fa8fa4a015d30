/* Draws sequences of tokens: the sample, the target, and the prediction. */
#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-colormap.h"
#include "ui/scene/studio-format.h"
#include "ui/task/task-private.h"

#define LINES 3 /* of a sample: x, y, prediction */
#define MAP   3 /* lines of vectors, which replace one line of x */

/* The symbol at a position of x: an integer, or the index of the only nonzero element of a vector; -1: neither. */
static int
symbol_at (const StudioTaskData *data, guint sample, guint place, guint width)
{
  const float *v = data->x + (gsize)sample * data->x_size + (gsize)place * width;
  int found = -1;

  if (width == 1)
    return (int)v[0];
  for (guint k = 0; k < width; k++)
    if (v[k] != 0)
      {
        if (found >= 0)
          return -1;
        found = (int)k;
      }
  return found;
}

/* names: of tokens or of classes, or NULL. Padding is omitted. */
static void
append_symbol (GString *text, const StudioTaskData *data, char *const *names, int symbol)
{
  const gsize n_names = names != NULL ? g_strv_length ((char **)names) : 0;

  if (symbol >= 0 && (gsize)symbol < n_names && !g_str_equal (names[symbol], LOOM_PADDING_NAME))
    g_string_append_printf (text, "%s%s", text->len > 0 ? data->separator : "",
                            g_str_equal (names[symbol], "\n") ? "↵" : names[symbol]);
  else if (symbol >= 0 && (gsize)symbol >= n_names)
    g_string_append_printf (text, "%s%d", text->len > 0 ? " " : "", symbol);
}

static guint
width_of (const StudioTaskData *data)
{
  return data->rank == 2 ? (guint)MAX (data->dim[1], 1) : 1;
}

/* TRUE if a position has a vector that represents no symbol. */
static gboolean
has_vectors (const StudioTaskData *data)
{
  const guint width = width_of (data), n = data->x_size / width;

  for (guint i = 0; width > 1 && i < data->n * n; i++)
    if (symbol_at (data, i / n, i % n, width) < 0)
      return TRUE;
  return FALSE;
}

static char *
words_of_x (const StudioTaskData *data, guint sample)
{
  const guint width = width_of (data), n = data->x_size / width;
  GString *text;

  if (has_vectors (data))
    return g_strdup_printf (_ ("%1$u × %2$u numbers"), n, width);
  text = g_string_new (NULL);
  for (guint i = 0; i < n; i++)
    append_symbol (text, data, data->token_names, symbol_at (data, sample, i, width));
  return g_string_free (text, FALSE);
}

static char *
words_of_y (const StudioTaskData *data, guint sample)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < data->y_size; i++)
    {
      const float y = data->y[(gsize)sample * data->y_size + i];
      g_autofree char *number = data->classes ? NULL : studio_format_number (y);
      if (data->classes)
        append_symbol (text, data, data->class_names, (int)y);
      else
        g_string_append_printf (text, "%s%s", i > 0 ? "  " : "", number);
    }
  return g_string_free (text, FALSE);
}

/* The target at position i of a prediction; negative if it is ignored. */
static float
target_at (const StudioTaskPicture *p, guint sample, guint i)
{
  const guint y_size = p->data->y_size, last = y_size - p->n_positions;

  return y_size >= p->n_positions ? p->data->y[(gsize)sample * y_size + last + i] : 0;
}

/* NULL without predictions; *n_right of *n positions are correct. Positions with an ignored target are omitted, as in
 * y. */
static char *
words_of_answer (const StudioTaskPicture *p, guint sample, guint *n_right, guint *n)
{
  const float *answer = task_answer_of_sample (p, sample);
  GString *text;

  *n_right = *n = 0;
  if (answer == NULL || (p->kind != LOOM_ANSWER_PROBABILITIES && p->kind != LOOM_ANSWER_LOGITS))
    return NULL;
  text = g_string_new (NULL);
  for (guint i = 0; i < p->n_positions; i++)
    {
      const float target = target_at (p, sample, i);
      const guint best = task_best (p, answer, i);

      if (target < 0)
        continue;
      append_symbol (text, p->data, p->data->class_names, (int)best);
      ++*n;
      *n_right += p->data->y_size >= p->n_positions && target == (float)best;
    }
  return g_string_free (text, FALSE);
}

static double
line_of (const TaskDrawing *d, const char *label, const char *text, double y)
{
  const double indent = 22 * d->scale;

  task_text (d, label, d->room.x, y, 0, indent, TRUE);
  task_text (d, text, d->room.x + indent, y, 0, d->room.width - indent, FALSE);
  return y + task_line_height (d->scale);
}

/* Draws the vectors of x: positions from left to right, as in the lines below, and the elements of a vector downwards.
 */
static double
map_of (const TaskDrawing *d, guint sample, double y)
{
  const StudioTaskData *data = d->picture->data;
  const float *x = data->x + (gsize)sample * data->x_size;
  const guint rows = width_of (data), columns = data->x_size / rows;
  const double line = task_line_height (d->scale), indent = 22 * d->scale;
  const double cell = MIN ((d->room.width - indent) / columns, 12 * d->scale), top = y - line / 2;
  float least = x[0], most = x[0];

  for (guint i = 1; i < data->x_size; i++)
    {
      least = MIN (least, x[i]);
      most = MAX (most, x[i]);
    }
  task_text (d, "x", d->room.x, y, 0, indent, TRUE);
  cairo_surface_t *image = cairo_image_surface_create (CAIRO_FORMAT_RGB24, (int)columns, (int)rows);
  cairo_surface_flush (image);
  for (guint r = 0; r < rows; r++)
    for (guint c = 0; c < columns; c++)
      ((guint32 *)(void *)(cairo_image_surface_get_data (image) + (gsize)r * cairo_image_surface_get_stride (image)))[c]
          = studio_colormap (most > least ? (x[c * rows + r] - least) / (most - least) : 0);
  cairo_surface_mark_dirty (image);
  cairo_save (d->cr);
  cairo_translate (d->cr, d->room.x + indent, top);
  cairo_scale (d->cr, cell, (MAP * line - 3) / rows);
  cairo_set_source_surface (d->cr, image, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (d->cr), CAIRO_FILTER_NEAREST);
  cairo_paint (d->cr);
  cairo_restore (d->cr);
  cairo_surface_destroy (image);
  return y + MAP * line;
}

static double
block_height (const StudioTaskData *data, double scale)
{
  return (LINES + (has_vectors (data) ? MAP - 1 : 0) + 0.5) * task_line_height (scale);
}

static void
sequences_draw (const TaskDrawing *d)
{
  const StudioTaskPicture *p = d->picture;
  const gboolean vectors = has_vectors (p->data);
  const double block = block_height (p->data, d->scale);

  for (guint i = 0; i < p->data->n; i++)
    {
      double y = d->room.y + i * block + task_line_height (d->scale) / 2;
      guint right, n;
      g_autofree char *x_words = words_of_x (p->data, i), *y_words = words_of_y (p->data, i);
      g_autofree char *answer = words_of_answer (p, i, &right, &n);
      if (y + block > d->room.y + d->room.height + task_line_height (d->scale))
        return;
      y = vectors ? map_of (d, i, y) : line_of (d, "x", x_words, y);
      y = line_of (d, "y", y_words, y);
      if (answer != NULL)
        {
          g_autofree char *marked = g_strdup_printf ("%s  %s %u/%u", answer, right == n ? "✓" : "✗", right, n);
          line_of (d, "ŷ", marked, y);
        }
    }
}

static int
sequences_sample_at (const TaskDrawing *d, double x, double y)
{
  const int i = (int)floor ((y - d->room.y) / block_height (d->picture->data, d->scale));
  return i >= 0 && i < (int)d->picture->data->n ? i : -1;
}

static char *
sequences_describe_sample (const StudioTaskPicture *picture, guint sample)
{
  guint right, n;
  g_autofree char *x = words_of_x (picture->data, sample), *y = words_of_y (picture->data, sample);
  g_autofree char *answer = words_of_answer (picture, sample, &right, &n);

  if (answer == NULL)
    return g_strdup_printf (_ ("%1$s, target %2$s"), x, y);
  return g_strdup_printf (_ ("%1$s, target %2$s, predicted %3$s"), x, y, answer);
}

static double
sequences_height (const StudioTaskPicture *picture, double width, double scale)
{
  return picture->data->n * block_height (picture->data, scale);
}

const TaskKind task_sequences = {
  .words = N_ ("texts or token sequences"),
  .n_samples = 8,
  .list = TRUE,
  .height = sequences_height,
  .draw = sequences_draw,
  .sample_at = sequences_sample_at,
  .describe_sample = sequences_describe_sample,
};
