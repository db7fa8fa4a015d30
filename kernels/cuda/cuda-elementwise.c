/* Loads and launches the element-wise kernels that cuda-source.c generates.
 *
 * Two calls with the same source share one module, since a network repeats the same fusion many times and compiling
 * takes far longer than a launch. The driver's functions are fetched through the runtime, so the driver library is
 * never linked. */
#include <cuda.h>
#include <cudaTypedefs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-internal.h"
#include "kernels/cuda/cuda-source.h"

typedef struct CachedModule CachedModule;

struct CachedModule
{
  CachedModule *next;
  uint64_t hash;
  char *source;
  CUmodule module;
  CUfunction function;
};

struct CudaModuleCache
{
  pthread_mutex_t lock; /* plans may be made by several threads */
  PFN_cuModuleLoadData_v2000 load;
  PFN_cuModuleUnload_v2000 unload;
  PFN_cuModuleGetFunction_v2000 get_function;
  PFN_cuLaunchKernel_v4000 launch;
  CachedModule *first;
};

typedef struct
{
  LoomKernel base;
  LoomDevice *device;
  CUfunction function;
  int n_buffers;
  unsigned int blocks;
  long long count;
  char *name;
} Elementwise;

/* ---- modules ----------------------------------------------------------------- */

static bool
fetch (const char *symbol, void **function, unsigned int version)
{
  enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  cudaError_t error;

#if CUDART_VERSION >= 12050
  error = cudaGetDriverEntryPointByVersion (symbol, function, version, cudaEnableDefault, &found);
#else
  error = cudaGetDriverEntryPoint (symbol, function, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess)
    cudaGetLastError ();
  return error == cudaSuccess && found == cudaDriverEntryPointSuccess && *function != NULL;
}

