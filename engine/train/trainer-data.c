/* Which samples of a data set are looked at beside training. */
#include "engine/train/trainer-private.h"

GPtrArray *
trainer_dataset_sample (const LoomDataset *dataset, LoomSplit split, gint64 n, GError **error)
{
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomBinding binding = { 0 };

  n = MIN (n, info->n[split]);
  binding.value['B' - 'A'] = n;
  for (guint i = 0; i < info->n_ports; i++)
    {
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      LoomShape shape = loom_shape_bind (&info->port[i].type.shape, &binding);
      loom_shape_get (&shape, dims);
      LoomTensor *tensor = loom_tensor_new (info->port[i].type.dtype, shape.rank, dims, error);
      if (!tensor)
        return NULL;
      g_ptr_array_add (tensors, tensor);
    }
  g_autofree gint64 *indices = g_new (gint64, n);
  for (gint64 i = 0; i < n; i++)
    indices[i] = i;
  if (!loom_dataset_read (dataset, split, indices, n, (LoomTensor *const *)tensors->pdata, error))
    return NULL;
  return g_steal_pointer (&tensors);
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
