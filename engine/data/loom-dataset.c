/* The registry of sources, and the functions that describe, open and read them, with the checks that all sources need.
 */
#include "engine/data/loom-dataset-private.h"

#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-fault.h"
#include "engine/data/dataset-list.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-boxes.h"
#include "engine/data/loom-mixup.h"
#include "engine/data/loom-option.h"
#include "kernels/comm.h"

#define FOLD_EPOCH  G_MAXUINT32 /* for a permutation that no epoch uses */
#define KEEP_STREAM 12          /* of random numbers; sources use smaller ones */

#define DECLARE(name) extern const LoomDatasetClass loom_dataset_##name;
LOOM_DATASETS (DECLARE)
#undef DECLARE

#define ADDRESS(name) &loom_dataset_##name,
static const LoomDatasetClass *const classes[] = { LOOM_DATASETS (ADDRESS) NULL };
#undef ADDRESS

const char *
loom_split_name (LoomSplit split)
{
  static const char *const names[LOOM_N_SPLITS] = { "train", "val", "test" };

  g_return_val_if_fail (split < LOOM_N_SPLITS, NULL);

  return names[split];
}

const LoomDatasetClass *const *
loom_dataset_classes (void)
{
  return classes;
}

const LoomDatasetClass *
loom_dataset_class (const char *source)
{
  for (gsize i = 0; classes[i] != NULL; i++)
    {
      if (g_strcmp0 (source, classes[i]->name) == 0)
        return classes[i];
    }
  return NULL;
}

const char *
loom_dataset_class_name (const LoomDatasetClass *klass)
{
  return klass->name;
}

const char *
loom_dataset_class_title (const LoomDatasetClass *klass)
{
  return klass->title;
}

const char *
loom_dataset_class_doc (const LoomDatasetClass *klass)
{
  return klass->doc;
}

gboolean
loom_dataset_class_is_text (const LoomDatasetClass *klass)
{
  return klass->is_text;
}

const LoomDatasetParam *
loom_dataset_class_params (const LoomDatasetClass *klass)
{
  static const LoomDatasetParam none[] = { { .name = NULL } };

  return klass->params != NULL ? klass->params : none;
}

/* The class of a source with valid options, or NULL with SCHEMA. */
static const LoomDatasetClass *
find_class (const char *source, const LoomDatasetOptions *options, GError **error)
{
  const LoomDatasetClass *klass = loom_dataset_class (source);

  if (klass == NULL)
    {
      const char *names[G_N_ELEMENTS (classes)] = { NULL };
      const char *nearest;
      g_autofree char *all = NULL;

      for (gsize i = 0; classes[i] != NULL; i++)
        names[i] = classes[i]->name;
      nearest = loom_nearest (source, names);
      all = g_strjoinv (", ", (char **)names);
      if (nearest != NULL)
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "There is no data set “%s”. Did you mean “%s”?", source,
                     nearest);
      else
        g_set_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA, "There is no data set “%s”. The choices are: %s.", source,
                     all);
      return NULL;
    }
  return loom_options_check (klass, options, error) ? klass : NULL;
}

/* FALSE if the pictures do not support the requested changes. */
static gboolean
check_augment (const LoomDatasetClass *klass, const LoomDatasetOptions *options, const LoomDatasetInfo *info,
               GError **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (LoomAugment) augment = klass->has_pictures ? loom_augment_new (klass, options, info, &local) : NULL;

  if (local == NULL)
    return TRUE;
  g_propagate_error (error, g_steal_pointer (&local));
  return FALSE;
}

gboolean
loom_dataset_describe (const char *source, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  static const LoomDatasetOptions none = { NULL };
  const LoomDatasetInfo empty = { .n = { -1, -1, -1 }, .n_classes = -1 };
  const LoomDatasetClass *klass;

  g_return_val_if_fail (source != NULL && info != NULL, FALSE);

  *info = empty;
  if (options == NULL)
    options = &none;
  klass = find_class (source, options, error);
  return klass != NULL && loom_dataset_check_guard (klass, options, LOOM_LINKS_IGNORED, error)
         && loom_describe_cached (klass, options, info, error) && check_augment (klass, options, info, error)
         && (!klass->has_pictures
             || loom_mixup_describe (loom_option_float (klass, options, "mixup"), klass->name, info, error));
}

