#include "engine/infer/loom-predictor.h"

#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/interop/loom-weights.h"
#include "engine/recipe/loom-train-spec.h"
#include "engine/run/loom-exec.h"
#include "engine/infer/loom-alignment.h"
#include "engine/infer/loom-answer-port.h"
#include "engine/infer/loom-run-files.h"
#include "engine/infer/predictor-private.h"

static void
forget_exec (LoomPredictor *self)
{
  g_clear_pointer (&self->exec, loom_exec_free);
  g_clear_pointer (&self->state, loom_state_unref);
  g_clear_pointer (&self->bound, loom_net_free);
  g_clear_pointer (&self->bound_graph, loom_graph_unref);
}

void
loom_predictor_free (LoomPredictor *self)
{
  if (self == NULL)
    return;
  forget_exec (self);
  g_clear_pointer (&self->devices, loom_devices_unref);
  loom_dataset_free (self->dataset);
  loom_net_free (self->net);
  loom_graph_unref (self->graph);
  g_free (self->no_dataset);
  g_free (self->needs);
  g_free (self->input_name);
  g_free (self->output_name);
  g_free (self->device);
  g_free (self->weights);
  g_clear_pointer (&self->values, g_ptr_array_unref);
  g_free (self);
}

/* ---- reading ------------------------------------------------------------ */

/* A net that was trained with prepared numbers predicts wrongly for others. FALSE if the data set prepares samples;
 * cause: why it could not be opened. */
static gboolean
check_preparation (const LoomPredictor *self, const GError *cause, GError **error)
{
  static const char *const names[] = { "mean", "std", "normalize", "missing" };
  static const char *const nothing[] = { "", "none", "refuse", "drop", NULL };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      const char *value = loom_element_get (self->dataset_node, names[i]);

      if (value == NULL || g_strv_contains (nothing, value))
        continue;
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_DATA,
          "The net reads samples that its data set prepares (%s=\"%s\"), and that data set cannot be opened: %s",
          names[i], value, cause->message);
      return FALSE;
    }
  return TRUE;
}

static gboolean
open_reading (LoomPredictor *self, const char *run, GError **error)
{
  const LoomNetNode *node = loom_net_node (self->net, self->input.node);
  const LoomType *type = &node->output[self->input.output];
  const LoomDatasetClass *klass;
  g_autoptr (GError) local = NULL;
  const char *source;

  if (!node->typed || type->shape.rank == 0)
    return loom_refuse (error, LOOM_ERROR_SHAPE, "The type of “%s” is not known.", self->input_name);
  for (int i = 1; i < type->shape.rank; i++)
    if (loom_dim_value (type->shape.dim[i], NULL) < 0)
      {
        g_autofree char *shape = loom_shape_to_string (&type->shape);
        return loom_refuse (
            error, LOOM_ERROR_SHAPE,
            "“%s” is %s, but only the number of samples may be unknown. Use “gradloom run” for other shapes.",
            self->input_name, shape);
      }
  if (node->op->role != LOOM_ROLE_DATASET)
    return TRUE;
  self->dataset_node = node->element;
  source = loom_element_get (node->element, "source");
  klass = source != NULL ? loom_dataset_class (source) : NULL;
  self->is_text = klass != NULL && loom_dataset_class_is_text (klass);
  self->dataset = loom_net_open_dataset (self->net, (int)self->input.node, loom_graph_get_folder (self->graph), &local);
  if (self->dataset == NULL && !check_preparation (self, local, error))
    return FALSE;
  if (self->dataset == NULL)
    self->no_dataset = g_strdup (local->message);
  return run == NULL || self->dataset == NULL || loom_run_restore_dataset (run, self->dataset, error);
}

/* The splits are those of the run. */
static gboolean
divide_folds (const LoomPredictor *self, const LoomTrainSpec *spec, GError **error)
{
  return spec == NULL || spec->folds == 0 || self->dataset == NULL
         || loom_dataset_fold (self->dataset, spec->folds, spec->fold - 1, spec->seed, error);
}

