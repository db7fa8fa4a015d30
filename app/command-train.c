/* `gradloom train` and `gradloom eval`: a trainer with a person, a log or a program looking on. */
#include "app/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "app/train-signals.h"

#define REDRAW_US (G_USEC_PER_SEC / 10)
#define SPARSE_US (5 * G_USEC_PER_SEC)
#define FLUSH_US  (G_USEC_PER_SEC / 20)
/* Columns of the bar itself. */
#define LEAST_BAR   10
#define LONGEST_BAR 30
/* So many lines a run has whose epochs are single steps of a function. */
#define STEP_LINES 20

typedef struct
{
  gboolean json, terminal, bar_shown;
  gboolean silent;  /* no bar: programs read, or events and a bar would share a terminal */
  gboolean lost;    /* standard output cannot be written */
  gboolean by_step; /* a loss without data: an epoch is one step */
  gint64 epochs;
  gint64 last, last_flush, epoch_start, start; /* µs */
  double epoch_loss;                           /* the mean of the epoch so far; NaN: no step was made */
  gboolean only_eval;                          /* nothing is trained, */
  gint64 weights_step;                         /* with weights of so many steps; -1: nobody knows */
  const Command *command;
} View;

/* ---- what is shown ---------------------------------------------------- */

static void
clear_bar (View *view)
{
  if (view->bar_shown)
    fprintf (stderr, "\r\033[K");
  view->bar_shown = FALSE;
}

