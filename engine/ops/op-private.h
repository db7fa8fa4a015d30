/* Shared by the operators' files: rules of shape and type that many have in common, and their sentences.
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
extern const LoomSample loom_op_samples_unit[], loom_op_samples_above1[];
extern const LoomSample loom_op_samples_pairs[], loom_op_samples_positive_pairs[];
/* The same with integers among them, for comparisons and questions. */
extern const LoomSample loom_op_samples_compared[], loom_op_samples_asked[];
/* The attribute "reduction" of losses. */
extern const char *const loom_op_reductions[];

/* The example of the ports of a module: one with an input and an output, and an instance of it. */
#define LOOM_OP_MODULE_EXAMPLE                                                                                         \
  "<module name=\"half\"><node id=\"x\" op=\"module_input\"/><node id=\"mul\" op=\"mul\" other=\"0.5\"/>"              \
  "<node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"mul.input\"/><wire from=\"mul\" to=\"y\"/></module>"     \
  "<node id=\"x\" op=\"input\" shape=\"B,4\"/><node id=\"half\" module=\"half\"/>"                                     \
  "<wire from=\"x\" to=\"half.x\"/>"

/* ---- inference -------------------------------------------------------- */

/* FALSE with a DTYPE fault unless input i is a float: "NAME WHY and needs floats", or no reason for NULL. */
gboolean loom_op_needs_float (LoomInfer *ctx, guint i, const char *port, const char *why);
/* The same for what is multiplied by the node's weights, whose type it must have: a product takes operands of one type.
 */
gboolean loom_op_needs_weight_type (LoomInfer *ctx, guint i, const char *port);
/* Output 0 is what input 0 is. */
void loom_op_infer_same (LoomInfer *ctx);
/* The same with integers made floats, as exp() of an integer is. */
void loom_op_infer_float (LoomInfer *ctx);
/* Output 0 is input 0 broadcast with input 1, or with the number in the attribute of that port's name where nothing is
 * wired. Where a division is, integers become floats. */
void loom_op_infer_binary (LoomInfer *ctx);
void loom_op_infer_division (LoomInfer *ctx);
/* The same where integers stay whole, which 0 cannot divide: a fault where it is given as a number, an error of
 * the run where it comes by wire. */
void loom_op_infer_rounded_division (LoomInfer *ctx);
/* The same for what is true or false of each element, or of each pair. */
void loom_op_infer_question (LoomInfer *ctx);
void loom_op_infer_compare (LoomInfer *ctx);
/* TRUE if a number can stand among integers. */
gboolean loom_op_is_integer (double value);
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
/* Reports a fault of rank: FALSE after "NAME needs WHAT; here comes SHAPE. HINT". */
gboolean
loom_op_rank (LoomInfer *ctx, guint i, const char *port, int minimum, int maximum, const char *what, const char *hint);
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
void loom_op_emit_binary (LoomLower *ctx, LoomScalarOp op);
/* .scalar of operands that keep their own types; the result is bool. */
void loom_op_lower_question (LoomLower *ctx);
void loom_op_lower_compare (LoomLower *ctx);
/* Input i in the type of output 0, or the number in the attribute of that port's name where nothing is wired. */
LoomValue loom_op_operand (LoomLower *ctx, guint i);
/* x no smaller (GT, MAX) or no larger (LT, MIN) than the limit; what had to be moved gets no gradient. */
LoomValue loom_op_hold (LoomLower *ctx, LoomValue x, double limit, LoomScalarOp inside, LoomScalarOp bound);
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

/* ---- padding, see family-pad.c ---------------------------------------- */

/* v with `front` more places before and `back` behind along one axis, fewer where negative. mode is "constant" or
 * "zeros" (then value fills them), "reflect", "replicate" or "circular". */
LoomValue
loom_op_pad_value (LoomProgram *p, LoomValue v, int axis, gint64 front, gint64 back, const char *mode, double value);
/* TRUE if an axis of that size has enough places to be padded so: reflect needs more than the padding, circular as
 * many, replicate one. */
