/* Recognises the kind of a file (array, picture, rows of numbers, text), reads its samples, and prepares them as the
 * data set does. */
#include "engine/data/loom-samples.h"

#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/core/loom-fault.h"
#include "engine/data/csv-prepare.h"
#include "engine/data/loom-augment.h"
#include "engine/data/loom-parquet.h"
#include "engine/data/loom-text-file.h"
#include "engine/interop/loom-npy.h"

#define MEASURED 64 /* samples of the data set from which the range of its pictures is measured */

struct _LoomSampleReader
{
  LoomType type;
  int rank; /* of a sample */
  gint64 dim[LOOM_SHAPE_MAX_RANK], count;
  const LoomDataset *dataset;
  LoomSampleOptions how;
  gboolean measured;
  double least, most; /* range of the data set's pictures */
  double border;      /* mean of their borders, from 0 to 1; NaN: not known */
};

LoomSampleReader *
loom_sample_reader_new (const LoomType *type, const LoomDataset *dataset, const LoomSampleOptions *how)
{
  LoomSampleReader *self = g_new0 (LoomSampleReader, 1);
  gint64 dims[LOOM_SHAPE_MAX_RANK];

  g_assert (type->shape.rank > 0);
  for (int i = 1; i < type->shape.rank; i++)
    dims[i] = loom_dim_value (type->shape.dim[i], NULL); /* only the batch may be unknown */
  self->type = *type;
  self->rank = type->shape.rank - 1;
  self->count = 1;
  for (int i = 0; i < self->rank; i++)
    self->count *= self->dim[i] = dims[i + 1];
  self->dataset = dataset;
  self->how = *how;
  self->border = NAN;
  return self;
}

void
loom_sample_reader_free (LoomSampleReader *self)
{
  g_free (self);
}

static void
item_free (gpointer data)
{
  LoomSampleItem *item = data;

  loom_tensor_unref (item->tensor);
  g_free (item->note);
  g_free (item);
}

LoomSampleItem *
loom_sample_item_add (GPtrArray *items, LoomTensor *tensor, gint64 row)
{
  LoomSampleItem *item = g_new0 (LoomSampleItem, 1);

  item->tensor = tensor;
  item->row = row;
  g_ptr_array_add (items, item);
  return item;
}

static char *
shape_text (const LoomSampleReader *self)
{
  LoomShape shape = loom_shape (self->rank, self->dim);

  return loom_shape_to_string (&shape);
}

/* ---- arrays ------------------------------------------------------------- */

/* The number of samples in an array; 0 if it has none. The batch dimension may be missing, and the channel dimension if
 * there is one channel. */
static gint64
count_samples (const LoomSampleReader *self, const LoomTensor *t)
{
  for (int skip = 0; skip <= (self->rank == 3 && self->dim[0] == 1); skip++)
    {
      const int rank = self->rank - skip, extra = t->rank - rank;
      gboolean fits = extra == 0 || extra == 1;

      for (int i = 0; fits && i < rank; i++)
        fits = t->dim[extra + i] == self->dim[skip + i];
      if (fits)
        return extra == 1 ? t->dim[0] : 1;
    }
  return 0;
}

/* Converts to the net's type; bytes of pictures become 0 to 1, as in the data set. */
static LoomTensor *
to_type (const LoomSampleReader *self, const LoomTensor *raw, const char *name, GError **error)
{
  const LoomDType want = self->type.dtype;
  LoomTensor *t;

  if (loom_dtype_is_float (raw->dtype) && !loom_dtype_is_float (want))
    return loom_refuse_null (error, LOOM_ERROR_DTYPE, "“%s” holds %s, but the net reads %s.", name,
                             loom_dtype_name (raw->dtype), loom_dtype_name (want));
  t = loom_tensor_convert (raw, want, !loom_dtype_is_float (raw->dtype), error);
  if (t != NULL && raw->dtype == LOOM_U8 && want == LOOM_F32 && self->rank >= 2)
    for (gint64 i = 0; i < t->count; i++)
      ((float *)t->data)[i] /= 255.0f;
  return t;
}

