/* The calls of the CUDA runtime that kernels/cuda makes: memory, streams, events, graphs.
 *
 * Work is done when it is enqueued, or recorded where its stream is being captured.
 * Memory begins poisoned and is followed by bytes that nobody may change. */
#include <map>
#include <memory>
#include <mutex>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#include "tests/cuda/emulator/emulator.h"

#define TOTAL_MEMORY ((size_t)16 << 30)
#define GUARD_BYTES  ((size_t)64)
#define GUARD        0xa5
#define POISON       0xff

typedef std::vector<std::function<void ()>> Recording;

struct CUstream_st
{
  std::unique_ptr<Recording> recording; /* while it is being captured */
  bool broken;                          /* something that capture forbids was done */
};

struct CUevent_st
{
  int unused;
};

struct CUgraph_st
{
  Recording work;
};

struct CUgraphExec_st
{
  Recording work;
};

namespace
{
std::recursive_mutex device;
std::map<uintptr_t, size_t> memory; /* device memory and page-locked memory: bytes by address */
size_t in_use;
thread_local cudaError_t last = cudaSuccess;
thread_local CUstream_st *captured; /* what this thread captures */

cudaError_t
answer (cudaError_t error)
{
  if (error != cudaSuccess)
    last = error;
  return error;
}

/* Thread-local capture forbids this thread what might wait or synchronise. */
bool
forbidden (void)
{
  if (captured == nullptr)
    return false;
  captured->broken = true;
  return true;
}

/* GRADLOOM_EMULATOR_FAIL=alloc:N makes the N-th allocation fail and launch:N the N-th launch, counted from 1. */
bool
fails (const char *what, long n)
{
  const char *wish = getenv ("GRADLOOM_EMULATOR_FAIL");
  size_t length = strlen (what);

  return wish != nullptr && strncmp (wish, what, length) == 0 && wish[length] == ':' && atol (wish + length + 1) == n;
}

cudaError_t
take (void **to, size_t bytes)
{
  static long n;
  char *at = nullptr;

  std::lock_guard<std::recursive_mutex> hold (device);
  if (fails ("alloc", ++n) || bytes > TOTAL_MEMORY - in_use
      || posix_memalign ((void **)&at, 256, bytes + GUARD_BYTES) != 0)
    return answer (cudaErrorMemoryAllocation);
  memset (at, POISON, bytes);
  memset (at + bytes, GUARD, GUARD_BYTES);
  memory[(uintptr_t)at] = bytes;
  in_use += bytes;
  *to = at;
  return cudaSuccess;
}

cudaError_t
give_back (void *pointer)
{
  if (pointer == nullptr)
    return cudaSuccess;
  std::lock_guard<std::recursive_mutex> hold (device);
  auto entry = memory.find ((uintptr_t)pointer);

  if (entry == memory.end ())
    return answer (cudaErrorInvalidValue);
  for (size_t i = 0; i < GUARD_BYTES; i++)
    if (((unsigned char *)pointer)[entry->second + i] != GUARD)
      emulated::found ("something wrote %zu bytes behind the end of memory of %zu bytes", i + 1, entry->second);
  in_use -= entry->second;
  memory.erase (entry);
  free (pointer);
  return cudaSuccess;
}
}

