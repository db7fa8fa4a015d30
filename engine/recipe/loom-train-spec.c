/* Reads <train>: loss, optimiser, length and samples of a run. Everything is checked here, so that the trainer can rely
 * on it and Studio can show faults before training. */
#include "engine/recipe/recipe-private.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

static guint64
read_seed (RecipeReading *r)
{
  const char *text = loom_element_get (r->element, "seed");
  guint64 seed = 0;

  if (text != NULL && !g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT64, &seed, NULL))
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "seed",
                     "seed is “%s”, which is not 0 or a positive whole number.", text);
  return seed;
}

/* ---- ports ------------------------------------------------------------ */

gboolean
recipe_read_port (RecipeReading *r, const LoomElement *e, const char *attribute, LoomNetSource *source)
{
  const char *text = loom_element_get (e, attribute);
  g_autoptr (GError) error = NULL;
  int node;

  if (text == NULL)
    {
      recipe_complain (r, e, LOOM_ERROR_SCHEMA, attribute,
                       "the attribute “%s” is missing; it names a port of the graph.", attribute);
      return FALSE;
    }
  node = loom_net_find_port (r->net, text, &source->output, &error);
  if (node < 0)
    {
      r->failed = TRUE;
      if (!loom_net_port_is_unknown (r->net, text))
        recipe_complain (r, e, LOOM_ERROR_PORT, attribute, "%s", error->message);
      return FALSE;
    }
  source->node = (guint)node;
  return TRUE;
}

static void
check_loss (RecipeReading *r, const LoomNetSource *loss)
{
  const LoomNetNode *n = loom_net_node (r->net, loss->node);
  const LoomType *type;
  LoomDim count;

  /* If the loss has no type, the net has reported a fault. */
  if (!n->typed)
    {
      r->failed = TRUE;
      return;
    }
  type = n->output + loss->output;
  count = loom_shape_count (&type->shape);
  if (!loom_dim_is_known (count) || count.coef != 1)
    {
      g_autofree char *shape = loom_shape_to_string (&type->shape);

      recipe_complain (r, r->element, LOOM_ERROR_SHAPE, "loss",
                       "the loss must be a scalar, but “%s” is %s. Put a mean or a loss node after it.",
                       loom_element_get (r->element, "loss"), shape);
    }
  else if (!loom_dtype_is_float (type->dtype))
    recipe_complain (r, r->element, LOOM_ERROR_DTYPE, "loss", "the loss must be a float, but “%s” is %s.",
                     loom_element_get (r->element, "loss"), loom_dtype_name (type->dtype));
}

/* An input node gets its values from the command line of `run`, and has no values in training. */
static void
complain_input (RecipeReading *r, const LoomNetNode *n)
{
  LoomFault *fault = recipe_complain (r, r->element, LOOM_ERROR_DATA, "loss",
                                      "the loss depends on the input “%s”, which no data set provides.", n->path);

  loom_fault_set_fix (fault, NULL, NULL, "Wire a “dataset” node to it, or make “%s” a “parameter” or a “constant”.",
                      n->path);
}

/* The data set that the loss depends on; an epoch covers its samples. A loss of parameters only has none. */
static void
find_dataset (RecipeReading *r, LoomTrainSpec *spec)
{
  g_autofree gboolean *needed = g_new0 (gboolean, loom_net_n_nodes (r->net) + 1);
  const LoomNetNode *first = NULL;

  spec->dataset_node = -1;
  needed[spec->loss.node] = !loom_net_is_weight (r->net, &spec->loss);
  for (guint i = spec->loss.node + 1; i-- > 0;)
    {
      const LoomNetNode *n = loom_net_node (r->net, i);

      if (!needed[i])
        continue;
      for (guint k = 0; k < n->n_inputs; k++)
        if (n->input[k].node < i && !loom_net_is_weight (r->net, &n->input[k]))
          needed[n->input[k].node] = TRUE;
      if (n->op->lower == NULL && n->op->dynamic_outputs == NULL)
        complain_input (r, n);
      if (!loom_net_is_dataset (r->net, i))
        continue;
      if (first != NULL)
        recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "loss",
                         "the loss depends on two data sets, “%s” and “%s”; this version of Gradloom trains on one.",
                         n->path, first->path);
      first = n;
      spec->dataset_node = (int)i;
    }
}

