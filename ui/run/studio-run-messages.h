/* The engine addresses users of the command line and names commands and options; Studio has a button or a field for
 * each of them. */
#pragma once

#include <glib.h>

/* Removes commands and names fields instead of options. (transfer full) */
char *studio_run_rewrite_message (const char *sentence);
