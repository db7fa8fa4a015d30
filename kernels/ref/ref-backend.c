/* The reference back end: every primitive in plain loops, f32 and f64.
 *
 * Its purpose is to be obviously right. The other back ends are tested against it, and gradients are tested on it in
 * f64; nothing here is optimised. */
#include "kernels/ref/ref.h"
#include "kernels/ref/ref-list.h"
#include "kernels/host.h"
#include "kernels/optim.h"
#include "kernels/options.h"
#include "kernels/virtual.h"
#include "kernels/upcast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(name)               extern const RefPrimitive ref_##name;
#define DECLARE_STEP(name, scalars) DECLARE (name##_step)
LOOM_ROWS (DECLARE)
LOOM_STEPS (DECLARE_STEP)

#define ROW(name)               &ref_##name,
#define ROW_STEP(name, scalars) ROW (name##_step)
static const RefPrimitive *const primitives[] = { LOOM_ROWS (ROW) LOOM_STEPS (ROW_STEP) };

struct LoomDevice
{
  int unused;
};

static LoomDevice devices[LOOM_MAX_VIRTUAL_DEVICES];

LoomStatus
ref_index_fault (LoomMessage *message, const char *what, int64_t index, int64_t limit)
{
  snprintf (message->text, sizeof message->text, "%s %lld is outside 0 … %lld", what, (long long)index,
            (long long)limit - 1);
  return LOOM_STATUS_INDEX;
}

static int
ref_device_count (LoomMessage *message)
{
  return loom_virtual_devices ();
}

static LoomStatus
ref_device_open (int index, int threads, LoomDevice **device, LoomMessage *message)
{
  if (index < 0 || index >= loom_virtual_devices ())
    {
      snprintf (message->text, sizeof message->text,
                "ref:%d does not exist: there are %d reference devices (GRADLOOM_CPU_DEVICES sets how many)", index,
                loom_virtual_devices ());
      return LOOM_STATUS_DEVICE;
    }
  *device = &devices[index];
  return LOOM_STATUS_OK;
}

static void
ref_device_close (LoomDevice *device)
{
}

static void
ref_device_info (LoomDevice *device, LoomDeviceInfo *info)
{
  loom_host_info (info);
  snprintf (info->name, sizeof info->name, "reference · 1 thread");
  snprintf (info->libraries, sizeof info->libraries, "plain loops");
  info->threads = 1;
}

static LoomStatus
kernel_run (LoomKernel *kernel, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  RefKernel *k = (RefKernel *)kernel;

  return k->work (k, buffers, message);
}

static void
kernel_free (LoomKernel *kernel)
{
  free (kernel); /* attributes and descriptions are in the same block */
}

static LoomStatus
widen (LoomDevice *device, LoomStream *stream, float *to, const void *from, LoomDType type, int64_t n,
       LoomMessage *message)
{
  for (int64_t i = 0; i < n; i++)
    to[i] = (float)loom_load_double (from, i, type);
  return LOOM_STATUS_OK;
}

static LoomStatus
narrow (LoomDevice *device, LoomStream *stream, void *to, LoomDType type, const float *from, int64_t n,
        LoomMessage *message)
{
  for (int64_t i = 0; i < n; i++)
    loom_store_double (to, i, type, from[i]);
  return LOOM_STATUS_OK;
}

/* Element by element: a slice of a result may have the memory of another element's slice of an operand. */
static bool
may_lie_in_place (const RefPrimitive *primitive, const LoomKernelSpec *spec, int i, int o)
{
  const LoomElementwiseAttrs *a = spec->attrs;

  return spec->in[i].dtype == spec->out[o].dtype && loom_desc_same_shape (&spec->in[i], &spec->out[o])
         && (primitive != &ref_elementwise
             || (!loom_has_parts (a->in_part, a->n_in_parts, i) && !loom_has_parts (a->out_part, a->n_out_parts, o)));
}

