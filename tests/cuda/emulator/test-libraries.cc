/* Refusals of fake cuBLASLt and cuDNN, their own and those from the logs of real GPUs. */
#include <cublasLt.h>
#include <cudnn.h>
#include <string.h>
#include <thread>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/test-emulator.h"
#include "tests/cuda/question.h"

/* ---- cuBLASLt ------------------------------------------------------------------------------ */

/* d [4×2] = a [4×3] · b [3×2], f32, column major; a test changes one thing. */
typedef struct
{
  cudaDataType_t type[4];
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int64_t rows[4], columns[4], ld[4], stride[4];
  int32_t batches[4], order[4];
  uint32_t align[4];
  cublasLtEpilogue_t epilogue;
  uint64_t workspace;
  int64_t aux_ld;
} Product;

static const Product good = {
  { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F },
  CUBLAS_COMPUTE_32F,
  CUDA_R_32F,
  { 4, 3, 4, 4 },
  { 3, 2, 2, 2 },
  { 4, 3, 4, 4 },
  { 0, 0, 0, 0 },
  { 1, 1, 1, 1 },
  { CUBLASLT_ORDER_COL, CUBLASLT_ORDER_COL, CUBLASLT_ORDER_COL, CUBLASLT_ORDER_COL },
  { 16, 16, 16, 16 },
  CUBLASLT_EPILOGUE_DEFAULT,
  0,
};

struct Asked
{
  cublasLtMatmulDesc_t desc = NULL;
  cublasLtMatrixLayout_t layout[4] = { NULL };
  cublasLtMatmulHeuristicResult_t chosen;

  ~Asked ()
  {
    for (cublasLtMatrixLayout_t one : layout)
      cublasLtMatrixLayoutDestroy (one);
    cublasLtMatmulDescDestroy (desc);
  }
};

