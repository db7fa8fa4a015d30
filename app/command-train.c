/* `gradloom train` and `gradloom eval`: run a trainer and report to a terminal, a log or a program. */
#include "app/command.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "app/train-launch.h"
#include "app/train-signals.h"
#include "app/train-view.h"

/* ---- train ------------------------------------------------------------ */

static void
say_plan (LoomTrainer *trainer, const LoomTrainerOptions *options)
{
  gsize bytes[LOOM_N_OWNERS] = { 0 }, total = 0;

  loom_trainer_memory (trainer, bytes);
  for (guint i = 0; i < LOOM_N_OWNERS; i++)
    total += bytes[i];
  g_autofree char *count = command_count (train_view_parameters (trainer)), *memory = loom_bytes_to_string (total);
  g_autofree char *out = options->out != NULL ? command_printable (options->out) : g_strdup ("");
  fprintf (stderr, "%s parameters, peak of %s planned%s%s%s\n", count, memory,
           options->out != NULL ? ", writing to " : "", out,
           options->out != NULL || options->resume != NULL ? "" : ", nothing is kept (no --out)");
}

static int
refuse_folder (const Command *command, const char *folder)
{
  g_autofree char *graph = g_build_filename (folder, "graph.xml", NULL);
  g_autofree char *settings = g_build_filename (folder, "run.json", NULL);

  g_autofree char *run = loom_text_shell_word (folder), *file = loom_text_shell_word (graph);

  if (!g_file_test (graph, G_FILE_TEST_EXISTS))
    return command_usage (command, "“%s” is a folder without a run. Name a graph file.", folder);
  if (!g_file_test (settings, G_FILE_TEST_EXISTS))
    return command_usage (command, "“%s” is a folder. Name the graph in it: %s.", folder, graph);
  return command_usage (command, "“%s” is a folder. Resume the run by --resume %s, or begin again from its graph: %s.",
                        folder, run, file);
}

/* MPI's processes end together: one that leaves alone ends the others by its status. */
typedef LoomComm RankComm;

static void
leave_ranks (RankComm *comm)
{
  if (comm != NULL)
    comm->free (comm);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RankComm, leave_ranks)

/* By rank 0, how many of a launcher's processes train together. All ranks call it; comm is NULL without MPI. */
static void
say_ranks (LoomComm *comm)
{
  const gint64 first = comm != NULL && comm->local_rank == 0;
  gint64 machines = 1;
  LoomLauncher launcher;
  LoomMessage message;

  if (comm == NULL && loom_launcher_find (&launcher))
    fprintf (stderr, "1 rank, started by %s\n", launcher.name);
  /* A rank that is lost here is named by the next exchange. */
  if (comm == NULL
      || comm->all_reduce (comm, &first, &machines, 1, LOOM_I64, LOOM_REDUCE_SUM, &message) != LOOM_STATUS_OK
      || comm->rank > 0)
    return;
  fprintf (stderr, "%d rank%s on %d machine%s over %s\n", comm->size, comm->size == 1 ? "" : "s", (int)machines,
           machines == 1 ? "" : "s", comm->library);
}

/* Ranks on one machine have its processors between them. */
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

/* What one rank says names it, and its machine where there are several. */
static void
say_where (LoomComm *comm, GError **error)
{
  if (comm->local_size < comm->size)
    g_prefix_error (error, "Rank %d on %s: ", comm->rank, g_get_host_name ());
  else
    g_prefix_error (error, "Rank %d: ", comm->rank);
}

/* FALSE where a rank cannot begin; the error is NULL where another rank says why. */
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
    say_where (comm, error);
  else if (*error == NULL)
    g_propagate_error (error, g_steal_pointer (&failure));
  return FALSE;
}

/* mpirun ends all ranks once one of them leaves with a status, and rank 0 may be writing the checkpoint. */
static void
wait_for_others (LoomComm *comm, LoomTrainerEnd end)
{
  LoomMessage message;

  if (comm != NULL && end == LOOM_TRAINER_INTERRUPTED)
    comm->barrier (comm, &message);
}

