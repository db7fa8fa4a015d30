/* The folder of a run: graph.xml, run.json, events.jsonl.
 *
 * graph.xml is the graph with every option of the command line written into its <train>, so the folder says by
 * itself what was run. run.json holds what is no part of a graph: device, threads, and the folder against which data
 * paths are resolved. events.jsonl is appended to and held locked, so that two processes cannot write one run; points
 * of steps gather in memory and are formatted when there are many, at epochs' ends and at checkpoints. */
#include "engine/train/trainer-private.h"

#include <json-glib/json-glib.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static gboolean
io_error (GError **error, const char *what, const char *path)
{
  int code = errno;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s %s: %s%s", what, path, g_strerror (code),
               code == ENOSPC ? ". Free some space, then continue the run." : ".");
  return FALSE;
}

/* ---- events ----------------------------------------------------------- */

/* Opens the events at the place of the run; what lies behind is cut off. */
static gboolean
events_open (LoomTrainer *t, GError **error)
{
  int fd = loom_folder_open_file (t->files, LOOM_RUN_EVENTS, O_RDWR | O_CREAT, error);

  if (fd < 0)
    return FALSE;
  if (flock (fd, LOCK_EX | LOCK_NB) != 0)
    {
      close (fd);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                   "Another process is training in %s. Wait until it ends, or choose another folder.", t->folder);
      return FALSE;
    }
  /* Somebody may have shortened the file; a gap of zero bytes would be worse than the lost lines. */
  gint64 end = lseek (fd, 0, SEEK_END);
  gint64 length = MIN (t->place.events_length, MAX (end, 0));
  if (ftruncate (fd, length) != 0 || lseek (fd, length, SEEK_SET) < 0)
    {
      io_error (error, "Cannot cut events.jsonl in", t->folder);
      close (fd);
      return FALSE;
    }
  t->events.fd = fd;
  t->place.events_length = length;
  t->events.n = 0;
  return TRUE;
}

static gboolean
events_write (LoomTrainer *t, const char *text, gsize n, GError **error)
{
  while (n > 0)
    {
      gssize written = write (t->events.fd, text, n);
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return io_error (error, "Cannot write events.jsonl in", t->folder);
      text += written;
      n -= written;
      t->place.events_length += written;
    }
  return TRUE;
}

LoomJson *
trainer_event_new (const char *event)
{
  LoomJson *json = loom_json_new ();

  loom_json_begin_object (json, NULL);
  loom_json_string (json, "event", event);
  return json;
}

gboolean
trainer_events_flush (LoomTrainer *t, GError **error)
{
  if (t->events.fd < 0 || t->events.n == 0)
    return TRUE;
  g_autoptr (GString) text = g_string_sized_new (t->events.n * 80);
  for (guint i = 0; i < t->events.n; i++)
    {
      const TrainerPoint *point = &t->events.point[i];
      g_autoptr (LoomJson) json = trainer_event_new ("step");
      loom_json_int (json, "step", point->step);
      loom_json_int (json, "epoch", point->epoch);
      loom_json_exact (json, "loss", point->loss);
      loom_json_number (json, "lr", point->lr);
      loom_json_end_object (json);
      g_string_append (text, loom_json_text (json));
      g_string_append_c (text, '\n');
    }
  t->events.n = 0;
  return events_write (t, text->str, text->len, error);
}

gboolean
trainer_event_write (LoomTrainer *t, LoomJson *json, GError **error)
{
  g_autofree char *line = NULL, *object = NULL;

  loom_json_end_object (json);
  object = loom_json_take (json);
  if (t->events.fd < 0)
    return TRUE;
  if (!trainer_events_flush (t, error))
    return FALSE;
  line = g_strconcat (object, "\n", NULL);
  return events_write (t, line, strlen (line), error);
}

gboolean
trainer_events_eval (LoomTrainer *t, const LoomTrainerEval *eval, GError **error)
{
  LoomJson *json = trainer_event_new ("eval");

  loom_json_string (json, "split", eval->split);
  loom_json_int (json, "step", eval->step);
  loom_json_int (json, "epoch", eval->epoch);
  loom_json_exact (json, "loss", eval->loss);
  loom_json_begin_object (json, "metrics");
  for (guint i = 0; i < eval->n_metrics; i++)
    loom_trainer_eval_add_json (eval, i, json);
  loom_json_end_object (json);
  return trainer_event_write (t, json, error);
}

void
trainer_events_close (TrainerEvents *events)
{
  if (events->fd >= 0)
    close (events->fd);
  events->fd = -1;
}

/* ---- the folder ------------------------------------------------------- */

