/* Runs instructions of a plan with the plan's own kernels, on memory of the checker that is poisoned before each run.
 *
 * Kernels are bound to that memory, so a plan is checked before an executor binds it. */
#pragma once

#include "engine/check/check-piece.h"
#include "engine/core/loom-tensor.h"

typedef struct _CheckRun CheckRun;

/* NULL if an instruction cannot run here: an exchange of ranks, or one for which its device has not enough memory; with
 * *no_memory if the host has not enough. */
CheckRun *check_run_new (const CheckPieces *pieces, const CheckPiece *piece, gboolean *no_memory);
void check_run_free (CheckRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CheckRun, check_run_free)

/* Stores elements, in row-major order and in the root's type, in the root's layout. */
void check_run_set (CheckRun *run, guint root, const LoomTensor *from);
/* Runs all instructions. at receives the failing one, or one that wrote outside its results: OK with a message. */
LoomStatus check_run (CheckRun *run, guint *at, LoomMessage *message);
/* The elements of a root in row-major order, in the shape of `like`; NULL: there is not enough memory. (transfer full)
 */
LoomTensor *check_run_get (const CheckRun *run, guint root, const LoomTensorDesc *like);
