/* Matrix products by cuBLASLt.
 *
 * Descriptors, layouts and the algorithm are chosen once, when the kernel is made: choosing on every call would slow
 * small products down. Our matrices are row major and cuBLASLt's column major, so y = A·B is requested as yᵀ = Bᵀ·Aᵀ,
 * whose bytes are the same: a bias along n is then one along the rows, which cuBLASLt's epilogues add. An epilogue that
 * it does not offer runs as an element-wise kernel on the product, in place. The workspace comes from the plan's arena,
 * so two streams never share one, and reductions in place are excluded: their order is not fixed.
 *
 * cuda-matmul-heuristic.c finds the configurations, cuda-matmul-sum.c has products with a sum over an operand,
 * cuda-matmul-batch.c the batches.
 *
 * With a derivative (kernels/product.h) the epilogue reads z through the pointer to its auxiliary matrix: for GELU z
 * itself, for ReLU a mask of bits, which a kernel before the product makes of z. RELU_AUX of an earlier product could
 * write the mask, but may set the bit of an element that is 0, and would tie two products together.
 *
 * Products of 16-bit operands may have a result in f32. If cuBLASLt needs the bias in the result's type, an f32 bias is
 * rounded to it before the product. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-blas.h"
#include "kernels/cuda/cuda-mask.h"
#include "kernels/cuda/cuda-matmul.h"
#include "kernels/cuda/cuda-tiled.h"
#include "kernels/product.h"

#define WORKSPACE_ALIGNMENT 256

static const Precision precisions[] = {
  { .dtype = LOOM_F32, .data = CUDA_R_32F, .scale = CUDA_R_32F, .compute = CUBLAS_COMPUTE_32F },
  { .dtype = LOOM_F64, .data = CUDA_R_64F, .scale = CUDA_R_64F, .compute = CUBLAS_COMPUTE_64F },
  { .dtype = LOOM_BF16, .data = CUDA_R_16BF, .scale = CUDA_R_32F, .compute = CUBLAS_COMPUTE_32F },
  { .dtype = LOOM_F16, .data = CUDA_R_16F, .scale = CUDA_R_32F, .compute = CUBLAS_COMPUTE_32F },
};

static const Precision *
precision_of (LoomDType dtype)
{
  for (size_t i = 0; i < sizeof precisions / sizeof precisions[0]; i++)
    if (precisions[i].dtype == dtype)
      return &precisions[i];
  return NULL;
}

/* ---- faults ------------------------------------------------------------------------------- */

static LoomStatus
blas_check (cublasStatus_t result, const char *what, LoomMessage *message)
{
  if (result == CUBLAS_STATUS_SUCCESS)
    return LOOM_STATUS_OK;
  return cuda_library_check (cuda_status_of_blas ((int)result), what, cublasLtGetStatusString (result), message);
}

static LoomStatus
open_blas (LoomDevice *device, LoomMessage *message)
{
  cublasLtHandle_t handle = NULL;
  LoomStatus status = LOOM_STATUS_OK;

  pthread_mutex_lock (&device->lock);
  if (device->blas == NULL)
    {
      status = blas_check (cublasLtCreate (&handle), "opening cuBLASLt", message);
      device->blas = handle;
    }
  pthread_mutex_unlock (&device->lock);
  return status;
}

