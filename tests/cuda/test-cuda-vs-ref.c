/* CUDA in f32 against the reference in f64, for every primitive.
 *
 * The same sample calls also run on the reference in f32 wherever there is no GPU: that
 * proves the samples and the comparison, so that a device finds them ready. */
#include <gmodule.h>
#include <math.h>
#include <string.h>

#include "tests/cuda/cuda-cases.h"

typedef struct
{
  const LoomBackend *backend;
  LoomDevice *device;
  gboolean plain_only; /* the reference knows one layout; the samples are then run in it */
} Place;

typedef struct
{
  const CudaCase *c;
  const Place *place;
} Trial;

static Place ref, candidate;

/* ---- data ------------------------------------------------------------------------------- */

static LoomTensorDesc
fitted (LoomTensorDesc d, const Place *place, gboolean wide)
{
  if (wide && d.dtype == LOOM_F32)
    d.dtype = LOOM_F64;
  if (place->plain_only)
    d.layout = LOOM_LAYOUT_PLAIN;
  return d;
}

/* Data stands in logical order on the host. Returns it as the operand's bytes lie, or,
 * backwards, bytes of the operand in logical order. */
static gpointer
laid_out (const LoomTensorDesc *d, gconstpointer data, gboolean backwards)
{
  gsize size = loom_dtype_size (d->dtype), count = loom_desc_count (d);
  guint8 *to = g_malloc0 (count * size + 8);

  for (gsize i = 0; i < count; i++)
    {
      gsize at = i;

      if (d->layout == LOOM_LAYOUT_NHWC)
        {
          gsize w = i % d->dim[3], h = i / d->dim[3] % d->dim[2];
          gsize c = i / d->dim[3] / d->dim[2] % d->dim[1], n = i / d->dim[3] / d->dim[2] / d->dim[1];

          at = ((n * d->dim[2] + h) * d->dim[3] + w) * d->dim[1] + c;
        }
      memcpy (to + (backwards ? i : at) * size, (const guint8 *)data + (backwards ? at : i) * size, size);
    }
  return to;
}

static double
drawn (GRand *rand, const CudaCase *c, int operand)
{
  if (c->positive_from >= 0 && operand >= c->positive_from)
    return g_rand_double_range (rand, 0.1, 2);
  return g_rand_double_range (rand, c->low, c->high);
}

/* Values of one input, exact in f32, as the f32 spec stores them. */
static gpointer
new_input (GRand *rand, const CudaCase *c, int operand)
{
  const LoomTensorDesc *d = &c->in[operand];
  gint64 n = loom_desc_count (d);
  guint8 *bytes = g_malloc0 (loom_desc_bytes (d) + 8);

  for (gint64 i = 0; i < n; i++)
    {
      gboolean given = c->has_value[operand];

      if (d->dtype == LOOM_F32)
        ((float *)bytes)[i] = given ? c->value[operand] : drawn (rand, c, operand);
      else if (d->dtype == LOOM_I64)
        ((gint64 *)bytes)[i] = given ? (gint64)c->value[operand] : g_rand_int_range (rand, 0, c->index_limit);
      else
        bytes[i] = g_rand_int_range (rand, 0, c->index_limit);
    }
  return bytes;
}

static gpointer
wide_copy (const LoomTensorDesc *d, gconstpointer narrow)
{
  gint64 n = loom_desc_count (d);
  double *wide;

  if (d->dtype != LOOM_F32)
    return g_memdup2 (narrow, loom_desc_bytes (d) + 8);
  wide = g_new0 (double, n + 1);
  for (gint64 i = 0; i < n; i++)
    wide[i] = ((const float *)narrow)[i];
  return wide;
}

/* ---- one call ------------------------------------------------------------------------------ */

#define OK(call) g_assert_true (message_ok ((call), &message))

static gboolean
message_ok (LoomStatus status, const LoomMessage *message)
{
  if (status != LOOM_STATUS_OK)
    g_test_message ("status %d: %s", status, message->text);
  return status == LOOM_STATUS_OK;
}

