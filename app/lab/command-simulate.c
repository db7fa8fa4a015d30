/* `gradloom simulate`: predicts the time of a graph's step on other machines. */
#include "app/lab/commands.h"
#include "app/lab/simulate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_MICROBATCHES 100000
#define MOST_MEASURED     4 /* number of ranks that are run here to compare with the prediction */

typedef struct
{
  char *gpus, *card, *link, *strategy, *schedule, *trace;
  int tensor, pipeline, microbatches, per_machine;
  gboolean no_overlap, no_measure, published;
  BenchOptions bench;
} Options;

static void
options_clear (Options *o)
{
  g_free (o->gpus);
  g_free (o->card);
  g_free (o->link);
  g_free (o->strategy);
  g_free (o->schedule);
  g_free (o->trace);
  g_free ((char *)o->bench.precision);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Options, options_clear)

/* ---- options --------------------------------------------------------------------- */

static gboolean
read_link (const Command *command, const char *name, SimulateLink *link)
{
  g_autofree char *names = NULL;
  const SimulateLink *found = simulate_find_link (name, &names);

  if (found != NULL)
    *link = *found;
  else
    command_usage (command, "--link knows %s, not “%s”.", names, name);
  return found != NULL;
}

/* "nvlink3,100g": the links within and between machines. */
static gboolean
read_links (const Command *command, const Options *o, SimulateSetup *setup)
{
  g_auto (GStrv) word = g_strsplit (o->link, ",", -1);
  guint n = g_strv_length (word);

  if (n < 1 || n > 2)
    {
      command_usage (command, "--link takes one link, or two: within and between machines, such as nvlink3,100g.");
      return FALSE;
    }
  return read_link (command, g_strstrip (word[0]), &setup->inside)
         && read_link (command, g_strstrip (word[n - 1]), &setup->between);
}

/* The value of --strategy: "data", "zero1" to "zero3", "pipeline", "tensor". */
static gboolean
read_strategy (const Command *command, const Options *o, SimulateSetup *setup, gboolean *all_stages,
               gboolean *all_tensor)
{
  const char *s = o->strategy != NULL ? o->strategy : "data";

  *all_stages = g_str_equal (s, "pipeline");
  *all_tensor = g_str_equal (s, "tensor");
  if (g_str_has_prefix (s, "zero") && s[4] >= '1' && s[4] <= '3' && s[5] == '\0')
    setup->zero = s[4] - '0';
  else if (!*all_stages && !*all_tensor && !g_str_equal (s, "data"))
    {
      command_usage (command, "--strategy takes data, zero1, zero2, zero3, pipeline or tensor, not “%s”.", s);
      return FALSE;
    }
  if ((*all_stages && o->pipeline > 0) || (*all_tensor && o->tensor > 0))
    {
      command_usage (command, "--strategy %s uses all GPUs for one replica. Leave out --%s.", s, s);
      return FALSE;
    }
  if (o->schedule != NULL && !g_str_equal (o->schedule, "gpipe") && !g_str_equal (o->schedule, "1f1b"))
    {
      command_usage (command, "--schedule takes gpipe or 1f1b, not “%s”.", o->schedule);
      return FALSE;
    }
  setup->one_f_one_b = g_strcmp0 (o->schedule, "1f1b") == 0;
  return TRUE;
}

/* ---- rows -------------------------------------------------------------------------- */

typedef struct
{
  SimulateResult r;
  double measured; /* seconds; 0: not measured */
  gboolean fits;
} Row;

static void
print_head (const char *path, const SimulateWork *work, const SimulateSetup *setup, const Options *o,
            const Card *card, gboolean measures)
{
  double bytes = 0;

  for (guint i = 0; i < work->layers->len; i++)
    bytes += g_array_index (work->layers, SimulateLayer, i).parameters;
  g_autofree char *gradients = loom_bytes_to_string (bytes), *shown = command_printable (path);

  printf ("%s, %.0f samples a replica, %s of gradients; kernels %s%s; ", shown, work->samples, gradients,
          card != NULL ? "computed from the peaks of " : "measured here", card != NULL ? card->title : "");
  if (o->link == NULL)
    printf ("ranks on this machine, which share its processors%s\n",
            o->no_measure || measures ? "" : "; data-parallel ranks are also run and measured");
  else
    printf ("%s within machines of %d, %s between; gradients are exchanged %s\n", setup->inside.title,
            setup->per_machine, setup->between.title,
            setup->overlap ? "during the backward pass" : "after the backward pass");
  printf ("%5s %9s %10s %9s %11s %10s %7s %9s", "GPUs", "replicas", "step ms", "samples/s", "exchange ms", "exposed ms",
          "bubble", "memory");
  printf (" %10s %10s %7s\n", "efficiency", measures ? "measured" : "", measures ? "error" : "");
}