/* A rank that is not the first: it trains, and says nothing but what ends it alone. */
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
      say_where (comm, &error);
      comm->exit_status = command_fail (command, g_steal_pointer (&error));
      if (comm->timed_out)
        comm->exit_status = LOOM_DIST_EXIT_HUNG;
      comm->abort (comm, "");
    }
  return end == LOOM_TRAINER_INTERRUPTED ? 128 + MAX (interrupted_by, SIGINT)
         : error != NULL                 ? loom_error_exit_status (error)
                                         : 0;
}

/* The part of the ranks' exchange that overlapped with computation, from the trace that this run wrote. */
static void
say_overlap (const LoomTrainer *trainer, const char *path, gboolean as_json)
{
  g_autofree char *title = NULL;
  g_autoptr (GArray) spans
      = path != NULL && loom_trainer_has_traced (trainer) ? loom_trace_read (path, &title, NULL) : NULL;
  g_autofree char *text = spans != NULL ? loom_trace_say_overlap (spans) : NULL;

  /* The title of a pipeline's bubble contains more than a step's number. */
  if (text != NULL && !as_json)
    printf ("exchange overlapped with computation, %.*s: %s\n", (int)strcspn (title, ":"), title, text);
}

static int
run_train (const Command *command, int argc, char **argv)
{
  g_autofree char *device = NULL, *out = NULL, *resume = NULL, *lr = NULL, *precision = NULL;
  g_autofree char *weights = NULL, *match = NULL, *strategy = NULL, *trace = NULL, *hosts = NULL;
  g_auto (GStrv) set = NULL;
  gint64 epochs = -1, steps = 0, batch_size = 0, seed = -1;
  int threads = 0, ranks = 0;
  gboolean tf32 = FALSE;
  double checkpoint_seconds = 0;
  TrainView view = { 0 };
  TrainLaunch launch = { 0 };
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device: cpu, cpu:1, cuda:0, ref (default: the graph's)", "D" },
    { "epochs", 0, 0, G_OPTION_ARG_INT64, &epochs,
      "Epochs (default: the graph's); 0: initialise, evaluate, write the weights", "N" },
    { "steps", 0, 0, G_OPTION_ARG_INT64, &steps, "End after N steps of the run, if its epochs have more", "N" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch_size, "Samples a step", "N" },
    { "lr", 0, 0, G_OPTION_ARG_STRING, &lr, "Learning rate", "X" },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16 or f16 for large products; f64 on ref", "P" },
    { "tf32", 0, 0, G_OPTION_ARG_NONE, &tf32, "Products of f32 in TF32, where the device has it", NULL },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "Seed of weights, order of samples and dropout", "N" },
    { "set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &set, "Change one attribute of the graph", "NODE.PARAM=VALUE" },
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "Begin from the weights that fit, and list the others",
      "F.safetensors" },
    { "match", 0, 0, G_OPTION_ARG_STRING, &match, "Take only weights whose path matches: 'backbone.*,stem'",
      "PATTERN" },
    { "out", 0, 0, G_OPTION_ARG_FILENAME, &out, "Run folder, new or empty", "DIR" },
    { "resume", 0, 0, G_OPTION_ARG_FILENAME, &resume, "Continue the run in this folder", "DIR" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "checkpoint-seconds", 0, 0, G_OPTION_ARG_DOUBLE, &checkpoint_seconds, "Seconds between checkpoints (30)", "S" },
    { "ranks", 0, 0, G_OPTION_ARG_INT, &ranks,
      "Train in N processes, each with a batch of its own (mpirun starts them)", "N" },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &strategy, command_strategy_help (), "S" },
    { "hosts", 0, 0, G_OPTION_ARG_STRING, &hosts,
      "Ranks on these hosts, which mpirun reaches by ssh; :N where one has several", "H,…" },
    { "timeout", 0, 0, G_OPTION_ARG_DOUBLE, &launch.timeout,
      "End the run if a rank has not reached an exchange after S seconds (default: never)", "S" },
    { "min-ranks", 0, 0, G_OPTION_ARG_INT, &launch.min_ranks,
      "If a rank is lost, continue from the newest checkpoint with one rank less, down to N", "N" },
    { "trace", 0, 0, G_OPTION_ARG_FILENAME, &trace, "Write the lanes of the sixth step, for Perfetto and Studio",
      "F.json" },
    { "waits", 0, 0, G_OPTION_ARG_NONE, &view.waits, "At the end, a table of where a step waits", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &view.json, "Events on standard output, one object a line", NULL },
    { NULL },
  };
  g_auto (GStrv) words = g_strdupv (argv);
  if (!command_parse (command, entries, &argc, &argv))
    return 2;

  LoomTrainerOptions options = {
    .device = device,
    .precision = precision,
    .tf32 = tf32,
    .strategy = strategy,
    .threads = threads,
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
    return command_usage (command, "--lr takes a number that is not negative, not “%s”.", lr);
  if (resume != NULL && (argc != 1 || out != NULL))
    return command_usage (command,
                          "--resume takes graph and folder from the run, so it goes with neither GRAPH nor --out.");
  g_autofree char *word = resume != NULL ? loom_text_shell_word (resume) : NULL;
  if (resume != NULL && epochs == 0)
    return command_usage (command,
                          "--epochs 0 begins a run, so it does not go with --resume. To see what a run is worth: "
                          "gradloom eval %s.",
                          word);
  if (resume != NULL
      && (batch_size > 0 || seed >= 0 || set || precision != NULL || tf32 || weights != NULL || match != NULL))
    return command_usage (command,
                          "--resume keeps the batch size, seed, graph and weights of the run, so "
                          "it goes with none of --batch-size, --seed, --precision, --tf32, --set, --weights and "
                          "--match. Leave them out, or start a new run with --out.");
  if (!command_knows_strategy (command, strategy))
    return 2;
  if (!command_can_write (trace))
    return command_usage (command, "--trace %s: there is no folder for this file, or nothing may be written there.",
                          trace);
  if (resume == NULL && argc == 2 && g_file_test (argv[1], G_FILE_TEST_IS_DIR))
    return refuse_folder (command, argv[1]);
  if (resume == NULL && argc != 2)
    return command_usage (command,
                          argc < 2 ? "Which graph? It takes one GRAPH, or --resume DIR." : "It takes one GRAPH.");

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  TrainSignals signals = { 0 };
  int launched;
  launch.ranks = ranks;
  launch.hosts = hosts;
  launch.json = view.json;
  launch.waits = view.waits;
  if (argc > 1 && g_str_equal (argv[1], "-") && (ranks > 1 || hosts != NULL))
    return command_usage (command, "Its ranks read the graph each for itself: save it into a file.");
  launch.graph = resume == NULL ? argv[1] : NULL;
  if (train_launch (command, words, &launch, &options, &launched))
    return launched;
  train_signals_block (&signals);
  g_autoptr (RankComm) comm = loom_dist_is_rank () ? loom_dist_join (&error) : NULL;
  if (error != NULL)
    return command_fail (command, g_steal_pointer (&error));
  gboolean speaks;
  if (comm != NULL && !loom_dist_check_versions (comm, launch.timeout, &speaks, &error))
    return speaks ? command_fail (command, g_steal_pointer (&error)) : 0; /* mpirun has the other's status */
  if (comm != NULL && ranks > 0 && ranks != comm->size)
    return comm->rank > 0
               ? 0
               : command_usage (command,
                                "--ranks says %d, but the launcher has started %d. Leave out --ranks, or start "
                                "gradloom without the launcher.",
                                ranks, comm->size);
  if (!view.json)
    say_ranks (comm);
  if (comm != NULL)
    share_machine (command, comm, &options);
  if (resume == NULL)
    graph = command_read_graph (argv[1], &error);
  g_autoptr (LoomTrainer) trainer = error == NULL ? loom_trainer_new (graph, &options, &error) : NULL;
  if (comm != NULL && !agree (comm, trainer, &error))
    return error != NULL ? command_fail (command, g_steal_pointer (&error)) : 0; /* mpirun has the other's status */
  if (trainer == NULL)
    return command_fail (command, g_steal_pointer (&error));
  /* All ranks have the same words and stand at the same place: none begins a run that another one does not begin. */
  const gboolean is_over = resume != NULL && !view.json && loom_trainer_is_over (trainer);
  if (comm != NULL && comm->rank > 0)
    return is_over ? 0 : follow (command, comm, trainer, &signals);

  train_view_begin (&view, command, trainer);
  if (loom_trainer_notes (trainer) != NULL)
    command_warn (command, "%s", loom_trainer_notes (trainer));
  train_view_say_transfer (&view, trainer);
  if (!view.json)
    say_plan (trainer, &options);
  if (is_over)
    {
      gboolean early = loom_trainer_steps (trainer) < loom_trainer_total_steps (trainer);
      printf ("This run is complete (%" G_GINT64_FORMAT " steps, %" G_GINT64_FORMAT
              " epoch%s%s). Give --epochs M to train on.\n",
              loom_trainer_steps (trainer), view.epochs, view.epochs == 1 ? "" : "s",
              early ? " at most, stopped early" : "");
      return 0;
    }

  train_signals_begin (&signals, trainer, resume != NULL ? resume : out, g_getenv (LOOM_DIST_LAUNCHED) == NULL);
  LoomTrainerEnd end = loom_trainer_run (trainer, &error);
  wait_for_others (comm, end);
  int interrupted_by = train_signals_end (&signals);

  train_view_end (&view, trainer, end, resume != NULL ? resume : out);
  say_overlap (trainer, trace, view.json);
  if (end == LOOM_TRAINER_DONE || end == LOOM_TRAINER_STOPPED)
    return 0;
  gboolean alone = comm != NULL && !loom_dist_is_collective_error (error);
  int status = command_fail (command, g_steal_pointer (&error));
  if (alone)
    {
      comm->exit_status = status;
      comm->abort (comm, "");
    }
  if (end == LOOM_TRAINER_INTERRUPTED && view.lost && interrupted_by == 0)
    return 0; /* command_finish() knows better */
  /* A signal that reached another rank alone is not known here. */
  return end == LOOM_TRAINER_INTERRUPTED ? 128 + (interrupted_by != 0 ? interrupted_by : SIGTERM) : status;
}

