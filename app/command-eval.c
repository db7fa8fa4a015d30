/* `gradloom eval`: evaluates a run on its test samples, as a whole and, on request, sample by sample. */
#include "app/commands.h"
#include "app/eval-details.h"
#include "app/shared/adapter-option.h"
#include "app/train-view.h"

#include <math.h>

/* Prints the generated test sentences next to their targets. */
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

      printf ("generated with beam %d: BLEU %s, %s %% of %" G_GINT64_FORMAT " sentences exact\n", beam,
              g_ascii_formatd (first, sizeof first, "%.2f", 100 * bleu),
              g_ascii_formatd (second, sizeof second, "%.1f", 100 * exact), result.sentences);
    }
  return command_flush () ? 0 : 5;
}

/* The run as it was after one of its steps. */
static int
evaluate_step (const Command *command, const char *run, gint64 step, const char *device, int threads, TrainView *view)
{
  const LoomTrainerOptions options
      = { .device = device, .threads = threads, .lr = NAN, .seed = -1, .branch = run, .branch_step = step };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (NULL, &options, &error);

  if (trainer == NULL)
    return command_fail (command, g_steal_pointer (&error));
  train_view_begin_eval (view, command, trainer, step);
  return loom_trainer_evaluate (trainer, "test", &error) ? 0 : command_fail (command, g_steal_pointer (&error));
}

