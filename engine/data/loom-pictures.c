/* Decodes the pictures of a data set in as many threads as there are processors, and keeps them as bytes. */
#include "engine/data/loom-pictures.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"
#include "engine/core/loom-hash.h"
#include "engine/data/loom-boxes.h"
#include "engine/data/loom-csv-guess.h"
#include "engine/data/loom-labels.h"
#include "engine/data/pictures-target.h"

#define MEMORY ((gint64)1 << 30) /* bytes that are kept by default */

const char *const loom_pictures_colors[] = { "rgb", "grey", NULL };
const char *const loom_pictures_keeps[] = { "auto", "memory", "files", NULL };
const char *const loom_pictures_brokens[] = { "error", "skip", NULL };
static const char *const endings[] = { ".png",  ".jpg", ".jpeg", ".jfif", ".bmp", ".gif", ".webp", ".avif", ".heic",
                                       ".heif", ".jxl", ".tif",  ".tiff", ".ppm", ".pgm", ".pnm",  NULL };

typedef struct
{
  char *name, *path; /* path may be name */
  guint64 offset;
  gint64 size;
  guint32 which; /* the class */
  float value;   /* in place of it, if the target is a number */
  char *mask;    /* a file; NULL: none */
  float *boxes;  /* [n_boxes,5] in pixels of the file's picture */
  guint n_boxes;
  LoomPictureFrame frame; /* of a picture that was decoded; written under the lock */
} Picture;

struct _LoomPictures
{
  LoomDataset base;
  gint64 channels, size;
  LoomPictureFit fit;
  GPtrArray *files; /* Picture */
  guint32 *rows[LOOM_N_SPLITS];
  gint64 class_of[256]; /* of the values of masks */
  guint8 *pixels;       /* (files, C, H, W), with a mask (H, W) NULL: no picture is kept */
  guint8 *is_kept;      /* by file; written under the lock, as pixels are */
  GMutex lock;
  GThreadPool *pool; /* of Decoding */
};

/* The values of a picture, without its mask. */
static gint64
n_values (const LoomPictures *self)
{
  return self->channels * self->size * self->size;
}

static gint64
picture_bytes (const LoomPictures *self)
{
  return n_values (self) + (self->base.mask_port > 0 ? self->size * self->size : 0);
}

static void
picture_free (gpointer data)
{
  Picture *picture = data;

  if (picture->path != picture->name)
    g_free (picture->path);
  g_free (picture->name);
  g_free (picture->mask);
  g_free (picture->boxes);
  g_free (picture);
}

gboolean
loom_dataset_is_picture_name (const char *name)
{
  g_autofree char *lower = g_ascii_strdown (name, -1);

  for (guint i = 0; endings[i] != NULL; i++)
    if (g_str_has_suffix (lower, endings[i]))
      return TRUE;
  return FALSE;
}

void
loom_pictures_add (LoomPictures *self, const char *name, const char *path, guint64 offset, gint64 size, guint32 which)
{
  Picture *picture = g_new0 (Picture, 1);

  picture->name = g_strdup (name);
  picture->path = name == path ? picture->name : g_strdup (path);
  picture->offset = offset;
  picture->size = size;
  picture->which = which;
  g_ptr_array_add (self->files, picture);
}

void
loom_pictures_add_mask (LoomPictures *self, const char *path)
{
  Picture *picture = self->files->pdata[self->files->len - 1];

  g_assert (self->base.mask_port > 0);
  picture->mask = g_strdup (path);
}

void
loom_pictures_add_boxes (LoomPictures *self, const float *boxes, guint n)
{
  Picture *picture = self->files->pdata[self->files->len - 1];

  g_assert (self->base.boxes != NULL && n <= self->base.boxes->most);
  picture->boxes = g_memdup2 (boxes, n * LOOM_BOX_NUMBERS * sizeof *boxes);
  picture->n_boxes = n;
}

