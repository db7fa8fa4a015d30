/* The descriptor of a primitive (LoomPrim), the attributes of the primitives, and the convenience emitters
 * (prim-emit.c). A descriptor has the shape rule, gradient, expansion, cost, and the properties that passes need.
 *
 * Each primitive is a const struct in engine/program/prim-<family>.c. Primitive names and attribute structs are those
 * of kernels/backend.h. An elementwise primitive ("add", "exp") has its scalar operation here and reaches a back end as
 * an "elementwise" call. */
#pragma once

#include "engine/program/loom-attr.h"
#include "engine/program/loom-program.h"
#include "kernels/comm.h"

typedef enum
{
  LOOM_TIER_CORE,
  LOOM_TIER_COMPOSITE
} LoomTier;

/* Properties of primitives for passes. A pass tests a primitive's name only if it is the pass's pattern. */
typedef enum
{
  LOOM_PRIM_ELEMENTWISE = 1 << 0, /* has .scalar; fusable */
  LOOM_PRIM_RANDOM = 1 << 1,
  LOOM_PRIM_CONVERTS = 1 << 2,   /* the result is operand 0 in the result's type, unchanged otherwise */
  LOOM_PRIM_REARRANGES = 1 << 3, /* each element of the result is an element of operand 0 */
  LOOM_PRIM_GATE = 1 << 4,       /* it lets a step write: before it, all devices must have reported their faults */
  /* A collective: all ranks call it together, in one order, so a rank must not merge, move or remove it alone. */
  LOOM_PRIM_COLLECTIVE = 1 << 6,
  LOOM_PRIM_LOOP = 1 << 7,        /* the attributes are LoomScanAttrs, whose body runs for each row */
  LOOM_PRIM_SIDE_EFFECT = 1 << 8, /* another rank waits for it, so it is kept even if its result is unused */
  LOOM_PRIM_PRODUCT = 1 << 5,     /* sums of products of its operands, for which the program may allow TF32 */
  /* its first result costs little more than reading the operands and writing the result */
  LOOM_PRIM_ONE_PASS = 1 << 9
} LoomPrimFlags;

/* Whether the result of a primitive is a view of operand 0's bytes, in plain layout. */
typedef enum
{
  LOOM_VIEW_NEVER,
  LOOM_VIEW_IF_SAME_SIZE, /* if both have the same type and number of elements; otherwise it needs a kernel */
  LOOM_VIEW_ALWAYS        /* it has no kernel; further operands serve its gradient */
} LoomView;

/* The type in which mixed precision computes a primitive (program-precision.c). */
typedef enum
{
  /* the operands' type: a formula of several operations in f32, others in the operands' common type */
  LOOM_PRECISION_FOLLOW,
  /* 16-bit: the first two operands, and others of the first one's rank, are converted; a bias is not */
  LOOM_PRECISION_LOW,
  LOOM_PRECISION_F32,        /* f32: every operand is converted */
  LOOM_PRECISION_NORM,       /* the first operand is not converted, the others (statistics, scale) become f32 */
  LOOM_PRECISION_ROUNDS_ONCE /* element-wise: the result is an operand, or is rounded once, and so is its gradient */
} LoomPrecision;

/* The arguments of gradient(). grad: the cotangents of the instruction's results (0: none). in_grad: receives the
 * cotangents of its operands (0: zero). needed[i]: operand i depends on a value wrt; the cotangents of others need not
 * be computed. */
typedef struct
{
  LoomProgram *p;
  const LoomInstr *instr;
  const LoomValue *grad;
  const gboolean *needed;
  LoomValue *in_grad;
  GError **error; /* set for a specific error if gradient() returns FALSE; otherwise the caller sets a general one */
} LoomGradCall;

typedef struct _LoomShardingCall LoomShardingCall;
typedef struct _LoomPositionCall LoomPositionCall;

