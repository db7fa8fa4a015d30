/* A data set without ports, for a loss that depends on no data (a function to be minimised): it has one empty training
 * sample, so an epoch is one step. Nodes cannot name it, so it is not in the list of sources. */
#include "engine/data/loom-dataset-private.h"

static gboolean
read_empty (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
            GError **error)
{
  return TRUE;
}

static void
free_empty (LoomDataset *self)
{
  g_free (self);
}

LoomDataset *
loom_dataset_new_empty (void)
{
  static const LoomDatasetClass klass = { .name = "nothing", .read = read_empty, .free = free_empty };
  LoomDataset *self = g_new0 (LoomDataset, 1);

  self->klass = &klass;
  self->info.n[LOOM_SPLIT_TRAIN] = 1;
  self->info.n_classes = -1;
  return self;
}
