/* Lists the CPU's algorithms for a call, and creates the kernel of the chosen one.
 *
 * An own kernel is a struct of precomputed sizes, so whether it supports a call is found by creating it. oneDNN
 * compiles its kernels, so a rule decides instead (CpuAlgorithm.takes). */
#include "kernels/options.h"
#include "kernels/cpu/cpu.h"
#include "kernels/upcast.h"

#include <stdio.h>
#include <string.h>

static const CpuPrimitive *
find_primitive (const LoomDevice *device, const char *name)
{
  for (int i = 0; device->primitives[i] != NULL; i++)
    if (strcmp (device->primitives[i]->name, name) == 0)
      return device->primitives[i];
  return NULL;
}

/* The i-th algorithm of a primitive; after the last one, an algorithm without a name. */
static CpuAlgorithm
algorithm_at (const CpuPrimitive *primitive, int i)
{
  if (primitive->algorithms != NULL)
    return primitive->algorithms[i];
  return i == 0 ? (CpuAlgorithm){ "own", primitive->create, NULL, NULL } : (CpuAlgorithm){ 0 };
}

static bool
has_f16 (const LoomKernelSpec *spec, LoomMessage *message)
{
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    if (loom_spec_operand (spec, i)->dtype == LOOM_F16)
      {
        snprintf (message->text, sizeof message->text,
                  "the device cpu computes in f32 and bf16, not in f16; use bf16 instead");
        return true;
      }
  return false;
}

/* ---- options ------------------------------------------------------------ */

static bool
takes (LoomDevice *device, const CpuPrimitive *primitive, const CpuAlgorithm *algorithm, const LoomKernelSpec *spec,
       size_t *scratch, LoomMessage *message)
{
  CpuKernel *k = NULL;
  LoomStatus status;

  *scratch = 0;
  if (algorithm->takes != NULL)
    return algorithm->takes (spec);
  status = algorithm->create (device, spec, primitive->attrs_size, &k, message);
  /* Without memory another algorithm would be chosen, with other bits. */
  if (status != LOOM_STATUS_OK)
    return status == LOOM_STATUS_OUT_OF_MEMORY;
  *scratch = k->base.scratch_bytes;
  k->base.free (&k->base);
  return true;
}

/* The options for one combination of layouts. */
static int
add_options (LoomDevice *device, const CpuPrimitive *primitive, const LoomKernelSpec *spec, uint64_t nhwc,
             const LoomCosts *costs, LoomKernelOption *option, int n, int max, LoomMessage *message)
{
  LoomTensorDesc desc[64];
  LoomKernelSpec call = loom_spec_in_layouts (spec, nhwc, desc);

  for (int i = 0; algorithm_at (primitive, i).name != NULL; i++)
    {
      CpuAlgorithm a = algorithm_at (primitive, i);
      size_t scratch;

      if (takes (device, primitive, &a, &call, &scratch, message))
        loom_option_add (option, &n, max, costs, spec, a.name, nhwc,
                         a.flops != NULL ? a.flops (spec) : loom_spec_flops (spec), 0, scratch);
    }
  return n;
}

int
cpu_options (LoomDevice *device, const LoomKernelSpec *spec, const LoomCosts *costs, LoomKernelOption *option, int max,
             LoomMessage *message)
{
  const CpuPrimitive *primitive = find_primitive (device, spec->primitive);
  int n = 0, n_masks;
  bool widens = loom_spec_has_reduced (spec) && !has_f16 (spec, message);
  uint64_t mask[LOOM_MAX_MASKS];
  LoomKernelSpec inner = *spec;
  LoomTensorDesc *wide = NULL;

  if (primitive == NULL || (widens && (wide = loom_upcast_descs (spec)) == NULL))
    return 0;
  if (widens)
    {
      inner.in = wide;
      inner.out = wide + spec->n_in;
    }
  n_masks = loom_spec_masks (spec, false, mask);
  for (int m = 0; m < n_masks; m++)
    {
      int before = n;

      n = add_options (device, primitive, spec, mask[m], costs, option, n, max, message);
      if (n == before && widens) /* computed in f32, see cpu_kernel_create() */
        n = add_options (device, primitive, &inner, mask[m], costs, option, n, max, message);
    }
  free (wide);
  return n;
}

/* ---- kernels ------------------------------------------------------------ */

static LoomStatus
widen (LoomDevice *device, LoomStream *stream, float *to, const void *from, LoomDType type, int64_t n,
       LoomMessage *message)
{
  device->widen (to, from, type, n);
  return LOOM_STATUS_OK;
}

static LoomStatus
narrow (LoomDevice *device, LoomStream *stream, void *to, LoomDType type, const float *from, int64_t n,
        LoomMessage *message)
{
  device->narrow (to, type, from, n);
  return LOOM_STATUS_OK;
}

LoomStatus
cpu_kernel_create (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const CpuPrimitive *primitive = find_primitive (device, spec->primitive);
  LoomStatus status = LOOM_STATUS_UNSUPPORTED;
  CpuKernel *k = NULL;

  if (primitive == NULL)
    return LOOM_STATUS_UNSUPPORTED;
  cpu_thread_prepare (device); /* oneDNN plans for the current number of threads */
  for (int i = 0; algorithm_at (primitive, i).name != NULL && status == LOOM_STATUS_UNSUPPORTED; i++)
    {
      CpuAlgorithm a = algorithm_at (primitive, i);

      if (spec->algorithm == NULL || strcmp (spec->algorithm, a.name) == 0)
        status = a.create (device, spec, primitive->attrs_size, &k, message);
    }
  if (status == LOOM_STATUS_OK)
    *kernel = &k->base;
  /* Loops compute in f32; bf16 is converted if there is no better kernel. f16 is stored and converted but not computed
   * with: without instructions for it, it would have f16's small range and no higher speed. */
  if (status != LOOM_STATUS_UNSUPPORTED || !loom_spec_has_reduced (spec) || has_f16 (spec, message))
    return status;
  return loom_upcast_new (loom_backend_cpu (), device, spec, widen, narrow, kernel, message);
}
