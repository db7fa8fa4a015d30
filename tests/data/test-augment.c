/* Pictures that are augmented in training: each option by a property that follows from its documentation. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/data/loom-loader.h"
#include "engine/data/loom-samples.h"
#include "engine/interop/loom-npy.h"
#include "tests/test-program.h"

#define N      40
#define SIDE   9
#define PIXELS (SIDE * SIDE)

static char *folder;

static void
write_file (const char *name, const guint8 *head, gsize n_head, const guint8 *data, gsize n)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autoptr (GByteArray) bytes = g_byte_array_new ();

  g_byte_array_append (bytes, head, (guint)n_head);
  g_byte_array_append (bytes, data, (guint)n);
  g_assert_true (g_file_set_contents (path, (const char *)bytes->data, (gssize)bytes->len, NULL));
}

/* A plane that rises to the right and downwards, in three colours; all samples are alike. */
static guint8
pixel (int c, int y, int x)
{
  return (guint8)(40 + 10 * x + 4 * y + 20 * c);
}

static void
write_files (void)
{
  static const guint8 head[] = { 0, 0, 8, 4, 0, 0, 0, N, 0, 0, 0, 3, 0, 0, 0, SIDE, 0, 0, 0, SIDE };
  static const guint8 rows_head[] = { 0, 0, 8, 2, 0, 0, 0, N, 0, 0, 0, 4 };
  static const guint8 labels_head[] = { 0, 0, 8, 1, 0, 0, 0, N };
  guint8 images[N * 3 * PIXELS], labels[N] = { 0 };

  for (int i = 0; i < (int)sizeof images; i++)
    images[i] = pixel (i / PIXELS % 3, i / SIDE % SIDE, i % SIDE);
  write_file ("x", head, sizeof head, images, sizeof images);
  write_file ("rows", rows_head, sizeof rows_head, images, N * 4);
  write_file ("y", labels_head, sizeof labels_head, labels, sizeof labels);
}

#define FILES "images", "x", "labels", "y", "test_images", "x", "test_labels", "y"

static LoomDataset *
open_with (const char *const *strv, GError **error)
{
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv, .folder = folder };

  return loom_dataset_open ("idx", &o, error);
}

/* Samples of an epoch as training has them: N pictures (3, SIDE, SIDE). */
static LoomTensor *
read_epoch (const char *const *strv, LoomSplit split, guint64 epoch)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = open_with (strv, &error);
  g_autoptr (LoomTensor) y = loom_tensor_new (LOOM_I64, 1, (const gint64[]){ N }, NULL);
  LoomTensor *x = loom_tensor_new (LOOM_F32, 4, (const gint64[]){ N, 3, SIDE, SIDE }, NULL);
  LoomTensor *out[] = { x, y };
  gint64 index[N];

  g_assert_no_error (error);
  for (gint64 i = 0; i < N; i++)
    index[i] = i;
  g_assert_true (loom_dataset_read_augmented (dataset, split, 5, epoch, index, N, out, &error));
  return x;
}

static float
at (const LoomTensor *t, int i, int c, int y, int x)
{
  return ((const float *)t->data)[((i * 3 + c) * SIDE + y) * SIDE + x];
}

static float
original (int c, int y, int x)
{
  return x >= 0 && y >= 0 && x < SIDE && y < SIDE ? (float)pixel (c, y, x) / 255.0f : 0;
}

static void
test_flip (void)
{
  static const char *const all[] = { FILES, "flip", "1", NULL }, *const half[] = { FILES, "flip", "0.5", NULL };
  g_autoptr (LoomTensor) a = read_epoch (all, LOOM_SPLIT_TRAIN, 0), h = read_epoch (half, LOOM_SPLIT_TRAIN, 0);
  g_autoptr (LoomTensor) test = read_epoch (all, LOOM_SPLIT_TEST, 0);
  int n_flipped = 0;

  for (int i = 0; i < N; i++)
    {
      n_flipped += at (h, i, 0, 0, 0) == original (0, 0, SIDE - 1);
      for (int k = 0; k < 3 * PIXELS; k++)
        {
          const int c = k / PIXELS, y = k / SIDE % SIDE, x = k % SIDE;

          g_assert_cmpfloat (at (a, i, c, y, x), ==, original (c, y, SIDE - 1 - x));
          g_assert_cmpfloat (at (test, i, c, y, x), ==, original (c, y, x));
        }
    }
  g_assert_cmpint (n_flipped, >, 8);
  g_assert_cmpint (n_flipped, <, 32);
}

