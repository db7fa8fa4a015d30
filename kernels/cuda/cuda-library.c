/* dlopen() and dlsym() for tables of functions. */
#include "kernels/cuda/cuda-library.h"

#include <dlfcn.h>
#include <string.h>

const char *
cuda_library_open (const char *file, const CudaFunction *functions, size_t n, void *to)
{
  void *library = dlopen (file, RTLD_NOW | RTLD_LOCAL);

  if (library == NULL)
    return file;
  for (size_t i = 0; i < n; i++)
    {
      void *function = dlsym (library, functions[i].name);

      if (function == NULL)
        return functions[i].name;
      memcpy ((char *)to + functions[i].at, &function, sizeof function);
    }
  return NULL;
}
