/* Finds the port of a net that is the prediction, the meaning of its numbers, and the input that it depends on. */
#include "engine/infer/loom-answer-port.h"

#include "engine/core/loom-refuse.h"

static gboolean
same_source (const LoomNetSource *a, const LoomNetSource *b)
{
  return a->node == b->node && a->output == b->output;
}

/* An incomplete graph may have nodes of unknown operators. */
static LoomOpRole
role_of (const LoomNetNode *node)
{
  return node->op != NULL ? node->op->role : LOOM_ROLE_NONE;
}

/* The only node with the role, or -1 if there is none or several. */
static int
only_node (const LoomNet *net, LoomOpRole role)
{
  int found = -1;

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    if (role_of (loom_net_node (net, i)) == role)
      {
        if (found >= 0)
          return -1;
        found = (int)i;
      }
  return found;
}

gboolean
loom_answer_find_output (const LoomNet *net, const LoomTrainSpec *spec, const char *wanted, LoomNetSource *output,
                         GError **error)
{
  int node;

  if (wanted != NULL)
    {
      node = loom_net_find_port (net, wanted, &output->output, error);
      output->node = (guint)node;
      return node >= 0;
    }
  node = only_node (net, LOOM_ROLE_OUTPUT);
  if (node >= 0 && loom_net_node (net, (guint)node)->n_inputs > 0
      && loom_net_node (net, (guint)node)->input[0].node != G_MAXUINT)
    {
      *output = loom_net_node (net, (guint)node)->input[0];
      return TRUE;
    }
  if (spec != NULL && loom_net_find_prediction (net, &spec->loss, output))
    return TRUE;
  if (spec != NULL && spec->metrics->len > 0)
    {
      *output = ((LoomMetricSpec *)spec->metrics->pdata[0])->input;
      return TRUE;
    }
  return loom_refuse (error, LOOM_ERROR_USAGE, "The port to predict is not known: %s. Name it with --output NODE.PORT.",
                      spec != NULL ? "the loss compares no input with a target" : "the graph has no <train>");
}

gint64
loom_answer_find_blank (const LoomNet *net, const LoomNetSource *output)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    {
      const LoomNetNode *node = loom_net_node (net, i);
      const int input = node->op != NULL && g_str_equal (node->op->name, "ctc_loss")
                            ? loom_net_find_input_for (node, LOOM_PORT_PREDICTION)
                            : -1;
      const char *blank = input >= 0 ? loom_element_get (node->element, "blank") : NULL;

      if (input >= 0 && same_source (&node->input[input], output))
        return blank != NULL ? MAX (g_ascii_strtoll (blank, NULL, 10), 0) : 0;
    }
  return -1;
}

static gboolean
is_dataset (const LoomNetNode *node)
{
  return role_of (node) == LOOM_ROLE_DATASET;
}

/* The data set whose LOOM_ANSWER_SHIFTED port a needed node reads, or -1. */
static int
find_shifted (const LoomNet *net, const gboolean *needed)
{
  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint k = 0; needed[i] && k < loom_net_node (net, i)->n_inputs; k++)
      {
        const LoomNetSource *source = &loom_net_node (net, i)->input[k];
        const LoomNetNode *from = source->node != G_MAXUINT ? loom_net_node (net, source->node) : NULL;

        if (from != NULL && is_dataset (from) && source->output < from->n_outputs
            && g_str_equal (from->output_spec[source->output].name, LOOM_ANSWER_SHIFTED))
          return (int)source->node;
      }
  return -1;
}

GArray *
loom_answer_list_inputs (const LoomNet *net, const LoomNetSource *output)
{
  g_autofree gboolean *needed = loom_net_needed_for (net, output);
  GArray *list = g_array_new (FALSE, FALSE, sizeof (LoomNetSource));

  for (guint i = 0; i < loom_net_n_nodes (net); i++)
    for (guint k = 0; needed[i] && k < loom_net_node (net, i)->n_inputs; k++)
      {
        const LoomNetSource *source = &loom_net_node (net, i)->input[k];
        const LoomNetNode *from = source->node != G_MAXUINT ? loom_net_node (net, source->node) : NULL;
        guint at = 0;

        if (from == NULL || (!is_dataset (from) && role_of (from) != LOOM_ROLE_INPUT))
          continue;
        while (at < list->len && !same_source (source, &g_array_index (list, LoomNetSource, at)))
          at++;
        if (at == list->len)
          g_array_append_val (list, *source);
      }
  return list;
}

gboolean
loom_answer_find_input (const LoomNet *net, const LoomNetSource *output, LoomNetSource *input, gboolean *writes,
                        GError **error)
{
  g_autofree gboolean *needed = loom_net_needed_for (net, output);
  g_autofree char *output_name = loom_net_port_name (net, output->node, output->output);
  g_autoptr (GArray) all = NULL;
  int shifted = writes != NULL ? find_shifted (net, needed) : -1;

  if (shifted >= 0)
    {
      *input = (LoomNetSource){ .node = (guint)shifted, .output = 0 };
      *writes = TRUE;
      return TRUE;
    }
  all = loom_answer_list_inputs (net, output);
  if (all->len == 0)
    return loom_refuse (error, LOOM_ERROR_USAGE, "“%s” depends on no data. Name another port with --output.",
                        output_name);
  for (guint i = 0; i < all->len; i++)
    {
      const LoomNetSource *source = &g_array_index (all, LoomNetSource, i);

      if (i > 0 || (is_dataset (loom_net_node (net, source->node)) && source->output != 0))
        {
          g_autofree char *port = loom_net_port_name (net, source->node, source->output);
          g_set_error (
              error, LOOM_ERROR, LOOM_ERROR_USAGE,
              "“%s” depends on “%s” too, but a file provides only one port. Name a port before it with --output.",
              output_name, port);
          return FALSE;
        }
    }
  *input = g_array_index (all, LoomNetSource, 0);
  return TRUE;
}
