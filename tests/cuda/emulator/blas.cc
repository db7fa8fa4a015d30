/* cuBLASLt as kernels/cuda calls it: layouts, strided batches, bias and activation.
 *
 * It refuses what the documentation refuses in these calls, and checks the caller's promises about addresses. The sum
 * runs in the compute type, in order. */
#include <math.h>

#include "tests/cuda/emulator/blas.h"
#include "tests/cuda/emulator/element.h"
#include "tests/cuda/emulator/product.h"

using emulated::Choice;
using emulated::Desc;
using emulated::Layout;
using emulated::Preference;
using emulated::bytes_of;
using emulated::reads_aux;

namespace emulated
{
size_t
bytes_of (uint32_t type)
{
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

bool
reads_aux (uint32_t e)
{
  return e == CUBLASLT_EPILOGUE_DRELU || e == CUBLASLT_EPILOGUE_DGELU;
}
}

namespace
{
bool
add_bias (uint32_t e)
{
  return e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS || e == CUBLASLT_EPILOGUE_GELU_BIAS;
}

/* Whether the vector at the bias is a result: the sums of B along the inner axis, one for each column of D, or those of
 * A, one for each row. */
bool
sums_b (uint32_t e)
{
  return e == CUBLASLT_EPILOGUE_BGRADB;
}

bool
sums_a (uint32_t e)
{
  return e == CUBLASLT_EPILOGUE_BGRADA;
}

/* The derivative of the tanh form of GELU. */
template <typename A>
A
gelu_slope (A x)
{
  const A k = (A)0.79788456080286535588, c = (A)0.044715, t = (A)tanh (k * (x + c * x * x * x));

  return (A)0.5 * (1 + t) + (A)0.5 * x * (1 - t) * (1 + t) * k * (1 + 3 * c * x * x);
}

/* Bytes of the auxiliary matrix: for DRELU one bit for each element, for DGELU elements of D's type. */
size_t
aux_bytes (const Desc &desc, const Layout &y)
{
  const int64_t elements = (y.columns - 1) * desc.aux_ld + y.rows;

  return desc.epilogue == CUBLASLT_EPILOGUE_DRELU ? (size_t)(y.columns * desc.aux_ld / 8)
                                                  : (size_t)elements * bytes_of (y.type);
}

/* Calls f with an element of the type. */
template <typename F>
void
with_type (uint32_t type, F f)
{
  switch (type)
    {
    case CUDA_R_64F:
      return f (double ());
    case CUDA_R_32F:
      return f (float ());
    case CUDA_R_16F:
      return f (emulated::Half ());
    default:
      return f (emulated::Brain ());
    }
}

template <typename A>
A
finished (uint32_t e, A value, A bias)
{
  value += add_bias (e) ? bias : 0;
  if (e == CUBLASLT_EPILOGUE_RELU || e == CUBLASLT_EPILOGUE_RELU_BIAS)
    return value > 0 || value != value ? value : 0;
  if (e == CUBLASLT_EPILOGUE_GELU || e == CUBLASLT_EPILOGUE_GELU_BIAS)
    return (A)0.5 * value * (1 + (A)tanh ((A)0.79788456080286535588 * (value + (A)0.044715 * value * value * value)));
  return value;
}

/* For every index l of the sum the values of the other index: `to` at l·m + i is element (i, l), or (l, i). */
template <typename A>
std::vector<A>
runs (const Layout &x, const char *data, bool sum_along_rows)
{
  const int64_t k = sum_along_rows ? x.rows : x.columns, m = sum_along_rows ? x.columns : x.rows, tile = 16;
  const int64_t step_l = sum_along_rows ? 1 : x.ld, step_i = sum_along_rows ? x.ld : 1;
  std::vector<A> to ((size_t)(k * m));

  with_type (x.type, [&] (auto element) {
    const decltype (element) *from = (const decltype (element) *)data;

    for (int64_t l = 0; l < k; l += tile)
      for (int64_t i = 0; i < m; i += tile)
        for (int64_t ll = l; ll < k && ll < l + tile; ll++)
          for (int64_t ii = i; ii < m && ii < i + tile; ii++)
            to[(size_t)(ll * m + ii)] = (A)from[ll * step_l + ii * step_i];
  });
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

      std::vector<A> of_a = runs<A> (a, from_a, desc.trans[0] == CUBLAS_OP_T);
      std::vector<A> of_b = runs<A> (b, from_b, desc.trans[1] == CUBLAS_OP_N);

      if (sums_b (desc.epilogue) || sums_a (desc.epilogue))
        with_type (y.type, [&] (auto element) {
          const std::vector<A> &from = sums_b (desc.epilogue) ? of_b : of_a;
          const int64_t n = sums_b (desc.epilogue) ? y.columns : y.rows;
          decltype (element) *to_sums = (decltype (element) *)desc.bias;

          for (int64_t j = 0; j < n; j++)
            {
              A sum = 0;

              for (int64_t l = 0; l < k; l++)
                sum += from[(size_t)(l * n + j)];
              to_sums[j] = sum;
            }
        });
      if (desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32)
        for (std::vector<A> *operand : { &of_a, &of_b })
          for (A &value : *operand)
            value = emulated::to_tf32 ((float)value);
      emulated::product<A> (y.rows, y.columns, k, of_a, of_b, sums);
      with_type (y.type, [&] (auto element) {
        const decltype (element) *bias = (const decltype (element) *)desc.bias;

        const decltype (element) *aux = (const decltype (element) *)desc.aux;
        const unsigned char *mask = (const unsigned char *)desc.aux;

        for (int64_t j = 0; j < y.columns; j++)
          for (int64_t i = 0; i < y.rows; i++)
            {
              A value = finished<A> (desc.epilogue, sums[(size_t)(j * y.rows + i)],
                                     add_bias (desc.epilogue) ? (A)bias[i] : 0);
              const int64_t bit = j * desc.aux_ld + i;

              /* A GPU rounds the product to D's type before such an epilogue reads it. */
              if (reads_aux (desc.epilogue))
                {
                  decltype (element) rounded;

                  rounded = value;
                  value = (A)rounded;
                }
              if (desc.epilogue == CUBLASLT_EPILOGUE_DRELU)
                value = (mask[bit / 8] >> bit % 8 & 1) != 0 ? value : 0;
              else if (desc.epilogue == CUBLASLT_EPILOGUE_DGELU)
                value *= gelu_slope<A> ((A)aux[bit]);
              ((decltype (element) *)to)[i + j * y.ld] = value;
            }
      });
    }
}

/* The bytes from the first element of all batches to the last. */
size_t
extent (const Layout &x)
{
  return (size_t)((x.batches - 1) * x.stride + (x.columns - 1) * x.ld + x.rows) * bytes_of (x.type);
}

/* Checks an operand's address in cublasLtMatmul(), and ends the program if it is wrong. */
void
check_operand (char name, const void *at, const Layout &layout, uint32_t alignment)
{
  if (!emulated::device_sees (at))
    emulated::found ("cublasLtMatmul was given the host's pointer %p as its %c", at, name);
  if ((uintptr_t)at % alignment != 0)
    emulated::found ("cublasLtMatmul was promised a multiple of %u bytes and given %p as its %c", alignment, at, name);
  if (!emulated::device_sees (at, extent (layout)))
    emulated::found ("cublasLtMatmul's %c has %zu bytes, which are not in one piece of memory", name, extent (layout));
}

bool
overlap (const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
  return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}
}