void
cuda_matmul_close (LoomDevice *device)
{
  if (device->blas != NULL)
    cublasLtDestroy (device->blas);
  device->blas = NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Sets the epilogue's address of the bias, of the sum, or of the derivative's operand, in the description of the
 * product, which cuBLASLt reads in each call. It is set if it has changed, since the operands of a loop move from run
 * to run. made: what was computed before the product, else NULL. */
static LoomStatus
point_to_bias (Matmul *self, void *const *buffers, void *made, LoomMessage *message)
{
  const bool has_derivative = self->derivative != LOOM_SCALAR_ID;
  const void *bias = self->epilogue_sum ? buffers[3] : made != NULL ? made : buffers[2];

  if ((!self->epilogue_bias && !self->epilogue_sum && !has_derivative) || bias == self->bias)
    return LOOM_STATUS_OK;
  self->bias = bias;
  return blas_check (cublasLtMatmulDescSetAttribute (self->product,
                                                     has_derivative ? CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER
                                                                    : CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                     &bias, sizeof bias),
                     "setting the address of the bias in cuBLASLt", message);
}

static LoomStatus
multiply (Matmul *self, cudaStream_t stream, char *y, const char *a, const char *b, void *workspace,
          LoomMessage *message)
{
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  const bool wide = self->element == sizeof (double);
  const void *alpha = wide ? (const void *)&one64 : &one, *beta = wide ? (const void *)&zero64 : &zero;

  for (int64_t i = 0; i < self->outer; i++)
    {
      int64_t rest = i, at_a = 0, at_b = 0, at_y = 0;
      LoomStatus status;

      for (int d = self->batches.rank - 2; d >= 0; d--)
        {
          int64_t place = rest % self->batches.dim[d];

          rest /= self->batches.dim[d];
          at_a += place * self->batches.a[d];
          at_b += place * self->batches.b[d];
          at_y += place * self->batches.y[d];
        }
      status = blas_check (cublasLtMatmul (self->device->blas, self->product, alpha, b + at_b * self->element, self->b,
                                           a + at_a * self->element, self->a, beta, y + at_y * self->to_element,
                                           self->y, y + at_y * self->to_element, self->y, &self->algorithm, workspace,
                                           self->workspace, stream),
                           "a matrix product", message);
      if (status != LOOM_STATUS_OK)
        return status;
    }
  return LOOM_STATUS_OK;
}

static LoomStatus
matmul_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Matmul *self = (Matmul *)base;
  const int out = self->n_in, scratch = out + 1 + self->has_sum;
  cudaStream_t handle = cuda_stream (self->device, stream);
  uintptr_t workspace = 0;
  void *made = NULL;
  LoomStatus status = LOOM_STATUS_OK;

  if (self->y_bytes == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->round != NULL || self->derivative == LOOM_SCALAR_RELU_GRAD)
    made = (char *)buffers[scratch] + self->made;
  if (self->round != NULL)
    {
      void *const round[] = { buffers[2], made };

      status = self->round->run (self->round, stream, round, message);
    }
  else if (made != NULL)
    status = cuda_mask (self->device, stream, made, buffers[2], self->derivative_type, self->m, self->n, message);
  if (status != LOOM_STATUS_OK)
    return status;
  if (self->workspace != 0)
    workspace = ((uintptr_t)buffers[scratch] + WORKSPACE_ALIGNMENT - 1) & ~(uintptr_t)(WORKSPACE_ALIGNMENT - 1);
  if (self->empty_sum)
    status
        = cuda_check (cudaMemsetAsync (buffers[out], 0, self->y_bytes, handle), "clearing an empty product", message);
  else if ((status = point_to_bias (self, buffers, made, message)) == LOOM_STATUS_OK)
    status = multiply (self, handle, buffers[out], buffers[0], buffers[1], (void *)workspace, message);
  /* After the product on the same stream, so both may use the same scratch. */
  if (status == LOOM_STATUS_OK && self->sum != NULL)
    {
      void *const sum[] = { buffers[self->sum_b], buffers[3], self->sum->scratch_bytes != 0 ? buffers[scratch] : NULL };

      status = self->sum->run (self->sum, stream, sum, message);
    }
  if (status == LOOM_STATUS_OK && self->tail != NULL)
    {
      /* In place on the product; the bias comes second if the tail adds it. */
      void *const with_bias[] = { buffers[out], buffers[2], buffers[out] };
      void *const alone[] = { buffers[out], buffers[out] };

      status
          = self->tail->run (self->tail, stream, self->has_bias && !self->epilogue_bias ? with_bias : alone, message);
    }
  return status;
}

