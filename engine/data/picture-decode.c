/* Calls libpng, libjpeg and libwebp. Their errors jump back to here; what is truncated is refused, where the libraries
 * would fill up the rest. */
#include "engine/data/picture-decode.h"

#include "engine/data/picture-tiff.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>
#include <png.h>
#include <webp/decode.h>

#define MESSAGE JMSG_LENGTH_MAX

/* A picture while it is decoded. */
typedef struct
{
  const guint8 *bytes;
  gsize n, at;
  PictureRaster *out;
  PictureReserve reserve;
  gpointer data;
  png_bytep *rows;
  char message[MESSAGE];
  gboolean is_truncated;
  jmp_buf back;
} Decoder;

static gboolean
begin (Decoder *self, guint width, guint height, gboolean has_alpha)
{
  PictureRaster *out = self->out;

  if (width == 0 || height == 0 || width > G_MAXINT32 / 4 || height > G_MAXINT32 / 4)
    {
      g_snprintf (self->message, MESSAGE, "has %u × %u pixels", width, height);
      return FALSE;
    }
  out->width = (int)width;
  out->height = (int)height;
  out->has_alpha = has_alpha;
  if (!self->reserve (out->width, out->height, self->data))
    return FALSE;
  out->pixels = g_try_malloc0_n ((gsize)width * height, has_alpha ? 4 : 3);
  if (out->pixels == NULL)
    g_strlcpy (self->message, "does not fit into memory", MESSAGE);
  return out->pixels != NULL;
}

/* ---- EXIF ---------------------------------------------------------------------------- */

static guint32
number (const guint8 *p, guint n, gboolean is_big)
{
  guint32 value = 0;

  for (guint i = 0; i < n; i++)
    value |= (guint32)p[i] << 8 * (is_big ? n - 1 - i : i);
  return value;
}

/* The orientation in the first directory of a TIFF header; 0: there is none. */
static int
exif_orientation (const guint8 *bytes, gsize n)
{
  gboolean is_big;
  guint32 at, count;

  if (n >= 6 && memcmp (bytes, "Exif\0", 6) == 0)
    {
      bytes += 6;
      n -= 6;
    }
  if (n < 8 || (memcmp (bytes, "II", 2) != 0 && memcmp (bytes, "MM", 2) != 0))
    return 0;
  is_big = bytes[0] == 'M';
  at = number (bytes + 4, 4, is_big);
  if (at > n - 2)
    return 0;
  count = number (bytes + at, 2, is_big);
  at += 2;
  for (guint32 i = 0; i < count && n - at >= 12; i++, at += 12)
    if (number (bytes + at, 2, is_big) == 0x0112)
      {
        const guint32 value = number (bytes + at + 8, 2, is_big);

        return value <= 8 ? (int)value : 0;
      }
  return 0;
}

/* ---- PNG ----------------------------------------------------------------------------- */

static void
png_failed_cb (png_structp png, png_const_charp message)
{
  Decoder *self = png_get_error_ptr (png);

  g_snprintf (self->message, MESSAGE, "is not a readable picture: %s", message);
  longjmp (self->back, 1);
}

static void
png_warned_cb (png_structp png, png_const_charp message)
{
}

static void
png_read_cb (png_structp png, png_bytep to, size_t n)
{
  Decoder *self = png_get_io_ptr (png);

  if (n > self->n - self->at)
    {
      self->is_truncated = TRUE;
      png_error (png, "truncated");
    }
  memcpy (to, self->bytes + self->at, n);
  self->at += n;
}

