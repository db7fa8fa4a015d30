/* Shares among the operators' files the rules of shape and type that several have, and their messages.
 *
 * Private to engine/ops; each operator is one const LoomOp in op-<name>.c. */
#pragma once

#include "engine/ops/loom-op.h"
#include "engine/ops/loom-param.h"

/* One input called "input" and one output called "out". */
extern const LoomPortSpec loom_op_port_input[], loom_op_port_out[];
/* Two operands, input and other, and the attribute "other" for a number in place of the second one. */
extern const LoomPortSpec loom_op_port_operands[];
extern const LoomParamSpec loom_op_param_other[];
/* Samples of element-wise operators, by the range of numbers. */
extern const LoomSample loom_op_samples_any[], loom_op_samples_away0[], loom_op_samples_positive[];
extern const LoomSample loom_op_samples_unit[], loom_op_samples_above1[];
extern const LoomSample loom_op_samples_pairs[], loom_op_samples_positive_pairs[];
/* The same with integers among them, for comparisons and tests. */
extern const LoomSample loom_op_samples_compared[], loom_op_samples_tested[];
/* The attribute "reduction" of losses. */
extern const char *const loom_op_reductions[];

/* The example of module ports: a module with an input and an output, and an instance of it. */
#define LOOM_OP_MODULE_EXAMPLE                                                                                         \
  "<module name=\"half\"><node id=\"x\" op=\"module_input\"/><node id=\"mul\" op=\"mul\" other=\"0.5\"/>"              \
  "<node id=\"y\" op=\"module_output\"/><wire from=\"x\" to=\"mul.input\"/><wire from=\"mul\" to=\"y\"/></module>"     \
  "<node id=\"x\" op=\"input\" shape=\"B,4\"/><node id=\"half\" module=\"half\"/>"                                     \
  "<wire from=\"x\" to=\"half.x\"/>"

/* ---- inference -------------------------------------------------------- */

/* FALSE with a DTYPE fault unless input i is a float: "NAME WHY and needs floats"; why may be NULL. */
gboolean loom_op_needs_float (LoomInfer *ctx, guint i, const char *port, const char *why);
/* The same for an input that is multiplied by the node's weights, whose type it must have, because a product needs
 * operands of one type. */
gboolean loom_op_needs_weight_type (LoomInfer *ctx, guint i, const char *port);
/* Output 0 has the type of input 0. */
void loom_op_infer_same (LoomInfer *ctx);
/* The same with integers converted to floats, as for exp(). */
void loom_op_infer_float (LoomInfer *ctx);
/* Output 0 is input 0 broadcast with input 1 or, if that is not wired, with the number in the attribute of its name.
 * A division makes floats of integers. */
void loom_op_infer_binary (LoomInfer *ctx);
void loom_op_infer_division (LoomInfer *ctx);
/* The same if integers stay integers and cannot be divided by 0: a fault if 0 is given as a number, an error of the
 * run if it comes by wire. */
void loom_op_infer_rounded_division (LoomInfer *ctx);
/* The same for a bool of each element, or of each pair. */
void loom_op_infer_predicate (LoomInfer *ctx);
void loom_op_infer_compare (LoomInfer *ctx);
/* TRUE if the number is an integer. */
gboolean loom_op_is_integer (double value);
/* The promoted type of two, as in the program's primitives. */
LoomDType loom_op_promote (LoomDType a, LoomDType b);
/* Axis `dim` of a rank, counted from the back when negative; FALSE with a SHAPE fault at parameter `name`. */
gboolean loom_op_axis (LoomInfer *ctx, const char *name, gint64 dim, int rank, int *axis);
/* The axes that the list parameter names, or all of them if it is empty. The const form is for lower(), when they
 * have been checked. */
gboolean loom_op_axes (LoomInfer *ctx, const char *name, int rank, guint32 *axes);
guint32 loom_op_axes_of (const LoomInfer *ctx, const char *name, int rank);
int loom_op_axis_of (gint64 dim, int rank);
/* The shape with the given axes removed, or of size 1. */
LoomShape loom_op_reduced_shape (const LoomShape *shape, guint32 axes, gboolean keepdim);
/* Reports a fault of rank: FALSE after "NAME needs WHAT, but got SHAPE. HINT". */
gboolean
loom_op_rank (LoomInfer *ctx, guint i, const char *port, int minimum, int maximum, const char *what, const char *hint);
/* Reads a dimension that becomes the size of a weight; FALSE with a fault if it is not a plain number. */
gboolean loom_op_plain_dim (LoomInfer *ctx, LoomDim d, const char *what, gint64 *value);

