/* `gradloom program` and `gradloom plan`: print the two forms that a graph is compiled to, as text for people or as
 * JSON for programs (app/shared/listing-json.c). */
#include "app/commands.h"
#include "app/plan-picture.h"
#include "app/shared/listing-json.h"
#include "app/shared/listing-parameters.h"
#include "app/shared/listing-ranks.h"
#include "app/shared/listing-steps.h"
#include "app/shared/listing.h"
#include "app/shared/plan-check.h"
#include "app/shared/plan-fits.h"
#include "app/shared/cards.h"
#include "app/shared/plan-source.h"

#include <math.h>
#include <stdio.h>

typedef struct
{
  gint64 batch; /* 0: the graph's; with several ranks, that of a rank */
  gboolean evaluation, tf32;
  const char *precision, *device, *strategy; /* NULL: the graph's */
  int ranks, rank;                           /* 0: one; the rank to print, -1: not given */
} Wanted;

/* What to build programs from, for callers that build them differently. */
typedef struct
{
  LoomGraph *graph;
  LoomTrainSpec *spec; /* NULL: there is no <train> */
} Source;

static void
source_clear (Source *source)
{
  g_clear_pointer (&source->spec, loom_train_spec_free);
  g_clear_pointer (&source->graph, loom_graph_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Source, source_clear)

static void
set_options (LoomGraph *graph, const Wanted *wanted)
{
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);

  if (train == NULL)
    return;
  if (wanted->precision != NULL)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "precision", wanted->precision)));
  if (wanted->tf32)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "tf32", "true")));
  if (wanted->device != NULL) /* f64 requires the device ref, from the command line or the file */
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "device", wanted->device)));
  if (wanted->strategy != NULL)
    loom_strategy_apply (graph, train, wanted->strategy, wanted->ranks, NULL, NULL);
}

static gboolean
build (const char *path, const Wanted *wanted, Source *source, Listing *l, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomElement *train;

  source->graph = command_read_graph (path, error);
  if (source->graph == NULL)
    return FALSE;
  set_options (source->graph, wanted);
  train = loom_element_find (loom_graph_root (source->graph), LOOM_TAG_TRAIN);
  g_autoptr (LoomNet) net = loom_net_new (source->graph, NULL, faults);
  if (!loom_faults_to_error (faults, path, error))
    return FALSE;
  if (train == NULL || loom_element_get (train, "loss") == NULL)
    {
      LoomBinding binding = { 0 };

      if (wanted->ranks > 1 || wanted->strategy != NULL)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                       "%s has no <train> with a loss, so it has no training step to divide among ranks.", path);
          return FALSE;
        }
      binding.value['B' - 'A'] = wanted->batch ? wanted->batch : 1;
      return listing_build_ends (source->graph, &binding, TRUE, l, error);
    }
  source->spec = loom_train_spec_new (source->graph, net, faults);
  g_autofree char *options = command_train_options (wanted->precision, wanted->tf32, wanted->device);
  if (!command_option_faults (faults, path, options, error))
    return FALSE;
  int size[LOOM_MESH_AXES] = { 1, 1, 1 };
  if (wanted->ranks > 1 && !loom_train_spec_mesh (source->spec, wanted->ranks, size, error))
    return FALSE;
  /* A parameter server and its workers have programs of their own, and nothing is partitioned. */
  const gboolean serves = wanted->ranks > 1 && source->spec->parallel.server && !wanted->evaluation;
  const LoomMesh mesh = loom_mesh (MAX (wanted->rank, 0), size);
  gint64 batch = (wanted->batch ? wanted->batch : source->spec->batch_size) * (serves ? 1 : size[LOOM_MESH_DATA]);
  source->spec->gathers = serves;
  if (!listing_build_step (source->graph, source->spec, batch, !wanted->evaluation, l, error))
    return FALSE;
  if (!wanted->evaluation && g_hash_table_size (loom_net_recomputed (net)) > 0)
    {
      source->spec->keep_all = TRUE;
      l->keeping = loom_step_new (source->spec, l->step->batch, TRUE, error);
      source->spec->keep_all = FALSE;
      if (l->keeping == NULL)
        return FALSE;
    }
  if (wanted->ranks < 2 || serves)
    return TRUE;
  g_autoptr (LoomDevices) devices = loom_devices_new (0);
  const char *device = wanted->device != NULL ? wanted->device : source->spec->device;
  if (!listing_divide (l->step, source->spec, &mesh, devices, device, error))
    return FALSE;
  l->program = l->step->program;
  return l->keeping == NULL || listing_divide (l->keeping, source->spec, &mesh, devices, device, error);
}

