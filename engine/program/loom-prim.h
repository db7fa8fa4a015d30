/* One primitive, one entry: shape rule, gradient, expansion, cost.
 *
 * Each lives in engine/program/prim-<family>.c as a const struct. Primitive names and attribute structs are
 * those of kernels/backend.h; an elementwise primitive ("add", "exp") carries its scalar operation here and
 * reaches a back end as an "elementwise" call. */
#pragma once

#include "engine/program/loom-program.h"
#include "kernels/comm.h"

G_BEGIN_DECLS

typedef enum
{
  LOOM_TIER_CORE,
  LOOM_TIER_COMPOSITE
} LoomTier;

/* Facts that passes need of a primitive; a pass asks for one by name only where the primitive is its pattern. */
typedef enum
{
  LOOM_PRIM_ELEMENTWISE = 1 << 0, /* has .scalar; fusable */
  LOOM_PRIM_RANDOM = 1 << 1,
  LOOM_PRIM_CONVERTS = 1 << 2,   /* the result is operand 0 in the result's type, and nothing else happens */
  LOOM_PRIM_REARRANGES = 1 << 3, /* each element of the result is one of operand 0 */
  LOOM_PRIM_GATE = 1 << 4, /* it lets a step write: on several devices all must have reported their faults before */
  LOOM_PRIM_COLLECTIVE
  = 1 << 6,                /* all ranks call it together, in one order: never shared, moved or dropped by one alone */
  LOOM_PRIM_LOOP = 1 << 7, /* its attributes are LoomScanAttrs, whose body runs for each row */
  LOOM_PRIM_KEPT = 1 << 8, /* another rank waits for it: kept although nobody here reads its result */
  LOOM_PRIM_PRODUCT = 1 << 5, /* sums of products of its operands, which TF32 may round where the program allows it */
  LOOM_PRIM_ONE_PASS = 1 << 9 /* its first result costs little more than reading the operands and writing it */
} LoomPrimFlags;

/* TRUE if the result is another view of operand 0's bytes, in plain layout. */
typedef enum
{
  LOOM_VIEW_NEVER,
  LOOM_VIEW_WHERE_EQUAL, /* where both have one type and equally many elements; elsewhere a kernel makes it */
  LOOM_VIEW_ALWAYS       /* there is no kernel; what else it names is there for its gradient */
} LoomView;

/* In which type mixed precision computes it (program-precision.c). */
typedef enum
{
  LOOM_PRECISION_FOLLOW, /* that of its operands: a longer formula in f32, all else in their type where they have one */
  LOOM_PRECISION_LOW,    /* its first two operands go down, and others of the first one's rank; a bias stays */
  LOOM_PRECISION_F32,    /* every operand goes up */
  LOOM_PRECISION_NORM, /* the first operand stays as it is, the rest goes up: statistics and scale are f32 beside it */
  LOOM_PRECISION_ROUNDS_ONCE /* element-wise: the result is an operand, or is rounded once, and so is its gradient */
} LoomPrecision;

/* The operands of gradient(). in/out are the instruction's operands and results, grad the cotangents of its
 * results (0 where none arrives); it stores operand cotangents in in_grad (0 leaves zero). needed[i] says which
 * operands lead to something wanted: the others need not be computed. */
typedef struct
{
  LoomProgram *p;
  const LoomInstr *instr;
  const LoomValue *grad;
  const gboolean *needed;
  LoomValue *in_grad;
  GError **error; /* for a sentence of its own where it returns FALSE; the caller has a general one */
} LoomGradCall;

typedef struct _LoomShareCall LoomShareCall;

