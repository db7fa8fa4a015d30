/* Reads <metric>: its type, the options that type takes, and the two ports it compares. */
#include "engine/recipe/recipe-private.h"

#include <string.h>

void
recipe_metric_free (gpointer data)
{
  LoomMetricSpec *metric = data;

  g_free (metric->name);
  g_free (metric);
}

static void
read_options (RecipeReading *r, const LoomElement *e, LoomMetricSpec *metric)
{
  g_autoptr (GPtrArray) known = recipe_names (LOOM_TAG_METRIC, metric->metric->takes);

  recipe_check_names (r, e, known, NULL);
  metric->options.k = (gint64)recipe_number (r, e, "k");
  metric->options.average = (LoomAverage)recipe_choice (r, e, "average");
  metric->options.threshold = recipe_number (r, e, "threshold");
}

/* As in a step: B is the batch size. FALSE if another size is unknown. */
static gboolean
describe (const RecipeReading *r, const LoomNetSource *source, gint64 batch, LoomTensorDesc *desc)
{
  const LoomNetNode *n = loom_net_node (r->net, source->node);
  LoomBinding binding = { 0 };
  LoomShape shape;

  if (!n->typed)
    return FALSE;
  binding.value['B' - 'A'] = batch;
  shape = loom_shape_bind (&n->output[source->output].shape, &binding);
  if (!loom_shape_is_concrete (&shape))
    return FALSE;
  *desc = (LoomTensorDesc){ .dtype = n->output[source->output].dtype, .rank = shape.rank };
  loom_shape_get (&shape, desc->dim);
  return TRUE;
}

static void
check_shapes (RecipeReading *r, const LoomElement *e, const LoomMetricSpec *metric, gint64 batch)
{
  LoomTensorDesc input, target;
  g_autofree char *why = NULL;

  /* If a node has a fault, such as the loss that compares the same tensors, a fault here would only be its consequence.
   */
  if (!r->partial && describe (r, &metric->input, batch, &input) && describe (r, &metric->target, batch, &target)
      && !metric->metric->check (&metric->options, &input, &target, &why))
    recipe_complain (r, e, LOOM_ERROR_SHAPE, "input", "Metric “%s” cannot be computed: %s.", metric->name, why);
}

void
recipe_read_metric (RecipeReading *r, const LoomElement *e, LoomTrainSpec *spec)
{
  const char *type = loom_element_get (e, "type"), *name = loom_element_get (e, "name");
  const LoomMetric *found = type != NULL ? loom_metric (type) : NULL;
  LoomMetricSpec *metric;

  if (found == NULL)
    {
      if (type != NULL)
        recipe_complain_name (r, e, "type", "metric");
      r->failed = TRUE; /* a missing type is a grammar fault */
      return;
    }
  metric = g_new0 (LoomMetricSpec, 1);
  metric->metric = found;
  metric->name = g_strdup (name != NULL ? name : type);
  read_options (r, e, metric);
  if (recipe_read_port (r, e, "input", &metric->input) & recipe_read_port (r, e, "target", &metric->target))
    check_shapes (r, e, metric, spec->batch_size);
  for (guint i = 0; i < spec->metrics->len; i++)
    if (strcmp (((LoomMetricSpec *)spec->metrics->pdata[i])->name, metric->name) == 0)
      recipe_complain (r, e, LOOM_ERROR_SCHEMA, "name",
                       "two metrics have the name “%s”. Give one of them another name.", metric->name);
  g_ptr_array_add (spec->metrics, metric);
}

static gboolean
is_same (const LoomNetSource *a, const LoomNetSource *b)
{
  return a->node == b->node && a->output == b->output;
}

LoomOutputKind
loom_train_output_kind (const LoomTrainSpec *spec, const LoomNet *net, const LoomNetSource *output)
{
  const LoomNetNode *own = loom_net_node (net, output->node);

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      int input = node->op != NULL && node->op->prediction_kind != LOOM_OUTPUT_VALUES
                      ? loom_net_find_input_for (node, LOOM_PORT_PREDICTION)
                      : -1;

      if (input >= 0 && is_same (&node->input[input], output))
        return node->op->prediction_kind;
    }
  for (guint i = 0; spec != NULL && i < spec->metrics->len; i++)
    {
      const LoomMetricSpec *metric = spec->metrics->pdata[i];
      if (is_same (&metric->input, output) && metric->metric->of_scores && own->output[output->output].shape.rank > 1)
        return LOOM_OUTPUT_SCORES;
    }
  if (own->op == NULL)
    return LOOM_OUTPUT_VALUES;
  if (own->op->output_kind == LOOM_OUTPUT_PROBABILITIES && own->output[0].shape.rank != 2)
    return LOOM_OUTPUT_VALUES;
  return own->op->output_kind;
}
