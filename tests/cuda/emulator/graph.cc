/* Work on streams, and its capture as a graph.
 *
 * A capture keeps copied arguments, in the order in which work came, on whichever of its streams. Before a graph runs
 * again, every address that it holds must still be the same memory: a buffer that moved is told by the name of the
 * work that would use it. What capture forbids gets the error that CUDA documents for it. */
#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/stream.h"

using emulated::answer;
using emulated::Capture;
using emulated::Recorded;

struct CUgraph_st
{
  std::vector<Recorded> work;
};

struct CUgraphExec_st
{
  std::vector<Recorded> work;
};

namespace emulated
{
namespace
{
thread_local std::shared_ptr<Capture> captured; /* what this thread captures */
std::mutex captures_lock;
std::set<std::shared_ptr<Capture>> captures; /* of all threads */

Recorded
recorded (Work work)
{
  Recorded to = { std::move (work), {} };

  for (const void *at : to.work.uses)
    {
      const Piece *piece = piece_of (at);

      if (piece != NULL)
        to.uses.push_back ({ at, piece->id });
    }
  return to;
}

void
check_addresses (const Recorded &one)
{
  for (const Address &address : one.uses)
    {
      const Piece *piece = piece_of (address.at);

      if (piece == NULL || piece->id != address.id)
        found ("a graph runs %s with the address %p of its capture, and that memory has been given back", one.work.name,
               address.at);
    }
}
}

/* queue.cc */
void put (cudaStream_t stream, Pending pending);
void put_record (cudaStream_t stream, cudaEvent_t event);
void put_wait (cudaStream_t stream, cudaEvent_t event);

bool
forbidden (void)
{
  if (captured == nullptr || captured->over)
    return false;
  captured->broken = true;
  return true;
}

bool
forbidden_by_any (void)
{
  std::lock_guard<std::mutex> hold (captures_lock);

  for (const std::shared_ptr<Capture> &capture : captures)
    capture->broken = true;
  return !captures.empty ();
}

cudaError_t
enqueue (cudaStream_t stream, Work work)
{
  if (stream != nullptr && stream->capture != nullptr)
    {
      Capture *capture = stream->capture.get ();

      if (capture->broken)
        return cudaErrorStreamCaptureInvalidated;
      capture->work.push_back (recorded (std::move (work)));
      if (stream != capture->origin)
        capture->unjoined.insert (stream);
      return cudaSuccess;
    }
  /* The legacy stream waits for streams that block; one that is being captured cannot be waited for. */
  if (stream == nullptr && captured != nullptr && !captured->over && captured->origin->blocking)
    {
      captured->broken = true;
      return cudaErrorStreamCaptureImplicit;
    }
  put (stream, { Pending::WORK, std::move (work), nullptr, 0 });
  return cudaSuccess;
}
}

extern "C"
{
/* An event of a capture brings the stream that waits for it into that capture. */
cudaError_t
cudaEventRecord (cudaEvent_t event, cudaStream_t stream)
{
  if (cudaError_t error = emulated::standing ())
    return answer (error);
  event->capture = stream != nullptr ? stream->capture : nullptr;
  event->stream = stream;
  if (event->capture == nullptr)
    emulated::put_record (stream, event);
  return cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent (cudaStream_t stream, cudaEvent_t event, unsigned int)
{
  if (cudaError_t error = emulated::standing ())
    return answer (error);
  std::shared_ptr<Capture> from = event->capture, to = stream != nullptr ? stream->capture : nullptr;

  if (from != nullptr && from->over)
    from = nullptr;
  if (from == nullptr)
    {
      if (to == nullptr)
        {
          emulated::put_wait (stream, event);
          return cudaSuccess;
        }
      to->broken = true;
      return answer (cudaErrorStreamCaptureIsolation);
    }
  if (stream == nullptr)
    return answer (cudaErrorStreamCaptureImplicit);
  if (to != nullptr && to != from)
    {
      to->broken = from->broken = true;
      return answer (cudaErrorStreamCaptureMerge);
    }
  stream->capture = from;
  if (stream != from->origin)
    {
      from->others.insert (stream);
      from->unjoined.insert (stream);
    }
  if (event->stream != from->origin && event->stream != stream)
    from->unjoined.erase (event->stream);
  return cudaSuccess;
}

cudaError_t
cudaStreamBeginCapture (cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
  if (cudaError_t error = emulated::standing ())
    return answer (error);
  if (mode != cudaStreamCaptureModeThreadLocal)
    {
      emulated::lacks ("cudaStreamBeginCapture in mode %d", (int)mode);
      return answer (cudaErrorNotSupported);
    }
  if (stream == nullptr)
    return answer (cudaErrorStreamCaptureUnsupported);
  if (stream->capture != nullptr)
    return answer (cudaErrorIllegalState);
  if (emulated::captured != nullptr && !emulated::captured->over)
    {
      emulated::lacks ("capturing two graphs at once by one thread");
      return answer (cudaErrorNotSupported);
    }
  stream->capture = std::make_shared<Capture> ();
  stream->capture->origin = stream;
  stream->capture->thread = std::this_thread::get_id ();
  emulated::captured = stream->capture;
  std::lock_guard<std::mutex> hold (emulated::captures_lock);
  emulated::captures.insert (stream->capture);
  return cudaSuccess;
}

cudaError_t
cudaStreamEndCapture (cudaStream_t stream, cudaGraph_t *graph)
{
  *graph = nullptr;
  if (cudaError_t error = emulated::standing ())
    return answer (error);
  if (stream == nullptr || stream->capture == nullptr)
    return answer (cudaErrorIllegalState);
  std::shared_ptr<Capture> capture = stream->capture;

  if (capture->origin != stream)
    return answer (cudaErrorStreamCaptureUnmatched);
  if (capture->thread != std::this_thread::get_id ())
    return answer (cudaErrorStreamCaptureWrongThread);
  {
    std::lock_guard<std::mutex> hold (emulated::captures_lock);

    capture->over = true;
    emulated::captures.erase (capture);
  }
  emulated::captured = nullptr;
  stream->capture = nullptr;
  for (cudaStream_t other : capture->others)
    other->capture = nullptr;
  if (capture->broken)
    return answer (cudaErrorStreamCaptureInvalidated);
  if (!capture->unjoined.empty ())
    return answer (cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{ std::move (capture->work) };
  return cudaSuccess;
}

cudaError_t
cudaGraphInstantiate (cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long)
{
  if (cudaError_t error = emulated::standing ())
    return answer (error);
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

/* Into a stream that is being captured, a graph's work becomes part of the capture. */
cudaError_t
cudaGraphLaunch (cudaGraphExec_t executable, cudaStream_t stream)
{
  if (cudaError_t error = emulated::standing ())
    return answer (error);
  for (const Recorded &one : executable->work)
    {
      emulated::check_addresses (one);
      if (cudaError_t error = emulated::enqueue (stream, one.work))
        return answer (error);
    }
  return cudaSuccess;
}
}
