/* Writes the folder of a run: graph.xml, run.json, events.jsonl, sessions.jsonl. */
#include "engine/train/run-folder.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/core/loom-text.h"
#include "engine/infer/loom-run-files.h"
#include "engine/infer/loom-run-unfinished.h"

#include <json-glib/json-glib.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>

static gboolean
io_error (GError **error, const char *what, const char *path)
{
  int code = errno;
  return loom_refuse (error, LOOM_ERROR_IO, "%s %s: %s%s", what, path, g_strerror (code),
                      code == ENOSPC ? ". Free some space, then continue the run." : ".");
}

#define MAX_EVENTS  256000000 /* bytes of an events.jsonl */
#define LOCK_TRIES  10
#define LOCK_PAUSE  20000   /* microseconds */
#define MOST_POINTS 20000   /* approximate number of steps in events.jsonl */
#define SESSION_US  1000000 /* between two writes of a session */

/* ---- sessions --------------------------------------------------------- */

static void
write_session (RunFolder *self)
{
  self->now.ended = (double)loom_wall () * 1e-6;
  loom_run_session_write (self->session, self->session_at, &self->now);
}

gboolean
run_folder_begin_session (RunFolder *self, gint64 step, gint64 epoch, GError **error)
{
  if (self->files == NULL)
    return TRUE;
  run_folder_end_session (self, LOOM_RUN_END_NONE, 0, NULL);
  self->now = (LoomRunSession){ .step = step, .epoch = epoch + 1, .loss = NAN };
  self->now.begun = self->now.ended = (double)loom_wall () * 1e-6;
  self->session_writes = (LoomRate){ SESSION_US, loom_monotonic () };
  self->session = loom_run_session_begin (self->files, &self->now, &self->session_at, error);
  return self->session >= 0;
}

void
run_folder_end_session (RunFolder *self, LoomRunEnd end, gint64 nan_step, const char *sentence)
{
  if (self->session < 0)
    return;
  if (end != LOOM_RUN_END_NONE)
    {
      self->now.end = end;
      self->now.nan_step = nan_step;
      self->now.sentence = g_strdup (sentence);
      write_session (self);
      g_clear_pointer (&self->now.sentence, g_free);
    }
  loom_close (self->session);
  self->session = -1;
}

/* So that the session of a killed process has about the right end. */
static void
note_step (RunFolder *self, const LoomRunStep *point)
{
  self->now.step = point->step;
  self->now.epoch = point->epoch;
  self->now.loss = point->loss;
  if (loom_rate_is_due (&self->session_writes, loom_monotonic ()))
    write_session (self);
}

/* ---- events ----------------------------------------------------------- */

/* A reader holds a lock for a moment, to learn whether the run trains. */
static gboolean
lock (int fd)
{
  for (guint i = 0; !loom_lock (fd, LOCK_EX | LOCK_NB); i++)
    {
      if (errno != EWOULDBLOCK || i == LOCK_TRIES)
        return FALSE;
      loom_os->sleep (LOCK_PAUSE);
    }
  return TRUE;
}

/* Opens the events for this process alone. */
static gboolean
events_lock (RunFolder *self, GError **error)
{
  int fd = loom_folder_open_file (self->files, LOOM_RUN_EVENTS, O_RDWR | O_CREAT, error);

  if (fd < 0)
    return FALSE;
  if (!lock (fd))
    {
      loom_close (fd);
      return loom_refuse (error, LOOM_ERROR_IO,
                          "Another process is training in %s. Wait until it ends, or choose another folder.",
                          self->path);
    }
  self->fd = fd;
  return TRUE;
}

/* Everything after events_length goes. */
static gboolean
events_cut (RunFolder *self, GError **error)
{
  /* The file may have been shortened; a gap of zero bytes would be worse than the lost lines. */
  const gint64 end = loom_os->seek (self->fd, 0, SEEK_END), length = MIN (self->events_length, end);

  if (end < 0 || loom_os->truncate (self->fd, length) != 0 || loom_os->seek (self->fd, length, SEEK_SET) < 0)
    return io_error (error, "Cannot cut events.jsonl in", self->path);
  self->events_length = length;
  self->n_points = 0;
  return TRUE;
}

static gboolean
events_write (RunFolder *self, const char *text, gsize n, GError **error)
{
  if (!loom_write (self->fd, text, n))
    return io_error (error, "Cannot write events.jsonl in", self->path);
  self->events_length += (gint64)n;
  return TRUE;
}

LoomJson *
run_event_new (const char *event)
{
  LoomJson *json = loom_json_new ();

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "event", event);
  return json;
}

