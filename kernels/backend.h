/* The contract between the engine and a back end: a plain C vtable.
 *
 * A back end (ref, cpu, cuda) owns devices, memory and kernels and does not depend on graphs or programs. The planner
 * describes one call by a LoomKernelSpec (primitive, attributes, tensor descriptions) and gets a LoomKernel, which is
 * then run once per step with raw buffer addresses. All work that can be done before the first step belongs in
 * kernel_new() and bind(); run() must not allocate, look up or format anything.
 *
 * Before it fuses or places anything the planner calls options(), which lists the ways to compute a call: the
 * algorithm, the layouts of the operands and the estimated cost. It then minimises over the whole program. Nothing is
 * timed while a plan is made.
 *
 * Shapes are logical: a convolution's input is always [N, C, H, W], whatever the order of its bytes, which
 * LoomTensorDesc.layout describes. */
#ifndef LOOM_BACKEND_H
#define LOOM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"
#include "kernels/scalar.h"

#define LOOM_BACKEND_ABI 11
#define LOOM_MAX_RANK    8

typedef enum
{
  LOOM_STATUS_OK,
  LOOM_STATUS_UNSUPPORTED, /* no kernel for this spec; the planner reports it */
  LOOM_STATUS_OUT_OF_MEMORY,
  LOOM_STATUS_DEVICE,     /* the device or its driver failed */
  LOOM_STATUS_INVALID,    /* the spec contradicts itself: a planner's bug */
  LOOM_STATUS_INDEX,      /* a row or a class that does not exist */
  LOOM_STATUS_NO_RESULT,  /* other data that has no result: a singular matrix, a requirement that does not hold */
  LOOM_STATUS_NOT_FINITE, /* a step's loss or gradients, reported by update_gate */
  LOOM_STATUS_DEVICE_LOST /* every later call of the device returns it too; freeing still works */
} LoomStatus;

/* One sentence for the user, filled by the function that returns a status other than OK. */
typedef struct
{
  char text[512];
} LoomMessage;

/* ---- tensors ---------------------------------------------------------- */

typedef enum
{
  LOOM_LAYOUT_PLAIN, /* row major in logical order; PyTorch's contiguous */
  LOOM_LAYOUT_NHWC   /* rank 4 only: logical [N,C,H,W], bytes ordered N,H,W,C */
} LoomLayout;

typedef struct
{
  LoomDType dtype;
  LoomLayout layout;
  int rank; /* 0 is a scalar of one element */
  int64_t dim[LOOM_MAX_RANK];
} LoomTensorDesc;

static inline int64_t
loom_desc_count (const LoomTensorDesc *d)
{
  int64_t n = 1;
  for (int i = 0; i < d->rank; i++)
    n *= d->dim[i];
  return n;
}

static inline size_t
loom_desc_bytes (const LoomTensorDesc *d)
{
  return (size_t)loom_desc_count (d) * loom_dtype_size (d->dtype);
}

