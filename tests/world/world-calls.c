/* The calls of the operating system on the simulated disk, and the faults that they meet; see world-disk.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/world/world-machine.h"
#include "tests/world/world-store.h"

static int life = -1, full_until, n_faults;
static WorldFault fault[WORLD_MOST_FAULTS];
static GMutex mutex;
static __thread int rank; /* of this thread, each of which has its own calls */
static __thread gboolean is_rank;
static int calls_of[WORLD_N_CALLS][WORLD_MOST_RANKS];

const char *
world_fault_name (WorldFaultKind kind)
{
  static const char *const names[WORLD_N_FAULTS]
      = { "kill",   "power",  "EIO",  "ENOSPC", "EMFILE", "EINTR", "short", "full", "jump",   "hang",
          "memory", "device", "lost", "late",   "stall",  "die",   "break", "lose", "repeat", "stop" };

  return names[kind];
}

WorldCall
world_fault_call (WorldFaultKind kind)
{
  return kind < WORLD_MEMORY   ? WORLD_CALL_FILE
         : kind < WORLD_DEVICE ? WORLD_CALL_MEMORY
         : kind < WORLD_LATE   ? WORLD_CALL_DEVICE
         : kind < WORLD_STOP   ? WORLD_CALL_EXCHANGE
                               : WORLD_CALL_STEP;
}

/* ---- faults ------------------------------------------------------------- */

typedef enum
{
  MAY_FAIL = 1,
  MAY_FILL = 2,
  MAY_OPEN = 4,
  MAY_WAIT = 8,
  MAY_HALVE = 16
} May;

/* Every call of the program begins here, with the lock held. 0, or the error that it fails with; -1: it does a part of
 * its work. `before_end` is done, in part, by a process that is killed in the call. */
static int
enter (May may)
{
  const int call = rank * WORLD_RANK_CALLS + calls_of[WORLD_CALL_FILE][rank]++;
  int error = 0;

  if (life < 0)
    return 0;
  /* The clock of the first rank decides, so that its steps do not depend on how threads alternate. */
  if (rank == 0)
    {
      world_disk->report.calls[WORLD_CALL_FILE]++;
      world_disk->report.clock += 50000;
      world_disk->report.wall += 50;
    }
  for (int i = 0; i < n_faults; i++)
    {
      const WorldFault *f = &fault[i];
      gboolean hung = FALSE;

      if (f->life != life || f->call != call || world_fault_call (f->kind) != WORLD_CALL_FILE)
        continue;
      switch (f->kind)
        {
        case WORLD_KILL:
        case WORLD_POWER:
          if (rank == 0)
            error = f->kind == WORLD_KILL ? -WORLD_EXIT_KILL : -WORLD_EXIT_POWER;
          break;
        case WORLD_EIO:
          error = (may & MAY_FAIL) ? EIO : 0;
          break;
        case WORLD_ENOSPC:
          error = (may & MAY_FILL) ? ENOSPC : 0;
          break;
        case WORLD_EMFILE:
          error = (may & MAY_OPEN) ? EMFILE : 0;
          break;
        case WORLD_EINTR:
          error = (may & MAY_WAIT) ? EINTR : 0;
          break;
        case WORLD_SHORT:
          error = (may & MAY_HALVE) ? -1 : 0;
          break;
        case WORLD_FULL:
          full_until = call + FULL;
          world_disk->report.n_met++;
          break;
        case WORLD_HANG:
          world_disk->report.clock += G_GINT64_CONSTANT (60000000000);
          g_mutex_unlock (&mutex);
          hung = world_machine_hang ();
          g_mutex_lock (&mutex);
          break;
        case WORLD_JUMP:
          world_disk->report.clock += G_GINT64_CONSTANT (3600000000000);
          world_disk->report.wall
              += (world_hash (world_disk->seed, life, call) & 1 ? 1 : -1) * G_GINT64_CONSTANT (90000000000);
          break;
        default:
          break;
        }
      world_disk->report.n_met += error != 0 || f->kind == WORLD_JUMP || hung;
    }
  if (error == 0 && call < full_until && (may & MAY_FILL))
    error = ENOSPC;
  return error;
}

