/* `gradloom check` of a lecture; see check-lecture.c. */
#pragma once

#include "app/shared/command.h"

/* Prints a line for each stop, and the faults of its graph. The exit status: 1 if a stop has faults. */
int check_lecture (const Command *command, const char *path, gboolean json);
