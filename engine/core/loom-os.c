/* The calls of the operating system, and what most callers need of them; see the header. */
#include "engine/core/loom-os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* ---- the operating system ---------------------------------------------- */

static int
real_open (int folder, const char *path, int flags, mode_t mode)
{
  return openat (folder, path, flags, mode);
}

static int
real_sync (int fd, gboolean only_data)
{
  return only_data ? fdatasync (fd) : fsync (fd);
}

static GMappedFile *
real_map (int fd, GError **error)
{
  return g_mapped_file_new_from_fd (fd, FALSE, error);
}

/* Not every file system knows renameat2(), which is needed for flags only. */
static int
real_rename (int folder, const char *from, const char *to, guint flags)
{
  return flags == 0 ? renameat (folder, from, folder, to) : renameat2 (folder, from, folder, to, flags);
}

static int
real_link (int from_folder, const char *from, int to_folder, const char *to)
{
  return linkat (from_folder, from, to_folder, to, 0);
}

static char **
real_list (int folder)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  /* A separate descriptor, because closedir() closes it and reading moves its position. */
  const int fd = openat (folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd >= 0 ? fdopendir (fd) : NULL;
  struct dirent *entry;
  int failed;

  if (dir == NULL)
    {
      failed = errno;
      if (fd >= 0)
        close (fd);
      errno = failed;
      return NULL;
    }
  while (errno = 0, (entry = readdir (dir)) != NULL)
    if (!g_str_equal (entry->d_name, ".") && !g_str_equal (entry->d_name, ".."))
      g_strv_builder_add (names, entry->d_name);
  failed = errno;
  closedir (dir);
  errno = failed;
  return failed == 0 ? g_strv_builder_end (names) : NULL;
}

static char *
real_path_of (const char *path)
{
  char *found = realpath (path, NULL), *copy = g_strdup (found);

  free (found);
  return copy;
}

static gint64
real_nanoseconds (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * G_GINT64_CONSTANT (1000000000) + t.tv_nsec;
}

static void
real_sleep (gint64 microseconds)
{
  g_usleep ((gulong)microseconds);
}

const LoomOs loom_os_real = {
  .open = real_open,
  .close = close,
  .read = read,
  .pread = pread,
  .write = write,
  .pwrite = pwrite,
  .seek = lseek,
  .truncate = ftruncate,
  .sync = real_sync,
  .lock = flock,
  .map = real_map,
  .stat = fstatat,
  .chmod = fchmod,
  .rename = real_rename,
  .link = real_link,
  .unlink = unlinkat,
  .mkdir = mkdirat,
  .list = real_list,
  .real_path = real_path_of,
  .read_link = readlinkat,
  .nanoseconds = real_nanoseconds,
  .wall = g_get_real_time,
  .sleep = real_sleep,
};

const LoomOs *loom_os = &loom_os_real;

/* ---- descriptors ------------------------------------------------------- */

/* Whether a call that returned this is to be made again. */
static gboolean
was_interrupted (gssize result)
{
  return result < 0 && errno == EINTR;
}

int
loom_open (int folder, const char *path, int flags)
{
  int fd;

  do
    fd = loom_os->open (folder, path, flags | O_CLOEXEC, 0666);
  while (was_interrupted (fd));
  return fd;
}

/* Keeps errno. It is not repeated, because Linux has closed the descriptor in any case. */
void
loom_close (int fd)
{
  const int kept = errno;

  if (fd >= 0)
    loom_os->close (fd);
  errno = kept;
}

/* at -1: at the position of the descriptor. */
static gssize
read_all (int fd, char *to, gsize n, gint64 at)
{
  gsize have = 0;

  while (have < n)
    {
      const gssize got = at < 0 ? loom_os->read (fd, to + have, n - have)
                                : loom_os->pread (fd, to + have, n - have, at + (gint64)have);

      if (was_interrupted (got))
        continue;
      if (got < 0)
        return -1;
      if (got == 0)
        break;
      have += (gsize)got;
    }
  return (gssize)have;
}

gssize
loom_read (int fd, void *to, gsize n)
{
  return read_all (fd, to, n, -1);
}

gssize
loom_read_at (int fd, void *to, gsize n, gint64 at)
{
  return read_all (fd, to, n, at);
}

static gboolean
write_all (int fd, const char *from, gsize n, gint64 at)
{
  while (n > 0)
    {
      const gssize put = at < 0 ? loom_os->write (fd, from, n) : loom_os->pwrite (fd, from, n, at);

      if (was_interrupted (put))
        continue;
      if (put < 0)
        return FALSE;
      from += put;
      n -= (gsize)put;
      at += at < 0 ? 0 : put;
    }
  return TRUE;
}

gboolean
loom_write (int fd, const void *from, gsize n)
{
  return write_all (fd, from, n, -1);
}

gboolean
loom_write_at (int fd, const void *from, gsize n, gint64 at)
{
  return write_all (fd, from, n, at);
}

gboolean
loom_sync (int fd, gboolean only_data)
{
  int result;

  do
    result = loom_os->sync (fd, only_data);
  while (was_interrupted (result));
  return result == 0;
}