void
loom_pictures_set_values (LoomPictures *self, const gint64 class_of[256])
{
  memcpy (self->class_of, class_of, sizeof self->class_of);
}

guint
loom_pictures_count (const LoomPictures *self)
{
  return self->files->len;
}

LoomDataset *
loom_pictures_dataset (LoomPictures *self)
{
  return &self->base;
}

/* ---- decoding -------------------------------------------------------------- */

static GBytes *
read_bytes (const Picture *picture, GError **error)
{
  g_autoptr (GFile) file = g_file_new_for_path (picture->path);
  g_autoptr (GFileInputStream) stream = NULL;
  g_autoptr (GError) cause = NULL;
  g_autofree char *content = NULL;
  gsize length = 0;
  gboolean good;

  if (picture->size < 0)
    good = loom_path_read (picture->path, &content, &length, &cause);
  else
    {
      content = g_try_malloc ((gsize)picture->size + 1);
      stream = g_file_read (file, NULL, &cause);
      good = stream != NULL && content != NULL
             && g_seekable_seek (G_SEEKABLE (stream), (goffset)picture->offset, G_SEEK_SET, NULL, &cause)
             && g_input_stream_read_all (G_INPUT_STREAM (stream), content, (gsize)picture->size, &length, NULL, &cause);
    }
  if (good)
    return g_bytes_new_take (g_steal_pointer (&content), length);
  return loom_refuse_null (error, LOOM_ERROR_IO, "“%s” cannot be read: %s.", picture->name,
                           cause != NULL ? cause->message : "out of memory");
}

static gboolean
decode (const LoomPictures *self, guint file, guint8 *to, LoomPictureFrame *frame, GError **error)
{
  const LoomPictureOptions options = { .fit = self->fit, .low = 0, .high = 1 };
  const Picture *picture = self->files->pdata[file];
  g_autofree float *values = g_new (float, n_values (self));
  g_autofree char *note = NULL;
  g_autoptr (GBytes) bytes = read_bytes (picture, error);
  double border;

  if (bytes == NULL
      || !loom_picture_read (bytes, picture->name, &options, self->channels, self->size, self->size, values, frame,
                             &border, &note, error))
    return FALSE;
  for (gint64 i = 0; i < n_values (self); i++)
    to[i] = (guint8)lrintf (values[i] * 255);
  return picture->mask == NULL
         || pictures_mask_read (picture->mask, picture->name, self->fit, (int)self->size, self->class_of, frame,
                                to + n_values (self), error);
}

/* The pictures of one batch that are not kept yet. */
typedef struct
{
  GMutex lock;
  GCond done;
  guint n_left;
} Batch;

typedef struct
{
  Batch *batch;
  LoomPictures *owner;
  guint file;
  guint8 *pixels; /* NULL: it was kept already */
  LoomPictureFrame frame;
  GError *error;
} Decoding;

static void
decode_cb (gpointer data, gpointer user_data)
{
  Decoding *d = data;
  LoomPictures *self = d->owner;

  if (decode (self, d->file, d->pixels, &d->frame, &d->error) && self->pixels != NULL)
    {
      g_mutex_lock (&self->lock);
      ((Picture *)self->files->pdata[d->file])->frame = d->frame;
      if (!self->is_kept[d->file])
        memcpy (self->pixels + d->file * picture_bytes (self), d->pixels, (gsize)picture_bytes (self));
      self->is_kept[d->file] = TRUE;
      g_mutex_unlock (&self->lock);
    }
  g_mutex_lock (&d->batch->lock);
  if (--d->batch->n_left == 0)
    g_cond_signal (&d->batch->done);
  g_mutex_unlock (&d->batch->lock);
}