static void
print_row (const Row *row, gboolean as_json)
{
  const SimulateResult *r = &row->r;
  g_autofree char *memory = loom_bytes_to_string (r->memory);

  if (as_json)
    {
      LoomJson *json = command_event_new ("simulate");

      loom_json_int (json, "gpus", r->gpus);
      loom_json_int (json, "replicas", r->replicas);
      loom_json_number (json, "step_seconds", r->step);
      loom_json_number (json, "samples_per_second", r->samples_per_second);
      loom_json_number (json, "exchange_seconds", r->exchange);
      loom_json_number (json, "exposed_seconds", r->exposed);
      loom_json_number (json, "bubble", r->bubble);
      loom_json_number (json, "efficiency", r->efficiency);
      loom_json_fixed (json, "memory_bytes", r->memory, 0);
      loom_json_bool (json, "fits", row->fits);
      if (row->measured > 0)
        {
          loom_json_number (json, "measured_seconds", row->measured);
          loom_json_number (json, "error", r->step / row->measured - 1);
        }
      command_event_print (json);
      return;
    }
  printf ("%5d %9d %10.3f %9.0f %11.3f %10.3f %6.1f%% %9s %9.1f%%", r->gpus, r->replicas, r->step * 1e3,
          r->samples_per_second, r->exchange * 1e3, r->exposed * 1e3, 100 * r->bubble, memory, 100 * r->efficiency);
  if (row->measured > 0)
    printf (" %10.3f %+6.0f%%", row->measured * 1e3, 100 * (r->step / row->measured - 1));
  printf ("%s\n", row->fits ? "" : "  more memory than the card has");
  command_flush ();
}

/* ---- here ---------------------------------------------------------------------------- */

/* Threads of all ranks per processor, at least one. */
static double
crowding (int ranks, const BenchOptions *bench)
{
  return MAX (1, (double)ranks * bench->threads / loom_processors ());
}

static void
slow_down (SimulateWork *work, double times)
{
  for (guint i = 0; i < work->layers->len; i++)
    {
      SimulateLayer *layer = &g_array_index (work->layers, SimulateLayer, i);

      layer->forward *= times;
      layer->backward *= times;
    }
  work->update *= times;
}

/* The step of one rank that has all processors. */
static double
step_alone (const SimulateWork *work, const SimulateSetup *setup)
{
  SimulateSetup one = *setup;

  one.zero = 0;
  one.tensor = one.pipeline = one.microbatches = 1;
  return simulate_step (work, &one, 1, NULL).step;
}

/* Predicts a step of `ranks` ranks from the kernels of one of them; if measures is set, also measures the step. whole:
 * the kernels of a rank that has all processors. */
static gboolean
predict_here (const char *path, const Options *o, SimulateSetup *setup, int ranks, const SimulateWork *whole,
              gboolean measures, GArray *spans, Row *row, GError **error)
{
  g_auto (SimulateWork) part;
  BenchOptions bench = o->bench;
  RankFigures figures;

  bench.threads = MAX (1, loom_processors () / ranks);
  simulate_work_init (&part);
  if (ranks > 1)
    {
      const int here = MIN (ranks, MOST_MEASURED);
      double call = 0;

      if (!simulate_measure (path, &bench, here, &part, &call, error)
          || !simulate_link_here (here, &setup->inside, error))
        return FALSE;
      setup->inside.latency = MAX (setup->inside.latency, call / (2 * ceil (log2 (here))));
    }
  if (ranks > MOST_MEASURED)
    slow_down (&part, crowding (ranks, &bench) / crowding (MOST_MEASURED, &bench));
  row->r = simulate_step (ranks > 1 ? &part : whole, setup, ranks, spans);
  /* The ranks share the processors of a single rank. */
  row->r.efficiency = step_alone (whole, setup) * row->r.replicas / row->r.step;
  row->fits = TRUE;
  if (measures && !simulate_run_ranks (path, &bench, ranks, &figures, error))
    return FALSE;
  row->measured = measures ? figures.seconds : row->measured;
  return TRUE;
}

