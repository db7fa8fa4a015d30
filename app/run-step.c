/* `gradloom run`: loads weights, runs one step, writes outputs. Files are written at the end, so a failure leaves no
 * partial result. */
#include "app/run-map.h"
#include "app/run-private.h"
#include "app/tensor-text.h"

#include <math.h>
#include <stdio.h>

#define MAX_UNKNOWN 10

/* ---- weights ---------------------------------------------------------- */

static gboolean
load_weights (Run *r, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (LoomTensorFile) file = loom_tensor_file_open (r->weights, &local);
  g_autoptr (GString) wrong = g_string_new (NULL);

  if (file == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "--weights: %s", local->message);
      return FALSE;
    }
  g_autofree gboolean *used = g_new0 (gboolean, loom_tensor_file_count (file) + 1);
  g_autofree const char **names = g_new (const char *, loom_net_n_weights (r->net) + 1);

  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    names[i] = loom_net_weight (r->net, i)->name;
  g_autofree char *fitted = loom_weights_fit_names (file, names, loom_net_n_weights (r->net));
  if (fitted != NULL)
    command_warn (r->command, "“%s” %s.", r->weights, fitted);
  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      const LoomType want = { .dtype = weight->dtype, .shape = weight->shape };
      g_autofree char *here = NULL, *there = NULL;
      guint index;
      LoomWeightFit fit = loom_weight_fit (file, weight->name, &want, &index, &here, &there);

      if (fit != LOOM_WEIGHT_MISSING)
        used[index] = TRUE;
      if (fit != LOOM_WEIGHT_FITS)
        {
          loom_weight_add_mismatch (wrong, weight->name, here, there);
          continue;
        }
      g_autoptr (LoomTensor) raw = loom_tensor_file_tensor (file, index, error);
      if (raw == NULL)
        return FALSE;
      g_autoptr (LoomTensor) t
          = loom_tensor_convert (raw, run_weight_dtype (r, weight), !loom_dtype_is_float (raw->dtype), error);
      if (t == NULL || !loom_state_set (r->state, weight->name, t, error))
        return FALSE;
    }
  /* A file of another network may have any number of names; only the first few are listed. */
  guint n_unknown = 0;
  for (guint i = 0; i < loom_tensor_file_count (file); i++)
    if (!used[i] && n_unknown++ < MAX_UNKNOWN)
      {
        g_autofree char *name = command_printable (loom_tensor_file_name (file, i));
        command_warn (r->command, "%s: the graph has no weight “%s”.", r->weights, name);
      }
  if (n_unknown > MAX_UNKNOWN)
    command_warn (r->command, "%s: it has %u more weights that the graph does not have.", r->weights,
                  n_unknown - MAX_UNKNOWN);
  if (wrong->len == 0)
    return TRUE;
  if (r->partial)
    {
      command_warn (r->command, "these weights keep their initial values:%s", wrong->str);
      return TRUE;
    }
  loom_weights_set_error (error, r->weights, wrong->str, TRUE);
  return FALSE;
}

static const char *
stage_cb (const char *path, gpointer data)
{
  return run_stage (data, path);
}

gboolean
run_save_weights (Run *r, GError **error)
{
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();

  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      g_autoptr (LoomTensor) t = loom_state_get (r->state, weight->name, error);
      if (t == NULL)
        return FALSE;
      g_ptr_array_add (tensors, loom_named_tensor_new (weight->name, t));
    }
  return loom_safetensors_save_shards (r->save_weights, tensors, r->shard_size > 0 ? r->shard_size : INFINITY, stage_cb,
                                       r, error);
}

/* ---- the step --------------------------------------------------------- */

