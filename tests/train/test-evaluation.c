/* Evaluations sample by sample: numbers against the formulas that PyTorch and scikit-learn state, a split against a
 * plain loop and against the evaluation of a run, and the history in a run's folder. */
#include "engine/loom-lab.h"
#include "tests/test-program.h"
#include "tests/train/train-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* Ten samples of three classes. The expected numbers are those of a Python loop over the definitions in the
 * documentation of torch.nn.functional.cross_entropy (reduction="none"), sklearn.metrics.confusion_matrix, and
 * _ECELoss of github.com/gpleiss/temperature_scaling by the authors of Guo et al. 2017: 15 bins (k/15, (k+1)/15]. */
static const struct
{
  double logit[3];
  int target;
  double loss;
} fixture[] = {
  { { 2.0, -1.0, 0.5 }, 0, 0.241311297 },  { { 0.1, 0.2, 0.3 }, 2, 1.001942848 },
  { { 1.5, 1.4, -2.0 }, 1, 0.760125312 },  { { -0.5, 3.0, 0.0 }, 1, 0.076946645 },
  { { 0.0, 0.0, 2.5 }, 0, 2.652008384 },   { { 4.0, 0.0, 0.0 }, 0, 0.0359763 },
  { { -1.0, -1.0, 1.0 }, 2, 0.239544766 }, { { 0.7, 0.9, 0.8 }, 1, 1.001942848 },
  { { 3.0, 2.9, 2.0 }, 2, 1.82097597 },    { { 0.0, 5.0, 1.0 }, 1, 0.02474489 },
};
static const gint64 fixture_confusion[] = { 2, 0, 1, 1, 3, 0, 1, 0, 2 };
#define FIXTURE_LOSS 0.7855519259837964
#define FIXTURE_ECE  0.36426946197510834

static LoomAnswer *
answer_of (LoomAnswerKind kind, gint64 n_positions, gint64 n_classes, const double *value)
{
  LoomAnswer *answer = g_new0 (LoomAnswer, 1);

  *answer = (LoomAnswer){ .kind = kind, .n_positions = n_positions, .n_classes = n_classes };
  answer->value = g_memdup2 (value, (gsize)(n_positions * n_classes) * sizeof *value);
  return answer;
}

static void
add (LoomEvaluation *e, LoomAnswerKind kind, gint64 positions, gint64 classes, const double *value,
     const double *target, gint64 n_target)
{
  g_autoptr (GError) error = NULL;
  g_autofree LoomAnswer *answer = answer_of (kind, positions, classes, value);
  g_autofree double *owned = answer->value;

  g_assert_true (loom_evaluation_add (e, e->samples->len, answer, target, n_target, &error));
  g_assert_no_error (error);
}

static const LoomEvaluatedSample *
sample (const LoomEvaluation *e, guint i)
{
  return &g_array_index (e->samples, LoomEvaluatedSample, i);
}

static void
test_formulas (void)
{
  g_autoptr (LoomEvaluation) e = loom_evaluation_new (LOOM_SPLIT_TEST, LOOM_ANSWER_PROBABILITIES, 3);

  for (guint i = 0; i < G_N_ELEMENTS (fixture); i++)
    {
      const double target = fixture[i].target;
      double p[3], sum = 0;

      for (int c = 0; c < 3; c++)
        sum += p[c] = exp (fixture[i].logit[c]);
      for (int c = 0; c < 3; c++)
        p[c] /= sum;
      add (e, LOOM_ANSWER_PROBABILITIES, 1, 3, p, &target, 1);
      g_assert_cmpfloat_with_epsilon (sample (e, i)->loss, fixture[i].loss, 1e-8);
    }
  g_assert_cmpmem (e->confusion->count, 9 * sizeof (gint64), fixture_confusion, sizeof fixture_confusion);
  g_assert_cmpfloat_with_epsilon (e->loss, FIXTURE_LOSS, 1e-12);
  g_assert_cmpfloat_with_epsilon (loom_calibration_error (&e->calibration), FIXTURE_ECE, 1e-12);
  g_assert_cmpfloat_with_epsilon (loom_evaluation_accuracy (e), 0.7, 1e-12);
  g_assert_cmpfloat_with_epsilon (loom_confusion_recall (e->confusion, 1), 0.75, 1e-12);
  g_assert_cmpfloat_with_epsilon (loom_confusion_precision (e->confusion, 0), 0.5, 1e-12);
  g_assert_cmpint (loom_confusion_column (e->confusion, 2), ==, 3);

  g_autoptr (GArray) worst = loom_evaluation_mistakes (e), cell = loom_evaluation_cell (e, 0, 0);
  g_assert_cmpuint (worst->len, ==, 3);
  g_assert_cmpuint (g_array_index (worst, guint, 0), ==, 4);
  g_assert_cmpuint (g_array_index (worst, guint, 1), ==, 8);
  g_assert_cmpuint (g_array_index (worst, guint, 2), ==, 2);
  g_assert_cmpuint (cell->len, ==, 2);
  g_assert_cmpuint (g_array_index (cell, guint, 0), ==, 0);
}

