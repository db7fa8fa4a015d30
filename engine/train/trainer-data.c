/* Which samples of a data set are looked at beside training, and which an epoch leaves out. */
#include "engine/data/loom-sample-weights.h"
#include "engine/train/trainer-private.h"

#include <string.h>

GPtrArray *
trainer_dataset_sample (const LoomDataset *dataset, LoomSplit split, gint64 n, GError **error)
{
  n = MIN (n, loom_dataset_count (dataset, split));
  g_autofree gint64 *indices = g_new (gint64, n);
  for (gint64 i = 0; i < n; i++)
    indices[i] = i;
  return loom_dataset_read_new (dataset, split, indices, (guint)n, error);
}

LoomSplit
trainer_dataset_validation (const LoomDataset *dataset)
{
  if (loom_dataset_count (dataset, LOOM_SPLIT_VAL) > 0)
    return LOOM_SPLIT_VAL;
  if (loom_dataset_count (dataset, LOOM_SPLIT_TEST) > 0)
    return LOOM_SPLIT_TEST;
  return LOOM_N_SPLITS;
}

/* A text that is read in order: each of batch_size streams has as many windows as the others. */
static gboolean
read_streams (LoomTrainer *t, GError **error)
{
  gint64 n = loom_loader_n_samples (t->loader), batch = t->spec->batch_size;

  if (t->comm != NULL)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_USAGE,
                   "A layer has stateful=\"true\", which several ranks do not support. Train with one rank.");
      return FALSE;
    }
  if (t->spec->epochs == 0)
    return TRUE;
  if (n / batch < 2)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "A layer has stateful=\"true\", so the text is read in batch_size=\"%" G_GINT64_FORMAT
                   "\" streams, but its %" G_GINT64_FORMAT
                   " windows are fewer than two for each. Make batch_size or context smaller.",
                   batch, n);
      return FALSE;
    }
  loom_loader_read_streams (t->loader);
  t->left_out = n % batch;
  return TRUE;
}

gboolean
trainer_weigh_samples (LoomTrainer *t, GError **error)
{
  g_autofree double *weights = NULL;

  if (t->spec->sample_weights == NULL || t->spec->dataset_node < 0)
    return TRUE;
  weights = loom_sample_weights (t->dataset, t->spec->sample_weights, error);
  if (weights == NULL)
    return FALSE;
  loom_loader_set_weights (t->loader, weights);
  return TRUE;
}

gboolean
trainer_drop_last (LoomTrainer *t, GError **error)
{
  gint64 n = loom_loader_n_samples (t->loader), batch = t->spec->batch_size, rest = n % batch;
  LoomDropLast drop = t->spec->drop_last;
  gboolean steps = t->spec->epochs > 0;

  if (t->spec->stateful)
    return read_streams (t, error);
  if (rest == 0 || t->spec->dataset_node < 0)
    return TRUE;
  if (drop == LOOM_DROP_LAST_TRUE && n < batch)
    {
      if (!steps)
        return TRUE;
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "drop_last=\"true\" leaves no batch: the data set has %" G_GINT64_FORMAT " training samples, and "
                   "batch_size is %" G_GINT64_FORMAT ". Make batch_size smaller, or remove drop_last.",
                   n, batch);
      return FALSE;
    }
  /* Two samples are two values a channel at least. Where there is but one, the first plan says what is wrong. */
  g_autofree char *lone
      = drop != LOOM_DROP_LAST_TRUE && rest == 1 && n > 1 ? loom_step_lone (t->graph, t->spec, 1) : NULL;
  if (lone != NULL && drop == LOOM_DROP_LAST_FALSE && steps)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "With %" G_GINT64_FORMAT " training samples and batch_size %" G_GINT64_FORMAT " the last batch of "
                   "an epoch is a single sample, of which %s reads one value in each channel and has no variance. "
                   "Remove drop_last=\"false\", so that the batch is dropped, or change batch_size.",
                   n, batch, lone);
      return FALSE;
    }
  if (lone != NULL && steps)
    trainer_note (
        t,
        "Each epoch drops the last of its %" G_GINT64_FORMAT " samples: it would be a batch of one sample, of which "
        "%s reads one value in each channel and has no variance. Change batch_size from %" G_GINT64_FORMAT " to keep "
        "all samples.",
        n, lone, batch);
  if ((lone != NULL && drop == LOOM_DROP_LAST_AUTO) || drop == LOOM_DROP_LAST_TRUE)
    loom_loader_leave_out (t->loader, t->left_out = rest);
  return TRUE;
}

gboolean
trainer_check_classes (LoomTrainer *t, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  loom_faults_set_file (faults, loom_graph_get_file (t->graph));
  loom_net_check_classes (t->net, &t->spec->loss, t->spec->dataset_node, t->dataset, faults);
  return loom_faults_to_error (faults, NULL, error);
}

LoomSplit
trainer_dataset_watched (const LoomDataset *dataset)
{
  LoomSplit split = trainer_dataset_validation (dataset);

  return split == LOOM_N_SPLITS ? LOOM_SPLIT_TRAIN : split;
}

/* The data set's output of this name that has whole numbers in a row for each sample; -1 with PORT. */
static int
find_sequence (const LoomTrainer *t, const char *name, GError **error)
{
  guint output = 0;
  int node = loom_net_find_port (t->net, name, &output, error);

  if (node < 0)
    return -1;
  if (node == t->spec->dataset_node)
    {
      const LoomType *type = &loom_dataset_info (t->dataset)->port[output].type;

      if (type->dtype == LOOM_I64 && type->shape.rank == 2)
        return (int)output;
    }
  g_set_error (error, LOOM_ERROR, LOOM_ERROR_PORT,
               "“%s” has no words: the rows and columns of a pin must name a port of the data set with integers, B × "
               "T.",
               name);
  return -1;
}

LoomTensor *
trainer_sample_words (const LoomTrainer *t, const char *port, GError **error)
{
  int output = find_sequence (t, port, error);
  g_autoptr (GPtrArray) sample
      = output >= 0 ? trainer_dataset_sample (t->dataset, trainer_dataset_watched (t->dataset), 1, error) : NULL;

  if (sample == NULL)
    return NULL;
  const LoomTensor *tokens = sample->pdata[output];
  const char *const *names
      = output == 0 ? loom_dataset_token_names (t->dataset) : loom_dataset_class_names (t->dataset);
  const gint64 n_names = names != NULL ? (gint64)g_strv_length ((char **)names) : 0;
  g_autoptr (GString) text = g_string_new (NULL);

  for (gsize i = 0; i < (gsize)tokens->count; i++)
    {
      const gint64 token = ((const gint64 *)tokens->data)[i];

      if (token >= n_names)
        g_string_append_printf (text, "%" G_GINT64_FORMAT, token);
      else if (token >= 0)
        g_string_append (text, names[token]);
      g_string_append_c (text, '\0');
    }
  const gint64 size = (gint64)text->len;
  LoomTensor *words = loom_tensor_new (LOOM_U8, 1, &size, error);
  if (words != NULL)
    memcpy (words->data, text->str, text->len);
  return words;
}
