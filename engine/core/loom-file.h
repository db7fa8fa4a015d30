/* Bounded reading of a path that may be a pipe or a device without end. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The content of the file, followed by a zero byte, for g_free. Of more than max bytes max + 1 are read, and where the
 * first are not those of start (NULL: any) little more than them, so that an endless device is not read for ever.
 * Errors: GFileError, with a sentence's end: "No such file or directory". */
gboolean
loom_file_read (const char *path, const char *start, gsize max, char **data, gsize *length, GError **error);

/* The file's bytes as they lie on the disk, for g_mapped_file_unref. Error IO: "“PATH” cannot be read: WHY.", in words of
 * our own where path is a folder or a device, for which the system's are of no help. */
GMappedFile *loom_file_map (const char *path, GError **error);

G_END_DECLS
