/* Kernels over many tensors in one launch, for optimisers and for statistics of gradients.
 *
 * bind() writes a table of chunks, each a piece of one tensor, and block i takes chunk i. Tensors that are adjacent in
 * every list are joined first, if the kernel allows that: kernels that sum each tensor do not, since the order of their
 * sums must not depend on addresses. */
#ifndef LOOM_CUDA_MULTI_CUH
#define LOOM_CUDA_MULTI_CUH

#include "kernels/cuda/cuda-kernels.cuh"

/* Elements of a chunk. With the least, eight for each thread, small networks have a block for every processor; with
 * more, the overhead of a block, reading rates and joining sums, weighs less. The size follows from shapes alone, like
 * the order of sums. */
#define LEAST_CHUNK 2048
#define MOST_CHUNK  16384
#define MANY_CHUNKS 4096 /* enough for every processor */
#define LISTS 5    /* p, g and at most three states */

typedef struct
{
  float *at[LISTS];
  long long count;
  int tensor; /* the number of the first of the joined ones */
} Chunk;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  int n, lists, n_in, n_chunks;
  long long chunk; /* elements of a chunk */
  bool join_neighbours;
  LoomSgdAttrs sgd;   /* one of the three, by the kind of the kernel */
  LoomAdamAttrs adam;
  LoomStepAttrs step;
  Chunk *chunks;     /* [n_chunks] on the device */
  Chunk *staging;    /* [n_chunks] on the host */
  long long count[]; /* [n], elements of each tensor */
} Multi;

static void
multi_free (LoomKernel *base)
{
  Multi *self = (Multi *)base;

  cuda_use (self->device);
  if (self->chunks != NULL)
    cudaFree (self->chunks);
  free (self->staging);
  free (self);
}

static LoomStatus
multi_bind (LoomKernel *base, void *const *buffers, LoomMessage *message)
{
  Multi *self = (Multi *)base;
  LoomStatus status;
  int used = 0;

  for (int t = 0; t < self->n;)
    {
      long long count = self->count[t];
      int next = t + 1;

      for (; self->join_neighbours && next < self->n; next++)
        {
          bool adjacent = true;

          for (int k = 0; k < self->lists && adjacent; k++)
            adjacent = (float *)buffers[k * self->n + t] + count == (float *)buffers[k * self->n + next];
          if (!adjacent)
            break;
          count += self->count[next];
        }
      for (long long begin = 0; begin < count; begin += self->chunk)
        {
          Chunk *chunk = &self->staging[used++];

          for (int k = 0; k < self->lists; k++)
            chunk->at[k] = (float *)buffers[k * self->n + t] + begin;
          chunk->count = count - begin < self->chunk ? count - begin : self->chunk;
          chunk->tensor = t;
        }
      t = next;
    }
  self->n_chunks = used;
  if (used == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  /* No step reads the old table any more. The new one is copied on our own stream and waited for, since streams here do
   * not wait for the default one; the whole device is not waited for, because another thread may be recording a graph
   * on it. */
  status = cuda_check (cudaMemcpyAsync (self->chunks, self->staging, used * sizeof (Chunk), cudaMemcpyHostToDevice,
                                        cuda_stream (self->device, NULL)),
                       "copying the parameters' addresses to the CUDA device", message);
  if (status != LOOM_STATUS_OK)
    return status;
  return cuda_check (cudaStreamSynchronize (cuda_stream (self->device, NULL)),
                     "copying the parameters' addresses to the CUDA device", message);
}

/* Loads four adjacent elements, as one word if their address allows that; `left` elements remain in the chunk. */
__device__ static inline void
take_four (float to[4], const float *from, int left, bool aligned)
{
  if (aligned && left >= 4)
    {
      load_pack<4> (to, from);
      return;
    }
#pragma unroll
  for (int k = 0; k < 4; k++)
    to[k] = k < left ? from[k] : 0.0f;
}

/* Stores four adjacent elements likewise. */
__device__ static inline void
put_four (float *to, const float from[4], int left, bool aligned)
{
  if (aligned && left >= 4)
    {
      store_pack<4> (to, from);
      return;
    }
#pragma unroll
  for (int k = 0; k < 4; k++)
    if (k < left)
      to[k] = from[k];
}

/* Whether the first lists of a chunk begin at multiples of 16 bytes. */
__device__ static inline bool
chunk_is_aligned (const Chunk &chunk, int lists)
{
  unsigned long long all = 0;

  for (int k = 0; k < lists; k++)
    all |= (unsigned long long)chunk.at[k];
  return all % 16 == 0;
}

static long long
chunk_for (const LoomKernelSpec *spec, int n)
{
  long long count = 0, chunk = LEAST_CHUNK;

  for (int t = 0; t < n; t++)
    count += loom_desc_count (&spec->in[t]);
  while (chunk < MOST_CHUNK && count / (2 * chunk) >= MANY_CHUNKS)
    chunk *= 2;
  return chunk;
}

/* The lists, each of length n, are the first inputs. */
static LoomStatus
multi_new (LoomDevice *device, const LoomKernelSpec *spec, int n, int lists, const char *name,
           LoomStatus (*run) (LoomKernel *, LoomStream *, void *const *, LoomMessage *), Multi **out,
           LoomMessage *message)
{
  int64_t chunks = 0;
  LoomStatus status;
  Multi *self;

  if (!cuda_all_plain (spec))
    return LOOM_STATUS_UNSUPPORTED;
  if (n < 0 || spec->n_in < n * lists)
    return cuda_fail (message, LOOM_STATUS_INVALID, "%s has fewer operands than its lists need", spec->primitive);
  if (!all_of_dtype (spec->in, n * lists, LOOM_F32))
    return LOOM_STATUS_UNSUPPORTED;
  self = (Multi *)calloc (1, sizeof (Multi) + n * sizeof (long long));
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  self->base.run = run;
  self->base.bind = multi_bind;
  self->base.free = multi_free;
  self->base.name = name;
  self->device = device;
  self->n = n;
  self->lists = lists;
  self->n_in = spec->n_in;
  self->chunk = chunk_for (spec, n);
  for (int t = 0; t < n; t++)
    {
      self->count[t] = loom_desc_count (&spec->in[t]);
      chunks += (self->count[t] + self->chunk - 1) / self->chunk;
      for (int k = 1; k < lists; k++)
        if (loom_desc_count (&spec->in[k * n + t]) != self->count[t])
          {
            multi_free (&self->base);
            return cuda_fail (message, LOOM_STATUS_INVALID, "%s has operands of different shapes", spec->primitive);
          }
    }
  self->staging = (Chunk *)calloc (chunks != 0 ? chunks : 1, sizeof (Chunk));
  self->n_chunks = (int)chunks;
  status = self->staging == NULL ? cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel")
                                 : cuda_table_new (device, chunks * sizeof (Chunk), (void **)&self->chunks, message);
  if (status != LOOM_STATUS_OK)
    {
      multi_free (&self->base);
      return status;
    }
  *out = self;
  return LOOM_STATUS_OK;
}

#endif