gboolean loom_op_pad_fits (LoomDim size, gint64 front, gint64 back, const char *mode);

/* ---- activations, see family-activation.c ----------------------------- */

/* "alpha", 1 where it is left out. */
extern const LoomParamSpec loom_op_param_alpha[];
/* Elements not above 0 become down·(e^(rate·x) - 1), the others up·x. */
void loom_op_lower_elu (LoomLower *ctx, double down, double up, double rate);
/* ln(1 + e^(βx))/β, and x itself where βx is above the threshold. */
LoomValue loom_op_emit_softplus (LoomProgram *p, LoomValue x, double beta, double threshold);
double loom_op_smooth_flops (const LoomInfer *ctx);

/* ---- extremes, see family-extreme.c ----------------------------------- */

/* Ports, parameters and samples of max and min, which find a position too when they search along one dimension. */
extern const LoomPortSpec loom_op_port_found[];
extern const LoomParamSpec loom_op_param_searched[];
extern const LoomSample loom_op_samples_searched[];
const LoomPortSpec *loom_op_outputs_found (const LoomInfer *ctx);
void loom_op_infer_found (LoomInfer *ctx);
void loom_op_lower_found (LoomLower *ctx, gboolean largest);
/* amax and amin: values along any dimensions, whose equals share the gradient. */
extern const LoomSample loom_op_samples_extreme[];
void loom_op_infer_extreme (LoomInfer *ctx);
void loom_op_lower_extreme (LoomLower *ctx, gboolean largest);
/* argmax and argmin. */
void loom_op_infer_position (LoomInfer *ctx);
void loom_op_lower_position (LoomLower *ctx, gboolean largest);
/* FALSE with a fault where a reduction over these axes would look for an extreme among no elements. */
gboolean loom_op_has_elements (LoomInfer *ctx, guint32 axes);

/* ---- along dimensions, see family-axis.c ------------------------------ */

/* "dim" and "keepdim" of reductions, and their samples. */
extern const LoomParamSpec loom_op_param_reduced[];
extern const LoomSample loom_op_samples_reduced[];
/* Input 0 without those dimensions; integers become `whole`. */
void loom_op_infer_reduced (LoomInfer *ctx, LoomDType whole);
/* The sums in the type of output 0, and of how many elements each is one. */
LoomValue loom_op_sums (LoomLower *ctx, double *count);
/* Input 0 in the type of output 0, and what is left of a value of that shape. */
LoomValue loom_op_reduce (LoomLower *ctx, LoomReduceOp op, LoomValue x);
/* The variance that var and std are about; "correction" lessens the number of elements. */
extern const LoomParamSpec loom_op_param_spread[];
extern const LoomSample loom_op_samples_spread[];
LoomValue loom_op_variance (LoomLower *ctx);
/* √s for s ≥ 0, with no derivative at 0, where a length or a deviation has none. */
LoomValue loom_op_root (LoomProgram *p, LoomValue s);
/* any and all: bool along dimensions. */
extern const LoomSample loom_op_samples_asked_along[];
void loom_op_infer_asked_along (LoomInfer *ctx);
/* How many elements compare so with 0, and whether that number does. */
void loom_op_lower_asked_along (LoomLower *ctx, LoomScalarOp asks);
/* Softmax along "dim", or its logarithm; softmin is that of the negated input. */
extern const LoomSample loom_op_samples_softmax[];
void loom_op_infer_softmax (LoomInfer *ctx);
void loom_op_lower_softmax (LoomLower *ctx, gboolean log);
void loom_op_lower_softmin (LoomLower *ctx);
double loom_op_softmax_flops (const LoomInfer *ctx);

/* ---- parts and copies of tensors, see family-shape.c ------------------- */

