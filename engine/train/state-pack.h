/* A run's state in few bytes, alone or as the differences from an earlier state of the run, its base.
 *
 * Such are the states by which a run goes back, in the folder's history: with half of the bytes, twice as many states
 * fit into a budget, and half of the steps are computed again. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/run/loom-state.h"

#define STATE_PACK_FILE   "state.packed" /* in history/STEP */
#define STATE_PACK_MOST   G_MAXUINT32    /* bytes of a GByteArray */
#define STATE_PACK_LEVELS 8              /* states of which each is packed against the next one, at most */

/* Of all slots, also of those that are not kept. */
gint64 state_bytes (LoomState *state);
/* The values of the slots (LoomTensor by slot, NULL for one that is not kept; transfer full). NULL: memory is not
 * sufficient. */
GPtrArray *state_values (LoomState *state, GError **error);
gboolean state_put_values (LoomState *state, const GPtrArray *value, GError **error);

/* The values after `step`. base: those of the state after base_step; NULL, with -1: packed alone. NULL without an
 * error: it takes more than `most` bytes, at most STATE_PACK_MOST. OUT_OF_MEMORY. */
GBytes *state_pack (LoomState *state, const GPtrArray *value, gint64 step, gint64 base_step, const GPtrArray *base,
                    gsize most, GError **error);
/* The step of its base; -1: none. FALSE: it is damaged. */
gboolean state_pack_base (GBytes *pack, gint64 *base_step);
/* Reads the values of the state in the folder of one of the steps of a history, and those that it is packed against.
 * DATA, IO. */
GPtrArray *state_pack_read (LoomState *state, LoomFolder *history, gint64 step, GError **error);
