/* require: copies its operand if a condition holds everywhere, and otherwise reports the first element for which it
 * does not hold. update_gate: lets a step write if its numbers are finite. */
#include "kernels/ref/ref.h"

#include <string.h>

/* b: x, ok of any shape; y of the shape of x. */
static LoomStatus
require (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomRequireAttrs *a = k->attrs;
  const uint8_t *ok = b[1];

  for (int64_t i = 0; i < loom_desc_count (&k->in[1]); i++)
    if (!ok[i])
      {
        char place[LOOM_INDEX_TEXT];

        snprintf (message->text, sizeof message->text, "%s%s", a->what,
                  loom_index_text (place, k->in[1].rank, k->in[1].dim, i));
        return LOOM_STATUS_NO_RESULT;
      }
  if (b[2] != b[0] && loom_desc_count (&k->in[0]) > 0)
    memcpy (b[2], b[0], loom_desc_bytes (&k->in[0]));
  return LOOM_STATUS_OK;
}

static RefWork
choose (const LoomKernelSpec *spec)
{
  return spec->in[1].dtype == LOOM_BOOL && spec->in[0].dtype == spec->out[0].dtype ? require : NULL;
}

const RefPrimitive ref_require
    = { .name = "require", .attrs_size = sizeof (LoomRequireAttrs), .choose = choose, .n_inplace = 1 };

/* b: finite and tolerated; go and sound: all scalars. */
#define GATE(name, T)                                                                                                  \
  static LoomStatus name (const RefKernel *k, void *const *b, LoomMessage *message)                                    \
  {                                                                                                                    \
    bool finite = *(const T *)b[0] != 0, tolerated = *(const T *)b[1] != 0;                                            \
                                                                                                                       \
    if (!finite && !tolerated)                                                                                         \
      {                                                                                                                \
        snprintf (message->text, sizeof message->text, LOOM_NOT_FINITE_TEXT);                                          \
        return LOOM_STATUS_NOT_FINITE;                                                                                 \
      }                                                                                                                \
    *(T *)b[2] = finite;                                                                                               \
    *(T *)b[3] = 1;                                                                                                    \
    return LOOM_STATUS_OK;                                                                                             \
  }
GATE (gate_f32, float)
GATE (gate_f64, double)

const RefPrimitive ref_update_gate = { .name = "update_gate", .f32 = gate_f32, .f64 = gate_f64 };
