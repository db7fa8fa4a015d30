/* Evaluates a split sample by sample; see the header. */
#include "engine/infer/loom-evaluation.h"

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-boxes.h"
#include "engine/infer/loom-task-view.h"
#include "engine/infer/predictor-private.h"

#include <math.h>

LoomEvaluation *
loom_evaluation_new (LoomSplit split, LoomAnswerKind kind, guint n_classes)
{
  LoomEvaluation *self = g_new0 (LoomEvaluation, 1);

  self->split = split;
  self->ignored = -1;
  self->kind = kind;
  self->n_classes = kind == LOOM_ANSWER_VALUES ? 0 : kind == LOOM_ANSWER_YES ? 2 : n_classes;
  self->samples = g_array_new (FALSE, FALSE, sizeof (LoomEvaluatedSample));
  if (self->n_classes >= 1 && self->n_classes <= LOOM_CONFUSION_MOST)
    self->confusion = loom_confusion_new (self->n_classes);
  return self;
}

void
loom_evaluation_free (LoomEvaluation *self)
{
  if (self == NULL)
    return;
  g_strfreev (self->class_names);
  g_array_unref (self->samples);
  loom_confusion_free (self->confusion);
  loom_average_precision_free (self->detection);
  g_free (self->mean);
  g_free (self->square);
  g_free (self);
}

/* ---- one sample --------------------------------------------------------- */

static gint64
largest (const double *value, gint64 n)
{
  gint64 best = 0;

  for (gint64 i = 1; i < n; i++)
    best = value[i] > value[best] ? i : best;
  return best;
}

/* −log p, finite for p = 0 as for the smallest double. */
static double
surprise (double p)
{
  return -log (MAX (p, G_MINDOUBLE));
}

/* One compared position. */
typedef struct
{
  gint64 target, predicted;
  double probability, loss;
} Position;

static Position
read_class (const LoomEvaluation *self, const double *value, gint64 n, gint64 target)
{
  const gint64 best = largest (value, n);
  const gboolean has_probabilities = self->kind == LOOM_ANSWER_PROBABILITIES;

  return (Position){ target, best, has_probabilities ? value[best] : NAN,
                     has_probabilities ? surprise (value[target]) : value[best] - value[target] };
}

static Position
read_yes (double p, gint64 target)
{
  const gint64 predicted = p >= 0.5 ? 1 : 0;

  return (Position){ target, predicted, predicted ? p : 1 - p, surprise (target ? p : 1 - p) };
}

static void
count_position (LoomEvaluation *self, const Position *at)
{
  self->positions++;
  self->right += at->target == at->predicted ? 1 : 0;
  if (self->confusion != NULL)
    loom_confusion_add (self->confusion, (guint)at->target, (guint)at->predicted);
  loom_calibration_add (&self->calibration, at->probability, at->target == at->predicted);
}

static gboolean
add_classes (LoomEvaluation *self, LoomEvaluatedSample *sample, const LoomAnswer *answer, const double *target,
             gint64 n_positions)
{
  double sum = 0, worst = -INFINITY;
  gboolean is_wrong = FALSE; /* at the position that is recorded */
  gint64 n = 0;

  for (gint64 p = 0; p < n_positions; p++)
    {
      const double class = target[p];
      if (!(class >= 0 && class < self->n_classes) || class == (double)self->ignored)
        continue;
      const Position at = self->kind == LOOM_ANSWER_YES ? read_yes (answer->value[p], class >= 0.5 ? 1 : 0)
                                                        : read_class (self, answer->value + p * answer->n_classes,
                                                                      answer->n_classes, (gint64) class);
      count_position (self, &at);
      sum += at.loss;
      n++;
      const gboolean here = at.target != at.predicted;
      if (n > 1 && (here != is_wrong ? is_wrong : !(at.loss > worst)))
        continue;
      worst = at.loss;
      is_wrong = here;
      sample->target = (double)at.target;
      sample->predicted = (double)at.predicted;
      sample->probability = at.probability;
    }
  sample->loss = n > 0 ? sum / (double)n : NAN;
  return n > 0;
}

