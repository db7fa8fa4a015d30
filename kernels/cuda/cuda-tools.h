/* The CUDA back end's functions for tools (kernels/tools.h). */
#ifndef LOOM_CUDA_TOOLS_H
#define LOOM_CUDA_TOOLS_H

#include "kernels/tools.h"

LoomStatus cuda_kernel_source (const LoomKernelSpec *spec, char **source, LoomMessage *message);

/* cuda-ranges.c; absent if the toolkit has no nvtx3. */
bool cuda_has_profiler (void);
void cuda_range_push (const char *name);
void cuda_range_pop (void);

const LoomBackendTools *loom_backend_tools (void);

#endif
