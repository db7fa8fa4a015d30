/* `gradloom bench devices`, last part: times the convolutions of three nets by all algorithms of a device: our own
 * loops and a library's algorithms; and matrix products by textbook kernels and by cuBLAS.
 *
 * Layers are those of VGG-16 (Simonyan and Zisserman 2015, configuration D) and of ResNet-18 and -50 (He et al. 2016,
 * table 1, with the stride in the 3×3 convolution as in torchvision), for images of 224×224. After each net follows the
 * sum of its forward convolutions. */
#include "app/lab/bench-private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SECONDS   0.05 /* for one algorithm of one layer, unless windows are shorter */
#define CPU_BATCH 1
#define GPU_BATCH 16
#define MOST      LOOM_MAX_OPTIONS /* algorithms of a net */

typedef struct
{
  const char *name;
  int from, to, size, kernel, stride; /* channels; rows of the image */
  int times;                          /* number of occurrences in the net */
} Layer;

typedef struct
{
  const char *name;
  const Layer *layer;
  guint n;
} Net;

static const Layer vgg16[] = {
  { "conv1_1", 3, 64, 224, 3, 1, 1 },    { "conv1_2", 64, 64, 224, 3, 1, 1 },  { "conv2_1", 64, 128, 112, 3, 1, 1 },
  { "conv2_2", 128, 128, 112, 3, 1, 1 }, { "conv3_1", 128, 256, 56, 3, 1, 1 }, { "conv3_2", 256, 256, 56, 3, 1, 2 },
  { "conv4_1", 256, 512, 28, 3, 1, 1 },  { "conv4_2", 512, 512, 28, 3, 1, 2 }, { "conv5_1", 512, 512, 14, 3, 1, 3 },
};

static const Layer resnet18[] = {
  { "conv1", 3, 64, 224, 7, 2, 1 },
  { "layer1", 64, 64, 56, 3, 1, 4 },
  { "layer2.0.conv1", 64, 128, 56, 3, 2, 1 },
  { "layer2.0.downsample", 64, 128, 56, 1, 2, 1 },
  { "layer2", 128, 128, 28, 3, 1, 3 },
  { "layer3.0.conv1", 128, 256, 28, 3, 2, 1 },
  { "layer3.0.downsample", 128, 256, 28, 1, 2, 1 },
  { "layer3", 256, 256, 14, 3, 1, 3 },
  { "layer4.0.conv1", 256, 512, 14, 3, 2, 1 },
  { "layer4.0.downsample", 256, 512, 14, 1, 2, 1 },
  { "layer4", 512, 512, 7, 3, 1, 3 },
};

static const Layer resnet50[] = {
  { "conv1", 3, 64, 224, 7, 2, 1 },
  { "layer1.0.conv1", 64, 64, 56, 1, 1, 1 },
  { "layer1.1.conv1", 256, 64, 56, 1, 1, 2 },
  { "layer1.0.conv2", 64, 64, 56, 3, 1, 3 },
  { "layer1.0.conv3", 64, 256, 56, 1, 1, 4 },
  { "layer2.0.conv1", 256, 128, 56, 1, 1, 1 },
  { "layer2.1.conv1", 512, 128, 28, 1, 1, 3 },
  { "layer2.0.conv2", 128, 128, 56, 3, 2, 1 },
  { "layer2.1.conv2", 128, 128, 28, 3, 1, 3 },
  { "layer2.0.conv3", 128, 512, 28, 1, 1, 4 },
  { "layer2.0.downsample", 256, 512, 56, 1, 2, 1 },
  { "layer3.0.conv1", 512, 256, 28, 1, 1, 1 },
  { "layer3.1.conv1", 1024, 256, 14, 1, 1, 5 },
  { "layer3.0.conv2", 256, 256, 28, 3, 2, 1 },
  { "layer3.1.conv2", 256, 256, 14, 3, 1, 5 },
  { "layer3.0.conv3", 256, 1024, 14, 1, 1, 6 },
  { "layer3.0.downsample", 512, 1024, 28, 1, 2, 1 },
  { "layer4.0.conv1", 1024, 512, 14, 1, 1, 1 },
  { "layer4.1.conv1", 2048, 512, 7, 1, 1, 2 },
  { "layer4.0.conv2", 512, 512, 14, 3, 2, 1 },
  { "layer4.1.conv2", 512, 512, 7, 3, 1, 2 },
  { "layer4.0.conv3", 512, 2048, 7, 1, 1, 3 },
  { "layer4.0.downsample", 1024, 2048, 14, 1, 2, 1 },
};

