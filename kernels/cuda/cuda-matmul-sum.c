/* Products by cuBLASLt with a sum over an operand (kernels/product.h), such as the gradient of a bias: as the product's
 * epilogue, or by a kernel after it. Both are options, with the names "cublaslt-bgrad:…" and "cublaslt-sum:…". */
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cuda-matmul.h"

/* Indexed by sum_b: our a is cuBLASLt's B, along whose inner axis BGRADB sums, and our b its A. */
static const struct
{
  const char *name;
  cublasLtEpilogue_t epilogue[2];
} sum_families[] = { { "cublaslt-bgrad", { CUBLASLT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_BGRADA } },
                     { "cublaslt-sum", { CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT } } };

/* Translates a configuration's name into a family, "cublaslt:a21" to "cublaslt-sum:a21", and back; NULL if it is of
 * another family. */
static void
family_name (int family, const char *name, char to[CUDA_BLAS_NAME + 16])
{
  snprintf (to, CUDA_BLAS_NAME + 16, "%s%s", sum_families[family].name, name + strcspn (name, ":"));
}

static const char *
own_name (int family, const char *name, char to[CUDA_BLAS_NAME])
{
  const size_t n = strlen (sum_families[family].name);

  if (strncmp (name, sum_families[family].name, n) != 0 || name[n] != ':')
    return NULL;
  snprintf (to, CUDA_BLAS_NAME, "cublaslt%s", name + n);
  return to;
}

/* Makes the kernel that sums our a or b over their common axis, if no epilogue does. */
static LoomStatus
sum_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  const LoomMatmulAttrs *product = spec->attrs;
  const LoomTensorDesc *from = &spec->in[product->sum_b];
  const int inner = product->sum_b ? product->trans_b : !product->trans_a;
  const LoomReduceAttrs attrs = { .op = LOOM_REDUCE_SUM, .axes = 1u << inner };
  LoomTensorDesc s = { .dtype = spec->out[1].dtype, .rank = 2, .dim = { from->dim[0], from->dim[1] } };
  const LoomKernelSpec sum = { .primitive = "reduce", .attrs = &attrs, .n_in = 1, .n_out = 1, .in = from, .out = &s };

  s.dim[inner] = 1;

  return cuda_kernel_new (device, &sum, kernel, message);
}

/* Lists the options of both families. */
LoomStatus
cuda_matmul_sum_algorithms (Matmul *self, const LoomKernelSpec *spec, CudaAlgorithm *algorithms, int max,
                            int *n_algorithms, LoomMessage *message)
{
  for (int family = 0; family < 2; family++)
    {
      cublasLtMatmulHeuristicResult_t found[PROPOSALS];
      char name[CUDA_BLAS_NAME], full[CUDA_BLAS_NAME + 16];
      size_t scratch = 0;
      int n = cuda_matmul_propose (self, sum_families[family].epilogue[self->sum_b], found);

      if (family == 1 && n > 0)
        {
          LoomKernel *sum = NULL;
          LoomStatus status = sum_new (self->device, spec, &sum, message);

          if (status != LOOM_STATUS_OK)
            return status == LOOM_STATUS_UNSUPPORTED ? LOOM_STATUS_OK : status;
          scratch = sum->scratch_bytes;
          sum->free (sum);
        }
      for (int i = 0; i < n && *n_algorithms < max; i++)
        {
          const size_t workspace = cuda_matmul_scratch (self, found[i].workspaceSize);
          const char *kept;

          cuda_blas_name (&found[i].algo, name);
          family_name (family, name, full);
          kept = cuda_name_keep (full);
          for (int k = 0; k < *n_algorithms && kept != NULL; k++)
            kept = algorithms[k].name == kept ? NULL : kept;
          if (kept != NULL)
            algorithms[(*n_algorithms)++] = (CudaAlgorithm){ kept, workspace > scratch ? workspace : scratch };
        }
    }
  return LOOM_STATUS_OK;
}

/* Sets the family and the configuration that the call names. */
LoomStatus
cuda_matmul_configure_sum (Matmul *self, const LoomKernelSpec *spec, LoomMessage *message)
{
  for (int family = 0; family < 2; family++)
    {
      cublasLtMatmulHeuristicResult_t found[PROPOSALS], chosen;
      char name[CUDA_BLAS_NAME];
      const char *wanted = spec->algorithm != NULL ? own_name (family, spec->algorithm, name) : NULL;
      int n;

      if (spec->algorithm != NULL && wanted == NULL)
        continue;
      n = cuda_matmul_propose (self, sum_families[family].epilogue[self->sum_b], found);
      if ((n == 0 && wanted == NULL) || !cuda_matmul_find (self, wanted, found, n, &chosen))
        continue;
      self->algorithm = chosen.algo;
      self->workspace = chosen.workspaceSize;
      self->epilogue_sum = family == 0;
      cuda_blas_name (&chosen.algo, name);
      family_name (family, name, self->name);
      return family == 0 ? LOOM_STATUS_OK : sum_new (self->device, spec, &self->sum, message);
    }
  return LOOM_STATUS_UNSUPPORTED;
}
