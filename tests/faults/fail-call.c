/* Preloaded into gradloom: lets the n-th call of one kind fail, and counts the calls of every kind.
 *
 * GRADLOOM_TEST_FAIL is "KIND:N", or "KIND:N+" if all later calls of the kind fail, too, as on a disk that stays full.
 * Calls are counted from the beginning of the program, in its libraries as well; the dynamic loader's own and those
 * that libc makes inside of other functions do not come here, therefore streams (fopen, fwrite, fflush, fclose) are
 * kinds, too. At its end the process writes a line "KIND COUNT" for each kind to GRADLOOM_TEST_CALLS, and "failed
 * FUNCTION" if its call came. Allocations count from LARGE bytes on, which are tensors, arenas and the contents of
 * files.
 *
 * With GRADLOOM_TEST_LOG what is read, written, run and connected to is written to that file. */
#undef _FILE_OFFSET_BITS /* with it open() and open64() are one name, and both must be here */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LARGE 69633 /* blocks of nodes have 64 KiB and a head, and are GLib's */

#define KINDS                                                                                                          \
  X (open, EMFILE)                                                                                                     \
  X (create, ENOSPC)                                                                                                   \
  X (read, EIO)                                                                                                        \
  X (read_short, 0)                                                                                                    \
  X (read_intr, EINTR)                                                                                                 \
  X (write, ENOSPC)                                                                                                    \
  X (write_short, 0)                                                                                                   \
  X (write_intr, EINTR)                                                                                                \
  X (sync, EIO)                                                                                                        \
  X (rename, EIO)                                                                                                      \
  X (mkdir, ENOSPC)                                                                                                    \
  X (unlink, EACCES)                                                                                                   \
  X (stat, EIO)                                                                                                        \
  X (dir, EMFILE)                                                                                                      \
  X (readdir, EIO)                                                                                                     \
  X (truncate, ENOSPC)                                                                                                 \
  X (mmap, ENOMEM)                                                                                                     \
  X (jit, ENOMEM)                                                                                                      \
  X (seek, EIO)                                                                                                        \
  X (close, EIO)                                                                                                       \
  X (meta, EPERM)                                                                                                      \
  X (name, EACCES)                                                                                                     \
  X (pipe, EMFILE)                                                                                                     \
  X (socket, EMFILE)                                                                                                   \
  X (thread, EAGAIN)                                                                                                   \
  X (alloc, ENOMEM)                                                                                                    \
  X (small, ENOMEM)                                                                                                    \
  X (disk, ENOSPC)

enum
{
#define X(name, error) K_##name,
  KINDS
#undef X
      N_KINDS
};

static const char *const names[] = {
#define X(name, error) #name,
  KINDS
#undef X
};

static const int errors[] = {
#define X(name, error) error,
  KINDS
#undef X
};

static int failing = -1, and_later, counts[N_KINDS];
static long failing_at;
static const char *failed_in;
static int active, log_fd = -1;

#define NO_FOLDER -1000 /* the path is no file's */

