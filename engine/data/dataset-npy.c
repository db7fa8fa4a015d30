/* NumPy arrays as a data set: x.npy and y.npy, one row per sample.
 *
 * Floats become f32, integers i64; unsigned bytes of pictures (three dimensions or
 * more) are kept as bytes and returned as f32 in 0..1. */
#include "engine/core/loom-refuse.h"
#include "engine/data/loom-dataset-private.h"
#include "engine/data/loom-deal.h"
#include "engine/interop/loom-npy.h"

static const LoomDatasetParam params[] = {
  { LOOM_OPTION ("x", PATH, NULL), .doc = "The .npy file of the inputs; the first dimension is the sample." },
  { LOOM_OPTION ("y", PATH, ""), .doc = "The .npy file of the targets, if any." },
  { LOOM_OPTION ("test_x", PATH, ""), .doc = "The .npy file of the test inputs." },
  { LOOM_OPTION ("test_y", PATH, ""), .doc = "The .npy file of the test targets." },
  LOOM_DEALT_PARAMS ("samples", "0", ", if test_x is not set"),
  LOOM_SPLIT_PARAM,
  { .name = NULL },
};

/* The type that a file's elements are converted to. */
static LoomDType
port_dtype (LoomDType dtype, int rank)
{
  return loom_dtype_is_float (dtype) || (dtype == LOOM_U8 && rank >= 3) ? LOOM_F32 : LOOM_I64;
}

/* Adds the port for a file whose whole array has this type. */
static gboolean
add_port (LoomDatasetInfo *info, const char *name, const char *path, const LoomType *type, GError **error)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  if (type->shape.rank == 0)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” holds a single number; a data set needs an array with samples along its first dimension.",
                        path);
  loom_shape_get (&type->shape, dims);
  loom_info_add_port (info, name, port_dtype (type->dtype, type->shape.rank), type->shape.rank - 1, dims + 1);
  return TRUE;
}

static gboolean
describe_file (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info,
               const char *name, gint64 *n, GError **error)
{
  g_autofree char *path = loom_option_path (klass, options, name);
  LoomType type;

  if (path == NULL)
    return TRUE;
  if (g_str_has_suffix (path, ".csv") || g_str_has_suffix (path, ".tsv"))
    return loom_refuse (error, LOOM_ERROR_DATA, "“%s” is a table in text form; use the data set csv for it.", path);
  if (!loom_dataset_check_file (path, NULL, error) || !loom_npy_describe (path, &type, error)
      || !add_port (info, name, path, &type, error))
    return FALSE;
  if (*n >= 0 && type.shape.dim[0].coef != *n)
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” has %" G_GINT64_FORMAT " samples, but x has %" G_GINT64_FORMAT ".", path,
                        type.shape.dim[0].coef, *n);
  *n = type.shape.dim[0].coef;
  return TRUE;
}

static gboolean
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, GError **error)
{
  gint64 n = -1;

  return describe_file (klass, options, info, "x", &n, error) && describe_file (klass, options, info, "y", &n, error);
}

/* Loads one file, converted to the table's type. */
static LoomTensor *
load_file (const LoomDataset *self, guint port, const char *path, GError **error)
{
  const LoomType *type = &self->info.port[port].type;
  g_autoptr (LoomTensor) raw = NULL;

  if (!loom_dataset_check_file (path, NULL, error))
    return NULL;
  raw = loom_npy_load (path, error);
  if (raw == NULL)
    return NULL;
  for (int d = 0; d < MAX (raw->rank, type->shape.rank); d++)
    {
      if (raw->rank != type->shape.rank || (d > 0 && raw->dim[d] != type->shape.dim[d].coef))
        return loom_refuse_null (error, LOOM_ERROR_DATA, "The samples of “%s” have another shape than those of %s.",
                                 path, self->info.port[port].name);
    }
  if (raw->dtype == type->dtype || (raw->dtype == LOOM_U8 && type->dtype == LOOM_F32))
    return g_steal_pointer (&raw);
  LoomTensor *t = loom_tensor_convert (raw, type->dtype, FALSE, error);
  if (t == NULL)
    g_prefix_error (error, "“%s”: ", path);
  return t;
}