static void
matmul_free (LoomKernel *base)
{
  Matmul *self = (Matmul *)base;

  if (self->tail != NULL)
    self->tail->free (self->tail);
  if (self->round != NULL)
    self->round->free (self->round);
  if (self->sum != NULL)
    self->sum->free (self->sum);
  if (self->a != NULL)
    cublasLtMatrixLayoutDestroy (self->a);
  if (self->b != NULL)
    cublasLtMatrixLayoutDestroy (self->b);
  if (self->y != NULL)
    cublasLtMatrixLayoutDestroy (self->y);
  if (self->product != NULL)
    cublasLtMatmulDescDestroy (self->product);
  free (self);
}

/* ---- descriptors -------------------------------------------------------------------------------- */

static cublasStatus_t
layout_new (cublasLtMatrixLayout_t *layout, cudaDataType_t type, int64_t rows, int64_t columns, const Batches *batches,
            const int64_t *stride)
{
  cublasStatus_t result = cublasLtMatrixLayoutCreate (layout, type, rows, columns, rows);

  if (result == CUBLAS_STATUS_SUCCESS && batches->rank > 0)
    {
      int32_t count = (int32_t)batches->dim[batches->rank - 1];
      int64_t step = stride[batches->rank - 1];

      result = cublasLtMatrixLayoutSetAttribute (*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
      if (result == CUBLAS_STATUS_SUCCESS)
        result = cublasLtMatrixLayoutSetAttribute (*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                                                   sizeof step);
    }
  return result;
}

static cublasStatus_t
describe (Matmul *self, const LoomMatmulAttrs *attrs)
{
  const Precision *precision = self->precision;
  cublasOperation_t of_b = attrs->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                    of_a = attrs->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasStatus_t result;

  result = cublasLtMatmulDescCreate (&self->product, self->compute, precision->scale);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof of_b);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_TRANSB, &of_a, sizeof of_a);
  /* Row-major bytes [k,n] are n×k column major, bytes [n,k] are k×n. */
  if (result == CUBLAS_STATUS_SUCCESS)
    result = layout_new (&self->b, precision->data, attrs->trans_b ? self->k : self->n,
                         attrs->trans_b ? self->n : self->k, &self->batches, self->batches.b);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = layout_new (&self->a, precision->data, attrs->trans_a ? self->m : self->k,
                         attrs->trans_a ? self->k : self->m, &self->batches, self->batches.a);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = layout_new (&self->y, self->to, self->n, self->m, &self->batches, self->batches.y);
  if (result == CUBLAS_STATUS_SUCCESS && self->derivative != LOOM_SCALAR_ID)
    {
      /* Addresses are not known yet, but the heuristic reads the alignment from this one. */
      const int64_t ld = self->derivative == LOOM_SCALAR_RELU_GRAD ? cuda_mask_bits (self->n) : self->n;
      const void *somewhere = (const void *)(uintptr_t)BUFFER_ALIGNMENT;

      result = cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof ld);
      if (result == CUBLAS_STATUS_SUCCESS)
        result = cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &somewhere,
                                                 sizeof somewhere);
    }
  return result;
}

/* The arena aligns scratch to 64 bytes. A rounded bias, or a mask, follows the workspace. */
size_t
cuda_matmul_scratch (Matmul *self, size_t workspace)
{
  self->made = workspace != 0 ? (workspace + 2 * WORKSPACE_ALIGNMENT - 1) & ~(size_t)(WORKSPACE_ALIGNMENT - 1) : 0;
  if (self->rounds)
    return self->made + (size_t)self->n * self->to_element;
  if (self->derivative == LOOM_SCALAR_RELU_GRAD)
    return self->made + (size_t)(self->m * cuda_mask_bits (self->n) / 8);
  return workspace != 0 ? workspace + WORKSPACE_ALIGNMENT : 0;
}

/* ---- epilogues ------------------------------------------------------------------------------------ */

