/* Texts and rows of symbols: the sample, what is to be answered, and what is. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/task/task-private.h"

#define LINES 3 /* of a sample: x, y, answer */

static gsize
n_names (const StudioTaskData *data)
{
  return data->class_names != NULL ? g_strv_length (data->class_names) : 0;
}

/* The symbol at a place of x: a whole number, or which of a vector's numbers is the only one that is not 0; -1:
 * neither. */
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

static void
append_symbol (GString *text, const StudioTaskData *data, int symbol)
{
  if (symbol >= 0 && (gsize)symbol < n_names (data))
    g_string_append (text, g_str_equal (data->class_names[symbol], "\n") ? "↵" : data->class_names[symbol]);
  else if (symbol >= 0)
    g_string_append_printf (text, "%s%d", text->len > 0 ? " " : "", symbol);
  else
    g_string_append (text, " ?");
}

static char *
words_of_x (const StudioTaskData *data, guint sample)
{
  const guint width = data->rank == 2 ? (guint)data->dim[1] : 1, n = data->x_size / MAX (width, 1);
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    append_symbol (text, data, symbol_at (data, sample, i, width));
  return g_string_free (text, FALSE);
}

static char *
words_of_y (const StudioTaskData *data, guint sample)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < data->y_size; i++)
    append_symbol (text, data, (int)data->y[(gsize)sample * data->y_size + i]);
  return g_string_free (text, FALSE);
}

/* NULL where nothing is answered; *n_right of the places. */
static char *
words_of_answer (const StudioTaskPicture *p, guint sample, guint *n_right)
{
  const float *answer = task_answer_of_sample (p, sample);
  GString *text;

  *n_right = 0;
  if (answer == NULL || (p->kind != LOOM_ANSWER_PROBABILITIES && p->kind != LOOM_ANSWER_SCORES))
    return NULL;
  text = g_string_new (NULL);
  for (guint i = 0; i < p->n_positions; i++)
    {
      const guint best = task_best (p, answer, i), last = p->data->y_size - p->n_positions;
      append_symbol (text, p->data, (int)best);
      if (p->data->y_size >= p->n_positions && p->data->y[(gsize)sample * p->data->y_size + last + i] == (float)best)
        ++*n_right;
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

static double
block_height (double scale)
{
  return (LINES + 0.5) * task_line_height (scale);
}

static void
sequences_draw (const TaskDrawing *d)
{
  const StudioTaskPicture *p = d->picture;

  for (guint i = 0; i < p->data->n; i++)
    {
      double y = d->room.y + i * block_height (d->scale) + task_line_height (d->scale) / 2;
      guint right;
      g_autofree char *x_words = words_of_x (p->data, i), *y_words = words_of_y (p->data, i);
      g_autofree char *answer = words_of_answer (p, i, &right);
      if (y + block_height (d->scale) > d->room.y + d->room.height + task_line_height (d->scale))
        return;
      y = line_of (d, "x", x_words, y);
      y = line_of (d, "y", y_words, y);
      if (answer != NULL)
        {
          g_autofree char *marked
              = g_strdup_printf ("%s  %s %u/%u", answer, right == p->n_positions ? "✓" : "✗", right, p->n_positions);
          line_of (d, "ŷ", marked, y);
        }
    }
}

static int
sequences_sample_at (const TaskDrawing *d, double x, double y)
{
  const int i = (int)floor ((y - d->room.y) / block_height (d->scale));
  return i >= 0 && i < (int)d->picture->data->n ? i : -1;
}

static char *
sequences_describe_sample (const StudioTaskPicture *picture, guint sample)
{
  guint right;
  g_autofree char *x = words_of_x (picture->data, sample), *y = words_of_y (picture->data, sample);
  g_autofree char *answer = words_of_answer (picture, sample, &right);

  if (answer == NULL)
    return g_strdup_printf (_ ("%1$s, to be answered by %2$s"), x, y);
  return g_strdup_printf (_ ("%1$s, to be answered by %2$s, predicted %3$s"), x, y, answer);
}

static double
sequences_height (const StudioTaskPicture *picture, double width, double scale)
{
  return picture->data->n * block_height (scale);
}

const TaskKind task_sequences = {
  .words = N_ ("texts or rows of symbols"),
  .n_samples = 8,
  .height = sequences_height,
  .draw = sequences_draw,
  .sample_at = sequences_sample_at,
  .describe_sample = sequences_describe_sample,
};