int
world_meet (WorldCall of)
{
  int met = -1, call;

  if (life < 0 || !is_rank)
    return -1;
  g_mutex_lock (&mutex);
  call = rank * WORLD_RANK_CALLS + calls_of[of][rank]++;
  world_disk->report.calls[of] += rank == 0;
  for (int i = 0; i < n_faults && met < 0; i++)
    if (fault[i].life == life && fault[i].call == call && world_fault_call (fault[i].kind) == of)
      met = (int)fault[i].kind;
  world_disk->report.n_met += met >= 0;
  g_mutex_unlock (&mutex);
  return met;
}

static void
end_if_killed (int error)
{
  if (error <= -WORLD_EXIT_KILL)
    _exit (-error);
}

#define ENTER(MAY)                                                                                                     \
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);                                                       \
  int failed = enter (MAY);                                                                                            \
  end_if_killed (failed);                                                                                              \
  if (failed > 0)                                                                                                      \
    {                                                                                                                  \
      errno = failed;                                                                                                  \
      return -1;                                                                                                       \
    }

/* ---- calls -------------------------------------------------------------- */

static int
world_open (int folder, const char *path, int flags, mode_t mode)
{
  char leaf[NAME];
  int in, inode, fd;
  const Entry *found;

  if (!world_is_ours (folder, path))
    return loom_os_real.open (folder, path, flags, mode);
  ENTER (MAY_FAIL | MAY_OPEN | MAY_WAIT | ((flags & O_CREAT) ? MAY_FILL : 0));
  in = world_walk (folder, path, leaf);
  if (in == 0)
    return -1;
  found = g_str_equal (leaf, ".") ? NULL : world_find (&world_folder_of (in)->now, leaf);
  inode = found != NULL ? found->inode : g_str_equal (leaf, ".") ? in : 0;
  if (inode == 0 && !(flags & O_CREAT))
    errno = ENOENT;
  else if (inode != 0 && (flags & O_CREAT) && (flags & O_EXCL))
    errno = EEXIST;
  else if (inode != 0 && (flags & O_DIRECTORY) && !S_ISDIR (world_disk->inode[inode].mode))
    errno = ENOTDIR;
  else if (inode != 0 && (flags & O_ACCMODE) != O_RDONLY && S_ISDIR (world_disk->inode[inode].mode))
    errno = EISDIR;
  else
    {
      if (inode == 0)
        {
          inode = world_new_inode (S_IFREG | (mode & 0777));
          world_disk->inode[inode].names = 1;
          world_change (world_folder_of (in), (Change){ { world_entry_of (leaf, inode) }, 1 });
        }
      for (fd = 0; fd < OPEN && world_descriptor[fd].inode != 0; fd++)
        ;
      g_assert_cmpint (fd, <, OPEN); /* they are not closed */
      world_descriptor[fd] = (Descriptor){ inode, flags, 0, FALSE };
      return FIRST + fd;
    }
  return -1;
}

static int
world_close (int fd)
{
  if (fd < FIRST)
    return loom_os_real.close (fd);
  world_descriptor[fd - FIRST].inode = 0; /* also if it fails */
  ENTER (MAY_FAIL | MAY_WAIT);
  return 0;
}

static gssize
read_at (int fd, void *to, gsize n, gsize offset)
{
  const Inode *file = &world_disk->inode[world_descriptor[fd - FIRST].inode];

  if (S_ISDIR (file->mode))
    {
      errno = EISDIR;
      return -1;
    }
  n = offset < file->size ? MIN (n, file->size - offset) : 0;
  if (n > 0)
    memcpy (to, (const char *)world_at (file->now) + offset, n);
  return (gssize)n;
}

static gssize
world_read (int fd, void *to, gsize n)
{
  gssize got;

  if (fd < FIRST)
    return loom_os_real.read (fd, to, n);
  ENTER (MAY_FAIL | MAY_WAIT | MAY_HALVE);
  got = read_at (fd, to, failed < 0 ? (n + 1) / 2 : n, world_descriptor[fd - FIRST].at);
  world_descriptor[fd - FIRST].at += (gsize)MAX (got, 0);
  return got;
}

static gssize
world_pread (int fd, void *to, gsize n, off_t offset)
{
  if (fd < FIRST)
    return loom_os_real.pread (fd, to, n, offset);
  ENTER (MAY_FAIL | MAY_WAIT | MAY_HALVE);
  return read_at (fd, to, failed < 0 ? (n + 1) / 2 : n, (gsize)offset);
}