static void
test_crop (void)
{
  static const char *const strv[] = { FILES, "crop", "2", NULL };
  g_autoptr (LoomTensor) a = read_epoch (strv, LOOM_SPLIT_TRAIN, 0), again = read_epoch (strv, LOOM_SPLIT_TRAIN, 0),
                         later = read_epoch (strv, LOOM_SPLIT_TRAIN, 1);
  gboolean seen[25] = { FALSE };
  int n_seen = 0;

  g_assert_true (loom_tensor_equal_bits (a, again));
  g_assert_false (loom_tensor_equal_bits (a, later));
  for (int i = 0; i < N; i++)
    {
      int found = -1;

      for (int shift = 0; shift < 25 && found < 0; shift++)
        {
          gboolean fits = TRUE;

          for (int k = 0; k < 3 * PIXELS && fits; k++)
            fits = at (a, i, k / PIXELS, k / SIDE % SIDE, k % SIDE)
                   == original (k / PIXELS, k / SIDE % SIDE + shift / 5 - 2, k % SIDE + shift % 5 - 2);
          found = fits ? shift : -1;
        }
      g_assert_cmpint (found, >=, 0);
      n_seen += !seen[found];
      seen[found] = TRUE;
    }
  /* Of 25 moves some 20 are met in 40 samples. */
  g_assert_cmpint (n_seen, >, 12);
}

/* Turned, a plane is a plane as steep as before and as high in the middle; zoomed, its slope changes. */
static void
test_geometry (void)
{
  static const char *const turned[] = { FILES, "rotate", "30", NULL }, *const zoomed[] = { FILES, "zoom", "0.5", NULL };
  g_autoptr (LoomTensor) t = read_epoch (turned, LOOM_SPLIT_TRAIN, 3), z = read_epoch (zoomed, LOOM_SPLIT_TRAIN, 3);
  const double slope = hypot (10, 4) / 255, direction = atan2 (4, 10);
  double most = 0, largest = 0, smallest = 10;

  for (int i = 0; i < N; i++)
    {
      const double dx = at (t, i, 1, 4, 5) - at (t, i, 1, 4, 4), dy = at (t, i, 1, 5, 4) - at (t, i, 1, 4, 4);
      const double zx = at (z, i, 1, 4, 5) - at (z, i, 1, 4, 4), zy = at (z, i, 1, 5, 4) - at (z, i, 1, 4, 4);

      g_assert_cmpfloat_with_epsilon (at (t, i, 1, 4, 4), original (1, 4, 4), 1e-6);
      g_assert_cmpfloat_with_epsilon (hypot (dx, dy), slope, 1e-6);
      most = MAX (most, fabs (atan2 (dy, dx) - direction));
      g_assert_cmpfloat_with_epsilon (atan2 (zy, zx), direction, 1e-4);
      largest = MAX (largest, slope / hypot (zx, zy));
      smallest = MIN (smallest, slope / hypot (zx, zy));
    }
  g_assert_cmpfloat (most, <=, 30 * G_PI / 180 + 1e-5);
  g_assert_cmpfloat (most, >, 20 * G_PI / 180);
  g_assert_cmpfloat (largest, <=, 1.5001);
  g_assert_cmpfloat (largest, >, 1.3);
  g_assert_cmpfloat (smallest, >=, 0.4999);
  g_assert_cmpfloat (smallest, <, 0.7);
}