/* ---- opening ------------------------------------------------------------ */

/* Several ports of one data set are accepted; only a batch of all of them can then be computed. */
static gboolean
find_input (LoomPredictor *self, GError **error)
{
  g_autoptr (GArray) all = NULL;
  g_autoptr (GError) local = NULL;
  gboolean has_first = FALSE;

  if (loom_answer_find_input (self->net, &self->output, &self->input, &self->writes, &local))
    return TRUE;
  all = loom_answer_list_inputs (self->net, &self->output);
  self->input.node = all->len > 0 ? g_array_index (all, LoomNetSource, 0).node : 0;
  self->input.output = 0;
  for (guint i = 0; i < all->len; i++)
    {
      const LoomNetSource *source = &g_array_index (all, LoomNetSource, i);

      if (source->node != self->input.node || !loom_net_is_dataset (self->net, source->node))
        break;
      has_first = has_first || source->output == 0;
      if (i + 1 == all->len && has_first)
        {
          self->needs = g_strdup (local->message);
          return TRUE;
        }
    }
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

/* Missing data is no fault if the data set's types are known without them. */
static gboolean
check_faults (const LoomFaults *faults, GError **error)
{
  for (guint i = 0; i < loom_faults_length (faults); i++)
    {
      const LoomFault *fault = loom_faults_get (faults, i);
      if (!fault->is_warning && fault->code != LOOM_ERROR_DATA && fault->code != LOOM_ERROR_IO)
        return loom_faults_to_error (faults, NULL, error);
    }
  return TRUE;
}

/* Kernels are those that the run chose. */
static gboolean
take_costs (LoomPredictor *self, const char *run, GError **error)
{
  g_autofree char *why = NULL;
  g_autoptr (LoomCostTable) costs = NULL;

  if (run != NULL && !loom_run_costs (run, 0, &costs, &why, error))
    return FALSE;
  if (costs)
    loom_devices_set_costs (self->devices, costs);
  if (why != NULL)
    loom_cost_table_note (loom_devices_costs (self->devices), why);
  return TRUE;
}

char *
loom_predictor_take_note (LoomPredictor *self)
{
  return loom_cost_table_take_note (loom_devices_costs (self->devices));
}

LoomPredictor *
loom_predictor_new (const LoomGraph *graph, const LoomPredictorOptions *options, GError **error)
{
  g_autoptr (LoomPredictor) self = g_new0 (LoomPredictor, 1);
  g_autoptr (LoomFaults) faults = loom_faults_new (), train_faults = loom_faults_new ();

  self->graph = loom_graph_copy (graph);
  self->net = loom_net_new (self->graph, NULL, faults);
  if (!check_faults (faults, error))
    return NULL;
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (self->graph, self->net, train_faults);
  /* For a graph that cannot be trained the error is its fault; if the port is named, it does not depend on <train>. */
  if (spec == NULL && options->output == NULL
      && loom_element_find (loom_graph_root (self->graph), LOOM_TAG_TRAIN) != NULL
      && (!loom_faults_to_error (faults, NULL, error) || !loom_faults_to_error (train_faults, NULL, error)))
    return NULL;
  if (!loom_answer_find_output (self->net, spec, options->output, &self->output, error))
    return NULL;
  const LoomNetNode *node = loom_net_node (self->net, self->output.node);
  if (!node->typed || loom_net_is_weight (self->net, &self->output))
    {
      if (loom_faults_to_error (faults, NULL, error))
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                     "“%s” does not have the samples as its first dimension. Name another port with --output.",
                     options->output != NULL ? options->output : node->path);
      return NULL;
    }
  self->output_name = loom_net_port_name (self->net, self->output.node, self->output.output);
  self->output_kind = loom_train_output_kind (spec, self->net, &self->output);
  self->blank = loom_answer_find_blank (self->net, &self->output);
  if (!find_input (self, error))
    return NULL;
  self->input_name = loom_net_port_name (self->net, self->input.node, self->input.output);
  if (!open_reading (self, options->run, error) || !divide_folds (self, spec, error))
    return NULL;
  self->devices = loom_devices_new (options->threads);
  if (!take_costs (self, options->run, error))
    return NULL;
  self->device = g_strdup (options->device != NULL ? options->device : "cpu");
  self->weights = g_strdup (options->weights);
  self->values = options->values != NULL ? g_ptr_array_ref (options->values) : NULL;
  self->seed = spec != NULL ? spec->seed : 0;
  self->direct = spec != NULL && spec->direct;
  self->tf32 = spec != NULL && spec->tf32;
  return loom_devices_get (self->devices, self->device, error) != NULL ? g_steal_pointer (&self) : NULL;
}

