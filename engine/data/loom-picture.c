/* Decodes, flattens, resizes and converts pictures with gdk-pixbuf, which picture-decode.c gives the formats that it
 * decodes; rejects truncated and oversized files. */
#include "engine/data/loom-picture.h"

#include <gdk-pixbuf/gdk-pixbuf.h>
#include <math.h>
#include <string.h>

#include "engine/core/loom-refuse.h"
#include "engine/data/picture-decode.h"

#define MAX_PIXELS 100000000

const char *const loom_picture_fits[] = { "stretch", "crop", "pad", NULL };

/* ---- decoding ----------------------------------------------------------- */

/* Pictures that are decoded at the same time, one per thread, have together at most the pixels of the largest allowed
 * picture: a decoded pixel takes 3 to 12 bytes, and a hundred million of them are enough. */
static GMutex pixels_lock;
static GCond pixels_freed;
static gint64 pixels_left = MAX_PIXELS;

static void
reserve_pixels (gint64 n)
{
  g_mutex_lock (&pixels_lock);
  while (pixels_left < n)
    g_cond_wait (&pixels_freed, &pixels_lock);
  pixels_left -= n;
  g_mutex_unlock (&pixels_lock);
}

static void
release_pixels (gint64 n)
{
  g_mutex_lock (&pixels_lock);
  pixels_left += n;
  g_cond_broadcast (&pixels_freed);
  g_mutex_unlock (&pixels_lock);
}

/* Events of the decoder while it reads a picture. */
typedef struct
{
  GByteArray *lines; /* 1 for those that were decoded */
  int width, height;
  gint64 taken; /* pixels */
  gboolean too_large;
} Progress;

/* Nothing of a picture beyond the limit is decoded, because a few bytes can declare a size of many gigabytes. */
static void
size_prepared_cb (GdkPixbufLoader *loader, int width, int height, Progress *progress)
{
  const gint64 n = (gint64)width * height;

  progress->width = width;
  progress->height = height;
  progress->too_large = n > MAX_PIXELS;
  if (progress->too_large)
    gdk_pixbuf_loader_set_size (loader, 0, 0);
  else if (progress->taken == 0)
    {
      reserve_pixels (n);
      progress->taken = n;
    }
}

/* A file that was cut off is no error to the library, but lines are missing, of BMP the upper ones. */
static void
area_updated_cb (GdkPixbufLoader *loader, int x, int y, int width, int height, Progress *progress)
{
  if (progress->lines->len < (guint)(y + height))
    {
      const guint before = progress->lines->len;

      g_byte_array_set_size (progress->lines, (guint)(y + height));
      memset (progress->lines->data + before, 0, progress->lines->len - before);
    }
  memset (progress->lines->data + y, 1, (gsize)height);
}

static int
count_lines (const Progress *progress)
{
  int n = 0;

  for (guint i = 0; i < progress->lines->len; i++)
    n += progress->lines->data[i];
  return n;
}

/* Formats whose loaders are in separate packages. */
typedef struct
{
  gsize offset;
  const char *bytes, *name, *package;
} Format;

static const Format formats[] = {
  { 4, "ftypavif", "AVIF", "libavif-gdk-pixbuf" }, { 4, "ftypheic", "HEIF", "heif-gdk-pixbuf" },
  { 4, "ftypmif1", "HEIF", "heif-gdk-pixbuf" },    { 0, "\xff\x0a", "JPEG XL", "libjxl-gdk-pixbuf" },
  { 4, "JXL ", "JPEG XL", "libjxl-gdk-pixbuf" },
};

/* The format of a picture without a loader; NULL: none of those above. */
static const Format *
find_format (GBytes *bytes)
{
  gsize n;
  const char *data = g_bytes_get_data (bytes, &n);

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    {
      const gsize length = strlen (formats[i].bytes);

      if (n >= formats[i].offset + length && memcmp (data + formats[i].offset, formats[i].bytes, length) == 0)
        return &formats[i];
    }
  return NULL;
}

