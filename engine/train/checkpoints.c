/* Writes checkpoints: one folder each, whole or absent. */
#include "engine/train/checkpoints.h"

#include "engine/core/loom-error.h"
#include "engine/infer/loom-run-files.h"
#include "engine/infer/loom-run-json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Numbers of kept checkpoints: the newest, and the newest at the end of an epoch. */
#define KEEP_NEWEST 3
#define KEEP_EPOCHS 10

static gboolean
io_error (GError **error, const char *what, const char *path)
{
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s %s: %s.", what, path, g_strerror (errno));
  return FALSE;
}

/* TRUE for a file of a checkpoint, or the rest of an interrupted write. */
static gboolean
is_part (const char *name)
{
  static const char *const parts[] = { LOOM_RUN_WEIGHTS, LOOM_RUN_OPTIMIZER, LOOM_RUN_STATE, LOOM_RUN_COSTS };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (g_str_has_prefix (name, parts[i]) && (name[strlen (parts[i])] == '\0' || g_str_has_suffix (name, ".tmp")))
      return TRUE;
  return FALSE;
}

/* Removes the files of a checkpoint, and its folder if no other files are in it. */
static void
remove_checkpoint (LoomFolder *checkpoints, const char *name)
{
  g_autoptr (LoomFolder) folder = loom_folder_enter (checkpoints, name, FALSE, NULL);
  g_auto (GStrv) names = folder != NULL ? loom_folder_names (folder) : NULL;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (is_part (names[i]))
      loom_folder_remove (folder, names[i]);
  if (folder != NULL)
    unlinkat (loom_folder_fd (checkpoints), name, AT_REMOVEDIR);
}

/* Removes the rests of interrupted writes. */
static void
remove_rests (LoomFolder *checkpoints)
{
  g_auto (GStrv) names = loom_folder_names (checkpoints);

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (g_str_has_prefix (names[i], ".new-"))
      remove_checkpoint (checkpoints, names[i]);
}

/* TRUE for a checkpoint at the end of an epoch. It cannot be computed from the step, because the batch size may have
 * changed since. */
static gboolean
ends_epoch (LoomFolder *checkpoints, gint64 step)
{
  g_autoptr (LoomFolder) folder = loom_run_checkpoint_enter (checkpoints, step, NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autofree char *path = NULL;
  LoomRunJson json;
  gint64 place;

  return folder != NULL && loom_run_json_root (parser, folder, LOOM_RUN_STATE, &path, &json, NULL)
         && loom_run_json_int (&json, "place", 0, 0, &place, NULL);
}

static void
prune (LoomFolder *checkpoints, gint64 before_change)
{
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (checkpoints);
  guint epochs = 0;

  remove_rests (checkpoints);
  for (guint i = 0; i < steps->len; i++)
    {
      gint64 step = g_array_index (steps, gint64, i);
      gboolean at_epoch = ends_epoch (checkpoints, step);
      if (i < KEEP_NEWEST || step == before_change || (at_epoch && epochs < KEEP_EPOCHS))
        {
          epochs += at_epoch;
          continue;
        }
      g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step);
      remove_checkpoint (checkpoints, name);
    }
}

void
checkpoints_remove_after (const Checkpoints *self, gint64 step)
{
  g_autoptr (LoomFolder) checkpoints
      = self->folder->files != NULL ? loom_folder_enter (self->folder->files, LOOM_RUN_CHECKPOINTS, FALSE, NULL) : NULL;
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (checkpoints);

  for (guint i = 0; i < steps->len && g_array_index (steps, gint64, i) > step; i++)
    {
      g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, g_array_index (steps, gint64, i));

      remove_checkpoint (checkpoints, name);
    }
}

/* ---- writing ---------------------------------------------------------- */

/* There may already be a checkpoint of this step, with other hyper-parameters: then both are exchanged atomically. */
static gboolean
put_in_place (LoomFolder *checkpoints, const char *fresh, const char *name, GError **error)
{
  g_autofree char *path = loom_folder_path_of (checkpoints, name);
  int at = loom_folder_fd (checkpoints);

  if (renameat (at, fresh, at, name) == 0)
    return TRUE;
  if (errno != ENOTEMPTY && errno != EEXIST)
    return io_error (error, "Cannot rename a checkpoint to", path);
  if (renameat2 (at, fresh, at, name, RENAME_EXCHANGE) != 0)
    {
      /* Not every file system supports this. */
      remove_checkpoint (checkpoints, name);
      if (renameat (at, fresh, at, name) != 0)
        return io_error (error, "Cannot rename a checkpoint to", path);
    }
  else
    remove_checkpoint (checkpoints, fresh);
  return TRUE;
}