static void
add_values (LoomEvaluation *self, LoomEvaluatedSample *sample, const double *value, const double *target, gint64 n)
{
  double sum = 0;

  if (self->mean == NULL)
    {
      self->n_values = n;
      self->mean = g_new0 (double, n);
      self->square = g_new0 (double, n);
    }
  for (gint64 i = 0; i < n; i++)
    {
      const double off = target[i] - self->mean[i];

      sum += (value[i] - target[i]) * (value[i] - target[i]);
      self->error += fabs (value[i] - target[i]);
      self->mean[i] += off / (double)(self->samples->len + 1);
      self->square[i] += off * (target[i] - self->mean[i]);
    }
  self->residual += sum;
  sample->target = target[0];
  sample->predicted = value[0];
  sample->probability = NAN;
  sample->loss = sum / (double)n;
}

/* The number of targets that belong to an answer. */
static gint64
targets_of (const LoomAnswer *answer)
{
  return answer->kind <= LOOM_ANSWER_LOGITS ? answer->n_positions : answer->n_positions * answer->n_classes;
}

/* The number of labels to insert, remove and replace until one sequence is the other (Levenshtein). */
static gint64
edits_between (const gint64 *a, gint64 n, const gint64 *b, gint64 m)
{
  g_autofree gint64 *row = g_new (gint64, m + 1);

  for (gint64 k = 0; k <= m; k++)
    row[k] = k;
  for (gint64 i = 0; i < n; i++)
    {
      gint64 diagonal = row[0];

      row[0] = i + 1;
      for (gint64 k = 0; k < m; k++)
        {
          const gint64 replaced = diagonal + (a[i] != b[k] ? 1 : 0);

          diagonal = row[k + 1];
          row[k + 1] = MIN (replaced, MIN (row[k], row[k + 1]) + 1);
        }
    }
  return row[m];
}

/* Labels of a sequence, which is right as a whole. Classes that are none, and blanks, end no target and are left out.
 */
static gboolean
add_sequence (LoomEvaluation *self, LoomEvaluatedSample *sample, const LoomAnswer *answer, const double *target,
              gint64 n_target)
{
  g_autofree gint64 *have = g_new (gint64, MAX (answer->n_positions, 1)), *want = g_new (gint64, MAX (n_target, 1));
  gint64 n = 0, edits;

  for (gint64 p = 0; p < answer->n_positions; p++)
    have[p] = largest (answer->value + p * answer->n_classes, answer->n_classes);
  for (gint64 p = 0; p < n_target; p++)
    if (target[p] >= 0 && target[p] < (double)answer->n_classes && target[p] != (double)self->ignored)
      want[n++] = (gint64)target[p];
  if (n == 0)
    return FALSE;
  edits = edits_between (have, answer->n_positions, want, n);
  self->positions++;
  self->labels += n;
  self->edits += edits;
  self->right += edits == 0 ? 1 : 0;
  sample->target = (double)want[0];
  sample->predicted = edits == 0 ? sample->target : (double)self->ignored;
  sample->probability = NAN;
  sample->loss = (double)edits / (double)n;
  return TRUE;
}

gboolean
loom_evaluation_add (LoomEvaluation *self, gint64 index, const LoomAnswer *answer, const double *target,
                     gint64 n_target, GError **error)
{
  LoomEvaluatedSample sample = { .index = index };
  const gint64 wanted = targets_of (answer);
  const gboolean is_last = answer->kind <= LOOM_ANSWER_LOGITS && wanted == 1 && n_target > 1;

  if (answer->kind != self->kind || (wanted < 1 && !self->is_sequence)
      || (self->mean != NULL && wanted != self->n_values) || (n_target != wanted && !is_last && !self->is_sequence))
    return loom_refuse (error, LOOM_ERROR_SHAPE,
                        "A prediction has %" G_GINT64_FORMAT " values to compare, and a target %" G_GINT64_FORMAT
                        ", so the net cannot be evaluated sample by sample.",
                        wanted, n_target);
  if (self->is_sequence)
    {
      if (!add_sequence (self, &sample, answer, target, n_target))
        return TRUE;
    }
  else if (self->n_classes == 0)
    add_values (self, &sample, answer->value, target, wanted);
  else if (!add_classes (self, &sample, answer, target + (is_last ? n_target - 1 : 0), wanted))
    return TRUE; /* all of it is padding */
  self->loss += (sample.loss - self->loss) / (double)(self->samples->len + 1);
  g_array_append_val (self->samples, sample);
  return TRUE;
}

