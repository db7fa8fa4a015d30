/* `gradloom run`: the door for other tools. FORMATS.md says what it does, to the letter.
 *
 * The order of work: resolve ports and read every input, so that symbols are bound by what was given; lower only what
 * is asked for, in evaluation or training mode; append gradients; run one step; write everything at the end, so that a
 * failure leaves no half of an answer. */
#include "app/command.h"

#include <stdio.h>
#include <string.h>

/* One --in, --out, --wrt or --grad: a port and perhaps a file. */
typedef struct
{
  char *port, *file;
  LoomNetSource source;
  LoomTensor *tensor; /* of an input, in the port's type */
  LoomValue value;
  gboolean given;
} Door;

typedef struct
{
  const Command *command;
  /* options */
  char *weights, *grad, *grad_output, *grads, *mode, *device, *dtype, *save_weights;
  char **in, **out, **wrt;
  gint64 seed;
  int threads;
  gboolean partial, json;
  /* work */
  LoomGraph *graph;
  LoomFaults *faults;
  LoomNet *symbolic, *net;
  LoomBinding binding;
  LoomDType float_dtype;
  guint64 seed_value;
  gint64 batch_size; /* of <train> */
  GPtrArray *ins, *outs, *wrts;
  Door *grad_door;
  LoomTensor *cotangent;
  GPtrArray *data; /* LoomTensor of dataset ports, kept while the step runs */
  LoomDevices *devices;
  LoomState *state;
  LoomProgram *program;
  LoomExec *exec;
} Run;

