/* The list of workers that were asked to exit and have not yet. Each is kept alive by the watch on its process. */
#include "ui/worker/studio-worker-private.h"

static GPtrArray *exiting;
static void (*exited_func) (void);

void
studio_worker_note_exiting (StudioWorker *worker)
{
  if (exiting == NULL)
    exiting = g_ptr_array_new ();
  if (!g_ptr_array_find (exiting, worker, NULL))
    g_ptr_array_add (exiting, worker);
}

void
studio_worker_note_exited (StudioWorker *worker)
{
  if (exiting != NULL && g_ptr_array_remove_fast (exiting, worker) && exited_func != NULL)
    exited_func ();
}

guint
studio_worker_n_exiting (void)
{
  return exiting != NULL ? exiting->len : 0;
}

void
studio_worker_force_exiting (void)
{
  for (guint i = 0; i < studio_worker_n_exiting (); i++)
    studio_worker_force_exit (exiting->pdata[i]);
}

void
studio_worker_set_exited_func (void (*left) (void))
{
  exited_func = left;
}