gboolean
run_folder_flush (RunFolder *self, GError **error)
{
  if (self->fd < 0 || self->n_points == 0)
    return TRUE;
  g_autoptr (GString) text = g_string_sized_new (self->n_points * 80);
  for (guint i = 0; i < self->n_points; i++)
    {
      const LoomRunStep *point = &self->point[i];
      g_autoptr (LoomJson) json = run_event_new ("step");
      loom_json_int (json, "step", point->step);
      loom_json_int (json, "epoch", point->epoch);
      loom_json_exact (json, "loss", point->loss);
      loom_json_number (json, "lr", point->lr);
      loom_json_end_object (json);
      g_string_append (text, loom_json_text (json));
      g_string_append_c (text, '\n');
    }
  self->n_points = 0;
  return events_write (self, text->str, text->len, error);
}

gboolean
run_folder_sync (RunFolder *self, GError **error)
{
  if (!run_folder_flush (self, error))
    return FALSE;
  return self->fd < 0 || loom_sync (self->fd, TRUE) || io_error (error, "Cannot write events.jsonl in", self->path);
}

gboolean
run_folder_records (const RunFolder *self, gint64 step)
{
  return step % self->stride == 0;
}

gboolean
run_folder_add_step (RunFolder *self, const LoomRunStep *point, GError **error)
{
  if (self->session >= 0)
    note_step (self, point);
  if (self->fd < 0 || !run_folder_records (self, point->step))
    return TRUE;
  self->point[self->n_points++] = *point;
  return self->n_points < RUN_FOLDER_POINTS || run_folder_flush (self, error);
}

gboolean
run_folder_add_event (RunFolder *self, LoomJson *json, GError **error)
{
  g_autofree char *line = NULL, *object = NULL;

  loom_json_end_object (json);
  object = loom_json_take (json);
  if (self->fd < 0)
    return TRUE;
  if (!run_folder_flush (self, error))
    return FALSE;
  line = g_strconcat (object, "\n", NULL);
  return events_write (self, line, strlen (line), error);
}

/* The number of a member "step" in a line; -1: it has none. */
static gint64
step_of (const char *line, gsize length)
{
  static const char member[] = "\"step\":";
  const char *at = g_strstr_len (line, (gssize)length, member);

  return at != NULL ? g_ascii_strtoll (at + strlen (member), NULL, 10) : -1;
}

gboolean
run_folder_copy_events (RunFolder *self, LoomFolder *from, gint64 last, GError **error)
{
  g_autofree char *text = NULL;
  const char *line, *stop;
  gsize length;

  if (!loom_folder_read (from, LOOM_RUN_EVENTS, MAX_EVENTS, &text, &length, error) || !run_folder_flush (self, error))
    return FALSE;
  for (line = text; (stop = strchr (line, '\n')) != NULL; line = stop + 1)
    if (step_of (line, (gsize)(stop - line)) <= last && !events_write (self, line, (gsize)(stop + 1 - line), error))
      return FALSE;
  return TRUE;
}

gboolean
run_folder_add_eval (RunFolder *self, const LoomTrainerEval *eval, GError **error)
{
  LoomJson *json = run_event_new ("eval");

  loom_json_string (json, "split", eval->split);
  loom_json_int (json, "step", eval->step);
  loom_json_int (json, "epoch", eval->epoch);
  loom_json_exact (json, "loss", eval->loss);
  loom_json_begin_object (json, "metrics");
  for (guint i = 0; i < eval->n_metrics; i++)
    loom_trainer_eval_add_json (eval, i, json);
  loom_json_end_object (json);
  return run_folder_add_event (self, json, error);
}

void
run_folder_init (RunFolder *self, gint64 total_steps)
{
  *self = (RunFolder){ .fd = -1, .session = -1, .stride = MAX (1, total_steps / MOST_POINTS) };
}

void
run_folder_clear (RunFolder *self)
{
  run_folder_end_session (self, LOOM_RUN_END_NONE, 0, NULL);
  loom_close (self->fd);
  self->fd = -1;
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->files, loom_folder_free);
}

/* ---- the folder ------------------------------------------------------- */

static gboolean
holds_run (const char *folder)
{
  static const char *const marks[] = { LOOM_RUN_GRAPH, LOOM_RUN_SETTINGS };

  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    {
      g_autofree char *path = g_build_filename (folder, marks[i], NULL);
      if (!loom_path_exists (path))
        return FALSE;
    }
  return TRUE;
}

