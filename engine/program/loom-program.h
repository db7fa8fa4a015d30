/* A program: typed primitives in single-assignment form, between the graph (engine/graph) and the plan (engine/plan).
 * The header declares the builder, differentiation, and the passes from program to program (mixed precision,
 * recomputation, hoisting, expansion).
 *
 * Values are small integers; an instruction has a primitive, attributes, operands and results. Shapes are concrete: a
 * program is built for one binding of the graph's symbols, and another batch size needs another program with the same
 * slots. State is explicit: loom_program_read() reads a slot, loom_program_commit() declares its next value, and a run
 * commits at the end of a step. */
#pragma once

#include <glib.h>

#include "engine/core/loom-dim.h"
#include "engine/core/loom-error.h"
#include "kernels/backend.h"

typedef struct _LoomProgram LoomProgram;
typedef struct _LoomPrim LoomPrim;
typedef guint32 LoomValue; /* 0: no value */

typedef enum
{
  LOOM_REGION_FORWARD,
  LOOM_REGION_BACKWARD,
  LOOM_REGION_UPDATE,
  LOOM_N_REGIONS
} LoomRegion;

typedef enum
{
  LOOM_SLOT_PARAMETER, /* trained, saved */
  LOOM_SLOT_BUFFER,    /* running statistics: saved, not trained */
  LOOM_SLOT_OPTIMIZER, /* momentum and other states; named "optimizer.KIND.PARAMETER" */
  LOOM_SLOT_SCALAR     /* lr, momentum, dropout rate, seed, step: set between steps */
} LoomSlotKind;

/* How a slot is initialised. Random kinds depend only on (seed, slot name). */
typedef enum
{
  LOOM_INIT_ZEROS,
  LOOM_INIT_CONSTANT, /* a */
  LOOM_INIT_UNIFORM,  /* in [a, b) */
  LOOM_INIT_NORMAL,   /* mean a, standard deviation b */
  LOOM_INIT_DATA,     /* the values in `data`, row major */
  /* As torch.nn.init; the tensor is a matrix of `rows` and `columns`. */
  LOOM_INIT_TRUNC_NORMAL, /* mean a, standard deviation b of the normal that is cut off at low and high */
  LOOM_INIT_EYE,
  LOOM_INIT_DIRAC,      /* the identity at the centre of a kernel, in each of `groups` */
  LOOM_INIT_ORTHOGONAL, /* orthonormal rows or columns, times a */
  LOOM_INIT_SPARSE      /* normal with standard deviation b; of each column the fraction a is 0 */
} LoomInitKind;

typedef struct
{
  LoomInitKind kind;
  double a, b;
  const double *data; /* borrowed from the net that made it, and copied into the slot */
  /* a range of elements that are 0 at first for every kind: an embedding's padding row */
  gint64 zero_from, zero_count;
  double low, high;
  gint64 rows, columns;
  gint64 groups, window, centre; /* of dirac: a kernel has `window` positions, of which one is its centre */
} LoomInit;

/* A part of an axis: part `index` of `of` equal ones, of each of its `blocks` consecutive blocks. */
typedef struct
{
  int axis;
  gint64 blocks;
  int index, of; /* of 0: the whole axis */
} LoomSlotPart;

typedef struct
{
  char *name;
  LoomSlotKind kind;
  LoomDType dtype;
  int rank;
  gint64 dim[LOOM_MAX_RANK];
  LoomInit init;      /* of the whole tensor */
  gboolean trainable; /* parameters only: FALSE if frozen */
  /* For split weights: the tensor is this part; rank and dim are those of the part. */
  LoomSlotPart part;
  /* For sharded slots: the tensor is a list of elements of the whole tensor from `first` on, in row-major order; rank
   * and dim are those of the list. */
  gboolean is_shard;
  gint64 first;
  /* For pipelines: only one stage has the slot, whole or a shard; on other stages it is an empty list. */
  gboolean is_placed, is_here;
  int whole_rank; /* rank and dimensions of the unsharded tensor, if the slot is sharded or placed */
  gint64 whole_dim[LOOM_MAX_RANK];
  LoomValue read;   /* the value at the start of the step; 0 if never read */
  LoomValue commit; /* the value after the step; 0 if unchanged */
} LoomSlot;