namespace emulated
{
bool
known_epilogue (uint32_t e)
{
  return add_bias (e) || sums_a (e) || sums_b (e) || reads_aux (e) || e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU
         || e == CUBLASLT_EPILOGUE_GELU;
}

/* TRUE if operands, result and types fit together according to cublasLtMatmul()'s documentation: column order, a
 * leading dimension of at least the rows, the same batches everywhere, no overlapping results, compute types from the
 * table for these data, and columns of an auxiliary matrix that begin at multiples of 8 elements or 128 bits. */
bool
fits (const Desc &desc, const Layout &a, const Layout &b, const Layout &c, const Layout &y)
{
  int64_t m = desc.trans[0] == CUBLAS_OP_T ? a.columns : a.rows, k = desc.trans[0] == CUBLAS_OP_T ? a.rows : a.columns;
  int64_t n = desc.trans[1] == CUBLAS_OP_T ? b.rows : b.columns, l = desc.trans[1] == CUBLAS_OP_T ? b.columns : b.rows;
  bool wide = y.type == CUDA_R_64F, narrow = a.type == CUDA_R_16BF || a.type == CUDA_R_16F;

  if (a.type != b.type || c.type != y.type || (y.type != a.type && !(narrow && y.type == CUDA_R_32F)))
    return false;
  for (const Layout *x : { &a, &b, &c, &y })
    if (x->order != CUBLASLT_ORDER_COL || x->ld < x->rows || x->batches != y.batches
        || x->batches < 1 || x->stride < 0)
      return false;
  if (c.rows != y.rows || c.columns != y.columns || (y.batches > 1 && y.stride < y.ld * (y.columns - 1) + y.rows))
    return false;
  if (reads_aux (desc.epilogue)
      && (desc.aux_ld < y.rows || desc.aux_ld % (desc.epilogue == CUBLASLT_EPILOGUE_DRELU ? 128 : 8) != 0))
    return false;
  if (desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && y.type != CUDA_R_32F)
    return false;
  return m == y.rows && n == y.columns && k == l && m > 0 && n > 0 && k > 0
         && (desc.compute == CUBLAS_COMPUTE_64F) == wide && (desc.scale == CUDA_R_64F) == wide;
}

namespace
{
const Field layout_fields[] = {
  EMULATED_FIELD (CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
  EMULATED_FIELD (CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
  EMULATED_FIELD (CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
  EMULATED_FIELD (CUBLASLT_MATRIX_LAYOUT_COLS, Layout, columns),
  EMULATED_FIELD (CUBLASLT_MATRIX_LAYOUT_LD, Layout, ld),
  EMULATED_FIELD (CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batches),
  EMULATED_FIELD (CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, stride),
};

const Field desc_fields[] = {
  EMULATED_FIELD (CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, Desc, compute),
  EMULATED_FIELD (CUBLASLT_MATMUL_DESC_SCALE_TYPE, Desc, scale),
  EMULATED_FIELD (CUBLASLT_MATMUL_DESC_TRANSA, Desc, trans[0]),
  EMULATED_FIELD (CUBLASLT_MATMUL_DESC_TRANSB, Desc, trans[1]),
  EMULATED_FIELD (CUBLASLT_MATMUL_DESC_EPILOGUE, Desc, epilogue),
  EMULATED_FIELD (CUBLASLT_MATMUL_DESC_BIAS_POINTER, Desc, bias),
  EMULATED_FIELD (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, Desc, aux),
  EMULATED_FIELD (CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, Desc, aux_ld),
};

const Field preference_fields[] = {
  EMULATED_FIELD (CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, workspace),
  EMULATED_FIELD (CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reductions),
  EMULATED_FIELD (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, align[0]),
  EMULATED_FIELD (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, align[1]),
  EMULATED_FIELD (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, align[2]),
  EMULATED_FIELD (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, align[3]),
};
}
}

using namespace emulated;

extern "C"
{
size_t
cublasLtGetVersion (void)
{
  return CUBLAS_VERSION + (size_t)blas_version ();
}

cublasStatus_t
cublasLtCreate (cublasLtHandle_t *handle)
{
  if (emulated::standing () != cudaSuccess)
    return CUBLAS_STATUS_NOT_INITIALIZED;
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
  switch (status)
    {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

cublasStatus_t
cublasLtMatrixLayoutCreate (cublasLtMatrixLayout_t *to, cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld)
{
  if (type != CUDA_R_64F && type != CUDA_R_32F && type != CUDA_R_16F && type != CUDA_R_16BF)
    {
      emulated::lacks ("a matrix of type %d", (int)type);
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  *to = (cublasLtMatrixLayout_t) new Layout{ (uint32_t)type, CUBLASLT_ORDER_COL, 1, (int64_t)rows, (int64_t)columns, ld, 0 };
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
  return set_field ("cublasLtMatrixLayoutSetAttribute", layout_fields, layout, what, value, bytes);
}

cublasStatus_t
cublasLtMatrixLayoutGetAttribute (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t what, void *to,
                                  size_t bytes, size_t *written)
{
  return get_field ("cublasLtMatrixLayoutGetAttribute", layout_fields, layout, what, to, bytes, written);
}

cublasStatus_t
cublasLtMatmulDescCreate (cublasLtMatmulDesc_t *to, cublasComputeType_t compute, cudaDataType_t scale)
{
  *to = (cublasLtMatmulDesc_t) new Desc{ compute, scale, { CUBLAS_OP_N, CUBLAS_OP_N }, CUBLASLT_EPILOGUE_DEFAULT, NULL, NULL, 0 };
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
  return set_field ("cublasLtMatmulDescSetAttribute", desc_fields, desc, what, value, bytes);
}

cublasStatus_t
cublasLtMatmulDescGetAttribute (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t what, void *to, size_t bytes,
                                size_t *written)
{
  return get_field ("cublasLtMatmulDescGetAttribute", desc_fields, desc, what, to, bytes, written);
}

cublasStatus_t
cublasLtMatmulPreferenceCreate (cublasLtMatmulPreference_t *to)
{
  *to = (cublasLtMatmulPreference_t) new Preference{ 0, 0xffffffffu, { 256, 256, 256, 256 } };
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy (cublasLtMatmulPreference_t preference)
{
  delete (Preference *)preference;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t what,
                                      const void *value, size_t bytes)
{
  return set_field ("cublasLtMatmulPreferenceSetAttribute", preference_fields, preference, what, value, bytes);
}

cublasStatus_t
cublasLtMatmulPreferenceGetAttribute (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t what, void *to,
                                      size_t bytes, size_t *written)
{
  return get_field ("cublasLtMatmulPreferenceGetAttribute", preference_fields, preference, what, to, bytes, written);
}

cublasStatus_t
cublasLtMatmul (cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha, const void *A, cublasLtMatrixLayout_t a,
                const void *B, cublasLtMatrixLayout_t b, const void *beta, const void *C, cublasLtMatrixLayout_t c,
                void *D, cublasLtMatrixLayout_t y, const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,
                cudaStream_t stream)
{
  const Desc d = *(const Desc *)desc;
  const Layout of_a = *(const Layout *)a, of_b = *(const Layout *)b, of_c = *(const Layout *)c, of_y = *(const Layout *)y;
  const bool wide = d.scale == CUDA_R_64F;
  Choice choice;
  uint32_t wanted = 0;

  if (emulated::standing () != cudaSuccess)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  memcpy (&choice, algo, sizeof choice);
  /* An algorithm is valid only for the product that it was proposed for. */
  if (!fits (d, of_a, of_b, of_c, of_y) || (choice.product != 0 && choice.product != product_of (d, of_a, of_y)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!configuration_takes (choice, of_y, &wanted))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (choice.product != 0)
    wanted = choice.workspace;
  /* Callers only compute y = 1·a·b + 0·c. */
  if ((wide ? *(const double *)alpha : *(const float *)alpha) != 1
      || (wide ? *(const double *)beta : *(const float *)beta) != 0)
    {
      emulated::lacks ("cublasLtMatmul with an alpha other than 1 or a beta other than 0");
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  check_operand ('A', A, of_a, choice.align[0]);
  check_operand ('B', B, of_b, choice.align[1]);
  check_operand ('C', C, of_c, choice.align[2]);
  check_operand ('D', D, of_y, choice.align[3]);
  if (overlap (D, extent (of_y), A, extent (of_a)) || overlap (D, extent (of_y), B, extent (of_b)))
    emulated::found ("cublasLtMatmul writes its result over an operand");
  const bool has_bias = add_bias (d.epilogue) || sums_a (d.epilogue) || sums_b (d.epilogue);

  if (has_bias)
    {
      const long long n = sums_b (d.epilogue) ? of_y.columns : of_y.rows;

      if (!emulated::device_sees (d.bias, (size_t)n * bytes_of (of_y.type)))
        emulated::found ("cublasLtMatmul's bias at %p has not the %lld elements of a %s in one piece of memory", d.bias,
                         n, sums_b (d.epilogue) ? "row" : "column");
      if ((uintptr_t)d.bias % choice.align_bias != 0)
        emulated::found ("cublasLtMatmul's algorithm was chosen for a bias at a multiple of %u bytes and given %p",
                         choice.align_bias, d.bias);
    }
  if (reads_aux (d.epilogue))
    {
      if (!emulated::device_sees (d.aux, aux_bytes (d, of_y)))
        emulated::found ("cublasLtMatmul's auxiliary matrix at %p has not its %zu bytes in one piece of memory", d.aux,
                         aux_bytes (d, of_y));
      if ((uintptr_t)d.aux % choice.align_aux != 0)
        emulated::found ("cublasLtMatmul's algorithm was chosen for an auxiliary matrix at a multiple of %u bytes and "
                         "given %p", choice.align_aux, d.aux);
      if (overlap (D, extent (of_y), d.aux, aux_bytes (d, of_y)))
        emulated::found ("cublasLtMatmul writes its result over its auxiliary matrix");
    }
  if (bytes < wanted
      || (bytes != 0 && ((uintptr_t)workspace % 256 != 0 || !emulated::device_sees (workspace, bytes))))
    return CUBLAS_STATUS_INVALID_VALUE;
  cudaError_t error = emulated::enqueue (
      stream,
      { "cublasLtMatmul",
        [=] {
          if (bytes != 0)
            memset (workspace, 0xff, bytes);
          if (wide)
            multiply<double> (d, of_a, (const char *)A, of_b, (const char *)B, of_y, (char *)D);
          else
            multiply<float> (d, of_a, (const char *)A, of_b, (const char *)B, of_y, (char *)D);
        },
        { A, B, D, has_bias ? d.bias : NULL,
          reads_aux (d.epilogue) ? d.aux : NULL, bytes != 0 ? workspace : NULL } });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
}
