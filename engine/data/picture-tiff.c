/* Calls libtiff. Its handlers are set for one file, because other threads decode others at the same time. */
#include "engine/data/picture-tiff.h"

#include <string.h>

#include <tiffio.h>

#define MESSAGE    200
#define MOST_BYTES ((tmsize_t)1 << 30) /* of one allocation of libtiff */

typedef struct
{
  const guint8 *bytes;
  gsize n;
  guint64 at;
  char message[MESSAGE];
  gboolean is_truncated;
} Source;

/* ---- the file ------------------------------------------------------------------------ */

static tmsize_t
read_cb (thandle_t handle, void *to, tmsize_t n)
{
  Source *self = handle;
  const gsize left = self->at < self->n ? self->n - (gsize)self->at : 0, take = MIN ((gsize)n, left);

  self->is_truncated |= take < (gsize)n;
  if (take > 0)
    memcpy (to, self->bytes + self->at, take);
  self->at += take;
  return (tmsize_t)take;
}

static tmsize_t
write_cb (thandle_t handle, void *from, tmsize_t n)
{
  return -1;
}

static toff_t
seek_cb (thandle_t handle, toff_t offset, int whence)
{
  Source *self = handle;

  self->at = offset + (whence == SEEK_CUR ? self->at : whence == SEEK_END ? self->n : 0);
  return self->at;
}

static int
close_cb (thandle_t handle)
{
  return 0;
}

static toff_t
size_cb (thandle_t handle)
{
  return ((const Source *)handle)->n;
}

/* Without a map, libtiff 4.5.0 refuses tiles of less than 1024 bytes that are not compressed. */
static int
map_cb (thandle_t handle, void **base, toff_t *size)
{
  const Source *self = handle;

  *base = (void *)self->bytes;
  *size = self->n;
  return 1;
}

static void
unmap_cb (thandle_t handle, void *base, toff_t size)
{
}

/* The first error is the cause of the others. */
static int
failed_cb (TIFF *tiff, void *data, const char *module, const char *format, va_list arguments)
{
  Source *self = data;

  if (self->message[0] == '\0')
    {
      self->is_truncated
          |= g_str_has_prefix (format, "Read error") || g_str_has_prefix (format, "Can not read TIFF directory");
      g_strlcpy (self->message, "is not a readable picture: ", MESSAGE);
      g_vsnprintf (self->message + strlen (self->message), MESSAGE - strlen (self->message), format, arguments);
    }
  return 1;
}

static int
warned_cb (TIFF *tiff, void *data, const char *module, const char *format, va_list arguments)
{
  return 1;
}

static TIFF *
open_source (Source *self)
{
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc ();
  TIFF *tiff;

  TIFFOpenOptionsSetErrorHandlerExtR (options, failed_cb, self);
  TIFFOpenOptionsSetWarningHandlerExtR (options, warned_cb, self);
  TIFFOpenOptionsSetMaxSingleMemAlloc (options, MOST_BYTES);
  tiff = TIFFClientOpenExt ("", "r", self, read_cb, write_cb, seek_cb, close_cb, size_cb, map_cb, unmap_cb, options);
  TIFFOpenOptionsFree (options);
  return tiff;
}

/* ---- pixels -------------------------------------------------------------------------- */

static gboolean
refuse (Source *self, const char *why)
{
  self->is_truncated = FALSE;
  g_strlcpy (self->message, why, MESSAGE);
  return FALSE;
}

