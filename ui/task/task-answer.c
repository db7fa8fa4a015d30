/* Interprets predictions: classes, probabilities, correctness, and text. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/scene/studio-format.h"
#include "ui/task/task-private.h"

#define IGNORED -100.f /* a target that losses and metrics ignore */

const float *
task_answer (const StudioTaskPicture *picture, gsize input)
{
  return picture->answered ? picture->value + input * picture->n_positions * picture->n_classes : NULL;
}

const float *
task_answer_of_sample (const StudioTaskPicture *picture, guint sample)
{
  return task_answer (picture, task_n_grid (picture) + sample);
}

static gboolean
is_of_classes (const StudioTaskPicture *picture)
{
  return picture->kind == LOOM_ANSWER_PROBABILITIES || picture->kind == LOOM_ANSWER_LOGITS;
}

guint
task_n_classes (const StudioTaskPicture *picture)
{
  guint n = picture->data->classes || picture->data->boxes ? picture->data->n_classes : 0;

  return n > 0 && picture->answered && is_of_classes (picture) ? MAX (n, picture->n_classes) : n;
}

guint
task_best (const StudioTaskPicture *picture, const float *answer, guint position)
{
  const float *of = answer + (gsize)position * picture->n_classes;
  guint best = 0;

  if (!is_of_classes (picture))
    return of[0] >= 0.5f ? 1 : 0;
  for (guint c = 1; c < picture->n_classes; c++)
    if (of[c] > of[best])
      best = c;
  return best;
}

double
task_probability (const StudioTaskPicture *picture, const float *answer, guint class)
{
  if (picture->kind == LOOM_ANSWER_PROBABILITIES)
    return class < picture->n_classes ? answer[class] : 0;
  if (picture->kind == LOOM_ANSWER_LOGITS)
    return task_best (picture, answer, 0) == class ? 1 : 0;
  const double yes = CLAMP (answer[0], 0.f, 1.f);
  return class == 1 ? yes : class == 0 ? 1 - yes : 0;
}

/* Returns the number of correct positions; *n receives the number of evaluated ones, 0 if unknown. Like the metric, it
 * ignores targets that losses ignore. */
static guint
n_right (const StudioTaskPicture *picture, guint sample, guint *n)
{
  const StudioTaskData *data = picture->data;
  const float *answer = task_answer_of_sample (picture, sample);
  guint right = 0;

  *n = 0;
  if (answer == NULL || !data->classes || data->y_size == 0)
    return 0;
  if (is_of_classes (picture) ? picture->n_positions != data->y_size : data->y_size != 1 || picture->n_classes != 1)
    return 0;
  for (guint p = 0; p < data->y_size; p++)
    {
      const float y = data->y[(gsize)sample * data->y_size + p];
      const double wanted = is_of_classes (picture) ? y : y >= 0.5f ? 1 : 0;
      if (y == IGNORED)
        continue;
      ++*n;
      right += task_best (picture, answer, p) == wanted;
    }
  return right;
}

gboolean
task_is_map (const StudioTaskPicture *picture)
{
  const StudioTaskData *data = picture->data;

  return data->kind == LOOM_TASK_VIEW_IMAGES && data->classes && data->rank >= 2 && data->y_size > 1
         && data->y_size == data->dim[data->rank - 1] * data->dim[data->rank - 2];
}

gboolean
task_has_boxes (const StudioTaskPicture *picture)
{
  return picture->data->kind == LOOM_TASK_VIEW_IMAGES && picture->data->boxes;
}

#define LEAST_SCORE 0.5f /* as of gradloom predict */