static void
refuse_size (const char *name, int width, int height, GError **error)
{
  loom_refuse (error, LOOM_ERROR_DATA, "“%s” has %d × %d pixels; the limit is %d million. Make it smaller.", name,
               width, height, MAX_PIXELS / 1000000);
}

static gboolean
reserve_cb (int width, int height, gpointer data)
{
  Progress *progress = data;
  const gint64 n = (gint64)width * height;

  progress->too_large = n > MAX_PIXELS;
  if (progress->too_large)
    return FALSE;
  reserve_pixels (n);
  progress->taken = n;
  return TRUE;
}

static void
free_pixels_cb (guchar *pixels, gpointer data)
{
  g_free (pixels);
}

static GdkPixbuf *
decode_here (const guint8 *bytes, gsize n, const char *name, gint64 *taken, GError **error)
{
  PictureRaster raster;
  Progress progress = { 0 };
  g_autofree char *why = picture_decode (bytes, n, &raster, reserve_cb, &progress);
  g_autofree char *orientation = g_strdup_printf ("%d", raster.orientation);
  g_autoptr (GdkPixbuf) found = NULL;

  *taken = progress.taken;
  if (progress.too_large)
    refuse_size (name, raster.width, raster.height, error);
  else if (why != NULL)
    loom_refuse (error, LOOM_ERROR_DATA, "“%s” %s.", name, why);
  if (progress.too_large || why != NULL)
    return NULL;
  found = gdk_pixbuf_new_from_data (raster.pixels, GDK_COLORSPACE_RGB, raster.has_alpha, 8, raster.width, raster.height,
                                    raster.width * (raster.has_alpha ? 4 : 3), free_pixels_cb, NULL);
  if (raster.orientation > 0)
    gdk_pixbuf_set_option (found, "orientation", orientation);
  return gdk_pixbuf_apply_embedded_orientation (found);
}

/* GdkPixbuf allocates what the headers of a BMP announce, up to 4 GB, before it reads them. */
static gboolean
has_its_headers (const guint8 *data, gsize n)
{
  guint32 pixels_at, header;

  if (n < 18 || data[0] != 'B' || data[1] != 'M')
    return TRUE;
  memcpy (&pixels_at, data + 10, sizeof pixels_at);
  memcpy (&header, data + 14, sizeof header);
  return GUINT32_FROM_LE (pixels_at) <= n && GUINT32_FROM_LE (header) <= n;
}

/* *taken: the pixels to release when the picture is freed. */
static GdkPixbuf *
decode (GBytes *bytes, const char *name, gint64 *taken, GError **error)
{
  const Format *format;
  g_autoptr (GdkPixbufLoader) loader = NULL;
  g_autoptr (GError) local = NULL;
  g_autoptr (GByteArray) lines = NULL;
  Progress progress = { 0 };
  gboolean good;
  GdkPixbuf *found;
  gsize n;
  const guint8 *data = g_bytes_get_data (bytes, &n);

  if (picture_is_decoded_here (data, n))
    return decode_here (data, n, name, taken, error);
  if (!has_its_headers (data, n))
    {
      loom_refuse (error, LOOM_ERROR_DATA, "“%s” is truncated: its header is longer than the file.", name);
      return NULL;
    }
  loader = gdk_pixbuf_loader_new ();
  progress.lines = lines = g_byte_array_new ();
  g_signal_connect (loader, "size-prepared", G_CALLBACK (size_prepared_cb), &progress);
  g_signal_connect (loader, "area-updated", G_CALLBACK (area_updated_cb), &progress);
  good = gdk_pixbuf_loader_write_bytes (loader, bytes, &local);
  good = gdk_pixbuf_loader_close (loader, good ? &local : NULL) && good;
  found = gdk_pixbuf_loader_get_pixbuf (loader);
  *taken = progress.taken;
  if (progress.too_large)
    refuse_size (name, progress.width, progress.height, error);
  else if (g_error_matches (local, GDK_PIXBUF_ERROR, GDK_PIXBUF_ERROR_UNKNOWN_TYPE)
           && (format = find_format (bytes)) != NULL)
    loom_refuse (error, LOOM_ERROR_DATA,
                 "“%s” is a picture in the format %s, whose loader is not installed: apt install %s.", name,
                 format->name, format->package);
  else if (!good || found == NULL)
    loom_refuse (error, LOOM_ERROR_DATA, "“%s” is not a readable picture%s%s.", name, local != NULL ? ": " : "",
                 local != NULL ? local->message : "");
  else if (count_lines (&progress) < gdk_pixbuf_get_height (found))
    loom_refuse (error, LOOM_ERROR_DATA, "“%s” is truncated: it has %d of %d lines.", name, count_lines (&progress),
                 gdk_pixbuf_get_height (found));
  else
    return gdk_pixbuf_apply_embedded_orientation (found);
  return NULL;
}