/* Leaning, rows stay as steep as they are and are moved against each other. */
static void
test_shear (void)
{
  static const char *const options[] = { FILES, "shear", "30", NULL };
  g_autoptr (LoomTensor) t = read_epoch (options, LOOM_SPLIT_TRAIN, 3);
  double least = 0, most = 0;

  for (int i = 0; i < N; i++)
    {
      const double dx = at (t, i, 1, 4, 5) - at (t, i, 1, 4, 4), dy = at (t, i, 1, 5, 4) - at (t, i, 1, 4, 4);
      const double lean = atan ((dy - 4.0 / 255) / dx) * 180 / G_PI;

      g_assert_cmpfloat_with_epsilon (at (t, i, 1, 4, 4), original (1, 4, 4), 1e-6);
      g_assert_cmpfloat_with_epsilon (dx, 10.0 / 255, 1e-6);
      least = MIN (least, lean);
      most = MAX (most, lean);
    }
  g_assert_cmpfloat (most, <=, 30.001);
  g_assert_cmpfloat (most, >, 20);
  g_assert_cmpfloat (least, >=, -30.001);
  g_assert_cmpfloat (least, <, -20);
}

static void
test_colors (void)
{
  static const char *const bright[] = { FILES, "brightness", "0.4", NULL };
  static const char *const sharp[] = { FILES, "contrast", "0.3", NULL };
  static const char *const vivid[] = { FILES, "saturation", "0.5", NULL };
  g_autoptr (LoomTensor) b = read_epoch (bright, LOOM_SPLIT_TRAIN, 0), s = read_epoch (sharp, LOOM_SPLIT_TRAIN, 0),
                         v = read_epoch (vivid, LOOM_SPLIT_TRAIN, 0);
  /* The mean of the grey plane is that of its middle. */
  const double mean = 0.299 * original (0, 4, 4) + 0.587 * original (1, 4, 4) + 0.114 * original (2, 4, 4);

  for (int i = 0; i < N; i++)
    {
      const double factor = at (b, i, 0, 0, 0) / original (0, 0, 0);
      const double stretch = (at (s, i, 0, 0, 0) - mean) / (original (0, 0, 0) - mean);
      const double strength = (at (v, i, 2, 3, 3) - at (v, i, 0, 3, 3)) / (original (2, 3, 3) - original (0, 3, 3));

      g_assert_true (factor > 0.5999 && factor < 1.4001 && stretch > 0.6999 && stretch < 1.3001 && strength > 0.4999
                     && strength < 1.5001);
      for (int k = 0; k < 3 * PIXELS; k += 5)
        {
          const int c = k / PIXELS, y = k / SIDE % SIDE, x = k % SIDE;
          const double grey = 0.299 * original (0, y, x) + 0.587 * original (1, y, x) + 0.114 * original (2, y, x);

          g_assert_cmpfloat_with_epsilon (at (b, i, c, y, x), MIN (factor * original (c, y, x), 1), 1e-5);
          g_assert_cmpfloat_with_epsilon (at (s, i, c, y, x), mean + stretch * (original (c, y, x) - mean), 1e-5);
          g_assert_cmpfloat_with_epsilon (at (v, i, c, y, x), grey + strength * (original (c, y, x) - grey), 1e-5);
        }
    }
}

/* A square of zeros, as large as it fits, and nothing else; and the draws of one option do not depend on another. */
static void
test_cutout (void)
{
  static const char *const strv[] = { FILES, "cutout", "3", NULL };
  static const char *const both[] = { FILES, "cutout", "3", "mean", "0.1,0.2,0.3", "std", "2", NULL };
  g_autoptr (LoomTensor) a = read_epoch (strv, LOOM_SPLIT_TRAIN, 0), b = read_epoch (both, LOOM_SPLIT_TRAIN, 0);

  for (int i = 0; i < N; i++)
    {
      int x0 = SIDE, y0 = SIDE, x1 = -1, y1 = -1, n = 0;

      for (int k = 0; k < PIXELS; k++)
        if (at (a, i, 0, k / SIDE, k % SIDE) == 0)
          {
            x0 = MIN (x0, k % SIDE);
            x1 = MAX (x1, k % SIDE);
            y0 = MIN (y0, k / SIDE);
            y1 = MAX (y1, k / SIDE);
            n++;
          }
        else
          g_assert_cmpfloat (at (a, i, 0, k / SIDE, k % SIDE), ==, original (0, k / SIDE, k % SIDE));
      g_assert_true (x1 - x0 <= 2 && y1 - y0 <= 2 && n == (x1 - x0 + 1) * (y1 - y0 + 1));
      g_assert_true (x1 - x0 == 2 || x0 == 0 || x1 == SIDE - 1);
      for (int c = 0; c < 3; c++)
        {
          g_assert_cmpfloat (at (a, i, c, y0, x0), ==, 0);
          g_assert_cmpfloat (at (b, i, c, y0, x0), ==, 0);
        }
    }
}

