/* cuBLASLt as kernels/cuda calls it: layouts, strided batches, bias and activation.
 *
 * It refuses what the documentation refuses of the calls that are made, and checks what
 * the caller promised of its addresses. The sum runs in the compute type, in order. */
#include <cublasLt.h>
#include <math.h>
#include <string.h>

#include "kernels/convert.h"
#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/product.h"

#define WORKSPACE_BYTES 512

namespace
{
struct Layout
{
  cudaDataType_t type;
  int64_t rows, columns, ld, stride;
  int32_t batches;
};

struct Desc
{
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t trans[2];
  cublasLtEpilogue_t epilogue;
  const void *bias;
};

struct Wish
{
  size_t workspace;
  uint32_t align[4]; /* A, B, C, D */
};

/* What the heuristic promised, kept in the algorithm's bytes. */
struct Choice
{
  uint32_t align[4];
  int32_t epilogue;
};

static_assert (sizeof (Choice) <= sizeof (cublasLtMatmulAlgo_t), "a choice fits an algorithm");

bool
add_bias (cublasLtEpilogue_t e)
{
  return e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS || e == CUBLASLT_EPILOGUE_GELU_BIAS;
}

bool
known_epilogue (cublasLtEpilogue_t e)
{
  return add_bias (e) || e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU || e == CUBLASLT_EPILOGUE_GELU;
}

size_t
bytes_of (cudaDataType_t type)
{
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

template <typename A>
A
get (cudaDataType_t type, const void *from, int64_t at)
{
  switch (type)
    {
    case CUDA_R_64F:
      return (A)((const double *)from)[at];
    case CUDA_R_32F:
      return (A)((const float *)from)[at];
    case CUDA_R_16F:
      return (A)loom_f16_to_float (((const uint16_t *)from)[at]);
    default:
      return (A)loom_bf16_to_float (((const uint16_t *)from)[at]);
    }
}

template <typename A>
void
put (cudaDataType_t type, void *to, int64_t at, A value)
{
  switch (type)
    {
    case CUDA_R_64F:
      ((double *)to)[at] = (double)value;
      break;
    case CUDA_R_32F:
      ((float *)to)[at] = (float)value;
      break;
    case CUDA_R_16F:
      ((uint16_t *)to)[at] = loom_f16_from_float ((float)value);
      break;
    default:
      ((uint16_t *)to)[at] = loom_bf16_from_float ((float)value);
    }
}

template <typename A>
A
finished (cublasLtEpilogue_t e, A value, A bias)
{
  value += add_bias (e) ? bias : 0;
  if (e == CUBLASLT_EPILOGUE_RELU || e == CUBLASLT_EPILOGUE_RELU_BIAS)
    return value > 0 || value != value ? value : 0;
  if (e == CUBLASLT_EPILOGUE_GELU || e == CUBLASLT_EPILOGUE_GELU_BIAS)
    return (A)0.5 * value * (1 + (A)tanh ((A)0.79788456080286535588 * (value + (A)0.044715 * value * value * value)));
  return value;
}

/* Rows of op (x) along `across`, for every index of the sum: run l holds element (i, l) or (l, i) at i. */
template <typename A>
std::vector<A>
runs (const Layout &x, const char *data, bool sum_along_rows)
{
  int64_t k = sum_along_rows ? x.rows : x.columns, m = sum_along_rows ? x.columns : x.rows;
  std::vector<A> to ((size_t)(k * m));

  for (int64_t l = 0; l < k; l++)
    for (int64_t i = 0; i < m; i++)
      to[(size_t)(l * m + i)] = get<A> (x.type, data, sum_along_rows ? l + i * x.ld : i + l * x.ld);
  return to;
}

template <typename A>
void
multiply (const Desc &desc, const Layout &a, const char *at_a, const Layout &b, const char *at_b, const Layout &y,
          char *at_y)
{
  std::vector<A> sums;

  for (int32_t batch = 0; batch < y.batches; batch++)
    {
      const char *from_a = at_a + batch * a.stride * (int64_t)bytes_of (a.type);
      const char *from_b = at_b + batch * b.stride * (int64_t)bytes_of (b.type);
      char *to = at_y + batch * y.stride * (int64_t)bytes_of (y.type);
      int64_t k = desc.trans[0] == CUBLAS_OP_T ? a.rows : a.columns;

      emulated::product<A> (y.rows, y.columns, k, runs<A> (a, from_a, desc.trans[0] == CUBLAS_OP_T),
                            runs<A> (b, from_b, desc.trans[1] == CUBLAS_OP_N), sums);
      for (int64_t j = 0; j < y.columns; j++)
        for (int64_t i = 0; i < y.rows; i++)
          put<A> (y.type, to, i + j * y.ld,
                  finished<A> (desc.epilogue, sums[(size_t)(j * y.rows + i)],
                               add_bias (desc.epilogue) ? get<A> (y.type, desc.bias, i) : 0));
    }
}

/* Whether operands, result and types belong together. */
bool
fits (const Desc &desc, const Layout &a, const Layout &b, const Layout &y)
{
  int64_t m = desc.trans[0] == CUBLAS_OP_T ? a.columns : a.rows, k = desc.trans[0] == CUBLAS_OP_T ? a.rows : a.columns;
  int64_t n = desc.trans[1] == CUBLAS_OP_T ? b.rows : b.columns, l = desc.trans[1] == CUBLAS_OP_T ? b.columns : b.rows;
  bool wide = y.type == CUDA_R_64F;

  return m == y.rows && n == y.columns && k == l && m > 0 && n > 0 && k > 0 && a.type == y.type && b.type == y.type
         && a.batches == y.batches && b.batches == y.batches && a.ld >= a.rows && b.ld >= b.rows && y.ld >= y.rows
         && (desc.compute == CUBLAS_COMPUTE_64F) == wide && (desc.scale == CUDA_R_64F) == wide;
}
}

extern "C"
{
cublasStatus_t
cublasLtCreate (cublasLtHandle_t *handle)
{
  *handle = (cublasLtHandle_t) new int (0);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtDestroy (cublasLtHandle_t handle)
{
  delete (int *)handle;
  return CUBLAS_STATUS_SUCCESS;
}

const char *
cublasLtGetStatusString (cublasStatus_t status)
{
  return status == CUBLAS_STATUS_NOT_SUPPORTED   ? "CUBLAS_STATUS_NOT_SUPPORTED"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "CUBLAS_STATUS_SUCCESS";
}

cublasStatus_t
cublasLtMatrixLayoutCreate (cublasLtMatrixLayout_t *to, cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld)
{
  if (type != CUDA_R_64F && type != CUDA_R_32F && type != CUDA_R_16F && type != CUDA_R_16BF)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *to = (cublasLtMatrixLayout_t) new Layout{ type, (int64_t)rows, (int64_t)columns, ld, 0, 1 };
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutDestroy (cublasLtMatrixLayout_t layout)
{
  delete (Layout *)layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t what, const void *value,
                                  size_t bytes)
{
  if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof (int32_t))
    ((Layout *)layout)->batches = *(const int32_t *)value;
  else if (what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof (int64_t))
    ((Layout *)layout)->stride = *(const int64_t *)value;
  else
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescCreate (cublasLtMatmulDesc_t *to, cublasComputeType_t compute, cudaDataType_t scale)
{
  *to = (cublasLtMatmulDesc_t) new Desc{ compute, scale, { CUBLAS_OP_N, CUBLAS_OP_N }, CUBLASLT_EPILOGUE_DEFAULT, NULL };
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescDestroy (cublasLtMatmulDesc_t desc)
{
  delete (Desc *)desc;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t what, const void *value,
                                size_t bytes)
{
  Desc *self = (Desc *)desc;

  if (what == CUBLASLT_MATMUL_DESC_TRANSA && bytes == sizeof (cublasOperation_t))
    memcpy (&self->trans[0], value, bytes);
  else if (what == CUBLASLT_MATMUL_DESC_TRANSB && bytes == sizeof (cublasOperation_t))
    memcpy (&self->trans[1], value, bytes);
  else if (what == CUBLASLT_MATMUL_DESC_EPILOGUE && bytes == sizeof (cublasLtEpilogue_t))
    memcpy (&self->epilogue, value, bytes);
  else if (what == CUBLASLT_MATMUL_DESC_BIAS_POINTER && bytes == sizeof (void *))
    memcpy (&self->bias, value, bytes);
  else
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate (cublasLtMatmulPreference_t *to)
{
  *to = (cublasLtMatmulPreference_t) new Wish{ 0, { 256, 256, 256, 256 } };
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy (cublasLtMatmulPreference_t wish)
{
  delete (Wish *)wish;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute (cublasLtMatmulPreference_t wish, cublasLtMatmulPreferenceAttributes_t what,
                                      const void *value, size_t bytes)
{
  Wish *self = (Wish *)wish;

  switch (what)
    {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      memcpy (&self->workspace, value, bytes);
      break;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      memcpy (&self->align[0], value, bytes);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      memcpy (&self->align[1], value, bytes);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      memcpy (&self->align[2], value, bytes);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      memcpy (&self->align[3], value, bytes);
      break;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic (cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t y,
                                cublasLtMatmulPreference_t wish, int asked, cublasLtMatmulHeuristicResult_t results[],
                                int *n)
{
  const Desc &d = *(const Desc *)desc;
  Choice choice = {};

  *n = 0;
  if (asked < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!fits (d, *(const Layout *)a, *(const Layout *)b, *(const Layout *)y))
    return CUBLAS_STATUS_INVALID_VALUE;
  /* Epilogues are for f32 sums. */
  if (!known_epilogue (d.epilogue) || (d.epilogue != CUBLASLT_EPILOGUE_DEFAULT && ((const Layout *)y)->type == CUDA_R_64F))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  memcpy (choice.align, ((const Wish *)wish)->align, sizeof choice.align);
  choice.epilogue = d.epilogue;
  memset (results, 0, sizeof *results);
  memcpy (&results->algo, &choice, sizeof choice);
  results->workspaceSize = ((const Wish *)wish)->workspace >= WORKSPACE_BYTES ? WORKSPACE_BYTES : 0;
  results->state = CUBLAS_STATUS_SUCCESS;
  *n = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul (cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha, const void *A, cublasLtMatrixLayout_t a,
                const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C, cublasLtMatrixLayout_t,
                void *D, cublasLtMatrixLayout_t y, const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,
                cudaStream_t stream)
{
  const Desc d = *(const Desc *)desc;
  const Layout of_a = *(const Layout *)a, of_b = *(const Layout *)b, of_y = *(const Layout *)y;
  const void *const address[4] = { A, B, C, D };
  const bool wide = d.scale == CUDA_R_64F;
  Choice choice;

  memcpy (&choice, algo, sizeof choice);
  if (!fits (d, of_a, of_b, of_y) || choice.epilogue != (int32_t)d.epilogue)
    return CUBLAS_STATUS_INVALID_VALUE;
  /* Only y = 1·a·b + 0·c is asked for. */
  if ((wide ? *(const double *)alpha : *(const float *)alpha) != 1
      || (wide ? *(const double *)beta : *(const float *)beta) != 0)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (int i = 0; i < 4; i++)
    if (!emulated::device_sees (address[i]))
      emulated::found ("cublasLtMatmul was given the host's pointer %p", address[i]);
    else if ((uintptr_t)address[i] % choice.align[i] != 0)
      emulated::found ("cublasLtMatmul was promised a multiple of %u bytes and given %p", choice.align[i], address[i]);
  if (add_bias (d.epilogue) && !emulated::device_sees (d.bias))
    emulated::found ("cublasLtMatmul was given the host's pointer %p as its bias", d.bias);
  if (bytes != 0 && ((uintptr_t)workspace % 256 != 0 || !emulated::device_sees (workspace)))
    return CUBLAS_STATUS_INVALID_VALUE;
  emulated::enqueue (stream, [=] {
    memset (workspace, 0xff, bytes);
    if (wide)
      multiply<double> (d, of_a, (const char *)A, of_b, (const char *)B, of_y, (char *)D);
    else
      multiply<float> (d, of_a, (const char *)A, of_b, (const char *)B, of_y, (char *)D);
  });
  return CUBLAS_STATUS_SUCCESS;
}
}
