/* Detects whether a program treats each position of a sequence independently. If it does, text generation computes only
 * the new position for each token (engine/infer/loom-generator.c) and keeps keys and values in a cache. */
#pragma once

#include "engine/program/loom-program.h"

/* Compares two programs of one net, lowered for sequences of n_a and n_b positions, which must differ. Returns NULL if
 * each position of every value depends only on the same position of its operands and not on the position's index; then
 * a program for one position can run position by position. Nodes in `keepers` (a set of paths; may be NULL) store what
 * they need of earlier positions and are not checked. Otherwise returns a clause about the first node that mixes
 * positions, for example "“pool” (avg_pool2d) mixes positions". (transfer full) */
char *loom_program_find_position_mixing (const LoomProgram *a, gint64 n_a, const LoomProgram *b, gint64 n_b,
                                         GHashTable *keepers);
