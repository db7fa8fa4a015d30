/* A program: typed primitives in single-assignment form.
 *
 * Between what the user drew (engine/graph) and what runs (engine/plan). Values are
 * small integers; an instruction names a primitive, its attributes, operands and
 * results. Shapes are concrete: a program is built for one binding of the graph's
 * symbols, and another batch size is another program over the same state slots.
 * State is values in, values out: a slot is read by loom_program_read() and its
 * next value is declared by loom_program_commit(); the run commits when a step ends. */
#pragma once

#include <glib.h>

#include "engine/core/loom-dim.h"
#include "engine/core/loom-error.h"
#include "kernels/backend.h"

G_BEGIN_DECLS

typedef struct _LoomProgram LoomProgram;
typedef struct _LoomPrim LoomPrim;
typedef guint32 LoomValue; /* 0 is "none" */

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
  LOOM_SLOT_OPTIMIZER, /* momentum and such; name "optimizer.KIND.PARAMETER" */
  LOOM_SLOT_SCALAR     /* lr, momentum, dropout rate, seed, step: set between steps */
} LoomSlotKind;

/* How a slot begins. Random ones depend on (seed, slot name) only. */
typedef enum
{
  LOOM_INIT_ZEROS,
  LOOM_INIT_CONSTANT, /* a */
  LOOM_INIT_UNIFORM,  /* in [a, b) */
  LOOM_INIT_NORMAL,   /* mean a, deviation b */
  LOOM_INIT_DATA      /* the values given in data, row major, as doubles */
} LoomInitKind;

typedef struct
{
  LoomInitKind kind;
  double a, b;
  const double *data;           /* borrowed: lives as long as the net that made it; copied into the slot */
  gint64 zero_from, zero_count; /* these elements begin as 0 whatever the kind: an embedding's row for padding */
} LoomInit;

/* Of an axis of a tensor, `blocks` blocks one behind the other, part `index` of `of` equal parts of each. */
typedef struct
{
  int axis;
  gint64 blocks;
  int index, of; /* of 0: it is no part */
} LoomSlotPart;

typedef struct
{
  char *name;
  LoomSlotKind kind;
  LoomDType dtype;
  int rank;
  gint64 dim[LOOM_MAX_RANK];
  LoomInit init;      /* of the whole tensor */
  gboolean trainable; /* parameters only: false when frozen */
  /* On one of several ranks that have parts of weights: the tensor is a part, rank and dim are the part's. */
  LoomSlotPart part;
  /* On one of several ranks: rank and dim are those of a list, elements `first` … of the tensor in row-major order. */
  gboolean is_shard;
  gint64 first;
  /* One stage alone has it, as it is or a shard of it; elsewhere it is an empty list. */
  gboolean is_placed, is_here;
  int whole_rank; /* of what is sharded or placed: its own shape */
  gint64 whole_dim[LOOM_MAX_RANK];
  LoomValue read;     /* its value at the start of the step; 0 if never read */
  LoomValue commit;   /* its value after the step; 0 if unchanged */
} LoomSlot;

/* A value from outside: a batch's tensor, --in of `gradloom run`. */
typedef struct
{
  char *name; /* PATH.PORT */
  LoomValue value;
} LoomProgramInput;

/* A value that is wanted by name: loss, metric inputs, --out, gradients. */
typedef struct
{
  char *name;
  LoomValue value;
} LoomProgramOutput;

/* The value that a node's port has in the program. */
typedef struct
{
  char *name; /* "fc", "data.x": as loom_net_port_name() calls it */
  LoomValue value;
} LoomProgramPort;

typedef struct
{
  LoomTensorDesc desc; /* layout is always PLAIN here */
  guint producer;      /* index of the instruction; G_MAXUINT for inputs and slots */
  guint16 result;      /* which of its results */
  LoomRegion region;
  const char *origin; /* path of the node it belongs to, owned by the program; NULL for none */
  const char *device; /* likewise, as the node asked for ("cuda:0"); NULL for the graph's */
  int slot;           /* index of the slot it reads, else -1 */
  int input;          /* index of the program input it is, else -1 */
} LoomValueInfo;

typedef struct
{
  const LoomPrim *prim;
  gpointer attrs; /* owned; prim->attrs_size bytes, or NULL */
  guint n_in, n_out;
  LoomValue *in, *out; /* owned; an absent optional operand or unwanted result is 0 */
  LoomRegion region;
  const char *origin;
  const char *device;
  gboolean is_remade;  /* in a loop's body: its results are not kept of each run, but made again by the backward pass */
  guint pass; /* 0, or 1 + 2·micro-batch of a pipeline's stage, and 1 more for its backward pass: never merged with what
                 belongs to another one */
  guint recomputation; /* 0, or the number of the scope that computes again; never shared with equal instructions of
                          others */
} LoomInstr;

/* How many operands a back end is given: absent ones behind the last present one are left out. */
guint loom_instr_n_operands (const LoomInstr *instr);

