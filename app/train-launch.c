/* Ranks of `gradloom train` are started by mpirun, here or on several hosts.
 *
 * torchrun and srun start processes themselves. Where srun speaks MPI's interface they are ranks already. torchrun
 * knows none, so that its first process starts the ranks on this machine, and the others leave. */
#include "app/train-launch.h"

#include <stdlib.h>
#include <string.h>

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
      const LoomDistLaunch how = { .ranks = ranks, .hosts = launch->hosts };
      gboolean lost;
      int status = loom_dist_launch (&how, (char *const *)argv->pdata, &lost, &error);

      if (error != NULL)
        return command_fail (command, g_steal_pointer (&error));
      if (!lost || min_ranks == 0)
        return status;
      if (ranks - 1 < min_ranks)
        {
          command_warn (command, "A rank was lost, and fewer than %d would be left (%s).", min_ranks,
                        launch->min_ranks > 0 ? "--min-ranks" : "min_ranks of <parallel>");
          return status;
        }
      if (!has_checkpoint (folder))
        {
          command_warn (command, "A rank was lost before the first checkpoint, so there is nothing to continue from.");
          return status;
        }
      ranks--;
      command_warn (command, "A rank was lost. The run continues from its newest checkpoint with %d rank%s.", ranks,
                    ranks == 1 ? "" : "s");
      g_ptr_array_unref (argv);
      argv = resumed_words (launch, options, folder);
    }
}

/* How many of a launcher's processes are on this machine; -1: that is not known. */
static int
count_local (int size)
{
  const char *master = g_getenv ("MASTER_ADDR");
  int local = from_environment ("LOCAL_WORLD_SIZE");

  /* Processes of several machines could not reach one another there. */
  if (local < 0 && master != NULL
      && (g_str_equal (master, "localhost") || g_str_has_prefix (master, "127.") || g_str_equal (master, "::1")))
    return size;
  return local;
}

/* What other launchers have started; FALSE: none has. */
static gboolean
started_otherwise (const Command *command, int *ranks, int *status)
{
  int rank = from_environment ("RANK"), size = from_environment ("WORLD_SIZE");
  int local = count_local (size), tasks = from_environment ("SLURM_STEP_NUM_TASKS");

  if (tasks > 1)
    {
      *status = from_environment ("SLURM_PROCID") > 0
                    ? 2
                    : command_usage (
                        command,
                        "srun has started %d processes without MPI's interface between them. Say srun --mpi=pmix "
                        "(srun --mpi=list has what there is), or run gradloom train --ranks %d in the job, without "
                        "srun.",
                        tasks, tasks);
      return TRUE;
    }
  if (rank < 0 || size < 2)
    return FALSE;
  if (local != size)
    *status
        = rank > 0
              ? 2
              : command_usage (command,
                               "torchrun has started processes on several machines, which Gradloom's ranks reach by "
                               "MPI alone. Run gradloom train --hosts HOST,… --ranks %d on one of them instead.",
                               size);
  else if (rank > 0)
    *status = 0;
  else
    {
      *ranks = size;
      return FALSE;
    }
  return TRUE;
}

gboolean
train_launch (const Command *command, char **words, const TrainLaunch *launch, const LoomTrainerOptions *options,
              int *status)
{
  int ranks = launch->ranks, listed = launch->hosts != NULL ? loom_dist_count_hosts (launch->hosts) : 0;
  int min_ranks = launch->min_ranks;

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
    return FALSE;
  if (started_otherwise (command, &ranks, status))
    return TRUE;
  if (ranks == 0)
    ranks = listed;
  if (ranks <= 1 && launch->hosts == NULL)
    return FALSE;
  /* There is nothing to continue from without a folder. */
  if (min_ranks == 0 && (options->out != NULL || options->resume != NULL))
    min_ranks = min_ranks_of (launch, options);
  if (min_ranks > ranks)
    *status = command_usage (command, "%s %d is more than there are ranks, %d.",
                             launch->min_ranks > 0 ? "--min-ranks" : "min_ranks of <parallel>,", min_ranks, ranks);
  else
    *status = start (command, words, launch, options, ranks, min_ranks);
  return TRUE;
}