/* Ports "0" … "n-1" for operators with as many outputs, at most LOOM_OP_MAX_PARTS; for dynamic_outputs. */
const LoomPortSpec *loom_op_numbered_ports (guint n);
/* The optional input "like", whose shape (and type) a tensor made of nothing takes over. */
extern const LoomPortSpec loom_op_port_like[];
/* The size that Python's start:end:step leaves, NULL for parts that are left out: how many elements, and the first one
 * where that is certain. Unknown for a symbol, unless all of it is meant. step is not 0. */
LoomDim loom_op_cut_size (LoomDim size, const gint64 *start, const gint64 *end, gint64 step, gint64 *first);
/* `count` elements along one axis from start on; a step below 0 walks backwards. */
LoomValue loom_op_cut (LoomProgram *p, LoomValue v, int axis, gint64 start, gint64 count, gint64 step);
/* A tensor several times along an axis: one copy after the other, or each element times over. */
LoomValue loom_op_copies (LoomProgram *p, LoomValue v, int axis, gint64 times, gboolean each);
/* start, start + step, … along one axis of a tensor whose other sizes are 1. */
LoomValue
loom_op_count_along (LoomProgram *p, LoomDType dtype, int rank, int axis, gint64 n, double start, double step);
/* bool [rows, columns]: where row + diagonal `op` column. */
LoomValue loom_op_band (LoomProgram *p, gint64 rows, gint64 columns, gint64 diagonal, LoomScalarOp op);
/* The diagonal of the last two axes of [ …, rows, columns ] as the last axis. */
LoomValue loom_op_diagonal_of (LoomProgram *p, LoomValue v, gint64 offset);
gint64 loom_op_diagonal_size (gint64 rows, gint64 columns, gint64 offset);
/* A shape for the elements of `from`, in which one size may be unknown: −1 in the parameter of that name. It is found
 * where it can be; FALSE with a fault where the number of elements does not fit. */
gboolean loom_op_fill_in (LoomInfer *ctx, const char *name, const LoomShape *from, LoomShape *shape);
/* v under the dims of output i. */
void loom_op_put (LoomLower *ctx, guint i, LoomValue v);
/* Output i is input 0 cut along the axis of the parameter dim, where i - 1 ends. Output shapes are known by then. */
void loom_op_lower_parts (LoomLower *ctx);
/* The input as [n, split…], its dimensions in this order, as the output: n is all of its dimensions before the
 * channels. */
extern const LoomPortSpec loom_op_port_image[];
void loom_op_turn_pixels (LoomLower *ctx, const gint64 split[5], const int order[6]);
extern const LoomPortSpec loom_op_port_parts[];
/* Where no parameter says it: as many outputs as a dimension of this size comes apart into. FALSE with a fault where
 * that is not known, none, or too many. */
gboolean loom_op_count_parts (LoomInfer *ctx, int axis, LoomDim size, gint64 *n);
/* The axis of the parameter dim; FALSE with a fault where there is nothing to cut. */
gboolean loom_op_cut_axis (LoomInfer *ctx, int *axis);
/* tril and triu: `kept` compares row + diagonal with column. */
extern const LoomParamSpec loom_op_param_diagonal[];
extern const LoomSample loom_op_samples_triangle[];
void loom_op_infer_triangle (LoomInfer *ctx);
void loom_op_lower_triangle (LoomLower *ctx, LoomScalarOp kept);
/* Tensors of one number: shape from "shape" or from the port "like", type from "dtype", else from "like", else f32. */
#define LOOM_OP_FILLED_PARAMS                                                                                          \
  { .name = "shape",                                                                                                   \
    .type = LOOM_PARAM_SHAPE,                                                                                          \
    .def = "",                                                                                                         \
    .doc = "Sizes of the dimensions; left out, a single number or the shape of what is wired into “like”." },          \
  {                                                                                                                    \
    .name = "dtype", .type = LOOM_PARAM_DTYPE, .def = "",                                                              \
    .doc = "The type of the elements; left out, that of “like”, else f32.", .advanced = TRUE                           \
  }
