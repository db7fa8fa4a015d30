/* Ranks as processes. MPI is opened at run time, and its launcher is another program: neither is needed for one rank.
 */
#include "engine/dist/loom-dist.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/core/loom-module.h"

gboolean
loom_dist_is_rank (void)
{
  /* Open MPI; MPICH and SLURM's own interface; SLURM with PMIx. */
  static const char *const marks[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK" };

  for (guint i = 0; i < G_N_ELEMENTS (marks); i++)
    if (g_getenv (marks[i]) != NULL)
      return TRUE;
  return FALSE;
}

LoomComm *
loom_dist_join (GError **error)
{
  g_autofree char *why = NULL;
  GModule *module = loom_module_open ("mpi", "comm", &why);
  LoomMessage message = { "" };
  LoomComm *comm = NULL;
  gpointer entry;

  if (module == NULL || !g_module_symbol (module, LOOM_COMM_ENTRY, &entry))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST,
                   "Several ranks need MPI, and %s. Build Gradloom where libopenmpi-dev is installed, or run one rank.",
                   why != NULL ? why : "its module has no entry point");
      return NULL;
    }
  if (((LoomCommEntry)entry) (&comm, &message) != LOOM_STATUS_OK)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST, "This process cannot join the other ranks: %s.", message.text);
      return NULL;
    }
  return comm;
}

gboolean
loom_dist_agree (LoomComm *comm, gboolean ready, guint64 what, gboolean *speaks, GError **error)
{
  gint64 own[3] = { ready ? comm->size : comm->rank, (gint64)(what >> 1), -(gint64)(what >> 1) }, least[3];
  LoomMessage message = { "" };

  if (comm->all_reduce (comm, own, least, 3, LOOM_I64, LOOM_REDUCE_MIN, &message) != LOOM_STATUS_OK)
    {
      *speaks = TRUE;
      return loom_error_of_ranks (message.text, error);
    }
  *speaks = least[0] == comm->rank || (least[0] == comm->size && comm->rank == 0);
  if (least[0] < comm->size)
    {
      if (ready)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST, "Rank %d cannot begin.", (int)least[0]);
      return FALSE;
    }
  if (least[1] == -least[2])
    return TRUE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DIST,
               "The ranks would not train the same: graph, options, data or version of Gradloom differ between them.");
  return FALSE;
}

gboolean
loom_dist_is_shared (const GError *error)
{
  return g_error_matches (error, LOOM_ERROR, LOOM_ERROR_NAN) || g_error_matches (error, LOOM_ERROR, LOOM_ERROR_DIST)
         || g_error_matches (error, LOOM_ERROR, LOOM_ERROR_CANCELLED);
}

/* ---- starting ------------------------------------------------------------------ */

/* In the launcher: a group of its own, so that Ctrl-C of a terminal does not reach it. It would end its ranks within a
 * second, whether they have written their checkpoint or not. */
static void
prepare_launcher (gpointer data)
{
  setpgid (0, 0);
  sigprocmask (SIG_UNBLOCK, data, NULL);
}

/* Waits for the launcher. Asked to end, it passes SIGUSR1 on to the ranks, which finish their step and write a
 * checkpoint; asked once more, it ends them. A rank that was killed is a lost rank; one that ends by itself has said
 * why. */
static int
wait_for (GPid pid, const sigset_t *watched, gboolean *lost)
{
  int ended_by = 0, status;
  gint64 first = 0;

  for (;;)
    {
      int number;

      if (waitpid (pid, &status, WNOHANG) == pid)
        break;
      if (sigwait (watched, &number) != 0 || number == SIGCHLD)
        continue;
      if (ended_by == 0)
        {
          first = g_get_monotonic_time ();
          ended_by = number;
          kill (pid, SIGUSR1);
        }
      else if (g_get_monotonic_time () - first > G_USEC_PER_SEC)
        kill (pid, SIGTERM);
    }
  if (ended_by != 0)
    return 128 + ended_by;
  *lost = !WIFEXITED (status) || WEXITSTATUS (status) >= 128;
  return *lost ? 3 : WEXITSTATUS (status);
}

int
loom_dist_launch (int ranks, char *const *argv, gboolean *lost, GError **error)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new ();
  g_autofree char *n = g_strdup_printf ("%d", ranks);
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);
  g_autoptr (GError) local = NULL;
  sigset_t watched, before;
  GPid pid;

  g_ptr_array_add (words, (gpointer) "mpirun");
  g_ptr_array_add (words, (gpointer) "--quiet");
  if (geteuid () == 0)
    g_ptr_array_add (words, (gpointer) "--allow-run-as-root");
  /* More ranks than processors are a lesson, not a mistake. */
  g_ptr_array_add (words, (gpointer) "--oversubscribe");
  g_ptr_array_add (words, (gpointer) "-np");
  g_ptr_array_add (words, n);
  g_ptr_array_add (words, self != NULL ? self : argv[0]);
  for (guint i = 1; argv[i] != NULL; i++)
    g_ptr_array_add (words, argv[i]);
  g_ptr_array_add (words, NULL);

  *lost = FALSE;
  sigemptyset (&watched);
  sigaddset (&watched, SIGCHLD);
  sigaddset (&watched, SIGINT);
  sigaddset (&watched, SIGTERM);
  sigprocmask (SIG_BLOCK, &watched, &before);
  if (!g_spawn_async (NULL, (char **)words->pdata, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD,
                      prepare_launcher, &watched, &pid, &local))
    {
      sigprocmask (SIG_SETMASK, &before, NULL);
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_DIST,
          "%d ranks are started by mpirun, which cannot be run: %s. Install Open MPI (Debian: openmpi-bin), or "
          "run one rank.",
          ranks, local->message);
      return 3;
    }
  return wait_for (pid, &watched, lost);
}