static void
test_normalize (void)
{
  static const char *const strv[] = { FILES, "mean", "0.1,0.2,0.3", "std", "0.5", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = open_with (strv, &error);
  g_autoptr (LoomTensor) train = read_epoch (strv, LOOM_SPLIT_TRAIN, 0), test = read_epoch (strv, LOOM_SPLIT_TEST, 0);
  const gint64 third = 3;
  g_autoptr (GPtrArray) plain = loom_dataset_read_new (dataset, LOOM_SPLIT_TRAIN, &third, 1, NULL);

  for (int k = 0; k < 3 * PIXELS; k++)
    {
      const int c = k / PIXELS, y = k / SIDE % SIDE, x = k % SIDE;
      const double expected = (original (c, y, x) - 0.1 * (c + 1)) / 0.5;

      g_assert_cmpfloat_with_epsilon (at (train, 7, c, y, x), expected, 1e-6);
      g_assert_cmpfloat_with_epsilon (at (test, 7, c, y, x), expected, 1e-6);
      g_assert_cmpfloat_with_epsilon (loom_tensor_get (plain->pdata[0], k), expected, 1e-6);
    }
}

/* A file's picture is normalised as those of the data set are: bytes of an array, not its floats. */
static void
test_own_picture (void)
{
  static const char *const strv[] = { FILES, "mean", "0.1,0.2,0.3", "std", "0.5", NULL };
  const LoomSampleOptions how = { .low = NAN, .high = NAN };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = open_with (strv, &error);
  g_autoptr (LoomSampleReader) reader
      = loom_sample_reader_new (&loom_dataset_info (dataset)->port[0].type, dataset, &how);
  g_autofree char *path = g_build_filename (folder, "own.npy", NULL);

  for (int mode = 0; mode < 2; mode++)
    {
      g_autoptr (LoomTensor) own
          = loom_tensor_new (mode == 0 ? LOOM_U8 : LOOM_F32, 3, (const gint64[]){ 3, SIDE, SIDE }, NULL);
      g_autofree char *content = NULL;
      gsize length;

      for (int k = 0; k < 3 * PIXELS; k++)
        loom_tensor_set (own, k, 51);
      g_assert_true (loom_npy_save (path, own, NULL));
      g_assert_true (g_file_get_contents (path, &content, &length, NULL));
      g_autoptr (GBytes) bytes = g_bytes_new (content, length);
      g_autoptr (GPtrArray) items = loom_sample_reader_read (reader, bytes, "own.npy", &error);
      g_assert_no_error (error);
      for (int c = 0; c < 3; c++)
        g_assert_cmpfloat_with_epsilon (loom_tensor_get (((LoomSampleItem *)items->pdata[0])->tensor, c * PIXELS),
                                        mode == 0 ? (0.2 - 0.1 * (c + 1)) / 0.5 : 51, 1e-6);
    }
  g_remove (path);
}

/* The loader of a run: an epoch again has the same pictures, the next others, and without shuffling none is changed. */
static void
test_loader (void)
{
  static const char *const strv[] = { FILES, "crop", "3", "rotate", "20", NULL };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = open_with (strv, &error);
  float first[3][3 * PIXELS];

  for (int mode = 0; mode < 2; mode++)
    {
      g_autoptr (LoomLoader) loader = loom_loader_new_with_threads (
          dataset, LOOM_SPLIT_TRAIN, 8, TRUE, 5, mode == 0 ? LOOM_LOADER_DIRECT : LOOM_LOADER_THREAD, &error);

      for (int e = 0; e < 3; e++)
        {
          const LoomBatch *batch;
          g_autoptr (LoomTensor) whole = read_epoch (strv, LOOM_SPLIT_TRAIN, (guint64)(e == 2 ? 0 : e));

          loom_loader_start (loader, e == 2 ? 0 : e, 0);
          batch = loom_loader_next (loader, &error);
          g_assert_no_error (error);
          memcpy (first[e], batch->tensors[0]->data, sizeof first[e]);
          g_assert_cmpint (
              memcmp (first[e], (const float *)whole->data + batch->samples[0] * 3 * PIXELS, sizeof first[e]), ==, 0);
        }
      g_assert_cmpint (memcmp (first[0], first[2], sizeof first[0]), ==, 0);
      g_assert_cmpint (memcmp (first[0], first[1], sizeof first[0]), !=, 0);
    }
  g_autoptr (LoomLoader) plain = loom_loader_new (dataset, LOOM_SPLIT_TRAIN, 8, FALSE, 5, &error);
  loom_loader_start (plain, 0, 0);
  g_assert_cmpfloat (at (loom_loader_next (plain, &error)->tensors[0], 1, 2, 3, 4), ==, original (2, 3, 4));
}

static void
test_refused (void)
{
  static const char *const rows[] = { "images", "rows", "labels", "y", "flip", "0.5", NULL };
  static const char *const means[] = { FILES, "mean", "1,2", NULL };
  static const char *const zero[] = { FILES, "std", "0", NULL };
  static const struct
  {
    const char *const *strv, *message;
  } cases[] = {
    { rows, "The data set idx has options that change or normalise pictures, but its samples are not pictures." },
    { means, "The data set idx has mean=\"1,2\" with 2 numbers; it takes one, or 3." },
    { zero, "The data set idx has std=\"0\", which must be from 1e-06 to 1000000." },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = cases[i].strv, .folder = folder };
      g_autoptr (GError) error = NULL, other = NULL;
      LoomDatasetInfo info;

      g_assert_null (open_with (cases[i].strv, &error));
      g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
      g_assert_cmpstr (error->message, ==, cases[i].message);
      g_assert_false (loom_dataset_describe ("idx", &o, &info, &other));
      g_assert_cmpstr (other->message, ==, cases[i].message);
    }
}