const Command command_train = {
  .name = "train",
  .arguments = "GRAPH | --resume DIR",
  .summary = "train the graph's <train>, with a progress bar",
  .details
  = "The run folder holds graph.xml, events.jsonl, checkpoints/STEP/ and weights.safetensors. A checkpoint is\n"
    "written at each epoch's end and every 30 seconds; Ctrl-C finishes the step, writes one and leaves with\n"
    "status 130 (SIGTERM: 143); again, more than a second later, it ends the run at once, and what was trained since\n"
    "the newest checkpoint is lost. A resumed run ends with the same bits as one that was never stopped.\n"
    "A run that fails (NaN, wrong data, no memory) keeps the steps that it has finished, and says how to go on.\n\n"
    "Of <train>: accumulate=\"N\" makes a step of N batches; ema=\"0.999\" keeps a moving average of the weights, "
    "which\n"
    "validation and test use and which is written to weights-ema.safetensors; patience=\"5\" ends training after 5\n"
    "epochs without a better validation loss (or monitor=\"METRIC\"), the best weights are "
    "weights-best.safetensors.\n\n"
    "drop_last=\"true\" leaves out an epoch's last batch where it is short; otherwise it is trained on, but for a "
    "single\n"
    "sample of which a batch norm would learn nothing: then a note says that it is left out.\n\n"
    "algorithm=\"direct\" forbids Winograd's algorithm in convolutions (a layer's algorithm=\"direct\" in that one),\n"
    "which is faster and whose rounding errors are four times as large, about 0.8 millionths of a result's norm.\n\n"
    "--weights begins from a file: weights of the same name and shape are taken, all others are listed. With a\n"
    "<group match=\"…\" frozen=\"true\"/> they stay as they are while new layers learn.\n\n"
    "sample_weights=\"balanced\" draws samples with replacement, each class as often as the others; \"1,1,5\" weighs "
    "classes.\n\n"
    "--waits prints at the end how long a step waited for its batch, for the computation and for the rest; where data\n"
    "take a large part, read less, change pictures less, or make batches larger.\n\n"
    "--ranks N and --hosts a,b:2 start mpirun; under mpirun or srun --mpi=pmix the ranks are theirs. Processes that\n"
    "torchrun, or srun without PMIx, has started are refused, since each would train alone. Rank 0\n"
    "writes and says what the run says; what another one says begins with its number, and with its host where there\n"
    "are several. Before the first step all compare graph, options, version and data. Where a rank hangs,\n"
    "--timeout S ends the run within S and ten seconds, and says which rank has not come to which exchange. With\n"
    "--min-ranks a lost rank costs the steps since the newest checkpoint, and no more: the others are started again.\n"
    "\n"
    "--trace writes what every rank and device did when in the sixth step (or the last of fewer), as JSON that\n"
    "ui.perfetto.dev opens: nodes with their kernels, exchanges with their bytes, and waiting for a batch or another "
    "rank.\n"
    "One GPU's times are taken by events in its stream; of several devices each kernel is waited for, so that step "
    "takes longer.\n\n"
    "A loss that depends on no data set is minimised as it is: an epoch is one step then.\n\n"
    "--json: docs/using-models.md lists the events and their members.\n\n"
    "  gradloom train graphs/models/fashion-lenet.xml --epochs 3 --out run1\n"
    "  gradloom train --resume run1\n"
    "  gradloom train graphs/lessons/transfer-learning.xml --weights run1/weights.safetensors --match 'block*'",
  .run = run_train,
};

