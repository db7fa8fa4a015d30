/* Many tensors in one launch, for optimisers and for statistics of gradients.
 *
 * bind() writes a table of chunks, each at most CHUNK elements of one tensor, and block i takes chunk i. Tensors that lie
 * side by side in every list are joined first, where a kernel allows that: one whose sums go by tensor does not, since
 * their order must not depend on addresses. */
#ifndef LOOM_CUDA_MULTI_CUH
#define LOOM_CUDA_MULTI_CUH

#include "kernels/cuda/cuda-kernels.cuh"

#define CHUNK 2048 /* eight elements for each thread: small networks then have a block for every processor */

enum
{
  AT_ONCE = 4 /* elements that a thread reads before it writes the first */
};
#define LISTS 5    /* p, g and at most three states */

typedef struct
{
  float *at[LISTS];
  long long count;
  int tensor; /* the first one of those that were joined */
} Chunk;

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  int n, lists, n_in, n_chunks;
  bool join_neighbours;
  LoomSgdAttrs sgd;   /* of the kernel's kind one of the three */
  LoomAdamAttrs adam;
  LoomStepAttrs step;
  Chunk *chunks;     /* on the device */
  Chunk *staging;    /* the same on the host */
  long long count[]; /* of each tensor */
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
      for (long long begin = 0; begin < count; begin += CHUNK)
        {
          Chunk *chunk = &self->staging[used++];

          for (int k = 0; k < self->lists; k++)
            chunk->at[k] = (float *)buffers[k * self->n + t] + begin;
          chunk->count = count - begin < CHUNK ? count - begin : CHUNK;
          chunk->tensor = t;
        }
      t = next;
    }
  self->n_chunks = used;
  if (used == 0)
    return LOOM_STATUS_OK;
  cuda_use (self->device);
  /* No step reads the old table any more. The new one goes by a stream of ours and is waited for, since streams here do
   * not wait for the default one; the whole device is not, because another thread may be recording a graph on it. */
  status = cuda_check (cudaMemcpyAsync (self->chunks, self->staging, used * sizeof (Chunk), cudaMemcpyHostToDevice,
                                        cuda_stream (self->device, NULL)),
                       "telling the CUDA device where the parameters are", message);
  if (status != LOOM_STATUS_OK)
    return status;
  return cuda_check (cudaStreamSynchronize (cuda_stream (self->device, NULL)),
                     "telling the CUDA device where the parameters are", message);
}

/* The lists come first among the inputs, each of length n. */
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
  for (int t = 0; t < n; t++)
    {
      self->count[t] = loom_desc_count (&spec->in[t]);
      chunks += (self->count[t] + CHUNK - 1) / CHUNK;
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
