/* `gradloom check`: lists all faults of a graph, or a table of its nodes. */
#include "app/check-copies.h"
#include "app/check-devices.h"
#include "app/check-fix.h"
#include "app/check-lecture.h"
#include "app/commands.h"
#include "app/laboratory.h"
#include "app/shared/checked-graph.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "B × 10", or "x B × 1 × 28 × 28, y B" for several outputs; within a loop, the shapes of one iteration. */
static char *
shapes_of (const LoomNetNode *node)
{
  GString *s = g_string_new (NULL);

  for (guint o = 0; o < node->n_outputs; o++)
    {
      g_autofree char *shape = loom_shape_to_string (&node->output[o].shape);
      g_string_append (s, o ? ", " : "");
      if (node->n_outputs > 1)
        g_string_append_printf (s, "%s ", node->output_spec[o].name);
      g_string_append (s, shape);
    }
  if (node->loop != G_MAXUINT)
    g_string_append (s, " a step");
  return g_string_free (s, FALSE);
}

static void
print_padded (const char *text, int width, gboolean right)
{
  int space = MAX (0, width - (int)g_utf8_strlen (text, -1));
  printf ("%*s%s%*s", right ? space : 0, "", text, right ? 0 : space, "");
}

static void
print_row (const char *const *cell, const int *width, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      print_padded (cell[i], width[i], i >= 4);
      printf ("%s", i + 1 == n ? "\n" : "  ");
    }
}

static char *
human_flops (double flops)
{
  return flops >= 1e9   ? g_strdup_printf ("%.2f G", flops / 1e9)
         : flops >= 1e6 ? g_strdup_printf ("%.2f M", flops / 1e6)
         : flops >= 1e3 ? g_strdup_printf ("%.2f k", flops / 1e3)
                        : g_strdup_printf ("%.0f", flops);
}

#define COLUMNS 7

/* net is symbolic, for shapes; bound has the costs of one batch. device applies to nodes that name none. */
static void
print_table (const LoomNet *net, const LoomNet *bound, gint64 batch, const char *device)
{
  static const char *const head[COLUMNS] = { "node", "operator", "device", "shape", "parameters", "FLOPs", "output" };
  guint n = loom_net_n_nodes (net);
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (g_free);
  int width[COLUMNS];
  double parameters = 0, flops = 0, bytes = 0;

  for (guint c = 0; c < COLUMNS; c++)
    width[c] = g_utf8_strlen (head[c], -1);
  for (guint i = 0; i < n; i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      const LoomCost *cost = &loom_net_node (bound, i)->cost;
      parameters += cost->parameters;
      flops += cost->flops;
      bytes += cost->bytes;
      g_ptr_array_add (cells, g_strdup (node->path));
      g_ptr_array_add (cells, g_strdup (node->op->name));
      g_ptr_array_add (cells, g_strdup (node->device != NULL ? node->device : device));
      g_ptr_array_add (cells, shapes_of (node));
      g_ptr_array_add (cells, command_count (cost->parameters));
      g_ptr_array_add (cells, human_flops (cost->flops));
      g_ptr_array_add (cells, loom_bytes_to_string (cost->bytes));
    }
  g_ptr_array_add (cells, g_strdup ("total"));
  g_ptr_array_add (cells, g_strdup (""));
  g_ptr_array_add (cells, g_strdup (""));
  g_ptr_array_add (cells, g_strdup_printf ("B = %" G_GINT64_FORMAT, batch));
  g_ptr_array_add (cells, command_count (parameters));
  g_ptr_array_add (cells, human_flops (flops));
  g_ptr_array_add (cells, loom_bytes_to_string (bytes));

  for (guint i = 0; i < cells->len; i++)
    width[i % COLUMNS] = MAX (width[i % COLUMNS], (int)g_utf8_strlen (cells->pdata[i], -1));
  print_row (head, width, COLUMNS);
  for (guint i = 0; i < cells->len; i += COLUMNS)
    print_row ((const char *const *)cells->pdata + i, width, COLUMNS);
}

static void
add_cost (LoomJson *json, const LoomCost *cost)
{
  loom_json_fixed (json, "parameters", cost->parameters, 0);
  loom_json_number (json, "flops", cost->flops);
  loom_json_fixed (json, "bytes", cost->bytes, 0);
}

