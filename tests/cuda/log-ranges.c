/* A profiler that prints on standard error which NVTX ranges begin, indented by nesting, and at the end whether all
 * have ended. NVTX_INJECTION64_PATH names it, like the library of a real profiler. */
#include <stdio.h>

#include <nvtx3/nvToolsExt.h>

static int depth;

static int
push (const char *name)
{
  fprintf (stderr, "range %*s%s\n", 2 * depth, "", name);
  return depth++;
}

static int
pop (void)
{
  return --depth;
}

__attribute__ ((destructor)) static void
end (void)
{
  fprintf (stderr, "%d ranges have not ended\n", depth);
}

/* The function that the headers of NVTX look up. */
__attribute__ ((visibility ("default"))) int InitializeInjectionNvtx2 (NvtxGetExportTableFunc_t get);

int
InitializeInjectionNvtx2 (NvtxGetExportTableFunc_t get)
{
  const NvtxExportTableCallbacks *callbacks = get (NVTX_ETID_CALLBACKS);
  NvtxFunctionTable table = NULL;
  unsigned int size = 0;

  if (callbacks == NULL || !callbacks->GetModuleFunctionTable (NVTX_CB_MODULE_CORE, &table, &size)
      || size <= NVTX_CBID_CORE_RangePop)
    return 0;
  *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
  *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
