/* Starts the ranks of `gradloom train` by mpirun, on this machine or on several hosts.
 *
 * Processes started by mpirun or srun --mpi=pmix are ranks already. Processes of torchrun, or of srun without PMIx,
 * cannot connect to each other and are refused. */
#include "app/shared/train-launch.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/shared/train-signals.h"

/* ---- continuing without a rank ----------------------------------------------------------- */

static void
add (GPtrArray *words, const char *option, char *value)
{
  g_ptr_array_add (words, g_strdup (option));
  g_ptr_array_add (words, value);
}

/* The command that resumes the run. (transfer full) */
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
  if (o->num_workers != 0)
    add (words, "--num-workers", g_strdup_printf ("%d", MAX (o->num_workers, 0)));
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
  g_auto (GStrv) names = path != NULL ? loom_path_names (path, NULL) : NULL;

  return names != NULL && names[0] != NULL;
}

/* The sentence that describes how to resume a run whose ranks have all ended. folder: the run's, or NULL; with hosts it
 * may be on another machine. (transfer full) */
static char *
describe_resuming (const char *folder, const char *hosts, int ranks)
{
  g_autofree char *run = folder != NULL ? loom_text_shell_word (folder) : NULL;
  g_autofree char *list = hosts != NULL ? loom_text_shell_word (hosts) : NULL;
  g_autofree char *with = hosts != NULL ? g_strdup_printf ("--hosts %s", list) : g_strdup_printf ("--ranks %d", ranks);
  g_autofree char *begun = folder != NULL ? g_build_filename (folder, "run.json", NULL) : NULL;

  if (folder == NULL)
    return g_strdup ("Nothing was saved, because the run has no --out.");
  if (hosts != NULL || has_checkpoint (folder))
    return g_strdup_printf ("Steps since the newest checkpoint are lost. Continue with: gradloom train --resume %s %s",
                            run, with);
  if (loom_path_exists (begun))
    return g_strdup_printf ("The run has no checkpoint yet, so all its steps are lost. Begin again with: gradloom "
                            "train --resume %s %s",
                            run, with);
  return g_strdup ("Nothing was saved yet: begin again with the same command.");
}

/* min_ranks of the graph's <parallel>, or of --set; 0 if it is absent or invalid, which the ranks will report. */
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

/* TRUE if standard error can be written. This process handles no signals while it writes, so a stopped terminal would
 * block it forever. */
static gboolean
can_print (void)
{
  struct pollfd ready = { .fd = STDERR_FILENO, .events = POLLOUT };

  return poll (&ready, 1, 1000) > 0;
}

/* Reports why all ranks ended, and how to resume. Ranks that waited for another one have reported the reason already.
 */
static void
report_lost (const Command *command, const TrainLaunch *launch, const LoomTrainerOptions *options,
             const LoomDistEnd *end, int min_ranks, int ranks)
{
  g_autofree char *what = loom_dist_lost_text (end), *few = NULL;
  g_autofree char *remedy
      = describe_resuming (options->resume != NULL ? options->resume : options->out, launch->hosts, ranks);

  if (min_ranks > 0 && ranks - 1 < min_ranks)
    few = g_strdup_printf (" Fewer than %d ranks would be left (%s).", min_ranks,
                           launch->min_ranks > 0 ? "--min-ranks" : "min_ranks of <parallel>");
  if ((end->said && end->has_remedy && few == NULL) || !can_print ())
    return;
  if (end->said)
    fprintf (stderr, "gradloom %s: The run has ended on all ranks.%s %s\n", command->name, few != NULL ? few : "",
             remedy);
  else
    fprintf (stderr, "gradloom %s: %s, and the run has ended on all ranks.%s %s\n", command->name, what,
             few != NULL ? few : "", remedy);
}

static void
slow_end_cb (int number, const char *stopped, gpointer data)
{
  const Command *command = data;

  if (can_print ())
    command_warn (
        command,
        "%d seconds after %s the ranks have not ended. %s. A second %s ends them at once; steps since the newest "
        "checkpoint are then lost.",
        LOOM_DIST_SLOW_SECONDS, train_signals_name (number),
        stopped != NULL ? stopped : "Their step takes longer, or a rank hangs", train_signals_name (number));
}

