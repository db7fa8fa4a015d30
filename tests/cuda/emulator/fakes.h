/* Declarations that the fakes of CUDA's libraries share. */
#ifndef EMULATOR_FAKES_H
#define EMULATOR_FAKES_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/emulator/emulator.h"

namespace emulated
{
/* Ends the program with a sentence about a fault in a kernel or in its caller. */
[[noreturn]] void found (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* Reports once on standard error a part of CUDA that no fake has; the caller returns "not supported". */
void lacks (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* TRUE if the kernels' loads and stores are checked one by one (the module in checked/). */
extern const bool checked;

/* ---- kernels (launch.cc, shared.cc) ------------------------------------------------------- */

enum
{
  MAX_THREADS = 1024
};

/* The function of one thread, and its copied arguments. */
struct Kernel
{
  const char *name;
  void (*thread) (const void *arguments);
  std::shared_ptr<const void> arguments;
  size_t bytes; /* of the arguments */
};

/* cudaSuccess, or the GPU's error for a launch of this shape. */
cudaError_t check (const char *name, const Shape &shape);

/* The next result of cudaGetLastError(). */
void set_error (cudaError_t error);

/* Runs every block; called with the device held. */
void run_blocks (const Kernel &kernel, const Shape &shape);

enum class Order
{
  FORWARD,
  BACKWARD,
  RANDOM,
  DEPTH
};

/* GRADLOOM_EMULATOR_ORDER: forward, backward, random or depth (each warp runs as far as it can; the default). */
Order order (void);

/* ---- memory (memory.cc) -------------------------------------------------------------------- */

/* TRUE for device memory, and for page-locked memory that the device sees. */
bool device_sees (const void *pointer);

/* TRUE if all of the bytes are in one piece of such memory. */
bool device_sees (const void *pointer, size_t bytes);

/* The piece of such memory that contains an address, else NULL; an `id` is never used twice. */
struct Piece
{
  uintptr_t at;
  size_t bytes;
  bool host;
  uint64_t id;
  int gpu; /* the owner of device memory */
};
const Piece *piece_of (const void *pointer);

cudaError_t take (void **to, size_t bytes, bool host);
cudaError_t give_back (void *pointer);
void memory_info (size_t *bytes_free, size_t *bytes_total);

/* While one of these exists, the host may read device memory. Otherwise the address sanitizer reports such reads. */
struct Opened
{
  Opened ();
  ~Opened ();
};

/* ---- work on streams (runtime.cc, graph.cc) ---------------------------------------------------- */

struct Work
{
  const char *name;
  std::function<void ()> run;
  std::vector<const void *> uses; /* addresses that must be the same memory when a graph runs the work again */
  bool meets = false;             /* it waits for another rank, which may be a thread of this process */
  bool is_checked = false;        /* its addresses were checked, or may belong to several GPUs */
  int gpu = -1;                   /* the owner of its stream */
};

/* The GPU whose work is running. */
int running_gpu (void);

/* Runs work on a stream, or records it; an error if the stream does not accept it. */
cudaError_t enqueue (cudaStream_t stream, Work work);

/* ---- faults on demand (fault.cc) ------------------------------------------------------------------ */

/* TRUE if GRADLOOM_EMULATOR_FAIL names `what` and the number of this call of fails() for it, counted from 1. */
bool fails (const char *what);

/* The error that every call returns once the device is lost. */
cudaError_t standing (void);

/* A kernel did something that a GPU notices only later: until the next synchronisation nothing is reported and nothing
 * is run. */
void fault (void);
bool faulted (void);

/* standing(), for calls that wait for the GPU. */
cudaError_t waited (void);

/* The status of a real GPU's library for this question, if it refused it; else 0. */
int refusal (const char *question);

/* Ends the program if a kernel of the stream's GPU gets an address of the host, or of another GPU. */
void check_address (const char *name, cudaStream_t stream, const void *argument);
}

#endif
