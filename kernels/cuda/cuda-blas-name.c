/* Translates between a configuration of cuBLASLt and its name, "cublaslt:a21t20s8k2r2".
 *
 * A plan keeps the name, and so does a checkpoint; with the same library the same GPU then computes the same bits. Each
 * letter is one attribute of a configuration, followed by its value; attributes with the usual value are left out. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-blas.h"

#define PREFIX "cublaslt:"

static const struct
{
  char letter;
  bool wide; /* 32 bits, else 16 */
  uint32_t usual;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
} fields[] = {
  { 'a', true, UINT32_MAX, CUBLASLT_ALGO_CONFIG_ID }, /* the first, always written */
  { 't', true, 0, CUBLASLT_ALGO_CONFIG_TILE_ID },         { 's', true, 0, CUBLASLT_ALGO_CONFIG_STAGES_ID },
  { 'k', true, 1, CUBLASLT_ALGO_CONFIG_SPLITK_NUM },      { 'r', true, 0, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME },
  { 'w', true, 0, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING },   { 'c', true, 0, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION },
  { 'i', false, 0, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID }, { 'u', false, 0, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID },
};

#define N_FIELDS (sizeof fields / sizeof fields[0])

void
cuda_blas_name (const cublasLtMatmulAlgo_t *algorithm, char name[CUDA_BLAS_NAME])
{
  size_t n = (size_t)snprintf (name, CUDA_BLAS_NAME, PREFIX);

  for (size_t i = 0; i < N_FIELDS; i++)
    {
      uint32_t value = 0;
      uint16_t half = 0;
      size_t written = 0;

      if (cublasLtMatmulAlgoConfigGetAttribute (algorithm, fields[i].attribute, fields[i].wide ? (void *)&value : &half,
                                                fields[i].wide ? sizeof value : sizeof half, &written)
          != CUBLAS_STATUS_SUCCESS)
        {
          name[strlen (PREFIX) - 1] = '\0';
          return;
        }
      if (!fields[i].wide)
        value = half;
      if (value != fields[i].usual)
        n += (size_t)snprintf (name + n, CUDA_BLAS_NAME - n, "%c%u", fields[i].letter, value);
    }
}

/* The values of the fields in a name; false if it is none. */
static bool
read_name (const char *name, uint32_t value[N_FIELDS])
{
  const char *at = name + strlen (PREFIX);
  size_t field = 0;

  if (strncmp (name, PREFIX, strlen (PREFIX)) != 0 || *at != fields[0].letter)
    return false;
  for (size_t i = 0; i < N_FIELDS; i++)
    value[i] = fields[i].usual;
  while (*at != '\0')
    {
      char *end = NULL;

      while (field < N_FIELDS && fields[field].letter != *at)
        field++;
      if (field == N_FIELDS || at[1] < '0' || at[1] > '9')
        return false;
      value[field++] = (uint32_t)strtoul (at + 1, &end, 10);
      at = end;
    }
  return true;
}

bool
cuda_blas_from_name (cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t scale, cudaDataType_t data,
                     cudaDataType_t result, const char *name, cublasLtMatmulAlgo_t *algorithm)
{
  uint32_t value[N_FIELDS];

  if (!read_name (name, value)
      || cublasLtMatmulAlgoInit (handle, compute, scale, data, data, result, result, (int)value[0], algorithm)
             != CUBLAS_STATUS_SUCCESS)
    return false;
  for (size_t i = 1; i < N_FIELDS; i++)
    {
      uint16_t half = (uint16_t)value[i];

      if (value[i] != fields[i].usual
          && cublasLtMatmulAlgoConfigSetAttribute (algorithm, fields[i].attribute,
                                                   fields[i].wide ? (const void *)&value[i] : &half,
                                                   fields[i].wide ? sizeof value[i] : sizeof half)
                 != CUBLAS_STATUS_SUCCESS)
        return false;
    }
  return true;
}
