/* `gradloom train`: runs a trainer and prints its reports for a terminal, a log or a program. */
#include "app/commands.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "app/shared/train-launch.h"
#include "app/shared/train-signals.h"
#include "app/train-detach.h"
#include "app/train-health.h"
#include "app/train-remote.h"
#include "app/train-replay.h"
#include "app/train-view.h"
#include "engine/runs/loom-runs.h"

/* ---- train ------------------------------------------------------------ */

static void
print_plan (LoomTrainer *trainer, const LoomTrainerOptions *options)
{
  gsize bytes[LOOM_N_OWNERS] = { 0 }, total = 0;

  loom_trainer_memory (trainer, bytes);
  for (guint i = 0; i < LOOM_N_OWNERS; i++)
    total += bytes[i];
  g_autofree char *count = command_count (train_view_parameters (trainer)), *memory = loom_bytes_to_string (total);
  g_autofree char *how = options->eager ? g_strdup ("one primitive at a time, nothing fused or planned")
                                        : g_strdup_printf ("peak of %s planned", memory);
  g_autofree char *out = options->out != NULL ? command_printable (options->out) : g_strdup ("");
  fprintf (stderr, "%s parameters, %s%s%s%s\n", count, how, options->out != NULL ? ", writing to " : "", out,
           options->out != NULL || options->resume != NULL ? "" : ", nothing is saved (no --out)");
}

static int
refuse_folder (const Command *command, const char *folder)
{
  g_autofree char *graph = g_build_filename (folder, "graph.xml", NULL);
  g_autofree char *settings = g_build_filename (folder, "run.json", NULL);

  g_autofree char *run = loom_text_shell_word (folder), *file = loom_text_shell_word (graph);

  if (!loom_path_exists (graph))
    return command_usage (command, "“%s” is a folder without a run. Name a graph file.", folder);
  if (!loom_path_exists (settings))
    return command_usage (command, "“%s” is a folder. Name the graph in it: %s.", folder, graph);
  return command_usage (command,
                        "“%s” is a folder. Resume the run with --resume %s, or start a new one from its graph: %s.",
                        folder, run, file);
}

/* A process of MPI that exits alone would end the others with its status, so all exit together. */
typedef LoomComm RankComm;

static void
leave_ranks (RankComm *comm)
{
  if (comm != NULL)
    comm->free (comm);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RankComm, leave_ranks)

/* Prints, on rank 0, the number of processes that train together. All ranks call it; comm is NULL without MPI. */
static void
print_ranks (LoomComm *comm)
{
  const gint64 first = comm != NULL && comm->local_rank == 0;
  gint64 machines = 1;
  LoomLauncher launcher;
  LoomMessage message;

  if (comm == NULL && loom_launcher_find (&launcher))
    fprintf (stderr, "1 rank, started by %s\n", launcher.name);
  /* The loss of a rank at this point is reported by the next exchange. */
  if (comm == NULL
      || comm->all_reduce (comm, &first, &machines, 1, LOOM_I64, LOOM_REDUCE_SUM, &message) != LOOM_STATUS_OK
      || comm->rank > 0)
    return;
  fprintf (stderr, "%d rank%s on %d machine%s over %s\n", comm->size, comm->size == 1 ? "" : "s", (int)machines,
           machines == 1 ? "" : "s", comm->library);
}

/* Ranks on one machine divide its processors among themselves. */
static void
share_machine (const Command *command, LoomComm *comm, LoomTrainerOptions *options)
{
  g_autofree char *warning = options->threads == 0 && comm->rank == 0 ? loom_dist_binding_warning (comm) : NULL;

  if (warning != NULL)
    command_warn (command, "%s", warning);
  options->comm = comm;
  if (options->threads == 0)
    options->threads = loom_processors_of_rank (comm);
}

/* Prefixes a rank's messages with its number, and with its machine if there are several. */
static void
prefix_messages (LoomComm *comm, GError **error)
{
  if (comm->local_size < comm->size)
    g_prefix_error (error, "Rank %d on %s: ", comm->rank, g_get_host_name ());
  else
    g_prefix_error (error, "Rank %d: ", comm->rank);
}

