/* Makes a kernel for 16-bit floats (bf16, f16) from the one for f32: operands are converted to f32 in scratch, and
 * results are rounded from there.
 *
 * So every primitive takes 16-bit floats wherever it takes f32, in any mixture, and rounds each result once. That costs
 * the scratch and two passes over memory; where that matters a back end has a kernel of its own and does not use this.
 * Plain C; the back end supplies the conversions. */
#ifndef LOOM_UPCAST_H
#define LOOM_UPCAST_H

#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"

/* Converts n elements from and to a 16-bit type, after the work already on the stream. */
typedef LoomStatus (*LoomUpcast) (LoomDevice *device, LoomStream *stream, float *to, const void *from, LoomDType type,
                                  int64_t n, LoomMessage *message);
typedef LoomStatus (*LoomDowncast) (LoomDevice *device, LoomStream *stream, void *to, LoomDType type, const float *from,
                                    int64_t n, LoomMessage *message);

typedef struct
{
  LoomKernel base;
  LoomKernel *inner;
  LoomDevice *device;
  LoomUpcast upcast;
  LoomDowncast downcast;
  int n_in, n;
  size_t inner_scratch;  /* where the inner kernel's own scratch begins */
  LoomTensorDesc *given; /* n: as the caller passes them */
  size_t *offset;        /* n: of the f32 copies in the scratch */
  void **buffer;         /* n + 1 */
} LoomUpcastKernel;

static inline bool
loom_dtype_is_reduced (LoomDType dtype)
{
  return dtype == LOOM_F16 || dtype == LOOM_BF16;
}

static inline bool
loom_spec_has_reduced (const LoomKernelSpec *spec)
{
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    if (loom_dtype_is_reduced ((i < spec->n_in ? spec->in[i] : spec->out[i - spec->n_in]).dtype))
      return true;
  return false;
}

/* Operands and results with f32 in place of every 16-bit float; NULL without memory. The caller frees them with free().
 */
static inline LoomTensorDesc *
loom_upcast_descs (const LoomKernelSpec *spec)
{
  int n = spec->n_in + spec->n_out;
  LoomTensorDesc *wide = calloc ((size_t)n + 1, sizeof *wide);

  for (int i = 0; i < n && wide != NULL; i++)
    {
      wide[i] = i < spec->n_in ? spec->in[i] : spec->out[i - spec->n_in];
      if (loom_dtype_is_reduced (wide[i].dtype))
        wide[i].dtype = LOOM_F32;
    }
  return wide;
}

/* Sets the inner kernel's buffers. A result with an operand's address (an optimiser's) has that operand's copy again.
 */
static inline void
loom_upcast_set_buffers (LoomUpcastKernel *self, void *const *buffers)
{
  char *scratch = buffers[self->n];

  for (int i = 0; i < self->n; i++)
    {
      self->buffer[i] = buffers[i];
      if (!loom_dtype_is_reduced (self->given[i].dtype) || buffers[i] == NULL)
        continue;
      self->buffer[i] = scratch + self->offset[i];
      for (int k = 0; i >= self->n_in && k < self->n_in; k++)
        if (buffers[k] == buffers[i])
          self->buffer[i] = self->buffer[k];
    }
  self->buffer[self->n] = self->inner->scratch_bytes > 0 ? scratch + self->inner_scratch : NULL;
}

static inline LoomStatus
loom_upcast_bind (LoomKernel *kernel, void *const *buffers, LoomMessage *message)
{
  LoomUpcastKernel *self = (LoomUpcastKernel *)kernel;

  loom_upcast_set_buffers (self, buffers);
  return self->inner->bind (self->inner, self->buffer, message);
}

static inline LoomStatus
loom_upcast_run (LoomKernel *kernel, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  LoomUpcastKernel *self = (LoomUpcastKernel *)kernel;
  LoomStatus status = LOOM_STATUS_OK;

  loom_upcast_set_buffers (self, buffers);
  self->inner->site = kernel->site; /* a fault of the inner kernel belongs to the same instruction */
  for (int i = 0; i < self->n_in && status == LOOM_STATUS_OK; i++)
    if (self->buffer[i] != buffers[i])
      status = self->upcast (self->device, stream, self->buffer[i], buffers[i], self->given[i].dtype,
                             loom_desc_count (&self->given[i]), message);
  if (status == LOOM_STATUS_OK)
    status = self->inner->run (self->inner, stream, self->buffer, message);
  for (int i = self->n_in; i < self->n && status == LOOM_STATUS_OK; i++)
    if (self->buffer[i] != buffers[i])
      status = self->downcast (self->device, stream, buffers[i], self->given[i].dtype, self->buffer[i],
                               loom_desc_count (&self->given[i]), message);
  return status;
}

static inline void
loom_upcast_free (LoomKernel *kernel)
{
  LoomUpcastKernel *self = (LoomUpcastKernel *)kernel;

  if (self->inner != NULL)
    self->inner->free (self->inner);
  free (self->given);
  free (self->offset);
  free (self->buffer);
  free (self);
}

/* Calls backend->kernel_new() for the same spec with f32 in place of every 16-bit float. */
static inline LoomStatus
loom_upcast_new (const LoomBackend *backend, LoomDevice *device, const LoomKernelSpec *spec, LoomUpcast upcast,
                 LoomDowncast downcast, LoomKernel **kernel, LoomMessage *message)
{
  int n = spec->n_in + spec->n_out;
  LoomUpcastKernel *self = calloc (1, sizeof *self);
  LoomTensorDesc *wide = loom_upcast_descs (spec);
  LoomKernelSpec inner = *spec;
  LoomStatus status = LOOM_STATUS_OUT_OF_MEMORY;

  if (self != NULL)
    {
      self->given = calloc ((size_t)n + 1, sizeof *self->given);
      self->offset = calloc ((size_t)n + 1, sizeof *self->offset);
      self->buffer = calloc ((size_t)n + 1, sizeof *self->buffer);
    }
  if (self != NULL && wide != NULL && self->given != NULL && self->offset != NULL && self->buffer != NULL)
    {
      for (int i = 0; i < n; i++)
        {
          self->given[i] = i < spec->n_in ? spec->in[i] : spec->out[i - spec->n_in];
          if (!loom_dtype_is_reduced (self->given[i].dtype))
            continue;
          self->offset[i] = self->inner_scratch;
          self->inner_scratch += (loom_desc_bytes (&wide[i]) + 63) & ~(size_t)63;
        }
      inner.fixed = 0; /* the kernel reads scratch in place of widened operands */
      inner.in = wide;
      inner.out = wide + spec->n_in;
      status = backend->kernel_new (device, &inner, &self->inner, message);
    }
  free (wide);
  if (status != LOOM_STATUS_OK)
    {
      if (self != NULL)
        loom_upcast_free (&self->base);
      return status;
    }
  self->n_in = spec->n_in;
  self->n = n;
  self->device = device;
  self->upcast = upcast;
  self->downcast = downcast;
  self->base.run = loom_upcast_run;
  self->base.bind = self->inner->bind != NULL ? loom_upcast_bind : NULL;
  self->base.free = loom_upcast_free;
  self->base.scratch_bytes = self->inner_scratch + self->inner->scratch_bytes;
  self->base.name = self->inner->name;
  self->base.is_launched_alone = self->inner->is_launched_alone;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

#endif