/* cuBLASLt's GELU is the tanh form. */
typedef struct
{
  LoomScalarOp act, derivative; /* derivative: ID if there is none */
  bool has_bias;
  cublasLtEpilogue_t epilogue;
  const char *name;
} Epilogue;

static const Epilogue epilogues[] = {
  { .act = LOOM_SCALAR_ID, .has_bias = false, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .name = "" },
  { .act = LOOM_SCALAR_ID, .has_bias = true, .epilogue = CUBLASLT_EPILOGUE_BIAS, .name = "+bias" },
  { .act = LOOM_SCALAR_RELU, .has_bias = false, .epilogue = CUBLASLT_EPILOGUE_RELU, .name = "+relu" },
  { .act = LOOM_SCALAR_RELU, .has_bias = true, .epilogue = CUBLASLT_EPILOGUE_RELU_BIAS, .name = "+bias+relu" },
  { .act = LOOM_SCALAR_GELU_TANH, .has_bias = false, .epilogue = CUBLASLT_EPILOGUE_GELU, .name = "+gelu" },
  { .act = LOOM_SCALAR_GELU_TANH, .has_bias = true, .epilogue = CUBLASLT_EPILOGUE_GELU_BIAS, .name = "+bias+gelu" },
  { .derivative = LOOM_SCALAR_RELU_GRAD, .epilogue = CUBLASLT_EPILOGUE_DRELU, .name = "+drelu" },
  { .derivative = LOOM_SCALAR_GELU_TANH_GRAD, .epilogue = CUBLASLT_EPILOGUE_DGELU, .name = "+dgelu" },
};

/* Finds the epilogue: as much of the call as cuBLASLt offers, the rest is left to a kernel after it, except a
 * derivative, which must be in the epilogue. NULL if cuBLASLt does not take the product. found: the configurations that
 * it proposes with that epilogue. */
static const Epilogue *
find_epilogue (Matmul *self, const LoomMatmulAttrs *attrs, cublasLtMatmulHeuristicResult_t found[PROPOSALS], int *n)
{
  const struct
  {
    LoomScalarOp act;
    bool has_bias;
  } parts[] = { { attrs->act, attrs->has_bias }, { LOOM_SCALAR_ID, attrs->has_bias }, { LOOM_SCALAR_ID, false } };

  for (int part = 0; part < 3; part++)
    {
      /* A kernel after the product would round to the 16-bit type twice. */
      if (part > 0 && (self->to_element < sizeof (float) || self->derivative != LOOM_SCALAR_ID))
        return NULL;
      for (size_t i = 0; i < sizeof epilogues / sizeof epilogues[0]; i++)
        if (epilogues[i].act == parts[part].act && epilogues[i].has_bias == parts[part].has_bias
            && epilogues[i].derivative == self->derivative
            && (*n = cuda_matmul_propose (self, epilogues[i].epilogue, found)) > 0)
          return &epilogues[i];
    }
  return NULL;
}

/* ---- the constructor --------------------------------------------------------------------------------- */

/* A library cannot compute a product without terms or without elements. */
static bool
is_empty (const Matmul *self)
{
  return self->y_bytes == 0 || self->empty_sum;
}

static LoomStatus
prepare (Matmul *self, const LoomKernelSpec *spec, LoomMessage *message)
{
  LoomStatus status;

  if (is_empty (self))
    return LOOM_STATUS_OK;
  cuda_matmul_fold_batch (self, spec->attrs);
  /* Rows of an auxiliary matrix are AUX_LD apart: a multiple of 8 elements, or of 128 bits. */
  if (self->derivative != LOOM_SCALAR_ID
      && (self->batches.rank > 0 || (self->derivative == LOOM_SCALAR_GELU_TANH_GRAD && self->n % 8 != 0)))
    return LOOM_STATUS_UNSUPPORTED;
  self->outer = 1;
  for (int d = 0; d < self->batches.rank - 1; d++)
    self->outer *= self->batches.dim[d];
  status = open_blas (self->device, message);
  return status != LOOM_STATUS_OK
             ? status
             : blas_check (describe (self, spec->attrs), "describing a matrix product to cuBLASLt", message);
}

