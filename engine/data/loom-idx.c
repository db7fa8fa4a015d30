/* Reads IDX files.
 *
 * Bytes are decompressed straight into the memory that the tensor keeps and are converted only when a batch is read;
 * other types are converted once. */
#include "engine/data/loom-idx.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-file.h"
#include "engine/data/loom-gunzip.h"

#define BLOCK 4096 /* elements that are converted at once */

/* The types of elements, which are big-endian. */
static const struct
{
  guint8 code, size;
  gboolean is_float;
} types[] = { { 0x08, 1, FALSE }, { 0x09, 1, FALSE }, { 0x0b, 2, FALSE },
              { 0x0c, 4, FALSE }, { 0x0d, 4, TRUE },  { 0x0e, 8, TRUE } };

#define UNSIGNED_BYTES 0

/* Opens a file; if its first bytes are gzip's, through gunzip. */
static GInputStream *
open_stream (const char *path, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (path);
  g_autoptr (GFileInputStream) plain = NULL;
  g_autoptr (GConverter) gunzip = NULL;
  g_autoptr (GError) cause = NULL;
  guint8 magic[2] = { 0 };
  gsize n;

  if (!loom_dataset_check_file (path, NULL, error))
    return NULL;
  plain = g_file_read (file, NULL, &cause);
  if (plain == NULL || !g_input_stream_read_all (G_INPUT_STREAM (plain), magic, sizeof magic, &n, NULL, &cause)
      || !g_seekable_seek (G_SEEKABLE (plain), 0, G_SEEK_SET, NULL, &cause))
    return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path, cause->message);
  if (magic[0] != 0x1f || magic[1] != 0x8b)
    return G_INPUT_STREAM (g_steal_pointer (&plain));
  gunzip = loom_gunzip_new ();
  return g_converter_input_stream_new (G_INPUT_STREAM (plain), gunzip);
}

static gboolean
read_exactly (GInputStream *stream, const char *path, void *data, gsize length, GError **error)
{
  g_autoptr (GError) cause = NULL;
  gsize n;

  if (!g_input_stream_read_all (stream, data, length, &n, NULL, &cause))
    return loom_file_refuse (path, error, "is damaged: %s", cause->message);
  if (n != length)
    return loom_file_refuse (path, error, "is truncated: it has %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " bytes", n,
                             length);
  return TRUE;
}

static gboolean
read_header (GInputStream *stream, const char *path, guint *type, int *rank, gint64 dims[], GError **error)
{
  guint8 head[4], size[4];

  if (!read_exactly (stream, path, head, sizeof head, error))
    return FALSE;
  if (head[0] != 0 || head[1] != 0 || head[3] == 0 || head[3] > LOOM_SHAPE_MAX_RANK)
    return loom_file_refuse (path, error, "is not an IDX file: its first bytes are %02x %02x %02x %02x", head[0],
                             head[1], head[2], head[3]);
  for (*type = 0; *type < G_N_ELEMENTS (types) && types[*type].code != head[2]; ++*type)
    ;
  if (*type == G_N_ELEMENTS (types))
    return loom_file_refuse (path, error, "is an IDX file of type 0x%02x, which does not exist", head[2]);
  *rank = head[3];
  for (int d = 0; d < *rank; d++)
    {
      if (!read_exactly (stream, path, size, sizeof size, error))
        return FALSE;
      dims[d] = (gint64)size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3];
    }
  return TRUE;
}

/* Reads the sizes in the header of an IDX file. */
static gboolean
describe (const char *path, int *rank, gint64 dims[LOOM_SHAPE_MAX_RANK], GError **error)
{
  g_autoptr (GInputStream) stream = open_stream (path, error);
  guint type;

  return stream != NULL && read_header (stream, path, &type, rank, dims, error);
}

static double
element (guint type, const guint8 *p)
{
  guint64 bits = 0;
  float f32;
  double f64;

  for (guint i = 0; i < types[type].size; i++)
    bits = bits << 8 | p[i];
  if (!types[type].is_float)
    {
      const int unused = 64 - 8 * types[type].size;

      return (double)((gint64)(bits << unused) >> unused);
    }
  if (types[type].size == 8)
    {
      memcpy (&f64, &bits, 8);
      return f64;
    }
  const guint32 half = (guint32)bits;
  memcpy (&f32, &half, 4);
  return (double)f32;
}