/* ---- primitives and their attributes ----------------------------------
 *
 * The names that kernel_new() sees, with inputs → outputs and the attribute
 * struct. [x] marks an optional operand, present when the attribute says so;
 * absent operands after the last present one are not counted in n_in (loom_instr_n_operands() of the engine decides
 * that for every executor). An absent operand before a present one has dtype LOOM_N_DTYPES. Unless noted otherwise
 * floats may be f32 or f64 (ref) and all floats of one
 * call have one type.
 *
 *  elementwise        in… → out…                LoomElementwiseAttrs
 *  reduce             x → y                     LoomReduceAttrs
 *  argreduce          x → i64                   LoomArgReduceAttrs
 *  matmul             a, b, [bias] → y          LoomMatmulAttrs; with a sum or a derivative: product.h
 *  conv2d             x, w, [bias], [r] → y     LoomConv2dAttrs; with a pooling: conv-pooled.h
 *  conv2d_input_grad  g, w → dx                 LoomConv2dAttrs, likewise
 *  conv2d_weight_grad g, x → dw, [dbias]        LoomConv2dAttrs, likewise
 *  max_pool2d         x → y, indices            LoomPool2dAttrs
 *  max_pool2d_grad    g, indices → dx           LoomPool2dAttrs
 *  avg_pool2d         x → y                     LoomPool2dAttrs
 *  avg_pool2d_grad    g → dx                    LoomPool2dAttrs
 *  softmax            x → y                     LoomSoftmaxAttrs
 *  softmax_grad       g, y → dx                 LoomSoftmaxAttrs
 *  attention          q, k, v, [mask], [seed, step, head_index] → y, lse  LoomAttentionAttrs; in place: attention.h
 *  attention_grad     g, q, k, v, lse, [delta], [mask], [y], [seed, step, head_index] → dq, dk, dv
 *  attention_cached   q, k, v, keys, values, position → keys', values', y  LoomAttentionCachedAttrs
 *  cross_entropy      logits, target → loss,lse LoomCrossEntropyAttrs
 *  cross_entropy_grad logits, target, lse, g → dlogits
 *  batch_norm         x, [weight, bias] → y, mean, var      LoomNormAttrs; with a residual, all three: norm.h
 *  batch_norm_grad    g, x, mean, var, [weight], [bias] → dx, [dweight, dbias]
 *  batch_norm_apply   x, mean, var, [weight, bias] → y      LoomNormAttrs
 *  layer_norm         x, [weight, bias] → y, mean, rstd     LoomNormAttrs
 *  layer_norm_grad    g, x, mean, rstd, [weight] → dx, [dweight, dbias]; with r around the norm: norm.h
 *  gather_rows        table, index → y          none
 *  scatter_add_rows   index, g → table          none
 *  gather             x, index → y              LoomGatherAttrs
 *  scatter            base, index, src → y      LoomScatterAttrs
 *  sort               x → y, indices            LoomSortAttrs
 *  cumsum             x → y                     LoomCumsumAttrs
 *  permute            x → y                     LoomPermuteAttrs
 *  copy               x → y (same shape; layouts and dtypes may differ: also
 *                     `reorder`, `cast`; a float becomes an integer by
 *                     truncation, bool by != 0)
 *  expand             x → y (NumPy broadcast)   none
 *  slice              x → y                     LoomSliceAttrs
 *  pad                x → y                     LoomPadAttrs
 *  concat             in… → y                   LoomConcatAttrs; fused with the calls before it: move.h
 *  fill               → y                       LoomFillAttrs
 *  iota               → y                       LoomIotaAttrs
 *  random             seed, step, [row_index], [least] → y   LoomRandomAttrs
 *  require            x, ok → y                 LoomRequireAttrs
 *  cholesky           a → l                     none
 *  triangular_solve   a, b → x                  LoomTriangularSolveAttrs
 *  solve              a, b → x, lu, perm        LoomSolveAttrs
 *  det                a → d, lu                 none
 *  cofactor           a → c, lu, rows, columns  none
 *  grad_stats         g… → sumsq, finite        none
 *  update_gate        finite, tolerated → go, sound  none, see below
 *  sgd_step, adam_step                          see below
 *  sgd_step_logged    LoomSgdLoggedAttrs, see below
 *  undo_step          LoomUndoAttrs, see below
 *  rmsprop_step, adagrad_step, adadelta_step, nadam_step, adamax_step,
 *  radam_step, lion_step, lamb_step, lars_step  LoomStepAttrs, see below
 */

/* elementwise: a straight-line program over scalars, applied at every element of the output shape; inputs broadcast to
 * it as in NumPy. One unfused primitive is a program of one step. Registers 0 … n_in-1 hold the inputs, register n_in+k
 * the result of step k. `compute` is the type of all registers (f32, f64, or i64 if every operand is an integer or
 * bool): loads and stores convert, a store to bool writes != 0. All outputs have the shape that the inputs broadcast
 * to. In NHWC calls every input of rank 4 whose count equals the output's is NHWC; the others are plain and broadcast
 * (a bias [C,1,1] or [1,C,1,1], a scalar).
 *
 * Operands and results may be larger than the computed shape and be read and written as slices: a part is the slice of
 * `length` from `start` on along one axis. The gates of a recurrent cell, which one product computes next to each
 * other, are read from that product, and their gradients are written next to each other for the next product. An
 * operand with parts is read only through them, and a result with parts is written only through them (its out[] is
 * ignored). Registers of operand parts follow those of the operands, and registers of steps follow those of the parts.
 * A result's parts have the computed shape, do not overlap, and cover it. Calls with parts are plain. Only back ends
 * that compute parts list options for them. */
#define LOOM_EW_MAX_IN    12
#define LOOM_EW_MAX_OUT   8
#define LOOM_EW_MAX_STEPS 32
#define LOOM_EW_MAX_PARTS 16

typedef struct
{
  LoomScalarOp op;
  uint8_t arg[3];  /* registers */
  double imm;      /* of LOOM_SCALAR_CONST */
  LoomDType round; /* F16 or BF16: the result is rounded to it at once, as if it had been stored; any other type: not */
} LoomElementwiseStep;

typedef struct
{
  uint8_t tensor; /* number of the operand, or of the result */
  uint8_t reg;    /* of results: the register that is written to it */
  int8_t axis;    /* of that tensor */
  int64_t start, length;
} LoomElementwisePart;

