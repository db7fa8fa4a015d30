/* Opens files by name relative to the descriptor of their folder, so that no link inside the folder leads out of it. */
#include "engine/core/loom-folder.h"

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-os.h"
#include "engine/core/loom-refuse.h"

#include <errno.h>
#include <fcntl.h>

struct _LoomFolder
{
  char *path; /* for errors */
  int fd;
  gboolean is_unsynchronised;
};

#define AS_FOLDER (O_RDONLY | O_DIRECTORY)

static gboolean
refuse (const char *path, const char *what, const char *why, GError **error)
{
  return loom_refuse (error, LOOM_ERROR_IO, "“%s” cannot be %s: %s.", path, what, why);
}

static const char a_link[] = "it is a symbolic link, and links are not followed inside a run's folder; replace it "
                             "with the file or folder itself";

static LoomFolder *
folder_new (int fd, const char *path, gboolean is_link, GError **error)
{
  LoomFolder *folder;

  if (fd < 0)
    {
      refuse (path, "opened", is_link ? a_link : g_strerror (errno), error);
      return NULL;
    }
  folder = g_new0 (LoomFolder, 1);
  folder->fd = fd;
  folder->path = g_strdup (path);
  return folder;
}

static gboolean
is_link (LoomFolder *folder, const char *name)
{
  struct stat info;

  return loom_folder_stat (folder, name, &info) && S_ISLNK (info.st_mode);
}

LoomFolder *
loom_folder_open (const char *path, GError **error)
{
  g_return_val_if_fail (path != NULL, NULL);

  return folder_new (loom_open (AT_FDCWD, path, AS_FOLDER), path, FALSE, error);
}

LoomFolder *
loom_folder_enter (LoomFolder *parent, const char *name, gboolean create, GError **error)
{
  g_autofree char *path = loom_folder_path_of (parent, name);

  if (create && loom_os->mkdir (parent->fd, name, 0777) != 0 && errno != EEXIST)
    return folder_new (-1, path, FALSE, error);
  /* For a link, O_DIRECTORY with O_NOFOLLOW fails with ENOTDIR. */
  int fd = loom_open (parent->fd, name, AS_FOLDER | O_NOFOLLOW), failed = errno;
  gboolean to_link = fd < 0 && is_link (parent, name);
  errno = failed;
  LoomFolder *folder = folder_new (fd, path, to_link, error);
  if (folder != NULL)
    folder->is_unsynchronised = parent->is_unsynchronised;
  return folder;
}

void
loom_folder_set_unsynchronised (LoomFolder *folder)
{
  folder->is_unsynchronised = TRUE;
}

gboolean
loom_folder_is_unsynchronised (LoomFolder *folder)
{
  return folder->is_unsynchronised;
}

void
loom_folder_free (LoomFolder *folder)
{
  if (folder == NULL)
    return;
  loom_close (folder->fd);
  g_free (folder->path);
  g_free (folder);
}

const char *
loom_folder_path (LoomFolder *folder)
{
  return folder->path;
}

int
loom_folder_fd (LoomFolder *folder)
{
  return folder->fd;
}

char *
loom_folder_path_of (LoomFolder *folder, const char *name)
{
  return folder != NULL ? g_build_filename (folder->path, name, NULL) : g_strdup (name);
}

char **
loom_folder_names (LoomFolder *folder, GError **error)
{
  char **names = loom_os->list (folder->fd);

  if (names == NULL)
    refuse (folder->path, "read", g_strerror (errno), error);
  return names;
}

gboolean
loom_folder_stat (LoomFolder *folder, const char *name, struct stat *info)
{
  return loom_os->stat (folder->fd, name, info, AT_SYMLINK_NOFOLLOW) == 0;
}

gboolean
loom_folder_rename (LoomFolder *folder, const char *from, const char *to)
{
  return loom_os->rename (folder->fd, from, to, 0) == 0;
}

int
loom_folder_open_file (LoomFolder *folder, const char *name, int flags, GError **error)
{
  g_autofree char *path = loom_folder_path_of (folder, name);
  /* With O_NONBLOCK, opening a pipe does not wait for its other end. Regular files ignore it. */
  int fd = loom_open (folder->fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  const char *why = NULL;
  struct stat info;

  if (fd < 0)
    why = errno == ELOOP ? a_link : g_strerror (errno);
  else if (!loom_stat_fd (fd, &info))
    why = g_strerror (errno);
  else if (!S_ISREG (info.st_mode))
    why = S_ISDIR (info.st_mode) ? "it is a folder" : "it is not a regular file";
  else if ((flags & O_ACCMODE) != O_RDONLY && info.st_nlink > 1)
    why = "the file has a second name (a hard link) and would change under that name too; replace it with a copy";
  if (why == NULL)
    return fd;
  refuse (path, (flags & O_ACCMODE) == O_RDONLY ? "read" : "written", why, error);
  loom_close (fd);
  return -1;
}

GMappedFile *
loom_folder_map (LoomFolder *folder, const char *name, GError **error)
{
  int fd = loom_folder_open_file (folder, name, O_RDONLY, error);
  g_autoptr (GError) cause = NULL;
  GMappedFile *file;

  if (fd < 0)
    return NULL;
  file = loom_os->map (fd, &cause);
  if (file == NULL)
    {
      g_autofree char *path = loom_folder_path_of (folder, name);
      refuse (path, "read", cause->message, error);
    }
  loom_close (fd);
  return file;
}

gboolean
loom_folder_read (LoomFolder *folder, const char *name, gsize max, char **data, gsize *length, GError **error)
{
  int fd = loom_folder_open_file (folder, name, O_RDONLY, error);
  g_autofree char *path = loom_folder_path_of (folder, name);
  g_autofree char *text = NULL;
  const char *why = NULL;
  gssize n = 0;
  struct stat info;

  if (fd < 0)
    return FALSE;
  if (!loom_stat_fd (fd, &info) || (guint64)info.st_size > max)
    why = "it is larger than a file of its kind can be";
  else if ((text = g_try_malloc ((gsize)info.st_size + 1)) == NULL)
    why = g_strerror (ENOMEM);
  else if ((n = loom_read (fd, text, (gsize)info.st_size)) < 0)
    why = g_strerror (errno);
  loom_close (fd);
  if (why != NULL)
    return refuse (path, "read", why, error);
  text[n] = '\0';
  *data = g_steal_pointer (&text);
  if (length != NULL)
    *length = (gsize)n;
  return TRUE;
}

gboolean
loom_folder_replace (LoomFolder *folder, const char *name, const void *data, gsize length, GError **error)
{
  g_autoptr (LoomAtomicFile) file = loom_atomic_file_new (folder, name, error);

  return file != NULL && loom_atomic_file_write (file, data, length, error) && loom_atomic_file_commit (file, error);
}

void
loom_folder_remove (LoomFolder *folder, const char *name)
{
  loom_os->unlink (folder->fd, name, 0);
}

void
loom_folder_remove_folder (LoomFolder *folder, const char *name)
{
  loom_os->unlink (folder->fd, name, AT_REMOVEDIR);
}

gboolean
loom_folder_sync (LoomFolder *folder, GError **error)
{
  return folder->is_unsynchronised || loom_descriptor_sync (folder->fd, folder->path, error);
}