static gboolean
copy_weights (RunFolder *run, LoomFolder *checkpoint, GError **error)
{
  static const char fresh[] = ".weights.new";
  int from = loom_folder_fd (checkpoint), to = loom_folder_fd (run->files);
  g_autoptr (GMappedFile) file = NULL;

  /* A hard link is the cheapest copy; files here are only replaced, never modified. */
  loom_folder_remove (run->files, fresh);
  if (linkat (from, LOOM_RUN_WEIGHTS, to, fresh, 0) == 0)
    {
      if (renameat (to, fresh, to, LOOM_RUN_WEIGHTS) != 0)
        return io_error (error, "Cannot rename weights in", run->path);
      loom_folder_remove (run->files, fresh); /* rename() keeps both if they were one file already */
      return TRUE;
    }
  file = loom_folder_map (checkpoint, LOOM_RUN_WEIGHTS, error);
  return file != NULL
         && loom_folder_replace (run->files, LOOM_RUN_WEIGHTS, g_mapped_file_get_contents (file),
                                 g_mapped_file_get_length (file), error);
}

gboolean
checkpoints_write_weights (Checkpoints *self, const char *name, GError **error)
{
  const TrainModel *model = self->run.model;
  LoomFolder *files = self->folder->files;

  return !checkpoints_takes_part (self)
         || loom_state_save_weights_of (model->state, train_model_has_averages (model) ? LOOM_SLOT_EMA : "", files,
                                        files != NULL ? name : NULL, error);
}

static gboolean
write_averages (Checkpoints *self, GError **error)
{
  return !train_model_has_averages (self->run.model)
         || checkpoints_write_weights (self, "weights-ema.safetensors", error);
}

static void
note_saved (Checkpoints *self, const TrainProgress *progress)
{
  self->saved_step = progress->step;
  self->is_due = FALSE;
}

static gboolean
write_costs (const TrainModel *model, LoomFolder *folder, GError **error)
{
  g_autofree char *text = loom_cost_table_to_text (loom_devices_costs (model->devices), TRUE);

  return loom_folder_replace (folder, LOOM_RUN_COSTS, text, strlen (text), error);
}

/* Writes the files of a checkpoint to a folder with a temporary name, which is returned. A run's history is read with
 * the cost table of its newest checkpoint. */
static LoomFolder *
write_parts (Checkpoints *self, const TrainProgress *progress, LoomFolder *checkpoints, const char *fresh,
             gboolean with_costs, GError **error)
{
  const TrainModel *model = self->run.model;
  g_autofree char *text = run_state_to_text (&self->run, progress, self->folder->events_length);
  g_autoptr (LoomFolder) folder = NULL;

  remove_checkpoint (checkpoints, fresh);
  folder = loom_folder_enter (checkpoints, fresh, TRUE, error);
  if (folder == NULL)
    return NULL;
  if (!loom_state_save_weights (model->state, folder, LOOM_RUN_WEIGHTS, error)
      || !loom_state_save_optimizer (model->state, folder, LOOM_RUN_OPTIMIZER, error)
      || !loom_folder_replace (folder, LOOM_RUN_STATE, text, strlen (text), error)
      || (with_costs && !write_costs (model, folder, error)) || !loom_folder_sync (folder, error))
    return NULL;
  return g_steal_pointer (&folder);
}

static gboolean
write_checkpoint (Checkpoints *self, const TrainProgress *progress, GError **error)
{
  RunFolder *run = self->folder;
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, progress->step);
  g_autofree char *fresh = g_strconcat (".new-", name, NULL), *path = NULL;
  g_autoptr (LoomFolder) checkpoints = NULL, folder = NULL;
  gint64 start = g_get_monotonic_time ();

  if (!run_folder_sync (run, error))
    return FALSE;
  checkpoints = loom_folder_enter (run->files, LOOM_RUN_CHECKPOINTS, TRUE, error);
  if (checkpoints == NULL)
    return FALSE;
  path = loom_folder_path_of (checkpoints, name);
  folder = write_parts (self, progress, checkpoints, fresh, TRUE, error);
  if (folder == NULL || !put_in_place (checkpoints, fresh, name, error))
    {
      remove_checkpoint (checkpoints, fresh);
      return FALSE;
    }
  if (!loom_folder_sync (checkpoints, error) || !copy_weights (run, folder, error) || !write_averages (self, error))
    return FALSE;
  prune (checkpoints, self->before_change);
  self->last = g_get_monotonic_time ();
  self->cost += self->last - start;
  note_saved (self, progress);
  if (self->written != NULL)
    self->written (progress->step, path, self->written_data);
  return TRUE;
}

/* ---- history ------------------------------------------------------------ */

