/* The simulated disk; see the header. Inodes, names and contents are in one shared mapping, which is only added to
 * until the disk is formatted. Descriptors belong to a process, and end with it. */
#include "tests/world/world-store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

Disk *world_disk;
Descriptor world_descriptor[OPEN];

guint64
world_hash (guint64 a, guint64 b, guint64 c)
{
  guint64 x = a * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15) + b * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9)
              + c * G_GUINT64_CONSTANT (0x94d049bb133111eb) + 0x2545f491;

  x = (x ^ (x >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return x ^ (x >> 31);
}

WorldReport *
world_report (void)
{
  return &world_disk->report;
}

void *
world_at (gsize offset)
{
  return (char *)world_disk + offset;
}

static gsize
allocate (gsize n)
{
  const gsize offset = world_disk->used;

  world_disk->used += (n + 15) / 16 * 16;
  g_assert_cmpuint (world_disk->used, <=, BYTES);
  memset (world_at (offset), 0, n);
  return offset;
}

int
world_new_inode (mode_t mode)
{
  const int i = ++world_disk->n_inodes;

  g_assert_cmpint (i, <, INODES);
  world_disk->inode[i] = (Inode){ .mode = mode };
  if (S_ISDIR (mode))
    world_disk->inode[i].now = allocate (sizeof (Folder));
  return i;
}

Folder *
world_folder_of (int inode)
{
  return world_at (world_disk->inode[inode].now);
}

Entry *
world_find (Names *names, const char *name)
{
  for (int i = 0; i < names->n; i++)
    if (g_str_equal (names->entry[i].name, name))
      return &names->entry[i];
  return NULL;
}

static void
put (Names *names, const Entry *entry)
{
  Entry *old = world_find (names, entry->name);

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

void
world_sync_names (Folder *folder)
{
  for (int i = 0; i < folder->n_changes; i++)
    apply (&folder->disk, &folder->change[i]);
  folder->n_changes = 0;
}

Entry
world_entry_of (const char *name, int inode)
{
  Entry e = { .inode = inode };

  g_assert_cmpuint (strlen (name), <, NAME);
  strcpy (e.name, name);
  return e;
}

void
world_change (Folder *folder, Change change)
{
  if (folder->n_changes == CHANGES) /* a journal is written when it is full */
    world_sync_names (folder);
  apply (&folder->now, &change);
  folder->change[folder->n_changes++] = change;
}

/* ---- contents ----------------------------------------------------------- */

void
world_make_space (Inode *file, gsize size)
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
      memcpy (world_at (now), world_at (file->now), old);
      memcpy (world_at (written), world_at (file->disk), old);
      memcpy (world_at (dirty), world_at (file->dirty), old / SECTOR);
    }
  file->now = now;
  file->disk = written;
  file->dirty = dirty;
}

void
world_put_content (Inode *file, const void *from, gsize n, gsize offset)
{
  if (n == 0)
    return;
  world_make_space (file, offset + n);
  memcpy ((char *)world_at (file->now) + offset, from, n);
  memset ((char *)world_at (file->dirty) + offset / SECTOR, 1, (offset + n - 1) / SECTOR - offset / SECTOR + 1);
  file->size = MAX (file->size, offset + n);
}

void
world_sync_content (Inode *file, gboolean is_lost)
{
  const gsize sectors = file->space / SECTOR;
  char *dirty = file->space > 0 ? world_at (file->dirty) : NULL;

  for (gsize i = 0; i < sectors; i++)
    if (dirty[i])
      {
        if (!is_lost)
          memcpy ((char *)world_at (file->disk) + i * SECTOR, (char *)world_at (file->now) + i * SECTOR, SECTOR);
        dirty[i] = 0;
      }
  file->disk_size = file->size;
}

/* ---- paths -------------------------------------------------------------- */

