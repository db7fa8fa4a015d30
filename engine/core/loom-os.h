/* The operating system as the program sees it: files, folders and clocks, in one table of functions.
 *
 * All code of engine/, app/ and the documents of Studio goes through this table (tests/arch), so that a test can
 * exchange it for a world of its own, in which calls fail, power is lost and clocks jump (tests/world). Functions
 * return and set errno as the calls of POSIX that they are named after; `folder` is a descriptor or AT_FDCWD. The
 * functions below the table are what most callers need: they go on after EINTR and after short reads and writes. */
#pragma once

#include <fcntl.h>
#include <glib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef struct
{
  int (*open) (int folder, const char *path, int flags, mode_t mode);
  int (*close) (int fd);
  gssize (*read) (int fd, void *to, gsize n);
  gssize (*pread) (int fd, void *to, gsize n, off_t at);
  gssize (*write) (int fd, const void *from, gsize n);
  gssize (*pwrite) (int fd, const void *from, gsize n, off_t at);
  off_t (*seek) (int fd, off_t at, int whence);
  int (*truncate) (int fd, off_t length);
  int (*sync) (int fd, gboolean only_data); /* fsync(), fdatasync() */
  int (*lock) (int fd, int operation);      /* flock() */
  GMappedFile *(*map) (int fd, GError **error);
  int (*stat) (int folder, const char *path, struct stat *info, int flags); /* "" with AT_EMPTY_PATH: of a descriptor */
  int (*chmod) (int fd, mode_t mode);
  int (*rename) (int folder, const char *from, const char *to, guint flags); /* both in one folder; renameat2() */
  int (*link) (int from_folder, const char *from, int to_folder, const char *to);
  int (*unlink) (int folder, const char *path, int flags);
  int (*mkdir) (int folder, const char *path, mode_t mode);
  char **(*list) (int folder);           /* names without "." and "..", unsorted; NULL: errno is set */
  char *(*real_path) (const char *path); /* for g_free() */
  gssize (*read_link) (int folder, const char *path, char *to, gsize n);
  gint64 (*nanoseconds) (void);            /* monotonic */
  gint64 (*wall) (void);                 /* µs since 1970 */
  void (*sleep) (gint64 microseconds);
} LoomOs;

/* The operating system itself, and the one in use. */
extern const LoomOs loom_os_real;
extern const LoomOs *loom_os;

/* ---- descriptors ------------------------------------------------------- */

/* With O_CLOEXEC and, for a new file, mode 0666. */
int loom_open (int folder, const char *path, int flags);
void loom_close (int fd);
/* Reads until n bytes or the end of the file. The number of bytes; -1: errno is set. */
gssize loom_read (int fd, void *to, gsize n);
gssize loom_read_at (int fd, void *to, gsize n, gint64 at);
/* Writes all bytes. FALSE: errno is set. */
gboolean loom_write (int fd, const void *from, gsize n);
gboolean loom_write_at (int fd, const void *from, gsize n, gint64 at);
gboolean loom_sync (int fd, gboolean only_data);
gboolean loom_lock (int fd, int operation);
gboolean loom_stat_fd (int fd, struct stat *info);

/* ---- paths ------------------------------------------------------------- */

/* What a path is; links are followed. */
gboolean loom_path_exists (const char *path);
gboolean loom_path_is_file (const char *path);
gboolean loom_path_is_folder (const char *path);
gboolean loom_path_is_link (const char *path);
/* The target of a link, as it is written; NULL: the path is none. (transfer full) */
char *loom_path_link (const char *path);
gboolean loom_path_remove (const char *path); /* a file or a link */
/* The names in a folder, unsorted. GFileError. (transfer full) */
char **loom_path_names (const char *path, GError **error);
/* Makes a folder, and those that it is in, whose entries are synchronised to the disk. FALSE: errno is set. */
gboolean loom_path_make_folder (const char *path, mode_t mode);
/* Makes a folder for temporary files whose name begins so. GFileError. (transfer full) */
char *loom_path_make_temporary (const char *name, GError **error);
/* Removes a file, a link, or a folder with all that is in it; links are not followed. What cannot be removed stays. */
void loom_path_remove_all (const char *path);
/* The content of a file, followed by a zero byte, for g_free(). length may be NULL. GFileError. */
gboolean loom_path_read (const char *path, char **data, gsize *length, GError **error);

/* ---- clocks ------------------------------------------------------------ */

/* In µs; the monotonic clock also in ns. */
static inline gint64
loom_nanoseconds (void)
{
  return loom_os->nanoseconds ();
}

static inline gint64
loom_monotonic (void)
{
  return loom_os->nanoseconds () / 1000;
}

static inline gint64
loom_wall (void)
{
  return loom_os->wall ();
}
