/* Tests which graphs a convolution with its bias and activation has on the emulated GPU, whose cuDNN has engines of the
 * real one, and that each is found by its name: test-convolution MODULE.so. tests/kernels/test-kernels-module tests the
 * results. */
#include <string.h>

#include "kernels/options.h"
#include "tests/cuda/module-device.h"
#include "tests/test-program.h"

#define GRAPH "cudnn-graph:"

static const LoomBackend *backend;
static LoomDevice *device;

/* x [4,channels,12,10], w [filters,channels/groups,3,3]. */
typedef struct
{
  const char *name;
  LoomDType type, bias;                                      /* LOOM_N_DTYPES: none */
  gint64 channels, filters, groups, stride, dilation, after; /* padding of H; 2 before, and 1 of W */
  LoomScalarOp act;
  gboolean tf32;
  guint64 nhwc;      /* operands and the result, as in LoomKernelOption */
  const char *first; /* of the graph's engines, or NULL */
} Case;

#define RELU   LOOM_SCALAR_RELU
#define PACKED 11 /* x, w and y; the bias is plain */
#define HOPPER "eng41k2-4k13-0k18-0k25-1k27-7k28-1"
#define HIDDEN "eng41k2-4k13-0k18-0k25-1k27-8k28-1"
#define AMPERE "eng10k2-2k13-0k14-3k18-0k23-2"
#define SIMPLE "eng11k2-4k3-0"

static const Case cases[] = {
  { "bf16", LOOM_BF16, LOOM_BF16, 16, 24, 1, 1, 1, 2, RELU, FALSE, PACKED, HOPPER },
  { "f16", LOOM_F16, LOOM_F16, 16, 24, 1, 1, 1, 2, RELU, FALSE, PACKED, HOPPER },
  { "f32-bias", LOOM_BF16, LOOM_F32, 16, 24, 1, 1, 1, 2, RELU, FALSE, PACKED, HOPPER },
  { "bias-alone", LOOM_BF16, LOOM_BF16, 16, 24, 1, 1, 1, 2, LOOM_SCALAR_ID, FALSE, PACKED, HOPPER },
  { "stride", LOOM_BF16, LOOM_F32, 16, 24, 1, 2, 1, 2, RELU, FALSE, PACKED, HOPPER },
  { "dilation", LOOM_F16, LOOM_F32, 16, 24, 1, 1, 2, 2, RELU, FALSE, PACKED, HOPPER },
  { "uneven", LOOM_BF16, LOOM_F32, 16, 24, 1, 1, 1, 3, RELU, FALSE, PACKED, HOPPER },
  { "groups", LOOM_BF16, LOOM_F32, 16, 16, 2, 1, 1, 2, RELU, FALSE, PACKED, AMPERE },
  { "depthwise", LOOM_BF16, LOOM_F32, 16, 16, 16, 1, 1, 2, RELU, FALSE, PACKED, "eng0" },
  { "few-channels", LOOM_BF16, LOOM_F32, 3, 24, 1, 1, 1, 2, RELU, FALSE, PACKED, SIMPLE },
  { "odd-channels", LOOM_BF16, LOOM_F32, 17, 23, 1, 1, 1, 2, RELU, FALSE, PACKED, AMPERE },
  { "tf32", LOOM_F32, LOOM_F32, 16, 24, 1, 1, 1, 2, RELU, TRUE, PACKED, "eng51k2-5k13-0k18-0k25-0k27-7k28-1" },
  { "f32", LOOM_F32, LOOM_F32, 16, 24, 1, 1, 1, 2, RELU, FALSE, PACKED, NULL },
  { "alone", LOOM_BF16, LOOM_N_DTYPES, 16, 24, 1, 1, 1, 2, LOOM_SCALAR_ID, FALSE, 7, NULL },
  { "relu-alone", LOOM_BF16, LOOM_N_DTYPES, 16, 24, 1, 1, 1, 2, RELU, FALSE, 7, NULL },
  { "tanh", LOOM_BF16, LOOM_BF16, 16, 24, 1, 1, 1, 2, LOOM_SCALAR_TANH, FALSE, PACKED, NULL },
};

typedef struct
{
  LoomConv2dAttrs attrs;
  LoomTensorDesc in[3], out;
  LoomKernelSpec spec;
} Call;

static void
call_init (Call *call, const Case *c)
{
  const gint64 size[2] = { 12, 10 };

  memset (call, 0, sizeof *call);
  call->attrs = (LoomConv2dAttrs){ .stride = { c->stride, c->stride },
                                   .pad = { 2, c->after, 1, 1 },
                                   .dilation = { c->dilation, c->dilation },
                                   .groups = c->groups,
                                   .has_bias = c->bias != LOOM_N_DTYPES,
                                   .act = c->act };
  call->in[0] = (LoomTensorDesc){ .dtype = c->type, .rank = 4, .dim = { 4, c->channels, size[0], size[1] } };
  call->in[1] = (LoomTensorDesc){ .dtype = c->type, .rank = 4, .dim = { c->filters, c->channels / c->groups, 3, 3 } };
  call->in[2] = (LoomTensorDesc){ .dtype = c->bias, .rank = 1, .dim = { c->filters } };
  call->out = (LoomTensorDesc){ .dtype = c->type, .rank = 4, .dim = { 4, c->filters } };
  for (int i = 0; i < 2; i++)
    call->out.dim[2 + i]
        = (size[i] + call->attrs.pad[2 * i] + call->attrs.pad[2 * i + 1] - 2 * c->dilation - 1) / c->stride + 1;
  call->spec = (LoomKernelSpec){ .primitive = "conv2d",
                                 .attrs = &call->attrs,
                                 .n_in = call->attrs.has_bias ? 3 : 2,
                                 .n_out = 1,
                                 .in = call->in,
                                 .out = &call->out,
                                 .tf32 = c->tf32 };
}