struct _LoomPrim
{
  const char *name;
  const char *doc;     /* one line, for listings */
  const char *purpose; /* its name in errors if it belongs to no node; NULL: its results name it */
  LoomTier tier;
  LoomPrimFlags flags;
  gsize attrs_size;
  LoomScalarOp scalar; /* elementwise only */
  guint max_out;
  /* TRUE if a call draws random numbers, for a primitive that does so only with some attributes (LOOM_PRIM_RANDOM:
   * always). NULL: no call does. */
  gboolean (*draws) (const void *attrs);
  /* Fills out[0 … n_out-1] and *n_out from the operands' descriptions. FALSE: *why is the reason, a sentence, (transfer
   * full). An absent optional operand has dtype LOOM_N_DTYPES. */
  gboolean (*infer) (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                     char **why);
  /* NULL: the primitive has no derivative, which is an error on the path to a loss unless gradient_is_zero. */
  gboolean (*gradient) (const LoomGradCall *call);
  gboolean gradient_is_zero;
  /* For composites: emits the same computation in core primitives and fills out[]. */
  void (*expand) (LoomProgram *p, const LoomInstr *instr, const LoomValue *in, LoomValue *out);
  /* The members of the attributes. NULL: there are none. */
  const LoomAttr *attrs;
  /* Appends to a listing of the attributes what `attrs` cannot. */
  void (*describe) (GString *to, const void *attrs);
  /* Floating-point operations of one call. NULL: one for each output element. */
  double (*flops) (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out);
  LoomPrecision precision;
  LoomView view;
  /* The value of all elements, if the attributes alone determine it. NULL: they do not. */
  double (*constant) (const void *attrs);
  /* The operand that a result overwrites in place (in an optimizer's step), which must not be read afterwards.
   * LOOM_UPDATES_NOTHING: the result has its own memory. NULL: no result overwrites an operand. */
  guint (*updates) (const void *attrs, guint result);
  /* Emits the sum of a result over all iterations of a loop (such as a weight's gradient) as one call on stacked
   * operands: stack[k] is [iterations, …in[k]…]; *sum has the result's shape, or can be reshaped to it. FALSE if no
   * such call exists. p NULL: returns only whether it exists. */
  gboolean (*sum_over_iterations) (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                                   const LoomValue *stack, LoomValue *sum);
  /* Emits one call for all iterations of a loop. in[]: the operands of one iteration. value[k] has a row for each
   * iteration if is_stack[k], which holds for at least one k; otherwise it is the same for every iteration. all[]
   * receives the results, stacked. FALSE if no such call exists. p NULL: returns only whether it exists. */
  gboolean (*over_iterations) (LoomProgram *p, const void *attrs, guint n_in, const LoomTensorDesc *in,
                               const gboolean *is_stack, const LoomValue *value, LoomValue *all);
  /* Chooses the shardings of operands and results if values are partitioned among ranks (loom-partition.h). NULL:
   * operands are whole, and every rank computes all results. */
  void (*sharding) (LoomShardingCall *call);
  /* TRUE if each position of a sequence in the results follows from the same position of the operands alone. NULL: the
   * primitive mixes positions. */
  gboolean (*separates_positions) (const LoomPositionCall *call);
  /* 1 + the offset in the attributes of the LoomDims with the first result's shape; 0: there is none. */
  gsize dims_at;
  /* The programs in the attributes: n pointers, each of which holds a reference. NULL: none. Code that walks programs
   * must also walk these (program-body.h). */
  LoomProgram **(*bodies) (gpointer attrs, guint *n);
  /* The number of leading bodies with different computations. The other bodies do the same on fewer rows, and listings
   * omit them. NULL: all differ. */
  guint (*n_distinct) (gconstpointer attrs);
  /* Computes the results on the host, for any device: results that decide which body runs on which rows. in[] and out[]
   * are in host memory. A fault's message continues a sentence that begins with the node. */
  LoomStatus (*on_host) (const void *attrs, const LoomTensorDesc *desc, const void *const *in, void *const *out,
                         LoomMessage *message);
};

#define LOOM_UPDATES_NOTHING G_MAXUINT