/* Loads the files named by two options; data[1] stays NULL without a y. */
static gboolean
load_pair (const LoomDataset *self, const LoomDatasetOptions *options, const char *x_name, const char *y_name,
           LoomTensor *data[2], GError **error)
{
  g_autofree char *x_path = loom_option_path (self->klass, options, x_name);
  g_autofree char *y_path = loom_option_path (self->klass, options, y_name);

  if ((self->info.n_ports == 2) != (y_path != NULL) || x_path == NULL)
    return loom_refuse (error, LOOM_ERROR_SCHEMA, "The data set npy has only one of %s and %s; set both.", x_name,
                        y_name);
  data[0] = load_file (self, 0, x_path, error);
  if (data[0] == NULL)
    return FALSE;
  if (y_path == NULL)
    return TRUE;
  data[1] = load_file (self, 1, y_path, error);
  if (data[1] == NULL)
    return FALSE;
  if (data[0]->dim[0] != data[1]->dim[0])
    return loom_refuse (error, LOOM_ERROR_DATA,
                        "“%s” has %" G_GINT64_FORMAT " samples, but “%s” has %" G_GINT64_FORMAT ".", y_path,
                        data[1]->dim[0], x_path, data[0]->dim[0]);
  return TRUE;
}

static void
count_classes (LoomDataset *self, const LoomTensor *y)
{
  self->info.n_classes = 0;
  if (y == NULL || y->dtype != LOOM_I64)
    return;
  for (gint64 i = 0; i < y->count; i++)
    self->info.n_classes = MAX (self->info.n_classes, MIN (((const gint64 *)y->data)[i], G_MAXINT64 - 1) + 1);
}

static gboolean
load_all (LoomDataset *self, const LoomDatasetOptions *options, LoomTensor *train[2], LoomTensor *test[2],
          GError **error)
{
  const LoomDatasetClass *klass = self->klass;
  LoomDealing how = loom_dealing (klass, options);
  gboolean has_test = *loom_option_string (klass, options, "test_x") != '\0'
                      || *loom_option_string (klass, options, "test_y") != '\0';

  if (!load_pair (self, options, "x", "y", train, error)
      || (has_test && !load_pair (self, options, "test_x", "test_y", test, error)))
    return FALSE;
  count_classes (self, train[1]);
  how.test = has_test ? 0 : how.test;
  if (!loom_table_deal (self, train, train[1], &how, error))
    return FALSE;
  if (has_test)
    loom_table_set_split (self, LOOM_SPLIT_TEST, test, NULL, test[0]->dim[0]);
  return TRUE;
}

static LoomDataset *
open_dataset (const LoomDatasetClass *klass, const LoomDatasetOptions *options, GError **error)
{
  LoomTensor *train[2] = { NULL }, *test[2] = { NULL };
  g_autoptr (LoomDataset) self = NULL;
  LoomDatasetInfo info = { 0 };
  gboolean loaded;

  if (!describe (klass, options, &info, error))
    return NULL;
  self = loom_table_new (klass, &info);
  loaded = load_all (self, options, train, test, error);
  for (int p = 0; p < 2; p++)
    {
      loom_tensor_unref (train[p]);
      loom_tensor_unref (test[p]);
    }
  return loaded ? g_steal_pointer (&self) : NULL;
}

const LoomDatasetClass loom_dataset_npy = {
  .name = "npy",
  .title = "NumPy arrays",
  .doc = "Inputs and targets from .npy files, with one row for each sample.",
  .params = params,
  .describe = describe,
  .open = open_dataset,
  .read = loom_table_read,
  .digest = loom_table_digest,
  .free = loom_table_free,
};