struct _LoomPrim
{
  const char *name;
  const char *doc;     /* one line, for listings */
  const char *purpose; /* how an error calls it where it belongs to no node; NULL: by what it makes */
  LoomTier tier;
  LoomPrimFlags flags;
  gsize attrs_size;
  LoomScalarOp scalar; /* of elementwise ones */
  guint max_out;
  /* Whether a call draws random numbers, where not all of this primitive do (LOOM_PRIM_RANDOM). NULL: none does. */
  gboolean (*draws) (const void *attrs);
  /* Fills out[0 … n_out-1] and *n_out from operand descriptions; on FALSE *why (a sentence; free it) says what is
   * wrong. An absent optional operand has dtype LOOM_N_DTYPES. */
  gboolean (*infer) (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                     char **why);
  /* NULL: not differentiable (an error on the way to a loss) unless gradient_is_zero. */
  gboolean (*gradient) (const LoomGradCall *call);
  gboolean gradient_is_zero;
  /* Composites: the same values in core primitives; fills out[]. */
  void (*expand) (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out);
  /* "stride=2 padding=1" for listings; NULL prints nothing. */
  char *(*describe) (const void *attrs);
  /* Floating-point operations of one call; NULL means one per output element. */
  double (*flops) (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out);
  LoomPrecision precision;
  LoomView view;
  /* TRUE if attributes mean the same call. NULL: there are none, or two calls are never the same. */
  gboolean (*equal) (const void *a, const void *b);
  /* Of attributes, for primitives that often differ in nothing else; equal ones have one hash. May be NULL. */
  guint (*hash) (const void *attrs);
  /* Every element is this number, which follows from the attributes alone. NULL where they do not. */
  double (*constant) (const void *attrs);
  /* The operand whose place a result takes, for those that work in place (an optimiser's step): a result lies at its
   * address, and the operand may not be read afterwards. LOOM_UPDATES_NOTHING for a result with a place of its own.
   * NULL: all have. */
  guint (*updates) (const void *attrs, guint result);
  /* Of a result that is to be summed over many runs of a loop, as a weight's gradient is: that sum by one call on
   * operands which hold all runs, stack[k] of shape [runs, …in[k]…], into sum (the result's shape, or one that can be
   * reshaped to it). FALSE where there is no such call; with p NULL it only says so. */
  gboolean (*sum_runs) (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomValue *stack,
                        LoomValue *sum);
  /* The same call for all runs of a loop at once. in[]: the operands of one run; value[k] holds a row of it for each
   * run where is_stack[k], as at least one does, and else is what every run is given. all receives the results of all
   * runs, a row each. FALSE where there is no such call; with p NULL it only says so. */
  gboolean (*over_runs) (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                         const gboolean *is_stack, const LoomValue *value, LoomValue *all);
  /* Which parts of its operands each rank needs, where values are divided among ranks (loom-partition.h). NULL: all
   * of them, and every rank computes all of the results. */
  void (*share) (LoomShareCall *call);
  /* The offset in the attributes, plus 1, of the LoomDims that are the first result's shape; 0: there are none. */
  gsize dims_at;
  /* The programs inside the attributes, n places in them, each of which holds a reference. NULL: it has none. What
   * walks through programs walks into these (program-body.h). */
  LoomProgram **(*bodies) (gpointer attrs, guint *n);
  /* So many of the bodies, the first ones, say what is done; the others do the same on fewer rows, and listings leave
   * them out. NULL: all differ. */
  guint (*n_distinct) (gconstpointer attrs);
  /* Computed by the host whatever the device, as what it decides is for the host: which body runs on what. in[] and
   * out[] are in the host's memory. The message of a fault is the rest of a sentence that begins with the node. */
  LoomStatus (*on_host) (const void *attrs, const LoomTensorDesc *desc, const void *const *in, void *const *out,
                         LoomMessage *message);
};

#define LOOM_UPDATES_NOTHING G_MAXUINT

/* TRUE if two calls of it with these attributes are the same: shared attributes, equal ones, or none. */
gboolean loom_prim_same_attrs (const LoomPrim *prim, const void *a, const void *b);

/* ---- attributes -------------------------------------------------------
 *
 * Where a result's shape does not follow from the operands alone, the program's attributes are the back end's struct
 * followed by that shape: a planner may pass instr->attrs to kernel_new() as they are. */
typedef struct
{
  int rank;
  gint64 dim[LOOM_MAX_RANK];
} LoomDims;

typedef struct
{
  LoomFillAttrs kernel;
  LoomDType dtype;
  LoomDims to;
} LoomFillTo; /* fill; a scalar constant is a fill of rank 0 */

