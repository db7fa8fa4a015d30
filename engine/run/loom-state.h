/* State: the named slots of a run, in flat buffers that outlive plans.
 *
 * Training, evaluation and the last short batch are plans over one state. Parameters are stored in one buffer, each
 * optimiser state in another, in the same order, so that one kernel updates them all; each tensor begins at a multiple
 * of 64 bytes. Layout is PyTorch's. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/core/loom-tensor.h"
#include "engine/plan/loom-plan.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

typedef struct _LoomState LoomState;

/* An empty state; programs add slots. device: the name of the device for slots that name none. */
LoomState *loom_state_new (LoomDevices *devices, const char *device, guint64 seed);
LoomState *loom_state_ref (LoomState *state);
void loom_state_unref (LoomState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomState, loom_state_unref)

/* Of a run of several ranks, before the first slot: slots of which each rank has a shard are whole for the caller that
 * gets or sets one. Getting such a slot is then a collective, which all ranks call together; setting one is called with
 * the whole value on all ranks, and each takes its shard. The mesh must outlive the state. */
void loom_state_set_mesh (LoomState *state, const LoomMesh *mesh);
/* TRUE if ranks store shards of slots, so that files are written by all of them together. */
gboolean loom_state_is_divided (const LoomState *state);
gboolean loom_state_slot_is_divided (const LoomState *state, guint i);

/* Adds the slots of a program that do not exist yet and initialises them from (seed, name) alone. OUT_OF_MEMORY names
 * bytes wanted and free. SHAPE: a slot exists with another shape or type. */
gboolean loom_state_add_slots (LoomState *state, const LoomProgram *program, GError **error);

guint loom_state_n_slots (const LoomState *state);
/* Name, kind and description of slot i, whole. */
void loom_state_slot (const LoomState *state, guint i, const char **name, LoomSlotKind *kind, LoomTensorDesc *desc);
int loom_state_find (const LoomState *state, const char *name);
void *loom_state_address (const LoomState *state, guint i); /* in device memory */
/* Copies a whole slot out, or in (shape and dtype must match: SHAPE error; floats are converted). */
LoomTensor *loom_state_get (LoomState *state, const char *name, GError **error);
gboolean loom_state_set (LoomState *state, const char *name, const LoomTensor *value, GError **error);
/* Scalar slots. Setting takes effect at the next step; FALSE when there is none of that name. */
gboolean loom_state_set_scalar (LoomState *state, const char *name, double value);
/* The same for slot i of loom_state_find(), which a training loop calls once (slots never move), and without waiting
 * for a busy device: steps queued after the call are sure to use the value. */
gboolean loom_state_put_scalar_at (LoomState *state, guint i, double value);
double loom_state_get_scalar (LoomState *state, const char *name);
/* Bytes by owner of all that the run holds on its devices: parameters (with buffers), optimizer, scalars under
 * workspace, the arena that its executors share, and what each keeps in addition. device NULL: on all of them together.
 */
void loom_state_memory (const LoomState *state, const LoomPlanDevice *device, gsize bytes[LOOM_N_OWNERS]);

/* Weights as safetensors with PyTorch names: parameters and buffers, a tensor at a time, so that no rank has all of
 * them. path is a name in the folder, if there is one; a rank that takes part in saving without writing passes NULL
 * for both. load: every name and shape must match unless partial; `report`, if not NULL, receives what was missing,
 * unused, mismatched, each after a line break. */
gboolean loom_state_save_weights (LoomState *state, LoomFolder *folder, const char *path, GError **error);
/* The same names with other values: each from the slot prefix + name where there is one, else its own. */
gboolean
loom_state_save_weights_of (LoomState *state, const char *prefix, LoomFolder *folder, const char *path, GError **error);
gboolean loom_state_load_weights (LoomState *state, const char *path, gboolean partial, char **report, GError **error);
/* All of them, by a name in a folder. */
gboolean loom_state_load_weights_in (LoomState *state, LoomFolder *folder, const char *name, GError **error);
/* The number of steps after which the weights of a file were saved; -1: the file does not say. */
gint64 loom_weights_step (const char *path);
/* Optimizer and scalar slots. */
gboolean loom_state_save_optimizer (LoomState *state, LoomFolder *folder, const char *path, GError **error);
gboolean loom_state_load_optimizer (LoomState *state, LoomFolder *folder, const char *name, GError **error);

G_END_DECLS
