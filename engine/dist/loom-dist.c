/* Joins and starts ranks that are processes. MPI is opened at run time, and its launcher is another program: one rank
 * needs neither. */
#include "engine/dist/loom-dist.h"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/core/loom-hash.h"
#include "engine/core/loom-module.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/dist/loom-launch-log.h"
#include "engine/dist/loom-launcher.h"

gboolean
loom_dist_is_rank (void)
{
  LoomLauncher launcher;

  return loom_launcher_find (&launcher) && launcher.joins;
}

gboolean
loom_dist_lacks_mpi (GError **error)
{
  LoomLauncher launcher;

  if (!loom_launcher_find (&launcher) || launcher.joins || launcher.size <= 1)
    return FALSE;
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
               "%s has started %d processes (%s) without MPI, so each would train alone. Start gradloom once, with "
               "--ranks %d, or with mpirun -np %d or srun --mpi=pmix -n %d. If this process is the only one, unset %s.",
               launcher.name, launcher.size, launcher.variable, launcher.size, launcher.size, launcher.size,
               launcher.variable);
  return TRUE;
}

/* TRUE if MPI has found all processes of the launcher. If the launcher belongs to another MPI, each process looks like
 * a single rank. */
static gboolean
has_all_processes (const LoomLauncher *launcher, const LoomComm *comm, GError **error)
{
  g_autofree char *started = launcher->size < 0 ? g_strdup_printf ("process %d", launcher->rank)
                                                : g_strdup_printf ("%d processes", launcher->size);

  if (launcher->size < 0 ? launcher->rank < comm->size : launcher->size == comm->size)
    return TRUE;
  return loom_refuse (
      error, LOOM_ERROR_DIST,
      "%s has started %s (%s), but MPI, %s, finds %d: the launcher belongs to another MPI, or cannot be "
      "reached. Put the mpirun of %s first in PATH and start with it, with --ranks, or with srun --mpi=pmix. "
      "If the launcher's MPI has a file libmpi_abi.so.1, add its folder to LD_LIBRARY_PATH instead.",
      launcher->name, started, launcher->variable, comm->library, comm->size, comm->library);
}

/* Opens the module over libmpi_abi.so.1, whose symbols it finds because the library is opened with global symbols.
 * NULL: there is no such library. */
static GModule *
open_standard (char **why)
{
  static const char library[] = "libmpi_abi.so.1";

  /* g_module_open() would also try NAME.la in the working directory, which any user may have put there. The library
   * stays open. */
  if (dlopen (library, RTLD_LAZY | RTLD_GLOBAL) == NULL)
    {
      *why = g_strdup_printf ("there is no %s", library);
      return NULL;
    }
  return loom_module_open ("mpi-abi", "comm", why);
}

/* Tries the MPI that the launcher probably belongs to first. The other one would find this process alone. */
static GModule *
open_mpi (const LoomLauncher *launcher, char **why)
{
  g_autofree char *other = NULL;
  GModule *module = launcher->is_standard ? open_standard (&other) : loom_module_open ("mpi", "comm", why);

  if (module == NULL)
    module = launcher->is_standard ? loom_module_open ("mpi", "comm", why) : open_standard (&other);
  return module;
}

LoomComm *
loom_dist_join (GError **error)
{
  g_autofree char *why = NULL;
  LoomMessage message = { "" };
  LoomComm *comm = NULL;
  LoomLauncher launcher = { 0 };
  gpointer entry;
  /* Before MPI starts, because it sets variables of its own in a process without a launcher. */
  const gboolean is_started = loom_launcher_find (&launcher);
  GModule *module = open_mpi (&launcher, &why);

  if (module == NULL || !g_module_symbol (module, LOOM_COMM_ENTRY, &entry))
    return loom_refuse_null (
        error, LOOM_ERROR_DIST,
        "Several ranks need MPI, but %s. Build Gradloom with libopenmpi-dev installed, add the folder of "
        "libmpi_abi.so.1 (MPI 5) to LD_LIBRARY_PATH, or run one rank.",
        why != NULL ? why : "its module has no entry point");
  if (((LoomCommEntry)entry) (&comm, &message) != LOOM_STATUS_OK)
    return loom_refuse_null (error, LOOM_ERROR_DIST, "This process cannot join the other ranks: %s.", message.text);
  if (!is_started || has_all_processes (&launcher, comm, error))
    return comm;
  comm->free (comm);
  return NULL;
}