/* Decodes the missing pictures of the batch, in as many threads as there are processors. */
static void
decode_batch (LoomPictures *self, Decoding *list, guint n)
{
  Batch batch = { .n_left = 0 };

  g_mutex_init (&batch.lock);
  g_cond_init (&batch.done);
  g_mutex_lock (&self->lock);
  for (guint i = 0; i < n; i++)
    if (self->pixels == NULL || !self->is_kept[list[i].file])
      {
        list[i].batch = &batch;
        list[i].pixels = g_malloc ((gsize)picture_bytes (self));
        batch.n_left++;
      }
  g_mutex_unlock (&self->lock);
  for (guint i = 0; i < n; i++)
    if (list[i].batch != NULL)
      g_thread_pool_push (self->pool, &list[i], NULL);
  g_mutex_lock (&batch.lock);
  while (batch.n_left > 0)
    g_cond_wait (&batch.done, &batch.lock);
  g_mutex_unlock (&batch.lock);
  g_mutex_clear (&batch.lock);
  g_cond_clear (&batch.done);
}

/* ---- pictures that are not readable ------------------------------------------ */

#define CHECKED_AT_ONCE 64u

/* Marks the files from `first` on that are not readable, at most n; returns their number. */
static guint
find_broken (LoomPictures *self, guint first, guint n, gboolean *is_broken)
{
  g_autofree Decoding *list = g_new0 (Decoding, n);
  guint found = 0;

  for (guint i = 0; i < n; i++)
    {
      list[i].owner = self;
      list[i].file = first + i;
    }
  decode_batch (self, list, n);
  for (guint i = 0; i < n; i++)
    {
      is_broken[first + i] = list[i].error != NULL;
      found += list[i].error != NULL;
      g_clear_error (&list[i].error);
      g_free (list[i].pixels);
    }
  return found;
}

/* Removes pictures that are not readable, and notes how many there were and which is the first. part: the numbers of
 * pictures in n_parts parts, one after the other. Every class keeps at least one of the first part. */
static gboolean
leave_out_broken (LoomPictures *self, guint *part, guint n_parts, GError **error)
{
  const guint n = self->files->len, before = part[0];
  const gint64 n_classes = self->base.info.n_classes;
  g_autofree gboolean *is_broken = g_new0 (gboolean, n + 1);
  g_autofree guint *before_of = g_memdup2 (part, n_parts * sizeof *part);
  g_autofree guint *n_left = g_new0 (guint, n_classes + 1), *n_had = g_new0 (guint, n_classes + 1);
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func (picture_free);
  guint found = 0, first = n, p = 0, end = before;

  for (guint i = 0; i < n; i += CHECKED_AT_ONCE)
    found += find_broken (self, i, MIN (CHECKED_AT_ONCE, n - i), is_broken);
  for (guint i = 0; i < n; i++)
    {
      Picture *picture = self->files->pdata[i];

      n_had[picture->which] += i < before;
      n_left[picture->which] += i < before && !is_broken[i];
      if (is_broken[i])
        first = MIN (first, i);
      while (i >= end)
        end += before_of[++p];
      part[p] -= is_broken[i] ? 1 : 0;
    }
  for (gint64 c = 0; c < n_classes; c++)
    if (n_left[c] == 0 && n_had[c] > 0)
      {
        g_autofree char *number = g_strdup_printf ("%" G_GINT64_FORMAT, c);

        return loom_refuse (error, LOOM_ERROR_DATA, "The class “%s” has no readable picture.",
                            self->base.class_names != NULL ? self->base.class_names[c] : number);
      }
  if (found > 0)
    self->base.note = g_strdup_printf ("%u of %u pictures are not readable and are left out; the first is “%s”.", found,
                                       n, ((const Picture *)self->files->pdata[first])->name);
  g_ptr_array_set_free_func (self->files, NULL);
  for (guint i = 0; i < n; i++)
    if (is_broken[i])
      picture_free (self->files->pdata[i]);
    else
      g_ptr_array_add (files, self->files->pdata[i]);
  g_ptr_array_unref (self->files);
  self->files = g_steal_pointer (&files);
  return TRUE;
}

