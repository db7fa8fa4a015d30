/* The samples of a run. */
#include "engine/train/train-data.h"

#include "engine/core/loom-refuse.h"
#include "engine/data/loom-sample-weights.h"
#include "engine/train/loom-step.h"

#include <string.h>

void
train_data_clear (TrainData *data)
{
  g_clear_pointer (&data->loader, loom_loader_free);
  g_clear_pointer (&data->dataset, loom_dataset_free);
  for (guint i = 0; i < LOOM_DATASET_MAX_PORTS; i++)
    g_clear_pointer (&data->port_name[i], g_free);
}

gint64
train_data_last_step (const TrainData *data)
{
  return data->max_steps > 0 ? MIN (data->max_steps, data->total_steps) : data->total_steps;
}

double
train_data_step_samples (const TrainData *data, const LoomTrainSpec *spec, const EpochDivision *division, gint64 batch)
{
  const gint64 step = spec->accumulate * division->batch_size;

  return (double)MIN (step,
                      loom_loader_n_samples (data->loader) - epoch_division_sample (division, batch, spec->accumulate));
}

LoomSplit
train_data_validation (const TrainData *data)
{
  if (loom_dataset_count (data->dataset, LOOM_SPLIT_VAL) > 0)
    return LOOM_SPLIT_VAL;
  if (loom_dataset_count (data->dataset, LOOM_SPLIT_TEST) > 0)
    return LOOM_SPLIT_TEST;
  return LOOM_N_SPLITS;
}

/* n samples for observers: the first ones, or at even distances. */
static GPtrArray *
read_some (const TrainData *data, gint64 n, gboolean spread, GError **error)
{
  const LoomSplit evaluated = train_data_validation (data);
  const LoomSplit split = evaluated == LOOM_N_SPLITS ? LOOM_SPLIT_TRAIN : evaluated;
  const gint64 all = loom_dataset_count (data->dataset, split);

  n = MIN (n, all);
  g_autofree gint64 *indices = g_new (gint64, n);
  for (gint64 i = 0; i < n; i++)
    indices[i] = spread ? (gint64)((double)i * (double)all / (double)n) : i;
  return loom_dataset_read_new (data->dataset, split, indices, (guint)n, error);
}

GPtrArray *
train_data_sample (const TrainData *data, gint64 n, GError **error)
{
  return read_some (data, n, FALSE, error);
}

GPtrArray *
train_data_spread (const TrainData *data, gint64 n, GError **error)
{
  return read_some (data, n, TRUE, error);
}

gboolean
train_data_convert (GPtrArray *samples, const LoomTrainSpec *spec, GError **error)
{
  for (guint i = 0; spec->precision == LOOM_F64 && i < samples->len; i++)
    {
      LoomTensor *one = samples->pdata[i], *wide;

      if (one->dtype != LOOM_F32)
        continue;
      wide = loom_tensor_convert (one, LOOM_F64, FALSE, error);
      if (wide == NULL)
        return FALSE;
      samples->pdata[i] = wide;
      loom_tensor_unref (one);
    }
  return TRUE;
}

LoomLoader *
train_data_loader_new (const TrainData *data, const TrainModel *model, const RankGroup *group, LoomSplit split,
                       gboolean shuffle, GError **error)
{
  /* With a carried state, an evaluation reads the text as one stream. */
  gint64 batch = model->spec->stateful && !shuffle ? 1 : model->spec->batch_size;

  if (data->loader_threads > LOOM_LOADER_THREADS)
    return loom_refuse_null (error, LOOM_ERROR_USAGE, "--num-workers takes 0 to %d, not %d.", LOOM_LOADER_THREADS,
                             data->loader_threads);
  LoomLoader *loader = loom_loader_new_with_threads (data->dataset, split, batch, shuffle, model->spec->seed,
                                                     data->loader_threads, error);
  int rank = group->mesh.at[LOOM_MESH_DATA], n = group->mesh.size[LOOM_MESH_DATA];

  if (loader == NULL || group->comm == NULL)
    return loader;
  /* An evaluation is computed by all ranks, including the server. */
  if (shuffle)
    rank_group_shard (group, &rank, &n);
  loom_loader_share (loader, rank, n);
  return loader;
}

/* ---- opening ---------------------------------------------------------- */