static cublasStatus_t
ask (const Product &p, Asked *to)
{
  static const cublasLtMatmulPreferenceAttributes_t alignments[]
      = { CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES };
  cublasLtMatmulPreference_t preference;
  cublasStatus_t status;
  int n = 0;

  OK (cublasLtMatmulDescCreate (&to->desc, p.compute, p.scale));
  OK (cublasLtMatmulDescSetAttribute (to->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &p.epilogue, sizeof p.epilogue));
  OK (cublasLtMatmulDescSetAttribute (to->desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &p.aux_ld, sizeof p.aux_ld));
  OK (cublasLtMatmulPreferenceCreate (&preference));
  OK (cublasLtMatmulPreferenceSetAttribute (preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &p.workspace, sizeof p.workspace));
  for (int i = 0; i < 4; i++)
    {
      OK (cublasLtMatrixLayoutCreate (&to->layout[i], p.type[i], p.rows[i], p.columns[i], p.ld[i]));
      OK (cublasLtMatrixLayoutSetAttribute (to->layout[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &p.batches[i], sizeof (int32_t)));
      OK (cublasLtMatrixLayoutSetAttribute (to->layout[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &p.stride[i],
                                            sizeof (int64_t)));
      OK (cublasLtMatrixLayoutSetAttribute (to->layout[i], CUBLASLT_MATRIX_LAYOUT_ORDER, &p.order[i], sizeof (int32_t)));
      OK (cublasLtMatmulPreferenceSetAttribute (preference, alignments[i], &p.align[i], sizeof (uint32_t)));
    }
  status = cublasLtMatmulAlgoGetHeuristic (NULL, to->desc, to->layout[0], to->layout[1], to->layout[2], to->layout[3], preference, 1,
                                           &to->chosen, &n);
  cublasLtMatmulPreferenceDestroy (preference);
  return status;
}

static cublasStatus_t
multiply (Asked *asked, const float *a, const float *b, float *d)
{
  const float one = 1, zero = 0;

  return cublasLtMatmul (NULL, asked->desc, &one, a, asked->layout[0], b, asked->layout[1], &zero, d, asked->layout[2], d,
                         asked->layout[3], &asked->chosen.algo, NULL, 0, NULL);
}

static void
product_test (void)
{
  const float a[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, b[6] = { 1, 0, 0, 0, 0, 2 };
  float *memory = test_memory (48);
  Asked asked;

  OK (cudaMemcpyAsync (memory, a, sizeof a, cudaMemcpyHostToDevice, NULL));
  OK (cudaMemcpyAsync (memory + 16, b, sizeof b, cudaMemcpyHostToDevice, NULL));
  OK (ask (good, &asked));
  OK (multiply (&asked, memory, memory + 16, memory + 32));
  for (int i = 0; i < 8; i++)
    g_assert_cmpfloat (test_value (memory + 32 + i), ==, i < 4 ? a[i] : 2 * a[4 + i]);
  OK (cudaFree (memory));
}

/* One thing is wrong in each. */
static void
product_refused_test (void)
{
  static const struct
  {
    const char *what;
    void (*change) (Product *);
    cublasStatus_t status;
  } cases[] = {
    { "a leading dimension below the rows", [] (Product *p) { p->ld[0] = 3; }, CUBLAS_STATUS_INVALID_VALUE },
    { "rows that do not fit", [] (Product *p) { p->rows[1] = p->ld[1] = 4; }, CUBLAS_STATUS_INVALID_VALUE },
    { "row order", [] (Product *p) { p->order[1] = CUBLASLT_ORDER_ROW; }, CUBLAS_STATUS_INVALID_VALUE },
    { "a c of another shape", [] (Product *p) { p->columns[2] = 3; }, CUBLAS_STATUS_INVALID_VALUE },
    { "two types", [] (Product *p) { p->type[1] = CUDA_R_16F; }, CUBLAS_STATUS_INVALID_VALUE },
    { "f64 in f32 sums", [] (Product *p) { p->type[0] = p->type[1] = p->type[2] = p->type[3] = CUDA_R_64F; },
      CUBLAS_STATUS_INVALID_VALUE },
    { "TF32 for bf16",
      [] (Product *p) {
        p->type[0] = p->type[1] = p->type[2] = p->type[3] = CUDA_R_16BF;
        p->compute = CUBLAS_COMPUTE_32F_FAST_TF32;
      },
      CUBLAS_STATUS_INVALID_VALUE },
    { "results that lie over each other",
      [] (Product *p) {
        for (int i = 0; i < 4; i++)
          p->batches[i] = 2;
        p->stride[2] = p->stride[3] = 7;
      },
      CUBLAS_STATUS_INVALID_VALUE },
    { "batches that differ", [] (Product *p) { p->batches[1] = 2; }, CUBLAS_STATUS_INVALID_VALUE },
    { "an alignment below an element's", [] (Product *p) { p->align[0] = 2; }, CUBLAS_STATUS_INVALID_VALUE },
    { "an epilogue on f64",
      [] (Product *p) {
        p->type[0] = p->type[1] = p->type[2] = p->type[3] = p->scale = CUDA_R_64F;
        p->compute = CUBLAS_COMPUTE_64F;
        p->epilogue = CUBLASLT_EPILOGUE_RELU;
      },
      CUBLAS_STATUS_NOT_SUPPORTED },
    { "an auxiliary matrix whose columns begin at no multiple of 8",
      [] (Product *p) {
        p->epilogue = CUBLASLT_EPILOGUE_DGELU;
        p->aux_ld = 4;
      },
      CUBLAS_STATUS_INVALID_VALUE },
    { "a mask whose columns begin at no multiple of 128",
      [] (Product *p) {
        p->epilogue = CUBLASLT_EPILOGUE_DRELU;
        p->aux_ld = 64;
      },
      CUBLAS_STATUS_INVALID_VALUE },
    { "a slope of sums of one product",
      [] (Product *p) {
        p->epilogue = CUBLASLT_EPILOGUE_DRELU;
        p->aux_ld = 128;
        p->columns[0] = p->rows[1] = 1;
      },
      CUBLAS_STATUS_NOT_SUPPORTED },
  };

  for (const auto &c : cases)
    {
      Product p = good;
      Asked asked;

      g_test_message ("%s", c.what);
      c.change (&p);
      g_assert_cmpint (ask (p, &asked), ==, c.status);
    }
  /* Adjacent batches are accepted. */
  Product p = good;
  Asked asked;

  for (int i = 0; i < 4; i++)
    p.batches[i] = 2;
  p.stride[2] = p.stride[3] = 8;
  OK (ask (p, &asked));
}

/* A product whose mask begins at this element. */
static void
multiply_masked (int at)
{
  float *memory = test_memory (64);
  const void *mask = memory + at;
  Product p = good;
  Asked asked;

  p.epilogue = CUBLASLT_EPILOGUE_DRELU;
  p.aux_ld = 128;
  OK (ask (p, &asked));
  OK (cublasLtMatmulDescSetAttribute (asked.desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &mask, sizeof mask));
  multiply (&asked, memory, memory + 16, memory + 32);
}

static void
product_short_mask_test (void)
{
  test_found ([] { multiply_masked (60); }, "*auxiliary matrix at * has not its 32 bytes*");
}

static void
product_misaligned_mask_test (void)
{
  test_found ([] { multiply_masked (49); }, "*for an auxiliary matrix at a multiple of 16 bytes and given*");
}

static void
product_misaligned_test (void)
{
  test_found (
      [] {
        float *memory = test_memory (48);
        Asked asked;

        ask (good, &asked);
        multiply (&asked, memory + 1, memory + 16, memory + 32);
      },
      "*cublasLtMatmul was promised a multiple of 16 bytes and given * as its A*");
}

static void
product_behind_test (void)
{
  test_found (
      [] {
        float *memory = test_memory (32);
        Asked asked;

        ask (good, &asked);
        multiply (&asked, memory, memory + 16, test_memory (7));
      },
      "*cublasLtMatmul's C has 32 bytes, which are not in one piece of memory*");
}

static void
multiply_with_sums (cublasLtEpilogue_t epilogue, size_t floats)
{
  float *memory = test_memory (48), *sums = test_memory (floats);
  Product p = good;
  Asked asked;

  p.epilogue = epilogue;
  ask (p, &asked);
  cublasLtMatmulDescSetAttribute (asked.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &sums, sizeof sums);
  multiply (&asked, memory, memory + 16, memory + 32);
}

/* The sums of B are a result, one for each column of D; those of A, one for each row. */
static void
product_sums_test (void)
{
  test_found ([] { multiply_with_sums (CUBLASLT_EPILOGUE_BGRADB, 1); },
              "*cublasLtMatmul's bias at * has not the 2 elements of a row in one piece of memory*");
}

static void
product_sums_of_a_test (void)
{
  test_found ([] { multiply_with_sums (CUBLASLT_EPILOGUE_BGRADA, 3); },
              "*cublasLtMatmul's bias at * has not the 4 elements of a column in one piece of memory*");
}

static void
product_overlap_test (void)
{
  test_found (
      [] {
        float *memory = test_memory (48);
        Asked asked;

        ask (good, &asked);
        multiply (&asked, memory, memory + 16, memory + 8);
      },
      "*cublasLtMatmul writes its result over an operand*");
}

/* An algorithm is valid only for the shape that it was proposed for. */
static void
product_other_algorithm_test (void)
{
  float *memory = test_memory (64);
  Product wide = good;
  Asked asked, other;

  wide.columns[1] = wide.columns[2] = wide.columns[3] = 4;
  OK (ask (good, &asked));
  OK (ask (wide, &other));
  other.chosen = asked.chosen;
  g_assert_cmpint (multiply (&other, memory, memory + 16, memory + 32), ==, CUBLAS_STATUS_INVALID_VALUE);
  OK (cudaFree (memory));
}

/* A configuration is made again from its attributes; one that the library does not have is refused. */
static void
product_configuration_test (void)
{
  float *memory = test_memory (1024);
  void *const workspace = memory + 256;
  const float one = 1, zero = 0;
  const uint32_t in_place = CUBLASLT_REDUCTION_SCHEME_INPLACE;
  const int32_t splits = 2, id = 3;
  uint32_t tile = 0;
  cublasLtMatmulHeuristicResult_t checked;
  cublasLtMatmulAlgo_t made;
  size_t written = 0;
  Asked asked;

  OK (ask (good, &asked));
  OK (cublasLtMatmulAlgoConfigGetAttribute (&asked.chosen.algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile, &written));
  g_assert_cmpuint (written, ==, sizeof tile);
  g_assert_cmpint (cublasLtMatmulAlgoConfigGetAttribute (&asked.chosen.algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, 2, &written),
                   ==, CUBLAS_STATUS_INVALID_VALUE);
  g_assert_cmpint (cublasLtMatmulAlgoInit (NULL, good.compute, good.scale, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, 3,
                                           &made),
                   ==, CUBLAS_STATUS_INVALID_VALUE);
  OK (cublasLtMatmulAlgoInit (NULL, good.compute, good.scale, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, 21, &made));
  g_assert_cmpint (cublasLtMatmulAlgoConfigSetAttribute (&made, CUBLASLT_ALGO_CONFIG_ID, &id, sizeof id), ==,
                   CUBLAS_STATUS_INVALID_VALUE);
  OK (cublasLtMatmulAlgoConfigSetAttribute (&made, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile));
  OK (cublasLtMatmulAlgoCheck (NULL, asked.desc, asked.layout[0], asked.layout[1], asked.layout[2], asked.layout[3], &made,
                               &checked));
  OK (cublasLtMatmul (NULL, asked.desc, &one, memory, asked.layout[0], memory + 16, asked.layout[1], &zero, memory + 32,
                      asked.layout[2], memory + 32, asked.layout[3], &checked.algo, workspace, checked.workspaceSize, NULL));
  /* Parts of a sum that are added in place have no fixed order. */
  OK (cublasLtMatmulAlgoConfigSetAttribute (&made, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof splits));
  OK (cublasLtMatmulAlgoConfigSetAttribute (&made, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &in_place, sizeof in_place));
  g_assert_cmpint (cublasLtMatmulAlgoCheck (NULL, asked.desc, asked.layout[0], asked.layout[1], asked.layout[2],
                                            asked.layout[3], &made, &checked),
                   ==, CUBLAS_STATUS_NOT_SUPPORTED);
  OK (cudaFree (memory));
}

/* A handle belongs to one thread at a time. */
static void
handle_test (void)
{
  test_found (
      [] {
        cudnnHandle_t handle;
        cudaStream_t stream[2];

        cudnnCreate (&handle);
        for (cudaStream_t &one : stream)
          cudaStreamCreateWithFlags (&one, cudaStreamNonBlocking);
        cudnnSetStream (handle, stream[0]);
        std::thread ([&] { cudnnSetStream (handle, stream[1]); }).join ();
      },
      "*cudnnSetStream: two threads take one handle to two streams*");
}

/* A function without a fake is reported by its name. */
static void
product_lacks_test (void)
{
  if (g_test_subprocess ())
    {
      const int32_t sm = 4;
      Product p = good;
      Asked asked;

      p.epilogue = CUBLASLT_EPILOGUE_DGELU_BGRAD;
      g_assert_cmpint (ask (p, &asked), ==, CUBLAS_STATUS_NOT_SUPPORTED);
      g_assert_cmpint (
          cublasLtMatmulDescSetAttribute (asked.desc, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &sm, sizeof sm), ==,
          CUBLAS_STATUS_NOT_SUPPORTED);
      return;
    }
  g_test_trap_subprocess (NULL, 0, (GTestSubprocessFlags)0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*cublasLtMatmul's epilogue 208 is not supported here*"
                             "cublasLtMatmulDescSetAttribute with attribute 15 is not supported here*");
}

/* ---- cuDNN ----------------------------------------------------------------------------------- */

/* Image [1,2,3,3], filter [2,2,2,2], result [1,2,2,2]. */
typedef struct
{
  cudnnDataType_t image, filter, compute;
  cudnnTensorFormat_t image_format, filter_format;
  int channels, rows;
  cudnnConvolutionFwdAlgo_t algorithm;
} Convolution;

static const Convolution plain = { CUDNN_DATA_FLOAT,  CUDNN_DATA_FLOAT,  CUDNN_DATA_FLOAT,
                                   CUDNN_TENSOR_NCHW, CUDNN_TENSOR_NCHW, 2,
                                   2,                 CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM };

struct Described
{
  cudnnHandle_t handle = NULL;
  cudnnTensorDescriptor_t x = NULL, y = NULL;
  cudnnFilterDescriptor_t w = NULL;
  cudnnConvolutionDescriptor_t of = NULL;
  size_t workspace = 0;

  ~Described ()
  {
    cudnnDestroyTensorDescriptor (x);
    cudnnDestroyTensorDescriptor (y);
    cudnnDestroyFilterDescriptor (w);
    cudnnDestroyConvolutionDescriptor (of);
    cudnnDestroy (handle);
  }
};

static cudnnStatus_t
describe (const Convolution &c, Described *to)
{
  OK (cudnnCreate (&to->handle));
  OK (cudnnCreateTensorDescriptor (&to->x));
  OK (cudnnCreateTensorDescriptor (&to->y));
  OK (cudnnCreateFilterDescriptor (&to->w));
  OK (cudnnCreateConvolutionDescriptor (&to->of));
  OK (cudnnSetTensor4dDescriptor (to->x, c.image_format, c.image, 1, 2, 3, 3));
  OK (cudnnSetTensor4dDescriptor (to->y, c.image_format, c.image, 1, 2, c.rows, 2));
  OK (cudnnSetFilter4dDescriptor (to->w, c.filter, c.filter_format, 2, c.channels, 2, 2));
  OK (cudnnSetConvolution2dDescriptor (to->of, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, c.compute));
  return cudnnGetConvolutionForwardWorkspaceSize (to->handle, to->x, to->w, to->of, to->y, c.algorithm, &to->workspace);
}

static cudnnStatus_t
convolve (const Convolution &c, Described *d, const void *x, const void *w, void *y, void *workspace, size_t bytes)
{
  const float one = 1, zero = 0;

  return cudnnConvolutionForward (d->handle, &one, d->x, x, d->w, w, d->of, c.algorithm, workspace, bytes, &zero, d->y, y);
}

static void
convolution_refused_test (void)
{
  static const struct
  {
    const char *what;
    void (*change) (Convolution *);
    cudnnStatus_t status;
  } cases[] = {
    { "two types", [] (Convolution *c) { c->filter = CUDNN_DATA_HALF; }, CUDNN_STATUS_BAD_PARAM },
    { "channels that do not fit", [] (Convolution *c) { c->channels = 1; }, CUDNN_STATUS_BAD_PARAM },
    { "a result of another size", [] (Convolution *c) { c->rows = 3; }, CUDNN_STATUS_BAD_PARAM },
    { "two layouts", [] (Convolution *c) { c->image_format = CUDNN_TENSOR_NHWC; }, CUDNN_STATUS_NOT_SUPPORTED },
    { "f64 in f32 sums", [] (Convolution *c) { c->image = c->filter = CUDNN_DATA_DOUBLE; }, CUDNN_STATUS_NOT_SUPPORTED },
    { "Winograd's algorithm for a filter of 2×2", [] (Convolution *c) { c->algorithm = CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD; },
      CUDNN_STATUS_NOT_SUPPORTED },
    { "an algorithm that the fake lacks", [] (Convolution *c) { c->algorithm = CUDNN_CONVOLUTION_FWD_ALGO_FFT; },
      CUDNN_STATUS_NOT_SUPPORTED },
  };

  for (const auto &one : cases)
    {
      Convolution c = plain;
      Described d;

      g_test_message ("%s", one.what);
      one.change (&c);
      g_assert_cmpint (describe (c, &d), ==, one.status);
    }
}

/* The same sums in each type and layout; less workspace than required is refused. */
static void
convolution_test (void)
{
  static const cudnnDataType_t types[] = { CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16 };
  float *workspace = test_memory (1024);

  for (cudnnDataType_t type : types)
    for (int nhwc = 0; nhwc < 2; nhwc++)
      {
        const bool wide = type == CUDNN_DATA_FLOAT;
        const uint16_t two = 0x4000; /* in f16, and in bf16 */
        guint8 image[18 * 4], filter[16 * 4], result[8 * 4];
        void *x = test_memory (18), *w = test_memory (16), *y = test_memory (8);
        Convolution c = plain;
        Described d;

        c.image = c.filter = type;
        c.image_format = c.filter_format = nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
        for (int i = 0; i < 18; i++)
          if (wide)
            ((float *)image)[i] = 2;
          else
            ((uint16_t *)image)[i] = two;
        for (int i = 0; i < 16; i++)
          if (wide)
            ((float *)filter)[i] = 2;
          else
            ((uint16_t *)filter)[i] = two;
        OK (cudaMemcpyAsync (x, image, 18 * (wide ? 4 : 2), cudaMemcpyHostToDevice, NULL));
        OK (cudaMemcpyAsync (w, filter, 16 * (wide ? 4 : 2), cudaMemcpyHostToDevice, NULL));
        OK (describe (c, &d));
        g_assert_cmpuint (d.workspace, <=, 4096);
        g_assert_cmpint (convolve (c, &d, x, w, y, workspace, d.workspace - 1), ==, CUDNN_STATUS_BAD_PARAM);
        OK (convolve (c, &d, x, w, y, workspace, d.workspace));
        OK (cudaMemcpyAsync (result, y, 8 * (wide ? 4 : 2), cudaMemcpyDeviceToHost, NULL));
        for (int i = 0; i < 8; i++)
          if (wide)
            g_assert_cmpfloat (((float *)result)[i], ==, 32);
          else
            g_assert_cmpuint (((uint16_t *)result)[i], ==, type == CUDNN_DATA_HALF ? 0x5000 : 0x4200);
        OK (cudaFree (x));
        OK (cudaFree (w));
        OK (cudaFree (y));
      }
  OK (cudaFree (workspace));
}

static void
convolution_overlap_test (void)
{
  test_found (
      [] {
        float *memory = test_memory (2048);
        Described d;

        describe (plain, &d);
        convolve (plain, &d, memory, memory + 32, memory + 16, memory + 1024, 4096);
      },
      "*cudnnConvolutionForward writes its result over its image*");
}

static void
convolution_behind_test (void)
{
  test_found (
      [] {
        Described d;

        describe (plain, &d);
        convolve (plain, &d, test_memory (18), test_memory (15), test_memory (8), test_memory (1024), 4096);
      },
      "*cudnnConvolutionForward's filter has 64 bytes, which are not in one piece of memory*");
}

/* ---- answers -------------------------------------------------------------------------------------- */

/* Questions that a GPU refused according to its log are refused; others are not. */
static void
answers_test (void)
{
  if (g_test_subprocess ())
    {
      g_autofree char *folder = g_dir_make_tmp ("answers-XXXXXX", NULL), *file = NULL, *text = NULL;
      Product other = good;
      Asked asked, allowed;

      file = g_build_filename (folder, "a-card.txt", NULL);
      g_setenv ("GRADLOOM_EMULATOR_ANSWERS", folder, TRUE);
      /* Questions to a GPU describe layouts and preferences in the same words. */
      other.ld[0] = 8;
      other.epilogue = CUBLASLT_EPILOGUE_BIAS;
      text = g_strdup ("# a card\n"
                       "cublaslt matmul compute=68 scale=0 trans=NN epilogue=4 a=0:4x3/8 b=0:3x2/3 c=0:4x2/4 d=0:4x2/4 "
                       "align=16,16,16,16 workspace=0 -> 15 CUBLAS_STATUS_NOT_SUPPORTED\n"
                       "cublaslt matmul compute=68 scale=0 trans=NN epilogue=1 a=0:4x3/4 b=0:3x2/3 c=0:4x2/4 d=0:4x2/4 "
                       "align=16,16,16,16 workspace=0 -> 0 CUBLAS_STATUS_SUCCESS\n"
                       "cudnn forward algorithm=1 x=0:1x2x3x3/18,9,3,1 w=0:2x2x2x2/format0 y=0:1x2x2x2/8,4,2,1 pad=0,0 "
                       "stride=1,1 dilation=1,1 groups=1 mode=1 compute=0 math=0 -> 3000 CUDNN_STATUS_NOT_SUPPORTED\n");
      g_assert_true (g_file_set_contents (file, text, -1, NULL));
      g_assert_cmpint (ask (other, &asked), ==, CUBLAS_STATUS_NOT_SUPPORTED);
      OK (ask (good, &allowed));
      Described d;
      g_assert_cmpint (describe (plain, &d), ==, 3000);
      return;
    }
  g_test_trap_subprocess (NULL, 0, (GTestSubprocessFlags)0);
  g_test_trap_assert_passed ();
}

void
add_library_tests (void)
{
  g_test_add_func ("/emulator/product/right", product_test);
  g_test_add_func ("/emulator/product/refused", product_refused_test);
  g_test_add_func ("/emulator/product/misaligned", product_misaligned_test);
  g_test_add_func ("/emulator/product/short-mask", product_short_mask_test);
  g_test_add_func ("/emulator/product/misaligned-mask", product_misaligned_mask_test);
  g_test_add_func ("/emulator/product/behind", product_behind_test);
  g_test_add_func ("/emulator/product/overlap", product_overlap_test);
  g_test_add_func ("/emulator/product/sums", product_sums_test);
  g_test_add_func ("/emulator/product/sums-of-a", product_sums_of_a_test);
  g_test_add_func ("/emulator/product/other-algorithm", product_other_algorithm_test);
  g_test_add_func ("/emulator/product/configuration", product_configuration_test);
  g_test_add_func ("/emulator/product/lacks", product_lacks_test);
  g_test_add_func ("/emulator/convolution/handle", handle_test);
  g_test_add_func ("/emulator/convolution/right", convolution_test);
  g_test_add_func ("/emulator/convolution/refused", convolution_refused_test);
  g_test_add_func ("/emulator/convolution/overlap", convolution_overlap_test);
  g_test_add_func ("/emulator/convolution/behind", convolution_behind_test);
  g_test_add_func ("/emulator/answers", answers_test);
}
