/* Reads in pieces, so that the size need not be known, and stops as soon as the file cannot be valid. */
#include "engine/core/loom-file.h"

#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PIECE 65536

static gboolean
begins (const char *bytes, gsize length, const char *start)
{
  gsize n = start != NULL ? strlen (start) : 0;

  return memcmp (bytes, start != NULL ? start : "", MIN (n, length)) == 0;
}

/* FALSE with errno if there is no memory. */
static gboolean
grow (char **bytes, gsize *space, gsize needed)
{
  const gsize wanted = MAX (needed, *space * 2);
  char *more;

  if (needed <= *space)
    return TRUE;
  more = g_try_realloc (*bytes, wanted);
  if (more == NULL)
    {
      errno = ENOMEM;
      return FALSE;
    }
  *bytes = more;
  *space = wanted;
  return TRUE;
}

gboolean
loom_file_read (const char *path, const char *start, gsize max, char **data, gsize *length, GError **error)
{
  g_autofree char *bytes = NULL;
  gsize have = 0, space = 0;
  int fd = loom_open (AT_FDCWD, path, O_RDONLY), failed = fd < 0 ? errno : 0;

  g_return_val_if_fail (max < G_MAXUINT - PIECE, FALSE);

  while (failed == 0 && have <= max)
    {
      gssize n = -1;

      /* A file without memory for it is an error of that file, not the end of the program. */
      if (grow (&bytes, &space, have + PIECE + 1))
        n = loom_os->read (fd, bytes + have, MIN (PIECE, max + 1 - have));
      if (n < 0 && errno != EINTR)
        failed = errno;
      have += (gsize)MAX (n, 0);
      if (n == 0 || (n > 0 && !begins (bytes, have, start)))
        break;
    }
  loom_close (fd);
  if (failed != 0)
    {
      g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (failed), "%s", g_strerror (failed));
      return FALSE;
    }
  *length = have;
  bytes[have] = '\0';
  *data = g_steal_pointer (&bytes);
  return TRUE;
}

LoomErrorCode
loom_file_error_code (const GError *error)
{
  return g_error_matches (error, G_FILE_ERROR, G_FILE_ERROR_NOMEM) ? LOOM_ERROR_OUT_OF_MEMORY : LOOM_ERROR_IO;
}

GMappedFile *
loom_file_map (const char *path, GError **error)
{
  g_autoptr (GError) cause = NULL;
  int fd = loom_open (AT_FDCWD, path, O_RDONLY), failed = fd < 0 ? errno : 0;
  GMappedFile *file = NULL;
  struct stat is;
  const char *why = NULL;

  if (fd >= 0 && loom_stat_fd (fd, &is) && !S_ISREG (is.st_mode))
    why = S_ISDIR (is.st_mode) ? "it is a folder" : "it is not a regular file";
  else if (fd >= 0)
    file = loom_os->map (fd, &cause);
  loom_close (fd);
  if (file == NULL)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” cannot be read: %s.", path,
                 why != NULL     ? why
                 : cause != NULL ? cause->message
                                 : g_strerror (failed));
  return file;
}

char *
loom_file_of_set (const char *path, const char **name)
{
  const char *mark = strrchr (path, '#'), *folder = strrchr (path, '/');
  g_autofree char *file
      = mark != NULL && mark > (folder != NULL ? folder + 1 : path) ? g_strndup (path, (gsize)(mark - path)) : NULL;
  const gboolean has_name = file != NULL && !loom_path_exists (path) && loom_path_exists (file);

  *name = has_name ? mark + 1 : NULL;
  return has_name ? g_steal_pointer (&file) : g_strdup (path);
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
