/* The names of the primitives of backend.h in one list: the reference and the CPU have a table entry for each, ref_NAME
 * and cpu_NAME, so a name without one does not link. */
#ifndef LOOM_PRIMITIVES_H
#define LOOM_PRIMITIVES_H

#define LOOM_PRIMITIVES(X)                                                                                             \
  X (elementwise)                                                                                                      \
  X (reduce)                                                                                                           \
  X (argreduce)                                                                                                        \
  X (matmul)                                                                                                           \
  X (conv2d)                                                                                                           \
  X (conv2d_input_grad)                                                                                                \
  X (conv2d_weight_grad)                                                                                               \
  X (max_pool2d)                                                                                                       \
  X (max_pool2d_grad)                                                                                                  \
  X (avg_pool2d)                                                                                                       \
  X (avg_pool2d_grad)                                                                                                  \
  X (softmax)                                                                                                          \
  X (softmax_grad)                                                                                                     \
  X (attention)                                                                                                        \
  X (attention_grad)                                                                                                   \
  X (attention_cached)                                                                                                 \
  X (cross_entropy)                                                                                                    \
  X (cross_entropy_grad)                                                                                               \
  X (batch_norm)                                                                                                       \
  X (batch_norm_grad)                                                                                                  \
  X (batch_norm_apply)                                                                                                 \
  X (layer_norm)                                                                                                       \
  X (layer_norm_grad)                                                                                                  \
  X (gather_rows)                                                                                                      \
  X (scatter_add_rows)                                                                                                 \
  X (gather)                                                                                                           \
  X (scatter)                                                                                                          \
  X (sort)                                                                                                             \
  X (cumsum)                                                                                                           \
  X (permute)                                                                                                          \
  X (copy)                                                                                                             \
  X (reorder)                                                                                                          \
  X (cast)                                                                                                             \
  X (expand)                                                                                                           \
  X (slice)                                                                                                            \
  X (pad)                                                                                                              \
  X (concat)                                                                                                           \
  X (move)                                                                                                             \
  X (fill)                                                                                                             \
  X (iota)                                                                                                             \
  X (random)                                                                                                           \
  X (require)                                                                                                          \
  X (update_gate)                                                                                                      \
  X (cholesky)                                                                                                         \
  X (triangular_solve)                                                                                                 \
  X (solve)                                                                                                            \
  X (det)                                                                                                              \
  X (cofactor)                                                                                                         \
  X (grad_stats)                                                                                                       \
  X (sgd_step)                                                                                                         \
  X (sgd_step_logged)                                                                                                  \
  X (undo_step)                                                                                                        \
  X (adam_step)                                                                                                        \
  X (rmsprop_step)                                                                                                     \
  X (adagrad_step)                                                                                                     \
  X (adadelta_step)                                                                                                    \
  X (nadam_step)                                                                                                       \
  X (adamax_step)                                                                                                      \
  X (radam_step)                                                                                                       \
  X (lion_step)                                                                                                        \
  X (lamb_step)                                                                                                        \
  X (lars_step)

#endif
