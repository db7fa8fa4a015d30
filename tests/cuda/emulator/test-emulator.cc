/* Tests the emulated GPU itself: refusals, forbidden calls in captures, faults on demand.
 *
 * Every promise of tests/cuda/README.md has a test here or in the two files next to it. */
#include <string>
#include <thread>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/stream.h"
#include "tests/cuda/emulator/test-emulator.h"
#include "tests/cuda/emulator/test-kernels.h"

float *
test_memory (size_t floats)
{
  void *memory = NULL;

  OK (cudaMalloc (&memory, floats * sizeof (float)));
  OK (cudaMemsetAsync (memory, 0, floats * sizeof (float), NULL));
  return (float *)memory;
}

float
test_value (const float *at)
{
  float value = 0;

  OK (cudaMemcpyAsync (&value, at, sizeof value, cudaMemcpyDeviceToHost, NULL));
  OK (cudaDeviceSynchronize ());
  return value;
}

void
test_found (void (*body) (void), const char *sentence)
{
  if (g_test_subprocess ())
    {
      body ();
      return;
    }
  g_test_trap_subprocess (NULL, 0, (GTestSubprocessFlags)0);
  g_test_trap_assert_failed ();
  g_test_trap_assert_stderr (sentence);
}

/* Memory that tests do not free is kept until the end. */
static std::vector<void *> &kept = *new std::vector<void *> ();

static cudaStream_t
new_stream (unsigned int flags)
{
  cudaStream_t stream = NULL;

  OK (cudaStreamCreateWithFlags (&stream, flags));
  kept.push_back (stream);
  return stream;
}

static cudaEvent_t
new_event (void)
{
  cudaEvent_t event = NULL;

  OK (cudaEventCreateWithFlags (&event, cudaEventDisableTiming));
  kept.push_back (event);
  return event;
}

/* ---- launches ---------------------------------------------------------------------------- */

static void
shapes_test (void)
{
  static const struct
  {
    dim3 grid, block;
    size_t bytes;
    cudaError_t error;
  } cases[] = { { dim3 (1), dim3 (1024), 0, cudaSuccess },
                { dim3 (1), dim3 (1025), 0, cudaErrorInvalidConfiguration },
                { dim3 (1), dim3 (32, 33), 0, cudaErrorInvalidConfiguration },
                { dim3 (1), dim3 (1, 1, 65), 0, cudaErrorInvalidConfiguration },
                { dim3 (1), dim3 (0), 0, cudaErrorInvalidConfiguration },
                { dim3 (70000), dim3 (1), 0, cudaSuccess },
                { dim3 (1, 65535), dim3 (1), 0, cudaSuccess },
                { dim3 (1, 65536), dim3 (1), 0, cudaErrorInvalidConfiguration },
                { dim3 (1, 1, 65536), dim3 (1), 0, cudaErrorInvalidConfiguration },
                { dim3 (0), dim3 (1), 0, cudaErrorInvalidConfiguration },
                { dim3 (1), dim3 (1), 48 << 10, cudaSuccess },
                { dim3 (1), dim3 (1), (48 << 10) + 1, cudaErrorInvalidValue } };
  float *x = test_memory (1);

  for (const auto &c : cases)
    {
      test_shape (c.grid, c.block, c.bytes, x);
      g_assert_cmpint (cudaGetLastError (), ==, c.error);
      g_assert_cmpint (cudaGetLastError (), ==, cudaSuccess);
    }
  OK (cudaFree (x));
}

static void
opt_in_test (void)
{
  const int n = (64 << 10) / 4;
  float *y = test_memory (1);

  test_dynamic (y, n);
  g_assert_cmpint (cudaGetLastError (), ==, cudaErrorInvalidValue);
  g_assert_cmpint (test_opt_in ((227 << 10) + 1), ==, cudaErrorInvalidValue);
  OK (test_opt_in (64 << 10));
  test_dynamic (y, n);
  OK (cudaGetLastError ());
  g_assert_cmpfloat (test_value (y), ==, n);
  test_dynamic (y, n + 1);
  g_assert_cmpint (cudaGetLastError (), ==, cudaErrorInvalidValue);
  OK (cudaFree (y));
}

static void
large_test (void)
{
  test_found ([] { test_large (test_memory (1)); }, "*large_kernel asks for more than 49152 bytes of shared memory*");
}