static void
door_free (Door *door)
{
  if (!door)
    return;
  g_free (door->port);
  g_free (door->file);
  g_clear_pointer (&door->tensor, loom_tensor_unref);
  g_free (door);
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
  g_strfreev (r->in);
  g_strfreev (r->out);
  g_strfreev (r->wrt);
  loom_exec_free (r->exec);
  g_clear_pointer (&r->program, loom_program_unref);
  g_clear_pointer (&r->state, loom_state_unref);
  g_clear_pointer (&r->devices, loom_devices_unref);
  g_clear_pointer (&r->data, g_ptr_array_unref);
  g_clear_pointer (&r->cotangent, loom_tensor_unref);
  g_clear_pointer (&r->ins, g_ptr_array_unref);
  g_clear_pointer (&r->outs, g_ptr_array_unref);
  g_clear_pointer (&r->wrts, g_ptr_array_unref);
  door_free (r->grad_door);
  loom_net_free (r->net);
  loom_net_free (r->symbolic);
  g_clear_pointer (&r->faults, loom_faults_free);
  g_clear_pointer (&r->graph, loom_graph_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_free)

static Door *
door_new (const char *text, gboolean with_file)
{
  const char *equals = with_file ? strchr (text, '=') : NULL;
  if (with_file && (!equals || equals == text || equals[1] == 0))
    return NULL;
  Door *door = g_new0 (Door, 1);
  door->port = with_file ? g_strndup (text, equals - text) : g_strdup (text);
  door->file = with_file ? g_strdup (equals + 1) : NULL;
  return door;
}

/* ---- words ------------------------------------------------------------ */

static int
read_doors (Run *r)
{
  r->ins = g_ptr_array_new_with_free_func ((GDestroyNotify)door_free);
  r->outs = g_ptr_array_new_with_free_func ((GDestroyNotify)door_free);
  r->wrts = g_ptr_array_new_with_free_func ((GDestroyNotify)door_free);
  const struct
  {
    char **words;
    GPtrArray *doors;
    const char *option;
    gboolean with_file;
  } lists[]
      = { { r->in, r->ins, "--in", TRUE }, { r->out, r->outs, "--out", TRUE }, { r->wrt, r->wrts, "--wrt", FALSE } };

  for (guint l = 0; l < G_N_ELEMENTS (lists); l++)
    for (char **word = lists[l].words; word && *word; word++)
      {
        Door *door = door_new (*word, lists[l].with_file);
        if (!door)
          return command_usage (r->command, "%s takes NODE.PORT=FILE.npy, not “%s”.", lists[l].option, *word);
        g_ptr_array_add (lists[l].doors, door);
      }
  if (r->grad)
    r->grad_door = door_new (r->grad, FALSE);
  return 0;
}

static int
check_words (Run *r)
{
  if (!r->out && !r->grad && !r->save_weights)
    return command_usage (r->command, "Nothing was asked for: give --out, --grad or --save-weights.");
  if ((r->grads || r->wrt || r->grad_output) && !r->grad)
    return command_usage (r->command, "--grads, --wrt and --grad-output need --grad PORT: the gradients of what?");
  if (r->mode && !g_str_equal (r->mode, "eval") && !g_str_equal (r->mode, "train"))
    return command_usage (r->command, "--mode is eval or train, not “%s”.", r->mode);
  if (r->dtype && !g_str_equal (r->dtype, "f32") && !g_str_equal (r->dtype, "f64"))
    return command_usage (r->command, "--dtype is f32 or f64, not “%s”.", r->dtype);
  if (r->seed < -1)
    return command_usage (r->command, "--seed takes a number that is not negative.");
  if (r->partial && !r->weights)
    return command_usage (r->command, "--partial says how to read --weights, which is not given.");
  r->float_dtype = g_strcmp0 (r->dtype, "f64") == 0 ? LOOM_F64 : LOOM_F32;
  if (r->float_dtype == LOOM_F64 && r->device && !g_str_equal (r->device, "ref"))
    return command_usage (r->command, "--dtype f64 runs on device ref only; leave --device %s out.", r->device);
  return 0;
}

/* ---- graph and inputs ------------------------------------------------- */

static const LoomNetNode *
door_node (const LoomNet *net, const Door *door)
{
  return loom_net_node (net, door->source.node);
}

static gboolean
resolve (Run *r, Door *door, GError **error)
{
  int node = loom_net_find_port (r->symbolic, door->port, &door->source.output, error);
  if (node < 0)
    return FALSE;
  door->source.node = node;
  return TRUE;
}

/* Data that cannot be found is only a fault where a request needs it; everything else that is wrong with the graph is
 * one. */
static gboolean
check_faults (Run *r, GError **error)
{
  for (guint i = 0; i < loom_faults_length (r->faults); i++)
    {
      const LoomFault *fault = loom_faults_get (r->faults, i);
      if (!fault->is_warning && fault->code != LOOM_ERROR_DATA && fault->code != LOOM_ERROR_IO)
        return loom_faults_to_error (r->faults, NULL, error);
    }
  return TRUE;
}

static gboolean
open_graph (Run *r, const char *path, GError **error)
{
  g_autoptr (LoomFaults) train_faults = loom_faults_new ();

  r->graph = command_read_graph (path, error);
  if (!r->graph)
    return FALSE;
  r->faults = loom_faults_new ();
  r->symbolic = loom_net_new (r->graph, NULL, r->faults);
  if (!check_faults (r, error))
    return FALSE;

  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (r->graph, r->symbolic, train_faults);
  r->seed_value = r->seed >= 0 ? (guint64)r->seed : spec ? spec->seed : 0;
  r->batch_size = spec ? spec->batch_size : 64;

  for (guint i = 0; i < r->ins->len; i++)
    if (!resolve (r, r->ins->pdata[i], error))
      return FALSE;
  for (guint i = 0; i < r->outs->len; i++)
    if (!resolve (r, r->outs->pdata[i], error))
      return FALSE;
  for (guint i = 0; i < r->wrts->len; i++)
    if (!resolve (r, r->wrts->pdata[i], error))
      return FALSE;
  return !r->grad_door || resolve (r, r->grad_door, error);
}

/* The one symbol of a dimension that has no value yet, or 0; *factor is what the rest of it multiplies to. */
static char
open_symbol (Run *r, LoomDim d, gint64 *factor)
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
        *factor *= value;
    }
  return open;
}

