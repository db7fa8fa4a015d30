/* Sample calls of every primitive, to be run on two back ends and compared. */
#ifndef CUDA_CASES_H
#define CUDA_CASES_H

#include <glib.h>

#include "kernels/backend.h"

#define CASE_OPERANDS 20

typedef struct
{
  char *name;
  const char *primitive;
  union
  {
    LoomElementwiseAttrs elementwise;
    LoomReduceAttrs reduce;
    LoomArgReduceAttrs argreduce;
    LoomMatmulAttrs matmul;
    LoomConv2dAttrs conv;
    LoomPool2dAttrs pool;
    LoomSoftmaxAttrs softmax;
    LoomCrossEntropyAttrs cross_entropy;
    LoomNormAttrs norm;
    LoomPermuteAttrs permute;
    LoomSliceAttrs slice;
    LoomPadAttrs pad;
    LoomConcatAttrs concat;
    LoomFillAttrs fill;
    LoomIotaAttrs iota;
    LoomRandomAttrs random;
    LoomGradStatsAttrs stats;
    LoomSgdAttrs sgd;
    LoomAdamAttrs adam;
  } attrs;
  int n_in, n_out;
  LoomTensorDesc in[CASE_OPERANDS], out[CASE_OPERANDS];
  double low, high;            /* floats are drawn from here */
  gint64 index_limit;          /* integers from 0 … limit-1 */
  double value[CASE_OPERANDS]; /* of an operand of one element, where has_value says so */
  gboolean has_value[CASE_OPERANDS];
  int positive_from; /* operands from here on are drawn from 0.1 … 2; -1 for none */
  gboolean in_place; /* output o lies at input in_place_of[o] */
  int in_place_of[CASE_OPERANDS];
  double tolerance;
} CudaCase;

/* (element-type CudaCase) Freed by g_ptr_array_unref(). */
GPtrArray *cuda_cases_new (void);

#endif
