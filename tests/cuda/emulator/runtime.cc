/* The calls of the CUDA runtime that kernels/cuda makes: the device, memory, streams, events.
 *
 * Work is done when it is enqueued or later (queue.cc), or recorded if its stream is being captured (graph.cc). */
#include <stdio.h>
#include <stdlib.h>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/stream.h"

namespace emulated
{
namespace
{
thread_local cudaError_t last = cudaSuccess;
thread_local int current; /* GPU */
}

int
current_gpu (void)
{
  return current;
}

cudaError_t
answer (cudaError_t error)
{
  if (error != cudaSuccess)
    last = error;
  return error;
}

void
set_error (cudaError_t error)
{
  last = error;
}

size_t dynamic_limit (const char *kernel);

static bool
sees (int index)
{
  return index >= 0 && (size_t)index < visible ().size ();
}

cudaError_t
check (const char *name, const Shape &shape)
{
  const dim3 &g = shape.grid, &b = shape.block;
  cudaError_t error = standing ();

  if (error != cudaSuccess)
    return error;
  if (shape.stream != nullptr && shape.stream->gpu != current)
    return cudaErrorInvalidResourceHandle;
  if (g.x == 0 || g.y == 0 || g.z == 0 || b.x == 0 || b.y == 0 || b.z == 0 || g.x > 0x7fffffffu || g.y > 65535
      || g.z > 65535 || b.x > 1024 || b.y > 1024 || b.z > 64 || (uint64_t)b.x * b.y * b.z > MAX_THREADS)
    return cudaErrorInvalidConfiguration;
  if (shape.bytes > dynamic_limit (name))
    return cudaErrorInvalidValue;
  return fails ("launch") ? cudaErrorLaunchOutOfResources : cudaSuccess;
}

static int
gpu_of (cudaStream_t stream)
{
  return stream != nullptr ? stream->gpu : current;
}

void
check_address (const char *name, cudaStream_t stream, const void *argument)
{
  const Piece *piece = piece_of (argument);

  if (piece == NULL)
    found ("%s was given the host's pointer %p", name, argument);
  if (!piece->host && piece->gpu != gpu_of (stream))
    found ("%s on GPU %d was given the memory %p of GPU %d", name, gpu_of (stream), argument, piece->gpu);
}

void
submit (const char *name, const Shape &shape, void (*thread) (const void *), const void *arguments, size_t bytes,
        const void *const *pointers, int n_pointers)
{
  cudaError_t error = check (name, shape);

  if (error != cudaSuccess)
    return set_error (error);
  for (int i = 0; i < n_pointers; i++)
    if (pointers[i] != NULL)
      check_address (name, shape.stream, pointers[i]);

  std::shared_ptr<char[]> copied (new char[bytes]);
  std::vector<const void *> uses (bytes / sizeof (void *));

  memcpy (copied.get (), arguments, bytes);
  /* Pointers among the arguments and inside structs among them; another value that looks like one is improbable. */
  if (!uses.empty ())
    memcpy (uses.data (), arguments, uses.size () * sizeof (void *));
  const Kernel kernel = { name, thread, copied, bytes };
  Work work = { name,
                [shape, kernel] {
                  if (fails ("sticky"))
                    fault ();
                  else
                    run_blocks (kernel, shape);
                },
                uses };

  work.is_checked = true; /* as far as arguments are addresses: others may look like one */
  error = enqueue (shape.stream, std::move (work));
  if (error != cudaSuccess)
    set_error (error);
}
}

using emulated::answer;
using emulated::enqueue;
using emulated::forbidden;

/* Every call fails on a lost GPU. */
#define STANDS()                                                                                                       \
  if (cudaError_t error_ = emulated::standing ())                                                                      \
  return answer (error_)
#define NOT_WHILE_CAPTURING()                                                                                          \
  STANDS ();                                                                                                           \
  if (forbidden ())                                                                                                    \
  return answer (cudaErrorStreamCaptureUnsupported)