char *
loom_dist_binding_warning (const LoomComm *comm)
{
  cpu_set_t own, launcher;

  if (g_getenv ("OMPI_COMM_WORLD_SIZE") == NULL || sched_getaffinity (0, sizeof own, &own) != 0
      || sched_getaffinity (getppid (), sizeof launcher, &launcher) != 0
      || CPU_COUNT (&own) * comm->local_size >= CPU_COUNT (&launcher))
    return NULL;
  return g_strdup_printf ("mpirun has bound each rank to %d of this machine's %d processors, its default; mpirun "
                          "--bind-to none lets ranks use all.",
                          CPU_COUNT (&own), CPU_COUNT (&launcher));
}

/* Sets the error of a failed exchange, and whether this rank reports it. */
static gboolean
fail (const LoomComm *comm, const LoomMessage *message, gboolean *speaks, GError **error)
{
  *speaks = comm->timeout == 0 || comm->rank == 0 || comm->timed_out;
  return loom_error_of_ranks (message->text, error);
}

/* Sends the reason why a rank cannot begin to the others. */
static void
pass_reason (LoomComm *comm, int from, const GError *why_not, gboolean *speaks, GError **error)
{
  LoomMessage message = { "" };
  struct
  {
    gint32 code;
    char text[1024];
  } reason = { LOOM_ERROR_DIST, "it cannot begin." };

  if (comm->rank == from)
    {
      reason.code = why_not->domain == LOOM_ERROR ? why_not->code : LOOM_ERROR_IO;
      g_strlcpy (reason.text, why_not->message, sizeof reason.text);
    }
  if (comm->broadcast (comm, &reason, sizeof reason, from, &message) != LOOM_STATUS_OK)
    fail (comm, &message, speaks, why_not == NULL ? error : NULL);
  else if (why_not == NULL)
    {
      g_autofree char *text = g_utf8_make_valid (reason.text, (gssize)strnlen (reason.text, sizeof reason.text));

      g_set_error (error, LOOM_ERROR, reason.code, "Rank %d: %s", from, *text != '\0' ? text : "it cannot begin.");
    }
}

/* "graph, device and batch size". (transfer full) */
static char *
name_parts (guint64 parts, const char *const *names, guint n)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < n; i++)
    if (parts & (G_GUINT64_CONSTANT (1) << i))
      {
        const gboolean is_last = parts >> (i + 1) == 0;

        g_string_append_printf (text, "%s%s", text->len == 0 ? "" : is_last ? " and " : ", ", names[i]);
      }
  return g_string_free (text, FALSE);
}

/* The first rank that has named itself, whose own number this is; comm->size: none has. */
static gboolean
find_first (LoomComm *comm, gint64 own, gint64 *first, LoomMessage *message)
{
  if (comm->all_reduce (comm, &own, first, 1, LOOM_I64, LOOM_REDUCE_MIN, message) != LOOM_STATUS_OK)
    return FALSE;
  if (*first >= 0 && *first <= own && (*first == own || *first != comm->rank))
    return TRUE;
  g_strlcpy (message->text, "The ranks have exchanged numbers that are not of a rank.", sizeof message->text);
  return FALSE;
}

/* Finds the first rank that would do something other than rank 0, and the difference, on all ranks. TRUE: all are about
 * to do the same. */