static void
print_json (const LoomNet *net, const LoomNet *bound, const char *device)
{
  LoomCost total = { 0 };
  LoomJson *json;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      const LoomCost *cost = &loom_net_node (bound, i)->cost;
      total.parameters += cost->parameters;
      total.flops += cost->flops;
      total.bytes += cost->bytes;
      json = command_event_new ("node");
      loom_json_string (json, "node", node->path);
      loom_json_string (json, "op", node->op->name);
      if (node->loop != G_MAXUINT)
        loom_json_string (json, "loop", loom_net_node (net, node->loop)->path);
      loom_json_string (json, "device", node->device != NULL ? node->device : device);
      loom_json_begin_array (json, "outputs");
      for (guint o = 0; o < node->n_outputs; o++)
        {
          g_autofree char *shape = loom_shape_to_attribute (&node->output[o].shape);
          loom_json_begin_object (json, NULL);
          loom_json_string (json, "port", node->output_spec[o].name);
          loom_json_string (json, "dtype", loom_dtype_name (node->output[o].dtype));
          loom_json_string (json, "shape", shape);
          loom_json_end_object (json);
        }
      loom_json_end_array (json);
      add_cost (json, cost);
      command_event_print (json);
    }
  json = command_event_new ("total");
  add_cost (json, &total);
  command_event_print (json);
}

/* The bytes that stay allocated during training for any batch size: parameters and optimiser state. */
static double
static_bytes (const CheckMemory *memory, const LoomNet *bound)
{
  double bytes = 0;

  for (guint d = 0; d < memory->devices->len; d++)
    {
      const gsize *owners = &g_array_index (memory->bytes, gsize, d * LOOM_N_OWNERS);

      bytes += (double)owners[LOOM_OWNER_PARAMETERS] + (double)owners[LOOM_OWNER_OPTIMIZER];
    }
  for (guint i = 0; i < loom_net_n_nodes (bound) && memory->devices->len == 0; i++)
    bytes += 4 * loom_net_node (bound, i)->cost.parameters;
  return bytes;
}

static void
warn_of_memory (const Command *command, double bytes, gboolean trains)
{
  double memory = (double)sysconf (_SC_PHYS_PAGES) * sysconf (_SC_PAGESIZE);

  if (memory <= 0 || bytes <= memory)
    return;
  g_autofree char *needed = loom_bytes_to_string (bytes), *there = loom_bytes_to_string (memory);
  command_warn (command, "the parameters%s need %s, but this machine has %s of memory. Make layers smaller.",
                trains ? " and the optimiser's state" : "", needed, there);
}

/* gradloom-lab compares gradients (app/lab/command-gradcheck.c). */
static int
run_gradcheck (const Command *command, char **words, char **in, gint64 batch_size, gboolean json)
{
  g_autoptr (GPtrArray) argv = g_ptr_array_new_with_free_func (g_free);

  g_ptr_array_add (argv, g_strdup (command->name));
  if (batch_size != 0)
    g_ptr_array_add (argv, g_strdup_printf ("--batch-size=%" G_GINT64_FORMAT, batch_size));
  if (json)
    g_ptr_array_add (argv, g_strdup ("--json"));
  for (guint i = 0; in != NULL && in[i] != NULL; i++)
    g_ptr_array_add (argv, g_strconcat ("--in=", in[i], NULL));
  g_ptr_array_add (argv, g_strdup ("--"));
  for (guint i = 0; words[i] != NULL; i++)
    g_ptr_array_add (argv, g_strdup (words[i]));
  return laboratory_run (command, (int)argv->len, (char **)argv->pdata);
}

/* GLib would take the word after an option with an optional number for that number, so --fix becomes --fix=0. */
static void
number_fix (int argc, char **argv)
{
  for (int i = 1; i < argc && strcmp (argv[i], "--") != 0; i++)
    if (strcmp (argv[i], "--fix") == 0)
      argv[i] = (char *)"--fix=0";
}

