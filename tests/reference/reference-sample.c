/* A sample is a small graph: an `input` node for each tensor and the operator, called n, wired to them. Its gradients
 * are those of the first output, weighted by a stored cotangent, with respect to every input and weight that PyTorch
 * has a gradient for. One program computes all of it, as `gradloom run` would build it, but in this process: thousands
 * of samples take seconds. */
#include "tests/reference/reference-sample.h"

#include <math.h>
#include <string.h>

#define HEAD      "<graph xmlns=\"urn:gradloom:graph\" version=\"1\" name=\"reference\">"
#define COTANGENT "cotangent"

typedef struct
{
  const Sample *sample;
  SampleManner *manner;
  LoomGraph *graph;
  LoomFaults *faults;
  LoomNet *net;
  LoomBinding binding;
  LoomState *state;
  LoomProgram *program;
  LoomExec *exec;
  GPtrArray *kept;    /* inputs in the program's types, while the step runs */
  GPtrArray *outputs; /* names, as in about.out */
  GPtrArray *inputs;  /* names of input nodes */
  LoomValue *value;   /* of outputs, then of inputs */
} Work;

static void
work_clear (Work *w)
{
  g_clear_pointer (&w->exec, loom_exec_free);
  g_clear_pointer (&w->program, loom_program_unref);
  g_clear_pointer (&w->state, loom_state_unref);
  g_clear_pointer (&w->net, loom_net_free);
  g_clear_pointer (&w->faults, loom_faults_free);
  g_clear_pointer (&w->graph, loom_graph_unref);
  g_clear_pointer (&w->kept, g_ptr_array_unref);
  g_clear_pointer (&w->outputs, g_ptr_array_unref);
  g_clear_pointer (&w->inputs, g_ptr_array_unref);
  g_free (w->value);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Work, work_clear)

/* ---- stored tensors --------------------------------------------------- */

static LoomTensor *
stored (const Sample *sample, const char *kind, const char *name, GError **error)
{
  g_autofree char *full = g_strdup_printf ("%s/%s%s", sample->number, kind, name);
  int i = loom_tensor_file_find (sample->file, full);

  if (i < 0)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "“%s” is not stored", full);
      return NULL;
    }
  return loom_tensor_file_tensor (sample->file, (guint)i, error);
}

/* The names of this sample's tensors of one kind, without the kind. */
static GPtrArray *
stored_names (const Sample *sample, const char *kind)
{
  GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *prefix = g_strdup_printf ("%s/%s", sample->number, kind);

  for (guint i = 0; i < loom_tensor_file_count (sample->file); i++)
    if (g_str_has_prefix (loom_tensor_file_name (sample->file, i), prefix))
      g_ptr_array_add (names, g_strdup (loom_tensor_file_name (sample->file, i) + strlen (prefix)));
  return names;
}

double
tensor_difference (const LoomTensor *is, const LoomTensor *should)
{
  LoomShape a = loom_tensor_shape (is), b = loom_tensor_shape (should);
  double largest = 0.01, apart = 0;

  if (!loom_shape_equal (&a, &b))
    return INFINITY;
  for (gint64 i = 0; i < should->count; i++)
    {
      double x = loom_tensor_get (is, i), y = loom_tensor_get (should, i);
      if (!isfinite (y))
        {
          if (isnan (y) ? !isnan (x) : x != y)
            return INFINITY;
          continue;
        }
      if (!isfinite (x))
        return INFINITY;
      largest = fmax (largest, fabs (y));
      apart = fmax (apart, fabs (x - y));
    }
  return apart / largest;
}

/* ---- the program ------------------------------------------------------ */

static gboolean
read_graph (Work *w, GError **error)
{
  JsonObject *about = w->sample->about;
  g_autofree char *xml = g_strconcat (HEAD, json_object_get_string_member (about, "graph"), "</graph>", NULL);
  JsonArray *out = json_object_get_array_member (about, "out");

  w->faults = loom_faults_new ();
  w->graph = loom_graph_read_data (xml, strlen (xml), "sample", w->faults, error);
  if (w->graph == NULL)
    return FALSE;
  for (guint i = 0; i < json_array_get_length (out); i++)
    g_ptr_array_add (w->outputs, g_strdup (json_array_get_string_element (out, i)));
  if (json_object_has_member (about, "symbols"))
    {
      JsonObject *symbols = json_object_get_object_member (about, "symbols");
      g_autoptr (GList) members = json_object_get_members (symbols);
      for (GList *l = members; l != NULL; l = l->next)
        {
          const char *symbol = l->data;
          gint64 size = json_object_get_int_member (symbols, symbol);
          w->binding.value[symbol[0] - 'A'] = size == 0 ? LOOM_BOUND_TO_ZERO : size;
        }
    }
  return TRUE;
}