/* Runs the call and returns what it wrote, in logical order. */
static LoomStatus
execute (const Place *place, const CudaCase *c, gboolean wide, gpointer *inputs, gpointer *outputs)
{
  const LoomBackend *b = place->backend;
  LoomTensorDesc in[CASE_OPERANDS], out[CASE_OPERANDS];
  LoomKernelSpec spec
      = { .primitive = c->primitive, .attrs = &c->attrs, .n_in = c->n_in, .n_out = c->n_out, .in = in, .out = out };
  LoomElementwiseAttrs elementwise = c->attrs.elementwise;
  void *buffers[CASE_OPERANDS * 2 + 1] = { NULL };
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  LoomStatus status;

  for (int i = 0; i < c->n_in; i++)
    in[i] = fitted (c->in[i], place, wide);
  for (int o = 0; o < c->n_out; o++)
    out[o] = fitted (c->out[o], place, wide);
  if (wide && g_str_equal (c->primitive, "elementwise") && elementwise.compute == LOOM_F32)
    {
      elementwise.compute = LOOM_F64;
      spec.attrs = &elementwise;
    }
  status = b->kernel_new (place->device, &spec, &kernel, &message);
  if (status == LOOM_STATUS_UNSUPPORTED)
    return status;
  OK (status);
  for (int i = 0; i < c->n_in; i++)
    {
      g_autofree gpointer bytes = laid_out (&in[i], inputs[i], FALSE);

      OK (b->alloc (place->device, loom_desc_bytes (&in[i]), &buffers[i], &message));
      OK (b->copy (place->device, NULL, buffers[i], bytes, loom_desc_bytes (&in[i]), LOOM_COPY_HOST_TO_DEVICE,
                   &message));
    }
  for (int o = 0; o < c->n_out; o++)
    if (c->in_place)
      buffers[c->n_in + o] = buffers[c->in_place_of[o]];
    else
      OK (b->alloc (place->device, loom_desc_bytes (&out[o]), &buffers[c->n_in + o], &message));
  if (kernel->scratch_bytes != 0)
    OK (b->alloc (place->device, kernel->scratch_bytes, &buffers[c->n_in + c->n_out], &message));
  if (kernel->bind != NULL)
    OK (kernel->bind (kernel, buffers, &message));
  OK (kernel->run (kernel, NULL, buffers, &message));
  if (b->stream_sync != NULL)
    OK (b->stream_sync (place->device, NULL, &message));
  for (int o = 0; o < c->n_out; o++)
    {
      g_autofree gpointer bytes = g_malloc0 (loom_desc_bytes (&out[o]) + 8);

      OK (b->copy (place->device, NULL, bytes, buffers[c->n_in + o], loom_desc_bytes (&out[o]),
                   LOOM_COPY_DEVICE_TO_HOST, &message));
      outputs[o] = laid_out (&out[o], bytes, TRUE);
    }
  for (int i = 0; i < c->n_in + (c->in_place ? 0 : c->n_out); i++)
    b->free (place->device, buffers[i]);
  if (kernel->scratch_bytes != 0)
    b->free (place->device, buffers[c->n_in + c->n_out]);
  kernel->free (kernel);
  return LOOM_STATUS_OK;
}

static void
compare (const CudaCase *c, int o, gconstpointer got, gconstpointer wanted)
{
  const LoomTensorDesc *d = &c->out[o];
  gint64 n = loom_desc_count (d);

  if (d->dtype != LOOM_F32)
    {
      g_assert_cmpmem (got, loom_desc_bytes (d), wanted, loom_desc_bytes (d));
      return;
    }
  for (gint64 i = 0; i < n; i++)
    {
      double x = ((const float *)got)[i], y = ((const double *)wanted)[i];

      if (isnan (x) && isnan (y))
        continue;
      if (!(fabs (x - y) <= c->tolerance * (1 + fabs (y))))
        g_error ("%s: element %" G_GINT64_FORMAT " of result %d is %.9g instead of %.9g", c->name, i, o, x, y);
    }
}

