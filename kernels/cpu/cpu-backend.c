/* The CPU back end: devices, memory, threads and the choice of instruction set.
 *
 * Virtual devices (GRADLOOM_CPU_DEVICES) are the same processor with allocations of
 * their own, so that programs for several devices can be run and tested anywhere. */
#include "kernels/cpu/cpu.h"
#include "kernels/host.h"
#include "kernels/virtual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define DECLARE_ISA(isa)                                                                                               \
  extern const CpuPrimitive *const cpu_table_##isa[];                                                                  \
  extern void cpu_apply_##isa (LoomScalarOp act, float *y, int64_t n);                                                 \
  extern void cpu_widen_##isa (float *to, const void *from, LoomDType type, int64_t n);                                \
  extern void cpu_narrow_##isa (void *to, LoomDType type, const float *from, int64_t n);

#ifdef LOOM_CPU_BASE
DECLARE_ISA (base)
#endif
#ifdef LOOM_CPU_V3
DECLARE_ISA (v3)
#endif
#ifdef LOOM_CPU_V4
DECLARE_ISA (v4)
#endif

LoomStatus
cpu_index_fault (LoomMessage *message, const char *what, int64_t index, int64_t limit)
{
  snprintf (message->text, sizeof message->text, "%s %lld is outside 0 … %lld", what, (long long)index,
            (long long)limit - 1);
  return LOOM_STATUS_INDEX;
}

bool
cpu_all_f32 (const LoomKernelSpec *spec)
{
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    {
      LoomDType dtype = i < spec->n_in ? spec->in[i].dtype : spec->out[i - spec->n_in].dtype;

      if (loom_dtype_is_float (dtype) && dtype != LOOM_F32)
        return false;
    }
  return true;
}

bool
cpu_all_layout (const LoomKernelSpec *spec, LoomLayout layout)
{
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    {
      const LoomTensorDesc *d = i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in];

      if (d->rank == 4 ? d->layout != layout : d->layout != LOOM_LAYOUT_PLAIN)
        return false;
    }
  return true;
}

/* ---- devices ---------------------------------------------------------- */

static int
cpu_device_count (LoomMessage *message)
{
  return loom_virtual_devices ();
}

/* Chooses the best of the instruction sets that are compiled and that the processor has. Returns false if there is
 * none: a build for one processor runs on another. */
static bool
choose_isa (LoomDevice *device)
{
  const char *limit = getenv ("GRADLOOM_CPU_ISA"); /* for tests: base or v3 */

#ifdef LOOM_CPU_BASE
  device->isa = "own loops, generic";
  device->primitives = cpu_table_base;
  device->apply = cpu_apply_base;
  device->widen = cpu_widen_base;
  device->narrow = cpu_narrow_base;
#endif
  if (limit != NULL && strcmp (limit, "base") == 0)
    return device->isa != NULL;
#if defined LOOM_CPU_V3 || defined LOOM_CPU_V4
  __builtin_cpu_init ();
#endif
#ifdef LOOM_CPU_V3
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma") && __builtin_cpu_supports ("bmi2"))
    {
      device->isa = "own loops, x86-64-v3";
      device->primitives = cpu_table_v3;
      device->apply = cpu_apply_v3;
      device->widen = cpu_widen_v3;
      device->narrow = cpu_narrow_v3;
    }
#endif
  if (limit != NULL && strcmp (limit, "v3") == 0)
    return device->isa != NULL;
#ifdef LOOM_CPU_V4
  if (__builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512cd")
      && __builtin_cpu_supports ("avx512dq") && __builtin_cpu_supports ("avx512vl"))
    {
      device->isa = "own loops, x86-64-v4";
      device->primitives = cpu_table_v4;
      device->apply = cpu_apply_v4;
      device->widen = cpu_widen_v4;
      device->narrow = cpu_narrow_v4;
    }
#endif
  return device->isa != NULL;
}

