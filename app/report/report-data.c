/* Reads a run and evaluates it. What cannot be computed, for example because the data are not on this machine, is left
 * out with the reason, so that every run has a report. */
#include "app/report/report-data.h"

#include "app/report/report-attention.h"
#include "app/report/report-events.h"

#include <math.h>
#include <string.h>

#define BATCH        64
#define MOST_SAMPLES 10000 /* of an evaluation, spread over the split */
#define MOST_JSON    (1024 * 1024)
/* The fractions of the work at which its parts end. */
#define DONE_READING    0.05
#define DONE_PREDICTING 0.85
#define DONE_ATTENTION  0.9

typedef struct
{
  ReportProgress progress;
  gpointer data;
} Reporter;

static gboolean
report (const Reporter *reporter, double done)
{
  if (reporter->progress != NULL)
    reporter->progress (done, reporter->data);
  return TRUE;
}

static gboolean
evaluated_cb (gint64 done, gint64 all, gpointer data)
{
  return report (data, DONE_READING + (DONE_PREDICTING - DONE_READING) * (double)done / (double)MAX (all, 1));
}

/* ---- the folder ------------------------------------------------------------------------ */

/* The version that trained is a note in run.json, which nothing depends on. */
static char *
read_program (LoomFolder *folder)
{
  g_autofree char *text = NULL;
  g_autoptr (GRegex) member = g_regex_new ("\"program\"\\s*:\\s*\"([^\"\\\\]{1,100})\"", 0, 0, NULL);
  g_autoptr (GMatchInfo) match = NULL;

  if (!loom_folder_read (folder, LOOM_RUN_SETTINGS, MOST_JSON, &text, NULL, NULL)
      || !g_regex_match (member, text, 0, &match))
    return NULL;
  return g_match_info_fetch (match, 1);
}

static gboolean
read_run (ReportData *self, GError **error)
{
  g_autoptr (LoomFolder) folder = loom_folder_open (self->folder, error);
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  if (folder == NULL)
    return FALSE;
  self->run = loom_run_summary_new (self->folder, 2);
  if (self->run->error != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s", self->run->error);
      return FALSE;
    }
  self->graph = loom_run_read (self->folder, &self->settings, error);
  if (self->graph == NULL)
    return FALSE;
  self->program = read_program (folder);
  self->net = loom_net_new (self->graph, NULL, faults);
  self->spec = loom_train_spec_new (self->graph, self->net, faults);
  return report_events_read (self, folder, error);
}

/* ---- computed -------------------------------------------------------------------------- */

static void
forecast (ReportData *self)
{
  const LoomTrainerOptions options = { .device = self->settings.device,
                                       .threads = self->settings.threads,
                                       .lr = NAN,
                                       .seed = -1,
                                       .weights = "",
                                       .costs_of = self->folder };
  g_auto (LoomForecast) forecast = { 0 };

  if (self->settings.ranks > 1 || !loom_forecast (self->graph, &options, NULL, 1, 0, &forecast, NULL))
    return;
  self->needed = forecast.needed;
  self->needed_on = g_steal_pointer (&forecast.devices);
}

static void
evaluate (ReportData *self, const LoomPredictorOptions *options, Reporter *reporter)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPredictor) predictor = loom_predictor_new (self->graph, options, &error);

  if (predictor != NULL)
    self->evaluation = loom_evaluation_run (predictor, loom_evaluation_default_split (predictor), MOST_SAMPLES, BATCH,
                                            evaluated_cb, reporter, &error);
  if (self->evaluation == NULL)
    self->why_not = g_strdup (error->message);
}

ReportData *
report_data_new (const char *folder, ReportProgress progress, gpointer data, GError **error)
{
  g_autoptr (ReportData) self = g_new0 (ReportData, 1);
  g_autoptr (GError) no_weights = NULL;
  Reporter reporter = { progress, data };

  self->folder = g_strdup (folder);
  self->attention = report_attention_list_new ();
  if (!read_run (self, error))
    return NULL;
  report (&reporter, DONE_READING);
  forecast (self);
  g_autofree char *weights = loom_run_newest_weights (folder, &no_weights);
  const LoomPredictorOptions options = { .weights = weights, .threads = self->settings.threads, .run = folder };
  if (weights == NULL)
    {
      self->why_not = g_strdup (no_weights->message);
      return g_steal_pointer (&self);
    }
  evaluate (self, &options, &reporter);
  report (&reporter, DONE_PREDICTING);
  report_attention_compute (self, &options);
  report (&reporter, DONE_ATTENTION);
  return g_steal_pointer (&self);
}

void
report_data_free (ReportData *self)
{
  if (self == NULL)
    return;
  g_free (self->folder);
  g_clear_pointer (&self->spec, loom_train_spec_free);
  g_clear_pointer (&self->net, loom_net_free);
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_clear_pointer (&self->run, loom_run_summary_unref);
  g_free (self->settings.device);
  g_free (self->program);
  g_clear_pointer (&self->losses, loom_series_unref);
  g_clear_pointer (&self->evaluations, g_ptr_array_unref);
  g_clear_pointer (&self->changes, g_ptr_array_unref);
  g_free (self->branch_of);
  g_free (self->needed_on);
  g_clear_pointer (&self->evaluation, loom_evaluation_free);
  g_free (self->why_not);
  g_clear_pointer (&self->attention, g_ptr_array_unref);
  g_free (self->no_attention);
  g_strfreev (self->tokens);
  g_free (self);
}