/* Compares a tensor with a port's type, binding symbols on the way: coef·symbol = n gives the symbol. */
static gboolean
bind_shape (Run *r, const Door *door, const LoomTensor *t, GError **error)
{
  const LoomType *type = &door_node (r->symbolic, door)->output[door->source.output];
  gboolean fits = t->rank == type->shape.rank;

  for (int i = 0; fits && i < t->rank; i++)
    {
      LoomDim d = type->shape.dim[i];
      if (loom_dim_is_unknown (d))
        continue;
      gint64 value = loom_dim_value (d, &r->binding), factor;
      char symbol = open_symbol (r, d, &factor);
      if (value >= 0)
        fits = value == t->dim[i];
      else if (symbol && factor > 0)
        {
          fits = t->dim[i] % factor == 0;
          r->binding.value[symbol - 'A'] = t->dim[i] / factor;
        }
      /* A product of several unbound symbols waits for an input that binds all but one of them. */
    }
  if (fits)
    return TRUE;
  LoomShape shape = loom_tensor_shape (t);
  g_autofree char *got = loom_shape_to_string (&shape), *want = loom_shape_to_string (&type->shape);
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "--in %s: the port is %s, but %s is %s%s.", door->port, want,
               door->file, got,
               r->binding.value['B' - 'A'] ? " (B is what an input before it, or its own first dimension, says)" : "");
  return FALSE;
}

static gboolean
read_input (Run *r, Door *door, GError **error)
{
  const LoomNetNode *node = door_node (r->symbolic, door);
  LoomDType want = node->output[door->source.output].dtype;
  g_autoptr (GError) local = NULL;

  if (!node->typed)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT, "--in %s: the type of this port is not known.", door->port);
      return FALSE;
    }
  if (want == LOOM_F32)
    want = r->float_dtype; /* as lowering has it; what is called f64 or bf16 in the graph stays that */
  g_autoptr (LoomTensor) t = loom_npy_load (door->file, &local);
  if (!t)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "--in %s: %s", door->port, local->message);
      return FALSE;
    }
  if (loom_dtype_is_float (t->dtype) && !loom_dtype_is_float (want))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DTYPE, "--in %s: the port takes %s, but %s holds %s.", door->port,
                   loom_dtype_name (want), door->file, loom_dtype_name (t->dtype));
      return FALSE;
    }
  if (!bind_shape (r, door, t, error))
    return FALSE;
  door->tensor = loom_tensor_convert (t, want, !loom_dtype_is_float (t->dtype), &local);
  if (!door->tensor)
    {
      g_propagate_prefixed_error (error, g_steal_pointer (&local), "--in %s: ", door->port);
      return FALSE;
    }
  return TRUE;
}

/* Once more, as an input or a data set may have said what a symbol of an input before it is. */
static gboolean
bind_again (Run *r, GError **error)
{
  for (guint i = 0; i < r->ins->len; i++)
    {
      const Door *door = r->ins->pdata[i];
      if (!bind_shape (r, door, door->tensor, error))
        return FALSE;
    }
  return TRUE;
}

/* Lowering would name the shape only, and not the file that leaves it open. */
static gboolean
check_bound (Run *r, GError **error)
{
  for (guint i = 0; i < r->ins->len; i++)
    {
      const Door *door = r->ins->pdata[i];
      const LoomShape *shape = &door_node (r->symbolic, door)->output[door->source.output].shape;
      for (int k = 0; k < shape->rank; k++)
        if (!loom_dim_is_unknown (shape->dim[k]) && loom_dim_value (shape->dim[k], &r->binding) < 0)
          {
            g_autofree char *text = loom_shape_to_string (shape);
            g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                         "--in %s: the port is %s, and %s does not say what each of its symbols is%s.", door->port,
                         text, door->file,
                         door->tensor->dim[k] == 0 ? "; a size of 0 needs a 0 in the graph's shape"
                                                   : ". Give an input with --in that does");
            return FALSE;
          }
    }
  return TRUE;
}

