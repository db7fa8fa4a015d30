/* A module of the interface's version before this one: all that a program may read of it is the number. */
#include "kernels/backend.h"

static const struct
{
  uint32_t abi;
  const char *name;
} old = { LOOM_BACKEND_ABI - 1, "cuda" };

__attribute__ ((visibility ("default"))) const LoomBackend *loom_backend_entry (void);

const LoomBackend *
loom_backend_entry (void)
{
  return (const LoomBackend *)&old;
}