static void
some_test (void)
{
  test_found ([] { test_some (test_memory (32)); }, "*some_kernel: 16 threads of block 0,0 wait at line*");
}

/* The emulated tensor cores have the same bits as the shuffles that define them. */
static void
product_test (void)
{
  const size_t threads = 64;

  for (int bf16 = 0; bf16 < 2; bf16++)
    {
      std::vector<unsigned> words (threads * 6);
      std::vector<float> y (threads * 8);
      float *sums = test_memory (y.size ());
      unsigned *given = (unsigned *)test_memory (words.size ());
      float size = 0;

      /* Between 1/4 and 4 in size, so that no sum loses a product. */
      for (unsigned &word : words)
        for (int half = 0; half < 2; half++)
          {
            const unsigned random = g_random_int (), exponent = (bf16 ? 125 : 13) + random % 4;

            word |= ((random & 0x8000) | exponent << (bf16 ? 7 : 10) | ((random >> 16) & (bf16 ? 0x7f : 0x3ff))) << 16 * half;
          }
      for (float &sum : y)
        sum = (float)g_random_double_range (-1, 1);
      OK (cudaMemcpyAsync (given, words.data (), words.size () * sizeof (unsigned), cudaMemcpyHostToDevice, NULL));
      OK (cudaMemcpyAsync (sums, y.data (), y.size () * sizeof (float), cudaMemcpyHostToDevice, NULL));
      test_product (bf16 != 0, sums, given);
      OK (cudaMemcpyAsync (y.data (), sums, y.size () * sizeof (float), cudaMemcpyDeviceToHost, NULL));
      OK (cudaDeviceSynchronize ());
      for (size_t thread = 0; thread < threads; thread++)
        {
          g_assert_cmpmem (&y[thread * 8], 4 * sizeof (float), &y[thread * 8 + 4], 4 * sizeof (float));
          for (int i = 0; i < 4; i++)
            size = MAX (size, fabsf (y[thread * 8 + i]));
        }
      g_assert_cmpfloat (size, >, 4);
      OK (cudaFree (sums));
      OK (cudaFree (given));
    }
}

/* So do joins of lanes. */
static void
join_test (void)
{
  const int threads = 64;
  std::vector<float> x (threads), y (threads * 4);
  float *of_x = test_memory (x.size ()), *of_y = test_memory (y.size ());

  for (float &value : x)
    value = (float)g_random_double_range (-1, 1);
  OK (cudaMemcpyAsync (of_x, x.data (), x.size () * sizeof (float), cudaMemcpyHostToDevice, NULL));
  test_join (of_y, of_x);
  OK (cudaMemcpyAsync (y.data (), of_y, y.size () * sizeof (float), cudaMemcpyDeviceToHost, NULL));
  OK (cudaDeviceSynchronize ());
  for (int thread = 0; thread < threads; thread++)
    {
      float sum = 0;

      for (int i = 0; i < 32; i++)
        sum += x[thread / 32 * 32 + i];
      g_assert_cmpmem (&y[thread * 4], sizeof (float), &y[thread * 4 + 1], sizeof (float));
      g_assert_cmpmem (&y[thread * 4 + 2], sizeof (float), &y[thread * 4 + 3], sizeof (float));
      g_assert_cmpfloat_with_epsilon (y[thread * 4], sum, 1e-4);
    }
  OK (cudaFree (of_x));
  OK (cudaFree (of_y));
}

/* ---- memory -------------------------------------------------------------------------------- */

static void
host_pointer_test (void)
{
  test_found (
      [] {
        static float here;

        test_add (NULL, &here, 1, 1);
      },
      "*add_kernel was given the host's pointer*");
}

#if !defined(__SANITIZE_ADDRESS__)
/* A freed address is not used again for a while, so a launch with it is noticed. */
static void
given_back_test (void)
{
  test_found (
      [] {
        float *x = test_memory (16);

        OK (cudaFree (x));
        g_assert_true (test_memory (16) != x);
        test_add (NULL, x, 1, 1);
      },
      "*add_kernel was given the host's pointer*");
}

static void
written_behind_test (void)
{
  test_found (
      [] {
        float *x = test_memory (3);

        test_add (NULL, x, 4, 1);
        cudaFree (x);
      },
      emulated::checked ? "*add_kernel: thread 3 of block 0,0,0 * 4 bytes that begin at byte 12 of memory of 12 bytes*"
                        : "*something wrote * bytes behind the end of memory of 12 bytes*");
}

