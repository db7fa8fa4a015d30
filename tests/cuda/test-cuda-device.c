/* Tests the behaviour of a GPU other than computing: faults reported late, recorded graphs, refused memory.
 * tests/kernels/test-kernels-module tests the kernels' results. */
#include <gmodule.h>
#include <math.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/comm.h"
#include "tests/test-program.h"

static struct
{
  const LoomBackend *backend;
  LoomDevice *device;
  LoomDeviceCommEntry comm; /* NULL: built without NCCL */
} candidate;

#define OK(call) g_assert_true (message_ok ((call), &message))

static gboolean
message_ok (LoomStatus status, const LoomMessage *message)
{
  if (status != LOOM_STATUS_OK)
    g_test_message ("status %d: %s", status, message->text);
  return status == LOOM_STATUS_OK;
}

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

/* Returns and clears the fault of the device's own stream once it is idle. */
static LoomDeviceFault
take_fault (char *text)
{
  const LoomBackend *b = candidate.backend;
  LoomMessage message = { "" };
  LoomDeviceFault fault;

  OK (b->stream_sync (candidate.device, NULL, &message));
  b->fault_get (candidate.device, NULL, &fault, &message);
  g_strlcpy (text, message.text, sizeof message.text);
  OK (b->fault_clear (candidate.device, NULL, &message));
  return fault;
}

/* A row that does not exist is reported once, with the step and the instruction. */
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
  LoomDeviceFault fault;

  for (int i = 0; i < 3; i++)
    OK (b->alloc (candidate.device, 64, &buffers[i], &message));
  OK (b->copy (candidate.device, NULL, buffers[1], index, sizeof index, LOOM_COPY_HOST_TO_DEVICE, &message));
  kernel->site = 41;
  OK (b->step_begin (candidate.device, NULL, 12, &message));
  OK (kernel->run (kernel, NULL, buffers, &message));
  fault = take_fault (message.text);
  g_assert_cmpint (fault.status, ==, LOOM_STATUS_INDEX);
  g_assert_cmpint (fault.site, ==, 41);
  g_assert_cmpint (fault.step, ==, 12);
  g_assert_cmpstr (message.text, ==, "the row 7 is outside 0 … 1");
  g_assert_cmpint (take_fault (message.text).status, ==, LOOM_STATUS_OK);
  for (int i = 0; i < 3; i++)
    b->free (candidate.device, buffers[i]);
  kernel->free (kernel);
}

/* A replayed graph does the same as its launches did. */
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

/* A label that does not exist is reported, and its gradient is not finite. */
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
  g_assert_cmpint (take_fault (message.text).status, ==, LOOM_STATUS_INDEX);
  OK (b->copy (candidate.device, NULL, gradient, buffers[4], sizeof gradient, LOOM_COPY_DEVICE_TO_HOST, &message));
  g_assert_true (isnan (gradient[0]) && isnan (gradient[1]));
  for (int i = 0; i < 5; i++)
    b->free (candidate.device, buffers[i]);
  kernel->free (kernel);
}