/* The first node before the loss that continues from the state of the previous batch; NULL: none. */
static const LoomNetNode *
find_stateful (const LoomNet *net, const LoomNetSource *loss)
{
  g_autofree gboolean *needed = NULL;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *n = loom_net_node (net, i);

      if (n->op == NULL || !n->typed || !loom_op_has_param (n->op, LOOM_STATEFUL)
          || !loom_infer_bool (loom_net_infer (net, i), LOOM_STATEFUL))
        continue;
      if (needed == NULL)
        needed = loom_net_needed_for (net, loss);
      if (needed[i])
        return n;
    }
  return NULL;
}

/* The state can be carried from window to window of a text if each begins at the end of the previous one. */
static void
read_stateful (RecipeReading *r, LoomTrainSpec *spec)
{
  const LoomNetNode *node = find_stateful (r->net, &spec->loss);
  const LoomInfer *data = spec->dataset_node >= 0 ? loom_net_infer (r->net, (guint)spec->dataset_node) : NULL;
  gint64 stride;

  if (node == NULL)
    return;
  spec->stateful = TRUE;
  if (data == NULL || g_strcmp0 (loom_infer_string (data, "source"), "text") != 0)
    {
      recipe_complain (
          r, r->element, LOOM_ERROR_DATA, "loss",
          "“%s” has stateful=\"true\", so it continues from the state after the previous batch; only the windows of a "
          "data set with source=\"text\" are consecutive. Remove stateful.",
          node->path);
      return;
    }
  stride = loom_infer_int (data, "stride");
  if (stride != 0 && stride != loom_infer_int (data, "context"))
    recipe_complain (r, r->element, LOOM_ERROR_DATA, "loss",
                     "“%s” has stateful=\"true\", but the windows of “%s” overlap or leave gaps: stride is %" PRId64 " "
                     "and context %" PRId64 ". Remove stride.",
                     node->path, loom_net_node (r->net, (guint)spec->dataset_node)->path, stride,
                     loom_infer_int (data, "context"));
  if (spec->optimizer != NULL && spec->optimizer->emit == NULL && !spec->optimizer->takes_no_gradients)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "optimizer",
                     "“%s” evaluates a batch many times, but “%s” with stateful=\"true\" reads it once. Choose another "
                     "optimizer.",
                     spec->optimizer->name, node->path);
}

/* ---- parts ------------------------------------------------------------ */

static const LoomOptimizer *
find_optimizer (RecipeReading *r)
{
  const char *name = loom_element_get (r->element, "optimizer");
  const LoomOptimizer *found = loom_optimizer (name != NULL ? name : recipe_spec_of (r->element, "optimizer")->def);

  if (found == NULL)
    recipe_complain_name (r, r->element, "optimizer", "optimiser");
  return found;
}

/* The hyper-parameters that hyper[k] begins as a list: betas="0.9,0.999" is beta1 and beta2. */
static void
read_list (RecipeReading *r, LoomTrainSpec *spec, guint k)
{
  const LoomHyper *hyper = spec->optimizer->hyper + k;
  const char *text = loom_element_get (r->element, hyper->list);
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  g_autoptr (GString) example = g_string_new (NULL);
  gboolean good = TRUE;
  guint n = 0;

  for (; g_strcmp0 (hyper[n].name != NULL ? hyper[n].list : NULL, hyper->list) == 0; n++)
    {
      char number[G_ASCII_DTOSTR_BUF_SIZE];
      const char *part = n < g_strv_length (parts) ? g_strstrip (parts[n]) : "";
      double value;

      g_string_append_printf (example, "%s%s", n > 0 ? "," : "",
                              g_ascii_formatd (number, sizeof number, "%.6g", hyper[n].value));
      /* A decay of 1 would never forget. */
      good = good && loom_param_parse_float (part, &value) && value >= hyper[n].minimum && value <= hyper[n].maximum
             && (strcmp (hyper->list, "betas") != 0 || value < 1);
      if (good)
        spec->hyper[k + n] = value;
    }
  if (!good || g_strv_length (parts) != n)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, hyper->list,
                     strcmp (hyper->list, "betas") == 0
                         ? N_ ("%s is “%s”; it must be two numbers from 0 to below 1, such as “0.9,0.999”.")
                         : N_ ("%s is “%s”; it must be a list such as “%s”, each number within its range."),
                     hyper->list, text, example->str);
}

