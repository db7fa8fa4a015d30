/* Implements recorder.h. Figures of a run come four times a second at most, as the window shows them. */
#include "ui/page/recorder.h"

#include "ui/page/recording-file.h"

#define SPARE_SECONDS 1 /* more than the time of an event is rounded by */

struct _Recorder
{
  StudioDocument *document;
  StudioRun *run;
  GOutputStream *out; /* NULL after a fault */
  char *fault;
  gint64 begun;
  gsize bytes;            /* written */
  guint n_lines;          /* the head included */
  char *graph;            /* as it was last written */
  double step, evaluated; /* of the run's last point, and of its last evaluation */
  StudioRunState state;
};

double
recorder_get_seconds (const Recorder *self)
{
  return (double)(g_get_monotonic_time () - self->begun) / G_USEC_PER_SEC;
}

const char *
recorder_get_fault (const Recorder *self)
{
  return self->fault;
}

static void
write_line (Recorder *self, char *line)
{
  g_autofree char *owned = line;
  g_autoptr (GError) error = NULL;
  const gsize length = strlen (line);

  if (self->out == NULL)
    return;
  if (recording_fits (self->bytes + length, self->n_lines, recorder_get_seconds (self) + SPARE_SECONDS, &error)
      && g_output_stream_write_all (self->out, line, length, NULL, NULL, &error))
    {
      self->bytes += length;
      self->n_lines++;
      return;
    }
  self->fault = g_strdup (error->message);
  g_clear_object (&self->out);
}

static void
add (Recorder *self, const char *kind, JsonNode *value)
{
  write_line (self, recording_event_line (recorder_get_seconds (self), kind, value));
}

static void
add_text (Recorder *self, const char *kind, const char *text)
{
  add (self, kind, json_node_init_string (json_node_alloc (), text));
}

void
recorder_note (Recorder *self, const char *text)
{
  add_text (self, "note", text);
}

void
recorder_command (Recorder *self, const char *name)
{
  add_text (self, "command", name);
}

/* ---- the document ------------------------------------------------------------- */

static void
changed_cb (Recorder *self)
{
  g_autofree char *text = loom_graph_write (studio_document_get_graph (self->document), NULL);

  if (g_str_equal (text, self->graph))
    return;
  add_text (self, "graph", text);
  g_free (self->graph);
  self->graph = g_steal_pointer (&text);
}

static void
selection_cb (Recorder *self)
{
  const guint n = studio_document_n_selected (self->document);
  g_autofree char *path
      = n == 1 ? studio_document_dup_node_path (self->document, studio_document_get_selected (self->document, 0))
               : NULL;

  if (path != NULL || n == 0)
    add_text (self, "selection", path != NULL ? path : "");
}

/* ---- the run -------------------------------------------------------------------- */

static JsonObject *
run_event (const char *name, double step, double loss)
{
  JsonObject *event = json_object_new ();

  json_object_set_string_member (event, "event", name);
  json_object_set_int_member (event, "step", (gint64)step);
  if (isfinite (loss))
    json_object_set_double_member (event, "loss", loss);
  return event;
}

static void
add_run (Recorder *self, JsonObject *event)
{
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);

  json_node_take_object (node, event);
  add (self, "run", node);
}

static void
set_metrics (Recorder *self, JsonObject *event, gboolean evaluated)
{
  JsonObject *metrics = json_object_new ();

  for (guint i = 0; i < studio_run_n_metrics (self->run); i++)
    {
      double x, y = studio_run_get_metric (self->run, i);

      if (evaluated && !loom_series_last (studio_run_get_validation (self->run, (int)i), &x, &y))
        continue;
      if (isfinite (y))
        json_object_set_double_member (metrics, studio_run_get_metric_name (self->run, i), y);
    }
  json_object_set_object_member (event, "metrics", metrics);
}

#define BETWEEN 32 /* points that are written between two, so that a fast run has its curve */

static void
add_points_before (Recorder *self, const LoomSeries *train, double last)
{
  const gsize from = loom_series_lower_bound (train, nextafter (self->step, INFINITY));
  const gsize to = loom_series_lower_bound (train, last), stride = (to - from) / BETWEEN + 1;

  for (gsize i = from; i < to; i += stride)
    {
      double x, y;

      loom_series_get (train, i, &x, &y);
      add_run (self, run_event ("step", x, y));
    }
}

