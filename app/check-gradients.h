/* The part of `gradloom check` that holds gradients against finite differences. */
#pragma once

#include "app/command.h"

/* Every node of a bound net, or the one of that path: a line each with the largest relative difference. The exit
 * status: 1 where one differs by more than 1e-5. */
int check_gradients (const Command *command, const LoomNet *net, const char *only, gboolean json);
