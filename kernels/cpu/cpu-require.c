/* require: copies its operand if a condition holds everywhere, and otherwise reports the first element for which it
 * does not hold. update_gate: lets a step write if its numbers are finite. */
#include "kernels/cpu/cpu.h"

#include <string.h>

/* b: x, ok of any shape; y of the shape of x. */
static LoomStatus
work (CpuKernel *k, void *const *b, LoomMessage *message)
{
  const LoomRequireAttrs *a = k->attrs;
  int64_t count = loom_desc_count (&k->in[1]);
  const uint8_t *wrong = count > 0 ? memchr (b[1], 0, (size_t)count) : NULL;

  if (wrong != NULL)
    {
      char place[LOOM_INDEX_TEXT];

      snprintf (message->text, sizeof message->text, "%s%s", a->what,
                loom_index_text (place, k->in[1].rank, k->in[1].dim, wrong - (const uint8_t *)b[1]));
      return LOOM_STATUS_NO_RESULT;
    }
  if (b[2] != b[0] && loom_desc_count (&k->in[0]) > 0)
    memcpy (b[2], b[0], loom_desc_bytes (&k->in[0]));
  return LOOM_STATUS_OK;
}

/* Errors name a position in logical order. */
static LoomStatus
create (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel, LoomMessage *message)
{
  if (spec->in[1].dtype != LOOM_BOOL || spec->in[0].dtype != spec->out[0].dtype
      || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN))
    return LOOM_STATUS_UNSUPPORTED;
  *kernel = cpu_kernel_new (sizeof **kernel, device, spec, attrs_size, work, message);
  if (*kernel == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  (*kernel)->base.inplace[0] = 1;
  return LOOM_STATUS_OK;
}

const CpuPrimitive ISA (cpu_require) = { "require", sizeof (LoomRequireAttrs), create };

/* b: finite and tolerated; go and sound: all scalars. */
static LoomStatus
gate (CpuKernel *k, void *const *b, LoomMessage *message)
{
  bool finite = *(const float *)b[0] != 0, tolerated = *(const float *)b[1] != 0;

  if (!finite && !tolerated)
    {
      snprintf (message->text, sizeof message->text, LOOM_NOT_FINITE_TEXT);
      return LOOM_STATUS_NOT_FINITE;
    }
  *(float *)b[2] = finite;
  *(float *)b[3] = 1;
  return LOOM_STATUS_OK;
}

static LoomStatus
create_gate (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
             LoomMessage *message)
{
  if (!cpu_all_f32 (spec))
    return LOOM_STATUS_UNSUPPORTED;
  *kernel = cpu_kernel_new (sizeof **kernel, device, spec, attrs_size, gate, message);
  return *kernel != NULL ? LOOM_STATUS_OK : LOOM_STATUS_OUT_OF_MEMORY;
}

const CpuPrimitive ISA (cpu_update_gate) = { "update_gate", 0, create_gate };