LoomProgram *loom_program_new (void);
LoomProgram *loom_program_ref (LoomProgram *p);
void loom_program_unref (LoomProgram *p);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LoomProgram, loom_program_unref)

/* The float type that "float" means in this program: F32, or F64 for `--dtype f64`. */
void loom_program_set_float (LoomProgram *p, LoomDType dtype);
LoomDType loom_program_get_float (const LoomProgram *p);
/* TRUE if devices may round the operands of its f32 products to TF32 (LoomKernelSpec.tf32). FALSE in a new program. */
void loom_program_set_tf32 (LoomProgram *p, gboolean tf32);
gboolean loom_program_get_tf32 (const LoomProgram *p);

/* ---- insertion points ------------------------------------------------- */
void loom_program_set_region (LoomProgram *p, LoomRegion region);
LoomRegion loom_program_get_region (const LoomProgram *p);
void loom_program_set_origin (LoomProgram *p, const char *path, const char *device);
void loom_program_get_origin (const LoomProgram *p, const char **path, const char **device);
void loom_program_set_recomputation (LoomProgram *p, guint number);
/* As LoomInstr has it; stays until it is set again. */
void loom_program_set_pass (LoomProgram *p, guint pass);
void loom_program_set_remade (LoomProgram *p, gboolean is_remade);
gboolean loom_program_get_remade (const LoomProgram *p);

/* ---- building --------------------------------------------------------- */

/* Appends an instruction, infers its results' types and returns the first result; all n_out results
 * are in out[] when it is not NULL. attrs is copied. A wrong call is a programmer's
 * mistake and asserts with the primitive's sentence: what a user can get wrong is caught by
 * the operators' infer(). Elementwise primitives broadcast. */
LoomValue
loom_emit (LoomProgram *p, const LoomPrim *prim, const void *attrs, guint n_in, const LoomValue *in, LoomValue *out);

/* Gives an instruction other attributes, under which it has further results behind those that it has: what a gradient
 * needs of a forward pass that was emitted before. out[] receives the new ones. */
void loom_program_extend (LoomProgram *p, guint index, const void *attrs, LoomValue *out);

LoomValue loom_program_input (LoomProgram *p, const char *name, LoomDType dtype, int rank, const gint64 *dims);
/* The slot's index; a second declaration of the same name returns the first. */
int loom_program_slot (LoomProgram *p, const char *name, LoomSlotKind kind, LoomDType dtype, int rank,
                       const gint64 *dims, const LoomInit *init, gboolean trainable);
/* The slot is this part of its tensor; the part's axis is to be a multiple of blocks · of. To be called before it is
 * sharded or read. */
void loom_program_part_slot (LoomProgram *p, int slot, const LoomSlotPart *part);
/* The slot has these elements of the tensor, or of its part, alone. To be called before it is read. */
void loom_program_shard_slot (LoomProgram *p, int slot, gint64 first, gint64 count);
/* One stage alone has the slot, or a shard of it; on others than that (`here`) it is an empty list. To be called before
 * it is read, and behind the two above. */
void loom_program_place_slot (LoomProgram *p, int slot, gboolean here);
/* The shape of a slot's tensor, of which a rank may have a part and of that a shard; dim has room for LOOM_MAX_RANK. */
int loom_slot_whole (const LoomSlot *slot, gint64 *dim);
LoomValue loom_program_read (LoomProgram *p, int slot);
void loom_program_commit (LoomProgram *p, int slot, LoomValue value);
/* The program reads and writes the state under another name, which no other slot of it has. */
void loom_program_rename_slot (LoomProgram *p, int slot, const char *name);
/* Every slot keeps its value: the program only looks. */
void loom_program_forget_commits (LoomProgram *p);
/* A scalar slot of the program's float type (or i64 for "seed" and "step") with its start value. */
LoomValue loom_program_scalar (LoomProgram *p, const char *name, double initial);
LoomValue loom_program_scalar_i64 (LoomProgram *p, const char *name, gint64 initial);
void loom_program_output (LoomProgram *p, const char *name, LoomValue value);
LoomValue loom_program_find_output (const LoomProgram *p, const char *name);

/* Lowering notes the value of every port that it lowers, and passes carry the table: so whoever looks at a program
 * finds a node's values by name, and needs to say nothing when it is made. A later note of the same name wins. */
void loom_program_set_port (LoomProgram *p, const char *name, LoomValue value);
LoomValue loom_program_find_port (const LoomProgram *p, const char *name); /* 0 when there is none */

/* FALSE, with a SHAPE error naming the node, when some value has more elements than LOOM_MAX_ELEMENTS: planners and
 * executors ask before they count bytes. */
gboolean loom_program_is_countable (const LoomProgram *p, GError **error);

