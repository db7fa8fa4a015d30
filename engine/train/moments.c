/* States of a run in memory; see the header. */
#include "engine/train/moments.h"

#include "engine/core/loom-os.h"
#include "engine/train/state-pack.h"

#include <string.h>
#include <unistd.h>

#define FOR_VISITED 4  /* one part in this number of the budget is for states that were passed */
#define PART        80 /* of the time for copying states: one in 80 */

void
moment_free (Moment *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->value, g_ptr_array_unref);
  g_free (self->text);
  g_free (self);
}

static gint64
bytes_of (const Moment *self)
{
  gint64 bytes = (gint64)strlen (self->text);

  for (guint i = 0; i < self->value->len; i++)
    bytes += self->value->pdata[i] != NULL ? (gint64)((const LoomTensor *)self->value->pdata[i])->bytes : 0;
  return bytes;
}

Moment *
moment_new (const RunState *run, const TrainProgress *progress)
{
  g_autoptr (GPtrArray) value = state_values (run->model->state, NULL);
  char *text = value != NULL ? run_state_to_text (run, progress, 0, NULL) : NULL;
  Moment *self;

  if (text == NULL)
    return NULL;
  self = g_new (Moment, 1);
  *self = (Moment){ progress->step, text, g_steal_pointer (&value) };
  return self;
}

gboolean
moments_restore (Moments *self, const Moment *moment, TrainProgress *progress, GError **error)
{
  return run_state_from_text (self->run, moment->text, progress, error)
         && state_put_values (self->run->model->state, moment->value, error);
}

/* ---- those of a run ------------------------------------------------------ */

void
moments_init (Moments *self, const RunState *run, gint64 budget)
{
  const gint64 all = (gint64)sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);

  *self = (Moments){ .run = run, .history = { .budget = MIN (budget, all / 16), .part = PART } };
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
  const gint64 begin = loom_monotonic ();
  Moment *fresh;

  if (!history_wants (&self->history, progress->step, NULL))
    return;
  fresh = moment_new (self->run, progress);
  if (fresh == NULL)
    {
      self->history.budget = 0;
      return;
    }
  g_ptr_array_add (self->moment, fresh);
  history_note_written (&self->history, &(HistoryState){ fresh->step, -1, bytes_of (fresh), FALSE }, begin,
                        loom_monotonic ());
  history_make_space (&self->history, 0, -1, remove_cb, self);
}

void
moments_visit (Moments *self, const TrainProgress *progress)
{
  const gint64 most = self->history.budget / FOR_VISITED;
  const Moment *near = moments_find (self, progress->step);
  Moment *fresh;

  if (state_bytes (self->run->model->state) > most || (near != NULL && near->step == progress->step))
    return;
  fresh = moment_new (self->run, progress);
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
