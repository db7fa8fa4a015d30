/* State of fake cuBLASLt in the library's opaque handles: matrices, products, preferences, algorithms. */
#ifndef EMULATOR_BLAS_H
#define EMULATOR_BLAS_H

#include <cublasLt.h>
#include <stddef.h>
#include <string.h>

#include "tests/cuda/emulator/fakes.h"

namespace emulated
{
/* Members have the types of the library's attributes, so that getters and setters copy bytes. */
struct Layout
{
  uint32_t type; /* cudaDataType_t */
  int32_t order, batches;
  int64_t rows, columns, ld, stride;
};

struct Desc
{
  int32_t compute, scale; /* cublasComputeType_t, cudaDataType_t */
  int32_t trans[2];
  uint32_t epilogue;
  const void *bias, *aux; /* aux: the operand of the derivative in its epilogue */
  int64_t aux_ld;
};

struct Preference
{
  uint64_t workspace;
  uint32_t reductions;
  uint32_t align[4]; /* A, B, C, D */
};

/* Content of an algorithm's bytes: its configuration, and the heuristic's promises for one product. */
struct Choice
{
  uint16_t align[4], align_bias, align_aux; /* bytes */
  uint64_t product;                         /* the product that it is valid for; 0: made from an index, for any */
  int32_t id, splits;
  uint32_t tile, stages, reduction, swizzle, custom, workspace;
  uint16_t inner, cluster;
};

static_assert (sizeof (Choice) <= sizeof (cublasLtMatmulAlgo_t), "a choice fits an algorithm");

size_t bytes_of (uint32_t type);
bool known_epilogue (uint32_t epilogue);
/* Whether the epilogue reads an auxiliary matrix: those with a derivative. */
bool reads_aux (uint32_t epilogue);
bool fits (const Desc &desc, const Layout &a, const Layout &b, const Layout &c, const Layout &y);

/* A number that differs between products, never 0. */
uint64_t product_of (const Desc &desc, const Layout &a, const Layout &y);

/* TRUE if the configuration computes the product; sets the workspace that it needs. */
bool configuration_takes (const Choice &choice, const Layout &y, uint32_t *workspace);

/* GRADLOOM_EMULATOR_CUBLASLT: the number of versions by which the library is newer, see blas-choice.cc. */
int blas_version ();

/* An attribute and the offset of its value. */
struct Field
{
  int attribute;
  size_t at, size;
};

#define EMULATED_FIELD(attribute, type, member) { attribute, offsetof (type, member), sizeof (type::member) }

/* The address of an attribute's value in `self`; NULL with the status if the call is refused. */
template <size_t N>
inline char *
field_of (const char *function, const Field (&fields)[N], void *self, int attribute, size_t bytes, cublasStatus_t *status)
{
  for (const Field &field : fields)
    if (field.attribute == attribute)
      {
        *status = field.size == bytes ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
        return field.size == bytes ? (char *)self + field.at : NULL;
      }
  lacks ("%s with attribute %d", function, attribute);
  *status = CUBLAS_STATUS_NOT_SUPPORTED;
  return NULL;
}

template <size_t N>
inline cublasStatus_t
set_field (const char *function, const Field (&fields)[N], void *self, int attribute, const void *value, size_t bytes)
{
  cublasStatus_t status;
  char *at = field_of (function, fields, self, attribute, bytes, &status);

  if (at != NULL)
    memcpy (at, value, bytes);
  return status;
}

template <size_t N>
inline cublasStatus_t
get_field (const char *function, const Field (&fields)[N], const void *self, int attribute, void *to, size_t bytes,
           size_t *written)
{
  cublasStatus_t status;
  char *at = field_of (function, fields, (void *)self, attribute, bytes, &status);

  if (at != NULL)
    memcpy (to, at, bytes);
  if (at != NULL && written != NULL)
    *written = bytes;
  return status;
}
}

#endif