/* ---- lowering --------------------------------------------------------- */

/* Maps LOOM_F32 of a graph to the program's float type. */
LoomDType loom_op_dtype (LoomLower *ctx, LoomDType dtype);
/* The dims of output i, which are bound here; returns the rank. */
int loom_op_output_dims (LoomLower *ctx, guint i, gint64 *dims);
LoomTensorDesc loom_op_desc (LoomLower *ctx, LoomValue v);
/* The operator's .scalar, in the type of output 0. */
void loom_op_lower_unary (LoomLower *ctx);
void loom_op_lower_binary (LoomLower *ctx);
/* The same for an operator that selects its formula by a parameter. */
void loom_op_emit_unary (LoomLower *ctx, LoomScalarOp op);
void loom_op_emit_binary (LoomLower *ctx, LoomScalarOp op);
/* .scalar of operands that keep their types; the result is bool. */
void loom_op_lower_predicate (LoomLower *ctx);
void loom_op_lower_compare (LoomLower *ctx);
/* Input i in the type of output 0 or, if it is not wired, the number in the attribute of its name. */
LoomValue loom_op_operand (LoomLower *ctx, guint i);
/* x clamped to at least (GT, MAX) or at most (LT, MIN) the limit; clamped elements get no gradient. */
LoomValue loom_op_clamp_to (LoomLower *ctx, LoomValue x, double limit, LoomScalarOp inside, LoomScalarOp bound);
/* Output 0 is input 0, or input 0 in the shape of output 0. */
void loom_op_lower_same (LoomLower *ctx);
void loom_op_lower_reshape (LoomLower *ctx);
/* A constant of the type of v. */
LoomValue loom_op_const_like (LoomLower *ctx, LoomValue v, double value);

/* What the rows of element-wise operators have in common: a function of one operand, whose integers stay (same) or
 * become floats (float); arithmetic of two, with the infer() of that name; a comparison; a test of each element. */
#define LOOM_OP_FUNCTION(SCALAR, INFER, SAMPLES)                                                                       \
  .inputs = loom_op_port_input, .outputs = loom_op_port_out, .scalar = LOOM_SCALAR_##SCALAR,                           \
  .infer = loom_op_infer_##INFER, .lower = loom_op_lower_unary, .samples = loom_op_samples_##SAMPLES
#define LOOM_OP_ARITHMETIC(SCALAR, INFER, SAMPLES)                                                                     \
  .inputs = loom_op_port_operands, .outputs = loom_op_port_out, .params = loom_op_param_other,                         \
  .scalar = LOOM_SCALAR_##SCALAR, .infer = loom_op_infer_##INFER, .lower = loom_op_lower_binary,                       \
  .samples = loom_op_samples_##SAMPLES
#define LOOM_OP_COMPARISON(SCALAR)                                                                                     \
  .inputs = loom_op_port_operands, .outputs = loom_op_port_out, .params = loom_op_param_other,                         \
  .scalar = LOOM_SCALAR_##SCALAR, .infer = loom_op_infer_compare, .lower = loom_op_lower_compare,                      \
  .samples = loom_op_samples_compared
#define LOOM_OP_PREDICATE(SCALAR)                                                                                      \
  .inputs = loom_op_port_input, .outputs = loom_op_port_out, .scalar = LOOM_SCALAR_##SCALAR,                           \
  .infer = loom_op_infer_predicate, .lower = loom_op_lower_predicate, .samples = loom_op_samples_tested

/* For operators that run modules, which engine/net infers and lowers: these do nothing, for tables that query every
 * operator. */
void loom_op_infer_module (LoomInfer *ctx);
void loom_op_lower_module (LoomLower *ctx);

/* ---- cost ------------------------------------------------------------- */

