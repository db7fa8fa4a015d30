/* Writes a file completely or not at all.
 *
 * Gradloom writes every persistent file through these functions: the bytes are written under another name in the same
 * folder, synchronised to the disk, and renamed over the old file, so that neither a crash nor a full disk leaves half
 * a file. They are part of core because graphs, weights and arrays all need them. A target that exists and is no
 * regular file (/dev/stdout, a pipe) cannot be replaced and is written directly. A symbolic link is followed, except in
 * a LoomFolder. */
#pragma once

#include "engine/core/loom-folder.h"

/* Returns path with its symbolic links resolved, also if the last link's target does not exist yet. */
char *loom_file_target (const char *path);

/* Replaces the content of path by data. IO with an error that names path. */
gboolean loom_file_replace (const char *path, const void *data, gsize length, GError **error);

/* The same in several writes. Freeing it before a successful commit discards the new content and leaves the old file
 * unchanged. */
typedef struct _LoomAtomicFile LoomAtomicFile;

/* folder: NULL, or the folder in which path is a name, which must outlive the file; a link, a pipe or a device of that
 * name in the folder is replaced by the file. */
LoomAtomicFile *loom_atomic_file_new (LoomFolder *folder, const char *path, GError **error);
gboolean loom_atomic_file_write (LoomAtomicFile *file, const void *data, gsize length, GError **error);
gboolean loom_atomic_file_commit (LoomAtomicFile *file, GError **error);
void loom_atomic_file_free (LoomAtomicFile *file);

/* Synchronises a descriptor, or the entries of a folder, to the disk. IO with an error that names path. */
gboolean loom_descriptor_sync (int fd, const char *path, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomAtomicFile, loom_atomic_file_free)