/* ---- detections --------------------------------------------------------- */

#define CONFIDENT 0.5

static void
add_compared (LoomEvaluation *self, gint64 index, const LoomDetection *found, guint n_found, const LoomDetection *boxes,
              guint n_boxes)
{
  LoomEvaluatedSample sample = { .index = index, .probability = NAN };
  double sum = 0;

  loom_average_precision_add (self->detection, found, n_found, boxes, n_boxes);
  for (guint i = 0; i < n_found; i++)
    sample.predicted += found[i].score >= CONFIDENT;
  for (guint b = 0; b < n_boxes; b++)
    {
      double best = 0;

      if (boxes[b].is_crowd || boxes[b].is_difficult)
        continue;
      for (guint i = 0; i < n_found; i++)
        if (found[i].score >= CONFIDENT && found[i].klass == boxes[b].klass)
          best = MAX (best, loom_detection_iou (&found[i], &boxes[b]));
      sample.target += boxes[b].klass >= 0;
      sum += boxes[b].klass >= 0 ? best : 0;
    }
  sample.loss = sample.target > 0 ? 1 - sum / sample.target : 0;
  self->loss += (sample.loss - self->loss) / (double)(self->samples->len + 1);
  g_array_append_val (self->samples, sample);
}

/* y: boxes [n,M,5] of the batch, of which this is sample i. */
static void
add_detections (LoomEvaluation *self, gint64 index, const LoomAnswer *answer, const LoomTensor *y, guint i)
{
  const guint n_found = (guint)loom_dim_value (answer->shape.dim[0], NULL), n_boxes = (guint)y->dim[1];
  g_autofree LoomDetection *found = g_new (LoomDetection, MAX (n_found, 1)), *boxes = g_new (LoomDetection, n_boxes);

  for (guint k = 0; k < n_found; k++)
    {
      const double *v = answer->value + LOOM_DETECTION_NUMBERS * k;

      found[k] = (LoomDetection){ v[0], v[1], v[2], v[3], v[4], loom_answer_is_box (v) ? (gint64)v[5] : -1 };
    }
  for (guint k = 0; k < n_boxes; k++)
    {
      const float *v = (const float *)y->data + (i * n_boxes + k) * 5;

      const gboolean is_difficult = v[0] <= LOOM_BOX_MOST_CROWD, is_crowd = v[0] < -1 && !is_difficult;

      boxes[k] = (LoomDetection){ .x1 = v[1],
                                  .y1 = v[2],
                                  .x2 = v[3],
                                  .y2 = v[4],
                                  .score = 1,
                                  .klass = is_crowd       ? LOOM_BOX_CROWD ((gint64)v[0])
                                           : is_difficult ? LOOM_BOX_DIFFICULT ((gint64)v[0])
                                                          : (gint64)v[0],
                                  .is_crowd = is_crowd,
                                  .is_difficult = is_difficult };
    }
  add_compared (self, index, found, n_found, boxes, n_boxes);
}

/* ---- a split ------------------------------------------------------------ */

#define MOST_VALUES (16 * 1024 * 1024) /* numbers of a batch: 128 MiB */

/* What a run needs besides the predictor. */
typedef struct
{
  LoomPredictor *predictor;
  const LoomDataset *dataset;
  LoomSplit split;
  guint x, y; /* ports; y is G_MAXUINT: the target is x */
  gint64 ignored;
  gint64 all, n;    /* samples of the split, and those that are evaluated */
  guint most_batch; /* so that the numbers of a batch fit */
  LoomEvaluation *result;
} Run;

LoomSplit
loom_evaluation_default_split (const LoomPredictor *predictor)
{
  static const LoomSplit order[] = { LOOM_SPLIT_TEST, LOOM_SPLIT_VAL };
  const LoomDataset *dataset = loom_predictor_dataset (predictor, NULL);

  for (guint i = 0; dataset != NULL && i < G_N_ELEMENTS (order); i++)
    if (loom_dataset_count (dataset, order[i]) > 0)
      return order[i];
  return LOOM_SPLIT_TRAIN;
}

