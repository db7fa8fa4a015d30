/* A NumPy archive with the arrays of each split, as MedMNIST and Keras's data sets are published: train_images and
 * train_labels, or x_train and y_train.
 *
 * Bytes of pictures stay bytes and become 0 to 1 batch by batch; a channel axis that is last becomes the first, as nets
 * of PyTorch read it. */
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-fault.h"
#include "engine/core/loom-file.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-deal.h"
#include "engine/interop/loom-tensor-file.h"

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("path", PATH, NULL), .doc = "The .npz file." },
  { LOOM_OPTION ("x", STRING, ""),
    .doc = "The array of training inputs (default: train_images, x_train, X_train, images, x, X or data); those of "
           "validation and testing have val and test in place of train." },
  { LOOM_OPTION ("y", STRING, ""),
    .doc = "The array of training targets (default: the name that goes with x, such as train_labels or y_train)." },
  LOOM_DEALT_PARAMS ("training samples", "0", ", if there is no test array"),
  LOOM_SPLIT_PARAM,
  LOOM_AUGMENT_PARAMS,
  { .name = NULL },
};

/* Names that go together. */
static const char *const pairs[][2] = {
  { "train_images", "train_labels" },
  { "x_train", "y_train" },
  { "X_train", "y_train" },
  { "images", "labels" },
  { "x", "y" },
  { "X", "y" },
  { "data", "target" },
  { "data", "labels" },
};

typedef struct
{
  char *path;
  LoomTensorFile *file;
  char *name[2];            /* of the training arrays */
  int at[LOOM_N_SPLITS][2]; /* numbers of x and y; −1: there is none */
} Archive;

static void
archive_clear (Archive *self)
{
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->file, loom_tensor_file_free);
  for (int p = 0; p < 2; p++)
    g_clear_pointer (&self->name[p], g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Archive, archive_clear)

/* ---- arrays ------------------------------------------------------------------------ */

static gboolean
refuse_names (const Archive *self, GError **error)
{
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < loom_tensor_file_count (self->file); i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "", loom_tensor_file_name (self->file, i));
  loom_error_set_quoting (error, LOOM_ERROR_DATA,
                          "“%s” has no arrays of known names; set x=\"…\" and y=\"…\". It has: “%s”.", self->path,
                          names->str);
  return FALSE;
}

static gboolean
choose_names (Archive *self, const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  const char *x = loom_option_string (klass, options, "x"), *y = loom_option_string (klass, options, "y");

  for (guint i = 0; i < G_N_ELEMENTS (pairs) && self->name[0] == NULL; i++)
    {
      const char *both[] = { *x != '\0' ? x : pairs[i][0], *y != '\0' ? y : pairs[i][1] };

      if (loom_tensor_file_find (self->file, both[0]) < 0 || loom_tensor_file_find (self->file, both[1]) < 0)
        continue;
      self->name[0] = g_strdup (both[0]);
      self->name[1] = g_strdup (both[1]);
    }
  return self->name[0] != NULL || refuse_names (self, error);
}

/* The number of an array of another split: the name with its word in place of "train"; −1: there is none. */
static int
find_array (const Archive *self, int port, const char *word)
{
  g_auto (GStrv) parts = g_strsplit (self->name[port], "train", 2);
  g_autofree char *name = g_strjoinv (word, parts);

  return parts[1] != NULL ? loom_tensor_file_find (self->file, name) : -1;
}

static gboolean
find_arrays (Archive *self, GError **error)
{
  static const char *const words[LOOM_N_SPLITS] = { "train", "val", "test" };

  for (int s = 0; s < LOOM_N_SPLITS; s++)
    {
      for (int p = 0; p < 2; p++)
        self->at[s][p] = s == LOOM_SPLIT_TRAIN ? loom_tensor_file_find (self->file, self->name[p])
                                               : find_array (self, p, words[s]);
      if ((self->at[s][0] < 0) != (self->at[s][1] < 0))
        return loom_file_refuse (self->path, error, "has only one of the two arrays for %s", loom_split_name (s));
    }
  return TRUE;
}

static gboolean
open_archive (Archive *self, const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  self->path = loom_option_path (klass, options, "path");
  if (!loom_dataset_check_file (self->path, NULL, error))
    return FALSE;
  self->file = loom_tensor_file_open (self->path, error);
  return self->file != NULL && choose_names (self, klass, options, error) && find_arrays (self, error);
}

/* ---- shapes ------------------------------------------------------------------------ */

static gboolean
is_channels (gint64 n)
{
  return n == 1 || n == 3 || n == 4;
}

/* The shape of a sample of an array of inputs. Pictures (H, W) and volumes (D, H, W) get a channel; of (H, W, C) the
 * last axis, *is_last, becomes the first. */