/* Reads elements into a tensor of another type. */
static gboolean
read_elements (GInputStream *stream, const char *path, guint type, LoomTensor *t, GError **error)
{
  guint8 block[BLOCK * 8];

  for (gint64 i = 0; i < t->count; i += BLOCK)
    {
      const gint64 n = MIN (BLOCK, t->count - i);

      if (!read_exactly (stream, path, block, (gsize)n * types[type].size, error))
        return FALSE;
      for (gint64 k = 0; k < n; k++)
        loom_tensor_set (t, i + k, element (type, block + k * types[type].size));
    }
  return TRUE;
}

/* A header of a few bytes could ask for any amount of memory, so it is compared with the file's size first. Deflate
 * makes at most 1032 bytes of one. */
static gboolean
check_size (GInputStream *stream, const char *path, guint type, int rank, const gint64 *dims, GError **error)
{
  const double most = G_IS_CONVERTER_INPUT_STREAM (stream) ? 1032 : 1;
  double bytes = types[type].size;
  GStatBuf is;

  for (int d = 0; d < rank; d++)
    bytes *= (double)dims[d];
  return g_stat (path, &is) != 0 || bytes <= most * (double)is.st_size
         || loom_file_refuse (path, error, "is truncated: its header announces %.0f bytes of numbers", bytes);
}

/* The whole file: unsigned bytes as they are, other types as `other`. */
static LoomTensor *
load (const char *path, LoomDType other, GError **error)
{
  g_autoptr (GInputStream) stream = open_stream (path, error);
  g_autoptr (LoomTensor) t = NULL;
  g_autoptr (GBytes) whole = NULL;
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  gsize head, n = 1;
  guint type;
  int rank;

  if (stream == NULL || !read_header (stream, path, &type, &rank, dims, error)
      || !check_size (stream, path, type, rank, dims, error))
    return NULL;
  head = 4 + 4 * (gsize)rank;
  for (int d = 0; d < rank; d++)
    n *= (gsize)dims[d];
  if (type == UNSIGNED_BYTES && G_IS_CONVERTER_INPUT_STREAM (stream))
    whole = loom_gunzip_whole (path, head + n);
  if (whole != NULL)
    return loom_tensor_new_from_bytes (LOOM_U8, rank, dims, whole, head);
  t = loom_tensor_new (type == UNSIGNED_BYTES ? LOOM_U8 : other, rank, dims, error);
  if (t == NULL
      || !(type == UNSIGNED_BYTES ? read_exactly (stream, path, t->data, t->bytes, error)
                                  : read_elements (stream, path, type, t, error)))
    return NULL;
  return g_steal_pointer (&t);
}

/* The dimensions of one sample of a file of images, with a channel added if it has none. */
static gboolean
sample_dims (const char *path, gboolean is_transposed, int rank, const gint64 *dims, int *sample_rank, gint64 sample[],
             GError **error)
{
  int n = 0;

  if (rank < 2 || rank > 4)
    return loom_file_refuse (
        path, error, "has %d dimensions; images have 2 (sample, values) to 4 (sample, channel, height, width)", rank);
  if (rank == 3)
    sample[n++] = 1;
  for (int d = 1; d < rank; d++)
    sample[n++] = dims[d];
  *sample_rank = n;
  if (is_transposed && n < 3)
    return loom_file_refuse (path, error, "has no pictures that could be transposed");
  if (is_transposed)
    {
      const gint64 height = sample[n - 1];

      sample[n - 1] = sample[n - 2];
      sample[n - 2] = height;
    }
  return TRUE;
}

/* The pictures (N, …, W, H) as (N, …, H, W), of one type. */
static LoomTensor *
transpose (const LoomTensor *x, GError **error)
{
  const gint64 width = x->dim[x->rank - 2], height = x->dim[x->rank - 1];
  const gsize size = loom_dtype_size (x->dtype);
  gint64 dims[LOOM_SHAPE_MAX_RANK];
  LoomTensor *t;

  memcpy (dims, x->dim, (gsize)x->rank * sizeof *dims);
  dims[x->rank - 2] = height;
  dims[x->rank - 1] = width;
  t = loom_tensor_new (x->dtype, x->rank, dims, error);
  for (gint64 i = 0; t != NULL && i < t->count; i++)
    {
      const gint64 picture = i / (height * width), row = i / width % height, column = i % width;

      memcpy ((char *)t->data + (gsize)i * size,
              (const char *)x->data + (gsize)((picture * width + column) * height + row) * size, size);
    }
  return t;
}

/* Labels are whole numbers from 0 on. */
static gboolean
count_classes (const char *path, const LoomTensor *y, gint64 *n_classes, GError **error)
{
  for (gint64 i = 0; i < y->count; i++)
    {
      const double label = loom_tensor_get (y, i);

      if (!(label >= 0 && label <= G_MAXINT32))
        return loom_file_refuse (path, error, "has the label %g; classes are numbers from 0 on", label);
      *n_classes = MAX (*n_classes, (gint64)label + 1);
    }
  return TRUE;
}