/* The kernel of that algorithm, all images and the filter in NHWC; NULL if there is none. */
static LoomKernel *
kernel_named (Call *call, const char *algorithm)
{
  LoomKernelSpec spec = call->spec;
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  LoomStatus status;

  call->in[0].layout = call->in[1].layout = call->out.layout = LOOM_LAYOUT_NHWC;
  spec.algorithm = algorithm;
  status = backend->kernel_new (device, &spec, &kernel, &message);
  call->in[0].layout = call->in[1].layout = call->out.layout = LOOM_LAYOUT_PLAIN;
  g_assert_true (status == LOOM_STATUS_OK || status == LOOM_STATUS_UNSUPPORTED);
  return kernel;
}

/* The names of the graph's engines, without their prefix; asserts that each has these layouts, and a kernel. */
static char **
engines_of (Call *call, guint64 nhwc)
{
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomMessage message = { "" };
  int n = backend->options (device, &call->spec, NULL, option, LOOM_MAX_OPTIONS, &message);
  GStrvBuilder *names = g_strv_builder_new ();
  char **all;

  g_assert_cmpint (n, >, 0);
  g_assert_cmpint (n, <, LOOM_MAX_OPTIONS);
  for (int i = 0; i < n; i++)
    if (g_str_has_prefix (option[i].algorithm, GRAPH))
      {
        LoomKernel *kernel = kernel_named (call, option[i].algorithm);

        g_assert_cmpuint (option[i].nhwc, ==, nhwc);
        g_assert_nonnull (kernel);
        g_assert_true (g_str_has_prefix (kernel->name, option[i].algorithm));
        kernel->free (kernel);
        g_strv_builder_add (names, option[i].algorithm + strlen (GRAPH));
      }
  all = g_strv_builder_end (names);
  g_strv_builder_unref (names);
  return all;
}

static void
engines_test (gconstpointer data)
{
  const Case *c = data;
  g_auto (GStrv) names = NULL;
  Call call;

  call_init (&call, c);
  names = engines_of (&call, c->nhwc);
  g_assert_cmpstr (names[0], ==, c->first);
  g_assert_cmpuint (g_strv_length (names), <=, 4);
  if (c->first != NULL)
    g_assert_cmpuint (g_strv_length (names), >, 1); /* several, for a choice by timing */
}

/* An engine that is not proposed is found by its name; an engine whose sums have no order, or with another number or
 * other knobs, is not. */
static void
names_test (void)
{
  static const struct
  {
    const char *name;
    gboolean has;
  } named[] = {
    { GRAPH HIDDEN, TRUE },     { GRAPH "eng5", FALSE },     { GRAPH "eng999", FALSE },
    { GRAPH "eng41", FALSE },   { GRAPH HOPPER "k", FALSE }, { GRAPH "eng41k2-4", FALSE },
    { GRAPH, FALSE },           { GRAPH "nonsense", FALSE }, { GRAPH HOPPER, TRUE },
    { "cudnn-graph-x", FALSE }, { GRAPH HOPPER " ", FALSE },
  };
  g_auto (GStrv) proposed = NULL;
  Call call;

  call_init (&call, &cases[0]);
  proposed = engines_of (&call, PACKED);
  g_assert_false (g_strv_contains ((const char *const *)proposed, HIDDEN));
  for (gsize i = 0; i < G_N_ELEMENTS (named); i++)
    {
      LoomKernel *kernel = kernel_named (&call, named[i].name);

      g_test_message ("%s", named[i].name);
      g_assert_true ((kernel != NULL) == named[i].has);
      if (kernel != NULL)
        kernel->free (kernel);
    }
  /* A plan that kept the name gets it as an option. */
  call.spec.algorithm = GRAPH HIDDEN;
  g_strfreev (proposed);
  proposed = engines_of (&call, PACKED);
  g_assert_cmpstr (proposed[0], ==, HIDDEN);
  g_assert_null (proposed[1]);
}

/* The planner asks about one call many times, and cuDNN is queried once; a failure is not kept. */
static void
asked_once_test (void)
{
  Case known = cases[0], other;
  Call call;

  known.filters = other.filters = 32;
  other = known;
  other.channels = 40;
  call_init (&call, &known);
  g_strfreev (engines_of (&call, PACKED));
  g_setenv ("GRADLOOM_EMULATOR_FAIL", "heuristics:1", TRUE);
  for (int i = 0; i < 2; i++)
    {
      g_auto (GStrv) names = engines_of (&call, PACKED);

      g_assert_cmpstr (names[0], ==, HOPPER);
    }
  call_init (&call, &other);
  for (int i = 0; i < 2; i++)
    {
      g_auto (GStrv) names = engines_of (&call, PACKED);

      g_assert_cmpstr (names[0], ==, i == 0 ? NULL : HOPPER);
    }
  g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
}

TEST_FILE (argc, argv)
{
  g_test_init (&argc, &argv, NULL);
  backend = module_device (argv[1], &device);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/convolution/engines/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], engines_test);
    }
  g_test_add_func ("/convolution/names", names_test);
  g_test_add_func ("/convolution/asked-once", asked_once_test);
  int status = g_test_run ();

  backend->device_close (device);
  return status;
}
