/* Declarations for a translated .cu file, in place of nvcc's own; included before it.
 *
 * A launch checks its shape and its pointers, copies its arguments and passes one thread's work to launch.cc, which
 * runs it once for each thread of each block. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <cuda_runtime_api.h>
#include <functional>
#include <math.h>
#include <memory>
#include <stdint.h>
#include <string.h>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#undef __global__
#undef __device__
#undef __launch_bounds__
#undef __shared__
#define __global__
#define __device__
#define __launch_bounds__(...)
#define __syncthreads() emulated::barrier (__LINE__)
#define __syncwarp()    emulated::warp_barrier (__LINE__)
#define __shfl_xor_sync(mask, value, offset)                                                                           \
  emulated::shuffle (mask, value, emulated::lane () ^ (offset), offset, __LINE__)
#define __ballot_sync(mask, predicate) emulated::ballot (mask, predicate, __LINE__)
#define __shfl_sync(mask, value, from) emulated::shuffle (mask, value, from, -1, __LINE__)
/* The product of kernels/cuda/cuda-mma.cuh, with operands converted to f32. */
#define EMULATED_TENSOR_CORES(sums, a, b) emulated::multiply (sums, a, b, __LINE__)

/* As in the device library: exact at multiples of one half. Newer C libraries have these functions. */
#if !__GLIBC_PREREQ(2, 41)
static inline double
sinpi (double x)
{
  double y = fmod (x, 2);

  return fmod (y, 1) == 0 ? copysign (0, x) : sin (M_PI * y);
}

static inline double
cospi (double x)
{
  double y = fabs (fmod (x, 2));

  return y == 0.5 || y == 1.5 ? 0 : cos (M_PI * y);
}
#endif

/* One thread of one kernel runs at a time. */
static inline int
atomicCAS (int *at, int expected, int value)
{
  int old = *at;

  if (old == expected)
    *at = value;
  return old;
}

static inline void
__threadfence_system (void)
{
}

/* Plain globals: one kernel runs at a time. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace emulated
{
/* Ends the program with a sentence about a fault in a kernel or in its caller. */
[[noreturn]] void found (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* Reports once on standard error a part of CUDA that no fake has; the caller returns "not supported". */
void lacks (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* TRUE if the kernels' loads and stores are checked one by one (the module in checked/). */
extern const bool checked;

/* ---- kernels (launch.cc, shared.cc) ------------------------------------------------------- */

struct Shape
{
  dim3 grid, block;
  size_t bytes; /* of dynamic shared memory */
  cudaStream_t stream;
  Shape (dim3 grid, dim3 block, size_t bytes = 0, cudaStream_t stream = nullptr)
      : grid (grid), block (block), bytes (bytes), stream (stream)
  {
  }
};

enum
{
  MAX_THREADS = 1024
};

/* Waits for every thread of the block; `line` tells barriers apart. */
void barrier (int line);

/* Waits for every lane of the warp, and orders their accesses to memory. */
void warp_barrier (int line);

/* Memory of the running block, poisoned when the block begins; `key` is the variable, `unit` its element's size. */
void *shared (const void *key, size_t bytes, unsigned unit, const char *name);

/* The shared memory that the launch asked for: extern __shared__. */
void *dynamic_shared (void);

/* cudaFuncSetAttribute(); a kernel is identified by its name in the launch. */
cudaError_t set_attribute (const char *kernel, cudaFuncAttribute what, int value);

/* The number of the running lane in its warp. */
int lane (void);

/* Returns the 8 bytes that lane `from` of the warp passed as its value; `place` tells shuffles of one line apart. It
 * orders no memory. */
unsigned long long exchange (unsigned mask, unsigned long long value, int from, int place, int line);

template <typename A>
A
shuffle (unsigned mask, A value, int from, int place, int line)
{
  static_assert (sizeof (A) <= 8, "a shuffle moves at most 8 bytes");
  unsigned long long bits = 0;

  memcpy (&bits, &value, sizeof value);
  bits = exchange (mask, bits, from, place, line);
  memcpy (&value, &bits, sizeof value);
  return value;
}

/* Bit l is set if the predicate of lane l is not 0. */
inline unsigned
ballot (unsigned mask, int predicate, int line)
{
  unsigned bits = predicate != 0 ? 1u << lane () : 0;

  for (int offset = 16; offset > 0; offset /= 2)
    bits |= shuffle (mask, bits, lane () ^ offset, offset, line);
  return bits;
}

/* Adds a·b to the sums, of which this lane has its fragments of m16n8k16: once for the warp, by the last lane that
 * arrives, since each stop of each lane costs as much as tens of products. The order of the sums is that of
 * multiply_by_shuffles(). */
void multiply (float sums[4], const float a[8], const float b[4], int line);

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

/* Runs the kernel, or records it if the stream is being captured. */
cudaError_t submit (const Shape &shape, const Kernel &kernel);

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

template <typename P>
void
check_pointer (const char *name, cudaStream_t stream, P argument)
{
  if constexpr (std::is_pointer_v<P>)
    if (argument != nullptr)
      check_address (name, stream, (const void *)argument);
}

template <typename K, typename... P>
void
launch (const char *name, const Shape &shape, K kernel, P... arguments)
{
  typedef std::tuple<K, P...> Call;
  cudaError_t error = check (name, shape);

  if (error != cudaSuccess)
    {
      set_error (error);
      return;
    }
  (check_pointer (name, shape.stream, arguments), ...);
  error = submit (shape, { name, [] (const void *call) { std::apply ([] (K run, P... p) { run (p...); }, *(const Call *)call); },
                           std::make_shared<Call> (kernel, arguments...), sizeof (Call) });
  if (error != cudaSuccess)
    set_error (error);
}
}

#endif