const LoomType *
loom_predictor_input (const LoomPredictor *self)
{
  return &loom_net_node (self->net, self->input.node)->output[self->input.output];
}

const LoomDataset *
loom_predictor_dataset (const LoomPredictor *self, const char **why)
{
  if (why != NULL)
    *why = self->no_dataset;
  return self->dataset;
}

gboolean
loom_predictor_reads_text (const LoomPredictor *self)
{
  return self->is_text;
}

gboolean
loom_predictor_writes (const LoomPredictor *self)
{
  return self->writes;
}

gboolean
loom_predictor_aligns (const LoomPredictor *self)
{
  return self->blank >= 0;
}

const char *const *
loom_predictor_class_names (const LoomPredictor *self, gint64 n_classes)
{
  const char *const *names = self->dataset != NULL ? loom_dataset_class_names (self->dataset) : NULL;

  return names != NULL && g_strv_length ((char **)names) == n_classes ? names : NULL;
}

/* ---- a plan for n samples ------------------------------------------ */

static const LoomTensor *
find_value (const LoomPredictor *self, const char *name)
{
  for (guint i = 0; i < self->values->len; i++)
    {
      const LoomNamedTensor *value = self->values->pdata[i];

      if (g_str_equal (value->name, name))
        return value->tensor;
    }
  return NULL;
}

/* The values are those of the same graph, so each weight is there. */
static gboolean
load_values (LoomPredictor *self, LoomState *state, const LoomProgram *p, GError **error)
{
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      const LoomTensor *value;

      if (slot->kind != LOOM_SLOT_PARAMETER && slot->kind != LOOM_SLOT_BUFFER)
        continue;
      value = find_value (self, slot->name);
      if (value == NULL)
        return loom_refuse (error, LOOM_ERROR_DATA, "The run has no weight “%s”.", slot->name);
      g_autoptr (LoomTensor) t = loom_tensor_convert (value, slot->dtype, FALSE, error);
      if (t == NULL || !loom_state_set (state, slot->name, t, error))
        return FALSE;
    }
  return TRUE;
}