/* Elements of output or input i with symbols bound. */
double loom_op_output_count (const LoomInfer *ctx, guint i);
double loom_op_input_count (const LoomInfer *ctx, guint i);
/* For .flops: none; or one operation for each element of input 0. */
double loom_op_no_flops (const LoomInfer *ctx);
double loom_op_input_flops (const LoomInfer *ctx);

/* ---- padding, see family-pad.c ---------------------------------------- */

/* v with `front` elements added before and `back` after along one axis; negative numbers remove elements. mode is
 * "constant" or "zeros" (filled with value), "reflect", "replicate" or "circular". */
LoomValue
loom_op_pad_value (LoomProgram *p, LoomValue v, int axis, gint64 front, gint64 back, const char *mode, double value);
/* TRUE if the axis is long enough for the padding: reflect needs more elements than the padding, circular at least
 * as many, replicate one. */
gboolean loom_op_pad_fits (LoomDim size, gint64 front, gint64 back, const char *mode);

/* ---- tables of vectors, see family-embedding.c ------------------------ */

#define LOOM_OP_TABLE_PARAMS                                                                                           \
  { LOOM_PARAM_FRESH ("num_embeddings", INT, "1000"), LOOM_RANGE (1, 1e9), .unit = "rows",                             \
    .doc = "The number of vectors in the table." },                                                                    \
  {                                                                                                                    \
    LOOM_PARAM_FRESH ("embedding_dim", INT, "32"), LOOM_RANGE (1, 1e9), .unit = "features",                            \
                                                                        .doc = "The size of each vector."              \
  }
/* The row of "padding_idx", from the end if it is negative; -1 if it is not set. */
gint64 loom_op_padding_row (const LoomInfer *ctx);
/* Declares the weight [num_embeddings, embedding_dim], normal with a row of zeros for padding. FALSE with a fault. */
gboolean loom_op_infer_table (LoomInfer *ctx);

/* ---- activations, see family-activation.c ----------------------------- */

/* "alpha", 1 by default. */
extern const LoomParamSpec loom_op_param_alpha[];
/* Elements not above 0 become down·(e^(rate·x) - 1), the others up·x. */
void loom_op_lower_elu (LoomLower *ctx, double down, double up, double rate);
/* ln(1 + e^(βx))/β, or x if βx is above the threshold. */
LoomValue loom_op_emit_softplus (LoomProgram *p, LoomValue x, double beta, double threshold);
double loom_op_smooth_flops (const LoomInfer *ctx);

/* ---- extremes, see family-extreme.c ----------------------------------- */

/* Ports, parameters and samples of max and min, which return indices too if they reduce one dimension. */
extern const LoomPortSpec loom_op_port_with_index[];
extern const LoomParamSpec loom_op_param_reduced_dim[];
extern const LoomSample loom_op_samples_reduced_dim[];
const LoomPortSpec *loom_op_outputs_with_index (const LoomInfer *ctx);
void loom_op_infer_with_index (LoomInfer *ctx);
void loom_op_lower_with_index (LoomLower *ctx, gboolean largest);
/* amax and amin: reduce any dimensions; equal elements share the gradient. */
extern const LoomSample loom_op_samples_extreme[];
void loom_op_infer_extreme (LoomInfer *ctx);
void loom_op_lower_extreme (LoomLower *ctx, gboolean largest);
/* argmax and argmin. */
void loom_op_infer_arg_extreme (LoomInfer *ctx);
void loom_op_lower_arg_extreme (LoomLower *ctx, gboolean largest);
/* FALSE with a fault if a reduction over these axes would take the extreme of no elements. */
gboolean loom_op_has_elements (LoomInfer *ctx, guint32 axes);

/* ---- along dimensions, see family-axis.c ------------------------------ */

/* "dim" and "keepdim" of reductions, and their samples. */
extern const LoomParamSpec loom_op_param_reduced[];
extern const LoomSample loom_op_samples_reduced[];
/* Input 0 without those dimensions; integers become f32, or stay whole: i64, also for small ones and bools, as in
 * PyTorch. */
