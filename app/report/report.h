/* Writes a report of a run as one file, HTML or PDF by its suffix. */
#pragma once

#include <glib.h>

/* progress: called with the finished fraction; NULL: not called. The file is written completely or not at all. The same
 * run, data, language and version give the same bytes. Errors: DATA if the folder is no run; IO. */
gboolean report_write (const char *run, const char *file, void (*progress) (double done, gpointer data), gpointer data,
                       GError **error);
