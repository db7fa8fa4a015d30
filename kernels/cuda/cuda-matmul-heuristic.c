/* Finds cuBLASLt's configurations for a product: those that its heuristic proposes, and the configuration that an
 * earlier plan named. */
#include <string.h>

#include "kernels/cuda/cuda-matmul.h"

#define WORKSPACE_LIMIT    ((size_t)8 << 20)
#define WORKSPACE_LIMIT_90 ((size_t)32 << 20)

/* The largest power of two, at most 64, that divides every address of a call: buffers begin at 64 bytes, the matrices
 * of a batch at multiples of their strides. */
static uint32_t
alignment_of (const Matmul *self, const int64_t *stride, size_t element)
{
  uint32_t alignment = BUFFER_ALIGNMENT;

  for (int d = 0; d < self->batches.rank - 1; d++)
    while ((uint64_t)stride[d] * element % alignment != 0)
      alignment /= 2;
  return alignment;
}

static size_t
workspace_limit (const Matmul *self)
{
  return self->device->architecture >= 90 ? WORKSPACE_LIMIT_90 : WORKSPACE_LIMIT;
}

/* The result depends on shapes, types, alignments and the library's version only: nothing is timed. */
int
cuda_matmul_propose (Matmul *self, cublasLtEpilogue_t epilogue, cublasLtMatmulHeuristicResult_t found[PROPOSALS])
{
  /* Partial sums of a 16-bit result in its own type would each be rounded to it. */
  const uint32_t reductions
      = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
        | (self->to_element < sizeof (float) ? 0u : (uint32_t)CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
  const size_t limit = workspace_limit (self);
  const uint32_t align_a = alignment_of (self, self->batches.b, self->element),
                 align_b = alignment_of (self, self->batches.a, self->element),
                 align_y = alignment_of (self, self->batches.y, self->to_element);
  const struct
  {
    cublasLtMatmulPreferenceAttributes_t what;
    const void *value;
    size_t size;
  } attributes[] = {
    { CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof limit },
    { CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions },
    { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &align_a, sizeof align_a },
    { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &align_b, sizeof align_b },
    { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &align_y, sizeof align_y },
    { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &align_y, sizeof align_y },
  };
  cublasLtMatmulPreference_t preference = NULL;
  int n = 0, usable = 0;
  bool ok = cublasLtMatmulDescSetAttribute (self->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue)
                == CUBLAS_STATUS_SUCCESS
            && cublasLtMatmulPreferenceCreate (&preference) == CUBLAS_STATUS_SUCCESS;

  for (size_t i = 0; i < sizeof attributes / sizeof attributes[0] && ok; i++)
    ok = cublasLtMatmulPreferenceSetAttribute (preference, attributes[i].what, attributes[i].value, attributes[i].size)
         == CUBLAS_STATUS_SUCCESS;
  memset (found, 0, PROPOSALS * sizeof *found);
  ok = ok
       && cublasLtMatmulAlgoGetHeuristic (self->device->blas, self->product, self->b, self->a, self->y, self->y,
                                          preference, PROPOSALS, found, &n)
              == CUBLAS_STATUS_SUCCESS;
  if (preference != NULL)
    cublasLtMatmulPreferenceDestroy (preference);
  for (int i = 0; i < n && ok; i++)
    if (found[i].state == CUBLAS_STATUS_SUCCESS)
      found[usable++] = found[i];
  return usable;
}

/* A name of an earlier plan is accepted even if the heuristic does not propose it any more. */
bool
cuda_matmul_find (Matmul *self, const char *name, const cublasLtMatmulHeuristicResult_t *found, int n,
                  cublasLtMatmulHeuristicResult_t *to)
{
  char own[CUDA_BLAS_NAME];

  for (int i = 0; i < n; i++)
    {
      cuda_blas_name (&found[i].algo, own);
      *to = found[i];
      if (name == NULL || strcmp (name, own) == 0)
        return true;
    }
  /* A configuration made from its name may need addresses aligned to vectors of 16 bytes. */
  memset (to, 0, sizeof *to);
  return alignment_of (self, self->batches.a, self->element) >= 16
         && alignment_of (self, self->batches.b, self->element) >= 16
         && alignment_of (self, self->batches.y, self->to_element) >= 16
         && cuda_blas_from_name (self->device->blas, self->compute, self->precision->scale, self->precision->data,
                                 self->to, name, &to->algo)
         && cublasLtMatmulAlgoCheck (self->device->blas, self->product, self->b, self->a, self->y, self->y, &to->algo,
                                     to)
                == CUBLAS_STATUS_SUCCESS
         && to->state == CUBLAS_STATUS_SUCCESS && to->workspaceSize <= workspace_limit (self);
}
