/* Streams, events and captures, shared by runtime.cc and graph.cc. */
#ifndef EMULATOR_STREAM_H
#define EMULATOR_STREAM_H

#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "tests/cuda/emulator/fakes.h"
#include "tests/cuda/emulator/turn.h"

namespace emulated
{
/* Held while work runs: one kernel at a time. */
extern Turn device;

/* An address and the id of its memory when it was recorded. */
struct Address
{
  const void *at;
  uint64_t id;
};

struct Recorded
{
  Work work;
  std::vector<Address> uses;
  std::set<size_t> dependencies; /* its dependencies, by numbers in the capture */
};

/* A capture in progress, shared by the streams that are part of it. */
struct Capture
{
  std::vector<Recorded> work;
  cudaStream_t origin;
  std::thread::id thread;
  std::set<cudaStream_t> others;   /* that an event added to it */
  std::set<cudaStream_t> unjoined; /* of these, with work, or waits, that no event has joined back */
  std::atomic<bool> broken, over;  /* something forbidden was done, perhaps by another thread; the capture has ended */
};

/* TRUE if this thread is capturing, so that waits and allocations are forbidden: breaks the capture. */
bool forbidden (void);

/* The same for a wait for the whole GPU, if any thread captures on it: breaks every capture. */
bool forbidden_by_any (void);

/* Remembers an error for cudaGetLastError(). */
cudaError_t answer (cudaError_t error);

/* The number of records of an event, and the number that the GPU has reached; `at` is the time, in seconds. */
struct Marks
{
  uint64_t recorded, reached;
  double at;
};

/* The remaining work of a stream: work, or an event to record or to wait for. */
struct Pending
{
  enum
  {
    WORK,
    RECORD,
    WAIT
  } kind;
  Work work;
  std::shared_ptr<Marks> marks;
  uint64_t mark;
};

/* Wait until the stream (NULL: every stream) is empty, and until the event was reached. */
void settle (cudaStream_t stream);
/* For work that waits for work of other threads: whether streams run at random, a pause, and one piece of this GPU's
 * work, FALSE if there is none. */
bool at_random (void);
void rest (void);
bool go_on (int gpu);
/* The number of threads that run a GPU's work while its host does something else. */
std::atomic<int> &keepers (int gpu);
void settle_event (cudaEvent_t event);
/* Like settle() and settle_event(), without a wait for other ranks: FALSE if one has not arrived. If work is done as it
 * is enqueued, everything is over. */
bool is_over (cudaStream_t stream);
bool is_reached (cudaEvent_t event);
void stream_opened (cudaStream_t stream);
void stream_closed (cudaStream_t stream);

/* Draws a number below n, from the generator that orders streams. */
uint64_t draw_below (uint64_t n);

/* Whether a copy between the GPU and this memory is asynchronous: only for page-locked memory. */
bool copies_later (const void *host);

/* The GPUs that CUDA_VISIBLE_DEVICES leaves of those of GRADLOOM_EMULATED_GPUS: the number of each. */
const std::vector<int> &visible (void);
}

struct CUstream_st
{
  bool blocking; /* ordered with the legacy stream */
  int gpu;       /* the thread's GPU when it was made */
  std::shared_ptr<emulated::Capture> capture;
  std::deque<emulated::Pending> pending;
  bool is_busy;               /* with work that is no longer pending */
  std::set<size_t> tips = {}; /* of the capture: the dependencies of the next work */
  uint64_t changes = 0;       /* the number of operations that have to be joined */
};

struct CUevent_st
{
  std::shared_ptr<emulated::Capture> capture; /* in which it was recorded last; NULL: none */
  cudaStream_t stream;
  bool timed;
  std::shared_ptr<emulated::Marks> marks;
  int gpu;                    /* the thread's GPU when it was made */
  std::set<size_t> tips = {}; /* of the stream, when it was recorded, and its number of changes */
  uint64_t changes = 0;
};

#endif