static gboolean
bind_net (Work *w, GError **error)
{
  g_clear_pointer (&w->net, loom_net_free);
  w->net = loom_net_new (w->graph, &w->binding, w->faults);
  return loom_faults_to_error (w->faults, "sample", error);
}

static gboolean
is_trainable (const LoomNetWeight *weight)
{
  return !weight->is_buffer && !weight->frozen && loom_dtype_is_float (weight->dtype);
}

static void
declare_weights (Work *w, LoomProgram *p)
{
  for (guint i = 0; i < loom_net_n_weights (w->net); i++)
    {
      const LoomNetWeight *weight = loom_net_weight (w->net, i);
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      loom_shape_get (&weight->shape, dims);
      loom_program_slot (p, weight->name, weight->is_buffer ? LOOM_SLOT_BUFFER : LOOM_SLOT_PARAMETER,
                         loom_dtype_is_float (weight->dtype) ? w->manner->dtype : weight->dtype, weight->shape.rank,
                         dims, &weight->init, is_trainable (weight));
    }
}

static gboolean
load_weights (Work *w, GError **error)
{
  g_autoptr (LoomProgram) program = loom_program_new ();
  g_autoptr (GPtrArray) names = stored_names (w->sample, "weight.");

  loom_program_set_float (program, w->manner->dtype);
  declare_weights (w, program);
  if (!loom_state_add_slots (w->state, program, error))
    return FALSE;
  for (guint i = 0; i < names->len; i++)
    {
      g_autoptr (LoomTensor) t = stored (w->sample, "weight.", names->pdata[i], error);
      if (t == NULL || !loom_state_set (w->state, names->pdata[i], t, error))
        return FALSE;
    }
  return TRUE;
}

/* Program inputs are the sample's tensors by name; floats are converted to the type of the computation. */
static gboolean
feed (LoomProgram *program, LoomExec *exec, gpointer data, GError **error)
{
  Work *w = data;

  for (guint i = 0; i < loom_program_n_inputs (program); i++)
    {
      const LoomProgramInput *input = loom_program_get_input (program, i);
      gboolean is_cotangent = g_str_equal (input->name, COTANGENT);
      g_autoptr (LoomTensor) t = stored (w->sample, is_cotangent ? "" : "in.", input->name, error);
      LoomTensor *converted
          = t ? loom_tensor_convert (t, loom_value_info (program, input->value)->desc.dtype, FALSE, error) : NULL;
      if (converted == NULL)
        return FALSE;
      g_ptr_array_add (w->kept, converted);
      loom_exec_feed (exec, i, converted->data);
    }
  return TRUE;
}

static gboolean
lower (Work *w, GError **error)
{
  gboolean training = g_str_equal (json_object_get_string_member (w->sample->about, "mode"), "train");
  guint n = w->outputs->len + w->inputs->len;
  g_autofree LoomNetSource *wanted = g_new0 (LoomNetSource, n + 1);
  LoomPlanOptions plan = { .device = w->manner->device };
  LoomLowerOptions options
      = { .training = training, .effects = training, .float_dtype = w->manner->dtype, .n_wanted = n, .wanted = wanted };

  for (guint i = 0; i < n; i++)
    {
      const char *port = i < w->outputs->len ? w->outputs->pdata[i] : w->inputs->pdata[i - w->outputs->len];
      int node = loom_net_find_port (w->net, port, &wanted[i].output, error);
      if (node < 0)
        return FALSE;
      wanted[i].node = (guint)node;
    }
  if (loom_net_dynamic_size (w->net, &options) >= 0)
    {
      g_autoptr (LoomSizes) sizes = loom_sizes_new (w->graph, &options, &plan, w->manner->devices, w->state);
      if (!loom_sizes_resolve (sizes, &w->binding, feed, w, error) || !bind_net (w, error))
        return FALSE;
    }
  w->value = g_new0 (LoomValue, n + 1);
  w->program = loom_lower (w->net, &options, w->value, error);
  if (w->program == NULL)
    return FALSE;
  declare_weights (w, w->program);
  for (guint i = 0; i < w->outputs->len; i++)
    loom_program_output (w->program, w->outputs->pdata[i], w->value[i]);
  return TRUE;
}

/* The value that a stored gradient belongs to: "input:a" is an input node's, anything else a weight's; 0 if the program
 * does not read it. */
static LoomValue
differentiated (Work *w, const char *name)
{
  if (g_str_has_prefix (name, "input:"))
    {
      for (guint i = 0; i < w->inputs->len; i++)
        if (g_str_equal (w->inputs->pdata[i], name + strlen ("input:")))
          return w->value[w->outputs->len + i];
      return 0;
    }
  int slot = loom_program_find_slot (w->program, name);
  return slot < 0 ? 0 : loom_program_get_slot (w->program, (guint)slot)->read;
}