/* Memory that was given back is compared as it leaves those pieces of the last 64 MiB that are kept. */
static void
written_after_test (void)
{
  test_found (
      [] {
        float *x = test_memory (9);

        cudaFree (x);
        x[7] = 1;
        cudaFree (test_memory (17 << 20));
        cudaFree (test_memory (1));
      },
      "*something wrote byte 28 of memory of 36 bytes after it was given back*");
}

#endif

static void
copies_test (void)
{
  float *x = test_memory (4), values[8] = { 0 };

  OK (cudaMemcpyAsync (x, values, 16, cudaMemcpyHostToDevice, NULL));
  g_assert_cmpint (cudaMemcpyAsync (x, values, 17, cudaMemcpyHostToDevice, NULL), ==, cudaErrorInvalidValue);
  g_assert_cmpint (cudaMemcpyAsync (values, x + 1, 16, cudaMemcpyDeviceToHost, NULL), ==, cudaErrorInvalidValue);
  g_assert_cmpint (cudaMemcpyAsync (values, x, 4, cudaMemcpyHostToDevice, NULL), ==, cudaErrorInvalidValue);
  g_assert_cmpint (cudaMemsetAsync (x + 2, 0, 12, NULL), ==, cudaErrorInvalidValue);
  OK (cudaFree (x));
  g_assert_cmpint (cudaFree (x), ==, cudaErrorInvalidValue);
  cudaGetLastError ();
}

#if defined(__SANITIZE_ADDRESS__)
/* Device memory belongs to the GPU only; the host may read page-locked memory, too. */
static void
host_reads_test (void)
{
  void *pinned = NULL;

  OK (cudaHostAlloc (&pinned, 4, cudaHostAllocMapped));
  *(volatile float *)pinned = 3;
  OK (cudaFreeHost (pinned));
  test_found (
      [] {
        const volatile float *x = test_memory (4);

        if (x[1] != 0)
          g_error ("it is not 0");
      },
      "*AddressSanitizer: use-after-poison*host_reads_test*");
}

/* An over-read is found because an allocation is followed by nothing readable. */
static void
sanitized_over_read_test (void)
{
  test_found ([] { test_copy (test_memory (33), test_memory (32), 33); }, "*AddressSanitizer: *copy_kernel*");
}
#endif

/* ---- capture ----------------------------------------------------------------------------------- */

static void
begin (cudaStream_t stream)
{
  OK (cudaStreamBeginCapture (stream, cudaStreamCaptureModeThreadLocal));
}

static cudaGraphExec_t
end (cudaStream_t stream)
{
  cudaGraph_t graph = NULL;
  cudaGraphExec_t executable = NULL;

  OK (cudaStreamEndCapture (stream, &graph));
  OK (cudaGraphInstantiate (&executable, graph, 0));
  OK (cudaGraphDestroy (graph));
  return executable;
}

/* Arguments are those of the launch, even if the caller's change later; nothing runs before the graph does. */
static void
replayed_test (void)
{
  cudaStream_t stream = new_stream (cudaStreamNonBlocking);
  float *x = test_memory (1), what = 2;
  cudaGraphExec_t graph;

  begin (stream);
  test_add (stream, x, 1, what);
  what = 5;
  test_add_in_struct (stream, { what, x });
  OK (cudaGetLastError ());
  graph = end (stream);
  what = 9;
  g_assert_cmpfloat (test_value (x), ==, 0);
  for (int i = 0; i < 3; i++)
    OK (cudaGraphLaunch (graph, stream));
  g_assert_cmpfloat (test_value (x), ==, 21);
  OK (cudaGraphExecDestroy (graph));
  OK (cudaStreamDestroy (stream));
  OK (cudaFree (x));
}