#define OPTIONS_OF_RANKS(wanted, strategy)                                                                             \
  { "ranks", 0, 0, G_OPTION_ARG_INT, &(wanted).ranks, "Print the program of one of N ranks", "N" },                    \
      { "rank", 0, 0, G_OPTION_ARG_INT, &(wanted).rank, "The rank to print (0)", "K" },                                \
  {                                                                                                                    \
    "strategy", 0, 0, G_OPTION_ARG_STRING, &strategy, command_strategy_help (), "S"                                    \
  }

/* The heading of a step's program or plan, or NULL. */
static const char *
step_heading (const Source *source)
{
  return source->spec != NULL && source->spec->gathers
             ? "on each rank that trains and pushes its accumulated gradients to rank 0:\n\n"
             : NULL;
}

static const char *
update_heading (const Source *source)
{
  return source->spec != NULL && source->spec->gathers
             ? "\non rank 0, which trains on no samples and updates weights with the gradients of the other ranks:\n\n"
             : "\nafter the batches that <train> accumulates:\n\n";
}

/* FALSE if the options of ranks are wrong; prints the reason. */
static gboolean
check_ranks (const Command *command, const Wanted *wanted)
{
  if (!command_knows_strategy (command, wanted->strategy))
    return FALSE;
  if (wanted->ranks < 0 || wanted->ranks > 4096 || wanted->rank < -1 || wanted->rank >= MAX (1, wanted->ranks))
    command_usage (command, "--rank takes a number from 0 to N - 1, with --ranks N (1 to 4096).");
  else if (wanted->strategy != NULL && wanted->ranks == 0)
    command_usage (command, "--strategy divides a step among ranks. Set their number with --ranks.");
  else
    return TRUE;
  return FALSE;
}

