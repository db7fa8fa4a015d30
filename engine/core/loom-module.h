/* Modules that are opened at run time: back ends and transports whose libraries a machine may lack. */
#pragma once

#include <gmodule.h>

G_BEGIN_DECLS

/* The file of the module loom-NAME.so: in GRADLOOM_MODULES, in the build that the program is part of (kernels/FOLDER),
 * or where it is installed. NULL with a sentence without a full stop, if it is not there or others than the user and
 * root may write it or its folder. (transfer full, both) */
char *loom_module_find (const char *name, const char *folder, char **why);
/* The same, opened; NULL also where it cannot be loaded. It is never closed again, because what it links keeps threads
 * and exit handlers. */
GModule *loom_module_open (const char *name, const char *folder, char **why);
/* The executable file of a program that belongs to the running one, in the first of these folders that has it. Folders
 * are absolute, or relative to the folder of the running program ("." is that folder); the list ends with NULL. PATH is
 * not searched. NULL if no folder has the program, or if somebody can change the file or its folder who can not
 * replace the running program, which *refused then names. (transfer full, both) */
char *loom_module_find_program (const char *name, const char *const *folders, char **refused);

G_END_DECLS