gboolean
loom_lock (int fd, int operation)
{
  int result;

  do
    result = loom_os->lock (fd, operation);
  while (was_interrupted (result));
  return result == 0;
}

gboolean
loom_stat_fd (int fd, struct stat *info)
{
  return loom_os->stat (fd, "", info, AT_EMPTY_PATH) == 0;
}

/* ---- paths ------------------------------------------------------------- */

/* S_IFREG, S_IFDIR, …; 0: there is nothing. */
static mode_t
type_of (const char *path)
{
  struct stat info;

  return loom_os->stat (AT_FDCWD, path, &info, 0) == 0 ? info.st_mode & S_IFMT : 0;
}

gboolean
loom_path_exists (const char *path)
{
  return type_of (path) != 0;
}

gboolean
loom_path_is_file (const char *path)
{
  return type_of (path) == S_IFREG;
}

gboolean
loom_path_is_folder (const char *path)
{
  return type_of (path) == S_IFDIR;
}

gboolean
loom_path_is_link (const char *path)
{
  struct stat info;

  return loom_os->stat (AT_FDCWD, path, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK (info.st_mode);
}

char *
loom_path_link (const char *path)
{
  char target[PATH_MAX];
  const gssize n = loom_os->read_link (AT_FDCWD, path, target, sizeof target);

  return n >= 0 && n < (gssize)sizeof target ? g_strndup (target, (gsize)n) : NULL;
}

gboolean
loom_path_remove (const char *path)
{
  return loom_os->unlink (AT_FDCWD, path, 0) == 0;
}

/* The words are those of GLib. */
static gboolean
fail (const char *what, const char *path, GError **error)
{
  const int code = errno;

  g_set_error (error, G_FILE_ERROR, (int)g_file_error_from_errno (code), "%s “%s”: %s", what, path, g_strerror (code));
  return FALSE;
}

char **
loom_path_names (const char *path, GError **error)
{
  const int fd = loom_open (AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  char **names = fd >= 0 ? loom_os->list (fd) : NULL;

  if (names == NULL)
    fail ("Error opening directory", path, error);
  loom_close (fd);
  return names;
}

/* Not every folder in which one can be made can be read, and not every file system can synchronise a folder. */
static gboolean
sync_folder (const char *path)
{
  const int fd = loom_open (AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  const gboolean done = fd >= 0 ? loom_sync (fd, FALSE) || errno == EINVAL : errno == EACCES;

  loom_close (fd);
  return done;
}

/* The entry of each folder is synchronised before there is anything in it; that of the last one also if it exists,
 * since a process may have been killed, or have failed, between both. */
gboolean
loom_path_make_folder (const char *path, mode_t mode)
{
  g_autofree char *parent = g_path_get_dirname (path), *above = g_path_get_dirname (parent);

  if (!loom_path_exists (path))
    {
      if (!loom_path_exists (parent) && !loom_path_make_folder (parent, mode))
        return FALSE;
      if (!sync_folder (above) || (loom_os->mkdir (AT_FDCWD, path, mode) != 0 && errno != EEXIST))
        return FALSE;
    }
  if (!loom_path_is_folder (path))
    {
      errno = ENOTDIR;
      return FALSE;
    }
  return sync_folder (parent);
}

char *
loom_path_make_temporary (const char *name, GError **error)
{
  g_autofree char *random = g_uuid_string_random (), *own = g_strconcat (name, "-", random, NULL);
  char *path = g_build_filename (g_get_tmp_dir (), own, NULL);

  if (loom_os->mkdir (AT_FDCWD, path, 0700) == 0)
    return path;
  fail ("Error making directory", path, error);
  g_free (path);
  return NULL;
}

void
loom_path_remove_all (const char *path)
{
  const gboolean is_folder = loom_path_is_folder (path) && !loom_path_is_link (path);
  g_auto (GStrv) names = is_folder ? loom_path_names (path, NULL) : NULL;

  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *inner = g_build_filename (path, names[i], NULL);

      loom_path_remove_all (inner);
    }
  loom_os->unlink (AT_FDCWD, path, is_folder ? AT_REMOVEDIR : 0);
}

gboolean
loom_path_read (const char *path, char **data, gsize *length, GError **error)
{
  const int fd = loom_open (AT_FDCWD, path, O_RDONLY);
  g_autofree char *text = NULL;
  gsize have = 0, space;
  struct stat info;
  char *larger;
  gssize got;

  if (fd < 0)
    return fail ("Failed to open file", path, error);
  /* Files of /proc have no size, and others may grow meanwhile. */
  space = loom_stat_fd (fd, &info) && S_ISREG (info.st_mode) ? (gsize)info.st_size + 1 : 4096;
  do
    {
      space += have;
      larger = g_try_realloc (text, space + 1);
      got = -1;
      errno = ENOMEM;
      if (larger == NULL)
        break;
      text = larger;
      got = loom_read (fd, text + have, space - have);
      have += (gsize)MAX (got, 0);
    }
  while (got > 0 && have == space);
  if (got < 0)
    fail ("Failed to read from file", path, error);
  loom_close (fd);
  if (got < 0)
    return FALSE;
  text[have] = '\0';
  *data = g_steal_pointer (&text);
  if (length != NULL)
    *length = have;
  return TRUE;
}