/* ---- the command ------------------------------------------------------------------------ */

static gboolean
write_trace (const char *path, const GArray *spans, int gpus, const char *graph, GError **error)
{
  g_autofree char *title = g_strdup_printf ("%s on %d GPUs, simulated", graph, gpus);
  g_autofree char *text = loom_trace_to_text (spans, title);

  return loom_file_replace (path, text, strlen (text), error);
}

/* In the written trace a rank is a stage of one replica. */
static void
print_overlap (const GArray *spans)
{
  g_autofree char *text = loom_trace_describe_overlap (spans);

  if (text != NULL)
    printf ("exchange overlapped with computation: %s\n", text);
}

/* Options that are not given are those of the graph's <parallel>, as in plan and train. */
static void
take_parallel (SimulateSetup *setup, const SimulateWork *work, Options *o)
{
  const LoomParallel *p = &work->parallel;
  const gboolean is_piped = o->strategy == NULL && o->pipeline == 0 && p->pipeline > 1;

  if (o->strategy == NULL)
    setup->zero = (int)p->shards;
  if (o->strategy == NULL && o->tensor == 0)
    setup->tensor = MAX (1, (int)p->tensor);
  if (is_piped)
    setup->pipeline = p->pipeline;
  if (o->schedule == NULL)
    setup->one_f_one_b = p->schedule == LOOM_PIPELINE_1F1B;
  if (o->microbatches == 0 && is_piped)
    o->microbatches = (int)CLAMP (p->microbatches > 0 ? p->microbatches : 4 * p->pipeline, 1, work->samples);
  if (p->bucket_mb > 0)
    setup->bucket = p->bucket_mb * 1e6;
}

/* Maps a replica to n GPUs; USAGE if that is impossible. */
static gboolean
set_up (SimulateSetup *setup, const SimulateWork *work, const Options *o, int n, gboolean all_stages,
        gboolean all_tensor, GError **error)
{
  gint64 replica;

  if (all_stages)
    setup->pipeline = n;
  if (all_tensor)
    setup->tensor = n;
  setup->microbatches = o->microbatches > 0 ? o->microbatches : (int)CLAMP (work->samples, 1, setup->pipeline);
  replica = (gint64)setup->tensor * setup->pipeline;
  if (setup->microbatches > work->samples)
    g_set_error (
        error, LOOM_ERROR, LOOM_ERROR_USAGE,
        "A batch of %.0f samples cannot be divided into %d micro-batches. Use at most --microbatches %.0f, or a "
        "larger --batch-size.",
        work->samples, setup->microbatches, work->samples);
  else if (n % replica != 0)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "%d GPUs are not a multiple of the %" G_GINT64_FORMAT " GPUs of a replica (--tensor %d times "
                 "--pipeline %d).",
                 n, replica, setup->tensor, setup->pipeline);
  else if ((guint)setup->pipeline > work->layers->len)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                 "A pipeline of %d stages needs as many nodes, but the graph has %u.", setup->pipeline,
                 work->layers->len);
  else
    return TRUE;
  return FALSE;
}