static void
read_png (Decoder *self, png_structp png, png_infop info)
{
  png_bytep exif;
  png_uint_32 n_exif, width, height;

  png_set_read_fn (png, self, png_read_cb);
  png_read_info (png, info);
  width = png_get_image_width (png, info);
  height = png_get_image_height (png, info);
  png_set_expand (png);
  png_set_strip_16 (png);
  png_set_gray_to_rgb (png);
  png_set_interlace_handling (png);
  png_read_update_info (png, info);
  if (!begin (self, width, height, png_get_channels (png, info) == 4))
    longjmp (self->back, 1);
  self->rows = g_new (png_bytep, height);
  for (png_uint_32 y = 0; y < height; y++)
    self->rows[y] = self->out->pixels + (gsize)y * width * png_get_channels (png, info);
  png_read_image (png, self->rows);
  png_read_end (png, info);
  if (png_get_eXIf_1 (png, info, &n_exif, &exif) != 0)
    self->out->orientation = exif_orientation (exif, n_exif);
}

static void
refuse_values (Decoder *self, const char *why)
{
  g_strlcpy (self->message, why, MESSAGE);
  longjmp (self->back, 1);
}

/* Values instead of colours: indices and grey values stay what they are; bits are spread to bytes, not scaled. */
static void
read_values (Decoder *self, png_structp png, png_infop info)
{
  png_uint_32 width, height;
  int depth, type, n;

  png_set_read_fn (png, self, png_read_cb);
  png_read_info (png, info);
  png_get_IHDR (png, info, &width, &height, &depth, &type, NULL, NULL, NULL);
  if (depth == 16)
    refuse_values (self, "has values of 16 bits; save it with 8 bits");
  png_set_packing (png);
  png_set_strip_alpha (png);
  png_set_interlace_handling (png);
  png_read_update_info (png, info);
  n = png_get_channels (png, info);
  if (!begin (self, width, height, FALSE))
    longjmp (self->back, 1);
  self->rows = g_new (png_bytep, height);
  for (png_uint_32 y = 0; y < height; y++)
    self->rows[y] = self->out->pixels + (gsize)y * width * n;
  png_read_image (png, self->rows);
  png_read_end (png, info);
  for (gsize i = 0; n == 3 && i < (gsize)width * height; i++)
    {
      const guint8 *p = self->out->pixels + 3 * i;

      if (p[0] != p[1] || p[0] != p[2])
        refuse_values (self, "has colours; save it with a palette, or with grey values that are classes");
      self->out->pixels[i] = p[0];
    }
}

/* read: read_png() or read_values(). */
static gboolean
run_png (Decoder *self, void (*read) (Decoder *self, png_structp png, png_infop info))
{
  png_structp png = png_create_read_struct (PNG_LIBPNG_VER_STRING, self, png_failed_cb, png_warned_cb);
  png_infop info = png != NULL ? png_create_info_struct (png) : NULL;
  volatile gboolean good = FALSE;

  if (info != NULL && setjmp (self->back) == 0)
    {
      read (self, png, info);
      good = TRUE;
    }
  g_free (self->rows);
  png_destroy_read_struct (&png, &info, NULL);
  return good;
}

static gboolean
decode_png (Decoder *self)
{
  return run_png (self, read_png);
}

/* ---- JPEG ---------------------------------------------------------------------------- */

typedef struct
{
  struct jpeg_error_mgr base;
  Decoder *decoder;
} JpegErrors;

static void
jpeg_failed_cb (j_common_ptr jpeg)
{
  Decoder *self = ((JpegErrors *)jpeg->err)->decoder;
  char message[JMSG_LENGTH_MAX];

  jpeg->err->format_message (jpeg, message);
  g_snprintf (self->message, MESSAGE, "is not a readable picture: %.150s", message);
  longjmp (self->back, 1);
}

/* Of the warnings, that the file ended is the only one after which pixels are missing (JWRN_JPEG_EOF). */
static void
jpeg_warned_cb (j_common_ptr jpeg, int level)
{
  Decoder *self = ((JpegErrors *)jpeg->err)->decoder;

  self->is_truncated = self->is_truncated || (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF);
}