static int
run_check (const Command *command, int argc, char **argv)
{
  gint64 batch_size = 0;
  int fix = -1;
  gboolean json = FALSE, gradcheck = FALSE;
  g_autofree char *device = NULL, *output = NULL;
  g_auto (GStrv) in = NULL;
  const GOptionEntry entries[] = {
    { "fix", 0, 0, G_OPTION_ARG_INT, &fix, "Fix faults as Studio's buttons do (without N: if there is one fix)", "N" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &output, "With --fix: write the fixed graph to this file", "FILE" },
    { "gradcheck", 0, 0, G_OPTION_ARG_NONE, &gradcheck,
      "Compare gradients with finite differences (NODEs after GRAPH: only of these)", NULL },
    { "in", 0, 0, G_OPTION_ARG_STRING_ARRAY, &in,
      "With --gradcheck: the values of a port at which gradients are compared", "PORT=F.npy" },
    { "batch-size", 0, 0, G_OPTION_ARG_INT64, &batch_size, "Batch size B for costs (default: the graph's, else 1)",
      "N" },
    { "device", 0, 0, G_OPTION_ARG_STRING, &device, "Device (default: the graph's, else cpu)", "D" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &json, "Print one JSON object per line", NULL },
    { NULL },
  };
  number_fix (argc, argv);
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2 && !(gradcheck && argc > 2))
    return command_usage (command, "It takes one GRAPH or one RUN folder.");
  if (fix < -1)
    return command_usage (command, "--fix takes the number of a fix, not %d.", fix);
  if (fix < 0 && output != NULL)
    return command_usage (command, "-o is the file of --fix.");
  if (fix >= 0 && (gradcheck || in != NULL || batch_size != 0 || device != NULL))
    return command_usage (command, "--fix goes with -o and --json alone.");
  if (fix >= 0)
    return check_fix (command, argv[1], output, (guint)fix, json);
  if (g_str_has_suffix (argv[1], LOOM_LECTURE_SUFFIX))
    return check_lecture (command, argv[1], json);
  if (in && !gradcheck)
    return command_usage (command, "--in sets values for --gradcheck.");

  if (gradcheck)
    return run_gradcheck (command, argv + 1, in, batch_size, json);

  g_auto (CheckedGraph) checked = { 0 };
  if (!checked_graph_read (command, argv[1], json, &checked))
    return 1;
  g_autoptr (GError) error = NULL;
  const LoomGraph *graph = checked.graph;
  const LoomNet *net = checked.net;
  LoomTrainSpec *spec = checked.spec;
  LoomBinding binding = { 0 };
  gint64 batch = batch_size ? batch_size : spec != NULL ? spec->batch_size : 1;
  g_autoptr (LoomFaults) bound_faults = loom_faults_new ();
  binding.value['B' - 'A'] = batch;
  g_autoptr (LoomNet) bound = loom_net_bind (checked.net, graph, &binding, bound_faults);
  /* Finds faults of the step as a whole: no trainable weight, or two assignments to one state. */
  g_autoptr (LoomStep) step = spec != NULL ? loom_step_new (spec, batch, TRUE, &error) : NULL;
  if (error != NULL)
    {
      loom_faults_add (checked.faults, error->code,
                       loom_element_line (loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN)), NULL, NULL,
                       "<train>: %s", error->message);
      checked_graph_print_faults (checked.faults, argv[1], json);
      return 1;
    }

  g_auto (CheckMemory) memory = { 0 };
  g_autoptr (LoomFaults) device_faults = loom_faults_new ();
  loom_faults_set_file (device_faults, loom_graph_get_file (graph));
  const char *on = device != NULL ? device : spec != NULL ? spec->device : "cpu";
  gboolean good = check_devices (graph, net, spec, batch, device, device_faults, &memory);
  checked_graph_print_faults (device_faults, argv[1], json);
  /* Copies between devices can be listed without the devices. */
  if (!good)
    {
      check_copies_print (bound, on, spec != NULL, json);
      return 1;
    }
  if (json)
    print_json (net, bound, on);
  else
    print_table (net, bound, batch, on);
  check_memory_print (&memory, spec != NULL, batch, json);
  check_copies_print (bound, on, spec != NULL, json);
  warn_of_memory (command, static_bytes (&memory, bound), spec != NULL);
  return 0;
}

const Command command_check = {
  .name = "check",
  .arguments = "GRAPH|RUN [NODE…]",
  .summary = "validate a graph; list its nodes with device, shape, parameters and FLOPs, and its memory by kind",
  .details
  = "Prints all faults with line, node, port and fix; the exit status is then 1. Everything that `train` or `run`\n"
    "would refuse is a fault, including devices that this machine does not have; data outside the graph's folder\n"
    "are only reported. Memory is that of a training step (without <train>: of an evaluation) on each device, by\n"
    "kind; the column output is the memory of a node's results. If nodes have several devices, the tensors that are\n"
    "copied between them are listed, even for devices that this machine does not have.\n\n"
    "--fix prints a line for each fix that removes a fault, and with -o writes the graph. The status is 1 if faults\n"
    "remain, or if one has several fixes; these are then listed, and --fix=N chooses.\n\n"
    "Of a lecture (X.lecture) it prints the stops, each with its slides and pages, and their faults.",
  .run = run_check,
};
