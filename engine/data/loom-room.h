/* Whether there is memory for a data set that is read as a whole. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* FALSE with DATA where a file takes `factor` times its size once it is read, and that is more. remedy: the end of the
 * sentence. */
gboolean loom_room_check (const char *path, double factor, const char *remedy, GError **error);
/* The same for what is read of something of this name. */
gboolean loom_room_check_bytes (const char *name, guint64 bytes, double factor, const char *remedy, GError **error);

G_END_DECLS