extern const LoomParamSpec loom_op_param_filled[];
void loom_op_infer_filled (LoomInfer *ctx);
void loom_op_lower_filled (LoomLower *ctx, double value);

/* ---- picking and putting by position, see family-index.c --------------- */

/* "dim", the last where it is left out; "out" and "indices". */
/* "dim" of operators with an index, and nothing else. */
extern const LoomParamSpec loom_op_param_index_dim[];
extern const LoomPortSpec loom_op_port_ordered[];
/* FALSE with a fault unless input i is an index, or unless inputs i and k have one type. */
gboolean loom_op_needs_int (LoomInfer *ctx, guint i, const char *port);
gboolean loom_op_same_dtype (LoomInfer *ctx, guint i, guint k, const char *port);
/* The same unless input i has the rank of `whole` and is nowhere longer than it but along the axis. */
gboolean loom_op_points_into (LoomInfer *ctx, guint i, const char *port, const LoomShape *whole, int axis);
LoomValue loom_op_at_least_1d (LoomProgram *p, LoomValue v);
/* x[…, index, …]: the axis becomes the dimensions of the index. The second is the row of each in a table [outer·n, …].
 */
LoomValue loom_op_pick_rows (LoomProgram *p, LoomValue x, LoomValue index, int axis);
LoomValue loom_op_flat_rows (LoomProgram *p, LoomValue index, gint64 outer, gint64 n);
/* FALSE with a fault unless the last dimension of input 1 holds coordinates that input 0 has; depth: how many. */
gboolean loom_op_infer_coordinates (LoomInfer *ctx, int batch, int *depth);
/* The places that coordinates along the last dimension of an index name in x, as rows of a table. */
LoomValue loom_op_coordinates (LoomProgram *p, LoomValue x, LoomValue index, int batch, gint64 table[2]);
/* Running sums, products and extremes along "dim". */
void loom_op_infer_running (LoomInfer *ctx);
extern const LoomParamSpec loom_op_param_running[];
extern const LoomSample loom_op_samples_running[];
LoomValue loom_op_running_product (LoomProgram *p, LoomValue x, int axis);
void loom_op_infer_running_extreme (LoomInfer *ctx);
void loom_op_lower_running_extreme (LoomLower *ctx, gboolean largest);
/* Input, index and, where it is wired, src, which covers the index. */
void loom_op_infer_scatter (LoomInfer *ctx);
void loom_op_lower_scatter (LoomLower *ctx, LoomValue src, LoomScatterMode mode);
/* The shape to which input and mask broadcast; FALSE with a fault where they do not, or where input 1 is no mask. */
gboolean loom_op_with_mask (LoomInfer *ctx, LoomShape *shape);
LoomValue loom_op_sorted (LoomLower *ctx, LoomValue *indices);
extern const LoomParamSpec loom_op_param_sorted[];
extern const LoomSample loom_op_samples_sorted[];
/* How many elements are not 0 (i64, rank 0), and the places of n that are, counted in the flat order. */
LoomValue loom_op_count_true (LoomProgram *p, LoomValue x);
LoomValue loom_op_true_places (LoomProgram *p, LoomValue x, gint64 n);

/* A parameter that counts dimensions, from the end where it is negative: { LOOM_OP_DIM ("dim"), .def = "-1", .doc = …
 * }. */
#define LOOM_OP_DIM(NAME)                                                                                              \
  .name = NAME, .type = LOOM_PARAM_INT, .minimum = -LOOM_SHAPE_MAX_RANK, .maximum = LOOM_SHAPE_MAX_RANK - 1
#define LOOM_OP_DIMS(NAME)                                                                                             \
  .name = NAME, .type = LOOM_PARAM_INTS, .minimum = -LOOM_SHAPE_MAX_RANK, .maximum = LOOM_SHAPE_MAX_RANK - 1

/* ---- losses, see family-loss.c ----------------------------------------- */

