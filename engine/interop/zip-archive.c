/* Members of a zip archive. libzip checks the structure, and the checksum of a member that is read to its end; memory
 * is only taken for a member that is read. */
#include "engine/interop/zip-archive.h"

#include <string.h>
#include <zip.h>

#include "engine/core/loom-refuse.h"

/* More than deflate can pack into one byte. */
#define MOST_PACKED 1040

struct _ZipArchive
{
  zip_t *zip;
  GBytes *bytes;
  char *path;
};

static void
set_error (const char *path, const char *why, GError **error)
{
  loom_refuse (error, LOOM_ERROR_DATA, "“%s” is a damaged zip archive: %s.", path, why);
}

ZipArchive *
zip_archive_open (GBytes *bytes, const char *path, GError **error)
{
  gsize length;
  const void *data = g_bytes_get_data (bytes, &length);
  zip_error_t why;
  zip_source_t *source;
  zip_t *zip;
  ZipArchive *self;

  zip_error_init (&why);
  source = zip_source_buffer_create (data, length, 0, &why);
  zip = source != NULL ? zip_open_from_source (source, ZIP_RDONLY, &why) : NULL;
  if (zip == NULL)
    {
      /* The caller has checked the first bytes. */
      if (zip_error_code_zip (&why) == ZIP_ER_NOZIP)
        loom_refuse (error, LOOM_ERROR_DATA,
                     "“%s” is a truncated zip archive: the list of its members at the end is missing.", path);
      else
        set_error (path, zip_error_strerror (&why), error);
      if (source != NULL)
        zip_source_free (source);
      zip_error_fini (&why);
      return NULL;
    }
  zip_error_fini (&why);
  self = g_new0 (ZipArchive, 1);
  self->zip = zip;
  self->bytes = g_bytes_ref (bytes);
  self->path = g_strdup (path);
  return self;
}

void
zip_archive_free (ZipArchive *self)
{
  zip_discard (self->zip);
  g_bytes_unref (self->bytes);
  g_free (self->path);
  g_free (self);
}

guint64
zip_archive_count (const ZipArchive *self)
{
  return (guint64)zip_get_num_entries (self->zip, 0);
}

gsize
zip_archive_bytes (const ZipArchive *self)
{
  return g_bytes_get_size (self->bytes);
}

const char *
zip_archive_name (const ZipArchive *self, guint64 i)
{
  const char *name = zip_get_name (self->zip, i, ZIP_FL_ENC_GUESS);

  return name != NULL && g_utf8_validate (name, -1, NULL) ? name : NULL;
}

guint64
zip_archive_size (const ZipArchive *self, guint64 i)
{
  zip_stat_t stat;

  return zip_stat_index (self->zip, i, 0, &stat) == 0 && (stat.valid & ZIP_STAT_SIZE) != 0 ? stat.size : 0;
}

gint64
zip_archive_find (const ZipArchive *self, const char *end)
{
  for (guint64 i = 0; i < zip_archive_count (self); i++)
    {
      const char *name = zip_archive_name (self, i);
      gsize n = name != NULL ? strlen (name) : 0, m = strlen (end);

      if (n >= m && strcmp (name + n - m, end) == 0 && (n == m || name[n - m - 1] == '/'))
        return (gint64)i;
    }
  return -1;
}

gint64
zip_archive_locate (const ZipArchive *self, const char *path)
{
  return zip_name_locate (self->zip, path, 0);
}

GBytes *
zip_archive_read (ZipArchive *self, guint64 i, gsize most, GError **error)
{
  const guint64 size = MIN (zip_archive_size (self, i), most);
  zip_file_t *file;
  guint64 done = 0;
  gboolean is_good;
  zip_stat_t stat;
  char *data, end;

  /* Before memory of that size is taken. */
  if (zip_stat_index (self->zip, i, 0, &stat) != 0 || (stat.valid & ZIP_STAT_COMP_SIZE) == 0
      || stat.comp_size > g_bytes_get_size (self->bytes) || size > (stat.comp_size + 1) * MOST_PACKED)
    {
      set_error (self->path, "a member has another size than its directory says", error);
      return NULL;
    }
  data = g_try_malloc (size + 1);
  if (data == NULL)
    return loom_refuse_null (error, LOOM_ERROR_OUT_OF_MEMORY, "“%s” needs %" G_GUINT64_FORMAT " bytes of memory.",
                             self->path, size);
  file = zip_fopen_index (self->zip, i, 0);
  while (file != NULL && done < size)
    {
      const zip_int64_t n = zip_fread (file, data + done, size - done);

      if (n <= 0)
        break;
      done += (guint64)n;
    }
  /* libzip compares the checksum of a member when its end is read. */
  is_good = file != NULL && done == size && (done < zip_archive_size (self, i) || zip_fread (file, &end, 1) == 0);
  if (!is_good)
    {
      set_error (self->path, file != NULL ? zip_file_strerror (file) : zip_strerror (self->zip), error);
      if (file != NULL)
        zip_fclose (file);
      g_free (data);
      return NULL;
    }
  zip_fclose (file);
  return g_bytes_new_take (data, size);
}
