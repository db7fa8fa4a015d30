/* toy_turn: elements in their flat order, moved around the end, as two copies. */
#include "kernels/cpu/cpu.h"

#include <string.h>

static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  const LoomToyTurnAttrs *a = k->attrs;
  int64_t n = loom_desc_count (&k->in[0]), head = n > 0 ? (a->shift % n + n) % n : 0;
  size_t size = loom_dtype_size (k->in[0].dtype);

  if (n == 0)
    return LOOM_STATUS_OK;
  memcpy ((char *)b[1] + (size_t)head * size, b[0], (size_t)(n - head) * size);
  memcpy (b[1], (const char *)b[0] + (size_t)(n - head) * size, (size_t)head * size);
  return LOOM_STATUS_OK;
}

static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  if (spec->in[0].dtype != spec->out[0].dtype || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  *kernel = cpu_kernel_new (sizeof **kernel, device, spec, attrs_size, work, message);
  return *kernel != NULL ? LOOM_STATUS_OK : LOOM_STATUS_OUT_OF_MEMORY;
}

const CpuPrimitive ISA (cpu_toy_turn) = { "toy_turn", sizeof (LoomToyTurnAttrs), create };
