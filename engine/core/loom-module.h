/* Modules that are opened at run time: back ends and transports whose libraries a machine may lack. */
#pragma once

#include <gmodule.h>

/* The file of the module loom-NAME.so: in GRADLOOM_MODULES, in the program's build (kernels/FOLDER), or in the
 * installation. NULL, with an error without a full stop, if it does not exist or if users other than this one and root
 * may write it or its folder. (transfer full, both) */
char *loom_module_find (const char *name, const char *folder, char **why);
/* The same, opened; NULL also if it cannot be loaded. Modules are never closed, because linked libraries keep threads
 * and exit handlers. */
GModule *loom_module_open (const char *name, const char *folder, char **why);
/* The executable file of a program that belongs to the running one, in the first of these folders that has it. Folders
 * are absolute, or relative to the folder of the running program ("." is that folder); the list ends with NULL. PATH is
 * not searched. NULL if no folder has the program, or if a user who cannot replace the running program can change the
 * file or its folder; *refused then names it. (transfer full, both) */
char *loom_module_find_program (const char *name, const char *const *folders, char **refused);