typedef struct
{
  LoomIotaAttrs kernel;
  LoomDType dtype;
  LoomDims to;
} LoomIotaTo;

typedef struct
{
  LoomRandomAttrs kernel;
  LoomDType dtype;
  LoomDims to;
} LoomRandomTo;

typedef struct
{
  LoomSliceAttrs kernel;
  LoomDims to;
} LoomSliceTo;

typedef struct
{
  LoomPadAttrs kernel;
  LoomDims to;
} LoomPadTo;

/* size: input rows and columns for conv2d_input_grad, the kernel's for conv2d_weight_grad, unused by conv2d. */
typedef struct
{
  LoomConv2dAttrs kernel;
  gint64 size[2];
} LoomConv2dTo;

/* size: output rows and columns of max_pool2d and avg_pool2d (ceil mode is decided there), the input's for their
 * gradients. */
typedef struct
{
  LoomPool2dAttrs kernel;
  gint64 size[2];
} LoomPool2dTo;

typedef struct
{
  LoomDType dtype;
} LoomCopyTo; /* copy */

typedef struct
{
  gint64 rows;
} LoomScatterTo; /* scatter_add_rows */

/* reshape and expand have LoomDims itself. */

/* A straight-line program of scalars, written by users as formulas: registers 0 … n_in-1 are inputs, register
 * n_in + k is the result of step k. Unlike LoomElementwiseAttrs it is no kernel's: it is emitted as primitives. */
#define LOOM_FORMULA_MAX_IN    16
#define LOOM_FORMULA_MAX_OUT   16
#define LOOM_FORMULA_MAX_STEPS 192

typedef struct
{
  guint n_in, n_steps, n_out;
  LoomElementwiseStep step[LOOM_FORMULA_MAX_STEPS];
  guint8 out[LOOM_FORMULA_MAX_OUT]; /* registers */
} LoomFormula;

/* TRUE if a register holds bools: a comparison, or what “and” and “or” make of two. Inputs are floats. */
gboolean loom_formula_is_bool (const LoomFormula *formula, guint reg);
/* Emits it on the given inputs, which are floats, with constants of the given type, and fills out[0 … n_out-1]. */
void
loom_formula_emit (LoomProgram *p, const LoomFormula *formula, LoomDType dtype, const LoomValue *in, LoomValue *out);

/* scan: carried…, sequence [length, …]…, whole… → carried…, stacked [length, …]…
 *
 * The body runs `length` times. Its inputs are, in this order, each carried value, each sequence's row and each whole
 * value; its outputs each carried value as the next run finds it, and a row of each stacked result. It reads no state
 * and commits none: what it needs of that are whole operands, and a running index is a sequence. */
typedef struct
{
  LoomProgram *body;
  gint64 length; /* at least 1 */
  guint n_carried, n_sequences, n_stacked;
  gboolean reverse;   /* from the last row to the first; stacked rows lie beside those they were made from */
  gboolean recompute; /* the backward pass runs the body again in place of reading what it kept of each run */
  gboolean
      no_hoist; /* every run computes all of it: neither products nor sums of gradients are taken out of the loop */
} LoomScanAttrs;

/* Collectives: what is done by all ranks is done by those along one axis of a mesh.
 *
 * all_reduce: in… → out…, of one type; each result is the reduction of its operand over all ranks. */
typedef struct
{
  guint n;
  LoomMeshAxis along;
  LoomReduceOp op;
} LoomAllReduceAttrs;

/* reduce_scatter: in… → out…, of one type; each result is a rank's part, flat, of the reduction of its operand over all
 * ranks. */
typedef struct
{
  guint n;
  LoomMeshAxis along;
  LoomReduceOp op;
  int rank, ranks;
} LoomReduceScatterAttrs;

/* unshard: part… → whole…, of one type. Each operand is what a rank has of the elements of a result, flat, as
 * loom_comm_part() divides them. */
#define LOOM_UNSHARD_MAX 32
typedef struct
{
  guint n;
  LoomMeshAxis along;
  LoomDims to[LOOM_UNSHARD_MAX];
} LoomUnshardTo;

