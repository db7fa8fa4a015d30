/* Writes checkpoints: one folder each, whole or absent. trainer-restore.c reads them.
 *
 * A checkpoint is written under another name, every file forced to the disk, and renamed, so that no two steps can
 * mix and a run killed at any moment finds the one before. What resuming needs besides the state's tensors is in
 * state.json: the place, the sums of the running epoch, and how long events.jsonl was, so that the events after it are
 * cut away and written again with the same numbers. */
#include "engine/train/trainer-private.h"

#include "engine/core/loom-atomic-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
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

/* A checkpoint holds files only. */
static void
remove_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);
      g_unlink (file);
    }
  g_rmdir (path);
}

static int
compare_steps (gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* Newest first; leftovers of interrupted writes are removed when asked. */
static GArray *
list_steps (const char *checkpoints, gboolean clean)
{
  GArray *steps = g_array_new (FALSE, FALSE, sizeof (gint64));
  g_autoptr (GDir) dir = g_dir_open (checkpoints, 0, NULL);
  const char *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      char *end;
      gint64 step = g_ascii_strtoll (name, &end, 10);
      if (g_ascii_isdigit (name[0]) && *end == 0)
        g_array_append_val (steps, step);
      else if (clean && g_str_has_prefix (name, ".new-"))
        {
          g_autofree char *path = g_build_filename (checkpoints, name, NULL);
          remove_folder (path);
        }
    }
  g_array_sort (steps, compare_steps);
  return steps;
}

GArray *
trainer_checkpoint_steps (const char *folder)
{
  g_autofree char *checkpoints = g_build_filename (folder, "checkpoints", NULL);

  return list_steps (checkpoints, FALSE);
}

char *
trainer_checkpoint_path (const char *folder, gint64 step)
{
  return g_strdup_printf ("%s" G_DIR_SEPARATOR_S "checkpoints" G_DIR_SEPARATOR_S "%" G_GINT64_FORMAT, folder, step);
}

static void
prune (LoomTrainer *t, const char *checkpoints)
{
  g_autoptr (GArray) steps = list_steps (checkpoints, TRUE);
  guint epochs = 0;

  for (guint i = 0; i < steps->len; i++)
    {
      gint64 step = g_array_index (steps, gint64, i);
      gboolean at_epoch = step % t->steps_per_epoch == 0;
      if (i < KEEP_NEWEST || (at_epoch && epochs < KEEP_EPOCHS))
        {
          epochs += at_epoch;
          continue;
        }
      g_autofree char *path = g_strdup_printf ("%s/%" G_GINT64_FORMAT, checkpoints, step);
      remove_folder (path);
    }
}

/* ---- writing ---------------------------------------------------------- */