/* Transparent pixels are blended with white, unless the net reads the alpha itself. */
static GdkPixbuf *
flatten (GdkPixbuf *picture)
{
  if (!gdk_pixbuf_get_has_alpha (picture))
    return g_object_ref (picture);
  return gdk_pixbuf_composite_color_simple (picture, gdk_pixbuf_get_width (picture), gdk_pixbuf_get_height (picture),
                                            GDK_INTERP_NEAREST, 255, 8, 0xffffff, 0xffffff);
}

/* ---- size --------------------------------------------------------------- */

static LoomPictureFrame
find_frame (LoomPictureFit fit, int have_width, int have_height, int width, int height)
{
  const double sx = (double)width / have_width, sy = (double)height / have_height;
  LoomPictureFrame f = { have_width, have_height, 0, 0, have_width, have_height, 0, 0, width, height };

  if (have_width == width && have_height == height)
    return f;
  if (fit == LOOM_FIT_CROP)
    {
      f.take_width = CLAMP ((int)lround (width / MAX (sx, sy)), 1, have_width);
      f.take_height = CLAMP ((int)lround (height / MAX (sx, sy)), 1, have_height);
      f.take_x = (have_width - f.take_width) / 2;
      f.take_y = (have_height - f.take_height) / 2;
    }
  if (fit == LOOM_FIT_PAD)
    {
      f.to_width = CLAMP ((int)lround (have_width * MIN (sx, sy)), 1, width);
      f.to_height = CLAMP ((int)lround (have_height * MIN (sx, sy)), 1, height);
      f.to_x = (width - f.to_width) / 2;
      f.to_y = (height - f.to_height) / 2;
    }
  return f;
}

gboolean
loom_picture_frame_has (const LoomPictureFrame *self, int x, int y)
{
  return x >= self->to_x && x < self->to_x + self->to_width && y >= self->to_y && y < self->to_y + self->to_height;
}

/* The middle of column x of the result, as a column of the file's picture: centres of pixels are mapped to each other,
 * as in interpolation with align_corners=False. */
static int
frame_column (const LoomPictureFrame *self, int x)
{
  return self->take_x + (int)(((double)(x - self->to_x) + 0.5) * self->take_width / self->to_width);
}

static int
frame_row (const LoomPictureFrame *self, int y)
{
  return self->take_y + (int)(((double)(y - self->to_y) + 0.5) * self->take_height / self->to_height);
}

/* The part to_* of a result of this size. */
static GdkPixbuf *
fit (GdkPixbuf *picture, const LoomPictureFrame *f, int width, int height)
{
  g_autoptr (GdkPixbuf) part = NULL;

  if (f->width == width && f->height == height)
    return g_object_ref (picture);
  part = gdk_pixbuf_new_subpixbuf (picture, f->take_x, f->take_y, f->take_width, f->take_height);
  return gdk_pixbuf_scale_simple (part, f->to_width, f->to_height, GDK_INTERP_BILINEAR);
}

/* ---- numbers ------------------------------------------------------------ */

static float
pixel_value (const guint8 *pixel, gint64 channel, gint64 n_channels, gboolean has_alpha)
{
  if (n_channels == 1)
    return (0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2]) / 255.0f;
  if (channel == 3)
    return has_alpha ? pixel[3] / 255.0f : 1;
  return pixel[channel] / 255.0f;
}

