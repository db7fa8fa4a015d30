/* Prints an evaluation sample by sample, as tables, JSON or CSV. */
#include "app/eval-details.h"

#include <math.h>

void
eval_details_clear (EvalDetails *self)
{
  g_clear_pointer (&self->csv, g_free);
  g_clear_pointer (&self->split, g_free);
}

gboolean
eval_details_wanted (const EvalDetails *self)
{
  return self->confusion || self->per_class || self->calibration || self->csv != NULL;
}

/* LOOM_N_SPLITS: there is no such split. */
static LoomSplit
split_of (const char *name)
{
  guint s = 0;

  while (s < LOOM_N_SPLITS && !g_str_equal (name, loom_split_name ((LoomSplit)s)))
    s++;
  return (LoomSplit)s;
}

gboolean
eval_details_check (const EvalDetails *self, const Command *command)
{
  if (self->split != NULL && split_of (self->split) == LOOM_N_SPLITS)
    command_usage (command, "--split takes train, val or test, not “%s”.", self->split);
  else if (self->split != NULL && !eval_details_wanted (self))
    command_usage (command, "--split is for --confusion, --per-class, --calibration and --csv.");
  else if (!command_can_write (self->csv))
    command_usage (command, "“%s” cannot be written.", self->csv);
  else
    return TRUE;
  return FALSE;
}

/* ---- tables --------------------------------------------------------------- */

/* A fraction in percent, or "-". */
static const char *
percent (double fraction, char text[16])
{
  if (isnan (fraction))
    return "-";
  return g_ascii_formatd (text, 16, "%.1f", 100 * fraction);
}

static char *
printable_name (const LoomEvaluation *e, guint k)
{
  g_autofree char *name = loom_evaluation_class_name (e, k);

  return command_printable (name);
}

static int
name_width (const LoomEvaluation *e)
{
  glong width = 5;

  for (guint k = 0; k < e->n_classes; k++)
    {
      g_autofree char *name = printable_name (e, k);
      width = MAX (width, g_utf8_strlen (name, -1));
    }
  return (int)MIN (width, 24);
}

/* A class's name, padded to a number of characters. */
static void
print_name (const LoomEvaluation *e, guint k, int width)
{
  g_autofree char *name = printable_name (e, k);
  g_autofree char *cut = g_utf8_substring (name, 0, MIN (width, g_utf8_strlen (name, -1)));

  printf ("%4u %s%*s", k, cut, width - (int)g_utf8_strlen (cut, -1), "");
}

static void
print_confusion (const LoomEvaluation *e)
{
  const int width = name_width (e);

  printf ("\nrows are classes, columns are predictions\n%*s", width + 5, "");
  for (guint k = 0; k < e->n_classes; k++)
    printf (" %5u", k);
  putchar ('\n');
  for (guint t = 0; t < e->n_classes; t++)
    {
      print_name (e, t, width);
      for (guint p = 0; p < e->n_classes; p++)
        printf (" %5" G_GINT64_FORMAT, loom_confusion_at (e->confusion, t, p));
      putchar ('\n');
    }
}

static void
print_classes (const LoomEvaluation *e)
{
  const int width = name_width (e);
  guint most, least;

  printf ("\n%*s  %s  accuracy %%  precision %%%s\n", width + 5, "", e->is_map ? " pixels" : "samples",
          e->is_map ? "  IoU %" : "");
  for (guint k = 0; k < e->n_classes; k++)
    {
      char recall[16], precision[16], iou[16];

      print_name (e, k, width);
      printf ("  %7" G_GINT64_FORMAT "  %10s  %11s", loom_confusion_row (e->confusion, k),
              percent (loom_confusion_recall (e->confusion, k), recall),
              percent (loom_confusion_precision (e->confusion, k), precision));
      if (e->is_map)
        printf ("  %5s", percent (loom_confusion_iou (e->confusion, k), iou));
      putchar ('\n');
    }
  if (!loom_confusion_is_unbalanced (e->confusion, &most, &least))
    return;
  g_autofree char *large = printable_name (e, most), *small = printable_name (e, least);
  printf ("classes are unbalanced: “%s” has more than %d times the samples of “%s”\n", large, LOOM_BALANCE_RATIO,
          small);
}

