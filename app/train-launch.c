/* Ranks of `gradloom train` are started by mpirun, here or on several hosts.
 *
 * torchrun and srun start processes themselves. Where srun speaks MPI's interface they are ranks already. torchrun
 * knows none, so that its first process starts the ranks, here and, by the processes that wait on other machines, there
 * (engine/dist/loom-join.h). */
#include "app/train-launch.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/train-signals.h"

/* A number that a launcher has put into the environment; -1: none. */
static int
from_environment (const char *name)
{
  const char *text = g_getenv (name);
  gint64 n;

  return text != NULL && g_ascii_string_to_signed (text, 10, 0, G_MAXINT32, &n, NULL) ? (int)n : -1;
}

/* ---- going on without a rank ----------------------------------------------------------- */

static void
add (GPtrArray *words, const char *option, char *value)
{
  g_ptr_array_add (words, g_strdup (option));
  g_ptr_array_add (words, value);
}

/* The same run, resumed. (transfer full) */
static GPtrArray *
resumed_words (const TrainLaunch *launch, const LoomTrainerOptions *o, const char *folder)
{
  GPtrArray *words = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (words, g_strdup ("gradloom"));
  g_ptr_array_add (words, g_strdup ("train"));
  add (words, "--resume", g_strdup (folder));
  if (o->epochs > 0)
    add (words, "--epochs", g_strdup_printf ("%" G_GINT64_FORMAT, o->epochs));
  if (o->steps > 0)
    add (words, "--steps", g_strdup_printf ("%" G_GINT64_FORMAT, o->steps));
  if (o->device != NULL)
    add (words, "--device", g_strdup (o->device));
  if (o->threads > 0)
    add (words, "--threads", g_strdup_printf ("%d", o->threads));
  if (o->checkpoint_seconds > 0)
    add (words, "--checkpoint-seconds", g_strdup_printf ("%g", o->checkpoint_seconds));
  if (launch->timeout > 0)
    add (words, "--timeout", g_strdup_printf ("%g", launch->timeout));
  if (launch->hosts != NULL)
    add (words, "--hosts", g_strdup (launch->hosts));
  if (launch->json)
    g_ptr_array_add (words, g_strdup ("--json"));
  if (launch->waits)
    g_ptr_array_add (words, g_strdup ("--waits"));
  g_ptr_array_add (words, NULL);
  return words;
}

static gboolean
has_checkpoint (const char *folder)
{
  g_autofree char *path = folder != NULL ? g_build_filename (folder, "checkpoints", NULL) : NULL;
  g_autoptr (GDir) dir = path != NULL ? g_dir_open (path, 0, NULL) : NULL;

  return dir != NULL && g_dir_read_name (dir) != NULL;
}

/* What is left of a run of so many ranks that ended at once, and how to go on with it. folder: the run's, or NULL; with
 * hosts it may be on another machine. (transfer full) */
static char *
say_remedy (const char *folder, const char *hosts, int ranks)
{
  g_autofree char *run = folder != NULL ? loom_text_shell_word (folder) : NULL;
  g_autofree char *list = hosts != NULL ? loom_text_shell_word (hosts) : NULL;
  g_autofree char *with = hosts != NULL ? g_strdup_printf ("--hosts %s", list) : g_strdup_printf ("--ranks %d", ranks);
  g_autofree char *begun = folder != NULL ? g_build_filename (folder, "run.json", NULL) : NULL;

  if (folder == NULL)
    return g_strdup ("Nothing was kept, because no --out was given.");
  if (hosts != NULL || has_checkpoint (folder))
    return g_strdup_printf ("What was trained since the newest checkpoint is lost. "
                            "Continue with: gradloom train --resume %s %s",
                            run, with);
  if (g_file_test (begun, G_FILE_TEST_EXISTS))
    return g_strdup_printf ("There is no checkpoint yet, so all that was trained is lost. "
                            "Begin again with: gradloom train --resume %s %s",
                            run, with);
  return g_strdup ("Nothing was kept yet: begin again with the same command.");
}

/* What <parallel> of the graph says, or --set in its place; 0: nothing, or nothing that can be read, as its ranks will
 * say. */
