/* Two emulated GPUs in one process: owners of memory, streams and events, copies between them, and a graph of both. */
#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/test-emulator.h"
#include "tests/cuda/emulator/test-kernels.h"

/* A stream, an event and a number of each GPU. */
struct Both
{
  cudaStream_t stream[2];
  cudaEvent_t event[2];
  float *x[2];
};

static Both
both (void)
{
  Both of = {};

  for (int gpu = 0; gpu < 2; gpu++)
    {
      OK (cudaSetDevice (gpu));
      OK (cudaStreamCreateWithFlags (&of.stream[gpu], cudaStreamNonBlocking));
      OK (cudaEventCreateWithFlags (&of.event[gpu], cudaEventDisableTiming));
      of.x[gpu] = test_memory (1);
      OK (cudaDeviceSynchronize ());
    }
  OK (cudaSetDevice (0));
  return of;
}

static float
value_on (int gpu, const float *at)
{
  OK (cudaSetDevice (gpu));
  const float value = test_value (at);

  OK (cudaSetDevice (0));
  return value;
}

static void
access_test (void)
{
  int reaches = 0;

  OK (cudaSetDevice (0));
  OK (cudaDeviceCanAccessPeer (&reaches, 0, 1));
  g_assert_true (reaches);
  OK (cudaDeviceEnablePeerAccess (1, 0));
  g_assert_cmpint (cudaDeviceEnablePeerAccess (1, 0), ==, cudaErrorPeerAccessAlreadyEnabled);
  g_assert_cmpint (cudaDeviceEnablePeerAccess (0, 0), ==, cudaErrorInvalidDevice);
  g_setenv ("GRADLOOM_EMULATOR_PEERS", "none", TRUE);
  OK (cudaDeviceCanAccessPeer (&reaches, 1, 0));
  g_assert_false (reaches);
  OK (cudaSetDevice (1));
  g_assert_cmpint (cudaDeviceEnablePeerAccess (0, 0), ==, cudaErrorPeerAccessUnsupported);
  g_unsetenv ("GRADLOOM_EMULATOR_PEERS");
  OK (cudaSetDevice (0));
  cudaGetLastError ();
}

static void
copy_test (void)
{
  const Both of = both ();

  test_add (of.stream[0], of.x[0], 1, 3);
  OK (cudaMemcpyPeerAsync (of.x[1], 1, of.x[0], 0, sizeof (float), of.stream[0]));
  OK (cudaStreamSynchronize (of.stream[0]));
  g_assert_cmpfloat (value_on (1, of.x[1]), ==, 3);
  g_assert_cmpint (cudaMemcpyPeerAsync (of.x[1], 0, of.x[0], 1, sizeof (float), of.stream[0]), ==, cudaErrorInvalidValue);
  g_assert_cmpint (cudaMemcpyPeerAsync (of.x[1], 2, of.x[0], 0, sizeof (float), of.stream[0]), ==, cudaErrorInvalidDevice);
  cudaGetLastError ();
}

/* Objects of one GPU are refused while the thread's GPU is another one, or on its stream. */
static void
owners_test (void)
{
  const Both of = both ();

  test_add (of.stream[1], of.x[1], 1, 3);
  g_assert_cmpint (cudaGetLastError (), ==, cudaErrorInvalidResourceHandle);
  g_assert_cmpint (cudaEventRecord (of.event[0], of.stream[1]), ==, cudaErrorInvalidResourceHandle);
  OK (cudaEventRecord (of.event[0], of.stream[0]));
  OK (cudaStreamWaitEvent (of.stream[1], of.event[0], 0));
  cudaGetLastError ();
}

static void
foreign_test (void)
{
  test_found ([] {
    const Both of = both ();

    test_add (of.stream[0], of.x[1], 1, 3);
  }, "*add_kernel on GPU 0 was given the memory * of GPU 1*");
}

static void
foreign_in_struct_test (void)
{
  test_found ([] {
    const Both of = both ();

    test_add_in_struct (of.stream[0], { 1, of.x[1] });
    OK (cudaDeviceSynchronize ());
  }, "*GPU 0 * memory of GPU 1*");
}

/* x0 += 1; x1 = x0; x1 += 2; on the streams of both. */
static void
work (const Both &of)
{
  test_add (of.stream[0], of.x[0], 1, 1);
  OK (cudaMemcpyPeerAsync (of.x[1], 1, of.x[0], 0, sizeof (float), of.stream[0]));
  OK (cudaEventRecord (of.event[0], of.stream[0]));
  OK (cudaStreamWaitEvent (of.stream[1], of.event[0], 0));
  OK (cudaSetDevice (1));
  test_add (of.stream[1], of.x[1], 1, 2);
  OK (cudaGetLastError ());
}

static void
graph_test (void)
{
  const Both of = both ();
  cudaGraph_t graph = NULL;
  cudaGraphExec_t executable = NULL;

  OK (cudaStreamBeginCapture (of.stream[0], cudaStreamCaptureModeThreadLocal));
  work (of);
  OK (cudaEventRecord (of.event[1], of.stream[1]));
  OK (cudaStreamWaitEvent (of.stream[0], of.event[1], 0));
  OK (cudaSetDevice (0));
  OK (cudaStreamEndCapture (of.stream[0], &graph));
  OK (cudaGraphInstantiate (&executable, graph, 0));
  for (int i = 0; i < 3; i++)
    OK (cudaGraphLaunch (executable, of.stream[0]));
  OK (cudaStreamSynchronize (of.stream[0]));
  g_assert_cmpfloat (value_on (0, of.x[0]), ==, 3);
  g_assert_cmpfloat (value_on (1, of.x[1]), ==, 5);
  /* The events were recorded in the capture. */
  g_assert_cmpint (cudaStreamWaitEvent (of.stream[0], of.event[1], 0), ==, cudaErrorCapturedEvent);
  cudaGetLastError ();
}

/* An event that was recorded before the other stream's last work does not join that work. */
static void
unjoined_test (void)
{
  const Both of = both ();
  cudaGraph_t graph = NULL;

  OK (cudaStreamBeginCapture (of.stream[0], cudaStreamCaptureModeThreadLocal));
  work (of);
  OK (cudaEventRecord (of.event[1], of.stream[1]));
  test_add (of.stream[1], of.x[1], 1, 2);
  OK (cudaStreamWaitEvent (of.stream[0], of.event[1], 0));
  OK (cudaSetDevice (0));
  g_assert_cmpint (cudaStreamEndCapture (of.stream[0], &graph), ==, cudaErrorStreamCaptureUnjoined);
  cudaGetLastError ();
}

void
add_peer_tests (void)
{
  g_setenv ("GRADLOOM_EMULATED_GPUS", "2", TRUE);
  g_test_add_func ("/emulator/peers/access", access_test);
  g_test_add_func ("/emulator/peers/copy", copy_test);
  g_test_add_func ("/emulator/peers/owners", owners_test);
  g_test_add_func ("/emulator/peers/foreign", foreign_test);
  /* Only the checked module checks addresses inside structs. */
  if (emulated::checked)
    g_test_add_func ("/emulator/peers/foreign-in-struct", foreign_in_struct_test);
  g_test_add_func ("/emulator/peers/graph", graph_test);
  g_test_add_func ("/emulator/peers/unjoined", unjoined_test);
}
