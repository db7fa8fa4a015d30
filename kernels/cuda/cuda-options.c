/* Lists the algorithms by which the CUDA back end computes a call, and makes the kernel of the chosen one.
 *
 * Most primitives have one algorithm, "own". Primitives that a library computes list its algorithms for this call
 * (CudaPrimitive.algorithms), followed by the own kernel if there is one. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda-internal.h"
#include "kernels/cuda/cuda-source.h"
#include "kernels/cuda/cuda-tools.h"
#include "kernels/options.h"
#include "kernels/product.h"
#include "kernels/upcast.h"

static const CudaPrimitive *
find_primitive (const LoomKernelSpec *spec)
{
  for (const CudaPrimitive *entry = cuda_primitives; entry->name != NULL; entry++)
    if (strcmp (entry->name, spec->primitive) == 0)
      return entry;
  return NULL;
}

/* ---- names ---------------------------------------------------------------- */

typedef struct Name Name;
struct Name
{
  Name *next;
  char text[];
};

/* The number of names is that of different products, and plans keep them beyond the life of their device. */
const char *
cuda_name_keep (const char *text)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static Name *names;
  Name *name;

  pthread_mutex_lock (&lock);
  for (name = names; name != NULL && strcmp (name->text, text) != 0;)
    name = name->next;
  if (name == NULL && (name = malloc (sizeof *name + strlen (text) + 1)) != NULL)
    {
      strcpy (name->text, text);
      name->next = names;
      names = name;
    }
  pthread_mutex_unlock (&lock);
  return name != NULL ? name->text : NULL;
}

/* ---- options -------------------------------------------------------------- */

/* Makes the kernel to find out; there is no other way for a named algorithm. */
static int
algorithm_by_making (LoomDevice *device, const CudaPrimitive *entry, const LoomKernelSpec *call,
                     CudaAlgorithm *algorithms, LoomMessage *message)
{
  const char *algorithm = call->algorithm != NULL ? cuda_name_keep (call->algorithm) : "own";
  LoomKernel *kernel = NULL;

  if (algorithm == NULL || entry->make (device, call, &kernel, message) != LOOM_STATUS_OK)
    return 0;
  *algorithms = (CudaAlgorithm){ algorithm, kernel->scratch_bytes };
  kernel->free (kernel);
  return 1;
}

/* A primitive without a kernel for bf16 or f16 is computed in f32, except a product with a derivative, which is fused
 * to save a pass over memory: conversions would add passes. */
static bool
may_upcast (const CudaPrimitive *entry, const LoomKernelSpec *spec)
{
  return loom_spec_has_reduced (spec) && (entry->make != cuda_matmul_new || !loom_product_has_derivative (spec));
}

/* The algorithms for the layouts of the call; none if the device failed. */
static int
algorithms_of (LoomDevice *device, const CudaPrimitive *entry, const LoomKernelSpec *call, CudaAlgorithm *algorithms,
               int max, LoomMessage *message)
{
  int n = 0;

  if (entry->algorithms != NULL && call->algorithm == NULL)
    return entry->algorithms (device, call, algorithms, max, &n, message) == LOOM_STATUS_OK ? n : 0;
  if (entry->algorithms == NULL && call->algorithm != NULL && strcmp (call->algorithm, "own") != 0)
    return 0;
  if (entry->algorithms != NULL || entry->takes == NULL)
    return algorithm_by_making (device, entry, call, algorithms, message);
  *algorithms = (CudaAlgorithm){ "own", 0 };
  return entry->takes (call) ? 1 : 0;
}

/* The options for one combination of layouts. */
static int
add_options (LoomDevice *device, const CudaPrimitive *entry, const LoomKernelSpec *spec, uint64_t nhwc,
             const LoomCosts *costs, LoomKernelOption *option, int n, int max, LoomMessage *message)
{
  LoomTensorDesc desc[64];
  LoomKernelSpec call = loom_spec_in_layouts (spec, nhwc, desc);
  CudaAlgorithm algorithms[LOOM_MAX_OPTIONS];
  int n_algorithms = algorithms_of (device, entry, &call, algorithms, LOOM_MAX_OPTIONS, message);

  for (int i = 0; i < n_algorithms; i++)
    loom_option_add (option, &n, max, costs, spec, algorithms[i].name, nhwc, loom_spec_flops (spec),
                     algorithms[i].moved, algorithms[i].scratch);
  return n;
}