void loom_op_infer_reduced (LoomInfer *ctx);
void loom_op_infer_reduced_whole (LoomInfer *ctx);
/* The sums in the type of output 0, and the number of elements of each. */
LoomValue loom_op_sums (LoomLower *ctx, double *count);
/* Reduces x, in the type of output 0, along the dimensions of "dim". */
LoomValue loom_op_reduce (LoomLower *ctx, LoomReduceOp op, LoomValue x);
/* The variance of var and std; "correction" is subtracted from the number of elements. */
extern const LoomParamSpec loom_op_param_variance[];
extern const LoomSample loom_op_samples_variance[];
LoomValue loom_op_variance (LoomLower *ctx);
/* √s for s ≥ 0, with derivative 0 at 0. */
LoomValue loom_op_root (LoomProgram *p, LoomValue s);
/* any and all: bool along dimensions. */
extern const LoomSample loom_op_samples_tested_along[];
void loom_op_infer_tested_along (LoomInfer *ctx);
/* all and any: counts the elements that compare as `test_op` with 0, then compares that count with 0 in the same way.
 */
void loom_op_lower_tested_along (LoomLower *ctx, LoomScalarOp test_op);
/* Softmax along "dim", or its logarithm; softmin is that of the negated input. */
extern const LoomSample loom_op_samples_softmax[];
void loom_op_infer_softmax (LoomInfer *ctx);
void loom_op_lower_softmax (LoomLower *ctx, gboolean log);
void loom_op_lower_softmin (LoomLower *ctx);
double loom_op_softmax_flops (const LoomInfer *ctx);

/* ---- parts and copies of tensors, see family-shape.c ------------------- */

/* Ports "0" … "n-1" for dynamic_outputs, at most LOOM_OP_MAX_OUTPUTS. */
const LoomPortSpec *loom_op_numbered_ports (guint n);
/* The optional input "like", which sets the shape (and type) of a new tensor. */
extern const LoomPortSpec loom_op_port_like[];
/* The size of Python's start:end:step, NULL for omitted parts, and the first index if it is known. The size is
 * unknown for a symbol, unless the slice is the whole dimension. step is not 0. */
LoomDim loom_op_slice_size (LoomDim size, const gint64 *start, const gint64 *end, gint64 step, gint64 *first);
/* `count` elements along one axis from start on; a negative step walks backwards. */
LoomValue loom_op_slice_axis (LoomProgram *p, LoomValue v, int axis, gint64 start, gint64 count, gint64 step);
/* Repeats a tensor along an axis: copy after copy, or each element. */
LoomValue loom_op_repeat (LoomProgram *p, LoomValue v, int axis, gint64 times, gboolean each);
/* start, start + step, … along one axis of a tensor whose other sizes are 1. */
LoomValue loom_op_iota_along (LoomProgram *p, LoomDType dtype, int rank, int axis, gint64 n, double start, double step);
/* bool [rows, columns]: where row + diagonal `op` column. */
LoomValue loom_op_band (LoomProgram *p, gint64 rows, gint64 columns, gint64 diagonal, LoomScalarOp op);
/* The diagonal of the last two axes of [ …, rows, columns] as the last axis. */
LoomValue loom_op_diagonal_of (LoomProgram *p, LoomValue v, gint64 offset);
gint64 loom_op_diagonal_size (gint64 rows, gint64 columns, gint64 offset);
/* Infers the size of −1 in the parameter of that name from the elements of `from`, if possible; FALSE with a fault
 * if the number of elements does not match. */
gboolean loom_op_infer_reshape (LoomInfer *ctx, const char *name, const LoomShape *from, LoomShape *shape);
/* v reshaped to the dims of output i. */
void loom_op_output_reshaped (LoomLower *ctx, guint i, LoomValue v);
/* Slices input 0 along the axis of the parameter dim: output i begins at the end of output i - 1. Output shapes are
 * known here. */
void loom_op_lower_split (LoomLower *ctx);
/* The input as [n, split…] with its dimensions permuted, as the output: n is the product of all dimensions before
 * the channels. */
extern const LoomPortSpec loom_op_port_image[];
void loom_op_permute_pixels (LoomLower *ctx, const gint64 split[5], const int order[6]);
extern const LoomPortSpec loom_op_port_parts[];
/* The number of outputs of a dimension of this size, if no parameter sets it. FALSE with a fault if that is unknown,
 * 0, or too large. */