static int
terminal_width (void)
{
  struct winsize size;
  return ioctl (STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/* For people: the sign of a NaN says nothing. */
static const char *
readable (double x, char *buffer)
{
  return isnan (x) ? "nan" : g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.5g", x);
}

/* A table is no number: it is printed by itself, or not at all. */
static gboolean
is_table (LoomTrainer *trainer, guint metric)
{
  return ((const LoomMetricSpec *)loom_trainer_spec (trainer)->metrics->pdata[metric])->metric->is_matrix;
}

/* What a bar says beside itself, the most important first: what has no room on a narrow terminal is left out. */
static GPtrArray *
bar_parts (View *view, LoomTrainer *trainer, const LoomTrainerStep *s)
{
  GPtrArray *parts = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *left = command_duration (s->eta_seconds), *rate = command_count (s->items_per_second);
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  g_ptr_array_add (parts, g_strdup_printf ("loss %s", readable (s->epoch_loss, number)));
  if (s->items_per_second > 0)
    g_ptr_array_add (parts, g_strdup_printf ("%s left", left));
  for (guint i = 0; i < s->n_metrics; i++)
    if (!is_table (trainer, i))
      g_ptr_array_add (parts, g_strdup_printf ("%s %s", s->metric_name[i], readable (s->metric[i], number)));
  if (s->items_per_second > 0)
    g_ptr_array_add (parts, g_strdup_printf ("%s %s/s", rate, view->by_step ? "steps" : "items"));
  return parts;
}

/* "epoch 2/3  ━━━━──────  45 %  loss 0.31  0:12 left  accuracy 0.89  18.2k items/s" in at most `width` columns; without
 * a terminal (width 0) the same without the bar, however long. */
static char *
bar_line (View *view, LoomTrainer *trainer, const LoomTrainerStep *s, int width)
{
  g_autoptr (GPtrArray) parts = bar_parts (view, trainer, s);
  double share = s->total_steps > 0 ? (double)s->step / (double)s->total_steps : 0;
  g_autofree char *head
      = g_strdup_printf ("%s %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, view->by_step ? "step" : "epoch",
                         view->by_step ? s->step : s->epoch, view->epochs);
  g_autofree char *percent = g_strdup_printf ("%.0f %%", floor (share * 100));
  GString *line = g_string_new (head);
  int room = width - 1 - (int)(strlen (head) + strlen (percent) + 4), taken = 0, bar;
  guint n = 0;

  for (; n < parts->len; n++)
    {
      int more = (int)g_utf8_strlen (parts->pdata[n], -1) + 2;

      if (width > 0 && room - taken - more < LEAST_BAR)
        break;
      taken += more;
    }
  bar = CLAMP (room - taken, 0, LONGEST_BAR);
  if (width > 0)
    g_string_append (line, "  ");
  for (int i = 0; i < bar; i++)
    g_string_append (line, i < (int)(share * bar) ? "━" : "─");
  g_string_append_printf (line, "  %s", percent);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (line, "  %s", (const char *)parts->pdata[i]);
  return g_string_free (line, FALSE);
}

static void
draw_bar (View *view, LoomTrainer *trainer, const LoomTrainerStep *s)
{
  g_autofree char *line = bar_line (view, trainer, s, view->terminal ? terminal_width () : 0);

  fprintf (stderr, view->terminal ? "\r\033[K%s" : "%s\n", line);
  fflush (stderr);
  view->bar_shown = view->terminal;
}

/* Nobody reads what is trained on behind a full disk: the run is asked to finish its step and write a checkpoint. */
static void
flush (View *view, LoomTrainer *trainer)
{
  if (command_flush () || view->lost)
    return;
  view->lost = TRUE;
  loom_trainer_post (trainer, LOOM_COMMAND_INTERRUPT, NULL, 0);
}

/* An epoch's line: what was trained, to which eval_cb() adds the line of what was evaluated. */
static void
print_epoch (View *view, LoomTrainer *trainer, const LoomTrainerStep *s)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  gint64 stride = (view->epochs + STEP_LINES - 1) / STEP_LINES;

  if (view->by_step && s->epoch % stride != 0 && s->epoch != view->epochs)
    return;
  clear_bar (view);
  printf ("%s %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT "  %s %s", view->by_step ? "step" : "epoch", s->epoch,
          view->epochs, view->by_step ? "loss" : "train loss", readable (s->epoch_loss, number));
  for (guint i = 0; i < s->n_metrics; i++)
    if (!is_table (trainer, i))
      printf ("  %s %s", s->metric_name[i], readable (s->metric[i], number));
  printf ("\n");
  flush (view, trainer);
}

static void
print_json_step (View *view, LoomTrainer *trainer, const LoomTrainerStep *s, gint64 now)
{
  LoomJson *json = command_event_new ("step");

  loom_json_int (json, "step", s->step);
  loom_json_int (json, "epoch", s->epoch);
  loom_json_number (json, "loss", s->loss);
  loom_json_fixed (json, "time", (double)(now - view->start) / G_USEC_PER_SEC, 6);
  loom_json_number (json, "items_per_second", s->items_per_second > 0 ? s->items_per_second : NAN);
  command_event_print (json);
  if (now - view->last_flush > FLUSH_US)
    {
      flush (view, trainer);
      view->last_flush = now;
    }
}

static void
step_cb (LoomTrainer *trainer, const LoomTrainerStep *s, gpointer data)
{
  View *view = data;
  gint64 now = g_get_monotonic_time ();

  view->epoch_loss = s->epoch_loss;
  if (view->json)
    print_json_step (view, trainer, s, now);
  else if (s->step == s->epoch * s->steps_per_epoch)
    {
      print_epoch (view, trainer, s);
      if (!view->terminal)
        view->last = now;
    }
  if (view->silent || now - view->last < (view->terminal ? REDRAW_US : SPARSE_US))
    return;
  view->last = now;
  draw_bar (view, trainer, s);
}

/* Rows are what is, columns what was said. */
static void
print_matrix (const char *name, const LoomTrainerMatrix *matrix)
{
  double most = 1;

  for (guint k = 0; k < matrix->n * matrix->n; k++)
    most = MAX (most, matrix->value[k]);
  int width = MAX (4, (int)log10 (most) + 1);
  if (matrix->n > 0)
    printf ("%s (a row for each class, a column for each answer):\n", name);
  for (guint k = 0; k < matrix->n * matrix->n; k++)
    printf ("%s%*.0f%s", k % matrix->n == 0 ? "" : " ", width, matrix->value[k],
            k % matrix->n == matrix->n - 1 ? "\n" : "");
}

static void
early_stop_cb (LoomTrainer *trainer, const LoomTrainerWatch *watch, gpointer data)
{
  View *view = data;
  const LoomTrainSpec *spec = loom_trainer_spec (trainer);
  const char *monitor = spec->monitor < 0 ? "loss" : ((LoomMetricSpec *)spec->metrics->pdata[spec->monitor])->name;
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  clear_bar (view);
  if (view->json)
    {
      LoomJson *json = command_event_new ("early_stop");
      loom_json_int (json, "step", loom_trainer_steps (trainer));
      loom_json_int (json, "epoch", watch->best_epoch + watch->bad);
      loom_json_string (json, "monitor", monitor);
      loom_json_number (json, "best", watch->best);
      loom_json_int (json, "best_epoch", watch->best_epoch);
      command_event_print (json);
    }
  else
    printf ("stopped early: %" G_GINT64_FORMAT " epoch%s without a better %s than %s of epoch %" G_GINT64_FORMAT "\n",
            watch->bad, watch->bad == 1 ? "" : "s", monitor, readable (watch->best, number), watch->best_epoch);
  flush (view, trainer);
}

static void
note_cb (LoomTrainer *trainer, const char *text, gpointer data)
{
  View *view = data;

  clear_bar (view);
  command_warn (view->command, "%s", text);
}

/* ---- weights to begin from -------------------------------------------- */

static void
print_items (const char *what, const GPtrArray *items)
{
  for (guint i = 0; i < items->len; i++)
    {
      const LoomTransferItem *item = items->pdata[i];
      if (item->here && item->there && strcmp (item->here, item->there) != 0)
        {
          g_autofree char *text = loom_weight_misfit (item->name, item->here, item->there);
          fprintf (stderr, "  %s: %s\n", what, text);
        }
      else
        fprintf (stderr, "  %s: %s %s\n", what, item->name, item->here ? item->here : item->there);
    }
}

/* What a run began from: for people in lines, for programs as an event. */
static void
say_transfer (View *view, LoomTrainer *trainer)
{
  const LoomTransfer *transfer = loom_trainer_transfer (trainer);

  if (!transfer)
    return;
  if (view->json)
    {
      LoomJson *json = command_event_new ("weights");
      loom_transfer_add_json (transfer, json);
      command_event_print (json);
      return;
    }
  fprintf (stderr, "weights of %s: %u loaded, %u missing, %u unused, %u mismatched\n", transfer->file,
           transfer->loaded->len, transfer->missing->len, transfer->unused->len, transfer->mismatched->len);
  print_items ("loaded", transfer->loaded);
  print_items ("missing, begins anew", transfer->missing);
  print_items ("unused", transfer->unused);
  print_items ("mismatched, begins anew", transfer->mismatched);
}

static void
print_json_eval (const View *view, const LoomTrainerEval *e, gint64 now)
{
  LoomJson *json = command_event_new ("eval");
  gint64 step = view->only_eval ? view->weights_step : e->step;

  loom_json_string (json, "split", e->split);
  if (step >= 0)
    loom_json_int (json, "step", step);
  else
    loom_json_null (json, "step");
  loom_json_number (json, "loss", e->loss);
  loom_json_begin_object (json, "metrics");
  for (guint i = 0; i < e->n_metrics; i++)
    loom_trainer_eval_add_json (e, i, json);
  loom_json_end_object (json);
  loom_json_fixed (json, "time", (double)(now - view->start) / G_USEC_PER_SEC, 6);
  command_event_print (json);
}

static void
eval_cb (LoomTrainer *trainer, const LoomTrainerEval *e, gpointer data)
{
  View *view = data;
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  gint64 now = g_get_monotonic_time ();

  if (view->json)
    {
      print_json_eval (view, e, now);
      flush (view, trainer);
      return;
    }
  clear_bar (view);
  if (view->epochs > 0)
    printf ("epoch %d/%d  ", (int)e->epoch, (int)view->epochs);
  printf ("%s%sloss %s", view->by_step ? "" : e->split, view->by_step ? "" : " ", readable (e->loss, number));
  for (guint i = 0; i < e->n_metrics; i++)
    if (!is_table (trainer, i))
      printf ("  %s %s", e->metric_name[i], readable (e->metric[i], number));
  if (view->epochs > 0)
    printf ("  (%.1f s)", (now - view->epoch_start) / 1e6);
  printf ("\n");
  /* While it trains a table would drown the lines of the epochs. */
  for (guint i = 0; view->epochs == 0 && i < e->n_metrics; i++)
    print_matrix (e->metric_name[i], &e->matrix[i]);
  flush (view, trainer);
  view->epoch_start = now;
}

/* ---- train ------------------------------------------------------------ */

static void
say_plan (LoomTrainer *trainer, const LoomTrainerOptions *options)
{
  gsize bytes[LOOM_N_OWNERS] = { 0 }, total = 0;
  double parameters = 0;
  const LoomNet *net = loom_trainer_net (trainer);

  loom_trainer_memory (trainer, bytes);
  for (guint i = 0; i < LOOM_N_OWNERS; i++)
    total += bytes[i];
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    if (!loom_net_weight (net, i)->is_buffer)
      parameters += MAX (0, loom_dim_value (loom_shape_count (&loom_net_weight (net, i)->shape), NULL));
  g_autofree char *count = command_count (parameters), *memory = loom_bytes_to_string (total);
  fprintf (stderr, "%s parameters, %s planned%s%s%s\n", count, memory, options->out ? ", writing to " : "",
           options->out ? options->out : "", options->out || options->resume ? "" : ", nothing is kept (no --out)");
}

/* The end of a run that --steps asked for. */
static void
say_steps (const View *view, LoomTrainer *trainer, const char *folder)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];

  printf ("ended after step %" G_GINT64_FORMAT ", as --steps asked", loom_trainer_steps (trainer));
  if (!isnan (view->epoch_loss))
    printf (", train loss %s", readable (view->epoch_loss, number));
  if (folder)
    printf ("; go on with: gradloom train --resume %s", folder);
  printf ("\n");
}

