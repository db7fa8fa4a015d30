/* Writing a file whole or not at all.
 *
 * Every file that Gradloom writes to keep goes through here: the bytes are written
 * under another name in the same folder, forced to the disk, and renamed over the
 * old file, so that neither a crash nor a full disk ever leaves half a file. It
 * stands in core because the graph writer needs it as much as weights and arrays.
 *
 * A target that exists and is no regular file (/dev/stdout, a pipe) cannot be
 * replaced and is written in place. A symbolic link is followed, except in a LoomFolder. */
#pragma once

#include "engine/core/loom-folder.h"

G_BEGIN_DECLS

/* Where a file of that name is to stand: path with its symbolic links followed, also where the last of them leads to
 * nothing yet. */
char *loom_file_target (const char *path);

/* Replaces the content of path by data. Errors: IO, with a sentence naming path. */
gboolean loom_file_replace (const char *path, const void *data, gsize length, GError **error);

/* The same in pieces. Freeing it before a successful commit discards what was
 * written and leaves the old file as it was. */
typedef struct _LoomAtomicFile LoomAtomicFile;

/* folder: NULL, or the folder that path is a name in, which must outlive the file; there a link, a pipe or a device of
 * that name is replaced by the file. */
LoomAtomicFile *loom_atomic_file_new (LoomFolder *folder, const char *path, GError **error);
gboolean loom_atomic_file_write (LoomAtomicFile *file, const void *data, gsize length, GError **error);
gboolean loom_atomic_file_commit (LoomAtomicFile *file, GError **error);
void loom_atomic_file_free (LoomAtomicFile *file);

/* Forces what was written to a descriptor, or what a folder's lists, to the disk. Error IO, with a sentence naming
 * path. */
gboolean loom_descriptor_sync (int fd, const char *path, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomAtomicFile, loom_atomic_file_free)

G_END_DECLS