static gboolean
check_pair (const char *images, const char *labels, gint64 n_images, int labels_rank, gint64 n_labels, GError **error)
{
  if (labels_rank != 1)
    return loom_file_refuse (labels, error, "has %d dimensions; labels have one", labels_rank);
  if (n_images != n_labels)
    return loom_file_refuse (labels, error, "has %" G_GINT64_FORMAT " labels, but “%s” has %" G_GINT64_FORMAT " images",
                             n_labels, images, n_images);
  return TRUE;
}

gboolean
loom_idx_files_describe (const LoomIdxFiles *files, LoomDatasetInfo *info, GError **error)
{
  gint64 dims[LOOM_SHAPE_MAX_RANK], sample[LOOM_SHAPE_MAX_RANK], labels[LOOM_SHAPE_MAX_RANK];
  int rank, sample_rank = 0, labels_rank;

  if (!describe (files->images, &rank, dims, error)
      || !sample_dims (files->images, files->is_transposed, rank, dims, &sample_rank, sample, error)
      || !describe (files->labels, &labels_rank, labels, error)
      || !check_pair (files->images, files->labels, dims[0], labels_rank, labels[0], error))
    return FALSE;
  loom_info_add_port (info, "x", LOOM_F32, sample_rank, sample);
  loom_info_add_port (info, "y", LOOM_I64, 0, NULL);
  info->n[LOOM_SPLIT_TRAIN] = dims[0];
  info->n[LOOM_SPLIT_VAL] = 0;
  info->n[LOOM_SPLIT_TEST] = 0;
  if (files->test_images != NULL)
    {
      if (!describe (files->test_images, &rank, dims, error))
        return FALSE;
      info->n[LOOM_SPLIT_TEST] = dims[0];
    }
  return TRUE;
}

static gboolean
load_split (LoomDataset *self, LoomSplit split, const LoomIdxFiles *files, const char *images, const char *labels,
            GError **error)
{
  g_autoptr (LoomTensor) x = NULL, y = NULL, stored = NULL;
  gint64 sample[LOOM_SHAPE_MAX_RANK], dims[LOOM_SHAPE_MAX_RANK];
  int sample_rank = 0;
  const LoomShape *expected = &self->info.port[0].type.shape;

  stored = load (images, LOOM_F32, error);
  if (stored != NULL && stored->rank > 2 && files->is_transposed)
    x = transpose (stored, error);
  else
    x = g_steal_pointer (&stored);
  y = x != NULL ? load (labels, LOOM_I64, error) : NULL;
  if (y == NULL || !check_pair (images, labels, x->dim[0], y->rank, y->dim[0], error)
      || !sample_dims (images, FALSE, x->rank, x->dim, &sample_rank, sample, error)
      || !count_classes (labels, y, &self->info.n_classes, error))
    return FALSE;
  dims[0] = x->dim[0];
  memcpy (dims + 1, sample, sample_rank * sizeof *sample);
  x->rank = sample_rank + 1;
  memcpy (x->dim, dims, x->rank * sizeof *dims);
  for (int d = 1; d < MAX (x->rank, expected->rank); d++)
    {
      if (x->rank != expected->rank || x->dim[d] != expected->dim[d].coef)
        return loom_file_refuse (images, error, "has images of another shape than the training images");
    }
  {
    LoomTensor *const data[] = { x, y };

    loom_table_set_split (self, split, data, NULL, x->dim[0]);
  }
  return TRUE;
}

LoomDataset *
loom_idx_files_open (const LoomDatasetClass *klass, const LoomIdxFiles *files, GError **error)
{
  g_autoptr (LoomDataset) self = NULL;
  LoomDatasetInfo info = { 0 };

  if (!loom_idx_files_describe (files, &info, error))
    return NULL;
  self = loom_table_new (klass, &info);
  if (!load_split (self, LOOM_SPLIT_TRAIN, files, files->images, files->labels, error))
    return NULL;
  /* The pictures of EMNIST are stored column by column. */
  g_autofree char *name = g_path_get_basename (files->images);
  if (!files->is_transposed && g_ascii_strncasecmp (name, "emnist", 6) == 0)
    self->note
        = g_strdup_printf ("The pictures of EMNIST are transposed: transpose=\"true\" turns those of “%s”.", name);
  if (files->test_images != NULL
      && !load_split (self, LOOM_SPLIT_TEST, files, files->test_images, files->test_labels, error))
    return NULL;
  return g_steal_pointer (&self);
}