static double
read_hyper (RecipeReading *r, const LoomHyper *hyper)
{
  if (hyper->choices != NULL)
    return recipe_choice_or (r, r->element, hyper->name, (guint)hyper->value, hyper->choices);
  if (hyper->is_bool)
    return recipe_flag_or (r, r->element, hyper->name, hyper->value != 0);
  return recipe_hyper (r, r->element, hyper);
}

/* PyTorch also refuses nesterov without momentum, because it would have no effect. */
static void
check_flags (RecipeReading *r, const LoomTrainSpec *spec)
{
  for (guint i = 0; spec->optimizer->hyper[i].name != NULL; i++)
    {
      const LoomHyper *hyper = spec->optimizer->hyper + i;

      if (hyper->is_bool && hyper->needs != NULL && spec->hyper[i] != 0
          && spec->hyper[loom_optimizer_find (spec->optimizer, hyper->needs)] == 0)
        recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, hyper->name, "%s needs a %s above 0. Set one, or remove %s.",
                         hyper->name, hyper->needs, hyper->name);
    }
}

/* Rprop clamps each step size between the two. */
static void
check_step_sizes (RecipeReading *r, const LoomTrainSpec *spec)
{
  const int least = loom_optimizer_find (spec->optimizer, "step_size_min");
  const int most = loom_optimizer_find (spec->optimizer, "step_size_max");

  if (least >= 0 && most >= 0 && spec->hyper[least] > spec->hyper[most])
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA,
                     loom_element_get (r->element, "step_sizes") != NULL ? "step_sizes" : "step_size_min",
                     "step_size_min is %g, which is above step_size_max, %g. Exchange them, or change one.",
                     spec->hyper[least], spec->hyper[most]);
}

static void
read_optimizer (RecipeReading *r, LoomTrainSpec *spec)
{
  g_autoptr (GPtrArray) known = recipe_names (LOOM_TAG_TRAIN, 0);
  guint n = 0;
  double base, lr_batch;

  spec->optimizer = find_optimizer (r);
  if (spec->optimizer == NULL)
    return;
  recipe_check_names (r, r->element, known, spec->optimizer);
  if (loom_element_get (r->element, "betas") != NULL && loom_optimizer_find (spec->optimizer, "beta2") < 0)
    recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "betas", "the optimiser “%s” has no betas; remove them.",
                     spec->optimizer->name);
  base = (double)spec->batch_size * (double)spec->accumulate;
  lr_batch = recipe_number (r, r->element, "lr_batch_size");
  spec->lr_scale = lr_batch > 0 ? base / lr_batch : 1;
  while (spec->optimizer->hyper[n].name != NULL)
    n++;
  spec->hyper = g_new0 (double, n + 1);
  for (guint i = 0; i < n; i++)
    {
      const LoomHyper *hyper = spec->optimizer->hyper + i;

      spec->hyper[i] = read_hyper (r, hyper);
      if (strcmp (hyper->name, "lr") == 0)
        spec->hyper[i] *= spec->lr_scale;
    }
  for (guint i = 0; i < n; i++)
    {
      const char *list = spec->optimizer->hyper[i].list;

      if (list != NULL && loom_element_get (r->element, list) != NULL
          && (i == 0 || g_strcmp0 (spec->optimizer->hyper[i - 1].list, list) != 0))
        read_list (r, spec, i);
    }
  check_flags (r, spec);
  check_step_sizes (r, spec);
}

static void
read_clip (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec)
{
  g_autoptr (GPtrArray) known = recipe_names (LOOM_TAG_CLIP, 0);
  const char *norm = loom_element_get (e, "norm") != NULL ? "norm" : "max_norm";

  recipe_check_names (r, e, known, NULL);
  if (loom_element_get (e, norm) == NULL && loom_element_get (e, "value") == NULL)
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, "norm",
                     "<clip> needs “norm”, the largest norm of all gradients together, or “value”, the largest of an "
                     "element.");
  spec->clip_norm = recipe_number (r, e, norm);
  spec->clip_value = recipe_number (r, e, "value");
  if (spec->optimizer != NULL && spec->optimizer->emit == NULL && (spec->clip_norm > 0 || spec->clip_value > 0))
    recipe_complain (r, e, LOOM_ERROR_SCHEMA, NULL, "“%s” needs the unclipped gradient; remove <clip>.",
                     spec->optimizer->name);
}

