/* States of a run in memory; see the header. */
#include "engine/train/moments.h"

#include "engine/core/loom-error.h"
#include "engine/train/state-pack.h"

#include <string.h>
#include <unistd.h>

#define FOR_VISITED 4 /* one part in this number of the budget is for states that were passed */

void
moment_free (Moment *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->pack, g_bytes_unref);
  g_free (self->text);
  g_free (self);
}

static gint64
bytes_of (const Moment *self)
{
  return (gint64)(g_bytes_get_size (self->pack) + strlen (self->text));
}

static Moment *
make (const RunState *run, const TrainProgress *progress, const StateBase *base)
{
  LoomState *state = run->model->state;
  g_autoptr (GPtrArray) value = state_values (state, NULL);
  g_autoptr (Moment) self = g_new0 (Moment, 1);

  if (value == NULL)
    return NULL;
  self->step = progress->step;
  self->text = run_state_to_text (run, progress, 0);
  self->pack = state_pack (state, value, base->value != NULL ? base->step : -1, base->value, STATE_PACK_MOST);
  return self->pack != NULL ? g_steal_pointer (&self) : NULL;
}

Moment *
moment_new (const RunState *run, const TrainProgress *progress)
{
  return make (run, progress, &(StateBase){ .step = -1 });
}

gboolean
moments_restore (Moments *self, const Moment *moment, TrainProgress *progress, GError **error)
{
  LoomState *state = self->disk->run.model->state;
  const StateBase *base = NULL;
  g_autoptr (GPtrArray) value = NULL;
  gint64 step;

  if (state_pack_base (moment->pack, &step) && step >= 0)
    {
      base = folder_history_find_base (self->disk, step);
      if (base == NULL)
        {
          g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_DATA, "A state of the run's history is missing.");
          return FALSE;
        }
    }
  value = state_unpack (state, moment->pack, base != NULL ? base->value : NULL, error);
  return value != NULL && run_state_from_text (&self->disk->run, moment->text, progress, error)
         && state_put_values (state, value, error);
}

/* ---- those of a run ------------------------------------------------------ */

void
moments_init (Moments *self, FolderHistory *disk, gint64 budget)
{
  const gint64 all = (gint64)sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);

  *self = (Moments){ .disk = disk, .history = { .budget = MIN (budget, all / 16), .pieces = 1 } };
  history_init (&self->history);
  self->moment = g_ptr_array_new_with_free_func ((GDestroyNotify)moment_free);
  self->visited = g_ptr_array_new_with_free_func ((GDestroyNotify)moment_free);
}

void
moments_clear (Moments *self)
{
  history_clear (&self->history);
  g_clear_pointer (&self->moment, g_ptr_array_unref);
  g_clear_pointer (&self->visited, g_ptr_array_unref);
}

void
moments_begin (Moments *self, gint64 total)
{
  if (self->disk->history.budget == 0)
    self->history.budget = 0;
  self->history.total = total;
}

gboolean
moments_fit (const Moments *self, LoomState *state)
{
  return state_bytes (state) <= self->history.budget;
}

static void
remove_cb (gint64 step, gpointer data)
{
  Moments *self = data;

  for (guint i = 0; i < self->moment->len; i++)
    if (((const Moment *)self->moment->pdata[i])->step == step)
      {
        g_ptr_array_remove_index (self->moment, i);
        break;
      }
}

void
moments_keep (Moments *self, const TrainProgress *progress)
{
  const gint64 begin = g_get_monotonic_time ();
  Moment *fresh;

  if (!history_wants (&self->history, progress->step))
    return;
  fresh = make (&self->disk->run, progress, &self->disk->base);
  if (fresh == NULL)
    {
      self->history.budget = 0;
      return;
    }
  g_ptr_array_add (self->moment, fresh);
  history_note_written (&self->history, &(HistoryState){ fresh->step, -1, bytes_of (fresh) }, begin,
                        g_get_monotonic_time ());
  history_make_space (&self->history, 0, -1, remove_cb, self);
}

void
moments_visit (Moments *self, const TrainProgress *progress)
{
  const gint64 most = self->history.budget / FOR_VISITED;
  const Moment *near = moments_find (self, progress->step);
  const StateBase *base = self->disk->read.value != NULL ? &self->disk->read : &self->disk->base;
  Moment *fresh;

  if (most == 0 || (near != NULL && near->step == progress->step))
    return;
  fresh = make (&self->disk->run, progress, base);
  if (fresh == NULL)
    return;
  g_ptr_array_add (self->visited, fresh);
  self->visited_bytes += bytes_of (fresh);
  while (self->visited_bytes > most && self->visited->len > 0)
    {
      self->visited_bytes -= bytes_of (self->visited->pdata[0]);
      g_ptr_array_remove_index (self->visited, 0);
    }
}

static const Moment *
nearest (const GPtrArray *list, gint64 step, const Moment *best)
{
  for (guint i = 0; i < list->len; i++)
    {
      const Moment *one = list->pdata[i];

      if (one->step <= step && (best == NULL || one->step > best->step))
        best = one;
    }
  return best;
}

const Moment *
moments_find (const Moments *self, gint64 step)
{
  return nearest (self->visited, step, nearest (self->moment, step, NULL));
}
