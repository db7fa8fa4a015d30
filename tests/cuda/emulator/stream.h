/* Streams, events and what is being captured, as runtime.cc and graph.cc share them. */
#ifndef EMULATOR_STREAM_H
#define EMULATOR_STREAM_H

#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "tests/cuda/emulator/emulator.h"
#include "tests/cuda/emulator/turn.h"

namespace emulated
{
/* Held while work runs: one kernel at a time. */
extern Turn device;

/* An address and the memory that it was when it was recorded. */
struct Address
{
  const void *at;
  uint64_t id;
};

struct Recorded
{
  Work work;
  std::vector<Address> uses;
  std::set<size_t> behind; /* what it waits for, by numbers in the capture */
};

/* A capture in progress, shared by the streams that are part of it. */
struct Capture
{
  std::vector<Recorded> work;
  cudaStream_t origin;
  std::thread::id thread;
  std::set<cudaStream_t> others;   /* that an event brought into it */
  std::set<cudaStream_t> unjoined; /* of these, with work, or waits, that no event has brought back */
  std::atomic<bool> broken, over;  /* something forbidden was done, perhaps by another thread; it has ended */
};

/* This thread is capturing, so what might wait or allocate is forbidden: breaks the capture. */
bool forbidden (void);

/* The same for what waits for the whole GPU, whichever thread captures on it: breaks every capture. */
bool forbidden_by_any (void);

/* Remembers an error for cudaGetLastError(). */
cudaError_t answer (cudaError_t error);

/* How often an event was recorded, and how many of these records the GPU has come to; `at` is when, in seconds. */
struct Marks
{
  uint64_t recorded, reached;
  double at;
};

/* What a stream still has to do: work, or an event to record or to wait for. */
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

/* Until the stream (NULL: every stream) has nothing left, and until the event was reached. */
void settle (cudaStream_t stream);
/* For work that waits for work of other threads: whether streams run at random, a pause, and a piece of what this GPU
 * has to do, false where there is none. */
bool at_random (void);
void rest (void);
bool go_on (int gpu);
/* How many threads have a GPU go on while its host does something else. */
std::atomic<int> &keepers (int gpu);
void settle_event (cudaEvent_t event);
/* The same, waiting for no other rank: false where one has not come yet. Where work is done as it comes all is over. */
bool is_over (cudaStream_t stream);
bool is_reached (cudaEvent_t event);
void stream_opened (cudaStream_t stream);
void stream_closed (cudaStream_t stream);

/* Draws a number below n, as the order of streams is drawn. */
uint64_t draw_below (uint64_t n);

/* Whether a copy between the GPU and this memory goes on while its caller does: of page-locked memory alone. */
bool copies_later (const void *host);

/* The GPUs that CUDA_VISIBLE_DEVICES leaves, of those that GRADLOOM_EMULATED_GPUS has: which one each is. */
const std::vector<int> &visible (void);
}

struct CUstream_st
{
  bool blocking; /* ordered with the legacy stream */
  int gpu;       /* that was the thread's when it was made */
  std::shared_ptr<emulated::Capture> capture;
  std::deque<emulated::Pending> pending;
  bool is_busy; /* with what is pending no more */
  std::set<size_t> tips = {}; /* of the capture: what the next work waits for */
  uint64_t changes = 0;       /* how often something was put on it that has to be joined */
};

struct CUevent_st
{
  std::shared_ptr<emulated::Capture> capture; /* in which it was recorded last; NULL: in none */
  cudaStream_t stream;
  bool timed;
  std::shared_ptr<emulated::Marks> marks;
  int gpu;                    /* that was the thread's when it was made */
  std::set<size_t> tips = {}; /* of the stream, when it was recorded, and how often it had changed */
  uint64_t changes = 0;
};

#endif