static gint64
bytes_of (LoomFolder *folder)
{
  g_auto (GStrv) names = loom_folder_names (folder);
  gint64 bytes = 0;
  struct stat about;

  for (guint i = 0; names[i] != NULL; i++)
    if (fstatat (loom_folder_fd (folder), names[i], &about, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += about.st_size;
  return bytes;
}

static gboolean
write_history (Checkpoints *self, const TrainProgress *progress, GError **error)
{
  const gint64 begin = g_get_monotonic_time ();
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, progress->step);
  g_autofree char *fresh = g_strconcat (".new-", name, NULL);
  g_autoptr (LoomFolder) history = loom_folder_enter (self->folder->files, LOOM_RUN_HISTORY, TRUE, error);
  g_autoptr (LoomFolder) folder = NULL;
  gint64 gone;

  /* After a loss of power the newest ones may be damaged, and those before them are used. */
  if (history != NULL)
    {
      loom_folder_set_unsynchronised (history);
      folder = write_parts (self, progress, history, fresh, FALSE, error);
    }
  if (folder == NULL || !put_in_place (history, fresh, name, error) || !loom_folder_sync (history, error))
    {
      if (history != NULL)
        remove_checkpoint (history, fresh);
      return FALSE;
    }
  history_note_written (&self->history, progress->step, bytes_of (folder), begin, g_get_monotonic_time ());
  while ((gone = history_superfluous (&self->history)) >= 0)
    {
      g_autofree char *old = g_strdup_printf ("%" G_GINT64_FORMAT, gone);

      remove_checkpoint (history, old);
      history_note_removed (&self->history, gone);
    }
  /* Not even one is within the budget. */
  if (self->history.steps->len == 0)
    self->history.budget = 0;
  return TRUE;
}

void
checkpoints_write_history (Checkpoints *self, const TrainProgress *progress, TrainNotes *notes)
{
  g_autoptr (GError) error = NULL;

  if (!history_wants (&self->history, progress->step) || write_history (self, progress, &error))
    return;
  self->history.budget = 0;
  train_notes_report (notes, error->message);
}

void
checkpoints_begin_history (Checkpoints *self, const TrainProgress *progress, TrainNotes *notes)
{
  g_autoptr (LoomFolder) folder = NULL;
  g_autoptr (GArray) steps = NULL;

  if (self->folder->files == NULL || self->group->comm != NULL)
    self->history.budget = 0;
  self->history.total = train_data_last_step (self->run.data);
  if (self->history.steps != NULL)
    return;
  if (self->folder->files != NULL)
    folder = loom_folder_enter (self->folder->files, LOOM_RUN_HISTORY, FALSE, NULL);
  if (folder != NULL)
    remove_rests (folder);
  if (self->history.budget == 0)
    return;
  steps = loom_run_checkpoint_steps (folder);
  self->history.steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  for (guint i = steps->len; i-- > 0;)
    {
      const gint64 step = g_array_index (steps, gint64, i);
      g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step);

      if (step <= progress->step)
        g_array_append_val (self->history.steps, step);
      else
        remove_checkpoint (folder, name);
    }
  checkpoints_write_history (self, progress, notes);
}

/* A rank that does not write sends its shards of the state, in the order in which rank 0 receives them. */
static gboolean
send_parts (Checkpoints *self, const TrainProgress *progress, GError **error)
{
  LoomState *state = self->run.model->state;

  if (!loom_state_save_weights (state, NULL, NULL, error) || !loom_state_save_optimizer (state, NULL, NULL, error)
      || !write_averages (self, error))
    return FALSE;
  note_saved (self, progress);
  return TRUE;
}

/* For a full disk the error adds a remedy: resume the run. */
gboolean
checkpoints_write (Checkpoints *self, const TrainProgress *progress, GError **error)
{
  static const char advice[] = "free some space and try again.";
  g_autoptr (GError) local = NULL;
  const char *found;

  if (!checkpoints_takes_part (self))
    return TRUE;
  if (self->folder->path == NULL)
    return send_parts (self, progress, error);
  if (write_checkpoint (self, progress, &local))
    return TRUE;
  found = strstr (local->message, advice);
  if (found != NULL)
    {
      g_autofree char *before = g_strndup (local->message, (gsize)(found - local->message));
      g_autofree char *words = rank_group_resume_words (self->group, self->folder->path);

      g_set_error (error, local->domain, local->code, "%sfree some space and continue with: %s", before, words);
    }
  else
    g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

gboolean
checkpoints_takes_part (const Checkpoints *self)
{
  return self->folder->path != NULL || (self->keeps && loom_state_is_divided (self->run.model->state));
}

gboolean
checkpoints_note_time (Checkpoints *self, gint64 now)
{
  /* Without a folder no checkpoint is written, and it would stay due. Rank 0's clock decides. */
  if (self->keeps && rank_group_is_first (self->group) && now - self->last >= self->interval)
    self->is_due = TRUE;
  return self->is_due;
}

gboolean
checkpoints_fit_epoch (const Checkpoints *self, gint64 elapsed)
{
  return self->cost < G_USEC_PER_SEC / 4 || self->cost * 10 < elapsed;
}
