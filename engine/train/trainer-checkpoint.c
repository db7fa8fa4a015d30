/* Writes checkpoints: one folder each, whole or absent. trainer-restore.c reads them.
 *
 * A checkpoint is written under another name, every file forced to the disk, and renamed, so that no two steps can
 * mix and a run killed at any moment finds the one before. What resuming needs besides the state's tensors is in
 * state.json: the place, the sums of the running epoch, and how long events.jsonl was, so that the events after it are
 * cut away and written again with the same numbers. */
#include "engine/train/trainer-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Kept: the newest of any kind, and the newest that stand at an epoch's end. */
#define KEEP_NEWEST 3
#define KEEP_EPOCHS 10

static gboolean
io_error (GError **error, const char *what, const char *path)
{
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "%s %s: %s.", what, path, g_strerror (errno));
  return FALSE;
}

/* A file of a checkpoint, or what an interrupted write of one left. */
static gboolean
is_part (const char *name)
{
  static const char *const parts[] = { LOOM_RUN_WEIGHTS, LOOM_RUN_OPTIMIZER, LOOM_RUN_STATE, LOOM_RUN_COSTS };

  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    if (g_str_has_prefix (name, parts[i]) && (name[strlen (parts[i])] == '\0' || g_str_has_suffix (name, ".tmp")))
      return TRUE;
  return FALSE;
}

/* Removes what a checkpoint consists of, and its folder if nothing else is in it. */
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

static void
prune (LoomTrainer *t, LoomFolder *checkpoints)
{
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (checkpoints);
  g_auto (GStrv) names = loom_folder_names (checkpoints);
  guint epochs = 0;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (g_str_has_prefix (names[i], ".new-"))
      remove_checkpoint (checkpoints, names[i]); /* left by an interrupted write */
  for (guint i = 0; i < steps->len; i++)
    {
      gint64 step = g_array_index (steps, gint64, i);
      gboolean at_epoch = step % t->steps_per_epoch == 0;
      if (i < KEEP_NEWEST || (at_epoch && epochs < KEEP_EPOCHS))
        {
          epochs += at_epoch;
          continue;
        }
      g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, step);
      remove_checkpoint (checkpoints, name);
    }
}

/* ---- writing ---------------------------------------------------------- */

/* A checkpoint of this step may be there already, with other hyper-parameters: then the two are exchanged in one go. */
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
      /* Not every file system can exchange. */
      remove_checkpoint (checkpoints, name);
      if (renameat (at, fresh, at, name) != 0)
        return io_error (error, "Cannot rename a checkpoint to", path);
    }
  else
    remove_checkpoint (checkpoints, fresh);
  return TRUE;
}

static gboolean
copy_weights (LoomTrainer *t, LoomFolder *checkpoint, GError **error)
{
  static const char fresh[] = ".weights.new";
  int from = loom_folder_fd (checkpoint), to = loom_folder_fd (t->files);
  g_autoptr (GMappedFile) file = NULL;

  /* A second name for the same bytes is the cheapest copy; files here are only ever replaced, never written into. */
  loom_folder_remove (t->files, fresh);
  if (linkat (from, LOOM_RUN_WEIGHTS, to, fresh, 0) == 0)
    {
      if (renameat (to, fresh, to, LOOM_RUN_WEIGHTS) != 0)
        return io_error (error, "Cannot rename weights in", t->folder);
      loom_folder_remove (t->files, fresh); /* rename() leaves both when they were one file already */
      return TRUE;
    }
  file = loom_folder_map (checkpoint, LOOM_RUN_WEIGHTS, error);
  return file != NULL
         && loom_folder_replace (t->files, LOOM_RUN_WEIGHTS, g_mapped_file_get_contents (file),
                                 g_mapped_file_get_length (file), error);
}

gboolean
trainer_checkpoint_weights (LoomTrainer *t, const char *name, GError **error)
{
  return !trainer_takes_part (t)
         || loom_state_save_weights_of (t->state, trainer_has_averages (t) ? LOOM_SLOT_EMA : "", t->files,
                                        t->files != NULL ? name : NULL, error);
}

