/* Finds other runs of a graph: restores an interrupted one from its folder with curves, step and learning rate, so that
 * studio_run_continue() resumes it, and reports whether one trains in another window or without one. */
#include <glib/gi18n.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "engine/loom.h"
#include "engine/runs/loom-run-host.h"
#include "engine/infer/loom-run-event.h"
#include "ui/charts/studio-plot.h"
#include "ui/run/run-folder.h"
#include "ui/run/studio-run-private.h"

#define MAX_GRAPH  64000000
#define MAX_EVENTS 1000000000

static void
add_evaluation (StudioRun *self, JsonObject *event, gint64 step, gint64 epoch)
{
  g_autoptr (GArray) values = NULL;
  g_autoptr (GPtrArray) names = loom_run_event_metrics (event, &values);
  g_autoptr (GVariant) all = g_variant_ref_sink (
      g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, values->data, values->len, sizeof (double)));
  studio_run_take_evaluation (self, loom_run_event_text (event, "split", "val"), step, epoch,
                              loom_run_event_number (event, "loss"), (const char *const *)names->pdata, all);
}

static void
add_step (StudioRun *self, const LoomRunStep *step)
{
  self->progress.step = step->step;
  self->progress.epoch = step->epoch;
  self->progress.loss = step->loss;
  self->progress.lr = step->lr;
  loom_series_append (self->curves.loss.train, (double)step->step, step->loss);
}

static void
add_event (StudioRun *self, JsonObject *event, gint64 until)
{
  const char *kind = loom_run_event_text (event, "event", "");
  gint64 step = loom_run_event_int (event, "step", -1);

  if (step < 0 || step > until)
    return;
  if (g_str_equal (kind, "eval"))
    add_evaluation (self, event, step, loom_run_event_int (event, "epoch", 0));
  else if (g_str_equal (kind, "hyper"))
    studio_run_add_change (self, (double)step, loom_run_event_text (event, "name", "lr"),
                           loom_run_event_number (event, "value"));
}

/* Restores curves, figures and marks up to a step: resuming computes the steps after the newest checkpoint again. */
static void
read_events (StudioRun *self, gint64 until)
{
  gsize length;
  g_autofree char *text = run_folder_read (self->folder, LOOM_RUN_EVENTS, MAX_EVENTS, &length);
  if (text == NULL)
    return;
  g_autoptr (JsonParser) parser = json_parser_new ();
  for (char *line = text, *end; line < text + length && (end = strchr (line, '\n')) != NULL; line = end + 1)
    {
      LoomRunStep step;
      JsonObject *event;
      if (loom_run_event_step (line, end, &step))
        {
          if (step.step <= until)
            add_step (self, &step);
        }
      else if ((event = loom_run_event_parse (parser, line, (gsize)(end - line))) != NULL)
        add_event (self, event, until);
    }
}

gboolean
studio_run_restore (StudioRun *self, const char *folder, const char *graph_folder, gint64 until)
{
  g_autofree char *xml = run_folder_read (folder, LOOM_RUN_GRAPH, MAX_GRAPH, NULL);
  char *copy;
  if (xml == NULL)
    return FALSE;
  copy = g_strdup (folder);
  g_free (self->folder);
  self->folder = copy;
  g_free (self->graph_xml);
  self->graph_xml = g_steal_pointer (&xml);
  copy = g_strdup (graph_folder);
  g_free (self->graph_folder);
  self->graph_folder = copy;
  self->options = (StudioRunOptions)STUDIO_RUN_OPTIONS_INIT;
  g_clear_pointer (&self->device, g_free);
  self->checkpoint_step = run_folder_newest_checkpoint (folder);
  g_auto (LoomRunHost) host = { NULL };
  loom_run_host_read (folder, &host);
  g_free (self->host.live);
  self->host.live = g_steal_pointer (&host.name);
  read_events (self, until);
  /* The checkpoints of a run on a host are there, and it continues from the newest. */
  if (self->host.live != NULL && self->checkpoint_step < 0 && self->progress.step > 0)
    self->checkpoint_step = self->progress.step;
  return TRUE;
}