/* 16-bit operands may have a result or a bias in f32. */
static bool
takes_types (const LoomKernelSpec *spec)
{
  const LoomDType from = spec->in[0].dtype, to = spec->out[0].dtype;
  const bool narrow = from == LOOM_BF16 || from == LOOM_F16;

  return spec->in[1].dtype == from && (to == from || (narrow && to == LOOM_F32))
         && (spec->n_in < 3 || spec->in[2].dtype == to || (narrow && spec->in[2].dtype == LOOM_F32));
}

/* Makes the product without its configuration. */
static LoomStatus
product_new (LoomDevice *device, const LoomKernelSpec *spec, Matmul **out, LoomMessage *message)
{
  const LoomMatmulAttrs *attrs = spec->attrs;
  const LoomTensorDesc *a = &spec->in[0], *b = &spec->in[1], *y = &spec->out[0];
  const Precision *precision = precision_of (a->dtype), *to = precision_of (y->dtype);
  LoomStatus status;
  Matmul *self;

  if (precision == NULL || to == NULL || !cuda_all_plain (spec) || !takes_types (spec))
    return LOOM_STATUS_UNSUPPORTED;
  if (loom_product_is_fused (spec)
      && (!loom_product_fused_fits (spec) || loom_desc_count (y) == 0 || loom_desc_count (a) == 0))
    return LOOM_STATUS_UNSUPPORTED;
  if (a->rank < 2 || b->rank < 2 || y->rank < 2
      || spec->n_in != 2 + attrs->has_bias + loom_product_has_derivative (spec))
    return cuda_fail (message, LOOM_STATUS_INVALID, "a matrix product needs two operands of rank 2 or more");
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  *self = (Matmul){
    .base = { .run = matmul_run, .free = matmul_free },
    .device = device,
    .precision = precision,
    .compute = precision->dtype == LOOM_F32 && spec->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : precision->compute,
    .n_in = spec->n_in,
    .has_bias = attrs->has_bias,
    .derivative = attrs->derivative,
    .derivative_type = y->dtype,
    .has_sum = loom_product_has_sum (spec),
    .sum_b = attrs->sum_b,
    .rounds = attrs->has_bias && spec->in[2].dtype != y->dtype,
    .to = to->data,
    .element = loom_dtype_size (a->dtype),
    .to_element = loom_dtype_size (y->dtype),
    .y_bytes = loom_desc_bytes (y),
    .m = y->dim[y->rank - 2],
    .n = y->dim[y->rank - 1],
    .k = a->dim[a->rank - (attrs->trans_a ? 2 : 1)],
  };
  self->empty_sum = self->k == 0;
  if (a->dim[a->rank - (attrs->trans_a ? 1 : 2)] != self->m || b->dim[b->rank - (attrs->trans_b ? 1 : 2)] != self->k
      || b->dim[b->rank - (attrs->trans_b ? 2 : 1)] != self->n || !cuda_matmul_set_batches (self, spec))
    status = cuda_fail (message, LOOM_STATUS_INVALID, "the operands of a matrix product do not fit together");
  else
    status = prepare (self, spec, message);
  if (status != LOOM_STATUS_OK)
    matmul_free (&self->base);
  else
    *out = self;
  return status;
}

