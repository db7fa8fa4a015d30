/* The files that the rules of the architecture are checked on, and the groups of tests. */
#pragma once

#include <gio/gio.h>

/* The folder that an environment variable of the tests names. (transfer full) */
char *arch_root (const char *variable);
/* Adds the paths of all files below a folder that end like one of the suffixes, a NULL-terminated list. */
void arch_collect (const char *folder, GPtrArray *files, const char *const *suffixes);
/* TRUE if the text begins like one of n prefixes; the list may end earlier, with NULL. */
gboolean arch_has_prefix (const char *text, const char *const *prefixes, guint n);

/* Each adds its tests below /arch. */
void arch_add_symbols (void);
void arch_add_names (void);
void arch_add_environment (void);