static gboolean
read_inputs (Run *r, GError **error)
{
  for (guint i = 0; i < r->ins->len; i++)
    {
      Door *door = r->ins->pdata[i];
      for (guint k = 0; k < i; k++)
        {
          Door *other = r->ins->pdata[k];
          if (other->source.node == door->source.node && other->source.output == door->source.output)
            {
              g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE, "--in %s is given twice.", door->port);
              return FALSE;
            }
        }
      if (!read_input (r, door, error))
        return FALSE;
    }
  return bind_again (r, error);
}

/* ---- data sets -------------------------------------------------------- */

static const char *
get_attribute (gconstpointer data, const char *name)
{
  return loom_element_get (data, name);
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

static LoomDataset *
open_dataset (Run *r, guint node, GError **error)
{
  const LoomElement *element = loom_net_node (r->symbolic, node)->element;
  LoomDatasetOptions options = { .get = get_attribute, .data = element, .folder = loom_graph_get_folder (r->graph) };
  const char *source = loom_element_get (element, "source");

  return loom_dataset_open (source ? source : "", &options, error);
}

static gboolean
is_dataset (const LoomNet *net, guint node)
{
  const LoomOp *op = loom_net_node (net, node)->op;
  return op && g_str_equal (op->name, "dataset");
}

/* B is what inputs say; where none says so, the first batch of a data set. */
static void
bind_batch (Run *r)
{
  if (r->binding.value['B' - 'A'] > 0)
    return;
  for (guint i = 0; i < loom_net_n_nodes (r->symbolic); i++)
    {
      if (!is_dataset (r->symbolic, i))
        continue;
      g_autoptr (LoomDataset) dataset = open_dataset (r, i, NULL);
      if (!dataset)
        continue;
      const LoomDatasetInfo *info = loom_dataset_info (dataset);
      r->binding.value['B' - 'A'] = MIN (r->batch_size, info->n[first_split (info)]);
      return;
    }
}

static LoomTensor *
read_dataset_port (Run *r, guint node, guint port, GError **error)
{
  g_autoptr (LoomDataset) dataset = open_dataset (r, node, error);
  if (!dataset)
    return NULL;
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  LoomSplit split = first_split (info);
  gint64 n = r->binding.value['B' - 'A'];
  if (n > info->n[split])
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "Node %s: the inputs say B = %" G_GINT64_FORMAT ", but the %s split has %" G_GINT64_FORMAT
                   " samples only. Give this port with --in too.",
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
      if (!t)
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

/* ---- program ---------------------------------------------------------- */

static gboolean
is_trainable (const LoomNetWeight *weight)
{
  return !weight->is_buffer && !weight->frozen && loom_dtype_is_float (weight->dtype);
}

static LoomDType
weight_dtype (Run *r, const LoomNetWeight *weight)
{
  return loom_dtype_is_float (weight->dtype) ? r->float_dtype : weight->dtype;
}

/* Every weight of the graph is a slot, also those that nothing requested needs: they are loaded and saved. */
static void
declare_weights (Run *r)
{
  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      loom_shape_get (&weight->shape, dims);
      loom_program_slot (r->program, weight->name, weight->is_buffer ? LOOM_SLOT_BUFFER : LOOM_SLOT_PARAMETER,
                         weight_dtype (r, weight), weight->shape.rank, dims, &weight->init, is_trainable (weight));
    }
}

static gboolean
make_cotangent (Run *r, LoomValue *seed, GError **error)
{
  const LoomTensorDesc desc = loom_value_info (r->program, r->grad_door->value)->desc;
  g_autoptr (GError) local = NULL;

  *seed = 0;
  if (!loom_dtype_is_float (desc.dtype))
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DTYPE, "--grad %s: a port of %s has no gradients.", r->grad,
                   loom_dtype_name (desc.dtype));
      return FALSE;
    }
  if (!r->grad_output)
    {
      if (loom_desc_count (&desc) == 1)
        return TRUE;
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "--grad %s: the port has %" G_GINT64_FORMAT
                   " elements, so --grad-output FILE.npy must say how much each counts.",
                   r->grad, (gint64)loom_desc_count (&desc));
      return FALSE;
    }
  g_autoptr (LoomTensor) t = loom_npy_load (r->grad_output, &local);
  if (!t)
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
  if (!r->cotangent)
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