/* Calls that break a capture, and the error that each returns; the capture then ends with an error of its own. */
static void
forbidden_test (void)
{
  static cudaStream_t stream;
  static float *x;
  static const struct
  {
    const char *what;
    cudaError_t (*call) (void);
    cudaError_t error;
  } cases[] = {
    { "synchronising the stream", [] { return cudaStreamSynchronize (stream); }, cudaErrorStreamCaptureUnsupported },
    { "synchronising the device", [] { return cudaDeviceSynchronize (); }, cudaErrorStreamCaptureUnsupported },
    { "taking memory",
      [] {
        void *memory;
        return cudaMalloc (&memory, 4);
      },
      cudaErrorStreamCaptureUnsupported },
    { "taking page-locked memory",
      [] {
        void *memory;
        return cudaHostAlloc (&memory, 4, 0);
      },
      cudaErrorStreamCaptureUnsupported },
    { "giving memory back", [] { return cudaFree (x); }, cudaErrorStreamCaptureUnsupported },
    { "waiting for an event of no capture",
      [] {
        cudaEvent_t event = new_event ();
        OK (cudaEventRecord (event, new_stream (cudaStreamNonBlocking)));
        return cudaStreamWaitEvent (stream, event, 0);
      },
      cudaErrorStreamCaptureIsolation },
  };

  x = test_memory (1);
  for (const auto &c : cases)
    {
      cudaGraph_t graph;

      g_test_message ("%s", c.what);
      stream = new_stream (cudaStreamNonBlocking);
      begin (stream);
      test_add (stream, x, 1, 1);
      OK (cudaGetLastError ());
      g_assert_cmpint (c.call (), ==, c.error);
      g_assert_cmpint (cudaGetLastError (), ==, c.error);
      test_add (stream, x, 1, 1);
      g_assert_cmpint (cudaGetLastError (), ==, cudaErrorStreamCaptureInvalidated);
      g_assert_cmpint (cudaStreamEndCapture (stream, &graph), ==, cudaErrorStreamCaptureInvalidated);
      g_assert_null (graph);
      cudaGetLastError ();
      /* The stream works as before. */
      test_add (stream, x, 1, 1);
      OK (cudaGetLastError ());
      OK (cudaStreamDestroy (stream));
    }
  g_assert_cmpfloat (test_value (x), ==, G_N_ELEMENTS (cases));
  OK (cudaFree (x));
}

/* A wait for the whole GPU waits for every stream on it, so another thread's capture breaks. */
static void
another_thread_test (void)
{
  cudaStream_t stream = new_stream (cudaStreamNonBlocking);
  float *x = test_memory (1);
  cudaError_t error = cudaSuccess;
  cudaGraph_t graph;

  begin (stream);
  test_add (stream, x, 1, 1);
  std::thread ([&error] { error = cudaDeviceSynchronize (); }).join ();
  g_assert_cmpint (error, ==, cudaErrorStreamCaptureUnsupported);
  g_assert_cmpint (cudaStreamEndCapture (stream, &graph), ==, cudaErrorStreamCaptureInvalidated);
  cudaGetLastError ();
  OK (cudaDeviceSynchronize ());
  OK (cudaStreamDestroy (stream));
  OK (cudaFree (x));
}

/* Work on the legacy stream would have to wait for a blocking stream; it ignores one that does not block. */
static void
legacy_test (void)
{
  cudaStream_t blocking = new_stream (cudaStreamDefault), other = new_stream (cudaStreamNonBlocking);
  float *x = test_memory (1);
  cudaGraph_t graph;

  g_assert_cmpint (cudaStreamBeginCapture (NULL, cudaStreamCaptureModeThreadLocal), ==, cudaErrorStreamCaptureUnsupported);
  begin (blocking);
  test_add (NULL, x, 1, 1);
  g_assert_cmpint (cudaGetLastError (), ==, cudaErrorStreamCaptureImplicit);
  g_assert_cmpint (cudaStreamEndCapture (blocking, &graph), ==, cudaErrorStreamCaptureInvalidated);
  cudaGetLastError ();
  begin (other);
  test_add (NULL, x, 1, 1);
  OK (cudaGetLastError ());
  OK (cudaStreamEndCapture (other, &graph));
  OK (cudaGraphDestroy (graph));
  g_assert_cmpfloat (test_value (x), ==, 1);
  OK (cudaFree (x));
}

static void
states_test (void)
{
  cudaStream_t stream = new_stream (cudaStreamNonBlocking);
  cudaError_t elsewhere = cudaSuccess;
  cudaGraph_t graph;

  g_assert_cmpint (cudaStreamEndCapture (stream, &graph), ==, cudaErrorIllegalState);
  begin (stream);
  g_assert_cmpint (cudaStreamBeginCapture (stream, cudaStreamCaptureModeThreadLocal), ==, cudaErrorIllegalState);
  std::thread ([&] {
    cudaGraph_t unused;
    elsewhere = cudaStreamEndCapture (stream, &unused);
  }).join ();
  g_assert_cmpint (elsewhere, ==, cudaErrorStreamCaptureWrongThread);
  /* Another thread may still allocate. */
  std::thread ([] { OK (cudaFree (test_memory (1))); }).join ();
  OK (cudaStreamEndCapture (stream, &graph));
  OK (cudaGraphDestroy (graph));
  cudaGetLastError ();
}