static gboolean
is_same (LoomComm *comm, const guint64 *what, const char *const *names, guint n, gboolean *speaks, GError **error)
{
  LoomMessage message = { "" };
  guint64 first[LOOM_DIST_MAX_ITEMS], parts = 0;
  gint64 own, least, differs, others = 0;
  gboolean ok;

  memcpy (first, what, n * sizeof *what);
  ok = comm->broadcast (comm, first, (gint64)(n * sizeof *first), 0, &message) == LOOM_STATUS_OK;
  for (guint i = 0; i < n; i++)
    parts |= (guint64)(first[i] != what[i]) << i;
  own = parts != 0 ? comm->rank : comm->size;
  differs = parts != 0;
  ok = ok && find_first (comm, own, &least, &message);
  if (ok && least == comm->size)
    return TRUE;
  ok = ok && comm->all_reduce (comm, &differs, &others, 1, LOOM_I64, LOOM_REDUCE_SUM, &message) == LOOM_STATUS_OK
       && comm->broadcast (comm, &parts, sizeof parts, (int)least, &message) == LOOM_STATUS_OK;
  if (!ok)
    return fail (comm, &message, speaks, error);
  g_autofree char *text = name_parts (parts, names, n);
  g_autofree char *more = others > 1 ? g_strdup_printf (" Nor would %d more.", (int)others - 1) : g_strdup ("");
  return loom_refuse (error, LOOM_ERROR_DIST, "Rank %d would not train the same as rank 0. Different: %s.%s",
                      (int)least, text, more);
}

gboolean
loom_dist_agree (LoomComm *comm, const GError *why_not, const guint64 *what, const char *const *names, guint n,
                 gboolean *speaks, GError **error)
{
  gint64 own = why_not == NULL ? comm->size : comm->rank, least;
  LoomMessage message = { "" };

  if (!find_first (comm, own, &least, &message))
    return fail (comm, &message, speaks, error);
  *speaks = least == comm->rank || (least == comm->size && comm->rank == 0);
  if (least < comm->size)
    {
      pass_reason (comm, (int)least, why_not, speaks, error);
      return FALSE;
    }
  return is_same (comm, what, names, n, speaks, error);
}

gboolean
loom_dist_check_versions (LoomComm *comm, double timeout, gboolean *speaks, GError **error)
{
  static const char *const names[] = { "version of Gradloom", "protocol of ranks", "--timeout" };
  const guint64 what[G_N_ELEMENTS (names)]
      = { loom_hash_name (LOOM_VERSION), LOOM_DIST_PROTOCOL, (guint64)(gint64)(MAX (timeout, 0) * G_USEC_PER_SEC) };

  *speaks = comm->rank == 0;
  if (!is_same (comm, what, names, G_N_ELEMENTS (names), speaks, error))
    return FALSE;
  comm->timeout = timeout;
  return TRUE;
}

gboolean
loom_dist_is_collective_error (const GError *error)
{
  return g_error_matches (error, LOOM_ERROR, LOOM_ERROR_NAN) || g_error_matches (error, LOOM_ERROR, LOOM_ERROR_DIST)
         || g_error_matches (error, LOOM_ERROR, LOOM_ERROR_CANCELLED);
}

