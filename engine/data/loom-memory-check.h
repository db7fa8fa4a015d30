/* Checks that the memory suffices for a data set that is read as a whole. */
#pragma once

#include <glib.h>

/* The bytes that this process may still allocate: the available memory of the system, within the limit of its control
 * group. G_MAXUINT64 if both are unknown. */
guint64 loom_memory_available (void);
/* FALSE with DATA if `factor` times the size of the file exceeds the available memory. remedy: the end of the error. */
gboolean loom_memory_check (const char *path, double factor, const char *remedy, GError **error);
/* The same for `bytes` bytes. name: for the error. */
gboolean loom_memory_check_bytes (const char *name, guint64 bytes, double factor, const char *remedy, GError **error);