int
cuda_options (LoomDevice *device, const LoomKernelSpec *spec, const LoomCosts *costs, LoomKernelOption *option, int max,
              LoomMessage *message)
{
  const CudaPrimitive *entry = find_primitive (spec);
  uint64_t mask[LOOM_MAX_MASKS];
  LoomKernelSpec inner = *spec;
  LoomTensorDesc *wide = NULL;
  int n = 0, n_masks;

  if (entry == NULL)
    return 0;
  if (may_upcast (entry, spec) && (wide = loom_upcast_descs (spec)) != NULL)
    {
      inner.in = wide;
      inner.out = wide + spec->n_in;
    }
  cuda_use (device);
  n_masks = loom_spec_masks (spec, true, mask);
  for (int m = 0; m < n_masks; m++)
    {
      int before = n;

      n = add_options (device, entry, spec, mask[m], costs, option, n, max, message);
      if (n == before && wide != NULL) /* as f32, see cuda_kernel_new() */
        n = add_options (device, entry, &inner, mask[m], costs, option, n, max, message);
    }
  free (wide);
  return n;
}

/* ---- kernels -------------------------------------------------------------- */

/* Uses the algorithm that spec names, else the first that takes the call. */
static LoomStatus
make (LoomDevice *device, const CudaPrimitive *entry, const LoomKernelSpec *spec, LoomKernel **kernel,
      LoomMessage *message)
{
  CudaAlgorithm algorithms[LOOM_MAX_OPTIONS];
  LoomKernelSpec call = *spec;
  LoomStatus status;
  int n;

  if (entry->algorithms == NULL || spec->algorithm != NULL)
    return entry->make (device, spec, kernel, message);
  status = entry->algorithms (device, spec, algorithms, LOOM_MAX_OPTIONS, &n, message);
  if (status != LOOM_STATUS_OK)
    return status;
  status = LOOM_STATUS_UNSUPPORTED;
  for (int i = 0; i < n && status == LOOM_STATUS_UNSUPPORTED; i++)
    {
      call.algorithm = algorithms[i].name;
      status = entry->make (device, &call, kernel, message);
    }
  return status;
}

LoomStatus
cuda_kernel_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const CudaPrimitive *entry = find_primitive (spec);
  LoomStatus status;

  *kernel = NULL;
  if (entry == NULL || (entry->algorithms == NULL && spec->algorithm != NULL && strcmp (spec->algorithm, "own") != 0))
    return LOOM_STATUS_UNSUPPORTED;
  cuda_use (device);
  status = make (device, entry, spec, kernel, message);
  if (status == LOOM_STATUS_UNSUPPORTED && may_upcast (entry, spec))
    return loom_upcast_new (loom_backend_entry (), device, spec, cuda_upcast, cuda_downcast, kernel, message);
  return status;
}

static bool
is_linear_algebra (const CudaPrimitive *entry)
{
#ifdef LOOM_HAVE_CUSOLVER
  return entry->algorithms == cuda_linalg_algorithms;
#else
  return false;
#endif
}

/* ---- text ----------------------------------------------------------------- */

LoomStatus
cuda_kernel_source (const LoomKernelSpec *spec, char **source, LoomMessage *message)
{
  const CudaPrimitive *entry = find_primitive (spec);
  CudaElementwisePlan plan;
  LoomStatus status;

  *source = NULL;
  if (entry == NULL)
    return cuda_fail (message, LOOM_STATUS_UNSUPPORTED, "CUDA has no kernel for %s", spec->primitive);
  if (entry->make != cuda_elementwise_new)
    return cuda_fail (message, LOOM_STATUS_UNSUPPORTED, "%s",
                      entry->algorithms == NULL                 ? "an own kernel, compiled when Gradloom was built"
                      : strcmp (spec->primitive, "matmul") == 0 ? "cuBLASLt or an own kernel, by their costs on the GPU"
                      : is_linear_algebra (entry) ? "cuSOLVER, cuBLAS or an own kernel, by their costs on the GPU"
                                                  : "cuDNN or an own kernel, by their costs on the GPU");
  status = cuda_elementwise_plan (spec, &plan, message);
  if (status != LOOM_STATUS_OK)
    return status;
  *source = cuda_elementwise_source (&plan);
  return *source != NULL ? LOOM_STATUS_OK
                         : cuda_fail (message, LOOM_STATUS_OUT_OF_MEMORY, "no memory left for a kernel's source");
}