/* For a text that is read in order, each of batch_size streams has equally many windows. */
static gboolean
read_streams (TrainData *data, const LoomTrainSpec *spec, const RankGroup *group, GError **error)
{
  gint64 n = loom_loader_n_samples (data->loader), batch = spec->batch_size;

  if (group->comm != NULL)
    return loom_refuse (error, LOOM_ERROR_USAGE,
                        "A layer has stateful=\"true\", which several ranks do not support. Train with one rank.");
  if (spec->epochs == 0)
    return TRUE;
  if (n / batch < 2)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "A layer has stateful=\"true\", so the text is read in batch_size=\"%" G_GINT64_FORMAT
                        "\" streams, but its %" G_GINT64_FORMAT
                        " windows are fewer than two for each. Make batch_size or context smaller.",
                        batch, n);
  loom_loader_read_streams (data->loader);
  data->left_out = n % batch;
  return TRUE;
}

/* Applies sample_weights. */
static gboolean
weigh_samples (const TrainData *data, LoomLoader *loader, const LoomTrainSpec *spec, GError **error)
{
  g_autofree double *weights = NULL;

  if (spec->sample_weights == NULL || spec->dataset_node < 0)
    return TRUE;
  weights = loom_sample_weights (data->dataset, spec->sample_weights, error);
  if (weights == NULL)
    return FALSE;
  loom_loader_set_weights (loader, weights);
  return TRUE;
}

LoomLoader *
train_data_loader_of_rank (const TrainData *data, const TrainModel *model, const RankGroup *group, int rank,
                           const EpochDivision *division, gint64 epoch, GError **error)
{
  const LoomTrainSpec *spec = model->spec;
  g_autoptr (LoomLoader) loader = loom_loader_new_with_threads (data->dataset, LOOM_SPLIT_TRAIN, spec->batch_size, TRUE,
                                                                spec->seed, LOOM_LOADER_DIRECT, error);
  int own, n;

  if (loader == NULL || !weigh_samples (data, loader, spec, error))
    return NULL;
  rank_group_shard (group, &own, &n);
  loom_loader_share (loader, rank, n);
  if (!loom_loader_set_batch_size (loader, division->batch_size, epoch, division->batch * spec->accumulate,
                                   division->sample, data->n_samples - loom_loader_n_samples (data->loader), error))
    return NULL;
  return g_steal_pointer (&loader);
}

/* Applies drop_last to an epoch's incomplete last batch, with a note if it is auto. SHAPE if the batch must be kept and
 * a norm cannot be trained with it. */
static gboolean
drop_last (TrainData *data, const TrainModel *model, const RankGroup *group, TrainNotes *notes, GError **error)
{
  gint64 n = loom_loader_n_samples (data->loader), batch = model->spec->batch_size, rest = n % batch;
  LoomDropLast drop = model->spec->drop_last;
  gboolean steps = model->spec->epochs > 0;

  if (model->spec->stateful)
    return read_streams (data, model->spec, group, error);
  if (rest == 0 || model->spec->dataset_node < 0)
    return TRUE;
  if (drop == LOOM_DROP_LAST_TRUE && n < batch)
    {
      if (!steps)
        return TRUE;
      return loom_refuse (error, LOOM_ERROR_DATA,
                          "drop_last=\"true\" leaves no batch: the data set has %" G_GINT64_FORMAT
                          " training samples, and "
                          "batch_size is %" G_GINT64_FORMAT ". Make batch_size smaller, or remove drop_last.",
                          n, batch);
    }
  /* Two samples are at least two values per channel. If there is only one sample, the first plan reports the error. */
  g_autofree char *lone = drop != LOOM_DROP_LAST_TRUE && rest == 1 && n > 1 ? loom_step_lone (model->spec, 1) : NULL;
  if (lone != NULL && drop == LOOM_DROP_LAST_FALSE && steps)
    return loom_refuse (error, LOOM_ERROR_SHAPE,
                        "With %" G_GINT64_FORMAT " training samples and batch_size %" G_GINT64_FORMAT
                        " the last batch of "
                        "an epoch is a single sample, of which %s reads one value in each channel and has no variance. "
                        "Remove drop_last=\"false\", so that the batch is dropped, or change batch_size.",
                        n, batch, lone);
  if (lone != NULL && steps)
    train_notes_add (
        notes,
        "Each epoch drops the last of its %" G_GINT64_FORMAT " samples: it would be a batch of one sample, of which "
        "%s reads one value in each channel and has no variance. Change batch_size from %" G_GINT64_FORMAT " to keep "
        "all samples.",
        n, lone, batch);
  if ((lone != NULL && drop == LOOM_DROP_LAST_AUTO) || drop == LOOM_DROP_LAST_TRUE)
    loom_loader_leave_out (data->loader, data->left_out = rest);
  return TRUE;
}

