/* The commands of `gradloom` that this program runs itself; gradloom.c lists all. */
#pragma once

#include "app/shared/command.h"

extern const Command command_check, command_train, command_eval, command_run, command_program, command_plan,
    command_ops, command_devices, command_worker, command_import, command_export, command_diff, command_predict,
    command_generate, command_arrange, command_new, command_runs, command_queue, command_attach, command_remote,
    command_hand_in, command_grade, command_mcp;

/* The table of gradloom.c, with the descriptions that gradloom-lab prints of its commands. Made once. */
const Command *const *commands_described (guint *n);

/* Prints the devices of this machine, as `gradloom devices` does. */
void command_print_devices (gboolean as_json);