static const Net nets[] = { { "vgg16", vgg16, G_N_ELEMENTS (vgg16) },
                            { "resnet18", resnet18, G_N_ELEMENTS (resnet18) },
                            { "resnet50", resnet50, G_N_ELEMENTS (resnet50) } };

/* ---- one call -------------------------------------------------------------- */

/* An algorithm, in its fastest layout. */
typedef struct
{
  const char *name;
  double seconds;
} Timed;

static int
find (const Timed *timed, guint n, const char *name)
{
  for (guint i = 0; i < n; i++)
    if (strcmp (timed[i].name, name) == 0)
      return (int)i;
  return -1;
}

/* cuBLASLt has many similar configurations, of which only the first is measured. */
static const char *
family (const char *algorithm)
{
  return g_str_has_prefix (algorithm, "cublaslt:") ? "cublaslt" : algorithm;
}

/* Times every algorithm that the device lists for the call, or the one that spec names. */
static gboolean
time_call (const LoomPlanDevice *device, const LoomKernelSpec *spec, const BenchOptions *o, Timed *timed, guint *n,
           GError **error)
{
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomMessage message = { "" };
  int n_options = device->backend->options (device->device, spec, NULL, option, LOOM_MAX_OPTIONS, &message);

  for (int i = 0; i < n_options; i++)
    {
      const char *name = family (option[i].algorithm);
      int at = find (timed, *n, name);
      double seconds;

      if (at >= 0 && !g_str_equal (name, option[i].algorithm))
        continue;
      if (!loom_tune_time (device, spec, &option[i], MIN (o->seconds, SECONDS), &seconds, error))
        return FALSE;
      if (at < 0 && *n < MOST)
        timed[(*n)++] = (Timed){ name, seconds };
      else if (at >= 0)
        timed[at].seconds = MIN (timed[at].seconds, seconds);
    }
  return TRUE;
}

static void
show (const LoomPlanDevice *device, const BenchOptions *o, const char *what, const char *algorithm, gint64 size,
      double flops, double seconds)
{
  if (o->json)
    {
      LoomJson *json = command_event_new ("layer");

      loom_json_string (json, "device", device->name);
      loom_json_string (json, "what", what);
      loom_json_string (json, "algorithm", algorithm);
      loom_json_int (json, "size", size);
      loom_json_number (json, "seconds", seconds);
      loom_json_number (json, "gflops", flops / seconds * 1e-9);
      command_event_print (json);
    }
  else
    {
      /* Pads a column by characters, because × and → have several bytes. */
      const int width = 46 + (int)strlen (what) - (int)g_utf8_strlen (what, -1);

      printf ("%-8s %-*s %5" G_GINT64_FORMAT " %-24s %10.3f ms %10.1f GFLOP/s\n", device->name, width, what, size,
              algorithm, seconds * 1e3, flops / seconds * 1e-9);
    }
  command_flush ();
}

/* ---- convolutions ------------------------------------------------------------ */

static gboolean
bench_layer (const LoomPlanDevice *device, const Layer *l, gint64 batch, const BenchOptions *o, Timed *timed, guint *n,
             double *flops, GError **error)
{
  const int pad = l->kernel / 2, to_size = (l->size + 2 * pad - l->kernel) / l->stride + 1;
  const LoomTensorDesc in[] = { { .dtype = LOOM_F32, .rank = 4, .dim = { batch, l->from, l->size, l->size } },
                                { .dtype = LOOM_F32, .rank = 4, .dim = { l->to, l->from, l->kernel, l->kernel } } };
  const LoomTensorDesc out = { .dtype = LOOM_F32, .rank = 4, .dim = { batch, l->to, to_size, to_size } };
  const LoomConv2dAttrs attrs = { .stride = { l->stride, l->stride },
                                  .pad = { pad, pad, pad, pad },
                                  .dilation = { 1, 1 },
                                  .groups = 1,
                                  .act = LOOM_SCALAR_ID };
  const LoomKernelSpec spec = { .primitive = "conv2d", .attrs = &attrs, .n_in = 2, .n_out = 1, .in = in, .out = &out };

  *flops = 2.0 * (double)batch * l->to * to_size * to_size * l->from * l->kernel * l->kernel;
  return time_call (device, &spec, o, timed, n, error);
}