static gssize
write_at (int fd, const void *from, gsize n, gsize offset, gboolean moves)
{
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  Descriptor *d = &world_descriptor[fd - FIRST];
  Inode *file = &world_disk->inode[d->inode];
  const int failed = enter (MAY_FAIL | MAY_FILL | MAY_WAIT | MAY_HALVE);

  if (failed > 0)
    {
      errno = failed;
      return -1;
    }
  if (failed < 0 && n > 0)
    n = failed == -1 ? (n + 1) / 2
                     : world_hash (world_disk->seed, (guint64)life, (guint64)world_disk->report.calls[WORLD_CALL_FILE])
                           % (n + 1);
  if (d->flags & O_APPEND)
    offset = file->size;
  world_put_content (file, from, n, offset);
  if (moves)
    d->at = offset + n;
  end_if_killed (failed);
  return (gssize)n;
}

static gssize
world_write (int fd, const void *from, gsize n)
{
  return fd < FIRST ? loom_os_real.write (fd, from, n) : write_at (fd, from, n, world_descriptor[fd - FIRST].at, TRUE);
}

static gssize
world_pwrite (int fd, const void *from, gsize n, off_t offset)
{
  return fd < FIRST ? loom_os_real.pwrite (fd, from, n, offset) : write_at (fd, from, n, (gsize)offset, FALSE);
}

static off_t
world_seek (int fd, off_t offset, int whence)
{
  Descriptor *d = &world_descriptor[MAX (fd - FIRST, 0)];

  if (fd < FIRST)
    return loom_os_real.seek (fd, offset, whence);
  d->at = (gsize)(offset + (whence == SEEK_END ? (off_t)world_disk->inode[d->inode].size : 0));
  return (off_t)d->at;
}

static int
world_truncate (int fd, off_t length)
{
  Inode *file;

  if (fd < FIRST)
    return loom_os_real.truncate (fd, length);
  ENTER (MAY_FAIL | MAY_WAIT);
  file = &world_disk->inode[world_descriptor[fd - FIRST].inode];
  if ((gsize)length < file->size)
    {
      memset ((char *)world_at (file->now) + length, 0, file->size - (gsize)length);
      memset ((char *)world_at (file->dirty) + length / SECTOR, 1,
              (file->size - 1) / SECTOR - (gsize)length / SECTOR + 1);
    }
  file->size = (gsize)length;
  world_make_space (file, file->size);
  return 0;
}

static int
world_sync (int fd, gboolean only_data)
{
  int inode;

  if (fd < FIRST)
    return loom_os_real.sync (fd, only_data);
  inode = world_descriptor[fd - FIRST].inode;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  const int failed = enter (MAY_FAIL | MAY_FILL | MAY_WAIT);
  end_if_killed (failed);
  if (failed != EINTR && !S_ISDIR (world_disk->inode[inode].mode))
    world_sync_content (&world_disk->inode[inode], failed > 0);
  if (failed == 0 && S_ISDIR (world_disk->inode[inode].mode))
    world_sync_names (world_folder_of (inode));
  errno = failed;
  return failed > 0 ? -1 : 0;
}

/* Locks are for one descriptor alone, and end with it. None is waited for: a life is alone on its machine. */
static int
world_lock (int fd, int operation)
{
  Descriptor *own = &world_descriptor[MAX (fd - FIRST, 0)];

  if (fd < FIRST)
    return loom_os_real.lock (fd, operation);
  ENTER (MAY_WAIT);
  for (int i = 0; i < OPEN && !(operation & LOCK_UN); i++)
    if (&world_descriptor[i] != own && world_descriptor[i].inode == own->inode && world_descriptor[i].is_locked)
      {
        errno = EWOULDBLOCK;
        return -1;
      }
  own->is_locked = (operation & LOCK_EX) != 0;
  return 0;
}

