/* `gradloom run`: builds the program that computes the requested ports and nothing else, followed by gradients. */
#include "app/run-private.h"

/* ---- program ---------------------------------------------------------- */

gboolean
run_is_trainable (const LoomNetWeight *weight)
{
  return !weight->is_buffer && !weight->frozen && loom_dtype_is_float (weight->dtype);
}

LoomDType
run_weight_dtype (Run *r, const LoomNetWeight *weight)
{
  return loom_dtype_is_float (weight->dtype) ? r->float_dtype : weight->dtype;
}

/* Declares every weight of the graph as a slot, also unused ones, because they are loaded and saved. */
static void
declare_weights (Run *r, LoomProgram *p)
{
  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      loom_shape_get (&weight->shape, dims);
      loom_program_slot (p, weight->name, weight->is_buffer ? LOOM_SLOT_BUFFER : LOOM_SLOT_PARAMETER,
                         run_weight_dtype (r, weight), weight->shape.rank, dims, &weight->init,
                         run_is_trainable (weight));
    }
}

static gboolean
make_cotangent (Run *r, LoomValue *seed, GError **error)
{
  const LoomTensorDesc desc = loom_value_info (r->program, r->grad_port->value)->desc;
  g_autoptr (GError) local = NULL;

  *seed = 0;
  if (!loom_dtype_is_float (desc.dtype))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DTYPE, "--grad %s: a port of %s has no gradients.", r->grad,
                   loom_dtype_name (desc.dtype));
      return FALSE;
    }
  if (r->grad_output == NULL)
    {
      if (loom_desc_count (&desc) == 1)
        return TRUE;
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--grad %s: the port has %" G_GINT64_FORMAT " elements, so it needs its cotangent, --grad-output "
                   "FILE.npy.",
                   r->grad, (gint64)loom_desc_count (&desc));
      return FALSE;
    }
  g_autoptr (LoomTensor) t = loom_npy_load (r->grad_output, &local);
  if (t == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "--grad-output: %s", local->message);
      return FALSE;
    }
  gboolean fits = t->rank == desc.rank;
  for (int i = 0; fits && i < desc.rank; i++)
    fits = t->dim[i] == desc.dim[i];
  if (!fits)
    {
      LoomShape shape = loom_tensor_shape (t), want = loom_shape (desc.rank, (const gint64 *)desc.dim);
      g_autofree char *got_text = loom_shape_to_string (&shape), *want_text = loom_shape_to_string (&want);
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "--grad-output: %s is %s, but port %s is %s.", r->grad_output,
                   got_text, r->grad, want_text);
      return FALSE;
    }
  r->cotangent = loom_tensor_convert (t, r->float_dtype, !loom_dtype_is_float (t->dtype), error);
  if (r->cotangent == NULL)
    return FALSE;
  *seed = loom_program_input (r->program, "--grad-output", desc.dtype, desc.rank, (const gint64 *)desc.dim);
  return TRUE;
}

static void
want_gradient (GArray *wrt, GPtrArray *names, LoomValue value, char *name)
{
  for (guint i = 0; i < names->len; i++)
    if (g_str_equal (names->pdata[i], name))
      {
        g_free (name);
        return;
      }
  g_array_append_val (wrt, value);
  g_ptr_array_add (names, name);
}

/* Gradients become outputs "grad:NAME"; a gradient that no path reaches is omitted, and zeros are written for it later.
 */
static gboolean
append_gradients (Run *r, GError **error)
{
  g_autoptr (GArray) wrt = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  LoomValue seed;

  if (!make_cotangent (r, &seed, error))
    return FALSE;
  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      int slot = loom_program_find_slot (r->program, weight->name);
      if (run_is_trainable (weight) && loom_program_get_slot (r->program, slot)->read != 0)
        want_gradient (wrt, names, loom_program_get_slot (r->program, slot)->read, g_strdup (weight->name));
    }
  GPtrArray *lists[] = { r->ins, r->wrts };
  for (guint l = 0; l < G_N_ELEMENTS (lists); l++)
    for (guint i = 0; i < lists[l]->len; i++)
      {
        const PortFile *port_file = lists[l]->pdata[i];
        if (port_file->value && loom_dtype_is_float (loom_value_info (r->program, port_file->value)->desc.dtype))
          want_gradient (wrt, names, port_file->value, g_strdup_printf ("input:%s", port_file->port));
      }

  g_autofree LoomValue *grads = g_new0 (LoomValue, wrt->len + 1);
  if (wrt->len > 0
      && !loom_differentiate (r->program, r->grad_port->value, seed, wrt->len, (const LoomValue *)wrt->data, grads,
                              error))
    return FALSE;
  for (guint i = 0; i < wrt->len; i++)
    if (grads[i] != 0)
      {
        g_autofree char *name = g_strdup_printf ("grad:%s", (char *)names->pdata[i]);
        loom_program_output (r->program, name, grads[i]);
      }
  return TRUE;
}

static gboolean
is_given (Run *r, guint node, guint output)
{
  for (guint i = 0; i < r->ins->len; i++)
    {
      const PortFile *port_file = r->ins->pdata[i];
      if (port_file->source.node == node && port_file->source.output == output)
        return TRUE;
    }
  return FALSE;
}

/* Reports a required input that is missing, or a data set that cannot be opened, in this command's terms: lowering
 * would only report a symbol without a value. */
