/* Prefixes of the names of slots of kind OPTIMIZER that belong to no parameter: tables, and state that nodes carry from
 * batch to batch. The prefixes of slots with the shape of a parameter are in loom-optimizer.h. */
#pragma once

/* Tables: numbers that are written in a graph, for the node whose path follows. Every rank has them whole, and no
 * checkpoint has them. No weight has a colon in its name. */
#define LOOM_SLOT_TABLE "constant:"
/* State that nodes carry (LoomCarry), in training and in an evaluation. The latter is not saved. A step that is not
 * finite leaves the former unchanged. */
#define LOOM_SLOT_CARRY          "optimizer.carry."
#define LOOM_SLOT_CARRY_EVALUATE "evaluate.carry."