static gboolean
keep_pictures (LoomPictures *self, GError **error)
{
  self->pixels = g_try_malloc ((gsize)self->files->len * (gsize)picture_bytes (self));
  self->is_kept = g_new0 (guint8, self->files->len);
  if (self->pixels != NULL)
    return TRUE;
  return loom_refuse (error, LOOM_ERROR_OUT_OF_MEMORY,
                      "%u pictures do not fit into memory; set keep=\"files\" to read them one by one.",
                      self->files->len);
}

/* ---- the data set ----------------------------------------------------------- */

static void
describe_x (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info)
{
  const gint64 size = loom_option_int (klass, options, "size");
  const gint64 dims[] = { g_str_equal (loom_option_string (klass, options, "color"), "rgb") ? 3 : 1, size, size };

  loom_info_add_port (info, "x", LOOM_F32, 3, dims);
}

/* rank_of_y: 0, or 2 for a mask. */
static void
describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info, int rank_of_y)
{
  const gint64 size = loom_option_int (klass, options, "size");

  describe_x (klass, options, info);
  loom_info_add_port (info, "y", LOOM_I64, rank_of_y, (gint64[]){ size, size });
}

void
loom_pictures_describe (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info)
{
  describe (klass, options, info, 0);
}

void
loom_pictures_describe_numbers (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info)
{
  describe_x (klass, options, info);
  loom_info_add_port (info, "y", LOOM_F32, 1, (gint64[]){ 1 });
}

void
loom_pictures_describe_masks (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomDatasetInfo *info)
{
  describe (klass, options, info, 2);
}

static LoomPictures *
new_pictures (const LoomDatasetClass *klass, const LoomDatasetOptions *options, int rank_of_y)
{
  LoomPictures *self = g_new0 (LoomPictures, 1);

  self->base.klass = klass;
  g_mutex_init (&self->lock);
  self->pool = g_thread_pool_new (decode_cb, NULL, (int)g_get_num_processors (), FALSE, NULL);
  self->files = g_ptr_array_new_with_free_func (picture_free);
  self->size = loom_option_int (klass, options, "size");
  self->channels = g_str_equal (loom_option_string (klass, options, "color"), "rgb") ? 3 : 1;
  while (!g_str_equal (loom_picture_fits[self->fit], loom_option_string (klass, options, "fit")))
    self->fit++;
  describe (klass, options, &self->base.info, rank_of_y);
  self->base.mask_port = rank_of_y > 0 ? 1 : 0;
  return self;
}

LoomPictures *
loom_pictures_new (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  return new_pictures (klass, options, 0);
}

LoomPictures *
loom_pictures_new_with_masks (const LoomDatasetClass *klass, const LoomDatasetOptions *options)
{
  return new_pictures (klass, options, 2);
}

static gboolean
leave_out (LoomPictures *self, const LoomDatasetOptions *options, guint *part, guint n_parts, GError **error)
{
  return !g_str_equal (loom_option_string (self->base.klass, options, "broken"), "skip")
         || leave_out_broken (self, part, n_parts, error);
}

/* Makes n pictures from `first` on the split. */
static void
set_split (LoomPictures *self, LoomSplit split, guint first, guint n)
{
  g_free (self->rows[split]);
  self->rows[split] = g_new (guint32, n);
  self->base.info.n[split] = n;
  for (guint i = 0; i < n; i++)
    self->rows[split][i] = first + i;
}

static gboolean
keep (LoomPictures *self, const LoomDatasetOptions *options, GError **error)
{
  const char *how = loom_option_string (self->base.klass, options, "keep");

  if (g_str_equal (how, "files") || (g_str_equal (how, "auto") && self->files->len * picture_bytes (self) > MEMORY))
    return TRUE;
  return keep_pictures (self, error);
}