static void
report_requested_end (const Command *command, const TrainLaunch *launch, const char *folder, int ranks,
                      const LoomDistEnd *end)
{
  g_autofree char *remedy = describe_resuming (folder, launch->hosts, ranks);

  if (end->asked_by == 0 || !can_print ())
    return;
  if (end->twice && !end->before)
    fprintf (stderr, "gradloom %s: All ranks were ended at once by a second signal. %s\n", command->name, remedy);
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
          = { .ranks = ranks, .hosts = launch->hosts, .is_slow = slow_end_cb, .data = (gpointer)command };
      LoomDistEnd end;
      int status = loom_dist_launch (&how, (char *const *)argv->pdata, &end, &error);

      if (error != NULL)
        return command_fail (command, g_steal_pointer (&error));
      report_requested_end (command, launch, folder, ranks, &end);
      if (end.unstarted)
        {
          fprintf (stderr,
                   "gradloom %s: No rank could be started on %s; see mpirun's message above. Nothing was trained.\n",
                   command->name, launch->hosts != NULL ? launch->hosts : "this machine");
          return 3;
        }
      if (!end.lost)
        return status;
      g_autofree char *what = loom_dist_lost_text (&end);
      if (min_ranks == 0 || ranks - 1 < min_ranks || !has_checkpoint (folder))
        {
          report_lost (command, launch, options, &end, min_ranks, ranks);
          return status;
        }
      ranks--;
      command_warn (command, "%s. The run continues from its newest checkpoint with %d rank%s.", what, ranks,
                    ranks == 1 ? "" : "s");
      g_ptr_array_unref (argv);
      argv = resumed_words (launch, options, folder);
    }
}

/* ---- how many ---------------------------------------------------------------------------- */

#define MOST_RANKS         1024
#define MOST_HERE          64 /* allowed on any machine: more ranks than processors are useful in lessons */
#define MOST_ON_PROCESSORS 16 /* ranks per processor; more would only take turns */

/* FALSE, with *status 2, if a mistyped number of ranks would overload the machine. */
static gboolean
allows (const Command *command, const TrainLaunch *launch, int ranks, int *status)
{
  const int processors = loom_processors (), here = MIN (MOST_RANKS, MAX (MOST_HERE, MOST_ON_PROCESSORS * processors));

  if (launch->ranks > MOST_RANKS)
    *status = command_usage (command, "--ranks takes a number from 1 to %d, not %d.", MOST_RANKS, launch->ranks);
  else if (ranks > here && loom_dist_is_local (launch->hosts))
    *status = command_usage (command,
                             "%d ranks are too many for this machine, which has %d processor%s: at most %d. Use "
                             "--ranks %d, or name several machines with --hosts.",
                             ranks, processors, processors == 1 ? "" : "s", here, here);
  else
    return TRUE;
  return FALSE;
}

/* Checks the options of a process that is a rank already. */
static gboolean
suits_rank (const Command *command, const TrainLaunch *launch, int *status)
{
  LoomLauncher launcher;

  if (g_getenv (LOOM_DIST_LAUNCHED) != NULL || !loom_launcher_find (&launcher))
    return TRUE;
  if (launch->hosts != NULL)
    {
      /* Only rank 0 prints the error, because a launcher ends all ranks as soon as one fails. */
      *status = launcher.rank > 0 ? 0
                                  : command_usage (command,
                                                   "--hosts starts ranks, but %s has started them already. Leave out "
                                                   "one of the two.",
                                                   launcher.name);
      return FALSE;
    }
  if (launch->min_ranks > 0 && launcher.rank == 0)
    command_warn (command, "--min-ranks needs --ranks or --hosts: %s ends all of its ranks when one is lost.",
                  launcher.name);
  return TRUE;
}

gboolean
train_launch (const Command *command, char **words, const TrainLaunch *launch, const LoomTrainerOptions *options,
              int *status)
{
  int ranks = launch->ranks, listed = launch->hosts != NULL ? loom_dist_count_hosts (launch->hosts) : 0;
  int min_ranks = launch->min_ranks;
  g_autoptr (GError) error = NULL;

  if (launch->hosts != NULL && listed == 0)
    {
      *status = command_usage (command,
                               "--hosts takes names separated by commas, with :N for several ranks on a host (a,b:2), "
                               "not “%s”.",
                               launch->hosts);
      return TRUE;
    }
  if (launch->min_ranks > 0 && options->out == NULL && options->resume == NULL)
    {
      *status = command_usage (command, "--min-ranks continues from a checkpoint, so it needs --out or --resume.");
      return TRUE;
    }
  if (loom_dist_is_rank ())
    return !suits_rank (command, launch, status);
  if (loom_dist_lacks_mpi (&error))
    {
      *status = command_fail (command, g_steal_pointer (&error));
      return TRUE;
    }
  if (ranks == 0)
    ranks = listed;
  if (!allows (command, launch, ranks, status))
    return TRUE;
  if (ranks <= 1 && launch->hosts == NULL)
    return FALSE;
  /* Without a folder there is nothing to resume. */
  if (min_ranks == 0 && (options->out != NULL || options->resume != NULL))
    min_ranks = min_ranks_of (launch, options);
  if (min_ranks > ranks)
    *status = command_usage (command, "%s %d is more than the number of ranks, %d.",
                             launch->min_ranks > 0 ? "--min-ranks" : "min_ranks of <parallel>,", min_ranks, ranks);
  else
    *status = start (command, words, launch, options, ranks, min_ranks);
  return TRUE;
}
