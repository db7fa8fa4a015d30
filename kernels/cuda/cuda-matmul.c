/* Matrix products by cuBLASLt.
 *
 * Descriptors, layouts and the algorithm are chosen once, when the kernel is made;
 * asking on every call is what costs small products their speed elsewhere. Our matrices
 * are row major and cuBLASLt's column major, so y = A·B is asked for as yᵀ = Bᵀ·Aᵀ, whose
 * bytes are the same: a bias along n is then one along the rows, which is what cuBLASLt's
 * epilogues add. An epilogue that it does not offer is run as an element-wise kernel
 * on the product, in place. The workspace comes from the plan's arena, so two streams
 * never share one, and reductions in place are excluded: their order is not fixed. */
#include <cublasLt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-internal.h"

#define WORKSPACE_ALIGNMENT 256
#define WORKSPACE_LIMIT     ((size_t)8 << 20)
#define WORKSPACE_LIMIT_90  ((size_t)32 << 20)

/* Batch axes after merging; strides are in elements and 0 where an operand broadcasts. */
typedef struct
{
  int rank;
  int64_t dim[LOOM_MAX_RANK], a[LOOM_MAX_RANK], b[LOOM_MAX_RANK], y[LOOM_MAX_RANK];
} Batches;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, y; /* our a is their B */
  cublasLtMatmulAlgo_t algorithm;
  size_t workspace;
  bool has_bias, epilogue_bias;
  bool empty_sum; /* k is 0 */
  size_t element, y_bytes;
  int64_t m, n, k;
  Batches batches;  /* the innermost is one strided batch, the others are walked */
  int64_t outer;    /* how many calls the walk makes */
  LoomKernel *tail; /* what no epilogue does */
  char name[64];
} Matmul;

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