gboolean
loom_pictures_finish (LoomPictures *self, const LoomDatasetOptions *options, guint n_dealt, gboolean has_test,
                      GError **error)
{
  LoomDealing how = loom_dealing (self->base.klass, options);
  g_autofree guint32 *classes = NULL;
  guint part[] = { n_dealt, self->files->len - n_dealt };

  if (!leave_out (self, options, part, G_N_ELEMENTS (part), error))
    return FALSE;
  how.test = has_test ? 0 : how.test;
  classes = g_new (guint32, MAX (part[0], 1));
  for (guint i = 0; i < part[0]; i++)
    classes[i] = ((const Picture *)self->files->pdata[i])->which;
  how.key = classes;
  loom_deal_rows (part[0], &how, self->rows, self->base.info.n);
  if (has_test)
    set_split (self, LOOM_SPLIT_TEST, part[0], part[1]);
  return keep (self, options, error);
}

gboolean
loom_pictures_finish_splits (LoomPictures *self, const LoomDatasetOptions *options, const guint n[LOOM_N_SPLITS],
                             GError **error)
{
  guint part[LOOM_N_SPLITS], first = 0;

  memcpy (part, n, sizeof part);
  if (!leave_out (self, options, part, LOOM_N_SPLITS, error))
    return FALSE;
  for (guint s = 0; s < LOOM_N_SPLITS; first += part[s++])
    set_split (self, (LoomSplit)s, first, part[s]);
  return keep (self, options, error);
}

/* Converts sample i of a batch. */
static void
copy_sample (const LoomPictures *self, const guint8 *from, guint file, guint i, LoomTensor *const out[])
{
  const gint64 count = n_values (self), area = self->size * self->size;
  float *to = (float *)out[0]->data + i * count;
  gint64 *y = out[1]->data;

  for (gint64 k = 0; k < count; k++)
    to[k] = (float)from[k] / 255.0f;
  if (out[1]->dtype == LOOM_F32 && self->base.boxes == NULL)
    ((float *)out[1]->data)[i] = ((const Picture *)self->files->pdata[file])->value;
  else if (self->base.mask_port == 0 && self->base.boxes == NULL)
    y[i] = ((const Picture *)self->files->pdata[file])->which;
  for (gint64 k = 0; self->base.mask_port > 0 && k < area; k++)
    y[i * area + k] = from[count + k] == LOOM_MASK_OUTSIDE ? LOOM_TARGET_IGNORED : from[count + k];
}

static void
set_classes (LoomPictures *self, const GPtrArray *labels)
{
  g_autofree gint64 *numbers = g_new (gint64, labels->len);

  self->base.class_names = loom_labels_number (labels, numbers, &self->base.info.n_classes);
  for (guint i = 0; i < labels->len; i++)
    ((Picture *)self->files->pdata[i])->which = (guint32)numbers[i];
}

static gboolean
set_numbers (LoomPictures *self, const LoomDatasetOptions *options, const GPtrArray *labels, GError **error)
{
  self->base.info = (LoomDatasetInfo){ 0 };
  loom_pictures_describe_numbers (self->base.klass, options, &self->base.info);
  for (guint i = 0; i < labels->len; i++)
    {
      Picture *picture = self->files->pdata[i];
      double value;

      if (!loom_csv_read_number (labels->pdata[i], FALSE, &value))
        return loom_refuse (error, LOOM_ERROR_DATA, "“%s” has the target “%s”, which is not a number.", picture->name,
                            (const char *)labels->pdata[i]);
      picture->value = (float)value;
    }
  return TRUE;
}

LoomDataset *
loom_pictures_open (const LoomDatasetClass *klass, const LoomDatasetOptions *options, LoomPicturesAdd add,
                    gboolean has_numbers, GError **error)
{
  LoomPictures *self = loom_pictures_new (klass, options);
  g_autoptr (LoomDataset) base = &self->base;
  g_autoptr (GPtrArray) labels = g_ptr_array_new_with_free_func (g_free);
  g_autofree char *path = loom_option_path (klass, options, "path");
  g_autofree char *test_path = loom_option_path (klass, options, "test_path");
  guint n_dealt;

  if (!add (self, options, path, labels, error))
    return NULL;
  n_dealt = labels->len;
  if (test_path != NULL && !add (self, options, test_path, labels, error))
    return NULL;
  g_assert (labels->len == self->files->len);
  if (!has_numbers)
    set_classes (self, labels);
  else if (!set_numbers (self, options, labels, error))
    return NULL;
  return loom_pictures_finish (self, options, n_dealt, test_path != NULL, error) ? g_steal_pointer (&base) : NULL;
}

