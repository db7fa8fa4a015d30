/* The eager walk, as its files share it: loom-eager.c walks, eager-value.c has the values. */
#ifndef LOOM_EAGER_PRIVATE_H
#define LOOM_EAGER_PRIVATE_H

#include "engine/run/loom-eager.h"
#include "engine/run/run-private.h"

G_BEGIN_DECLS

typedef struct
{
  LoomPlanDevice *device; /* where it lies; NULL: it has not been computed */
  void *memory;           /* there, unless that is the host's */
  LoomTensor *tensor;     /* in host memory; of a value that lies elsewhere a copy, made at the first request */
} EagerValue;

struct _LoomEager
{
  LoomProgram *program;
  LoomState *state;
  LoomDevices *devices;
  LoomPlanDevice *device; /* of what names none */
  LoomPlanDevice **place; /* by instruction */
  LoomKernel **kernels;   /* likewise */
  EagerValue *values;     /* by value */
  GPtrArray *scratch;     /* Scratch, one a device */
  const void **fed;
  guint at;
  gboolean has_begun;
  LoomMessage message; /* of the call that failed last */
};

/* The stream of a device; NULL where it is the host. */
LoomStream *eager_stream_of (LoomEager *eager, LoomPlanDevice *device);
/* The device that a node names, NULL being the walk's. (nullable): with an error, where there is no such device */
LoomPlanDevice *eager_device_named (LoomEager *eager, const char *name, GError **error);
/* How an error calls an instruction. (transfer full) */
char *eager_place_of (const LoomEager *eager, const LoomInstr *instr);
/* Sets the error of a call that answered with this status, instr NULL being a copy; always FALSE. */
gboolean eager_failed (LoomEager *eager, const LoomInstr *instr, const LoomPlanDevice *device, LoomStatus status,
                       GError **error);
/* Allocates bytes of a device; with 0, *memory stays as it is. */
gboolean eager_allocate (LoomEager *eager, LoomPlanDevice *device, gsize bytes, void **memory, GError **error);

const LoomTensorDesc *eager_desc_of (const LoomEager *eager, LoomValue v);
/* Room for v on a device. */
gboolean eager_make_value (LoomEager *eager, LoomValue v, LoomPlanDevice *device, GError **error);
void eager_clear_value (EagerValue *value);
void eager_clear_values (LoomEager *eager);
/* Where a value that has been made lies on its device. */
void *eager_address_of (const EagerValue *value);
/* v in the host's memory; borrowed. */
LoomTensor *eager_host_value (LoomEager *eager, LoomValue v, GError **error);
/* v's bytes into memory of a device. */
gboolean eager_copy_value (LoomEager *eager, LoomValue v, LoomPlanDevice *device, void *to, GError **error);
/* v where a device can read it; what was copied for that goes to `borrowed`, to be freed after the instruction. */
gboolean eager_operand (LoomEager *eager, LoomValue v, LoomPlanDevice *device, GPtrArray *borrowed, void **address,
                        GError **error);
/* Slots and inputs, each where its node wants it. */
gboolean eager_load_source (LoomEager *eager, LoomValue v, GError **error);

G_END_DECLS

#endif