#define NEXT(f)                                                                                                        \
  static typeof (&(f)) next;                                                                                           \
  if (next == NULL)                                                                                                    \
  next = (typeof (next))dlsym (RTLD_NEXT, #f)

__attribute__ ((constructor)) static void
begin (void)
{
  const char *how = getenv ("GRADLOOM_TEST_FAIL");

  if (getenv ("GRADLOOM_TEST_LOG") != NULL)
    log_fd = (int)syscall (SYS_open, getenv ("GRADLOOM_TEST_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (strncmp (program_invocation_short_name, "gradloom", 8) != 0)
    return;
  if (how != NULL)
    {
      const char *colon = strchr (how, ':');

      for (int i = 0; colon != NULL && i < N_KINDS; i++)
        if (strlen (names[i]) == (size_t)(colon - how) && strncmp (names[i], how, (size_t)(colon - how)) == 0)
          {
            failing = i;
            failing_at = atol (colon + 1);
            and_later = strchr (colon, '+') != NULL;
          }
    }
  active = 1;
}

/* A line "WHAT PATH" of GRADLOOM_TEST_LOG, for each call that names a file, a program or a kind of socket. */
static void
note (const char *what, int fd, const char *path)
{
  char line[3 * PATH_MAX], folder[PATH_MAX] = "", link[64];
  int n;

  if (log_fd < 0 || path == NULL)
    return;
  if (path[0] != '/' && fd != NO_FOLDER)
    {
      snprintf (link, sizeof link, fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
      const long length = syscall (SYS_readlink, link, folder, sizeof folder - 1);
      folder[length > 0 ? length : 0] = '\0';
    }
  n = snprintf (line, sizeof line, "%s %s%s%s\n", what, folder, folder[0] != '\0' ? "/" : "", path);
  syscall (SYS_write, log_fd, line, n);
}

__attribute__ ((destructor)) static void
end (void)
{
  const char *path = getenv ("GRADLOOM_TEST_CALLS");
  char text[4096];
  int n = 0;

  if (!active || path == NULL)
    return;
  active = 0;
  for (int i = 0; i < N_KINDS; i++)
    n += snprintf (text + n, sizeof text - (size_t)n, "%s %d\n", names[i], counts[i]);
  if (failed_in != NULL)
    n += snprintf (text + n, sizeof text - (size_t)n, "failed %s\n", failed_in);
  int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd >= 0 && write (fd, text, (size_t)n) != n)
    abort ();
  if (fd >= 0)
    close (fd);
}

/* 1 if this call must fail, with errno set. */
static int
fails (int kind, const char *function)
{
  if (!active)
    return 0;
  const int n = __atomic_add_fetch (&counts[kind], 1, __ATOMIC_RELAXED);
  if (kind != failing || (and_later ? n < failing_at : n != failing_at))
    return 0;
  failed_in = function;
  if (getenv ("GRADLOOM_TEST_TRACE") != NULL)
    {
      void *frames[40];
      active = 0;
      backtrace_symbols_fd (frames, backtrace (frames, 40), 2);
      active = 1;
    }
  errno = errors[kind];
  return 1;
}

/* A call that would write to the disk. */
static int
disk_fails (int kind, const char *function)
{
  return fails (kind, function) || fails (K_disk, function);
}

static int
is_on_disk (int fd)
{
  struct stat is;

  return fd > 2 && syscall (SYS_fstat, fd, &is) == 0 && S_ISREG (is.st_mode);
}

/* ---- files ------------------------------------------------------------ */

#define CREATES(flags) (((flags) & (O_CREAT | O_TRUNC)) != 0 || ((flags)&O_ACCMODE) != O_RDONLY)

static int
open_fails (int fd, const char *path, int flags, const char *function)
{
  note (CREATES (flags) ? "write" : "read", fd, path);
  return CREATES (flags) ? disk_fails (K_create, function) : fails (K_open, function);
}

#define OPEN(function)                                                                                                 \
  int function (const char *path, int flags, ...)                                                                      \
  {                                                                                                                    \
    NEXT (function);                                                                                                   \
    va_list args;                                                                                                      \
    va_start (args, flags);                                                                                            \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg (args, mode_t) : 0;                              \
    va_end (args);                                                                                                     \
    return open_fails (AT_FDCWD, path, flags, #function) ? -1 : next (path, flags, mode);                              \
  }
OPEN (open)
OPEN (open64)

#define OPENAT(function)                                                                                               \
  int function (int fd, const char *path, int flags, ...)                                                              \
  {                                                                                                                    \
    NEXT (function);                                                                                                   \
    va_list args;                                                                                                      \
    va_start (args, flags);                                                                                            \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg (args, mode_t) : 0;                              \
    va_end (args);                                                                                                     \
    return open_fails (fd, path, flags, #function) ? -1 : next (fd, path, flags, mode);                                \
  }
OPENAT (openat)
OPENAT (openat64)

#define FOPEN(function)                                                                                                \
  FILE *function (const char *path, const char *mode)                                                                  \
  {                                                                                                                    \
    NEXT (function);                                                                                                   \
    note (*mode == 'r' ? "read" : "write", AT_FDCWD, path);                                                            \
    return (*mode == 'r' ? fails (K_open, #function) : disk_fails (K_create, #function)) ? NULL : next (path, mode);   \
  }
FOPEN (fopen)
FOPEN (fopen64)

FILE *
fdopen (int fd, const char *mode)
{
  NEXT (fdopen);
  return fails (K_open, "fdopen") ? NULL : next (fd, mode);
}

ssize_t
read (int fd, void *to, size_t n)
{
  NEXT (read);
  if (fails (K_read, "read") || fails (K_read_intr, "read"))
    return -1;
  return next (fd, to, n > 1 && fails (K_read_short, "read") ? (n + 1) / 2 : n);
}

#define PREAD(function, offset_type)                                                                                   \
  ssize_t function (int fd, void *to, size_t n, offset_type at)                                                        \
  {                                                                                                                    \
    NEXT (function);                                                                                                   \
    if (fails (K_read, #function) || fails (K_read_intr, #function))                                                   \
      return -1;                                                                                                       \
    return next (fd, to, n > 1 && fails (K_read_short, #function) ? (n + 1) / 2 : n, at);                              \
  }
PREAD (pread, off_t)
PREAD (pread64, off64_t)

size_t
fread (void *to, size_t size, size_t n, FILE *stream)
{
  NEXT (fread);
  return fails (K_read, "fread") ? 0 : next (to, size, n, stream);
}

char *
fgets (char *to, int n, FILE *stream)
{
  NEXT (fgets);
  return fails (K_read, "fgets") ? NULL : next (to, n, stream);
}

static int
write_fails (int fd, const char *function)
{
  return fails (K_write, function) || fails (K_write_intr, function) || (is_on_disk (fd) && fails (K_disk, function));
}

ssize_t
write (int fd, const void *from, size_t n)
{
  NEXT (write);
  if (write_fails (fd, "write"))
    return -1;
  return next (fd, from, n > 1 && fails (K_write_short, "write") ? (n + 1) / 2 : n);
}

ssize_t
writev (int fd, const struct iovec *from, int n)
{
  NEXT (writev);
  return write_fails (fd, "writev") ? -1 : next (fd, from, n);
}

#define PWRITE(function, offset_type)                                                                                  \
  ssize_t function (int fd, const void *from, size_t n, offset_type at)                                                \
  {                                                                                                                    \
    NEXT (function);                                                                                                   \
    if (write_fails (fd, #function))                                                                                   \
      return -1;                                                                                                       \
    return next (fd, from, n > 1 && fails (K_write_short, #function) ? (n + 1) / 2 : n, at);                           \
  }
PWRITE (pwrite, off_t)
PWRITE (pwrite64, off64_t)

/* Standard output has tests of its own with /dev/full and a closed pipe. */
size_t
fwrite (const void *from, size_t size, size_t n, FILE *stream)
{
  NEXT (fwrite);
  return stream != stdout && stream != stderr && disk_fails (K_write, "fwrite") ? 0 : next (from, size, n, stream);
}

int
fflush (FILE *stream)
{
  NEXT (fflush);
  return stream != NULL && stream != stdout && stream != stderr && disk_fails (K_write, "fflush") ? EOF : next (stream);
}

int
fclose (FILE *stream)
{
  NEXT (fclose);
  const int writes = (fcntl (fileno (stream), F_GETFL) & O_ACCMODE) != O_RDONLY;
  const int failure
      = stream != stdout && stream != stderr && (writes ? disk_fails (K_close, "fclose") : fails (K_close, "fclose")),
      error = errno;
  const int result = next (stream);

  if (failure)
    errno = error;
  return failure ? EOF : result;
}

int
close (int fd)
{
  NEXT (close);
  const int failure = fails (K_close, "close"), error = errno, result = next (fd);

  if (failure)
    errno = error;
  return failure ? -1 : result;
}

#define FAILS(kind, result, type, function, parameters, arguments)                                                     \
  type function parameters                                                                                             \
  {                                                                                                                    \
    NEXT (function);                                                                                                   \
    return fails (kind, #function) ? (result) : next arguments;                                                        \
  }
#define DISK_FAILS(kind, function, parameters, arguments)                                                              \
  int function parameters                                                                                              \
  {                                                                                                                    \
    NEXT (function);                                                                                                   \
    return disk_fails (kind, #function) ? -1 : next arguments;                                                         \
  }
DISK_FAILS (K_sync, fsync, (int fd), (fd))
DISK_FAILS (K_sync, fdatasync, (int fd), (fd))
DISK_FAILS (K_rename, link, (const char *a, const char *b), (a, b))
DISK_FAILS (K_rename, linkat, (int f, const char *a, int g, const char *b, int flags), (f, a, g, b, flags))
DISK_FAILS (K_rename, symlink, (const char *a, const char *b), (a, b))
DISK_FAILS (K_mkdir, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
DISK_FAILS (K_truncate, ftruncate, (int fd, off_t n), (fd, n))
DISK_FAILS (K_truncate, ftruncate64, (int fd, off64_t n), (fd, n))
DISK_FAILS (K_truncate, truncate, (const char *path, off_t n), (path, n))
DISK_FAILS (K_truncate, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
FAILS (K_unlink, -1, int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
FAILS (K_unlink, -1, int, remove, (const char *path), (path))
FAILS (K_unlink, -1, int, rmdir, (const char *path), (path))
FAILS (K_stat, -1, int, stat, (const char *path, struct stat *is), (path, is))
FAILS (K_stat, -1, int, stat64, (const char *path, struct stat64 *is), (path, is))
FAILS (K_stat, -1, int, lstat, (const char *path, struct stat *is), (path, is))
FAILS (K_stat, -1, int, lstat64, (const char *path, struct stat64 *is), (path, is))
FAILS (K_stat, -1, int, fstat, (int fd, struct stat *is), (fd, is))
FAILS (K_stat, -1, int, fstat64, (int fd, struct stat64 *is), (fd, is))
FAILS (K_stat, -1, int, fstatat, (int fd, const char *path, struct stat *is, int flags), (fd, path, is, flags))
FAILS (K_stat, -1, int, fstatat64, (int fd, const char *path, struct stat64 *is, int flags), (fd, path, is, flags))
FAILS (K_stat, -1, int, statx, (int fd, const char *path, int flags, unsigned mask, struct statx *is),
       (fd, path, flags, mask, is))
FAILS (K_stat, -1, int, statvfs, (const char *path, struct statvfs *is), (path, is))
FAILS (K_stat, -1, int, statvfs64, (const char *path, struct statvfs64 *is), (path, is))
FAILS (K_name, -1, int, access, (const char *path, int mode), (path, mode))
FAILS (K_name, -1, ssize_t, readlink, (const char *path, char *to, size_t n), (path, to, n))
FAILS (K_name, NULL, char *, realpath, (const char *path, char *to), (path, to))
FAILS (K_name, NULL, char *, getcwd, (char *to, size_t n), (to, n))
FAILS (K_dir, NULL, DIR *, opendir, (const char *path), (path))
FAILS (K_dir, NULL, DIR *, fdopendir, (int fd), (fd))
FAILS (K_readdir, NULL, struct dirent *, readdir, (DIR * dir), (dir))
FAILS (K_readdir, NULL, struct dirent64 *, readdir64, (DIR * dir), (dir))
FAILS (fd >= 0 ? K_mmap : K_jit, MAP_FAILED, void *, mmap,
       (void *at, size_t n, int prot, int flags, int fd, off_t offset), (at, n, prot, flags, fd, offset))
FAILS (fd >= 0 ? K_mmap : K_jit, MAP_FAILED, void *, mmap64,
       (void *at, size_t n, int prot, int flags, int fd, off64_t offset), (at, n, prot, flags, fd, offset))
FAILS (K_seek, -1, off_t, lseek, (int fd, off_t at, int from), (fd, at, from))
FAILS (K_seek, -1, off64_t, lseek64, (int fd, off64_t at, int from), (fd, at, from))
FAILS (K_seek, -1, int, fseek, (FILE * stream, long at, int from), (stream, at, from))
FAILS (K_seek, -1, int, fseeko, (FILE * stream, off_t at, int from), (stream, at, from))
FAILS (K_meta, -1, int, chmod, (const char *path, mode_t mode), (path, mode))
FAILS (K_meta, -1, int, fchmod, (int fd, mode_t mode), (fd, mode))
FAILS (K_meta, -1, int, flock, (int fd, int how), (fd, how))
FAILS (K_meta, -1, int, futimens, (int fd, const struct timespec times[2]), (fd, times))
FAILS (K_meta, -1, int, utimensat, (int fd, const char *path, const struct timespec times[2], int flags),
       (fd, path, times, flags))
FAILS (K_pipe, -1, int, pipe, (int fds[2]), (fds))
FAILS (K_pipe, -1, int, pipe2, (int fds[2], int flags), (fds, flags))
FAILS (K_pipe, -1, int, eventfd, (unsigned int n, int flags), (n, flags))
FAILS (K_pipe, -1, int, dup, (int fd), (fd))
FAILS (K_pipe, -1, int, dup2, (int fd, int to), (fd, to))
FAILS (K_socket, -1, int, socket, (int domain, int type, int protocol), (domain, type, protocol))
FAILS (K_socket, -1, int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))
FAILS (K_socket, -1, int, bind, (int fd, const struct sockaddr *at, socklen_t n), (fd, at, n))
FAILS (K_socket, -1, int, listen, (int fd, int n), (fd, n))
FAILS (K_thread, EAGAIN, int, pthread_create,
       (pthread_t * thread, const pthread_attr_t *attributes, void *(*run) (void *), void *data),
       (thread, attributes, run, data))

/* ---- what leaves the folder -------------------------------------------- */

int
rename (const char *a, const char *b)
{
  NEXT (rename);
  note ("write", AT_FDCWD, b);
  return disk_fails (K_rename, "rename") ? -1 : next (a, b);
}

int
renameat (int f, const char *a, int g, const char *b)
{
  NEXT (renameat);
  note ("write", g, b);
  return disk_fails (K_rename, "renameat") ? -1 : next (f, a, g, b);
}

int
mkdir (const char *path, mode_t mode)
{
  NEXT (mkdir);
  note ("write", AT_FDCWD, path);
  return disk_fails (K_mkdir, "mkdir") ? -1 : next (path, mode);
}

int
unlink (const char *path)
{
  NEXT (unlink);
  note ("write", AT_FDCWD, path);
  return fails (K_unlink, "unlink") ? -1 : next (path);
}

int
connect (int fd, const struct sockaddr *at, socklen_t n)
{
  NEXT (connect);
  note ("connect", NO_FOLDER, at->sa_family == AF_UNIX ? "unix" : at->sa_family == AF_NETLINK ? "netlink" : "network");
  return fails (K_socket, "connect") ? -1 : next (fd, at, n);
}

int
execve (const char *path, char *const words[], char *const env[])
{
  NEXT (execve);
  note ("run", AT_FDCWD, path);
  return next (path, words, env);
}

int
execvp (const char *path, char *const words[])
{
  NEXT (execvp);
  note ("run", NO_FOLDER, path);
  return next (path, words);
}

int
posix_spawn (pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *how,
             char *const words[], char *const env[])
{
  NEXT (posix_spawn);
  note ("run", NO_FOLDER, path);
  return next (pid, path, actions, how, words, env);
}

int
system (const char *command)
{
  NEXT (system);
  note ("run", NO_FOLDER, command);
  return next (command);
}

/* ---- memory ----------------------------------------------------------- */

static int
allocation_fails (size_t n, const char *function)
{
  return fails (n >= LARGE ? K_alloc : K_small, function);
}

#define ALLOCATES(type, function, size, parameters, arguments)                                                         \
  type function parameters                                                                                             \
  {                                                                                                                    \
    NEXT (function);                                                                                                   \
    return allocation_fails ((size), #function) ? NULL : next arguments;                                               \
  }
ALLOCATES (void *, malloc, n, (size_t n), (n))
ALLOCATES (void *, calloc, n *size, (size_t n, size_t size), (n, size))
ALLOCATES (void *, realloc, n, (void *p, size_t n), (p, n))
ALLOCATES (void *, aligned_alloc, n, (size_t alignment, size_t n), (alignment, n))
ALLOCATES (void *, memalign, n, (size_t alignment, size_t n), (alignment, n))

int
posix_memalign (void **p, size_t alignment, size_t n)
{
  NEXT (posix_memalign);
  return allocation_fails (n, "posix_memalign") ? ENOMEM : next (p, alignment, n);
}