/* Gradients become outputs "grad:NAME"; one that nothing reaches is left out and written as zeros later. */
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
      if (is_trainable (weight) && loom_program_get_slot (r->program, slot)->read != 0)
        want_gradient (wrt, names, loom_program_get_slot (r->program, slot)->read, g_strdup (weight->name));
    }
  GPtrArray *lists[] = { r->ins, r->wrts };
  for (guint l = 0; l < G_N_ELEMENTS (lists); l++)
    for (guint i = 0; i < lists[l]->len; i++)
      {
        const Door *door = lists[l]->pdata[i];
        if (door->value && loom_dtype_is_float (loom_value_info (r->program, door->value)->desc.dtype))
          want_gradient (wrt, names, door->value, g_strdup_printf ("input:%s", door->port));
      }

  g_autofree LoomValue *grads = g_new0 (LoomValue, wrt->len + 1);
  if (wrt->len > 0
      && !loom_differentiate (r->program, r->grad_door->value, seed, wrt->len, (const LoomValue *)wrt->data, grads,
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
      const Door *door = r->ins->pdata[i];
      if (door->source.node == node && door->source.output == output)
        return TRUE;
    }
  return FALSE;
}

/* An input that is needed and not given, in the words of this command: lowering would only see a symbol without a
 * value. */
static gboolean
check_given (Run *r, guint n_wanted, const LoomNetSource *wanted, GError **error)
{
  g_autofree gboolean *needed = g_new0 (gboolean, loom_net_n_nodes (r->net) + 1);

  for (guint i = 0; i < n_wanted; i++)
    if (!is_given (r, wanted[i].node, wanted[i].output))
      needed[wanted[i].node] = TRUE;
  for (guint i = loom_net_n_nodes (r->net); i-- > 0;)
    {
      const LoomNetNode *node = loom_net_node (r->net, i);
      if (!needed[i])
        continue;
      if (node->op && g_str_equal (node->op->name, "input"))
        {
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                       "“%s” is needed for what was asked. Give it with --in %s=FILE.npy.", node->path, node->path);
          return FALSE;
        }
      for (guint k = 0; k < node->n_inputs; k++)
        if (node->input[k].node != G_MAXUINT && !is_given (r, node->input[k].node, node->input[k].output))
          needed[node->input[k].node] = TRUE;
    }
  return TRUE;
}

static gboolean
build_program (Run *r, GError **error)
{
  GPtrArray *lists[] = { r->outs, r->wrts, r->ins };
  guint n_wanted = r->outs->len + r->wrts->len + (r->grad_door ? 1 + r->ins->len : 0), n = 0;
  g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, n_wanted + 1);
  g_autofree LoomNetSource *given = g_new0 (LoomNetSource, r->ins->len + 1);
  g_autofree LoomValue *value = g_new0 (LoomValue, n_wanted + 1);

  g_clear_pointer (&r->faults, loom_faults_free);
  r->faults = loom_faults_new ();
  r->net = loom_net_new (r->graph, &r->binding, r->faults);
  if (!check_faults (r, error))
    return FALSE;

  if (r->grad_door)
    wanted[n++] = r->grad_door->source;
  for (guint l = 0; l < (r->grad_door ? 3 : 2); l++)
    for (guint i = 0; i < lists[l]->len; i++)
      wanted[n++] = ((Door *)lists[l]->pdata[i])->source;
  for (guint i = 0; i < r->ins->len; i++)
    given[i] = ((Door *)r->ins->pdata[i])->source;
  if (!check_given (r, n, wanted, error))
    return FALSE;

  LoomLowerOptions options = {
    .training = g_strcmp0 (r->mode, "train") == 0,
    .float_dtype = r->float_dtype,
    .n_wanted = n,
    .wanted = wanted,
    .n_given = r->ins->len,
    .given = given,
    .seed = r->seed_value,
  };
  g_autoptr (GError) local = NULL;
  r->program = loom_lower (r->net, &options, value, &local);
  if (!r->program)
    {
      /* A missing data file stands in the faults, and says more than what it led to. */
      if (!loom_faults_to_error (r->faults, NULL, error))
        return FALSE;
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }

  n = 0;
  if (r->grad_door)
    r->grad_door->value = value[n++];
  for (guint l = 0; l < (r->grad_door ? 3 : 2); l++)
    for (guint i = 0; i < lists[l]->len; i++)
      ((Door *)lists[l]->pdata[i])->value = value[n++];

  loom_program_set_origin (r->program, NULL, NULL);
  for (guint i = 0; i < r->outs->len; i++)
    {
      const Door *door = r->outs->pdata[i];
      g_autofree char *name = g_strdup_printf ("out:%s", door->port);
      if (!loom_program_find_output (r->program, name))
        loom_program_output (r->program, name, door->value);
    }
  declare_weights (r);
  return !r->grad_door || append_gradients (r, error);
}

