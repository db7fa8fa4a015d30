/* Asks the real cuDNN, without a GPU, which engines it has for convolutions with a bias and for attention on compute
 * capability 9.0, and which gradients of attention on other GPUs: the library answers for a device described in JSON.
 * It must have the engines of the emulated GPU (emulator/dnn-convolution.cc and dnn-attention.cc), and each engine of a
 * convolution must make a plan by its name. Versions without such descriptions are skipped.
 *
 * LD_LIBRARY_PATH selects other versions than the installed one; meson's option `cudnn_versions` names a folder of
 * them, which the script cudnn-versions fills.
 *
 * The graphs are those of the back end itself, linked in; the linker redirects their calls to the functions below,
 * which pass the description instead of a handle. */
#include <dlfcn.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attention.h"
#include "kernels/cuda/cuda-dnn.h"

/* The properties that engines depend on, as the driver would report them. cuDNN ignores unknown keys, so one
 * description serves all versions; from 9.27 on `memoryBusWidth` is mandatory. */
#define DESCRIPTION                                                                                                    \
  "{\"deviceName\":\"%s\",\"cudaDeviceId\":0,\"deviceVer\":%d,\"driverVer\":13000,"                                    \
  "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"                   \
  "\"multiProcessorCount\":%d,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"                                      \
  "\"maxSharedMemoryPerBlockOptin\":%d,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"             \
  "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":%d,\"pciDeviceId\":0,\"isTccDriver\":0,"        \
  "\"supportCoopLaunch\":1,\"totalGlobalMem\":%" G_GINT64_FORMAT ",\"smClockRateKHz\":1980000,"                        \
  "\"memClockRateKHz\":2619000,\"memoryBusWidth\":%d,\"l2CacheSize\":52428800}"

typedef struct
{
  const char *name;
  int version, processors, shared, threads;
  gint64 memory;
  int bus;
} Gpu;

static const Gpu h100 = { "H100", 900, 132, 232448, 2048, G_GINT64_CONSTANT (85000000000), 5120 };
#ifdef DRIVER_STUB
static const Gpu a100 = { "A100", 800, 108, 166912, 2048, G_GINT64_CONSTANT (85000000000), 5120 };
static const Gpu l4 = { "L4", 890, 58, 101376, 1536, G_GINT64_CONSTANT (24000000000), 192 };
static const Gpu b200 = { "B200", 1000, 148, 232448, 2048, G_GINT64_CONSTANT (190000000000), 8192 };
static const Gpu rtx5090 = { "RTX 5090", 1200, 170, 101376, 1536, G_GINT64_CONSTANT (32000000000), 512 };
#endif

/* Numbers, because older headers lack the names. */
#define DEVICEPROP                ((cudnnBackendDescriptorType_t)38)
#define DEVICEPROP_JSON           ((cudnnBackendAttributeName_t)2702)
#define ENGINEHEUR_DEVICE         ((cudnnBackendAttributeName_t)204)
#define PLAN_DEVICE               ((cudnnBackendAttributeName_t)407)
#define ENGINE_DEVICE             ((cudnnBackendAttributeName_t)1307)
#define OPERATIONGRAPH_OF         CUDNN_ATTR_OPERATIONGRAPH_HANDLE
#define PLAN_HANDLE_NUMBER        400
#define SUBLIBRARY_LOADING_FAILED 1008

static cudnnBackendDescriptor_t gpu;
static gsize version; /* the version that cuDNN pretends to have; 0: its own */

cudnnStatus_t __real_cudnnBackendSetAttribute (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                               cudnnBackendAttributeType_t, int64_t, const void *);
cudnnStatus_t __wrap_cudnnBackendSetAttribute (cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                               cudnnBackendAttributeType_t, int64_t, const void *);

static cudnnStatus_t
set_gpu (cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name)
{
  return __real_cudnnBackendSetAttribute (of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &gpu);
}