gboolean
loom_dist_is_local (const char *hosts)
{
  /* SLURM, PBS, LSF, Grid Engine, LoadLeveler. */
  static const char *const jobs[] = { "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "LOADL_STEP_ID" };

  for (guint i = 0; i < G_N_ELEMENTS (jobs); i++)
    if (g_getenv (jobs[i]) != NULL)
      return FALSE;
  return hosts == NULL;
}

char *
loom_dist_find_launcher (void)
{
  g_autofree char *why = NULL;
  g_autofree char *module = loom_module_find ("mpi", "comm", &why);

  return module != NULL ? g_find_program_in_path ("mpirun") : NULL;
}

/* ---- starting ------------------------------------------------------------------ */

/* Runs in the launcher: it gets a process group of its own, so that Ctrl-C of a terminal does not reach it. It would
 * end its ranks within a second, even if they have not written their checkpoint. If this process is killed, the
 * launcher passes SIGUSR1 on to the ranks, which write a checkpoint, and no process stays. */
static void
prepare_launcher (gpointer data)
{
  setpgid (0, 0);
  prctl (PR_SET_PDEATHSIG, SIGUSR1);
  sigprocmask (SIG_UNBLOCK, data, NULL);
}

static void
add_children (GPtrArray *found, const char *pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%s/task/%s/children", pid, pid), *text = NULL;
  g_auto (GStrv) child = g_strsplit (loom_path_read (path, &text, NULL, NULL) ? g_strstrip (text) : "", " ", -1);

  for (guint i = 0; child[i] != NULL; i++)
    if (child[i][0] != '\0')
      g_ptr_array_add (found, g_strdup (child[i]));
}

/* The processes that the launcher has started here: its children, and their children, since MPICH's has a helper
 * between itself and the ranks. (transfer full) */
static GPtrArray *
started_by (GPid launcher)
{
  GPtrArray *found = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *pid = g_strdup_printf ("%d", launcher);
  guint n;

  add_children (found, pid);
  n = found->len;
  for (guint i = 0; i < n; i++)
    add_children (found, found->pdata[i]);
  return found;
}

/* The number of the launcher's ranks on this machine. */
static guint
count_local_ranks (GPid launcher, const char *self)
{
  g_autoptr (GPtrArray) child = started_by (launcher);
  guint n = 0;

  for (guint i = 0; self != NULL && i < child->len; i++)
    {
      g_autofree char *link = g_strdup_printf ("/proc/%s/exe", (char *)child->pdata[i]);
      g_autofree char *exe = loom_path_link (link);

      n += g_strcmp0 (exe, self) == 0;
    }
  return n;
}

/* Seconds without a rank on this machine, after which hosts that do not answer are no longer waited for. */
#define HOST_TIMEOUT 4

/* TRUE if the ranks on this machine ended a while ago and the launcher waits for hosts that it has lost. Called once a
 * second. */
static gboolean
has_lost_hosts (GPid launcher, const char *self, int *without)
{
  guint n = count_local_ranks (launcher, self);

  if (n > 0)
    *without = 0;
  else if (*without >= 0)
    ++*without;
  return *without > HOST_TIMEOUT;
}

/* Reads the launcher's status, after its log has reported a rank that was ended by a signal. A killed rank is a lost
 * rank. A rank that ends by itself has reported the reason, including one that receives a signal, writes a checkpoint
 * and ends with the status of that signal. */
static int
read_status (int status, LoomDistEnd *end)
{
  const int code = WIFEXITED (status) ? WEXITSTATUS (status) : -1;
  const gboolean asked = code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGUSR1;

  /* MPICH's launcher ends with the number of the signal. A rank that ends by itself has a status of at most 5, or of
   * more than 128. */
  if (code > 5 && code < NSIG && end->number < 0)
    end->number = code;
  /* ssh's status if it cannot reach a host, and a shell's if it finds no program there; no rank has them. */
  end->unstarted = end->unstarted || code == 255 || code == 127 || code == 126;
  end->lost = code < 0 || end->number >= 0 || (code >= 128 && !asked);
  end->said = code == LOOM_DIST_EXIT_HUNG;
  end->launcher_died = WIFSIGNALED (status) ? WTERMSIG (status) : 0;
  return end->lost ? 3 : code;
}

char *
loom_dist_lost_text (const LoomDistEnd *end)
{
  if (end->rank < 0 && end->number >= 0)
    return g_strdup_printf ("A rank was ended by signal %d (%s)", end->number, g_strsignal (end->number));
  if (end->rank >= 0)
    return g_strdup_printf ("Rank %d was ended by signal %d (%s)", end->rank, end->number, g_strsignal (end->number));
  if (end->launcher_died != 0)
    return g_strdup_printf ("mpirun, which started the ranks, was ended by signal %d (%s)", end->launcher_died,
                            g_strsignal (end->launcher_died));
  return g_strdup (end->said ? "A rank hung" : "A rank was lost");
}

/* The state of the launcher while this process waits for it. */
typedef struct
{
  const LoomDistLaunch *launch;
  GPid pid;
  char *self;
  gboolean is_here; /* the launcher starts all ranks on this machine */
  gboolean begun;   /* all of them were running at once (only if is_here) */
  int without;      /* as has_lost_hosts() counts; -1: no rank was found yet */
  gint64 asked;     /* when it was first asked to end, and when it had to end its ranks; 0: not yet */
  gint64 kill_time;
  gboolean has_reported; /* the user was told that the ranks are slow to end */
} Launch;

#define KILL_DELAY (10 * G_USEC_PER_SEC) /* for a launcher that must end its ranks, which takes 2 s to 3 s */

/* Ends the ranks instead of the launcher. They do not belong to its process group. */
static void
end_by_force (const Launch *w)
{
  g_autoptr (GPtrArray) child = NULL;

  /* A stopped launcher starts no more ranks meanwhile. */
  kill (w->pid, SIGSTOP);
  child = started_by (w->pid);
  for (guint i = 0; i < child->len; i++)
    kill (atoi (child->pdata[i]), SIGKILL);
  kill (w->pid, SIGKILL);
}

/* TRUE if a process is stopped, as by SIGSTOP or a debugger: its state, after the name in brackets, is T or t. */
static gboolean
is_stopped (const char *pid)
{
  g_autofree char *path = g_strdup_printf ("/proc/%s/stat", pid), *text = NULL;
  const char *state = loom_path_read (path, &text, NULL, NULL) ? strrchr (text, ')') : NULL;

  return state != NULL && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

static int
rank_of (const char *pid)
{
  static const char *const names[] = { "OMPI_COMM_WORLD_RANK=", "PMI_RANK=" };
  g_autofree char *path = g_strdup_printf ("/proc/%s/environ", pid), *text = NULL;
  gsize length;

  if (!loom_path_read (path, &text, &length, NULL))
    return -1;
  for (const char *at = text; at < text + length; at += strlen (at) + 1)
    for (guint i = 0; i < G_N_ELEMENTS (names); i++)
      if (g_str_has_prefix (at, names[i]))
        return atoi (at + strlen (names[i]));
  return -1;
}

/* "Rank 1 (process 4711) is stopped"; NULL if no rank on this machine is. (transfer full) */
static char *
stopped_text (GPid launcher)
{
  g_autoptr (GPtrArray) child = started_by (launcher);

  for (guint i = 0; i < child->len; i++)
    {
      const char *pid = child->pdata[i];

      if (is_stopped (pid) && rank_of (pid) >= 0)
        return g_strdup_printf ("Rank %d (process %s) is stopped", rank_of (pid), pid);
    }
  return NULL;
}

static void
report_slow (Launch *w, int number)
{
  g_autofree char *stopped = NULL;

  if (w->has_reported || w->kill_time != 0 || w->launch->is_slow == NULL || w->asked == 0
      || loom_monotonic () - w->asked < LOOM_DIST_SLOW_SECONDS * G_USEC_PER_SEC)
    return;
  stopped = stopped_text (w->pid);
  w->has_reported = TRUE;
  w->launch->is_slow (number, stopped, w->launch->data);
}

static void
supervise (Launch *w)
{
  if (w->is_here && !w->begun)
    w->begun = count_local_ranks (w->pid, w->self) >= (guint)w->launch->ranks;
  if (w->launch->hosts != NULL && has_lost_hosts (w->pid, w->self, &w->without))
    kill (w->pid, SIGKILL);
  if (w->kill_time != 0 && loom_monotonic () - w->kill_time > KILL_DELAY)
    end_by_force (w);
}

/* Asks the ranks to end: the launcher passes SIGUSR1 on to them, and they finish their step and write a checkpoint.
 * While it still starts ranks there is nothing to finish, and later ranks would miss the signal. */
static void
request_end (Launch *w, int number, LoomDistEnd *end)
{
  const gint64 now = loom_monotonic ();

  if (w->asked == 0)
    {
      w->asked = now;
      end->asked_by = number;
      end->before = w->is_here && !w->begun;
      kill (w->pid, end->before ? SIGTERM : SIGUSR1);
      w->kill_time = end->before ? now : 0;
    }
  else if (now - w->asked > G_USEC_PER_SEC)
    {
      end->twice = TRUE;
      kill (w->pid, SIGTERM);
      if (w->kill_time == 0)
        w->kill_time = now;
    }
}

/* Waits for the launcher and returns its status. A second request ends the ranks. */
static int
wait_for (Launch *w, const sigset_t *watched, LoomDistEnd *end)
{
  const struct timespec second = { .tv_sec = 1 };
  int status;

  while (waitpid (w->pid, &status, WNOHANG) != w->pid)
    {
      const gboolean looks = w->launch->hosts != NULL || (w->is_here && !w->begun) || w->asked != 0;
      const int number = looks ? sigtimedwait (watched, NULL, &second) : sigwaitinfo (watched, NULL);

      supervise (w);
      if (number > 0 && number != SIGCHLD)
        request_end (w, number, end);
      report_slow (w, end->asked_by);
    }
  return status;
}

int
loom_dist_count_hosts (const char *hosts)
{
  static const char known[] = G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._-";
  g_auto (GStrv) host = g_strsplit (hosts, ",", -1);
  int n = 0;

  for (guint i = 0; host[i] != NULL; i++)
    {
      gsize name = strspn (host[i], known);
      gint64 slots = 1;

      if (name == 0 || host[i][0] == '-'
          || (host[i][name] != '\0'
              && (host[i][name] != ':' || !g_ascii_string_to_signed (host[i] + name + 1, 10, 1, 4096, &slots, NULL))))
        return 0;
      n += (int)slots;
    }
  return n;
}

/* TRUE if the list contains NAME, or NAME=VALUE. */
static gboolean
lists (char **listed, const char *name)
{
  const gsize length = strlen (name);

  for (guint i = 0; listed[i] != NULL; i++)
    if (g_str_has_prefix (listed[i], name) && (listed[i][length] == '\0' || listed[i][length] == '='))
      return TRUE;
  return FALSE;
}

/* Ranks on other hosts have the environment of a login there, so Gradloom's own variables are passed, with those that
 * the user names in the list. (transfer full) */
static char **
pass_variables (char **environment)
{
  static const char list[] = "OMPI_MCA_mca_base_env_list";
  const char *own = g_environ_getenv (environment, list);
  g_autoptr (GString) names = g_string_new (own);
  g_auto (GStrv) listed = g_strsplit (own != NULL ? own : "", ";", -1);

  for (guint i = 0; environment[i] != NULL; i++)
    if (g_str_has_prefix (environment[i], "GRADLOOM_"))
      {
        g_autofree char *name = g_strndup (environment[i], strcspn (environment[i], "="));

        if (lists (listed, name))
          continue;
        if (names->len > 0)
          g_string_append_c (names, ';');
        g_string_append (names, name);
      }
  return names->len > 0 ? g_environ_setenv (environment, list, names->str, TRUE) : environment;
}

char **
loom_dist_launch_environment (void)
{
  /* Variables, because each launcher refuses the options of others: OMPI_ is read by Open MPI 4, PRTE_ by Open MPI 5,
   * I_MPI_ by Intel MPI. */
  static const char *const set[][2] = {
    /* More ranks than processors are useful in lessons. */
    { "OMPI_MCA_rmaps_base_oversubscribe", "1" },
    /* By slot, since ":oversubscribe" alone starts all ranks on the first host. */
    { "PRTE_MCA_rmaps_default_mapping_policy", "slot:oversubscribe" },
    /* By default each of two ranks is bound to one core, and all threads of the rank with it. */
    { "OMPI_MCA_hwloc_base_binding_policy", "none" },
    { "PRTE_MCA_hwloc_default_binding_policy", "none" },
    { "I_MPI_PIN", "off" },
    /* This machine logs in to all others by itself. */
    { "OMPI_MCA_plm_rsh_no_tree_spawn", "1" },
    { "PRTE_MCA_plm_ssh_no_tree_spawn", "1" },
    /* hwloc queries all X displays of the machine, :0 to :9, for GPUs. If one of them ends meanwhile, Xlib ends the
     * launcher or the rank with status 1. */
    { "HWLOC_COMPONENTS", "-gl" },
    /* Open MPI refuses to start as root, which is the normal user in many containers. */
    { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
    { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
  };
  char **environment = g_get_environ ();

  for (guint i = 0; i < G_N_ELEMENTS (set); i++)
    environment = g_environ_setenv (environment, set[i][0], set[i][1], FALSE);
  return pass_variables (environment);
}

/* (transfer full) */
static GPtrArray *
launch_words (const LoomDistLaunch *launch, char *const *argv)
{
  GPtrArray *words = g_ptr_array_new_with_free_func (g_free);
  char *self = loom_path_link ("/proc/self/exe");

  g_ptr_array_add (words, g_strdup ("mpirun"));
  if (launch->hosts != NULL)
    {
      g_ptr_array_add (words, g_strdup ("--host"));
      g_ptr_array_add (words, g_strdup (launch->hosts));
    }
  g_ptr_array_add (words, g_strdup ("-np"));
  g_ptr_array_add (words, g_strdup_printf ("%d", launch->ranks));
  g_ptr_array_add (words, self != NULL ? self : g_strdup (argv[0]));
  for (guint i = 1; argv[i] != NULL; i++)
    g_ptr_array_add (words, g_strdup (argv[i]));
  g_ptr_array_add (words, NULL);
  return words;
}

int
loom_dist_launch (const LoomDistLaunch *launch, char *const *argv, LoomDistEnd *end, GError **error)
{
  g_autoptr (GPtrArray) words = NULL;
  g_auto (GStrv) environment = NULL;
  g_autoptr (GError) local = NULL;
  sigset_t watched, before;
  g_autofree char *self = loom_path_link ("/proc/self/exe");
  Launch w = { .launch = launch, .self = self, .is_here = loom_dist_is_local (launch->hosts), .without = -1 };
  LoomLaunchLog *log;
  int status, errors;

  *end = (LoomDistEnd){ .rank = -1, .number = -1 };
  g_setenv (LOOM_DIST_LAUNCHED, "1", TRUE);
  words = launch_words (launch, argv);
  environment = loom_dist_launch_environment ();
  sigemptyset (&watched);
  sigaddset (&watched, SIGCHLD);
  sigaddset (&watched, SIGINT);
  sigaddset (&watched, SIGTERM);
  sigaddset (&watched, SIGUSR1);
  sigprocmask (SIG_BLOCK, &watched, &before);
  if (!g_spawn_async_with_pipes (NULL, (char **)words->pdata, environment,
                                 G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, prepare_launcher, &watched, &w.pid,
                                 NULL, NULL, &errors, &local))
    {
      sigprocmask (SIG_SETMASK, &before, NULL);
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_DIST,
          "mpirun, which starts the %d ranks, cannot be run: %s. Install Open MPI (Debian: openmpi-bin), or run one "
          "rank.",
          launch->ranks, local->message);
      return 3;
    }
  log = loom_launch_log_new (errors);
  status = wait_for (&w, &watched, end);
  loom_launch_log_finish (log, &watched, &end->rank, &end->number, &end->has_remedy, &end->unstarted);
  return end->asked_by != 0 ? 128 + end->asked_by : read_status (status, end);
}
