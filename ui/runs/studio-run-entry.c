/* Implements studio-run-entry.h. */
#include "ui/runs/studio-run-entry.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/charts/studio-type.h"
#include "ui/scene/studio-format.h"

struct _StudioRunEntry
{
  GObject parent_instance;
  LoomRunSummary *summary;
  char *change;
  int colour;
  gboolean is_paused;
};

G_DEFINE_FINAL_TYPE (StudioRunEntry, studio_run_entry, G_TYPE_OBJECT)

static guint changed_signal;

static void
run_entry_finalize (GObject *object)
{
  StudioRunEntry *self = STUDIO_RUN_ENTRY (object);

  loom_run_summary_unref (self->summary);
  g_free (self->change);
  G_OBJECT_CLASS (studio_run_entry_parent_class)->finalize (object);
}

static void
studio_run_entry_class_init (StudioRunEntryClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = run_entry_finalize;
  changed_signal = studio_signal_new ("changed", STUDIO_TYPE_RUN_ENTRY, 0);
}

static void
studio_run_entry_init (StudioRunEntry *self)
{
  self->colour = -1;
}

StudioRunEntry *
studio_run_entry_new (LoomRunSummary *summary, const char *change)
{
  StudioRunEntry *self = g_object_new (STUDIO_TYPE_RUN_ENTRY, NULL);

  self->summary = loom_run_summary_ref (summary);
  self->change = g_strdup (change);
  return self;
}

gboolean
studio_run_entry_set (StudioRunEntry *self, LoomRunSummary *summary, const char *change)
{
  if (self->summary == summary && g_strcmp0 (self->change, change) == 0)
    return FALSE;
  loom_run_summary_ref (summary);
  loom_run_summary_unref (self->summary);
  self->summary = summary;
  g_free (self->change);
  self->change = g_strdup (change);
  g_signal_emit (self, changed_signal, 0);
  return TRUE;
}

const LoomRunSummary *
studio_run_entry_get (StudioRunEntry *self)
{
  return self->summary;
}

const char *
studio_run_entry_get_change (StudioRunEntry *self)
{
  return self->change;
}

LoomSeries *
studio_run_entry_get_series (StudioRunEntry *self)
{
  return self->summary->log.curve;
}

LoomSeries *
studio_run_entry_get_validation (StudioRunEntry *self)
{
  return self->summary->log.validation;
}

int
studio_run_entry_get_colour (StudioRunEntry *self)
{
  return self->colour;
}

void
studio_run_entry_set_colour (StudioRunEntry *self, int colour)
{
  if (self->colour == colour)
    return;
  self->colour = colour;
  g_signal_emit (self, changed_signal, 0);
}

void
studio_run_entry_set_paused (StudioRunEntry *self, gboolean paused)
{
  if (self->is_paused == paused)
    return;
  self->is_paused = paused;
  g_signal_emit (self, changed_signal, 0);
}

/* ---- texts ------------------------------------------------------------------------- */

static char *
time_text (double seconds)
{
  if (seconds >= 5400)
    return g_strdup_printf (_ ("%.1f h"), seconds / 3600);
  if (seconds >= 90)
    return g_strdup_printf (_ ("%.0f min"), seconds / 60);
  return g_strdup_printf (seconds >= 10 ? _ ("%.0f s") : _ ("%.1f s"), seconds);
}

/* An end that was not planned; NULL: there is none. */
static char *
dup_end (const LoomRunLog *log)
{
  g_autofree char *step = studio_format_count ((double)log->nan_step);

  if (log->nan_step > 0)
    return g_strdup_printf (_ ("NaN at step %s"), step);
  if (log->end == LOOM_RUN_END_FAILED)
    return g_strdup (_ ("failed"));
  return log->was_killed ? g_strdup (_ ("killed")) : NULL;
}

char *
studio_run_entry_dup_reason (StudioRunEntry *self)
{
  const LoomRunLog *log = &self->summary->log;
  g_autofree char *end = dup_end (log), *step = studio_format_count ((double)log->step);

  if (end == NULL)
    return NULL;
  if (log->was_killed)
    return g_strdup_printf (_ ("The process of the run was killed after step %s."), step);
  return g_strdup (log->sentence != NULL ? log->sentence : end);
}

char *
studio_run_entry_dup_result (StudioRunEntry *self)
{
  const LoomRunSummary *run = self->summary;
  const double value = loom_run_summary_loss (run);
  g_autofree char *loss = NULL, *time = NULL, *end = dup_end (&run->log);

  if (run->error != NULL)
    return g_strdup (_ ("damaged"));
  time = time_text (loom_run_summary_seconds (run));
  if (run->log.nan_step > 0)
    return g_steal_pointer (&end);
  if (run->log.step == 0 && end == NULL)
    return g_strdup (!run->log.is_training ? _ ("no step") : self->is_paused ? _ ("paused") : _ ("training"));
  loss = isnan (value) ? g_strdup ("–") : studio_format_number (value);
  if (run->host != NULL && run->log.is_training)
    return g_strdup_printf (_ ("%1$s · on %2$s"), loss, run->host);
  return g_strdup_printf (run->log.is_training && self->is_paused ? _ ("%1$s · paused")
                          : run->is_attachable                    ? _ ("%1$s · without a window")
                          : run->log.is_training                  ? _ ("%1$s · training")
                                                                  : "%1$s · %2$s",
                          loss, end != NULL ? end : time);
}

char *
studio_run_entry_dup_change (StudioRunEntry *self)
{
  if (self->summary->error != NULL)
    return loom_text_printable (self->summary->error, TRUE, 400);
  if (self->change == NULL)
    return g_strdup (_ ("first run"));
  return g_strdup (*self->change != '\0' ? self->change : _ ("no change"));
}

char *
studio_run_entry_dup_spoken (StudioRunEntry *self)
{
  const LoomRunSummary *run = self->summary;
  g_autofree char *change = studio_run_entry_dup_change (self), *time = time_text (loom_run_summary_seconds (run));
  g_autofree char *loss = studio_format_number (loom_run_summary_loss (run));
  g_autofree char *steps = studio_format_count ((double)run->log.step), *end = dup_end (&run->log);
  g_autofree char *name = loom_text_printable (loom_run_summary_name (run), TRUE, LOOM_RUN_NAME_MOST);
  GString *s = g_string_new (name);

  if (run->notes.star)
    g_string_append_printf (s, ", %s", _ ("starred"));
  g_string_append_printf (s, ", %s", change);
  if (run->error == NULL && run->log.step > 0)
    {
      g_string_append (s, ", ");
      /* Translators: loss, number of steps, and time. */
      g_string_append_printf (s, _ ("loss %1$s after %2$s steps and %3$s"), loss, steps, time);
    }
  if (run->log.metric != NULL && !isnan (run->log.value))
    {
      g_autofree char *value = studio_format_number (run->log.value);

      g_string_append_printf (s, ", %s %s", run->log.metric, value);
    }
  if (run->log.is_training)
    g_string_append_printf (s, ", %s", self->is_paused ? _ ("paused") : _ ("training"));
  if (end != NULL)
    g_string_append_printf (s, ", %s", end);
  if (run->host != NULL)
    {
      g_string_append (s, ", ");
      g_string_append_printf (s, _ ("on %s"), run->host);
    }
  if (self->colour >= 0)
    g_string_append_printf (s, ", %s", _ ("in the chart"));
  if (run->notes.note != NULL)
    g_string_append_printf (s, ", %s", run->notes.note);
  return g_string_free (s, FALSE);
}