/* Ends of the bins, certain mistakes, one label per yes or no, positions with padding, and values. */
static void
test_kinds (void)
{
  g_autoptr (LoomEvaluation) yes = loom_evaluation_new (LOOM_SPLIT_VAL, LOOM_ANSWER_YES, 1);
  g_autoptr (LoomEvaluation) places = loom_evaluation_new (LOOM_SPLIT_VAL, LOOM_ANSWER_PROBABILITIES, 2);
  g_autoptr (LoomEvaluation) last = loom_evaluation_new (LOOM_SPLIT_VAL, LOOM_ANSWER_PROBABILITIES, 2);
  g_autoptr (LoomEvaluation) values = loom_evaluation_new (LOOM_SPLIT_VAL, LOOM_ANSWER_VALUES, 0);
  g_autoptr (GError) error = NULL;
  LoomCalibration ends = { 0 };

  loom_calibration_add (&ends, 0, FALSE);
  loom_calibration_add (&ends, 1.0 / 3, TRUE);
  loom_calibration_add (&ends, 1, TRUE);
  loom_calibration_add (&ends, NAN, TRUE);
  g_assert_cmpint (ends.count[0] + ends.count[4] + ends.count[14], ==, 3);
  loom_calibration_add (&ends, 0.1, TRUE);
  g_assert_cmpint (ends.count[1], ==, 1);
  g_assert_true (isnan (loom_calibration_error (&(LoomCalibration){ 0 })));

  add (yes, LOOM_ANSWER_YES, 1, 1, (double[]){ 0.9 }, (double[]){ 0 }, 1);
  g_assert_cmpuint (yes->n_classes, ==, 2);
  g_assert_cmpint (loom_confusion_at (yes->confusion, 0, 1), ==, 1);
  g_assert_cmpfloat_with_epsilon (sample (yes, 0)->loss, -log (0.1), 1e-12);
  add (yes, LOOM_ANSWER_YES, 1, 1, (double[]){ 1 }, (double[]){ 0 }, 1);
  g_assert_true (isfinite (sample (yes, 1)->loss));

  /* The second position is padding, the third is the worst. */
  add (places, LOOM_ANSWER_PROBABILITIES, 3, 2, (double[]){ 0.8, 0.2, 0.5, 0.5, 0.6, 0.4 }, (double[]){ 0, -100, 1 },
       3);
  g_assert_cmpint (places->positions, ==, 2);
  g_assert_cmpfloat_with_epsilon (sample (places, 0)->loss, -(log (0.8) + log (0.4)) / 2, 1e-12);
  g_assert_cmpfloat (sample (places, 0)->target, ==, 1);
  add (places, LOOM_ANSWER_PROBABILITIES, 1, 2, (double[]){ 0.8, 0.2 }, (double[]){ -100 }, 1);
  g_assert_cmpuint (places->samples->len, ==, 1);
  /* The wrong one of two, although the right one has the larger loss. */
  g_autoptr (LoomEvaluation) three = loom_evaluation_new (LOOM_SPLIT_VAL, LOOM_ANSWER_PROBABILITIES, 3);
  add (three, LOOM_ANSWER_PROBABILITIES, 3, 3, (double[]){ 0.36, 0.32, 0.32, 0.45, 0.55, 0, 0.36, 0.32, 0.32 },
       (double[]){ 0, 0, 0 }, 3);
  g_assert_cmpfloat (sample (three, 0)->predicted, ==, 1);

  add (last, LOOM_ANSWER_PROBABILITIES, 1, 2, (double[]){ 0.25, 0.75 }, (double[]){ 0, 0, 1 }, 3);
  g_assert_cmpfloat (sample (last, 0)->target, ==, 1);

  add (values, LOOM_ANSWER_VALUES, 1, 2, (double[]){ 1, 2 }, (double[]){ 2, 4 }, 2);
  g_assert_cmpfloat (sample (values, 0)->loss, ==, 2.5);
  g_assert_null (values->confusion);
  g_autofree LoomAnswer *answer = answer_of (LOOM_ANSWER_VALUES, 1, 2, (double[]){ 1, 2 });
  g_autofree double *owned = answer->value;
  g_assert_false (loom_evaluation_add (values, 0, answer, (double[]){ 1, 2, 3 }, 3, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE);
}

static void
test_balance (void)
{
  g_autoptr (LoomConfusion) c = loom_confusion_new (2);
  guint most, least;

  for (int i = 0; i < 3; i++)
    loom_confusion_add (c, 1, 0);
  loom_confusion_add (c, 0, 0);
  g_assert_false (loom_confusion_is_unbalanced (c, &most, &least));
  g_assert_cmpuint (most, ==, 1);
  g_assert_cmpuint (least, ==, 0);
  loom_confusion_add (c, 1, 1);
  g_assert_true (loom_confusion_is_unbalanced (c, NULL, NULL));
}

static const char *const GRAPH = TRAIN_TEST_SPIRALS ("n=\"300\"", "8") "<train loss=\"loss\" optimizer=\"adam\" "
                                                                       "lr=\"0.01\" batch_size=\"32\" epochs=\"2\" "
                                                                       "seed=\"3\"><metric type=\"accuracy\" "
                                                                       "input=\"scores\" target=\"data.y\"/></train>"
                                                                       "</graph>";

typedef struct
{
  double loss, accuracy;
  guint n;
} Eval;

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  *(Eval *)data = (Eval){ e->loss, e->metric[0], 1 };
}

