/* Decides when the work on streams is done.
 *
 * By default at once, in the order in which it is enqueued. With GRADLOOM_EMULATOR_STREAMS=random it is done when
 * something waits for it or before: one of all streams whose next piece of work may run is drawn, so that only events
 * order the work of two streams, as on a GPU. A missing event then shows as wrong numbers, and a wait for an event that
 * is never recorded ends the program with a sentence. The seed is GRADLOOM_EMULATOR_SEED. */
#include <algorithm>
#include <chrono>
#include <map>
#include <stdlib.h>
#include <time.h>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/stream.h"

#define ALL (-1)

namespace emulated
{
int current_gpu (void);

void
rest (void)
{
  const struct timespec a_moment = { 0, 20000 };

  nanosleep (&a_moment, NULL);
}

bool
at_random (void)
{
  static const bool chosen = [] {
    const char *text = getenv ("GRADLOOM_EMULATOR_STREAMS");

    if (text == NULL || strcmp (text, "order") == 0)
      return false;
    if (strcmp (text, "random") != 0)
      found ("GRADLOOM_EMULATOR_STREAMS is '%s'; it takes order or random", text);
    return true;
  }();
  return chosen;
}

namespace
{
std::vector<cudaStream_t> streams; /* that are open; with the device held */
bool is_eager;                     /* some work is done as it is enqueued; else only when it is waited for */
thread_local int running = -1;     /* the GPU whose work is running */

/* xorshift64 (Marsaglia 2003). */
uint64_t
draw (void)
{
  static uint64_t state = [] {
    const char *text = getenv ("GRADLOOM_EMULATOR_SEED");

    return (text != NULL ? strtoull (text, NULL, 10) : 1) * 0x9e3779b97f4a7c15u + 1;
  }();

  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state >> 16;
}

void
run (const Pending &next)
{
  switch (next.kind)
    {
    case Pending::WORK:
      if (!faulted ())
        {
          Opened opened;
          const int before = running;

          running = next.work.gpu;
          next.work.run ();
          running = before;
        }
      break;
    case Pending::RECORD:
      next.marks->reached = std::max (next.marks->reached, next.mark);
      next.marks->at = std::chrono::duration<double> (std::chrono::steady_clock::now ().time_since_epoch ()).count ();
      break;
    case Pending::WAIT:
      break;
    }
}

bool
may_run (cudaStream_t stream)
{
  const Pending *next = stream->pending.empty () || stream->is_busy ? NULL : &stream->pending.front ();

  return next != NULL && (next->kind != Pending::WAIT || next->marks->reached >= next->mark);
}

bool
is_busy (int gpu)
{
  return std::any_of (streams.begin (), streams.end (),
                      [gpu] (cudaStream_t stream) { return stream->is_busy && (gpu == ALL || stream->gpu == gpu); });
}

/* meets: includes work that waits for other ranks. */
std::vector<cudaStream_t>
ready_on (int gpu, bool meets)
{
  std::vector<cudaStream_t> ready;

  for (cudaStream_t stream : streams)
    if ((gpu == ALL || stream->gpu == gpu) && may_run (stream) && (meets || !stream->pending.front ().work.meets))
      ready.push_back (stream);
  return ready;
}

/* Does the next piece of work of some stream; FALSE if none may run. Work of other GPUs runs only if this one waits for
 * it: a rank that is a thread waits for the others in its own work, which no other thread may have started for it. */
bool
run_one (int gpu, bool meets)
{
  std::vector<cudaStream_t> ready = ready_on (gpu, meets);

  if (ready.empty () && !is_busy (gpu))
    ready = ready_on (ALL, false);
  if (ready.empty ())
    return false;
  cudaStream_t stream = ready[draw () % ready.size ()];
  const Pending next = std::move (stream->pending.front ());

  stream->pending.pop_front ();
  stream->is_busy = true;
  run (next);
  stream->is_busy = false;
  return true;
}

/* Whether some GPU has work that its own keeper thread does. */
bool
is_kept (void)
{
  const std::vector<cudaStream_t> ready = ready_on (ALL, true);

  return std::any_of (ready.begin (), ready.end (), [] (cudaStream_t stream) { return emulated::keepers (stream->gpu) > 0; });
}

void
run_some (int gpu)
{
  if (run_one (gpu, true))
    return;
  /* Work that waits for another rank has released the GPU, or is about to be done by that GPU's keeper. */
  if (!is_busy (ALL) && !is_kept ())
    found ("streams wait for each other, or for an event that nobody records");
  const unsigned depth = device.leave ();

  rest ();
  device.take (depth);
}

bool
is_settled (int gpu)
{
  for (cudaStream_t stream : streams)
    if ((gpu == ALL || stream->gpu == gpu) && (!stream->pending.empty () || stream->is_busy))
      return false;
  return true;
}
}

int
running_gpu (void)
{
  return running;
}

uint64_t
draw_below (uint64_t n)
{
  std::lock_guard<emulated::Turn> hold (device);

  return draw () % n;
}

void
put (cudaStream_t stream, Pending pending)
{
  std::lock_guard<emulated::Turn> hold (device);

  /* The legacy stream waits for the others and they wait for it. */
  if (stream == nullptr || !at_random ())
    {
      settle (nullptr);
      run (pending);
      return;
    }
  stream->pending.push_back (std::move (pending));
  /* The host continues; work that waits for other ranks is done by another thread (nccl.cc). */
  for (uint64_t n = is_eager ? draw () % 3 : 0; n > 0 && run_one (stream->gpu, keepers (stream->gpu) == 0); n--)
    ;
}

std::atomic<int> &
keepers (int gpu)
{
  static std::map<int, std::atomic<int> > of;

  std::lock_guard<emulated::Turn> hold (device);
  return of[gpu];
}

/* Does available work, but does not wait if another thread does it. */
bool
goes_on_without (int gpu)
{
  if (run_one (gpu, keepers (gpu) == 0))
    return true;
  if (ready_on (gpu, true).empty () && !is_busy (ALL) && !is_kept ())
    found ("streams wait for each other, or for an event that nobody records");
  return false;
}

void
put_record (cudaStream_t stream, cudaEvent_t event)
{
  put (stream, { Pending::RECORD, {}, event->marks, ++event->marks->recorded });
}

/* An event that was never recorded does not block. */
void
put_wait (cudaStream_t stream, cudaEvent_t event)
{
  put (stream, { Pending::WAIT, {}, event->marks, event->marks->recorded });
}

void
settle (cudaStream_t stream)
{
  std::lock_guard<emulated::Turn> hold (device);

  const int gpu = stream != nullptr ? stream->gpu : current_gpu ();

  while (stream != nullptr ? !stream->pending.empty () || stream->is_busy : !is_settled (gpu))
    run_some (gpu);
  is_eager = draw () % 4 == 0;
}

void
settle_event (cudaEvent_t event)
{
  std::lock_guard<emulated::Turn> hold (device);

  for (const uint64_t mark = event->marks->recorded; event->marks->reached < mark;)
    run_some (current_gpu ());
  is_eager = draw () % 4 == 0;
}

bool
is_over (cudaStream_t stream)
{
  std::lock_guard<emulated::Turn> hold (device);

  while (!stream->pending.empty () || stream->is_busy)
    if (!goes_on_without (stream->gpu))
      return false;
  is_eager = draw () % 4 == 0;
  return true;
}

bool
is_reached (cudaEvent_t event)
{
  std::lock_guard<emulated::Turn> hold (device);

  for (const uint64_t mark = event->marks->recorded; event->marks->reached < mark;)
    if (!goes_on_without (current_gpu ()))
      return false;
  is_eager = draw () % 4 == 0;
  return true;
}

void
stream_opened (cudaStream_t stream)
{
  std::lock_guard<emulated::Turn> hold (device);

  streams.push_back (stream);
}

void
stream_closed (cudaStream_t stream)
{
  std::lock_guard<emulated::Turn> hold (device);

  settle (stream);
  streams.erase (std::remove (streams.begin (), streams.end (), stream), streams.end ());
}

bool
go_on (int gpu)
{
  std::lock_guard<emulated::Turn> hold (device);

  return !ready_on (gpu, true).empty () && run_one (gpu, true);
}

bool
copies_later (const void *host)
{
  const Piece *piece = piece_of (host);

  return at_random () && piece != NULL && piece->host;
}
}