gboolean
studio_run_is_elsewhere (const char *graph_hash)
{
  g_auto (RunFolderFound) found = { NULL };
  run_folder_find (graph_hash, &found);
  return found.live != NULL;
}

gboolean
studio_run_is_attachable (const char *graph_hash)
{
  g_auto (RunFolderFound) found = { NULL };
  run_folder_find (graph_hash, &found);
  return found.live != NULL && run_folder_is_attachable (found.live);
}

void
studio_run_find_elsewhere (StudioRun *self, const char *graph_hash)
{
  g_auto (RunFolderFound) found = { NULL };
  if (self->state != STUDIO_RUN_IDLE)
    return;
  run_folder_find (graph_hash, &found);
  g_autofree char *before = g_steal_pointer (&self->attachable);
  g_auto (LoomRunHost) host = { NULL };
  g_autofree char *there = NULL;
  if (found.live != NULL && run_folder_is_attachable (found.live))
    self->attachable = g_strdup (found.live);
  if (loom_run_host_read (self->attachable, &host))
    there = g_strdup_printf (_ ("This graph is training on %s."), host.name);
  /* The message may say why it could not be attached. */
  if (before != NULL && g_strcmp0 (before, self->attachable) == 0)
    return;
  studio_run_set_state (self, STUDIO_RUN_IDLE,
                        there != NULL              ? there
                        : self->attachable != NULL ? _ ("This graph is training without a window.")
                        : found.live != NULL       ? _ ("This graph is still training in another tab or window.")
                                                   : NULL);
}

void
studio_run_show_end (StudioRun *self, const LoomRunUnfinished *note)
{
  const gint64 last = self->host.live != NULL ? self->progress.step : self->checkpoint_step;
  g_autofree char *count = studio_format_count ((double)last), *text = NULL;

  switch (note->end)
    {
    case LOOM_RUN_END_DONE:
      /* This window shows it. */
      run_folder_forget_note (self->folder);
      studio_run_set_state (self, STUDIO_RUN_DONE, NULL);
      return;
    case LOOM_RUN_END_FAILED:
      studio_run_set_state (self, STUDIO_RUN_FAILED, note->sentence);
      return;
    case LOOM_RUN_END_STOPPED:
      text = self->host.live != NULL
                 ? g_strdup_printf (_ ("The run on %1$s was stopped at step %2$s."), self->host.live, count)
                 : g_strdup_printf (
                     _ ("The last run of this graph was stopped at step %s and can continue from there."), count);
      studio_run_set_state (self, STUDIO_RUN_STOPPED, text);
      return;
    case LOOM_RUN_END_NONE:
      text
          = g_strdup_printf (_ ("The last run of this graph ended early; its newest checkpoint is of step %s."), count);
      studio_run_set_state (self, STUDIO_RUN_LOST, text);
      return;
    }
}

gboolean
studio_run_find_interrupted (StudioRun *self, const char *graph_hash, const char *graph_folder)
{
  g_auto (RunFolderFound) found = { NULL };
  run_folder_find (graph_hash, &found);
  /* Resuming an older run would train the graph twice at the same time. */
  if (found.live != NULL || found.folder == NULL)
    return FALSE;
  const gint64 step = run_folder_newest_checkpoint (found.folder);
  if (!studio_run_restore (self, found.folder, graph_folder, step >= 0 ? step : G_MAXINT64))
    return FALSE;
  self->ranks.live = self->ranks.next; /* of which a later change is one */
  if (step >= 0)
    self->progress.step = step; /* events of long runs skip steps */
  double rate = run_folder_read_rate (self->folder, step);
  if (isfinite (rate))
    studio_run_take_hyper (self, "lr", rate);
  studio_run_show_end (self, &found.note);
  return TRUE;
}

void
studio_run_remember (StudioRun *self, const char *graph_hash)
{
  run_folder_remember (self->folder, graph_hash);
}
