/* Whether a program treats each place of a sequence by itself. */
#pragma once

#include "engine/program/loom-program.h"

G_BEGIN_DECLS

/* Two programs of one net are given, for a places and for b places, two numbers that differ. NULL where every place of
 * every value follows from the same place of what it is computed from, and nothing depends on where it stands; so a
 * program for one place may be run place by place. Nodes of the set `keepers` (paths; may be NULL) look at other places
 * in a way of their own, and are trusted with it. Else a clause of the first node that does not: "“pool” (avg_pool2d)
 * mixes places". (transfer full) */
char *
loom_program_find_mixing (const LoomProgram *a, gint64 n_a, const LoomProgram *b, gint64 n_b, GHashTable *keepers);

G_END_DECLS
