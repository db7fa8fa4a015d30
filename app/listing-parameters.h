/* `gradloom plan --parameters`: what model.named_parameters() shows in PyTorch, with the device that each lies on. */
#pragma once

#include "engine/loom.h"

G_BEGIN_DECLS

/* A line each, in the program's order, and what they come to on each device; with json an object each. */
void listing_print_parameters (const LoomPlan *plan, gboolean json);

G_END_DECLS