typedef struct
{
  LoomDType compute;
  int n_steps;
  LoomElementwiseStep step[LOOM_EW_MAX_STEPS];
  uint8_t out[LOOM_EW_MAX_OUT]; /* register of each output */
  int n_in_parts, n_out_parts;
  LoomElementwisePart in_part[LOOM_EW_MAX_PARTS], out_part[LOOM_EW_MAX_PARTS];
} LoomElementwiseAttrs;

typedef enum
{
  LOOM_REDUCE_SUM,
  LOOM_REDUCE_MAX,
  LOOM_REDUCE_MIN,
  LOOM_REDUCE_PROD
} LoomReduceOp;

/* The output has the input's rank, with 1 for each reduced axis. A sum over no elements is 0, a product 1; inference
 * refuses max and min of none. NaN wins max and min, as in PyTorch. Sums of f32 accumulate pairwise or in f64, in an
 * order that does not depend on the thread count. */
typedef struct
{
  LoomReduceOp op;
  uint32_t axes; /* bit i: axis i is reduced */
} LoomReduceAttrs;

/* First position of the largest (or smallest) element along one axis, i64; the output has 1 there. classes as with
 * cross_entropy: if it is not 0, only the first `classes` elements count. */
typedef struct
{
  bool largest;
  int axis;
  int64_t classes;
} LoomArgReduceAttrs;

/* y[…,m,n] = act(Σ_k A[…,m,k]·B[…,k,n] + bias[n]). With trans_a the bytes of a are […,k,m], with trans_b those of b are
 * […,n,k]. Both operands have rank ≥ 2 and batch axes broadcast. act is LOOM_SCALAR_ID for none, else a unary scalar
 * operation. derivative is LOOM_SCALAR_ID (0) and sum_b is false except in the fused products of product.h. */
typedef struct
{
  bool trans_a, trans_b;
  bool has_bias;
  LoomScalarOp act;
  LoomScalarOp derivative;
  bool sum_b;
} LoomMatmulAttrs;

/* x [N,C,H,W], w [K,C/groups,R,S], y [N,K,P,Q]; PyTorch's cross-correlation. pad is top, bottom, left, right. has_bias
 * concerns the bias operand of conv2d and the dbias result of conv2d_weight_grad; act as in matmul, conv2d only.
 * algorithm limits how sums may be rearranged: AUTO leaves it to the back end, DIRECT requires the sums as written,
 * WINOGRAD requires that algorithm if there is one (for tests and measurements). pooled is false except in the fused
 * convolutions of conv-pooled.h. A residual r, of y's shape, type and layout, is added before act: y = act(x∗w + bias +
 * r), in calls that the planner fused; a back end may lack them. */
#define LOOM_CONV_RESIDUAL 3 /* the operand number of r */
typedef enum
{
  LOOM_CONV_AUTO,
  LOOM_CONV_DIRECT,
  LOOM_CONV_WINOGRAD
} LoomConvAlgorithm;

typedef struct
{
  int64_t stride[2], pad[4], dilation[2];
  int64_t groups;
  bool has_bias;
  LoomScalarOp act;
  LoomConvAlgorithm algorithm;
  bool pooled;
} LoomConv2dAttrs;

/* `indices` of max_pool2d are the winner's position in its window, row·kw+column, as u8 when the window has at most 256
 * positions and i32 otherwise; of equal values the first wins, NaN wins over all (PyTorch). Average pooling divides by
 * divisor when it is not 0, else by the window's size, with padding counted if count_include_pad (PyTorch's rule for
 * windows that overhang in ceil mode: only positions inside input plus padding count). */
typedef struct
{
  int64_t kernel[2], stride[2], pad[2], dilation[2];
  bool count_include_pad;
  int64_t divisor;
} LoomPool2dAttrs;

typedef struct
{
  int axis;
  bool log; /* log_softmax */
} LoomSoftmaxAttrs;

/* Strides of the rows of attention's operands and results in a tensor, and their names: kernels/attention.h. */
typedef struct
{
  int64_t start, sample, head, row;
} LoomAttentionRows;

typedef struct
{
  int64_t n, heads, groups, queries, keys, width, depth; /* N, H, K, T, S, E, D */
} LoomAttentionSizes;

typedef enum
{
  LOOM_ATTENTION_Q,
  LOOM_ATTENTION_K,
  LOOM_ATTENTION_V,
  LOOM_ATTENTION_Y,
  LOOM_ATTENTION_G,
  LOOM_ATTENTION_DQ,
  LOOM_ATTENTION_DK,
  LOOM_ATTENTION_DV,
  LOOM_ATTENTION_N_OPERANDS
} LoomAttentionOperand;

/* Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1) without a matrix of all scores in memory (Dao et
 * al. 2022): q [N,H,T,E], k [N,K,S,E], v [N,K,S,D] → y [N,H,T,D] and lse [N,H,T], log Σ exp of each query's scores. y =
 * softmax (scale·q·kᵀ)·v, where query head h reads key head h / (H/K). mask [N or 1, H or 1, T or 1, S] is bool and
 * keeps a key where it is true, or is a float that is added to the key's score; causal keeps key j of query i if j ≤ i.
 * A query that keeps no key results in 0 with an lse of -∞.
 *
 * attention_grad: delta [N,H,T] is Σ g·y of each query, less the gradient of its lse. If lse has no gradient, y is
 * passed instead of delta: always one of the two.
 *
 * dropout: the probability that a key's weight counts as 0; the others are multiplied by 1/(1 - dropout), and lse is
 * computed without dropout. If it is not 0, head_index i64 [N,H] is the index of a head among all heads of the whole
 * batch, and key j of its query t is kept if element (head_index·T + t)·S + j of `random` by seed, stream and step is
 * not below dropout. */
typedef struct
{
  double scale;
  bool causal, has_mask;
  double dropout; /* less than 1 */
  uint64_t stream;
  bool in_place; /* the fields after this one count: in calls that the planner fused */
  LoomAttentionSizes sizes;
  LoomAttentionRows rows[LOOM_ATTENTION_N_OPERANDS];
} LoomAttentionAttrs;

/* Causal attention with a key-value cache, for a growing sequence: q [N,H,T,E], k [N,K,T,E] and v [N,K,T,D] belong to
 * the positions position … position+T-1 (an i64 scalar); keys [N,K,C,E] and values [N,K,C,D] hold the positions before.
 * k and v are written at their positions into keys' and values', which have the addresses of keys and values; then y
 * [N,H,T,D] is attention() of query t over positions 0 … position+t, with the head groups of attention(). Later
 * positions are neither read nor changed. Positions outside 0 … C-1 are a fault, LOOM_STATUS_INDEX, and then nothing is
 * written.
 */
typedef struct
{
  double scale;
} LoomAttentionCachedAttrs;

/* logits [N,C,d…], target i64 [N,d…]; loss and lse (log Σ exp) float [N,d…]. If the target is ignore_index the loss is
 * 0 and so is the gradient. Any other target outside 0 … C-1 is a fault, LOOM_STATUS_INDEX. cross_entropy_grad: dlogits
 * = (softmax - onehot)·g, g float [N,d…]; a back end may take f32 logits with 16-bit dlogits.
 *
 * classes, if it is not 0: only the first `classes` of C are classes. The others pad rows to a length that suits the
 * device; they are not read, and their gradient is 0. The planner asks for this if the back end has it. */
typedef struct
{
  int64_t ignore_index;
  int64_t classes;
} LoomCrossEntropyAttrs;

/* batch_norm: statistics over every axis but 1, biased variance; mean and var are [C]. layer_norm: over the last `axes`
 * axes; mean and rstd have the leading shape. affine: weight and bias are passed. batch_norm_apply computes y from
 * known statistics.
 *
 * act, of the three batch norms, is LOOM_SCALAR_ID or LOOM_SCALAR_RELU. With RELU y is max(0, ·), and batch_norm_grad
 * has bias as its last operand if affine, and passes g only where y is above 0. It computes y again, so y need not be
 * kept (unless a residual is fused: norm.h). */
typedef struct
{
  double eps;
  int axes; /* layer_norm only */
  bool affine;
  LoomScalarOp act;
} LoomNormAttrs;

/* gather: y[…,i,…] = x[…,index[…,i,…],…] along one axis (torch.gather). index is i64 or i32, has x's rank and at most
 * x's length along every other axis; y has the shape of index. An index outside 0 … n-1 is a fault, LOOM_STATUS_INDEX.
 */
typedef struct
{
  int axis;
} LoomGatherAttrs;

/* scatter: y is base, and then y[…,index[…,i,…],…] takes src[…,i,…] in the order of i. Of several with the same index
 * the last one stays (torch.scatter), or all are combined with the old element. src has index's shape, for which
 * gather's rules hold. y may have base's address. NaN wins max and min. */
typedef enum
{
  LOOM_SCATTER_REPLACE,
  LOOM_SCATTER_ADD,
  LOOM_SCATTER_MUL,
  LOOM_SCATTER_MAX,
  LOOM_SCATTER_MIN
} LoomScatterMode;

typedef struct
{
  int axis;
  LoomScatterMode mode;
} LoomScatterAttrs;

/* sort: along one axis; `indices` (i64) are the positions that the elements had. The sort is stable, also if
 * descending. NaN is larger than anything else, as in PyTorch. */
typedef struct
{
  int axis;
  bool descending;
} LoomSortAttrs;

/* cumsum: y[…,i,…] = Σ x[…,k,…] over k ≤ i; over k < i when exclusive; from the
 * other end when reverse. Floats accumulate in f64, integers in i64. */
