/* The eager executor: walks a program an instruction at a time, forwards and back.
 *
 * It is the "dynamic graph" of the lectures, the oracle that plans are tested against, and what a debugger or the
 * search for a NaN steps through. Every value stays until the walk goes back before it or a new one begins. Each
 * instruction runs on the device that its node asks for, else on the walk's own; the state is changed by
 * loom_eager_commit() alone. */
#pragma once

#include "engine/run/loom-state.h"

G_BEGIN_DECLS

typedef struct _LoomEager LoomEager;

/* Adds the program's slots to the state. DEVICE: names a device that does not exist. */
LoomEager *
loom_eager_new (LoomProgram *program, LoomState *state, LoomDevices *devices, const char *device, GError **error);
void loom_eager_free (LoomEager *eager);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomEager, loom_eager_free)
/* Where program input i is read from when a walk begins: host memory of its size, plain layout. */
void loom_eager_feed (LoomEager *eager, guint input, const void *data);

/* Reads the state and the inputs, and moves before the first instruction. */
gboolean loom_eager_begin (LoomEager *eager, GError **error);
/* Runs the instruction that the walk stands before. NO_KERNEL where its device cannot compute it, DATA and NAN for
 * faults of the numbers, OUT_OF_MEMORY, DEVICE; then it stands where it stood. */
gboolean loom_eager_step (LoomEager *eager, GError **error);
/* The instruction that the walk stands before; the number of all where it has ended. */
guint loom_eager_at (const LoomEager *eager);
/* Moves back before an earlier instruction; what is computed again has the same bits. */
void loom_eager_back_to (LoomEager *eager, guint at);
/* A value on the host, valid beyond the walk. DATA where it has not been computed. */
LoomTensor *loom_eager_value (LoomEager *eager, LoomValue v, GError **error);
/* The value of a port, "fc" or "data.x", as loom_net_port_name() calls it. PORT where the program has none of that
 * name. */
LoomTensor *loom_eager_port (LoomEager *eager, const char *port, GError **error);
LoomTensor *loom_eager_output (LoomEager *eager, guint output, GError **error);
/* After the last instruction: the state takes its next values. */
gboolean loom_eager_commit (LoomEager *eager, GError **error);

/* The program that is walked through; borrowed. */
LoomProgram *loom_eager_program (const LoomEager *eager);

/* ---- into a loop ------------------------------------------------------------
 *
 * A loop is one instruction of a walk, which runs all of its steps. To see what happens in them, a second walk goes
 * through the body, on the same operands and to the same bits. */
typedef struct _LoomEagerLoop LoomEagerLoop;

/* Looks into instruction `index`, a loop whose operands the walk has computed; it may have run already. The walk must
 * not go back before it as long as this lives. DATA where an operand is not there. */
LoomEagerLoop *loom_eager_loop_new (LoomEager *eager, guint index, GError **error);
void loom_eager_loop_free (LoomEagerLoop *loop);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomEagerLoop, loom_eager_loop_free)
/* TRUE for an instruction that loom_eager_loop_new() takes. */
gboolean loom_eager_is_loop (const LoomEager *eager, guint index);
gint64 loom_eager_loop_length (const LoomEagerLoop *loop);
/* The row of the sequences that is read in the n-th run: from the last to the first in a reverse loop. */
gint64 loom_eager_loop_row (const LoomEagerLoop *loop, gint64 n);
/* A walk that stands before the first instruction of the n-th run, counted from 0, with the values that are carried
 * into it; earlier runs that are not known yet are computed. Ports are those of the body's nodes. Borrowed; the
 * next call restarts it. Memory: the carried values of all runs so far. */
LoomEager *loom_eager_loop_enter (LoomEagerLoop *loop, gint64 n, GError **error);

/* A whole walk. visit (may be NULL) sees each instruction's results; returning FALSE ends the walk, and nothing is
 * committed. */
typedef gboolean (*LoomEagerVisit) (const LoomInstr *instr, guint index, LoomTensor *const *results, gpointer data);
gboolean loom_eager_run (LoomEager *eager, gboolean commit, LoomEagerVisit visit, gpointer data, GError **error);

G_END_DECLS