static GMappedFile *
world_map (int fd, GError **error)
{
  GMappedFile *mapped = NULL;
  const Inode *file;
  int copy, failed;

  if (fd < FIRST)
    return loom_os_real.map (fd, error);
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  failed = enter (MAY_FAIL | MAY_OPEN);
  end_if_killed (failed);
  if (failed > 0)
    {
      g_set_error (error, G_FILE_ERROR, (int)g_file_error_from_errno (failed), "%s", g_strerror (failed));
      return NULL;
    }
  file = &world_disk->inode[world_descriptor[fd - FIRST].inode];
  copy = memfd_create ("world", MFD_CLOEXEC);
  g_assert_cmpint (copy, >=, 0);
  if (loom_os_real.write (copy, file->size > 0 ? world_at (file->now) : "", file->size) == (gssize)file->size)
    mapped = g_mapped_file_new_from_fd (copy, FALSE, error);
  close (copy);
  return mapped;
}

static int
world_stat (int folder, const char *path, struct stat *info, int flags)
{
  int inode;

  if (!world_is_ours (folder, path))
    return loom_os_real.stat (folder, path, info, flags);
  ENTER (MAY_FAIL);
  inode = world_lookup (folder, path);
  if (inode == 0)
    return -1;
  *info = (struct stat){ .st_mode = world_disk->inode[inode].mode,
                         .st_size = (off_t)world_disk->inode[inode].size,
                         .st_ino = (ino_t)inode,
                         .st_nlink = (nlink_t)MAX (world_disk->inode[inode].names, 1),
                         .st_uid = getuid () };
  info->st_mtim.tv_sec = world_disk->report.wall / 1000000;
  return 0;
}

static int
world_chmod (int fd, mode_t mode)
{
  if (fd < FIRST)
    return loom_os_real.chmod (fd, mode);
  ENTER (MAY_FAIL);
  return 0;
}

static int
count_names (int inode)
{
  return S_ISDIR (world_disk->inode[inode].mode) ? world_folder_of (inode)->now.n : 0;
}

static int
world_rename (int folder, const char *from, const char *to, guint flags)
{
  char old[NAME], new[NAME];
  int in, inode;
  const Entry *source, *target;

  if (!world_is_ours (folder, from))
    return loom_os_real.rename (folder, from, to, flags);
  ENTER (MAY_FAIL | MAY_FILL);
  in = world_walk (folder, from, old);
  if (in == 0 || in != world_walk (folder, to, new))
    {
      errno = in == 0 ? ENOENT : EXDEV;
      return -1;
    }
  source = world_find (&world_folder_of (in)->now, old);
  target = world_find (&world_folder_of (in)->now, new);
  if (source == NULL || (target == NULL && flags != 0))
    {
      errno = ENOENT;
      return -1;
    }
  inode = source->inode;
  if (flags != 0)
    {
      world_change (world_folder_of (in),
                    (Change){ { world_entry_of (old, target->inode), world_entry_of (new, inode) }, 2 });
      return 0;
    }
  if (target != NULL && target->inode == inode)
    return 0;
  if (target != NULL && count_names (target->inode) > 0)
    {
      errno = ENOTEMPTY;
      return -1;
    }
  if (target != NULL)
    world_disk->inode[target->inode].names--;
  world_change (world_folder_of (in), (Change){ { world_entry_of (old, 0), world_entry_of (new, inode) }, 2 });
  return 0;
}

static int
world_link (int from_folder, const char *from, int to_folder, const char *to)
{
  char leaf[NAME];
  int inode, in;

  if (!world_is_ours (from_folder, from))
    return loom_os_real.link (from_folder, from, to_folder, to);
  ENTER (MAY_FAIL | MAY_FILL);
  inode = world_lookup (from_folder, from);
  in = inode != 0 ? world_walk (to_folder, to, leaf) : 0;
  if (in == 0)
    return -1;
  if (world_find (&world_folder_of (in)->now, leaf) != NULL)
    {
      errno = EEXIST;
      return -1;
    }
  world_disk->inode[inode].names++;
  world_change (world_folder_of (in), (Change){ { world_entry_of (leaf, inode) }, 1 });
  return 0;
}