/* The ignore_index of a loss that reads the prediction; -1: none, or no class. */
static gint64
find_ignored (const LoomPredictor *predictor)
{
  for (guint i = 0; i < loom_net_n_nodes (predictor->net); i++)
    {
      const LoomNetNode *node = loom_net_node (predictor->net, i);
      const char *text = node->element != NULL ? loom_element_get (node->element, "ignore_index") : NULL;

      for (guint k = 0; text != NULL && k < node->n_inputs; k++)
        if (node->input[k].node == predictor->output.node && node->input[k].output == predictor->output.output)
          return MAX (g_ascii_strtoll (text, NULL, 10), -1);
    }
  return -1;
}

static gboolean
find_ports (Run *run, GError **error)
{
  LoomPredictor *predictor = run->predictor;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (predictor->graph, predictor->net, faults);
  g_autoptr (LoomTaskView) task = loom_task_view_new (predictor->net, spec);

  /* All ports of a batch are read, also y_in, from which a decoder reads the right prefix as in training. */
  if (!task->predicts && predictor->blank < 0 && task->n_others == 0 && !loom_predictor_writes (predictor))
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "The net cannot be evaluated sample by sample: %s",
                 task->why_not != NULL ? task->why_not : task->why);
  else
    {
      run->x = task->x;
      run->y = task->y;
      run->ignored = find_ignored (predictor);
      return TRUE;
    }
  return FALSE;
}

static gboolean
open_split (Run *run, gint64 most, GError **error)
{
  const char *why = NULL;

  run->dataset = loom_predictor_dataset (run->predictor, &why);
  run->all = run->dataset != NULL ? loom_dataset_count (run->dataset, run->split) : 0;
  run->n = most > 0 ? MIN (most, run->all) : run->all;
  if (run->n > 0)
    return find_ports (run, error);
  if (run->dataset != NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "The data set has no %s samples.", loom_split_name (run->split));
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s",
                 why != NULL ? why : "The net reads from no data set, so there are no samples to evaluate.");
  return FALSE;
}

/* The target of an autoencoder is its input; its y is a label. */
static const LoomTensor *
target_of (const Run *run, GPtrArray *read, const LoomAnswer *answer, guint n)
{
  const LoomTensor *x = read->pdata[run->x], *y = run->y < read->len ? read->pdata[run->y] : NULL;
  const gboolean is_copy = answer->kind >= LOOM_ANSWER_YES && targets_of (answer) * n == x->count;

  return y == NULL || (is_copy && y->count != x->count) ? x : y;
}

