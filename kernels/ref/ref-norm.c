/* Batch and layer normalisation with their gradients (Ioffe and Szegedy 2015; Ba,
 * Kiros and Hinton 2016), variance by the two-pass formula. */
#include "kernels/norm.h"
#include "kernels/ref/ref.h"

#include <math.h>

#define REF_LOOPS "kernels/ref/ref-norm.inc.c"
#include "kernels/ref/ref-floats.h"

const RefPrimitive ref_batch_norm = { REF_FLOATS (batch_norm), .attrs_size = sizeof (LoomNormAttrs) };
const RefPrimitive ref_batch_norm_grad = { REF_FLOATS (batch_norm_grad), .attrs_size = sizeof (LoomNormAttrs) };
const RefPrimitive ref_batch_norm_apply = { REF_FLOATS (batch_norm_apply), .attrs_size = sizeof (LoomNormAttrs) };
const RefPrimitive ref_layer_norm = { REF_FLOATS (layer_norm), .attrs_size = sizeof (LoomNormAttrs) };
const RefPrimitive ref_layer_norm_grad = { REF_FLOATS (layer_norm_grad), .attrs_size = sizeof (LoomNormAttrs) };
