/* Work on streams, and its capture as a graph.
 *
 * A capture keeps copied arguments and, for each piece of work, its dependencies: the work before it on its stream, and
 * the work that events order before it. A graph runs in any order that the dependencies allow, drawn at random if
 * streams are; else in the order of the calls. Before it runs again, every address in it must still be the same memory;
 * the name of the work that would use a moved buffer is reported. Operations that capture forbids get the error that
 * CUDA documents for them. */
#include "tests/cuda/emulator/fakes.h"
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
thread_local std::shared_ptr<Capture> captured; /* by this thread */
std::mutex captures_lock;
std::set<std::shared_ptr<Capture>> captures; /* of all threads */

Recorded
recorded (Work work)
{
  Recorded to = { std::move (work), {}, {} };

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

int current_gpu (void);

namespace
{
/* Ends the program if a library or a copy on one GPU gets another GPU's memory. */
void
check_owner (const Work &work)
{
  for (const void *at : work.uses)
    {
      const Piece *piece = work.is_checked ? NULL : piece_of (at);

      if (piece != NULL && !piece->host && piece->gpu != work.gpu)
        found ("%s on GPU %d was given the memory %p of GPU %d", work.name, work.gpu, at, piece->gpu);
    }
}

/* Appends work to a capture, after the work of its stream. */
void
record (Capture *capture, cudaStream_t stream, Work work)
{
  Recorded one = recorded (std::move (work));

  one.dependencies = stream->tips;
  stream->tips = { capture->work.size () };
  stream->changes++;
  capture->work.push_back (std::move (one));
  if (stream != capture->origin)
    capture->unjoined.insert (stream);
}

/* The work of a graph in an order in which it may run. Work that waits for other ranks keeps its order: on one stream
 * ranks would otherwise wait for each other. */
std::vector<size_t>
order_of (const std::vector<Recorded> &work)
{
  std::vector<size_t> order, left;
  std::set<size_t> done;
  bool in_turn = !at_random ();

  for (size_t i = 0; i < work.size (); i++)
    left.push_back (i);
  while (!left.empty ())
    {
      std::vector<size_t> ready; /* indices in `left` */
      bool meets = false;

      for (size_t k = 0; k < left.size () && (!in_turn || ready.empty ()) && ready.size () < 8; k++)
        {
          const Recorded &one = work[left[k]];
          bool may_run = !(one.work.meets && meets);

          meets |= one.work.meets;
          for (size_t other : one.dependencies)
            may_run = may_run && done.count (other) > 0;
          if (may_run)
            ready.push_back (k);
        }
      const size_t k = ready[in_turn ? 0 : draw_below (ready.size ())];

      order.push_back (left[k]);
      done.insert (left[k]);
      left.erase (left.begin () + (ptrdiff_t)k);
    }
  return order;
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
  if (work.gpu < 0)
    work.gpu = stream != nullptr ? stream->gpu : current_gpu ();
  check_owner (work);
  if (stream != nullptr && stream->capture != nullptr)
    {
      Capture *capture = stream->capture.get ();

      if (capture->broken)
        return cudaErrorStreamCaptureInvalidated;
      record (capture, stream, std::move (work));
      return cudaSuccess;
    }
  /* The legacy stream waits for blocking streams; one that is being captured cannot be waited for. */
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
  /* An event of a capture adds the waiting stream to that capture. */
  cudaError_t
  cudaEventRecord (cudaEvent_t event, cudaStream_t stream)
  {
    if (cudaError_t error = emulated::standing ())
      return answer (error);
    if (event->gpu != (stream != nullptr ? stream->gpu : emulated::current_gpu ()))
      return answer (cudaErrorInvalidResourceHandle);
    event->capture = stream != nullptr ? stream->capture : nullptr;
    event->stream = stream;
    if (event->capture != nullptr)
      {
        event->tips = stream->tips;
        event->changes = stream->changes;
      }
    if (event->capture == nullptr)
      emulated::put_record (stream, event);
    return cudaSuccess;
}

/* The event may be of another GPU. */
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
      /* Work outside must not wait for an event that was recorded in a capture. */
      if (to == nullptr && event->capture != nullptr)
        return answer (cudaErrorCapturedEvent);
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
  if (to == nullptr)
    stream->tips.clear ();
  stream->capture = from;
  stream->tips.insert (event->tips.begin (), event->tips.end ());
  if (event->stream == stream)
    return cudaSuccess;
  stream->changes++;
  if (stream != from->origin)
    {
      from->others.insert (stream);
      from->unjoined.insert (stream);
    }
  if (from->unjoined.count (event->stream) > 0 && event->changes == event->stream->changes)
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
  stream->tips.clear ();
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
  for (size_t i : emulated::order_of (executable->work))
    {
      const Recorded &one = executable->work[i];

      emulated::check_addresses (one);
      if (cudaError_t error = emulated::enqueue (stream, one.work))
        return answer (error);
    }
  return cudaSuccess;
}
}
