/* The disk itself, for the files of the simulated world: inodes, names and contents, by offsets in one shared mapping.
 */
#pragma once

#include "tests/world/world-disk.h"

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
  gboolean is_locked; /* for it alone */
} Descriptor;

extern Disk *world_disk;
extern Descriptor world_descriptor[OPEN];

/* Contents that are at an offset of the mapping. */
void *world_at (gsize offset);
int world_new_inode (mode_t mode);
Folder *world_folder_of (int inode);
Entry *world_find (Names *names, const char *name);
Entry world_entry_of (const char *name, int inode);
void world_change (Folder *folder, Change change);
void world_sync_names (Folder *folder);
void world_make_space (Inode *file, gsize size);
void world_put_content (Inode *file, const void *from, gsize n, gsize offset);
/* is_lost: what was written since the last time is not on the disk, though it says so later. */
void world_sync_content (Inode *file, gboolean is_lost);
gboolean world_is_ours (int folder, const char *path);
/* The inode of the folder that the path is in, and the last name ("." is the folder itself); 0: errno is set. */
int world_walk (int folder, const char *path, char leaf[NAME]);
int world_lookup (int folder, const char *path);