LoomDataset *
loom_dataset_open (const char *source, const LoomDatasetOptions *options, GError **error)
{
  static const LoomDatasetOptions none = { NULL };
  g_autoptr (LoomDataset) self = NULL;
  g_autoptr (GError) local = NULL;
  const LoomDatasetClass *klass;

  g_return_val_if_fail (source != NULL, NULL);

  if (options == NULL)
    options = &none;
  klass = find_class (source, options, error);
  self = klass != NULL && loom_dataset_check_guard (klass, options, LOOM_LINKS_READ, error)
             ? klass->open (klass, options, error)
             : NULL;
  if (self == NULL || !klass->has_pictures)
    return g_steal_pointer (&self);
  self->augment = loom_augment_new (klass, options, &self->info, &local);
  self->mixup = loom_option_float (klass, options, "mixup");
  if (local == NULL && loom_mixup_describe (self->mixup, klass->name, &self->info, &local))
    return g_steal_pointer (&self);
  g_propagate_error (error, g_steal_pointer (&local));
  return NULL;
}

void
loom_dataset_free (LoomDataset *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->augment, loom_augment_free);
  g_clear_pointer (&self->kept, g_free);
  g_clear_pointer (&self->held, g_free);
  g_clear_pointer (&self->note, g_free);
  g_clear_pointer (&self->boxes, g_free);
  g_clear_pointer (&self->class_names, g_strfreev);
  g_clear_pointer (&self->token_names, g_strfreev);
  g_clear_pointer (&self->feature_names, g_strfreev);
  g_clear_pointer (&self->feature_fill, g_free);
  g_clear_pointer (&self->feature_shift, g_free);
  g_clear_pointer (&self->feature_scale, g_free);
  self->klass->free (self);
}

const char *
loom_dataset_note (const LoomDataset *self)
{
  return self->note;
}

const LoomDatasetInfo *
loom_dataset_info (const LoomDataset *self)
{
  return &self->info;
}

gint64
loom_dataset_count (const LoomDataset *self, LoomSplit split)
{
  g_return_val_if_fail (split < LOOM_N_SPLITS, 0);

  return self->info.n[split];
}

gint64
loom_dataset_most_classes (gint64 n)
{
  return MAX (1000, 2 * n);
}

const char *const *
loom_dataset_class_names (const LoomDataset *self)
{
  return (const char *const *)self->class_names;
}

const char *const *
loom_dataset_token_names (const LoomDataset *self)
{
  return (const char *const *)(self->token_names != NULL ? self->token_names : self->class_names);
}

const char *
loom_dataset_separator (const LoomDataset *self)
{
  return self->separator != NULL ? self->separator : "";
}

const char *const *
loom_dataset_feature_names (const LoomDataset *self)
{
  return (const char *const *)self->feature_names;
}

gboolean
loom_dataset_has_boxes (const LoomDataset *self)
{
  return self->boxes != NULL;
}

gboolean
loom_dataset_has_pictures (const LoomDataset *self)
{
  return self->klass->has_pictures;
}

/* The first n elements of a shuffle (Durstenfeld's, from the front). */
void
loom_dataset_keep (LoomDataset *self, gint64 n, guint64 seed)
{
  const gint64 count = self->info.n[LOOM_SPLIT_TRAIN];
  LoomSampleRandom random = loom_sample_random (seed, KEEP_STREAM, LOOM_SPLIT_TRAIN, 0);

  g_return_if_fail (n > 0);

  if (n >= count)
    return;
  g_autofree gint64 *before = g_steal_pointer (&self->kept);
  self->kept = g_new (gint64, count);
  for (gint64 i = 0; i < count; i++)
    self->kept[i] = before != NULL ? before[i % self->n_kept] : i;
  self->n_kept = n;
  for (gint64 i = 0; i < n; i++)
    {
      const gint64 k = i + loom_sample_below (&random, (guint32)MIN (count - i, G_MAXUINT32)), swapped = self->kept[k];

      self->kept[k] = self->kept[i];
      self->kept[i] = swapped;
    }
  self->kept = g_renew (gint64, self->kept, n);
}

