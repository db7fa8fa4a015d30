/* `gradloom run`: resolves ports, reads inputs, which bind symbols, and opens the required data sets. */
#include "app/run-private.h"
#include "app/tensor-text.h"

/* ---- graph and inputs ------------------------------------------------- */

static const LoomNetNode *
port_node (const LoomNet *net, const PortFile *port_file)
{
  return loom_net_node (net, port_file->source.node);
}

static gboolean
resolve (Run *r, PortFile *port_file, GError **error)
{
  int node = loom_net_find_port (r->symbolic, port_file->port, &port_file->source.output, error);
  if (node < 0)
    return FALSE;
  port_file->source.node = node;
  return TRUE;
}

/* Missing data is a fault only if a request needs it; all other faults of the graph are reported. */
gboolean
run_check_faults (Run *r, GError **error)
{
  for (guint i = 0; i < loom_faults_length (r->faults); i++)
    {
      const LoomFault *fault = loom_faults_get (r->faults, i);
      if (!fault->is_warning && fault->code != LOOM_ERROR_DATA && fault->code != LOOM_ERROR_IO)
        return loom_faults_to_error (r->faults, NULL, error);
    }
  return TRUE;
}

gboolean
run_open_graph (Run *r, const char *path, GError **error)
{
  g_autoptr (LoomFaults) train_faults = loom_faults_new ();

  r->graph = command_read_graph (path, error);
  if (r->graph == NULL)
    return FALSE;
  r->faults = loom_faults_new ();
  r->symbolic = loom_net_new (r->graph, NULL, r->faults);
  if (!run_check_faults (r, error))
    return FALSE;

  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (r->graph, r->symbolic, train_faults);
  r->seed_value = r->seed >= 0 ? (guint64)r->seed : spec != NULL ? spec->seed : 0;
  r->batch_size = spec != NULL ? spec->batch_size : 64;
  r->direct = spec != NULL && spec->direct;
  r->tf32 = spec != NULL && spec->tf32;

  for (guint i = 0; i < r->ins->len; i++)
    {
      PortFile *port_file = r->ins->pdata[i];
      if (!resolve (r, port_file, error))
        return FALSE;
      if (loom_net_is_weight (r->symbolic, &port_file->source))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                       "--in %s: this is a weight, not a port. Set it with --weights FILE.safetensors --partial.",
                       port_file->port);
          return FALSE;
        }
    }
  for (guint i = 0; i < r->outs->len; i++)
    if (!resolve (r, r->outs->pdata[i], error))
      return FALSE;
  for (guint i = 0; i < r->wrts->len; i++)
    if (!resolve (r, r->wrts->pdata[i], error))
      return FALSE;
  return r->grad_port == NULL || resolve (r, r->grad_port, error);
}

/* The only unbound symbol of a dimension, or 0; *factor receives the product of the others. */
static char
dynamic_symbol (Run *r, LoomDim d, gint64 *factor)
{
  char open = 0;

  *factor = d.coef;
  for (int i = 0; i < LOOM_DIM_MAX_SYMBOLS && d.symbol[i]; i++)
    {
      gint64 value = r->binding.value[d.symbol[i] - 'A'];
      if (value == 0 && open)
        return 0;
      if (value == 0)
        open = d.symbol[i];
      else
        *factor *= value == LOOM_BOUND_TO_ZERO ? 0 : value;
    }
  return open;
}

/* " where B is 2 by --in x": the sizes of the symbols in a shape, and their sources. */
static char *
known_sizes (Run *r, const LoomShape *shape)
{
  GString *s = g_string_new (NULL);

  for (char c = 'A'; c <= 'Z'; c++)
    {
      gint64 value = r->binding.value[c - 'A'];
      gboolean occurs = FALSE;
      for (int i = 0; i < shape->rank; i++)
        for (int k = 0; k < LOOM_DIM_MAX_SYMBOLS; k++)
          occurs |= shape->dim[i].symbol[k] == c;
      if (!occurs || value == 0)
        continue;
      g_string_append_printf (s, "%s%c is %" G_GINT64_FORMAT, s->len ? ", " : " where ", c,
                              value == LOOM_BOUND_TO_ZERO ? 0 : value);
      if (r->bound_by[c - 'A'] != NULL)
        g_string_append_printf (s, " by --in %s", r->bound_by[c - 'A']);
    }
  return g_string_free (s, FALSE);
}