typedef struct
{
  int axis;
  bool exclusive, reverse;
} LoomCumsumAttrs;

typedef struct
{
  int perm[LOOM_MAX_RANK]; /* y.dim[i] = x.dim[perm[i]] */
} LoomPermuteAttrs;

typedef struct
{
  int64_t start[LOOM_MAX_RANK], step[LOOM_MAX_RANK]; /* step is not 0; below 0 it walks backwards */
} LoomSliceAttrs;

/* The gradient of slice: x is placed at start with the step in between, the
 * rest of y is value. */
typedef struct
{
  int64_t start[LOOM_MAX_RANK], step[LOOM_MAX_RANK];
  double value;
} LoomPadAttrs;

typedef struct
{
  int axis;
} LoomConcatAttrs;

typedef struct
{
  double value;
} LoomFillAttrs;

typedef struct
{
  int axis; /* y[…,i,…] = start + i·step along this axis */
  double start, step;
} LoomIotaAttrs;

/* Linear algebra on batches of square matrices a […,n,n], b and x […,n,m], all with the same leading axes. cholesky
 * returns the lower factor of (a + aᵀ)/2. solve finds x with a·x = b, or aᵀ·x = b, by elimination with partial
 * pivoting; lu […,n,n] and perm i64 […,n] are workspace and keep the factors. A matrix without a solution (singular,
 * not positive definite) is a fault of solve and cholesky, LOOM_STATUS_NO_RESULT, with its index in the batch, and NaN
 * in a matrix results in NaN; the det […] of a singular one is 0. cofactor is the gradient of det, also of singular
 * matrices; lu, and rows and columns i64 […,n], are workspace. */
typedef struct
{
  bool upper, transpose, unitriangular; /* op (a)·x = b; the other half of a is not read */
} LoomTriangularSolveAttrs;

typedef struct
{
  bool transpose;
} LoomSolveAttrs;

/* Philox 4x32-10 (kernels/philox.h): element i is a function of (seed, stream, step, i) alone, so it is the same on
 * every device and for any thread count. seed and step are i64 scalars. Floats are uniform in [0,1), standard normal,
 * or exponential with mean 1 (never 0); i64 are uniform in 0 … 2⁶³-1. row_index, i64, has the leading axes of a float
 * y: the rest of y at each of its elements is the row with that index of a longer tensor. A bool y has the kind MASK,
 * which the planner makes and which alone has least, an f32 scalar: an element is true if the uniform f32 number is not
 * below least. */
typedef enum
{
  LOOM_RANDOM_UNIFORM,
  LOOM_RANDOM_NORMAL,
  LOOM_RANDOM_EXPONENTIAL,
  LOOM_RANDOM_MASK
} LoomRandomKind;

typedef struct
{
  LoomRandomKind kind; /* of floats and bools */
  uint64_t stream;     /* hash of the node's path */
} LoomRandomAttrs;

/* TRUE if a call of random has the operand row_index. in: its operands. */
static inline bool
loom_random_has_rows (const LoomTensorDesc *in, int n_in)
{
  return n_in > 2 && in[2].dtype != LOOM_N_DTYPES;
}

/* require: y is x if every element of ok (bool, of any shape) is true. Else it is a fault, LOOM_STATUS_NO_RESULT, and
 * the message is `what` and an element's index (on the host the first). */
#define LOOM_REQUIRE_TEXT 160

typedef struct
{
  char what[LOOM_REQUIRE_TEXT];
} LoomRequireAttrs;

/* grad_stats: n gradients in; sumsq is Σ g² over all, accumulated in f64 in a
 * fixed order, stored as the float type; finite is the float 1 when every
 * element of every input is finite, else 0. */
typedef struct
{
  int n;
} LoomGradStatsAttrs;

/* update_gate is between the gradients and everything that a step writes; each operand is a float scalar. If finite and
 * tolerated are 0, it raises the fault LOOM_STATUS_NOT_FINITE. sound is 1 if no fault is raised, else 0; go is 1 if
 * sound and finite are, else 0. An overflow under loss scaling is tolerated: nothing is updated, and no fault is
 * raised. */

#define LOOM_NOT_FINITE_TEXT "the loss or a gradient is not finite"

/* Optimiser steps update n tensors in one call. Operands, each list of length n:
 *   sgd_step:  p…, g…, [buf…], then scalars lr, momentum, dampening,
 *              weight_decay, grad_scale, finite, step
 *              → p'…, [buf'…]                       (buf when momentum is used)
 *   adam_step: p…, g…, m…, v…, [vmax…], then scalars lr, beta1, beta2, eps,
 *              weight_decay, grad_scale, finite, step
 *              → p'…, m'…, v'…, [vmax'…]
 * Scalars are float tensors of one element; step is i64 and counts from 1 at the
 * first update. Each output has its input's address. If finite is 0 nothing is written. Gradients are multiplied by
 * grad_scale first. Formulas are
 * torch.optim.SGD's and torch.optim.Adam's / AdamW's (decoupled). SGD's first step
 * (step == 1) sets buf = g, later ones buf = momentum·buf + (1-dampening)·g. */