/* TRUE if two calls with these attributes are the same. Two collectives never are. */
gboolean loom_prim_same_attrs (const LoomPrim *prim, const void *a, const void *b);
/* The attributes in a listing, "stride=[2,2] pad=[1,1]"; NULL if there is nothing to list. (transfer full) */
char *loom_prim_describe (const LoomPrim *prim, const void *attrs);

/* ---- attributes -------------------------------------------------------
 *
 * If a result's shape does not follow from the operands, the program's attributes are the back end's struct followed by
 * that shape, so a planner can pass instr->attrs to kernel_new() unchanged. */
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

/* Attributes of conv2d and its gradients. size: input rows and columns of conv2d_input_grad, the kernel's of
 * conv2d_weight_grad, unused by conv2d. */
typedef struct
{
  LoomConv2dAttrs kernel;
  gint64 size[2];
} LoomConv2dTo;

/* Attributes of pooling. size: output rows and columns of max_pool2d and avg_pool2d (so ceil mode is resolved), the
 * input's of their gradients. */
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

/* The attributes of reshape and expand are LoomDims. */

/* The attributes of a user's formula: a straight-line scalar program. Registers 0 … n_in-1 are inputs, register n_in +
 * k is the result of step k. Unlike LoomElementwiseAttrs it is emitted as primitives. */
#define LOOM_FORMULA_MAX_IN    16
#define LOOM_FORMULA_MAX_OUT   16
#define LOOM_FORMULA_MAX_STEPS 192

typedef struct
{
  guint n_in, n_steps, n_out;
  LoomElementwiseStep step[LOOM_FORMULA_MAX_STEPS];
  guint8 out[LOOM_FORMULA_MAX_OUT]; /* the registers of the results */
} LoomFormula;

/* TRUE if a register holds bools: the result of a comparison, or “and” or “or” of two bools. Inputs are floats. */
gboolean loom_formula_is_bool (const LoomFormula *formula, guint reg);
/* Emits a formula for float inputs, with constants of type dtype, and fills out[0 … n_out-1]. */
void
loom_formula_emit (LoomProgram *p, const LoomFormula *formula, LoomDType dtype, const LoomValue *in, LoomValue *out);

/* One scalar operation in f64, and the first result of a formula. */
double loom_scalar_value (LoomScalarOp op, double a, double b, double c, double imm);
double loom_formula_value (const LoomFormula *formula, const double *in);

/* scan: carried…, sequence [length, …]…, whole… → carried…, stacked [length, …]…
 *
 * Runs the body `length` times. Its inputs are, in order, each carried value, a row of each sequence, and each whole
 * value; its outputs are each carried value for the next iteration, and a row of each stacked result. It reads and
 * commits no state: state that it needs is a whole operand, and an index is a sequence. */
typedef struct
{
  LoomProgram *body;
  gint64 length; /* at least 1 */
  guint n_carried, n_sequences, n_stacked;
  /* from the last row to the first; a row of a stacked result has the index of the sequences' rows */
  gboolean reverse;
  gboolean recompute; /* the backward pass recomputes each iteration instead of reading kept values */
  /* every iteration computes everything: products and sums of gradients are not hoisted out of the loop */
  gboolean no_hoist;
} LoomScanAttrs;

/* Collectives run among the ranks along one axis of a mesh.
 *
 * all_reduce: in… → out…, of one type; each result is the reduction of its operand over the ranks. */
typedef struct
{
  guint n;
  LoomMeshAxis along;
  LoomReduceOp op;
} LoomAllReduceAttrs;

/* reduce_scatter: in… → out…, of one type; each result is the rank's part, flat, of the reduction of its operand over
 * the ranks. */
typedef struct
{
  guint n;
  LoomMeshAxis along;
  LoomReduceOp op;
  int rank, ranks;
} LoomReduceScatterAttrs;

/* unshard: part… → whole…, of one type. Each operand is the rank's shard of a result, flat, as divided by
 * loom_comm_shard(). */
#define LOOM_UNSHARD_MAX 32
typedef struct
{
  guint n;
  LoomMeshAxis along;
  LoomDims to[LOOM_UNSHARD_MAX];
} LoomUnshardTo;