static LoomStatus
cpu_device_open (int index, int threads, LoomDevice **device, LoomMessage *message)
{
  LoomDevice *self;

  if (index < 0 || index >= cpu_device_count (message))
    {
      snprintf (message->text, sizeof message->text,
                "cpu:%d does not exist: there are %d CPU devices (GRADLOOM_CPU_DEVICES sets how many)", index,
                cpu_device_count (message));
      return LOOM_STATUS_DEVICE;
    }
  self = calloc (1, sizeof *self);
  if (self == NULL)
    {
      snprintf (message->text, sizeof message->text, "no memory left to open cpu:%d", index);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  self->index = index;
  /* More threads than processors would wait for each other's time slices at every parallel region. */
  self->threads = threads > 0 && threads < cpu_processors () ? threads : cpu_processors ();
  if (!choose_isa (self))
    {
      free (self);
      snprintf (message->text, sizeof message->text,
                "cpu was compiled for another processor (-Dcpu_isa=native): compile it here, or with -Dcpu_isa=all");
      return LOOM_STATUS_DEVICE;
    }
  *device = self;
  return LOOM_STATUS_OK;
}

static void
cpu_device_close (LoomDevice *device)
{
  free (device);
}

static LoomStatus
cpu_part_open (LoomDevice *device, LoomDevice **part, LoomMessage *message)
{
  LoomDevice *self = malloc (sizeof *self);

  if (self == NULL)
    {
      snprintf (message->text, sizeof message->text, "no memory left for a part of cpu:%d", device->index);
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  *self = *device;
  self->team = device->threads;
  self->threads = 1;
  *part = self;
  return LOOM_STATUS_OK;
}

typedef struct
{
  void (*run) (void *context, int part);
  void *context;
} Parts;

static void
run_range (void *context, int64_t from, int64_t to)
{
  const Parts *parts = context;

  for (int64_t i = from; i < to; i++)
    parts->run (parts->context, (int)i);
}

static void
cpu_run_parts (LoomDevice *device, int n, void (*run) (void *context, int part), void *context)
{
  Parts parts = { run, context };

  cpu_thread_prepare (device);
  /* The whole team, even for fewer parts: libgomp would end the others, and start them again for the next kernel. */
  cpu_parallel (device->threads, n, run_range, &parts);
}

static void
cpu_device_info (LoomDevice *device, LoomDeviceInfo *info)
{
  char model[256] = "CPU";

  loom_host_info (info);
  loom_host_entry ("/proc/cpuinfo", "model name", model, sizeof model);
  snprintf (info->name, sizeof info->name, "%s · %d thread%s", model, device->threads, device->threads == 1 ? "" : "s");
  snprintf (info->libraries, sizeof info->libraries, "%s, %s", cpu_onednn_version (), device->isa);
  info->threads = device->threads;
}

/* ---- kernels ---------------------------------------------------------- */

static LoomStatus
kernel_run (LoomKernel *kernel, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  CpuKernel *k = (CpuKernel *)kernel;

  cpu_thread_prepare (k->device);
  return k->work (k, buffers, message);
}

static void
kernel_free (LoomKernel *kernel)
{
  CpuKernel *k = (CpuKernel *)kernel;

  if (k->destroy != NULL)
    k->destroy (k);
  free (k);
}

void *
cpu_kernel_new (size_t size, LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuWork work,
                LoomMessage *message)
{
  size_t head = (size + 63) & ~(size_t)63;
  size_t descs = (size_t)(spec->n_in + spec->n_out) * sizeof (LoomTensorDesc);
  CpuKernel *k = aligned_alloc (64, (head + descs + attrs_size + 127) & ~(size_t)63);

  if (k == NULL)
    {
      snprintf (message->text, sizeof message->text, "no memory left for a kernel");
      return NULL;
    }
  memset (k, 0, size);
  k->base.run = kernel_run;
  k->base.free = kernel_free;
  k->base.name = device->isa;
  k->work = work;
  k->device = device;
  k->threads = device->threads;
  k->n_in = spec->n_in;
  k->n_out = spec->n_out;
  k->in = (LoomTensorDesc *)((char *)k + head);
  k->out = k->in + spec->n_in;
  if (spec->n_in > 0)
    memcpy (k->in, spec->in, (size_t)spec->n_in * sizeof *spec->in);
  if (spec->n_out > 0)
    memcpy (k->out, spec->out, (size_t)spec->n_out * sizeof *spec->out);
  if (attrs_size > 0)
    k->attrs = memcpy (k->out + spec->n_out, spec->attrs, attrs_size);
  return k;
}

static const LoomBackend backend = {
  .abi = LOOM_BACKEND_ABI,
  .name = "cpu",
  .device_count = cpu_device_count,
  .device_open = cpu_device_open,
  .device_close = cpu_device_close,
  .device_info = cpu_device_info,
  .alloc = loom_host_alloc,
  .free = loom_host_free,
  .copy = loom_host_copy_bytes,
  .options = cpu_options,
  .kernel_new = cpu_kernel_create,
  .part_open = cpu_part_open,
  .run_parts = cpu_run_parts,
};

const LoomBackend *
loom_backend_cpu (void)
{
  return &backend;
}