/* FALSE if a rank cannot begin; the error is NULL if another rank reports it. */
static gboolean
agree (LoomComm *comm, LoomTrainer *trainer, GError **error)
{
  guint64 what[LOOM_TRAINER_N_PARTS];
  g_autoptr (GError) failure = NULL;
  gboolean speaks;

  loom_trainer_fingerprint (trainer, what);
  if (loom_dist_agree (comm, trainer != NULL ? NULL : *error, what, loom_trainer_parts, LOOM_TRAINER_N_PARTS, &speaks,
                       &failure))
    return TRUE;
  if (!speaks)
    g_clear_error (error);
  else if (*error != NULL && (comm->rank > 0 || comm->local_size < comm->size))
    prefix_messages (comm, error);
  else if (*error == NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* mpirun ends all ranks when one exits with an error status, and rank 0 may be writing the checkpoint. */
static void
wait_for_others (LoomComm *comm, LoomTrainerEnd end)
{
  LoomMessage message;

  if (comm != NULL && end == LOOM_TRAINER_INTERRUPTED)
    comm->barrier (comm, &message);
}

/* Runs a rank other than the first: it trains, and prints only its own errors. */
static int
follow (const Command *command, LoomComm *comm, LoomTrainer *trainer, TrainSignals *signals)
{
  g_autoptr (GError) error = NULL;
  LoomTrainerEnd end;
  int interrupted_by;

  train_signals_begin (signals, trainer, NULL, FALSE);
  end = loom_trainer_run (trainer, &error);
  wait_for_others (comm, end);
  interrupted_by = train_signals_end (signals);
  if (error != NULL && (comm->timed_out || !loom_dist_is_collective_error (error)))
    {
      prefix_messages (comm, &error);
      comm->exit_status = command_fail (command, g_steal_pointer (&error));
      if (comm->timed_out)
        comm->exit_status = LOOM_DIST_EXIT_HUNG;
      comm->abort (comm, "");
    }
  return end == LOOM_TRAINER_INTERRUPTED ? 128 + MAX (interrupted_by, SIGINT)
         : error != NULL                 ? loom_error_exit_status (error)
                                         : 0;
}

/* Reports an error of this rank alone, and ends the others, which would wait for it. Returns the exit status. */
static int
fail_rank (const Command *command, LoomComm *comm, GError *error)
{
  const gboolean alone = comm != NULL && !loom_dist_is_collective_error (error);
  const int status = command_fail (command, error);

  if (alone)
    {
      comm->exit_status = status;
      comm->abort (comm, "");
    }
  return status;
}

/* The fraction of communication that overlapped with computation, from the trace that this run wrote. */
static void
print_overlap (const LoomTrainer *trainer, const char *path, gboolean as_json)
{
  g_autofree char *title = NULL;
  g_autoptr (GArray) spans
      = path != NULL && loom_trainer_has_traced (trainer) ? loom_trace_read (path, &title, NULL) : NULL;
  g_autofree char *text = spans != NULL ? loom_trace_describe_overlap (spans) : NULL;

  /* The title of a pipeline's bubble contains more than a step's number. */
  if (text != NULL && !as_json)
    printf ("exchange overlapped with computation, %.*s: %s\n", (int)strcspn (title, ":"), title, text);
}

/* Ranks with shards of the weights have none to show; the run itself has ended as it would have without. */
static void
print_health (const Command *command, LoomTrainer *trainer, gboolean as_json)
{
  g_autoptr (GError) error = NULL;

  if (!train_health_print (trainer, as_json, &error))
    command_warn (command, "%s", error->message);
}

/* Of --tensorboard; GLib passes an option's callback no pointer of ours. */
static gboolean wants_board;
static char *board_folder;

static gboolean
read_board (const char *option, const char *value, gpointer data, GError **error)
{
  wants_board = TRUE;
  g_free (board_folder);
  board_folder = g_strdup (value);
  return TRUE;
}

/* FALSE with a usage error: no run's folder to write to, or the graph has been taken for the folder. */
static gboolean
check_board (const Command *command, const char *run)
{
  if (board_folder != NULL && loom_path_is_file (board_folder))
    command_usage (
        command,
        "--tensorboard takes the word after it as its folder, but %s is a file. Write --tensorboard last, or "
        "--tensorboard=DIR.",
        board_folder);
  else if (wants_board && board_folder == NULL && run == NULL)
    command_usage (command, "--tensorboard writes into the run's folder. Add --out DIR, or name a folder: "
                            "--tensorboard=DIR.");
  else
    return TRUE;
  return FALSE;
}

static void
end_board (const Command *command, TrainBoard *board)
{
  g_autoptr (GError) error = NULL;

  if (!train_board_end (board, &error))
    command_warn (command, "%s Events for TensorBoard end there.", error->message);
}

/* A worker has no such option, so the graph that it trains has the strategy. */
static void
set_strategy (LoomGraph *graph, const char *strategy, int ranks)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);

  if (train != NULL)
    loom_strategy_apply (graph, train, strategy, MAX (ranks, 1), NULL, NULL);
}

