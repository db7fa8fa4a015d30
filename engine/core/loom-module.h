/* Modules that are opened at run time: back ends and transports whose libraries a machine may lack. */
#pragma once

#include <gmodule.h>

G_BEGIN_DECLS

/* The file of a module, as this program finds it, or another one (NULL: this one); NULL where there is none. (transfer
 * full) */
char *loom_module_find (const char *program, const char *name, const char *folder);
/* The module loom-NAME.so: in GRADLOOM_MODULES, beside the program in a build tree (kernels/FOLDER), or where it is
 * installed. NULL with a sentence without a full stop (transfer full) where it is not there or cannot be loaded. It is
 * never closed again, because what it links keeps threads and exit handlers. */
GModule *loom_module_open (const char *name, const char *folder, char **why);

G_END_DECLS
