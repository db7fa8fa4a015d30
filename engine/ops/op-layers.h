/* Shares the code of layers of one, two and three dimensions: windows, convolution, pooling and normalisation.
 *
 * The number of dimensions is the length of the list parameters, so conv1d, conv2d and conv3d differ only in their
 * tables. Private to engine/ops. */
#pragma once

#include "engine/ops/op-private.h"

#define LOOM_MAX_SPACE 3

/* Inputs [batch, channels, size…] of one to three dimensions. */
#define LOOM_OP_SPACE_1                                                                                                \
  {                                                                                                                    \
    "input", "Sequences [batch, channels, length].", .axes = "BCL"                                                     \
  }
#define LOOM_OP_SPACE_2                                                                                                \
  {                                                                                                                    \
    "input", "Images [batch, channels, height, width].", .axes = "BCHW"                                                \
  }
#define LOOM_OP_SPACE_3                                                                                                \
  {                                                                                                                    \
    "input", "Volumes [batch, channels, depth, height, width].", .axes = "BCDHW"                                       \
  }
/* That input alone; the first index is the number of dimensions less 1. */
extern const LoomPortSpec loom_op_port_space[LOOM_MAX_SPACE][2];
/* The number of dimensions of an operator with such an input. */
int loom_op_dimensions (const LoomInfer *ctx);

/* ---- windows, see family-window.c ------------------------------------- */

typedef struct
{
  int n; /* dimensions */
  gint64 kernel[LOOM_MAX_SPACE], stride[LOOM_MAX_SPACE], dilation[LOOM_MAX_SPACE];
  gint64 front[LOOM_MAX_SPACE], back[LOOM_MAX_SPACE]; /* padding */
} LoomWindows;

/* The number of spatial dimensions: the length of that list parameter. */
int loom_op_space_of (const LoomInfer *ctx, const char *list);
/* FALSE with a fault unless input 0 is [batch, channels] and n sizes, of floats. */
gboolean loom_op_space (LoomInfer *ctx, int n, const char *hint, const char *why);
/* Replaces the last n sizes of shape by the numbers of windows; unknown for a symbol, unless the size is kept. FALSE
 * with a fault that ends with the hint if none fits. */
gboolean loom_op_windows (LoomInfer *ctx, const LoomWindows *w, gboolean ceil_mode, const char *hint, LoomShape *shape);
/* "3×3" of n numbers. */
char *loom_op_times (int n, const gint64 *values);
/* [N,C,L] as images [N,C,1,L], others unchanged; and back to the shape of output 0. */
LoomValue loom_op_as_images (LoomProgram *p, LoomValue v);

/* ---- convolution, see family-conv.c ----------------------------------- */

extern const char *const loom_op_padding_modes[], *const loom_op_conv_algorithms[];
#define LOOM_OP_CONV_COMMON(n)                                                                                         \
  { LOOM_PARAM_FRESH ("out_channels", INT, "16"), LOOM_RANGE (1, 1e6), .unit = "channels",                             \
    .doc = "The number of output channels." },                                                                         \
  {                                                                                                                    \
    LOOM_PARAM_FRESH ("kernel_size", INTS, "3"), .length = n, LOOM_RANGE (1, 10000), .unit = "pixels",                 \
                                                 .doc = "The size of the kernel."                                      \
  }
#define LOOM_OP_CONV_ALGORITHM                                                                                         \
  {                                                                                                                    \
    LOOM_PARAM ("algorithm", ENUM, "auto"),                                                                            \
        .choices = loom_op_conv_algorithms,                                                                            \
        .doc = "The algorithm: auto lets a device use Winograd’s algorithm, which multiplies less and rounds more; " \
               "direct forbids it.",                                                                                   \
        .advanced = TRUE                                                                                               \
  }
#define LOOM_OP_CONV_DILATION(n)                                                                                       \
  {                                                                                                                    \
    LOOM_PARAM ("dilation", INTS, "1"), .length = n, LOOM_RANGE (1, 10000),                                            \
                                        .doc = "The distance between the elements of the kernel.", .advanced = TRUE    \
  }
#define LOOM_OP_CONV_GROUPS                                                                                            \
  { LOOM_PARAM ("groups", INT, "1"), LOOM_RANGE (1, 1e6),                                                              \
    .doc = "The number of groups that the channels are divided into; each output channel sees only the input "         \
           "channels of its group.",                                                                                   \
    .advanced = TRUE },                                                                                                \
  {                                                                                                                    \
    LOOM_PARAM ("bias", BOOL, "true"), .doc = "Whether each output channel has a learnable bias."                      \
  }

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
    LOOM_PARAM_FRESH ("kernel_size", INTS, "2"), .length = n, LOOM_RANGE (1, 10000), .unit = "pixels",                 \
                                                 .doc = "The size of the window."                                      \
  }
#define LOOM_OP_POOL_STRIDE(n)                                                                                         \
  {                                                                                                                    \
    LOOM_PARAM ("stride", INTS, ""), .length = n, LOOM_RANGE (1, 10000), .unit = "pixels",                             \
                                     .doc = "The distance between windows; if not set, the size of the window."        \
  }
