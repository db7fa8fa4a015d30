/* A test back end with every primitive but no fused calls: ref under a module's name, without the calls that the
 * planner fuses. It neither lists nor makes those.
 *
 * LEAN_FAILS="WHAT STATUS" makes it fail if a kernel of WHAT is requested (a primitive, "joined", or "transposed" for a
 * product with such an operand): it lists no option, and kernel_new() returns STATUS: "memory", "lost" or
 * "unsupported". LEAN_FAILS="WHAT STATUS other" gives every call a second, listed algorithm of that name, and only that
 * one fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/norm.h"

__attribute__ ((visibility ("default"))) const LoomBackend *loom_backend_entry (void);

static bool
has (const LoomKernelSpec *spec)
{
  LoomDType first = spec->n_in > 0 ? spec->in[0].dtype : LOOM_F32;

  if (strcmp (spec->primitive, "matmul") == 0)
    {
      const LoomMatmulAttrs *a = spec->attrs;

      return !a->has_bias && a->act == LOOM_SCALAR_ID && a->derivative == LOOM_SCALAR_ID && spec->out[0].dtype == first
             && spec->n_out == 1;
    }
  if (strcmp (spec->primitive, "conv2d") == 0)
    {
      const LoomConv2dAttrs *a = spec->attrs;

      return !a->has_bias && a->act == LOOM_SCALAR_ID;
    }
  if (strncmp (spec->primitive, "conv2d_weight_grad", 18) == 0)
    return spec->out[0].dtype == first;
  if (strcmp (spec->primitive, "batch_norm_apply") == 0 || strcmp (spec->primitive, "move") == 0)
    return false;
  if (strncmp (spec->primitive, "attention", 9) == 0 && strcmp (spec->primitive, "attention_cached") != 0)
    return !((const LoomAttentionAttrs *)spec->attrs)->in_place;
  if (strcmp (spec->primitive, "random") == 0)
    return ((const LoomRandomAttrs *)spec->attrs)->kind != LOOM_RANDOM_MASK;
  if (strcmp (spec->primitive, "layer_norm_grad") == 0)
    {
      const LoomNormAttrs *a = spec->attrs;

      return loom_layer_norm_residual (a->affine, spec->n_in) == 0;
    }
  if (strncmp (spec->primitive, "batch_norm", 10) == 0)
    {
      const LoomNormAttrs *a = spec->attrs;

      return a->act == LOOM_SCALAR_ID && !loom_norm_has_residual (spec->primitive, a->affine, spec->n_in, spec->n_out);
    }
  if (strcmp (spec->primitive, "elementwise") == 0)
    {
      const LoomElementwiseAttrs *a = spec->attrs;
      int operations = 0;

      for (int s = 0; s < a->n_steps; s++) /* a constant is no operation */
        {
          operations += a->step[s].op != LOOM_SCALAR_CONST;
          if (a->step[s].op != LOOM_SCALAR_CONST && a->step[s].op != LOOM_SCALAR_ID)
            for (int i = 0; i < spec->n_in; i++)
              if (loom_dtype_is_float (spec->in[i].dtype) && loom_dtype_is_float (spec->out[0].dtype)
                  && spec->in[i].dtype != spec->out[0].dtype)
                return false;
        }
      return operations <= 1;
    }
  return true;
}

static bool
is_meant (const LoomKernelSpec *spec, const char *what)
{
  const LoomMatmulAttrs *a = spec->attrs;

  if (strcmp (what, "joined") == 0)
    return !has (spec);
  if (strcmp (what, "transposed") == 0)
    return strcmp (spec->primitive, "matmul") == 0 && (a->trans_a || a->trans_b);
  return strcmp (what, spec->primitive) == 0;
}

/* OK if it should not fail. other: the name of the second algorithm, or empty. */
static LoomStatus
failure (const LoomKernelSpec *spec, char other[32], LoomMessage *message)
{
  const char *failure_spec = getenv ("LEAN_FAILS");
  char what[32], status[32];

  other[0] = '\0';
  if (failure_spec == NULL || sscanf (failure_spec, "%31s %31s %31s", what, status, other) < 2
      || !is_meant (spec, what))
    return LOOM_STATUS_OK;
  snprintf (message->text, sizeof message->text, "the %s kernel: as requested", spec->primitive);
  return strcmp (status, "lost") == 0     ? LOOM_STATUS_DEVICE_LOST
         : strcmp (status, "memory") == 0 ? LOOM_STATUS_OUT_OF_MEMORY
                                          : LOOM_STATUS_UNSUPPORTED;
}

static int
options (LoomDevice *device, const LoomKernelSpec *spec, const LoomCosts *costs, LoomKernelOption *option, int max,
         LoomMessage *message)
{
  static char other[32];
  LoomMessage ignored;
  LoomStatus status = failure (spec, other, &ignored);
  int n;

  if (!has (spec) || (status != LOOM_STATUS_OK && other[0] == '\0'))
    return 0;
  n = loom_backend_ref ()->options (device, spec, costs, option, max, message);
  if (n != 1 || other[0] == '\0')
    return n;
  option[1] = option[0];
  option[1].algorithm = other;
  return 2;
}

static LoomStatus
kernel_new (LoomDevice *device, const LoomKernelSpec *spec, LoomKernel **kernel, LoomMessage *message)
{
  char other[32];
  LoomStatus status = failure (spec, other, message);
  LoomKernelSpec call = *spec;

  if (status != LOOM_STATUS_OK
      && (other[0] == '\0' || (spec->algorithm != NULL && strcmp (spec->algorithm, other) == 0)))
    return status;
  call.algorithm = NULL;
  return has (spec) ? loom_backend_ref ()->kernel_new (device, &call, kernel, message) : LOOM_STATUS_UNSUPPORTED;
}

const LoomBackend *
loom_backend_entry (void)
{
  static LoomBackend backend;

  backend = *loom_backend_ref ();
  backend.name = "cuda";
  backend.options = options;
  backend.kernel_new = kernel_new;
  return &backend;
}