static gboolean
check_given (Run *r, guint n_wanted, const LoomNetSource *wanted, GError **error)
{
  g_autofree gboolean *needed = g_new0 (gboolean, loom_net_n_nodes (r->net) + 1);

  for (guint i = 0; i < n_wanted; i++)
    if (!is_given (r, wanted[i].node, wanted[i].output) && !loom_net_is_weight (r->net, &wanted[i]))
      for (guint node = wanted[i].node; node != G_MAXUINT; node = loom_net_node (r->net, node)->loop)
        needed[node] = TRUE;
  for (guint i = loom_net_n_nodes (r->net); i-- > 0;)
    {
      const LoomNetNode *node = loom_net_node (r->net, i);
      if (node->op != NULL && node->op->has_effect && !node->muted && g_strcmp0 (r->mode, "train") == 0)
        needed[i] = TRUE;
      if (!needed[i])
        continue;
      if (node->op != NULL && node->op->role == LOOM_ROLE_INPUT)
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "“%s” is needed for the requested ports. Set it with --in %s=FILE.npy.", node->path, node->path);
          return FALSE;
        }
      /* Its faults have line numbers as well. */
      if (loom_net_is_dataset (r->net, i)
          && ((!node->typed && !loom_faults_to_error (r->faults, NULL, error))
              || run_open_dataset (r, i, error) == NULL))
        return FALSE;
      for (guint k = 0; k < node->n_inputs; k++)
        if (node->input[k].node != G_MAXUINT && !is_given (r, node->input[k].node, node->input[k].output)
            && !loom_net_is_weight (r->net, &node->input[k]))
          needed[node->input[k].node] = TRUE;
    }
  return TRUE;
}

static gboolean
bind_net (Run *r, GError **error)
{
  g_clear_pointer (&r->faults, loom_faults_free);
  g_clear_pointer (&r->net, loom_net_free);
  r->faults = loom_faults_new ();
  r->net = loom_net_bind (r->symbolic, r->graph, &r->binding, r->faults);
  return run_check_faults (r, error);
}

/* If sizes depend on the data, a first program counts them from the same inputs and weights. */
static gboolean
find_sizes (Run *r, const LoomLowerOptions *options, GError **error)
{
  LoomPlanOptions plan = { .device = run_device (r), .strict_devices = loom_graph_strict_devices (r->graph) };

  if (loom_net_dynamic_size (r->net, options) < 0)
    return TRUE;
  g_autoptr (LoomProgram) weights = loom_program_new ();
  loom_program_set_float (weights, r->float_dtype);
  declare_weights (r, weights);
  if (!run_open_state (r, weights, error))
    return FALSE;
  g_autoptr (LoomSizes) sizes = loom_sizes_new (r->graph, options, &plan, r->devices, r->state);
  return loom_sizes_resolve (sizes, &r->binding, run_feed, r, error) && bind_net (r, error);
}

gboolean
run_build_program (Run *r, GError **error)
{
  GPtrArray *lists[] = { r->outs, r->wrts, r->ins };
  guint n_wanted = r->outs->len + r->wrts->len + (r->grad_port != NULL ? 1 + r->ins->len : 0), n = 0;
  g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, n_wanted + 1);
  g_autofree LoomNetSource *given = g_new0 (LoomNetSource, r->ins->len + 1);
  g_autofree LoomValue *value = g_new0 (LoomValue, 2 * n_wanted + 1);
  LoomValue *probe = value + n_wanted;

  if (!bind_net (r, error))
    return FALSE;

  if (r->grad_port != NULL)
    wanted[n++] = r->grad_port->source;
  for (guint l = 0; l < (r->grad_port != NULL ? 3 : 2); l++)
    for (guint i = 0; i < lists[l]->len; i++)
      wanted[n++] = ((PortFile *)lists[l]->pdata[i])->source;
  for (guint i = 0; i < r->ins->len; i++)
    given[i] = ((PortFile *)r->ins->pdata[i])->source;
  if (!check_given (r, n, wanted, error))
    return FALSE;

  LoomLowerOptions options = {
    .training = g_strcmp0 (r->mode, "train") == 0,
    .effects = g_strcmp0 (r->mode, "train") == 0,
    .float_dtype = r->float_dtype,
    .n_wanted = n,
    .wanted = wanted,
    .probe_of = r->wrts->len > 0 ? probe : NULL,
    .n_given = r->ins->len,
    .given = given,
    .seed = r->seed_value,
    .direct = r->direct,
    .tf32 = r->tf32,
  };
  if (!find_sizes (r, &options, error))
    return FALSE;
  g_autoptr (GError) local = NULL;
  r->program = loom_lower (r->net, &options, value, &local);
  if (r->program == NULL)
    {
      /* A missing data file is among the faults, which are clearer than the errors caused by it. */
      if (!loom_faults_to_error (r->faults, NULL, error))
        return FALSE;
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  g_autoptr (LoomProgram) lowered = r->program;
  r->program = loom_program_hoist (lowered, 2 * n_wanted, value);

  n = 0;
  if (r->grad_port != NULL)
    r->grad_port->value = value[n++];
  for (guint l = 0; l < (r->grad_port != NULL ? 3 : 2); l++)
    for (guint i = 0; i < lists[l]->len; i++)
      {
        PortFile *port_file = lists[l]->pdata[i];
        port_file->value = lists[l] == r->wrts && probe[n] != 0 ? probe[n] : value[n];
        n++;
      }

  loom_program_set_origin (r->program, NULL, NULL);
  for (guint i = 0; i < r->outs->len; i++)
    {
      const PortFile *port_file = r->outs->pdata[i];
      g_autofree char *name = g_strdup_printf ("out:%s", port_file->port);
      if (!loom_program_find_output (r->program, name))
        loom_program_output (r->program, name, port_file->value);
    }
  declare_weights (r, r->program);
  return r->grad_port == NULL || append_gradients (r, error);
}
