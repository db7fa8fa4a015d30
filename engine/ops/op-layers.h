/* Shared by layers of one, two and three dimensions: their windows, and convolution, pooling and normalisation as a
 * whole.
 *
 * A layer's number of dimensions is the length of its list parameters, so conv1d, conv2d and conv3d differ in their
 * tables only. Private to engine/ops. */
#pragma once

#include "engine/ops/op-private.h"

G_BEGIN_DECLS

#define LOOM_MAX_SPACE 3

/* Inputs [batch, channels, size…]. */
extern const LoomPortSpec loom_op_port_signals[], loom_op_port_images[], loom_op_port_volumes[];

/* ---- windows, see family-window.c ------------------------------------- */

typedef struct
{
  int n; /* dimensions */
  gint64 kernel[LOOM_MAX_SPACE], stride[LOOM_MAX_SPACE], dilation[LOOM_MAX_SPACE];
  gint64 front[LOOM_MAX_SPACE], back[LOOM_MAX_SPACE]; /* padding */
} LoomWindows;

/* How many dimensions the operator works on: the length of that list parameter. */
int loom_op_space_of (const LoomInfer *ctx, const char *list);
/* FALSE with a fault unless input 0 is [batch, channels] and n sizes of floats. */
gboolean loom_op_space (LoomInfer *ctx, int n, const char *hint, const char *why);
/* The last n sizes of shape become the number of windows that fit along each; unknown for a symbol, unless the size is
 * kept. FALSE with a fault that ends with the hint when none fits. */
gboolean loom_op_windows (LoomInfer *ctx, const LoomWindows *w, gboolean ceil_mode, const char *hint, LoomShape *shape);
/* "3×3" of n numbers. */
char *loom_op_times (int n, const gint64 *values);
/* [N,C,L] as images [N,C,1,L], others as they are; and back to the shape of output 0. */
LoomValue loom_op_as_images (LoomProgram *p, LoomValue v);

/* ---- convolution, see family-conv.c ----------------------------------- */

extern const char *const loom_op_padding_modes[], *const loom_op_conv_algorithms[];
#define LOOM_OP_CONV_COMMON(n)                                                                                         \
  { .name = "out_channels",                                                                                            \
    .type = LOOM_PARAM_INT,                                                                                            \
    .fresh = "16",                                                                                                     \
    .minimum = 1,                                                                                                      \
    .maximum = 1e6,                                                                                                    \
    .unit = "channels",                                                                                                \
    .doc = "How many kernels there are, and so how many channels come out." },                                         \
  {                                                                                                                    \
    .name = "kernel_size", .type = LOOM_PARAM_INTS, .fresh = "3", .length = n, .minimum = 1, .maximum = 10000,         \
    .unit = "pixels", .doc = "Size of the window that each kernel looks through."                                      \
  }
#define LOOM_OP_CONV_ALGORITHM                                                                                         \
  {                                                                                                                    \
    .name = "algorithm", .type = LOOM_PARAM_ENUM, .def = "auto", .choices = loom_op_conv_algorithms,                   \
    .doc = "auto lets a device take Winograd's algorithm, which multiplies less and rounds more; direct forbids it.",  \
    .advanced = TRUE                                                                                                   \
  }
#define LOOM_OP_CONV_DILATION(n)                                                                                       \
  {                                                                                                                    \
    .name = "dilation", .type = LOOM_PARAM_INTS, .def = "1", .length = n, .minimum = 1, .maximum = 10000,              \
    .doc = "Distance between the places that a kernel looks at.", .advanced = TRUE                                     \
  }
#define LOOM_OP_CONV_GROUPS                                                                                            \
  { .name = "groups",                                                                                                  \
    .type = LOOM_PARAM_INT,                                                                                            \
    .def = "1",                                                                                                        \
    .minimum = 1,                                                                                                      \
    .maximum = 1e6,                                                                                                    \
    .doc = "Splits the channels into groups that do not see each other.",                                              \
    .advanced = TRUE },                                                                                                \
  {                                                                                                                    \
    .name = "bias", .type = LOOM_PARAM_BOOL, .def = "true", .doc = "Adds a learnt number to each output channel."      \
  }
