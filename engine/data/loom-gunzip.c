/* A GConverter that restarts GLib's decompressor at each member of a gzip file. */
#include "engine/data/loom-gunzip.h"

#include <libdeflate.h>

#include "engine/core/loom-file.h"

struct _LoomGunzip
{
  GObject parent;
  GConverter *member;
  gboolean is_between; /* a member has ended */
};

static void gunzip_converter_init (GConverterIface *iface);

G_DEFINE_TYPE_WITH_CODE (LoomGunzip, loom_gunzip, G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_CONVERTER, gunzip_converter_init))

/* Zeros that fill the last block of a tape follow the last member; anything else is refused as a damaged member. */
static GConverterResult
gunzip_convert (GConverter *converter, const void *in, gsize in_size, void *out, gsize out_size, GConverterFlags flags,
                gsize *n_read, gsize *n_written, GError **error)
{
  LoomGunzip *self = LOOM_GUNZIP (converter);
  const char *bytes = in;
  gsize zeros = 0;
  GConverterResult result;

  while (self->is_between && zeros < in_size && bytes[zeros] == 0)
    zeros++;
  if (self->is_between && zeros == in_size)
    {
      *n_read = zeros;
      *n_written = 0;
      if ((flags & G_CONVERTER_INPUT_AT_END) != 0)
        return G_CONVERTER_FINISHED;
      if (zeros > 0)
        return G_CONVERTER_CONVERTED;
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT, "the next member is missing");
      return G_CONVERTER_ERROR;
    }
  if (self->is_between)
    g_converter_reset (self->member);
  self->is_between = FALSE;
  result = g_converter_convert (self->member, bytes + zeros, in_size - zeros, out, out_size, flags, n_read, n_written,
                                error);
  if (result == G_CONVERTER_ERROR)
    return result;
  *n_read += zeros;
  self->is_between = result == G_CONVERTER_FINISHED;
  return G_CONVERTER_CONVERTED;
}

static void
gunzip_reset (GConverter *converter)
{
  LoomGunzip *self = LOOM_GUNZIP (converter);

  g_converter_reset (self->member);
  self->is_between = FALSE;
}

static void
gunzip_converter_init (GConverterIface *iface)
{
  iface->convert = gunzip_convert;
  iface->reset = gunzip_reset;
}

static void
loom_gunzip_finalize (GObject *object)
{
  g_object_unref (LOOM_GUNZIP (object)->member);
  G_OBJECT_CLASS (loom_gunzip_parent_class)->finalize (object);
}

static void
loom_gunzip_class_init (LoomGunzipClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = loom_gunzip_finalize;
}

static void
loom_gunzip_init (LoomGunzip *self)
{
  self->member = G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP));
}

GConverter *
loom_gunzip_new (void)
{
  return g_object_new (loom_gunzip_get_type (), NULL);
}

GBytes *
loom_gunzip_whole (const char *path, gsize length)
{
  g_autoptr (GMappedFile) file = loom_file_map (path, NULL);
  struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor ();
  g_autofree char *whole = g_try_malloc (length);
  const gsize n_packed = file != NULL ? g_mapped_file_get_length (file) : 0;
  gsize at = 0, n = 0, n_read, n_written;

  while (whole != NULL && decompressor != NULL && at < n_packed && n < length
         && libdeflate_gzip_decompress_ex (decompressor, g_mapped_file_get_contents (file) + at, n_packed - at,
                                           whole + n, length - n, &n_read, &n_written)
                == LIBDEFLATE_SUCCESS)
    {
      at += n_read;
      n += n_written;
    }
  if (decompressor != NULL)
    libdeflate_free_decompressor (decompressor);
  return whole != NULL && n == length ? g_bytes_new_take (g_steal_pointer (&whole), length) : NULL;
}
