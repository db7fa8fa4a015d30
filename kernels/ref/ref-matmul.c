/* matmul: three loops, with broadcast batch axes, bias and activation. */
#include "kernels/product.h"
#include "kernels/ref/ref.h"

#include <string.h>

#define COLUMNS 8 /* that are summed at a time */

#define REF_LOOPS "kernels/ref/ref-matmul.inc.c"
#include "kernels/ref/ref-floats.h"

static RefWork
choose (const LoomKernelSpec *spec)
{
  if (loom_product_is_fused (spec) && !loom_product_fused_fits (spec))
    return NULL;
  return REF_PICK (spec->in[0].dtype, matmul);
}

const RefPrimitive ref_matmul = { .name = "matmul", .attrs_size = sizeof (LoomMatmulAttrs), .choose = choose };
