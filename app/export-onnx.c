/* `--to onnx`: loads the weights, writes the model, and reports how each node was exported. */
#include "app/export-target.h"
#include "app/shared/adapter-option.h"
#include "engine/loom-run.h"

#include <stdio.h>
#include <string.h>

/* Loads every weight and buffer of the graph from the file, or initialises it as training would. */
static GHashTable *
read_weights (ExportJob *job, const LoomNet *symbolic, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new (), train_faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_bind (symbolic, job->graph, &job->sizes, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (job->graph, net, train_faults);
  g_autoptr (LoomProgram) program = loom_program_new ();
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  guint64 seed = job->seed >= 0 ? (guint64)job->seed : spec != NULL ? spec->seed : 0;
  g_autoptr (LoomState) state = loom_state_new (devices, "cpu", seed);
  g_autoptr (GHashTable) weights
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)loom_tensor_unref);
  g_autofree char *report = NULL;

  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      loom_shape_get (&weight->shape, dims);
      loom_program_slot (program, weight->name, weight->is_buffer ? LOOM_SLOT_BUFFER : LOOM_SLOT_PARAMETER,
                         weight->dtype, weight->shape.rank, dims, &weight->init, FALSE);
    }
  if (!loom_state_add_slots (state, program, error))
    return NULL;
  if (job->values != NULL && !command_set_values (state, job->values, error))
    return NULL;
  if (job->values == NULL && job->weights != NULL
      && !loom_state_load_weights (state, job->weights, job->partial, &report, error))
    return NULL;
  /* Without data, layers have no sizes yet; the export reports that when it writes the model. */
  if (report != NULL && *report && loom_faults_count (faults) == 0)
    command_warn (job->command, "“%s” and the graph differ:%s", job->weights, report);
  if (job->weights == NULL && loom_net_n_weights (net) > 0)
    command_warn (job->command, "--weights is not given, so the weights are the initial ones, before any training.");
  for (guint i = 0; i < loom_net_n_weights (net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (net, i);
      LoomTensor *t = loom_state_get (state, weight->name, error);
      if (t == NULL)
        return NULL;
      g_hash_table_insert (weights, g_strdup (weight->name), t);
    }
  return g_steal_pointer (&weights);
}

/* A size of a symbol that the graph does not have is probably a typing error. */
static gboolean
check_sizes (const ExportJob *job, const LoomNet *net, GError **error)
{
  g_autofree char *dynamic = loom_net_symbols (net);

  for (char c = 'A'; c <= 'Z'; c++)
    if (job->sizes.value[c - 'A'] != 0 && strchr (dynamic, c) == NULL)
      {
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                     "--size %c: the graph has no such dynamic size. Its sizes are %s.", c,
                     *dynamic ? dynamic : "none");
        return FALSE;
      }
  return TRUE;
}

/* Opens the data set as the run read it; the files stored by the run belong to the data set of its training. */
static LoomDataset *
open_dataset (const LoomNet *net, guint node, gpointer data, GError **error)
{
  const ExportJob *job = data;
  g_autoptr (LoomFaults) train_faults = loom_faults_new ();
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (job->graph, net, train_faults);
  LoomDataset *dataset = loom_net_open_dataset (net, (int)node, loom_graph_get_folder (job->graph), error);

  if (dataset == NULL)
    {
      g_prefix_error (error,
                      "The preparation of samples and the names of classes are read from the run's data, which cannot "
                      "be opened; --raw writes only the net. ");
      return NULL;
    }
  if (spec != NULL && spec->dataset_node == (int)node && !loom_run_restore_dataset (job->path, dataset, error))
    g_clear_pointer (&dataset, loom_dataset_free);
  return dataset;
}

static void
print_ports (const LoomOnnxWriter *writer, gboolean outputs)
{
  for (guint i = 0; i < loom_onnx_writer_n_ports (writer, outputs); i++)
    {
      const char *name;
      const LoomType *type;
      loom_onnx_writer_port (writer, outputs, i, &name, &type);
      g_autofree char *shape = loom_shape_to_string (&type->shape);
      g_autofree char *shown = command_printable (name);
      const char *doc = loom_onnx_writer_port_doc (writer, outputs, i);
      printf ("%s %s: %s, %s%s%s\n", outputs ? "output" : "input", shown, shape, loom_dtype_name (type->dtype),
              doc != NULL ? ": " : "", doc != NULL ? doc : "");
    }
}

static int
run (ExportJob *job)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GHashTable) weights = NULL;
  g_autoptr (LoomNet) net = NULL;
  g_autofree char *file = export_file (job), *data = NULL;
  LoomOnnxWriteOptions options = { .inputs = (const char *const *)job->inputs,
                                   .outputs = (const char *const *)job->outputs,
                                   .sizes = job->sizes,
                                   .data = job };
  gboolean is_run;
  int status;

  if (!command_is_folder (job->path, &is_run, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  if (!job->raw && is_run)
    options.open = open_dataset;
  net = loom_net_new (job->graph, NULL, NULL);
  if (!check_sizes (job, net, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  weights = read_weights (job, net, &error);
  if (weights == NULL)
    {
      status = command_fail (job->command, g_steal_pointer (&error));
      return status == 5 ? 1 : status; /* unreadable weights count as wrong weights */
    }
  export_progress (job, 0.3);
  g_autoptr (LoomOnnxWriter) writer = loom_onnx_writer_new (job->graph, &options, weights, faults, &error);
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      g_autofree char *text = loom_fault_to_string (loom_faults_get (faults, i)), *path = command_printable (job->path);
      fprintf (stderr, "%s: %s\n", path, text);
    }
  if (writer == NULL && error == NULL)
    {
      fprintf (stderr, "gradloom export: the nodes above cannot be written; no file was written.\n");
      return 1;
    }
  if (writer == NULL || !loom_onnx_writer_save (writer, file, job->external_data, &data, &error))
    return command_fail (job->command, g_steal_pointer (&error));
  for (guint i = 0; !job->json && i < loom_onnx_writer_mapped (writer)->len; i++)
    {
      g_autofree char *line = command_printable (loom_onnx_writer_mapped (writer)->pdata[i]);
      printf ("  %s\n", line);
    }
  if (!job->json)
    {
      print_ports (writer, FALSE);
      print_ports (writer, TRUE);
    }
  export_wrote (job, file);
  if (data != NULL)
    export_wrote (job, data);
  return 0;
}

const ExportTarget export_onnx = { .format = "onnx", .run = run };
