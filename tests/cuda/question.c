#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/cuda/question.h"

static void
say (char *text, const char *format, ...)
{
  size_t used = strlen (text);
  va_list args;

  va_start (args, format);
  vsnprintf (text + used, QUESTION_BYTES - used, format, args);
  va_end (args);
}

#define AUXILIARY 128 /* the bit of epilogues with an auxiliary matrix */

/* ---- cuBLASLt -------------------------------------------------------------------------------- */

static void
say_matrix (char *text, const char *name, cublasLtMatrixLayout_t layout)
{
  uint32_t type = 0;
  int32_t order = 0, batches = 0;
  uint64_t rows = 0, columns = 0;
  int64_t ld = 0, stride = 0;
  size_t n;

  cublasLtMatrixLayoutGetAttribute (layout, CUBLASLT_MATRIX_LAYOUT_TYPE, &type, sizeof type, &n);
  cublasLtMatrixLayoutGetAttribute (layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order, &n);
  cublasLtMatrixLayoutGetAttribute (layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &n);
  cublasLtMatrixLayoutGetAttribute (layout, CUBLASLT_MATRIX_LAYOUT_COLS, &columns, sizeof columns, &n);
  cublasLtMatrixLayoutGetAttribute (layout, CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof ld, &n);
  cublasLtMatrixLayoutGetAttribute (layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches, sizeof batches, &n);
  cublasLtMatrixLayoutGetAttribute (layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride, &n);
  say (text, " %s=%" PRIu32 ":%" PRIu64 "x%" PRIu64 "/%" PRId64, name, type, rows, columns, ld);
  if (order != CUBLASLT_ORDER_COL)
    say (text, "/order%" PRId32, order);
  if (batches != 1)
    say (text, "*%" PRId32 "+%" PRId64, batches, stride);
}

void
question_matmul (char text[QUESTION_BYTES], cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                 cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                 cublasLtMatmulPreference_t preference)
{
  static const cublasLtMatmulPreferenceAttributes_t alignments[]
      = { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES };
  int32_t compute = 0, scale = 0, trans[2] = { 0, 0 };
  uint32_t epilogue = 0;
  uint64_t workspace = 0;
  size_t n;

  cublasLtMatmulDescGetAttribute (desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute, sizeof compute, &n);
  cublasLtMatmulDescGetAttribute (desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &scale, sizeof scale, &n);
  cublasLtMatmulDescGetAttribute (desc, CUBLASLT_MATMUL_DESC_TRANSA, &trans[0], sizeof trans[0], &n);
  cublasLtMatmulDescGetAttribute (desc, CUBLASLT_MATMUL_DESC_TRANSB, &trans[1], sizeof trans[1], &n);
  cublasLtMatmulDescGetAttribute (desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, &n);
  cublasLtMatmulPreferenceGetAttribute (preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                        sizeof workspace, &n);
  snprintf (text, QUESTION_BYTES, "cublaslt matmul compute=%" PRId32 " scale=%" PRId32 " trans=%c%c epilogue=%" PRIu32,
            compute, scale, "NTC"[trans[0] % 3], "NTC"[trans[1] % 3], epilogue);
  if ((epilogue & AUXILIARY) != 0)
    {
      int64_t ld = 0;

      cublasLtMatmulDescGetAttribute (desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof ld, &n);
      say (text, " aux=%" PRId64, ld);
    }
  say_matrix (text, "a", a);
  say_matrix (text, "b", b);
  say_matrix (text, "c", c);
  say_matrix (text, "d", d);
  for (int i = 0; i < 4; i++)
    {
      uint32_t bytes = 0;

      cublasLtMatmulPreferenceGetAttribute (preference, alignments[i], &bytes, sizeof bytes, &n);
      say (text, "%s%" PRIu32, i == 0 ? " align=" : ",", bytes);
    }
  say (text, " workspace=%" PRIu64, workspace);
}

/* ---- cuDNN ----------------------------------------------------------------------------------- */

static void
say_tensor (char *text, const char *name, cudnnTensorDescriptor_t tensor)
{
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int dim[4] = { 0 }, stride[4] = { 0 };

  cudnnGetTensor4dDescriptor (tensor, &type, &dim[0], &dim[1], &dim[2], &dim[3], &stride[0], &stride[1], &stride[2],
                              &stride[3]);
  say (text, " %s=%d:%dx%dx%dx%d/%d,%d,%d,%d", name, (int)type, dim[0], dim[1], dim[2], dim[3], stride[0], stride[1],
       stride[2], stride[3]);
}

void
question_convolution (char text[QUESTION_BYTES], const char *call, int algorithm, cudnnTensorDescriptor_t x,
                      cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t of, cudnnTensorDescriptor_t y)
{
  int dim[4] = { 0 }, pad[2] = { 0 }, stride[2] = { 0 }, dilation[2] = { 0 }, groups = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT, compute = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;

  cudnnGetFilter4dDescriptor (w, &type, &format, &dim[0], &dim[1], &dim[2], &dim[3]);
  cudnnGetConvolution2dDescriptor (of, &pad[0], &pad[1], &stride[0], &stride[1], &dilation[0], &dilation[1], &mode,
                                   &compute);
  cudnnGetConvolutionGroupCount (of, &groups);
  cudnnGetConvolutionMathType (of, &math);
  snprintf (text, QUESTION_BYTES, "cudnn %s algorithm=%d", call, algorithm);
  say_tensor (text, "x", x);
  say (text, " w=%d:%dx%dx%dx%d/format%d", (int)type, dim[0], dim[1], dim[2], dim[3], (int)format);
  say_tensor (text, "y", y);
  say (text, " pad=%d,%d stride=%d,%d dilation=%d,%d groups=%d mode=%d compute=%d math=%d", pad[0], pad[1], stride[0],
       stride[1], dilation[0], dilation[1], groups, (int)mode, (int)compute, (int)math);
}
