/* Defects that the emulated GPU finds, and the order or check that finds each.
 *
 * The modules with defects have those that meson.build writes into copies of kernels' sources, and
 * GRADLOOM_EMULATOR_DEFECT names the one that is there; the module without them must compute the same call correctly.
 */
#include <gmodule.h>
#include <math.h>
#include <string.h>

#include "kernels/backend.h"

typedef struct
{
  const LoomBackend *backend;
  LoomDevice *device;
  LoomMessage message;
} Card;

#define OK(call) g_assert_cmpint ((call), ==, LOOM_STATUS_OK)

static void
open_card (Card *card, const char *path)
{
  GModule *module = g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  gpointer entry = NULL;

  if (module == NULL)
    g_error ("%s", g_module_error ());
  g_assert_true (g_module_symbol (module, LOOM_BACKEND_ENTRY, &entry));
  card->backend = ((LoomBackendEntry)entry) ();
  OK (card->backend->device_open (0, 0, &card->device, &card->message));
}

static void *
on_card (Card *card, const void *data, gsize bytes)
{
  void *memory = NULL;

  OK (card->backend->alloc (card->device, bytes, &memory, &card->message));
  if (data != NULL)
    OK (card->backend->copy (card->device, NULL, memory, data, bytes, LOOM_COPY_HOST_TO_DEVICE, &card->message));
  return memory;
}

/* Compares softmax along axis 1 of [2,dim,inner] with the same in double. */
static gboolean
softmax_is_right (Card *card, int dim, int inner)
{
  const LoomBackend *b = card->backend;
  const LoomTensorDesc x = { .dtype = LOOM_F32, .rank = 3, .dim = { 2, dim, inner } };
  const LoomSoftmaxAttrs attrs = { .axis = 1 };
  const LoomKernelSpec spec = { .primitive = "softmax", .attrs = &attrs, .n_in = 1, .n_out = 1, .in = &x, .out = &x };
  const int count = 2 * dim * inner;
  g_autofree float *values = g_new (float, count), *got = g_new (float, count);
  LoomKernel *kernel = NULL;
  void *buffers[3] = { NULL };
  gboolean right = TRUE;

  for (int i = 0; i < count; i++)
    values[i] = (float)sin (i * 0.7) * 3;
  OK (b->kernel_new (card->device, &spec, &kernel, &card->message));
  buffers[0] = on_card (card, values, sizeof (float) * count);
  buffers[1] = on_card (card, NULL, sizeof (float) * count);
  OK (kernel->run (kernel, NULL, buffers, &card->message));
  OK (b->copy (card->device, NULL, got, buffers[1], sizeof (float) * count, LOOM_COPY_DEVICE_TO_HOST, &card->message));
  for (int row = 0; row < 2 * inner; row++)
    {
      const int base = row / inner * dim * inner + row % inner;
      double sum = 0;

      for (int i = 0; i < dim; i++)
        sum += exp (values[base + i * inner]);
      for (int i = 0; i < dim; i++)
        right = right && fabs (got[base + i * inner] - exp (values[base + i * inner]) / sum) <= 1e-6;
    }
  kernel->free (kernel);
  b->free (card->device, buffers[0]);
  b->free (card->device, buffers[1]);
  return right;
}

/* Layer norm of rows long enough for one block each, which joins twice by the same function, the mean and then the
 * variance. */
