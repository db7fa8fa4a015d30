/* The commands of `gradloom-lab`, which measures and compares: it is a program of its own, which `gradloom` starts as
 * git starts its parts. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

/* Becomes `gradloom-lab` with these words, of which argv[0] is the command's name: same process, terminal, signals and
 * exit status. Returns only if that fails, with the exit status after the error was printed. It is the run() of the
 * laboratory's rows in the table of commands. */
int laboratory_run (const Command *command, int argc, char **argv);
/* The table with the laboratory's rows replaced by what `gradloom-lab` says of them; a row keeps its summary, which
 * says that the program is missing, if it cannot be asked. (transfer container) */
GPtrArray *laboratory_describe (const Command *const *commands, guint n);

G_END_DECLS
