/* Ports of attention weights are those of attention layers, and probabilities over as many positions as there are rows,
 * such as the softmax of attention that is drawn from matrix products. */
#include "app/report/report-attention.h"

#include <string.h>

static void
attention_free (gpointer data)
{
  ReportAttention *attention = data;

  g_free (attention->port);
  g_free (attention->weight);
  g_free (attention);
}

GPtrArray *
report_attention_list_new (void)
{
  return g_ptr_array_new_with_free_func (attention_free);
}

/* The output of a node with attention weights; -1: it has none. */
static int
find_weights (const LoomNetNode *n)
{
  if (n->op == NULL || !n->typed || n->loop != G_MAXUINT || n->muted)
    return -1;
  for (guint i = 0; i < n->n_outputs; i++)
    {
      const LoomShape *shape = &n->output[i].shape;
      const gboolean is_layer = strstr (n->op->name, "attention") != NULL;

      if (shape->rank < 3)
        continue;
      if (is_layer ? g_strcmp0 (n->output_spec[i].name, "weights") == 0
                   : n->op->output_kind == LOOM_OUTPUT_PROBABILITIES
                         && loom_dim_equal (shape->dim[shape->rank - 1], shape->dim[shape->rank - 2]))
        return (int)i;
    }
  return -1;
}

static LoomTensor *
read_sample (const LoomPredictor *predictor, const LoomDataset *dataset, const char *port, GError **error)
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  const gint64 first = 0;
  g_autoptr (GPtrArray) tensors
      = loom_dataset_read_new (dataset, loom_evaluation_default_split (predictor), &first, 1, error);

  for (guint p = 0; tensors != NULL && p < info->n_ports; p++)
    if (g_str_equal (info->port[p].name, port))
      return loom_tensor_ref (tensors->pdata[p]);
  return NULL;
}

/* The names of a sample's tokens, one for each position. */
static char **
name_tokens (const LoomDataset *dataset, const LoomTensor *sample)
{
  const char *const *names = loom_dataset_token_names (dataset);
  const guint n_names = names != NULL ? g_strv_length ((char **)names) : 0;
  g_autoptr (GStrvBuilder) list = g_strv_builder_new ();

  if (n_names == 0 || sample->rank != 2 || (sample->dtype != LOOM_I64 && sample->dtype != LOOM_I32))
    return NULL;
  for (gint64 i = 0; i < sample->count; i++)
    {
      const double token = loom_tensor_get (sample, i);
      g_strv_builder_add (list, token >= 0 && token < n_names ? names[(guint)token] : "?");
    }
  return g_strv_builder_end (list);
}

/* t [1, heads…, rows, columns], or with the batch and the heads in one dimension. */
static ReportAttention *
attention_of (const LoomTensor *t, const char *port)
{
  ReportAttention *self = g_new0 (ReportAttention, 1);

  self->port = g_strdup (port);
  self->rows = t->dim[t->rank - 2];
  self->columns = t->dim[t->rank - 1];
  self->heads = t->count / MAX (1, self->rows * self->columns);
  self->weight = g_new (double, MAX (t->count, 1));
  for (gint64 i = 0; i < t->count; i++)
    self->weight[i] = loom_tensor_get (t, i);
  return self;
}

static gboolean
add_map (ReportData *self, const LoomPredictorOptions *options, const char *port, GError **error)
{
  LoomPredictorOptions wanted = *options;
  g_autoptr (LoomPredictor) predictor = NULL;
  g_autoptr (LoomTensor) sample = NULL, t = NULL;
  const LoomDataset *dataset;
  const char *why = NULL;

  wanted.output = port;
  predictor = loom_predictor_new (self->graph, &wanted, error);
  if (predictor == NULL || loom_predictor_writes (predictor))
    return FALSE;
  dataset = loom_predictor_dataset (predictor, &why);
  if (dataset == NULL)
    {
      if (why != NULL)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA, "%s", why);
      return FALSE;
    }
  sample = read_sample (predictor, dataset, "x", error);
  t = sample != NULL ? loom_predictor_compute (predictor, sample, error) : NULL;
  if (t == NULL || t->rank < 3)
    return FALSE;
  if (t->dim[t->rank - 1] <= REPORT_MOST_CELLS && t->dim[t->rank - 2] <= REPORT_MOST_CELLS)
    g_ptr_array_add (self->attention, attention_of (t, port));
  if (self->tokens == NULL)
    self->tokens = name_tokens (dataset, sample);
  return TRUE;
}

void
report_attention_compute (ReportData *self, const LoomPredictorOptions *options)
{
  for (guint i = 0; i < loom_net_n_nodes (self->net) && self->attention->len < REPORT_MOST_MAPS; i++)
    {
      const int output = find_weights (loom_net_node (self->net, i));
      g_autofree char *port = output >= 0 ? loom_net_port_name (self->net, i, (guint)output) : NULL;
      g_autoptr (GError) error = NULL;

      if (port == NULL || add_map (self, options, port, &error) || error == NULL)
        continue;
      g_free (self->no_attention);
      self->no_attention = g_strdup (error->message);
    }
}
