/* Loops over lists of tensors, shared by the optimisers' kernels.
 *
 * bind() turns the lists of tensors into ranges of addresses, merging neighbours if the kernel allows it, since
 * parameters, gradients and states are usually contiguous. Ranges are divided into chunks of CHUNK elements, which
 * threads share; a chunk's result does not depend on the thread. */
#ifndef LOOM_CPU_MULTI_H
#define LOOM_CPU_MULTI_H

#include <stdlib.h>

#include "kernels/cpu/cpu.h"

#define CPU_MULTI_LISTS 5 /* p, g and three states */
#define CPU_MULTI_CHUNK 8192

typedef struct
{
  float *list[CPU_MULTI_LISTS];
  int64_t n;
} CpuRange;

typedef struct
{
  CpuKernel k;
  int n_tensors, lists;
  bool separate; /* a range is one tensor */
  CpuRange *range;
  int n_ranges;
  bool bound;
  int64_t chunks; /* of all ranges together */
  double ns;
} CpuMulti;

/* A chunk: n elements of the range from `at` on. */
typedef struct
{
  float *const *list;
  int64_t at, n, chunk;
  int range;
} CpuChunk;

static LoomStatus
cpu_multi_bind (LoomKernel *kernel, void *const *b, LoomMessage *message)
{
  CpuMulti *self = (CpuMulti *)kernel;
  int n = self->n_tensors;

  self->n_ranges = 0;
  self->chunks = 0;
  for (int t = 0; t < n; t++)
    {
      CpuRange range = { .n = loom_desc_count (&self->k.in[t]) },
               *last = self->n_ranges > 0 ? &self->range[self->n_ranges - 1] : NULL;
      bool joins = last != NULL && !self->separate;

      if (range.n == 0)
        continue;
      for (int l = 0; l < self->lists; l++)
        {
          range.list[l] = b[l * n + t];
          joins = joins && last->list[l] + last->n == range.list[l];
        }
      if (joins)
        last->n += range.n;
      else
        self->range[self->n_ranges++] = range;
    }
  for (int r = 0; r < self->n_ranges; r++)
    self->chunks += (self->range[r].n + CPU_MULTI_CHUNK - 1) / CPU_MULTI_CHUNK;
  self->bound = true;
  return LOOM_STATUS_OK;
}

/* Calls body for chunks from … to-1, each within one range. */
static inline void
cpu_multi_chunks (const CpuMulti *self, int64_t from, int64_t to, void (*body) (void *context, const CpuChunk *chunk),
                  void *context)
{
  int64_t first = 0;

  for (int r = 0; r < self->n_ranges && first < to; r++)
    {
      const CpuRange *range = &self->range[r];
      int64_t chunks = (range->n + CPU_MULTI_CHUNK - 1) / CPU_MULTI_CHUNK;

      for (int64_t i = from > first ? from - first : 0; i < chunks && first + i < to; i++)
        {
          int64_t at = i * CPU_MULTI_CHUNK, left = range->n - at;

          body (context, &(CpuChunk){ .list = range->list,
                                      .at = at,
                                      .n = left < CPU_MULTI_CHUNK ? left : CPU_MULTI_CHUNK,
                                      .chunk = first + i,
                                      .range = r });
        }
      first += chunks;
    }
}

static void
cpu_multi_destroy (CpuKernel *k)
{
  free (((CpuMulti *)k)->range);
}

/* A kernel of `size` bytes whose first member is a CpuMulti. Its operands are `lists` lists of n tensors, followed by
 * scalars. */
static LoomStatus
cpu_multi_new (size_t size, LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, int n, int lists,
               int scalars, CpuWork work, CpuMulti **multi, LoomMessage *message)
{
  CpuMulti *self;

  if (!cpu_all_f32 (spec) || spec->n_in != lists * n + scalars)
    return LOOM_STATUS_UNSUPPORTED;
  self = cpu_kernel_new (size, device, spec, attrs_size, work, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->k.destroy = cpu_multi_destroy;
  self->k.base.bind = cpu_multi_bind;
  self->n_tensors = n;
  self->lists = lists;
  self->range = calloc ((size_t)n + 1, sizeof *self->range);
  if (self->range == NULL)
    {
      self->k.base.free (&self->k.base);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  for (int t = 0; t < n; t++)
    {
      int64_t count = loom_desc_count (&spec->in[t]);

      self->chunks += (count + CPU_MULTI_CHUNK - 1) / CPU_MULTI_CHUNK;
      self->ns += 0.15 * (double)(count * lists);
    }
  *multi = self;
  return LOOM_STATUS_OK;
}

#endif