/* Returns FALSE with DATA if the data name more classes than a loss has logits. */
static gboolean
check_classes (const TrainData *data, const TrainModel *model, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();

  loom_faults_set_file (faults, loom_graph_get_file (model->graph));
  loom_net_check_classes (model->net, &model->spec->loss, model->spec->dataset_node, data->dataset, faults);
  return loom_faults_to_error (faults, NULL, error);
}

/* The samples of the run, in folds or not. */
static gboolean
open_dataset (TrainData *data, const TrainModel *model, gint64 samples, GError **error)
{
  const LoomTrainSpec *spec = model->spec;

  data->dataset = loom_net_open_dataset (model->net, spec->dataset_node, model->data_folder, error);
  if (data->dataset == NULL)
    return FALSE;
  if (spec->folds > 0 && spec->stateful)
    {
      g_set_error_literal (
          error, LOOM_ERROR, LOOM_ERROR_USAGE,
          "A layer has stateful=\"true\" and continues from the state of the previous batch, so samples cannot be "
          "divided into folds.");
      return FALSE;
    }
  if (spec->folds > 0 && !loom_dataset_fold (data->dataset, spec->folds, spec->fold - 1, spec->seed, error))
    return FALSE;
  if (samples > 0)
    loom_dataset_keep (data->dataset, samples, spec->seed);
  for (guint i = 0; i < loom_dataset_info (data->dataset)->n_ports; i++)
    data->port_name[i] = loom_net_port_name (model->net, (guint)spec->dataset_node, i);
  if (loom_dataset_count (data->dataset, LOOM_SPLIT_TRAIN) > 0)
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_DATA, "The data set of node %s has no training samples.",
                      loom_net_node (model->net, (guint)spec->dataset_node)->path);
}

gboolean
train_data_open (TrainData *data, const TrainModel *model, const RankGroup *group, gint64 samples, TrainNotes *notes,
                 GError **error)
{
  const LoomTrainSpec *spec = model->spec;

  if (!open_dataset (data, model, samples, error) || !check_classes (data, model, error))
    return FALSE;
  if (loom_dataset_note (data->dataset) != NULL)
    train_notes_add (notes, "%s", loom_dataset_note (data->dataset));
  data->loader = train_data_loader_new (data, model, group, LOOM_SPLIT_TRAIN, TRUE, error);
  if (data->loader == NULL)
    return FALSE;
  data->n_samples = loom_loader_n_samples (data->loader);
  if (!weigh_samples (data, data->loader, spec, error) || !drop_last (data, model, group, notes, error))
    return FALSE;
  data->refuses_lone = -1;
  data->steps_per_epoch = (loom_loader_n_batches (data->loader) + spec->accumulate - 1) / spec->accumulate;
  data->total_steps = data->steps_per_epoch * spec->epochs;
  return TRUE;
}

/* ---- another batch size ------------------------------------------------- */

/* TRUE if this number of samples, which is divided into batches, ends with one that drop_last drops or refuses. */
static gboolean
has_lone_rest (TrainData *data, const TrainModel *model, gint64 n, gint64 batch)
{
  if (n % batch != 1 || data->n_samples == 1 || model->spec->dataset_node < 0)
    return FALSE;
  if (data->refuses_lone < 0)
    {
      g_autofree char *lone = loom_step_lone (model->spec, 1);

      data->refuses_lone = lone != NULL;
    }
  return data->refuses_lone != 0;
}

/* Samples at the end of an epoch that drop_last drops, if this number of them is still to be divided. */
static gint64
rest_of (TrainData *data, const TrainModel *model, gint64 n, gint64 batch)
{
  const LoomDropLast drop = model->spec->drop_last;

  if (n == data->n_samples && batch == model->spec->batch_size)
    return data->left_out;
  if (model->spec->dataset_node < 0)
    return 0;
  if (drop == LOOM_DROP_LAST_TRUE)
    return n % batch;
  return drop == LOOM_DROP_LAST_AUTO && has_lone_rest (data, model, n, batch) ? 1 : 0;
}

