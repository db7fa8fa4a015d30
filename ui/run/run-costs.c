/* Requests the costs of views from the worker, reads its lines and words them (run-costs.h). */
#include "ui/run/run-costs.h"

#include <glib/gi18n.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "engine/loom.h"
#include "engine/core/loom-rate.h"
#include "engine/infer/loom-run-event.h"
#include "ui/run/run-report.h"
#include "ui/scene/studio-format.h"

#define MOST_LINES 8

/* A port is its own title. */
static const char *
title_of (const char *view)
{
  static const struct
  {
    const char *view, *title;
  } titles[] = {
    { "predict", N_ ("picture of the task, own input") },
    { "weights", N_ ("weights for an evaluation") },
    { LOOM_SNAPSHOT_HEALTH, N_ ("health") },
    { LOOM_SNAPSHOT_TIMES, N_ ("times of the layers") },
    { LOOM_SNAPSHOT_TRACE, N_ ("timeline") },
  };

  for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
    if (g_str_equal (titles[i].view, view))
      return _ (titles[i].title);
  return view;
}

/* FALSE: it is no such line. */
static gboolean
read_line (const char *line, gsize length, const char **view, double *requests, double *seconds, JsonParser *parser)
{
  JsonNode *root;

  if (!loom_json_is_within (line, length, LOOM_JSON_LEVELS)
      || !json_parser_load_from_data (parser, line, (gssize)length, NULL)
      || (root = json_parser_get_root (parser)) == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    return FALSE;
  JsonObject *object = json_node_get_object (root);
  *view = loom_run_event_text (object, "view", NULL);
  *requests = loom_run_event_number (object, "requests");
  *seconds = loom_run_event_number (object, "seconds");
  return *view != NULL && *requests >= 1 && *seconds >= 0;
}

char *
run_costs_describe (const char *text, gsize length, double seconds)
{
  g_autoptr (GString) lines = g_string_new (NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  double all = 0;
  guint n = 0;

  for (const char *line = text, *end = text + length, *next; line < end; line = next + 1)
    {
      const char *view;
      double requests, cost;

      next = memchr (line, '\n', (gsize)(end - line));
      if (next == NULL || !read_line (line, (gsize)(next - line), &view, &requests, &cost, parser))
        return NULL;
      all += cost;
      if (n++ >= MOST_LINES)
        continue;
      g_autofree char *each = studio_format_number (1000 * cost / requests), *times = studio_format_count (requests);
      g_string_append_c (lines, '\n');
      /* Translators: a view, the milliseconds of one request, and the number of requests. */
      g_string_append_printf (lines, _ ("%1$s: %2$s ms, %3$s times"), title_of (view), each, times);
    }
  if (n == 0)
    return NULL;
  g_autofree char *sum = studio_format_number (all), *steps = studio_format_number (seconds);
  /* Translators: seconds of the views, seconds of the steps, and a line for each view. */
  return seconds > 0 ? g_strdup_printf (_ ("Watching took %1$s s, all steps %2$s s:%3$s"), sum, steps, lines->str)
                     : g_strdup_printf (_ ("Watching took %1$s s:%2$s"), sum, lines->str);
}

/* "0.31 ms, 12 times"; NULL: the view has cost nothing. */
static char *
describe_view (const char *text, gsize length, const char *view)
{
  g_autoptr (JsonParser) parser = json_parser_new ();

  for (const char *line = text, *end = text + length, *next; line < end; line = next + 1)
    {
      const char *found;
      double requests, cost;

      next = memchr (line, '\n', (gsize)(end - line));
      if (next == NULL || !read_line (line, (gsize)(next - line), &found, &requests, &cost, parser))
        return NULL;
      if (!g_str_equal (found, view))
        continue;
      g_autofree char *each = studio_format_number (1000 * cost / requests), *times = studio_format_count (requests);
      /* Translators: the milliseconds of one request, and the number of requests. */
      return g_strdup_printf (_ ("%1$s ms, %2$s times"), each, times);
    }
  return NULL;
}

/* ---- requests --------------------------------------------------------------- */

#define MAX_BYTES (256 * 1024)

struct _RunCosts
{
  gatomicrefcount refs;
  StudioRun *run; /* NULL after run_costs_free() */
  void (*changed) (gpointer data);
  gpointer data;
  GBytes *lines; /* of the last answer */
  char *words, *of, *folder;
  LoomRate requests;
  gboolean in_flight;
};

static void
costs_unref (RunCosts *self)
{
  if (!g_atomic_ref_count_dec (&self->refs))
    return;
  g_clear_pointer (&self->lines, g_bytes_unref);
  g_free (self->words);
  g_free (self->of);
  g_free (self->folder);
  g_free (self);
}

static void
forget_other_run (RunCosts *self)
{
  const char *folder = studio_run_get_folder (self->run);

  if (g_strcmp0 (folder, self->folder) == 0)
    return;
  g_free (self->folder);
  self->folder = g_strdup (folder);
  g_clear_pointer (&self->words, g_free);
  g_clear_pointer (&self->lines, g_bytes_unref);
}

static void
answer_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  RunCosts *self = data;
  gint64 step;
  g_autoptr (GVariant) text = run_report_finish (source, result, &step, NULL);

  self->in_flight = FALSE;
  if (text != NULL && self->run != NULL && studio_run_get_proxy (self->run) == LOOM_BUS_WORKER1 (source))
    {
      const StudioRunWaits *w = &studio_run_get_progress (self->run)->waits;

      g_clear_pointer (&self->lines, g_bytes_unref);
      self->lines = g_variant_get_data_as_bytes (text);
      g_free (self->words);
      self->words = run_costs_describe (g_variant_get_data (text), g_variant_get_size (text),
                                        (w->data + w->compute + w->rest) * (double)step);
      self->changed (self->data);
    }
  costs_unref (self);
}

RunCosts *
run_costs_new (StudioRun *run, void (*changed) (gpointer data), gpointer data)
{
  RunCosts *self = g_new0 (RunCosts, 1);

  g_atomic_ref_count_init (&self->refs);
  self->run = run;
  self->changed = changed;
  self->requests.interval = G_USEC_PER_SEC;
  self->data = data;
  return self;
}

void
run_costs_free (RunCosts *self)
{
  self->run = NULL;
  costs_unref (self);
}

void
run_costs_request (RunCosts *self)
{
  LoomBusWorker1 *proxy = studio_run_get_proxy (self->run);
  const StudioRunState state = studio_run_get_state (self->run);
  forget_other_run (self);
  if (proxy == NULL || self->in_flight || state == STUDIO_RUN_IDLE || state == STUDIO_RUN_STARTING
      || !loom_rate_is_due (&self->requests, g_get_monotonic_time ()))
    return;
  self->in_flight = TRUE;
  g_atomic_ref_count_inc (&self->refs);
  run_report_async (proxy, RUN_COSTS_PORT, MAX_BYTES, NULL, answer_cb, self);
}

const char *
run_costs_words (const RunCosts *self)
{
  return self->words;
}

const char *
run_costs_of (RunCosts *self, const char *view)
{
  gsize length;
  const char *text = self->lines != NULL ? g_bytes_get_data (self->lines, &length) : NULL;

  g_free (self->of);
  self->of = text != NULL ? describe_view (text, length, view) : NULL;
  return self->of;
}
