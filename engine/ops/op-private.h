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

/* FALSE with a DTYPE fault unless input i is a float: "NAME WHY and needs floats", or no reason for NULL. */
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
/* Sizes 2 and 3 of shape become the number of windows that fit along height and width; unknown for a symbol, unless
 * the size is kept. pad is top, bottom, left, right. FALSE with a fault that ends with the hint when none fits. */
gboolean loom_op_windows (LoomInfer *ctx, const gint64 kernel[2], const gint64 stride[2], const gint64 pad[4],
                          const gint64 dilation[2], gboolean ceil_mode, const char *hint, LoomShape *shape);
/* Rank faults in one voice: FALSE after "NAME needs WHAT; here comes SHAPE. HINT". */
gboolean
loom_op_rank (LoomInfer *ctx, guint i, const char *port, int minimum, int maximum, const char *what, const char *hint);
/* The same for images [batch, channels, height, width] of floats as input 0. */
gboolean loom_op_images (LoomInfer *ctx, const char *hint, const char *why);
/* A dimension that becomes a weight's size; FALSE with a fault when it is not a plain number. */
gboolean loom_op_plain_dim (LoomInfer *ctx, LoomDim d, const char *what, gint64 *value);

/* ---- lowering --------------------------------------------------------- */

/* LOOM_F32 in a graph means the program's float. */
LoomDType loom_op_dtype (LoomLower *ctx, LoomDType dtype);
/* Dims of output i, which are numbers by now; returns the rank. */
int loom_op_output_dims (LoomLower *ctx, guint i, gint64 *dims);
LoomTensorDesc loom_op_desc (LoomLower *ctx, LoomValue v);
/* The operator's .scalar, in the type of output 0. */
void loom_op_lower_unary (LoomLower *ctx);
void loom_op_lower_binary (LoomLower *ctx);
/* The same for an operator that chooses its formula by a parameter. */
void loom_op_emit_unary (LoomLower *ctx, LoomScalarOp op);
/* Output 0 is input 0, or input 0 in the shape of output 0. */
void loom_op_lower_same (LoomLower *ctx);
void loom_op_lower_reshape (LoomLower *ctx);
/* A constant of the type of v. */
LoomValue loom_op_const_like (LoomLower *ctx, LoomValue v, double value);

/* ---- cost ------------------------------------------------------------- */

/* Elements of output or input i with symbols bound. */
double loom_op_output_count (const LoomInfer *ctx, guint i);
double loom_op_input_count (const LoomInfer *ctx, guint i);
/* For .flops: nothing is computed; or one operation for each element of input 0. */
double loom_op_no_flops (const LoomInfer *ctx);
double loom_op_input_flops (const LoomInfer *ctx);

/* ---- pooling, see family-pool.c --------------------------------------- */

/* Parameters that all poolings have. */
extern const LoomPortSpec loom_op_port_images[];
#define LOOM_OP_POOL_KERNEL                                                                                            \
  {                                                                                                                    \
    .name = "kernel_size", .type = LOOM_PARAM_INTS, .length = 2, .minimum = 1, .maximum = 10000, .unit = "pixels",     \
    .doc = "Height and width of the window."                                                                           \
  }
#define LOOM_OP_POOL_STRIDE                                                                                            \
  {                                                                                                                    \
    .name = "stride", .type = LOOM_PARAM_INTS, .def = "", .length = 2, .minimum = 1, .maximum = 10000,                 \
    .unit = "pixels", .doc = "How far the window moves; left out, as far as it is wide."                               \
  }
#define LOOM_OP_POOL_CEIL_MODE                                                                                         \
  {                                                                                                                    \
    .name = "ceil_mode", .type = LOOM_PARAM_BOOL, .def = "false",                                                      \
    .doc = "Lets a last window hang over the edge instead of leaving pixels out.", .advanced = TRUE                    \
  }
/* Window, stride and padding; what else an operator has it fills in itself. */
LoomPool2dTo loom_op_pool (const LoomInfer *ctx);
void loom_op_infer_pool (LoomInfer *ctx, const LoomPool2dTo *a);
/* The primitive has the operator's name. */
void loom_op_lower_pool (LoomLower *ctx, LoomPool2dTo a);
double loom_op_pool_flops (const LoomInfer *ctx);
char *loom_op_pool_summary (const LoomInfer *ctx);

/* ---- padding, see family-pad.c ---------------------------------------- */

/* v with `front` more places before and `back` behind along one axis, fewer where negative. mode is "constant" or
 * "zeros" (then value fills them), "reflect", "replicate" or "circular". */
LoomValue loom_op_pad_value (LoomProgram *p, LoomValue v, int axis, gint64 front, gint64 back, const char *mode,
                             double value);
/* Whether an axis of that size has enough places to be padded so: reflect needs more than the padding, circular as
 * many, replicate one. */
gboolean loom_op_pad_fits (LoomDim size, gint64 front, gint64 back, const char *mode);

/* ---- along dimensions, see family-axis.c ------------------------------ */

/* "dim" and "keepdim" of reductions, and their samples. */
extern const LoomParamSpec loom_op_param_reduced[];
extern const LoomSample loom_op_samples_reduced[];
/* What is left of input 0 without those dimensions; integers become `whole`. */
void loom_op_infer_reduced (LoomInfer *ctx, LoomDType whole);
/* The sums in the type of output 0, and of how many elements each is one. */
LoomValue loom_op_sums (LoomLower *ctx, double *count);
/* Softmax along "dim", or its logarithm. */
extern const LoomSample loom_op_samples_softmax[];
void loom_op_infer_softmax (LoomInfer *ctx);
void loom_op_lower_softmax (LoomLower *ctx, gboolean log);
double loom_op_softmax_flops (const LoomInfer *ctx);

G_END_DECLS