#define WIDTH 4100
static gboolean
joined_twice (Card *card)
{
  const LoomBackend *b = card->backend;
  const LoomTensorDesc x = { .dtype = LOOM_F32, .rank = 2, .dim = { 3, WIDTH } };
  const LoomTensorDesc out[3]
      = { x, { .dtype = LOOM_F32, .rank = 1, .dim = { 3 } }, { .dtype = LOOM_F32, .rank = 1, .dim = { 3 } } };
  const LoomNormAttrs attrs = { .eps = 1e-5, .axes = 1 };
  const LoomKernelSpec spec
      = { .primitive = "layer_norm", .attrs = &attrs, .n_in = 1, .n_out = 3, .in = &x, .out = out };
  g_autofree float *values = g_new (float, 3 * WIDTH), *got = g_new (float, 3 * WIDTH);
  LoomKernel *kernel = NULL;
  void *buffers[5] = { NULL };
  gboolean right = TRUE;

  for (int i = 0; i < 3 * WIDTH; i++)
    values[i] = (float)sin (i * 0.7) * 3 + 1;
  OK (b->kernel_new (card->device, &spec, &kernel, &card->message));
  buffers[0] = on_card (card, values, sizeof (float) * 3 * WIDTH);
  buffers[1] = on_card (card, NULL, sizeof (float) * 3 * WIDTH);
  buffers[2] = on_card (card, NULL, sizeof (float) * 3);
  buffers[3] = on_card (card, NULL, sizeof (float) * 3);
  OK (kernel->run (kernel, NULL, buffers, &card->message));
  OK (b->copy (card->device, NULL, got, buffers[1], sizeof (float) * 3 * WIDTH, LOOM_COPY_DEVICE_TO_HOST,
               &card->message));
  for (int row = 0; row < 3; row++)
    {
      const float *from = values + row * WIDTH;
      double mean = 0, variance = 0;

      for (int i = 0; i < WIDTH; i++)
        mean += from[i] / (double)WIDTH;
      for (int i = 0; i < WIDTH; i++)
        variance += (from[i] - mean) * (from[i] - mean) / WIDTH;
      for (int i = 0; i < WIDTH; i++)
        right = right && fabs (got[row * WIDTH + i] - (from[i] - mean) / sqrt (variance + 1e-5)) <= 2e-5;
    }
  kernel->free (kernel);
  for (int i = 0; i < 4; i++)
    b->free (card->device, buffers[i]);
  return right;
}

static gboolean
long_rows (Card *card)
{
  return softmax_is_right (card, 1500, 1);
}

static gboolean
short_rows (Card *card)
{
  return softmax_is_right (card, 40, 6);
}

/* Statistics of a gradient, captured, bound again and run as a graph: Σ x² of 1 … 100. */
static gboolean
bound_again (Card *card)
{
  const LoomBackend *b = card->backend;
  const LoomTensorDesc x = { .dtype = LOOM_F32, .rank = 1, .dim = { 100 } };
  const LoomTensorDesc out[2] = { { .dtype = LOOM_F32 }, { .dtype = LOOM_F32 } };
  const LoomGradStatsAttrs attrs = { 0 };
  const LoomKernelSpec spec
      = { .primitive = "grad_stats", .attrs = &attrs, .n_in = 1, .n_out = 2, .in = &x, .out = out };
  float values[100], got = 0;
  LoomStream *stream = NULL;
  LoomKernel *kernel = NULL;
  void *buffers[4] = { NULL }, *graph = NULL;

  for (int i = 0; i < 100; i++)
    values[i] = i + 1;
  OK (b->stream_new (card->device, &stream, &card->message));
  OK (b->kernel_new (card->device, &spec, &kernel, &card->message));
  buffers[0] = on_card (card, values, sizeof values);
  buffers[1] = on_card (card, NULL, sizeof (float));
  buffers[2] = on_card (card, NULL, sizeof (float));
  buffers[3] = on_card (card, NULL, MAX (kernel->scratch_bytes, 1));
  OK (kernel->bind (kernel, buffers, &card->message));
  OK (b->capture_begin (card->device, stream, &card->message));
  OK (kernel->run (kernel, stream, buffers, &card->message));
  OK (b->capture_end (card->device, stream, &graph, &card->message));
  OK (kernel->bind (kernel, buffers, &card->message));
  OK (b->graph_launch (card->device, graph, stream, &card->message));
  OK (b->stream_sync (card->device, stream, &card->message));
  OK (b->copy (card->device, NULL, &got, buffers[1], sizeof got, LOOM_COPY_DEVICE_TO_HOST, &card->message));
  b->graph_free (card->device, graph);
  kernel->free (kernel);
  return got == 338350;
}