gboolean
run_feed (LoomProgram *program, LoomExec *exec, gpointer data, GError **error)
{
  Run *r = data;

  if (r->data == NULL)
    r->data = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_program_n_inputs (program); i++)
    {
      const char *name = loom_program_get_input (program, i)->name;
      LoomTensor *t = g_str_equal (name, "--grad-output") ? r->cotangent : NULL;
      for (guint k = 0; t == NULL && k < r->ins->len; k++)
        {
          const PortFile *port_file = r->ins->pdata[k];
          g_autofree char *port = loom_net_port_name (r->net, port_file->source.node, port_file->source.output);
          if (g_str_equal (port, name))
            t = port_file->tensor;
        }
      if (t == NULL)
        {
          guint output;
          int node = loom_net_find_port (r->net, name, &output, error);
          if (node < 0)
            return FALSE;
          if (!loom_net_is_dataset (r->net, (guint)node))
            {
              g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                           "“%s” is needed for the requested ports. Set it with --in %s=FILE.npy.", name, name);
              return FALSE;
            }
          t = run_read_dataset_port (r, node, output, error);
          if (t == NULL)
            return FALSE;
          g_ptr_array_add (r->data, t);
        }
      const LoomTensorDesc *desc = &loom_value_info (program, loom_program_get_input (program, i)->value)->desc;
      if (loom_desc_count (desc) != t->count || loom_dtype_size (desc->dtype) * t->count != t->bytes)
        {
          LoomShape got = loom_tensor_shape (t), want = loom_shape (desc->rank, (const gint64 *)desc->dim);
          g_autofree char *got_text = loom_shape_to_string (&got), *want_text = loom_shape_to_string (&want);
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "“%s” must be %s, but the value is %s.", name, want_text,
                       got_text);
          return FALSE;
        }
      loom_exec_feed (exec, i, t->data);
    }
  return TRUE;
}

const char *
run_device (const Run *r)
{
  const char *only = loom_dtype_backend (r->float_dtype);

  return r->device != NULL ? r->device : only != NULL ? only : "cpu";
}

gboolean
run_open_state (Run *r, LoomProgram *program, GError **error)
{
  if (r->state != NULL)
    return TRUE;
  r->devices = loom_devices_new (r->threads);
  command_take_costs (r->command, r->path, r->devices);
  if (loom_devices_get (r->devices, run_device (r), error) == NULL)
    return FALSE;
  r->state = loom_state_new (r->devices, run_device (r), r->seed_value);
  return loom_state_add_slots (r->state, program, error) && (r->weights == NULL || load_weights (r, error));
}

/* TRUE if a step changes state: the graph assigns to a weight. */
static gboolean
commits_anything (const LoomProgram *program)
{
  for (guint i = 0; i < loom_program_n_slots (program); i++)
    if (loom_program_get_slot (program, i)->commit != 0)
      return TRUE;
  return FALSE;
}

gboolean
run_execute (Run *r, GError **error)
{
  LoomPlanOptions options = { .device = run_device (r), .strict_devices = loom_graph_strict_devices (r->graph) };

  if (!run_open_state (r, r->program, error) || !loom_state_add_slots (r->state, r->program, error))
    return FALSE;
  if (loom_program_n_outputs (r->program) == 0 && !commits_anything (r->program))
    return TRUE; /* only --save-weights */
  LoomPlan *plan = loom_plan_new (r->program, r->devices, &options, error);
  if (plan == NULL)
    return FALSE;
  r->exec = loom_exec_new (plan, r->state, error);
  return r->exec != NULL && run_feed (r->program, r->exec, r, error) && loom_exec_run (r->exec, error);
}

static LoomTensor *
get_output (Run *r, const char *prefix, const char *name, GError **error)
{
  g_autofree char *full = g_strdup_printf ("%s:%s", prefix, name);
  int i = r->exec != NULL ? loom_exec_find_output (r->exec, full) : -1;
  return i < 0 ? NULL : loom_exec_output (r->exec, i, error);
}

/* The ending of the name says what is written: an array, or a matrix for people. */
static gboolean
write_output (Run *r, const PortFile *port_file, const LoomTensor *t, GError **error)
{
  const char *path = run_stage (r, port_file->file);

  return run_map_is_name (port_file->file) ? run_map_write (t, port_file->port, port_file->file, path, error)
                                           : loom_npy_save (path, t, error);
}