gboolean loom_op_count_outputs (LoomInfer *ctx, int axis, LoomDim size, gint64 *n);
/* The axis of the parameter dim; FALSE with a fault if the input is a scalar. */
gboolean loom_op_split_axis (LoomInfer *ctx, int *axis);
/* tril and triu: `kept` compares row + diagonal with column. */
extern const LoomParamSpec loom_op_param_diagonal[];
extern const LoomSample loom_op_samples_triangle[];
void loom_op_infer_triangle (LoomInfer *ctx);
void loom_op_lower_triangle (LoomLower *ctx, LoomScalarOp kept);
/* Tensors of one number: shape from "shape" or from the port "like", type from "dtype", else from "like", else f32. */
#define LOOM_OP_FILLED_PARAMS                                                                                          \
  { LOOM_PARAM ("shape", SHAPE, ""),                                                                                   \
    .doc = "Sizes of the dimensions; if not set, those of the tensor wired into “like”, else a scalar." },             \
  {                                                                                                                    \
    LOOM_PARAM ("dtype", DTYPE, ""), .doc = "The type of the elements; if not set, that of “like”, else f32.",         \
                                     .advanced = TRUE                                                                  \
  }
extern const LoomParamSpec loom_op_param_filled[];
void loom_op_infer_filled (LoomInfer *ctx);
void loom_op_lower_filled (LoomLower *ctx, double value);

/* ---- gather and scatter, see family-index.c ---------------------------- */

/* "dim", by default the last; "out" and "indices". */
/* "dim" of operators with an index, without other parameters. */
extern const LoomParamSpec loom_op_param_index_dim[];
extern const LoomPortSpec loom_op_port_ordered[];
/* FALSE with a fault unless input i is an index, or unless inputs i and k have one type. */
gboolean loom_op_needs_int (LoomInfer *ctx, guint i, const char *port);
gboolean loom_op_same_dtype (LoomInfer *ctx, guint i, guint k, const char *port);
/* The same unless input i has the rank of `whole` and is larger than it at most along the axis. */
gboolean loom_op_points_into (LoomInfer *ctx, guint i, const char *port, const LoomShape *whole, int axis);
LoomValue loom_op_at_least_1d (LoomProgram *p, LoomValue v);
/* x[…, index, …]: the axis is replaced by the dimensions of the index. The second is the row of each in a table
 * [outer·n, …]. */
LoomValue loom_op_pick_rows (LoomProgram *p, LoomValue x, LoomValue index, int axis);
LoomValue loom_op_flat_rows (LoomProgram *p, LoomValue index, gint64 outer, gint64 n);
/* FALSE with a fault unless the last dimension of input 1 holds coordinates of input 0; depth: their number. */
gboolean loom_op_infer_coordinates (LoomInfer *ctx, int batch, int *depth);
/* The rows of a table that coordinates along the last dimension of an index refer to in x. */
LoomValue loom_op_coordinates (LoomProgram *p, LoomValue x, LoomValue index, int batch, gint64 table[2]);
/* Cumulative sums, products and extremes along "dim". */
void loom_op_infer_running (LoomInfer *ctx);
extern const LoomParamSpec loom_op_param_running[];
extern const LoomSample loom_op_samples_running[];
LoomValue loom_op_running_product (LoomProgram *p, LoomValue x, int axis);
void loom_op_infer_running_extreme (LoomInfer *ctx);
void loom_op_lower_running_extreme (LoomLower *ctx, gboolean largest);
/* Input, index and, if it is wired, src, which must be at least as large as the index. */
void loom_op_infer_scatter (LoomInfer *ctx);
void loom_op_lower_scatter (LoomLower *ctx, LoomValue src, LoomScatterMode mode);
/* The shape to which input and mask broadcast; FALSE with a fault if they do not, or if input 1 is no mask. */
gboolean loom_op_with_mask (LoomInfer *ctx, LoomShape *shape);
LoomValue loom_op_sorted (LoomLower *ctx, LoomValue *indices);
extern const LoomParamSpec loom_op_param_sorted[];
extern const LoomSample loom_op_samples_sorted[];
/* The number of elements that are not 0 (i64, rank 0), and the indices of n that are, in row-major order. */
LoomValue loom_op_count_true (LoomProgram *p, LoomValue x);
LoomValue loom_op_true_places (LoomProgram *p, LoomValue x, gint64 n);