/* An event adds a second stream to the capture, and another must join it back. */
static void
joined_test (void)
{
  cudaStream_t first = new_stream (cudaStreamNonBlocking), second = new_stream (cudaStreamNonBlocking);
  float *x = test_memory (1);
  cudaEvent_t fork = new_event (), join = new_event ();
  cudaGraphExec_t graph;
  cudaGraph_t unjoined;

  begin (first);
  OK (cudaEventRecord (fork, first));
  OK (cudaStreamWaitEvent (second, fork, 0));
  test_add (second, x, 1, 3);
  OK (cudaEventRecord (join, second));
  OK (cudaStreamWaitEvent (first, join, 0));
  graph = end (first);
  OK (cudaGraphLaunch (graph, first));
  g_assert_cmpfloat (test_value (x), ==, 3);
  OK (cudaGraphExecDestroy (graph));

  begin (first);
  OK (cudaEventRecord (fork, first));
  OK (cudaStreamWaitEvent (second, fork, 0));
  test_add (second, x, 1, 3);
  g_assert_cmpint (cudaStreamEndCapture (first, &unjoined), ==, cudaErrorStreamCaptureUnjoined);
  cudaGetLastError ();
  test_add (second, x, 1, 3);
  g_assert_cmpfloat (test_value (x), ==, 6);
  OK (cudaFree (x));
}

/* A graph whose buffer was freed: found by the address among the arguments, or inside a struct. */
static void
moved (bool in_struct)
{
  cudaStream_t stream = new_stream (cudaStreamNonBlocking);
  float *x = test_memory (1);
  cudaGraphExec_t graph;

  begin (stream);
  if (in_struct)
    test_add_in_struct (stream, { 1, x });
  else
    test_add (stream, x, 1, 1);
  graph = end (stream);
  OK (cudaGraphLaunch (graph, stream));
  OK (cudaFree (x));
  cudaGraphLaunch (graph, stream);
}

static void
moved_test (void)
{
  test_found ([] { moved (false); }, "*a graph runs add_kernel with the address * of its capture, and that memory has been given back*");
}

static void
moved_in_struct_test (void)
{
  test_found ([] { moved (true); }, "*a graph runs add_in_struct_kernel with the address * of its capture*");
}

/* ---- streams ------------------------------------------------------------------------------- */

/* One stream writes what another one copies, with or without events between; returns how often the copy was not the
 * last write. The host's memory is page-locked, so that copies are asynchronous. */
static int
wrong_copies (bool ordered)
{
  cudaStream_t up = new_stream (cudaStreamNonBlocking), compute = new_stream (cudaStreamNonBlocking);
  cudaEvent_t written = new_event (), taken = new_event ();
  float *staging = test_memory (1), *x = test_memory (64);
  void *locked = NULL;
  int wrong = 0;

  OK (cudaHostAlloc (&locked, 64 * sizeof (float), cudaHostAllocPortable));
  for (int i = 0; i < 64; i++)
    ((float *)locked)[i] = (float)(i + 1);
  OK (cudaDeviceSynchronize ());
  for (int i = 0; i < 64; i++)
    {
      if (ordered)
        OK (cudaStreamWaitEvent (up, taken, 0));
      OK (cudaMemcpyAsync (staging, (float *)locked + i, sizeof (float), cudaMemcpyHostToDevice, up));
      if (ordered)
        {
          OK (cudaEventRecord (written, up));
          OK (cudaStreamWaitEvent (compute, written, 0));
        }
      OK (cudaMemcpyAsync (x + i, staging, sizeof (float), cudaMemcpyDeviceToDevice, compute));
      if (ordered)
        OK (cudaEventRecord (taken, compute));
    }
  for (int i = 0; i < 64; i++)
    wrong += test_value (x + i) != (float)(i + 1);
  return wrong;
}