/* Compares a tensor with a port's type, and binds symbols: coef·symbol = n determines the symbol. */
static gboolean
bind_shape (Run *r, const PortFile *port_file, const LoomTensor *t, GError **error)
{
  const LoomType *type = &port_node (r->symbolic, port_file)->output[port_file->source.output];
  gboolean fits = t->rank == type->shape.rank;

  for (int i = 0; fits && i < t->rank; i++)
    {
      LoomDim d = type->shape.dim[i];
      if (loom_dim_is_unknown (d))
        continue;
      gint64 value = loom_dim_value (d, &r->binding), factor;
      char symbol = dynamic_symbol (r, d, &factor);
      if (value >= 0)
        fits = value == t->dim[i];
      else if (symbol && factor > 0)
        {
          fits = t->dim[i] % factor == 0;
          r->binding.value[symbol - 'A'] = t->dim[i] == 0 ? LOOM_BOUND_TO_ZERO : t->dim[i] / factor;
          r->bound_by[symbol - 'A'] = port_file->port;
        }
      /* A product of several unbound symbols is checked again after another input has bound all but one. */
    }
  if (fits)
    return TRUE;
  LoomShape shape = loom_tensor_shape (t);
  g_autofree char *got = loom_shape_to_string (&shape), *want = loom_shape_to_string (&type->shape);
  g_autofree char *sizes = known_sizes (r, &type->shape);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "--in %s: the port is %s%s, but %s is %s.", port_file->port, want,
               sizes, port_file->file, got);
  return FALSE;
}

static gboolean
read_input (Run *r, PortFile *port_file, GError **error)
{
  const LoomNetNode *node = port_node (r->symbolic, port_file);
  LoomDType want = node->output[port_file->source.output].dtype;
  g_autoptr (GError) local = NULL;

  if (!node->typed)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "--in %s: the type of this port is not known.", port_file->port);
      return FALSE;
    }
  if (want == LOOM_F32)
    want = r->float_dtype; /* as in lowering, which keeps the graph's f64 and bf16 */
  g_autoptr (LoomTensor) t = NULL;
  if (!loom_path_exists (port_file->file))
    t = tensor_from_text (port_file->file, &local);
  if (t == NULL && local == NULL)
    t = loom_npy_load (port_file->file, &local);
  if (t == NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "--in %s: %s", port_file->port, local->message);
      return FALSE;
    }
  if (loom_dtype_is_float (t->dtype) && !loom_dtype_is_float (want))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DTYPE, "--in %s: the port has type %s, but %s has %s.",
                   port_file->port, loom_dtype_name (want), port_file->file, loom_dtype_name (t->dtype));
      return FALSE;
    }
  if (!bind_shape (r, port_file, t, error))
    return FALSE;
  port_file->tensor = loom_tensor_convert (t, want, !loom_dtype_is_float (t->dtype), &local);
  if (port_file->tensor == NULL)
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&local), "--in %s: ", port_file->port);
      return FALSE;
    }
  return TRUE;
}

/* Checks again, because a later input or data set may have bound a symbol of an earlier one. */
gboolean
run_rebind (Run *r, GError **error)
{
  for (guint i = 0; i < r->ins->len; i++)
    {
      const PortFile *port_file = r->ins->pdata[i];
      if (!bind_shape (r, port_file, port_file->tensor, error))
        return FALSE;
    }
  return TRUE;
}

/* The error of lowering would name only the shape, and not the file that leaves it open. */
gboolean
run_check_bound (Run *r, GError **error)
{
  for (guint i = 0; i < r->ins->len; i++)
    {
      const PortFile *port_file = r->ins->pdata[i];
      const LoomShape *shape = &port_node (r->symbolic, port_file)->output[port_file->source.output].shape;
      for (int k = 0; k < shape->rank; k++)
        if (!loom_dim_is_unknown (shape->dim[k]) && loom_dim_value (shape->dim[k], &r->binding) < 0)
          {
            g_autofree char *text = loom_shape_to_string (shape);
            g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                         "--in %s: the port is %s, but %s does not determine all of its symbols. Set an input with "
                         "--in that does.",
                         port_file->port, text, port_file->file);
            return FALSE;
          }
    }
  return TRUE;
}