/* A parameter that names a dimension, from the end if it is negative: { LOOM_OP_DIM ("dim"), .def = "-1", .doc = …
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
    LOOM_PARAM ("reduction", ENUM, "mean"),                                                                            \
        .choices = loom_op_reductions,                                                                                 \
        .doc = "How the losses of the elements are reduced: none, their mean or their sum."                            \
  }
#define LOOM_OP_CLASS_WEIGHT                                                                                           \
  {                                                                                                                    \
    LOOM_PARAM ("weight", FLOATS, ""), .doc = "A weight for each class, “1,2,0.5”, usually larger for rare classes.",  \
                                       .advanced = TRUE                                                                \
  }
/* Checks inputs 0 to n-1 for element-wise comparison: one shape for all, with a warning if sizes of 1 are repeated.
 * FALSE after a fault. dtype is their common float type. */
gboolean loom_op_infer_compared (LoomInfer *ctx, guint n, LoomDType *dtype, LoomShape *shape);
/* Output 0: the shape of the losses, or one number, as "reduction" says. */
void loom_op_infer_loss (LoomInfer *ctx, LoomDType dtype, const LoomShape *each);
/* The infer() of losses of input and target alone. */
void loom_op_infer_pair_loss (LoomInfer *ctx);
/* Input i in the float type of the loss; a constant for gradients in the second form, 0 if it is not wired. */
LoomValue loom_op_loss_input (LoomLower *ctx, guint i);
LoomValue loom_op_loss_constant (LoomLower *ctx, guint i);
/* Output 0 from the losses of the elements; the mean is over all of them. */
void loom_op_output_loss (LoomLower *ctx, LoomValue each);
/* The same if the mean is a sum divided by a count that depends on the data, a scalar. */
void loom_op_output_counted_loss (LoomLower *ctx, LoomValue each, LoomValue count);
/* ln(1 + exp(-x)), the loss of a logit x with a positive target, or ln(1 + exp(x)), with a negative one: without
 * overflow, with the correct derivative everywhere. */
LoomValue loom_op_logistic_loss (LoomProgram *p, LoomValue x, gboolean large);
/* max(x, 0), with the derivative 0 at 0. */
LoomValue loom_op_at_least_zero (LoomProgram *p, LoomValue x);
/* (Σ |x|ᵖ)^(1/p) along an axis that keeps size 1; as in PyTorch, the derivative of the norm of a zero vector is 0. */
LoomValue loom_op_norm_along (LoomProgram *p, LoomValue x, int axis, double power);
/* ‖a − b + eps‖ along the last dimension, by the parameters p and eps. */
LoomValue loom_op_distance (LoomLower *ctx, LoomValue a, LoomValue b);
/* max(x, least), with the derivative of x everywhere. */
LoomValue loom_op_hold_up (LoomProgram *p, LoomValue x, double least);
/* The weights of C classes from port i or the attribute "weight": FALSE after a fault. The second returns 0 without
 * weights; else [C], for which no gradient is computed. */
gboolean loom_op_infer_class_weight (LoomInfer *ctx, guint i, LoomDim classes);
LoomValue loom_op_class_weight (LoomLower *ctx, guint i);
/* The weight of each target: that of its class (1 without weights), and 0 if it is `ignored`. `safe` gets the
 * classes with 0 in place of ignored ones, `counts` whether a target is not ignored. */
LoomValue loom_op_target_weight (LoomLower *ctx, LoomValue target, gint64 ignored, LoomDType dtype,
                                 LoomValue class_weight, LoomValue *safe, LoomValue *counts);
/* FALSE after a fault: targets must be integers, of the shape of `scores` without dimension 1. */
gboolean loom_op_infer_classes (LoomInfer *ctx, LoomShape *each);
/* [N, d…] → [N, 1, d…] */
LoomValue loom_op_with_class_axis (LoomProgram *p, LoomValue v);
