/* State: the named slots of a run, in flat buffers that outlive plans.
 *
 * Training, evaluation and an incomplete last batch are plans over one state. Parameters are stored in one buffer, each
 * optimiser state in another, in the same order, so that one kernel updates them all; each tensor begins at a multiple
 * of 64 bytes. The layout is PyTorch's. */
#pragma once

#include "engine/core/loom-folder.h"
#include "engine/core/loom-tensor.h"
#include "engine/plan/loom-plan.h"
#include "kernels/comm.h"

typedef struct _LoomState LoomState;

/* Makes an empty state, to which programs add slots. device: for slots that name none. */
LoomState *loom_state_new (LoomDevices *devices, const char *device, guint64 seed);
LoomState *loom_state_ref (LoomState *state);
void loom_state_unref (LoomState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomState, loom_state_unref)

/* Sets the mesh of a run with several ranks; call before the first slot. Functions then get and set whole values of
 * sharded slots: getting one is a collective that all ranks call; setting one is called with the whole value on all
 * ranks, and each stores its shard. The mesh must outlive the state. */
void loom_state_set_mesh (LoomState *state, const LoomMesh *mesh);
/* TRUE if ranks store shards of slots, so that all of them together write files. */
gboolean loom_state_is_divided (const LoomState *state);
gboolean loom_state_slot_is_divided (const LoomState *state, guint i);

/* FALSE for sums of gradients, which are empty between two steps, and for what evaluations carry, which each begins
 * with zeros and whose slots the first one adds: what is stored of a run has neither. */
gboolean loom_state_slot_is_kept (const char *name);

/* Adds the program's slots that do not exist yet, initialised from (seed, name) alone. OUT_OF_MEMORY names the bytes
 * requested and free. SHAPE: a slot exists with another shape or type. */
gboolean loom_state_add_slots (LoomState *state, const LoomProgram *program, GError **error);

guint loom_state_n_slots (const LoomState *state);
/* Name, kind and whole description of slot i. */
void loom_state_slot (const LoomState *state, guint i, const char **name, LoomSlotKind *kind, LoomTensorDesc *desc);
int loom_state_find (const LoomState *state, const char *name);
void *loom_state_address (const LoomState *state, guint i); /* in device memory */
/* Copies a whole slot out, or in (SHAPE unless shape and dtype match; floats are converted). */
LoomTensor *loom_state_get (LoomState *state, const char *name, GError **error);
gboolean loom_state_set (LoomState *state, const char *name, const LoomTensor *value, GError **error);
/* Sets a scalar slot, from the next step on; FALSE if there is no slot of that name. */
gboolean loom_state_set_scalar (LoomState *state, const char *name, double value);
/* The same for slot i of loom_state_find(), which a training loop calls once (slots never move), without waiting for a
 * busy device: steps enqueued after the call use the value. */
gboolean loom_state_put_scalar_at (LoomState *state, guint i, double value);
/* DEVICE or OUT_OF_MEMORY: *value is unchanged. */
gboolean loom_state_get_scalar (LoomState *state, const char *name, double *value, GError **error);
/* Copies a scalar slot of one state to that of another; it keeps its value if `from` has none of the name. */
gboolean loom_state_copy_scalar (LoomState *to, LoomState *from, const char *name, GError **error);
/* Adds the bytes, by owner, that the run has allocated on its devices: parameters (with buffers), optimizer, scalars
 * under workspace, the arena that its executors share, and their own memory. device NULL: on all devices. */
void loom_state_memory (const LoomState *state, const LoomPlanDevice *device, gsize bytes[LOOM_N_OWNERS]);

/* Saves and loads weights as safetensors with PyTorch names: parameters and buffers, one tensor at a time, so that no
 * rank needs memory for all. path is a name in the folder, if there is one; ranks that take part without writing pass
 * NULL for both. Loading requires every name and shape to match unless partial; `report`, if not NULL, receives a line
 * for each missing, unused or mismatched tensor. */
gboolean loom_state_save_weights (LoomState *state, LoomFolder *folder, const char *path, GError **error);
/* The same names with other values: that of the slot prefix + name if it exists, else the slot's own. */
gboolean
loom_state_save_weights_of (LoomState *state, const char *prefix, LoomFolder *folder, const char *path, GError **error);
/* The same for some weights, by other names: rename returns that of a slot, or NULL to leave it out. (transfer full) */
typedef char *(*LoomStateRename) (const char *slot, gpointer data);
gboolean loom_state_save_renamed (LoomState *state, const char *prefix, LoomStateRename rename, gpointer data,
                                  LoomFolder *folder, const char *path, GError **error);
gboolean loom_state_load_weights (LoomState *state, const char *path, gboolean partial, char **report, GError **error);
/* All of them, by a name in a folder. */
gboolean loom_state_load_weights_in (LoomState *state, LoomFolder *folder, const char *name, GError **error);
/* The number of steps after which the weights of a file were saved; -1: not stored. */
gint64 loom_weights_step (const char *path);
/* Optimizer and scalar slots. */
gboolean loom_state_save_optimizer (LoomState *state, LoomFolder *folder, const char *path, GError **error);
gboolean loom_state_load_optimizer (LoomState *state, LoomFolder *folder, const char *name, GError **error);
