/* The commands of the laboratory; gradloom-lab.c lists them. */
#pragma once

#include "app/shared/command.h"

extern const Command command_bench, command_transfer, command_simulate, command_sweep;
/* `gradloom check --gradcheck`, which prints its messages as `gradloom check`. */
extern const Command command_gradcheck;
