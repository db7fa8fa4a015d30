/* The configurations of fake cuBLASLt, and those that it proposes for a product.
 *
 * All compute the same bits. Their numbers only have to be functions of shape and version, as in the library.
 * GRADLOOM_EMULATOR_CUBLASLT selects a newer version: 1 proposes other configurations and still has those of 0, 2 has
 * none of the earlier algorithms. */
#include <stdlib.h>

#include "tests/cuda/emulator/blas.h"
#include "tests/cuda/question.h"

#define WORKSPACE_BYTES 512

namespace emulated
{
int
blas_version ()
{
  const char *text = getenv ("GRADLOOM_EMULATOR_CUBLASLT");

  return text != NULL ? atoi (text) : 0;
}

namespace
{
/* The number of products in a sum. */
int64_t
sum_of (const Desc &desc, const Layout &a)
{
  return desc.trans[0] == CUBLAS_OP_T ? a.rows : a.columns;
}

/* The alignment of an address that is not read yet, at most 16 bytes. */
uint16_t
expected_alignment (const void *at)
{
  return (uint16_t)(at == NULL ? 16 : 1u << __builtin_ctzll ((uintptr_t)at | 16));
}
}

uint64_t
product_of (const Desc &desc, const Layout &a, const Layout &y)
{
  const uint64_t parts[] = { desc.epilogue, (uint64_t)y.rows, (uint64_t)y.columns,
                             (uint64_t)sum_of (desc, a) };
  uint64_t product = 14695981039346656037u; /* FNV-1a over words */

  for (uint64_t part : parts)
    product = (product ^ part) * 1099511628211u;
  return product | 1;
}

namespace
{
/* Algorithm 21 computes tiles, 6 splits the sum and adds the parts in a workspace. */
bool
known (int id)
{
  return blas_version () < 2 ? id == 21 || id == 6 : id == 31 || id == 8;
}

Choice
proposal (int i, const Layout &y)
{
  const int newer = blas_version () >= 2 ? 1 : 0;
  Choice choice = {};

  choice.id = i < 2 ? (newer ? 31 : 21) : (newer ? 8 : 6);
  choice.tile = (i == 0) == (y.rows * y.columns < 4096) ? CUBLASLT_MATMUL_TILE_32x32 : CUBLASLT_MATMUL_TILE_64x64;
  choice.stages = blas_version () == 0 ? CUBLASLT_MATMUL_STAGES_16x4 : CUBLASLT_MATMUL_STAGES_32x4;
  choice.splits = i < 2 ? 1 : 2;
  choice.reduction = i < 2 ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  return choice;
}

const Field choice_fields[] = {
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_ID, Choice, id),
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_TILE_ID, Choice, tile),
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_STAGES_ID, Choice, stages),
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_SPLITK_NUM, Choice, splits),
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, Choice, reduction),
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, Choice, swizzle),
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, Choice, custom),
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, Choice, inner),
  EMULATED_FIELD (CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, Choice, cluster),
};
}

/* A split sum needs a scheme that adds its parts; the fake has none in place. */
bool
configuration_takes (const Choice &choice, const Layout &y, uint32_t *workspace)
{
  const bool split = choice.splits > 1;

  *workspace = WORKSPACE_BYTES + (split ? (uint32_t)(choice.splits * y.rows * y.columns) * 4 : 0);
  return known (choice.id) && choice.splits >= 1 && choice.swizzle <= 1 && choice.custom == 0 && choice.inner == 0
         && choice.cluster == 0
         && (split ? choice.reduction == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                         || choice.reduction == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE
                   : choice.reduction == CUBLASLT_REDUCTION_SCHEME_NONE);
}
}

using namespace emulated;