gboolean
run_read_inputs (Run *r, GError **error)
{
  for (guint i = 0; i < r->ins->len; i++)
    {
      PortFile *port_file = r->ins->pdata[i];
      for (guint k = 0; k < i; k++)
        {
          PortFile *other = r->ins->pdata[k];
          if (other->source.node == port_file->source.node && other->source.output == port_file->source.output)
            {
              g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--in %s is given twice.", port_file->port);
              return FALSE;
            }
        }
      if (!read_input (r, port_file, error))
        return FALSE;
    }
  return run_rebind (r, error);
}

/* ---- data sets -------------------------------------------------------- */

typedef struct
{
  LoomDataset *dataset;
  GError *error; /* why it could not be opened, or NULL */
} Dataset;

static void
dataset_free (gpointer data)
{
  Dataset *d = data;

  loom_dataset_free (d->dataset);
  g_clear_error (&d->error);
  g_free (d);
}

static LoomSplit
first_split (const LoomDatasetInfo *info)
{
  static const LoomSplit order[] = { LOOM_SPLIT_TEST, LOOM_SPLIT_VAL, LOOM_SPLIT_TRAIN };

  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    if (info->n[order[i]] > 0)
      return order[i];
  return LOOM_SPLIT_TEST;
}

LoomDataset *
run_open_dataset (Run *r, guint node, GError **error)
{
  Dataset *d;

  if (r->datasets == NULL)
    r->datasets = g_hash_table_new_full (NULL, NULL, NULL, dataset_free);
  d = g_hash_table_lookup (r->datasets, GUINT_TO_POINTER (node));
  if (d == NULL)
    {
      d = g_new0 (Dataset, 1);
      d->dataset = loom_net_open_dataset (r->symbolic, (int)node, loom_graph_get_folder (r->graph), &d->error);
      if (d->dataset != NULL && loom_dataset_info (d->dataset)->n[first_split (loom_dataset_info (d->dataset))] <= 0)
        g_set_error (&d->error, LOOM_ERROR, LOOM_ERROR_DATA, "The data set has no samples.");
      if (d->error != NULL)
        g_prefix_error (&d->error, "Node %s: ", loom_net_node (r->symbolic, node)->path);
      g_hash_table_insert (r->datasets, GUINT_TO_POINTER (node), d);
    }
  if (d->error != NULL && error != NULL)
    *error = g_error_copy (d->error);
  return d->error != NULL ? NULL : d->dataset;
}

/* B is set by the inputs, or else by the first batch of a data set. */
void
run_bind_batch (Run *r)
{
  if (r->binding.value['B' - 'A'] != 0)
    return;
  for (guint i = 0; i < loom_net_n_nodes (r->symbolic); i++)
    {
      if (!loom_net_is_dataset (r->symbolic, i))
        continue;
      /* A data set that cannot be opened is an error only if a requested port needs it. */
      const LoomDataset *dataset = run_open_dataset (r, i, NULL);
      if (dataset == NULL)
        continue;
      const LoomDatasetInfo *info = loom_dataset_info (dataset);
      r->binding.value['B' - 'A'] = MIN (r->batch_size, info->n[first_split (info)]);
      return;
    }
}

LoomTensor *
run_read_dataset_port (Run *r, guint node, guint port, GError **error)
{
  const LoomDataset *dataset = run_open_dataset (r, node, error);
  if (dataset == NULL)
    return NULL;
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  LoomSplit split = first_split (info);
  gint64 n = MAX (r->binding.value['B' - 'A'], 0);
  if (n > info->n[split])
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "Node %s: the inputs have B = %" G_GINT64_FORMAT ", but the %s split has only %" G_GINT64_FORMAT " "
                   "samples. Set this port with --in too.",
                   loom_net_node (r->symbolic, node)->path, n, loom_split_name (split), info->n[split]);
      return NULL;
    }
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < info->n_ports; i++)
    {
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      LoomShape shape = loom_shape_bind (&info->port[i].type.shape, &r->binding);
      loom_shape_get (&shape, dims);
      LoomTensor *t = loom_tensor_new (info->port[i].type.dtype, shape.rank, dims, error);
      if (t == NULL)
        return NULL;
      g_ptr_array_add (tensors, t);
    }
  g_autofree gint64 *index = g_new (gint64, MAX (n, 1));
  for (gint64 i = 0; i < n; i++)
    index[i] = i;
  if (!loom_dataset_read (dataset, split, index, n, (LoomTensor *const *)tensors->pdata, error))
    return NULL;
  LoomTensor *t = tensors->pdata[port];
  return loom_tensor_convert (t, loom_dtype_is_float (t->dtype) ? r->float_dtype : t->dtype, FALSE, error);
}
