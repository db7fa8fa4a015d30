/* The one list of what this back end can do: primitive → constructor.
 *
 * A primitive is added by one line here and one constructor; what is absent is
 * answered with LOOM_STATUS_UNSUPPORTED and the planner names it. */
#include "kernels/cuda/cuda-internal.h"

const CudaPrimitive cuda_primitives[] = {
  { .name = "elementwise", .make = cuda_elementwise_new, .takes = cuda_takes_elementwise },
  { .name = "reduce", .make = cuda_reduce_new },
  { .name = "argreduce", .make = cuda_argreduce_new },
  { .name = "matmul", .make = cuda_matmul_new, .algorithm = "cublaslt" },
#ifdef LOOM_HAVE_CUDNN
  { .name = "conv2d", .make = cuda_conv2d_new, .algorithm = "cudnn implicit precomp" },
  { .name = "conv2d_input_grad", .make = cuda_conv2d_input_grad_new, .algorithm = "cudnn 1" },
  { .name = "conv2d_weight_grad", .make = cuda_conv2d_weight_grad_new, .algorithm = "cudnn 1" },
#endif
  { .name = "max_pool2d", .make = cuda_max_pool2d_new },
  { .name = "max_pool2d_grad", .make = cuda_max_pool2d_grad_new },
  { .name = "avg_pool2d", .make = cuda_avg_pool2d_new },
  { .name = "avg_pool2d_grad", .make = cuda_avg_pool2d_grad_new },
  { .name = "softmax", .make = cuda_softmax_new },
  { .name = "softmax_grad", .make = cuda_softmax_grad_new },
  { .name = "cross_entropy", .make = cuda_cross_entropy_new },
  { .name = "cross_entropy_grad", .make = cuda_cross_entropy_grad_new },
  { .name = "batch_norm", .make = cuda_batch_norm_new },
  { .name = "batch_norm_grad", .make = cuda_batch_norm_grad_new },
  { .name = "batch_norm_apply", .make = cuda_batch_norm_apply_new },
  { .name = "layer_norm", .make = cuda_layer_norm_new },
  { .name = "layer_norm_grad", .make = cuda_layer_norm_grad_new },
  { .name = "gather_rows", .make = cuda_gather_rows_new },
  { .name = "scatter_add_rows", .make = cuda_scatter_add_rows_new },
  { .name = "gather", .make = cuda_gather_new },
  { .name = "scatter", .make = cuda_scatter_new },
  { .name = "sort", .make = cuda_sort_new },
  { .name = "cumsum", .make = cuda_cumsum_new },
  { .name = "permute", .make = cuda_permute_new },
  { .name = "copy", .make = cuda_copy_new },
  { .name = "reorder", .make = cuda_copy_new },
  { .name = "cast", .make = cuda_copy_new },
  { .name = "expand", .make = cuda_expand_new },
  { .name = "slice", .make = cuda_slice_new },
  { .name = "pad", .make = cuda_pad_new },
  { .name = "concat", .make = cuda_concat_new, .takes = cuda_all_plain },
  { .name = "fill", .make = cuda_fill_new },
  { .name = "iota", .make = cuda_iota_new },
  { .name = "random", .make = cuda_random_new },
  { .name = "require", .make = cuda_require_new },
  { .name = "grad_stats", .make = cuda_grad_stats_new, .takes = cuda_all_plain },
  { .name = "sgd_step", .make = cuda_sgd_step_new, .takes = cuda_all_plain },
  { .name = "adam_step", .make = cuda_adam_step_new, .takes = cuda_all_plain },
  { .name = NULL },
};
