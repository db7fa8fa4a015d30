/* Reads in pieces, so that the size need not be known, and stops as soon as the file cannot be valid. */
#include "engine/core/loom-file.h"

#include "engine/core/loom-refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 65536

static gboolean
begins (const GByteArray *bytes, const char *start)
{
  gsize n = start != NULL ? strlen (start) : 0;

  return memcmp (bytes->data, start != NULL ? start : "", MIN (n, bytes->len)) == 0;
}

gboolean
loom_file_read (const char *path, const char *start, gsize max, char **data, gsize *length, GError **error)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  int fd = open (path, O_RDONLY | O_CLOEXEC), failed = fd < 0 ? errno : 0;

  g_return_val_if_fail (max < G_MAXUINT - PIECE, FALSE);

  while (failed == 0 && bytes->len <= max)
    {
      guint old = bytes->len;
      ssize_t n;

      g_byte_array_set_size (bytes, old + (guint)MIN (PIECE, max + 1 - old));
      n = read (fd, bytes->data + old, bytes->len - old);
      g_byte_array_set_size (bytes, old + (guint)MAX (n, 0));
      if (n < 0 && errno != EINTR)
        failed = errno;
      if (n == 0 || (n > 0 && !begins (bytes, start)))
        break;
    }
  if (fd >= 0)
    close (fd);
  if (failed != 0)
    {
      g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (failed), "%s", g_strerror (failed));
      return FALSE;
    }
  *length = bytes->len;
  g_byte_array_append (bytes, (const guint8 *)"", 1);
  *data = (char *)g_byte_array_free (g_steal_pointer (&bytes), FALSE);
  return TRUE;
}

GMappedFile *
loom_file_map (const char *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  int fd = open (path, O_RDONLY | O_CLOEXEC), failed = fd < 0 ? errno : 0;
  GMappedFile *file = NULL;
  struct stat is;
  const char *why = NULL;

  if (fd >= 0 && fstat (fd, &is) == 0 && !S_ISREG (is.st_mode))
    why = S_ISDIR (is.st_mode) ? "it is a folder" : "it is not a regular file";
  else if (fd >= 0)
    file = g_mapped_file_new_from_fd (fd, FALSE, &cause);
  if (fd >= 0)
    close (fd);
  if (file == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path,
                 why != NULL     ? why
                 : cause != NULL ? cause->message
                                 : g_strerror (failed));
  return file;
}

gboolean
loom_file_refuse (const char *path, GError **error, const char *format, ...)
{
  g_autofree char *reason = NULL;
  va_list args;

  va_start (args, format);
  reason = g_strdup_vprintf (format, args);
  va_end (args);
  return loom_refuse (error, LOOM_ERROR_DATA, "“%s” %s.", path, reason);
}
