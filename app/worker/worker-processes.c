/* Ranks that are processes: mpirun has started one worker per rank.
 *
 * Rank 0 broadcasts the run to begin, and from then on the trainers coordinate among themselves. A worker serves one
 * run, because Studio starts other workers for the next. A killed rank ends all others, this one included: mpirun ends
 * them and reports the rank, and Studio resumes from the newest checkpoint. */
#include "app/worker/worker.h"

#include <stdio.h>
#include <string.h>

/* The parameters of a run that are broadcast to the ranks: graph, its folder, device, out, resume, the file of the
 * common trace; threads, epochs, batch size, lr, seed, resume_step. */
#define MOST_BYTES 200000000 /* of a run: a graph has at most 64 MB */
#define RUN_TYPE   "(msmsmsmsmsmsixxdxx)"

static struct
{
  LoomComm *ranks;
  gboolean has_run; /* the other ranks have started one */
  gboolean broken;  /* the other ranks wait for this one, which has failed */
} processes;

void
worker_processes_take (LoomComm *ranks)
{
  processes.ranks = ranks;
}

/* run NULL: there is no run. */
static gboolean
broadcast_run (LoomComm *comm, GVariant *run, GError **error)
{
  gint64 n = run != NULL ? (gint64)g_variant_get_size (run) : 0;
  LoomMessage message = { "" };
  LoomStatus status = comm->broadcast (comm, &n, sizeof n, 0, &message);

  if (status == LOOM_STATUS_OK && n > 0)
    status = comm->broadcast (comm, (gpointer)g_variant_get_data (run), n, 0, &message);
  return status == LOOM_STATUS_OK || loom_error_of_ranks (message.text, error);
}

LoomComm *
worker_processes_start (int n, LoomGraph *graph, LoomTrainerOptions *options, GError **error)
{
  LoomComm *comm = processes.ranks;
  g_autofree char *xml = graph != NULL ? loom_graph_write (graph, NULL) : NULL;
  g_autoptr (GVariant) run = NULL;

  if (comm == NULL || comm->size != n || processes.has_run)
    return NULL;
  options->comm = comm;
  if (options->threads == 0)
    options->threads = loom_processors_of_rank (comm);
  run = g_variant_ref_sink (g_variant_new (RUN_TYPE, xml, graph != NULL ? loom_graph_get_folder (graph) : NULL,
                                           options->device, options->out, options->resume, options->trace,
                                           options->threads, options->epochs, options->batch_size, options->lr,
                                           options->seed, options->resume_step));
  processes.has_run = TRUE;
  return broadcast_run (comm, run, error) ? comm : NULL;
}

void
worker_processes_end (const GError *error)
{
  processes.broken = processes.broken || (error != NULL && !loom_dist_is_collective_error (error));
}

void
worker_processes_exit (void)
{
  LoomComm *comm = g_steal_pointer (&processes.ranks);

  if (comm == NULL)
    return;
  if (processes.broken)
    comm->abort (comm, "");
  if (!processes.has_run)
    broadcast_run (comm, NULL, NULL);
  comm->free (comm);
}

/* ---- the others ----------------------------------------------------------------------- */

/* NULL: there is no run. */
static GVariant *
receive_run (LoomComm *comm, GError **error)
{
  LoomMessage message = { "" };
  gint64 n = 0;
  LoomStatus status = comm->broadcast (comm, &n, sizeof n, 0, &message);
  char *bytes = status == LOOM_STATUS_OK && n > 0 && n <= MOST_BYTES ? g_malloc ((gsize)n) : NULL;

  if (bytes != NULL)
    status = comm->broadcast (comm, bytes, n, 0, &message);
  if (status != LOOM_STATUS_OK)
    loom_error_of_ranks (message.text, error);
  else if (n > MOST_BYTES)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST, "Rank 0 has sent a run of %" G_GINT64_FORMAT " bytes.", n);
  if (status != LOOM_STATUS_OK || bytes == NULL)
    {
      g_free (bytes);
      return NULL;
    }
  return g_variant_ref_sink (
      g_variant_new_from_data (G_VARIANT_TYPE (RUN_TYPE), bytes, (gsize)n, FALSE, g_free, bytes));
}

static LoomTrainer *
make_trainer (LoomComm *comm, GVariant *run, GError **error)
{
  LoomTrainerOptions options = { 0 };
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = NULL;
  const char *xml, *folder;

  g_variant_get (run, "(m&sm&sm&sm&sm&sm&sixxdxx)", &xml, &folder, &options.device, &options.out, &options.resume,
                 &options.trace, &options.threads, &options.epochs, &options.batch_size, &options.lr, &options.seed,
                 &options.resume_step);
  options.comm = comm;
  options.trace_optional = TRUE;
  if (xml != NULL)
    {
      graph = loom_graph_read_data (xml, strlen (xml), folder, faults, error);
      if (graph == NULL)
        return NULL;
    }
  return loom_trainer_new (graph, &options, error);
}

/* Reports the error, and ends all ranks. */
static int
end_all (LoomComm *comm, const GError *error)
{
  fprintf (stderr, "gradloom worker: Rank %d: %s\n", comm->rank, error->message);
  comm->abort (comm, "");
  return 3;
}

int
worker_follow (LoomComm *comm)
{
  g_autoptr (GError) error = NULL, failure = NULL;
  g_autoptr (GVariant) run = receive_run (comm, &error);
  LoomTrainer *trainer = run != NULL ? make_trainer (comm, run, &error) : NULL;
  guint64 what[LOOM_TRAINER_N_PARTS];
  gboolean speaks;

  loom_trainer_fingerprint (trainer, what);
  if (run != NULL && loom_dist_agree (comm, error, what, loom_trainer_parts, LOOM_TRAINER_N_PARTS, &speaks, &failure))
    loom_trainer_run (trainer, &error);
  else
    g_clear_error (&error); /* the first rank was notified, or has ended */
  if (error != NULL && !loom_dist_is_collective_error (error))
    return end_all (comm, error);
  g_clear_pointer (&trainer, loom_trainer_free);
  comm->free (comm);
  return 0;
}
