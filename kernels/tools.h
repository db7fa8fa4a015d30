/* The table of functions of a back end for tools that observe it: the text of its kernels, timings, and names for a
 * profiler. A module may export it in addition to its vtable (backend.h); no computation needs it. */
#ifndef LOOM_TOOLS_H
#define LOOM_TOOLS_H

#include "kernels/backend.h"

#define LOOM_TOOLS_ABI 1

typedef struct
{
  uint32_t abi; /* LOOM_TOOLS_ABI */

  /* The source text of the kernel that is compiled at run time for this call; the caller frees it with free(). No
   * device is needed. If nothing is compiled, UNSUPPORTED with a sentence that names what computes it instead. */
  LoomStatus (*kernel_source) (const LoomKernelSpec *spec, char **source, LoomMessage *message);

  /* An event, as in the vtable, that also records the device's time; recording it is slower. event_seconds() returns
   * the device's time from one completed event to another. */
  LoomStatus (*timed_event_new) (LoomDevice *device, LoomEvent **event, LoomMessage *message);
  LoomStatus (*event_seconds) (LoomDevice *device, LoomEvent *from, LoomEvent *to, double *seconds,
                               LoomMessage *message);

  /* Whether a profiler is attached that shows named ranges of the calling thread's time, and these ranges. All three
   * are NULL if the back end was built without. */
  bool (*has_profiler) (void);
  void (*range_push) (const char *name);
  void (*range_pop) (void);
} LoomBackendTools;

typedef const LoomBackendTools *(*LoomToolsEntry) (void);
#define LOOM_TOOLS_ENTRY "loom_backend_tools"

#endif