/* The error is that of the batch's first unreadable file, in the order of samples. */
gboolean
loom_pictures_read (const LoomDataset *base, LoomSplit split, const gint64 *indices, guint n, LoomTensor *const out[],
                    GError **error)
{
  LoomPictures *self = (LoomPictures *)base;
  g_autofree Decoding *list = g_new0 (Decoding, n);
  gboolean good = TRUE;

  for (guint i = 0; i < n; i++)
    {
      list[i].owner = self;
      list[i].file = self->rows[split][indices[i]];
    }
  decode_batch (self, list, n);
  for (guint i = 0; i < n; i++)
    {
      const guint8 *from = list[i].pixels != NULL ? list[i].pixels : self->pixels + list[i].file * picture_bytes (self);

      if (list[i].error != NULL && good)
        {
          g_set_error (error, list[i].error->domain, list[i].error->code,
                       "%s Set broken=\"skip\" to leave out pictures that are not readable.", list[i].error->message);
          good = FALSE;
        }
      if (good)
        copy_sample (self, from, list[i].file, i, out);
      if (good && self->base.boxes != NULL)
        {
          const Picture *picture = self->files->pdata[list[i].file];

          pictures_boxes_place (
              picture->boxes, picture->n_boxes, list[i].pixels != NULL ? &list[i].frame : &picture->frame, self->size,
              self->base.boxes->most, (float *)out[1]->data + i * self->base.boxes->most * LOOM_BOX_NUMBERS);
        }
      g_clear_error (&list[i].error);
      g_free (list[i].pixels);
    }
  return good;
}

/* Number of files whose content is hashed, evenly among all: reading a million files over a network takes minutes. */
#define READ_FILES 256

static guint64
hash_mask (const Picture *picture, guint64 hash)
{
  const Picture file = { .name = picture->mask, .path = picture->mask, .size = -1 };
  g_autoptr (GBytes) bytes = read_bytes (&file, NULL);

  return bytes != NULL ? loom_hash_bytes (hash, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes)) : hash;
}

guint64
loom_pictures_digest (const LoomDataset *base, guint64 hash)
{
  const LoomPictures *self = (const LoomPictures *)base;
  const guint each = MAX (1, self->files->len / READ_FILES);

  for (guint i = 0; i < self->files->len; i++)
    {
      const Picture *picture = self->files->pdata[i];
      g_autofree char *name = g_path_get_basename (picture->name);
      g_autoptr (GBytes) bytes = i % each == 0 ? read_bytes (picture, NULL) : NULL;

      hash = loom_hash_text (hash, name);
      hash = loom_hash_bytes (hash, &picture->which, sizeof picture->which);
      if (picture->value != 0) /* else the hash is that of earlier versions */
        hash = loom_hash_bytes (hash, &picture->value, sizeof picture->value);
      if (bytes != NULL)
        hash = loom_hash_bytes (hash, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
      hash = loom_hash_bytes (hash, picture->boxes, picture->n_boxes * LOOM_BOX_NUMBERS * sizeof *picture->boxes);
      if (picture->mask != NULL && i % each == 0)
        hash = hash_mask (picture, hash);
    }
  return hash;
}

void
loom_pictures_free (LoomDataset *base)
{
  LoomPictures *self = (LoomPictures *)base;

  g_thread_pool_free (self->pool, FALSE, TRUE);
  g_mutex_clear (&self->lock);
  g_ptr_array_unref (self->files);
  for (int s = 0; s < LOOM_N_SPLITS; s++)
    g_free (self->rows[s]);
  g_free (self->pixels);
  g_free (self->is_kept);
  g_free (self);
}