/* The ports input and target, and the attribute "reduction". */
extern const LoomPortSpec loom_op_port_compared[];
extern const LoomParamSpec loom_op_param_reduction[];
#define LOOM_OP_REDUCTION                                                                                              \
  {                                                                                                                    \
    .name = "reduction", .type = LOOM_PARAM_ENUM, .def = "mean", .choices = loom_op_reductions,                        \
    .doc = "One number for everything (mean or sum), or one for each element."                                         \
  }
#define LOOM_OP_CLASS_WEIGHT                                                                                           \
  {                                                                                                                    \
    .name = "weight", .type = LOOM_PARAM_FLOATS, .def = "",                                                            \
    .doc = "How much each class counts: “1,2,0.5”, a number for each. Rare classes deserve more.", .advanced = TRUE    \
  }
/* Inputs 0 to n-1 compared element by element: one shape for all, with a warning where sizes of 1 are repeated. FALSE
 * after a fault. dtype is their common float type. */
gboolean loom_op_infer_compared (LoomInfer *ctx, guint n, LoomDType *dtype, LoomShape *shape);
/* Output 0: the shape of the losses, or one number, as "reduction" says. */
void loom_op_infer_loss (LoomInfer *ctx, LoomDType dtype, const LoomShape *each);
/* The infer() of losses of input and target alone. */
void loom_op_infer_pair_loss (LoomInfer *ctx);
/* Input i in the float type of the loss; a constant for gradients in the second form, 0 where it is not wired. */
LoomValue loom_op_loss_input (LoomLower *ctx, guint i);
LoomValue loom_op_loss_constant (LoomLower *ctx, guint i);
/* Output 0 from the losses one by one; the mean is over all of them. */
void loom_op_put_loss (LoomLower *ctx, LoomValue each);
/* The same, where the mean is a sum divided by a count that depends on the data, a scalar. */
void loom_op_put_counted_loss (LoomLower *ctx, LoomValue each, LoomValue count);
/* ln(1 + exp(-x)), the loss of a score x that should be large, or ln(1 + exp(x)), of one that should be small: for no x
 * too large to compute, with the right derivative everywhere. */
LoomValue loom_op_logistic_loss (LoomProgram *p, LoomValue x, gboolean large);
/* max(x, 0), with the derivative 0 at 0. */
LoomValue loom_op_at_least_zero (LoomProgram *p, LoomValue x);
/* (Σ |x|ᵖ)^(1/p) along an axis that stays with size 1; the derivative of the length of a zero vector is 0, as PyTorch
 * has it. */
LoomValue loom_op_norm_along (LoomProgram *p, LoomValue x, int axis, double power);
/* ‖a − b + eps‖ along the last dimension, by the parameters p and eps. */
LoomValue loom_op_distance (LoomLower *ctx, LoomValue a, LoomValue b);
/* max(x, least), whose derivative is that of x everywhere. */
LoomValue loom_op_hold_up (LoomProgram *p, LoomValue x, double least);
/* The weights of C classes from port i or the attribute "weight": FALSE after a fault. 0 from the second where there
 * are none; else [C], for which no gradient is computed. */
gboolean loom_op_infer_class_weight (LoomInfer *ctx, guint i, LoomDim classes);
LoomValue loom_op_class_weight (LoomLower *ctx, guint i);
/* How much each target counts: its class's weight (1 where there are none), and 0 where it is `ignored`. `safe` gets
 * the classes with 0 in place of ignored ones, `counts` whether a target is not ignored. */
LoomValue loom_op_target_weight (LoomLower *ctx, LoomValue target, gint64 ignored, LoomDType dtype,
                                 LoomValue class_weight, LoomValue *safe, LoomValue *counts);
/* FALSE after a fault: targets must be integers, of the shape of `scores` without dimension 1. */
gboolean loom_op_infer_classes (LoomInfer *ctx, LoomShape *each);
/* [N, d…] → [N, 1, d…] */
LoomValue loom_op_with_class_axis (LoomProgram *p, LoomValue v);

G_END_DECLS
