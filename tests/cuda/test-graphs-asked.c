/* Asks the real cuDNN, without a GPU, which engines it has for convolutions with a bias and for attention on compute
 * capability 9.0: the library answers for a device that is described to it in JSON. It has to have what the emulated
 * GPU has (of emulator/dnn-convolution.cc and dnn-attention.cc), and each engine has to make a plan by its name. Where
 * the library cannot be asked so, the test is skipped.
 *
 * The graphs are those of the back end itself, linked in; the linker hands their calls to the functions below, which
 * give the description where they give a handle. */
#include <dlfcn.h>
#include <glib.h>
#include <stdlib.h>

#include "kernels/attention.h"
#include "kernels/cuda/cuda-dnn.h"

/* An H100. */
static const char description[]
    = "{\"deviceName\":\"H100\",\"cudaDeviceId\":0,\"deviceVer\":900,\"driverVer\":13000,"
      "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
      "\"multiProcessorCount\":132,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
      "\"maxSharedMemoryPerBlockOptin\":232448,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
      "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"
      "\"supportCoopLaunch\":1,\"totalGlobalMem\":85000000000,\"smClockRateKHz\":1980000,"
      "\"memClockRateKHz\":2619000,\"l2CacheSize\":52428800}";

/* By their numbers, which older headers lack. */
#define DEVICEPROP         ((cudnnBackendDescriptorType_t)38)
#define DEVICEPROP_JSON    ((cudnnBackendAttributeName_t)2702)
#define ENGINEHEUR_DEVICE  ((cudnnBackendAttributeName_t)204)
#define PLAN_DEVICE        ((cudnnBackendAttributeName_t)407)
#define ENGINE_DEVICE      ((cudnnBackendAttributeName_t)1307)
#define OPERATIONGRAPH_OF  CUDNN_ATTR_OPERATIONGRAPH_HANDLE
#define PLAN_HANDLE_NUMBER 400

static cudnnBackendDescriptor_t gpu;

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

/* ---- what the graphs call of the back end ---------------------------------------------------- */

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

static gboolean
has_gpu (void)
{
  return cudnnBackendCreateDescriptor (DEVICEPROP, &gpu) == CUDNN_STATUS_SUCCESS
         && __real_cudnnBackendSetAttribute (gpu, DEVICEPROP_JSON, (cudnnBackendAttributeType_t)CUDNN_TYPE_CHAR,
                                             sizeof description, description)
                == CUDNN_STATUS_SUCCESS
         && cudnnBackendFinalize (gpu) == CUDNN_STATUS_SUCCESS;
}

/* x [32,channels,32,32], w [filters,channels/groups,3,3], padding of 1 before and `after` behind. */
static const struct
{
  const char *what;
  LoomDType type, bias;
  gint64 channels, filters, groups, stride, dilation, after;
  LoomScalarOp act;
  gboolean tf32;
  const char *named; /* an engine that it must have, or NULL for none at all */
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
  { "tf32", LOOM_F32, LOOM_F32, 64, 64, 1, 1, 1, 1, LOOM_SCALAR_RELU, TRUE, "eng51k2-4k13-0k18-0k25-1k27-7k28-1" },
  { "tanh", LOOM_BF16, LOOM_BF16, 64, 64, 1, 1, 1, 1, LOOM_SCALAR_TANH, FALSE, NULL },
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
  LoomDevice device = { .cudnn = &device }; /* not used: what stands for a handle */

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
      g_assert_cmpint (n > 0, ==, cases[i].named != NULL);
      for (int k = 0; k < n; k++)
        g_assert_cmpint (make (&device, spec, found[k].name), ==, LOOM_STATUS_OK);
      g_assert_cmpint (make (&device, spec, named), ==,
                       cases[i].named != NULL ? LOOM_STATUS_OK : LOOM_STATUS_UNSUPPORTED);
      g_assert_cmpint (make (&device, spec, CUDA_CONV_GRAPH ":eng99999"), ==, LOOM_STATUS_UNSUPPORTED);
    }
  cuda_conv_graph_close (&device);
  pthread_mutex_destroy (&device.lock);
}

