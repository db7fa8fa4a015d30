/* What a translated .cu file sees in place of nvcc's own declarations; read before it.
 *
 * A launch checks its shape and its pointers, copies its arguments and hands one thread's
 * work to launch.cc, which runs it once for each thread of each block. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <cuda_runtime_api.h>
#include <functional>
#include <math.h>
#include <string.h>
#include <tuple>
#include <type_traits>

#undef __global__
#undef __device__
#undef __launch_bounds__
#undef __shared__
#define __global__
#define __device__
#define __launch_bounds__(...)
#define __syncthreads() emulated::barrier (__LINE__)
#define __shfl_xor_sync(mask, value, offset) emulated::shuffle_xor (mask, value, offset, __LINE__)

/* As the device library has them: exact at multiples of one half. */
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

/* Plain globals: one kernel runs at a time. */
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace emulated
{
struct Shape
{
  dim3 grid, block;
  size_t bytes;
  cudaStream_t stream;
  Shape (dim3 grid, dim3 block, size_t bytes = 0, cudaStream_t stream = nullptr)
      : grid (grid), block (block), bytes (bytes), stream (stream)
  {
  }
};

/* Waits for every thread of the block; `line` tells barriers apart. */
void barrier (int line);

/* Memory of the running block, poisoned when the block begins; `key` is the variable. */
void *shared (const void *key, size_t bytes);

/* Sends 8 bytes to lane ^ offset and gives what came. */
unsigned long long exchange (unsigned mask, unsigned long long value, int offset, int line);

template <typename A>
A
shuffle_xor (unsigned mask, A value, int offset, int line)
{
  static_assert (sizeof (A) <= 8, "a shuffle moves at most 8 bytes");
  unsigned long long bits = 0;

  memcpy (&bits, &value, sizeof value);
  bits = exchange (mask, bits, offset, line);
  memcpy (&value, &bits, sizeof value);
  return value;
}

/* Device memory, or page-locked memory that the device sees. */
bool device_sees (const void *pointer);

/* Ends the program with a sentence: what is wrong is wrong in a kernel. */
[[noreturn]] void found (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* cudaSuccess, or what the card answers to a launch of this shape. */
cudaError_t check (const Shape &shape);

/* Runs the kernel, or records it where the stream is being captured. */
void submit (const char *name, const Shape &shape, std::function<void ()> thread);

/* What cudaGetLastError() answers next. */
void set_error (cudaError_t error);

/* Does work that lies on a stream, or records it; an error where the stream takes none. */
cudaError_t enqueue (cudaStream_t stream, std::function<void ()> work);

/* Runs every block; called with the device held. */
void run_blocks (const char *name, dim3 grid, dim3 block, const std::function<void ()> &thread);

enum class Order
{
  FORWARD,
  BACKWARD,
  RANDOM,
  DEPTH
};

/* GRADLOOM_EMULATOR_ORDER: forward, backward, random or depth (a warp as far as it can, as without it). */
Order order ();

template <typename P>
void
check_pointer (const char *name, P argument)
{
  if constexpr (std::is_pointer_v<P>)
    if (argument != nullptr && !device_sees ((const void *)argument))
      found ("%s was given the host's pointer %p", name, (const void *)argument);
}

template <typename K, typename... P>
void
launch (const char *name, const Shape &shape, K kernel, P... arguments)
{
  cudaError_t error = check (shape);

  if (error != cudaSuccess)
    {
      set_error (error);
      return;
    }
  (check_pointer (name, arguments), ...);
  submit (name, shape, [kernel, copied = std::make_tuple (arguments...)] { std::apply (kernel, copied); });
}
}

#endif