float *
task_detections (const StudioTaskPicture *picture, guint sample, guint *n)
{
  const guint all = picture->n_positions * picture->n_classes / LOOM_DETECTION_NUMBERS;
  const float *answer = task_answer_of_sample (picture, sample);
  float *found;

  *n = 0;
  if (answer == NULL || picture->kind != LOOM_ANSWER_VALUES
      || picture->n_positions * picture->n_classes % LOOM_DETECTION_NUMBERS != 0)
    return NULL;
  found = g_new (float, MAX (all, 1) * LOOM_DETECTION_NUMBERS);
  for (guint i = 0; i < all; i++)
    {
      double box[LOOM_DETECTION_NUMBERS];

      for (guint k = 0; k < LOOM_DETECTION_NUMBERS; k++)
        box[k] = answer[i * LOOM_DETECTION_NUMBERS + k];
      if (loom_answer_is_box (box) && box[4] >= LEAST_SCORE && box[5] >= 0)
        memcpy (found + (*n)++ * LOOM_DETECTION_NUMBERS, answer + i * LOOM_DETECTION_NUMBERS,
                LOOM_DETECTION_NUMBERS * sizeof *found);
    }
  return found;
}

double
task_share_right (const StudioTaskPicture *picture, guint sample)
{
  guint n, right = n_right (picture, sample, &n);
  return n == 0 ? NAN : right / (double)n;
}

int
task_is_right (const StudioTaskPicture *picture, guint sample)
{
  guint n, right = n_right (picture, sample, &n);
  return n == 0 ? -1 : right == n;
}

double
studio_task_picture_accuracy (const StudioTaskPicture *picture)
{
  guint right = 0, all = 0, n;

  for (guint i = 0; picture->answered && i < picture->data->n; i++)
    {
      right += n_right (picture, i, &n);
      all += n;
    }
  return all > 0 ? right / (double)all : NAN;
}

double
studio_task_picture_error (const StudioTaskPicture *picture)
{
  const StudioTaskData *data = picture->data;
  double sum = 0;

  if (!picture->answered || data->classes || data->boxes || data->y_size == 0 || is_of_classes (picture)
      || picture->n_positions * picture->n_classes != data->y_size)
    return NAN;
  for (guint i = 0; i < data->n; i++)
    for (guint k = 0; k < data->y_size; k++)
      sum += fabs (task_answer_of_sample (picture, i)[k] - data->y[(gsize)i * data->y_size + k]);
  return sum / ((double)data->n * data->y_size);
}

/* ---- texts --------------------------------------------------------------- */

char *
task_class_name (const StudioTaskData *data, guint class)
{
  if (data->class_names != NULL && class < g_strv_length (data->class_names))
    return g_strdup (data->class_names[class]);
  return g_strdup_printf ("%u", class);
}

char *
task_feature_name (const StudioTaskData *data, guint column)
{
  static const char *const below[] = { "₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉" };
  g_autofree char *number = g_strdup_printf ("%u", column + 1);
  GString *name;

  if (data->feature_names != NULL && column < g_strv_length (data->feature_names))
    return g_strdup (data->feature_names[column]);
  if (data->x_size == 1)
    return g_strdup ("x");
  name = g_string_new ("x");
  for (const char *c = number; *c != '\0'; c++)
    g_string_append (name, below[*c - '0']);
  return g_string_free (name, FALSE);
}

static char *
value_words (const StudioTaskData *data, float y)
{
  if (data->classes)
    return task_class_name (data, (guint)MAX (y, 0));
  return studio_format_number (y);
}

/* The classes in a mask, and the fraction of pixels that are predicted correctly. */
static char *
map_text (const StudioTaskPicture *picture, guint sample)
{
  const StudioTaskData *data = picture->data;
  const double share = task_share_right (picture, sample);
  GString *text = g_string_new (NULL);

  for (guint c = 1; c < data->n_classes; c++)
    for (guint k = 0; k < data->y_size; k++)
      if (data->y[(gsize)sample * data->y_size + k] == c)
        {
          g_autofree char *name = task_class_name (data, c);

          g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "", name);
          break;
        }
  if (text->len == 0)
    g_string_append (text, _ ("only the first class"));
  if (!isnan (share))
    /* Translators: after the names of classes in a picture. */
    g_string_append_printf (text, _ (" · %.1f %% of pixels predicted correctly"), 100 * share);
  return g_string_free (text, FALSE);
}