/* Streams at random, in a process of its own since the choice is read once. */
static void
in_random_order (void (*body) (void), const char *sentence)
{
  if (g_test_subprocess ())
    {
      g_setenv ("GRADLOOM_EMULATOR_STREAMS", "random", TRUE);
      body ();
      return;
    }
  g_test_trap_subprocess (NULL, 0, (GTestSubprocessFlags)0);
  if (sentence == NULL)
    g_test_trap_assert_passed ();
  else
    {
      g_test_trap_assert_failed ();
      g_test_trap_assert_stderr (sentence);
    }
}

static void
random_streams (void)
{
  g_assert_cmpint (wrong_copies (true), ==, 0);
  g_assert_cmpint (wrong_copies (false), >, 8);
}

static void
random_streams_test (void)
{
  in_random_order (random_streams, NULL);
  if (!g_test_subprocess ())
    g_assert_cmpint (wrong_copies (false), ==, 0);
}

/* Two events, each recorded after work that waits for the other. */
static void
circle (void)
{
  cudaStream_t a = new_stream (cudaStreamNonBlocking), b = new_stream (cudaStreamNonBlocking);
  cudaEvent_t of_a = new_event (), of_b = new_event ();

  /* Marks that were never reached, as after a lost wait. */
  of_a->marks->recorded = of_b->marks->recorded = 1;
  OK (cudaStreamWaitEvent (a, of_b, 0));
  OK (cudaStreamWaitEvent (b, of_a, 0));
  OK (cudaDeviceSynchronize ());
}

static void
circle_test (void)
{
  in_random_order (circle, "*streams wait for each other*");
}

/* Times of events are those at which the GPU reached them; events without timing have none. */
static void
elapsed_test (void)
{
  cudaStream_t stream = new_stream (cudaStreamNonBlocking);
  cudaEvent_t from = NULL, to = NULL;
  float milliseconds = -1;

  OK (cudaEventCreateWithFlags (&from, cudaEventDefault));
  OK (cudaEventCreateWithFlags (&to, cudaEventDefault));
  kept.push_back (from);
  kept.push_back (to);
  OK (cudaEventRecord (from, stream));
  g_assert_cmpint (cudaEventElapsedTime (&milliseconds, from, to), ==, cudaErrorInvalidResourceHandle);
  cudaGetLastError ();
  OK (cudaEventRecord (to, stream));
  OK (cudaEventElapsedTime (&milliseconds, from, to));
  g_assert_cmpfloat (milliseconds, >=, 0);
  g_assert_cmpint (cudaEventElapsedTime (&milliseconds, from, new_event ()), ==, cudaErrorInvalidResourceHandle);
  cudaGetLastError ();
}

/* ---- faults on demand ----------------------------------------------------------------------------- */

static void
alloc_test (void)
{
  void *memory[3] = { NULL };

  g_setenv ("GRADLOOM_EMULATOR_FAIL", "alloc:2", TRUE);
  OK (cudaMalloc (&memory[0], 4));
  g_assert_cmpint (cudaMalloc (&memory[1], 4), ==, cudaErrorMemoryAllocation);
  g_assert_cmpint (cudaGetLastError (), ==, cudaErrorMemoryAllocation);
  g_assert_cmpint (cudaGetLastError (), ==, cudaSuccess);
  OK (cudaMalloc (&memory[2], 4));
  g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
  OK (cudaFree (memory[0]));
  OK (cudaFree (memory[2]));
}

static void
launch_test (void)
{
  float *x = test_memory (1);

  g_setenv ("GRADLOOM_EMULATOR_FAIL", "alloc:7,launch:2", TRUE);
  for (int i = 1; i <= 3; i++)
    {
      test_add (NULL, x, 1, 1);
      g_assert_cmpint (cudaGetLastError (), ==, i == 2 ? cudaErrorLaunchOutOfResources : cudaSuccess);
    }
  g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
  g_assert_cmpfloat (test_value (x), ==, 2);
  OK (cudaFree (x));
}