/* ---- eval ------------------------------------------------------------- */

/* The test sentences as the net writes them, compared with their targets. */
static int
evaluate_writing (const Command *command, const LoomGraph *graph, const LoomPredictorOptions *options, int beam,
                  gint64 batch, gboolean as_json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomPredictor) predictor = loom_predictor_new (graph, options, &error);
  g_autoptr (LoomDecoder) decoder = NULL;
  LoomTranslation result;
  double bleu, exact;

  if (predictor != NULL && !loom_predictor_writes (predictor))
    return command_usage (command, "--beam is for nets that write token by token, which learn from a data set's y_in.");
  decoder = predictor != NULL ? loom_decoder_new (predictor, (guint)beam, &error) : NULL;
  if (decoder == NULL || !loom_decoder_evaluate (decoder, batch, &result, &error))
    return command_fail (command, g_steal_pointer (&error));
  bleu = loom_bleu_value (&result.bleu);
  exact = (double)result.exact / (double)result.sentences;
  if (as_json)
    {
      LoomJson *json = command_event_new ("translation");

      loom_json_int (json, "beam", beam);
      loom_json_int (json, "sentences", result.sentences);
      loom_json_number (json, "bleu", bleu);
      loom_json_number (json, "exact", exact);
      command_event_print (json);
    }
  else
    {
      char first[G_ASCII_DTOSTR_BUF_SIZE], second[G_ASCII_DTOSTR_BUF_SIZE];

      printf ("written by itself, beam %d: BLEU %s, %s %% of %" G_GINT64_FORMAT " sentences exact\n", beam,
              g_ascii_formatd (first, sizeof first, "%.2f", 100 * bleu),
              g_ascii_formatd (second, sizeof second, "%.1f", 100 * exact), result.sentences);
    }
  return command_flush () ? 0 : 5;
}