static int
run_program (const Command *command, int argc, char **argv)
{
  Wanted wanted = { .rank = -1 };
  gboolean json = FALSE;
  g_autofree char *precision = NULL, *strategy = NULL;
  const GOptionEntry entries[] = {
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &wanted.batch, "Batch size B (default: the graph's, else 1)", "N" },
    { "eval", 0, 0, G_OPTION_ARG_NONE, &wanted.evaluation, "Print the evaluation step instead of the training step",
      NULL },
    OPTIONS_OF_RANKS (wanted, strategy),
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16, f16 or f64 (default: the graph's)", "P" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object per line", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");

  g_autoptr (GError) error = NULL;
  g_auto (Listing) l = { 0 };
  g_auto (Source) source = { 0 };
  wanted.strategy = strategy;
  if (!check_ranks (command, &wanted))
    return 2;
  /* A program has no device; only f64 requires one. */
  wanted.precision = precision;
  wanted.device = g_strcmp0 (precision, loom_dtype_name (LOOM_F64)) == 0 ? loom_dtype_backend (LOOM_F64) : NULL;
  if (!build (argv[1], &wanted, &source, &l, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (json)
    {
      listing_print_program (l.program, "step");
      if (l.step != NULL && l.step->update != NULL)
        listing_print_program (l.step->update, "update");
      return 0;
    }
  g_autofree char *text = loom_program_print (l.program);
  const char *heading = step_heading (&source);
  printf ("%s%s", heading != NULL ? heading : "", text);
  if (l.step != NULL && l.step->update != NULL)
    {
      g_autofree char *update = loom_program_print (l.step->update);
      printf ("%s%s", update_heading (&source), update);
    }
  return 0;
}

const Command command_program = {
  .name = "program",
  .arguments = "GRAPH|RUN",
  .summary = "print the primitives of the forward pass, backward pass and update",
  .run = run_program,
};

/* The bytes that recomputation saves on each device: the arena of the step without recomputation, minus this one's. */
static gboolean
print_saving (const Listing *l, const LoomPlan *plan, LoomDevices *devices, const LoomPlanOptions *options,
              gboolean json, GError **error)
{
  g_autoptr (LoomPlan) keeping = loom_plan_new (l->keeping->program, devices, options, error);

  if (keeping == NULL)
    return FALSE;
  for (guint d = 0; d < MIN (loom_plan_n_devices (plan), loom_plan_n_devices (keeping)); d++)
    {
      const char *device = loom_plan_device (plan, d)->name;
      LoomPlanMemory now, before;
      loom_plan_memory (plan, d, &now);
      loom_plan_memory (keeping, d, &before);
      double saved = (double)before.arena - (double)now.arena;
      g_autofree char *saving = loom_bytes_to_string (saved), *whole = loom_bytes_to_string ((double)before.arena);
      if (json)
        {
          LoomJson *line = command_event_new ("recomputation");
          loom_json_string (line, "device", device);
          loom_json_fixed (line, "saved", saved, 0);
          loom_json_int (line, "arena_without", (gint64)before.arena);
          command_event_print (line);
        }
      else
        printf ("recomputation saves %s on %s: without it the arena would have %s\n", saving, device, whole);
    }
  return TRUE;
}

/* heading: of a text; NULL: none */
static void
print_plan (const LoomPlan *plan, const char *part, const char *heading, gboolean json)
{
  if (json)
    {
      listing_print_plan (plan, part);
      return;
    }
  g_autofree char *text = loom_plan_print (plan);
  printf ("%s%s", heading != NULL ? heading : "", text);
}

typedef struct
{
  const char *part;
  gboolean json;
} Passes;

static void
print_pass (const LoomPlanPass *pass, gpointer data)
{
  const Passes *self = data;
  g_autofree char *bytes = loom_bytes_to_string ((double)pass->bytes);

  if (self->json)
    listing_print_pass (pass, self->part);
  else if (pass->ran)
    printf ("%12u  %9s  %-21s %s\n", pass->n_instrs, bytes, pass->name, pass->doc);
  else
    printf ("%12s  %9s  %-21s left out\n", "-", "-", pass->name);
}

/* Plans a program; with --passes prints each pass. */
static LoomPlan *
make_plan (LoomProgram *program, LoomDevices *devices, LoomPlanOptions options, gboolean passes, gboolean json,
           const char *part, const char *heading, GError **error)
{
  Passes self = { part, json };

  if (passes)
    {
      options.on_pass = print_pass;
      options.on_pass_data = &self;
      if (!json)
        printf ("%s%12s  %9s  %s\n", heading != NULL ? heading : "", "instructions", "bytes", "after the pass");
    }
  return loom_plan_new (program, devices, &options, error);
}

/* Sets the function that the plan calls for each kernel call. If the device does not exist here, plans for another
 * device, whose calls are almost the same. */
static void
aim_at_source (const Command *command, LoomDevices *devices, LoomPlanOptions *options, PlanSource *source)
{
  const char *device = options->device;

  options->device = plan_source_device (devices, device, &source->tools);
  source->device = device;
  options->on_call = plan_source_call;
  options->on_call_data = source;
  if (source->tools == NULL)
    return;
  options->no_layout = TRUE;
  command_warn (
      command,
      "This machine has no device %s, so the graph is planned for %s, in plain layouts. The source is what %s would "
      "compile for these calls; on a GPU some calls may be fused differently.",
      device, options->device, device);
}

/* ---- tables --------------------------------------------------------------- */

typedef enum
{
  TABLE_NONE,
  TABLE_PARAMETERS,
  TABLE_NODES,
  TABLE_STAGES
} TableKind;

typedef struct
{
  const char *path;
  Wanted wanted;
  const ListingRanks *ranks;
  LoomDevices *devices;
  LoomPlanOptions options;
  TableKind kind;
  gboolean json;
} Table;

/* Prints one rank's plans. A parameter server has the update, and its workers have the rest of a step. */
static gboolean
print_table_of (const Table *table, int rank, GError **error)
{
  Wanted wanted = table->wanted;
  LoomPlanOptions options = table->options;
  g_auto (Listing) l = { 0 };
  g_auto (Source) source = { 0 };
  g_autoptr (LoomPlan) plan = NULL, update = NULL;

  wanted.rank = rank;
  if (!build (table->path, &wanted, &source, &l, error))
    return FALSE;
  const gboolean serves = source.spec != NULL && source.spec->gathers;
  options.mesh = wanted.ranks > 1 && !serves ? &table->ranks->mesh[rank] : NULL;
  if (!serves || rank > 0)
    plan = loom_plan_new (l.program, table->devices, &options, error);
  if ((!serves || rank > 0) && plan == NULL)
    return FALSE;
  if (l.step != NULL && l.step->update != NULL && (!serves || rank == 0))
    {
      update = loom_plan_new (l.step->update, table->devices, &options, error);
      if (update == NULL)
        return FALSE;
    }
  if (table->kind == TABLE_PARAMETERS)
    listing_print_parameters (plan != NULL ? plan : update, wanted.ranks > 1 ? rank : -1, table->json);
  else
    listing_print_nodes (plan, update, wanted.ranks > 1 ? rank : -1, table->json);
  return TRUE;
}

/* The number of ranks: --ranks, or that of <parallel>. */
static gboolean
print_stages (const Table *table, GError **error)
{
  Wanted wanted = table->wanted;
  g_auto (Listing) l = { 0 };
  g_auto (Source) source = { 0 };
  int n = wanted.ranks;

  wanted.ranks = 0;
  wanted.strategy = NULL;
  if (!build (table->path, &wanted, &source, &l, error))
    return FALSE;
  n = source.spec != NULL && source.spec->parallel.pipeline > 1 ? source.spec->parallel.pipeline : n;
  if (n > 1 && source.spec != NULL)
    return listing_print_stages (source.spec, l.step->batch, n, table->devices, table->options.device, table->json,
                                 error);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "%s has no pipeline stages. Set their number with --ranks.",
               table->path);
  return FALSE;
}

static gboolean
print_table (const Table *table, GError **error)
{
  if (table->kind == TABLE_STAGES)
    return print_stages (table, error);
  const int last = MAX (table->wanted.ranks, 1) - 1, one = table->wanted.rank;

  for (int rank = MAX (one, 0); rank <= (one >= 0 ? one : last); rank++)
    if (!print_table_of (table, rank, error))
      return FALSE;
  return TRUE;
}

/* ---- the checker ---------------------------------------------------------- */

/* "rank 1's training step", "the update". (transfer full) */
static char *
plan_name (const Table *table, int rank, const char *part)
{
  return table->wanted.ranks > 1 ? g_strdup_printf ("rank %d's %s", MAX (rank, 0), part)
                                 : g_strdup_printf ("the %s", part);
}

/* The plans of one rank, or of the only one. */
static gboolean
plan_rank (const Table *table, int rank, GArray *steps, GArray *updates, GError **error)
{
  Wanted wanted = table->wanted;
  LoomPlanOptions options = table->options;
  g_auto (Listing) l = { 0 };
  g_auto (Source) source = { 0 };

  wanted.rank = rank;
  if (!build (table->path, &wanted, &source, &l, error))
    return FALSE;
  const gboolean serves = source.spec != NULL && source.spec->gathers;
  const char *part = l.step == NULL ? "plan" : wanted.evaluation ? "evaluation" : "training step";
  g_autofree char *step_name = plan_name (table, rank, part), *update_name = plan_name (table, rank, "update");

  options.mesh = wanted.ranks > 1 && !serves ? &table->ranks->mesh[MAX (rank, 0)] : NULL;
  return ((serves && rank == 0) || plan_check_add (steps, l.program, table->devices, &options, step_name, error))
         && (l.step == NULL || l.step->update == NULL || (serves && rank > 0)
             || plan_check_add (updates, l.step->update, table->devices, &options, update_name, error));
}

/* ok receives the result of the check. */
static gboolean
run_check (const Table *table, gboolean *ok, GError **error)
{
  g_autoptr (GArray) steps = plan_check_list_new (), updates = plan_check_list_new ();
  const int last = MAX (table->wanted.ranks, 1) - 1, one = table->wanted.rank;

  loom_plan_set_checker (NULL); /* a wrong plan is reported and does not end the program */
  for (int rank = MAX (one, 0); rank <= (one >= 0 ? one : last); rank++)
    if (!plan_rank (table, last > 0 ? rank : -1, steps, updates, error))
      return FALSE;
  return plan_check (steps, updates, table->devices, one < 0, table->json, ok, error);
}

/* ---- a card that is not here ------------------------------------------------ */

static double
step_bytes (const LoomPlan *plan)
{
  double sum = 0;

  for (guint d = 0; d < loom_plan_n_devices (plan); d++)
    {
      LoomPlanMemory memory;
      gsize bytes[LOOM_N_OWNERS];

      loom_plan_memory (plan, d, &memory);
      loom_plan_memory_sum (&memory, bytes);
      for (int o = 0; o < LOOM_N_OWNERS; o++)
        sum += (double)bytes[o];
    }
  return sum;
}

/* Prints whether the step fits into the card, and if not, a batch size that does. */
static gboolean
print_verdict (const Table *table, const Card *card, GError **error)
{
  g_autofree char *memory = loom_bytes_to_string (card->memory);
  Wanted wanted = table->wanted;
  double first = 0;

  for (;;)
    {
      g_auto (Listing) l = { 0 };
      g_auto (Source) source = { 0 };
      g_autoptr (LoomPlan) plan = NULL;
      double bytes;

      if (!build (table->path, &wanted, &source, &l, error)
          || (plan = loom_plan_new (l.program, table->devices, &table->options, error)) == NULL)
        return FALSE;
      bytes = step_bytes (plan);
      if (first == 0)
        first = bytes;
      g_autofree char *needed = loom_bytes_to_string (first);
      const gint64 batch = l.step != NULL ? l.step->batch : MAX (1, wanted.batch);

      if (bytes <= card->memory && bytes == first)
        printf ("\nA step needs %s of the %s of the %s.\n", needed, memory, card->title);
      else if (bytes <= card->memory)
        printf ("\nA step needs %s, and the %s has %s. A batch of %" G_GINT64_FORMAT " fits.\n", needed, card->title,
                memory, batch);
      else if (batch < 2)
        printf ("\nA step needs %s, and the %s has %s. Not even a batch of one sample fits.\n", needed, card->title,
                memory);
      else
        {
          wanted.batch = batch / 2;
          continue;
        }
      return TRUE;
    }
}

static int
print_fits (const Command *command, const char *path, const Wanted *wanted, int threads, gint64 available,
            gboolean json)
{
  const LoomTrainerOptions options = { .device = wanted->device,
                                       .precision = wanted->precision,
                                       .tf32 = wanted->tf32,
                                       .batch_size = wanted->batch,
                                       .strategy = wanted->strategy,
                                       .threads = threads,
                                       .lr = NAN,
                                       .seed = -1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = command_read_graph (path, &error);

  if (graph == NULL || !plan_fits_print (graph, &options, wanted->ranks, (gsize)available, json, &error))
    return command_fail (command, g_steal_pointer (&error));
  return 0;
}

/* ---- steps ------------------------------------------------------------------ */

/* Prints the steps of both plans, or draws their memory to a file. path: the graph, or a run, whose recorded step has
 * the times. update may be NULL. */
static int
print_steps (const Command *command, const char *path, const LoomPlan *plan, const LoomPlan *update, int rank,
             const char *picture, gboolean json)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) events = g_string_new (NULL);
  /* A graph, and a run without a recorded step, have no times. */
  g_autoptr (GArray) spans = loom_path_is_folder (path) ? loom_trace_read_run (path, NULL, NULL) : NULL;
  g_autoptr (LoomTraceTimes) times = spans != NULL ? loom_trace_times_new (spans, MAX (rank, 0)) : NULL;
  int status = 0;

  if (!json && picture == NULL)
    {
      listing_print_steps (plan, "step", times);
      if (update != NULL)
        listing_print_steps (update, "update", times);
      return 0;
    }
  listing_append_steps (plan, "step", times, events);
  if (update != NULL)
    listing_append_steps (update, "update", times, events);
  if (picture == NULL)
    fputs (events->str, stdout);
  else if (!plan_picture_write (events, picture, &status, &error))
    return command_fail (command, g_steal_pointer (&error));
  return status;
}

static int
run_plan (const Command *command, int argc, char **argv)
{
  Wanted wanted = { .rank = -1 };
  gboolean no_fusion = FALSE, passes = FALSE, check = FALSE, ok = FALSE, parameters = FALSE, memory = FALSE,
           stages = FALSE, fits = FALSE, steps = FALSE, json = FALSE;
  gint64 available = 0;
  int threads = 0;
  g_autofree char *device = NULL, *precision = NULL, *strategy = NULL, *node = NULL, *card_name = NULL, *names = NULL;
  g_autofree char *picture = NULL;
  const Card *card = NULL;
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: the graph's, else cpu)", "D" },
    { "card", 0, 0, G_OPTION_ARG_STRING, &card_name,
      "Plan for a GPU that need not be here, such as k80, rtx3090 or h100, and compare with its memory", "C" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &wanted.batch, "Batch size B (default: the graph's, else 1)", "N" },
    { "eval", 0, 0, G_OPTION_ARG_NONE, &wanted.evaluation, "Print the evaluation step instead of the training step",
      NULL },
    OPTIONS_OF_RANKS (wanted, strategy),
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16, f16, or f64 on ref (default: the graph's)", "P" },
    { "tf32", 0, 0, G_OPTION_ARG_NONE, &wanted.tf32, "Compute f32 products in TF32 if the device has it", NULL },
    { "no-fusion", 0, 0, G_OPTION_ARG_NONE, &no_fusion, "Use one kernel for each primitive", NULL },
    { "passes", 0, 0, G_OPTION_ARG_NONE, &passes, "Print instructions and bytes after each pass instead", NULL },
    { "check", 0, 0, G_OPTION_ARG_NONE, &check, "Check that the plan computes the program instead; status 1 if not",
      NULL },
    { "parameters", 0, 0, G_OPTION_ARG_NONE, &parameters, "Print each parameter with its shape and device instead",
      NULL },
    { "memory", 0, 0, G_OPTION_ARG_NONE, &memory, "Print the memory of each node instead", NULL },
    { "fits", 0, 0, G_OPTION_ARG_NONE, &fits, "Print whether a run fits into memory instead, and which batch does",
      NULL },
    { "available", 0, 0, G_OPTION_ARG_INT64, &available,
      "With --fits: the memory of another machine's device (default: this one's)", "BYTES" },
    { "stages", 0, 0, G_OPTION_ARG_NONE, &stages, "Print the nodes of each pipeline stage instead", NULL },
    { "steps", 0, 0, G_OPTION_ARG_NONE, &steps,
      "Print each step by phase with kernel, bytes, milliseconds and live memory instead", NULL },
    { "source", 0, 0, G_OPTION_ARG_STRING, &node, "Print the CUDA source of a node's kernels instead", "NODE" },
    { "picture", 0, 0, G_OPTION_ARG_FILENAME, &picture,
      "With --source: draw which thread computes which element; with --steps: draw the memory along a step", "F.svg" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object per line", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");
  if (picture != NULL && node == NULL && !steps)
    return command_usage (command, "--picture draws the threads of a kernel, or the memory along a step. Name a node "
                                   "with --source, or add --steps.");
  if (!command_can_write (picture))
    return command_usage (command, "--picture %s: the folder of this file does not exist or is not writable.", picture);
  if (passes + check + parameters + memory + fits + stages + steps + (node != NULL) > 1)
    return command_usage (command, "--passes, --check, --parameters, --memory, --fits, --stages, --steps and --source "
                                   "cannot be combined. Use one of them.");
  if (fits && (card_name != NULL || wanted.rank >= 0 || wanted.evaluation))
    return command_usage (command, "--fits is about a whole run on this machine. Leave out --rank, --card and --eval.");
  if (available < 0 || (available > 0 && !fits))
    return command_usage (command, "--available takes a number of bytes, with --fits.");
  if (card_name != NULL && (card = card_find (card_name, &names)) == NULL)
    return command_usage (command, "--card knows %s, not “%s”.", names, card_name);
  if (card != NULL && (device != NULL || node != NULL || wanted.ranks > 1))
    return command_usage (command, "--card plans for one GPU, cuda:0. Leave out --device, --source and --ranks.");
  if (card != NULL)
    device = g_strdup ("cuda:0");
  const TableKind kind = parameters ? TABLE_PARAMETERS : memory ? TABLE_NODES : stages ? TABLE_STAGES : TABLE_NONE;
  command_warn_of_threads (command, threads);

  g_autoptr (GError) error = NULL;
  g_auto (Listing) l = { 0 };
  g_auto (Source) source = { 0 };
  g_auto (ListingRanks) ranks = { 0 };
  wanted.strategy = strategy;
  if (!check_ranks (command, &wanted))
    return 2;
  wanted.precision = precision;
  wanted.device = device;
  if (fits)
    return print_fits (command, argv[1], &wanted, threads, available, json);
  if (!build (argv[1], &wanted, &source, &l, &error)
      || (wanted.ranks > 1 && !listing_ranks_init (&ranks, source.spec, wanted.ranks, &error)))
    return command_fail (command, g_steal_pointer (&error));
  g_autoptr (LoomDevices) devices = loom_devices_new (threads);
  command_take_costs (command, argv[1], devices);
  if (card != NULL && !loom_devices_add_absent (devices, device, card->title, (gint64)card->memory, &error))
    return command_fail (command, g_steal_pointer (&error));
  LoomPlanOptions options = { .device = device != NULL     ? device
                                        : l.device != NULL ? l.device
                                                           : "cpu",
                              .no_fusion = no_fusion,
                              .no_layout = card != NULL,
                              .strict_devices = l.strict_devices };
  const gboolean serves = source.spec != NULL && source.spec->gathers;
  if (wanted.ranks > 1 && !serves)
    options.mesh = &ranks.mesh[MAX (wanted.rank, 0)];
  const Table table = { argv[1], wanted, &ranks, devices, options, kind, json };
  if (kind != TABLE_NONE || check)
    {
      if (!(check ? run_check (&table, &ok, &error) : print_table (&table, &error)))
        return command_fail (command, g_steal_pointer (&error));
      if (card != NULL && !json && kind == TABLE_NODES && !print_verdict (&table, card, &error))
        return command_fail (command, g_steal_pointer (&error));
      command_warn_of_costs (command, devices);
      return check && !ok ? 1 : 0;
    }
  PlanSource text = { .node = node, .json = json, .picture = picture };
  if (node != NULL)
    aim_at_source (command, devices, &options, &text);
  const gboolean quiet = passes || steps || node != NULL;
  g_autoptr (LoomPlan) plan
      = make_plan (l.program, devices, options, passes, json, "step", step_heading (&source), &error);
  if (plan == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (!quiet)
    print_plan (plan, "step", step_heading (&source), json);
  if (l.step != NULL && l.step->update != NULL)
    {
      const char *heading = update_heading (&source);
      g_autoptr (LoomPlan) update
          = make_plan (l.step->update, devices, options, passes, json, "update", heading, &error);
      if (update == NULL)
        return command_fail (command, g_steal_pointer (&error));
      if (!quiet)
        print_plan (update, "update", heading, json);
      if (steps)
        return print_steps (command, argv[1], plan, update, wanted.rank, picture, json);
    }
  if (steps)
    return print_steps (command, argv[1], plan, NULL, wanted.rank, picture, json);
  const gboolean is_shown = node == NULL || plan_source_end (&text, source.graph, &error);
  g_free (text.drawing);
  if (!is_shown)
    return command_fail (command, g_steal_pointer (&error));
  if (l.keeping != NULL && !quiet && !print_saving (&l, plan, devices, &options, json, &error))
    return command_fail (command, g_steal_pointer (&error));
  const gint64 whole = l.step != NULL ? l.step->batch * (serves ? wanted.ranks - 1 : 1) : 0;
  if (source.spec != NULL)
    source.spec->gathers = FALSE;
  if (wanted.ranks > 1 && source.spec != NULL && !quiet && !wanted.evaluation
      && !listing_print_strategies (source.spec, whole, &ranks, devices, &options, json, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (card != NULL && !json && !quiet && !print_verdict (&table, card, &error))
    return command_fail (command, g_steal_pointer (&error));
  command_warn_of_costs (command, devices);
  return 0;
}

const Command command_plan = {
  .name = "plan",
  .arguments = "GRAPH|RUN",
  .summary = "print the plan: fused kernels, devices, memory",
  .details
  = "--ranks N prints the plan of the first of N ranks, or of --rank K, with --batch-size samples in each rank. A\n"
    "table of the strategies of <parallel> follows, with the memory of a rank by owner and the bytes that it sends\n"
    "per step; with a pipeline also its stages, the bubble, and the memory of each stage by schedule.\n\n"
    "--passes prints the number of instructions after each pass and the bytes of their results: first the passes on\n"
    "the program (mixed precision, recomputation), then those of the planner in their order. Bytes are the sum of\n"
    "all values, as if they shared no memory; after the last pass, those of the arena.\n\n"
    "--check checks the plan against the program, with code that is independent of the planner: no value is\n"
    "overwritten before its last reader, events order the lanes, state is written once and after all gradients are\n"
    "known to be finite, each random draw has its own counters, and the predicted memory is the plan's. Pieces of\n"
    "the plan are compared with the program by their structure, or on sample operands; the last numbers of the line\n"
    "count pieces that were not compared. With --ranks it also compares the exchanges of all ranks, except with\n"
    "--rank. If the plan is wrong, it prints the guilty pass, then a line for each fault.\n\n"
    "--parameters prints the names, shapes and devices of parameters, as named_parameters() of a PyTorch module:\n"
    "compare it with another --device, or with device=\"…\" on some nodes. With --ranks it prints the parts of all\n"
    "ranks, or of --rank K.\n\n"
    "--memory prints the memory of each node by owner, at the instruction with the most live memory, largest first;\n"
    "the sums are those of the plan's last line. With --ranks it prints those of all ranks, or of --rank K.\n\n"
    "--fits opens the data set and plans every part of a run, without allocating it: training steps, incomplete last\n"
    "batches, evaluations and updates.\n\n"
    "--stages prints the nodes of each pipeline stage: stages that nodes name, or stages of equal time. Their\n"
    "number is that of <parallel>, or --ranks.\n\n"
    "--card C plans for a GPU that this machine lacks. Memory is that of the processor's kernels in plain layouts,\n"
    "so workspaces of a GPU's libraries may be larger; the last line compares it with the card's.\n\n"
    "--steps prints what runs in a step, by phase: the memory is what is alive while an instruction runs. "
    "Milliseconds\n"
    "are those of a RUN's recorded step (train --trace), else those that bench --tune has measured, else estimates,\n"
    "with ~. --picture F.svg (.pdf, .png, .csv) draws the memory along the step.\n\n"
    "--source NODE prints the CUDA source that is compiled at run time for the element-wise operations of a node,\n"
    "or of all nodes inside a module's node, and the number of blocks and threads; for other nodes, the name of the\n"
    "kernel or library. --picture F.svg draws which thread computes which element. --device cuda:0 needs no GPU for\n"
    "this.",
  .run = run_plan,
};