static void
read_children (RecipeReading *r, LoomTrainSpec *spec)
{
  for (guint i = 0; i < loom_element_n_children (r->element); i++)
    {
      const LoomElement *e = loom_element_child (r->element, i);
      LoomTag tag = loom_element_tag (e);

      if (tag == LOOM_TAG_SCHEDULE)
        recipe_read_schedule (r, e, spec);
      else if (tag == LOOM_TAG_METRIC)
        recipe_read_metric (r, e, spec);
      else if (tag == LOOM_TAG_CLIP)
        read_clip (r, e, spec);
      else if (tag == LOOM_TAG_GROUP)
        recipe_read_group (r, e, spec);
      else if (tag == LOOM_TAG_PARALLEL)
        recipe_read_parallel (r, e, spec);
    }
}

static LoomDType
read_precision (RecipeReading *r)
{
  const LoomParamSpec *spec = recipe_spec_of (r->element, "precision");
  const char *text = loom_element_get (r->element, "precision");

  for (int type = 0; text != NULL && g_strv_contains (spec->choices, text) && type < LOOM_N_DTYPES; type++)
    if (strcmp (text, loom_dtype_name (type)) == 0)
      return type;
  if (text != NULL)
    loom_fault_set_fix (recipe_complain (r, r->element, LOOM_ERROR_SCHEMA, "precision",
                                         "precision is “%s”; it must be f32, bf16, f16 or f64.", text),
                        "precision", "bf16", "Set it to bf16.");
  return LOOM_F32;
}

/* ---- entry points --------------------------------------------------------- */

/* A step is planned before its batch is read, so no size may depend on the batch's data. */
static void
check_sizes (RecipeReading *r, const LoomTrainSpec *spec)
{
  g_autoptr (GArray) wanted = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));
  LoomLowerOptions options = { 0 };
  int node;

  g_array_append_val (wanted, spec->loss);
  for (guint i = 0; i < spec->metrics->len; i++)
    {
      const LoomMetricSpec *m = spec->metrics->pdata[i];

      g_array_append_val (wanted, m->input);
      g_array_append_val (wanted, m->target);
    }
  options.n_wanted = wanted->len;
  options.wanted = (const LoomNetSource *)wanted->data;
  node = loom_net_dynamic_size (r->net, &options);
  if (node >= 0)
    recipe_complain (
        r, r->element, LOOM_ERROR_SHAPE, "loss",
        "The size of “%s” (%s) depends on the data, but a training step is planned before it reads them. Use where or "
        "masked_fill, which keep their size; “gradloom run” can compute the graph as it is.",
        loom_net_node (r->net, (guint)node)->path, loom_net_node (r->net, (guint)node)->op->name);
}

/* A pattern may match a weight of a faulty node, so patterns are checked only if there are no faults. */
static gboolean
is_partial (const LoomNet *net, const LoomFaults *faults)
{
  for (guint i = 0; i < loom_faults_length (faults); i++)
    if (loom_faults_get (faults, i)->node != NULL && !loom_faults_get (faults, i)->is_warning)
      return TRUE;
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    if (!loom_net_node (net, i)->typed)
      return TRUE;
  return FALSE;
}

/* (transfer full); NULL: none. */
static GHashTable *
find_factors (const LoomNet *net)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < loom_net_n_weights (net); i++)
    if (loom_net_weight (net, i)->is_factor)
      g_hash_table_add (names, g_strdup (loom_net_weight (net, i)->name));
  return g_hash_table_size (names) > 0 ? g_steal_pointer (&names) : NULL;
}