/* Nothing is reported when the kernel faults, only at the next synchronisation; from then on everything fails. */
static void
sticky_test (void)
{
  float value = 7, *x;
  void *memory;

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, (GTestSubprocessFlags)0);
      g_test_trap_assert_passed ();
      return;
    }
  x = test_memory (1);
  g_setenv ("GRADLOOM_EMULATOR_FAIL", "sticky:2", TRUE);
  test_add (NULL, x, 1, 1);
  test_add (NULL, x, 1, 1);
  test_add (NULL, x, 1, 1);
  OK (cudaGetLastError ());
  OK (cudaMemcpyAsync (&value, x, sizeof value, cudaMemcpyDeviceToHost, NULL));
  g_assert_cmpfloat (value, ==, 7);
  for (int i = 0; i < 2; i++)
    {
      g_assert_cmpint (cudaDeviceSynchronize (), ==, cudaErrorIllegalAddress);
      g_assert_cmpint (cudaGetLastError (), ==, cudaErrorIllegalAddress);
    }
  g_unsetenv ("GRADLOOM_EMULATOR_FAIL");
  g_assert_cmpint (cudaMalloc (&memory, 4), ==, cudaErrorIllegalAddress);
  g_assert_cmpint (cudaFree (x), ==, cudaErrorIllegalAddress);
  test_add (NULL, x, 1, 1);
  g_assert_cmpint (cudaGetLastError (), ==, cudaErrorIllegalAddress);
}

static void
lost_test (void)
{
  cudaStream_t stream;
  void *memory;

  if (!g_test_subprocess ())
    {
      g_test_trap_subprocess (NULL, 0, (GTestSubprocessFlags)0);
      g_test_trap_assert_passed ();
      return;
    }
  g_setenv ("GRADLOOM_EMULATOR_FAIL", "lost:3", TRUE);
  OK (cudaMalloc (&memory, 4));
  OK (cudaMemsetAsync (memory, 0, 4, NULL));
  g_assert_cmpint (cudaMemsetAsync (memory, 0, 4, NULL), ==, cudaErrorIllegalAddress);
  g_assert_cmpint (cudaStreamCreateWithFlags (&stream, 0), ==, cudaErrorIllegalAddress);
  g_assert_cmpint (cudaDeviceSynchronize (), ==, cudaErrorIllegalAddress);
  g_assert_cmpint (cudaGetLastError (), ==, cudaErrorIllegalAddress);
  g_assert_cmpint (cudaFree (memory), ==, cudaErrorIllegalAddress);
  g_assert_cmpint (cudaGetLastError (), ==, cudaErrorIllegalAddress);
  g_assert_cmpstr (cudaGetErrorString (cudaGetLastError ()), ==, "an illegal memory access was encountered");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/emulator/launch/shapes", shapes_test);
  g_test_add_func ("/emulator/launch/opt-in", opt_in_test);
  g_test_add_func ("/emulator/launch/large", large_test);
  g_test_add_func ("/emulator/launch/some", some_test);
  g_test_add_func ("/emulator/launch/product", product_test);
  g_test_add_func ("/emulator/launch/join", join_test);
  g_test_add_func ("/emulator/memory/host-pointer", host_pointer_test);
#if !defined(__SANITIZE_ADDRESS__)
  g_test_add_func ("/emulator/memory/given-back", given_back_test);
  g_test_add_func ("/emulator/memory/written-behind", written_behind_test);
  g_test_add_func ("/emulator/memory/written-after", written_after_test);
#endif
#if defined(__SANITIZE_ADDRESS__)
  g_test_add_func ("/emulator/memory/host-reads", host_reads_test);
  g_test_add_func ("/emulator/memory/over-read", sanitized_over_read_test);
#endif
  g_test_add_func ("/emulator/memory/copies", copies_test);
  g_test_add_func ("/emulator/capture/replayed", replayed_test);
  g_test_add_func ("/emulator/capture/forbidden", forbidden_test);
  g_test_add_func ("/emulator/capture/another-thread", another_thread_test);
  g_test_add_func ("/emulator/capture/legacy", legacy_test);
  g_test_add_func ("/emulator/capture/states", states_test);
  g_test_add_func ("/emulator/capture/joined", joined_test);
  g_test_add_func ("/emulator/capture/moved", moved_test);
  g_test_add_func ("/emulator/capture/moved-in-struct", moved_in_struct_test);
  g_test_add_func ("/emulator/streams/random", random_streams_test);
  g_test_add_func ("/emulator/streams/circle", circle_test);
  g_test_add_func ("/emulator/streams/elapsed", elapsed_test);
  add_peer_tests ();
  g_test_add_func ("/emulator/faults/alloc", alloc_test);
  g_test_add_func ("/emulator/faults/launch", launch_test);
  g_test_add_func ("/emulator/faults/sticky", sticky_test);
  g_test_add_func ("/emulator/faults/lost", lost_test);
  add_library_tests ();
  add_touch_tests ();
  return g_test_run ();
}