/* An external value: a batch's tensor, --in of `gradloom run`. */
typedef struct
{
  char *name; /* PATH.PORT */
  LoomValue value;
} LoomProgramInput;

/* A value that the caller requests by name: loss, metric inputs, --out, gradients. */
typedef struct
{
  char *name;
  LoomValue value;
} LoomProgramOutput;

/* The value of a node's port in the program. */
typedef struct
{
  char *name; /* "fc", "data.x", see loom_net_port_name() */
  LoomValue value;
} LoomProgramPort;

typedef struct
{
  LoomTensorDesc desc; /* the layout is always plain */
  guint producer;      /* index of the instruction that makes it; G_MAXUINT for inputs and slots */
  guint16 result;      /* its index among the results */
  LoomRegion region;
  const char *origin; /* path of the graph node that it belongs to, owned by the program, or NULL */
  const char *device; /* the device that the node requests ("cuda:0"), owned by the program; NULL: the graph's */
  int slot;           /* index of the slot it reads, else -1 */
  int input;          /* index of the program input, else -1 */
} LoomValueInfo;

typedef struct
{
  const LoomPrim *prim;
  gpointer attrs; /* owned; prim->attrs_size bytes, or NULL */
  guint n_in, n_out;
  LoomValue *in, *out; /* owned; 0 for an absent optional operand or unwanted result */
  LoomRegion region;
  const char *origin;
  const char *device;
  gboolean is_recomputed; /* in a loop's body: the backward pass recomputes its results instead of keeping them */
  /* 0, or for a pipeline stage 1 + 2·micro-batch, plus 1 in its backward pass; instructions of different passes are
   * never merged */
  guint pass;
  /* 0, or the number of the scope in which it is recomputed; instructions of different numbers are never merged */
  guint recomputation;
} LoomInstr;

/* The number of operands of the kernel call: without trailing absent ones. */
guint loom_instr_n_operands (const LoomInstr *instr);

LoomProgram *loom_program_new (void);
LoomProgram *loom_program_ref (LoomProgram *p);
void loom_program_unref (LoomProgram *p);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomProgram, loom_program_unref)

/* The type of "float" in this program: F32, or F64 for `--dtype f64`. */
void loom_program_set_float (LoomProgram *p, LoomDType dtype);
LoomDType loom_program_get_float (const LoomProgram *p);
/* TRUE if devices may round operands of f32 products to TF32 (LoomKernelSpec.tf32). FALSE in a new program. */
void loom_program_set_tf32 (LoomProgram *p, gboolean tf32);
gboolean loom_program_get_tf32 (const LoomProgram *p);

/* ---- insertion points ------------------------------------------------- */
void loom_program_set_region (LoomProgram *p, LoomRegion region);
LoomRegion loom_program_get_region (const LoomProgram *p);
void loom_program_set_origin (LoomProgram *p, const char *path, const char *device);
void loom_program_get_origin (const LoomProgram *p, const char **path, const char **device);
void loom_program_set_recomputation (LoomProgram *p, guint number);
/* Sets the pass (LoomInstr.pass) of the instructions that are appended next. */
void loom_program_set_pass (LoomProgram *p, guint pass);
void loom_program_set_recomputed (LoomProgram *p, gboolean is_recomputed);
gboolean loom_program_get_recomputed (const LoomProgram *p);

/* ---- building --------------------------------------------------------- */

/* Appends an instruction, infers the types of its results and returns the first result; out (may be NULL) receives all
 * n_out results. attrs are copied. Elementwise operands broadcast. An invalid call is a programming error and asserts
 * with the primitive's sentence; the infer() of operators reports users' errors before. */
LoomValue
loom_emit (LoomProgram *p, const LoomPrim *prim, const void *attrs, guint n_in, const LoomValue *in, LoomValue *out);

