/* Several ranks: processes that mpirun has started (worker-processes.c), or threads of this process, each with its own
 * trainer. Studio shows rank 0; the others run without reports. */
#include "app/worker/worker.h"

typedef struct
{
  WorkerRanks *ranks;
  LoomComm *comm;
  GThread *thread;
} Follower;

struct _WorkerRanks
{
  int n;
  LoomGraph *graph;
  LoomTrainerOptions options;
  LoomComm *first;
  gboolean agreed;    /* all ranks are ready */
  Follower *follower; /* n - 1; NULL: the others are processes */
};

/* Trainers are made one after the other: they read the same files. */
static GMutex making;

static gpointer
follow (gpointer data)
{
  Follower *self = data;
  LoomTrainerOptions options = self->ranks->options;
  g_autoptr (GError) error = NULL, failure = NULL;
  g_autoptr (LoomTrainer) trainer = NULL;
  guint64 what[LOOM_TRAINER_N_PARTS];
  gboolean speaks;

  options.comm = self->comm;
  g_mutex_lock (&making);
  trainer = loom_trainer_new (self->ranks->graph, &options, &error);
  g_mutex_unlock (&making);
  /* Rank 0 gets the reason why the ranks cannot begin. */
  loom_trainer_fingerprint (trainer, what);
  if (!loom_dist_agree (self->comm, error, what, loom_trainer_parts, LOOM_TRAINER_N_PARTS, &speaks, &failure))
    return NULL;
  loom_trainer_run (trainer, &error);
  /* Rank 0 reports why all have ended. */
  if (error != NULL && !loom_dist_is_collective_error (error))
    {
      g_autofree char *why = g_strdup_printf ("Rank %d: %s", self->comm->rank, error->message);

      self->comm->abort (self->comm, why);
    }
  return NULL;
}

WorkerRanks *
worker_ranks_new (int n, LoomGraph *graph, LoomTrainerOptions *options, GError **error)
{
  WorkerRanks *self;
  g_autofree LoomComm **comm = g_new0 (LoomComm *, n);
  LoomMessage message = { "" };
  LoomComm *processes = worker_processes_start (n, graph, options, error);

  if (processes != NULL)
    {
      self = g_new0 (WorkerRanks, 1);
      self->n = n;
      self->graph = graph != NULL ? loom_graph_ref (graph) : NULL;
      self->options = *options;
      self->first = processes;
      return self;
    }
  if (*error != NULL)
    return NULL;
  if (loom_comm_threads_new (n, comm, &message) != LOOM_STATUS_OK)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY, "%s.", message.text);
      return NULL;
    }
  if (options->threads == 0)
    options->threads = MAX (1, loom_processors () / n);
  self = g_new0 (WorkerRanks, 1);
  self->n = n;
  self->graph = graph != NULL ? loom_graph_ref (graph) : NULL;
  self->options = *options;
  self->follower = g_new0 (Follower, n);
  self->first = options->comm = comm[0];
  for (int k = 1; k < n; k++)
    self->follower[k - 1] = (Follower){ .ranks = self, .comm = comm[k] };
  for (int k = 1; k < n; k++)
    self->follower[k - 1].thread = g_thread_new ("rank", follow, &self->follower[k - 1]);
  return self;
}

LoomTrainer *
worker_ranks_make (WorkerRanks *self, GError **error)
{
  LoomTrainerOptions options = self->options;
  g_autoptr (GError) own = NULL, failure = NULL;
  LoomTrainer *trainer;
  guint64 what[LOOM_TRAINER_N_PARTS];
  gboolean speaks;

  options.comm = self->first;
  g_mutex_lock (&making);
  trainer = loom_trainer_new (self->graph, &options, &own);
  g_mutex_unlock (&making);
  loom_trainer_fingerprint (trainer, what);
  self->agreed = loom_dist_agree (self->first, own, what, loom_trainer_parts, LOOM_TRAINER_N_PARTS, &speaks, &failure);
  if (self->agreed)
    return trainer;
  g_clear_pointer (&trainer, loom_trainer_free);
  g_propagate_error (error, own != NULL ? g_steal_pointer (&own) : g_steal_pointer (&failure));
  return NULL;
}

void
worker_ranks_end (WorkerRanks *self, const GError *error)
{
  if (self->follower == NULL)
    {
      worker_processes_end (self->agreed ? error : NULL);
      return;
    }
  if (error != NULL && !loom_dist_is_collective_error (error))
    self->first->abort (self->first, error->message);
  for (int k = 1; k < self->n; k++)
    if (self->follower[k - 1].thread != NULL)
      {
        g_thread_join (self->follower[k - 1].thread);
        self->follower[k - 1].comm->free (self->follower[k - 1].comm);
        self->follower[k - 1].thread = NULL;
      }
}

void
worker_ranks_free (WorkerRanks *self)
{
  if (self == NULL)
    return;
  if (self->follower != NULL)
    {
      worker_ranks_end (self, NULL);
      self->first->free (self->first);
    }
  g_clear_pointer (&self->graph, loom_graph_unref);
  g_free (self->follower);
  g_free (self);
}
