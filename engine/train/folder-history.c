/* Writes packed states to history/STEP; see the header. */
#include "engine/train/folder-history.h"

#include "engine/core/loom-bytes.h"
#include "engine/infer/loom-run-files.h"
#include "engine/train/checkpoint-folder.h"
#include "engine/train/state-pack.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_PACKED 15   /* against one base */
#define DISK_BLOCK  4096 /* in which files and folders take space */
#define FEW         8    /* states, with which going back takes long */
#define LEAST_PART  4    /* a state takes at least one part in this number of its bytes */

void
folder_history_init (FolderHistory *self)
{
  self->history.pieces = 2;
  self->base.step = self->read.step = -1;
}

void
folder_history_clear (FolderHistory *self)
{
  history_clear (&self->history);
  g_clear_pointer (&self->base.value, g_ptr_array_unref);
  g_clear_pointer (&self->read.value, g_ptr_array_unref);
}

/* ---- sizes --------------------------------------------------------------- */

static gint64
on_disk (gint64 bytes)
{
  return (bytes + DISK_BLOCK - 1) / DISK_BLOCK * DISK_BLOCK;
}

/* Of the folder of a state, and itself. */
static gint64
bytes_of (LoomFolder *folder)
{
  g_auto (GStrv) names = loom_folder_names (folder);
  gint64 bytes = DISK_BLOCK;
  struct stat about;

  for (guint i = 0; names[i] != NULL; i++)
    if (fstatat (loom_folder_fd (folder), names[i], &about, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += on_disk (about.st_size);
  return bytes;
}

/* ---- notes --------------------------------------------------------------- */

#define ADVICE "Raise --history, or History in Studio's Preferences, for more."

static void
end (FolderHistory *self, const char *note)
{
  self->history.budget = 0;
  train_notes_report (self->notes, note);
}

static void
end_too_small (FolderHistory *self, gint64 bytes)
{
  g_autofree char *budget = loom_bytes_to_string ((double)self->history.budget);
  g_autofree char *size = loom_bytes_to_string ((double)bytes);
  g_autofree char *note
      = self->history.state->len == 0
            ? g_strdup_printf ("No history is kept: a state of this run takes %s, the budget is %s. " ADVICE, size,
                               budget)
            : g_strdup_printf (
                "The history keeps %u state%s of this run: another one takes %s, and the budget is %s, so "
                "that going back computes all later steps again. " ADVICE,
                self->history.state->len, self->history.state->len == 1 ? "" : "s", size, budget);

  end (self, note);
}

static void
end_too_large (FolderHistory *self)
{
  g_autofree char *most = loom_bytes_to_string (STATE_PACK_MOST);
  g_autofree char *note = g_strdup_printf ("The history of this run ends: its next state takes more than %s, the most "
                                           "that one can have.",
                                           most);

  end (self, note);
}

/* Once the size of a packed state is known. */
static void
describe (FolderHistory *self)
{
  const History *history = &self->history;
  const gint64 mean = history->bytes / MAX (1, history->state->len), fits = history->budget / MAX (mean, 1);
  g_autofree char *budget = NULL, *note = NULL;

  if (self->is_described || history->state->len < 2)
    return;
  if (fits >= FEW || history_slot (history) < 2)
    return;
  self->is_described = TRUE;
  budget = loom_bytes_to_string ((double)history->budget);
  note = g_strdup_printf ("The history of %s holds %" G_GINT64_FORMAT
                          " states of this run, so that going back computes up to %" G_GINT64_FORMAT
                          " steps again. " ADVICE,
                          budget, fits, history_slot (history));
  train_notes_report (self->notes, note);
}

/* ---- writing ------------------------------------------------------------- */

static void
remove_cb (gint64 step, gpointer folder)
{
  checkpoint_folder_remove_step (folder, step);
}

/* The files of a state, in a folder with a temporary name, which is returned. */
static LoomFolder *
write_parts (LoomFolder *history, const char *fresh, GBytes *pack, const char *text, GError **error)
{
  g_autoptr (LoomFolder) folder = NULL;
  gsize n;
  const void *data = g_bytes_get_data (pack, &n);

  checkpoint_folder_remove (history, fresh);
  folder = loom_folder_enter (history, fresh, TRUE, error);
  if (folder == NULL || !loom_folder_replace (folder, STATE_PACK_FILE, data, n, error)
      || !loom_folder_replace (folder, LOOM_RUN_STATE, text, strlen (text), error))
    return NULL;
  return g_steal_pointer (&folder);
}

static void
set_base (FolderHistory *self, gint64 step, GPtrArray *value)
{
  g_clear_pointer (&self->base.value, g_ptr_array_unref);
  self->base = (StateBase){ step, g_ptr_array_ref (value) };
  self->n_packed = 0;
}

/* FALSE without an error: the budget is too small, or the state too large. */
static gboolean
write_state (FolderHistory *self, LoomFolder *folder, const TrainProgress *progress, GError **error)
{
  LoomState *state = self->run.model->state;
  const gint64 begin = g_get_monotonic_time ();
  const gboolean is_base = self->base.value == NULL || self->n_packed >= MOST_PACKED;
  g_autofree char *fresh = checkpoint_folder_temporary (progress->step);
  g_autofree char *text = run_state_to_text (&self->run, progress, self->folder->events_length);
  g_autoptr (GPtrArray) value = state_values (state, error);
  g_autoptr (LoomFolder) written = NULL;
  g_autoptr (GBytes) pack = NULL;
  HistoryState made = { progress->step, is_base ? -1 : self->base.step, 0 };

  if (value == NULL)
    return FALSE;
  pack = state_pack (state, value, made.base, is_base ? NULL : self->base.value, STATE_PACK_MOST);
  if (pack == NULL)
    {
      end_too_large (self);
      return FALSE;
    }
  made.bytes = DISK_BLOCK + on_disk ((gint64)g_bytes_get_size (pack)) + on_disk ((gint64)strlen (text));
  if (!history_make_space (&self->history, made.bytes, made.base, remove_cb, folder))
    {
      end_too_small (self, made.bytes);
      return FALSE;
    }
  written = write_parts (folder, fresh, pack, text, error);
  if (written == NULL || !checkpoint_folder_put (folder, fresh, progress->step, error))
    {
      checkpoint_folder_remove (folder, fresh);
      return FALSE;
    }
  if (is_base)
    set_base (self, progress->step, value);
  else
    self->n_packed++;
  history_note_written (&self->history, &made, begin, g_get_monotonic_time ());
  describe (self);
  return TRUE;
}

void
folder_history_write (FolderHistory *self, const TrainProgress *progress)
{
  g_autoptr (LoomFolder) folder = NULL;
  g_autoptr (GError) error = NULL;

  if (!history_wants (&self->history, progress->step))
    return;
  /* Packing a large one takes seconds and its size in memory. */
  if (state_bytes (self->run.model->state) / LEAST_PART > self->history.budget)
    {
      end_too_small (self, state_bytes (self->run.model->state));
      return;
    }
  folder = loom_folder_enter (self->folder->files, LOOM_RUN_HISTORY, TRUE, &error);
  if (folder != NULL)
    {
      /* After a loss of power the newest ones may be damaged, and those before them are used. */
      loom_folder_set_unsynchronised (folder);
      write_state (self, folder, progress, &error);
    }
  if (error != NULL)
    end (self, error->message);
}

/* ---- reading ------------------------------------------------------------- */

/* A state that was written before, with its base. */
static HistoryState
find_state (LoomFolder *history, gint64 step)
{
  g_autoptr (LoomFolder) folder = loom_run_checkpoint_enter (history, step, NULL);
  g_autoptr (GMappedFile) file = folder != NULL ? loom_folder_map (folder, STATE_PACK_FILE, NULL) : NULL;
  g_autoptr (GBytes) pack = file != NULL ? g_mapped_file_get_bytes (file) : NULL;
  HistoryState found = { step, -1, folder != NULL ? bytes_of (folder) : 0 };

  if (pack != NULL && !state_pack_base (pack, &found.base))
    found.base = -1;
  return found;
}

void
folder_history_begin (FolderHistory *self, const TrainProgress *progress)
{
  g_autoptr (LoomFolder) folder = NULL;
  g_autoptr (GArray) steps = NULL;

  if (self->folder->files == NULL || self->group->comm != NULL)
    self->history.budget = 0;
  self->history.total = train_data_last_step (self->run.data);
  if (self->history.state != NULL)
    return;
  if (self->folder->files != NULL)
    folder = loom_folder_enter (self->folder->files, LOOM_RUN_HISTORY, FALSE, NULL);
  if (folder != NULL)
    checkpoint_folder_remove_rests (folder);
  if (self->history.budget == 0)
    return;
  steps = loom_run_checkpoint_steps (folder);
  history_init (&self->history);
  for (guint i = steps->len; i-- > 0;)
    {
      const gint64 step = g_array_index (steps, gint64, i);

      if (step <= progress->step)
        {
          const HistoryState found = find_state (folder, step);

          history_note_written (&self->history, &found, 0, 0);
        }
      else
        checkpoint_folder_remove_step (folder, step);
    }
  if (folder != NULL)
    history_make_space (&self->history, 0, -1, remove_cb, folder);
  folder_history_write (self, progress);
}

const StateBase *
folder_history_find_base (FolderHistory *self, gint64 step)
{
  g_autoptr (LoomFolder) folder = NULL;
  GPtrArray *value;

  if (self->base.value != NULL && step == self->base.step)
    return &self->base;
  if (self->read.value != NULL && step == self->read.step)
    return &self->read;
  if (self->folder->files != NULL)
    folder = loom_folder_enter (self->folder->files, LOOM_RUN_HISTORY, FALSE, NULL);
  value = folder != NULL ? state_pack_read (self->run.model->state, folder, step, NULL) : NULL;
  if (value == NULL)
    return NULL;
  g_clear_pointer (&self->read.value, g_ptr_array_unref);
  self->read = (StateBase){ step, value };
  return &self->read;
}