static void
print_detection (const EvalDetails *self, const LoomEvaluation *e)
{
  const LoomAveragePrecision *ap = e->detection;
  char all[16], half[16];

  printf ("mAP@[.5:.95] %s %%, mAP@.5 %s %%\n", percent (loom_average_precision_mean (ap, -1), all),
          percent (loom_average_precision_mean (ap, 0), half));
  if (self->per_class)
    printf ("\n%29s    boxes  AP %%  AP@.5 %%\n", "");
  for (guint k = 0; self->per_class && k < loom_average_precision_n_classes (ap); k++)
    {
      print_name (e, k, 24);
      printf ("  %7" G_GINT64_FORMAT "  %4s  %7s\n", loom_average_precision_boxes (ap, k),
              percent (loom_average_precision_of (ap, k, -1), all),
              percent (loom_average_precision_of (ap, k, 0), half));
    }
}

static void
print_calibration (const LoomEvaluation *e)
{
  char text[16];

  printf ("\nexpected calibration error %s %% (%d bins)\n  confidence %%  mean %%  accuracy %%  samples\n",
          percent (loom_calibration_error (&e->calibration), text), LOOM_CALIBRATION_BINS);
  for (int k = 0; k < LOOM_CALIBRATION_BINS; k++)
    {
      const LoomCalibration *c = &e->calibration;
      const double n = (double)c->count[k];
      char mean[16], right[16];

      if (c->count[k] > 0)
        printf ("%6.1f to %5.1f  %6s  %10s  %7" G_GINT64_FORMAT "\n", 100.0 * k / LOOM_CALIBRATION_BINS,
                100.0 * (k + 1) / LOOM_CALIBRATION_BINS, percent (c->confidence[k] / n, mean),
                percent ((double)c->right[k] / n, right), c->count[k]);
    }
}

static void
print_tables (const EvalDetails *self, const LoomEvaluation *e)
{
  char loss[G_ASCII_DTOSTR_BUF_SIZE], accuracy[16], iou[16];
  g_autofree char *n = command_count (e->samples->len);

  printf ("%s %s samples: loss %s", n, loom_split_name (e->split),
          g_ascii_formatd (loss, sizeof loss, "%.4f", e->loss));
  if (e->n_classes > 0)
    printf (", accuracy %s %%", percent (loom_evaluation_accuracy (e), accuracy));
  if (e->is_map && e->confusion != NULL)
    printf (" of pixels, mean IoU %s %%", percent (loom_confusion_mean_iou (e->confusion), iou));
  putchar ('\n');
  if (e->detection != NULL)
    {
      print_detection (self, e);
      return;
    }
  if (self->confusion)
    print_confusion (e);
  if (self->per_class)
    print_classes (e);
  if (self->calibration)
    print_calibration (e);
}

/* ---- JSON ----------------------------------------------------------------- */

static void
add_confusion (LoomJson *json, const LoomConfusion *confusion)
{
  loom_json_begin_array (json, "confusion");
  for (guint t = 0; t < confusion->n_classes; t++)
    loom_json_ints (json, NULL, (int)confusion->n_classes, confusion->count + (gsize)t * confusion->n_classes);
  loom_json_end_array (json);
}