extern "C"
{
cublasStatus_t
cublasLtMatmulAlgoConfigSetAttribute (cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoConfigAttributes_t what,
                                      const void *value, size_t bytes)
{
  if (what == CUBLASLT_ALGO_CONFIG_ID)
    return CUBLAS_STATUS_INVALID_VALUE;
  return set_field ("cublasLtMatmulAlgoConfigSetAttribute", choice_fields, algorithm, what, value, bytes);
}

cublasStatus_t
cublasLtMatmulAlgoConfigGetAttribute (const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoConfigAttributes_t what,
                                      void *to, size_t bytes, size_t *written)
{
  return get_field ("cublasLtMatmulAlgoConfigGetAttribute", choice_fields, algorithm, what, to, bytes, written);
}

/* With the documented defaults; its kernels read vectors of 16 bytes. */
cublasStatus_t
cublasLtMatmulAlgoInit (cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t,
                        cudaDataType_t, cudaDataType_t, int id, cublasLtMatmulAlgo_t *to)
{
  const Choice choice = { { 16, 16, 16, 16 }, 16, 16, 0, id, 1 };

  if (!known (id))
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy (to, &choice, sizeof choice);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoCheck (cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                         cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t y, const cublasLtMatmulAlgo_t *algorithm,
                         cublasLtMatmulHeuristicResult_t *result)
{
  const Desc &d = *(const Desc *)desc;
  const Layout &of_y = *(const Layout *)y;
  uint32_t workspace = 0;
  Choice choice;

  memcpy (&choice, algorithm, sizeof choice);
  if (!fits (d, *(const Layout *)a, *(const Layout *)b, *(const Layout *)c, of_y)
      || (choice.product != 0 && choice.product != product_of (d, *(const Layout *)a, of_y)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!known_epilogue (d.epilogue) || (d.epilogue != CUBLASLT_EPILOGUE_DEFAULT && of_y.type == CUDA_R_64F)
      || !configuration_takes (choice, of_y, &workspace))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  memset (result, 0, sizeof *result);
  memcpy (&result->algo, &choice, sizeof choice);
  result->workspaceSize = workspace;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulAlgoGetHeuristic (cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t y,
                                cublasLtMatmulPreference_t preference, int asked, cublasLtMatmulHeuristicResult_t results[],
                                int *n)
{
  const Desc &d = *(const Desc *)desc;
  const Layout &of_y = *(const Layout *)y;
  const Preference &wanted = *(const Preference *)preference;
  char question[QUESTION_BYTES];
  int refused;

  *n = 0;
  if (asked < 1 || !fits (d, *(const Layout *)a, *(const Layout *)b, *(const Layout *)c, of_y))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (uint32_t alignment : wanted.align)
    if (alignment < bytes_of (of_y.type) || (alignment & (alignment - 1)) != 0)
      return CUBLAS_STATUS_INVALID_VALUE;
  if (!known_epilogue (d.epilogue))
    {
      lacks ("cublasLtMatmul's epilogue %d", (int)d.epilogue);
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  /* Epilogues are for f32 sums, those with a sum for one product, and derivatives for sums of two terms and more. */
  if ((d.epilogue == CUBLASLT_EPILOGUE_BGRADA || d.epilogue == CUBLASLT_EPILOGUE_BGRADB || reads_aux (d.epilogue)) && of_y.batches != 1)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (reads_aux (d.epilogue) && sum_of (d, *(const Layout *)a) < 2)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (d.epilogue != CUBLASLT_EPILOGUE_DEFAULT && of_y.type == CUDA_R_64F)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  question_matmul (question, desc, a, b, c, y, preference);
  refused = refusal (question);
  if (refused != 0)
    return (cublasStatus_t)refused;
  for (int i = 0; i < 3 && *n < asked; i++)
    {
      Choice choice = proposal (i, of_y);

      configuration_takes (choice, of_y, &choice.workspace);
      /* If the workspace is too small the tiles are computed without one. */
      if (choice.workspace > wanted.workspace && choice.splits == 1)
        choice.workspace = 0;
      if (choice.workspace > wanted.workspace || (choice.reduction & ~wanted.reductions) != 0)
        continue;
      for (int k = 0; k < 4; k++)
        choice.align[k] = (uint16_t)wanted.align[k];
      /* The documentation: "depend on its value to determine expected pointer alignment". NULL is a multiple of
       * everything. */
      choice.align_bias = expected_alignment (d.bias);
      choice.align_aux = expected_alignment (d.aux);
      choice.product = product_of (d, *(const Layout *)a, of_y);
      memset (&results[*n], 0, sizeof results[*n]);
      memcpy (&results[*n].algo, &choice, sizeof choice);
      results[*n].workspaceSize = choice.workspace;
      results[*n].state = CUBLAS_STATUS_SUCCESS;
      ++*n;
    }
  return CUBLAS_STATUS_SUCCESS;
}
}
