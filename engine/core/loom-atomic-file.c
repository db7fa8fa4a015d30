/* Writes a file completely or not at all: a temporary file in the same folder, fsync, rename, fsync of the folder.
 *
 * The temporary file is created with O_EXCL and mode 0666, so that the umask applies as for any other new file; the
 * permissions of an old file are kept. */
#include "engine/core/loom-atomic-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "engine/core/loom-error.h"
#include "engine/core/loom-os.h"

#define BUFFER 65536 /* bytes that are collected, because many writes are of a few */

struct _LoomAtomicFile
{
  int folder;                 /* the descriptor of the folder that path and temporary are relative to, or AT_FDCWD */
  char *shown;                /* the caller's name of the file, for errors */
  char *path;                 /* the file to replace, with links resolved */
  char *temporary;            /* the temporary file; NULL if the file is written directly */
  int fd;                     /* of the new content; -1: it is closed */
  gboolean is_unsynchronised; /* as the folder */
  gsize used;                 /* of the buffer */
  char buffer[BUFFER];
};

/* Sets the error of a failed system call; always returns FALSE. */
static gboolean
set_io_error (GError **error, const char *path, int errnum)
{
  if (errnum == ENOSPC || errnum == EDQUOT)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "“%s” could not be written, because the disk is full; free some space and try again.", path);
  else if (errnum == EFBIG)
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO,
                 "“%s” could not be written, because it would be larger than this process or its file system allows; "
                 "“ulimit -f” shows the limit.",
                 path);
  else
    g_set_error (error, LOOM_ERROR, LOOM_ERROR_IO, "“%s” could not be written: %s.", path, g_strerror (errnum));
  return FALSE;
}

static int
open_neighbour (LoomAtomicFile *file)
{
  for (int attempt = 0; attempt < 100; attempt++)
    {
      int fd;

      g_free (file->temporary);
      file->temporary = g_strdup_printf ("%s.%08x.tmp", file->path, g_random_int ());
      fd = loom_open (file->folder, file->temporary, O_WRONLY | O_CREAT | O_EXCL);
      if (fd >= 0 || errno != EEXIST)
        return fd;
    }
  return -1;
}

/* More links than the kernel follows are a cycle. */
#define MAX_LINKS 40

char *
loom_file_target (const char *path)
{
  g_autofree char *at = g_strdup (path);
  char *resolved = loom_os->real_path (path);

  if (resolved != NULL)
    return resolved;
  /* realpath() fails for a link whose target does not exist yet. */
  for (guint i = 0; i < MAX_LINKS; i++)
    {
      g_autofree char *to = loom_path_link (at);
      g_autofree char *folder = g_path_get_dirname (at);

      if (to == NULL)
        break;
      g_free (at);
      at = g_path_is_absolute (to) ? g_strdup (to) : g_build_filename (folder, to, NULL);
    }
  return g_steal_pointer (&at);
}

LoomAtomicFile *
loom_atomic_file_new (LoomFolder *folder, const char *path, GError **error)
{
  g_autoptr (LoomAtomicFile) file = NULL;
  struct stat info;
  gboolean exists;

  g_return_val_if_fail (path != NULL, NULL);

  file = g_new0 (LoomAtomicFile, 1);
  file->fd = -1;
  file->shown = loom_folder_path_of (folder, path);
  file->folder = folder != NULL ? loom_folder_fd (folder) : AT_FDCWD;
  file->is_unsynchronised = folder != NULL && loom_folder_is_unsynchronised (folder);
  exists = loom_os->stat (file->folder, path, &info, folder != NULL ? AT_SYMLINK_NOFOLLOW : 0) == 0;
  file->path = folder != NULL ? g_strdup (path) : loom_file_target (path);

  if (exists && S_ISDIR (info.st_mode))
    {
      set_io_error (error, file->shown, EISDIR);
      return NULL;
    }
  exists = exists && (folder == NULL || S_ISREG (info.st_mode));
  if (exists && !S_ISREG (info.st_mode))
    file->fd = loom_open (AT_FDCWD, path, O_WRONLY);
  else
    file->fd = open_neighbour (file);
  if (file->fd < 0)
    {
      set_io_error (error, file->shown, errno);
      /* No file was created under that name, so there is none to remove. */
      g_clear_pointer (&file->temporary, g_free);
      return NULL;
    }
  if (exists && file->temporary != NULL)
    {
      /* A file system without permissions may refuse this; the content is more important. */
      if (loom_os->chmod (file->fd, info.st_mode & 07777) != 0)
        g_debug ("permissions of %s were not kept: %s", file->shown, g_strerror (errno));
    }
  return g_steal_pointer (&file);
}