static LoomStatus
ref_kernel_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const RefPrimitive *primitive = NULL;
  LoomDType type = LOOM_N_DTYPES;
  int n = spec->n_in + spec->n_out;
  size_t head = (sizeof (RefKernel) + 63) & ~(size_t)63, descs = (size_t)n * sizeof (LoomTensorDesc);
  RefKernel *k;
  RefWork work;

  for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
    if (strcmp (primitives[i]->name, spec->primitive) == 0)
      primitive = primitives[i];
  if (primitive == NULL || (spec->algorithm != NULL && strcmp (spec->algorithm, "loops") != 0))
    return LOOM_STATUS_UNSUPPORTED;
  if (!primitive->mixed_floats && loom_spec_has_reduced (spec))
    return loom_upcast_new (loom_backend_ref (), device, spec, widen, narrow, kernel, message);

  for (int i = 0; i < n; i++)
    {
      const LoomTensorDesc *d = i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in];

      if (d->layout != LOOM_LAYOUT_PLAIN)
        return LOOM_STATUS_UNSUPPORTED;
      if (primitive->mixed_floats || !loom_dtype_is_float (d->dtype))
        continue;
      if (type != LOOM_N_DTYPES && type != d->dtype)
        return LOOM_STATUS_UNSUPPORTED;
      type = d->dtype;
    }
  if (primitive->choose != NULL)
    work = primitive->choose (spec);
  else
    work = spec->in[0].dtype == LOOM_F32 ? primitive->f32 : spec->in[0].dtype == LOOM_F64 ? primitive->f64 : NULL;
  if (work == NULL)
    return LOOM_STATUS_UNSUPPORTED;

  k = calloc (1, head + descs + primitive->attrs_size);
  if (k == NULL)
    {
      snprintf (message->text, sizeof message->text, "no memory left for a kernel");
      return LOOM_STATUS_OUT_OF_MEMORY;
    }
  k->work = work;
  k->n_in = spec->n_in;
  k->n_out = spec->n_out;
  k->in = (LoomTensorDesc *)((char *)k + head);
  k->out = k->in + spec->n_in;
  if (spec->n_in > 0)
    memcpy (k->in, spec->in, (size_t)spec->n_in * sizeof *spec->in);
  if (spec->n_out > 0)
    memcpy (k->out, spec->out, (size_t)spec->n_out * sizeof *spec->out);
  if (primitive->attrs_size > 0)
    k->attrs = memcpy (k->out + spec->n_out, spec->attrs, primitive->attrs_size);
  for (int o = 0; o < primitive->n_inplace && o < spec->n_out && o < LOOM_EW_MAX_OUT; o++)
    for (int i = 0; i < spec->n_in && i < 32; i++)
      if (may_lie_in_place (primitive, spec, i, o))
        k->base.inplace[o] |= 1u << i;
  k->base.run = kernel_run;
  k->base.free = kernel_free;
  k->base.name = "ref loops";
  *kernel = &k->base;
  return LOOM_STATUS_OK;
}

/* Every primitive has one algorithm, in plain layout. */
static int
ref_options (LoomDevice *device, const LoomKernelSpec *spec, const LoomCosts *costs, LoomKernelOption *option, int max,
             LoomMessage *message)
{
  LoomKernel *kernel = NULL;
  int n = 0;

  if (ref_kernel_new (device, spec, &kernel, message) != LOOM_STATUS_OK)
    return 0;
  loom_option_add (option, &n, max, costs, spec, "loops", 0, loom_spec_flops (spec), 0, kernel->scratch_bytes);
  kernel->free (kernel);
  return n;
}

static const LoomBackend backend = {
  .abi = LOOM_BACKEND_ABI,
  .name = "ref",
  .device_count = ref_device_count,
  .device_open = ref_device_open,
  .device_close = ref_device_close,
  .device_info = ref_device_info,
  .alloc = loom_host_alloc,
  .free = loom_host_free,
  .copy = loom_host_copy_bytes,
  .options = ref_options,
  .kernel_new = ref_kernel_new,
};

const LoomBackend *
loom_backend_ref (void)
{
  return &backend;
}