/* Normalises a picture as the data set does. */
static void
normalize (const LoomSampleReader *self, LoomTensor *t)
{
  if (self->dataset != NULL && self->dataset->augment != NULL)
    loom_augment_normalize (self->dataset->augment, t->data);
}

/* Prepares one sample. An array of bytes is a picture as in a file; a picture of floats has x's range already. A row of
 * a table is as in a file, of any type: it is filled and normalised with the numbers of the run. */
static void
prepare (const LoomSampleReader *self, const LoomTensor *raw, LoomTensor *t)
{
  const LoomDataset *dataset = self->dataset;

  if (raw->dtype == LOOM_U8)
    normalize (self, t);
  if (dataset != NULL && (dataset->feature_fill != NULL || dataset->feature_scale != NULL) && t->dtype == LOOM_F32
      && self->rank == 1)
    loom_csv_prepare_row (dataset, t->data);
}

static gboolean
is_npy (GBytes *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);

  return length >= 6 && memcmp (data, "\x93NUMPY", 6) == 0;
}

static gboolean
read_array (const LoomSampleReader *self, GBytes *bytes, const char *name, GPtrArray *items, GError **error)
{
  gsize length;
  const void *data = g_bytes_get_data (bytes, &length);
  g_autoptr (LoomTensor) raw = loom_npy_parse (data, length, name, error), all = NULL;
  gint64 n, row_bytes;

  if (raw == NULL)
    return FALSE;
  n = count_samples (self, raw);
  if (n == 0)
    {
      LoomShape shape = loom_tensor_shape (raw);
      g_autofree char *got = loom_shape_to_string (&shape), *want = shape_text (self);

      return loom_refuse (error, LOOM_ERROR_SHAPE, "“%s” is %s, but a sample of this net is %s (or B × %s).", name, got,
                          want, want);
    }
  all = to_type (self, raw, name, error);
  if (all == NULL)
    return FALSE;
  row_bytes = all->bytes / n;
  for (gint64 i = 0; i < n; i++)
    {
      LoomTensor *t = loom_tensor_new (self->type.dtype, self->rank, self->dim, error);

      if (t == NULL)
        return FALSE;
      memcpy (t->data, (const char *)all->data + i * row_bytes, row_bytes);
      prepare (self, raw, t);
      loom_sample_item_add (items, t, n == 1 ? 0 : i + 1);
    }
  return TRUE;
}

/* ---- pictures ----------------------------------------------------------- */

/* Channels, height and width of a sample that is a picture. */
static gboolean
is_picture (const LoomSampleReader *self, gint64 chw[3])
{
  if (self->type.dtype != LOOM_F32 || self->rank < 2 || self->rank > 3)
    return FALSE;
  chw[0] = self->rank == 3 ? self->dim[0] : 1;
  chw[1] = self->dim[self->rank - 2];
  chw[2] = self->dim[self->rank - 1];
  return (chw[0] == 1 || chw[0] == 3 || chw[0] == 4) && chw[1] > 0 && chw[2] > 0 && chw[1] < 32768 && chw[2] < 32768;
}

/* Samples spread evenly over one split of the data set; NULL if there are none. */
static LoomTensor *
some_pictures (const LoomDataset *dataset)
{
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  const LoomDatasetInfo *info = loom_dataset_info (dataset);
  gint64 index[MEASURED], n, dims[LOOM_SHAPE_MAX_RANK];
  LoomSplit split = 0;

  while (split < LOOM_N_SPLITS && info->n[split] <= 0)
    split++;
  if (split == LOOM_N_SPLITS)
    return NULL;
  n = MIN (MEASURED, info->n[split]);
  for (gint64 i = 0; i < n; i++)
    index[i] = i * (info->n[split] / n);
  for (guint p = 0; p < info->n_ports; p++)
    {
      LoomBinding binding = { { 0 } };
      LoomShape shape;
      LoomTensor *t;

      binding.value['B' - 'A'] = n;
      shape = loom_shape_bind (&info->port[p].type.shape, &binding);
      loom_shape_get (&shape, dims);
      t = loom_tensor_new (info->port[p].type.dtype, shape.rank, dims, NULL);
      if (t == NULL)
        return NULL;
      g_ptr_array_add (tensors, t);
    }
  /* Before normalisation, because the file's picture is normalised later. */
  if (!dataset->klass->read (dataset, split, index, (guint)n, (LoomTensor *const *)tensors->pdata, NULL))
    return NULL;
  return loom_tensor_ref (tensors->pdata[0]);
}