static void
loss_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  *(double *)data = e->loss;
}

static gboolean
stop_cb (gint64 done, gint64 all, gpointer data)
{
  g_assert_cmpint (done, <=, all);
  return ++*(guint *)data < 2;
}

/* Weights of a trainer in a predictor give the loss and accuracy of the run's own evaluation, and each sample's
 * numbers are those of a plain loop. Copying them changes nothing. */
static void
test_split (void)
{
  g_autoptr (LoomTrainer) trainer = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  g_autoptr (LoomTrainer) other = train_test_new (GRAPH, (LoomTrainerOptions){ 0 });
  g_autoptr (GError) error = NULL;
  LoomTrainerObserver observer = { .eval = eval_cb };
  LoomTrainerMoment moment;
  Eval eval = { 0 };
  guint calls = 0;

  loom_trainer_set_observer (trainer, &observer, &eval);
  loom_trainer_set_last_step (trainer, 3);
  loom_trainer_set_last_step (other, 3);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  loom_trainer_run (other, NULL);
  g_autoptr (GPtrArray) early = loom_trainer_weights (trainer, &moment, &error);
  g_assert_no_error (error);
  g_assert_cmpint (moment.step, ==, 3);
  loom_trainer_set_last_step (trainer, 0);
  loom_trainer_set_last_step (other, 0);
  train_test_run (trainer);
  train_test_run (other);
  g_autoptr (GPtrArray) weights = loom_trainer_weights (trainer, &moment, &error),
                        same = loom_trainer_weights (other, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (moment.step, ==, loom_trainer_steps (trainer));
  for (guint i = 0; i < weights->len; i++)
    {
      const LoomNamedTensor *a = weights->pdata[i], *b = same->pdata[i], *c = early->pdata[i];
      g_assert_cmpmem (a->tensor->data, a->tensor->bytes, b->tensor->data, b->tensor->bytes);
      g_assert_cmpint (memcmp (a->tensor->data, c->tensor->data, a->tensor->bytes), !=, 0);
    }

  g_autoptr (LoomPredictor) predictor = loom_predictor_new (
      loom_trainer_graph (trainer), &(LoomPredictorOptions){ .values = weights, .threads = 1 }, &error);
  g_assert_no_error (error);
  const LoomSplit split = loom_evaluation_default_split (predictor);
  g_autoptr (LoomEvaluation) e = loom_evaluation_run (predictor, split, 0, 32, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (loom_trainer_evaluate (trainer, loom_split_name (split), &error));
  g_assert_cmpuint (eval.n, ==, 1);
  g_assert_cmpfloat_with_epsilon (e->loss, eval.loss, 1e-6);
  g_assert_cmpfloat_with_epsilon (loom_evaluation_accuracy (e), eval.accuracy, 1e-9);
  g_assert_cmpint (e->n_split, ==, e->samples->len);
  g_assert_true (e->is_whole);

  /* The batch size has no influence, and a part of the split is evenly spread. */
  g_autoptr (LoomEvaluation) whole = loom_evaluation_run (predictor, split, 0, 1000, NULL, NULL, &error);
  g_autoptr (LoomEvaluation) part = loom_evaluation_run (predictor, split, e->n_split / 2, 7, NULL, NULL, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < e->samples->len; i++)
    g_assert_cmpfloat_with_epsilon (sample (e, i)->loss, sample (whole, i)->loss, 1e-5);
  for (guint i = 0; i < part->samples->len; i++)
    g_assert_cmpfloat_with_epsilon (sample (part, i)->loss, sample (e, (guint)sample (part, i)->index)->loss, 1e-5);
  g_assert_cmpint (sample (part, 1)->index, >=, 2);
  g_assert_false (part->is_whole);

  g_assert_null (loom_evaluation_run (predictor, split, 0, 1, stop_cb, &calls, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_CANCELLED);
  g_assert_cmpuint (calls, ==, 2);
}

/* Also of a net that reads several ports of the data: a tree's symbols, parents and length, or a sentence, its length
 * and the right prefix of its translation. A sequence is a mistake if one of its classes is wrong. */
static void
test_several_inputs (gconstpointer name)
{
  g_autofree char *path = g_build_filename (g_getenv ("GRADLOOM_SOURCE_ROOT"), "graphs", "models", name, NULL);
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = loom_graph_read_file (path, faults, NULL);
  const LoomTrainerOptions options = { .epochs = 1, .samples = 300 };
  LoomTrainerObserver observer = { .eval = eval_cb };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  Eval eval = { 0 };

  g_assert_no_error (error);
  loom_trainer_set_observer (trainer, &observer, &eval);
  loom_trainer_set_last_step (trainer, 4);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
  g_autoptr (GPtrArray) weights = loom_trainer_weights (trainer, NULL, &error);
  g_autoptr (LoomPredictor) predictor = loom_predictor_new (
      loom_trainer_graph (trainer), &(LoomPredictorOptions){ .values = weights, .threads = 1 }, &error);
  g_assert_no_error (error);
  g_autoptr (LoomEvaluation) e = loom_evaluation_run (predictor, LOOM_SPLIT_TEST, 0, 64, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (loom_trainer_evaluate (trainer, "test", &error));
  g_assert_cmpuint (eval.n, ==, 1);
  g_assert_cmpfloat_with_epsilon (e->loss, eval.loss, 1e-5);
  g_assert_cmpfloat_with_epsilon (loom_evaluation_accuracy (e), eval.accuracy, 1e-9);
  g_autoptr (GArray) mistakes = loom_evaluation_mistakes (e);
  g_assert_cmpuint (mistakes->len, >=, (guint)((e->positions - e->right) * (gint64)e->samples->len / e->positions));
  g_assert_cmpuint (mistakes->len, <=, (guint)MIN (e->positions - e->right, (gint64)e->samples->len));

  /* Samples of the first port alone are not enough. */
  if (loom_predictor_writes (predictor))
    return;
  g_autoptr (GPtrArray) read
      = loom_dataset_read_new (loom_predictor_dataset (predictor, NULL), LOOM_SPLIT_TEST, (gint64[]){ 0 }, 1, &error);
  g_assert_no_error (error);
  g_assert_null (loom_predictor_compute (predictor, read->pdata[0], &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_USAGE);
  g_assert_nonnull (strstr (error->message, "depends on"));
}

static LoomEvaluationRecord
record_of (gint64 step, const LoomConfusion *confusion)
{
  return (LoomEvaluationRecord){ .split = LOOM_SPLIT_VAL,
                                 .step = step,
                                 .epoch = 1,
                                 .samples = 10,
                                 .loss = 0.1 * (double)step,
                                 .accuracy = 0.5,
                                 .calibration = NAN,
                                 .confusion = (LoomConfusion *)confusion };
}

/* Lines are read back exactly; a damaged or blank one is skipped; a resumed run replaces later lines. */
static void
test_history (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, LOOM_RUN_EVALUATIONS, NULL);
  g_autoptr (LoomConfusion) confusion = loom_confusion_new (3);
  g_autoptr (GError) error = NULL;
  FILE *file;

  g_autoptr (GPtrArray) none = loom_evaluation_history_read (folder, LOOM_SPLIT_VAL);
  g_assert_cmpuint (none->len, ==, 0);
  for (guint i = 0; i < 9; i++)
    confusion->count[i] = i * 1000;
  for (gint64 step = 10; step <= 40; step += 10)
    {
      const LoomEvaluationRecord record = record_of (step, step == 40 ? NULL : confusion);

      g_assert_true (loom_evaluation_history_add (folder, &record, FALSE, &error));
      g_assert_no_error (error);
    }
  file = g_fopen (path, "a");
  fputs ("\n\n \t\n{\"split\":\"val\",\"step\":50,\"epo", file);
  fclose (file);
  const LoomEvaluationRecord again = record_of (30, confusion);
  g_assert_true (loom_evaluation_history_add (folder, &again, FALSE, &error));
  g_autoptr (GPtrArray) all = loom_evaluation_history_read (folder, LOOM_SPLIT_VAL);
  g_autoptr (GPtrArray) test = loom_evaluation_history_read (folder, LOOM_SPLIT_TEST);
  g_assert_cmpuint (test->len, ==, 0);
  g_assert_cmpuint (all->len, ==, 3);
  const LoomEvaluationRecord *last = all->pdata[2];
  g_assert_cmpint (last->step, ==, 30);
  g_assert_cmpfloat (last->loss, ==, 0.1 * 30);
  g_assert_true (isnan (last->calibration));
  g_assert_cmpmem (last->confusion->count, 9 * sizeof (gint64), confusion->count, 9 * sizeof (gint64));
  /* Steps of the past are inserted, or replace the record of the same step. */
  static const gint64 past[] = { 15, 20, 5 }, steps[] = { 5, 10, 15, 20, 30 };
  for (guint i = 0; i < G_N_ELEMENTS (past); i++)
    {
      const LoomEvaluationRecord of_past = record_of (past[i], confusion);

      g_assert_true (loom_evaluation_history_add (folder, &of_past, TRUE, &error));
    }
  g_autoptr (GPtrArray) more = loom_evaluation_history_read (folder, LOOM_SPLIT_VAL);
  g_assert_cmpuint (more->len, ==, G_N_ELEMENTS (steps));
  for (guint i = 0; i < more->len; i++)
    g_assert_cmpint (((LoomEvaluationRecord *)more->pdata[i])->step, ==, steps[i]);
  g_unlink (path);
  g_rmdir (folder);
  g_assert_false (loom_evaluation_history_add (folder, &again, FALSE, &error));
  g_assert_nonnull (strstr (error->message, folder));
}

static LoomEvaluation *
new_evaluation (guint n, guint n_classes)
{
  LoomEvaluation *e = loom_evaluation_new (LOOM_SPLIT_TEST, LOOM_ANSWER_PROBABILITIES, n_classes);

  for (guint i = 0; i < n; i++)
    {
      const LoomEvaluatedSample s = { 2 * i, i % n_classes, (i / 7) % n_classes, i % 2 == 0 ? 0.5 : NAN, 1e-3 * i };
      g_array_append_val (e->samples, s);
    }
  return e;
}

/* Samples are read back exactly; the newest 64 MB are kept; damaged files and other steps are refused. */
static void
test_kept_samples (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradloom-XXXXXX", NULL);
  g_autofree char *within = g_build_filename (folder, LOOM_RUN_EVALUATED, NULL);
  g_autofree char *path = g_build_filename (within, "test-9.safetensors", NULL);
  g_autoptr (LoomEvaluation) e = new_evaluation (1000, 3), empty = new_evaluation (0, 3);
  g_autoptr (LoomEvaluation) large = new_evaluation (LOOM_EVALUATED_MOST_BYTES / 40, 3);
  g_autoptr (LoomEvaluation) many = new_evaluation (LOOM_EVALUATED_MOST_BYTES / 40 + 1, 3);
  g_autoptr (GError) error = NULL;

  g_assert_true (loom_evaluation_samples_add (folder, e, 9, &error));
  g_assert_true (loom_evaluation_samples_add (folder, empty, 10, &error));
  g_autoptr (LoomEvaluation) back = loom_evaluation_samples_read (folder, LOOM_SPLIT_TEST, 9, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (back->samples->data, back->samples->len * sizeof (LoomEvaluatedSample), e->samples->data,
                   e->samples->len * sizeof (LoomEvaluatedSample));
  g_autoptr (GArray) cell = loom_evaluation_cell (back, 1, 2);
  g_autoptr (GArray) same = loom_evaluation_cell (e, 1, 2);
  g_assert_cmpuint (cell->len, >, 0);
  g_assert_cmpmem (cell->data, cell->len * sizeof (guint), same->data, same->len * sizeof (guint));
  g_assert_null (loom_evaluation_samples_read (folder, LOOM_SPLIT_TEST, 10, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_IO);
  g_clear_error (&error);
  g_assert_null (loom_evaluation_samples_read (folder, LOOM_SPLIT_VAL, 9, &error));
  g_clear_error (&error);

  ((LoomEvaluatedSample *)(void *)e->samples->data)[7].predicted = 1e9;
  g_assert_true (loom_evaluation_samples_add (folder, e, 9, &error));
  g_assert_null (loom_evaluation_samples_read (folder, LOOM_SPLIT_TEST, 9, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_DATA);
  g_clear_error (&error);
  g_assert_true (g_file_set_contents (path, "{}", 2, NULL));
  g_assert_null (loom_evaluation_samples_read (folder, LOOM_SPLIT_TEST, 9, &error));
  g_clear_error (&error);

  for (gint64 step = 100; step <= 105; step++)
    g_assert_true (loom_evaluation_samples_add (folder, step == 105 ? many : large, step, &error));
  /* An earlier step that is evaluated last is kept, too. */
  g_assert_true (loom_evaluation_samples_add (folder, large, 7, &error));
  g_assert_no_error (error);
  g_autoptr (GDir) dir = g_dir_open (within, 0, NULL);
  guint n = 0;
  for (const char *name; (name = g_dir_read_name (dir)) != NULL; n++)
    {
      g_autofree char *at = g_build_filename (within, name, NULL);
      g_assert_true (g_str_equal (name, "test-7.safetensors")
                     || (g_str_has_prefix (name, "test-10") && !g_str_has_prefix (name, "test-101")
                         && !g_str_has_prefix (name, "test-100")));
      g_unlink (at);
    }
  g_assert_cmpuint (n, ==, 4);
  g_rmdir (within);
  g_rmdir (folder);
}

/* The examples in the documentation of sklearn.metrics.r2_score and mean_absolute_error. */
static void
test_regression (void)
{
  static const double y[] = { 3, -0.5, 2, 7 }, p[] = { 2.5, 0, 2, 8 };
  static const double rows[][2] = { { 0.5, 1 }, { -1, 1 }, { 7, -6 } }, at[][2] = { { 0, 2 }, { -1, 2 }, { 8, -5 } };
  g_autoptr (LoomEvaluation) one = loom_evaluation_new (LOOM_SPLIT_TEST, LOOM_ANSWER_VALUES, 0);
  g_autoptr (LoomEvaluation) two = loom_evaluation_new (LOOM_SPLIT_TEST, LOOM_ANSWER_VALUES, 0);
  g_autoptr (LoomEvaluation) same = loom_evaluation_new (LOOM_SPLIT_TEST, LOOM_ANSWER_VALUES, 0);

  for (int i = 0; i < 4; i++)
    add (one, LOOM_ANSWER_VALUES, 1, 1, &p[i], &y[i], 1);
  for (int i = 0; i < 3; i++)
    add (two, LOOM_ANSWER_VALUES, 1, 2, at[i], rows[i], 2);
  for (int i = 0; i < 3; i++)
    add (same, LOOM_ANSWER_VALUES, 1, 1, &p[i], &y[0], 1);
  g_assert_cmpfloat_with_epsilon (loom_evaluation_mae (one), 0.5, 1e-12);
  g_assert_cmpfloat_with_epsilon (loom_evaluation_r2 (one), 0.9486081370449679, 1e-12);
  g_assert_cmpfloat_with_epsilon (loom_evaluation_mae (two), 0.75, 1e-12);
  g_assert_cmpfloat_with_epsilon (loom_evaluation_r2 (two), 0.9382566585956417, 1e-12);
  g_assert_true (isnan (loom_evaluation_r2 (same)));
}

static void
add_labels (LoomEvaluation *e, const char *labels, const char *target)
{
  const gsize n = strlen (labels), m = strlen (target);
  g_autofree double *value = g_new0 (double, n * 26 + 1), *want = g_new (double, m);

  for (gsize i = 0; i < n; i++)
    value[i * 26 + (gsize)(labels[i] - 'a')] = 1;
  for (gsize i = 0; i < m; i++)
    want[i] = target[i] - 'a';
  add (e, LOOM_ANSWER_PROBABILITIES, (gint64)n, 26, value, want, (gint64)m);
}

/* Distances of Levenshtein; 'a' is the blank, which pads targets. */
static void
test_sequences (void)
{
  g_autoptr (LoomEvaluation) e = loom_evaluation_new (LOOM_SPLIT_TEST, LOOM_ANSWER_PROBABILITIES, 26);

  e->is_sequence = TRUE;
  e->ignored = 0;
  add_labels (e, "kitten", "sittingaa");
  add_labels (e, "flower", "flower");
  add_labels (e, "", "xyz");
  add_labels (e, "x", "aaaa"); /* all of it is padding */
  g_assert_cmpuint (e->samples->len, ==, 3);
  g_assert_cmpfloat_with_epsilon (sample (e, 0)->loss, 3. / 7, 1e-12);
  g_assert_cmpfloat (sample (e, 1)->loss, ==, 0);
  g_assert_cmpfloat (sample (e, 2)->loss, ==, 1);
  g_assert_cmpint (e->edits, ==, 6);
  g_assert_cmpint (e->labels, ==, 16);
  g_assert_cmpfloat_with_epsilon (loom_evaluation_accuracy (e), 1. / 3, 1e-12);
}

/* Magnitudes of DoRA are the norms of the weights before the first step, so that nothing has changed. */
static void
test_before_run (void)
{
  static const char *const graphs[] = {
    TRAIN_TEST_SPIRALS ("n=\"300\"", "8") "<train loss=\"loss\" optimizer=\"adam\" lr=\"0.01\" batch_size=\"32\" "
                                          "epochs=\"0\" seed=\"3\"/></graph>",
    TRAIN_TEST_SPIRALS ("n=\"300\"", "8\" lora_rank=\"2\" use_dora=\"true") "<train loss=\"loss\" optimizer=\"adam\" "
                                                                            "lr=\"0.01\" batch_size=\"32\" "
                                                                            "epochs=\"0\" seed=\"3\"/></graph>",
  };
  const LoomTrainerObserver observer = { .eval = loss_cb };
  double loss[2] = { 0, 0 };

  for (guint i = 0; i < G_N_ELEMENTS (graphs); i++)
    {
      g_autoptr (LoomTrainer) trainer = train_test_new (graphs[i], (LoomTrainerOptions){ 0 });
      g_autoptr (GError) error = NULL;
      double before;

      loom_trainer_set_observer (trainer, &observer, &loss[i]);
      g_assert_true (loom_trainer_evaluate (trainer, "test", &error));
      g_assert_no_error (error);
      before = loss[i];
      train_test_run (trainer);
      g_assert_true (loom_trainer_evaluate (trainer, "test", &error));
      g_assert_cmpfloat (loss[i], ==, before);
    }
  g_assert_cmpfloat_with_epsilon (loss[0], loss[1], 1e-6);
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/evaluation/formulas", test_formulas);
  g_test_add_func ("/evaluation/kinds", test_kinds);
  g_test_add_func ("/evaluation/balance", test_balance);
  g_test_add_func ("/evaluation/split", test_split);
  g_test_add_func ("/evaluation/before-run", test_before_run);
  g_test_add_data_func ("/evaluation/several-inputs", "tree-recursion.xml", test_several_inputs);
  g_test_add_data_func ("/evaluation/decoder", "dates-attention.xml", test_several_inputs);
  g_test_add_func ("/evaluation/history", test_history);
  g_test_add_func ("/evaluation/regression", test_regression);
  g_test_add_func ("/evaluation/sequences", test_sequences);
  g_test_add_func ("/evaluation/samples", test_kept_samples);
  return g_test_run ();
}