static LoomStatus
matmul_bind (LoomKernel *base, void *const *buffers, LoomMessage *message)
{
  Matmul *self = (Matmul *)base;
  const void *bias = buffers[2];

  if (!self->epilogue_bias || self->empty_sum)
    return LOOM_STATUS_OK;
  return blas_check (
      cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
      "telling cuBLASLt where the bias is", message);
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
                                           a + at_a * self->element, self->a, beta, y + at_y * self->element, self->y,
                                           y + at_y * self->element, self->y, &self->algorithm, workspace,
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
  const int out = self->has_bias ? 3 : 2;
  cudaStream_t handle = cuda_stream (self->device, stream);
  uintptr_t workspace = 0;
  LoomStatus status;

  if (self->y_bytes == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  if (self->workspace != 0)
    workspace = ((uintptr_t)buffers[out + 1] + WORKSPACE_ALIGNMENT - 1) & ~(uintptr_t)(WORKSPACE_ALIGNMENT - 1);
  if (self->empty_sum)
    status
        = cuda_check (cudaMemsetAsync (buffers[out], 0, self->y_bytes, handle), "clearing an empty product", message);
  else
    status = multiply (self, handle, buffers[out], buffers[0], buffers[1], (void *)workspace, message);
  if (status == LOOM_STATUS_OK && self->tail != NULL)
    {
      /* In place on the product; the bias comes second where the tail adds it. */
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

/* ---- shapes ----------------------------------------------------------------------------------- */

/* Batch strides of an operand along the result's batch axes. False when they do not broadcast. */
static bool
batch_strides (const LoomTensorDesc *x, const LoomTensorDesc *y, int64_t strides[LOOM_MAX_RANK])
{
  int64_t own[LOOM_MAX_RANK];
  int missing = y->rank - x->rank;

  if (missing < 0)
    return false;
  cuda_strides (x, own);
  for (int i = 0; i < y->rank - 2; i++)
    {
      int64_t dim = i < missing ? 1 : x->dim[i - missing];

      if (dim != 1 && dim != y->dim[i])
        return false;
      strides[i] = dim == 1 ? 0 : own[i - missing];
    }
  return true;
}

/* Drops batch axes of one element and merges neighbours that all three walk alike. */
static bool
set_batches (Matmul *self, const LoomKernelSpec *spec)
{
  Batches *to = &self->batches;
  const LoomTensorDesc *y = &spec->out[0];
  int64_t a[LOOM_MAX_RANK] = { 0 }, b[LOOM_MAX_RANK] = { 0 }, own[LOOM_MAX_RANK];

  if (!batch_strides (&spec->in[0], y, a) || !batch_strides (&spec->in[1], y, b))
    return false;
  cuda_strides (y, own);
  for (int i = 0; i < y->rank - 2; i++)
    {
      int last = to->rank - 1;

      if (y->dim[i] == 1)
        continue;
      if (to->rank > 0 && to->a[last] == a[i] * y->dim[i] && to->b[last] == b[i] * y->dim[i]
          && to->y[last] == own[i] * y->dim[i])
        to->dim[last] *= y->dim[i];
      else
        to->dim[++last] = y->dim[i];
      to->a[last] = a[i];
      to->b[last] = b[i];
      to->y[last] = own[i];
      to->rank = last + 1;
    }
  return true;
}

/* With one matrix B for a whole batch of untransposed A, the batch is just more rows. */
static void
fold_batch (Matmul *self, const LoomMatmulAttrs *attrs)
{
  Batches *batches = &self->batches;

  if (batches->rank == 1 && batches->b[0] == 0 && batches->a[0] == self->m * self->k && !attrs->trans_a)
    {
      self->m *= batches->dim[0];
      batches->rank = 0;
    }
}

/* ---- descriptors -------------------------------------------------------------------------------- */

typedef struct
{
  LoomDType dtype;
  cudaDataType_t data, scale;
  cublasComputeType_t compute;
} Precision;

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

/* f32 is not rounded to TF32 unless the user asks: results then agree with other devices. */
static cublasStatus_t
describe (Matmul *self, const LoomMatmulAttrs *attrs, const Precision *precision)
{
  const char *asked = getenv ("GRADLOOM_TF32");
  cublasComputeType_t compute = precision->compute;
  cublasOperation_t of_b = attrs->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                    of_a = attrs->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasStatus_t result;

  if (precision->dtype == LOOM_F32 && asked != NULL && strcmp (asked, "1") == 0)
    compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  result = cublasLtMatmulDescCreate (&self->product, compute, precision->scale);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof of_b);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_TRANSB, &of_a, sizeof of_a);
  /* Bytes [k,n] row major are n×k column major, bytes [n,k] are k×n. */
  if (result == CUBLAS_STATUS_SUCCESS)
    result = layout_new (&self->b, precision->data, attrs->trans_b ? self->k : self->n,
                         attrs->trans_b ? self->n : self->k, &self->batches, self->batches.b);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = layout_new (&self->a, precision->data, attrs->trans_a ? self->m : self->k,
                         attrs->trans_a ? self->k : self->m, &self->batches, self->batches.a);
  if (result == CUBLAS_STATUS_SUCCESS)
    result = layout_new (&self->y, precision->data, self->n, self->m, &self->batches, self->batches.y);
  return result;
}

/* The largest power of two, at most 64, that divides every address a call may be given:
 * buffers begin at 64 bytes, walked batches at their own multiples. */
static uint32_t
alignment_of (const Matmul *self, const int64_t *stride)
{
  uint32_t alignment = 64;

  for (int d = 0; d < self->batches.rank - 1; d++)
    while ((uint64_t)stride[d] * self->element % alignment != 0)
      alignment /= 2;
  return alignment;
}

/* Whether cuBLASLt has an algorithm for the product with this epilogue; if so it is taken. */
static bool
choose (Matmul *self, cublasLtEpilogue_t epilogue)
{
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  const size_t limit = self->device->architecture >= 90 ? WORKSPACE_LIMIT_90 : WORKSPACE_LIMIT;
  const uint32_t align_a = alignment_of (self, self->batches.b), align_b = alignment_of (self, self->batches.a);
  const uint32_t align_y = alignment_of (self, self->batches.y);
  cublasLtMatmulPreference_t wish = NULL;
  cublasLtMatmulHeuristicResult_t found;
  int n = 0;
  bool ok;

  memset (&found, 0, sizeof found);
  ok = cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue)
           == CUBLAS_STATUS_SUCCESS
       && cublasLtMatmulPreferenceCreate (&wish) == CUBLAS_STATUS_SUCCESS;
  ok = ok
       && cublasLtMatmulPreferenceSetAttribute (wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit)
              == CUBLAS_STATUS_SUCCESS
       && cublasLtMatmulPreferenceSetAttribute (wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                                sizeof reductions)
              == CUBLAS_STATUS_SUCCESS
       && cublasLtMatmulPreferenceSetAttribute (wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &align_a,
                                                sizeof align_a)
              == CUBLAS_STATUS_SUCCESS
       && cublasLtMatmulPreferenceSetAttribute (wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &align_b,
                                                sizeof align_b)
              == CUBLAS_STATUS_SUCCESS
       && cublasLtMatmulPreferenceSetAttribute (wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &align_y,
                                                sizeof align_y)
              == CUBLAS_STATUS_SUCCESS
       && cublasLtMatmulPreferenceSetAttribute (wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &align_y,
                                                sizeof align_y)
              == CUBLAS_STATUS_SUCCESS;
  ok = ok
       && cublasLtMatmulAlgoGetHeuristic (self->device->blas, self->product, self->b, self->a, self->y, self->y, wish,
                                          1, &found, &n)
              == CUBLAS_STATUS_SUCCESS
       && n > 0 && found.state == CUBLAS_STATUS_SUCCESS;
  if (wish != NULL)
    cublasLtMatmulPreferenceDestroy (wish);
  if (!ok)
    return false;
  self->algorithm = found.algo;
  self->workspace = found.workspaceSize;
  return true;
}