/* Steps that this number of samples makes. */
static gint64
steps_of (TrainData *data, const TrainModel *model, gint64 n, gint64 batch)
{
  const gint64 batches = (n - rest_of (data, model, n, batch) + batch - 1) / batch;

  return (batches + model->spec->accumulate - 1) / model->spec->accumulate;
}

gint64
train_data_count_steps (TrainData *data, const TrainModel *model, const EpochDivision *division)
{
  return division->batch + steps_of (data, model, data->n_samples - division->sample, division->batch_size);
}

gboolean
train_data_check_division (TrainData *data, const TrainModel *model, const EpochDivision *division, GError **error)
{
  const gint64 batch = division->batch_size;

  if (model->spec->drop_last != LOOM_DROP_LAST_FALSE
      || (!has_lone_rest (data, model, data->n_samples - division->sample, batch)
          && !has_lone_rest (data, model, data->n_samples, batch)))
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_SHAPE,
                      "With batch_size %" G_GINT64_FORMAT
                      " the last batch of an epoch is a single sample, with which a norm of "
                      "this graph cannot be trained. Choose another batch size, or remove drop_last=\"false\".",
                      batch);
}

gboolean
train_data_divide (TrainData *data, const TrainModel *model, const EpochDivision *division, gint64 epoch,
                   GError **error)
{
  const gint64 epochs = model->spec->epochs, batch = division->batch_size;

  if (!model->spec->stateful
      && !loom_loader_set_batch_size (data->loader, batch, epoch, division->batch * model->spec->accumulate,
                                      division->sample,
                                      rest_of (data, model, data->n_samples - division->sample, batch), error))
    return FALSE;
  data->steps_per_epoch = train_data_count_steps (data, model, division);
  data->total_steps = division->first_step;
  if (epoch < epochs)
    data->total_steps += data->steps_per_epoch + (epochs - epoch - 1) * steps_of (data, model, data->n_samples, batch);
  return TRUE;
}

/* ---- words ------------------------------------------------------------ */

/* The data set's port of this name with a row of integers for each sample; -1 with PORT. */
static int
find_sequence (const TrainData *data, const TrainModel *model, const char *name, GError **error)
{
  guint output = 0;
  int node = loom_net_find_port (model->net, name, &output, error);

  if (node < 0)
    return -1;
  if (node == model->spec->dataset_node)
    {
      const LoomType *type = &loom_dataset_info (data->dataset)->port[output].type;

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
train_data_words (const TrainData *data, const TrainModel *model, const GPtrArray *sample, const char *port,
                  GError **error)
{
  const char *number = strrchr (port, TRAIN_DATA_SAMPLE_SIGN);
  g_autofree char *name = number != NULL ? g_strndup (port, (gsize)(number - port)) : g_strdup (port);
  int output = find_sequence (data, model, name, error);

  if (output < 0)
    return NULL;
  const LoomTensor *tokens = sample->pdata[output];
  const gint64 length = tokens->dim[1], last = MAX (0, tokens->dim[0] - 1);
  const gboolean is_vocabulary = number != NULL && number[1] == '*';
  const gint64 at = number != NULL ? CLAMP (g_ascii_strtoll (number + 1, NULL, 10), 0, last) : 0;
  const char *const *names
      = output == 0 ? loom_dataset_token_names (data->dataset) : loom_dataset_class_names (data->dataset);
  const gint64 n_names = names != NULL ? (gint64)g_strv_length ((char **)names) : 0;
  g_autoptr (GString) text = g_string_new (NULL);

  for (gint64 i = 0; i < (is_vocabulary ? n_names : length) && tokens->count > 0; i++)
    {
      const gint64 token = is_vocabulary ? i : ((const gint64 *)tokens->data)[at * length + i];

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

gint64
train_data_first_batch (const TrainData *data, const TrainModel *model, const RankGroup *group)
{
  const gint64 batch = MIN (model->spec->batch_size, loom_dataset_count (data->dataset, LOOM_SPLIT_TRAIN));
  int rank, n;

  rank_group_shard (group, &rank, &n);
  return !group->has_server || batch < n ? batch : loom_comm_shard (batch, rank, n).count;
}