/* The parameters of a convolution over n dimensions. */
#define LOOM_OP_CONV_PARAMS(n)                                                                                         \
  LOOM_OP_CONV_COMMON (n),                                                                                             \
      { .name = "stride",                                                                                              \
        .type = LOOM_PARAM_INTS,                                                                                       \
        .def = "1",                                                                                                    \
        .length = n,                                                                                                   \
        .minimum = 1,                                                                                                  \
        .maximum = 10000,                                                                                              \
        .unit = "pixels",                                                                                              \
        .doc = "How far the window moves; 2 halves the size." },                                                       \
      { .name = "padding",                                                                                             \
        .type = LOOM_PARAM_STRING,                                                                                     \
        .def = "0",                                                                                                    \
        .unit = "pixels",                                                                                              \
        .doc = "Room around the input: a number, one for each dimension, “same” (keeps the size) or “valid” "  \
               "(none)." },                                                                                            \
      LOOM_OP_CONV_DILATION (n), LOOM_OP_CONV_GROUPS,                                                                  \
      { .name = "padding_mode",                                                                                        \
        .type = LOOM_PARAM_ENUM,                                                                                       \
        .def = "zeros",                                                                                                \
        .choices = loom_op_padding_modes,                                                                              \
        .doc = "How the input is padded: by zeros, its mirror "                                                        \
               "image, its edge, or its other end.",                                                                   \
        .advanced = TRUE },                                                                                            \
      LOOM_OP_CONV_ALGORITHM
/* The parameters of a transposed convolution over n dimensions. */
#define LOOM_OP_CONV_TRANSPOSE_PARAMS(n)                                                                               \
  LOOM_OP_CONV_COMMON (n),                                                                                             \
      { .name = "stride",                                                                                              \
        .type = LOOM_PARAM_INTS,                                                                                       \
        .def = "1",                                                                                                    \
        .length = n,                                                                                                   \
        .minimum = 1,                                                                                                  \
        .maximum = 10000,                                                                                              \
        .unit = "pixels",                                                                                              \
        .doc = "How far apart the kernel is stamped; 2 doubles the size." },                                           \
      { .name = "padding",                                                                                             \
        .type = LOOM_PARAM_INTS,                                                                                       \
        .def = "0",                                                                                                    \
        .length = n,                                                                                                   \
        .minimum = 0,                                                                                                  \
        .maximum = 1000000,                                                                                            \
        .unit = "pixels",                                                                                              \
        .doc = "How much is cut off at each edge: the padding of the convolution that this one turns around." },       \
      { .name = "output_padding",                                                                                      \
        .type = LOOM_PARAM_INTS,                                                                                       \
        .def = "0",                                                                                                    \
        .length = n,                                                                                                   \
        .minimum = 0,                                                                                                  \
        .maximum = 10000,                                                                                              \
        .unit = "pixels",                                                                                              \
        .doc = "Adds to the size at the end, where several sizes would have been strided down to this one." },         \
      LOOM_OP_CONV_DILATION (n), LOOM_OP_CONV_GROUPS, LOOM_OP_CONV_ALGORITHM

void loom_op_infer_conv (LoomInfer *ctx);
void loom_op_lower_conv (LoomLower *ctx);
double loom_op_conv_flops (const LoomInfer *ctx);
void loom_op_infer_conv_transpose (LoomInfer *ctx);
void loom_op_lower_conv_transpose (LoomLower *ctx);
double loom_op_conv_transpose_flops (const LoomInfer *ctx);
char *loom_op_conv_summary (const LoomInfer *ctx); /* of both */

/* ---- pooling, see family-pool.c --------------------------------------- */