/* "cat 81 %, dog 52 %", or what says that there are none. (transfer full) */
static char *
found_text (const StudioTaskPicture *picture, guint sample)
{
  g_autoptr (GString) text = g_string_new (NULL);
  guint n;
  g_autofree float *found = task_detections (picture, sample, &n);

  for (guint i = 0; i < n; i++)
    {
      const float *box = found + i * LOOM_DETECTION_NUMBERS;
      g_autofree char *name = task_class_name (picture->data, (guint)box[5]);
      g_string_append_printf (text, "%s%s %.0f %%", text->len > 0 ? ", " : "", name, 100 * (double)box[4]);
    }
  return g_strdup (n > 0 ? text->str : _ ("nothing"));
}

char *
task_prediction_text (const StudioTaskPicture *picture, guint sample)
{
  const guint n_classes = task_n_classes (picture);
  g_autofree guint *count = g_new0 (guint, n_classes + 2);
  g_autoptr (GString) text = g_string_new (NULL);
  const float *answer = task_answer_of_sample (picture, sample);

  if (task_has_boxes (picture))
    {
      g_autofree char *found = found_text (picture, sample);

      /* Translators: the objects that a net found in a picture. */
      return g_strdup_printf (_ ("found: %s"), found);
    }
  for (guint k = 0; answer != NULL && k < picture->n_positions; k++)
    count[MIN (task_best (picture, answer, k), n_classes + 1)]++;
  for (guint c = 1; c < n_classes; c++)
    if (count[c] > 0)
      {
        g_autofree char *name = task_class_name (picture->data, c);
        g_string_append_printf (text, "%s%s %.1f %%", text->len > 0 ? ", " : "", name,
                                100.0 * count[c] / picture->n_positions);
      }
  return g_strdup (text->len > 0 ? text->str : _ ("only the first class"));
}

/* "cat, dog · found: cat 81 %" */
static char *
boxes_text (const StudioTaskPicture *picture, guint sample)
{
  const StudioTaskData *data = picture->data;
  const float *y = data->y + (gsize)sample * data->y_size;
  g_autoptr (GString) objects = g_string_new (NULL);

  for (guint i = 0; i + TASK_BOX_NUMBERS <= data->y_size; i += TASK_BOX_NUMBERS)
    if (y[i] >= 0)
      {
        g_autofree char *name = task_class_name (data, (guint)y[i]);
        g_string_append_printf (objects, "%s%s", objects->len > 0 ? ", " : "", name);
      }
  const char *are = objects->len > 0 ? objects->str : _ ("no objects");
  if (!picture->answered)
    return g_strdup (are);
  g_autofree char *found = found_text (picture, sample);
  /* Translators: the objects in a picture, and those that a net found. */
  return g_strdup_printf (_ ("%1$s · found: %2$s"), are, found);
}

char *
task_sample_text (const StudioTaskPicture *picture, guint sample)
{
  const StudioTaskData *data = picture->data;
  const float *answer = task_answer_of_sample (picture, sample);
  g_autofree char *is
      = data->y_size == 1 ? value_words (data, data->y[sample]) : g_strdup (C_ ("a sample's target", "several values"));
  const gboolean class = data->classes && data->y_size == 1;

  if (task_is_map (picture))
    return map_text (picture, sample);
  if (task_has_boxes (picture))
    return boxes_text (picture, sample);
  if (answer == NULL || picture->n_positions != 1 || (!class && picture->n_classes != 1))
    return class ? g_strdup_printf (_ ("class %s"), is) : g_strdup_printf ("y %s", is);
  if (!class)
    {
      g_autofree char *said = studio_format_number (answer[0]);
      return g_strdup_printf (_ ("y %1$s · predicted %2$s"), is, said);
    }
  const guint best = task_best (picture, answer, 0);
  g_autofree char *said = task_class_name (data, best);
  return g_strdup_printf (_ ("class %1$s · predicted %2$s, %3$.0f %%"), is, said,
                          100 * task_probability (picture, answer, best));
}