gboolean
world_is_ours (int folder, const char *path)
{
  if (path[0] == '/')
    return g_str_has_prefix (path, WORLD_ROOT)
           && (path[strlen (WORLD_ROOT)] == '/' || path[strlen (WORLD_ROOT)] == '\0');
  return folder >= FIRST;
}

/* The inode of the folder that the path is in, and the last name ("." is the folder itself); 0: errno is set. */
int
world_walk (int folder, const char *path, char leaf[NAME])
{
  g_auto (GStrv) name = g_strsplit (path[0] == '/' ? path + strlen (WORLD_ROOT) : path, "/", -1);
  int in = path[0] == '/' ? 1 : world_descriptor[folder - FIRST].inode;
  const char *last = ".";

  for (guint i = 0; name[i] != NULL; i++)
    {
      const Entry *found;

      if (name[i][0] == '\0' || g_str_equal (name[i], "."))
        continue;
      if (!g_str_equal (last, "."))
        {
          found = world_find (&world_folder_of (in)->now, last);
          if (found == NULL || !S_ISDIR (world_disk->inode[found->inode].mode))
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

int
world_lookup (int folder, const char *path)
{
  char leaf[NAME];
  const int in = world_walk (folder, path, leaf);
  const Entry *found;

  if (in == 0 || g_str_equal (leaf, "."))
    return in;
  found = world_find (&world_folder_of (in)->now, leaf);
  if (found == NULL)
    errno = ENOENT;
  return found != NULL ? found->inode : 0;
}

/* ---- lives -------------------------------------------------------------- */

void
world_init (void)
{
  world_disk = mmap (NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_assert_true (world_disk != MAP_FAILED);
}

void
world_format (guint64 seed)
{
  world_disk->used = (sizeof (Disk) + 15) / 16 * 16;
  world_disk->n_inodes = 0;
  world_disk->seed = seed;
  world_disk->reboots = 0;
  world_disk->report.acknowledged = world_disk->report.second = 0;
  world_disk->report.clock = G_GINT64_CONSTANT (1000000000000);
  world_disk->report.wall = G_GINT64_CONSTANT (1790000000000000);
  g_assert_cmpint (world_new_inode (S_IFDIR | 0755), ==, 1);
}

static Disk *kept;

void
world_keep (void)
{
  if (kept == NULL)
    kept = mmap (NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_assert_true (kept != MAP_FAILED);
  memcpy (kept, world_disk, world_disk->used);
}

void
world_put_back (void)
{
  memcpy (world_disk, kept, kept->used);
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
  char *dirty = file->space > 0 ? world_at (file->dirty) : NULL;

  for (gsize i = 0; i < file->space / SECTOR; i++)
    if (dirty[i] && (mode == 0 || (mode > 1 && (world_hash (seed, i, 3) & 1))))
      memcpy ((char *)world_at (file->disk) + i * SECTOR, (char *)world_at (file->now) + i * SECTOR, SECTOR);
  if (file->space > 0)
    {
      if (size < file->space)
        memset ((char *)world_at (file->disk) + size, 0, file->space - size);
      memcpy (world_at (file->now), world_at (file->disk), file->space);
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
  world_disk->reboots++;
  world_disk->report.clock += G_GINT64_CONSTANT (10000000000);
  if (!power)
    return;
  for (int i = 1; i <= world_disk->n_inodes; i++)
    {
      const guint64 seed = world_hash (world_disk->seed, world_disk->reboots, (guint64)i);

      if (S_ISDIR (world_disk->inode[i].mode))
        lose_names (world_folder_of (i), seed);
      else
        lose_content (&world_disk->inode[i], seed);
      world_disk->inode[i].names = 0;
    }
  for (int i = 1; i <= world_disk->n_inodes; i++)
    if (S_ISDIR (world_disk->inode[i].mode))
      for (int k = 0; k < world_folder_of (i)->now.n; k++)
        world_disk->inode[world_folder_of (i)->now.entry[k].inode].names++;
}