/* all_gather: part → whole. The first axis of `to` consists of `samples` groups of equally many rows, and every rank
 * has the rows of some groups (loom_comm_shard() in kernels/comm.h). */
typedef struct
{
  gint64 samples;
  LoomMeshAxis along;
  LoomDims to;
} LoomAllGatherTo;

/* send: value → nothing; receive: → value; broadcast: [value] → value, where only `rank` has the operand. rank: the
 * sender or the receiver. tag: distinguishes the transfers between two ranks. */
typedef struct
{
  int rank, tag;
  int micro; /* the micro-batch, for listings; −1: none */
  /* 1 + the schedule slot after which all stages exchange that slot's results; 0: another transfer */
  int exchange_slot;
  LoomDType dtype;
  LoomDims to; /* the value's shape */
} LoomTransferAttrs;
/* The mesh axis of a collective, from its attributes. */
LoomMeshAxis loom_collective_along (const LoomPrim *prim, const void *attrs);

/* switch: index, whole… → results…
 *
 * Runs body number `index`, i64 []. Every body takes all whole operands and returns all results. An index out of range
 * is a fault.
 *
 * visit: group, [dest], rows [rows, …]…, whole… → sums…, rows [rows, …]…
 *
 * Rows are sorted by their number in `group`, i64 [rows], ascending; a body runs once for all rows of a group. The
 * group's number selects the body; with `levels` the numbers are tree levels, and body 0 runs for all. Each body exists
 * for several numbers of rows, and the smallest one that holds the group is used. Its unused rows are filled with other
 * rows or, for the first n_zeroed operands, with zeros. So a body must compute each row independently, and its sums
 * over rows must be linear in the zeroed operands.
 *
 * Links connect levels through dest, i64 [rows]: dest = slot·rows + row of the parent, where slot is the row's index
 * among its parent's children; slots·rows for a root. Upwards (from children to parents, levels ascending) a body
 * outputs one value a row for a link, which is added to the parent's slot, and has one input for each of its slots,
 * which start at zero. Downwards (levels descending) it outputs one value for each slot, and its input is the value of
 * its parent's slot, zero for a root.
 *
 * A body's inputs are rows…, links…, whole…; its outputs links…, sums…, rows…. Sums are added over all groups, and are
 * zero without any. The group's number is added to the first n_counters whole operands, i64 [], so that random numbers
 * drawn with them differ between levels. */
#define LOOM_VISIT_MAX_BODIES 128
#define LOOM_VISIT_MAX_SIZES  8

typedef struct
{
  guint n_branches, n_sizes;                /* n_sizes 0: switch */
  LoomProgram *body[LOOM_VISIT_MAX_BODIES]; /* size · n_branches + branch */
  gint64 size[LOOM_VISIT_MAX_SIZES];        /* in descending order; the first is the number of rows of the operands */
  guint n_zeroed, n_rows, n_links, n_counters, n_whole;
  guint slots; /* of each link, at least 1 */
  guint n_sums, n_row_results;
  gboolean levels, down;
  gboolean is_gradient; /* links carry cotangents, which are linear in the zeroed operands */
  gboolean recompute;   /* see LoomScanAttrs */
} LoomVisitAttrs;

/* group_rows: index [rows] → order, position, group: the rows sorted by index, the position of each row in that order,
 * and the sorted indices. An index outside 0 … groups-1 is a fault.
 *
 * level_rows: parent [trees, nodes] → order, position, group, dest: the same for the levels of tree nodes (0 for
 * leaves, otherwise one more than the highest child), and each node's link to its parent (see visit). Faults: a node
 * that does not precede its parent, and more than `slots` children (slots 0: any number). All i64. */
typedef struct
{
  gint64 groups; /* of group_rows */
  gint64 slots;  /* of level_rows; see above */
} LoomOrderAttrs;

/* custom_gradient: y, x…, saved… → y, with a user-defined gradient. `backward` takes the cotangent of y, the n_inputs
 * x, the saved values and y itself, in this order, and returns the cotangent of each x. */