static void
trial_test (gconstpointer data)
{
  const Trial *trial = data;
  const CudaCase *c = trial->c;
  GRand *rand = g_rand_new_with_seed (20);
  gpointer narrow[CASE_OPERANDS], wide[CASE_OPERANDS], got[CASE_OPERANDS], again[CASE_OPERANDS], wanted[CASE_OPERANDS];
  LoomStatus status;

  for (int i = 0; i < c->n_in; i++)
    {
      narrow[i] = new_input (rand, c, i);
      wide[i] = wide_copy (&c->in[i], narrow[i]);
    }
  g_assert_cmpint (execute (&ref, c, TRUE, wide, wanted), ==, LOOM_STATUS_OK);
  status = execute (trial->place, c, FALSE, narrow, got);
  if (status == LOOM_STATUS_UNSUPPORTED && g_str_has_prefix (c->primitive, "conv2d"))
    g_test_skip ("this build has no cuDNN");
  else
    {
      g_assert_cmpint (status, ==, LOOM_STATUS_OK);
      g_assert_cmpint (execute (trial->place, c, FALSE, narrow, again), ==, LOOM_STATUS_OK);
      for (int o = 0; o < c->n_out; o++)
        {
          compare (c, o, got[o], wanted[o]);
          /* The same call gives the same bits. */
          g_assert_cmpmem (got[o], loom_desc_bytes (&c->out[o]), again[o], loom_desc_bytes (&c->out[o]));
          g_free (got[o]);
          g_free (again[o]);
        }
    }
  for (int o = 0; o < c->n_out; o++)
    g_free (wanted[o]);
  for (int i = 0; i < c->n_in; i++)
    {
      g_free (narrow[i]);
      g_free (wide[i]);
    }
  g_rand_free (rand);
}

/* ---- what only a device shows ------------------------------------------------------------------- */

static LoomKernel *
small_kernel (const char *primitive, const void *attrs, int n_in, const LoomTensorDesc *in, int n_out,
              const LoomTensorDesc *out)
{
  LoomKernelSpec spec = { .primitive = primitive, .attrs = attrs, .n_in = n_in, .n_out = n_out, .in = in, .out = out };
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;

  OK (candidate.backend->kernel_new (candidate.device, &spec, &kernel, &message));
  return kernel;
}