/* Replaces the attributes of an instruction with ones that request further results after the existing ones. Gradients
 * need it, because the forward instruction exists already. out[] receives the new results. */
void loom_program_extend (LoomProgram *p, guint index, const void *attrs, LoomValue *out);

LoomValue loom_program_input (LoomProgram *p, const char *name, LoomDType dtype, int rank, const gint64 *dims);
/* Declares a slot and returns its index. If a slot of the name exists, returns that one. */
int loom_program_slot (LoomProgram *p, const char *name, LoomSlotKind kind, LoomDType dtype, int rank,
                       const gint64 *dims, const LoomInit *init, gboolean trainable);
/* Makes a slot this part of its tensor, whose axis must be a multiple of blocks · of. Call before it is sharded or
 * read. */
void loom_program_part_slot (LoomProgram *p, int slot, const LoomSlotPart *part);
/* Makes a slot a shard: these elements of the tensor, or of its part. Call before it is read. */
void loom_program_shard_slot (LoomProgram *p, int slot, gint64 first, gint64 count);
/* Makes a slot, or its shard, belong to one stage; on others (`here` FALSE) it is an empty list. Call before it is read
 * and after the two functions above. */
void loom_program_place_slot (LoomProgram *p, int slot, gboolean here);
/* The shape of the whole tensor of a split or sharded slot; returns its rank. dim must hold LOOM_MAX_RANK. */
int loom_slot_whole (const LoomSlot *slot, gint64 *dim);
LoomValue loom_program_read (LoomProgram *p, int slot);
void loom_program_commit (LoomProgram *p, int slot, LoomValue value);
/* Renames a slot, so that the program uses other state. The name must be unused. */
void loom_program_rename_slot (LoomProgram *p, int slot, const char *name);
/* Removes all commits, so that the program changes no state. */
void loom_program_drop_commits (LoomProgram *p);
/* A scalar slot of the program's float type (i64 for "seed" and "step") with its start value. */
LoomValue loom_program_scalar (LoomProgram *p, const char *name, double initial);
LoomValue loom_program_scalar_i64 (LoomProgram *p, const char *name, gint64 initial);
void loom_program_output (LoomProgram *p, const char *name, LoomValue value);
LoomValue loom_program_find_output (const LoomProgram *p, const char *name);

/* Records the value of a node's port. Lowering records every port and passes map the table, so that observers find
 * values by name. A later record of a name replaces the earlier one. */
void loom_program_set_port (LoomProgram *p, const char *name, LoomValue value);
LoomValue loom_program_find_port (const LoomProgram *p, const char *name); /* 0 if there is none */

/* FALSE with a SHAPE error that names the node if a value has more than LOOM_MAX_ELEMENTS elements. Planners and
 * executors call it before they compute sizes in bytes. */
gboolean loom_program_is_countable (const LoomProgram *p, GError **error);

/* ---- accessors -------------------------------------------------------- */
guint loom_program_n_values (const LoomProgram *p); /* values are 1 … n */
const LoomValueInfo *loom_value_info (const LoomProgram *p, LoomValue v);
guint loom_program_n_instrs (const LoomProgram *p);
const LoomInstr *loom_program_instr (const LoomProgram *p, guint i);
guint loom_program_n_slots (const LoomProgram *p);
const LoomSlot *loom_program_get_slot (const LoomProgram *p, guint i);
int loom_program_find_slot (const LoomProgram *p, const char *name); /* -1 if there is none */
guint loom_program_n_inputs (const LoomProgram *p);
const LoomProgramInput *loom_program_get_input (const LoomProgram *p, guint i);
guint loom_program_n_outputs (const LoomProgram *p);
const LoomProgramOutput *loom_program_get_output (const LoomProgram *p, guint i);
/* The name, in errors, of an instruction that belongs to no node, from its results: "The update of fc.weight and 3
 * more", "The computation of grad_norm". out: its results; numbers that are no values of p are skipped. prim may be
 * NULL. (transfer full) */
