/* Each line of events.jsonl is one JSON object. */
#include "app/report/report-events.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#define MOST_BYTES (256 * 1024 * 1024)

/* Events have only some steps of a long run, and of a killed one not the last. */
static void
add_last_step (ReportData *self)
{
  const LoomRunLog *log = &self->run->log;
  const gsize n = loom_series_length (self->losses);
  double last = 0;

  if (n > 0)
    loom_series_get (self->losses, n - 1, &last, NULL);
  if ((double)log->step > last)
    loom_series_append (self->losses, (double)log->step, log->loss);
}

static void
series_free (gpointer data)
{
  ReportSeries *series = data;

  g_free (series->name);
  g_free (series->split);
  loom_series_unref (series->points);
  g_free (series);
}

static void
add_value (ReportData *self, const char *split, const char *name, double step, double value)
{
  ReportSeries *series = NULL;

  for (guint i = 0; i < self->evaluations->len && series == NULL; i++)
    {
      ReportSeries *s = self->evaluations->pdata[i];
      series = g_str_equal (s->name, name) && g_str_equal (s->split, split) ? s : NULL;
    }
  if (series == NULL)
    {
      series = g_new (ReportSeries, 1);
      *series = (ReportSeries){ g_strdup (name), g_strdup (split), loom_series_new (LOOM_SERIES_MOST) };
      g_ptr_array_add (self->evaluations, series);
    }
  loom_series_append (series->points, step, value);
}

static void
add_evaluation (ReportData *self, JsonObject *event)
{
  const char *split = loom_run_event_text (event, "split", "");
  const double step = loom_run_event_number (event, "step");
  g_autoptr (GArray) values = NULL;
  g_autoptr (GPtrArray) names = loom_run_event_metrics (event, &values);

  if (isnan (step))
    return;
  add_value (self, split, "loss", step, loom_run_event_number (event, "loss"));
  for (guint i = 0; i < values->len; i++)
    add_value (self, split, names->pdata[i], step, g_array_index (values, double, i));
}

static void
change_free (gpointer data)
{
  ReportChange *change = data;

  g_free (change->name);
  g_free (change);
}

/* "hyper": a number, and what it was before if that is known. */
static void
add_change (ReportData *self, JsonObject *event)
{
  const char *name = loom_run_event_text (event, "name", NULL);
  ReportChange *change;

  if (name == NULL)
    return;
  change = g_new (ReportChange, 1);
  *change = (ReportChange){ loom_run_event_int (event, "step", 0), g_strdup (name),
                            loom_run_event_number (event, "before"), loom_run_event_number (event, "value") };
  g_ptr_array_add (self->changes, change);
}

static void
add_line (ReportData *self, JsonParser *parser, const char *line)
{
  LoomRunStep step;
  JsonObject *event;
  const char *kind;

  if (loom_run_event_step (line, line + strlen (line), &step))
    {
      loom_series_append (self->losses, (double)step.step, step.loss);
      return;
    }
  event = loom_run_event_parse (parser, line, strlen (line));
  if (event == NULL)
    return;
  kind = loom_run_event_text (event, "event", "");
  if (g_str_equal (kind, "eval"))
    add_evaluation (self, event);
  else if (g_str_equal (kind, "hyper"))
    add_change (self, event);
  else if (g_str_equal (kind, "branch"))
    {
      g_free (self->branch_of);
      self->branch_of = g_strdup (loom_run_event_text (event, "parent", ""));
      self->branch_step = loom_run_event_int (event, "step", 0);
    }
}

gboolean
report_events_read (ReportData *self, LoomFolder *run, GError **error)
{
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *text = NULL, *path = loom_folder_path_of (run, LOOM_RUN_EVENTS);
  char *line, *rest;

  self->losses = loom_series_new (LOOM_SERIES_MOST);
  self->evaluations = g_ptr_array_new_with_free_func (series_free);
  self->changes = g_ptr_array_new_with_free_func (change_free);
  if (!loom_path_exists (path))
    return TRUE;
  if (!loom_folder_read (run, LOOM_RUN_EVENTS, MOST_BYTES, &text, NULL, error))
    return FALSE;
  for (line = strtok_r (text, "\n", &rest); line != NULL; line = strtok_r (NULL, "\n", &rest))
    add_line (self, parser, line);
  add_last_step (self);
  return TRUE;
}