static gboolean
differentiate (Work *w, GPtrArray *names, GError **error)
{
  LoomValue seed = 0;
  g_autofree LoomValue *wrt = g_new0 (LoomValue, names->len + 1), *grads = g_new0 (LoomValue, names->len + 1);
  g_autofree guint *place = g_new0 (guint, names->len + 1);
  g_autofree char *cotangent = g_strdup_printf ("%s/" COTANGENT, w->sample->number);
  guint n = 0;

  if (loom_tensor_file_find (w->sample->file, cotangent) >= 0)
    {
      const LoomTensorDesc desc = loom_value_info (w->program, w->value[0])->desc;
      seed = loom_program_input (w->program, COTANGENT, desc.dtype, desc.rank, (const gint64 *)desc.dim);
    }
  for (guint i = 0; i < names->len; i++)
    {
      wrt[n] = differentiated (w, names->pdata[i]);
      place[n] = i;
      n += wrt[n] != 0;
    }
  if (n > 0 && !loom_differentiate (w->program, w->value[0], seed, n, wrt, grads, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (grads[i])
      {
        g_autofree char *name = g_strdup_printf ("grad.%s", (char *)names->pdata[place[i]]);
        loom_program_output (w->program, name, grads[i]);
      }
  return TRUE;
}

/* ---- comparing -------------------------------------------------------- */

static char *
compare (Work *w, const char *kind, const char *name, const LoomTensor *is, const LoomTensor *should)
{
  double scale = json_object_get_double_member_with_default (w->sample->about, "scale", 1);
  double apart = tensor_difference (is, should);
  LoomDType dtype = loom_dtype_is_float (should->dtype) && loom_dtype_is_float (is->dtype) ? is->dtype : should->dtype;

  if (is->dtype != dtype)
    return g_strdup_printf ("%s%s is %s, not %s", kind, name, loom_dtype_name (is->dtype), loom_dtype_name (dtype));
  if (apart > w->manner->tolerance * scale)
    return g_strdup_printf ("%s%s is off by %.2g", kind, name, apart);
  if (scale == 1)
    w->manner->worst = fmax (w->manner->worst, apart);
  return NULL;
}

static LoomTensor *
computed (Work *w, const char *kind, const char *name, const LoomTensor *should, GError **error)
{
  g_autofree char *full = g_strconcat (kind, name, NULL);

  if (g_str_equal (kind, "after."))
    return loom_state_get (w->state, name, error);
  int i = loom_exec_find_output (w->exec, g_str_equal (kind, "out.") ? name : full);
  if (i >= 0)
    return loom_exec_output (w->exec, (guint)i, error);
  /* A gradient that nothing reaches: zeros. */
  return loom_tensor_new (should->dtype, should->rank, should->dim, error);
}

static char *
compare_all (Work *w, const char *kind, GError **error)
{
  g_autoptr (GPtrArray) names = stored_names (w->sample, kind);

  for (guint i = 0; i < names->len; i++)
    {
      g_autoptr (LoomTensor) should = stored (w->sample, kind, names->pdata[i], error);
      g_autoptr (LoomTensor) is = should ? computed (w, kind, names->pdata[i], should, error) : NULL;
      if (is == NULL)
        return NULL;
      char *why = compare (w, kind, names->pdata[i], is, should);
      if (why != NULL)
        return why;
    }
  return NULL;
}

static gboolean
execute (Work *w, GError **error)
{
  LoomPlanOptions options = { .device = w->manner->device };
  LoomPlan *plan;

  if (!loom_state_add_slots (w->state, w->program, error))
    return FALSE;
  plan = loom_plan_new (w->program, w->manner->devices, &options, error);
  w->exec = plan != NULL ? loom_exec_new (plan, w->state, error) : NULL;
  return w->exec != NULL && feed (w->program, w->exec, w, error) && loom_exec_step (w->exec, error);
}

char *
sample_run (const Sample *sample, SampleManner *manner)
{
  static const char *const kinds[] = { "out.", "grad.", "after." };
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) grads = stored_names (sample, "grad.");
  g_auto (Work) w = { .sample = sample, .manner = manner };
  char *why = NULL;

  w.kept = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  w.outputs = g_ptr_array_new_with_free_func (g_free);
  w.inputs = stored_names (sample, "in.");
  w.state = loom_state_new (manner->devices, manner->device, 0);
  if (read_graph (&w, &error) && bind_net (&w, &error) && load_weights (&w, &error) && lower (&w, &error)
      && (grads->len == 0 || differentiate (&w, grads, &error)) && execute (&w, &error))
    for (guint i = 0; i < G_N_ELEMENTS (kinds) && why == NULL && error == NULL; i++)
      why = compare_all (&w, kinds[i], &error);
  return error ? g_strdup (error->message) : why;
}