static int
min_ranks_of (const TrainLaunch *launch, const LoomTrainerOptions *options)
{
  static const char name[] = "train.parallel.min_ranks=";
  g_autofree char *path
      = launch->graph != NULL ? g_strdup (launch->graph) : g_build_filename (options->resume, "graph.xml", NULL);
  g_autoptr (LoomGraph) graph = command_read_graph (path, NULL);
  LoomElement *train = graph != NULL ? loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN) : NULL;
  LoomElement *parallel = train != NULL ? loom_element_find (train, LOOM_TAG_PARALLEL) : NULL;
  const char *text = parallel != NULL ? loom_element_get (parallel, "min_ranks") : NULL;
  gint64 n;

  for (guint i = 0; options->set != NULL && options->set[i] != NULL; i++)
    if (g_str_has_prefix (options->set[i], name))
      text = options->set[i] + strlen (name);
  return text != NULL && g_ascii_string_to_signed (text, 10, 0, G_MAXINT32, &n, NULL) ? (int)n : 0;
}

/* ---- starting ------------------------------------------------------------------------------- */

/* Whether standard error takes a sentence. This process takes no signals while it writes, so a terminal that is halted
 * would keep it for ever. */
static gboolean
can_say (void)
{
  struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

  return poll (&ready, 1, 1000) > 0;
}

/* What ended all ranks, and how to go on. Ranks that have waited for another have said the first already. */
static void
say_lost (const Command *command, const TrainLaunch *launch, const LoomTrainerOptions *options, const LoomDistEnd *end,
          int min_ranks, int ranks)
{
  g_autofree char *what = loom_dist_say_lost (end), *few = NULL;
  g_autofree char *remedy = say_remedy (options->resume != NULL ? options->resume : options->out, launch->hosts, ranks);

  if (min_ranks > 0 && ranks - 1 < min_ranks)
    few = g_strdup_printf (" Fewer than %d ranks would be left (%s).", min_ranks,
                           launch->min_ranks > 0 ? "--min-ranks" : "min_ranks of <parallel>");
  if ((end->said && end->has_remedy && few == NULL) || !can_say ())
    return;
  if (end->said)
    fprintf (stderr, "gradloom %s: The run has ended on all ranks.%s %s\n", command->name, few != NULL ? few : "",
             remedy);
  else
    fprintf (stderr, "gradloom %s: %s, and the run with it on all ranks.%s %s\n", command->name, what,
             few != NULL ? few : "", remedy);
}

static void
say_slow_cb (int number, const char *stopped, gpointer data)
{
  const Command *command = data;

  if (can_say ())
    command_warn (
        command,
        "%d seconds after %s the ranks have not ended. %s. A second %s ends them at once, and what was trained "
        "since the newest checkpoint is then lost.",
        LOOM_DIST_SLOW, train_signals_name (number),
        stopped != NULL ? stopped : "Their step takes as long, or one of them hangs", train_signals_name (number));
}

static void
say_asked (const Command *command, const TrainLaunch *launch, const char *folder, int ranks, const LoomDistEnd *end)
{
  g_autofree char *remedy = say_remedy (folder, launch->hosts, ranks);

  if (end->asked_by == 0 || !can_say ())
    return;
  if (end->twice && !end->before)
    fprintf (stderr, "gradloom %s: All ranks were ended at once, as asked by a second signal. %s\n", command->name,
             remedy);
  else if (end->before)
    fprintf (stderr, "gradloom %s: Ended by %s while the ranks were being started. Nothing was trained.\n",
             command->name, train_signals_name (end->asked_by));
}