gboolean
loom_dataset_fold (LoomDataset *self, gint64 folds, gint64 fold, guint64 seed, GError **error)
{
  const gint64 n = self->info.n[LOOM_SPLIT_TRAIN];
  const LoomCommShard part = loom_comm_shard (n, (int)fold, (int)folds);
  const gint64 first = part.first, end = part.first + part.count;
  g_autofree guint32 *order = NULL;
  g_autofree gboolean *is_held = NULL;
  gint64 kept = 0, held = 0;

  g_return_val_if_fail (folds > 1 && fold >= 0 && fold < folds && self->kept == NULL && self->held == NULL, FALSE);

  if (n < folds || n > G_MAXUINT32)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "%" G_GINT64_FORMAT " training samples cannot be divided into %" G_GINT64_FORMAT " folds.", n,
                        folds);
  order = g_new (guint32, n);
  is_held = g_new0 (gboolean, n);
  loom_dataset_permutation (seed, FOLD_EPOCH, (guint32)n, order);
  for (gint64 i = first; i < end; i++)
    is_held[order[i]] = TRUE;
  self->kept = g_new (gint64, n);
  self->held = g_new (gint64, n);
  /* In the order of the source, which may be that of a file. */
  for (gint64 i = 0; i < n; i++)
    if (is_held[i])
      self->held[held++] = i;
    else
      self->kept[kept++] = i;
  self->n_kept = self->info.n[LOOM_SPLIT_TRAIN] = kept;
  self->info.n[LOOM_SPLIT_VAL] = held;
  return TRUE;
}

/* The samples to read. epoch not NULL: with augmentation. */
typedef struct
{
  const LoomDataset *dataset;
  LoomSplit split;
  guint64 seed;
  const guint64 *epoch;
} Reading;

/* Moves the boxes of sample i of a batch with its picture, and draws their maps. */
static void
finish_boxes (const Reading *reading, gint64 index, guint i, LoomTensor *const out[])
{
  const LoomDataset *self = reading->dataset;
  const LoomTensor *x = out[0];
  float *boxes = (float *)out[1]->data + i * (out[1]->count / out[1]->dim[0]);

  if (self->augment != NULL && reading->epoch != NULL && loom_augment_changes (self->augment))
    loom_augment_boxes (self->augment, reading->seed, *reading->epoch, index, boxes, self->boxes->most);
  loom_boxes_draw (self->boxes, boxes, x->dim[2], x->dim[3],
                   (float *)out[2]->data + i * (out[2]->count / out[2]->dim[0]),
                   (float *)out[3]->data + i * (out[3]->count / out[3]->dim[0]));
}

/* Reads, changes and normalises. */
static gboolean
read_each (gconstpointer data, const gint64 *indices, guint n, LoomTensor *const out[], GError **error)
{
  const Reading *reading = data;
  const LoomDataset *self = reading->dataset;
  g_autofree gint64 *kept = NULL;

  LoomSplit split = reading->split;

  if (self->kept != NULL && split == LOOM_SPLIT_TRAIN)
    {
      kept = g_new (gint64, n);
      for (guint i = 0; i < n; i++)
        kept[i] = self->kept[indices[i] % self->n_kept];
    }
  else if (self->held != NULL && split == LOOM_SPLIT_VAL)
    {
      kept = g_new (gint64, n);
      for (guint i = 0; i < n; i++)
        kept[i] = self->held[indices[i]];
      split = LOOM_SPLIT_TRAIN;
    }
  if (!self->klass->read (self, split, kept != NULL ? kept : indices, n, out, error))
    return FALSE;
  for (guint i = 0; i < n && self->augment != NULL; i++)
    {
      float *picture = (float *)out[0]->data + i * (out[0]->count / out[0]->dim[0]);
      const LoomTensor *y = self->mask_port > 0 ? out[self->mask_port] : NULL;
      gint64 *mask = y != NULL ? (gint64 *)y->data + i * (y->count / y->dim[0]) : NULL;

      if (reading->epoch != NULL)
        loom_augment_train (self->augment, reading->seed, *reading->epoch, indices[i], picture, mask);
      else
        loom_augment_normalize (self->augment, picture);
    }
  for (guint i = 0; i < n && self->boxes != NULL; i++)
    finish_boxes (reading, indices[i], i, out);
  return TRUE;
}

