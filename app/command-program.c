/* `gradloom program` and `gradloom plan`: the two forms behind the graph that was written.
 *
 * A graph with a <train> shows its training step. Any other graph shows what its open ends compute and, where there is
 * one that is a single number, the gradients of it. */
#include "app/command.h"

#include <stdio.h>

/* Open ends: outputs that no wire takes. */
static GArray *
open_ends (const LoomNet *net)
{
  GArray *ends = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      gboolean used = FALSE;
      for (guint k = 0; !used && k < loom_net_n_nodes (net); k++)
        {
          const LoomNetNode *node = loom_net_node (net, k);
          for (guint j = 0; !used && j < node->n_inputs; j++)
            used = node->input[j].node == i && !loom_net_is_weight (net, &node->input[j]);
        }
      const LoomNetNode *node = loom_net_node (net, i);
      if (used || node->n_outputs == 0)
        continue;
      LoomNetSource end = { i, 0 };
      g_array_append_val (ends, end);
    }
  return ends;
}

static gboolean
append_gradients (LoomProgram *p, LoomValue of, GError **error)
{
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      if (slot->kind == LOOM_SLOT_PARAMETER && slot->trainable && slot->read)
        {
          g_array_append_val (wrt, slot->read);
          g_ptr_array_add (names, slot->name);
        }
    }
  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (p, i);
      if (loom_dtype_is_float (loom_value_info (p, input->value)->desc.dtype))
        {
          g_array_append_val (wrt, input->value);
          g_ptr_array_add (names, input->name);
        }
    }
  if (wrt->len == 0)
    return TRUE;
  g_autofree LoomValue *grads = g_new0 (LoomValue, wrt->len);
  if (!loom_differentiate (p, of, 0, wrt->len, (const LoomValue *)wrt->data, grads, error))
    return FALSE;
  for (guint i = 0; i < wrt->len; i++)
    if (grads[i])
      {
        g_autofree char *name = g_strdup_printf ("grad:%s", (char *)names->pdata[i]);
        loom_program_output (p, name, grads[i]);
      }
  return TRUE;
}

/* *net must live as long as the program: initial values may be borrowed from it. */
static LoomProgram *
program_of_ends (const LoomGraph *graph, gint64 batch, LoomNet **net, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };

  binding.value['B' - 'A'] = batch;
  *net = loom_net_new (graph, &binding, faults);
  if (!loom_faults_to_error (faults, NULL, error))
    return NULL;
  g_autoptr (GArray) ends = open_ends (*net);
  if (ends->len == 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "The graph computes nothing: it has no node with an output.");
      return NULL;
    }
  g_autofree LoomValue *value = g_new0 (LoomValue, ends->len);
  LoomLowerOptions options
      = { .float_dtype = LOOM_F32, .n_wanted = ends->len, .wanted = (const LoomNetSource *)ends->data };
  g_autoptr (LoomProgram) p = loom_lower (*net, &options, value, error);
  if (!p)
    return NULL;

  LoomValue of = 0;
  for (guint i = 0; i < ends->len; i++)
    {
      const LoomNetSource *end = &g_array_index (ends, LoomNetSource, i);
      g_autofree char *name = loom_net_port_name (*net, end->node, end->output);
      const LoomTensorDesc *desc = &loom_value_info (p, value[i])->desc;
      loom_program_output (p, name, value[i]);
      if (!of && loom_desc_count (desc) == 1 && loom_dtype_is_float (desc->dtype))
        of = value[i];
    }
  if (of && !append_gradients (p, of, error))
    return NULL;
  return g_steal_pointer (&p);
}

typedef struct
{
  LoomNet *net;
  LoomStep *step;
  LoomProgram *program;
  LoomStep *keeping; /* the step without recomputation, where the graph asks for it */
  char *device;
  gboolean strict_devices;
} Listing;

static void
listing_clear (Listing *l)
{
  if (!l->step)
    g_clear_pointer (&l->program, loom_program_unref);
  loom_step_free (l->step);
  loom_step_free (l->keeping);
  loom_net_free (l->net);
  g_free (l->device);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Listing, listing_clear)

