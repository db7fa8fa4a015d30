/* Runs on other machines: begins them, and shows what has become of one whose connection has ended.
 *
 * `gradloom remote` reaches the host, so that Studio knows neither ssh nor the messages between machines. The run's
 * folder here is a mirror; whether the run goes on there is in its record (engine/runs/loom-run-host.h). */
#include <glib/gi18n.h>
#include <string.h>

#include "engine/loom.h"
#include "engine/runs/loom-run-host.h"
#include "ui/run/run-folder.h"
#include "ui/run/studio-run-messages.h"
#include "ui/run/studio-run-private.h"
#include "ui/settings/studio-settings.h"

/* The exit status of `gradloom remote begin` after SIGTERM. */
#define STOPPED 143

void
studio_run_set_host (StudioRun *self, const char *host)
{
  char *copy;

  if (g_strcmp0 (self->host.next, host) == 0)
    return;
  copy = g_strdup (host);
  g_free (self->host.next);
  self->host.next = copy;
  g_signal_emit_by_name (self, "ranks-changed");
}

const char *
studio_run_get_host (StudioRun *self)
{
  return self->host.next;
}

const char *
studio_run_get_live_host (StudioRun *self)
{
  return self->host.live;
}

/* ---- beginning ------------------------------------------------------------- */

typedef struct
{
  StudioRun *run;
  GCancellable *cancellable; /* of this start: another one cancels it */
} Begin;

static void
begin_free (Begin *begin)
{
  g_object_unref (begin->run);
  g_object_unref (begin->cancellable);
  g_free (begin);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Begin, begin_free)

/* The last line of standard error, without the name of the command. (transfer full) */
static char *
dup_message (const char *errors)
{
  static const char prefix[] = "gradloom remote: ";
  g_autofree char *text = g_strchomp (g_strdup (errors != NULL ? errors : ""));
  const char *line = strrchr (text, '\n');

  line = line != NULL ? line + 1 : text;
  return g_strdup (g_str_has_prefix (line, prefix) ? line + strlen (prefix) : line);
}

static void
begun_cb (GObject *source, GAsyncResult *result, gpointer data)
{
  g_autoptr (Begin) begin = data;
  GSubprocess *process = G_SUBPROCESS (source);
  StudioRun *self = begin->run;
  g_autofree char *errors = NULL, *message = NULL, *said = NULL;
  g_auto (LoomRunHost) host = { NULL };

  g_subprocess_communicate_utf8_finish (process, result, NULL, &errors, NULL);
  if (g_cancellable_is_cancelled (begin->cancellable))
    return;
  g_clear_object (&self->host.begin);
  if (g_subprocess_get_if_exited (process) && g_subprocess_get_exit_status (process) == 0)
    {
      g_signal_emit_by_name (self, "begun-on-host");
      return;
    }
  if (g_subprocess_get_if_exited (process) && g_subprocess_get_exit_status (process) == STOPPED)
    {
      run_folder_note_end (self->folder, TRUE);
      studio_run_set_state (self, STUDIO_RUN_STOPPED, NULL);
      return;
    }
  /* The record stays if the run may have begun; that of a run that was to be resumed says that it has. */
  if (loom_run_host_read (self->folder, &host) && !(self->host.resumes && host.state == LOOM_RUN_HOST_ENDED))
    {
      studio_run_take_host_end (self, NULL);
      return;
    }
  if (self->host.resumes)
    run_folder_note_end (self->folder, TRUE);
  message = dup_message (errors);
  said = studio_run_rewrite_message (message);
  studio_run_set_state (self, STUDIO_RUN_FAILED, said);
}

static void
add_host_options (StudioRun *self, gboolean resume, GVariantBuilder *b)
{
  const gint64 history = studio_settings_get_history ();

  studio_run_add_options (self, b);
  g_variant_builder_add (b, "{sv}", "history", g_variant_new_int64 (history > 0 ? history * 1000000 : -1));
  if (self->ranks.next > 1)
    g_variant_builder_add (b, "{sv}", "ranks", g_variant_new_int32 (self->ranks.next));
  if (resume)
    g_variant_builder_add (b, "{sv}", "resume", g_variant_new_boolean (TRUE));
  if (resume && self->resume_step > 0)
    g_variant_builder_add (b, "{sv}", "resume_step", g_variant_new_int64 (self->resume_step));
  if (self->branch == NULL || resume)
    return;
  g_variant_builder_add (b, "{sv}", "branch", g_variant_new_string (self->branch));
  g_variant_builder_add (b, "{sv}", "branch_step", g_variant_new_int64 (self->branch_step));
}

void
studio_run_begin_on_host (StudioRun *self, gboolean resume)
{
  Begin *begin;
  GVariantBuilder b;
  g_autoptr (GVariant) options = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *program = studio_worker_find_program (&error), *text = NULL;

  g_variant_builder_init (&b, G_VARIANT_TYPE_VARDICT);
  add_host_options (self, resume, &b);
  options = g_variant_ref_sink (g_variant_builder_end (&b));
  text = g_variant_print (options, TRUE);
  g_clear_pointer (&self->branch, g_free);
  self->host.resumes = resume;
  self->ranks.live = self->ranks.next;
  run_folder_note_end (self->folder, FALSE);
  studio_run_set_state (self, STUDIO_RUN_STARTING, NULL);
  if (program != NULL)
    self->host.begin = g_subprocess_new (G_SUBPROCESS_FLAGS_STDIN_PIPE | G_SUBPROCESS_FLAGS_STDERR_PIPE, &error,
                                         program, "remote", "begin", self->host.live, self->folder,
                                         self->graph_folder != NULL ? self->graph_folder : "", text, NULL);
  if (self->host.begin == NULL)
    {
      studio_run_set_state (self, STUDIO_RUN_LOST, error->message);
      return;
    }
  begin = g_new0 (Begin, 1);
  begin->run = g_object_ref (self);
  begin->cancellable = g_object_ref (self->cancellable);
  g_subprocess_communicate_utf8_async (self->host.begin, self->graph_xml, NULL, begun_cb, begin);
}

/* ---- the end of a connection ------------------------------------------------ */

gboolean
studio_run_take_host_end (StudioRun *self, const char *sentence)
{
  g_auto (LoomRunHost) host = { NULL };
  g_auto (LoomRunUnfinished) note = { NULL };
  g_autofree char *text = NULL;

  if (self->host.live == NULL)
    return FALSE;
  /* The worker itself has said how it has ended. */
  if (self->state == STUDIO_RUN_DONE || self->state == STUDIO_RUN_STOPPED || self->state == STUDIO_RUN_FAILED)
    return TRUE;
  if (loom_run_host_read (self->folder, &host) && host.state == LOOM_RUN_HOST_ENDED)
    {
      loom_run_unfinished_read (self->folder, &note);
      /* Another window has seen the end before. */
      if (note.end == LOOM_RUN_END_NONE)
        note.end = LOOM_RUN_END_DONE;
      studio_run_show_end (self, &note);
      return TRUE;
    }
  g_free (self->attachable);
  self->attachable = g_strdup (self->folder);
  text = g_strdup_printf (host.state == LOOM_RUN_HOST_NEW
                              ? _ ("The connection to %s broke while the run began. It may train there.")
                              : _ ("The connection to %s is lost, and the run goes on there."),
                          self->host.live);
  if (sentence != NULL && *sentence != '\0')
    {
      g_autofree char *both = g_strdup_printf ("%s (%s)", text, sentence);
      studio_run_set_state (self, STUDIO_RUN_LOST, both);
    }
  else
    studio_run_set_state (self, STUDIO_RUN_LOST, text);
  return TRUE;
}