/* --freeze, --lora and --adapter: what of a graph is trained. */
typedef struct
{
  char **freeze; /* patterns */
  gint64 rank;   /* 0: not given */
  gboolean has_magnitudes;
  char *alpha, *layers, *adapter;
} TrainPart;

static void
train_part_clear (TrainPart *self)
{
  g_strfreev (self->freeze);
  g_free (self->alpha);
  g_free (self->layers);
  g_free (self->adapter);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TrainPart, train_part_clear)

static gboolean
is_part (const TrainPart *self)
{
  return self->freeze != NULL || self->rank != 0 || self->has_magnitudes || self->alpha != NULL || self->layers != NULL
         || self->adapter != NULL;
}

/* The first group that fits a weight decides, so those of the command line come before the graph's. */
static gboolean
freeze (LoomGraph *graph, char **patterns, GError **error)
{
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, NULL);
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  const LoomElement *first = train != NULL ? loom_element_find (train, LOOM_TAG_GROUP) : NULL;
  guint at = first != NULL ? loom_element_index (first) : 0;

  for (guint k = 0; train != NULL && patterns != NULL && patterns[k] != NULL; k++)
    {
      gboolean found = FALSE;

      for (guint i = 0; i < loom_net_n_weights (net); i++)
        found |= !loom_net_weight (net, i)->is_buffer
                 && loom_train_pattern_matches (patterns[k], loom_net_weight (net, i)->name);
      if (!found)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--freeze %s matches no weight of the graph.", patterns[k]);
          return FALSE;
        }
      loom_edit_free (loom_graph_apply (
          graph, loom_edit_insert (train, at++,
                                   loom_element_new (LOOM_TAG_GROUP, "match", patterns[k], "frozen", "true", NULL))));
    }
  return TRUE;
}

/* Then not all weights are known, and training names the faults. */
static gboolean
has_faults (const LoomGraph *graph)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  loom_net_free (loom_net_new (graph, NULL, faults));
  return loom_faults_count (faults) > 0;
}

/* Writes the options into the graph, as its attributes and groups say the same. */
static gboolean
train_part_apply (const TrainPart *self, LoomGraph *graph, GError **error)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  double alpha = (double)self->rank;

  if (self->alpha != NULL && (self->rank == 0 || !command_float (self->alpha, &alpha) || alpha < 0))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--lora-alpha takes 0 or a positive number, with --lora RANK.");
      return FALSE;
    }
  if (self->rank < 0 || ((self->layers != NULL || self->has_magnitudes) && self->rank == 0))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--lora takes a rank of 1 or more, and --lora-layers and --dora need it.");
      return FALSE;
    }
  if (self->rank > 0 && self->adapter != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "The ranks of --adapter are those of its file. Leave out --lora.");
      return FALSE;
    }
  if (is_part (self) && has_faults (graph))
    return TRUE;
  if (self->adapter != NULL)
    {
      g_autofree char *path = g_canonicalize_filename (self->adapter, NULL);
      g_autoptr (LoomAdapter) adapter = loom_adapter_open (path, error);

      if (adapter == NULL || !loom_adapter_attach (adapter, graph, error))
        return FALSE;
      if (train != NULL)
        loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "adapter", path)));
    }
  return (self->rank == 0 || loom_adapter_add (graph, self->rank, alpha, self->has_magnitudes, self->layers, error))
         && freeze (graph, self->freeze, error);
}