/* Finds the values of black and white in the data set, and whether its pictures have a dark or a bright background.
 * Most have values 0 to 1; the user's own arrays may have 0 to 255 or -1 to 1. FALSE if the range is none of these. */
static gboolean
measure (LoomSampleReader *self, const gint64 chw[3], GError **error)
{
  g_autoptr (LoomTensor) x = NULL;
  double border = 0;
  gint64 n_border = 0;

  if (!self->measured)
    {
      self->measured = TRUE;
      self->least = INFINITY;
      self->most = -INFINITY;
      x = self->dataset != NULL ? some_pictures (self->dataset) : NULL;
      for (gint64 i = 0; x != NULL && i < x->count; i++)
        {
          const gint64 column = i % chw[2], line = i / chw[2] % chw[1];
          const double value = loom_tensor_get (x, i);

          self->least = MIN (self->least, value);
          self->most = MAX (self->most, value);
          if (column > 0 && line > 0 && column < chw[2] - 1 && line < chw[1] - 1)
            continue;
          border += value;
          n_border++;
        }
      if (isnan (self->how.low) && (x == NULL || (self->least >= -1 && self->most <= 255)))
        {
          self->how.low = x != NULL && self->least < 0 ? -1 : 0;
          self->how.high = x != NULL && self->most > 1 ? 255 : 1;
          if (self->how.low < 0 && self->how.high > 1)
            self->how.low = NAN;
        }
      if (n_border > 0 && !isnan (self->how.low))
        self->border = (border / (double)n_border - self->how.low) / (self->how.high - self->how.low);
    }
  if (!isnan (self->how.low))
    return TRUE;
  g_set_error (
      error, LOOM_ERROR, LOOM_ERROR_DATA,
      "The data set's pictures hold numbers from %.3g to %.3g, from which black and white cannot be derived. Set them "
      "with --range LOW,HIGH.",
      self->least, self->most);
  return FALSE;
}

static gboolean
read_picture (LoomSampleReader *self, GBytes *bytes, const char *name, const gint64 chw[3], GPtrArray *items,
              GError **error)
{
  g_autoptr (LoomTensor) t = NULL;
  g_autofree char *note = NULL;
  g_autoptr (GString) notes = g_string_new (NULL);
  LoomPictureOptions options;
  LoomPictureFrame frame;
  LoomSampleItem *item;
  double border;

  if (!measure (self, chw, error))
    return FALSE;
  options = (LoomPictureOptions){ self->how.fit, self->how.invert, self->how.low, self->how.high };
  t = loom_tensor_new (LOOM_F32, self->rank, self->dim, error);
  if (t == NULL
      || !loom_picture_read (bytes, name, &options, chw[0], chw[1], chw[2], t->data, &frame, &border, &note, error))
    return FALSE;
  normalize (self, t);
  g_string_append (notes, note != NULL ? note : "");
  if (!isnan (self->border) && fabs (border - self->border) > 0.6)
    g_string_append_printf (notes, "%sits border is %s, but that of the data set's pictures is %s: --invert may help",
                            notes->len > 0 ? "; " : "", border > 0.5 ? "bright" : "dark",
                            self->border > 0.5 ? "bright" : "dark");
  item = loom_sample_item_add (items, g_steal_pointer (&t), 0);
  item->note = notes->len > 0 ? g_string_free (g_steal_pointer (&notes), FALSE) : NULL;
  item->frame = frame;
  return TRUE;
}

/* ---- rows of numbers ---------------------------------------------------- */