static void
sample_shape (const LoomType *type, int *rank, gint64 dims[], gboolean *is_last)
{
  gint64 all[LOOM_SHAPE_MAX_RANK];

  loom_shape_get (&type->shape, all);
  *rank = type->shape.rank - 1;
  *is_last = *rank == 3 && is_channels (all[3]);
  if (*rank == 2 || (*rank == 3 && !*is_last && !is_channels (all[1]) && *rank + 1 < LOOM_SHAPE_MAX_RANK))
    {
      dims[0] = 1;
      memcpy (dims + 1, all + 1, (gsize)*rank * sizeof *dims);
      ++*rank;
      return;
    }
  memcpy (dims, all + 1, (gsize)*rank * sizeof *dims);
  if (!*is_last)
    return;
  dims[0] = all[3];
  dims[1] = all[1];
  dims[2] = all[2];
}

/* Labels of one whole number each are classes, also as a column; others are numbers, such as several labels. */
static gboolean
are_classes (const LoomType *type)
{
  return !loom_dtype_is_float (type->dtype)
         && (type->shape.rank == 1 || (type->shape.rank == 2 && type->shape.dim[1].coef == 1));
}

static gboolean
check_arrays (const Archive *self, LoomSplit split, gint64 *n, GError **error)
{
  LoomType type[2];

  for (int p = 0; p < 2; p++)
    {
      const char *name = loom_tensor_file_name (self->file, (guint)self->at[split][p]),
                 *unread = loom_tensor_file_unread (self->file, (guint)self->at[split][p]);

      type[p] = loom_tensor_file_type (self->file, (guint)self->at[split][p]);
      if (unread != NULL)
        return loom_file_refuse (self->path, error, "has the array “%s” of type %s, which is not read", name, unread);
      if (type[p].shape.rank == 0)
        return loom_file_refuse (self->path, error, "has a single number “%s”; samples are along the first axis", name);
    }
  *n = type[0].shape.dim[0].coef;
  if (type[1].shape.dim[0].coef != *n)
    return loom_file_refuse (self->path, error,
                             "has %" G_GINT64_FORMAT " inputs and %" G_GINT64_FORMAT " targets for %s", *n,
                             type[1].shape.dim[0].coef, loom_split_name (split));
  return TRUE;
}

static gboolean
fill_info (const Archive *self, LoomDatasetInfo *info, GError **error)
{
  const LoomType x = loom_tensor_file_type (self->file, (guint)self->at[LOOM_SPLIT_TRAIN][0]),
                 y = loom_tensor_file_type (self->file, (guint)self->at[LOOM_SPLIT_TRAIN][1]);
  gint64 dims[LOOM_SHAPE_MAX_RANK], n;
  gboolean is_last;
  int rank;

  for (int s = 0; s < LOOM_N_SPLITS; s++)
    if (self->at[s][0] >= 0 && !check_arrays (self, s, &n, error))
      return FALSE;
  sample_shape (&x, &rank, dims, &is_last);
  loom_info_add_port (info, "x", LOOM_F32, rank, dims);
  loom_shape_get (&y.shape, dims);
  if (are_classes (&y))
    loom_info_add_port (info, "y", LOOM_I64, 0, NULL);
  else if (y.shape.rank == 1)
    loom_info_add_port (info, "y", LOOM_F32, 1, (const gint64[]){ 1 });
  else
    loom_info_add_port (info, "y", LOOM_F32, y.shape.rank - 1, dims + 1);
  info->n_classes = are_classes (&y) ? -1 : 0;
  return TRUE;
}

/* ---- data -------------------------------------------------------------------------- */

/* x [N,H,W,C] as [N,C,H,W], of elements of this size. */
static LoomTensor *
move_channels (const LoomTensor *x, GError **error)
{
  const gint64 dims[] = { x->dim[0], x->dim[3], x->dim[1], x->dim[2] }, channels = x->dim[3],
               pixels = x->dim[1] * x->dim[2];
  const gsize size = loom_dtype_size (x->dtype);
  LoomTensor *t = loom_tensor_new (x->dtype, 4, dims, error);

  for (gint64 n = 0; t != NULL && n < x->dim[0]; n++)
    for (gint64 c = 0; c < channels; c++)
      for (gint64 i = 0; i < pixels; i++)
        memcpy ((char *)t->data + (gsize)((n * channels + c) * pixels + i) * size,
                (const char *)x->data + (gsize)((n * pixels + i) * channels + c) * size, size);
  return t;
}