static int
run_eval (const Command *command, int argc, char **argv)
{
  g_autofree char *device = NULL, *weights = NULL, *report = NULL;
  gint64 batch_size = 0;
  int threads = 0, beam = 0;
  gboolean partial = FALSE;
  TrainView view = { 0 };
  const GOptionEntry entries[] = {
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "Weights (default: the run's newest averages, else weights)",
      "F.safetensors" },
    { "partial", 0, 0, G_OPTION_ARG_NONE, &partial, "Allow weights that are missing or do not fit", NULL },
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device", "D" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch_size, "Samples at a time", "N" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "beam", 0, 0, G_OPTION_ARG_INT, &beam, "Also let a net with a decoder write, and measure BLEU (1: greedy)", "K" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &view.json, "One object on standard output", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");
  if (beam < 0 || beam > 1024)
    return command_usage (command, "--beam takes a number from 1 to 1024.");

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  if (!g_file_test (argv[1], G_FILE_TEST_EXISTS))
    g_set_error (&error, LOOM_ERROR, LOOM_ERROR_DATA, "There is no such run or graph: “%s”.", argv[1]);
  else
    graph = command_read_graph (argv[1], &error);
  if (graph != NULL && !command_run_weights (argv[1], &weights, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (graph == NULL)
    return command_fail (command, g_steal_pointer (&error));

  LoomTrainerOptions options = { .device = device,
                                 .threads = threads,
                                 .batch_size = batch_size,
                                 .lr = NAN,
                                 .seed = -1,
                                 .no_epochs = TRUE,
                                 .weights = weights != NULL ? "" : NULL,
                                 .costs_of = g_file_test (argv[1], G_FILE_TEST_IS_DIR) ? argv[1] : NULL };
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  if (trainer == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (loom_trainer_notes (trainer) != NULL)
    command_warn (command, "%s", loom_trainer_notes (trainer));
  if (weights == NULL)
    command_warn (command, "no --weights: these are the weights that training begins with.");
  else if (!loom_state_load_weights (loom_trainer_state (trainer), weights, partial, &report, &error))
    {
      int status = command_fail (command, g_steal_pointer (&error));
      return status == 5 ? 1 : status; /* weights that cannot be read are wrong weights */
    }
  else if (report != NULL && *report)
    command_warn (command, "%s does not hold what the graph has:%s", weights, report);

  train_view_begin_eval (&view, command, trainer, weights != NULL ? loom_weights_step (weights) : 0);
  if (!loom_trainer_evaluate (trainer, "test", &error))
    return command_fail (command, g_steal_pointer (&error));
  if (beam > 0)
    return evaluate_writing (
        command, graph,
        &(LoomPredictorOptions){ .weights = weights, .device = device, .threads = threads, .run = options.costs_of },
        beam, batch_size > 0 ? batch_size : 64, view.json);
  return 0;
}

const Command command_eval = {
  .name = "eval",
  .arguments = "GRAPH|RUN",
  .summary = "loss and metrics over the test samples",
  .details
  = "Loss and every <metric> of <train> over the test samples, or the validation samples where there are none. A\n"
    "confusion matrix is printed in rows of what is and columns of what was said; --json has it as nested lists.\n"
    "With --beam a net with a decoder writes the test sentences from its own output, and is measured by\n"
    "BLEU (Papineni et al. 2002: runs of one to four tokens, with a penalty for brevity) and exact matches.\n\n"
    "  gradloom eval run1\n"
    "  gradloom eval dates --beam 4\n"
    "  gradloom eval run1 --weights run1/weights-best.safetensors",
  .run = run_eval,
};
