/* Declarations for a translated .cu file, in place of nvcc's own; included before it.
 *
 * A launch checks its shape and its pointers, copies its arguments and passes one thread's work to launch.cc, which
 * runs it once for each thread of each block. There are hundreds of launches, each a function of its own, so that they
 * use no container of the C++ library: its templates took half of the compiler's time. The fakes' own declarations are
 * in fakes.h. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <type_traits>

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
#define EMULATED_JOIN(Op, FIRST, LAST, value) emulated::join<Op, FIRST, LAST> (value, __LINE__)
#define EMULATED_TENSOR_CORES(sums, a, b)     emulated::multiply (sums, a, b, __LINE__)

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
/* TRUE if GRADLOOM_EMULATOR_DEFECT names this defect of a module with defects (meson.build). */
bool has_defect (const char *name);

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

/* Passes the values of all lanes to `work`, in the last lane that arrives; `place` as above. */
void at_once (void *value, void (*work) (void *const values[32]), int place, int line);

/* The join of the lanes' values, with the bits of shuffle_join() in kernels/cuda. */
template <typename Op, int FIRST, int LAST, typename A>
A
join (A value, int line)
{
  at_once (
      &value,
      [] (void *const *values) {
        A from[32], to[32];

        for (int l = 0; l < 32; l++)
          from[l] = *(const A *)values[l];
        for (int offset = FIRST; offset >= LAST; offset /= 2)
          {
            for (int l = 0; l < 32; l++)
              to[l] = Op::join (from[l], from[l ^ offset]);
            memcpy (from, to, sizeof from);
          }
        for (int l = 0; l < 32; l++)
          *(A *)values[l] = from[l];
      },
      -2 - FIRST, line);
  return value;
}

/* Checks a launch and the pointers among its arguments, copies these, and runs the kernel or, if the stream is being
 * captured, records it (runtime.cc). `thread` does one thread's work with a copy of the arguments. */
void submit (const char *name, const Shape &shape, void (*thread) (const void *arguments), const void *arguments,
             size_t bytes, const void *const *pointers, int n_pointers);

template <typename P>
const void *
pointer_of (P argument)
{
  if constexpr (std::is_pointer_v<P>)
    return (const void *)argument;
  else
    return nullptr;
}

template <typename K, typename... P>
void
launch (const char *name, const Shape &shape, K kernel, P... arguments)
{
  const void *const pointers[] = { pointer_of (arguments)..., nullptr };
  const auto call = [=] { kernel (arguments...); };
  typedef decltype (call) Call;

  static_assert (std::is_trivially_copyable_v<std::remove_const_t<Call> >,
                 "arguments of a kernel are copied byte by byte");
  submit (
      name, shape, [] (const void *copied) { (*(Call *)copied) (); }, &call, sizeof call, pointers, sizeof...(P));
}
}

#endif
