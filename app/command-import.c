/* `gradloom import`: converts an ONNX model to a graph and a file of weights. */
#include "app/commands.h"
#include "engine/loom-run.h"

#include <stdio.h>
#include <string.h>

typedef struct
{
  char *output;
  gboolean force;
} Options;

/* FALSE with a message if writing would replace an existing file. */
static gboolean
may_write (const Command *command, const Options *options, const char *path)
{
  if (options->force || path == NULL || !loom_path_exists (path))
    return TRUE;
  command_usage (command, "“%s” exists already. Name another graph with -o, or use --force.", path);
  return FALSE;
}

static void
print_ports (const char *title, const GPtrArray *ports)
{
  for (guint i = 0; i < ports->len; i++)
    {
      const LoomOnnxPort *port = ports->pdata[i];
      g_autofree char *shape = loom_shape_to_string (&port->type.shape);
      if (port->node != NULL)
        printf ("%s %s: %s, %s\n", title, port->node, shape, loom_dtype_name (port->type.dtype));
      else
        {
          g_autofree char *quoted = g_strdup_printf ("“%s”", port->name), *name = loom_shorten_quotes (quoted);
          printf ("%s %s is not used\n", title, name);
        }
    }
}

static void
print_summary (const LoomOnnx *model, const char *path, const char *output, const char *weights)
{
  double numbers = 0;

  for (guint i = 0; i < model->weights->len; i++)
    numbers += (double)((const LoomNamedTensor *)model->weights->pdata[i])->tensor->count;
  g_autofree char *shown = command_printable (path), *graph = command_printable (output);
  printf ("%s, operator set %" G_GINT64_FORMAT ":\n", shown, model->opset);
  for (guint i = 0; i < model->mapped->len; i++)
    printf ("  %s\n", (const char *)model->mapped->pdata[i]);
  print_ports ("input", model->inputs);
  print_ports ("output", model->outputs);
  printf ("wrote %s", graph);
  if (model->weights->len > 0)
    {
      g_autofree char *count = command_count (numbers), *file = command_printable (weights);
      printf (" and %s (%u tensors, %s numbers)", file, model->weights->len, count);
    }
  g_autofree char *word = loom_text_shell_word (output);
  printf ("\nTo run it:\n  gradloom run %s", word);
  if (model->weights->len > 0)
    {
      g_autofree char *file = loom_text_shell_word (weights);
      printf (" --weights %s", file);
    }
  for (guint i = 0; i < model->inputs->len; i++)
    {
      const LoomOnnxPort *port = model->inputs->pdata[i];
      if (port->node != NULL)
        printf (" --in %s=%s.npy", port->node, port->node);
    }
  if (model->outputs->len > 0)
    {
      const LoomOnnxPort *port = model->outputs->pdata[0];
      printf (" --out %s=%s.npy", port->node, port->node);
    }
  printf ("\n");
}

static int
run (const Command *command, int argc, char **argv)
{
  Options options = { 0 };
  g_auto (GStrv) sizes = NULL, shapes = NULL;
  g_autofree char *batch = NULL;
  const GOptionEntry entries[] = {
    { "size", 0, 0, G_OPTION_ARG_STRING_ARRAY, &sizes, "Fix an open size of the model's inputs; may be repeated",
      "NAME=N" },
    { "input", 0, 0, G_OPTION_ARG_STRING_ARRAY, &shapes,
      "Fix the shape of an input; a letter leaves a size open; may be repeated", "NAME=1,3,224,224" },
    { "batch", 0, 0, G_OPTION_ARG_STRING, &batch,
      "The model's batch: fixed, or open to any (default: open if the model allows it)", "B" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
      "The graph to write; weights are written next to it (default: MODEL.xml here)", "GRAPH" },
    { "force", 0, 0, G_OPTION_ARG_NONE, &options.force, "Overwrite an existing graph and weights", NULL },
    { NULL },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomOnnx) model = NULL;

  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  g_autofree char *output = options.output;
  if (argc != 2)
    return command_usage (command, argc < 2 ? "MODEL.onnx is missing." : "It takes one MODEL.onnx.");
  if (batch != NULL && !g_str_equal (batch, "fixed") && !g_str_equal (batch, "open"))
    return command_usage (command, "--batch takes fixed or open, not “%s”.", batch);
  if (output == NULL)
    output = command_default_graph (argv[1]);
  g_autofree char *weights = NULL, *weights_file = NULL;
  if (!may_write (command, &options, output))
    return 2;

  model = loom_onnx_read_file (argv[1],
                               &(LoomOnnxInputs){ .sizes = (const char *const *)sizes,
                                                  .shapes = (const char *const *)shapes,
                                                  .batch = g_strcmp0 (batch, "fixed") == 0  ? LOOM_ONNX_BATCH_FIXED
                                                           : g_strcmp0 (batch, "open") == 0 ? LOOM_ONNX_BATCH_OPEN
                                                                                            : LOOM_ONNX_BATCH_AUTO },
                               faults, &error);
  if (model == NULL && error == NULL)
    {
      g_autofree char *shown = command_printable (argv[1]);

      for (guint i = 0; i < loom_faults_length (faults); i++)
        {
          g_autofree char *text = loom_fault_to_string (loom_faults_get (faults, i));
          fprintf (stderr, "%s: %s\n", shown, text);
        }
      fprintf (stderr, "gradloom import: the operators above are not supported; nothing was written. Export the model "
                       "without them, or change it as described.\n");
      return 1;
    }
  if (model == NULL)
    {
      int status = error->code == LOOM_ERROR_USAGE ? 2 : error->code == LOOM_ERROR_OUT_OF_MEMORY ? 3 : 1;
      command_fail (command, g_steal_pointer (&error));
      return status;
    }
  weights_file = loom_onnx_weights_path (model, output);
  if (!may_write (command, &options, weights_file))
    return 2;
  if (!loom_onnx_save (model, output, &weights, &error))
    return command_fail (command, g_steal_pointer (&error));
  print_summary (model, argv[1], output, weights);
  for (guint i = 0; i < model->notes->len; i++)
    command_warn (command, "%s", (const char *)model->notes->pdata[i]);
  return 0;
}

const Command command_import = {
  .name = "import",
  .arguments = "MODEL.onnx [-o GRAPH] [--force]",
  .summary = "convert an ONNX model to a graph",
  .details = "Writes the graph as XML and its weights next to it as safetensors. If operators are not supported,\n"
             "all of them are listed and nothing is written. Values that a model computes from sizes alone\n"
             "become attributes, so sizes must be fixed where a shape is computed: --size and --input do that, and\n"
             "names of other dynamic sizes become symbols. A fixed first size that all inputs have is taken for the\n"
             "batch, and becomes open if each operator is known to keep samples apart. Weights that PyTorch exports\n"
             "to a second file (model.onnx.data) are read from the model's folder.",
  .run = run,
};