static int
run_train (const Command *command, int argc, char **argv)
{
  g_autofree char *device = NULL, *out = NULL, *resume = NULL, *lr = NULL, *precision = NULL;
  g_autofree char *weights = NULL, *match = NULL, *strategy = NULL, *trace = NULL, *hosts = NULL, *executor = NULL,
                  *host = NULL;
  g_autofree char *replayed = NULL, *branch = NULL;
  gint64 branch_step = -1, history = -1;
  g_auto (GStrv) set = NULL;
  gint64 epochs = -1, steps = 0, batch_size = 0, seed = -1;
  int threads = 0, workers = -1, ranks = 0;
  gboolean tf32 = FALSE, health = FALSE, detach = FALSE;
  double checkpoint_seconds = 0;
  TrainView view = { 0 };
  TrainLaunch launch = { 0 };
  g_auto (TrainPart) part = { 0 };
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device: cpu, cpu:1, cuda:0, ref (default: the graph's)", "D" },
    { "epochs", 0, 0, G_OPTION_ARG_INT64, &epochs,
      "Epochs (default: the graph's); 0: initialise, evaluate and write the weights", "N" },
    { "steps", 0, 0, G_OPTION_ARG_INT64, &steps, "Stop after N steps of the run, if its epochs have more", "N" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch_size, "Samples per step", "N" },
    { "lr", 0, 0, G_OPTION_ARG_STRING, &lr, "Learning rate", "X" },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16 or f16 for large products; f64 with device ref",
      "P" },
    { "tf32", 0, 0, G_OPTION_ARG_NONE, &tf32, "Compute f32 products in TF32 if the device has it", NULL },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "Seed of weights, order of samples and dropout", "N" },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &set, "Change one attribute of the graph", "NODE.PARAM=VALUE" },
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "Load initial weights that match, and list the others",
      "FILE[#NAME]" },
    { "match", 0, 0, G_OPTION_ARG_STRING, &match, "Load only weights whose path matches: 'backbone.*,stem'",
      "PATTERN" },
    { "freeze", 0, 0, G_OPTION_ARG_STRING_ARRAY, &part.freeze,
      "Do not train weights whose path matches; may be repeated", "PATTERN" },
    { "lora", 0, 0, G_OPTION_ARG_INT64, &part.rank, "Train factors of this rank, added to linear layers, instead",
      "R" },
    { "lora-alpha", 0, 0, G_OPTION_ARG_STRING, &part.alpha, "Their product counts X / R times (default: once)", "X" },
    { "lora-layers", 0, 0, G_OPTION_ARG_STRING, &part.layers, "Only for layers whose path matches: '**.attn.*,head'",
      "PATTERN" },
    { "dora", 0, 0, G_OPTION_ARG_NONE, &part.has_magnitudes, "And norms of the rows of their weights (DoRA)", NULL },
    { "adapter", 0, 0, G_OPTION_ARG_FILENAME, &part.adapter, "Begin with the factors of a file or folder of PEFT",
      "F" },
    { "out", 0, 0, G_OPTION_ARG_FILENAME, &out, "Run folder, new or empty", "DIR" },
    { "resume", 0, 0, G_OPTION_ARG_FILENAME, &resume, "Continue the run in this folder", "DIR" },
    { "branch", 0, 0, G_OPTION_ARG_FILENAME, &branch, "Begin with the state of the run in this folder after --step N",
      "DIR" },
    { "step", 0, 0, G_OPTION_ARG_INT64, &branch_step, "The step of --branch", "N" },
    { "history", 0, 0, G_OPTION_ARG_INT64, &history,
      "Megabytes of checkpoints by which a run can go back to any step (200); 0: none", "MB" },
    { "replay", 0, 0, G_OPTION_ARG_FILENAME, &replayed,
      "Repeat the run in this folder, with the numbers that were changed while it trained", "DIR" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "executor", 0, 0, G_OPTION_ARG_STRING, &executor,
      "plan (default): planned once and fused; eager: one primitive at a time, as a dynamic graph", "E" },
    { "num-workers", 0, 0, G_OPTION_ARG_INT, &workers,
      "Threads that prepare batches ahead, at most 8; 0: none (default: by the size of a batch)", "N" },
    { "checkpoint-seconds", 0, 0, G_OPTION_ARG_DOUBLE, &checkpoint_seconds, "Seconds between checkpoints (30)", "S" },
    { "ranks", 0, 0, G_OPTION_ARG_INT, &ranks, "Train in N processes, each with its own batch (started by mpirun)",
      "N" },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &strategy, command_strategy_help (), "S" },
    { "hosts", 0, 0, G_OPTION_ARG_STRING, &hosts, "Start ranks on these hosts by ssh; :N for several on one host",
      "H,…" },
    { "timeout", 0, 0, G_OPTION_ARG_DOUBLE, &launch.timeout,
      "End the run if a rank has not reached an exchange after S seconds (default: never)", "S" },
    { "min-ranks", 0, 0, G_OPTION_ARG_INT, &launch.min_ranks,
      "If a rank is lost, continue from the newest checkpoint with fewer ranks, at least N", "N" },
    { "trace", 0, 0, G_OPTION_ARG_FILENAME, &trace, "Write the timeline of the sixth step, for Perfetto and Studio",
      "F.json" },
    { "tensorboard", 0, G_OPTION_FLAG_OPTIONAL_ARG, G_OPTION_ARG_CALLBACK, read_board,
      "Write event files for TensorBoard (default: tensorboard in the run's folder)", "DIR" },
    { "waits", 0, 0, G_OPTION_ARG_NONE, &view.waits, "Print a table of stalls at the end", NULL },
    { "health", 0, 0, G_OPTION_ARG_NONE, &health, "Print gradients, updates, dead and saturated units at the end",
      NULL },
    { "host", 0, 0, G_OPTION_ARG_STRING, &host, "Train on this machine, by ssh; --out is a mirror of the run", "H" },
    { "detach", 0, 0, G_OPTION_ARG_NONE, &detach, "Train in the background, for gradloom attach and Studio", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &view.json, "Print events as JSON, one object per line", NULL },
    { NULL },
  };
  g_auto (GStrv) words = g_strdupv (argv);
  if (!command_parse (command, entries, &argc, &argv) || !check_board (command, resume != NULL ? resume : out))
    return 2;

  LoomTrainerOptions options = {
    .device = device,
    .precision = precision,
    .tf32 = tf32,
    .strategy = strategy,
    .threads = threads,
    .eager = g_strcmp0 (executor, "eager") == 0,
    .num_workers = workers == 0 ? -1 : MAX (workers, 0),
    .epochs = MAX (epochs, 0),
    .no_epochs = epochs == 0,
    .steps = steps,
    .batch_size = batch_size,
    .lr = NAN,
    .seed = seed,
    .set = (const char *const *)set,
    .weights = weights,
    .match = match,
    .out = out,
    .resume = resume,
    .checkpoint_seconds = checkpoint_seconds,
    .trace = trace,
  };
  if (lr != NULL && (!command_float (lr, &options.lr) || options.lr < 0))
    return command_usage (command, "--lr takes 0 or a positive number, not “%s”.", lr);
  if (resume != NULL && (argc != 1 || out != NULL))
    return command_usage (command,
                          "--resume reads the graph of the run and continues in its folder, so it cannot be combined "
                          "with GRAPH or --out.");
  g_autofree char *word = resume != NULL ? loom_text_shell_word (resume) : NULL;
  if (resume != NULL && epochs == 0)
    return command_usage (command,
                          "--epochs 0 starts a run, so it cannot be combined with --resume. To evaluate a run: "
                          "gradloom eval %s.",
                          word);
  if (resume != NULL
      && (batch_size > 0 || seed >= 0 || set || precision != NULL || tf32 || weights != NULL || match != NULL
          || is_part (&part)))
    return command_usage (command,
                          "--resume keeps the batch size, seed, graph and weights of the run, so it cannot be "
                          "combined with --batch-size, --seed, --precision, --tf32, --set, --weights, --match, "
                          "--freeze, --lora or --adapter. "
                          "Leave them out, or start a new run with --out.");
  if (executor != NULL && !options.eager && !g_str_equal (executor, "plan"))
    return command_usage (command, "--executor takes plan or eager, not “%s”.", executor);
  if (options.eager && (ranks > 1 || hosts != NULL))
    return command_usage (command, "The eager executor trains on one rank. Leave out --ranks and --hosts.");
  if (branch != NULL
      && (argc != 1 || resume != NULL || replayed != NULL || out == NULL || branch_step < 0 || epochs >= 0
          || batch_size > 0 || seed >= 0 || set || precision != NULL || tf32 || weights != NULL || match != NULL
          || lr != NULL || strategy != NULL || ranks > 1 || hosts != NULL || is_part (&part)))
    return command_usage (command,
                          "--branch continues a run after one of its steps in another folder, with its own graph and "
                          "settings: --branch RUN --step N --out DIR. To change epochs or learning rate, add --steps N "
                          "and then use --resume.");
  if (branch == NULL && branch_step >= 0)
    return command_usage (command, "--step names a step of a run: add --branch RUN.");
  options.branch = branch;
  options.branch_step = branch_step;
  if (history < -1 || history > 1000000000)
    return command_usage (command, "--history takes megabytes, from 0 to 1000000000.");
  options.history = history == 0 ? -1 : MAX (history, 0) * 1000000;
  if (replayed != NULL
      && (argc != 1 || resume != NULL || epochs >= 0 || batch_size > 0 || seed >= 0 || set || precision != NULL || tf32
          || weights != NULL || match != NULL || lr != NULL || strategy != NULL || ranks > 1 || hosts != NULL
          || is_part (&part)))
    return command_usage (command,
                          "--replay repeats a run with its own graph and settings. It can be combined with --out, "
                          "--steps, --device, --threads and options of what is printed.");
  if (!command_knows_strategy (command, strategy))
    return 2;
  if (!command_can_write (trace))
    return command_usage (command, "--trace %s: the folder of this file does not exist or is not writable.", trace);
  if (resume == NULL && argc == 2 && loom_path_is_folder (argv[1]))
    return refuse_folder (command, argv[1]);
  if (resume == NULL && replayed == NULL && branch == NULL && argc != 2)
    return command_usage (
        command, argc < 2 ? "GRAPH is missing. It takes one GRAPH, or --resume, --replay or --branch with a run."
                          : "It takes one GRAPH.");

  /* A run of a host is continued, branched and repeated there. */
  g_auto (LoomRunHost) there = { NULL };
  const char *earlier = resume != NULL ? resume : branch != NULL ? branch : replayed;
  if (earlier != NULL && loom_run_host_read (earlier, &there) && host == NULL)
    host = g_strdup (there.name);
  if ((detach || host != NULL)
      && ((resume == NULL && earlier != NULL && host == NULL) || hosts != NULL || trace != NULL || wants_board || health
          || view.waits || view.json || options.eager || epochs == 0 || launch.timeout > 0 || launch.min_ranks > 0))
    return command_usage (command,
                          "--detach and --host are for a run of one process. They cannot be combined with --hosts, "
                          "--timeout, --min-ranks, --replay or --branch of a run of this machine, --executor eager, "
                          "--trace, --tensorboard, --epochs 0, or options of what is printed.");
  if (host != NULL && ((out == NULL && resume == NULL) || weights != NULL || part.adapter != NULL))
    return command_usage (command,
                          "--host needs --out DIR, in which the run is mirrored, and takes no --weights and no "
                          "--adapter.");
  if (host != NULL && earlier != NULL && g_strcmp0 (host, there.name) != 0)
    return command_usage (command, "%s is not a run of %s. A run continues on its machine. Leave out --host.", earlier,
                          host);
  if (detach && out == NULL && resume == NULL)
    return command_usage (command, "--detach needs a folder in which the run is found again. Add --out DIR.");

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  if (host != NULL || detach)
    {
      options.replay = replayed;
      graph = earlier == NULL ? command_read_graph (argv[1], &error) : NULL;
      if (error != NULL || (graph != NULL && !train_part_apply (&part, graph, &error)))
        return command_fail (command, g_steal_pointer (&error));
      if (graph != NULL && strategy != NULL)
        set_strategy (graph, strategy, ranks);
      return host != NULL ? train_remote (command, graph, &options, ranks, host, detach)
                          : train_detach (command, graph, &options, ranks);
    }
  TrainSignals signals = { 0 };
  int launched;
  launch.ranks = ranks;
  launch.hosts = hosts;
  launch.json = view.json;
  launch.waits = view.waits;
  if (argc > 1 && g_str_equal (argv[1], "-") && (ranks > 1 || hosts != NULL))
    return command_usage (command, "Each rank reads the graph, so it cannot be standard input. Save it in a file.");
  launch.graph = resume == NULL && replayed == NULL && branch == NULL ? argv[1] : NULL;
  g_auto (TrainReplay) replay = { NULL };
  g_autofree char *replayed_graph = replayed != NULL ? g_build_filename (replayed, "graph.xml", NULL) : NULL;
  if (replayed != NULL && !train_replay_read (&replay, replayed, &options, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (replay.settings.ranks > 1)
    {
      launch.ranks = ranks = replay.settings.ranks;
      launch.graph = replayed_graph;
    }
  if (train_launch (command, words, &launch, &options, &launched))
    return launched;
  train_signals_block (&signals);
  g_autoptr (RankComm) comm = loom_dist_is_rank () ? loom_dist_join (&error) : NULL;
  if (error != NULL)
    return command_fail (command, g_steal_pointer (&error));
  gboolean speaks;
  if (comm != NULL && !loom_dist_check_versions (comm, launch.timeout, &speaks, &error))
    return speaks ? command_fail (command, g_steal_pointer (&error)) : 0; /* mpirun has the other rank's status */
  if (comm != NULL && ranks > 0 && ranks != comm->size)
    return comm->rank > 0
               ? 0
               : command_usage (command,
                                "--ranks is %d, but the launcher has started %d. Leave out --ranks, or start gradloom "
                                "without the launcher.",
                                ranks, comm->size);
  if (!view.json)
    print_ranks (comm);
  if (comm != NULL)
    share_machine (command, comm, &options);
  if (replayed != NULL)
    graph = loom_graph_ref (replay.graph);
  else if (resume == NULL && branch == NULL)
    {
      graph = command_read_graph (argv[1], &error);
      if (graph != NULL)
        train_part_apply (&part, graph, &error);
    }
  g_autoptr (LoomTrainer) trainer = error == NULL ? loom_trainer_new (graph, &options, &error) : NULL;
  if (comm != NULL && !agree (comm, trainer, &error))
    return error != NULL ? command_fail (command, g_steal_pointer (&error))
                         : 0; /* mpirun has the other rank's status */
  if (trainer == NULL)
    return command_fail (command, g_steal_pointer (&error));
  /* Checks that all ranks have the same options and the same progress, so that no rank begins a run alone. */
  const gboolean is_over = resume != NULL && !view.json && loom_trainer_is_over (trainer);
  if (comm != NULL && comm->rank > 0)
    return is_over ? 0 : follow (command, comm, trainer, &signals);

  train_view_begin (&view, command, trainer);
  if (loom_trainer_notes (trainer) != NULL)
    command_warn (command, "%s", loom_trainer_notes (trainer));
  train_view_print_transfer (&view, trainer);
  if (!view.json)
    print_plan (trainer, &options);
  if (is_over)
    {
      gboolean early = loom_trainer_steps (trainer) < loom_trainer_total_steps (trainer);
      printf ("This run is complete (%" G_GINT64_FORMAT " steps, %" G_GINT64_FORMAT " epoch%s%s). Use --epochs M to "
              "continue.\n",
              loom_trainer_steps (trainer), view.epochs, view.epochs == 1 ? "" : "s",
              early ? " at most, stopped early" : "");
      return 0;
    }

  g_autoptr (TrainBoard) board
      = wants_board ? train_board_new (trainer, board_folder, resume != NULL ? resume : out, &error) : NULL;
  if (error != NULL)
    return fail_rank (command, comm, g_steal_pointer (&error));
  view.board = board;
  train_signals_begin (&signals, trainer, resume != NULL ? resume : out, g_getenv (LOOM_DIST_LAUNCHED) == NULL);
  LoomTrainerEnd end = loom_trainer_run (trainer, &error);
  wait_for_others (comm, end);
  end_board (command, board);
  int interrupted_by = train_signals_end (&signals);

  train_view_end (&view, trainer, end, resume != NULL ? resume : out);
  print_overlap (trainer, trace, view.json);
  if (health && end != LOOM_TRAINER_INTERRUPTED)
    print_health (command, trainer, view.json);
  if (end == LOOM_TRAINER_DONE || end == LOOM_TRAINER_STOPPED)
    return 0;
  int status = fail_rank (command, comm, g_steal_pointer (&error));
  if (end == LOOM_TRAINER_INTERRUPTED && view.lost && interrupted_by == 0)
    return 0; /* command_finish() determines the status */
  /* Another rank may have received a signal that this one did not. */
  return end == LOOM_TRAINER_INTERRUPTED ? 128 + (interrupted_by != 0 ? interrupted_by : SIGTERM) : status;
}

const Command command_train = {
  .name = "train",
  .arguments = "GRAPH | --resume DIR | --replay DIR | --branch DIR --step N",
  .summary = "train a graph as its <train> describes",
  .details
  = "The run folder contains graph.xml, events.jsonl, checkpoints/STEP/ and weights.safetensors. A checkpoint is\n"
    "written at the end of each epoch and every 30 seconds. Ctrl-C finishes the step, writes a checkpoint and exits\n"
    "with status 130 (SIGTERM: 143). A second Ctrl-C, more than a second later, ends the run at once; steps since\n"
    "the newest checkpoint are lost. A resumed run ends with the same bits as one that was never stopped. A run\n"
    "that fails (NaN, wrong data, out of memory) saves its finished steps and prints how to continue.\n\n"
    "--detach returns after the first step; the run goes on, and gradloom attach or Studio shows and stops it.\n"
    "Logging out ends it where the system ends a user's processes then (loginctl enable-linger prevents that).\n\n"
    "--host H trains on another machine that ssh reaches without a password and that has the same version of\n"
    "gradloom. The graph and the data files that it names go there by content; installed data sets must be there. The\n"
    "run goes on if the connection is lost; gradloom attach shows it again and gets what is missing.\n\n"
    "--replay RUN repeats a run from its beginning to its newest checkpoint, with every number that was changed while\n"
    "it trained (learning rate, momentum, weight decay, dropout, clipping, batch size) changed at the same step:\n"
    "weights and losses have the same bits, with the same program and device. Threads and ranks are those of the run,\n"
    "and the run of a host is repeated there.\n\n"
    "--branch RUN --step N --out NEW begins a run with the state of RUN after step N and continues from there. The\n"
    "state is that of the nearest earlier checkpoint in checkpoints/ or history/ of RUN, from which the steps up to\n"
    "N are computed again. --history sets the megabytes of history/: its states are dense lately and sparse before,\n"
    "and take at most a twentieth of the time (Studio: Preferences).\n\n"
    "In <train>, accumulate=\"N\" accumulates the gradients of N batches for a step; ema=\"0.999\" keeps a moving\n"
    "average of the weights for validation and test, which is written to weights-ema.safetensors; patience=\"5\"\n"
    "ends training after 5 epochs without a better validation loss (or monitor=\"METRIC\") and writes the best\n"
    "weights to weights-best.safetensors.\n\n"
    "drop_last=\"true\" drops an incomplete last batch of an epoch. By default it is used for training, except a\n"
    "single sample if the net has a batch norm, which is dropped with a note.\n\n"
    "algorithm=\"direct\", in <train> or on a layer, forbids Winograd's algorithm for convolutions, which is faster\n"
    "and has four times larger rounding errors, about 8e-7 of a result's norm.\n\n"
    "--weights loads initial weights from a file: those with the same name and shape are loaded, all others are\n"
    "listed. <group match=\"…\" frozen=\"true\"/>, or --freeze, keeps weights fixed: no gradients, no optimiser "
    "state.\n\n"
    "--lora R adds X / R · (x Aᵀ) Bᵀ to linear layers (Hu et al. 2022: A [R, in_features], B [out_features, R]), and\n"
    "trains A and B, with --dora also the norms of the sums' rows (Liu et al. 2024), and the weights of the graph's\n"
    "<group>s, alone. The run's folder has them as adapter/, which PEFT loads, and --adapter of train, eval, predict\n"
    "and export. Export adds the products to the weights.\n\n"
    "sample_weights=\"balanced\" draws samples with replacement, each class equally often; \"1,1,5\" sets weights\n"
    "of classes.\n\n"
    "--waits prints at the end how long a step waited for its batch, for the computation and for the rest. If data\n"
    "take a large part, read or augment less data, or use larger batches.\n\n"
    "--ranks N and --hosts a,b:2 start ranks with mpirun; under mpirun or srun --mpi=pmix the launcher starts them.\n"
    "Processes that torchrun, or srun without PMIx, has started are refused, because each would train alone. Rank 0\n"
    "writes the run and prints its output; messages of other ranks begin with their number, and with their host if\n"
    "there are several. Before the first step all ranks compare graph, options, version and data. If a rank hangs,\n"
    "--timeout S ends the run within S + 10 seconds and names the rank and the exchange that it has not reached.\n"
    "With --min-ranks a lost rank costs only the steps since the newest checkpoint: the other ranks are\n"
    "started again.\n\n"
    "--trace writes a timeline of all ranks and devices in the sixth step (or the last, if there are fewer) as JSON\n"
    "for ui.perfetto.dev: nodes with their kernels, exchanges with their bytes, and waits for a batch or another\n"
    "rank. The times of a single GPU are measured by events in its stream; with several devices each kernel is\n"
    "waited for, so this step takes longer.\n\n"
    "--health prints, for the weights at the end and 32 to 256 validation samples, the norms of each node's gradient\n"
    "(g) and of its next update (u) relative to its weights (w), its dead units (0 for every sample), and the share\n"
    "of outputs at a limit of their function, with what is wrong: dead, saturated, exploding, vanishing, hasty.\n\n"
    "--tensorboard writes event files that `tensorboard --logdir DIR` shows: loss, metrics and learning rate by step,\n"
    "the graph, and about 50 times in a run histograms of weights, gradients (of at most 24 weights, for a fixed\n"
    "batch of samples) and pinned tensors, and pictures of pinned tensors N × C × H × W.\n\n"
    "If the loss depends on no data set, an epoch is one step.\n\n"
    "--json: gradloom help json lists the events and their members.\n\n"
    "  gradloom train graphs/models/fashion-lenet.xml --epochs 3 --out run1\n"
    "  gradloom train --resume run1\n"
    "  gradloom train graphs/lessons/transfer-learning.xml --weights run1/weights.safetensors --match 'block*'",
  .run = run_train,
};