static double
mean_of_border (const float *to, gint64 channels, gint64 height, gint64 width)
{
  double sum = 0;
  gint64 n = 0;

  for (gint64 c = 0; c < MIN (channels, 3); c++)
    for (gint64 y = 0; y < height; y++)
      for (gint64 x = 0; x < width; x++)
        if (y == 0 || x == 0 || y == height - 1 || x == width - 1)
          {
            sum += to[(c * height + y) * width + x];
            n++;
          }
  return n > 0 ? sum / (double)n : 0;
}

static gboolean
has_color (GdkPixbuf *picture)
{
  const guint8 *pixels = gdk_pixbuf_read_pixels (picture);
  const int stride = gdk_pixbuf_get_rowstride (picture), n = gdk_pixbuf_get_n_channels (picture);

  for (int y = 0; y < gdk_pixbuf_get_height (picture); y++)
    for (int x = 0; x < gdk_pixbuf_get_width (picture); x++)
      {
        const guint8 *p = pixels + (gsize)y * stride + (gsize)x * n;

        if (p[0] != p[1] || p[0] != p[2])
          return TRUE;
      }
  return FALSE;
}

static gboolean
read_picture (GBytes *bytes, const char *name, const LoomPictureOptions *options, gint64 channels, gint64 height,
              gint64 width, float *to, LoomPictureFrame *used, double *border, char **note, gint64 *taken,
              GError **error)
{
  g_autoptr (GdkPixbuf) whole = decode (bytes, name, taken, error), flat = NULL, fitted = NULL;
  g_autoptr (GString) done = g_string_new (NULL);
  const guint8 *pixels;
  LoomPictureFrame frame;
  int stride, n;

  if (whole == NULL)
    return FALSE;
  flat = channels == 4 ? g_object_ref (whole) : flatten (whole);
  frame
      = find_frame (options->fit, gdk_pixbuf_get_width (whole), gdk_pixbuf_get_height (whole), (int)width, (int)height);
  if (used != NULL)
    *used = frame;
  fitted = fit (flat, &frame, (int)width, (int)height);
  if (fitted == NULL)
    return loom_refuse (error, LOOM_ERROR_OUT_OF_MEMORY, "“%s” could not be resized: out of memory.", name);
  pixels = gdk_pixbuf_read_pixels (fitted);
  stride = gdk_pixbuf_get_rowstride (fitted);
  n = gdk_pixbuf_get_n_channels (fitted);
  for (gint64 c = 0; c < channels; c++)
    for (gint64 y = 0; y < height; y++)
      for (gint64 x = 0; x < width; x++)
        {
          /* Outside the picture the nearest pixel is repeated. */
          gint64 from_x = CLAMP (x - frame.to_x, 0, frame.to_width - 1);
          gint64 from_y = CLAMP (y - frame.to_y, 0, frame.to_height - 1);
          float value = pixel_value (pixels + (gsize)from_y * stride + (gsize)from_x * n, c, channels,
                                     gdk_pixbuf_get_has_alpha (fitted));

          to[(c * height + y) * width + x] = options->invert && c != 3 ? 1 - value : value;
        }
  *border = mean_of_border (to, channels, height, width);
  if (options->low != 0 || options->high != 1)
    for (gint64 i = 0; i < channels * height * width; i++)
      to[i] = (float)(options->low + to[i] * (options->high - options->low));

  if (flat != whole && gdk_pixbuf_get_has_alpha (whole))
    g_string_append (done, ", transparent parts on white");
  if (fitted != flat)
    g_string_append_printf (done, ", resized from %d × %d", gdk_pixbuf_get_width (whole),
                            gdk_pixbuf_get_height (whole));
  if (channels == 1 && has_color (fitted))
    g_string_append (done, ", made grey");
  if (options->invert)
    g_string_append (done, ", inverted");
  *note = done->len > 0 ? g_strdup (done->str + 2) : NULL;
  return TRUE;
}

gboolean
loom_picture_read (GBytes *bytes, const char *name, const LoomPictureOptions *options, gint64 channels, gint64 height,
                   gint64 width, float *to, LoomPictureFrame *frame, double *border, char **note, GError **error)
{
  gint64 taken = 0;
  const gboolean good
      = read_picture (bytes, name, options, channels, height, width, to, frame, border, note, &taken, error);

  release_pixels (taken);
  return good;
}