static gboolean
holds_run (const char *folder)
{
  static const char *const marks[] = { LOOM_RUN_GRAPH, LOOM_RUN_SETTINGS };

  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    {
      g_autofree char *path = g_build_filename (folder, marks[i], NULL);
      if (!g_file_test (path, G_FILE_TEST_EXISTS))
        return FALSE;
    }
  return TRUE;
}

/* Hidden files, the note that Studio makes of a run before it begins, and what one has left that was killed before its
 * graph.xml was written. */
static gboolean
is_own (const char *name)
{
  static const char *const names[]
      = { LOOM_RUN_CHECKPOINTS, LOOM_RUN_EVENTS, LOOM_RUN_SETTINGS, "studio-unfinished", NULL };

  return name[0] == '.' || g_strv_contains (names, name) || g_str_has_suffix (name, ".tmp");
}

/* FALSE where the folder has files that a run would be mixed with. */
static gboolean
check_free (const char *folder, GError **error)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *name;

  if (holds_run (folder))
    {
      g_autofree char *word = loom_text_shell_word (folder);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "The folder %s already holds a run. Continue that run with: gradloom train --resume %s, or choose "
                   "another folder.",
                   folder, word);
      return FALSE;
    }
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    if (!is_own (name))
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                     "The folder %s is not empty (%s) and contains no run. Choose a new or an empty folder.", folder,
                     name);
        return FALSE;
      }
  return TRUE;
}

static gboolean
write_settings (LoomTrainer *t, GError **error)
{
  g_autoptr (JsonBuilder) b = json_builder_new ();

  json_builder_begin_object (b);
  json_builder_set_member_name (b, "version");
  json_builder_add_int_value (b, 1);
  json_builder_set_member_name (b, "program");
  json_builder_add_string_value (b, "gradloom " LOOM_VERSION);
  json_builder_set_member_name (b, "device");
  json_builder_add_string_value (b, t->device);
  json_builder_set_member_name (b, "threads");
  json_builder_add_int_value (b, t->threads);
  json_builder_set_member_name (b, "ranks");
  json_builder_add_int_value (b, t->ranks);
  json_builder_set_member_name (b, "cost_table");
  json_builder_add_string_value (b, loom_cost_table_hash (loom_devices_costs (t->devices)));
  json_builder_set_member_name (b, "data_folder");
  if (t->data_folder != NULL)
    json_builder_add_string_value (b, t->data_folder);
  else
    json_builder_add_null_value (b);
  json_builder_end_object (b);

  g_autoptr (JsonNode) root = json_builder_get_root (b);
  g_autofree char *text = json_to_string (root, TRUE);
  return loom_folder_replace (t->files, LOOM_RUN_SETTINGS, text, strlen (text), error);
}

/* What other samples need to be read as these were, where there is something. */
static gboolean
write_data (LoomTrainer *t, GError **error)
{
  g_autofree char *text = loom_dataset_save (t->dataset);

  return text == NULL || loom_folder_replace (t->files, LOOM_RUN_DATA, text, strlen (text), error);
}

static gboolean
write_graph (LoomTrainer *t, GError **error)
{
  gsize length;
  g_autofree char *text = loom_graph_write (t->graph, &length);

  return loom_folder_replace (t->files, LOOM_RUN_GRAPH, text, length, error) && loom_folder_sync (t->files, error);
}

static gboolean
take_folder (LoomTrainer *t, const char *folder, GError **error)
{
  g_free (t->folder);
  t->folder = g_strdup (folder);
  g_clear_pointer (&t->files, loom_folder_free);
  t->files = loom_folder_open (folder, error);
  return t->files != NULL && events_open (t, error);
}

gboolean
trainer_folder_create (LoomTrainer *t, const char *folder, GError **error)
{
  g_autoptr (LoomFolder) checkpoints = NULL;

  if (!check_free (folder, error))
    return FALSE;
  if (g_mkdir_with_parents (folder, 0777) != 0)
    return io_error (error, "Cannot create the folder", folder);
  if (!take_folder (t, folder, error))
    return FALSE;
  checkpoints = loom_folder_enter (t->files, LOOM_RUN_CHECKPOINTS, TRUE, error);
  /* The graph comes last: a folder with a graph.xml has all that --resume needs. */
  return checkpoints != NULL && write_settings (t, error) && write_data (t, error) && write_graph (t, error);
}

gboolean
trainer_folder_open (LoomTrainer *t, const char *folder, gboolean changed, GError **error)
{
  return take_folder (t, folder, error) && (!changed || (write_settings (t, error) && write_graph (t, error)));
}
