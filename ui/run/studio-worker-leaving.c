/* The list of workers that were asked to exit and have not yet. Each is kept alive by the watch on its process. */
#include "ui/run/studio-worker-private.h"

static GPtrArray *leaving;
static void (*left_func) (void);

void
studio_worker_note_leaving (StudioWorker *worker)
{
  if (leaving == NULL)
    leaving = g_ptr_array_new ();
  if (!g_ptr_array_find (leaving, worker, NULL))
    g_ptr_array_add (leaving, worker);
}

void
studio_worker_note_left (StudioWorker *worker)
{
  if (leaving != NULL && g_ptr_array_remove_fast (leaving, worker) && left_func != NULL)
    left_func ();
}

guint
studio_worker_n_leaving (void)
{
  return leaving != NULL ? leaving->len : 0;
}

void
studio_worker_force_leaving (void)
{
  for (guint i = 0; i < studio_worker_n_leaving (); i++)
    studio_worker_force_exit (leaving->pdata[i]);
}

void
studio_worker_set_left_func (void (*left) (void))
{
  left_func = left;
}
