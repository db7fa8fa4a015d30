/* Whether there is memory for a data set that is read as a whole. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* FALSE with DATA if `factor` times the file's size is more than the available memory. remedy: the end of the error. */
gboolean loom_room_check (const char *path, double factor, const char *remedy, GError **error);
/* The same for `bytes` bytes; name is used in the error. */
gboolean loom_room_check_bytes (const char *name, guint64 bytes, double factor, const char *remedy, GError **error);

G_END_DECLS
