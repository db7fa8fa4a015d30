/* The commands of `gradloom-lab`, a separate program that measures and compares. `gradloom` starts it as git starts its
 * own programs. */
#pragma once

#include "app/shared/command.h"

/* Replaces this process by `gradloom-lab` with these arguments (argv[0] is the command's name): same process, terminal
 * and signals. Returns only if that fails, with the exit status after printing the error. It is the run() of the
 * laboratory's rows in the table of commands. */
int laboratory_run (const Command *command, int argc, char **argv);
/* Returns the table of commands with the laboratory's rows replaced by the descriptions that `gradloom-lab` prints. If
 * it cannot be started, a row keeps its summary, which reports that the program is missing. (transfer container) */
GPtrArray *laboratory_describe (const Command *const *commands, guint n);
