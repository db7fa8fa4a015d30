/* The prefix of the slots of tables: numbers that are written in a graph, for the node whose path follows. They are of
 * kind OPTIMIZER, but belong to no parameter; every rank has them whole, and no checkpoint has them. No weight has a
 * colon in its name. */
#pragma once

#define LOOM_SLOT_TABLE "constant:"