/* ---- weights ---------------------------------------------------------- */

static gboolean
load_weights (Run *r, GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (LoomSafetensors) file = loom_safetensors_open (r->weights, &local);
  g_autoptr (GString) wrong = g_string_new (NULL);
  g_autoptr (GHashTable) used = g_hash_table_new (g_str_hash, g_str_equal);

  if (!file)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "--weights: %s", local->message);
      return FALSE;
    }
  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      int index = loom_safetensors_find (file, weight->name);
      g_autofree char *want = loom_shape_to_string (&weight->shape);
      if (index < 0)
        {
          g_string_append_printf (wrong, "\n  %s is missing (%s)", weight->name, want);
          continue;
        }
      g_hash_table_add (used, weight->name);
      LoomType type = loom_safetensors_type (file, index);
      if (!loom_shape_equal (&type.shape, &weight->shape))
        {
          g_autofree char *got = loom_shape_to_string (&type.shape);
          g_string_append_printf (wrong, "\n  %s is %s, the graph's is %s", weight->name, got, want);
          continue;
        }
      if (loom_dtype_is_float (type.dtype) != loom_dtype_is_float (weight->dtype))
        {
          g_string_append_printf (wrong, "\n  %s is %s, the graph's is %s", weight->name, loom_dtype_name (type.dtype),
                                  loom_dtype_name (weight->dtype));
          continue;
        }
      g_autoptr (LoomTensor) raw = loom_safetensors_tensor (file, index, error);
      if (!raw)
        return FALSE;
      g_autoptr (LoomTensor) t
          = loom_tensor_convert (raw, weight_dtype (r, weight), !loom_dtype_is_float (raw->dtype), error);
      if (!t || !loom_state_set (r->state, weight->name, t, error))
        return FALSE;
    }
  for (guint i = 0; i < loom_safetensors_count (file); i++)
    if (!g_hash_table_contains (used, loom_safetensors_name (file, i)))
      command_warn (r->command, "%s: the graph has no weight “%s”.", r->weights, loom_safetensors_name (file, i));
  if (wrong->len == 0)
    return TRUE;
  if (r->partial)
    {
      command_warn (r->command, "these weights keep their initial values:%s", wrong->str);
      return TRUE;
    }
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s does not fit the graph (--partial allows it):%s", r->weights,
               wrong->str);
  return FALSE;
}

static gboolean
save_weights (Run *r, GError **error)
{
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();

  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      g_autoptr (LoomTensor) t = loom_state_get (r->state, weight->name, error);
      if (!t)
        return FALSE;
      g_ptr_array_add (tensors, loom_named_tensor_new (weight->name, t));
    }
  return loom_safetensors_save (r->save_weights, tensors, NULL, error);
}

/* ---- the step --------------------------------------------------------- */

