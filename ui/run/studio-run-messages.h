/* Rewrites messages of the engine for Studio: they name commands and options, for which Studio has buttons and fields.
 */
#pragma once

#include <glib.h>

/* Removes commands and names fields instead of options. (transfer full) */
char *studio_run_rewrite_message (const char *sentence);