typedef struct
{
  guint n_inputs;
  LoomFormula backward;
} LoomCustomGradientAttrs;

/* All primitives, for generic tests and listings; NULL-terminated. */
const LoomPrim *const *loom_prims (void);
const LoomPrim *loom_prim (const char *name); /* NULL if there is none */

/* ---- convenience emitters (prim-emit.c) ------------------------------- */
/* Elementwise; operands broadcast. */
LoomValue loom_unary (LoomProgram *p, LoomScalarOp op, LoomValue a);
LoomValue loom_binary (LoomProgram *p, LoomScalarOp op, LoomValue a, LoomValue b);
LoomValue loom_ternary (LoomProgram *p, LoomScalarOp op, LoomValue a, LoomValue b, LoomValue c);
/* A scalar constant (rank 0); fused as an immediate. */
LoomValue loom_const (LoomProgram *p, LoomDType dtype, double value);
LoomValue loom_fill (LoomProgram *p, LoomDType dtype, int rank, const gint64 *dims, double value);
LoomValue loom_cast (LoomProgram *p, LoomValue a, LoomDType dtype); /* returns a if it has that type already */
LoomValue loom_matmul (LoomProgram *p, LoomValue a, LoomValue b, gboolean trans_a, gboolean trans_b);
/* Reduces the axes whose bits are set in axes; without keepdim a reshape removes them. */
LoomValue loom_reduce (LoomProgram *p, LoomReduceOp op, LoomValue a, guint32 axes, gboolean keepdim);
LoomValue loom_reshape (LoomProgram *p, LoomValue a, int rank, const gint64 *dims);
LoomValue loom_expand_to (LoomProgram *p, LoomValue a, int rank, const gint64 *dims);
/* The elements start, start + step, … along each axis, as many as `to` has; a negative step goes backwards. */
LoomValue loom_slice (LoomProgram *p, LoomValue a, const gint64 *start, const gint64 *step, const gint64 *to);
/* The inverse of loom_slice(): writes a at start with this step into a tensor of shape `to` filled with value. */
LoomValue
loom_pad (LoomProgram *p, LoomValue a, const gint64 *start, const gint64 *step, const gint64 *to, double value);
LoomValue loom_concat (LoomProgram *p, guint n, const LoomValue *parts, int axis);
/* Gathers or scatters along an axis by index, see LoomGatherAttrs and LoomScatterAttrs; base and src must have one
 * type. */
LoomValue loom_gather (LoomProgram *p, LoomValue x, LoomValue index, int axis);
LoomValue loom_scatter (LoomProgram *p, LoomValue base, LoomValue index, LoomValue src, int axis, LoomScatterMode mode);
/* Sorts along an axis; indices (may be NULL) receives the positions. */
LoomValue loom_sort (LoomProgram *p, LoomValue x, int axis, gboolean descending, LoomValue *indices);
LoomValue loom_cumsum (LoomProgram *p, LoomValue x, int axis, gboolean exclusive, gboolean reverse);
/* Returns the value if `ok` (bool) holds everywhere; otherwise the run fails with an error that consists of `what` ("a
 * weight is negative") and the position. */
LoomValue loom_require (LoomProgram *p, LoomValue value, LoomValue ok, const char *what);
/* The same value, through which no gradient flows. */
LoomValue loom_detach (LoomProgram *p, LoomValue a);
/* The description for error messages: "f32 [4, 3]". (transfer full) */
char *loom_desc_to_string (const LoomTensorDesc *desc);
/* TRUE with its number if v is a fill. */
gboolean loom_value_is_fill (const LoomProgram *p, LoomValue v, double *value);
/* Sums a to the given shape: the gradient of broadcasting. */
LoomValue loom_sum_to (LoomProgram *p, LoomValue a, int rank, const gint64 *dims);
LoomValue loom_permute (LoomProgram *p, LoomValue a, const int *perm);
LoomValue loom_sum_all (LoomProgram *p, LoomValue a);  /* rank 0 */
LoomValue loom_mean_all (LoomProgram *p, LoomValue a); /* rank 0 */