/* One step through a gate: its operands in, go and sound out. */
static void
gate (LoomKernel *kernel, float finite, float tolerated, float result[2])
{
  const LoomBackend *b = candidate.backend;
  const float in[2] = { finite, tolerated };
  void *buffers[5] = { NULL };
  LoomMessage message = { "" };

  for (int i = 0; i < 4; i++)
    OK (b->alloc (candidate.device, 64, &buffers[i], &message));
  for (int i = 0; i < 2; i++)
    OK (b->copy (candidate.device, NULL, buffers[i], &in[i], sizeof in[i], LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (kernel->run (kernel, NULL, buffers, &message));
  for (int i = 0; i < 2; i++)
    OK (b->copy (candidate.device, NULL, &result[i], buffers[2 + i], sizeof result[i], LOOM_COPY_DEVICE_TO_HOST,
                 &message));
  for (int i = 0; i < 4; i++)
    b->free (candidate.device, buffers[i]);
}

/* A fault closes the gate, for finite numbers too, until it is cleared; a tolerated overflow is no fault. */
static void
gate_test (void)
{
  const LoomTensorDesc scalar = { .dtype = LOOM_F32 }, two[] = { scalar, scalar };
  LoomKernel *kernel = small_kernel ("update_gate", NULL, 2, two, 2, two);
  LoomMessage message = { "" };
  float result[2];

  gate (kernel, 1, 0, result);
  g_assert_true (result[0] == 1 && result[1] == 1);
  gate (kernel, 0, 1, result);
  g_assert_true (result[0] == 0 && result[1] == 1);
  gate (kernel, 0, 0, result);
  g_assert_true (result[0] == 0 && result[1] == 0);
  gate (kernel, 1, 0, result);
  g_assert_true (result[0] == 0 && result[1] == 0);
  g_assert_cmpint (take_fault (message.text).status, ==, LOOM_STATUS_NOT_FINITE);
  gate (kernel, 1, 0, result);
  g_assert_true (result[0] == 1 && result[1] == 1);
  kernel->free (kernel);
}

/* A step of a logged SGD over two weights, whose gradients are g and 3, up to the gate; the host does not read the
 * fault. */
static void
logged_step (LoomKernel *const kernel[3], void *const buffers[12], float g)
{
  const LoomBackend *b = candidate.backend;
  const float grad[2][1] = { { g }, { 3 } }, zero = 0;
  void *const logged[] = { buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], buffers[5], buffers[6],
                           buffers[0], buffers[1], buffers[2], buffers[3], buffers[7], buffers[8], buffers[9] };
  void *const undo[] = { buffers[0], buffers[1], buffers[2], buffers[3], buffers[8], buffers[0], buffers[1], NULL };
  void *const gated[] = { buffers[8], buffers[5], buffers[10], buffers[11], NULL };
  LoomMessage message = { "" };

  for (int i = 0; i < 2; i++)
    OK (b->copy (candidate.device, NULL, buffers[2 + i], grad[i], sizeof grad[i], LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (b->copy (candidate.device, NULL, buffers[5], &zero, sizeof zero, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (kernel[0]->bind (kernel[0], logged, &message));
  OK (kernel[1]->bind (kernel[1], undo, &message));
  OK (kernel[0]->run (kernel[0], NULL, logged, &message));
  OK (kernel[1]->run (kernel[1], NULL, undo, &message));
  OK (kernel[2]->run (kernel[2], NULL, gated, &message));
}

static void
assert_weights (void *const buffers[2], float first, float second)
{
  LoomMessage message = { "" };
  float got[2];

  for (int i = 0; i < 2; i++)
    OK (candidate.backend->copy (candidate.device, NULL, &got[i], buffers[i], sizeof got[i], LOOM_COPY_DEVICE_TO_HOST,
                                 &message));
  g_assert_cmpfloat (got[0], ==, first);
  g_assert_cmpfloat (got[1], ==, second);
}

/* A step whose gradients are not finite is undone, and so is the next one, which was queued before the host read the
 * fault, though its own gradients are finite. */
static void
undo_test (void)
{
  const LoomBackend *b = candidate.backend;
  const LoomTensorDesc one = { .dtype = LOOM_F32, .rank = 1, .dim = { 1 } }, scalar = { .dtype = LOOM_F32 };
  const LoomTensorDesc in[] = { one, one, one, one, scalar, scalar, scalar },
                       out[] = { one, one, one, one, scalar, scalar }, two[] = { scalar, scalar };
  const LoomSgdLoggedAttrs logged = { .n = 2 };
  const LoomUndoAttrs undo = { .n = 2 };
  const float start[2] = { 10, 20 }, rate = 0.5, whole = 1;
  LoomKernel *const kernel[]
      = { small_kernel ("sgd_step_logged", &logged, 7, in, 6, out), small_kernel ("undo_step", &undo, 5, in, 2, out),
          small_kernel ("update_gate", NULL, 2, two, 2, two) };
  void *buffers[12] = { NULL };
  LoomMessage message = { "" };

  for (int i = 0; i < 12; i++)
    OK (b->alloc (candidate.device, MAX (64, kernel[0]->scratch_bytes), &buffers[i], &message));
  for (int i = 0; i < 2; i++)
    OK (b->copy (candidate.device, NULL, buffers[i], &start[i], sizeof start[i], LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (b->copy (candidate.device, NULL, buffers[4], &rate, sizeof rate, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (b->copy (candidate.device, NULL, buffers[6], &whole, sizeof whole, LOOM_COPY_HOST_TO_DEVICE, &message));
  logged_step (kernel, buffers, 4);
  assert_weights (buffers, 8, 18.5);
  logged_step (kernel, buffers, INFINITY);
  logged_step (kernel, buffers, 4);
  assert_weights (buffers, 8, 18.5);
  g_assert_cmpint (take_fault (message.text).status, ==, LOOM_STATUS_NOT_FINITE);
  logged_step (kernel, buffers, 4);
  assert_weights (buffers, 6, 17);
  for (int i = 0; i < 12; i++)
    b->free (candidate.device, buffers[i]);
  for (int i = 0; i < 3; i++)
    kernel[i]->free (kernel[i]);
}

/* Compares the products of cuda-tiled.cu, with sizes that tiles do not divide, with the plain sum. */
static void
lesson_test (gconstpointer algorithm)
{
  enum
  {
    M = 37,
    K = 19,
    N = 21
  };
  const LoomBackend *b = candidate.backend;
  const LoomTensorDesc in[]
      = { { .dtype = LOOM_F32, .rank = 2, .dim = { M, K } }, { .dtype = LOOM_F32, .rank = 2, .dim = { K, N } } };
  const LoomTensorDesc y = { .dtype = LOOM_F32, .rank = 2, .dim = { M, N } };
  const LoomMatmulAttrs attrs = { .act = LOOM_SCALAR_ID }, turned = { .act = LOOM_SCALAR_ID, .trans_b = true };
  LoomKernelSpec spec = { .primitive = "matmul", .attrs = &attrs, .n_in = 2, .n_out = 1, .in = in, .out = &y };
  LoomKernelOption option[LOOM_MAX_OPTIONS];
  LoomMessage message = { "" };
  LoomKernel *kernel = NULL;
  void *buffers[4] = { NULL };
  float left[M * K], right[K * N], got[M * N];
  int n = b->options (candidate.device, &spec, NULL, option, LOOM_MAX_OPTIONS, &message);

  for (int i = 0; i < n; i++) /* no plan takes it */
    g_assert_cmpstr (option[i].algorithm, !=, algorithm);
  spec.algorithm = algorithm;
  g_assert_cmpint (b->options (candidate.device, &spec, NULL, option, LOOM_MAX_OPTIONS, &message), ==, 1);
  OK (b->kernel_new (candidate.device, &spec, &kernel, &message));
  g_assert_cmpstr (kernel->name, ==, algorithm);
  for (int i = 0; i < M * K; i++)
    left[i] = (float)(i % 11) - 5;
  for (int i = 0; i < K * N; i++)
    right[i] = (float)(i % 7) - 3;
  OK (b->alloc (candidate.device, sizeof left, &buffers[0], &message));
  OK (b->alloc (candidate.device, sizeof right, &buffers[1], &message));
  OK (b->alloc (candidate.device, sizeof got, &buffers[2], &message));
  OK (b->copy (candidate.device, NULL, buffers[0], left, sizeof left, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (b->copy (candidate.device, NULL, buffers[1], right, sizeof right, LOOM_COPY_HOST_TO_DEVICE, &message));
  OK (kernel->run (kernel, NULL, buffers, &message));
  OK (b->copy (candidate.device, NULL, got, buffers[2], sizeof got, LOOM_COPY_DEVICE_TO_HOST, &message));
  for (int r = 0; r < M; r++)
    for (int c = 0; c < N; c++)
      {
        float sum = 0; /* whole numbers, so exact */

        for (int i = 0; i < K; i++)
          sum += left[r * K + i] * right[i * N + c];
        g_assert_cmpfloat (got[r * N + c], ==, sum);
      }
  for (int i = 0; i < 3; i++)
    b->free (candidate.device, buffers[i]);
  kernel->free (kernel);
  spec.attrs = &turned;
  g_assert_cmpint (b->kernel_new (candidate.device, &spec, &kernel, &message), ==, LOOM_STATUS_UNSUPPORTED);
}

#define PLACES 1000

/* What a single rank exchanges by NCCL stays the same, by direct calls and by a recorded graph, which must read the
 * buffers again at each replay. */
static void
nccl_alone_test (void)
{
  const LoomBackend *b = candidate.backend;
  const gint64 counts[] = { PLACES }, bytes[] = { PLACES * (gint64)sizeof (float) };
  LoomComm *ranks[1] = { NULL }, *comm = NULL;
  LoomMessage message = { "" };
  LoomStream *stream = NULL;
  void *from = NULL, *to[4] = { NULL }, *graph = NULL;
  float values[PLACES], got[PLACES];
  LoomStatus status;

  if (candidate.comm == NULL)
    {
      g_test_skip ("the module was built without NCCL");
      return;
    }
  OK (loom_comm_threads_new (1, ranks, &message));
  OK (b->stream_new (candidate.device, &stream, &message));
  status = candidate.comm (candidate.device, stream, ranks[0], &comm, &message);
  if (status == LOOM_STATUS_UNSUPPORTED)
    g_test_skip (message.text);
  else
    OK (status);
  if (status == LOOM_STATUS_OK)
    {
      OK (b->alloc (candidate.device, sizeof values, &from, &message));
      for (int k = 0; k < 4; k++)
        OK (b->alloc (candidate.device, sizeof values, &to[k], &message));
      for (int round = 0; round < 4; round++)
        {
          for (int i = 0; i < PLACES; i++)
            values[i] = (float)(round * PLACES + i) / 7;
          OK (b->copy (candidate.device, NULL, from, values, sizeof values, LOOM_COPY_HOST_TO_DEVICE, &message));
          OK (b->copy (candidate.device, NULL, to[3], values, sizeof values, LOOM_COPY_HOST_TO_DEVICE, &message));
          /* The first round is called directly, the second is recorded, and replayed from then on. */
          if (round == 1)
            OK (b->capture_begin (candidate.device, stream, &message));
          if (round < 2)
            {
              OK (comm->all_reduce (comm, from, to[0], PLACES, LOOM_F32, LOOM_REDUCE_SUM, &message));
              OK (comm->reduce_scatter (comm, from, to[1], counts, LOOM_F32, LOOM_REDUCE_SUM, &message));
              OK (comm->all_gather (comm, from, to[2], bytes, &message));
              OK (comm->broadcast (comm, to[3], bytes[0], 0, &message));
            }
          if (round == 1)
            OK (b->capture_end (candidate.device, stream, &graph, &message));
          if (round > 0)
            OK (b->graph_launch (candidate.device, graph, stream, &message));
          OK (b->stream_sync (candidate.device, stream, &message));
          for (int k = 0; k < 4; k++)
            {
              OK (b->copy (candidate.device, NULL, got, to[k], sizeof got, LOOM_COPY_DEVICE_TO_HOST, &message));
              g_assert_cmpmem (got, sizeof got, values, sizeof values);
            }
        }
      b->graph_free (candidate.device, graph);
      comm->free (comm);
      b->free (candidate.device, from);
      for (int k = 0; k < 4; k++)
        b->free (candidate.device, to[k]);
    }
  b->stream_free (candidate.device, stream);
  ranks[0]->free (ranks[0]);
}

/* The arguments of another rank's thread. */
typedef struct
{
  LoomDevice *device;
  LoomStream *stream;
  LoomComm *ranks, *comm;
  LoomMessage message;
  LoomStatus status;
} Other;

static gpointer
come (gpointer data)
{
  Other *o = data;

  o->status = candidate.comm (o->device, o->stream, o->ranks, &o->comm, &o->message);
  return NULL;
}

/* A rank with two GPUs waits for one, which waits for the other, which waits for a rank that has ended: the end is
 * noticed although the first GPU exchanges nothing with ranks itself. */
static void
nccl_gone_test (void)
{
  const LoomBackend *b = candidate.backend;
  LoomDevice *devices[3] = { candidate.device };
  LoomStream *streams[3] = { NULL };
  LoomComm *ranks[2] = { NULL }, *comm = NULL;
  LoomMessage message = { "" };
  LoomEvent *event = NULL;
  void *numbers = NULL;
  Other other;
  GThread *thread;

  if (candidate.comm == NULL || b->device_count (&message) < 3)
    {
      g_test_skip ("it takes NCCL and three GPUs");
      return;
    }
  for (int i = 0; i < 3; i++)
    {
      if (i > 0)
        OK (b->device_open (i, 0, &devices[i], &message));
      OK (b->stream_new (devices[i], &streams[i], &message));
    }
  OK (loom_comm_threads_new (2, ranks, &message));
  other = (Other){ .device = devices[2], .stream = streams[2], .ranks = ranks[1] };
  thread = g_thread_new ("rank 1", come, &other);
  OK (candidate.comm (devices[1], streams[1], ranks[0], &comm, &message));
  g_thread_join (thread);
  g_assert_cmpint (other.status, ==, LOOM_STATUS_OK);
  OK (b->alloc (devices[1], PLACES * sizeof (float), &numbers, &message));
  g_assert_true (b->can_send (devices[1], devices[0]));
  OK (b->event_new (devices[1], &event, &message));
  OK (comm->all_reduce (comm, numbers, numbers, PLACES, LOOM_F32, LOOM_REDUCE_SUM, &message));
  OK (b->event_record (devices[1], event, streams[1], &message));
  OK (b->event_wait (devices[0], streams[0], event, &message));
  ranks[1]->abort (ranks[1], "rank 1 has no more to say");
  g_assert_cmpint (b->stream_sync (devices[0], streams[0], &message), !=, LOOM_STATUS_OK);
  g_assert_nonnull (strstr (message.text, "no more to say"));
  /* Both communicators are aborted, and the waiting work ends. */
  comm->free (comm);
  other.comm->free (other.comm);
  b->stream_sync (devices[1], streams[1], &message);
  b->event_free (devices[1], event);
  b->free (devices[1], numbers);
  for (int i = 2; i >= 0; i--)
    {
      b->stream_free (devices[i], streams[i]);
      if (i > 0)
        b->device_close (devices[i]);
    }
  for (int r = 0; r < 2; r++)
    ranks[r]->free (ranks[r]);
}

static void
refused_test (void)
{
  LoomMessage message = { "" };
  void *memory = &message;

  g_assert_cmpint (candidate.backend->alloc (candidate.device, (size_t)1 << 50, &memory, &message), ==,
                   LOOM_STATUS_OUT_OF_MEMORY);
  g_assert_null (memory);
  /* The engine adds the number of bytes. */
  g_assert_cmpstr (message.text, ==, "the GPU is out of memory");
}

static void
no_device_test (gconstpointer why)
{
  g_test_skip (why);
}

/* test-cuda-device MODULE.so */
TEST_FILE (argc, argv)
{
  LoomMessage message = { "" };
  GModule *module;
  gpointer entry = NULL;
  int result;

  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 2);
  module = g_module_open (argv[1], G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);
  if (module == NULL)
    g_error ("%s", g_module_error ());
  g_assert_true (g_module_symbol (module, LOOM_BACKEND_ENTRY, &entry));
  candidate.backend = ((LoomBackendEntry)entry) ();
  if (g_module_symbol (module, LOOM_DEVICE_COMM_ENTRY, &entry))
    candidate.comm = (LoomDeviceCommEntry)entry;
  if (candidate.backend->device_count (&message) == 0)
    {
      g_test_add_data_func ("/cuda/on-device", message.text, no_device_test);
      return g_test_run ();
    }
  g_assert_cmpint (candidate.backend->device_open (0, 0, &candidate.device, &message), ==, LOOM_STATUS_OK);
  g_test_add_func ("/cuda/on-device/fault", fault_test);
  g_test_add_func ("/cuda/on-device/graph", graph_test);
  g_test_add_func ("/cuda/on-device/label", label_test);
  g_test_add_func ("/cuda/on-device/gate", gate_test);
  g_test_add_func ("/cuda/on-device/undo", undo_test);
  g_test_add_data_func ("/cuda/on-device/lesson/naive", "own-naive", lesson_test);
  g_test_add_data_func ("/cuda/on-device/lesson/tiled", "own-tiled", lesson_test);
  g_test_add_func ("/cuda/on-device/nccl-alone", nccl_alone_test);
  g_test_add_func ("/cuda/on-device/nccl-gone", nccl_gone_test);
  g_test_add_func ("/cuda/on-device/refused", refused_test);
  result = g_test_run ();
  candidate.backend->device_close (candidate.device);
  return result;
}