LoomStatus
cuda_modules_open (LoomDevice *device, LoomMessage *message)
{
  CudaModuleCache *cache = calloc (1, sizeof *cache);

  if (cache == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for compiled kernels");
  if (!fetch ("cuModuleLoadData", (void **)&cache->load, 2000)
      || !fetch ("cuModuleUnload", (void **)&cache->unload, 2000)
      || !fetch ("cuModuleGetFunction", (void **)&cache->get_function, 2000)
      || !fetch ("cuLaunchKernel", (void **)&cache->launch, 4000))
    {
      free (cache);
      return cuda_fail (message, LOOM_STATUS_DEVICE, "the CUDA driver lacks the functions that load compiled kernels");
    }
  pthread_mutex_init (&cache->lock, NULL);
  device->modules = cache;
  return LOOM_STATUS_OK;
}

/* The driver's error numbers are the runtime's. */
static LoomStatus
driver_check (CUresult result, const char *what, LoomMessage *message)
{
  return cuda_check ((cudaError_t)(int)result, what, message);
}

/* FNV-1a. Sources begin with the same thousands of characters, so that comparing each with all others takes longer than
 * a small kernel. */
static uint64_t
hash_of (const char *source)
{
  uint64_t hash = UINT64_C (14695981039346656037);

  for (; *source != '\0'; source++)
    hash = (hash ^ (unsigned char)*source) * UINT64_C (1099511628211);
  return hash;
}

static void
cached_module_free (CudaModuleCache *cache, CachedModule *entry)
{
  if (entry->module != NULL)
    cache->unload (entry->module);
  free (entry->source);
  free (entry);
}

/* Takes ownership of the source. Called with the lock held. */
static LoomStatus
load_module (LoomDevice *device, CudaModuleCache *cache, char *source, CUfunction *function, LoomMessage *message)
{
  CachedModule *entry = calloc (1, sizeof *entry);
  char *image = NULL;
  size_t bytes = 0;
  LoomStatus status;

  if (entry == NULL)
    {
      free (source);
      return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a compiled kernel");
    }
  entry->hash = hash_of (source);
  entry->source = source;
  status = cuda_compile (source, device->architecture, &image, &bytes, message);
  if (status == LOOM_STATUS_OK)
    {
      image[bytes] = '\0';
      status = driver_check (cache->load (&entry->module, image), "loading a compiled kernel", message);
    }
  if (status == LOOM_STATUS_OK)
    status = driver_check (cache->get_function (&entry->function, entry->module, CUDA_ELEMENTWISE_ENTRY),
                           "finding a compiled kernel", message);
  free (image);
  if (status != LOOM_STATUS_OK)
    {
      cached_module_free (cache, entry);
      return status;
    }
  entry->next = cache->first;
  cache->first = entry;
  *function = entry->function;
  return LOOM_STATUS_OK;
}

static LoomStatus
find_function (LoomDevice *device, char *source, CUfunction *function, LoomMessage *message)
{
  CudaModuleCache *cache = device->modules;
  const uint64_t hash = hash_of (source);
  LoomStatus status = LOOM_STATUS_OK;
  CachedModule *entry;

  pthread_mutex_lock (&cache->lock);
  for (entry = cache->first; entry != NULL; entry = entry->next)
    if (entry->hash == hash && strcmp (entry->source, source) == 0)
      break;
  if (entry != NULL)
    {
      free (source);
      *function = entry->function;
    }
  else
    status = load_module (device, cache, source, function, message);
  pthread_mutex_unlock (&cache->lock);
  return status;
}

void
cuda_modules_close (LoomDevice *device)
{
  CudaModuleCache *cache = device->modules;

  if (cache == NULL)
    return;
  for (CachedModule *entry = cache->first, *next; entry != NULL; entry = next)
    {
      next = entry->next;
      cached_module_free (cache, entry);
    }
  pthread_mutex_destroy (&cache->lock);
  free (cache);
  device->modules = NULL;
}

/* ---- the kernel ---------------------------------------------------------------- */

static LoomStatus
elementwise_run (LoomKernel *base, LoomStream *stream, void *const *buffers, LoomMessage *message)
{
  Elementwise *self = (Elementwise *)base;
  void *arguments[LOOM_EW_MAX_IN + LOOM_EW_MAX_OUT + 2];
  uintptr_t addresses = 0;
  int aligned;

  if (self->count == 0)
    return LOOM_STATUS_OK;
  for (int i = 0; i < self->n_buffers; i++)
    {
      arguments[i] = (void *)&buffers[i];
      addresses |= (uintptr_t)buffers[i];
    }
  aligned = addresses % 16 == 0;
  arguments[self->n_buffers] = &self->count;
  arguments[self->n_buffers + 1] = &aligned;
  cuda_use (self->device);
  return driver_check (self->device->modules->launch (self->function, self->blocks, 1, 1, CUDA_ELEMENTWISE_THREADS, 1,
                                                      1, 0, cuda_stream (self->device, stream), arguments, NULL),
                       "launching an element-wise kernel", message);
}

static void
elementwise_free (LoomKernel *base)
{
  free (((Elementwise *)base)->name);
  free (base);
}

/* TRUE if the input has no parts and the strides of the computed shape. */
static bool
same_walk (const CudaElementwisePlan *plan, int input)
{
  for (int k = 0; k < plan->n_loads; k++)
    {
      const CudaWalk *walk = &plan->load[k];
      int64_t stride = 1;

      if (walk->tensor != input)
        continue;
      if (walk->reg != input)
        return false;
      for (int d = plan->rank - 1; d >= 0; d--)
        {
          if (walk->stride[d] != stride)
            return false;
          stride *= plan->dim[d];
        }
    }
  return true;
}

/* "nvrtc x4 mul+add": the names of all steps. */
static bool
name_kernel (Elementwise *self, const CudaElementwisePlan *plan)
{
  const char *begin = plan->vector == 4 ? "nvrtc x4 " : "nvrtc ";
  size_t size = strlen (begin) + 1;
  char *end;

  for (int s = 0; s < plan->program.n_steps; s++)
    size += strlen (loom_scalar_name (plan->program.step[s].op)) + 1;
  self->name = malloc (size);
  if (self->name == NULL)
    return false;
  end = stpcpy (self->name, begin);
  for (int s = 0; s < plan->program.n_steps; s++)
    end = stpcpy (stpcpy (end, s != 0 ? "+" : ""), loom_scalar_name (plan->program.step[s].op));
  self->base.name = self->name;
  return true;
}

bool
cuda_takes_elementwise (const LoomKernelSpec *spec)
{
  CudaElementwisePlan plan;
  LoomMessage message;

  return cuda_elementwise_plan (spec, &plan, &message) == LOOM_STATUS_OK;
}

LoomStatus
cuda_elementwise_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  CudaElementwisePlan plan;
  Elementwise *self;
  char *source;
  LoomStatus status = cuda_elementwise_plan (spec, &plan, message);
  int64_t per_block, blocks;

  if (status != LOOM_STATUS_OK)
    return status;
  per_block = (int64_t)CUDA_ELEMENTWISE_THREADS * plan.vector;
  blocks = (plan.count + per_block - 1) / per_block;
  if (blocks > INT32_MAX)
    return LOOM_STATUS_UNSUPPORTED;
  self = calloc (1, sizeof *self);
  if (self == NULL)
    return cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel");
  *self = (Elementwise){
    .base = { .run = elementwise_run, .free = elementwise_free },
    .device = device,
    .n_buffers = spec->n_in + spec->n_out,
    .blocks = (unsigned int)blocks,
    .count = plan.count,
  };
  for (int o = 0; o < plan.n_out; o++)
    for (int i = 0; i < plan.n_in; i++)
      if (loom_dtype_size (plan.in_dtype[i]) == loom_dtype_size (plan.out_dtype[o])
          && loom_desc_count (&spec->in[i]) == plan.count && loom_desc_count (&spec->out[o]) == plan.count
          && same_walk (&plan, i))
        self->base.inplace[o] |= 1u << i;
  if (!name_kernel (self, &plan))
    status = cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel's name");
  else if (plan.count != 0)
    {
      source = cuda_elementwise_source (&plan);
      status = source != NULL ? find_function (device, source, &self->function, message)
                              : cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel's source");
    }
  if (status != LOOM_STATUS_OK)
    {
      elementwise_free (&self->base);
      return status;
    }
  *kernel = &self->base;
  return LOOM_STATUS_OK;
}