static void
add_classes (LoomJson *json, const LoomConfusion *confusion, gboolean is_map)
{
  loom_json_begin_array (json, "per_class");
  for (guint k = 0; k < confusion->n_classes; k++)
    {
      loom_json_begin_object (json, NULL);
      loom_json_int (json, "samples", loom_confusion_row (confusion, k));
      loom_json_exact (json, "accuracy", loom_confusion_recall (confusion, k));
      loom_json_exact (json, "precision", loom_confusion_precision (confusion, k));
      if (is_map)
        loom_json_exact (json, "iou", loom_confusion_iou (confusion, k));
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

static void
add_calibration (LoomJson *json, const LoomCalibration *c)
{
  loom_json_begin_object (json, "calibration");
  loom_json_exact (json, "error", loom_calibration_error (c));
  loom_json_begin_array (json, "bins");
  for (int k = 0; k < LOOM_CALIBRATION_BINS; k++)
    {
      const double n = (double)c->count[k];

      loom_json_begin_object (json, NULL);
      loom_json_int (json, "samples", c->count[k]);
      loom_json_exact (json, "confidence", n > 0 ? c->confidence[k] / n : NAN);
      loom_json_exact (json, "accuracy", n > 0 ? (double)c->right[k] / n : NAN);
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
  loom_json_end_object (json);
}

static void
add_detection (LoomJson *json, const EvalDetails *self, const LoomEvaluation *e)
{
  const LoomAveragePrecision *ap = e->detection;

  loom_json_exact (json, "map", loom_average_precision_mean (ap, -1));
  loom_json_exact (json, "map_50", loom_average_precision_mean (ap, 0));
  if (!self->per_class)
    return;
  loom_json_begin_array (json, "per_class");
  for (guint k = 0; k < loom_average_precision_n_classes (ap); k++)
    {
      loom_json_begin_object (json, NULL);
      loom_json_int (json, "boxes", loom_average_precision_boxes (ap, k));
      loom_json_exact (json, "ap", loom_average_precision_of (ap, k, -1));
      loom_json_exact (json, "ap_50", loom_average_precision_of (ap, k, 0));
      loom_json_end_object (json);
    }
  loom_json_end_array (json);
}

static void
print_event (const EvalDetails *self, const LoomEvaluation *e)
{
  LoomJson *json = command_event_new ("samples");

  loom_json_string (json, "split", loom_split_name (e->split));
  loom_json_int (json, "samples", e->samples->len);
  loom_json_exact (json, "loss", e->loss);
  if (e->n_classes > 0)
    {
      loom_json_exact (json, "accuracy", loom_evaluation_accuracy (e));
      if (e->is_map && e->confusion != NULL)
        loom_json_exact (json, "mean_iou", loom_confusion_mean_iou (e->confusion));
      loom_json_begin_array (json, "classes");
      for (guint k = 0; k < e->n_classes; k++)
        {
          g_autofree char *name = loom_evaluation_class_name (e, k);
          loom_json_string (json, NULL, name);
        }
      loom_json_end_array (json);
    }
  if (e->detection != NULL)
    add_detection (json, self, e);
  if (self->confusion)
    add_confusion (json, e->confusion);
  if (self->per_class && e->detection == NULL)
    add_classes (json, e->confusion, e->is_map);
  if (self->calibration)
    add_calibration (json, &e->calibration);
  command_event_print (json);
}

/* ---- CSV ------------------------------------------------------------------ */

static void
add_number (GString *text, double value)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append_c (text, ',');
  if (!isnan (value))
    g_string_append (text, g_ascii_formatd (number, sizeof number, "%.9g", value));
}

static int
compare_losses (gconstpointer a, gconstpointer b)
{
  const LoomEvaluatedSample *x = a, *y = b;

  return x->loss > y->loss ? -1 : x->loss < y->loss ? 1 : x->index < y->index ? -1 : x->index > y->index;
}

static gboolean
write_csv (const EvalDetails *self, LoomEvaluation *e, GError **error)
{
  g_autoptr (GString) text = g_string_new ("sample,target,predicted,probability,loss\n");

  g_array_sort (e->samples, compare_losses);
  for (guint i = 0; i < e->samples->len; i++)
    {
      const LoomEvaluatedSample *s = &g_array_index (e->samples, LoomEvaluatedSample, i);

      g_string_append_printf (text, "%" G_GINT64_FORMAT, s->index);
      add_number (text, s->target);
      add_number (text, s->predicted);
      add_number (text, s->probability);
      add_number (text, s->loss);
      g_string_append_c (text, '\n');
    }
  return loom_file_replace (self->csv, text->str, text->len, error);
}

/* ---- all of it ------------------------------------------------------------ */

/* The first option that these predictions do not have; NULL: there is none. */
static const char *
missing_option (const EvalDetails *self, const LoomEvaluation *e)
{
  if (e->confusion == NULL && (self->confusion || (self->per_class && e->detection == NULL)))
    return self->confusion ? "--confusion" : "--per-class";
  return self->calibration && (e->n_classes == 0 || e->kind == LOOM_ANSWER_LOGITS) ? "--calibration" : NULL;
}

int
eval_details_print (const EvalDetails *self, const Command *command, const LoomGraph *graph,
                    const LoomPredictorOptions *options, gint64 batch, gboolean as_json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPredictor) predictor = loom_predictor_new (graph, options, &error);

  if (predictor == NULL)
    return command_fail (command, g_steal_pointer (&error));
  const LoomSplit split = self->split != NULL ? split_of (self->split) : loom_evaluation_default_split (predictor);
  g_autoptr (LoomEvaluation) e
      = loom_evaluation_run (predictor, split, 0, (guint)MIN (batch, 4096), NULL, NULL, &error);
  if (e == NULL)
    return command_fail (command, g_steal_pointer (&error));
  const char *missing = missing_option (self, e);
  if (missing != NULL && e->n_classes > LOOM_CONFUSION_MOST)
    return command_usage (command, "%s is for at most %d classes, and the net has %u.", missing, LOOM_CONFUSION_MOST,
                          e->n_classes);
  if (missing != NULL)
    return command_usage (command, "%s is for nets that predict probabilities of classes.", missing);
  if (as_json)
    print_event (self, e);
  else
    print_tables (self, e);
  if (self->csv != NULL && !write_csv (self, e, &error))
    return command_fail (command, g_steal_pointer (&error));
  return command_flush () ? 0 : 5;
}