/* all_gather: part → whole. Along the first axis `to` counts samples, each of equally many rows, of which every rank
 * has a part (loom_comm_part() in kernels/comm.h). */
typedef struct
{
  gint64 samples;
  LoomMeshAxis along;
  LoomDims to;
} LoomAllGatherTo;

/* send: value → nothing; receive: → value; broadcast: [value] → value, where `rank` alone has the operand. rank: whom
 * it goes to or comes from. A tag tells what is under way between two ranks apart. */
typedef struct
{
  int rank, tag;
  int micro; /* the micro-batch that it belongs to, for listings; -1: none */
  int meeting; /* 1 + the slot of a schedule behind which all stages exchange what it made; 0: it is by itself */
  LoomDType dtype;
  LoomDims to; /* the value's shape */
} LoomTransferAttrs;
/* The axis of a collective, of its attributes. */
LoomMeshAxis loom_collective_along (const LoomPrim *prim, const void *attrs);

/* switch: index, whole… → results…
 *
 * Runs the one of its bodies whose number the index is, i64 []. Every body has all whole operands as its inputs and all
 * results as its outputs. An index that is no body's is a fault.
 *
 * visit: group, [dest], rows [rows, …]…, whole… → sums…, rows [rows, …]…
 *
 * Rows with equal numbers in group, i64 [rows], lie together, in ascending order; a body runs once for all rows of a
 * number. It is the number's body or, with `levels`, always the first, for the numbers are levels of trees. A body is
 * there several times, for a different number of rows each, and the smallest is taken that has room for a group. The
 * rest of its room is filled up: with other rows or, of the first n_zeroed operands, with zeros. So a body has to
 * compute each row by itself, and what it sums over rows has to be linear in what is zeroed.
 *
 * Links lead from one level to others, by dest, i64 [rows]: dest = slot·rows + place, where place is the row of the
 * parent and slot which of its children the row is; slots·rows for a root. Upwards (from children to parents, levels in
 * ascending order) a body gives one value a row for a link, which is added to what stands in the parent's slot, and
 * finds one value for each of its slots, which begin as zeros. Downwards, levels in descending order, it gives one for
 * each slot and finds that which its row's parent has given for it, zeros for a root.
 *
 * A body's inputs are rows…, links…, whole…; its outputs links…, sums…, rows…. Sums are added over all groups, and zero
 * where no group has a part in them. To the first n_counters whole operands, i64 [], a body's group is added, and what
 * it draws at random by them differs from level to level. */
#define LOOM_VISIT_MAX_BODIES 128
#define LOOM_VISIT_MAX_SIZES  8

typedef struct
{
  guint n_branches, n_sizes;                /* n_sizes 0: switch */
  LoomProgram *body[LOOM_VISIT_MAX_BODIES]; /* size · n_branches + branch */
  gint64 size[LOOM_VISIT_MAX_SIZES];        /* in descending order; the first is how many rows there are */
  guint n_zeroed, n_rows, n_links, n_counters, n_whole;
  guint slots; /* of each link, at least 1 */
  guint n_sums, n_row_results;
  gboolean levels, down;
  gboolean is_gradient; /* what links carry are cotangents: they are linear in what is zeroed */
  gboolean recompute;   /* as LoomScanAttrs has it */
} LoomVisitAttrs;

/* group_rows: index [rows] → order, place, group: the rows' order by their index, each row's place in it, and the index
 * in this order. An index outside 0 … groups-1 is a fault.
 *
 * level_rows: parent [trees, nodes] → order, place, group, dest: the same for the levels of nodes, of which leaves have
 * 0 and others one more than the highest of their children; and where visit finds each one's parent. A node that does
 * not stand before its parent, and more than `slots` children (0: any number), are faults. All i64. */
typedef struct
{
  gint64 groups; /* of group_rows */
  gint64 slots;  /* of level_rows */
} LoomOrderAttrs;

/* custom_gradient: y, x…, saved… → y, the first operand under a gradient of the user's own. `backward` takes the
 * cotangent of y, the n_inputs x, the saved values in their order and y itself last, and gives the cotangent of each
 * x. */
