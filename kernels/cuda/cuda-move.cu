/* Primitives that only copy elements: copy, permute, expand, slice, pad, concat, move.
 *
 * All iterate over the axes of the smaller side, with one set of strides for reading and one for writing. The kernel
 * depends only on the size of the copied pieces, an element or, if neighbours stay neighbours, up to 16 bytes of them,
 * so five kernels serve every type. If both sides are contiguous, the device's copy engine copies the bytes. */
/* clang-format would split the brackets of launches. */
/* clang-format off */
#include "kernels/cuda/cuda-divide.cuh"
#include "kernels/cuda/cuda-kernels.cuh"
#include "kernels/move.h"

/* Axes from the slowest to the fastest, in pieces of `bytes`. */
typedef struct
{
  int rank;
  size_t bytes;
  long long count, from_base, to_base;
  long long dim[LOOM_MAX_RANK], from[LOOM_MAX_RANK], to[LOOM_MAX_RANK];
  Divisor by[LOOM_MAX_RANK]; /* dim, if count is below 2³¹ */
  LongDivisor long_by[LOOM_MAX_RANK];
} Walk;

typedef struct alignas (16)
{
  unsigned long long at[2];
} Sixteen;

typedef struct
{
  Walk walk;
  int input;
} Part;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  size_t element;
  int n_in, n_parts;
  bool fill; /* pad: fill the elements that the copy does not reach */
  unsigned long long pattern;
  long long out_count;
  Part part[];
} Move;

__device__ static unsigned int
above (const Walk &walk, int d, unsigned int i)
{
  return divide (i, walk.by[d]);
}

__device__ static long long
above (const Walk &walk, int d, long long i)
{
  return (long long)divide ((unsigned long long)i, walk.long_by[d]);
}

/* from and to are tensors of any shape; piece i of walk.dim (walk.count of them) is read and written at the sums of its
 * indices times walk.from and walk.to. One thread for each piece. */
template <typename T, typename Index>
__global__ void
__launch_bounds__ (CUDA_THREADS) walk_kernel (T *to, const T *from, Walk walk)
{
  Index i = (Index)blockIdx.x * CUDA_THREADS + threadIdx.x;
  long long read = walk.from_base, write = walk.to_base;

  if (i >= walk.count)
    return;
  for (int d = walk.rank - 1; d > 0; d--)
    {
      const Index rest = above (walk, d, i), place = i - rest * (Index)walk.dim[d];

      i = rest;
      read += place * walk.from[d];
      write += place * walk.to[d];
    }
  read += i * walk.from[0];
  write += i * walk.to[0];
  to[write] = from[read];
}

/* to is [count]; one thread for each element. */
template <typename T>
__global__ void
__launch_bounds__ (CUDA_THREADS) fill_kernel (T *to, unsigned long long pattern, long long count)
{
  const long long i = (long long)blockIdx.x * CUDA_THREADS + threadIdx.x;

  if (i < count)
    to[i] = (T)pattern;
}

/* ---- launching ------------------------------------------------------------------- */

template <typename T>
static void
launch_walk (cudaStream_t stream, void *to, const void *from, const Walk *walk)
{
  const unsigned int blocks = blocks_for (walk->count, CUDA_THREADS);

  if (walk->count < (1LL << 31))
    walk_kernel<T, unsigned int><<<blocks, CUDA_THREADS, 0, stream>>> ((T *)to, (const T *)from, *walk);
  else
    walk_kernel<T, long long><<<blocks, CUDA_THREADS, 0, stream>>> ((T *)to, (const T *)from, *walk);
}

static void
launch_fill (cudaStream_t stream, void *to, size_t element, unsigned long long pattern, long long count)
{
  /* Uses the largest pieces that divide the bytes, each filled with repetitions of the pattern. */
  for (; element < sizeof (unsigned long long) && count % 2 == 0; element *= 2, count /= 2)
    pattern |= pattern << 8 * element;
  with_element (element, [&] (auto piece) {
    using T = decltype (piece);

    fill_kernel<T><<<blocks_for (count, CUDA_THREADS), CUDA_THREADS, 0, stream>>> ((T *)to, pattern, count);
  });
}