#define LOOM_OP_POOL_KERNEL(n)                                                                                         \
  {                                                                                                                    \
    .name = "kernel_size", .type = LOOM_PARAM_INTS, .fresh = "2", .length = n, .minimum = 1, .maximum = 10000,         \
    .unit = "pixels", .doc = "Size of the window."                                                                     \
  }
#define LOOM_OP_POOL_STRIDE(n)                                                                                         \
  {                                                                                                                    \
    .name = "stride", .type = LOOM_PARAM_INTS, .def = "", .length = n, .minimum = 1, .maximum = 10000,                 \
    .unit = "pixels", .doc = "How far the window moves; left out, as far as it is wide."                               \
  }
#define LOOM_OP_POOL_PADDING(n, text)                                                                                  \
  {                                                                                                                    \
    .name = "padding", .type = LOOM_PARAM_INTS, .def = "0", .length = n, .minimum = 0, .maximum = 10000,               \
    .unit = "pixels", .doc = text                                                                                      \
  }
#define LOOM_OP_POOL_CEIL_MODE                                                                                         \
  {                                                                                                                    \
    .name = "ceil_mode", .type = LOOM_PARAM_BOOL, .def = "false",                                                      \
    .doc = "Lets a last window hang over the edge instead of leaving places out.", .advanced = TRUE                    \
  }
#define LOOM_OP_MAX_POOL_PARAMS(n)                                                                                     \
  LOOM_OP_POOL_KERNEL (n), LOOM_OP_POOL_STRIDE (n),                                                                    \
      LOOM_OP_POOL_PADDING (n, "Room around the input that never wins; at most half the window."),                     \
      { .name = "dilation",                                                                                            \
        .type = LOOM_PARAM_INTS,                                                                                       \
        .def = "1",                                                                                                    \
        .length = n,                                                                                                   \
        .minimum = 1,                                                                                                  \
        .maximum = 10000,                                                                                              \
        .doc = "Distance between the places that a window looks at.",                                                  \
        .advanced = TRUE },                                                                                            \
      LOOM_OP_POOL_CEIL_MODE
#define LOOM_OP_AVG_POOL_PARAMS(n)                                                                                     \
  LOOM_OP_POOL_KERNEL (n), LOOM_OP_POOL_STRIDE (n),                                                                    \
      LOOM_OP_POOL_PADDING (n, "Zeros around the input; at most half the window."),                                    \
      { .name = "count_include_pad",                                                                                   \
        .type = LOOM_PARAM_BOOL,                                                                                       \
        .def = "true",                                                                                                 \
        .doc = "Counts padding among the places that the sum is divided by.",                                          \
        .advanced = TRUE },                                                                                            \
      LOOM_OP_POOL_CEIL_MODE
#define LOOM_OP_POOL_DIVISOR                                                                                           \
  {                                                                                                                    \
    .name = "divisor_override", .type = LOOM_PARAM_INT, .def = "", .minimum = 1, .maximum = 1e9,                       \
    .doc = "Divides every window by this number instead of its size.", .advanced = TRUE                                \
  }
#define LOOM_OP_ADAPTIVE_PARAMS(n)                                                                                     \
  {                                                                                                                    \
    .name = "output_size", .type = LOOM_PARAM_INTS, .fresh = "1", .length = n, .minimum = 1, .maximum = 10000,         \
    .unit = "pixels", .doc = "The size that comes out, whatever comes in."                                             \
  }

extern const LoomPortSpec loom_op_port_indices[]; /* out and indices */

void loom_op_infer_pool (LoomInfer *ctx);
void loom_op_lower_max_pool (LoomLower *ctx);
void loom_op_lower_avg_pool (LoomLower *ctx);
double loom_op_pool_flops (const LoomInfer *ctx);
char *loom_op_pool_summary (const LoomInfer *ctx);
void loom_op_infer_adaptive (LoomInfer *ctx);
void loom_op_lower_adaptive_max (LoomLower *ctx);
void loom_op_lower_adaptive_avg (LoomLower *ctx);
char *loom_op_adaptive_summary (const LoomInfer *ctx);

/* ---- normalisation, see family-norm.c --------------------------------- */