static gboolean
add_batch (Run *run, const gint64 *index, guint n, GError **error)
{
  g_autoptr (GPtrArray) read = loom_dataset_read_new (run->dataset, run->split, index, n, error);
  /* Of a text a prediction is that of the last position, and here all of them count. */
  g_autoptr (GPtrArray) answers = read != NULL ? predictor_run_ports (run->predictor, read, run->x, n, error) : NULL;

  if (answers == NULL)
    return FALSE;
  const LoomAnswer *first = answers->pdata[0];
  const LoomTensor *y = target_of (run, read, first, n);
  const gint64 each = y->count / n;
  g_autofree double *target = g_new (double, MAX (each, 1));
  if (run->result == NULL)
    {
      run->result = loom_evaluation_new (run->split, first->kind, (guint)MIN (first->n_classes, G_MAXINT));
      run->result->ignored = run->ignored;
      run->result->is_map = loom_answer_is_map (first);
      run->result->is_sequence = run->predictor->blank >= 0;
      if (run->predictor->blank >= 0)
        {
          run->result->ignored = run->predictor->blank;
          g_clear_pointer (&run->result->confusion, loom_confusion_free);
        }
    }
  if (loom_dataset_has_boxes (run->dataset) && loom_answer_are_detections (first))
    {
      if (run->result->detection == NULL)
        run->result->detection
            = loom_average_precision_new ((guint)MAX (loom_dataset_info (run->dataset)->n_classes, 1));
      for (guint i = 0; i < n; i++)
        add_detections (run->result, index[i], answers->pdata[i], read->pdata[1], i);
      return TRUE;
    }
  run->most_batch = (guint)CLAMP (MOST_VALUES / MAX (first->n_positions * first->n_classes, 1), 1, G_MAXINT);
  for (guint i = 0; i < n; i++)
    {
      for (gint64 k = 0; k < each; k++)
        target[k] = loom_tensor_get (y, i * each + k);
      if (!loom_evaluation_add (run->result, index[i], answers->pdata[i], target, each, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
add_all (Run *run, guint batch, LoomEvaluationProgress progress, gpointer data, GError **error)
{
  g_autofree gint64 *index = g_new (gint64, batch);

  for (gint64 done = 0; done < run->n;)
    {
      const guint n = (guint)MIN ((gint64)MIN (batch, run->most_batch), run->n - done);

      for (guint i = 0; i < n; i++)
        index[i] = (gint64)((double)(done + i) * (double)run->all / (double)run->n);
      if (!add_batch (run, index, n, error))
        return FALSE;
      done += n;
      if (progress == NULL || progress (done, run->n, data))
        continue;
      return loom_refuse (error, LOOM_ERROR_CANCELLED, "The evaluation was stopped.");
    }
  return TRUE;
}

LoomEvaluation *
loom_evaluation_run (LoomPredictor *predictor, LoomSplit split, gint64 most, guint batch,
                     LoomEvaluationProgress progress, gpointer data, GError **error)
{
  /* The first batch of a text shows how many numbers a sample has. */
  Run run = { .predictor = predictor, .split = split, .most_batch = predictor->is_text ? 1 : batch };

  g_return_val_if_fail (batch >= 1, NULL);
  if (!open_split (&run, most, error) || !add_all (&run, batch, progress, data, error))
    {
      loom_evaluation_free (run.result);
      return NULL;
    }
  const gint64 n_names = run.result->detection != NULL ? loom_average_precision_n_classes (run.result->detection)
                                                       : run.result->n_classes;
  const char *const *names = loom_predictor_class_names (predictor, n_names);
  run.result->class_names = g_strdupv ((char **)names);
  run.result->n_split = run.all;
  run.result->is_whole = run.n == run.all;
  return run.result;
}

/* ---- views of the records ----------------------------------------------- */

double
loom_evaluation_accuracy (const LoomEvaluation *self)
{
  return self->positions > 0 ? (double)self->right / (double)self->positions : NAN;
}

double
loom_evaluation_mae (const LoomEvaluation *self)
{
  const double n = (double)self->samples->len * (double)self->n_values;

  return n > 0 ? self->error / n : NAN;
}

double
loom_evaluation_r2 (const LoomEvaluation *self)
{
  double all = 0;

  for (gint64 i = 0; i < self->n_values; i++)
    all += self->square[i];
  return all > 0 ? 1 - self->residual / all : NAN;
}

/* By descending loss, not a number first; equal ones in their order. */
static int
compare_losses (gconstpointer a, gconstpointer b, gpointer data)
{
  const LoomEvaluatedSample *samples = data;
  const guint i = *(const guint *)a, k = *(const guint *)b;
  const double x = samples[i].loss, y = samples[k].loss;

  if (isnan (x) != isnan (y))
    return isnan (x) ? -1 : 1;
  return x > y ? -1 : x < y ? 1 : i < k ? -1 : i > k;
}

static GArray *
sorted (const LoomEvaluation *self, GArray *indices)
{
  g_array_sort_with_data (indices, compare_losses, self->samples->data);
  return indices;
}

GArray *
loom_evaluation_mistakes (const LoomEvaluation *self)
{
  GArray *indices = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < self->samples->len; i++)
    {
      const LoomEvaluatedSample *s = &g_array_index (self->samples, LoomEvaluatedSample, i);

      if (self->n_classes == 0 || s->target != s->predicted)
        g_array_append_val (indices, i);
    }
  return sorted (self, indices);
}

GArray *
loom_evaluation_cell (const LoomEvaluation *self, guint target, guint predicted)
{
  GArray *indices = g_array_new (FALSE, FALSE, sizeof (guint));

  for (guint i = 0; i < self->samples->len; i++)
    {
      const LoomEvaluatedSample *s = &g_array_index (self->samples, LoomEvaluatedSample, i);

      if (s->target == target && s->predicted == predicted)
        g_array_append_val (indices, i);
    }
  return sorted (self, indices);
}

char *
loom_evaluation_class_name (const LoomEvaluation *self, guint k)
{
  return self->class_names != NULL && k < g_strv_length (self->class_names) ? g_strdup (self->class_names[k])
                                                                            : g_strdup_printf ("%u", k);
}