static gboolean
flush (LoomAtomicFile *file, GError **error)
{
  const gsize n = file->used;

  file->used = 0;
  return loom_write (file->fd, file->buffer, n) || set_io_error (error, file->shown, errno);
}

gboolean
loom_atomic_file_write (LoomAtomicFile *file, const void *data, gsize length, GError **error)
{
  g_return_val_if_fail (file != NULL && file->fd >= 0, FALSE);

  if (length > BUFFER - file->used && !flush (file, error))
    return FALSE;
  if (length > BUFFER)
    return loom_write (file->fd, data, length) || set_io_error (error, file->shown, errno);
  if (length > 0)
    memcpy (file->buffer + file->used, data, length);
  file->used += length;
  return TRUE;
}

gboolean
loom_descriptor_sync (int fd, const char *path, GError **error)
{
  /* Some file systems cannot synchronise a folder and return EINVAL. */
  return loom_sync (fd, FALSE) || errno == EINVAL || set_io_error (error, path, errno);
}

static gboolean
sync_folder_of (LoomAtomicFile *file, GError **error)
{
  g_autofree char *name = g_path_get_dirname (file->path), *shown = g_path_get_dirname (file->shown);
  int fd = loom_open (file->folder, name, O_RDONLY | O_DIRECTORY);
  gboolean done = fd >= 0 ? loom_descriptor_sync (fd, shown, error) : set_io_error (error, shown, errno);

  loom_close (fd);
  return done;
}

gboolean
loom_atomic_file_commit (LoomAtomicFile *file, GError **error)
{
  int fd;

  g_return_val_if_fail (file != NULL && file->fd >= 0, FALSE);

  if (!flush (file, error))
    return FALSE;
  /* A pipe cannot be synchronised, and need not be. */
  if (file->temporary != NULL && !file->is_unsynchronised && !loom_sync (file->fd, FALSE))
    return set_io_error (error, file->shown, errno);
  fd = file->fd;
  file->fd = -1;
  /* Some file systems report here that a write has failed. */
  if (loom_os->close (fd) != 0 && errno != EINTR)
    return set_io_error (error, file->shown, errno);
  if (file->temporary == NULL)
    return TRUE;
  if (loom_os->rename (file->folder, file->temporary, file->path, 0) != 0)
    return set_io_error (error, file->shown, errno);
  g_clear_pointer (&file->temporary, g_free);
  return file->is_unsynchronised || sync_folder_of (file, error);
}

void
loom_atomic_file_free (LoomAtomicFile *file)
{
  if (file == NULL)
    return;
  loom_close (file->fd);
  if (file->temporary != NULL)
    loom_os->unlink (file->folder, file->temporary, 0);
  g_free (file->temporary);
  g_free (file->path);
  g_free (file->shown);
  g_free (file);
}

gboolean
loom_file_replace (const char *path, const void *data, gsize length, GError **error)
{
  g_autoptr (LoomAtomicFile) file = loom_atomic_file_new (NULL, path, error);

  return file != NULL && loom_atomic_file_write (file, data, length, error) && loom_atomic_file_commit (file, error);
}
