/* Which samples of a data set are looked at beside training, and which an epoch leaves out. */
#include "engine/train/trainer-private.h"

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

gboolean
trainer_drop_last (LoomTrainer *t, GError **error)
{
  gint64 n = loom_loader_n_samples (t->loader), batch = t->spec->batch_size, rest = n % batch;
  LoomDropLast drop = t->spec->drop_last;
  gboolean steps = t->spec->epochs > 0;

  if (rest == 0 || t->spec->dataset_node < 0)
    return TRUE;
  if (drop == LOOM_DROP_LAST_TRUE && n < batch)
    {
      if (!steps)
        return TRUE;
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_DATA,
                   "drop_last=\"true\" leaves out every batch: there are %" G_GINT64_FORMAT
                   " training samples, and batch_size is %" G_GINT64_FORMAT
                   ". Make batch_size smaller, or leave drop_last out.",
                   n, batch);
      return FALSE;
    }
  /* Two samples are two values a channel at least. Where there is but one, the first plan says what is wrong. */
  g_autofree char *lone
      = drop != LOOM_DROP_LAST_TRUE && rest == 1 && n > 1 ? loom_step_lone (t->graph, t->spec, 1) : NULL;
  if (lone != NULL && drop == LOOM_DROP_LAST_FALSE && steps)
    {
      g_set_error (error, LOOM_ERROR, LOOM_ERROR_SHAPE,
                   "With %" G_GINT64_FORMAT " training samples and batch_size %" G_GINT64_FORMAT
                   " the last batch of an epoch is a single one, in which %s has one value a channel and learns "
                   "nothing. Leave drop_last=\"false\" out, so that it is not trained on, or change batch_size.",
                   n, batch, lone);
      return FALSE;
    }
  if (lone != NULL && steps)
    trainer_note (t,
                  "Each epoch leaves out the sample that its order puts last of the %" G_GINT64_FORMAT
                  ": it would be a batch of its own, in which %s has one value a channel and learns nothing. Another "
                  "batch_size than %" G_GINT64_FORMAT " keeps all.",
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