typedef struct
{
  guint n_inputs;
  LoomFormula backward;
} LoomCustomGradientAttrs;

/* Every primitive, for generic tests and listings; NULL-terminated. */
const LoomPrim *const *loom_prims (void);
const LoomPrim *loom_prim (const char *name); /* NULL when there is none */

/* ---- convenience emitters (prim-emit.c) ------------------------------- */
/* Elementwise; operands broadcast. */
LoomValue loom_unary (LoomProgram *p, LoomScalarOp op, LoomValue a);
LoomValue loom_binary (LoomProgram *p, LoomScalarOp op, LoomValue a, LoomValue b);
LoomValue loom_ternary (LoomProgram *p, LoomScalarOp op, LoomValue a, LoomValue b, LoomValue c);
/* A scalar constant (rank 0) of the given type; fused as an immediate. */
LoomValue loom_const (LoomProgram *p, LoomDType dtype, double value);
LoomValue loom_fill (LoomProgram *p, LoomDType dtype, int rank, const gint64 *dims, double value);
LoomValue loom_cast (LoomProgram *p, LoomValue a, LoomDType dtype); /* a itself when nothing changes */
LoomValue loom_matmul (LoomProgram *p, LoomValue a, LoomValue b, gboolean trans_a, gboolean trans_b);
/* Bit i of axes; with keepdim a 1 stays, else a reshape drops the axis. */
LoomValue loom_reduce (LoomProgram *p, LoomReduceOp op, LoomValue a, guint32 axes, gboolean keepdim);
LoomValue loom_reshape (LoomProgram *p, LoomValue a, int rank, const gint64 *dims);
LoomValue loom_expand_to (LoomProgram *p, LoomValue a, int rank, const gint64 *dims);
/* Elements start, start + step, … (counts of them in `to`) along each axis; a step below 0 walks backwards. */
LoomValue loom_slice (LoomProgram *p, LoomValue a, const gint64 *start, const gint64 *step, const gint64 *to);
/* The opposite: a is placed at start with the step in between, in a tensor of shape `to` filled with value. */
LoomValue
loom_pad (LoomProgram *p, LoomValue a, const gint64 *start, const gint64 *step, const gint64 *to, double value);
LoomValue loom_concat (LoomProgram *p, guint n, const LoomValue *parts, int axis);
/* Along an axis by index, see LoomGatherAttrs and LoomScatterAttrs; base and src have one type. */
LoomValue loom_gather (LoomProgram *p, LoomValue x, LoomValue index, int axis);
LoomValue loom_scatter (LoomProgram *p, LoomValue base, LoomValue index, LoomValue src, int axis, LoomScatterMode mode);
/* Sorted along an axis; where (may be NULL) receives the positions. */
LoomValue loom_sort (LoomProgram *p, LoomValue x, int axis, gboolean descending, LoomValue *indices);
LoomValue loom_cumsum (LoomProgram *p, LoomValue x, int axis, gboolean exclusive, gboolean reverse);
/* The value where `ok` (bool) holds everywhere; else running ends with an error that says `what`, which is followed by
 * the place: "a weight is negative". */
LoomValue loom_require (LoomProgram *p, LoomValue value, LoomValue ok, const char *what);
/* The same value behind a barrier that no gradient passes. */
LoomValue loom_detach (LoomProgram *p, LoomValue a);
/* A description for error messages: "f32 [4, 3]"; free it. */
char *loom_desc_to_string (const LoomTensorDesc *desc);
/* TRUE and the constant when v is a fill. */
gboolean loom_value_is_fill (const LoomProgram *p, LoomValue v, double *value);
/* Sums a down to the given shape, undoing a broadcast: the gradient of broadcasting. */
LoomValue loom_sum_to (LoomProgram *p, LoomValue a, int rank, const gint64 *dims);
LoomValue loom_permute (LoomProgram *p, LoomValue a, const int *perm);
LoomValue loom_sum_all (LoomProgram *p, LoomValue a);  /* rank 0 */
LoomValue loom_mean_all (LoomProgram *p, LoomValue a); /* rank 0 */

G_END_DECLS