/* A class that does not exist is told at the next synchronisation, and only once. */
static void
fault_test (void)
{
  const LoomBackend *b = candidate.backend;
  const LoomTensorDesc in[]
      = { { .dtype = LOOM_F32, .rank = 2, .dim = { 2, 3 } }, { .dtype = LOOM_I64, .rank = 1, .dim = { 2 } } };
  const LoomTensorDesc out[] = { { .dtype = LOOM_F32, .rank = 2, .dim = { 2, 3 } } };
  const gint64 index[2] = { 1, 7 };
  LoomKernel *kernel = small_kernel ("gather_rows", NULL, 2, in, 1, out);
  void *buffers[4] = { NULL };
  LoomMessage message = { "" };

  for (int i = 0; i < 3; i++)
    OK (b->alloc (candidate.device, 64, &buffers[i], &message));
  OK (b->copy (candidate.device, NULL, buffers[1], index, sizeof index, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (kernel->run (kernel, NULL, buffers, &message));
  g_assert_cmpint (b->stream_sync (candidate.device, NULL, &message), ==, LOOM_STATUS_INDEX);
  g_assert_nonnull (strstr (message.text, "7"));
  OK (b->stream_sync (candidate.device, NULL, &message));
  for (int i = 0; i < 3; i++)
    b->free (candidate.device, buffers[i]);
  kernel->free (kernel);
}

/* A recorded graph, replayed, does what its launches did. */
static void
graph_test (void)
{
  const LoomBackend *b = candidate.backend;
  const LoomTensorDesc x = { .dtype = LOOM_F32, .rank = 1, .dim = { 4 } };
  LoomElementwiseAttrs attrs = { .compute = LOOM_F32, .n_steps = 1, .out = { 1 } };
  float values[4] = { 1, 2, 3, 4 };
  LoomMessage message = { "" };
  LoomStream *stream = NULL;
  void *buffers[2] = { NULL }, *graph = NULL;
  LoomKernel *kernel;

  attrs.step[0] = (LoomElementwiseStep){ .op = LOOM_SCALAR_SQUARE };
  kernel = small_kernel ("elementwise", &attrs, 1, &x, 1, &x);
  g_assert_cmpuint (kernel->inplace[0], ==, 1);
  OK (b->stream_new (candidate.device, &stream, &message));
  OK (b->alloc (candidate.device, sizeof values, &buffers[0], &message));
  buffers[1] = buffers[0];
  OK (b->copy (candidate.device, NULL, buffers[0], values, sizeof values, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (b->capture_begin (candidate.device, stream, &message));
  OK (kernel->run (kernel, stream, buffers, &message));
  OK (b->capture_end (candidate.device, stream, &graph, &message));
  for (int i = 0; i < 2; i++)
    OK (b->graph_launch (candidate.device, graph, stream, &message));
  OK (b->stream_sync (candidate.device, stream, &message));
  OK (b->copy (candidate.device, NULL, values, buffers[0], sizeof values, LOOM_COPY_DEVICE_TO_HOST, &message));
  for (int i = 0; i < 4; i++)
    g_assert_cmpfloat (values[i], ==, powf (i + 1, 4));
  b->graph_free (candidate.device, graph);
  b->stream_free (candidate.device, stream);
  b->free (candidate.device, buffers[0]);
  kernel->free (kernel);
}

/* NaN goes through a product's relu, whoever computes it. */
static void
nan_test (void)
{
  const LoomBackend *b = candidate.backend;
  const LoomTensorDesc square = { .dtype = LOOM_F32, .rank = 2, .dim = { 4, 4 } };
  const LoomTensorDesc in[] = { square, square };
  const LoomMatmulAttrs attrs = { .act = LOOM_SCALAR_RELU };
  LoomKernel *kernel = small_kernel ("matmul", &attrs, 2, in, 1, &square);
  void *buffers[4] = { NULL };
  LoomMessage message = { "" };
  float values[16];

  for (int i = 0; i < 16; i++)
    values[i] = NAN;
  for (int i = 0; i < 3; i++)
    {
      OK (b->alloc (candidate.device, sizeof values, &buffers[i], &message));
      OK (b->copy (candidate.device, NULL, buffers[i], values, sizeof values, LOOM_COPY_HOST_TO_DEVICE, &message));
    }
  if (kernel->scratch_bytes != 0)
    OK (b->alloc (candidate.device, kernel->scratch_bytes, &buffers[3], &message));
  OK (kernel->bind (kernel, buffers, &message));
  OK (kernel->run (kernel, NULL, buffers, &message));
  OK (b->copy (candidate.device, NULL, values, buffers[2], sizeof values, LOOM_COPY_DEVICE_TO_HOST, &message));
  for (int i = 0; i < 16; i++)
    g_assert_true (isnan (values[i]));
  for (int i = 0; i < 4; i++)
    b->free (candidate.device, buffers[i]);
  kernel->free (kernel);
}

/* Of a window full of NaN the last place wins, as on the other back ends. */
static void
winner_test (void)
{
  const LoomBackend *b = candidate.backend;
  const LoomTensorDesc x = { .dtype = LOOM_F32, .rank = 4, .dim = { 1, 1, 1, 2 } };
  const LoomTensorDesc out[] = { { .dtype = LOOM_F32, .rank = 4, .dim = { 1, 1, 1, 1 } },
                                 { .dtype = LOOM_U8, .rank = 4, .dim = { 1, 1, 1, 1 } } };
  const LoomPool2dAttrs attrs = { .kernel = { 1, 2 }, .stride = { 1, 2 }, .dilation = { 1, 1 } };
  const float values[2] = { NAN, NAN };
  guint8 where = 9;
  LoomKernel *kernel = small_kernel ("max_pool2d", &attrs, 1, &x, 2, out);
  void *buffers[4] = { NULL };
  LoomMessage message = { "" };

  for (int i = 0; i < 3; i++)
    OK (b->alloc (candidate.device, 64, &buffers[i], &message));
  OK (b->copy (candidate.device, NULL, buffers[0], values, sizeof values, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (kernel->run (kernel, NULL, buffers, &message));
  OK (b->copy (candidate.device, NULL, &where, buffers[2], sizeof where, LOOM_COPY_DEVICE_TO_HOST, &message));
  g_assert_cmpint (where, ==, 1);
  for (int i = 0; i < 3; i++)
    b->free (candidate.device, buffers[i]);
  kernel->free (kernel);
}

/* A label that does not exist is told, and leaves no finite gradient. */
static void
label_test (void)
{
  const LoomBackend *b = candidate.backend;
  const LoomTensorDesc in[] = { { .dtype = LOOM_F32, .rank = 2, .dim = { 1, 2 } },
                                { .dtype = LOOM_I64, .rank = 1, .dim = { 1 } },
                                { .dtype = LOOM_F32, .rank = 1, .dim = { 1 } },
                                { .dtype = LOOM_F32, .rank = 1, .dim = { 1 } } };
  const LoomCrossEntropyAttrs attrs = { .ignore_index = -100 };
  const float logits[2] = { 1, 2 }, one = 1;
  const gint64 label = 7;
  float gradient[2] = { 0, 0 };
  LoomKernel *kernel = small_kernel ("cross_entropy_grad", &attrs, 4, in, 1, in);
  void *buffers[6] = { NULL };
  LoomMessage message = { "" };

  for (int i = 0; i < 5; i++)
    OK (b->alloc (candidate.device, 64, &buffers[i], &message));
  OK (b->copy (candidate.device, NULL, buffers[0], logits, sizeof logits, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (b->copy (candidate.device, NULL, buffers[1], &label, sizeof label, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (b->copy (candidate.device, NULL, buffers[2], &one, sizeof one, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (b->copy (candidate.device, NULL, buffers[3], &one, sizeof one, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (kernel->run (kernel, NULL, buffers, &message));
  g_assert_cmpint (b->stream_sync (candidate.device, NULL, &message), ==, LOOM_STATUS_INDEX);
  OK (b->copy (candidate.device, NULL, gradient, buffers[4], sizeof gradient, LOOM_COPY_DEVICE_TO_HOST, &message));
  g_assert_true (isnan (gradient[0]) && isnan (gradient[1]));
  for (int i = 0; i < 5; i++)
    b->free (candidate.device, buffers[i]);
  kernel->free (kernel);
}

static void
refused_test (void)
{
  LoomMessage message = { "" };
  void *memory = &message;

  g_assert_cmpint (candidate.backend->alloc (candidate.device, (size_t)1 << 50, &memory, &message), ==,
                   LOOM_STATUS_OUT_OF_MEMORY);
  g_assert_null (memory);
  /* How many bytes were wanted, the engine adds. */
  g_assert_cmpstr (message.text, ==, "the card gave no memory");
}

static void
no_device_test (gconstpointer why)
{
  g_test_skip (why);
}

int
main (int argc, char **argv)
{
  g_autoptr (GPtrArray) cases = cuda_cases_new ();
  g_autofree Trial *trials = g_new0 (Trial, cases->len);
  LoomMessage message = { "" };
  GModule *module;
  gpointer entry = NULL;
  int result;

  g_test_init (&argc, &argv, NULL);
  ref.backend = loom_backend_ref ();
  ref.plain_only = TRUE;
  g_assert_cmpint (ref.backend->device_open (0, 1, &ref.device, &message), ==, LOOM_STATUS_OK);
  module = g_module_open (CUDA_MODULE, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  if (module == NULL)
    g_error ("%s", g_module_error ());
  g_assert_true (g_module_symbol (module, LOOM_BACKEND_ENTRY, &entry));
  candidate.backend = ((LoomBackendEntry)entry) ();

  if (candidate.backend->device_count (&message) == 0)
    {
      for (guint i = 0; i < cases->len; i++)
        {
          const CudaCase *c = g_ptr_array_index (cases, i);
          g_autofree char *path = g_strdup_printf ("/cuda/samples-on-ref/%s", c->name);

          trials[i] = (Trial){ .c = c, .place = &ref };
          g_test_add_data_func (path, &trials[i], trial_test);
        }
      g_test_add_data_func ("/cuda/on-device", message.text, no_device_test);
      return g_test_run ();
    }

  g_assert_cmpint (candidate.backend->device_open (0, 0, &candidate.device, &message), ==, LOOM_STATUS_OK);
  for (guint i = 0; i < cases->len; i++)
    {
      const CudaCase *c = g_ptr_array_index (cases, i);
      g_autofree char *path = g_strdup_printf ("/cuda/vs-ref/%s", c->name);

      trials[i] = (Trial){ .c = c, .place = &candidate };
      g_test_add_data_func (path, &trials[i], trial_test);
    }
  g_test_add_func ("/cuda/on-device/fault", fault_test);
  g_test_add_func ("/cuda/on-device/graph", graph_test);
  g_test_add_func ("/cuda/on-device/nan", nan_test);
  g_test_add_func ("/cuda/on-device/winner", winner_test);
  g_test_add_func ("/cuda/on-device/label", label_test);
  g_test_add_func ("/cuda/on-device/refused", refused_test);
  result = g_test_run ();
  candidate.backend->device_close (candidate.device);
  return result;
}
