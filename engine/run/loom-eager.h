/* The eager executor: runs a program one instruction at a time, forwards and backwards.
 *
 * It is the "dynamic graph" of the lectures, the reference that plans are tested against, and the stepper of the
 * debugger and of the search for a NaN. Every value is kept until the executor moves back before it or starts again.
 * Each instruction runs on the device that its node names, else on the executor's own; only loom_eager_commit() changes
 * the state. */
#pragma once

#include "engine/run/loom-state.h"

typedef struct _LoomEager LoomEager;

/* Adds the program's slots to the state. DEVICE if the program names a device that does not exist. */
LoomEager *
loom_eager_new (LoomProgram *program, LoomState *state, LoomDevices *devices, const char *device, GError **error);
void loom_eager_free (LoomEager *eager);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomEager, loom_eager_free)
/* Sets the data of program input i, read by loom_eager_begin(): host memory of its size, plain layout. */
void loom_eager_feed (LoomEager *eager, guint input, const void *data);

/* Reads the state and the inputs, and moves before the first instruction. */
gboolean loom_eager_begin (LoomEager *eager, GError **error);
/* Runs the next instruction. NO_KERNEL: its device cannot compute it. DATA, NAN: faults of the numbers. OUT_OF_MEMORY,
 * DEVICE. After an error the next instruction is still the same. */
gboolean loom_eager_step (LoomEager *eager, GError **error);
/* The index of the next instruction; the number of instructions at the end. */
guint loom_eager_at (const LoomEager *eager);
/* Moves back before an earlier instruction; values that are computed again have the same bits. */
void loom_eager_back_to (LoomEager *eager, guint at);
/* TRUE if the value has been computed. */
gboolean loom_eager_has_value (const LoomEager *eager, LoomValue v);
/* Returns a value in host memory, which outlives the executor. DATA: it has not been computed. */
LoomTensor *loom_eager_value (LoomEager *eager, LoomValue v, GError **error);
/* Returns the value of a port, "fc" or "data.x", as named by loom_net_port_name(). PORT: the program has no such port.
 */
LoomTensor *loom_eager_port (LoomEager *eager, const char *port, GError **error);
LoomTensor *loom_eager_output (LoomEager *eager, guint output, GError **error);
/* Call after the last instruction: sets the state to its next values. */
gboolean loom_eager_commit (LoomEager *eager, GError **error);

/* The executed program; borrowed. */
LoomProgram *loom_eager_program (const LoomEager *eager);

/* ---- into a loop ------------------------------------------------------------
 *
 * A loop is one instruction, which runs all of its iterations. To see inside them, a second executor runs the body on
 * the same operands, to the same bits. */
typedef struct _LoomEagerLoop LoomEagerLoop;

/* Opens instruction `index`, a loop whose operands have been computed; it may have run already. While this object
 * lives, `eager` must not move back before it. DATA: an operand is missing. */
LoomEagerLoop *loom_eager_loop_new (LoomEager *eager, guint index, GError **error);
void loom_eager_loop_free (LoomEagerLoop *loop);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomEagerLoop, loom_eager_loop_free)
/* TRUE for an instruction that loom_eager_loop_new() accepts. */
gboolean loom_eager_is_loop (const LoomEager *eager, guint index);
gint64 loom_eager_loop_length (const LoomEagerLoop *loop);
/* The row of the sequences that iteration n reads; a reverse loop begins with the last row. */
gint64 loom_eager_loop_row (const LoomEagerLoop *loop, gint64 n);
/* An executor before the first instruction of iteration n, counted from 0, with the values carried into it; computes
 * earlier iterations that are not known yet. Ports are those of the body's nodes. Borrowed; the next call restarts it.
 * Memory: the carried values of all iterations so far. */
LoomEager *loom_eager_loop_enter (LoomEagerLoop *loop, gint64 n, GError **error);

/* Runs the whole program. visit (may be NULL) receives each instruction's results; if it returns FALSE, execution ends
 * and nothing is committed. */
typedef gboolean (*LoomEagerVisit) (const LoomInstr *instr, guint index, LoomTensor *const *results, gpointer data);
gboolean loom_eager_run (LoomEager *eager, gboolean commit, LoomEagerVisit visit, gpointer data, GError **error);