static LoomStatus
move_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Move *self = (Move *)base;
  cudaStream_t handle = cuda_stream (self->device, stream);
  char *to = (char *)buffers[self->n_in];

  cuda_use (self->device);
  if (self->fill && self->out_count != 0)
    launch_fill (handle, to, self->element, self->pattern, self->out_count);
  for (int i = 0; i < self->n_parts; i++)
    {
      const Walk *walk = &self->part[i].walk;
      const char *from = (const char *)buffers[self->part[i].input];

      if (walk->count == 0)
        continue;
      if (walk->rank == 0 || (walk->rank == 1 && walk->from[0] == 1 && walk->to[0] == 1))
        {
          char *target = to + walk->to_base * walk->bytes;
          const char *source = from + walk->from_base * walk->bytes;

          if (target != source)
            {
              LoomStatus status = cuda_check (
                  cudaMemcpyAsync (target, source, walk->count * walk->bytes, cudaMemcpyDeviceToDevice, handle),
                  "copying on the CUDA device", message);
              if (status != LOOM_STATUS_OK)
                return status;
            }
        }
      else if (walk->bytes == sizeof (Sixteen))
        launch_walk<Sixteen> (handle, to, from, walk);
      else
        with_element (walk->bytes, [&] (auto piece) { launch_walk<decltype (piece)> (handle, to, from, walk); });
    }
  return cuda_launched ("copying elements on the CUDA device", message);
}

/* ---- walks ------------------------------------------------------------------------ */

/* Merges two neighbours into one piece, if they are adjacent on both sides and every run begins at an even element. */
static bool
take_pairs (Walk *walk)
{
  const int last = walk->rank - 1;

  if (last < 0 || walk->bytes == sizeof (Sixteen) || walk->from[last] != 1 || walk->to[last] != 1
      || walk->dim[last] % 2 != 0 || walk->from_base % 2 != 0 || walk->to_base % 2 != 0)
    return false;
  for (int i = 0; i < last; i++)
    if (walk->from[i] % 2 != 0 || walk->to[i] % 2 != 0)
      return false;
  for (int i = 0; i < last; i++)
    {
      walk->from[i] /= 2;
      walk->to[i] /= 2;
    }
  walk->dim[last] /= 2;
  walk->from_base /= 2;
  walk->to_base /= 2;
  walk->bytes *= 2;
  walk->count /= 2;
  return true;
}

/* Orders the axes by the strides of the written side, drops axes of one element, merges neighbours and enlarges the
 * pieces. rank, dim, from, to and the bases must be set. */
static void
finish_walk (Walk *walk, size_t element)
{
  int rank = 0;

  walk->bytes = element;
  walk->count = 1;
  for (int i = 0; i < walk->rank; i++)
    walk->count *= walk->dim[i];
  for (int i = 1; i < walk->rank; i++)
    for (int k = i; k > 0 && walk->to[k] > walk->to[k - 1]; k--)
      {
        long long dim = walk->dim[k], from = walk->from[k], to = walk->to[k];

        walk->dim[k] = walk->dim[k - 1];
        walk->from[k] = walk->from[k - 1];
        walk->to[k] = walk->to[k - 1];
        walk->dim[k - 1] = dim;
        walk->from[k - 1] = from;
        walk->to[k - 1] = to;
      }
  for (int i = 0; i < walk->rank; i++)
    {
      if (walk->dim[i] == 1)
        continue;
      if (rank > 0 && walk->from[rank - 1] == walk->from[i] * walk->dim[i]
          && walk->to[rank - 1] == walk->to[i] * walk->dim[i])
        {
          walk->dim[rank - 1] *= walk->dim[i];
          walk->from[rank - 1] = walk->from[i];
          walk->to[rank - 1] = walk->to[i];
          continue;
        }
      walk->dim[rank] = walk->dim[i];
      walk->from[rank] = walk->from[i];
      walk->to[rank] = walk->to[i];
      rank++;
    }
  walk->rank = rank;
  while (take_pairs (walk))
    ;
  for (int i = 0; i < rank; i++)
    if (walk->count < (1LL << 31))
      walk->by[i] = divisor_of ((unsigned long long)walk->dim[i]);
    else
      walk->long_by[i] = long_divisor_of ((unsigned long long)walk->dim[i]);
}

