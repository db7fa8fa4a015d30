/* `gradloom program` and `gradloom plan`: the two forms behind the graph that was written.
 *
 * For people as a listing, for other programs as JSON (app/listing-json.c). */
#include "app/command.h"
#include "app/listing-json.h"
#include "app/listing.h"

#include <stdio.h>

static gboolean
build (const char *path, gint64 batch, gboolean evaluation, const char *precision, gboolean tf32, const char *device,
       Listing *l, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = command_read_graph (path, error);

  if (graph == NULL)
    return FALSE;
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  if (precision != NULL && train != NULL)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "precision", precision)));
  if (tf32 && train != NULL)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "tf32", "true")));
  if (device != NULL && train != NULL) /* f64 is for the device ref alone, whoever named it */
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "device", device)));
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  if (!loom_faults_to_error (faults, path, error))
    return FALSE;
  if (train == NULL || loom_element_get (train, "loss") == NULL)
    {
      LoomBinding binding = { 0 };

      binding.value['B' - 'A'] = batch ? batch : 1;
      return listing_build_ends (graph, &binding, TRUE, l, error);
    }
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  if (!loom_faults_to_error (faults, path, error)
      || !listing_build_step (graph, spec, batch ? batch : spec->batch_size, !evaluation, l, error))
    return FALSE;
  if (!evaluation && g_hash_table_size (loom_net_recomputed (net)) > 0)
    {
      spec->keep_all = TRUE;
      l->keeping = loom_step_new (graph, spec, l->step->batch, TRUE, error);
      return l->keeping != NULL;
    }
  return TRUE;
}

static int
run_program (const Command *command, int argc, char **argv)
{
  gint64 batch = 0;
  gboolean evaluation = FALSE, json = FALSE;
  g_autofree char *precision = NULL;
  const GOptionEntry entries[] = {
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch, "B (default: the graph's, else 1)", "N" },
    { "eval", 0, 0, G_OPTION_ARG_NONE, &evaluation, "The evaluation step instead of the training step", NULL },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16, f16 or f64 (default: the graph's)", "P" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "One object a line on standard output", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");

  g_autoptr (GError) error = NULL;
  g_auto (Listing) l = { 0 };
  if (batch < 0)
    return command_usage (command, "--batch-size takes a positive number.");
  /* A program belongs to no device; f64 has one alone. */
  const char *device = g_strcmp0 (precision, loom_dtype_name (LOOM_F64)) == 0 ? loom_dtype_backend (LOOM_F64) : NULL;
  if (!build (argv[1], batch, evaluation, precision, FALSE, device, &l, &error))
    return command_fail (command, g_steal_pointer (&error));
  if (json)
    {
      listing_print_program (l.program, "step");
      if (l.step != NULL && l.step->update != NULL)
        listing_print_program (l.step->update, "update");
      return 0;
    }
  g_autofree char *text = loom_program_print (l.program);
  fputs (text, stdout);
  if (l.step != NULL && l.step->update != NULL)
    {
      g_autofree char *update = loom_program_print (l.step->update);
      printf ("\nafter so many batches as <train> accumulates:\n\n%s", update);
    }
  return 0;
}

const Command command_program = {
  .name = "program",
  .arguments = "GRAPH|RUN",
  .summary = "the primitives, forward, backward and update",
  .run = run_program,
};

/* The bytes that recomputation saves on each device: the arena of the step that keeps everything beside this one's. */
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
        printf ("recomputation saves %s on %s: without it the arena has %s\n", saving, device, whole);
    }
  return TRUE;
}

static void
print_plan (const LoomPlan *plan, const char *part, gboolean json)
{
  if (json)
    {
      listing_print_plan (plan, part);
      return;
    }
  g_autofree char *text = loom_plan_print (plan);
  printf ("%s%s", g_str_equal (part, "update") ? "\nafter so many batches as <train> accumulates:\n\n" : "", text);
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

/* Plans a program; with --passes what is printed is said on the way. */
static LoomPlan *
make_plan (LoomProgram *program, LoomDevices *devices, LoomPlanOptions options, gboolean passes, gboolean json,
           const char *part, GError **error)
{
  Passes self = { part, json };

  if (passes)
    {
      options.on_pass = print_pass;
      options.on_pass_data = &self;
      if (!json)
        printf ("%s%12s  %9s  %s\n",
                g_str_equal (part, "update") ? "\nafter so many batches as <train> accumulates:\n\n" : "",
                "instructions", "bytes", "after the pass");
    }
  return loom_plan_new (program, devices, &options, error);
}

static int
run_plan (const Command *command, int argc, char **argv)
{
  gint64 batch = 0;
  gboolean evaluation = FALSE, no_fusion = FALSE, passes = FALSE, json = FALSE, tf32 = FALSE;
  int threads = 0;
  g_autofree char *device = NULL, *precision = NULL;
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: the graph's, else cpu)", "D" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch, "B (default: the graph's, else 1)", "N" },
    { "eval", 0, 0, G_OPTION_ARG_NONE, &evaluation, "The evaluation step instead of the training step", NULL },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16, f16, or f64 on ref (default: the graph's)", "P" },
    { "tf32", 0, 0, G_OPTION_ARG_NONE, &tf32, "Products of f32 in TF32, where the device has it", NULL },
    { "no-fusion", 0, 0, G_OPTION_ARG_NONE, &no_fusion, "One kernel a primitive", NULL },
    { "passes", 0, 0, G_OPTION_ARG_NONE, &passes, "Instructions and bytes after each pass instead", NULL },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "One object a line on standard output", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");
  command_warn_of_threads (command, threads);

  g_autoptr (GError) error = NULL;
  g_auto (Listing) l = { 0 };
  if (!build (argv[1], batch, evaluation, precision, tf32, device, &l, &error))
    return command_fail (command, g_steal_pointer (&error));
  g_autoptr (LoomDevices) devices = loom_devices_new (threads);
  command_take_costs (command, argv[1], devices);
  LoomPlanOptions options = { .device = device != NULL     ? device
                                        : l.device != NULL ? l.device
                                                           : "cpu",
                              .no_fusion = no_fusion,
                              .strict_devices = l.strict_devices };
  g_autoptr (LoomPlan) plan = make_plan (l.program, devices, options, passes, json, "step", &error);
  if (plan == NULL)
    return command_fail (command, g_steal_pointer (&error));
  if (!passes)
    print_plan (plan, "step", json);
  if (l.step != NULL && l.step->update != NULL)
    {
      g_autoptr (LoomPlan) update = make_plan (l.step->update, devices, options, passes, json, "update", &error);
      if (update == NULL)
        return command_fail (command, g_steal_pointer (&error));
      if (!passes)
        print_plan (update, "update", json);
    }
  if (l.keeping != NULL && !passes && !print_saving (&l, plan, devices, &options, json, &error))
    return command_fail (command, g_steal_pointer (&error));
  command_warn_of_costs (command, devices);
  return 0;
}

const Command command_plan = {
  .name = "plan",
  .arguments = "GRAPH|RUN",
  .summary = "what runs: fused kernels, devices, memory",
  .details = "--passes prints how many instructions each pass left and how many bytes they make: first the passes that "
             "made the\n"
             "program (mixed precision, recomputation), then the planner's in their order. Bytes are those of all "
             "values, as if\n"
             "nothing shared a place; behind the last pass, those of the arena.",
  .run = run_plan,
};
