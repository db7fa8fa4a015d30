/* Another program of Gradloom. */
#pragma once

#include <glib.h>

/* Returns the absolute path of a program in the first of these folders that has it (see loom_module_find_program():
 * folders are relative to the running program's, or absolute; the last before NULL is that of the installation). IO if
 * there is none, or if other users can change it. (transfer full) */
char *sibling_find (const char *name, const char *const *folders, GError **error);

/* Replaces this process by that program with these words, up to NULL. Returns only with an error: those of
 * sibling_find(), or IO if the program cannot be started. */
void sibling_become (const char *name, const char *const *folders, const char *const *words, GError **error);
