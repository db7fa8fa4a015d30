/* Fills the model of a run from the graph and the caller's options. */
#include "engine/train/read-model.h"

#include "engine/core/loom-refuse.h"
#include "engine/train/train-options.h"

gboolean
read_model_options (const LoomTrainerOptions *options, LoomGraph **graph, LoomRunSettings *settings, GError **error)
{
  if (options->resume != NULL || options->branch != NULL)
    {
      *graph = loom_run_read (options->resume != NULL ? options->resume : options->branch, settings, error);
      if (*graph == NULL)
        return FALSE;
    }
  if (options->resume == NULL && settings->ranks > 1)
    return loom_refuse (error, LOOM_ERROR_USAGE,
                        "The run in %s was trained by %d ranks. Only runs of one rank have branches.", options->branch,
                        settings->ranks);
  if (options->eager && (options->comm != NULL || options->trace != NULL))
    return loom_refuse (
        error, LOOM_ERROR_USAGE,
        "The eager executor trains on one rank, and without a trace. Leave out %s, or use --executor plan.",
        options->trace != NULL ? "--trace" : "--ranks");
  return TRUE;
}

static gboolean
check_graph (TrainModel *model, const LoomGraph *original, const GPtrArray *given, TrainNotes *notes, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  model->net = loom_net_new (model->graph, NULL, faults);
  model->spec = loom_train_spec_new (model->graph, model->net, faults);
  if (!train_options_check (original, given, faults, error))
    return FALSE;
  if (model->spec == NULL)
    {
      const char *file = loom_graph_get_file (original);

      return loom_refuse (
          error, LOOM_ERROR_SCHEMA,
          "%s%sThe <train> element names initial weights but no loss to minimise. Set its loss, for example "
          "loss=\"loss\".",
          file != NULL ? file : "", file != NULL ? ": " : "");
    }
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      /* Only warnings remain, which are shown as notes. */
      LoomFault plain = *loom_faults_get (faults, i);
      plain.is_warning = FALSE;
      g_autofree char *text = loom_fault_to_string (&plain);
      train_notes_add (notes, "%s%s%s", faults->file != NULL ? faults->file : "", faults->file != NULL ? ": " : "",
                       text);
    }
  return TRUE;
}

/* Weights, the order of samples and the progress in an epoch depend on these, so they cannot change when a run is
 * resumed; the number of epochs and the learning rate only affect future steps. spec is of the run's own graph. */
static gboolean
check_resume (const LoomTrainSpec *spec, const LoomTrainerOptions *options, GError **error)
{
  const char *option = options->batch_size > 0 && options->batch_size != spec->batch_size ? "the batch size"
                       : options->seed >= 0 && (guint64)options->seed != spec->seed       ? "the seed"
                       : options->set != NULL && options->set[0] != NULL                  ? "the graph (--set)"
                       : options->weights != NULL || options->match != NULL               ? "the initial weights"
                                                                                          : NULL;

  if (option == NULL)
    return TRUE;
  return loom_refuse (
      error, LOOM_ERROR_USAGE,
      "A resumed run cannot change %s: it keeps its graph, batch size and seed. Leave the option out, or "
      "start a new run. (Epochs, learning rate, device and threads can change.)",
      option);
}

gboolean
read_model_graph (TrainModel *model, const LoomGraph *graph, const LoomTrainerOptions *options, TrainNotes *notes,
                  GError **error)
{
  g_autoptr (GPtrArray) given = train_options_given_new ();
  g_autoptr (LoomGraph) changed = NULL;
  LoomTrainerOptions applied = *options;

  if (options->resume != NULL)
    {
      applied.batch_size = 0;
      applied.seed = -1;
      applied.set = NULL;
      applied.weights = applied.match = NULL;
    }
  changed = train_options_apply (graph, &applied, given, error);
  if (changed == NULL)
    return FALSE;
  model->graph = loom_graph_freeze (changed);
  /* The run's own graph.xml is in another folder, so a relative path would have another meaning there. */
  if (loom_graph_get_folder (graph) != NULL)
    model->data_folder = g_canonicalize_filename (loom_graph_get_folder (graph), NULL);
  return check_graph (model, graph, given, notes, error)
         && (options->resume == NULL || check_resume (model->spec, options, error));
}

/* Opens the device that <train> names; an error is a fault of the file. */
static gboolean
bad_device (const LoomGraph *graph, GError *cause, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  loom_faults_set_file (faults, loom_graph_get_file (graph));
  loom_faults_add (faults, cause->code, loom_element_line (loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN)),
                   NULL, "device", "<train>: %s", cause->message);
  g_error_free (cause);
  return loom_faults_to_error (faults, NULL, error);
}

gboolean
read_model_device (TrainModel *model, const LoomTrainerOptions *options, TrainNotes *notes, GError **error)
{
  const LoomElement *train = loom_element_find (loom_graph_root (model->graph), LOOM_TAG_TRAIN);
  const char *run = options->resume != NULL   ? options->resume
                    : options->branch != NULL ? options->branch
                                              : options->costs_of;
  g_autofree char *why = NULL, *warning = NULL;
  g_autoptr (LoomCostTable) costs = NULL;
  LoomPlanDevice *device;
  GError *local = NULL;

  model->devices = loom_devices_new (model->threads);
  if (options->comm != NULL)
    loom_devices_set_local_rank (model->devices, options->comm->local_rank);
  if (run != NULL && !loom_run_costs (run, options->resume != NULL ? options->resume_step : 0, &costs, &why, error))
    return FALSE;
  if (why != NULL)
    train_notes_add (notes, "%s", why);
  if (costs)
    loom_devices_set_costs (model->devices, costs);
  device = loom_devices_get (model->devices, model->device, &local);
  if (device == NULL && options->device == NULL && options->resume == NULL
      && loom_element_get (train, "device") != NULL)
    return bad_device (model->graph, local, error);
  if (device == NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }
  warning = loom_threads_warning (model->threads);
  if (warning != NULL)
    train_notes_add (notes, "%s", warning);
  model->threads = device->info.threads;
  return TRUE;
}
