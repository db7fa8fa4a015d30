/* Libraries that are opened at run time by their first use, so that a machine need not have them. */
#ifndef LOOM_CUDA_LIBRARY_H
#define LOOM_CUDA_LIBRARY_H

#include <stddef.h>

/* A function's name, and the offset of its address in a struct of functions. */
typedef struct
{
  const char *name;
  size_t at;
} CudaFunction;

#define CUDA_FUNCTIONS(functions) (functions), sizeof (functions) / sizeof *(functions)

/* Opens a library, for the life of the process, and finds n functions in it. Returns NULL, or the missing name: `file`,
 * or a function. */
const char *cuda_library_open (const char *file, const CudaFunction *functions, size_t n, void *to);

#endif