/* ---- epilogues ------------------------------------------------------------------------------------ */

/* cuBLASLt's GELU is the tanh form. */
typedef struct
{
  LoomScalarOp act;
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
};

static bool
try_epilogue (Matmul *self, LoomScalarOp act, bool has_bias)
{
  for (size_t i = 0; i < sizeof epilogues / sizeof epilogues[0]; i++)
    if (epilogues[i].act == act && epilogues[i].has_bias == has_bias && choose (self, epilogues[i].epilogue))
      {
        snprintf (self->name, sizeof self->name, "cublaslt%s", epilogues[i].name);
        return true;
      }
  return false;
}

/* As much in the epilogue as cuBLASLt offers, the rest in a kernel behind it. */
static LoomStatus
set_epilogue (Matmul *self, const LoomKernelSpec *spec, LoomMessage *message)
{
  const LoomMatmulAttrs *attrs = spec->attrs;

  if (!self->empty_sum)
    {
      self->epilogue_bias = attrs->has_bias;
      if (try_epilogue (self, attrs->act, attrs->has_bias))
        return LOOM_STATUS_OK;
      /* A kernel behind the product would round to the short type twice. */
      if (self->element < sizeof (float))
        return LOOM_STATUS_UNSUPPORTED;
      if (attrs->act != LOOM_SCALAR_ID && attrs->has_bias && try_epilogue (self, LOOM_SCALAR_ID, true))
        return cuda_tail_new (self->device, &spec->out[0], NULL, attrs->act, &self->tail, message);
      self->epilogue_bias = false;
      if (!try_epilogue (self, LOOM_SCALAR_ID, false))
        return LOOM_STATUS_UNSUPPORTED;
    }
  return cuda_tail_new (self->device, &spec->out[0], attrs->has_bias ? &spec->in[2] : NULL, attrs->act, &self->tail,
                        message);
}

/* ---- the constructor --------------------------------------------------------------------------------- */

static LoomStatus
prepare (Matmul *self, const LoomKernelSpec *spec, const Precision *precision, LoomMessage *message)
{
  const LoomMatmulAttrs *attrs = spec->attrs;
  LoomStatus status;

  if (self->y_bytes == 0)
    return LOOM_STATUS_OK;
  self->empty_sum = self->k == 0;
  self->outer = 1;
  if (!self->empty_sum)
    {
      fold_batch (self, attrs);
      for (int d = 0; d < self->batches.rank - 1; d++)
        self->outer *= self->batches.dim[d];
      status = open_blas (self->device, message);
      if (status == LOOM_STATUS_OK)
        status = blas_check (describe (self, attrs, precision), "describing a matrix product to cuBLASLt", message);
      if (status != LOOM_STATUS_OK)
        return status;
    }
  return set_epilogue (self, spec, message);
}

LoomStatus
cuda_matmul_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomMatmulAttrs *attrs = spec->attrs;
  const LoomTensorDesc *a = &spec->in[0], *b = &spec->in[1], *y = &spec->out[0];
  const Precision *precision = precision_of (y->dtype);
  LoomStatus status;
  Matmul *self;

  if (precision == NULL || !cuda_all_plain (spec))
    return LOOM_STATUS_UNSUPPORTED;
  for (int i = 0; i < spec->n_in; i++)
    if (spec->in[i].dtype != y->dtype)
      return LOOM_STATUS_UNSUPPORTED;
  if (a->rank < 2 || b->rank < 2 || y->rank < 2 || spec->n_in != (attrs->has_bias ? 3 : 2))
    return cuda_fail (message, LOOM_STATUS_INVALID, "a matrix product needs two operands of rank 2 or more");
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  *self = (Matmul){
    .base = { .run = matmul_run, .bind = matmul_bind, .free = matmul_free },
    .device = device,
    .has_bias = attrs->has_bias,
    .element = loom_dtype_size (y->dtype),
    .y_bytes = loom_desc_bytes (y),
    .m = y->dim[y->rank - 2],
    .n = y->dim[y->rank - 1],
    .k = a->dim[a->rank - (attrs->trans_a ? 2 : 1)],
  };
  snprintf (self->name, sizeof self->name, "own empty product");
  self->base.name = self->name;
  if (a->dim[a->rank - (attrs->trans_a ? 1 : 2)] != self->m || b->dim[b->rank - (attrs->trans_b ? 1 : 2)] != self->k
      || b->dim[b->rank - (attrs->trans_b ? 2 : 1)] != self->n || !set_batches (self, spec))
    status = cuda_fail (message, LOOM_STATUS_INVALID, "the operands of a matrix product do not fit together");
  else
    status = prepare (self, spec, precision, message);
  if (status != LOOM_STATUS_OK)
    {
      matmul_free (&self->base);
      return status;
    }
  if (self->workspace != 0)
    self->base.scratch_bytes = self->workspace + WORKSPACE_ALIGNMENT;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