static gboolean
simulate_counts (const char *path, Options *o, const Card *card, SimulateSetup *setup, GArray *counts,
                 gboolean all_stages, gboolean all_tensor, GError **error)
{
  g_auto (SimulateWork) work;
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (LoomTraceSpan));
  gboolean is_above = FALSE;
  gboolean measures;

  simulate_work_init (&work);
  if (card != NULL ? !simulate_by_card (path, &o->bench, card, &work, error)
                   : !simulate_measure (path, &o->bench, 1, &work, NULL, error))
    return FALSE;
  take_parallel (setup, &work, o);
  /* Ranks on this machine are data parallel, as threads. */
  measures
      = !o->no_measure && setup->zero == 0 && !all_stages && !all_tensor && setup->tensor == 1 && setup->pipeline == 1;
  for (guint i = 0; o->gpus == NULL && !all_stages && !all_tensor && i < counts->len; i++)
    g_array_index (counts, gint64, i) *= (gint64)setup->tensor * setup->pipeline;
  /* Errors of all rows are reported before the first row. */
  for (guint i = 0; i < counts->len; i++)
    if (!set_up (setup, &work, o, (int)g_array_index (counts, gint64, i), all_stages, all_tensor, error))
      return FALSE;
  if (!o->bench.json)
    print_head (path, &work, setup, o, card, measures);
  for (guint i = 0; i < counts->len; i++)
    {
      const int n = (int)g_array_index (counts, gint64, i);
      Row row = { .fits = TRUE };

      g_array_set_size (spans, 0);
      if (!set_up (setup, &work, o, n, all_stages, all_tensor, error))
        return FALSE;
      if (o->link == NULL)
        {
          if (!predict_here (path, o, setup, n, &work, measures && n <= MOST_MEASURED, spans, &row, error))
            return FALSE;
        }
      else
        row.r = simulate_step (&work, setup, n, spans);
      row.fits = card == NULL || row.r.memory <= card->memory;
      print_row (&row, o->bench.json);
      is_above = is_above || row.r.efficiency > 1;
      if (o->trace != NULL && i + 1 == counts->len && !write_trace (o->trace, spans, n, path, error))
        return FALSE;
    }
  if (o->trace != NULL && !o->bench.json)
    print_overlap (spans);
  if (is_above && o->link == NULL && !o->bench.json)
    printf (
        "Above 100 %%: several ranks with some of the threads each use these processors better than one rank, which\n"
        "divides each kernel among all threads.\n");
  return TRUE;
}

