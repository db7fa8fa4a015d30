/* Converts the numbers of the prediction's port to one record per sample; logits of classes become probabilities. */
#include "engine/infer/loom-answer.h"

#include "engine/core/loom-refuse.h"

#include <math.h>
#include <string.h>

static void
answer_free (LoomAnswer *answer)
{
  g_free (answer->value);
  g_free (answer);
}

/* Softmax of n numbers, a stride apart. */
static void
softmax (double *value, gint64 n)
{
  double most = -INFINITY, sum = 0;

  for (gint64 i = 0; i < n; i++)
    most = MAX (most, value[i]);
  for (gint64 i = 0; i < n; i++)
    sum += value[i] = exp (value[i] - most);
  for (gint64 i = 0; i < n; i++)
    value[i] /= sum;
}

LoomAnswerKind
loom_answer_kind (LoomOutputKind output_kind)
{
  switch (output_kind)
    {
    case LOOM_OUTPUT_LOGITS:
    case LOOM_OUTPUT_LOG_PROBABILITIES:
    case LOOM_OUTPUT_PROBABILITIES:
      return LOOM_ANSWER_PROBABILITIES;
    case LOOM_OUTPUT_SCORES:
      return LOOM_ANSWER_LOGITS;
    case LOOM_OUTPUT_BINARY_LOGITS:
    case LOOM_OUTPUT_BINARY_PROBABILITIES:
      return LOOM_ANSWER_YES;
    default:
      return LOOM_ANSWER_VALUES;
    }
}

/* Sample i of n. Logits are (n · positions, classes), or (n, classes, positions …) as for losses. */
static LoomAnswer *
answer_of (const LoomTensor *t, LoomOutputKind kind, gboolean is_text, gint64 i, gint64 n)
{
  LoomAnswer *a = g_new0 (LoomAnswer, 1);
  const gint64 count = t->count / n, first = i * count;
  const gboolean classes = loom_answer_kind (kind) <= LOOM_ANSWER_LOGITS && t->rank >= 2;
  const gboolean last = t->rank == 2; /* classes are the last dimension */

  a->kind = classes                                      ? loom_answer_kind (kind)
            : loom_answer_kind (kind) == LOOM_ANSWER_YES ? LOOM_ANSWER_YES
                                                         : LOOM_ANSWER_VALUES;
  a->n_classes = classes ? t->dim[1] : count;
  a->n_positions = a->n_classes > 0 ? count / a->n_classes : 0;
  a->shape = t->dim[0] == n ? loom_shape (t->rank - 1, t->dim + 1) : loom_shape (1, &count);
  a->value = g_new (double, MAX (count, 1));
  for (gint64 p = 0; p < a->n_positions; p++)
    {
      double *to = a->value + p * a->n_classes;

      for (gint64 c = 0; c < a->n_classes; c++)
        to[c] = loom_tensor_get (t, first + (!classes || last ? p * a->n_classes + c : c * a->n_positions + p));
      if (classes && kind == LOOM_OUTPUT_LOGITS)
        softmax (to, a->n_classes);
      for (gint64 c = 0; c < a->n_classes; c++)
        if (kind == LOOM_OUTPUT_LOG_PROBABILITIES && classes)
          to[c] = exp (to[c]);
        else if (kind == LOOM_OUTPUT_BINARY_LOGITS)
          to[c] = 1 / (1 + exp (-to[c]));
    }
  if (classes && is_text && a->n_positions > 1)
    {
      memmove (a->value, a->value + (a->n_positions - 1) * a->n_classes, a->n_classes * sizeof *a->value);
      a->n_positions = 1;
    }
  return a;
}

GPtrArray *
loom_answers_new (const LoomTensor *t, const char *name, LoomOutputKind kind, gboolean is_text, guint n, GError **error)
{
  if (t->rank == 0 || t->dim[0] % n != 0)
    {
      LoomShape shape = loom_tensor_shape (t);
      g_autofree char *text = loom_shape_to_string (&shape);
      return loom_refuse_null (
          error, LOOM_ERROR_SHAPE,
          "“%s” is %s for %u samples, so it has no value for each of them. Name another port with --output.", name,
          *text ? text : "one number", n);
    }
  GPtrArray *answers = g_ptr_array_new_with_free_func ((GDestroyNotify)answer_free);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (answers, answer_of (t, kind, is_text, i, n));
  return answers;
}

gboolean
loom_answer_is_map (const LoomAnswer *self)
{
  return self->kind <= LOOM_ANSWER_LOGITS && self->shape.rank == 3 && self->n_positions > 1;
}

gboolean
loom_answer_are_detections (const LoomAnswer *self)
{
  return self->kind == LOOM_ANSWER_VALUES && self->shape.rank == 2
         && loom_dim_value (self->shape.dim[1], NULL) == LOOM_DETECTION_NUMBERS;
}

gboolean
loom_answer_is_box (const double detection[LOOM_DETECTION_NUMBERS])
{
  for (int i = 0; i < LOOM_DETECTION_NUMBERS; i++)
    if (!isfinite (detection[i]))
      return FALSE;
  return fabs (detection[5]) < 0x1p31;
}

guint8 *
loom_answer_mask (const LoomAnswer *self, int *height, int *width)
{
  const gboolean is_yes
      = self->kind == LOOM_ANSWER_YES && self->shape.rank == 3 && loom_dim_value (self->shape.dim[0], NULL) == 1;
  guint8 *mask;

  if (!is_yes && (!loom_answer_is_map (self) || self->n_classes > G_MAXUINT8))
    return NULL;
  *height = (int)loom_dim_value (self->shape.dim[1], NULL);
  *width = (int)loom_dim_value (self->shape.dim[2], NULL);
  mask = g_new (guint8, (gsize)*height * (gsize)*width);
  for (gint64 i = 0; i < (gint64)*height * *width; i++)
    {
      const double *value = self->value + i * self->n_classes;

      mask[i] = is_yes && self->value[i] > 0.5;
      for (gint64 c = 1; !is_yes && c < self->n_classes; c++)
        if (value[c] > value[mask[i]])
          mask[i] = (guint8)c;
    }
  return mask;
}