/* Reads numbers that are separated by commas, semicolons or blanks. −1 if there is anything else. */
static gint64
read_numbers (const char *line, GArray *numbers)
{
  g_array_set_size (numbers, 0);
  for (;;)
    {
      char *end;
      double value;

      line += strspn (line, " \t\r,;");
      if (*line == 0)
        return numbers->len;
      value = g_ascii_strtod (line, &end);
      if (end == line || (*end != 0 && strchr (" \t\r,;", *end) == NULL) || !isfinite ((float)value))
        return -1;
      g_array_append_val (numbers, value);
      line = end;
    }
}

/* TRUE if no field of a line is a number, so that it names the columns. */
static gboolean
is_header (const char *line)
{
  g_auto (GStrv) fields = g_strsplit_set (line, " \t\r,;", -1);

  for (guint i = 0; fields[i] != NULL; i++)
    {
      char *end;

      g_ascii_strtod (fields[i], &end);
      if (end != fields[i] && *end == '\0')
        return FALSE;
    }
  return TRUE;
}

/* A first line of words names the columns and is skipped. */
static gboolean
read_rows (const LoomSampleReader *self, const char *text, const char *name, GPtrArray *items, GError **error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; lines[i] != NULL; i++)
    {
      gint64 n = read_numbers (lines[i], numbers);
      LoomTensor *t;

      if (n == 0 || (n < 0 && i == 0 && is_header (lines[i])))
        continue;
      if (n != self->count)
        {
          if (n < 0)
            loom_error_set_quoting (error, LOOM_ERROR_DATA, "“%s” line %u: “%s” is not a row of numbers.", name, i + 1,
                                    g_strstrip (lines[i]));
          else
            loom_refuse (error, LOOM_ERROR_DATA,
                         "“%s” line %u has %" G_GINT64_FORMAT " numbers, but the net reads %" G_GINT64_FORMAT ".", name,
                         i + 1, n, self->count);
          return FALSE;
        }
      t = loom_tensor_new (self->type.dtype, self->rank, self->dim, error);
      if (t == NULL)
        return FALSE;
      for (gint64 k = 0; k < n; k++)
        loom_tensor_set (t, k, g_array_index (numbers, double, k));
      loom_sample_item_add (items, t, items->len + 1);
    }
  return TRUE;
}

static gboolean
is_text (GBytes *bytes)
{
  gsize length;
  const char *data = g_bytes_get_data (bytes, &length);

  return memchr (data, 0, length) == NULL && g_utf8_validate (data, (gssize)length, NULL);
}

/* ---- the file ----------------------------------------------------------- */

static gboolean
read_text (const LoomSampleReader *self, GBytes *bytes, const char *name, GPtrArray *items, GError **error)
{
  gsize length;
  g_autofree char *text = self->rank == 1 && loom_parquet_is (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes))
                              ? loom_parquet_text_from_bytes (bytes, name, &length, error)
                              : loom_text_from_bytes (bytes, name, &length, error);
  const LoomDatasetClass *klass = self->dataset != NULL ? self->dataset->klass : NULL;

  if (text == NULL)
    return FALSE;
  if (klass != NULL && klass->parse != NULL)
    return klass->parse (self->dataset, name, text, length, items, error);
  if (self->rank == 1)
    return read_rows (self, text, name, items, error);
  g_autofree char *shape = shape_text (self);
  return loom_refuse (error, LOOM_ERROR_DATA,
                      "“%s” is not a sample of this net, which reads %s: save it as a .npy array.", name, shape);
}

GPtrArray *
loom_sample_reader_read (LoomSampleReader *self, GBytes *bytes, const char *name, GError **error)
{
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (item_free);
  gint64 chw[3];
  gboolean good;

  if (g_bytes_get_size (bytes) == 0)
    return loom_refuse_null (error, LOOM_ERROR_DATA, "“%s” is empty.", name);
  /* A matrix may be a picture; a text is none. */
  good = is_npy (bytes) ? read_array (self, bytes, name, items, error)
         : is_picture (self, chw) && (self->rank == 3 || !is_text (bytes))
             ? read_picture (self, bytes, name, chw, items, error)
             : read_text (self, bytes, name, items, error);
  if (good && items->len == 0)
    {
      loom_refuse (error, LOOM_ERROR_DATA, "“%s” contains no sample.", name);
      good = FALSE;
    }
  return good ? g_steal_pointer (&items) : NULL;
}