extern const char *const loom_op_norm_buffers[];
extern const LoomPortSpec loom_op_port_norm_signals[], loom_op_port_norm_images[], loom_op_port_norm_volumes[];
#define LOOM_OP_NORM_PARAMS(has_affine, has_stats)                                                                     \
  { .name = "eps",                                                                                                     \
    .type = LOOM_PARAM_FLOAT,                                                                                          \
    .def = "1e-05",                                                                                                    \
    .minimum = 0,                                                                                                      \
    .maximum = 1,                                                                                                      \
    .doc = "Added to the variance, so that a constant channel does not divide by zero.",                               \
    .advanced = TRUE },                                                                                                \
      { .name = "momentum",                                                                                            \
        .type = LOOM_PARAM_STRING,                                                                                     \
        .def = "0.1",                                                                                                  \
        .doc = "How much a batch moves the running mean and variance, 0 to 1; “none” averages all batches alike.",     \
        .advanced = TRUE },                                                                                            \
      { .name = "affine",                                                                                              \
        .type = LOOM_PARAM_BOOL,                                                                                       \
        .def = has_affine,                                                                                             \
        .doc = "Learns a scale and a shift for each channel." },                                                       \
  {                                                                                                                    \
    .name = "track_running_stats", .type = LOOM_PARAM_BOOL, .def = has_stats,                                          \
    .doc = "Keeps running statistics for evaluation; otherwise what comes is measured then, too.", .advanced = TRUE    \
  }

/* Weights, buffers and output of a norm over input 0, whose shape has been checked. */
void loom_op_infer_channel_norm (LoomInfer *ctx);
void loom_op_lower_batch_norm (LoomLower *ctx);
void loom_op_lower_instance_norm (LoomLower *ctx);
/* As PyTorch refuses to train on them: one value a channel, of the batch or of each sample. */
const char *loom_op_batch_norm_untrainable (const LoomInfer *ctx);
const char *loom_op_instance_norm_untrainable (const LoomInfer *ctx);
double loom_op_norm_flops (const LoomInfer *ctx);
#define LOOM_OP_NORMALIZED_SHAPE                                                                                       \
  {                                                                                                                    \
    .name = "normalized_shape", .type = LOOM_PARAM_INTS, .def = "", .minimum = 1, .maximum = 1e9,                      \
    .doc = "The last dimensions that are measured together; left out, the last one alone."                             \
  }
/* How many of the last dimensions layer_norm and rms_norm measure together, by the parameter normalized_shape. */
int loom_op_n_features (const LoomInfer *ctx);
/* A weight for each of them and, where the operator has the parameter bias and it is set, a bias. */
void loom_op_infer_feature_norm (LoomInfer *ctx);
/* v·weight + bias with one of each for a channel, axis 1 of v; either may be 0. */
LoomValue loom_op_scale_channels (LoomProgram *p, LoomValue v, LoomValue weight, LoomValue bias);
/* x̂ over the last `axes` axes, without a scale. */
LoomValue loom_op_normalise (LoomProgram *p, LoomValue v, int axes, double eps);

/* ---- dropout, see family-dropout.c ------------------------------------ */

extern const LoomPortSpec loom_op_port_dropped[]; /* out and mask */
extern const LoomParamSpec loom_op_param_dropped[];
/* The types of whole channels dropped, with that many dimensions behind them: the mask has a size of 1 in each. */
void loom_op_infer_dropped (LoomInfer *ctx, int dims);
/* out = input·mask·scale, the mask repeated where it is smaller. */
void loom_op_infer_dropout (LoomInfer *ctx); /* of single elements */
void loom_op_lower_dropout (LoomLower *ctx);
/* Those of alpha dropout, whose mask may be one of elements or of channels, as output 1 says. */
void loom_op_lower_alpha_dropout (LoomLower *ctx);
double loom_op_alpha_dropout_flops (const LoomInfer *ctx);
double loom_op_dropped_flops (const LoomInfer *ctx);

G_END_DECLS
