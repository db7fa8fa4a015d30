/* Implements loom-average-precision.h. */
#include "engine/infer/loom-average-precision.h"

#include <math.h>
#include <string.h>

#define RECALLS 101

/* Number i of n from start to stop, by numpy.linspace's expression, whose rounding decides where values are equal. */
static double
linspace (double start, double stop, guint n, guint i)
{
  return i == n - 1 ? stop : i * ((stop - start) / (n - 1)) + start;
}

/* A detection, and at which thresholds it is matched to a box, or is to be ignored: a bit for each threshold. */
typedef struct
{
  double score;
  guint32 matched, ignored;
} Scored;

typedef struct
{
  GArray *found; /* Scored */
  gint64 n_boxes;
} Class;

struct _LoomAveragePrecision
{
  guint n_classes;
  Class *of;
};

LoomAveragePrecision *
loom_average_precision_new (guint n_classes)
{
  LoomAveragePrecision *self = g_new0 (LoomAveragePrecision, 1);

  self->n_classes = n_classes;
  self->of = g_new0 (Class, MAX (n_classes, 1));
  for (guint k = 0; k < n_classes; k++)
    self->of[k].found = g_array_new (FALSE, FALSE, sizeof (Scored));
  return self;
}

void
loom_average_precision_free (LoomAveragePrecision *self)
{
  if (self == NULL)
    return;
  for (guint k = 0; k < self->n_classes; k++)
    g_array_unref (self->of[k].found);
  g_free (self->of);
  g_free (self);
}

guint
loom_average_precision_n_classes (const LoomAveragePrecision *self)
{
  return self->n_classes;
}

gint64
loom_average_precision_boxes (const LoomAveragePrecision *self, guint klass)
{
  return self->of[klass].n_boxes;
}

double
loom_detection_iou (const LoomDetection *a, const LoomDetection *b)
{
  const double width = MIN (a->x2, b->x2) - MAX (a->x1, b->x1), height = MIN (a->y2, b->y2) - MAX (a->y1, b->y1);
  const double both = width > 0 && height > 0 ? width * height : 0;
  const double all = (a->x2 - a->x1) * (a->y2 - a->y1) + (b->x2 - b->x1) * (b->y2 - b->y1) - both;

  return all > 0 ? both / all : 0;
}

/* By descending score; equal ones in their order (numpy.argsort (kind="mergesort") of −score). */
static int
compare_scores (gconstpointer a, gconstpointer b, gpointer data)
{
  const LoomDetection *found = data;
  const guint i = *(const guint *)a, k = *(const guint *)b;

  return found[i].score != found[k].score ? (found[i].score > found[k].score ? -1 : 1) : i < k ? -1 : i > k;
}

/* TRUE for a box that is no object to find. */
static gboolean
is_ignored (const LoomDetection *box)
{
  return box->is_crowd || box->is_difficult;
}

/* Matches one detection at one threshold to the box of its class with the largest IoU that is not taken; of equal ones
 * the last. */
static gboolean
match (const LoomDetection *found, const LoomDetection *boxes, guint n_boxes, double threshold, guint32 *taken,
       guint32 bit)
{
  double best = MIN (threshold, 1 - 1e-10);
  int at = -1;

  for (guint i = 0; i < n_boxes; i++)
    {
      if (boxes[i].klass != found->klass || is_ignored (&boxes[i]) || (taken[i] & bit) != 0)
        continue;
      const double iou = loom_detection_iou (found, &boxes[i]);
      if (iou < best)
        continue;
      best = iou;
      at = (int)i;
    }
  if (at >= 0)
    taken[at] |= bit;
  return at >= 0;
}

/* TRUE if enough of a detection is on a crowd of its class, the part of its own area, as a crowd is larger; or if it is
 * of a difficult object. */
static gboolean
is_of_no_object (const LoomDetection *found, const LoomDetection *boxes, guint n_boxes, double threshold)
{
  const double area = (found->x2 - found->x1) * (found->y2 - found->y1);

  for (guint i = 0; i < n_boxes; i++)
    {
      const LoomDetection *b = &boxes[i];
      const double width = MIN (found->x2, b->x2) - MAX (found->x1, b->x1);
      const double height = MIN (found->y2, b->y2) - MAX (found->y1, b->y1);

      if (b->is_difficult && b->klass == found->klass && loom_detection_iou (found, b) >= MIN (threshold, 1 - 1e-10))
        return TRUE;
      if (b->is_crowd && b->klass == found->klass && width > 0 && height > 0
          && width * height / area >= MIN (threshold, 1 - 1e-10))
        return TRUE;
    }
  return FALSE;
}

