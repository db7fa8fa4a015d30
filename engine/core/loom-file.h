/* Bounded reading of a path that may be a pipe or a device without end, and the error of a file with wrong content. */
#pragma once

#include "engine/core/loom-error.h"

/* The content of a file, followed by a zero byte, for g_free. Reads at most max + 1 bytes, and stops early if the file
 * does not begin with start (NULL: any), so that an endless device is not read forever. Errors: GFileError, whose
 * message is the end of a sentence: "No such file or directory". */
gboolean loom_file_read (const char *path, const char *start, gsize max, char **data, gsize *length, GError **error);

/* OUT_OF_MEMORY or IO: what a GFileError of loom_file_read() is among our errors. */
LoomErrorCode loom_file_error_code (const GError *error);

/* Maps a file, for g_mapped_file_unref. IO: "“PATH” cannot be read: WHY."; for a folder or a device the reason is
 * clearer than the system's. */
GMappedFile *loom_file_map (const char *path, GError **error);

/* FILE of the path FILE#NAME, which chooses one of the sets of weights in a file; *name: NAME. Other paths are returned
 * as they are, with NULL: the path of an existing file, and one whose FILE does not exist. (transfer full) */
char *loom_file_of_set (const char *path, const char **name);

/* FALSE with the DATA error "“PATH” …." */
gboolean loom_file_refuse (const char *path, GError **error, const char *format, ...) G_GNUC_PRINTF (3, 4);