static int
start (const Command *command, char **words, const TrainLaunch *launch, const LoomTrainerOptions *options, int ranks,
       int min_ranks)
{
  const char *folder = options->resume != NULL ? options->resume : options->out;
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (argv, g_strdup ("gradloom"));
  for (guint i = 0; words[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (words[i]));
  g_ptr_array_add (argv, NULL);
  for (;;)
    {
      g_autoptr (GError) error = NULL;
      const LoomDistLaunch how
          = { .ranks = ranks, .hosts = launch->hosts, .is_slow = say_slow_cb, .data = (gpointer)command };
      LoomDistEnd end;
      int status = loom_dist_launch (&how, (char *const *)argv->pdata, &end, &error);

      if (error != NULL)
        return command_fail (command, g_steal_pointer (&error));
      say_asked (command, launch, folder, ranks, &end);
      if (end.unstarted)
        {
          fprintf (stderr, "gradloom %s: No rank could be started on %s, as mpirun says above. Nothing was trained.\n",
                   command->name, launch->hosts != NULL ? launch->hosts : "this machine");
          return 3;
        }
      if (!end.lost)
        return status;
      g_autofree char *what = loom_dist_say_lost (&end);
      if (min_ranks == 0 || ranks - 1 < min_ranks || !has_checkpoint (folder))
        {
          say_lost (command, launch, options, &end, min_ranks, ranks);
          return status;
        }
      ranks--;
      command_warn (command, "%s. The run continues from its newest checkpoint with %d rank%s.", what, ranks,
                    ranks == 1 ? "" : "s");
      g_ptr_array_unref (argv);
      argv = resumed_words (launch, options, folder);
    }
}

/* ---- launchers of another kind -------------------------------------------------------------- */

#define TORCH_PORT 29500 /* what torch takes where MASTER_PORT is not set */
#define PATIENCE   120   /* seconds, for machines to come */

/* What a launcher says of this process. */
typedef struct
{
  int rank, size, local_rank, local_size; /* local_…: -1 where it is not said */
  char *master;
  guint16 port;
} Started;

static void
started_clear (Started *run)
{
  g_free (run->master);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Started, started_clear)

/* torchrun's own store listens at MASTER_PORT for as long as its processes live. */
static guint16
torch_port (void)
{
  const int port = from_environment ("MASTER_PORT");
  const char *agent = g_getenv ("TORCHELASTIC_USE_AGENT_STORE");

  return (guint16)((port > 0 && port < G_MAXUINT16 ? port : TORCH_PORT) + (g_strcmp0 (agent, "True") == 0));
}

/* FALSE: its variables are not there. */
static gboolean
read_torchrun (Started *run)
{
  *run = (Started){ .rank = from_environment ("RANK"),
                    .size = from_environment ("WORLD_SIZE"),
                    .local_rank = from_environment ("LOCAL_RANK"),
                    .local_size = from_environment ("LOCAL_WORLD_SIZE"),
                    .master = g_strdup (g_getenv ("MASTER_ADDR")),
                    .port = torch_port () };
  /* Processes of several machines could not reach one another there. */
  if (run->local_size < 0 && run->master != NULL
      && (g_str_equal (run->master, "localhost") || g_str_has_prefix (run->master, "127.")
          || g_str_equal (run->master, "::1")))
    run->local_size = run->size;
  return run->rank >= 0 && run->size > 1;
}

/* The first of "node[07-12,20],other", where the first task is: node07. (transfer full) */
static char *
first_node (const char *list)
{
  const gsize name = strcspn (list, "[,");
  const gsize n = list[name] == '[' ? strcspn (list + name + 1, "-,]") : 0;

  return g_strdup_printf ("%.*s%.*s", (int)name, list, (int)n, n > 0 ? list + name + 1 : "");
}

/* srun's tasks, where it speaks no interface of MPI's. Jobs that share a machine have ports of their own. */
static gboolean
read_srun (Started *run)
{
  const char *nodes = g_getenv ("SLURM_STEP_NODELIST");
  const gint64 job = MAX (0, from_environment ("SLURM_JOB_ID")), step = MAX (0, from_environment ("SLURM_STEP_ID"));

  *run = (Started){ .rank = from_environment ("SLURM_PROCID"),
                    .size = from_environment ("SLURM_STEP_NUM_TASKS"),
                    .local_rank = -1,
                    .local_size = -1,
                    .master = nodes != NULL ? first_node (nodes) : NULL,
                    .port = (guint16)(20000 + (job * 16 + step) % 12000) };
  return run->rank >= 0 && run->size > 1;
}

static guint16
join_port (const Started *run)
{
  const int own = from_environment ("GRADLOOM_PORT");

  return own > 0 && own <= G_MAXUINT16 ? (guint16)own : run->port;
}

static void
let_pass (int number)
{
}

/* A process that is not the first: where all are on one machine it has nothing to do, since the first one starts the
 * ranks; else it, or of its machine's the first, starts what is wanted there. */
static int
follow (const Command *command, const Started *run)
{
  g_autoptr (GError) error = NULL;

  if (run->local_size == run->size || (run->local_size > 0 && run->local_rank > 0))
    return 0;
  /* A queue warns every process; the first one sees to it. A handler, since what is started would inherit a mask. */
  signal (SIGUSR1, let_pass);
  int status = loom_join_wait (run->master, join_port (run), run->rank, MAX (1, run->local_size), PATIENCE, &error);
  return error != NULL ? command_fail (command, g_steal_pointer (&error)) : status;
}

/* The first process, once the others have come. NULL: all are on this machine, or *error says what is wrong. */
static LoomJoin *
join_others (const Started *run, GError **error)
{
  g_autofree char *self = g_file_read_link ("/proc/self/exe", NULL);

  return run->local_size == run->size
             ? NULL
             : loom_join_open (join_port (run), run->size, MAX (1, run->local_size), PATIENCE, self, error);
}

/* What other launchers have started; FALSE: none has, or this process is to start the ranks: *ranks, and *join where
 * they are on several machines. */
static gboolean
started_otherwise (const Command *command, const TrainLaunch *launch, int *ranks, LoomJoin **join, int *status)
{
  g_autoptr (GError) error = NULL;
  g_auto (Started) run = { 0 };

  if (!read_srun (&run))
    {
      started_clear (&run);
      if (!read_torchrun (&run))
        return FALSE;
    }
  if (run.rank >= run.size)
    {
      *status = command_usage (command, "This is process %d of %d, as RANK and WORLD_SIZE say, which count from 0.",
                               run.rank, run.size);
      return TRUE;
    }
  if (run.local_size != run.size && run.master == NULL)
    {
      *status = command_usage (command,
                               "There are several ranks, but neither MASTER_ADDR nor SLURM says where the first is.");
      return TRUE;
    }
  if (run.rank > 0)
    {
      *status = follow (command, &run);
      return TRUE;
    }
  if (run.local_size != run.size && !launch->json)
    fprintf (stderr, "gradloom %s: waiting up to %d seconds for the processes of the other machines, at port %d\n",
             command->name, PATIENCE, join_port (&run));
  *join = join_others (&run, &error);
  if (error != NULL)
    {
      *status = command_fail (command, g_steal_pointer (&error));
      return TRUE;
    }
  *ranks = run.size;
  return FALSE;
}

/* ---- how many ---------------------------------------------------------------------------- */

#define MOST_RANKS         1024
#define MOST_HERE          64 /* that any machine may have: more than one has processors are a lesson */
#define MOST_ON_PROCESSORS 16 /* ranks on each, which then do little but change places */

/* FALSE, *status is 2: there are more than make sense, by a mistyped number that would bring the machine down. */
static gboolean
allows (const Command *command, const TrainLaunch *launch, int ranks, int *status)
{
  const int processors = loom_processors (), here = MIN (MOST_RANKS, MAX (MOST_HERE, MOST_ON_PROCESSORS * processors));

  if (launch->ranks > MOST_RANKS)
    *status = command_usage (command, "--ranks takes a number from 1 to %d, not %d.", MOST_RANKS, launch->ranks);
  else if (ranks > here && loom_dist_is_here (launch->hosts))
    *status = command_usage (command,
                             "%d ranks are too many for this machine, which has %d processor%s: at most %d. Give "
                             "--ranks %d, or name several machines by --hosts.",
                             ranks, processors, processors == 1 ? "" : "s", here, here);
  else
    return TRUE;
  return FALSE;
}

gboolean
train_launch (const Command *command, char **words, const TrainLaunch *launch, const LoomTrainerOptions *options,
              int *status)
{
  int ranks = launch->ranks, listed = launch->hosts != NULL ? loom_dist_count_hosts (launch->hosts) : 0;
  int min_ranks = launch->min_ranks;
  LoomJoin *join = NULL;
  TrainLaunch joined;

  if (launch->hosts != NULL && listed == 0)
    {
      *status = command_usage (command,
                               "--hosts takes names with commas between them, each with :N where it has several ranks "
                               "(a,b:2), not “%s”.",
                               launch->hosts);
      return TRUE;
    }
  if (launch->min_ranks > 0 && options->out == NULL && options->resume == NULL)
    {
      *status = command_usage (command, "--min-ranks continues from a checkpoint, so it needs --out or --resume.");
      return TRUE;
    }
  if (loom_dist_is_rank ())
    {
      if (launch->min_ranks > 0 && g_getenv (LOOM_DIST_LAUNCHED) == NULL
          && from_environment ("OMPI_COMM_WORLD_RANK") <= 0)
        command_warn (command,
                      "--min-ranks is for ranks that --ranks or --hosts starts: mpirun itself ends all of them "
                      "when one is lost.");
      return FALSE;
    }
  if (!allows (command, launch, ranks, status))
    return TRUE;
  if (started_otherwise (command, launch, &ranks, &join, status))
    return TRUE;
  if (ranks == 0)
    ranks = listed;
  if (join != NULL)
    {
      joined = *launch;
      joined.hosts = loom_join_hosts (join);
      launch = &joined;
    }
  if (ranks <= 1 && launch->hosts == NULL)
    return FALSE;
  /* There are as many as torchrun says, too. */
  if (join == NULL && !allows (command, launch, ranks, status))
    return TRUE;
  /* There is nothing to continue from without a folder. */
  if (min_ranks == 0 && (options->out != NULL || options->resume != NULL))
    min_ranks = min_ranks_of (launch, options);
  if (min_ranks > ranks)
    *status = command_usage (command, "%s %d is more than there are ranks, %d.",
                             launch->min_ranks > 0 ? "--min-ranks" : "min_ranks of <parallel>,", min_ranks, ranks);
  else
    *status = start (command, words, launch, options, ranks, min_ranks);
  loom_join_close (join, *status);
  return TRUE;
}