/* Adds a layer's times to the net's. A layer that an algorithm does not support counts with the fastest algorithm's
 * time. */
static void
add_layer (Timed *sum, guint *n_sum, double *best_sum, const Timed *timed, guint n, int times)
{
  double best = INFINITY;

  for (guint i = 0; i < n; i++)
    best = MIN (best, timed[i].seconds);
  for (guint i = 0; i < n; i++)
    if (find (sum, *n_sum, timed[i].name) < 0 && *n_sum < MOST)
      sum[(*n_sum)++] = (Timed){ timed[i].name, *best_sum };
  for (guint i = 0; i < *n_sum; i++)
    {
      int at = find (timed, n, sum[i].name);

      sum[i].seconds += times * (at >= 0 ? timed[at].seconds : best);
    }
  *best_sum += times * best;
}

static gboolean
bench_net (const LoomPlanDevice *device, const Net *net, const BenchOptions *o, GError **error)
{
  const gint64 batch = device->info.host_memory ? CPU_BATCH : GPU_BATCH;
  Timed sum[MOST];
  double best_sum = 0, all_flops = 0;
  guint n_sum = 0;

  for (guint i = 0; i < net->n; i++)
    {
      const Layer *l = &net->layer[i];
      g_autofree char *what = g_strdup_printf ("%s %s %d→%d %d×%d /%d %d²", net->name, l->name, l->from, l->to,
                                               l->kernel, l->kernel, l->stride, l->size);
      Timed timed[MOST];
      double flops;
      guint n = 0;

      if (!bench_layer (device, l, batch, o, timed, &n, &flops, error))
        return FALSE;
      for (guint k = 0; k < n; k++)
        show (device, o, what, timed[k].name, batch, flops, timed[k].seconds);
      add_layer (sum, &n_sum, &best_sum, timed, n, l->times);
      all_flops += flops * l->times;
    }
  g_autofree char *what = g_strdup_printf ("%s all convolutions", net->name);
  for (guint k = 0; k < n_sum; k++)
    show (device, o, what, sum[k].name, batch, all_flops, sum[k].seconds);
  show (device, o, what, "the fastest of each", batch, all_flops, best_sum);
  return TRUE;
}

/* ---- products ------------------------------------------------------------------ */

static gboolean
bench_products (const LoomPlanDevice *device, const BenchOptions *o, GError **error)
{
  static const char *const lessons[] = { "own-naive", "own-tiled" };
  static const gint64 sizes[] = { 256, 1024, 2048 };
  const LoomMatmulAttrs attrs = { .act = LOOM_SCALAR_ID };

  /* A CPU's loops take seconds for the largest. */
  for (guint i = 0; i < (device->info.host_memory ? 2 : G_N_ELEMENTS (sizes)); i++)
    {
      const LoomTensorDesc x = { .dtype = LOOM_F32, .rank = 2, .dim = { sizes[i], sizes[i] } }, in[] = { x, x };
      LoomKernelSpec spec = { .primitive = "matmul", .attrs = &attrs, .n_in = 2, .n_out = 1, .in = in, .out = &x };
      Timed timed[MOST];
      guint n = 0;

      if (!time_call (device, &spec, o, timed, &n, error))
        return FALSE;
      for (guint k = 0; k < G_N_ELEMENTS (lessons) && !device->info.host_memory; k++)
        {
          spec.algorithm = lessons[k];
          if (!time_call (device, &spec, o, timed, &n, error))
            return FALSE;
        }
      for (guint k = 0; k < n; k++)
        show (device, o, "matmul f32", timed[k].name, sizes[i], 2.0 * pow ((double)sizes[i], 3), timed[k].seconds);
    }
  return TRUE;
}

gboolean
bench_layers (LoomDevices *devices, const char *name, const BenchOptions *o, GError **error)
{
  const LoomPlanDevice *device = loom_devices_get (devices, name, error);

  if (device == NULL)
    return FALSE;
  /* Plain loops are intentionally slow. */
  if (g_str_has_prefix (name, "ref"))
    return TRUE;
  if (!bench_products (device, o, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (nets); i++)
    if (!bench_net (device, &nets[i], o, error))
      return FALSE;
  return TRUE;
}