static gboolean
build (const char *path, gint64 batch, gboolean evaluation, const char *precision, Listing *l, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomGraph) graph = command_read_graph (path, error);

  if (!graph)
    return FALSE;
  l->strict_devices = loom_graph_strict_devices (graph);
  LoomElement *train = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  if (precision && train)
    loom_edit_free (loom_graph_apply (graph, loom_edit_set (train, "precision", precision)));
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  if (!loom_faults_to_error (faults, path, error))
    return FALSE;
  if (!train)
    {
      l->program = program_of_ends (graph, batch ? batch : 1, &l->net, error);
      return l->program != NULL;
    }
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  if (!loom_faults_to_error (faults, path, error))
    return FALSE;
  l->step = loom_step_new (graph, spec, batch ? batch : spec->batch_size, !evaluation, error);
  l->program = l->step ? l->step->program : NULL;
  if (l->program && !evaluation && g_hash_table_size (loom_net_recomputed (net)) > 0)
    {
      spec->keep_all = TRUE;
      l->keeping = loom_step_new (graph, spec, l->step->batch, TRUE, error);
      if (!l->keeping)
        return FALSE;
    }
  l->device = g_strdup (spec->device);
  return l->program != NULL;
}

static int
run_program (const Command *command, int argc, char **argv)
{
  gint64 batch = 0;
  gboolean evaluation = FALSE;
  g_autofree char *precision = NULL;
  const GOptionEntry entries[] = {
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch, "B (default: the graph's, else 1)", "N" },
    { "eval", 0, 0, G_OPTION_ARG_NONE, &evaluation, "The evaluation step instead of the training step", NULL },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16 or f16 (default: the graph's)", "P" },
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
  if (!build (argv[1], batch, evaluation, precision, &l, &error))
    return command_fail (command, g_steal_pointer (&error));
  g_autofree char *text = loom_program_print (l.program);
  fputs (text, stdout);
  if (l.step && l.step->update)
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

/* What recomputation saves on each device: the arena of the step that keeps everything beside this one's. */
static gboolean
print_saving (const Listing *l, const LoomPlan *plan, LoomDevices *devices, const LoomPlanOptions *options,
              GError **error)
{
  g_autoptr (LoomPlan) keeping = loom_plan_new (l->keeping->program, devices, options, error);

  if (!keeping)
    return FALSE;
  for (guint d = 0; d < MIN (loom_plan_n_devices (plan), loom_plan_n_devices (keeping)); d++)
    {
      LoomPlanMemory now, before;
      loom_plan_memory (plan, d, &now);
      loom_plan_memory (keeping, d, &before);
      printf ("recomputation saves %" G_GSSIZE_FORMAT " bytes on %s: without it the arena has %" G_GSIZE_FORMAT "\n",
              (gssize)before.arena - (gssize)now.arena, loom_plan_device (plan, d)->name, before.arena);
    }
  return TRUE;
}

static int
run_plan (const Command *command, int argc, char **argv)
{
  gint64 batch = 0;
  gboolean evaluation = FALSE, no_fusion = FALSE;
  int threads = 0;
  g_autofree char *device = NULL, *precision = NULL;
  const GOptionEntry entries[] = {
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: the graph's, else cpu)", "D" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch, "B (default: the graph's, else 1)", "N" },
    { "eval", 0, 0, G_OPTION_ARG_NONE, &evaluation, "The evaluation step instead of the training step", NULL },
    { "precision", 0, 0, G_OPTION_ARG_STRING, &precision, "f32, bf16 or f16 (default: the graph's)", "P" },
    { "no-fusion", 0, 0, G_OPTION_ARG_NONE, &no_fusion, "One kernel a primitive", NULL },
    { "threads", 0, 0, G_OPTION_ARG_INT, &threads, "Threads of the CPU device (default: all)", "N" },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");
  command_warn_of_threads (command, threads);

  g_autoptr (GError) error = NULL;
  g_auto (Listing) l = { 0 };
  if (!build (argv[1], batch, evaluation, precision, &l, &error))
    return command_fail (command, g_steal_pointer (&error));
  g_autoptr (LoomDevices) devices = loom_devices_new (threads);
  LoomPlanOptions options = { .device = device     ? device
                                        : l.device ? l.device
                                                   : "cpu",
                              .no_fusion = no_fusion,
                              .strict_devices = l.strict_devices };
  g_autoptr (LoomPlan) plan = loom_plan_new (l.program, devices, &options, &error);
  if (!plan)
    return command_fail (command, g_steal_pointer (&error));
  g_autofree char *text = loom_plan_print (plan);
  fputs (text, stdout);
  if (l.step && l.step->update)
    {
      g_autoptr (LoomPlan) update = loom_plan_new (l.step->update, devices, &options, &error);
      if (!update)
        return command_fail (command, g_steal_pointer (&error));
      g_autofree char *update_text = loom_plan_print (update);
      printf ("\nafter so many batches as <train> accumulates:\n\n%s", update_text);
    }
  if (l.keeping && !print_saving (&l, plan, devices, &options, &error))
    return command_fail (command, g_steal_pointer (&error));
  return 0;
}

const Command command_plan = {
  .name = "plan",
  .arguments = "GRAPH|RUN",
  .summary = "what runs: fused kernels, devices, memory",
  .run = run_plan,
};