extern "C"
{
/* ---- the device ------------------------------------------------------------------------ */

cudaError_t
cudaGetDeviceCount (int *count)
{
  *count = (int)emulated::visible ().size ();
  return *count > 0 ? cudaSuccess : answer (cudaErrorNoDevice);
}

cudaError_t
cudaDriverGetVersion (int *version)
{
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t
cudaRuntimeGetVersion (int *version)
{
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t
cudaSetDevice (int index)
{
  if (!emulated::sees (index))
    return answer (cudaErrorInvalidDevice);
  emulated::current = index;
  return cudaSuccess;
}

/* As if every kernel had been compiled for this GPU. */
cudaError_t
cudaFuncGetAttributes (cudaFuncAttributes *to, const void *kernel)
{
  memset (to, 0, sizeof *to);
  to->ptxVersion = to->binaryVersion = 90;
  return cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties (struct cudaDeviceProp *properties, int index)
{
  size_t unused;

  if (!emulated::sees (index))
    return answer (cudaErrorInvalidDevice);
  STANDS ();
  memset (properties, 0, sizeof *properties);
  /* GPUs after the first have a number in their name, since nothing else tells them apart. */
  if (emulated::visible ()[(size_t)index] == 0)
    snprintf (properties->name, sizeof properties->name, "emulated");
  else
    snprintf (properties->name, sizeof properties->name, "emulated %d", emulated::visible ()[(size_t)index]);
  snprintf (properties->uuid.bytes, sizeof properties->uuid.bytes, "emulated %d", emulated::visible ()[(size_t)index]);
  properties->major = 9;
  properties->multiProcessorCount = 4;
  properties->sharedMemPerBlock = (size_t)48 << 10;
  properties->sharedMemPerBlockOptin = (size_t)227 << 10;
  emulated::memory_info (&unused, &properties->totalGlobalMem);
  return cudaSuccess;
}

cudaError_t
cudaDeviceSynchronize (void)
{
  STANDS ();
  if (emulated::forbidden_by_any ())
    return answer (cudaErrorStreamCaptureUnsupported);
  emulated::settle (nullptr);
  return answer (emulated::waited ());
}

/* An error of a lost GPU stays. */
cudaError_t
cudaGetLastError (void)
{
  cudaError_t error = emulated::last;

  if (error != cudaErrorIllegalAddress)
    emulated::last = cudaSuccess;
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
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorNotReady:
      return "device not ready";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorIllegalState:
      return "the operation cannot be performed in the present state";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorStreamCaptureUnsupported:
      return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
      return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
      return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
      return "dependency created on uncaptured work in another stream";
    case cudaErrorStreamCaptureImplicit:
      return "operation would make the legacy stream depend on a capturing blocking stream";
    case cudaErrorPeerAccessAlreadyEnabled:
      return "peer access is already enabled";
    case cudaErrorPeerAccessUnsupported:
      return "peer access is not supported between these two devices";
    case cudaErrorCapturedEvent:
      return "operation not permitted on an event last recorded in a capturing stream";
    case cudaErrorStreamCaptureWrongThread:
      return "attempt to terminate a thread-local capture sequence from another thread";
    default:
      return "an error that the emulated card has no name for";
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

cudaError_t
cudaMalloc (void **to, size_t bytes)
{
  NOT_WHILE_CAPTURING ();
  return answer (emulated::take (to, bytes, false));
}

/* Waits, as on a GPU. The driver frees memory of a lost GPU, although it returns an error. */
cudaError_t
cudaFree (void *pointer)
{
  if (forbidden ())
    return answer (cudaErrorStreamCaptureUnsupported);
  emulated::settle (nullptr);
  cudaError_t lost = emulated::waited (), error = emulated::give_back (pointer);

  return answer (lost != cudaSuccess ? lost : error);
}

cudaError_t
cudaHostAlloc (void **to, size_t bytes, unsigned int)
{
  NOT_WHILE_CAPTURING ();
  return answer (emulated::take (to, bytes, true));
}

/* The host's memory can be freed without the GPU. */
cudaError_t
cudaFreeHost (void *pointer)
{
  if (forbidden ())
    return answer (cudaErrorStreamCaptureUnsupported);
  emulated::settle (nullptr);
  return answer (emulated::give_back (pointer));
}

cudaError_t
cudaHostGetDevicePointer (void **to, void *from, unsigned int)
{
  const emulated::Piece *piece = emulated::piece_of (from);

  STANDS ();
  if (piece == NULL || !piece->host)
    return answer (cudaErrorInvalidValue);
  *to = from;
  return cudaSuccess;
}

cudaError_t
cudaMemGetInfo (size_t *bytes_free, size_t *bytes_total)
{
  STANDS ();
  emulated::memory_info (bytes_free, bytes_total);
  return cudaSuccess;
}

/* All bytes on the GPU's side must be in one piece of its memory. A copy from or to the host's pageable memory is
 * complete when the call returns, after the work on its stream. */
cudaError_t
cudaMemcpyAsync (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
  STANDS ();
  if ((kind != cudaMemcpyDeviceToHost && !emulated::device_sees (to, bytes))
      || (kind != cudaMemcpyHostToDevice && !emulated::device_sees (from, bytes)))
    return answer (cudaErrorInvalidValue);
  cudaError_t error = enqueue (stream, { "cudaMemcpyAsync", [=] { memmove (to, from, bytes); }, { to, from } });

  if (error == cudaSuccess && kind != cudaMemcpyDeviceToDevice && (stream == nullptr || stream->capture == nullptr)
      && !emulated::copies_later (kind == cudaMemcpyHostToDevice ? from : to))
    emulated::settle (stream);
  return answer (error);
}

cudaError_t
cudaMemsetAsync (void *to, int value, size_t bytes, cudaStream_t stream)
{
  STANDS ();
  if (!emulated::device_sees (to, bytes))
    return answer (cudaErrorInvalidValue);
  return answer (enqueue (stream, { "cudaMemsetAsync", [=] { memset (to, value, bytes); }, { to } }));
}

/* ---- between GPUs -------------------------------------------------------------------------------- */

/* GRADLOOM_EMULATOR_PEERS=none makes GPUs without access to each other's memory. */
cudaError_t
cudaDeviceCanAccessPeer (int *reaches, int gpu, int other)
{
  const char *text = getenv ("GRADLOOM_EMULATOR_PEERS");

  STANDS ();
  if (!emulated::sees (gpu) || !emulated::sees (other))
    return answer (cudaErrorInvalidDevice);
  if (text != NULL && strcmp (text, "none") != 0 && strcmp (text, "all") != 0)
    emulated::found ("GRADLOOM_EMULATOR_PEERS is “%s”; it takes all or none", text);
  *reaches = gpu != other && (text == NULL || strcmp (text, "all") == 0);
  return cudaSuccess;
}

cudaError_t
cudaDeviceEnablePeerAccess (int other, unsigned int flags)
{
  static std::set<std::pair<int, int> > enabled;
  int reaches = 0;

  NOT_WHILE_CAPTURING ();
  if (other == emulated::current || flags != 0)
    return answer (other == emulated::current ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  if (cudaError_t error = cudaDeviceCanAccessPeer (&reaches, emulated::current, other))
    return error;
  if (!reaches)
    return answer (cudaErrorPeerAccessUnsupported);
  std::lock_guard<emulated::Turn> hold (emulated::device);
  return answer (enabled.insert ({ emulated::current, other }).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}

/* With or without access between them. */
cudaError_t
cudaMemcpyPeerAsync (void *to, int to_gpu, const void *from, int from_gpu, size_t bytes, cudaStream_t stream)
{
  STANDS ();
  if (!emulated::sees (to_gpu) || !emulated::sees (from_gpu))
    return answer (cudaErrorInvalidDevice);
  if (!emulated::device_sees (to, bytes) || !emulated::device_sees (from, bytes)
      || emulated::piece_of (to)->gpu != to_gpu || emulated::piece_of (from)->gpu != from_gpu)
    return answer (cudaErrorInvalidValue);
  emulated::Work work = { "cudaMemcpyPeerAsync", [=] { memmove (to, from, bytes); }, { to, from } };

  work.is_checked = true;
  return answer (enqueue (stream, std::move (work)));
}

/* ---- streams and events ------------------------------------------------------------------------ */

cudaError_t
cudaStreamCreateWithFlags (cudaStream_t *stream, unsigned int flags)
{
  STANDS ();
  *stream = new CUstream_st{ (flags & cudaStreamNonBlocking) == 0, emulated::current, nullptr, {}, false };
  emulated::stream_opened (*stream);
  return cudaSuccess;
}

cudaError_t
cudaStreamDestroy (cudaStream_t stream)
{
  if (stream != nullptr && stream->capture != nullptr)
    {
      stream->capture->broken = true;
      stream->capture->others.erase (stream);
      stream->capture->unjoined.erase (stream);
    }
  if (stream != nullptr)
    emulated::stream_closed (stream);
  delete stream;
  return answer (emulated::standing ());
}

/* Forbidden for a stream that is being captured, or from a thread that captures another one. */
cudaError_t
cudaStreamSynchronize (cudaStream_t stream)
{
  NOT_WHILE_CAPTURING ();
  if (stream != nullptr && stream->capture != nullptr)
    {
      stream->capture->broken = true;
      return answer (cudaErrorStreamCaptureUnsupported);
    }
  emulated::settle (stream);
  return answer (emulated::waited ());
}

/* The queried work is done then, except work that waits for another rank: callers must not rely on how long it takes.
 */
cudaError_t
cudaStreamQuery (cudaStream_t stream)
{
  if (stream != nullptr && stream->capture == nullptr && emulated::at_random () && !emulated::is_over (stream))
    return cudaErrorNotReady;
  return cudaStreamSynchronize (stream);
}

cudaError_t
cudaEventQuery (cudaEvent_t event)
{
  if (emulated::at_random () && !emulated::is_reached (event))
    return cudaErrorNotReady;
  return cudaEventSynchronize (event);
}

cudaError_t
cudaEventSynchronize (cudaEvent_t event)
{
  NOT_WHILE_CAPTURING ();
  emulated::settle_event (event);
  return answer (emulated::waited ());
}

cudaError_t
cudaEventCreateWithFlags (cudaEvent_t *event, unsigned int flags)
{
  STANDS ();
  *event = new CUevent_st{ nullptr, nullptr, (flags & cudaEventDisableTiming) == 0, std::make_shared<emulated::Marks> (),
                           emulated::current };
  return cudaSuccess;
}

cudaError_t
cudaEventElapsedTime (float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
  STANDS ();
  if (!from->timed || !to->timed || from->marks->recorded == 0 || to->marks->recorded == 0)
    return answer (cudaErrorInvalidResourceHandle);
  if (from->marks->reached < from->marks->recorded || to->marks->reached < to->marks->recorded)
    return answer (cudaErrorNotReady);
  *milliseconds = (float)((to->marks->at - from->marks->at) * 1e3);
  return cudaSuccess;
}

cudaError_t
cudaEventDestroy (cudaEvent_t event)
{
  delete event;
  return answer (emulated::standing ());
}
}
