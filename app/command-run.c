/* `gradloom run`: the command for other tools, specified in docs/using-models.md.
 *
 * It resolves ports and reads every input, which binds symbols; lowers only the requested ports, in evaluation or
 * training mode; appends gradients; runs one step; and writes all files at the end, so that a failure leaves no partial
 * result. */
#include "app/commands.h"
#include "app/run-private.h"

#include <string.h>

static void
port_file_free (PortFile *port_file)
{
  if (port_file == NULL)
    return;
  g_free (port_file->port);
  g_free (port_file->file);
  g_clear_pointer (&port_file->tensor, loom_tensor_unref);
  g_free (port_file);
}

static void
run_free (Run *r)
{
  g_free (r->weights);
  g_free (r->grad);
  g_free (r->grad_output);
  g_free (r->grads);
  g_free (r->mode);
  g_free (r->device);
  g_free (r->dtype);
  g_free (r->save_weights);
  g_free (r->shard_size_text);
  g_strfreev (r->in);
  g_strfreev (r->out);
  g_strfreev (r->print);
  g_strfreev (r->wrt);
  g_clear_pointer (&r->files, g_ptr_array_unref);
  loom_exec_free (r->exec);
  g_clear_pointer (&r->program, loom_program_unref);
  g_clear_pointer (&r->state, loom_state_unref);
  g_clear_pointer (&r->devices, loom_devices_unref);
  g_clear_pointer (&r->data, g_ptr_array_unref);
  g_clear_pointer (&r->datasets, g_hash_table_unref);
  g_clear_pointer (&r->cotangent, loom_tensor_unref);
  g_clear_pointer (&r->ins, g_ptr_array_unref);
  g_clear_pointer (&r->outs, g_ptr_array_unref);
  g_clear_pointer (&r->wrts, g_ptr_array_unref);
  g_clear_pointer (&r->gradients, g_ptr_array_unref);
  port_file_free (r->grad_port);
  loom_net_free (r->net);
  loom_net_free (r->symbolic);
  g_clear_pointer (&r->faults, loom_faults_free);
  g_clear_pointer (&r->graph, loom_graph_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_free)

static PortFile *
port_file_new (const char *text, gboolean with_file)
{
  const char *equals = with_file ? strchr (text, '=') : NULL;
  if (with_file && (equals == NULL || equals == text || equals[1] == 0))
    return NULL;
  PortFile *port_file = g_new0 (PortFile, 1);
  port_file->port = with_file ? g_strndup (text, equals - text) : g_strdup (text);
  port_file->file = with_file ? g_strdup (equals + 1) : NULL;
  return port_file;
}

/* ---- arguments -------------------------------------------------------- */

static int
read_ports (Run *r)
{
  r->ins = g_ptr_array_new_with_free_func ((GDestroyNotify)port_file_free);
  r->outs = g_ptr_array_new_with_free_func ((GDestroyNotify)port_file_free);
  r->wrts = g_ptr_array_new_with_free_func ((GDestroyNotify)port_file_free);
  const struct
  {
    char **words;
    GPtrArray *ports;
    const char *option;
    gboolean with_file;
  } lists[] = { { r->in, r->ins, "--in", TRUE },
                { r->out, r->outs, "--out", TRUE },
                { r->print, r->outs, "--print", FALSE },
                { r->wrt, r->wrts, "--wrt", FALSE } };

  for (guint l = 0; l < G_N_ELEMENTS (lists); l++)
    for (char **word = lists[l].words; word != NULL && *word != NULL; word++)
      {
        PortFile *port_file = port_file_new (*word, lists[l].with_file);
        if (port_file == NULL)
          return command_usage (r->command, "%s takes NODE.PORT=FILE.npy, not “%s”.", lists[l].option, *word);
        g_ptr_array_add (lists[l].ports, port_file);
      }
  /* Two outputs cannot have the same file; a device such as /dev/null accepts any number. */
  for (guint i = 0; i < r->outs->len; i++)
    for (guint k = 0; k < i; k++)
      {
        const PortFile *one = r->outs->pdata[k], *other = r->outs->pdata[i];
        if (one->file == NULL || other->file == NULL)
          continue;
        g_autofree char *a = loom_file_target (one->file), *b = loom_file_target (other->file);
        g_autofree char *full_a = g_canonicalize_filename (a, NULL), *full_b = g_canonicalize_filename (b, NULL);
        if (g_str_equal (full_a, full_b) && (!loom_path_exists (a) || loom_path_is_file (a)))
          return command_usage (r->command, "--out %s and --out %s name the same file, “%s”.", one->port, other->port,
                                other->file);
      }
  if (r->grad != NULL)
    r->grad_port = port_file_new (r->grad, FALSE);
  return 0;
}

static int
check_words (Run *r)
{
  if (r->out == NULL && r->print == NULL && r->grad == NULL && r->save_weights == NULL)
    return command_usage (r->command, "No output is requested. Use --print, --out, --grad or --save-weights.");
  if ((r->grads != NULL || r->wrt != NULL || r->grad_output != NULL) && r->grad == NULL)
    return command_usage (r->command, "--grads, --wrt and --grad-output need --grad PORT, the port to differentiate.");
  if (r->json && g_strcmp0 (r->grads, "-") == 0)
    return command_usage (r->command, "--grads - prints text; with --json name a file.");
  if (r->grad != NULL && r->grads == NULL)
    return command_usage (r->command, "--grad needs --grads F.safetensors, the file to write, or --grads - to print.");
  if (r->mode != NULL && !g_str_equal (r->mode, "eval") && !g_str_equal (r->mode, "train"))
    return command_usage (r->command, "--mode takes eval or train, not “%s”.", r->mode);
  if (r->dtype != NULL && !g_str_equal (r->dtype, "f32") && !g_str_equal (r->dtype, "f64"))
    return command_usage (r->command, "--dtype takes f32 or f64, not “%s”.", r->dtype);
  if (r->partial && r->weights == NULL)
    return command_usage (r->command, "--partial needs --weights.");
  if (r->shard_size_text != NULL && r->save_weights == NULL)
    return command_usage (r->command, "--shard-size needs --save-weights.");
  if (r->shard_size_text != NULL && !loom_bytes_parse (r->shard_size_text, &r->shard_size))
    return command_usage (r->command, "--shard-size takes bytes, such as 500M or 5G, not “%s”.", r->shard_size_text);
  r->float_dtype = g_strcmp0 (r->dtype, "f64") == 0 ? LOOM_F64 : LOOM_F32;
  if (r->device != NULL && !loom_dtype_runs_on (r->float_dtype, r->device))
    return command_usage (r->command, "--dtype %s needs the device %s. Leave out --device %s.", r->dtype,
                          loom_dtype_backend (r->float_dtype), r->device);
  return 0;
}

static gboolean
work (Run *r, const char *path, GError **error)
{
  if (!run_open_graph (r, path, error) || !command_run_weights (path, &r->weights, error)
      || !run_read_inputs (r, error))
    return FALSE;
  run_bind_batch (r);
  return run_rebind (r, error) && run_check_bound (r, error) && run_build_program (r, error) && run_execute (r, error)
         && run_write_outputs (r, error) && (r->grads == NULL || run_write_gradients (r, error))
         && (r->save_weights == NULL || run_save_weights (r, error)) && run_commit (r, error);
}

static int
run_run (const Command *command, int argc, char **argv)
{
  g_auto (Run) r = { .command = command, .seed = -1 };
  const GOptionEntry entries[] = {
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &r.weights, "Weights; every name and shape must match", "FILE[#NAME]" },
    { "partial", 0, 0, G_OPTION_ARG_NONE, &r.partial, "Allow weights that are missing or do not match", NULL },
    { "in", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &r.in,
      "Set the value of an output port, also inside the graph: a file, a number, or nested lists of numbers",
      "NODE[.PORT]=F.npy" },
    { "out", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &r.out,
      "Write a port's value to this file; of .csv, .svg and .png: the last two dimensions as numbers or a heat map",
      "NODE[.PORT]=F.npy" },
    { "print", 0, 0, G_OPTION_ARG_STRING_ARRAY, &r.print, "Print a port's value", "NODE[.PORT]" },
    { "grad", 0, 0, G_OPTION_ARG_STRING, &r.grad, "Compute the gradients of this port", "NODE[.PORT]" },
    { "grad-output", 0, 0, G_OPTION_ARG_FILENAME, &r.grad_output, "The cotangent of this port; not needed for a scalar",
      "F.npy" },
    { "grads", 0, 0, G_OPTION_ARG_FILENAME, &r.grads, "Where gradients go; “-”: print them", "F.safetensors" },
    { "wrt", 0, 0, G_OPTION_ARG_STRING_ARRAY, &r.wrt, "Also compute gradients with respect to this port",
      "NODE[.PORT]" },
    { "mode", 0, 0, G_OPTION_ARG_STRING, &r.mode, "eval (default) or train", "M" },
    { "device", 0, 0, G_OPTION_ARG_STRING, &r.device, "Device (default: cpu)", "D" },
    { "dtype", 0, 0, G_OPTION_ARG_STRING, &r.dtype, "f32 (default), or f64 with device ref", "T" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &r.seed, "Seed (default: the graph's, else 0)", "N" },
    { "save-weights", 0, 0, G_OPTION_ARG_FILENAME, &r.save_weights,
      "Write parameters and buffers to this file afterwards", "F" },
    { "shard-size", 0, 0, G_OPTION_ARG_STRING, &r.shard_size_text,
      "Write them as shards of at most this size, with an index F.index.json (500M, 5G)", "BYTES" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &r.threads, "Threads of the CPU device (default: all)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &r.json, "Print one JSON object for each --out and --print", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH or one RUN folder.");
  command_warn_of_threads (command, r.threads);
  int status = check_words (&r);
  if (status == 0)
    status = read_ports (&r);
  if (status != 0)
    return status;

  g_autoptr (GError) error = NULL;
  r.path = argv[1];
  if (!work (&r, r.path, &error))
    {
      run_name_files (&r, error);
      return command_fail (command, g_steal_pointer (&error));
    }
  if (r.devices != NULL)
    command_warn_of_costs (command, r.devices);
  run_print_outputs (&r);
  return 0;
}

const Command command_run = {
  .name = "run",
  .arguments = "GRAPH|RUN",
  .summary = "compute values and gradients of ports from files",
  .details
  = "Only nodes that the requested ports need are computed. Dataset ports without --in are the first batch of the\n"
    "test samples, in file order. Gradients are written under the weights' names and as input:PORT. For a RUN\n"
    "folder the newest weights are used, or their moving averages if it has them, unless --weights names others.",
  .run = run_run,
};