static Move *
move_new (LoomDevice *device, const LoomKernelSpec *spec, int n_parts, const char *name, LoomMessage *message)
{
  Move *self = (Move *)calloc (1, sizeof (Move) + n_parts * sizeof (Part));

  if (self == NULL)
    {
      cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
      return NULL;
    }
  self->base.run = move_run;
  self->base.free = [] (LoomKernel *kernel) { free (kernel); };
  self->base.name = name;
  self->device = device;
  self->element = loom_dtype_size (spec->out[0].dtype);
  self->n_in = spec->n_in;
  self->n_parts = n_parts;
  self->out_count = loom_desc_count (&spec->out[0]);
  for (int i = 0; i < n_parts; i++)
    self->part[i].input = i;
  return self;
}

static bool
same_dtypes (const LoomKernelSpec *spec)
{
  return all_of_dtype (spec->in, spec->n_in, spec->out[0].dtype);
}

/* Makes the base of every kernel below: one part that iterates over `shape` with the natural strides of both sides. */
static Move *
one_walk (LoomDevice *device, const LoomKernelSpec *spec, const LoomTensorDesc *shape, const char *name,
          int64_t from[LOOM_MAX_RANK], int64_t to[LOOM_MAX_RANK], LoomMessage *message)
{
  Move *self = move_new (device, spec, 1, name, message);

  if (self == NULL)
    return NULL;
  self->part[0].walk.rank = shape->rank;
  for (int i = 0; i < shape->rank; i++)
    self->part[0].walk.dim[i] = shape->dim[i];
  cuda_strides (&spec->in[0], from);
  cuda_strides (&spec->out[0], to);
  return self;
}

static LoomStatus
finish_one (Move *self, LoomKernel **kernel)
{
  finish_walk (&self->part[0].walk, self->element);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_permute_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomPermuteAttrs *attrs = (const LoomPermuteAttrs *)spec->attrs;
  int64_t from[LOOM_MAX_RANK], to[LOOM_MAX_RANK];
  Move *self;

  if (!same_dtypes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = one_walk (device, spec, &spec->out[0], "own permute", from, to, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < spec->out[0].rank; i++)
    {
      self->part[0].walk.from[i] = from[attrs->perm[i]];
      self->part[0].walk.to[i] = to[i];
    }
  return finish_one (self, kernel);
}

LoomStatus
cuda_flip_filter_new (LoomDevice *device, const LoomTensorDesc *w, LoomKernel **kernel, LoomMessage *message)
{
  const long long k = w->dim[0], c = w->dim[1], r = w->dim[2], s = w->dim[3];
  const LoomKernelSpec spec = { "permute", NULL, 1, 1, w, w };
  Move *self = move_new (device, &spec, 1, "own turned filter", message);

  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->part[0].walk = (Walk){
    .rank = 4,
    .from_base = r * s - 1,
    .dim = { c, k, r, s },
    .from = { r * s, c * r * s, -s, -1 },
    .to = { k * r * s, r * s, s, 1 },
  };
  return finish_one (self, kernel);
}

/* A change of type is an element-wise program without steps: its loads and stores
 * convert. The register must hold both types. */
static LoomStatus
cast_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomDType from = spec->in[0].dtype, to = spec->out[0].dtype;
  LoomElementwiseAttrs attrs;
  LoomKernelSpec cast = *spec;

  memset (&attrs, 0, sizeof attrs);
  attrs.compute = LOOM_I64;
  if (from == LOOM_F64 || to == LOOM_F64)
    attrs.compute = LOOM_F64;
  else if (loom_dtype_is_float (from) || loom_dtype_is_float (to))
    attrs.compute = LOOM_F32;
  cast.primitive = "elementwise";
  cast.attrs = &attrs;
  return cuda_elementwise_new (device, &cast, kernel, message);
}

LoomStatus
cuda_copy_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  int64_t from[LOOM_MAX_RANK], to[LOOM_MAX_RANK];
  Move *self;

  if (loom_desc_count (&spec->in[0]) != loom_desc_count (&spec->out[0]))
    return cuda_fail (message, LOOM_STATUS_INVALID, "a copy's two sides differ in shape");
  if (!same_dtypes (spec))
    return cast_new (device, spec, kernel, message);
  self = one_walk (device, spec, &spec->out[0], "own copy", from, to, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < spec->out[0].rank; i++)
    {
      self->part[0].walk.from[i] = from[i];
      self->part[0].walk.to[i] = to[i];
    }
  self->base.inplace[0] = spec->in[0].layout == spec->out[0].layout;
  return finish_one (self, kernel);
}