void
loom_average_precision_add (LoomAveragePrecision *self, const LoomDetection *found, guint n_found,
                            const LoomDetection *boxes, guint n_boxes)
{
  g_autofree guint *order = g_new (guint, MAX (n_found, 1)), *n_of = g_new0 (guint, MAX (self->n_classes, 1));
  g_autofree guint32 *taken = g_new0 (guint32, MAX (n_boxes, 1));

  for (guint i = 0; i < n_found; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint)n_found, sizeof *order, compare_scores, (gpointer)found);
  for (guint i = 0; i < n_boxes; i++)
    if (boxes[i].klass >= 0 && boxes[i].klass < self->n_classes && !is_ignored (&boxes[i]))
      self->of[boxes[i].klass].n_boxes++;
  for (guint i = 0; i < n_found; i++)
    {
      const LoomDetection *d = &found[order[i]];
      Scored scored = { .score = d->score };

      if (d->klass < 0 || d->klass >= self->n_classes || n_of[d->klass]++ >= LOOM_AP_MOST)
        continue;
      for (guint t = 0; t < LOOM_AP_THRESHOLDS; t++)
        {
          const double threshold = linspace (0.5, 0.95, LOOM_AP_THRESHOLDS, t);

          if (match (d, boxes, n_boxes, threshold, taken, 1u << t))
            scored.matched |= 1u << t;
          else if (is_of_no_object (d, boxes, n_boxes, threshold))
            scored.ignored |= 1u << t;
        }
      g_array_append_val (self->of[d->klass].found, scored);
    }
}

static int
compare_scored (gconstpointer a, gconstpointer b, gpointer data)
{
  const Scored *list = data;
  const guint i = *(const guint *)a, k = *(const guint *)b;

  return list[i].score != list[k].score ? (list[i].score > list[k].score ? -1 : 1) : i < k ? -1 : i > k;
}

/* Precision at 101 recalls from 0 to 1. */
static double
precision_over_recall (const Scored *list, const guint *order, guint n_all, gint64 n_boxes, guint32 bit)
{
  g_autofree double *recall = g_new (double, MAX (n_all, 1)), *precision = g_new (double, MAX (n_all, 1));
  double right = 0, sum = 0;
  guint at = 0, n = 0;

  for (guint i = 0; i < n_all; i++)
    {
      if ((list[order[i]].ignored & bit) != 0)
        continue;
      right += (list[order[i]].matched & bit) != 0;
      recall[n] = right / (double)n_boxes;
      precision[n] = right / (n + 1.0);
      n++;
    }
  for (guint i = n; i-- > 1;)
    precision[i - 1] = MAX (precision[i - 1], precision[i]);
  for (guint r = 0; r < RECALLS; r++)
    {
      while (at < n && recall[at] < linspace (0, 1, RECALLS, r))
        at++;
      sum += at < n ? precision[at] : 0;
    }
  return sum / RECALLS;
}

double
loom_average_precision_of (const LoomAveragePrecision *self, guint klass, int t)
{
  const Class *of = &self->of[klass];
  const Scored *list = (const Scored *)(void *)of->found->data;
  const guint n = of->found->len;
  g_autofree guint *order = g_new (guint, MAX (n, 1));
  double sum = 0;

  if (of->n_boxes == 0)
    return NAN;
  for (guint i = 0; i < n; i++)
    order[i] = i;
  g_qsort_with_data (order, (gint)n, sizeof *order, compare_scored, (gpointer)list);
  if (t >= 0)
    return precision_over_recall (list, order, n, of->n_boxes, 1u << t);
  for (guint k = 0; k < LOOM_AP_THRESHOLDS; k++)
    sum += precision_over_recall (list, order, n, of->n_boxes, 1u << k);
  return sum / LOOM_AP_THRESHOLDS;
}

double
loom_average_precision_mean (const LoomAveragePrecision *self, int t)
{
  double sum = 0;
  guint n = 0;

  for (guint k = 0; k < self->n_classes; k++)
    if (self->of[k].n_boxes > 0)
      {
        sum += loom_average_precision_of (self, k, t);
        n++;
      }
  return n > 0 ? sum / n : NAN;
}