/* A checkpoint of this step may be there already, with other hyper-parameters: then the two are exchanged in one go. */
static gboolean
put_in_place (const char *fresh, const char *path, GError **error)
{
  if (rename (fresh, path) == 0)
    return TRUE;
  if (errno != ENOTEMPTY && errno != EEXIST)
    return io_error (error, "Cannot rename a checkpoint to", path);
  if (renameat2 (AT_FDCWD, fresh, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
    {
      /* Not every file system can exchange. */
      remove_folder (path);
      if (rename (fresh, path) != 0)
        return io_error (error, "Cannot rename a checkpoint to", path);
    }
  else
    remove_folder (fresh);
  return TRUE;
}

static gboolean
copy_weights (LoomTrainer *t, const char *path, GError **error)
{
  g_autofree char *from = g_build_filename (path, "weights.safetensors", NULL);
  g_autofree char *to = g_build_filename (t->folder, "weights.safetensors", NULL);
  g_autofree char *fresh = g_build_filename (t->folder, ".weights.new", NULL);
  g_autofree char *data = NULL;
  gsize length;

  /* A second name for the same bytes is the cheapest copy; files here are only ever replaced, never written into. */
  g_unlink (fresh);
  if (link (from, fresh) == 0)
    {
      if (rename (fresh, to) != 0)
        return io_error (error, "Cannot rename to", to);
      g_unlink (fresh); /* rename() leaves both when they were one file already */
      return TRUE;
    }
  return g_file_get_contents (from, &data, &length, error) && loom_file_replace (to, data, length, error);
}

gboolean
trainer_checkpoint_weights (LoomTrainer *t, const char *name, GError **error)
{
  g_autofree char *path = t->folder != NULL ? g_build_filename (t->folder, name, NULL) : NULL;

  return !trainer_takes_part (t)
         || loom_state_save_weights_of (t->state, trainer_has_averages (t) ? LOOM_SLOT_EMA : "", path, error);
}

/* The table that the run's kernels are chosen by, and what was chosen: a resumed run takes both. */
#define COSTS "costs.ini"

static gboolean
write_costs (LoomTrainer *t, const char *folder, GError **error)
{
  g_autofree char *path = g_build_filename (folder, COSTS, NULL);
  g_autofree char *text = loom_cost_table_to_text (loom_devices_costs (t->devices), TRUE);

  return loom_file_replace (path, text, strlen (text), error);
}

LoomCostTable *
loom_run_costs (const char *folder, char **note)
{
  g_autoptr (GArray) steps = trainer_checkpoint_steps (folder);

  *note = NULL;
  for (guint i = 0; i < steps->len; i++)
    {
      g_autofree char *checkpoint = trainer_checkpoint_path (folder, g_array_index (steps, gint64, i));
      g_autofree char *path = g_build_filename (checkpoint, COSTS, NULL);
      g_autofree char *text = NULL;
      g_autoptr (GError) local = NULL;
      LoomCostTable *table;

      /* An older version of Gradloom kept none. */
      if (!g_file_get_contents (path, &text, NULL, NULL))
        continue;
      table = loom_cost_table_new_from_text (text, path, &local);
      if (table != NULL)
        return table;
      if (*note == NULL)
        *note = g_strdup_printf ("%s The run's last bits may differ.", local->message);
    }
  return NULL;
}

static gboolean
write_checkpoint (LoomTrainer *t, char **out_path, GError **error)
{
  g_autofree char *checkpoints = g_build_filename (t->folder, "checkpoints", NULL);
  g_autofree char *path = g_strdup_printf ("%s/%" G_GINT64_FORMAT, checkpoints, t->place.step);
  g_autofree char *fresh = g_strdup_printf ("%s/.new-%" G_GINT64_FORMAT, checkpoints, t->place.step);
  g_autofree char *weights = g_build_filename (fresh, "weights.safetensors", NULL);
  g_autofree char *optimizer = g_build_filename (fresh, "optimizer.safetensors", NULL);
  g_autofree char *state = g_build_filename (fresh, "state.json", NULL);
  gint64 start = g_get_monotonic_time ();

  if (!trainer_events_flush (t, error))
    return FALSE;
  if (t->events.fd >= 0 && fdatasync (t->events.fd) != 0)
    return io_error (error, "Cannot write events.jsonl in", t->folder);
  remove_folder (fresh);
  if (g_mkdir_with_parents (fresh, 0777) != 0)
    return io_error (error, "Cannot create the folder", fresh);
  if (!loom_state_save_weights (t->state, weights, error) || !loom_state_save_optimizer (t->state, optimizer, error)
      || !trainer_state_write (t, state, error) || !write_costs (t, fresh, error) || !loom_folder_sync (fresh, error)
      || !put_in_place (fresh, path, error))
    {
      remove_folder (fresh);
      return FALSE;
    }
  if (!loom_folder_sync (checkpoints, error) || !copy_weights (t, path, error)
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
  if (!loom_state_save_weights (t->state, NULL, error) || !loom_state_save_optimizer (t->state, NULL, error)
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