static int
run_eval (const Command *command, int argc, char **argv)
{
  g_autofree char *device = NULL, *weights = NULL, *report = NULL;
  gint64 batch_size = 0, step = -1;
  int threads = 0, beam = 0;
  gboolean partial = FALSE;
  g_autofree char *adapter = NULL;
  TrainView view = { 0 };
  g_auto (EvalDetails) details = { 0 };
  const GOptionEntry entries[] = {
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &weights, "Weights (default: the run's newest averages, else weights)",
      "FILE[#NAME]" },
    { "partial", 0, 0, G_OPTION_ARG_NONE, &partial, "Allow weights that are missing or do not match", NULL },
    COMMAND_ADAPTER_OPTION (adapter),
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device", "D" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch_size, "Batch size (default: the graph's)", "N" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "step", 0, 0, G_OPTION_ARG_INT64, &step, "The state of the run after step N, computed again if need be", "N" },
    { "beam", 0, 0, G_OPTION_ARG_INT, &beam, "Nets with a decoder: also generate outputs and measure BLEU (1: greedy)",
      "K" },
    { "confusion", 0, 0, G_OPTION_ARG_NONE, &details.confusion, "Count the predictions of each class", NULL },
    { "per-class", 0, 0, G_OPTION_ARG_NONE, &details.per_class,
      "Samples, accuracy and precision of each class; of masks also IoU, of boxes average precision", NULL },
    { "calibration", 0, 0, G_OPTION_ARG_NONE, &details.calibration,
      "Compare confidence and accuracy in 15 bins, with the expected calibration error", NULL },
    { "csv", 0, 0, G_OPTION_ARG_FILENAME, &details.csv, "Write a line per sample, by descending loss", "F.csv" },
    { "split", 0, 0, G_OPTION_ARG_STRING, &details.split, "Samples of these: train, val or test (default: test)", "S" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &view.json, "Print JSON objects", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");
  if (beam < 0 || beam > 1024)
    return command_usage (command, "--beam takes a number from 1 to 1024.");
  if (!eval_details_check (&details, command))
    return 2;
  if (step >= 0)
    {
      if (weights != NULL || adapter != NULL || partial || beam > 0 || batch_size > 0 || eval_details_wanted (&details))
        return command_usage (command,
                              "--step evaluates loss and metrics of a run, and can be combined with --device, "
                              "--threads and --json. For details: gradloom train --branch RUN --step N --steps N --out "
                              "DIR, then gradloom eval DIR.");
      return evaluate_step (command, argv[1], step, device, threads, &view);
    }

  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = NULL;
  if (!loom_path_exists (argv[1]))
    g_set_error (&error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” is neither a run nor a graph.", argv[1]);
  else
    graph = command_read_graph (argv[1], &error);
  if (graph != NULL && !command_run_weights (argv[1], &weights, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (graph == NULL)
    return command_fail (command, g_steal_pointer (&error));

  g_autoptr (GPtrArray) values = NULL;
  if (!command_merge_adapter (graph, adapter, weights, FALSE, &values, &error))
    return command_fail (command, g_steal_pointer (&error));
  LoomTrainerOptions options = { .device = device,
                                 .threads = threads,
                                 .batch_size = batch_size,
                                 .lr = NAN,
                                 .seed = -1,
                                 .no_epochs = TRUE,
                                 .weights = weights != NULL ? "" : NULL,
                                 .costs_of = loom_path_is_folder (argv[1]) ? argv[1] : NULL };
  g_autoptr (LoomTrainer) trainer = loom_trainer_new (graph, &options, &error);
  if (trainer == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (loom_trainer_notes (trainer) != NULL)
    command_warn (command, "%s", loom_trainer_notes (trainer));
  if (weights == NULL)
    command_warn (command, "--weights is not given, so the weights are the initial ones, before any training.");
  else if (values != NULL && !command_set_values (loom_trainer_state (trainer), values, &error))
    return command_fail (command, g_steal_pointer (&error));
  else if (values == NULL && !loom_state_load_weights (loom_trainer_state (trainer), weights, partial, &report, &error))
    {
      int status = command_fail (command, g_steal_pointer (&error));
      return status == 5 ? 1 : status; /* unreadable weights count as wrong weights */
    }
  else if (report != NULL && *report)
    command_warn (command, "“%s” and the graph differ:%s", weights, report);

  train_view_begin_eval (&view, command, trainer, weights != NULL ? loom_weights_step (weights) : 0);
  if (!loom_trainer_evaluate (trainer, "test", &error))
    return command_fail (command, g_steal_pointer (&error));
  const LoomPredictorOptions predictor
      = { .weights = weights, .values = values, .device = device, .threads = threads, .run = options.costs_of };
  const gint64 batch = batch_size > 0 ? batch_size : 64;
  if (eval_details_wanted (&details))
    {
      int status = eval_details_print (&details, command, graph, &predictor, batch, view.json);
      if (status != 0)
        return status;
    }
  return beam > 0 ? evaluate_writing (command, graph, &predictor, beam, batch, view.json) : 0;
}

const Command command_eval = {
  .name = "eval",
  .arguments = "GRAPH|RUN",
  .summary = "evaluate loss and metrics on the test samples",
  .details
  = "Computes the loss and every <metric> of <train> on the test samples, or on the validation samples if there are\n"
    "no test samples. A confusion matrix has a row for each class and a column for each prediction; --json prints\n"
    "it as nested lists. With --beam a net with a decoder generates the test sentences, which are compared by BLEU\n"
    "(Papineni et al. 2002: n-grams of one to four tokens, with a brevity penalty) and by exact matches.\n\n"
    "--confusion, --per-class, --calibration and --csv evaluate sample by sample. The loss of a sample is -log p of\n"
    "its class, or the mean squared error of its values, without class weights and label smoothing. A calibrated net\n"
    "is right as often as it is confident; the expected calibration error is the mean difference (Guo et al. 2017).\n"
    "A net that outputs detections [B,K,6] (x1, y1, x2, y2, score, class) is compared with the boxes of its data set "
    "by\n"
    "COCO's average precision: mAP@[.5:.95] and mAP@.5.\n\n"
    "--step N is the run as it was after step N: the nearest checkpoint before it, and the steps until N computed "
    "again\n"
    "with the same bits.\n\n"
    "  gradloom eval run1\n"
    "  gradloom eval run1 --step 500\n"
    "  gradloom eval run1 --confusion --per-class --calibration --csv mistakes.csv\n"
    "  gradloom eval dates --beam 4\n"
    "  gradloom eval run1 --weights run1/weights-best.safetensors",
  .run = run_eval,
};
