/* Device helpers shared by own kernels, and the functions that make a LoomKernel of a host struct.
 *
 * Every reduction here has a fixed shape: threads add their strided elements in order, then a tree of fixed form joins
 * their sums. No sum is made by atomics, so two runs agree to the bit. */
#ifndef LOOM_CUDA_KERNELS_CUH
#define LOOM_CUDA_KERNELS_CUH

#include <stdlib.h>
#include <string.h>

#include "kernels/convert.h"
#include "kernels/cuda/cuda-internal.h"

#define CUDA_THREADS 256

/* ---- on the device ------------------------------------------------------------ */

struct Sum
{
  template <typename A>
  __device__ static A
  join (A a, A b)
  {
    return a + b;
  }
};

struct Product
{
  template <typename A>
  __device__ static A
  join (A a, A b)
  {
    return a * b;
  }
};

/* NaN wins, as in PyTorch. */
struct Largest
{
  template <typename A>
  __device__ static A
  join (A a, A b)
  {
    return a != a ? a : (b != b ? b : (a > b ? a : b));
  }
};

struct Smallest
{
  template <typename A>
  __device__ static A
  join (A a, A b)
  {
    return a != a ? a : (b != b ? b : (a < b ? a : b));
  }
};

/* 16-bit floats as they are stored; load() and store() convert any float from and to f32. */
struct F16
{
  unsigned short bits;
};

struct Bf16
{
  unsigned short bits;
};

__device__ static inline float
load (float x)
{
  return x;
}

__device__ static inline float
load (F16 x)
{
  return loom_f16_to_float (x.bits);
}

__device__ static inline float
load (Bf16 x)
{
  return loom_bf16_to_float (x.bits);
}

__device__ static inline void
store (float *to, float x)
{
  *to = x;
}

__device__ static inline void
store (F16 *to, float x)
{
  to->bits = loom_f16_from_float (x);
}

__device__ static inline void
store (Bf16 *to, float x)
{
  to->bits = loom_bf16_from_float (x);
}

/* Elements of 16 bytes. */
template <typename T>
constexpr int PACK = 16 / sizeof (T);

/* The types by which 16, 8, 4 and 2 bytes are copied. */
template <int BYTES>
struct WordOf;

template <>
struct WordOf<16>
{
  typedef uint4 Type;
};

template <>
struct WordOf<8>
{
  typedef uint2 Type;
};

template <>
struct WordOf<4>
{
  typedef unsigned int Type;
};

template <>
struct WordOf<2>
{
  typedef unsigned short Type;
};

/* Inline assembly, because nvcc splits some stores of vectors, after branches and in loops that it has rearranged. */
template <typename Word>
__device__ static inline void
store_word (Word *to, Word word)
{
  *to = word;
}

#ifdef __CUDA_ARCH__
template <>
__device__ inline void
store_word (uint4 *to, uint4 word)
{
  asm volatile ("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                :
                : "l"(__cvta_generic_to_global (to)), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
                : "memory");
}

template <>
__device__ inline void
store_word (uint2 *to, uint2 word)
{
  asm volatile ("st.global.v2.u32 [%0], {%1, %2};" : : "l"(__cvta_generic_to_global (to)), "r"(word.x), "r"(word.y) : "memory");
}
#endif

/* V neighbouring elements, which are copied in one access of up to 16 bytes or in several of 16; the address is a
 * multiple of V elements or of 16 bytes. */
template <typename T, int V>
struct Pack
{
  typedef typename WordOf<(sizeof (T) * V < 16 ? sizeof (T) * V : 16)>::Type Word;
  alignas (Word) T at[V];

  __device__ inline void
  read (const T *from)
  {
    for (int i = 0; i < (int)(sizeof (Pack) / sizeof (Word)); i++)
      {
        const Word word = ((const Word *)from)[i];

        memcpy ((Word *)this + i, &word, sizeof word);
      }
  }

  __device__ inline void
  write (T *to) const
  {
    for (int i = 0; i < (int)(sizeof (Pack) / sizeof (Word)); i++)
      {
        Word word;

        memcpy (&word, (const Word *)this + i, sizeof word);
        store_word ((Word *)to + i, word);
      }
  }
};

