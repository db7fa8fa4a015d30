/* toy_turn: elements in their flat order, moved around the end. */
#include "kernels/ref/ref.h"

#include <string.h>

static LoomStatus
turn (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomToyTurnAttrs *a = k->attrs;
  int64_t n = loom_desc_count (&k->in[0]);
  size_t size = loom_dtype_size (k->in[0].dtype);

  for (int64_t i = 0; i < n; i++)
    memcpy ((char *)b[1] + (size_t)(((i + a->shift) % n + n) % n) * size, (const char *)b[0] + (size_t)i * size, size);
  return LOOM_STATUS_OK;
}

static RefWork
choose (const LoomKernelSpec *spec)
{
  return spec->in[0].dtype == spec->out[0].dtype ? turn : NULL;
}

const RefPrimitive ref_toy_turn = { .name = "toy_turn", .attrs_size = sizeof (LoomToyTurnAttrs), .choose = choose };
