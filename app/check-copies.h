/* `gradloom check`: predicts the copies between devices. */
#pragma once

#include "app/shared/command.h"

/* Prints a row for each copy with its bytes, and their sum in a step, or {"event":"copy"} objects; nothing if all nodes
 * are on one device. The devices need not exist here. bound: a net with a numeric batch size; device: of nodes that
 * name none. */
void check_copies_print (const LoomNet *bound, const char *device, gboolean trains, gboolean json);