/* ---- the table -------------------------------------------------------------------------------- */

/* The modes that find a defect. */
enum
{
  DEPTH = 1 << 0,
  FORWARD = 1 << 1,
  BACKWARD = 1 << 2,
  RANDOM = 1 << 3,
  CHECKED = 1 << 4,
  ANY_ORDER = DEPTH | FORWARD | BACKWARD | RANDOM,
};

static const char *const orders[] = { "depth", "forward", "backward", "random", "checked" };

typedef struct
{
  const char *name;
  gboolean (*is_right) (Card *card);
  int found_by;
  const char *sentence; /* if loads and stores are checked */
} Defect;

static const Defect defects[] = {
  { "barrier-before", joined_twice, DEPTH | CHECKED,
    "*a race on shares[byte *: thread * read it at *cuda-kernels.cuh:*which writes it*" },
  { "barrier-after", joined_twice, ANY_ORDER | CHECKED, "*a race on shares[byte *" },
  { "wrong-stride", short_rows, ANY_ORDER | CHECKED,
    "*softmax_kernel<*>: thread 0 of block 0,0,0 reads 4 bytes *, at kernels/cuda/cuda-*" },
  { "moved-address", bound_again, ANY_ORDER | CHECKED,
    "*a graph runs stats_kernel with the address * of its capture, and that memory has been given back*" },
  { "off-by-one", long_rows, CHECKED,
    "*softmax_kernel<*>: thread * of block 1,0,0 reads 4 bytes that begin at byte 12000 of memory of 12000 bytes, at "
    "kernels/cuda/cuda-softmax.cu:*" },
};

typedef struct
{
  const Defect *defect;
  int mode;
  gboolean present;
} Trial;

static void
trial_test (gconstpointer data)
{
  const Trial *trial = data;
  const gboolean checked = 1 << trial->mode == CHECKED;
  g_autofree char *path = NULL;

  if (g_test_subprocess ())
    {
      Card card = { NULL };

      path = g_strdup_printf (DEFECTS "/loom-cuda-%s%s.so", checked ? "checked" : "fast",
                              trial->present ? "-defects" : "");
      open_card (&card, path);
      if (!trial->defect->is_right (&card))
        g_error ("the result is wrong");
      return;
    }
  g_setenv ("GRADLOOM_EMULATOR_DEFECT", trial->defect->name, TRUE);
  g_setenv ("GRADLOOM_EMULATOR_ORDER", checked ? "depth" : orders[trial->mode], TRUE);
  g_test_trap_subprocess (NULL, 0, 0);
  if (!trial->present)
    {
      g_test_trap_assert_passed ();
      return;
    }
  if (!(trial->defect->found_by >> trial->mode & 1))
    {
      /* A random order may find the defect by chance, so nothing is asserted. */
      if (1 << trial->mode != RANDOM)
        g_test_trap_assert_passed ();
      return;
    }
  g_test_trap_assert_failed ();
  if (checked)
    g_test_trap_assert_stderr (trial->defect->sentence);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint d = 0; d < G_N_ELEMENTS (defects); d++)
    for (int mode = 0; mode < (int)G_N_ELEMENTS (orders); mode++)
      for (int present = 0; present < 2; present++)
        {
          g_autofree char *path = g_strdup_printf ("/emulator/defect/%s/%s/%s", defects[d].name, orders[mode],
                                                   present ? "found" : "without");
          Trial *trial = g_new (Trial, 1);

          *trial = (Trial){ &defects[d], mode, present };
          g_test_add_data_func_full (path, trial, trial_test, g_free);
        }
  return g_test_run ();
}