/* The array in the port's type and shape; bytes of inputs with two axes or more stay bytes. */
static LoomTensor *
load_array (const LoomDataset *self, const Archive *archive, int at, guint port, GError **error)
{
  const LoomType *type = &self->info.port[port].type, have = loom_tensor_file_type (archive->file, (guint)at);
  const gboolean is_bytes = port == 0 && have.dtype == LOOM_U8 && have.shape.rank >= 3;
  g_autoptr (LoomTensor) raw = NULL, moved = NULL, t = NULL;
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  gboolean is_last = FALSE;
  int rank = type->shape.rank - 1;

  if (port == 0)
    sample_shape (&have, &rank, dims, &is_last);
  else
    for (int d = 0; d < rank; d++)
      dims[d] = have.shape.rank > d + 1 ? have.shape.dim[d + 1].coef : 1;
  for (int d = rank + 1; port == 1 && d < have.shape.rank; d++)
    if (have.shape.dim[d].coef != 1)
      rank = -1;
  if (rank != type->shape.rank - 1 || (port == 1 && are_classes (&have) != (type->dtype == LOOM_I64)))
    rank = -1;
  for (int d = 0; d < rank; d++)
    if (dims[d] != type->shape.dim[d + 1].coef)
      rank = -1;
  if (rank < 0)
    {
      loom_file_refuse (archive->path, error, "has “%s” of another shape or type than “%s”",
                        loom_tensor_file_name (archive->file, (guint)at), archive->name[port]);
      return NULL;
    }
  raw = loom_tensor_file_tensor (archive->file, (guint)at, error);
  moved = raw == NULL ? NULL : is_last ? move_channels (raw, error) : loom_tensor_ref (raw);
  if (moved == NULL)
    return NULL;
  t = is_bytes || moved->dtype == type->dtype ? loom_tensor_ref (moved)
                                              : loom_tensor_convert (moved, type->dtype, FALSE, error);
  if (t == NULL)
    return NULL;
  /* An axis of one element more or less: the elements are the same. */
  t->rank = rank + 1;
  memcpy (t->dim + 1, dims, (gsize)rank * sizeof *dims);
  return g_steal_pointer (&t);
}

static gboolean
count_classes (LoomDataset *self, const Archive *archive, const LoomTensor *y, GError **error)
{
  for (gint64 i = 0; self->info.port[1].type.dtype == LOOM_I64 && i < y->count; i++)
    {
      const gint64 label = ((const gint64 *)y->data)[i];

      if (label < 0 || label > G_MAXINT32)
        return loom_file_refuse (archive->path, error,
                                 "has the class %" G_GINT64_FORMAT "; classes are numbers from 0 on", label);
      self->info.n_classes = MAX (self->info.n_classes, label + 1);
    }
  return TRUE;
}

static gboolean
load (LoomDataset *self, const Archive *archive, const LoomDatasetOptions *options, GError **error)
{
  const LoomDatasetClass *klass = self->klass;

  self->info.n_classes = 0;
  for (int s = 0; s < LOOM_N_SPLITS; s++)
    {
      g_autoptr (LoomTensor) x = NULL, y = NULL;

      if (archive->at[s][0] < 0)
        continue;
      x = load_array (self, archive, archive->at[s][0], 0, error);
      y = x != NULL ? load_array (self, archive, archive->at[s][1], 1, error) : NULL;
      if (y == NULL || !count_classes (self, archive, y, error))
        return FALSE;
      LoomTensor *const data[] = { x, y };
      if (s == LOOM_SPLIT_TRAIN)
        {
          LoomDealing how = loom_dealing (klass, options);

          how.val = archive->at[LOOM_SPLIT_VAL][0] >= 0 ? 0 : how.val;
          how.test = archive->at[LOOM_SPLIT_TEST][0] >= 0 ? 0 : how.test;
          if (!loom_table_deal (self, data, y, &how, error))
            return FALSE;
        }
      else
        loom_table_set_split (self, s, data, NULL, x->dim[0]);
    }
  return TRUE;
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  g_auto (Archive) archive = { NULL };

  return open_archive (&archive, klass, options, error) && fill_info (&archive, info, error);
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  g_auto (Archive) archive = { NULL };
  g_autoptr (LoomDataset) self = NULL;
  LoomDatasetInfo info = { 0 };

  if (!open_archive (&archive, klass, options, error) || !fill_info (&archive, &info, error))
    return NULL;
  self = loom_table_new (klass, &info);
  return load (self, &archive, options, error) ? g_steal_pointer (&self) : NULL;
}

const LoomDatasetClass loom_dataset_npz = {
  .name = "npz",
  .title = "NumPy archive",
  .doc = "Inputs and targets of all splits in one .npz file, as of MedMNIST and Keras.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .digest = loom_table_digest,
  .free = loom_table_free,
  .has_pictures = TRUE,
};