LoomStatus
cuda_tail_new (LoomDevice *device, const LoomTensorDesc *y, const LoomTensorDesc *bias, LoomScalarOp act,
               LoomKernel **kernel, LoomMessage *message)
{
  LoomElementwiseAttrs attrs;
  LoomTensorDesc in[2] = { *y };
  const int n_in = bias != NULL ? 2 : 1;
  LoomKernelSpec spec = { .primitive = "elementwise", .attrs = &attrs, .n_in = n_in, .n_out = 1, .in = in, .out = y };

  *kernel = NULL;
  if (act == LOOM_SCALAR_ID && bias == NULL)
    return LOOM_STATUS_OK;
  memset (&attrs, 0, sizeof attrs);
  attrs.compute = y->dtype == LOOM_F64 ? LOOM_F64 : LOOM_F32;
  if (bias != NULL)
    {
      in[1] = *bias;
      attrs.step[attrs.n_steps++] = (LoomElementwiseStep){ .op = LOOM_SCALAR_ADD, .arg = { 0, 1 } };
    }
  if (act != LOOM_SCALAR_ID)
    {
      attrs.step[attrs.n_steps] = (LoomElementwiseStep){ .op = act, .arg = { bias != NULL ? n_in : 0 } };
      attrs.n_steps++;
    }
  attrs.out[0] = n_in + attrs.n_steps - 1;
  return cuda_elementwise_new (device, &spec, kernel, message);
}
