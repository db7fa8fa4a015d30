/* `gradloom check`: predicts the copies between devices. */
#pragma once

#include "app/shared/command.h"

G_BEGIN_DECLS

/* A row for each copy with its bytes, and their sum in a step, or {"event":"copy"} objects; nothing where all is on one
 * device. It needs none of the devices. bound: a net whose batch is a number; device: of nodes that name none. */
void check_copies_print (const LoomNet *bound, const char *device, gboolean trains, gboolean json);

G_END_DECLS