/* Programs of Adobe store CMYK inverted, and others hardly store it. */
static void
cmyk_to_rgb (const guint8 *from, guint8 *to, guint n)
{
  for (guint i = 0; i < n; i++)
    for (guint c = 0; c < 3; c++)
      to[3 * i + c] = (guint8)((from[4 * i + c] * from[4 * i + 3] + 127) / 255);
}

static void
read_jpeg (Decoder *self, struct jpeg_decompress_struct *jpeg)
{
  gboolean is_cmyk;
  JSAMPARRAY line;

  jpeg_create_decompress (jpeg);
  jpeg_save_markers (jpeg, JPEG_APP0 + 1, 0xffff);
  jpeg_mem_src (jpeg, self->bytes, self->n);
  jpeg_read_header (jpeg, TRUE);
  is_cmyk = jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
  jpeg->out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  for (jpeg_saved_marker_ptr m = jpeg->marker_list; m != NULL; m = m->next)
    if (m->data_length > 6 && memcmp (m->data, "Exif\0", 6) == 0)
      self->out->orientation = exif_orientation (m->data, m->data_length);
  if (!begin (self, jpeg->image_width, jpeg->image_height, FALSE))
    longjmp (self->back, 1);
  jpeg_start_decompress (jpeg);
  line = jpeg->mem->alloc_sarray ((j_common_ptr)jpeg, JPOOL_IMAGE, jpeg->output_width * 4, 1);
  while (jpeg->output_scanline < jpeg->output_height)
    {
      guint8 *to = self->out->pixels + (gsize)jpeg->output_scanline * jpeg->output_width * 3;

      jpeg_read_scanlines (jpeg, line, 1);
      if (is_cmyk)
        cmyk_to_rgb (line[0], to, jpeg->output_width);
      else
        memcpy (to, line[0], (gsize)jpeg->output_width * 3);
    }
  jpeg_finish_decompress (jpeg);
}

static gboolean
decode_jpeg (Decoder *self)
{
  struct jpeg_decompress_struct jpeg = { 0 };
  JpegErrors errors = { .decoder = self };

  jpeg.err = jpeg_std_error (&errors.base);
  errors.base.error_exit = jpeg_failed_cb;
  errors.base.emit_message = jpeg_warned_cb;
  if (setjmp (self->back) == 0)
    {
      read_jpeg (self, &jpeg);
      jpeg_destroy_decompress (&jpeg);
      return !self->is_truncated;
    }
  jpeg_destroy_decompress (&jpeg);
  return FALSE;
}

/* ---- WebP ---------------------------------------------------------------------------- */

/* The orientation in a chunk EXIF, each chunk being a name, a size and bytes up to an even number. */
static int
webp_orientation (const guint8 *bytes, gsize n)
{
  for (gsize at = 12; n - at >= 8;)
    {
      const guint32 size = number (bytes + at + 4, 4, FALSE);

      if (size > n - at - 8)
        return 0;
      if (memcmp (bytes + at, "EXIF", 4) == 0)
        return exif_orientation (bytes + at + 8, size);
      at += 8 + (gsize)size + (size & 1);
      if (at > n)
        return 0;
    }
  return 0;
}

static gboolean
decode_webp (Decoder *self)
{
  WebPBitstreamFeatures features;
  PictureRaster *out = self->out;
  int stride;

  self->is_truncated = self->n < 12 || number (self->bytes + 4, 4, FALSE) > self->n - 8;
  if (self->is_truncated)
    return FALSE;
  if (WebPGetFeatures (self->bytes, self->n, &features) != VP8_STATUS_OK)
    {
      g_strlcpy (self->message, "is not a readable picture: its head is damaged", MESSAGE);
      return FALSE;
    }
  if (features.has_animation)
    {
      g_strlcpy (self->message, "is an animation; save one of its pictures", MESSAGE);
      return FALSE;
    }
  if (!begin (self, (guint)features.width, (guint)features.height, features.has_alpha != 0))
    return FALSE;
  stride = out->width * (out->has_alpha ? 4 : 3);
  out->orientation = webp_orientation (self->bytes, self->n);
  g_strlcpy (self->message, "is not a readable picture: its data are damaged", MESSAGE);
  return (out->has_alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto) (self->bytes, self->n, out->pixels,
                                                                    (gsize)stride * (gsize)out->height, stride)
         != NULL;
}

