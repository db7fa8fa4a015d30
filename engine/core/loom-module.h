/* Modules that are opened at run time: back ends and transports whose libraries a machine may lack. */
#pragma once

#include <gmodule.h>

G_BEGIN_DECLS

/* Whether only the user and root can change a file of code, or put another in its place. */
gboolean loom_module_is_own (const char *file);
/* The file of the module loom-NAME.so: in GRADLOOM_MODULES, in the build that the program is part of (kernels/FOLDER),
 * or where it is installed. NULL with a sentence without a full stop, if it is not there or others than the user and
 * root may write it or its folder. (transfer full, both) */
char *loom_module_find (const char *name, const char *folder, char **why);
/* The same, opened; NULL also where it cannot be loaded. It is never closed again, because what it links keeps threads
 * and exit handlers. */
GModule *loom_module_open (const char *name, const char *folder, char **why);

G_END_DECLS