typedef struct
{
  int n;
  bool momentum, nesterov, maximize;
} LoomSgdAttrs;

typedef struct
{
  int n;
  bool decoupled; /* AdamW */
  bool amsgrad, maximize;
} LoomAdamAttrs;

/* SGD without momentum that reads each gradient once, for gradients that may be overwritten: it writes before it is
 * known whether all are finite, and stores each old weight over its gradient.
 *   sgd_step_logged: p…, g…, then scalars lr, weight_decay, grad_scale
 *                    → p'… at p, old p… at g, then sumsq and finite as grad_stats has them of g…
 *   undo_step:       p'…, old p…, then the float scalar finite → p''… at p'
 * undo_step restores the old weights if finite is 0 or the flag of its stream is raised (below), which are the cases
 * in which update_gate stops a step; else it changes nothing. */
typedef struct
{
  int n;
  bool maximize;
} LoomSgdLoggedAttrs;

typedef struct
{
  int n;
} LoomUndoAttrs;

/* The other optimisers' steps: p…, g…, then each state's list in the order below, then scalars as named, and after
 * them grad_scale, finite, step → p'…, each state's list. All else is as above; formulas in kernels/optim.h.
 *   rmsprop_step  square_avg, [momentum_buffer], [grad_avg]; lr, alpha, eps, weight_decay, momentum
 *   adagrad_step  sum; lr, lr_decay, weight_decay, eps
 *   adadelta_step square_avg, acc_delta; lr, rho, eps, weight_decay
 *   nadam_step    exp_avg, exp_avg_sq; lr, beta1, beta2, eps, weight_decay, momentum_decay, mu_product
 *   adamax_step   exp_avg, exp_inf; lr, beta1, beta2, eps, weight_decay
 *   radam_step    exp_avg, exp_avg_sq; as adamax
 *   lion_step     exp_avg; lr, beta1, beta2, weight_decay
 *   lamb_step     exp_avg, exp_avg_sq; as adamax
 *   lars_step     momentum_buffer; lr, momentum, weight_decay, trust_coefficient, eps
 * mu_product is the product of all mu including this step's. */
typedef enum
{
  LOOM_STEP_RMSPROP,
  LOOM_STEP_ADAGRAD,
  LOOM_STEP_ADADELTA,
  LOOM_STEP_NADAM,
  LOOM_STEP_ADAMAX,
  LOOM_STEP_RADAM,
  LOOM_STEP_LION,
  LOOM_STEP_LAMB,
  LOOM_STEP_LARS,
  LOOM_N_STEPS
} LoomStepKind;

typedef struct
{
  int n;
  LoomStepKind kind;
  bool maximize;
  bool decoupled;          /* nadam and radam */
  bool momentum, centered; /* rmsprop's optional states */
} LoomStepAttrs;

/* ---- kernels ---------------------------------------------------------- */

typedef struct LoomDevice LoomDevice; /* a back end's own; opaque outside */
typedef struct LoomStream LoomStream;
typedef struct LoomEvent LoomEvent;
typedef struct LoomKernel LoomKernel;

typedef struct
{
  const char *primitive;
  const void *attrs; /* the struct of the primitive; copied if the kernel keeps it */
  int n_in, n_out;
  const LoomTensorDesc *in, *out;
  const char *algorithm; /* one that options() returned; NULL: the back end's first that takes the call */
  bool tf32; /* of products: f32 operands may be rounded to TF32, if the device computes in it; else they may not */
  uint64_t fixed; /* bit i: operand i keeps its bytes from prepare() on, so the kernel may read a packed copy instead */
} LoomKernelSpec;

/* One way of computing a call. */
typedef struct
{
  const char *algorithm; /* one word, "own" or "onednn"; or a configuration that a library proposed for this call,
                            "cublaslt:a21t20s8"; valid as long as the back end */
  uint64_t nhwc;         /* bit i: operand i, bit n_in + o: result o is NHWC; all others are plain */
  double seconds;        /* of one run, estimated; 0 if no costs were passed */
  size_t scratch;        /* bytes, as far as they are known before the kernel is made */
} LoomKernelOption;

#define LOOM_MAX_OPTIONS 16

/* The cost table, as a back end sees it: the estimated seconds of one run of an option. spec has plain layouts; flops
 * and bytes are the back end's counts, including the padding of its blocks. */
typedef struct LoomCosts LoomCosts;
struct LoomCosts
{
  double (*seconds) (const LoomCosts *self, const LoomKernelSpec *spec, const LoomKernelOption *option, double flops,
                     double bytes);
};