static gboolean
read_samples (const LoomDataset *self, LoomSplit split, guint64 seed, const guint64 *epoch, const gint64 *indices,
              guint n, LoomTensor *const out[], GError **error)
{
  const Reading reading = { self, split, seed, split == LOOM_SPLIT_TRAIN ? epoch : NULL };

  g_return_val_if_fail (split < LOOM_N_SPLITS, FALSE);

  for (guint i = 0; i < n; i++)
    g_return_val_if_fail (indices[i] >= 0 && indices[i] < self->info.n[split], FALSE);
  return read_each (&reading, indices, n, out, error)
         && (self->mixup == 0
             || loom_mixup_apply (self, seed, reading.epoch, indices, n, read_each, &reading, out, error));
}

gboolean
loom_dataset_read (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
                   GError **error)
{
  return read_samples (self, split, 0, NULL, indices, n, out, error);
}

gboolean
loom_dataset_read_augmented (const LoomDataset *self, LoomSplit split, guint64 seed, guint64 epoch,
                             const gint64 *indices, guint n, LoomTensor *const out[], GError **error)
{
  return read_samples (self, split, seed, &epoch, indices, n, out, error);
}

void
loom_info_add_port (LoomDatasetInfo *info, const char *name, LoomDType dtype, int rank, const gint64 *dims)
{
  LoomDatasetPort *port = &info->port[info->n_ports++];

  g_assert (info->n_ports <= LOOM_DATASET_MAX_PORTS && rank < LOOM_SHAPE_MAX_RANK);
  port->name = name;
  port->type.dtype = dtype;
  port->type.shape.rank = rank + 1;
  port->type.shape.dim[0] = loom_dim_symbol ('B');
  for (int d = 0; d < rank; d++)
    port->type.shape.dim[d + 1] = loom_dim (dims[d]);
}

static GPtrArray *
read_new (const LoomDataset *self, LoomSplit split, guint64 seed, const guint64 *epoch, const gint64 *indices, guint n,
          GError **error)
{
  const LoomDatasetInfo *info = loom_dataset_info (self);
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  const LoomBinding binding = { .value = { ['B' - 'A'] = n } };

  for (guint i = 0; i < info->n_ports; i++)
    {
      LoomShape shape = loom_shape_bind (&info->port[i].type.shape, &binding);
      gint64 dims[LOOM_SHAPE_MAX_RANK];
      LoomTensor *tensor;

      if (!loom_shape_is_concrete (&shape))
        return loom_refuse_null (error, LOOM_ERROR_SHAPE, "The shape of “%s” is not known.", info->port[i].name);
      loom_shape_get (&shape, dims);
      tensor = loom_tensor_new (info->port[i].type.dtype, shape.rank, dims, error);
      if (tensor == NULL)
        return NULL;
      g_ptr_array_add (tensors, tensor);
    }
  if (!read_samples (self, split, seed, epoch, indices, n, (LoomTensor *const *)tensors->pdata, error))
    return NULL;
  return g_steal_pointer (&tensors);
}

GPtrArray *
loom_dataset_read_new (const LoomDataset *self, LoomSplit split, const gint64 *indices, guint n, GError **error)
{
  return read_new (self, split, 0, NULL, indices, n, error);
}

GPtrArray *
loom_dataset_read_new_augmented (const LoomDataset *self, LoomSplit split, guint64 seed, guint64 epoch,
                                 const gint64 *indices, guint n, GError **error)
{
  return read_new (self, split, seed, &epoch, indices, n, error);
}

gboolean
loom_dataset_changes_samples (const LoomDataset *self)
{
  return self->mixup > 0 || (self->augment != NULL && loom_augment_changes (self->augment));
}

LoomTensor *
loom_dataset_read_variants (const LoomDataset *self, gint64 index, guint n, GError **error)
{
  g_autoptr (LoomTensor) all = NULL;

  for (guint i = 0; i < n; i++)
    {
      const guint64 epoch = i - 1;
      g_autoptr (GPtrArray) read = read_new (self, LOOM_SPLIT_TRAIN, 0, i == 0 ? NULL : &epoch, &index, 1, error);
      const LoomTensor *x = read != NULL ? read->pdata[0] : NULL;
      gint64 dims[LOOM_SHAPE_MAX_RANK];

      if (x == NULL)
        return NULL;
      memcpy (dims, x->dim, sizeof dims[0] * (gsize)x->rank);
      dims[0] = n;
      if (all == NULL && (all = loom_tensor_new (x->dtype, x->rank, dims, error)) == NULL)
        return NULL;
      memcpy ((char *)all->data + i * x->bytes, x->data, x->bytes);
    }
  return g_steal_pointer (&all);
}
