/* The simulated disk; see the header. Inodes, names and contents are in one shared mapping, which is only added to
 * until the disk is formatted. Descriptors belong to a process, and end with it. */
#include "tests/world/world-disk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES   (96 << 20)
#define SECTOR  512
#define INODES  4096
#define ENTRIES 96
#define CHANGES 64
#define NAME    96
#define FIRST   (1 << 20) /* descriptor */
#define OPEN    64
#define FULL    24 /* calls */

typedef struct
{
  char name[NAME];
  int inode;
} Entry;

/* One change of a folder, whole or not at all: up to two names that get another inode, or (0) none. */
typedef struct
{
  Entry entry[2];
  int n;
} Change;

typedef struct
{
  int n;
  Entry entry[ENTRIES];
} Names;

typedef struct
{
  Names now, disk;
  int n_changes;
  Change change[CHANGES];
} Folder;

typedef struct
{
  mode_t mode;
  int names;
  gsize size, disk_size, space;
  gsize now, disk, dirty; /* offsets in the mapping: contents, and a byte for each sector */
} Inode;

typedef struct
{
  WorldReport report;
  guint64 seed, reboots;
  int n_inodes;
  Inode inode[INODES];
  gsize used;
} Disk;

typedef struct
{
  int inode, flags;
  gsize at;
} Descriptor;

static Disk *disk;
static Descriptor descriptor[OPEN];
static int life = -1, full_until, n_faults;
static WorldFault fault[WORLD_MOST_FAULTS];
static GMutex mutex;
static __thread int rank; /* of this thread, each of which has its own calls */
static __thread gboolean is_rank;
static int calls_of[WORLD_N_CALLS][WORLD_MOST_RANKS];

