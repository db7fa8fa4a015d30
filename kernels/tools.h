/* What a back end offers to those who look on while it computes: the text of its kernels, times of its own, and names
 * for a profiler. A module may export such a table beside its vtable (backend.h); nothing that computes needs it. */
#ifndef LOOM_TOOLS_H
#define LOOM_TOOLS_H

#include "kernels/backend.h"

#define LOOM_TOOLS_ABI 1

typedef struct
{
  uint32_t abi; /* LOOM_TOOLS_ABI */

  /* The source text of the kernel that is compiled at run time for this call, freed by free(). No device is needed.
   * UNSUPPORTED with a sentence about what computes it instead, where nothing is compiled. */
  LoomStatus (*kernel_source) (const LoomKernelSpec *spec, char **source, LoomMessage *message);

  /* An event, as the vtable's, that is asked for the time at which the device came to it; recording it is slower. Then
   * what the device took from one to another, both behind it by now. */
  LoomStatus (*timed_event_new) (LoomDevice *device, LoomEvent **event, LoomMessage *message);
  LoomStatus (*event_seconds) (LoomDevice *device, LoomEvent *from, LoomEvent *to, double *seconds,
                               LoomMessage *message);

  /* Whether a profiler looks on that shows named ranges of the calling thread's time, and these ranges. NULL all three
   * where the back end was built without. */
  bool (*has_profiler) (void);
  void (*range_push) (const char *name);
  void (*range_pop) (void);
} LoomBackendTools;

typedef const LoomBackendTools *(*LoomToolsEntry) (void);
#define LOOM_TOOLS_ENTRY "loom_backend_tools"

#endif