cudnnStatus_t
__wrap_cudnnBackendSetAttribute (cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                                 cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
  cudnnStatus_t status;

  if (name == OPERATIONGRAPH_OF)
    return CUDNN_STATUS_SUCCESS;
  if ((int)name == PLAN_HANDLE_NUMBER)
    return set_gpu (of, PLAN_DEVICE);
  status = __real_cudnnBackendSetAttribute (of, name, type, n, value);
  if (status == CUDNN_STATUS_SUCCESS && name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
    status = set_gpu (of, ENGINEHEUR_DEVICE);
  if (status == CUDNN_STATUS_SUCCESS && name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH)
    status = set_gpu (of, ENGINE_DEVICE);
  return status;
}

size_t __real_cudnnGetVersion (void);
size_t __wrap_cudnnGetVersion (void);

size_t
__wrap_cudnnGetVersion (void)
{
  return version != 0 ? version : __real_cudnnGetVersion ();
}

/* ---- functions of the back end that the graphs call -------------------------------------------- */

LoomStatus
cuda_fail (LoomMessage *message, LoomStatus status, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_vsnprintf (message->text, sizeof message->text, format, args);
  va_end (args);
  return status;
}

const char *
cuda_name_keep (const char *text)
{
  return g_intern_string (text);
}

static void
nothing_free (LoomKernel *kernel)
{
  free (kernel);
}

static LoomStatus
own_new (LoomKernel **kernel)
{
  *kernel = calloc (1, sizeof **kernel);
  (*kernel)->free = nothing_free;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_copy_new (G_GNUC_UNUSED LoomDevice *device, G_GNUC_UNUSED const LoomKernelSpec *spec, LoomKernel **kernel,
               G_GNUC_UNUSED LoomMessage *message)
{
  return own_new (kernel);
}

LoomStatus
cuda_attention_new (G_GNUC_UNUSED LoomDevice *device, G_GNUC_UNUSED const LoomKernelSpec *spec, LoomKernel **kernel,
                    G_GNUC_UNUSED LoomMessage *message)
{
  return own_new (kernel);
}

LoomStatus
cuda_attention_grad_new (G_GNUC_UNUSED LoomDevice *device, G_GNUC_UNUSED const LoomKernelSpec *spec,
                         LoomKernel **kernel, G_GNUC_UNUSED LoomMessage *message)
{
  return own_new (kernel);
}

/* ---- questions --------------------------------------------------------------------------------- */

/* The reason why cuDNN cannot be asked; NULL if it can. A refused description fails the test. */
static const char *
describe_gpu (const Gpu *of)
{
  g_autofree char *text = g_strdup_printf (DESCRIPTION, of->name, of->version, of->processors, of->shared, of->threads,
                                           of->memory, of->bus);
  cudnnStatus_t status;

  g_clear_pointer (&gpu, cudnnBackendDestroyDescriptor);
  if (cudnnBackendCreateDescriptor (DEVICEPROP, &gpu) != CUDNN_STATUS_SUCCESS)
    return "this cuDNN is older than descriptions of GPUs";
  g_assert_cmpint (__real_cudnnBackendSetAttribute (gpu, DEVICEPROP_JSON, (cudnnBackendAttributeType_t)CUDNN_TYPE_CHAR,
                                                    (int64_t)strlen (text) + 1, text),
                   ==, CUDNN_STATUS_SUCCESS);
  status = cudnnBackendFinalize (gpu);
#ifndef DRIVER_STUB
  if ((int)status == SUBLIBRARY_LOADING_FAILED)
    return "this cuDNN needs a driver, and the toolkit has no stub of one";
#endif
  g_assert_cmpint (status, ==, CUDNN_STATUS_SUCCESS);
  return NULL;
}

/* x [32,channels,32,32], w [filters,channels/groups,3,3], padding of 1 before and `after` after. */
static const struct
{
  const char *what;
  LoomDType type, bias;
  gint64 channels, filters, groups, stride, dilation, after;
  LoomScalarOp act;
  gboolean tf32;
  const char *named; /* an engine that every version and the emulated GPU have */
} cases[] = {
  { "bf16", LOOM_BF16, LOOM_BF16, 64, 64, 1, 1, 1, 1, LOOM_SCALAR_RELU, FALSE, "eng41k2-4k13-0k18-0k25-1k27-8k28-1" },
  { "f16, f32 bias", LOOM_F16, LOOM_F32, 64, 64, 1, 1, 1, 1, LOOM_SCALAR_RELU, FALSE,
    "eng41k2-4k13-0k18-0k25-1k27-7k28-1" },
  { "bias alone", LOOM_BF16, LOOM_F32, 64, 64, 1, 1, 1, 1, LOOM_SCALAR_ID, FALSE,
    "eng41k2-4k13-0k18-0k25-1k27-7k28-1" },
  { "stride, dilation, uneven", LOOM_BF16, LOOM_F32, 64, 64, 1, 2, 2, 2, LOOM_SCALAR_RELU, FALSE,
    "eng10k2-2k13-0k14-3k18-0k23-2" },
  { "groups", LOOM_BF16, LOOM_F32, 64, 64, 2, 1, 1, 1, LOOM_SCALAR_RELU, FALSE, "eng10k2-2k13-0k14-3k18-0k23-2" },
  { "depthwise", LOOM_BF16, LOOM_F32, 64, 64, 64, 1, 1, 1, LOOM_SCALAR_RELU, FALSE, "eng0" },
  { "few channels", LOOM_BF16, LOOM_F32, 3, 64, 1, 1, 1, 1, LOOM_SCALAR_RELU, FALSE, "eng11k2-4k3-0" },
  { "odd channels", LOOM_BF16, LOOM_F32, 65, 41, 1, 1, 1, 1, LOOM_SCALAR_RELU, FALSE, "eng10k2-2k13-0k14-3k18-0k23-2" },
  { "tf32", LOOM_F32, LOOM_F32, 64, 64, 1, 1, 1, 1, LOOM_SCALAR_RELU, TRUE, "eng51k2-5k13-0k18-0k25-0k27-7k28-1" },
};

static LoomStatus
make (LoomDevice *device, LoomKernelSpec spec, const char *algorithm)
{
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  LoomStatus status;

  spec.algorithm = algorithm;
  status = cuda_conv_graph_new (device, &spec, &kernel, &message);
  if (kernel != NULL)
    kernel->free (kernel);
  return status;
}

static void
engines_test (void)
{
  LoomDevice device = { .cudnn = &device }; /* not used: stands for a handle */

  pthread_mutex_init (&device.lock, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const gint64 channels = cases[i].channels, filters = cases[i].filters, step = cases[i].stride;
      const gint64 size = (32 + 1 + cases[i].after - 2 * cases[i].dilation - 1) / step + 1;
      const LoomConv2dAttrs attrs = { .stride = { step, step },
                                      .pad = { 1, cases[i].after, 1, cases[i].after },
                                      .dilation = { cases[i].dilation, cases[i].dilation },
                                      .groups = cases[i].groups,
                                      .has_bias = TRUE,
                                      .act = cases[i].act };
      const LoomTensorDesc in[3]
          = { { .dtype = cases[i].type, .layout = LOOM_LAYOUT_NHWC, .rank = 4, .dim = { 32, channels, 32, 32 } },
              { .dtype = cases[i].type,
                .layout = LOOM_LAYOUT_NHWC,
                .rank = 4,
                .dim = { filters, channels / cases[i].groups, 3, 3 } },
              { .dtype = cases[i].bias, .rank = 1, .dim = { filters } } };
      const LoomTensorDesc out
          = { .dtype = cases[i].type, .layout = LOOM_LAYOUT_NHWC, .rank = 4, .dim = { 32, filters, size, size } };
      const LoomKernelSpec spec = {
        .primitive = "conv2d", .attrs = &attrs, .n_in = 3, .n_out = 1, .in = in, .out = &out, .tf32 = cases[i].tf32
      };
      g_autofree char *named = g_strconcat (CUDA_CONV_GRAPH ":", cases[i].named, NULL);
      CudaAlgorithm found[LOOM_MAX_OPTIONS];
      LoomMessage message = { "" };
      int n = 0;

      g_assert_cmpint (cuda_conv_graph_algorithms (&device, &spec, found, LOOM_MAX_OPTIONS, &n, &message), ==,
                       LOOM_STATUS_OK);
      g_test_message ("%s: %d, the first %s", cases[i].what, n, n > 0 ? found[0].name : "none");
      g_assert_cmpint (n, >, 0);
      for (int k = 0; k < n; k++)
        g_assert_cmpint (make (&device, spec, found[k].name), ==, LOOM_STATUS_OK);
      g_assert_cmpint (make (&device, spec, named), ==, LOOM_STATUS_OK);
      g_assert_cmpint (make (&device, spec, CUDA_CONV_GRAPH ":eng99999"), ==, LOOM_STATUS_UNSUPPORTED);
    }
  cuda_conv_graph_close (&device);
  pthread_mutex_destroy (&device.lock);
}

#ifdef DRIVER_STUB
/* Attention of 12 heads, each operand in a tensor of its own, or queries, keys and values next to each other in each
 * row. `version`, if not 0, is the version that cuDNN pretends to have. */
static const struct
{
  const char *what;
  const Gpu *gpu;
  gint64 queries, keys, width, depth;
  gboolean gradient, in_place, causal;
  gsize version;
  const char *algorithms;
} attentions[] = {
  { "forward", &h100, 1024, 1024, 64, 64, FALSE, FALSE, TRUE, 0, "cudnn own" },
  { "forward in place", &h100, 1024, 1024, 64, 64, FALSE, TRUE, TRUE, 0, "cudnn own" },
  { "gradient", &h100, 256, 256, 64, 64, TRUE, FALSE, TRUE, 0, "cudnn own" },
  { "gradient in place", &h100, 256, 256, 64, 64, TRUE, TRUE, TRUE, 0, "cudnn own" },
  { "gradient in place, all keys", &h100, 256, 256, 64, 64, TRUE, TRUE, FALSE, 0, "cudnn own" },
  { "long gradient in place", &h100, 1024, 1024, 64, 64, TRUE, TRUE, TRUE, 0, "own" },
  /* Which heads have a gradient depends on the GPU. */
  { "heads of 256", &h100, 256, 256, 256, 256, TRUE, FALSE, TRUE, 0, "cudnn own" },
  { "heads of 136", &h100, 256, 256, 136, 136, TRUE, FALSE, TRUE, 0, "cudnn own" },
  { "heads of 192 and 128", &h100, 256, 256, 192, 128, TRUE, FALSE, TRUE, 0, "cudnn own" },
  { "heads of 128", &a100, 256, 256, 128, 128, TRUE, FALSE, TRUE, 0, "cudnn own" },
  { "heads of 136", &a100, 256, 256, 136, 136, TRUE, FALSE, TRUE, 0, "own" },
  { "heads of 256", &a100, 256, 256, 256, 256, TRUE, FALSE, TRUE, 0, "own" },
  { "heads of 128", &l4, 256, 256, 128, 128, TRUE, FALSE, TRUE, 0, "cudnn own" },
  { "heads of 192 and 128", &l4, 256, 256, 192, 128, TRUE, FALSE, TRUE, 0, "own" },
  { "heads of 128", &b200, 256, 256, 128, 128, TRUE, FALSE, TRUE, 0, "cudnn own" },
  { "heads of 136", &b200, 256, 256, 136, 136, TRUE, FALSE, TRUE, 0, "own" },
  { "heads of 192 and 128", &b200, 256, 256, 192, 128, TRUE, FALSE, TRUE, 0, "own" },
  { "heads of 128", &rtx5090, 256, 256, 128, 128, TRUE, FALSE, TRUE, 0, "cudnn own" },
  { "heads of 256", &rtx5090, 256, 256, 256, 256, TRUE, FALSE, TRUE, 0, "own" },
  /* Before 9.15.1, replayed gradients may read past keys whose number is no multiple of 128. */
  { "200 keys, 9.15.0", &h100, 256, 200, 64, 64, TRUE, FALSE, FALSE, 91500, "own" },
  { "200 keys, 9.15.1", &h100, 256, 200, 64, 64, TRUE, FALSE, FALSE, 91501, "cudnn own" },
  { "256 keys, 9.15.0", &h100, 200, 256, 64, 64, TRUE, FALSE, FALSE, 91500, "cudnn own" },
  { "200 keys forward, 9.15.0", &h100, 256, 200, 64, 64, FALSE, FALSE, FALSE, 91500, "cudnn own" },
};

static void
attention_test (void)
{
  LoomDevice device = { .cudnn = &device };

  pthread_mutex_init (&device.lock, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (attentions); i++)
    {
      const gint64 queries = attentions[i].queries, keys = attentions[i].keys;
      const gint64 width = attentions[i].width, depth = attentions[i].depth, length = 12 * (2 * width + depth);
      const LoomTensorDesc q = { .dtype = LOOM_BF16, .rank = 4, .dim = { 2, 12, queries, width } };
      const LoomTensorDesc k = { .dtype = LOOM_BF16, .rank = 4, .dim = { 2, 12, keys, width } };
      const LoomTensorDesc v = { .dtype = LOOM_BF16, .rank = 4, .dim = { 2, 12, keys, depth } };
      const LoomTensorDesc y = { .dtype = LOOM_BF16, .rank = 4, .dim = { 2, 12, queries, depth } };
      const LoomTensorDesc together = { .dtype = LOOM_BF16, .rank = 3, .dim = { 2, queries, length } };
      const LoomTensorDesc joined = { .dtype = LOOM_BF16, .rank = 3, .dim = { 2, queries, 12 * depth } };
      const LoomTensorDesc absent = { LOOM_N_DTYPES };
      const LoomTensorDesc lse = { .dtype = LOOM_F32, .rank = 3, .dim = { 2, 12, queries } };
      const gboolean in_place = attentions[i].in_place, gradient = attentions[i].gradient;
      const LoomTensorDesc g = in_place ? joined : y, of_q = in_place ? together : q, of_k = in_place ? together : k;
      const LoomTensorDesc of_v = in_place ? together : v;
      const LoomTensorDesc backward[] = { g, of_q, of_k, of_v, lse, absent, absent, g }, *forward = backward + 1;
      const LoomTensorDesc to_backward[] = { of_q, of_k, of_v }, to_forward[] = { g, lse };
      LoomAttentionAttrs attrs = { .scale = 0.125, .causal = attentions[i].causal, .in_place = in_place };
      const LoomKernelSpec spec = { .primitive = gradient ? "attention_grad" : "attention",
                                    .attrs = &attrs,
                                    .n_in = gradient ? 8 : 3,
                                    .n_out = !gradient  ? 2
                                             : in_place ? 1
                                                        : 3,
                                    .in = gradient ? backward : forward,
                                    .out = gradient ? to_backward : to_forward };
      g_autoptr (GString) names = g_string_new (NULL);
      CudaAlgorithm found[LOOM_MAX_OPTIONS];
      LoomMessage message = { "" };
      int n = 0;

      g_assert_null (describe_gpu (attentions[i].gpu));
      version = attentions[i].version;
      attrs.sizes = (LoomAttentionSizes){ 2, 12, 12, queries, keys, width, depth };
      for (int part = 0; part < 3; part++)
        attrs.rows[LOOM_ATTENTION_Q + part] = attrs.rows[LOOM_ATTENTION_DQ + part]
            = (LoomAttentionRows){ part * 12 * width, queries * length, width, length };
      attrs.rows[LOOM_ATTENTION_Y] = attrs.rows[LOOM_ATTENTION_G]
          = (LoomAttentionRows){ 0, queries * 12 * depth, depth, 12 * depth };
      g_assert_cmpint (cuda_attention_algorithms (&device, &spec, found, LOOM_MAX_OPTIONS, &n, &message), ==,
                       LOOM_STATUS_OK);
      for (int j = 0; j < n; j++)
        g_string_append_printf (names, "%s%s", j > 0 ? " " : "", found[j].name);
      g_test_message ("%s, %s: %s, %zu bytes", attentions[i].gpu->name, attentions[i].what, names->str,
                      n > 0 ? found[0].scratch : 0);
      g_assert_cmpstr (names->str, ==, attentions[i].algorithms);
      /* Answers are kept for one GPU only. */
      cuda_attention_close (&device);
    }
  pthread_mutex_destroy (&device.lock);
}
#endif

static void
not_asked_test (gconstpointer why)
{
  g_test_skip (why);
}

int
main (int argc, char **argv)
{
  const char *why;
  int status;

#ifdef DRIVER_STUB
  /* Parts of cuDNN are loaded only after a driver. The toolkit's stub library suffices as long as no kernel is loaded,
   * and once opened here it is found by its name. */
  if (dlopen ("libcuda.so.1", RTLD_NOW) == NULL && dlopen (DRIVER_STUB, RTLD_NOW) == NULL)
    g_error ("%s", dlerror ());
#endif
  g_test_init (&argc, &argv, NULL);
  why = describe_gpu (&h100);
  if (why == NULL)
    {
      g_test_message ("cuDNN %zu", __real_cudnnGetVersion ());
      g_test_add_func ("/cuda/graphs-asked/convolution", engines_test);
#ifdef DRIVER_STUB
      g_test_add_func ("/cuda/graphs-asked/attention", attention_test);
#endif
    }
  else
    g_test_add_data_func ("/cuda/graphs-asked", why, not_asked_test);
  status = g_test_run ();
  g_clear_pointer (&gpu, cudnnBackendDestroyDescriptor);
  return status;
}