LoomStatus
cuda_matmul_algorithms (LoomDevice *device, const LoomKernelSpec *spec, CudaAlgorithm *algorithms, int max,
                        int *n_algorithms, LoomMessage *message)
{
  cublasLtMatmulHeuristicResult_t found[PROPOSALS];
  char name[CUDA_BLAS_NAME];
  Matmul *self = NULL;
  LoomStatus status = product_new (device, spec, &self, message);
  int n = 0;

  *n_algorithms = 0;
  if (status != LOOM_STATUS_OK)
    return status == LOOM_STATUS_UNSUPPORTED ? LOOM_STATUS_OK : status;
  if (self->has_sum)
    {
      status = cuda_matmul_sum_algorithms (self, spec, algorithms, max, n_algorithms, message);
      matmul_free (&self->base);
      return status;
    }
  if (is_empty (self) && max > 0)
    algorithms[(*n_algorithms)++] = (CudaAlgorithm){ "own", 0 };
  else if (find_epilogue (self, spec->attrs, found, &n) == NULL)
    n = 0;
  for (int i = 0; i < n && *n_algorithms < max; i++)
    {
      const char *kept;
      bool known = false;

      cuda_blas_name (&found[i].algo, name);
      kept = cuda_name_keep (name);
      for (int k = 0; k < *n_algorithms; k++)
        known |= algorithms[k].name == kept;
      if (kept != NULL && !known)
        algorithms[(*n_algorithms)++] = (CudaAlgorithm){ kept, cuda_matmul_scratch (self, found[i].workspaceSize) };
    }
  matmul_free (&self->base);
  return LOOM_STATUS_OK;
}

/* Sets the configuration, and the kernel after it for the rest. */
static LoomStatus
configure (Matmul *self, const LoomKernelSpec *spec, LoomMessage *message)
{
  const LoomMatmulAttrs *attrs = spec->attrs;
  const bool own = spec->algorithm != NULL && strcmp (spec->algorithm, "own") == 0;
  cublasLtMatmulHeuristicResult_t found[PROPOSALS], chosen;
  const Epilogue *epilogue = NULL;
  char name[CUDA_BLAS_NAME];
  int n = 0;

  if (own != is_empty (self) && spec->algorithm != NULL)
    return LOOM_STATUS_UNSUPPORTED;
  snprintf (self->name, sizeof self->name, "own empty product");
  if (self->y_bytes == 0)
    return LOOM_STATUS_OK;
  if (!self->empty_sum)
    {
      epilogue = find_epilogue (self, attrs, found, &n);
      if (epilogue == NULL || !cuda_matmul_find (self, spec->algorithm, found, n, &chosen))
        return LOOM_STATUS_UNSUPPORTED;
      self->algorithm = chosen.algo;
      self->workspace = chosen.workspaceSize;
      self->epilogue_bias = epilogue->has_bias;
      cuda_blas_name (&chosen.algo, name);
      snprintf (self->name, sizeof self->name, "%s%s", name, epilogue->name);
    }
  if (self->rounds && self->epilogue_bias)
    {
      LoomTensorDesc rounded = spec->in[2];
      const LoomKernelSpec cast = { .primitive = "cast", .n_in = 1, .n_out = 1, .in = &spec->in[2], .out = &rounded };
      LoomStatus status;

      rounded.dtype = spec->out[0].dtype;
      status = cuda_kernel_new (self->device, &cast, &self->round, message);
      if (status != LOOM_STATUS_OK)
        return status;
    }
  return cuda_tail_new (self->device, &spec->out[0], attrs->has_bias && !self->epilogue_bias ? &spec->in[2] : NULL,
                        epilogue != NULL && epilogue->act == attrs->act ? LOOM_SCALAR_ID : attrs->act, &self->tail,
                        message);
}

LoomStatus
cuda_matmul_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  Matmul *self = NULL;
  LoomStatus status;

  if (cuda_is_lesson (spec->algorithm))
    return loom_product_is_fused (spec) ? LOOM_STATUS_UNSUPPORTED
                                        : cuda_lesson_matmul_new (device, spec, kernel, message);
  status = product_new (device, spec, &self, message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = self->has_sum ? cuda_matmul_configure_sum (self, spec, message) : configure (self, spec, message);
  if (status != LOOM_STATUS_OK)
    {
      matmul_free (&self->base);
      return status;
    }
  self->base.name = self->name;
  self->base.scratch_bytes = cuda_matmul_scratch (self, self->workspace);
  if (self->sum != NULL && self->sum->scratch_bytes > self->base.scratch_bytes)
    self->base.scratch_bytes = self->sum->scratch_bytes;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