LoomStatus
cuda_expand_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomTensorDesc *x = &spec->in[0], *y = &spec->out[0];
  const int missing = y->rank - x->rank;
  int64_t from[LOOM_MAX_RANK], to[LOOM_MAX_RANK];
  Move *self;

  if (!same_dtypes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  if (missing < 0)
    return cuda_fail (message, LOOM_STATUS_INVALID, "expand cannot lower the rank");
  self = one_walk (device, spec, y, "own expand", from, to, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < y->rank; i++)
    {
      self->part[0].walk.from[i] = i < missing || x->dim[i - missing] == 1 ? 0 : from[i - missing];
      self->part[0].walk.to[i] = to[i];
    }
  return finish_one (self, kernel);
}

LoomStatus
cuda_slice_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomSliceAttrs *attrs = (const LoomSliceAttrs *)spec->attrs;
  int64_t from[LOOM_MAX_RANK], to[LOOM_MAX_RANK];
  Move *self;

  if (!same_dtypes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = one_walk (device, spec, &spec->out[0], "own slice", from, to, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < spec->out[0].rank; i++)
    {
      self->part[0].walk.from_base += attrs->start[i] * from[i];
      self->part[0].walk.from[i] = attrs->step[i] * from[i];
      self->part[0].walk.to[i] = to[i];
    }
  return finish_one (self, kernel);
}

LoomStatus
cuda_concat_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomConcatAttrs *attrs = (const LoomConcatAttrs *)spec->attrs;
  int64_t from[LOOM_MAX_RANK], to[LOOM_MAX_RANK], place = 0;
  Move *self;

  if (!same_dtypes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, spec->n_in, "own concat", message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  cuda_strides (&spec->out[0], to);
  for (int k = 0; k < spec->n_in; k++)
    {
      Walk *walk = &self->part[k].walk;

      cuda_strides (&spec->in[k], from);
      walk->rank = spec->out[0].rank;
      walk->to_base = place * to[attrs->axis];
      for (int i = 0; i < walk->rank; i++)
        {
          walk->dim[i] = spec->in[k].dim[i];
          walk->from[i] = from[i];
          walk->to[i] = to[i];
        }
      place += spec->in[k].dim[attrs->axis];
      finish_walk (walk, self->element);
    }
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_move_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomMoveAttrs *attrs = (const LoomMoveAttrs *)spec->attrs;
  Move *self;

  if (!same_dtypes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = move_new (device, spec, attrs->n, "own move", message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  for (int k = 0; k < attrs->n; k++)
    {
      const LoomMovePart *part = &attrs->part[k];
      Walk *walk = &self->part[k].walk;

      walk->rank = part->rank;
      walk->from_base = part->from_start;
      walk->to_base = part->to_start;
      for (int i = 0; i < part->rank; i++)
        {
          walk->dim[i] = part->dim[i];
          walk->from[i] = part->from[i];
          walk->to[i] = part->to[i];
        }
      finish_walk (walk, self->element);
    }
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

/* ---- fill and pad --------------------------------------------------------------------- */

/* The bits of a value in a type. */
static unsigned long long
pattern_of (LoomDType dtype, double value)
{
  unsigned long long pattern = 0;

  loom_store_double (&pattern, 0, dtype, value);
  return pattern;
}

LoomStatus
cuda_pad_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomPadAttrs *attrs = (const LoomPadAttrs *)spec->attrs;
  int64_t from[LOOM_MAX_RANK], to[LOOM_MAX_RANK];
  Move *self;

  if (!same_dtypes (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = one_walk (device, spec, &spec->in[0], "own pad", from, to, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->fill = true;
  self->pattern = pattern_of (spec->out[0].dtype, attrs->value);
  for (int i = 0; i < spec->in[0].rank; i++)
    {
      self->part[0].walk.to_base += attrs->start[i] * to[i];
      self->part[0].walk.to[i] = attrs->step[i] * to[i];
      self->part[0].walk.from[i] = from[i];
    }
  return finish_one (self, kernel);
}

LoomStatus
cuda_fill_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomFillAttrs *attrs = (const LoomFillAttrs *)spec->attrs;
  Move *self;

  self = move_new (device, spec, 0, "own fill", message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->fill = true;
  self->pattern = pattern_of (spec->out[0].dtype, attrs->value);
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