static int
refuse_folder (const Command *command, const char *folder)
{
  g_autofree char *graph = g_build_filename (folder, "graph.xml", NULL);
  g_autofree char *settings = g_build_filename (folder, "run.json", NULL);

  if (!g_file_test (graph, G_FILE_TEST_EXISTS))
    return command_usage (command, "“%s” is a folder without a run. Name a graph file.", folder);
  if (!g_file_test (settings, G_FILE_TEST_EXISTS))
    return command_usage (command, "“%s” is a folder. Name the graph in it: %s.", folder, graph);
  return command_usage (command, "“%s” is a folder. Go on with a run by --resume %s, or begin anew from its graph: %s.",
                        folder, folder, graph);
}

static int
run_train (const Command *command, int argc, char **argv)
{
  g_autofree char *device = NULL, *out = NULL, *resume = NULL, *lr = NULL, *precision = NULL;
  g_autofree char *weights = NULL, *match = NULL;
  g_auto (GStrv) set = NULL;
  gint64 epochs = -1, steps = 0, batch_size = 0, seed = -1;
  int threads = 0, ranks = 1;
  double checkpoint_seconds = 0;
  View view = { 0 };
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device: cpu, cpu:1, cuda:0, ref (default: the graph's)", "D" },
    { "epochs", 0, 0, G_OPTION_ARG_INT64, &epochs,
      "Epochs (default: the graph's); 0: initialise, evaluate, write the weights", "N" },
    { "steps", 0, 0, G_OPTION_ARG_INT64, &steps, "End after so many steps of the run, if its epochs have more", "N" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch_size, "Samples a step", "N" },
    { "lr", 0, 0, G_OPTION_ARG_STRING, &lr, "Learning rate", "X" },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16 or f16 for large products; f64 on ref", "P" },
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
    { "ranks", 0, 0, G_OPTION_ARG_INT, &ranks, "Ranks: 1 in this version", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &view.json, "Events on standard output, one object a line", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;

  LoomTrainerOptions options = {
    .device = device,
    .precision = precision,
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
  };
  if (lr && (!command_float (lr, &options.lr) || options.lr < 0))
    return command_usage (command, "--lr takes a number that is not negative, not “%s”.", lr);
  if (ranks != 1)
    return command_usage (command, "Several ranks come in a later version; --ranks can be 1 only.");
  if (resume && (argc != 1 || out))
    return command_usage (command,
                          "--resume takes graph and folder from the run, so it goes with neither GRAPH nor --out.");
  if (resume && epochs == 0)
    return command_usage (command,
                          "--epochs 0 begins a run, so it does not go with --resume. To see what a run is worth: "
                          "gradloom eval %s.",
                          resume);
  if (resume && (batch_size > 0 || seed >= 0 || set || precision || weights || match))
    return command_usage (command, "--resume goes on with the batch size, seed, graph and weights that the run has, so "
                                   "it goes with none of --batch-size, --seed, --precision, --set, --weights and "
                                   "--match. Leave them out, or start a new run with --out.");
  if (!resume && argc == 2 && g_file_test (argv[1], G_FILE_TEST_IS_DIR))
    return refuse_folder (command, argv[1]);
  if (!resume && argc != 2)
    return command_usage (command,
                          argc < 2 ? "Which graph? It takes one GRAPH, or --resume DIR." : "It takes one GRAPH.");

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  TrainSignals signals = { 0 };
  train_signals_block (&signals);
  if (!resume)
    {
      graph = command_read_graph (argv[1], &error);
      if (!graph)
        return command_fail (command, g_steal_pointer (&error));
    }
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  if (!trainer)
    return command_fail (command, g_steal_pointer (&error));

  LoomTrainerObserver observer = { .step = step_cb, .eval = eval_cb, .early_stop = early_stop_cb, .note = note_cb };
  view.command = command;
  view.epochs = loom_trainer_spec (trainer)->epochs;
  view.by_step = loom_trainer_spec (trainer)->dataset_node < 0;
  view.terminal = isatty (STDERR_FILENO);
  view.silent = view.json && (!view.terminal || isatty (STDOUT_FILENO));
  view.epoch_loss = NAN;
  view.start = view.last = view.last_flush = view.epoch_start = g_get_monotonic_time ();
  loom_trainer_set_observer (trainer, &observer, &view);
  if (loom_trainer_notes (trainer))
    command_warn (command, "%s", loom_trainer_notes (trainer));
  say_transfer (&view, trainer);
  if (!view.json)
    say_plan (trainer, &options);
  if (resume && !view.json && loom_trainer_is_over (trainer))
    {
      gboolean early = loom_trainer_steps (trainer) < loom_trainer_total_steps (trainer);
      printf ("This run is complete (%" G_GINT64_FORMAT " steps, %" G_GINT64_FORMAT
              " epoch%s%s). Give --epochs M to train on.\n",
              loom_trainer_steps (trainer), view.epochs, view.epochs == 1 ? "" : "s",
              early ? " at most, stopped early" : "");
      return 0;
    }

  train_signals_begin (&signals, trainer, resume ? resume : out);
  LoomTrainerEnd end = loom_trainer_run (trainer, &error);
  int interrupted_by = train_signals_end (&signals);

  clear_bar (&view);
  if (!view.json && end == LOOM_TRAINER_STOPPED)
    say_steps (&view, trainer, resume ? resume : out);
  if (view.json && (end == LOOM_TRAINER_DONE || end == LOOM_TRAINER_STOPPED))
    {
      LoomJson *json = command_event_new ("done");
      loom_json_int (json, "step", loom_trainer_steps (trainer));
      loom_json_fixed (json, "time", (double)(g_get_monotonic_time () - view.start) / G_USEC_PER_SEC, 6);
      command_event_print (json);
    }
  command_flush ();
  if (end == LOOM_TRAINER_DONE || end == LOOM_TRAINER_STOPPED)
    return 0;
  int status = command_fail (command, g_steal_pointer (&error));
  if (end == LOOM_TRAINER_INTERRUPTED && view.lost && interrupted_by == 0)
    return 0; /* command_finish() knows better */
  return end == LOOM_TRAINER_INTERRUPTED ? 128 + interrupted_by : status;
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
    "A loss that depends on no data set is minimised as it is: an epoch is one step then.\n\n"
    "--json: besides the members that graphs/README.md lists, each event has the seconds since training began, and\n"
    "each step the samples a second.\n\n"
    "  gradloom train graphs/models/fashion-lenet.xml --epochs 3 --out run1\n"
    "  gradloom train --resume run1\n"
    "  gradloom train graphs/lessons/transfer-learning.xml --weights run1/weights.safetensors --match 'block*'",
  .run = run_train,
};

/* ---- eval ------------------------------------------------------------- */

static int
run_eval (const Command *command, int argc, char **argv)
{
  g_autofree char *device = NULL, *weights = NULL, *report = NULL;
  gint64 batch_size = 0;
  int threads = 0;
  gboolean partial = FALSE;
  View view = { 0 };
  const GOptionEntry entries[] = {
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "Weights (default: the run's newest averages, else weights)",
      "F.safetensors" },
    { "partial", 0, 0, G_OPTION_ARG_NONE, &partial, "Allow weights that are missing or do not fit", NULL },
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device", "D" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch_size, "Samples at a time", "N" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &view.json, "One object on standard output", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  if (!g_file_test (argv[1], G_FILE_TEST_EXISTS))
    g_set_error (&error, LOOM_ERROR, LOOM_ERROR_DATA, "There is no such run or graph: “%s”.", argv[1]);
  else
    graph = command_read_graph (argv[1], &error);
  if (graph && !command_run_weights (argv[1], &weights, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (!graph)
    return command_fail (command, g_steal_pointer (&error));

  LoomTrainerOptions options = { .device = device,
                                 .threads = threads,
                                 .batch_size = batch_size,
                                 .lr = NAN,
                                 .seed = -1,
                                 .no_epochs = TRUE,
                                 .weights = weights ? "" : NULL,
                                 .costs_of = g_file_test (argv[1], G_FILE_TEST_IS_DIR) ? argv[1] : NULL };
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  if (!trainer)
    return command_fail (command, g_steal_pointer (&error));
  if (loom_trainer_notes (trainer))
    command_warn (command, "%s", loom_trainer_notes (trainer));
  if (!weights)
    command_warn (command, "no --weights: these are the weights that training begins with.");
  else if (!loom_state_load_weights (loom_trainer_state (trainer), weights, partial, &report, &error))
    {
      int status = command_fail (command, g_steal_pointer (&error));
      return status == 5 ? 1 : status; /* weights that cannot be read are wrong weights */
    }
  else if (report && *report)
    command_warn (command, "%s does not hold what the graph has:%s", weights, report);

  LoomTrainerObserver observer = { .eval = eval_cb, .note = note_cb };
  view.command = command;
  view.only_eval = TRUE;
  view.by_step = loom_trainer_spec (trainer)->dataset_node < 0;
  view.weights_step = weights ? loom_weights_step (weights) : 0;
  view.start = g_get_monotonic_time ();
  loom_trainer_set_observer (trainer, &observer, &view);
  if (!loom_trainer_evaluate (trainer, "test", &error))
    return command_fail (command, g_steal_pointer (&error));
  return 0;
}

const Command command_eval = {
  .name = "eval",
  .arguments = "GRAPH|RUN",
  .summary = "loss and metrics over the test samples",
  .details
  = "Loss and every <metric> of <train> over the test samples, or the validation samples where there are none. A\n"
    "confusion matrix is printed in rows of what is and columns of what was said; --json has it as nested lists.\n\n"
    "  gradloom eval run1\n"
    "  gradloom eval run1 --weights run1/weights-best.safetensors",
  .run = run_eval,
};
