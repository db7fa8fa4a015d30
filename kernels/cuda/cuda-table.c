/* The list of this back end's primitives and their constructors.
 *
 * To add a primitive: one line here and one constructor. For a missing one LOOM_STATUS_UNSUPPORTED is returned and the
 * planner names it. */
#include "kernels/cuda/cuda-internal.h"

const CudaPrimitive cuda_primitives[] = {
  { .name = "elementwise", .make = cuda_elementwise_new, .takes = cuda_takes_elementwise },
  { .name = "reduce", .make = cuda_reduce_new },
  { .name = "argreduce", .make = cuda_argreduce_new },
  { .name = "matmul", .make = cuda_matmul_new, .algorithms = cuda_matmul_algorithms },
#ifdef LOOM_HAVE_CUDNN
  { .name = "conv2d", .make = cuda_conv2d_new, .algorithms = cuda_conv2d_algorithms },
  { .name = "conv2d_input_grad", .make = cuda_conv2d_new, .algorithms = cuda_conv2d_algorithms },
  { .name = "conv2d_weight_grad", .make = cuda_conv2d_new, .algorithms = cuda_conv2d_algorithms },
#else
  { .name = "conv2d", .make = cuda_direct_conv2d_new, .takes = cuda_direct_takes },
  { .name = "conv2d_input_grad", .make = cuda_direct_input_grad_new, .takes = cuda_direct_takes },
  { .name = "conv2d_weight_grad", .make = cuda_direct_weight_grad_new, .takes = cuda_direct_takes },
#endif
  { .name = "max_pool2d", .make = cuda_max_pool2d_new },
  { .name = "max_pool2d_grad", .make = cuda_max_pool2d_grad_new },
  { .name = "avg_pool2d", .make = cuda_avg_pool2d_new },
  { .name = "avg_pool2d_grad", .make = cuda_avg_pool2d_grad_new },
  { .name = "softmax", .make = cuda_softmax_new },
  { .name = "softmax_grad", .make = cuda_softmax_grad_new },
#ifdef LOOM_HAVE_CUDNN
  { .name = "attention", .make = cuda_attention_dnn_new, .algorithms = cuda_attention_algorithms },
  { .name = "attention_grad", .make = cuda_attention_dnn_new, .algorithms = cuda_attention_algorithms },
#else
  { .name = "attention", .make = cuda_attention_new },
  { .name = "attention_grad", .make = cuda_attention_grad_new },
#endif
  { .name = "attention_cached", .make = cuda_attention_cached_new },
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
  { .name = "move", .make = cuda_move_new, .takes = cuda_all_plain },
  { .name = "fill", .make = cuda_fill_new },
  { .name = "iota", .make = cuda_iota_new },
  { .name = "random", .make = cuda_random_new },
  { .name = "require", .make = cuda_require_new },
#ifdef LOOM_HAVE_CUSOLVER
  { .name = "cholesky", .make = cuda_linalg_new, .algorithms = cuda_linalg_algorithms },
  { .name = "triangular_solve", .make = cuda_linalg_new, .algorithms = cuda_linalg_algorithms },
  { .name = "solve", .make = cuda_linalg_new, .algorithms = cuda_linalg_algorithms },
  { .name = "det", .make = cuda_linalg_new, .algorithms = cuda_linalg_algorithms },
#else
  { .name = "cholesky", .make = cuda_cholesky_new },
  { .name = "triangular_solve", .make = cuda_triangular_solve_new },
  { .name = "solve", .make = cuda_solve_new },
  { .name = "det", .make = cuda_det_new },
#endif
  { .name = "cofactor", .make = cuda_cofactor_new },
  { .name = "grad_stats", .make = cuda_grad_stats_new, .takes = cuda_all_plain },
  { .name = "update_gate", .make = cuda_update_gate_new, .takes = cuda_all_plain },
  { .name = "sgd_step", .make = cuda_sgd_step_new, .takes = cuda_all_plain },
  { .name = "sgd_step_logged", .make = cuda_sgd_step_logged_new, .takes = cuda_all_plain },
  { .name = "undo_step", .make = cuda_undo_step_new, .takes = cuda_all_plain },
  { .name = "adam_step", .make = cuda_adam_step_new, .takes = cuda_all_plain },
  { .name = "rmsprop_step", .make = cuda_rmsprop_step_new, .takes = cuda_all_plain },
  { .name = "adagrad_step", .make = cuda_adagrad_step_new, .takes = cuda_all_plain },
  { .name = "adadelta_step", .make = cuda_adadelta_step_new, .takes = cuda_all_plain },
  { .name = "nadam_step", .make = cuda_nadam_step_new, .takes = cuda_all_plain },
  { .name = "adamax_step", .make = cuda_adamax_step_new, .takes = cuda_all_plain },
  { .name = "radam_step", .make = cuda_radam_step_new, .takes = cuda_all_plain },
  { .name = "lion_step", .make = cuda_lion_step_new, .takes = cuda_all_plain },
  { .name = "lamb_step", .make = cuda_lamb_step_new, .takes = cuda_all_plain },
  { .name = "lars_step", .make = cuda_lars_step_new, .takes = cuda_all_plain },
  { .name = NULL },
};