static gboolean
feed (Run *r, GError **error)
{
  r->data = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_program_n_inputs (r->program); i++)
    {
      const char *name = loom_program_get_input (r->program, i)->name;
      LoomTensor *t = g_str_equal (name, "--grad-output") ? r->cotangent : NULL;
      for (guint k = 0; !t && k < r->ins->len; k++)
        {
          const Door *door = r->ins->pdata[k];
          g_autofree char *port = loom_net_port_name (r->net, door->source.node, door->source.output);
          if (g_str_equal (port, name))
            t = door->tensor;
        }
      if (!t)
        {
          guint output;
          int node = loom_net_find_port (r->net, name, &output, error);
          if (node < 0)
            return FALSE;
          if (!is_dataset (r->net, node))
            {
              g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                           "“%s” is needed for what was asked. Give it with --in %s=FILE.npy.", name, name);
              return FALSE;
            }
          t = read_dataset_port (r, node, output, error);
          if (!t)
            return FALSE;
          g_ptr_array_add (r->data, t);
        }
      const LoomTensorDesc *desc = &loom_value_info (r->program, loom_program_get_input (r->program, i)->value)->desc;
      if (loom_desc_count (desc) != t->count || loom_dtype_size (desc->dtype) * t->count != t->bytes)
        {
          LoomShape got = loom_tensor_shape (t), want = loom_shape (desc->rank, (const gint64 *)desc->dim);
          g_autofree char *got_text = loom_shape_to_string (&got), *want_text = loom_shape_to_string (&want);
          g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE, "“%s” is %s here, but %s was given.", name, want_text,
                       got_text);
          return FALSE;
        }
      loom_exec_feed (r->exec, i, t->data);
    }
  return TRUE;
}

static gboolean
execute (Run *r, GError **error)
{
  const char *device = r->device ? r->device : r->float_dtype == LOOM_F64 ? "ref" : "cpu";
  LoomPlanOptions options = { .device = device };

  r->devices = loom_devices_new (r->threads);
  if (!loom_devices_get (r->devices, device, error))
    return FALSE;
  r->state = loom_state_new (r->devices, device, r->seed_value);
  if (!loom_state_adopt (r->state, r->program, error) || (r->weights && !load_weights (r, error)))
    return FALSE;
  if (loom_program_n_outputs (r->program) == 0)
    return TRUE; /* --save-weights alone */
  LoomPlan *plan = loom_plan_new (r->program, r->devices, &options, error);
  if (!plan)
    return FALSE;
  r->exec = loom_exec_new (plan, r->state, error);
  return r->exec && feed (r, error) && loom_exec_step (r->exec, error);
}

static LoomTensor *
get_output (Run *r, const char *prefix, const char *name, GError **error)
{
  g_autofree char *full = g_strdup_printf ("%s:%s", prefix, name);
  int i = r->exec ? loom_exec_find_output (r->exec, full) : -1;
  return i < 0 ? NULL : loom_exec_output (r->exec, i, error);
}

static gboolean
write_outputs (Run *r, GError **error)
{
  for (guint i = 0; i < r->outs->len; i++)
    {
      const Door *door = r->outs->pdata[i];
      g_autoptr (LoomTensor) t = get_output (r, "out", door->port, error);
      if (!t || !loom_npy_save (door->file, t, error))
        return FALSE;
      if (!r->json)
        continue;
      g_autofree char *port = command_json_string (door->port), *file = command_json_string (door->file);
      printf ("{\"event\":\"output\",\"port\":%s,\"shape\":[", port);
      for (int k = 0; k < t->rank; k++)
        printf ("%s%" G_GINT64_FORMAT, k ? "," : "", t->dim[k]);
      printf ("],\"dtype\":\"%s\",\"file\":%s}\n", loom_dtype_name (t->dtype), file);
    }
  return TRUE;
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
  if (local)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (!t)
    t = loom_tensor_new (dtype, rank, dims, error); /* not reached: zeros */
  if (!t)
    return FALSE;
  g_ptr_array_add (tensors, loom_named_tensor_new (name, t));
  return TRUE;
}

