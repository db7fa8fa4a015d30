/* `gradloom check --fix`; see check-fix.c. */
#pragma once

#include "app/shared/command.h"

/* Prints a line for each fix of the graph, and writes the fixed graph to output (NULL: nowhere). choice is the number
 * of the fix for faults that have several; 0: they are refused. Returns the exit status: 1 if faults remain. */
int check_fix (const Command *command, const char *path, const char *output, guint choice, gboolean json);