/* V neighbouring elements as f32. */
template <int V, typename T>
__device__ static inline void
load_pack (float to[V], const T *from)
{
  Pack<T, V> pack;

  pack.read (from);
  for (int i = 0; i < V; i++)
    to[i] = load (pack.at[i]);
}

template <int V, typename T>
__device__ static inline void
store_pack (T *to, const float from[V])
{
  Pack<T, V> pack;

  for (int i = 0; i < V; i++)
    store (&pack.at[i], from[i]);
  pack.write (to);
}

/* Joins the values of lanes by a tree: with the lane whose number differs by FIRST, by half of it, and so on to LAST. The
 * emulated GPU does that once for the warp, since each stop of each lane takes it longer than the sums. */
template <typename Op, int FIRST, int LAST, typename A>
__device__ static inline A
shuffle_join (A value)
{
#ifdef EMULATED_JOIN
  return EMULATED_JOIN (Op, FIRST, LAST, value);
#else
#pragma unroll
  for (int offset = FIRST; offset >= LAST; offset /= 2)
    value = Op::join (value, __shfl_xor_sync (0xffffffffu, value, offset));
  return value;
#endif
}

/* Joins one value of every thread of a block of THREADS (a multiple of 32, at most 1024); all threads get the result.
 */
template <typename Op, int THREADS, typename A>
__device__ A
block_join (A value)
{
  __shared__ A shares[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  value = shuffle_join<Op, 16, 1> (value);
  if (THREADS == 32)
    return value;
  /* All readers of an earlier call must be done before this call writes. */
  __syncthreads ();
  if (lane == 0)
    shares[warp] = value;
  __syncthreads ();
  A result = shares[0];
  for (int i = 1; i < THREADS / 32; i++)
    result = Op::join (result, shares[i]);
  return result;
}

/* Raises the stream's flag, unless it is raised already, and reports the fault. */
__device__ static inline void
raise_fault (CudaRaise raise, CudaFaultKind kind, long long value, long long limit)
{
  CudaReport *report = raise.flag->report;

  if (atomicCAS (&raise.flag->raised, 0, 1) != 0)
    return;
  report->value = value;
  report->limit = limit;
  report->site = raise.site;
  report->step = raise.flag->step;
  report->of = raise.of;
  __threadfence_system ();
  report->kind = kind;
}

/* Whether a device that was joined to this stream (cuda_fault_join()) has a fault. An event orders its write before
 * this. */
__device__ static inline bool
has_joined_fault (CudaRaise raise)
{
  for (int i = 0; i < raise.flag->n_others; i++)
    if (((const volatile CudaReport *)raise.flag->others[i])->kind != CUDA_FAULT_NONE)
      return true;
  return false;
}

/* ---- on the host ---------------------------------------------------------------- */

/* A zeroed host struct K, whose first member is `LoomKernel base` and second
 * `LoomDevice *device`. */
template <typename K>
static K *
kernel_struct (LoomDevice *device, const char *name,
               LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), LoomMessage *message)
{
  K *self = (K *)calloc (1, sizeof (K));

  if (self == NULL)
    {
      cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
      return NULL;
    }
  self->base.run = run;
  self->base.free = [] (LoomKernel *kernel) { free (kernel); };
  self->base.name = name;
  self->device = device;
  return self;
}

static inline unsigned int
blocks_for (int64_t count, int64_t per_block)
{
  return (unsigned int)((count + per_block - 1) / per_block);
}

/* Every operand has this dtype. */
static inline bool
all_of_dtype (const LoomTensorDesc *descs, int n, LoomDType dtype)
{
  for (int i = 0; i < n; i++)
    if (descs[i].dtype != dtype)
      return false;
  return true;
}

/* Calls f with a value of the unsigned type of this many bytes; copies need no other types. */
template <typename F>
static void
with_element (size_t bytes, F f)
{
  if (bytes == 1)
    f ((unsigned char)0);
  else if (bytes == 2)
    f ((unsigned short)0);
  else if (bytes == 4)
    f ((unsigned int)0);
  else
    f ((unsigned long long)0);
}

/* Calls f with an element of this type: f32, bf16 or f16. */
template <typename F>
static void
with_float (LoomDType dtype, F f)
{
  if (dtype == LOOM_BF16)
    f (Bf16 ());
  else if (dtype == LOOM_F16)
    f (F16 ());
  else
    f (0.0f);
}

#endif