gboolean
run_write_outputs (Run *r, GError **error)
{
  for (guint i = 0; i < r->outs->len; i++)
    {
      PortFile *port_file = r->outs->pdata[i];
      g_autoptr (LoomTensor) t = get_output (r, "out", port_file->port, error);
      if (t == NULL || (port_file->file != NULL && !write_output (r, port_file, t, error)))
        return FALSE;
      port_file->tensor = g_steal_pointer (&t);
    }
  return TRUE;
}

static void
print_tensor (const char *name, const LoomTensor *t)
{
  const LoomShape shape = loom_tensor_shape (t);
  g_autofree char *size = loom_shape_to_string (&shape), *values = tensor_to_text (t, 2);

  printf ("%s (%s %s)\n  %s\n", name, loom_dtype_name (t->dtype), size, values);
}

void
run_print_outputs (Run *r)
{
  for (guint i = 0; i < r->outs->len; i++)
    {
      const PortFile *port_file = r->outs->pdata[i];
      const LoomTensor *t = port_file->tensor;
      LoomJson *json;

      if (!r->json && port_file->file == NULL)
        print_tensor (port_file->port, t);
      if (!r->json)
        continue;
      json = command_event_new ("output");
      loom_json_string (json, "port", port_file->port);
      loom_json_ints (json, "shape", t->rank, t->dim);
      loom_json_string (json, "dtype", loom_dtype_name (t->dtype));
      if (port_file->file != NULL)
        loom_json_string (json, "file", port_file->file);
      else
        {
          loom_json_begin_array (json, "values");
          for (gint64 k = 0; k < t->count; k++)
            if (t->dtype == LOOM_I64)
              loom_json_int (json, NULL, ((const gint64 *)t->data)[k]);
            else
              loom_json_exact (json, NULL, loom_tensor_get (t, k));
          loom_json_end_array (json);
        }
      command_event_print (json);
    }
  for (guint i = 0; r->gradients != NULL && i < r->gradients->len; i++)
    {
      const LoomNamedTensor *gradient = r->gradients->pdata[i];
      g_autofree char *name = g_strdup_printf ("gradient of %s", gradient->name);

      print_tensor (name, gradient->tensor);
    }
}

static gboolean
add_gradient (Run *r, GPtrArray *tensors, const char *name, LoomDType dtype, int rank, const gint64 *dims,
              GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (LoomTensor) t = NULL;

  for (guint i = 0; i < tensors->len; i++)
    if (g_str_equal (((LoomNamedTensor *)tensors->pdata[i])->name, name))
      return TRUE;
  t = get_output (r, "grad", name, &local);
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (t == NULL)
    t = loom_tensor_new (dtype, rank, dims, error); /* no path reaches it: zeros */
  if (t == NULL)
    return FALSE;
  g_ptr_array_add (tensors, loom_named_tensor_new (name, t));
  return TRUE;
}

gboolean
run_write_gradients (Run *r, GError **error)
{
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  GPtrArray *lists[] = { r->ins, r->wrts };

  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      loom_shape_get (&weight->shape, dims);
      if (run_is_trainable (weight)
          && !add_gradient (r, tensors, weight->name, r->float_dtype, weight->shape.rank, dims, error))
        return FALSE;
    }
  for (guint l = 0; l < G_N_ELEMENTS (lists); l++)
    for (guint i = 0; i < lists[l]->len; i++)
      {
        const PortFile *port_file = lists[l]->pdata[i];
        const LoomTensorDesc *desc = &loom_value_info (r->program, port_file->value)->desc;
        g_autofree char *name = g_strdup_printf ("input:%s", port_file->port);
        if (loom_dtype_is_float (desc->dtype)
            && !add_gradient (r, tensors, name, desc->dtype, desc->rank, (const gint64 *)desc->dim, error))
          return FALSE;
      }
  if (g_strcmp0 (r->grads, "-") == 0)
    {
      r->gradients = g_steal_pointer (&tensors);
      return TRUE;
    }
  return loom_safetensors_save (run_stage (r, r->grads), tensors, NULL, error);
}