static gboolean
write_gradients (Run *r, GError **error)
{
  g_autoptr (GPtrArray) tensors = loom_named_tensors_new ();
  GPtrArray *lists[] = { r->ins, r->wrts };

  for (guint i = 0; i < loom_net_n_weights (r->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (r->net, i);
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      loom_shape_get (&weight->shape, dims);
      if (is_trainable (weight)
          && !add_gradient (r, tensors, weight->name, r->float_dtype, weight->shape.rank, dims, error))
        return FALSE;
    }
  for (guint l = 0; l < G_N_ELEMENTS (lists); l++)
    for (guint i = 0; i < lists[l]->len; i++)
      {
        const Door *door = lists[l]->pdata[i];
        const LoomTensorDesc *desc = &loom_value_info (r->program, door->value)->desc;
        g_autofree char *name = g_strdup_printf ("input:%s", door->port);
        if (loom_dtype_is_float (desc->dtype)
            && !add_gradient (r, tensors, name, desc->dtype, desc->rank, (const gint64 *)desc->dim, error))
          return FALSE;
      }
  return loom_safetensors_save (r->grads, tensors, NULL, error);
}

static gboolean
work (Run *r, const char *path, GError **error)
{
  if (!open_graph (r, path, error) || !read_inputs (r, error))
    return FALSE;
  bind_batch (r);
  return bind_again (r, error) && check_bound (r, error) && build_program (r, error) && execute (r, error)
         && write_outputs (r, error) && (!r->grads || write_gradients (r, error))
         && (!r->save_weights || save_weights (r, error));
}

static int
run_run (const Command *command, int argc, char **argv)
{
  g_auto (Run) r = { .command = command, .seed = -1 };
  const GOptionEntry entries[] = {
    { "weights", 0, 0, G_OPTION_ARG_FILENAME, &r.weights, "Weights; every name and shape must match", "F" },
    { "partial", 0, 0, G_OPTION_ARG_NONE, &r.partial, "Allow weights that are missing or do not fit", NULL },
    { "in", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &r.in, "Value of an output port, inner ones too", "NODE[.PORT]=F.npy" },
    { "out", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &r.out, "Where a port's value goes", "NODE[.PORT]=F.npy" },
    { "grad", 0, 0, G_OPTION_ARG_STRING, &r.grad, "Compute the gradients of this port", "NODE[.PORT]" },
    { "grad-output", 0, 0, G_OPTION_ARG_FILENAME, &r.grad_output, "Its cotangent, unless it has one element", "F.npy" },
    { "grads", 0, 0, G_OPTION_ARG_FILENAME, &r.grads, "Where gradients go", "F.safetensors" },
    { "wrt", 0, 0, G_OPTION_ARG_STRING_ARRAY, &r.wrt, "Also with respect to this port", "NODE[.PORT]" },
    { "mode", 0, 0, G_OPTION_ARG_STRING, &r.mode, "eval (default) or train", "M" },
    { "device", 0, 0, G_OPTION_ARG_STRING, &r.device, "Device (default: cpu)", "D" },
    { "dtype", 0, 0, G_OPTION_ARG_STRING, &r.dtype, "f32 (default) or f64, which runs on ref", "T" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &r.seed, "Seed (default: the graph's, else 0)", "N" },
    { "save-weights", 0, 0, G_OPTION_ARG_FILENAME, &r.save_weights, "Where parameters and buffers go, afterwards",
      "F" },
    { "threads", 0, 0, G_OPTION_ARG_INT, &r.threads, "Threads of the CPU device (default: all)", "N" },
    { "json", 0, 0, G_OPTION_ARG_NONE, &r.json, "One object on standard output for each --out", NULL },
    { NULL },
  };
  if (!command_parse (command, entries, &argc, &argv))
    return 2;
  if (argc != 2)
    return command_usage (command, "It takes one GRAPH.");
  int status = check_words (&r);
  if (status == 0)
    status = read_doors (&r);
  if (status != 0)
    return status;

  g_autoptr (GError) error = NULL;
  if (!work (&r, argv[1], &error))
    return command_fail (command, g_steal_pointer (&error));
  return 0;
}

const Command command_run = {
  .name = "run",
  .arguments = "GRAPH",
  .summary = "compute ports and gradients from files",
  .details
  = "Only what the requested ports need is computed. A dataset port that is not given is the first batch of the\n"
    "test samples, in file order. Gradients are written under the weights' names and as input:PORT.",
  .run = run_run,
};