#ifdef DRIVER_STUB
/* Attention of 12 heads of 64 features, each operand alone, or queries, keys and values side by side in each place. */
static const struct
{
  const char *what;
  gint64 places;
  gboolean gradient, in_place, causal;
  const char *algorithms;
} attentions[] = {
  { "forward", 1024, FALSE, FALSE, TRUE, "cudnn own" },
  { "forward in place", 1024, FALSE, TRUE, TRUE, "cudnn own" },
  { "gradient", 256, TRUE, FALSE, TRUE, "cudnn own" },
  { "gradient in place", 256, TRUE, TRUE, TRUE, "cudnn own" },
  { "gradient in place, all keys", 256, TRUE, TRUE, FALSE, "cudnn own" },
  { "long gradient in place", 1024, TRUE, TRUE, TRUE, "own" },
};

static void
attention_test (void)
{
  LoomDevice device = { .cudnn = &device };

  /* Of attention cuDNN says nothing before it has found a driver. What the toolkit has to link with will do as long as
   * nothing is loaded, and opened here it is found by its name. With one it has more engines for convolutions, too,
   * which are asked for before. */
  if (dlopen ("libcuda.so.1", RTLD_NOW) == NULL && dlopen (DRIVER_STUB, RTLD_NOW) == NULL)
    g_error ("%s", dlerror ());
  pthread_mutex_init (&device.lock, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (attentions); i++)
    {
      const gint64 t = attentions[i].places, length = 3 * 768;
      const LoomTensorDesc apart = { .dtype = LOOM_BF16, .rank = 4, .dim = { 2, 12, t, 64 } };
      const LoomTensorDesc together = { .dtype = LOOM_BF16, .rank = 3, .dim = { 2, t, length } };
      const LoomTensorDesc y = { .dtype = LOOM_BF16, .rank = 3, .dim = { 2, t, 768 } }, absent = { LOOM_N_DTYPES };
      const LoomTensorDesc lse = { .dtype = LOOM_F32, .rank = 3, .dim = { 2, 12, t } };
      const LoomTensorDesc q = attentions[i].in_place ? together : apart, g = attentions[i].in_place ? y : apart;
      const LoomTensorDesc backward[] = { g, q, q, q, lse, absent, absent, g }, forward[] = { q, q, q };
      const LoomTensorDesc to_backward[] = { q, q, q }, to_forward[] = { g, lse };
      LoomAttentionAttrs attrs = { .scale = 0.125, .causal = attentions[i].causal, .in_place = attentions[i].in_place };
      LoomKernelSpec spec = { .primitive = attentions[i].gradient ? "attention_grad" : "attention",
                              .attrs = &attrs,
                              .n_in = attentions[i].gradient ? 8 : 3,
                              .n_out = !attentions[i].gradient  ? 2
                                       : attentions[i].in_place ? 1
                                                                : 3,
                              .in = attentions[i].gradient ? backward : forward,
                              .out = attentions[i].gradient ? to_backward : to_forward };
      g_autoptr (GString) names = g_string_new (NULL);
      CudaAlgorithm found[LOOM_MAX_OPTIONS];
      LoomMessage message = { "" };
      int n = 0;

      attrs.sizes = (LoomAttentionSizes){ 2, 12, 12, t, t, 64, 64 };
      for (int k = 0; k < 3; k++)
        attrs.rows[LOOM_ATTENTION_Q + k] = attrs.rows[LOOM_ATTENTION_DQ + k]
            = (LoomAttentionRows){ k * 768, t * length, 64, length };
      attrs.rows[LOOM_ATTENTION_Y] = attrs.rows[LOOM_ATTENTION_G] = (LoomAttentionRows){ 0, t * 768, 64, 768 };
      g_assert_cmpint (cuda_attention_algorithms (&device, &spec, found, LOOM_MAX_OPTIONS, &n, &message), ==,
                       LOOM_STATUS_OK);
      for (int k = 0; k < n; k++)
        g_string_append_printf (names, "%s%s", k > 0 ? " " : "", found[k].name);
      g_test_message ("%s: %s, %zu bytes", attentions[i].what, names->str, n > 0 ? found[0].scratch : 0);
      g_assert_cmpstr (names->str, ==, attentions[i].algorithms);
    }
  cuda_attention_close (&device);
  pthread_mutex_destroy (&device.lock);
}
#endif

static void
not_asked_test (void)
{
  g_test_skip ("this cuDNN takes no description of a GPU");
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  if (has_gpu ())
    {
      g_test_add_func ("/cuda/graphs-asked/convolution", engines_test);
#ifdef DRIVER_STUB
      g_test_add_func ("/cuda/graphs-asked/attention", attention_test);
#endif
    }
  else
    g_test_add_func ("/cuda/graphs-asked", not_asked_test);
  status = g_test_run ();
  if (gpu != NULL)
    cudnnBackendDestroyDescriptor (gpu);
  return status;
}