/* ---- blends ------------------------------------------------------------------ */

#define RECORDS 8
#define CLASSES 10

/* CIFAR's files, in which every pixel of a picture encodes its class: 20 · class. */
static char *
write_cifar (void)
{
  static const char *const names[]
      = { "data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch" };
  char *path = g_build_filename (folder, "cifar", NULL);

  g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
  for (guint f = 0; f < G_N_ELEMENTS (names); f++)
    {
      g_autofree char *name = g_strconcat (path, "/", names[f], ".bin", NULL);
      guint8 bytes[RECORDS][3073];

      for (guint r = 0; r < RECORDS; r++)
        {
          const guint8 class = (guint8)((3 * r + f) % CLASSES);

          memset (bytes[r], 20 * class, sizeof bytes[r]);
          bytes[r][0] = class;
        }
      g_assert_true (g_file_set_contents (name, (const char *)bytes, sizeof bytes, NULL));
    }
  return path;
}

static void
remove_cifar (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);

      g_remove (file);
    }
  g_rmdir (path);
}

/* A picture and its target have the same blend; each sample's is its own, for any batch. */
static void
test_mixup (void)
{
  enum
  {
    COUNT = 5 * RECORDS,
    EPOCHS = 25,
    PICTURE = 3 * 32 * 32
  };
  g_autofree char *path = write_cifar ();
  const char *const strv[] = { "path", path, "mixup", "1", NULL }, *const idx[] = { FILES, "mixup", "0.5", NULL };
  const LoomDatasetOptions o = { .get = loom_dataset_options_from_strv, .data = strv },
                           other = { .get = loom_dataset_options_from_strv, .data = idx, .folder = folder };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDataset) dataset = loom_dataset_open ("cifar", &o, &error);
  g_autoptr (LoomTensor) x = loom_tensor_new (LOOM_F32, 4, (const gint64[]){ COUNT, 3, 32, 32 }, NULL);
  g_autoptr (LoomTensor) y = loom_tensor_new (LOOM_I64, 1, (const gint64[]){ COUNT }, NULL);
  g_autoptr (LoomTensor) mix = loom_tensor_new (LOOM_F32, 2, (const gint64[]){ COUNT, CLASSES }, NULL);
  g_autofree float *before = g_new (float, COUNT);
  LoomTensor *const out[] = { x, y, mix };
  const float *pixels = x->data, *share = mix->data;
  const gint64 *class = y->data;
  double mean = 0, square = 0;
  LoomDatasetInfo info;
  gint64 index[COUNT];
  guint pure = 0;

  g_assert_no_error (error);
  g_assert_true (loom_dataset_describe ("cifar", &o, &info, NULL));
  g_assert_cmpuint (info.n_ports, ==, 3);
  g_assert_cmpstr (info.port[2].name, ==, "y_mix");
  g_assert_cmpint (info.port[2].type.shape.dim[1].coef, ==, CLASSES);
  for (gint64 i = 0; i < COUNT; i++)
    index[i] = i;
  for (guint64 epoch = 0; epoch < EPOCHS; epoch++)
    {
      g_assert_true (loom_dataset_read_augmented (dataset, LOOM_SPLIT_TRAIN, 5, epoch, index, COUNT, out, &error));
      for (guint i = 0; i < COUNT; i++)
        {
          double sum = 0, value = 0;

          for (guint c = 0; c < CLASSES; c++)
            {
              sum += share[i * CLASSES + c];
              value += share[i * CLASSES + c] * 20.0 * c / 255;
            }
          g_assert_cmpfloat_with_epsilon (sum, 1, 1e-5);
          for (guint k = 0; k < PICTURE; k += 511)
            g_assert_cmpfloat_with_epsilon (pixels[i * PICTURE + k], value, 1e-5);
          pure += share[i * CLASSES + class[i]] > 0.9999f;
          mean += share[i * CLASSES + class[i]] / (COUNT * EPOCHS);
          square += share[i * CLASSES + class[i]] * share[i * CLASSES + class[i]] / (COUNT * EPOCHS);
          before[i] = pixels[i * PICTURE];
        }
    }
  /* λ is uniform here, and one partner of ten has the same class: 1/2 + 1/20 and 1/3 + 1/10 · 2/3, five deviations. */
  g_assert_cmpfloat_with_epsilon (mean, 0.55, 5 * 0.31 / sqrt (COUNT * EPOCHS));
  g_assert_cmpfloat_with_epsilon (square, 0.4, 5 * 0.34 / sqrt (COUNT * EPOCHS));
  g_assert_cmpuint (pure, <, COUNT * EPOCHS / 5);
  for (gint64 i = 0; i < COUNT; i += 7)
    {
      g_assert_true (loom_dataset_read_augmented (dataset, LOOM_SPLIT_TRAIN, 5, EPOCHS - 1, &i, 1, out, &error));
      g_assert_cmpfloat (pixels[0], ==, before[i]);
    }
  g_assert_true (loom_dataset_read (dataset, LOOM_SPLIT_TEST, index, RECORDS, out, &error));
  for (guint i = 0; i < RECORDS; i++)
    for (guint c = 0; c < CLASSES; c++)
      g_assert_cmpfloat (share[i * CLASSES + c], ==, c == class[i] ? 1 : 0);
  /* IDX files do not say how many classes there are until all of them are read. */
  g_assert_false (loom_dataset_describe ("idx", &other, &info, &error));
  g_assert_error (error, LOOM_ERROR, LOOM_ERROR_SCHEMA);
  g_assert_true (g_pattern_match_simple ("mixup needs samples with one class each*", error->message));
  remove_cifar (path);
}

TEST_FILE (argc, argv)
{
  static const char *const names[] = { "x", "y", "rows" };
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("loom-augment-XXXXXX", NULL);
  write_files ();
  g_test_add_func ("/augment/flip", test_flip);
  g_test_add_func ("/augment/crop", test_crop);
  g_test_add_func ("/augment/geometry", test_geometry);
  g_test_add_func ("/augment/shear", test_shear);
  g_test_add_func ("/augment/colors", test_colors);
  g_test_add_func ("/augment/cutout", test_cutout);
  g_test_add_func ("/augment/normalize", test_normalize);
  g_test_add_func ("/augment/own-picture", test_own_picture);
  g_test_add_func ("/augment/loader", test_loader);
  g_test_add_func ("/augment/refused", test_refused);
  g_test_add_func ("/augment/mixup", test_mixup);
  status = g_test_run ();
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_build_filename (folder, names[i], NULL);

      g_remove (path);
    }
  g_rmdir (folder);
  g_free (folder);
  return status;
}