static int
run_simulate (const Command *command, int argc, char **argv)
{
  g_auto (Options) o = { .per_machine = 8, .bench = { .executor = "plan", .windows = 5, .seconds = 0.2 } };
  gint64 batch = 0;
  const GOptionEntry entries[] = {
    { "gpus", 0, 0, G_OPTION_ARG_STRING, &o.gpus, "Numbers of GPUs, one row each (1,2,4,8)", "N,…" },
    { "card", 0, 0, G_OPTION_ARG_STRING, &o.card,
      "Times from the peaks of k80, p100, v100, tpuv3, rtx3090, a100, rtx4090 or h100 (default: measured here)", "C" },
    { "link", 0, 0, G_OPTION_ARG_STRING, &o.link,
      "Links within and between machines: nvlink3,100g (default: measured here)", "L,L" },
    { "per-machine", 0, 0, G_OPTION_ARG_INT, &o.per_machine, "GPUs per machine (8)", "N" },
    { "strategy", 0, 0, G_OPTION_ARG_STRING, &o.strategy,
      "data, zero1, zero2, zero3, pipeline, tensor (default: the graph's, else data)", "S" },
    { "pipeline", 0, 0, G_OPTION_ARG_INT, &o.pipeline, "Pipeline stages of a replica (default: the graph's)", "K" },
    { "tensor", 0, 0, G_OPTION_ARG_INT, &o.tensor, "GPUs among which products are split (default: the graph's)", "T" },
    { "microbatches", 0, 0, G_OPTION_ARG_INT, &o.microbatches,
      "Micro-batches of a pipeline (default: the graph's, else one for each stage)", "M" },
    { "schedule", 0, 0, G_OPTION_ARG_STRING, &o.schedule, "gpipe or 1f1b (default: the graph's, else gpipe)", "S" },
    { "no-overlap", 0, 0, G_OPTION_ARG_NONE, &o.no_overlap, "Do not overlap the exchange of gradients with computation",
      NULL },
    { "no-measure", 0, 0, G_OPTION_ARG_NONE, &o.no_measure,
      "Do not run up to 4 ranks here to compare them with the prediction", NULL },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch, "Samples per step of each replica (default: the graph's)", "N" },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &o.bench.precision, "f32, bf16, f16 (default: the graph's)", "P" },
    { "tf32", 0, 0, G_OPTION_ARG_NONE, &o.bench.tf32, "Compute f32 products in TF32 if the GPU has it", NULL },
    { "trace", 0, 0, G_OPTION_ARG_FILENAME, &o.trace,
      "Write the timeline of one replica on the last number of GPUs, for Perfetto", "F.json" },
    { "published", 0, 0, G_OPTION_ARG_NONE, &o.published,
      "Compare the model with published results, and print its constants", NULL },
    { "json", 0, 0, G_OPTION_ARG_NONE, &o.bench.json, "Print one JSON object per line", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (o.published && argc == 1)
    {
      simulate_published (o.bench.json);
      return 0;
    }
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or RUN folder, or --published alone.");
  if (o.tensor < 0 || o.pipeline < 0 || o.microbatches < 0 || o.per_machine < 1)
    return command_usage (command, "--tensor, --pipeline, --microbatches and --per-machine take positive numbers.");
  if (o.microbatches > MOST_MICROBATCHES)
    return command_usage (command, "--microbatches takes at most %d.", MOST_MICROBATCHES);
  if (!command_can_write (o.trace))
    return command_usage (command, "--trace %s: the folder of this file does not exist or is not writable.", o.trace);

  g_autoptr (GArray) counts = command_numbers (o.gpus != NULL ? o.gpus : "1,2,4,8", 1, 1000000);
  g_autoptr (GError) error = NULL;
  g_autofree char *names = NULL;
  const Card *card = NULL;
  gboolean all_stages, all_tensor;
  SimulateSetup setup = { .per_machine = o.per_machine,
                          .tensor = MAX (1, o.tensor),
                          .pipeline = MAX (1, o.pipeline),
                          .microbatches = 1,
                          .bucket = 25e6 };

  if (counts == NULL)
    return command_usage (command, "--gpus takes numbers from 1 to 1000000, such as 1,2,4,8, not “%s”.", o.gpus);
  if (o.card != NULL && (card = card_find (o.card, &names)) == NULL)
    return command_usage (command, "--card knows %s, not “%s”.", names, o.card);
  if (card != NULL && o.link == NULL)
    return command_usage (
        command,
        "--card needs --link, such as nvlink3,100g, because only exchanges between processors can be measured here.");
  if (!read_strategy (command, &o, &setup, &all_stages, &all_tensor)
      || (o.link != NULL && !read_links (command, &o, &setup)))
    return 2;
  if (o.link == NULL)
    setup.per_machine = G_MAXINT32;
  /* Ranks on processors do not overlap communication with computation. */
  setup.overlap = !o.no_overlap && card != NULL;
  o.bench.batch_size = batch;
  o.no_measure = o.no_measure || card != NULL || o.link != NULL;
  if (!simulate_counts (argv[1], &o, card, &setup, counts, all_stages, all_tensor, &error))
    return command_fail (command, g_steal_pointer (&error));
  return 0;
}

const Command command_simulate = {
  .name = "simulate",
  .arguments = "GRAPH|RUN | --published",
  .summary = "predict a step on many GPUs: time, exchange, bubble, memory, efficiency",
  .details
  = "The simulation processes a step event by event: the kernels of the graph's nodes, with times measured here or\n"
    "computed from a GPU's peaks, and exchanges with a latency for each message and a time for each byte. Gradients\n"
    "are exchanged in buckets of 25 MB (or bucket_mb), on GPUs during the backward pass. Efficiency is the\n"
    "throughput of each GPU divided by that of a single GPU. Without --link ranks are threads of this machine and\n"
    "share its processors; efficiency is then the throughput of all ranks divided by that of one. If such ranks\n"
    "only divide the batch, up to 4 ranks are also run, and the table has the measured time and the error of the\n"
    "prediction. Tensor, pipeline and strategy default to the graph's <parallel>.\n\n"
    "  gradloom simulate graphs/models/fashion-mlp.xml --gpus 1,2,4\n"
    "  gradloom simulate graphs/models/resnet50.xml --card p100 --link nvlink1,50g --gpus 1,8,256\n"
    "  gradloom simulate graphs/models/gpt2.xml --card a100 --precision bf16 --link nvlink3,8x200g --gpus 8,64 \\\n"
    "      --tensor 2 --pipeline 4 --batch-size 16 --microbatches 16 --schedule 1f1b --trace lanes.json",
  .run = run_simulate,
};