/* The file needs only the weights that are used: a run of a larger net has more. */
static gboolean
load_weights (LoomPredictor *self, LoomState *state, const LoomProgram *p, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (LoomTensorFile) file = loom_tensor_file_open (self->weights, &local);
  g_autoptr (GString) wrong = g_string_new (NULL);

  if (file == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s",
                   local->message); /* a fault of the weights, not of the disk */
      return FALSE;
    }

  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);

      if (slot->kind == LOOM_SLOT_PARAMETER || slot->kind == LOOM_SLOT_BUFFER)
        g_ptr_array_add (names, (gpointer)slot->name);
    }
  g_free (loom_weights_fit_names (file, (const char *const *)names->pdata, names->len));
  for (guint i = 0; i < loom_program_n_slots (p); i++)
    {
      const LoomSlot *slot = loom_program_get_slot (p, i);
      const LoomType want = { .dtype = slot->dtype, .shape = loom_shape (slot->rank, (const gint64 *)slot->dim) };
      g_autofree char *here = NULL, *there = NULL;
      guint k;

      if (slot->kind != LOOM_SLOT_PARAMETER && slot->kind != LOOM_SLOT_BUFFER)
        continue;
      if (loom_weight_fit (file, slot->name, &want, &k, &here, &there) != LOOM_WEIGHT_FITS)
        {
          loom_weight_add_mismatch (wrong, slot->name, here, there);
          continue;
        }
      g_autoptr (LoomTensor) raw = loom_tensor_file_tensor (file, k, error);
      g_autoptr (LoomTensor) t = raw ? loom_tensor_convert (raw, slot->dtype, FALSE, error) : NULL;
      if (t == NULL || !loom_state_set (state, slot->name, t, error))
        return FALSE;
    }
  if (wrong->len > 0)
    loom_weights_set_error (error, self->weights, wrong->str, FALSE);
  return wrong->len == 0;
}

LoomNet *
predictor_net (LoomPredictor *self, gint64 n, gint64 length, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  LoomBinding binding = { 0 };

  binding.value['B' - 'A'] = n;
  g_clear_pointer (&self->bound_graph, loom_graph_unref);
  if (self->is_text)
    {
      self->bound_graph = loom_graph_copy (self->graph);
      g_autofree char *context = g_strdup_printf ("%" G_GINT64_FORMAT, length);
      LoomElement *node = loom_graph_by_serial (self->bound_graph, loom_element_serial (self->dataset_node));
      loom_edit_free (loom_graph_apply (self->bound_graph, loom_edit_set (node, "context", context)));
    }
  g_autoptr (LoomNet) net = self->is_text ? loom_net_new (self->bound_graph, &binding, faults)
                                          : loom_net_bind (self->net, self->graph, &binding, faults);
  if (check_faults (faults, error) && loom_net_node (net, self->output.node)->typed)
    return g_steal_pointer (&net);
  if (error != NULL && *error == NULL)
    loom_faults_to_error (faults, NULL, error);
  return NULL;
}

LoomLowerOptions
predictor_lower_options (const LoomPredictor *self, guint n, const LoomNetSource *wanted)
{
  return (LoomLowerOptions){ .float_dtype = LOOM_F32,
                             .n_wanted = n,
                             .wanted = wanted,
                             .seed = self->seed,
                             .direct = self->direct,
                             .tf32 = self->tf32 };
}

LoomExec *
predictor_exec (LoomPredictor *self, LoomState *state, LoomProgram *p, GError **error)
{
  LoomPlanOptions options
      = { .device = self->device, .strict_devices = loom_graph_strict_devices (self->graph), .fixed_weights = TRUE };
  guint before = loom_state_n_slots (state);
  LoomPlan *plan;

  if (!loom_state_add_slots (state, p, error))
    return NULL;
  if (loom_state_n_slots (state) > before
      && ((self->values != NULL && !load_values (self, state, p, error))
          || (self->values == NULL && self->weights != NULL && !load_weights (self, state, p, error))))
    return NULL;
  plan = loom_plan_new (p, self->devices, &options, error);
  return plan != NULL ? loom_exec_new (plan, state, error) : NULL;
}

static gboolean
prepare (LoomPredictor *self, gint64 n, gint64 length, GError **error)
{
  LoomLowerOptions options = predictor_lower_options (self, 1, &self->output);
  LoomValue value;

  if (self->exec != NULL && self->n == n && self->length == length)
    return TRUE;
  forget_exec (self);
  self->bound = predictor_net (self, n, length, error);
  g_autoptr (LoomProgram) lowered = self->bound != NULL ? loom_lower (self->bound, &options, &value, error) : NULL;
  if (lowered == NULL)
    return FALSE;
  g_autoptr (LoomProgram) p = loom_program_hoist (lowered, 1, &value);
  loom_program_output (p, "answer", value);
  self->state = loom_state_new (self->devices, self->device, self->seed);
  self->exec = predictor_exec (self, self->state, p, error);
  self->n = n;
  self->length = length;
  return self->exec != NULL;
}