namespace emulated
{
bool
device_sees (const void *pointer)
{
  std::lock_guard<std::recursive_mutex> hold (device);
  auto entry = memory.upper_bound ((uintptr_t)pointer);

  if (entry == memory.begin ())
    return false;
  --entry;
  return (uintptr_t)pointer - entry->first <= entry->second;
}

void
set_error (cudaError_t error)
{
  last = error;
}

cudaError_t
check (const Shape &shape)
{
  static long n;
  const dim3 &g = shape.grid, &b = shape.block;

  if (g.x == 0 || g.y == 0 || g.z == 0 || b.x == 0 || b.y == 0 || b.z == 0 || g.x > 0x7fffffffu || g.y > 65535
      || g.z > 65535 || b.x > 1024 || b.y > 1024 || b.z > 64 || (uint64_t)b.x * b.y * b.z > 1024)
    return cudaErrorInvalidConfiguration;
  /* Nothing here opts in to more than 48 KiB. */
  if (shape.bytes > ((size_t)48 << 10))
    return cudaErrorInvalidValue;
  std::lock_guard<std::recursive_mutex> hold (device);
  return fails ("launch", ++n) ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t
enqueue (cudaStream_t stream, std::function<void ()> work)
{
  if (stream != nullptr && stream->recording != nullptr)
    {
      stream->recording->push_back (std::move (work));
      return cudaSuccess;
    }
  std::lock_guard<std::recursive_mutex> hold (device);
  work ();
  return cudaSuccess;
}

void
submit (const char *name, const Shape &shape, std::function<void ()> thread)
{
  enqueue (shape.stream, [name, shape, thread = std::move (thread)] { run_blocks (name, shape.grid, shape.block, thread); });
}
}

using emulated::enqueue;

extern "C"
{
/* ---- the device ------------------------------------------------------------------------ */

cudaError_t
cudaGetDeviceCount (int *count)
{
  *count = 1;
  return cudaSuccess;
}

cudaError_t
cudaSetDevice (int index)
{
  return index == 0 ? cudaSuccess : answer (cudaErrorInvalidDevice);
}

cudaError_t
cudaGetDeviceProperties (struct cudaDeviceProp *properties, int index)
{
  if (index != 0)
    return answer (cudaErrorInvalidDevice);
  memset (properties, 0, sizeof *properties);
  snprintf (properties->name, sizeof properties->name, "emulated");
  properties->major = 9;
  properties->multiProcessorCount = 4;
  properties->totalGlobalMem = TOTAL_MEMORY;
  return cudaSuccess;
}

cudaError_t
cudaDeviceSynchronize (void)
{
  return forbidden () ? answer (cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t
cudaGetLastError (void)
{
  cudaError_t error = last;

  last = cudaSuccess;
  return error;
}

const char *
cudaGetErrorString (cudaError_t error)
{
  switch (error)
    {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    default:
      return "an error that the emulated card has no name for";
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

cudaError_t
cudaMalloc (void **to, size_t bytes)
{
  return forbidden () ? answer (cudaErrorStreamCaptureUnsupported) : take (to, bytes);
}

cudaError_t
cudaFree (void *pointer)
{
  return forbidden () ? answer (cudaErrorStreamCaptureUnsupported) : give_back (pointer);
}

cudaError_t
cudaHostAlloc (void **to, size_t bytes, unsigned int)
{
  return forbidden () ? answer (cudaErrorStreamCaptureUnsupported) : take (to, bytes);
}

cudaError_t
cudaFreeHost (void *pointer)
{
  return forbidden () ? answer (cudaErrorStreamCaptureUnsupported) : give_back (pointer);
}

cudaError_t
cudaHostGetDevicePointer (void **to, void *from, unsigned int)
{
  if (!emulated::device_sees (from))
    return answer (cudaErrorInvalidValue);
  *to = from;
  return cudaSuccess;
}

cudaError_t
cudaMemGetInfo (size_t *bytes_free, size_t *bytes_total)
{
  std::lock_guard<std::recursive_mutex> hold (device);

  *bytes_total = TOTAL_MEMORY;
  *bytes_free = TOTAL_MEMORY - in_use;
  return cudaSuccess;
}

cudaError_t
cudaMemcpyAsync (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
  if ((kind != cudaMemcpyDeviceToHost && !emulated::device_sees (to))
      || (kind != cudaMemcpyHostToDevice && !emulated::device_sees (from)))
    return answer (cudaErrorInvalidValue);
  return enqueue (stream, [=] { memmove (to, from, bytes); });
}

cudaError_t
cudaMemsetAsync (void *to, int value, size_t bytes, cudaStream_t stream)
{
  if (!emulated::device_sees (to))
    return answer (cudaErrorInvalidValue);
  return enqueue (stream, [=] { memset (to, value, bytes); });
}

/* ---- streams and events ------------------------------------------------------------------------ */

cudaError_t
cudaStreamCreateWithFlags (cudaStream_t *stream, unsigned int)
{
  *stream = new CUstream_st ();
  return cudaSuccess;
}

cudaError_t
cudaStreamDestroy (cudaStream_t stream)
{
  delete stream;
  return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize (cudaStream_t)
{
  return forbidden () ? answer (cudaErrorStreamCaptureUnsupported) : cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags (cudaEvent_t *event, unsigned int)
{
  *event = new CUevent_st ();
  return cudaSuccess;
}

cudaError_t
cudaEventDestroy (cudaEvent_t event)
{
  delete event;
  return cudaSuccess;
}

/* Work is done in the order in which it is enqueued, so an event has nothing to hold back. */
cudaError_t
cudaEventRecord (cudaEvent_t, cudaStream_t stream)
{
  return stream != nullptr && stream->recording != nullptr ? answer (cudaErrorNotSupported) : cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent (cudaStream_t stream, cudaEvent_t, unsigned int)
{
  return stream != nullptr && stream->recording != nullptr ? answer (cudaErrorNotSupported) : cudaSuccess;
}

/* ---- graphs --------------------------------------------------------------------------------------- */

cudaError_t
cudaStreamBeginCapture (cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
  if (mode != cudaStreamCaptureModeThreadLocal)
    return answer (cudaErrorNotSupported);
  if (stream == nullptr || stream->recording != nullptr || captured != nullptr)
    return answer (cudaErrorStreamCaptureUnsupported);
  stream->recording.reset (new Recording ());
  stream->broken = false;
  captured = stream;
  return cudaSuccess;
}

cudaError_t
cudaStreamEndCapture (cudaStream_t stream, cudaGraph_t *graph)
{
  *graph = nullptr;
  if (stream == nullptr || stream->recording == nullptr || captured != stream)
    return answer (cudaErrorInvalidValue);
  captured = nullptr;
  std::unique_ptr<Recording> recording = std::move (stream->recording);

  if (stream->broken)
    return answer (cudaErrorStreamCaptureInvalidated);
  *graph = new CUgraph_st{ std::move (*recording) };
  return cudaSuccess;
}

cudaError_t
cudaGraphInstantiate (cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
  *executable = new CUgraphExec_st{ graph->work };
  return cudaSuccess;
}

cudaError_t
cudaGraphDestroy (cudaGraph_t graph)
{
  delete graph;
  return cudaSuccess;
}

cudaError_t
cudaGraphExecDestroy (cudaGraphExec_t executable)
{
  delete executable;
  return cudaSuccess;
}

cudaError_t
cudaGraphLaunch (cudaGraphExec_t executable, cudaStream_t stream)
{
  if (stream != nullptr && stream->recording != nullptr)
    return answer (cudaErrorNotSupported);
  for (const std::function<void ()> &work : executable->work)
    enqueue (stream, work);
  return cudaSuccess;
}
}
