/* The fault flag: the kernels that number the steps and that stop an update while the flag is raised.
 *
 * Both run on the stream, inside a recorded graph or outside, and nothing here waits for the host. The host reads the
 * report later; every gate stays closed until it has cleared the flag. */
#include "kernels/cuda/cuda-kernels.cuh"

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  bool wide; /* f64 */
} Gate;

/* Sets flag->step; one thread. */
__global__ static void
step_kernel (CudaFlag *flag, long long step)
{
  flag->step = step;
}

/* go, sound, finite and tolerated are scalars; one thread. */
template <typename T>
__global__ void
gate_kernel (T *go, T *sound, const T *finite, const T *tolerated, CudaRaise raise)
{
  const bool good = *finite != 0;
  const bool heard = has_joined_fault (raise);

  /* A fault of another device precedes its consequences here. */
  if (!good && *tolerated == 0 && !heard)
    raise_fault (raise, CUDA_FAULT_NOT_FINITE, 0, 0);
  const bool clear = !heard && raise.flag->raised == 0;
  *sound = clear;
  *go = clear && good;
}

LoomStatus
cuda_step_begin (LoomStream *stream, int64_t step, LoomMessage *message)
{
  step_kernel<<<1, 1, 0, stream->handle>>> (stream->flag, step);
  return cuda_launched ("numbering a step", message);
}

template <typename T>
static void
launch_gate (const Gate *self, LoomStream *stream, void *const *b)
{
  gate_kernel<T><<<1, 1, 0, cuda_stream (self->device, stream)>>> ((T *)b[2], (T *)b[3], (const T *)b[0],
                                                                   (const T *)b[1],
                                                                   cuda_raise (self->device, stream, &self->base, NULL));
}

static LoomStatus
gate_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Gate *self = (Gate *)base;

  cuda_use (self->device);
  if (self->wide)
    launch_gate<double> (self, stream, buffers);
  else
    launch_gate<float> (self, stream, buffers);
  return cuda_launched ("update_gate", message);
}

LoomStatus
cuda_update_gate_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomDType dtype = spec->in[0].dtype;
  Gate *self;

  if ((dtype != LOOM_F32 && dtype != LOOM_F64) || !all_of_dtype (spec->in, spec->n_in, dtype)
      || !all_of_dtype (spec->out, spec->n_out, dtype))
    return LOOM_STATUS_UNSUPPORTED;
  if (spec->n_in != 2 || spec->n_out != 2)
    return cuda_fail (message, LOOM_STATUS_INVALID, "update_gate takes two scalars and returns two");
  self = kernel_struct<Gate> (device, "own update gate", gate_run, message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  self->wide = dtype == LOOM_F64;
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}
