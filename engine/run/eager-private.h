/* Shared by the files of the eager executor: loom-eager.c executes, eager-value.c owns the values. */
#ifndef LOOM_EAGER_PRIVATE_H
#define LOOM_EAGER_PRIVATE_H

#include "engine/run/loom-eager.h"
#include "engine/run/run-private.h"

typedef struct
{
  LoomPlanDevice *device; /* where it is stored; NULL: not computed yet */
  void *memory;           /* on that device; NULL on the host */
  LoomTensor *tensor;     /* in host memory; for a value of another device a copy, made at the first request */
} EagerValue;

struct _LoomEager
{
  LoomProgram *program;
  LoomState *state;
  LoomDevices *devices;
  LoomPlanDevice *device; /* of instructions that name no device */
  LoomPlanDevice **place; /* the device of each instruction */
  LoomKernel **kernels;   /* likewise */
  EagerValue *values;     /* by value */
  GPtrArray *scratch;     /* Scratch, one per device */
  const void **fed;
  guint at;
  gboolean has_begun;
  LoomMessage message; /* of the last failed call */
};

/* The stream of a device; NULL for the host. */
LoomStream *eager_stream_of (LoomEager *eager, LoomPlanDevice *device);
/* The device that a node names; name NULL: the executor's. (nullable): with an error if there is no such device */
LoomPlanDevice *eager_device_named (LoomEager *eager, const char *name, GError **error);
/* The name of an instruction in errors. (transfer full) */
char *eager_instr_name (const LoomEager *eager, const LoomInstr *instr);
/* Sets the error of a call that returned this status; instr NULL: a copy. Always FALSE. */
gboolean eager_failed (LoomEager *eager, const LoomInstr *instr, const LoomPlanDevice *device, LoomStatus status,
                       GError **error);
/* Allocates bytes of a device; with 0, *memory stays as it is. */
gboolean eager_allocate (LoomEager *eager, LoomPlanDevice *device, gsize bytes, void **memory, GError **error);

const LoomTensorDesc *eager_desc_of (const LoomEager *eager, LoomValue v);
/* Allocates v on a device. */
gboolean eager_make_value (LoomEager *eager, LoomValue v, LoomPlanDevice *device, GError **error);
void eager_clear_value (EagerValue *value);
void eager_clear_values (LoomEager *eager);
/* The address of a computed value on its device. */
void *eager_address_of (const EagerValue *value);
/* v in the host's memory; borrowed. */
LoomTensor *eager_host_value (LoomEager *eager, LoomValue v, GError **error);
/* Copies v's bytes to memory of a device. */
gboolean eager_copy_value (LoomEager *eager, LoomValue v, LoomPlanDevice *device, void *to, GError **error);
/* The address of v for a device. Memory of a copy made for that is added to `borrowed`, to be freed after the
 * instruction. */
gboolean eager_operand (LoomEager *eager, LoomValue v, LoomPlanDevice *device, GPtrArray *borrowed, void **address,
                        GError **error);
/* Loads a slot or an input to the device that its node names. */
gboolean eager_load_source (LoomEager *eager, LoomValue v, GError **error);

#endif