/* ---- formats ------------------------------------------------------------------------- */

static const struct
{
  gsize at, n;
  const char *magic;
  gboolean (*decode) (Decoder *self);
} formats[] = {
  { 0, 8, "\x89PNG\r\n\x1a\n", decode_png },
  { 0, 3, "\xff\xd8\xff", decode_jpeg },
  { 8, 4, "WEBP", decode_webp },
};

static int
find_format (const guint8 *bytes, gsize n)
{
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (n >= formats[i].at + formats[i].n && memcmp (bytes + formats[i].at, formats[i].magic, formats[i].n) == 0)
      return (int)i;
  return -1;
}

gboolean
picture_is_decoded_here (const guint8 *bytes, gsize n)
{
  return find_format (bytes, n) >= 0 || picture_is_tiff (bytes, n);
}

static char *
refusal_of (Decoder *self)
{
  g_clear_pointer (&self->out->pixels, g_free);
  return g_strdup (self->is_truncated ? "is truncated: the end of the picture is missing" : self->message);
}

char *
picture_decode (const guint8 *bytes, gsize n, PictureRaster *out, PictureReserve reserve, gpointer data)
{
  Decoder self = { .bytes = bytes, .n = n, .out = out, .reserve = reserve, .data = data };

  memset (out, 0, sizeof *out);
  if (picture_is_tiff (bytes, n))
    return picture_decode_tiff (bytes, n, out, reserve, data);
  return formats[find_format (bytes, n)].decode (&self) ? NULL : refusal_of (&self);
}

char *
picture_decode_values (const guint8 *bytes, gsize n, PictureRaster *out, PictureReserve reserve, gpointer data)
{
  Decoder self = { .bytes = bytes, .n = n, .out = out, .reserve = reserve, .data = data };

  memset (out, 0, sizeof *out);
  if (find_format (bytes, n) != 0)
    return g_strdup ("is not a PNG; other formats do not keep the values of classes");
  return run_png (&self, read_values) ? NULL : refusal_of (&self);
}

/* ---- writing ------------------------------------------------------------------------- */

static void
png_append_cb (png_structp png, png_bytep bytes, size_t n)
{
  g_byte_array_append (png_get_io_ptr (png), bytes, (guint)n);
}

static void
png_flush_cb (png_structp png)
{
}

char *
picture_encode (const guint8 *pixels, int width, int height, const guint8 *palette, GByteArray *out)
{
  Decoder self = { 0 };
  png_structp png = png_create_write_struct (PNG_LIBPNG_VER_STRING, &self, png_failed_cb, png_warned_cb);
  png_infop info = png != NULL ? png_create_info_struct (png) : NULL;

  g_strlcpy (self.message, "out of memory", MESSAGE);
  if (info != NULL && setjmp (self.back) == 0)
    {
      png_set_write_fn (png, out, png_append_cb, png_flush_cb);
      png_set_IHDR (png, info, (png_uint_32)width, (png_uint_32)height, 8,
                    palette != NULL ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                    PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      if (palette != NULL)
        png_set_PLTE (png, info, (png_const_colorp)palette, 256);
      png_write_info (png, info);
      for (int y = 0; y < height; y++)
        png_write_row (png, pixels + (gsize)y * (gsize)width * (palette != NULL ? 1 : 3));
      png_write_end (png, info);
      self.message[0] = '\0';
    }
  png_destroy_write_struct (&png, &info);
  return self.message[0] != '\0' ? g_strdup (self.message) : NULL;
}