static gboolean
write_costs (LoomTrainer *t, LoomFolder *folder, GError **error)
{
  g_autofree char *text = loom_cost_table_to_text (loom_devices_costs (t->devices), TRUE);

  return loom_folder_replace (folder, LOOM_RUN_COSTS, text, strlen (text), error);
}

/* Writes the files of a checkpoint into a folder of another name, which is returned. */
static LoomFolder *
write_parts (LoomTrainer *t, LoomFolder *checkpoints, const char *fresh, GError **error)
{
  g_autoptr (LoomFolder) folder = NULL;

  remove_checkpoint (checkpoints, fresh);
  folder = loom_folder_enter (checkpoints, fresh, TRUE, error);
  if (folder == NULL)
    return NULL;
  if (!loom_state_save_weights (t->state, folder, LOOM_RUN_WEIGHTS, error)
      || !loom_state_save_optimizer (t->state, folder, LOOM_RUN_OPTIMIZER, error)
      || !trainer_state_write (t, folder, LOOM_RUN_STATE, error) || !write_costs (t, folder, error)
      || !loom_folder_sync (folder, error))
    return NULL;
  return g_steal_pointer (&folder);
}

static gboolean
write_checkpoint (LoomTrainer *t, char **out_path, GError **error)
{
  g_autofree char *name = g_strdup_printf ("%" G_GINT64_FORMAT, t->place.step);
  g_autofree char *fresh = g_strconcat (".new-", name, NULL), *path = NULL;
  g_autoptr (LoomFolder) checkpoints = NULL, folder = NULL;
  gint64 start = g_get_monotonic_time ();

  if (!trainer_events_flush (t, error))
    return FALSE;
  if (t->events.fd >= 0 && fdatasync (t->events.fd) != 0)
    return io_error (error, "Cannot write events.jsonl in", t->folder);
  checkpoints = loom_folder_enter (t->files, LOOM_RUN_CHECKPOINTS, TRUE, error);
  if (checkpoints == NULL)
    return FALSE;
  path = loom_folder_path_of (checkpoints, name);
  folder = write_parts (t, checkpoints, fresh, error);
  if (folder == NULL || !put_in_place (checkpoints, fresh, name, error))
    {
      remove_checkpoint (checkpoints, fresh);
      return FALSE;
    }
  if (!loom_folder_sync (checkpoints, error) || !copy_weights (t, folder, error)
      || (trainer_has_averages (t) && !trainer_checkpoint_weights (t, "weights-ema.safetensors", error)))
    return FALSE;
  prune (t, checkpoints);

  t->clock.saved_step = t->place.step;
  t->checkpoint_due = FALSE;
  t->clock.last_checkpoint = g_get_monotonic_time ();
  t->clock.checkpoint_cost += t->clock.last_checkpoint - start;
  if (t->observer.checkpoint != NULL)
    t->observer.checkpoint (t, t->place.step, path, t->observer_data);
  if (out_path != NULL)
    *out_path = g_steal_pointer (&path);
  return TRUE;
}

/* The part of a rank that writes nothing: it gives what it has of the state, in the order in which rank 0 asks. */
static gboolean
give_parts (LoomTrainer *t, GError **error)
{
  if (!loom_state_save_weights (t->state, NULL, NULL, error) || !loom_state_save_optimizer (t->state, NULL, NULL, error)
      || (trainer_has_averages (t) && !trainer_checkpoint_weights (t, "weights-ema.safetensors", error)))
    return FALSE;
  t->clock.saved_step = t->place.step;
  t->checkpoint_due = FALSE;
  return TRUE;
}

/* The sentence about a full disk is that of any file; here the remedy is to resume the run. */
gboolean
trainer_checkpoint_write (LoomTrainer *t, char **out_path, GError **error)
{
  static const char advice[] = "free some space and try again.";
  g_autoptr (GError) local = NULL;
  const char *found;

  if (!trainer_takes_part (t))
    return TRUE;
  if (t->folder == NULL)
    return give_parts (t, error);
  if (write_checkpoint (t, out_path, &local))
    return TRUE;
  found = strstr (local->message, advice);
  if (found != NULL)
    {
      g_autofree char *before = g_strndup (local->message, found - local->message);
      g_autofree char *words = loom_trainer_resume_words (t);
      g_set_error (error, local->domain, local->code, "%sfree some space and continue with: %s", before, words);
    }
  else
    g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}