/* libtiff takes any channel after the colours for transparency. */
static gboolean
check_channels (Source *self, TIFF *tiff)
{
  uint16_t n = 0, *types = NULL, samples = 1, photometric = PHOTOMETRIC_MINISBLACK, bits = 1;
  gboolean has_other, is_grey;

  TIFFGetFieldDefaulted (tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetField (tiff, TIFFTAG_PHOTOMETRIC, &photometric);
  has_other = TIFFGetField (tiff, TIFFTAG_EXTRASAMPLES, &n, &types) == 1
              && (n > 1 || (n == 1 && types[0] == EXTRASAMPLE_UNSPECIFIED));
  is_grey = photometric <= PHOTOMETRIC_MINISBLACK;
  has_other |= is_grey && samples > 1 + n;
  if (!has_other && is_grey && n > 0 && TIFFGetFieldDefaulted (tiff, TIFFTAG_BITSPERSAMPLE, &bits) == 1 && bits > 8)
    return refuse (self, "has grey values of more than 8 bits with transparency; save it with 8 bits");
  return !has_other
         || refuse (self, "has channels that are neither colours nor transparency; save those that are to be read");
}

/* Reduced copies and masks of the picture are no pages. Ends in the first directory. */
static gboolean
check_pages (Source *self, TIFF *tiff)
{
  gboolean is_alone = TRUE;

  while (is_alone && TIFFReadDirectory (tiff) == 1)
    {
      uint32_t kind = 0;

      TIFFGetField (tiff, TIFFTAG_SUBFILETYPE, &kind);
      is_alone = (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) != 0;
    }
  return is_alone ? TIFFSetDirectory (tiff, 0) == 1 : refuse (self, "has several pages; save one of them");
}

/* Colours that were multiplied by their alpha. */
static void
divide_by_alpha (guint8 *pixels, gsize n)
{
  for (gsize i = 0; i < n; i++)
    for (guint c = 0; c < 3 && pixels[4 * i + 3] > 0; c++)
      pixels[4 * i + c] = (guint8)MIN (255, (pixels[4 * i + c] * 255u + pixels[4 * i + 3] / 2u) / pixels[4 * i + 3]);
}

/* raster: packed pixels, one of which is R + 256 G + 256² B + 256³ A, as bytes of the colours that there are. */
static void
unpack (guint8 *raster, gsize n, gboolean has_alpha)
{
  const guint channels = has_alpha ? 4 : 3;

  for (gsize i = 0; i < n; i++)
    {
      guint32 pixel;

      memcpy (&pixel, raster + 4 * i, sizeof pixel);
      for (guint c = 0; c < channels; c++)
        raster[channels * i + c] = (guint8)(pixel >> 8 * c);
    }
}

static gboolean
read_pixels (Source *self, TIFFRGBAImage *image, PictureRaster *out, PictureReserve reserve, gpointer data)
{
  const gsize n = (gsize)image->width * image->height;
  gboolean is_divided;

  if (n == 0 || image->width > G_MAXINT32 / 4 || image->height > G_MAXINT32 / 4)
    return refuse (self, "has no pixels, or too many");
  out->width = (int)image->width;
  out->height = (int)image->height;
  out->has_alpha = image->alpha != 0;
  out->orientation = image->orientation <= 8 ? image->orientation : 0;
  if (!reserve (out->width, out->height, data))
    return FALSE;
  out->pixels = g_try_malloc0_n (n, 4);
  if (out->pixels == NULL)
    return refuse (self, "does not fit into memory");
  image->orientation = image->req_orientation = ORIENTATION_TOPLEFT; /* as it is stored */
  if (TIFFRGBAImageGet (image, (uint32_t *)(void *)out->pixels, image->width, image->height) == 0)
    return FALSE;
  is_divided = image->alpha == EXTRASAMPLE_ASSOCALPHA
               || (image->alpha == EXTRASAMPLE_UNASSALPHA && image->photometric == PHOTOMETRIC_RGB);
  unpack (out->pixels, n, out->has_alpha);
  if (out->has_alpha && is_divided)
    divide_by_alpha (out->pixels, n);
  return TRUE;
}

static gboolean
read_image (Source *self, TIFF *tiff, PictureRaster *out, PictureReserve reserve, gpointer data)
{
  TIFFRGBAImage image;
  char why[1024] = "";
  gboolean good;

  if (!check_channels (self, tiff) || !check_pages (self, tiff))
    return FALSE;
  if (TIFFRGBAImageOK (tiff, why) == 0 || TIFFRGBAImageBegin (&image, tiff, 1, why) == 0)
    {
      g_autofree char *text = g_strdup_printf ("is not a picture of up to 16 bits per channel: %.120s", why);

      return refuse (self, text);
    }
  good = read_pixels (self, &image, out, reserve, data);
  TIFFRGBAImageEnd (&image);
  return good;
}

gboolean
picture_is_tiff (const guint8 *bytes, gsize n)
{
  return n > 4
         && ((memcmp (bytes, "II", 2) == 0 && (bytes[2] == 42 || bytes[2] == 43) && bytes[3] == 0)
             || (memcmp (bytes, "MM", 2) == 0 && bytes[2] == 0 && (bytes[3] == 42 || bytes[3] == 43)));
}

char *
picture_decode_tiff (const guint8 *bytes, gsize n, PictureRaster *out, PictureReserve reserve, gpointer data)
{
  Source self = { .bytes = bytes, .n = n };
  TIFF *tiff = open_source (&self);
  const gboolean good = tiff != NULL && read_image (&self, tiff, out, reserve, data);

  if (tiff != NULL)
    TIFFClose (tiff);
  if (good)
    return NULL;
  g_clear_pointer (&out->pixels, g_free);
  return g_strdup (self.is_truncated         ? "is truncated: the end of the picture is missing"
                   : self.message[0] != '\0' ? self.message
                                             : "is not a readable picture");
}