/* ---- masks ----------------------------------------------------------------- */

gboolean
loom_picture_read_mask (GBytes *bytes, const char *name, LoomPictureFit fit, int height, int width, guint8 *to,
                        LoomPictureFrame *frame, gint64 counts[256], GError **error)
{
  gsize n;
  const guint8 *data = g_bytes_get_data (bytes, &n);
  PictureRaster raster;
  Progress progress = { 0 };
  g_autofree char *why = picture_decode_values (data, n, &raster, reserve_cb, &progress);

  if (progress.too_large)
    refuse_size (name, raster.width, raster.height, error);
  else if (why != NULL)
    loom_refuse (error, LOOM_ERROR_DATA, "The mask “%s” %s.", name, why);
  else
    {
      *frame = find_frame (fit, raster.width, raster.height, width, height);
      for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
          to[y * width + x]
              = loom_picture_frame_has (frame, x, y)
                    ? raster.pixels[(gsize)frame_row (frame, y) * (gsize)raster.width + (gsize)frame_column (frame, x)]
                    : LOOM_MASK_OUTSIDE;
      for (gsize i = 0; counts != NULL && i < (gsize)raster.width * raster.height; i++)
        counts[raster.pixels[i]]++;
      g_free (raster.pixels);
    }
  release_pixels (progress.taken);
  return !progress.too_large && why == NULL;
}

guint32
loom_picture_class_color (guint k)
{
  guint32 red = 0, green = 0, blue = 0;

  for (int bit = 7; bit >= 0; bit--, k >>= 3)
    {
      red |= (k & 1) << bit;
      green |= (k >> 1 & 1) << bit;
      blue |= (k >> 2 & 1) << bit;
    }
  return red << 16 | green << 8 | blue;
}

static GBytes *
write_png (const guint8 *pixels, int height, int width, const guint8 *palette, GError **error)
{
  GByteArray *out = g_byte_array_new ();
  g_autofree char *why = picture_encode (pixels, width, height, palette, out);

  if (why == NULL)
    return g_byte_array_free_to_bytes (out);
  loom_refuse (error, LOOM_ERROR_IO, "The picture cannot be written: %s.", why);
  g_byte_array_unref (out);
  return NULL;
}

GBytes *
loom_picture_write_mask (const guint8 *values, int height, int width, GError **error)
{
  guint8 palette[768];

  for (guint k = 0; k < 256; k++)
    for (guint c = 0; c < 3; c++)
      palette[3 * k + c] = (guint8)(loom_picture_class_color (k) >> (16 - 8 * c));
  return write_png (values, height, width, palette, error);
}

GBytes *
loom_picture_write (const float *rgb, int height, int width, GError **error)
{
  const gsize area = (gsize)height * (gsize)width;
  g_autofree guint8 *pixels = g_malloc (3 * area);

  for (gsize i = 0; i < area; i++)
    for (gsize c = 0; c < 3; c++)
      pixels[3 * i + c] = (guint8)lrintf (CLAMP (rgb[c * area + i], 0.0f, 1.0f) * 255);
  return write_png (pixels, height, width, NULL, error);
}

guint8 *
loom_picture_frame_invert (const LoomPictureFrame *self, const guint8 *mask, int width)
{
  guint8 *out = g_malloc ((gsize)self->width * (gsize)self->height);

  for (int y = 0; y < self->height; y++)
    for (int x = 0; x < self->width; x++)
      {
        const int u = x - self->take_x, v = y - self->take_y;
        const gboolean is_taken = u >= 0 && v >= 0 && u < self->take_width && v < self->take_height;
        const int column = self->to_x + (int)((u + 0.5) * self->to_width / self->take_width);
        const int row = self->to_y + (int)((v + 0.5) * self->to_height / self->take_height);

        out[(gsize)y * (gsize)self->width + (gsize)x]
            = is_taken ? mask[(gsize)row * (gsize)width + (gsize)column] : LOOM_MASK_OUTSIDE;
      }
  return out;
}