static void
numbers_cb (Recorder *self)
{
  const StudioRunProgress *progress = studio_run_get_progress (self->run);
  double step, loss;

  if (loom_series_last (studio_run_get_train (self->run, -1), &step, &loss) && step != self->step)
    {
      JsonObject *event = run_event ("step", step, loss);

      add_points_before (self, studio_run_get_train (self->run, -1), step);
      json_object_set_int_member (event, "epoch", progress->epoch);
      json_object_set_int_member (event, "total_steps", progress->total_steps);
      json_object_set_int_member (event, "epochs", progress->epochs);
      if (isfinite (progress->lr))
        json_object_set_double_member (event, "lr", progress->lr);
      set_metrics (self, event, FALSE);
      add_run (self, event);
      self->step = step;
    }
  if (loom_series_last (studio_run_get_validation (self->run, -1), &step, &loss) && step != self->evaluated)
    {
      const char *split = studio_run_get_curves (self->run)->split;
      JsonObject *event = run_event ("eval", step, loss);

      json_object_set_string_member (event, "split", split != NULL ? split : "val");
      set_metrics (self, event, TRUE);
      add_run (self, event);
      self->evaluated = step;
    }
}

/* Words of the file, which no translation changes. */
static const char *const state_words[] = {
  [STUDIO_RUN_IDLE] = "idle",       [STUDIO_RUN_STARTING] = RECORDING_STARTING,
  [STUDIO_RUN_RUNNING] = "running", [STUDIO_RUN_PAUSED] = "paused",
  [STUDIO_RUN_DONE] = "done",       [STUDIO_RUN_STOPPED] = "stopped",
  [STUDIO_RUN_FAILED] = "failed",   [STUDIO_RUN_LOST] = "lost",
};

static void
state_cb (Recorder *self)
{
  const StudioRunState state = studio_run_get_state (self->run);

  if (state == self->state)
    return;
  /* The last points come before the end. */
  numbers_cb (self);
  if (state == STUDIO_RUN_STARTING)
    self->step = self->evaluated = -1;
  self->state = state;
  add_text (self, "state", state_words[state]);
}

/* ---- object --------------------------------------------------------------------- */

Recorder *
recorder_new (StudioDocument *document, StudioRun *run, const char *path, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  GFileOutputStream *out = g_file_replace (file, NULL, FALSE, G_FILE_CREATE_NONE, NULL, error);
  g_autofree char *title = studio_document_dup_title (document);
  Recorder *self;

  if (out == NULL)
    return NULL;
  self = g_new0 (Recorder, 1);
  self->document = g_object_ref (document);
  self->run = g_object_ref (run);
  self->out = G_OUTPUT_STREAM (out);
  self->begun = g_get_monotonic_time ();
  self->graph = loom_graph_write (studio_document_get_graph (document), NULL);
  self->step = self->evaluated = -1;
  self->state = studio_run_get_state (run);
  write_line (self, recording_head_line (title, self->graph));
  selection_cb (self);
  g_signal_connect_swapped (document, "changed", G_CALLBACK (changed_cb), self);
  g_signal_connect_swapped (document, "selection-changed", G_CALLBACK (selection_cb), self);
  g_signal_connect_swapped (run, "numbers", G_CALLBACK (numbers_cb), self);
  g_signal_connect_swapped (run, "state-changed", G_CALLBACK (state_cb), self);
  return self;
}

void
recorder_free (Recorder *self)
{
  /* The length of the recording is that of its last event. */
  recorder_note (self, "");
  g_signal_handlers_disconnect_by_data (self->document, self);
  g_signal_handlers_disconnect_by_data (self->run, self);
  if (self->out != NULL)
    g_output_stream_close (self->out, NULL, NULL);
  g_clear_object (&self->out);
  g_object_unref (self->document);
  g_object_unref (self->run);
  g_free (self->graph);
  g_free (self->fault);
  g_free (self);
}
