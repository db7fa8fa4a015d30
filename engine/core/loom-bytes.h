/* Formats and parses amounts of memory, in one unit system. */
#pragma once

#include <glib.h>

/* "512 B", "4.2 MB", "128 GB": powers of 1000 (SI), as for disks, networks and in GNOME. (transfer full) */
char *loom_bytes_to_string (double bytes);
/* Parses "8", "80k", "512M" or "1.5G"; FALSE if the text is no such number above 0. */
gboolean loom_bytes_parse (const char *text, double *bytes);

/* The resident memory of this process, or its peak, as counted by the kernel; 0: unknown. */
guint64 loom_bytes_of_process (gboolean most);
