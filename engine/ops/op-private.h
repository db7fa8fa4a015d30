/* What the operators' files share: rules of shape and type that many have in common, and their sentences.
 *
 * Private to engine/ops; each operator itself is one const LoomOp in op-<name>.c. */
#pragma once

#include "engine/ops/loom-op.h"

G_BEGIN_DECLS

/* One input called "input" and one output called "out". */
extern const LoomPortSpec loom_op_port_input[], loom_op_port_out[];
/* Two operands, input and other, and the attribute "other" for a number in place of the second. */
extern const LoomPortSpec loom_op_port_operands[];
extern const LoomParamSpec loom_op_param_other[];
/* Samples of element-wise operators, by which numbers they take. */
extern const LoomSample loom_op_samples_any[], loom_op_samples_away0[], loom_op_samples_positive[];
extern const LoomSample loom_op_samples_pairs[], loom_op_samples_positive_pairs[];
/* The attribute "reduction" of losses. */
extern const char *const loom_op_reductions[];

/* ---- inference -------------------------------------------------------- */

/* FALSE with a DTYPE fault unless input i is a float. */
gboolean loom_op_needs_float (LoomInfer *ctx, guint i, const char *port, const char *why);
/* Output 0 is what input 0 is. */
void loom_op_infer_same (LoomInfer *ctx);
/* The same with integers made floats, as exp() of an integer is. */
void loom_op_infer_float (LoomInfer *ctx);
/* Output 0 is input 0 broadcast with input 1, or with the number in the attribute of that port's name where nothing is
 * wired. Where a division is, integers become floats. */
void loom_op_infer_binary (LoomInfer *ctx);
void loom_op_infer_division (LoomInfer *ctx);
/* The wider of two types, as the program's primitives promote. */
LoomDType loom_op_promote (LoomDType a, LoomDType b);
/* Axis `dim` of a rank, counted from the back when negative; FALSE with a SHAPE fault at parameter `name`. */
gboolean loom_op_axis (LoomInfer *ctx, const char *name, gint64 dim, int rank, int *axis);
/* The axes that the list parameter names, all of them when it is empty. The const form is for lower(), where they
 * have been checked. */
gboolean loom_op_axes (LoomInfer *ctx, const char *name, int rank, guint32 *axes);
guint32 loom_op_axes_of (const LoomInfer *ctx, const char *name, int rank);
int loom_op_axis_of (gint64 dim, int rank);
/* Shape with the given axes removed, or 1 there. */
LoomShape loom_op_reduced_shape (const LoomShape *shape, guint32 axes, gboolean keepdim);
/* How many windows fit: ⌊(n + pad - dilation·(kernel - 1) - 1)/stride⌋ + 1, or with ⌈⌉ where the last window may
 * hang over but must begin inside the input or its padding at the front. Unknown for a symbol, unless the size is
 * kept. -1 as coefficient is unknown; FALSE when no window fits. */
gboolean loom_op_windows (LoomDim n, gint64 kernel, gint64 stride, gint64 front, gint64 back, gint64 dilation,
                          gboolean ceil_mode, LoomDim *out);
/* Rank faults in one voice: FALSE after "NAME needs WHAT; here comes SHAPE. HINT". */
gboolean loom_op_rank (LoomInfer *ctx, const char *name, guint i, const char *port, int minimum, int maximum,
                       const char *what, const char *hint);
/* A dimension that becomes a weight's size; FALSE with a fault when it is not a plain number. */
gboolean loom_op_plain_dim (LoomInfer *ctx, const char *name, LoomDim d, const char *what, gint64 *value);

/* ---- lowering --------------------------------------------------------- */

/* LOOM_F32 in a graph means the program's float. */
LoomDType loom_op_dtype (LoomLower *ctx, LoomDType dtype);
/* Input i as a float: integers are cast. */
LoomValue loom_op_float_input (LoomLower *ctx, guint i);
/* Dims of output i, which are numbers by now; returns the rank. */
int loom_op_output_dims (LoomLower *ctx, guint i, gint64 *dims);
LoomTensorDesc loom_op_desc (LoomLower *ctx, LoomValue v);
/* The operator's .scalar, in the type of output 0. */
void loom_op_lower_unary (LoomLower *ctx);
void loom_op_lower_binary (LoomLower *ctx);
/* The same for an operator that chooses its formula by a parameter. */
void loom_op_emit_unary (LoomLower *ctx, LoomScalarOp op);
/* A constant of the type of v. */
LoomValue loom_op_const_like (LoomLower *ctx, LoomValue v, double value);

/* ---- cost ------------------------------------------------------------- */

/* Elements of output or input i with symbols bound. */
double loom_op_output_count (const LoomInfer *ctx, guint i);
double loom_op_input_count (const LoomInfer *ctx, guint i);

G_END_DECLS
