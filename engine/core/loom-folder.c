/* Opens files by name relative to the descriptor of their folder, so that no link inside the folder leads out of it. */
#include "engine/core/loom-folder.h"

#include "engine/core/loom-atomic-file.h"
#include "engine/core/loom-refuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct _LoomFolder
{
  char *path; /* for errors */
  int fd;
  gboolean is_unsynchronised;
};

#define AS_FOLDER (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

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

  return fstatat (folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK (info.st_mode);
}

LoomFolder *
loom_folder_open (const char *path, GError **error)
{
  g_return_val_if_fail (path != NULL, NULL);

  return folder_new (open (path, AS_FOLDER), path, FALSE, error);
}

LoomFolder *
loom_folder_enter (LoomFolder *parent, const char *name, gboolean create, GError **error)
{
  g_autofree char *path = loom_folder_path_of (parent, name);

  if (create && mkdirat (parent->fd, name, 0777) != 0 && errno != EEXIST)
    return folder_new (-1, path, FALSE, error);
  /* For a link, O_DIRECTORY with O_NOFOLLOW fails with ENOTDIR. */
  int fd = openat (parent->fd, name, AS_FOLDER | O_NOFOLLOW), failed = errno;
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
  close (folder->fd);
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
loom_folder_names (LoomFolder *folder)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  /* A separate descriptor, because closedir() closes it and reading moves its position. */
  int fd = openat (folder->fd, ".", AS_FOLDER);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;

  if (dir == NULL && fd >= 0)
    close (fd);
  for (struct dirent *entry; dir != NULL && (entry = readdir (dir)) != NULL;)
    if (!g_str_equal (entry->d_name, ".") && !g_str_equal (entry->d_name, ".."))
      g_strv_builder_add (names, entry->d_name);
  if (dir != NULL)
    closedir (dir);
  return g_strv_builder_end (names);
}

int
loom_folder_open_file (LoomFolder *folder, const char *name, int flags, GError **error)
{
  g_autofree char *path = loom_folder_path_of (folder, name);
  /* With O_NONBLOCK, opening a pipe does not wait for its other end. Regular files ignore it. */
  int fd = openat (folder->fd, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  const char *why = NULL;
  struct stat info;

  if (fd < 0)
    why = errno == ELOOP ? a_link : g_strerror (errno);
  else if (fstat (fd, &info) != 0)
    why = g_strerror (errno);
  else if (!S_ISREG (info.st_mode))
    why = S_ISDIR (info.st_mode) ? "it is a folder" : "it is not a regular file";
  else if ((flags & O_ACCMODE) != O_RDONLY && info.st_nlink > 1)
    why = "the file has a second name (a hard link) and would change under that name too; replace it with a copy";
  if (why == NULL)
    return fd;
  refuse (path, (flags & O_ACCMODE) == O_RDONLY ? "read" : "written", why, error);
  if (fd >= 0)
    close (fd);
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
  file = g_mapped_file_new_from_fd (fd, FALSE, &cause);
  if (file == NULL)
    {
      g_autofree char *path = loom_folder_path_of (folder, name);
      refuse (path, "read", cause->message, error);
    }
  close (fd);
  return file;
}

gboolean
loom_folder_read (LoomFolder *folder, const char *name, gsize max, char **data, gsize *length, GError **error)
{
  int fd = loom_folder_open_file (folder, name, O_RDONLY, error);
  g_autofree char *path = loom_folder_path_of (folder, name);
  g_autofree char *text = NULL;
  gsize n = 0;
  ssize_t got = 1;
  struct stat info;

  if (fd < 0)
    return FALSE;
  if (fstat (fd, &info) != 0 || (guint64)info.st_size > max)
    {
      close (fd);
      return refuse (path, "read", "it is larger than a file of its kind can be", error);
    }
  text = g_malloc ((gsize)info.st_size + 1);
  while (n < (gsize)info.st_size && got > 0)
    {
      got = read (fd, text + n, (gsize)info.st_size - n);
      if (got < 0 && errno == EINTR)
        got = 1;
      else if (got > 0)
        n += (gsize)got;
    }
  int failed = got < 0 ? errno : 0;
  close (fd);
  if (failed != 0)
    return refuse (path, "read", g_strerror (failed), error);
  text[n] = '\0';
  *data = g_steal_pointer (&text);
  if (length != NULL)
    *length = n;
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
  unlinkat (folder->fd, name, 0);
}

gboolean
loom_folder_sync (LoomFolder *folder, GError **error)
{
  return folder->is_unsynchronised || loom_descriptor_sync (folder->fd, folder->path, error);
}
