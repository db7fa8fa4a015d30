/* Writes packed states to history/STEP; see the header. */
#include "engine/train/folder-history.h"

#include "engine/core/loom-bytes.h"
#include "engine/core/loom-os.h"
#include "engine/infer/loom-run-files.h"
#include "engine/train/checkpoint-folder.h"
#include "engine/train/state-pack.h"

#include <errno.h>
#include <string.h>

#define IN_TREE    (1u << HISTORY_LEVELS) /* states */
#define PART       28                     /* of the time for writing: one in 28 */
#define FOR_BASES  64000000               /* bytes of memory, which holds at least one base */
#define DISK_BLOCK 4096                   /* in which files and folders take space */
#define FEW        8                      /* states, with which going back takes long */
#define LEAST_PART 4                      /* a state takes at least one part in this number of its bytes */

void
folder_history_init (FolderHistory *self)
{
  self->history.has_extras = TRUE;
  self->history.part = PART;
}

/* Of the tree, all but the first n. */
static void
drop_bases (FolderHistory *self, guint n)
{
  while (self->n_bases > n)
    g_clear_pointer (&self->base[--self->n_bases].value, g_ptr_array_unref);
}

void
folder_history_clear (FolderHistory *self)
{
  history_clear (&self->history);
  drop_bases (self, 0);
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
  g_auto (GStrv) names = loom_folder_names (folder, NULL);
  gint64 bytes = DISK_BLOCK;
  struct stat about;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    if (loom_folder_stat (folder, names[i], &about))
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
  const gint64 fits = history_fits (history), gap = history->total / MAX (1, fits);
  g_autofree char *budget = NULL, *note = NULL;

  if (fits < 2)
    end_too_small (self, history->bytes);
  if (self->is_described || history->state->len < 2)
    return;
  if (fits >= FEW || gap < 2)
    return;
  self->is_described = TRUE;
  budget = loom_bytes_to_string ((double)history->budget);
  note = g_strdup_printf ("The history of %s holds %" G_GINT64_FORMAT
                          " states of this run, so that going back computes up to %" G_GINT64_FORMAT
                          " steps again. " ADVICE,
                          budget, fits, gap);
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

/* ---- bases --------------------------------------------------------------- */

/* Bases take memory, and stay as long as states that need them, so that few states have few levels. */
static guint
most_bases (const FolderHistory *self)
{
  const gint64 memory = FOR_BASES / MAX (1, state_bytes (self->run.model->state));

  return (guint)CLAMP (MIN (memory, history_fits (&self->history) / FEW), 1, HISTORY_LEVELS);
}

/* TRUE if the last base is not that of a state with a number whose base should have number `most`. */
static gboolean
is_wrong_base (const FolderHistory *self, guint most)
{
  const StateBase *last = &self->base[self->n_bases - 1];

  return last->number > most || self->n_bases > most_bases (self) || !history_has (&self->history, last->step);
}

/* The base of the next state; NULL: it is packed alone. With fewer levels it is further away. */
static const StateBase *
find_base (FolderHistory *self, gboolean is_extra)
{
  if (self->number == 0 && !is_extra)
    drop_bases (self, 0);
  while (self->n_bases > 0 && is_wrong_base (self, is_extra ? IN_TREE : self->number & (self->number - 1)))
    drop_bases (self, self->n_bases - 1);
  return self->n_bases > 0 ? &self->base[self->n_bases - 1] : NULL;
}

/* A state was written, and may be the base of later ones. The first state of a run is not, because averages of Adam
 * begin with zeros. */
static void
add_base (FolderHistory *self, gint64 step, GPtrArray *value)
{
  if (self->n_bases < most_bases (self) && self->number % 2 == 0)
    self->base[self->n_bases++] = (StateBase){ step, self->number, g_ptr_array_ref (value) };
  self->number = (self->number + 1) % IN_TREE;
}

/* ---- a state ------------------------------------------------------------- */

/* It does not fit. FALSE: the history ends. */
static gboolean
give_up (FolderHistory *self, const HistoryState *made)
{
  if (made->is_extra)
    self->history.has_extras = FALSE;
  else
    end_too_small (self, made->bytes);
  return made->is_extra;
}

/* The names of the folder and of the states in it. */
static gboolean
sync_names (FolderHistory *self, LoomFolder *folder, GError **error)
{
  return loom_folder_sync (folder, error) && loom_folder_sync (self->folder->files, error);
}

/* FALSE without an error: the budget is too small, or the state too large. */
static gboolean
write_state (FolderHistory *self, LoomFolder *folder, const TrainProgress *progress, gboolean is_extra, GError **error)
{
  LoomState *state = self->run.model->state;
  const gint64 begin = loom_monotonic ();
  const StateBase *base = find_base (self, is_extra);
  g_autofree char *fresh = checkpoint_folder_temporary (progress->step);
  g_autofree char *text = run_state_to_text (&self->run, progress, self->folder->events_length, error);
  g_autoptr (GPtrArray) value = text != NULL ? state_values (state, error) : NULL;
  g_autoptr (LoomFolder) written = NULL;
  g_autoptr (GBytes) pack = NULL;
  g_autoptr (GError) local = NULL;
  HistoryState made = { progress->step, base != NULL ? base->step : -1, 0, is_extra };

  if (value == NULL)
    return FALSE;
  pack = state_pack (state, value, made.step, made.base, base != NULL ? base->value : NULL, STATE_PACK_MOST, &local);
  if (pack == NULL)
    {
      if (local != NULL)
        g_propagate_error (error, g_steal_pointer (&local));
      else
        end_too_large (self);
      return FALSE;
    }
  made.bytes = DISK_BLOCK + on_disk ((gint64)g_bytes_get_size (pack)) + on_disk ((gint64)strlen (text));
  if (!history_make_space (&self->history, made.bytes, made.base, remove_cb, folder))
    return give_up (self, &made);
  written = write_parts (folder, fresh, pack, text, error);
  if (written == NULL || !checkpoint_folder_put (folder, fresh, progress->step, error))
    {
      checkpoint_folder_remove (folder, fresh);
      return FALSE;
    }
  checkpoint_folder_remove (folder, fresh); /* the one before, if there was one; sums find what is damaged */
  if (self->history.state->len == 0 && !sync_names (self, folder, error))
    return FALSE;
  if (!is_extra && self->history.state->len > 0)
    add_base (self, progress->step, value);
  history_note_written (&self->history, &made, begin, loom_monotonic ());
  describe (self);
  return TRUE;
}

void
folder_history_write (FolderHistory *self, const TrainProgress *progress)
{
  g_autoptr (LoomFolder) folder = NULL;
  g_autoptr (GError) error = NULL;
  gboolean is_extra;

  if (!history_wants (&self->history, progress->step, &is_extra))
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
      /* After a loss of power the newest ones may be damaged, and those before them are used; there is none before the
       * first one. */
      if (self->history.state->len > 0)
        loom_folder_set_unsynchronised (folder);
      write_state (self, folder, progress, is_extra, &error);
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
  HistoryState found = { step, -1, folder != NULL ? bytes_of (folder) : 0, FALSE };

  if (pack != NULL && !state_pack_base (pack, &found.base))
    found.base = -1;
  return found;
}

/* The steps of the states until this one; empty if there is no history. Later ones may be those of another course of
 * the run, also if no history is kept now, and a loss of power must not bring them back. A process that was killed may
 * have written the first state, and not have synchronised its name. */
static GArray *
erase_later (FolderHistory *self, LoomFolder *folder, gint64 step, GError **error)
{
  g_autoptr (GArray) steps = loom_run_checkpoint_steps (folder, error);

  for (; steps != NULL && steps->len > 0 && g_array_index (steps, gint64, 0) > step; g_array_remove_index (steps, 0))
    if (!checkpoint_folder_erase_step (folder, g_array_index (steps, gint64, 0), error))
      return NULL;
  return steps != NULL && (folder == NULL || sync_names (self, folder, error)) ? g_steal_pointer (&steps) : NULL;
}

void
folder_history_begin (FolderHistory *self, const TrainProgress *progress)
{
  g_autoptr (LoomFolder) folder = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GArray) steps = NULL;
  struct stat about;

  if (self->folder->files == NULL || self->group->comm != NULL)
    self->history.budget = 0;
  self->history.total = train_data_last_step (self->run.data);
  if (self->history.state != NULL)
    return;
  history_init (&self->history);
  if (self->folder->files != NULL
      && (loom_folder_stat (self->folder->files, LOOM_RUN_HISTORY, &about) || errno != ENOENT))
    folder = loom_folder_enter (self->folder->files, LOOM_RUN_HISTORY, FALSE, &error);
  if (folder != NULL)
    checkpoint_folder_remove_rests (folder);
  if (error == NULL)
    steps = erase_later (self, folder, progress->step, &error);
  if (steps == NULL)
    {
      end (self, error->message);
      return;
    }
  if (self->history.budget == 0)
    return;
  for (guint i = steps->len; i-- > 0;)
    {
      const HistoryState found = find_state (folder, g_array_index (steps, gint64, i));

      history_note_written (&self->history, &found, 0, 0);
    }
  if (folder != NULL)
    history_make_space (&self->history, 0, -1, remove_cb, folder);
  folder_history_write (self, progress);
}