guint64
world_hash (guint64 a, guint64 b, guint64 c)
{
  guint64 x = a * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) + b * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9)
              + c * G_GUINT64_CONSTANT (0x94d049bb133111eb) + 0x2545f491;

  x = (x ^ (x >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return x ^ (x >> 31);
}

const char *
world_fault_name (WorldFaultKind kind)
{
  static const char *const names[WORLD_N_FAULTS]
      = { "kill", "power",  "EIO",    "ENOSPC", "EMFILE", "EINTR", "short", "full",
          "jump", "memory", "device", "lost",   "late",   "stall", "break", "stop" };

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

WorldReport *
world_report (void)
{
  return &disk->report;
}

static void *
at (gsize offset)
{
  return (char *)disk + offset;
}

static gsize
allocate (gsize n)
{
  const gsize offset = disk->used;

  disk->used += (n + 15) / 16 * 16;
  g_assert_cmpuint (disk->used, <=, BYTES);
  memset (at (offset), 0, n);
  return offset;
}

static int
new_inode (mode_t mode)
{
  const int i = ++disk->n_inodes;

  g_assert_cmpint (i, <, INODES);
  disk->inode[i] = (Inode){ .mode = mode };
  if (S_ISDIR (mode))
    disk->inode[i].now = allocate (sizeof (Folder));
  return i;
}

static Folder *
folder_of (int inode)
{
  return at (disk->inode[inode].now);
}

static Entry *
find (Names *names, const char *name)
{
  for (int i = 0; i < names->n; i++)
    if (g_str_equal (names->entry[i].name, name))
      return &names->entry[i];
  return NULL;
}

static void
put (Names *names, const Entry *entry)
{
  Entry *old = find (names, entry->name);

  if (old != NULL && entry->inode == 0)
    *old = names->entry[--names->n];
  else if (old != NULL)
    old->inode = entry->inode;
  else if (entry->inode != 0)
    {
      g_assert_cmpint (names->n, <, ENTRIES);
      names->entry[names->n++] = *entry;
    }
}

static void
apply (Names *names, const Change *change)
{
  for (int i = 0; i < change->n; i++)
    put (names, &change->entry[i]);
}

static void
sync_names (Folder *folder)
{
  for (int i = 0; i < folder->n_changes; i++)
    apply (&folder->disk, &folder->change[i]);
  folder->n_changes = 0;
}

static Entry
entry_of (const char *name, int inode)
{
  Entry e = { .inode = inode };

  g_assert_cmpuint (strlen (name), <, NAME);
  strcpy (e.name, name);
  return e;
}

static void
change (Folder *folder, Change change)
{
  if (folder->n_changes == CHANGES) /* a journal is written when it is full */
    sync_names (folder);
  apply (&folder->now, &change);
  folder->change[folder->n_changes++] = change;
}

/* ---- contents ----------------------------------------------------------- */

static void
make_space (Inode *file, gsize size)
{
  const gsize old = file->space;
  gsize now, written, dirty;

  if (size <= old)
    return;
  file->space = MAX (2 * old, (size + 8 * SECTOR - 1) / SECTOR * SECTOR);
  now = allocate (file->space);
  written = allocate (file->space);
  dirty = allocate (file->space / SECTOR);
  if (old > 0)
    {
      memcpy (at (now), at (file->now), old);
      memcpy (at (written), at (file->disk), old);
      memcpy (at (dirty), at (file->dirty), old / SECTOR);
    }
  file->now = now;
  file->disk = written;
  file->dirty = dirty;
}

static void
put_content (Inode *file, const void *from, gsize n, gsize offset)
{
  if (n == 0)
    return;
  make_space (file, offset + n);
  memcpy ((char *)at (file->now) + offset, from, n);
  memset ((char *)at (file->dirty) + offset / SECTOR, 1, (offset + n - 1) / SECTOR - offset / SECTOR + 1);
  file->size = MAX (file->size, offset + n);
}

static void
sync_content (Inode *file, gboolean is_lost)
{
  const gsize sectors = file->space / SECTOR;
  char *dirty = file->space > 0 ? at (file->dirty) : NULL;

  for (gsize i = 0; i < sectors; i++)
    if (dirty[i])
      {
        if (!is_lost)
          memcpy ((char *)at (file->disk) + i * SECTOR, (char *)at (file->now) + i * SECTOR, SECTOR);
        dirty[i] = 0;
      }
  file->disk_size = file->size;
}

/* ---- paths -------------------------------------------------------------- */

static gboolean
is_ours (int folder, const char *path)
{
  if (path[0] == '/')
    return g_str_has_prefix (path, WORLD_ROOT)
           && (path[strlen (WORLD_ROOT)] == '/' || path[strlen (WORLD_ROOT)] == '\0');
  return folder >= FIRST;
}

/* The inode of the folder that the path is in, and the last name ("." is the folder itself); 0: errno is set. */
static int
walk (int folder, const char *path, char leaf[NAME])
{
  g_auto (GStrv) name = g_strsplit (path[0] == '/' ? path + strlen (WORLD_ROOT) : path, "/", -1);
  int in = path[0] == '/' ? 1 : descriptor[folder - FIRST].inode;
  const char *last = ".";

  for (guint i = 0; name[i] != NULL; i++)
    {
      const Entry *found;

      if (name[i][0] == '\0' || g_str_equal (name[i], "."))
        continue;
      if (!g_str_equal (last, "."))
        {
          found = find (&folder_of (in)->now, last);
          if (found == NULL || !S_ISDIR (disk->inode[found->inode].mode))
            {
              errno = found == NULL ? ENOENT : ENOTDIR;
              return 0;
            }
          in = found->inode;
        }
      last = name[i];
    }
  g_strlcpy (leaf, last, NAME);
  return in;
}

static int
lookup (int folder, const char *path)
{
  char leaf[NAME];
  const int in = walk (folder, path, leaf);
  const Entry *found;

  if (in == 0 || g_str_equal (leaf, "."))
    return in;
  found = find (&folder_of (in)->now, leaf);
  if (found == NULL)
    errno = ENOENT;
  return found != NULL ? found->inode : 0;
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
      disk->report.calls[WORLD_CALL_FILE]++;
      disk->report.clock += 50000;
      disk->report.wall += 50;
    }
  for (int i = 0; i < n_faults; i++)
    {
      const WorldFault *f = &fault[i];

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
          disk->report.n_met++;
          break;
        case WORLD_JUMP:
          disk->report.clock += G_GINT64_CONSTANT (3600000000000);
          disk->report.wall += (world_hash (disk->seed, life, call) & 1 ? 1 : -1) * G_GINT64_CONSTANT (90000000000);
          break;
        default:
          break;
        }
      disk->report.n_met += error != 0 || f->kind == WORLD_JUMP;
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
  disk->report.calls[of] += rank == 0;
  for (int i = 0; i < n_faults && met < 0; i++)
    if (fault[i].life == life && fault[i].call == call && world_fault_call (fault[i].kind) == of)
      met = (int)fault[i].kind;
  disk->report.n_met += met >= 0;
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

  if (!is_ours (folder, path))
    return loom_os_real.open (folder, path, flags, mode);
  ENTER (MAY_FAIL | MAY_OPEN | MAY_WAIT | ((flags & O_CREAT) ? MAY_FILL : 0));
  in = walk (folder, path, leaf);
  if (in == 0)
    return -1;
  found = g_str_equal (leaf, ".") ? NULL : find (&folder_of (in)->now, leaf);
  inode = found != NULL ? found->inode : g_str_equal (leaf, ".") ? in : 0;
  if (inode == 0 && !(flags & O_CREAT))
    errno = ENOENT;
  else if (inode != 0 && (flags & O_CREAT) && (flags & O_EXCL))
    errno = EEXIST;
  else if (inode != 0 && (flags & O_DIRECTORY) && !S_ISDIR (disk->inode[inode].mode))
    errno = ENOTDIR;
  else if (inode != 0 && (flags & O_ACCMODE) != O_RDONLY && S_ISDIR (disk->inode[inode].mode))
    errno = EISDIR;
  else
    {
      if (inode == 0)
        {
          inode = new_inode (S_IFREG | (mode & 0777));
          disk->inode[inode].names = 1;
          change (folder_of (in), (Change){ { entry_of (leaf, inode) }, 1 });
        }
      for (fd = 0; fd < OPEN && descriptor[fd].inode != 0; fd++)
        ;
      g_assert_cmpint (fd, <, OPEN); /* they are not closed */
      descriptor[fd] = (Descriptor){ inode, flags, 0 };
      return FIRST + fd;
    }
  return -1;
}

static int
world_close (int fd)
{
  if (fd < FIRST)
    return loom_os_real.close (fd);
  descriptor[fd - FIRST].inode = 0; /* also if it fails */
  ENTER (MAY_FAIL | MAY_WAIT);
  return 0;
}

static gssize
read_at (int fd, void *to, gsize n, gsize offset)
{
  const Inode *file = &disk->inode[descriptor[fd - FIRST].inode];

  if (S_ISDIR (file->mode))
    {
      errno = EISDIR;
      return -1;
    }
  n = offset < file->size ? MIN (n, file->size - offset) : 0;
  if (n > 0)
    memcpy (to, (const char *)at (file->now) + offset, n);
  return (gssize)n;
}

static gssize
world_read (int fd, void *to, gsize n)
{
  gssize got;

  if (fd < FIRST)
    return loom_os_real.read (fd, to, n);
  ENTER (MAY_FAIL | MAY_WAIT | MAY_HALVE);
  got = read_at (fd, to, failed < 0 ? (n + 1) / 2 : n, descriptor[fd - FIRST].at);
  descriptor[fd - FIRST].at += (gsize)MAX (got, 0);
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
  Descriptor *d = &descriptor[fd - FIRST];
  Inode *file = &disk->inode[d->inode];
  const int failed = enter (MAY_FAIL | MAY_FILL | MAY_WAIT | MAY_HALVE);

  if (failed > 0)
    {
      errno = failed;
      return -1;
    }
  if (failed < 0 && n > 0)
    n = failed == -1 ? (n + 1) / 2
                     : world_hash (disk->seed, (guint64)life, (guint64)disk->report.calls[WORLD_CALL_FILE]) % (n + 1);
  if (d->flags & O_APPEND)
    offset = file->size;
  put_content (file, from, n, offset);
  if (moves)
    d->at = offset + n;
  end_if_killed (failed);
  return (gssize)n;
}

static gssize
world_write (int fd, const void *from, gsize n)
{
  return fd < FIRST ? loom_os_real.write (fd, from, n) : write_at (fd, from, n, descriptor[fd - FIRST].at, TRUE);
}

static gssize
world_pwrite (int fd, const void *from, gsize n, off_t offset)
{
  return fd < FIRST ? loom_os_real.pwrite (fd, from, n, offset) : write_at (fd, from, n, (gsize)offset, FALSE);
}

static off_t
world_seek (int fd, off_t offset, int whence)
{
  Descriptor *d = &descriptor[MAX (fd - FIRST, 0)];

  if (fd < FIRST)
    return loom_os_real.seek (fd, offset, whence);
  d->at = (gsize)(offset + (whence == SEEK_END ? (off_t)disk->inode[d->inode].size : 0));
  return (off_t)d->at;
}

static int
world_truncate (int fd, off_t length)
{
  Inode *file;

  if (fd < FIRST)
    return loom_os_real.truncate (fd, length);
  ENTER (MAY_FAIL | MAY_WAIT);
  file = &disk->inode[descriptor[fd - FIRST].inode];
  if ((gsize)length < file->size)
    {
      memset ((char *)at (file->now) + length, 0, file->size - (gsize)length);
      memset ((char *)at (file->dirty) + length / SECTOR, 1, (file->size - 1) / SECTOR - (gsize)length / SECTOR + 1);
    }
  file->size = (gsize)length;
  make_space (file, file->size);
  return 0;
}

static int
world_sync (int fd, gboolean only_data)
{
  int inode;

  if (fd < FIRST)
    return loom_os_real.sync (fd, only_data);
  inode = descriptor[fd - FIRST].inode;
  g_autoptr (GMutexLocker) locker = g_mutex_locker_new (&mutex);
  const int failed = enter (MAY_FAIL | MAY_FILL | MAY_WAIT);
  end_if_killed (failed);
  if (failed != EINTR && !S_ISDIR (disk->inode[inode].mode))
    sync_content (&disk->inode[inode], failed > 0);
  if (failed == 0 && S_ISDIR (disk->inode[inode].mode))
    sync_names (folder_of (inode));
  errno = failed;
  return failed > 0 ? -1 : 0;
}

/* Only descriptors of one process can hold locks: a life is alone. */
static int
world_lock (int fd, int operation)
{
  if (fd < FIRST)
    return loom_os_real.lock (fd, operation);
  ENTER (MAY_WAIT);
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
  file = &disk->inode[descriptor[fd - FIRST].inode];
  copy = memfd_create ("world", MFD_CLOEXEC);
  g_assert_cmpint (copy, >=, 0);
  if (loom_os_real.write (copy, file->size > 0 ? at (file->now) : "", file->size) == (gssize)file->size)
    mapped = g_mapped_file_new_from_fd (copy, FALSE, error);
  close (copy);
  return mapped;
}

static int
world_stat (int folder, const char *path, struct stat *info, int flags)
{
  int inode;

  if (!is_ours (folder, path))
    return loom_os_real.stat (folder, path, info, flags);
  ENTER (MAY_FAIL);
  inode = lookup (folder, path);
  if (inode == 0)
    return -1;
  *info = (struct stat){ .st_mode = disk->inode[inode].mode,
                         .st_size = (off_t)disk->inode[inode].size,
                         .st_ino = (ino_t)inode,
                         .st_nlink = (nlink_t)MAX (disk->inode[inode].names, 1),
                         .st_uid = getuid () };
  info->st_mtim.tv_sec = disk->report.wall / 1000000;
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
  return S_ISDIR (disk->inode[inode].mode) ? folder_of (inode)->now.n : 0;
}

static int
world_rename (int folder, const char *from, const char *to, guint flags)
{
  char old[NAME], new[NAME];
  int in, inode;
  const Entry *source, *target;

  if (!is_ours (folder, from))
    return loom_os_real.rename (folder, from, to, flags);
  ENTER (MAY_FAIL | MAY_FILL);
  in = walk (folder, from, old);
  if (in == 0 || in != walk (folder, to, new))
    {
      errno = in == 0 ? ENOENT : EXDEV;
      return -1;
    }
  source = find (&folder_of (in)->now, old);
  target = find (&folder_of (in)->now, new);
  if (source == NULL || (target == NULL && flags != 0))
    {
      errno = ENOENT;
      return -1;
    }
  inode = source->inode;
  if (flags != 0)
    {
      change (folder_of (in), (Change){ { entry_of (old, target->inode), entry_of (new, inode) }, 2 });
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
    disk->inode[target->inode].names--;
  change (folder_of (in), (Change){ { entry_of (old, 0), entry_of (new, inode) }, 2 });
  return 0;
}

static int
world_link (int from_folder, const char *from, int to_folder, const char *to)
{
  char leaf[NAME];
  int inode, in;

  if (!is_ours (from_folder, from))
    return loom_os_real.link (from_folder, from, to_folder, to);
  ENTER (MAY_FAIL | MAY_FILL);
  inode = lookup (from_folder, from);
  in = inode != 0 ? walk (to_folder, to, leaf) : 0;
  if (in == 0)
    return -1;
  if (find (&folder_of (in)->now, leaf) != NULL)
    {
      errno = EEXIST;
      return -1;
    }
  disk->inode[inode].names++;
  change (folder_of (in), (Change){ { entry_of (leaf, inode) }, 1 });
  return 0;
}

static int
world_unlink (int folder, const char *path, int flags)
{
  char leaf[NAME];
  const Entry *found;
  int in;

  if (!is_ours (folder, path))
    return loom_os_real.unlink (folder, path, flags);
  ENTER (MAY_FAIL);
  in = walk (folder, path, leaf);
  found = in != 0 ? find (&folder_of (in)->now, leaf) : NULL;
  if (found == NULL)
    errno = ENOENT;
  else if (S_ISDIR (disk->inode[found->inode].mode) != ((flags & AT_REMOVEDIR) != 0))
    errno = (flags & AT_REMOVEDIR) ? ENOTDIR : EISDIR;
  else if (count_names (found->inode) > 0)
    errno = ENOTEMPTY;
  else
    {
      disk->inode[found->inode].names--;
      change (folder_of (in), (Change){ { entry_of (leaf, 0) }, 1 });
      return 0;
    }
  return -1;
}

static int
world_mkdir (int folder, const char *path, mode_t mode)
{
  char leaf[NAME];
  int in;

  if (!is_ours (folder, path))
    return loom_os_real.mkdir (folder, path, mode);
  ENTER (MAY_FAIL | MAY_FILL);
  in = walk (folder, path, leaf);
  if (in == 0)
    return -1;
  if (g_str_equal (leaf, ".") || find (&folder_of (in)->now, leaf) != NULL)
    {
      errno = EEXIST;
      return -1;
    }
  change (folder_of (in), (Change){ { entry_of (leaf, new_inode (S_IFDIR | mode)) }, 1 });
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
  now = &folder_of (descriptor[fd - FIRST].inode)->now;
  for (int i = 0; i < now->n; i++)
    g_strv_builder_add (names, now->entry[i].name);
  return g_strv_builder_end (names);
}

static char *
world_real_path (const char *path)
{
  if (!is_ours (AT_FDCWD, path))
    return loom_os_real.real_path (path);
  return lookup (AT_FDCWD, path) != 0 ? g_strdup (path) : NULL;
}

static gssize
world_read_link (int folder, const char *path, char *to, gsize n)
{
  if (!is_ours (folder, path))
    return loom_os_real.read_link (folder, path, to, n);
  errno = EINVAL;
  return -1;
}

static gint64
world_nanoseconds (void)
{
  return disk->report.clock;
}

static gint64
world_wall (void)
{
  return disk->report.wall;
}

static void
world_sleep (gint64 microseconds)
{
  disk->report.clock += 1000 * microseconds;
  disk->report.wall += microseconds;
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
world_init (void)
{
  disk = mmap (NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_assert_true (disk != MAP_FAILED);
}

void
world_format (guint64 seed)
{
  disk->used = (sizeof (Disk) + 15) / 16 * 16;
  disk->n_inodes = 0;
  disk->seed = seed;
  disk->reboots = 0;
  disk->report.acknowledged = 0;
  disk->report.clock = G_GINT64_CONSTANT (1000000000000);
  disk->report.wall = G_GINT64_CONSTANT (1790000000000000);
  g_assert_cmpint (new_inode (S_IFDIR | 0755), ==, 1);
  life = -1;
  memset (descriptor, 0, sizeof descriptor);
}

void
world_begin_life (int number, const WorldFault *faults, int n)
{
  life = number;
  n_faults = n;
  memcpy (fault, faults, (gsize)n * sizeof *faults);
  full_until = 0;
  memset (descriptor, 0, sizeof descriptor);
  memset (calls_of, 0, sizeof calls_of);
  memset (disk->report.calls, 0, sizeof disk->report.calls);
  disk->report.n_met = 0;
  disk->report.steps = -1;
  disk->report.error[0] = '\0';
  disk->report.error_code = 0;
  loom_os = &world_os;
}

void
world_be_rank (int number)
{
  g_assert_cmpint (number, <, WORLD_MOST_RANKS);
  rank = number;
  is_rank = TRUE;
}

void
world_look (void)
{
  life = -1;
  memset (descriptor, 0, sizeof descriptor);
  loom_os = &world_os;
}

/* Each sector has the old or the new content; mode 0: all new, 1: all old, else each by itself. */
static void
lose_content (Inode *file, guint64 seed)
{
  const guint mode = (guint)(seed % 4);
  const gsize low = MIN (file->size, file->disk_size), high = MAX (file->size, file->disk_size);
  const gsize size = mode == 0   ? file->size
                     : mode == 1 ? file->disk_size
                                 : low + world_hash (seed, 1, 2) % (high - low + 1);
  char *dirty = file->space > 0 ? at (file->dirty) : NULL;

  for (gsize i = 0; i < file->space / SECTOR; i++)
    if (dirty[i] && (mode == 0 || (mode > 1 && (world_hash (seed, i, 3) & 1))))
      memcpy ((char *)at (file->disk) + i * SECTOR, (char *)at (file->now) + i * SECTOR, SECTOR);
  if (file->space > 0)
    {
      if (size < file->space)
        memset ((char *)at (file->disk) + size, 0, file->space - size);
      memcpy (at (file->now), at (file->disk), file->space);
      memset (dirty, 0, file->space / SECTOR);
    }
  file->size = file->disk_size = size;
}

/* Mode 0: all changes are kept, 1: none, 2: those before one (a journal), else each by itself. */
static void
lose_names (Folder *folder, guint64 seed)
{
  const guint mode = (guint)(seed % 4);
  const int first = folder->n_changes > 0 ? (int)(world_hash (seed, 4, 5) % (guint64)(folder->n_changes + 1)) : 0;

  for (int i = 0; i < folder->n_changes; i++)
    if (mode == 0 || (mode == 2 && i < first) || (mode == 3 && (world_hash (seed, (guint64)i, 6) & 1)))
      apply (&folder->disk, &folder->change[i]);
  folder->n_changes = 0;
  folder->now = folder->disk;
}

void
world_reboot (gboolean power)
{
  disk->reboots++;
  disk->report.clock += G_GINT64_CONSTANT (10000000000);
  if (!power)
    return;
  for (int i = 1; i <= disk->n_inodes; i++)
    {
      const guint64 seed = world_hash (disk->seed, disk->reboots, (guint64)i);

      if (S_ISDIR (disk->inode[i].mode))
        lose_names (folder_of (i), seed);
      else
        lose_content (&disk->inode[i], seed);
      disk->inode[i].names = 0;
    }
  for (int i = 1; i <= disk->n_inodes; i++)
    if (S_ISDIR (disk->inode[i].mode))
      for (int k = 0; k < folder_of (i)->now.n; k++)
        disk->inode[folder_of (i)->now.entry[k].inode].names++;
}