LoomTrainSpec *
loom_train_spec_new (const LoomGraph *graph, const LoomNet *net, LoomFaults *faults)
{
  RecipeReading r = { .net = net, .faults = faults };
  g_autoptr (LoomTrainSpec) spec = NULL;
  const char *device;

  g_return_val_if_fail (graph != NULL && net != NULL && faults != NULL, NULL);

  r.element = loom_element_find (loom_graph_root (graph), LOOM_TAG_TRAIN);
  if (r.element == NULL)
    return NULL;
  r.partial = is_partial (net, faults);
  spec = g_new0 (LoomTrainSpec, 1);
  spec->graph = loom_graph_ref ((LoomGraph *)graph);
  spec->net = loom_net_ref (net);
  spec->parallel.bucket_mb = 25;
  spec->parallel.splits = g_ptr_array_new_with_free_func (recipe_split_free);
  spec->metrics = g_ptr_array_new_with_free_func (recipe_metric_free);
  spec->groups = g_ptr_array_new_with_free_func (recipe_group_free);
  spec->scheduled = recipe_scheduled (net);
  spec->factors = find_factors (net);
  spec->epochs = (gint64)recipe_number (&r, r.element, "epochs");
  spec->batch_size = (gint64)recipe_number (&r, r.element, "batch_size");
  spec->seed = read_seed (&r);
  device = loom_element_get (r.element, "device");
  spec->device = g_strdup (device != NULL ? device : recipe_spec_of (r.element, "device")->def);
  spec->precision = read_precision (&r);
  if (!loom_dtype_runs_on (spec->precision, spec->device))
    loom_fault_set_fix (
        recipe_complain (&r, r.element, LOOM_ERROR_SCHEMA, "precision",
                         "precision=\"%s\" needs the device “%s”, but the device is “%s”.",
                         loom_dtype_name (spec->precision), loom_dtype_backend (spec->precision), spec->device),
        "device", loom_dtype_backend (spec->precision), "Set device to %s.", loom_dtype_backend (spec->precision));
  spec->drop_last = (LoomDropLast)recipe_choice (&r, r.element, "drop_last");
  recipe_read_sampling (&r, spec);
  spec->tf32 = recipe_flag (&r, r.element, "tf32");
  spec->offload = recipe_choice (&r, r.element, "offload") == 1;
  spec->direct = recipe_choice (&r, r.element, "algorithm") == 1;
  spec->accumulate = (gint64)recipe_number (&r, r.element, "accumulate");
  read_optimizer (&r, spec);
  read_children (&r, spec);
  recipe_read_splits (&r, spec);
  recipe_check_parallel (&r, spec);
  recipe_read_course (&r, spec);
  /* A <train> with only initial weights belongs to a model that was imported from a file. Its missing loss is an error
   * only for training. */
  if (loom_element_get (r.element, "loss") == NULL && spec->weights != NULL)
    r.failed = TRUE;
  else if (recipe_read_port (&r, r.element, "loss", &spec->loss))
    {
      check_loss (&r, &spec->loss);
      check_sizes (&r, spec);
      find_dataset (&r, spec);
      if (!r.failed)
        read_stateful (&r, spec);
    }
  return r.failed ? NULL : g_steal_pointer (&spec);
}

void
loom_train_spec_free (LoomTrainSpec *spec)
{
  if (spec == NULL)
    return;
  g_clear_pointer (&spec->metrics, g_ptr_array_unref);
  g_clear_pointer (&spec->groups, g_ptr_array_unref);
  g_clear_pointer (&spec->factors, g_hash_table_unref);
  g_clear_pointer (&spec->scheduled, g_ptr_array_unref);
  g_clear_pointer (&spec->parallel.splits, g_ptr_array_unref);
  loom_schedule_clear (&spec->schedule);
  g_free (spec->hyper);
  g_free (spec->device);
  g_free (spec->sample_weights);
  g_clear_pointer (&spec->parallel.stages, loom_stages_free);
  g_free (spec->weights);
  g_free (spec->match);
  g_free (spec->adapter);
  loom_net_free (spec->net);
  loom_graph_unref (spec->graph);
  g_free (spec);
}

#define SHARE_OF_EPOCH   10
#define MAX_RECENT_STEPS 50

gint64
loom_train_recent_steps (gint64 steps_per_epoch)
{
  const gint64 n = CLAMP (steps_per_epoch / SHARE_OF_EPOCH, 1, MAX_RECENT_STEPS);

  return n > 1 ? n / 2 * 2 : 1;
}