#define LOOM_OP_POOL_PADDING(n, text)                                                                                  \
  {                                                                                                                    \
    LOOM_PARAM ("padding", INTS, "0"), .length = n, LOOM_RANGE (0, 10000), .unit = "pixels", .doc = text               \
  }
#define LOOM_OP_POOL_CEIL_MODE                                                                                         \
  {                                                                                                                    \
    LOOM_PARAM ("ceil_mode", BOOL, "false"),                                                                           \
        .doc = "Whether the last window may exceed the input (the output size is rounded up).", .advanced = TRUE       \
  }
#define LOOM_OP_ADAPTIVE_PARAMS(n)                                                                                     \
  {                                                                                                                    \
    LOOM_PARAM_FRESH ("output_size", INTS, "1"), .length = n, LOOM_RANGE (1, 10000), .unit = "pixels",                 \
                                                 .doc = "The size of the output."                                      \
  }

extern const LoomPortSpec loom_op_port_indices[]; /* out and indices */

void loom_op_infer_pool (LoomInfer *ctx);
void loom_op_lower_max_pool (LoomLower *ctx);
void loom_op_lower_avg_pool (LoomLower *ctx);
void loom_op_lower_lp_pool (LoomLower *ctx);
double loom_op_pool_flops (const LoomInfer *ctx);
char *loom_op_pool_summary (const LoomInfer *ctx);
void loom_op_infer_adaptive (LoomInfer *ctx);
void loom_op_lower_adaptive_max (LoomLower *ctx);
void loom_op_lower_adaptive_avg (LoomLower *ctx);
char *loom_op_adaptive_summary (const LoomInfer *ctx);

/* ---- normalisation, see family-norm.c --------------------------------- */

extern const char *const loom_op_norm_buffers[];
/* The input, and the weights that can be tied. */
extern const LoomPortSpec loom_op_port_norm[LOOM_MAX_SPACE][4];
#define LOOM_OP_NORM_PARAMS(has_affine, has_stats)                                                                     \
  { LOOM_PARAM ("eps", FLOAT, "1e-05"), LOOM_RANGE (0, 1), .doc = "ε, added to the variance so that it is never 0.",   \
    .advanced = TRUE },                                                                                                \
      { LOOM_PARAM ("momentum", STRING, "0.1"),                                                                        \
        .doc = "The weight of the newest batch in the running statistics, 0 to 1; “none” averages over all batches.",  \
        .advanced = TRUE },                                                                                            \
      { LOOM_PARAM ("affine", BOOL, has_affine), .doc = "Whether each channel has a learnable scale and shift." },     \
  {                                                                                                                    \
    LOOM_PARAM ("track_running_stats", BOOL, has_stats),                                                               \
        .doc                                                                                                           \
        = "Whether running statistics are tracked and used in evaluation; else evaluation uses those of its input.",   \
        .advanced = TRUE                                                                                               \
  }

/* Weights, buffers and output of a norm over input 0, whose shape has been checked. */
void loom_op_infer_channel_norm (LoomInfer *ctx);
void loom_op_lower_batch_norm (LoomLower *ctx);
void loom_op_lower_instance_norm (LoomLower *ctx);
/* The sizes that PyTorch refuses to train on: one value per channel, of the batch or of each sample. */
const char *loom_op_batch_norm_untrainable (const LoomInfer *ctx);
const char *loom_op_instance_norm_untrainable (const LoomInfer *ctx);
double loom_op_norm_flops (const LoomInfer *ctx);
#define LOOM_OP_NORMALIZED_SHAPE                                                                                       \
  {                                                                                                                    \
    LOOM_PARAM ("normalized_shape", INTS, ""), LOOM_RANGE (1, 1e9),                                                    \
        .doc = "The sizes of the last dimensions to normalise over; if empty, the last one."                           \
  }
/* The number of dimensions that layer_norm and rms_norm normalise over, by the parameter normalized_shape. */
int loom_op_n_features (const LoomInfer *ctx);
/* Declares a weight for each of their elements and, if the operator has the parameter bias and it is set, a bias. */
void loom_op_infer_feature_norm (LoomInfer *ctx);
/* v·weight + bias for each channel, axis 1 of v; either may be 0. */
LoomValue loom_op_scale_channels (LoomProgram *p, LoomValue v, LoomValue weight, LoomValue bias);
/* x̂ over the last `axes` axes, without a scale. */
LoomValue loom_op_normalise (LoomProgram *p, LoomValue v, int axes, double eps);

/* ---- dropout, see family-dropout.c ------------------------------------ */

extern const LoomPortSpec loom_op_port_dropped[]; /* out and mask */
extern const LoomParamSpec loom_op_param_dropped[];
/* The types of dropout of whole channels, with n dimensions after them: the mask has a size of 1 in each. */
void loom_op_infer_dropped (LoomInfer *ctx, int dims);
/* out = input·mask·scale; the mask broadcasts. */
void loom_op_infer_dropout (LoomInfer *ctx); /* of single elements */
void loom_op_lower_dropout (LoomLower *ctx);
/* For alpha dropout of elements or of channels, by the shape of output 1. */
void loom_op_lower_alpha_dropout (LoomLower *ctx);
double loom_op_alpha_dropout_flops (const LoomInfer *ctx);
double loom_op_dropped_flops (const LoomInfer *ctx);