/* Hidden files, Studio's note of a run that has not begun, and files of a run that was killed before its graph.xml was
 * written. */
static gboolean
is_own (const char *name)
{
  static const char *const names[] = { LOOM_RUN_CHECKPOINTS, LOOM_RUN_DATA,     LOOM_RUN_EVENTS,     LOOM_RUN_HISTORY,
                                       LOOM_RUN_SETTINGS,    LOOM_RUN_SESSIONS, LOOM_RUN_UNFINISHED, NULL };

  return name[0] == '.' || g_strv_contains (names, name) || g_str_has_suffix (name, ".tmp");
}

/* Returns FALSE if the folder has files that a run would be mixed with. */
static gboolean
check_free (const char *folder, GError **error)
{
  g_auto (GStrv) names = loom_path_names (folder, NULL);

  if (holds_run (folder))
    {
      g_autofree char *word = loom_text_shell_word (folder);
      return loom_refuse (
          error, LOOM_ERROR_USAGE,
          "The folder %s already holds a run. Continue that run with: gradloom train --resume %s, or choose "
          "another folder.",
          folder, word);
    }
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (!is_own (names[i]))
      return loom_refuse (error, LOOM_ERROR_USAGE,
                          "The folder %s is not empty (%s) and contains no run. Choose a new or an empty folder.",
                          folder, names[i]);
  return TRUE;
}

static gboolean
write_settings (RunFolder *self, const RunFolderContents *run, GError **error)
{
  g_autoptr (JsonBuilder) b = json_builder_new ();

  json_builder_begin_object (b);
  json_builder_set_member_name (b, "version");
  json_builder_add_int_value (b, 1);
  json_builder_set_member_name (b, "program");
  json_builder_add_string_value (b, "gradloom " LOOM_VERSION);
  json_builder_set_member_name (b, "device");
  json_builder_add_string_value (b, run->model->device);
  json_builder_set_member_name (b, "threads");
  json_builder_add_int_value (b, run->model->threads);
  json_builder_set_member_name (b, "ranks");
  json_builder_add_int_value (b, run->ranks);
  json_builder_set_member_name (b, "cost_table");
  json_builder_add_string_value (b, loom_cost_table_hash (loom_devices_costs (run->model->devices)));
  json_builder_set_member_name (b, "data_folder");
  if (run->model->data_folder != NULL)
    json_builder_add_string_value (b, run->model->data_folder);
  else
    json_builder_add_null_value (b);
  json_builder_end_object (b);

  g_autoptr (JsonNode) root = json_builder_get_root (b);
  g_autofree char *text = json_to_string (root, TRUE);
  return loom_folder_replace (self->files, LOOM_RUN_SETTINGS, text, strlen (text), error);
}

/* The preparation of the samples, which other samples need as well, if there is any. */
static gboolean
write_data (RunFolder *self, const RunFolderContents *run, GError **error)
{
  g_autofree char *text = loom_dataset_save (run->dataset);

  return text == NULL || loom_folder_replace (self->files, LOOM_RUN_DATA, text, strlen (text), error);
}

static gboolean
write_graph (RunFolder *self, const RunFolderContents *run, GError **error)
{
  gsize length;
  g_autofree char *text = loom_graph_write (run->model->graph, &length);

  return loom_folder_replace (self->files, LOOM_RUN_GRAPH, text, length, error)
         && loom_folder_sync (self->files, error);
}

gboolean
run_folder_lock (RunFolder *self, const char *path, GError **error)
{
  self->path = g_strdup (path);
  self->files = loom_folder_open (path, error);
  return self->files != NULL && events_lock (self, error);
}

gboolean
run_folder_create (RunFolder *self, const char *path, const RunFolderContents *run, GError **error)
{
  g_autoptr (LoomFolder) checkpoints = NULL;

  if (!check_free (path, error))
    return FALSE;
  if (!loom_path_make_folder (path, 0777))
    return io_error (error, "Cannot create the folder", path);
  if (!run_folder_lock (self, path, error) || !events_cut (self, error))
    return FALSE;
  checkpoints = loom_folder_enter (self->files, LOOM_RUN_CHECKPOINTS, TRUE, error);
  /* The graph is written last: a folder with a graph.xml can be resumed. */
  return checkpoints != NULL && write_settings (self, run, error) && write_data (self, run, error)
         && write_graph (self, run, error);
}

gboolean
run_folder_open (RunFolder *self, const RunFolderContents *changed, GError **error)
{
  return events_cut (self, error)
         && (changed == NULL || (write_settings (self, changed, error) && write_graph (self, changed, error)));
}
