/* Lists the members of a tar archive, which are read in place: nothing is unpacked, so no name can lead out of it. */
#pragma once

#include <glib.h>

/* Is called with each regular file: its name, and the position and number of its bytes. Returns FALSE to end, with an
 * error. */
typedef gboolean (*LoomTarCall) (const char *name, guint64 offset, guint64 size, gpointer data, GError **error);

/* FALSE with DATA if the file is no tar archive or is truncated, IO if it cannot be read. Folders, links and devices
 * are passed over. */
gboolean loom_tar_each (const char *path, LoomTarCall call, gpointer data, GError **error);
