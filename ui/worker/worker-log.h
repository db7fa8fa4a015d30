/* The messages of a worker without a window, in worker.log of the run's folder. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The last line, printable; NULL: none. (transfer full) */
char *worker_log_dup_last (const char *folder);

G_END_DECLS
