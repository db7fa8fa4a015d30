/* Lists what the Python file leaves out or does differently, as sentences for its head and for the command.
 *
 * Attributes of <train>, <parallel> and nodes without a counterpart are rows of a table, so that none is left out
 * without a word. */
#include "engine/pytorch/pytorch-recipe.h"

#include <string.h>

static const struct
{
  LoomTag tag;
  const char *name;
  const char *none;    /* words that need no note, separated by spaces */
  const char *instead; /* a clause: what the file does */
} left_out[] = {
  { LOOM_TAG_TRAIN, "sample_weights", "", "an epoch has each sample once" },
  { LOOM_TAG_TRAIN, "folds", "", "all training samples train, and the data set's own other samples validate" },
  { LOOM_TAG_TRAIN, "offload", "none", "states of the optimiser are stored with the weights" },
  { LOOM_TAG_TRAIN, "device", "", "--device selects the device" },
  { LOOM_TAG_TRAIN, "algorithm", "auto", "PyTorch selects the algorithms of convolutions" },
  { LOOM_TAG_PARALLEL, "strategy", "data zero3", "each rank has all weights and states, and ranks divide the batch" },
  { LOOM_TAG_PARALLEL, "staleness", "0", "ranks wait for each other" },
  { LOOM_TAG_PARALLEL, "pipeline", "0 1", "ranks divide the batch" },
  { LOOM_TAG_PARALLEL, "tensor", "0 1", "ranks divide the batch" },
  { LOOM_TAG_PARALLEL, "data", "0", "torchrun sets the number of ranks" },
  { LOOM_TAG_PARALLEL, "reduce_dtype", "f32", "gradients are exchanged in their own type" },
  { LOOM_TAG_PARALLEL, "min_ranks", "0", "torchrun's --max-restarts starts again" },
  { LOOM_TAG_NODE, "dtype", "", "the node computes in the type of the graph" },
  { LOOM_TAG_NODE, "device", "", "all nodes compute on one device" },
  { LOOM_TAG_NODE, "stage", "", "ranks divide the batch" },
  { LOOM_TAG_NODE, "split", "", "ranks divide the batch" },
};

static void G_GNUC_PRINTF (2, 3) note (PyWriter *w, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  g_ptr_array_add (w->notes, loom_pytorch_comment (text));
}

static gboolean
is_word_of (const char *words, const char *word)
{
  g_auto (GStrv) each = g_strsplit (words, " ", -1);

  return *word == 0 || g_strv_contains ((const char *const *)each, word);
}

/* A parameter of the operator is no reserved attribute. */
static gboolean
is_parameter (const LoomElement *node, const char *name)
{
  const char *word = loom_element_get (node, "op");
  const LoomOp *op = word != NULL ? loom_op (word) : NULL;
  const LoomParamSpec *param = op != NULL ? loom_op_params (op, node) : NULL;

  for (; param != NULL && param->name != NULL; param++)
    if (strcmp (param->name, name) == 0)
      return TRUE;
  return FALSE;
}

/* Adds the places of an attribute, each with its value, from an element and all below it. */
static void
collect (const LoomElement *e, guint row, GString *places)
{
  const char *value = loom_element_get (e, left_out[row].name), *id = loom_element_get (e, "id");

  if (loom_element_tag (e) == left_out[row].tag && value != NULL && !is_word_of (left_out[row].none, value)
      && (left_out[row].tag != LOOM_TAG_NODE || !is_parameter (e, left_out[row].name)))
    {
      g_string_append_printf (places, "%s%s=\"%s\"", places->len > 0 ? ", " : "", left_out[row].name, value);
      if (left_out[row].tag == LOOM_TAG_NODE && id != NULL)
        g_string_append_printf (places, " of %s", id);
    }
  for (guint i = 0; i < loom_element_n_children (e); i++)
    collect (loom_element_child (e, i), row, places);
}

/* "(batch["y"] != -100).sum().item()" for a loss that is a mean over targets from the data set; NULL for others. */
static char *
count_targets (const PyWriter *w, const LoomNetNode *node)
{
  const char *reduction = loom_element_get (node->element, "reduction"),
             *ignored = loom_element_get (node->element, "ignore_index");
  int target = loom_net_find_input (node, "target"), weight = loom_net_find_input (node, "weight");
  const LoomNetNode *from;
  const LoomNetSource *source;
  g_autofree char *port = NULL;

  if ((strcmp (node->op->name, "cross_entropy") != 0 && strcmp (node->op->name, "nll_loss") != 0)
      || (reduction != NULL && strcmp (reduction, "mean") != 0) || target < 0
      || (weight >= 0 && node->input[weight].node != G_MAXUINT)
      || (ignored != NULL && strspn (ignored, "-0123456789") != strlen (ignored)))
    return NULL;
  source = &node->input[target];
  if (source->node == G_MAXUINT || !loom_net_is_dataset (w->net, source->node))
    return NULL;
  from = loom_net_node (w->net, source->node);
  if (source->output >= from->n_outputs || from->output[source->output].dtype != LOOM_I64)
    return NULL;
  port = g_strdup_printf ("%s.%s", from->path, from->output_spec[source->output].name);
  for (guint i = 0; i + 1 < w->ports->len; i += 2)
    if (strcmp (w->ports->pdata[i], port) == 0)
      return g_strdup_printf ("(batch[\"%s\"] != %s).sum().item()", (char *)w->ports->pdata[i + 1],
                              ignored != NULL ? ignored : "-100");
  return NULL;
}

/* Losses whose mean is over other things than samples. */
static gboolean
is_counted (const LoomNetNode *node, gboolean is_loss)
{
  return strcmp (node->op->name, "cross_entropy") == 0 || strcmp (node->op->name, "nll_loss") == 0
         || (is_loss && strcmp (node->op->name, "div") == 0);
}

char *
loom_pytorch_count (PyWriter *w)
{
  const guint loss = w->spec->loss.node;
  char *text = count_targets (w, loom_net_node (w->net, loss));
  g_autofree gboolean *before = text == NULL ? loom_net_needed_for (w->net, &w->spec->loss) : NULL;

  for (guint i = 0; before != NULL && i < loom_net_n_nodes (w->net); i++)
    if (before[i] && is_counted (loom_net_node (w->net, i), i == loss))
      {
        note (w, "counts of targets in the loss: batches of accumulate, of ranks and of an evaluation are weighted by "
                 "their samples");
        break;
      }
  return text != NULL ? text : g_strdup ("len(next(iter(batch.values()), [0]))");
}

void
loom_pytorch_collect_notes (PyWriter *w)
{
  for (guint row = 0; row < G_N_ELEMENTS (left_out); row++)
    {
      g_autoptr (GString) places = g_string_new (NULL);

      collect (loom_graph_root (w->graph), row, places);
      if (places->len > 0)
        note (w, "%s: %s", places->str, left_out[row].instead);
    }
  for (guint i = 0; w->spec != NULL && i < w->spec->metrics->len; i++)
    {
      const LoomMetricSpec *metric = w->spec->metrics->pdata[i];

      if (loom_pytorch_metric (metric) == NULL)
        note (w, "the metric %s: it is not computed", metric->name);
    }
  if (w->spec != NULL && w->spec->weights != NULL && !g_str_has_suffix (w->spec->weights, ".safetensors"))
    note (w, "weights=\"%s\": only .safetensors files are read", w->spec->weights);
  if (w->spec != NULL && w->spec->optimizer->emit == NULL && (w->spec->clip_norm > 0 || w->spec->clip_value > 0))
    note (w, "clip: %s takes its step from whole gradients", w->spec->optimizer->name);
}