char *
loom_program_purpose (const LoomProgram *p, const LoomPrim *prim, LoomRegion region, guint n_out, const guint *out);
guint loom_program_n_ports (const LoomProgram *p); /* in the order of lowering */
const LoomProgramPort *loom_program_get_port (const LoomProgram *p, guint i);
/* The listing of `gradloom program`: regions, one instruction a line, types at the right. (transfer full) */
char *loom_program_print (const LoomProgram *p);

/* ---- differentiation -------------------------------------------------- */

/* Appends, in region BACKWARD, the gradients of `of` with respect to each wrt[i] by the primitives' rules; cotangents
 * from several uses are summed in a fixed order. seed: the cotangent of `of`, or 0 for ones. grads[i] is 0 if `of` does
 * not depend on wrt[i]. SHAPE error, naming primitive and node, if a primitive on the path has no gradient (argmax and
 * comparisons have a zero gradient). */
gboolean loom_differentiate (LoomProgram *p, LoomValue of, LoomValue seed, guint n, const LoomValue *wrt,
                             LoomValue *grads, GError **error);
/* The same for Σ of[i]·seed[i] over n_of values; seed[i] has the shape of of[i]. */
gboolean loom_differentiate_sum (LoomProgram *p, guint n_of, const LoomValue *of, const LoomValue *seed, guint n,
                                 const LoomValue *wrt, LoomValue *grads, GError **error);

/* ---- passes ------------------------------------------------------------ */

/* The state of a program after a pass. */
typedef struct
{
  const char *name, *doc; /* one line */
  guint n_instrs;
  gsize bytes; /* of all results, as if no memory were shared */
} LoomProgramPass;

/* The passes that made this program, in order. Their figures do not include instructions that were appended later. */
guint loom_program_n_passes (const LoomProgram *p);
const LoomProgramPass *loom_program_pass (const LoomProgram *p, guint i);
/* The bytes of all results. */
gsize loom_program_bytes (const LoomProgram *p);

/* A copy in which values that are computed inside a scope (a set of node paths) are recomputed for the backward pass
 * instead of kept (program-recompute.c). The results have the same bits; slots, inputs and outputs keep their
 * indices. */
LoomProgram *loom_program_recompute (const LoomProgram *p, GHashTable *scopes);

/* A copy of a forward program in mixed precision, like torch.autocast (program-precision.c): products and convolutions
 * in the 16-bit type (F16 or BF16), primitives that need range or precision in f32, the others in their operands' type.
 * dtype_of: node path → GUINT_TO_POINTER (LoomDType + 1) for nodes with their own type; may be NULL. values[n] of p are
 * replaced with those of the copy. */
LoomProgram *
loom_program_autocast (const LoomProgram *p, LoomDType dtype, GHashTable *dtype_of, guint n, LoomValue *values);

/* A copy of a forward program, or p itself if nothing changes, in which products that do not depend on a loop's carried
 * values are computed before the loop for all iterations at once, and loop-invariant values once (program-hoist.c). The
 * product of all iterations may differ from single products in the last bit. values[n] as above. (transfer full) */
LoomProgram *loom_program_hoist (LoomProgram *p, guint n, LoomValue *values);

/* Dynamic loss scaling for f16, whose gradients underflow below 6e-8, like torch.amp.GradScaler. The scale (scalar
 * slots "loss_scale" and "good_steps") is the cotangent of the loss, and each gradient, of any type, is divided by it.
 * The scale is halved if finite is 0, doubled after 2000 consecutive finite steps, and unchanged if sound is 0. */
LoomValue loom_loss_scale (LoomProgram *p);
LoomValue loom_loss_unscale (LoomProgram *p, LoomValue grad);
/* 1 if the scale is at least 1 after halving: then the scale may be the cause of an overflow. */
LoomValue loom_loss_scale_can_shrink (LoomProgram *p);
void loom_loss_scale_update (LoomProgram *p, LoomValue finite, LoomValue sound);

/* A copy in which every composite is replaced by its expansion into core primitives, for the ONNX export and for tests.
 * Plans do not need it. (transfer full) */
LoomProgram *loom_program_expand (const LoomProgram *p, GError **error);