static int
world_unlink (int folder, const char *path, int flags)
{
  char leaf[NAME];
  const Entry *found;
  int in;

  if (!world_is_ours (folder, path))
    return loom_os_real.unlink (folder, path, flags);
  ENTER (MAY_FAIL);
  in = world_walk (folder, path, leaf);
  found = in != 0 ? world_find (&world_folder_of (in)->now, leaf) : NULL;
  if (found == NULL)
    errno = ENOENT;
  else if (S_ISDIR (world_disk->inode[found->inode].mode) != ((flags & AT_REMOVEDIR) != 0))
    errno = (flags & AT_REMOVEDIR) ? ENOTDIR : EISDIR;
  else if (count_names (found->inode) > 0)
    errno = ENOTEMPTY;
  else
    {
      world_disk->inode[found->inode].names--;
      world_change (world_folder_of (in), (Change){ { world_entry_of (leaf, 0) }, 1 });
      return 0;
    }
  return -1;
}

static int
world_mkdir (int folder, const char *path, mode_t mode)
{
  char leaf[NAME];
  int in;

  if (!world_is_ours (folder, path))
    return loom_os_real.mkdir (folder, path, mode);
  ENTER (MAY_FAIL | MAY_FILL);
  in = world_walk (folder, path, leaf);
  if (in == 0)
    return -1;
  if (g_str_equal (leaf, ".") || world_find (&world_folder_of (in)->now, leaf) != NULL)
    {
      errno = EEXIST;
      return -1;
    }
  world_change (world_folder_of (in), (Change){ { world_entry_of (leaf, world_new_inode (S_IFDIR | mode)) }, 1 });
  return 0;
}

static char **
world_list (int fd)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  const Names *now;
  int failed;

  if (fd < FIRST)
    return loom_os_real.list (fd);
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  failed = enter (MAY_FAIL | MAY_OPEN);
  end_if_killed (failed);
  if (failed > 0)
    {
      errno = failed;
      return NULL;
    }
  now = &world_folder_of (world_descriptor[fd - FIRST].inode)->now;
  for (int i = 0; i < now->n; i++)
    g_strv_builder_add (names, now->entry[i].name);
  return g_strv_builder_end (names);
}

static char *
world_real_path (const char *path)
{
  if (!world_is_ours (AT_FDCWD, path))
    return loom_os_real.real_path (path);
  return world_lookup (AT_FDCWD, path) != 0 ? g_strdup (path) : NULL;
}

static gssize
world_read_link (int folder, const char *path, char *to, gsize n)
{
  if (!world_is_ours (folder, path))
    return loom_os_real.read_link (folder, path, to, n);
  errno = EINVAL;
  return -1;
}

static gint64
world_nanoseconds (void)
{
  return world_disk->report.clock;
}

static gint64
world_wall (void)
{
  return world_disk->report.wall;
}

static void
world_sleep (gint64 microseconds)
{
  world_disk->report.clock += 1000 * microseconds;
  world_disk->report.wall += microseconds;
}

static const LoomOs world_os = {
  .open = world_open,
  .close = world_close,
  .read = world_read,
  .pread = world_pread,
  .write = world_write,
  .pwrite = world_pwrite,
  .seek = world_seek,
  .truncate = world_truncate,
  .sync = world_sync,
  .lock = world_lock,
  .map = world_map,
  .stat = world_stat,
  .chmod = world_chmod,
  .rename = world_rename,
  .link = world_link,
  .unlink = world_unlink,
  .mkdir = world_mkdir,
  .list = world_list,
  .real_path = world_real_path,
  .read_link = world_read_link,
  .nanoseconds = world_nanoseconds,
  .wall = world_wall,
  .sleep = world_sleep,
};

/* ---- lives -------------------------------------------------------------- */

void
world_begin_life (int number, const WorldFault *faults, int n)
{
  life = number;
  n_faults = n;
  memcpy (fault, faults, (gsize)n * sizeof *faults);
  full_until = 0;
  memset (world_descriptor, 0, sizeof world_descriptor);
  memset (calls_of, 0, sizeof calls_of);
  memset (world_disk->report.calls, 0, sizeof world_disk->report.calls);
  world_disk->report.n_met = 0;
  world_disk->report.steps = -1;
  world_disk->report.error[0] = '\0';
  world_disk->report.error_code = 0;
  loom_os = &world_os;
}

void
world_be_rank (int number, gboolean meets)
{
  g_assert_cmpint (number, <, WORLD_MOST_RANKS);
  rank = number;
  is_rank = meets;
}

void
world_look (void)
{
  life = -1;
  memset (world_descriptor, 0, sizeof world_descriptor);
  loom_os = &world_os;
}