static void
feed (LoomPredictor *self, const LoomTensor *batch)
{
  const LoomProgram *program = loom_plan_program (loom_exec_plan (self->exec));

  for (guint i = 0; i < loom_program_n_inputs (program); i++)
    {
      const LoomTensor *value = batch;

      for (guint p = 0; self->ports != NULL && p < self->ports->len; p++)
        {
          g_autofree char *name = loom_net_port_name (self->net, self->input.node, p);

          if (g_str_equal (name, loom_program_get_input (program, i)->name))
            value = self->ports->pdata[p];
        }
      loom_exec_feed (self->exec, i, value->data);
    }
}

LoomTensor *
loom_predictor_compute (LoomPredictor *self, const LoomTensor *batch, GError **error)
{
  const guint n = (guint)batch->dim[0];
  g_autoptr (GError) local = NULL;
  const gint64 length = batch->rank > 1 ? batch->dim[1] : 1;

  if (self->needs != NULL && self->ports == NULL)
    {
      g_set_error_literal (error, LOOM_ERROR, LOOM_ERROR_USAGE, self->needs);
      return NULL;
    }
  if (!prepare (self, n, length, &local))
    {
      const gint64 context = loom_dim_value (loom_predictor_input (self)->shape.dim[1], NULL);
      if (self->is_text && length < context && (local->code == LOOM_ERROR_SHAPE || local->code == LOOM_ERROR_DATA))
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                     "The net reads exactly %" G_GINT64_FORMAT " characters, but the text has only %" G_GINT64_FORMAT
                     ". Use a longer text.",
                     context, length);
      else
        g_propagate_error (error, g_steal_pointer (&local));
      return NULL;
    }
  feed (self, batch);
  if (!loom_exec_run (self->exec, error))
    return NULL;
  return loom_exec_output (self->exec, (guint)loom_exec_find_output (self->exec, "answer"), error);
}

/* The answers for n samples in the numbers of the port. every_position: of a text, too. */
static GPtrArray *
new_answers (const LoomPredictor *self, const LoomTensor *t, gboolean every_position, guint n, GError **error)
{
  if (self->blank >= 0)
    return loom_answers_new_aligned (t, self->output_name, self->blank, n, error);
  return loom_answers_new (t, self->output_name, self->output_kind, self->is_text && !every_position, n, error);
}

static GPtrArray *
run_batch (LoomPredictor *self, const LoomTensor *batch, GError **error)
{
  g_autoptr (LoomTensor) t = loom_predictor_compute (self, batch, error);

  return t != NULL ? new_answers (self, t, FALSE, (guint)batch->dim[0], error) : NULL;
}

GPtrArray *
predictor_run_ports (LoomPredictor *self, GPtrArray *ports, guint x, guint n, GError **error)
{
  g_autoptr (LoomTensor) t = NULL;

  self->ports = ports;
  t = loom_predictor_compute (self, ports->pdata[x], error);
  self->ports = NULL;
  return t != NULL ? new_answers (self, t, TRUE, n, error) : NULL;
}

GPtrArray *
loom_predictor_run (LoomPredictor *self, LoomTensor *const samples[], guint n, GError **error)
{
  const LoomTensor *one = samples[0];
  gint64 dims[LOOM_SHAPE_MAX_RANK] = { n };

  memcpy (dims + 1, one->dim, one->rank * sizeof *dims);
  g_autoptr (LoomTensor) batch = loom_tensor_new (one->dtype, one->rank + 1, dims, error);
  if (batch == NULL)
    return NULL;
  for (guint i = 0; i < n; i++)
    memcpy ((char *)batch->data + i * one->bytes, samples[i]->data, one->bytes);
  return run_batch (self, batch, error);
}