/* A back end embeds this as the first member of its own kernel struct. */
struct LoomKernel
{
  /* Buffers are in…, out…, scratch (NULL if scratch_bytes is 0), and, if kept_bytes is not 0, kept memory. An empty
   * tensor may have a NULL buffer. On a device with its own memory each address is a multiple of 64 bytes. */
  LoomStatus (*run) (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
  /* Optional: called once, and again if an address changes, before run(). Nothing of the kernel runs meanwhile. */
  LoomStatus (*bind) (LoomKernel *self, void *const *buffers, LoomMessage *message);
  /* Optional: packs fixed operands into kept memory, without scratch. Called after bind() and before run(), once. */
  LoomStatus (*prepare) (LoomKernel *self, LoomStream *stream, void *const *buffers, LoomMessage *message);
  void (*free) (LoomKernel *self);
  size_t scratch_bytes; /* in the arena, aligned to 64 */
  size_t kept_bytes;    /* aligned to 64; nothing else writes them. 0 if no operand is fixed */
  /* Bit i of inplace[o]: output o may have exactly input i's address. */
  uint32_t inplace[LOOM_EW_MAX_OUT];
  const char *name; /* the implementation, for `gradloom plan`: "onednn brg:avx512_core"; valid as long as the kernel */
  int64_t site;     /* the engine's number for the instruction, quoted by its faults; set before run() */
  bool is_launched_alone; /* it waits for the device, so a step that contains it is not recorded (capture_begin) */
};

/* Longer than any name of a card (256 in CUDA) or a processor: cost tables are found by these texts, so they must not
 * be truncated. */
#define LOOM_DEVICE_TEXT 320

typedef struct
{
  char name[LOOM_DEVICE_TEXT];        /* "Intel Xeon … · 2 threads" */
  char libraries[LOOM_DEVICE_TEXT];   /* the versions that decide how a kernel computes: "oneDNN 2.6.3, x86-64-v4" */
  uint64_t memory_total, memory_free; /* bytes */
  int threads;                        /* 0 if it has no meaning */
  bool host_memory;                   /* buffers may be read and written by plain C */
} LoomDeviceInfo;

/* A fault means that a step's numbers have no result: LOOM_STATUS_INDEX, LOOM_STATUS_NO_RESULT or
 * LOOM_STATUS_NOT_FINITE. A back end whose run() returns when the work is done returns the status, and the caller runs
 * nothing after it. Other back ends raise the flag of the stream, on the device; the first report stays. While the flag
 * is raised, update_gate stops every step on that stream, this one and later ones, until fault_clear(). Nothing waits
 * for the host. */
typedef struct
{
  LoomStatus status; /* LOOM_STATUS_OK: no fault */
  int64_t site;      /* of the kernel that raised it */
  int64_t step;      /* the number of the last step_begin() before it */
} LoomDeviceFault;

typedef enum
{
  LOOM_COPY_HOST_TO_DEVICE,
  LOOM_COPY_DEVICE_TO_HOST,
  LOOM_COPY_WITHIN
} LoomCopyKind;

typedef struct
{
  uint32_t abi; /* LOOM_BACKEND_ABI */
  const char *name;

  /* The number of devices. 0 with a sentence in message if there are none ("no CUDA device: …"); else message may say
   * why this process does not see more. Never prints. */
  int (*device_count) (LoomMessage *message);
  /* threads 0: all processors. */
  LoomStatus (*device_open) (int index, int threads, LoomDevice **device, LoomMessage *message);
  void (*device_close) (LoomDevice *device);
  void (*device_info) (LoomDevice *device, LoomDeviceInfo *info);

  /* Memory aligned to at least 64 bytes. Returns LOOM_STATUS_OUT_OF_MEMORY if there is not enough. */
  LoomStatus (*alloc) (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message);
  void (*free) (LoomDevice *device, void *memory);
  /* Optional: page-locked host memory for asynchronous copies. */
  LoomStatus (*alloc_host) (LoomDevice *device, size_t bytes, void **memory, LoomMessage *message);
  void (*free_host) (LoomDevice *device, void *memory);

  /* Streams and events are optional; a NULL stream means "the only one". Two threads may use two streams of one device
   * at the same time; a stream, and the kernels that run on it, belong to one thread at a time. */
  LoomStatus (*stream_new) (LoomDevice *device, LoomStream **stream, LoomMessage *message);
  void (*stream_free) (LoomDevice *device, LoomStream *stream);
  LoomStatus (*stream_sync) (LoomDevice *device, LoomStream *stream, LoomMessage *message);
  LoomStatus (*event_new) (LoomDevice *device, LoomEvent **event, LoomMessage *message);
  void (*event_free) (LoomDevice *device, LoomEvent *event);
  LoomStatus (*event_record) (LoomDevice *device, LoomEvent *event, LoomStream *stream, LoomMessage *message);
  LoomStatus (*event_wait) (LoomDevice *device, LoomStream *stream, LoomEvent *event, LoomMessage *message);

  /* Waits, on the host, for what was enqueued before the event was recorded. */
  LoomStatus (*event_sync) (LoomDevice *device, LoomEvent *event, LoomMessage *message);

  /* For back ends with streams only: faults of steps, see LoomDeviceFault. step_begin() numbers the work that is
   * enqueued after it. fault_get() waits for nothing, so enqueued work may still raise a fault; its message is the
   * sentence that run() returns on other back ends. fault_clear() requires an idle stream. */
  LoomStatus (*step_begin) (LoomDevice *device, LoomStream *stream, int64_t step, LoomMessage *message);
  void (*fault_get) (LoomDevice *device, LoomStream *stream, LoomDeviceFault *fault, LoomMessage *message);
  LoomStatus (*fault_clear) (LoomDevice *device, LoomStream *stream, LoomMessage *message);

  /* Asynchronous on a stream if there is one. */
  LoomStatus (*copy) (LoomDevice *device, LoomStream *stream, void *to, const void *from, size_t bytes,
                      LoomCopyKind kind, LoomMessage *message);

  /* Optional, all three or none: what devices of the back end do for each other on their streams, without a wait of the
   * host. event_wait() then also takes an event of another device. can_send() returns whether send() can copy from one
   * device to the other. It opens the shortest path between the two, so it is called while a plan is made, and not
   * while a step is recorded. */
  bool (*can_send) (LoomDevice *device, LoomDevice *to);
  /* Asynchronous on a stream of the device that owns `from`; `to` is on the other device, and only events order the
   * copy with the work on those bytes there. */
  LoomStatus (*send) (LoomDevice *device, LoomStream *stream, LoomDevice *to_device, void *to, const void *from,
                      size_t bytes, LoomMessage *message);
  /* From here on a raised flag of the other device's stream also stops the gates of this stream, if events order the
   * fault before them. That stream must not be freed before this one has run its last gate. Waits for this stream. Both
   * streams must be idle before fault_clear(). */
  LoomStatus (*fault_join) (LoomDevice *device, LoomStream *stream, LoomDevice *other, LoomStream *of,
                            LoomMessage *message);

  /* Lists the ways in which this device computes spec, whose layouts are plain. Returns their number, at most max
   * (LOOM_MAX_OPTIONS always suffices); 0: there is no kernel, and the message may say why. If costs are equal the
   * planner takes the first. The result is a function of spec, device model, threads, library versions and costs, which
   * may be NULL; finding it takes microseconds, times nothing and takes no memory of the device. kernel_new() may still
   * refuse an option, as a library may. If spec names an algorithm, only its options are listed, including one that
   * would not be listed otherwise: a resumed run asks for the algorithm that it used before, which a newer library may
   * no longer propose but still have. */
  int (*options) (LoomDevice *device, const LoomKernelSpec *spec, const LoomCosts *costs, LoomKernelOption *option,
                  int max, LoomMessage *message);
  /* LOOM_STATUS_UNSUPPORTED without a message if there is no such kernel. */
  LoomStatus (*kernel_new) (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message);

  /* Optional: the work enqueued on the stream between begin and end becomes one replayable graph (CUDA graphs). */
  LoomStatus (*capture_begin) (LoomDevice *device, LoomStream *stream, LoomMessage *message);
  LoomStatus (*capture_end) (LoomDevice *device, LoomStream *stream, void **graph, LoomMessage *message);
  LoomStatus (*graph_launch) (LoomDevice *device, void *graph, LoomStream *stream, LoomMessage *message);
  void (*graph_free) (LoomDevice *device, void *graph);

  /* Optional, both or neither: several parts of a device's work at the same time, which need nothing of each other.
   * part_open() opens a device whose kernels run on one thread, and which device_close() closes. run_parts() calls
   * run (context, i) for i from 0 to n-1, on the device's threads, and returns after the last; run() may run kernels of
   * devices that part_open() opened. */
  LoomStatus (*part_open) (LoomDevice *device, LoomDevice **part, LoomMessage *message);
  void (*run_parts) (LoomDevice *device, int n, void (*run) (void *context, int part), void *context);
} LoomBackend;

/* The built-in back ends. */
const LoomBackend *loom_backend_ref (void);
const LoomBackend *loom_backend_cpu (void);

/* The symbol that a back-end module exports; it may also export that of tools.h. */
typedef const LoomBackend *(*LoomBackendEntry) (void);
#define LOOM_BACKEND_ENTRY "loom_backend_entry"

#endif