/* ---- accessors -------------------------------------------------------- */
guint loom_program_n_values (const LoomProgram *p); /* values are 1 … n */
const LoomValueInfo *loom_value_info (const LoomProgram *p, LoomValue v);
guint loom_program_n_instrs (const LoomProgram *p);
const LoomInstr *loom_program_instr (const LoomProgram *p, guint i);
guint loom_program_n_slots (const LoomProgram *p);
const LoomSlot *loom_program_get_slot (const LoomProgram *p, guint i);
int loom_program_find_slot (const LoomProgram *p, const char *name); /* -1 when there is none */
guint loom_program_n_inputs (const LoomProgram *p);
const LoomProgramInput *loom_program_get_input (const LoomProgram *p, guint i);
guint loom_program_n_outputs (const LoomProgram *p);
const LoomProgramOutput *loom_program_get_output (const LoomProgram *p, guint i);
/* The purpose of an instruction that belongs to no node, by its results: "The update of fc.weight and 3 more", "The
 * computation of grad_norm". out: its results; those that are no values of p are passed over. prim may be NULL. */
char *
loom_program_purpose (const LoomProgram *p, const LoomPrim *prim, LoomRegion region, guint n_out, const guint *out);
guint loom_program_n_ports (const LoomProgram *p); /* in the order of lowering */
const LoomProgramPort *loom_program_get_port (const LoomProgram *p, guint i);
/* The listing of `gradloom program`: regions, one instruction a line, types at the right. */
char *loom_program_print (const LoomProgram *p);

/* ---- differentiation -------------------------------------------------- */

/* Appends in region BACKWARD the gradients of `of` with respect to each wrt[i], from each primitive's own rule;
 * fan-out is summed in a fixed order. seed is the cotangent, or 0 for ones. grads[i] is 0 where nothing reaches.
 * Only what lies between is differentiated. SHAPE error naming primitive and node where one on the
 * way has no gradient (argmax, comparisons stop silently: their gradient is zero). */
gboolean loom_differentiate (LoomProgram *p, LoomValue of, LoomValue seed, guint n, const LoomValue *wrt,
                             LoomValue *grads, GError **error);
/* The same of Σ of[i]·seed[i] over n_of values, each with a cotangent of its shape. */
gboolean loom_differentiate_sum (LoomProgram *p, guint n_of, const LoomValue *of, const LoomValue *seed, guint n,
                                 const LoomValue *wrt, LoomValue *grads, GError **error);

/* ---- passes ------------------------------------------------------------ */

/* The state that a pass from program to program left. */
typedef struct
{
  const char *name, *doc; /* one line */
  guint n_instrs;
  gsize bytes; /* of all that its instructions make, as if nothing shared a place */
} LoomProgramPass;

/* The passes that made this program of others, the first one first; what was appended since is not in their figures. */
guint loom_program_n_passes (const LoomProgram *p);
const LoomProgramPass *loom_program_pass (const LoomProgram *p, guint i);
/* Bytes of all that the instructions make. */
gsize loom_program_bytes (const LoomProgram *p);

/* A copy in which what was computed inside a scope (a set of node paths) is not kept for the backward pass but computed
 * again there (program-recompute.c). Same values to the bit; slots, inputs and outputs keep their indices. */
LoomProgram *loom_program_recompute (const LoomProgram *p, GHashTable *scopes);

/* A copy of a forward program in mixed precision, as torch.autocast has it (program-precision.c): products and
 * convolutions in the 16-bit type (F16 or BF16), what needs range or digits in f32, the rest as its operands. dtype_of:
 * node path → GUINT_TO_POINTER (LoomDType + 1) where a node has a type of its own; may be NULL. values[n] are of p and
 * become those of the copy. */
LoomProgram *
loom_program_autocast (const LoomProgram *p, LoomDType dtype, GHashTable *dtype_of, guint n, LoomValue *values);

/* A copy of a forward program, or p itself where there is nothing to do, in which products that do not depend on what a
 * loop carries are computed for all its runs at once in front of it, and what depends on no run, once
 * (program-hoist.c). Unlike a product of one run, one over all may round its last bit otherwise. values[n] as above.
 * (transfer full) */
LoomProgram *loom_program_hoist (LoomProgram *p, guint n, LoomValue *values);

/* Dynamic loss scaling for f16, whose gradients would vanish below 6e-8, as torch.amp.GradScaler does it. The scale
 * (scalar slots "loss_scale" and "good_steps") is the loss's cotangent and is divided out of each gradient, which may
 * be of any type; at the end it is halved if finite is 0, and doubled after 2000 finite steps on end; where sound is 0
 * it stays. */
LoomValue loom_loss_scale (LoomProgram *p);
LoomValue loom_loss_unscale (LoomProgram *p, LoomValue grad);
/* 1 where halving leaves a scale of 1 or more: what overflows may then be the scale's doing. */
LoomValue loom_loss_scale_can_shrink (LoomProgram *p);
void loom_loss_scale_update (LoomProgram *p, LoomValue finite, LoomValue sound);

/* A copy with every composite replaced by its expansion into core primitives; what eager f64 oracles and
 * second derivatives use. */
LoomProgram *loom_program_expand (const LoomProgram *p, GError **error);

G_END_DECLS
