/* matmul by oneDNN's matmul primitive, which does both transposes by strides, batches with broadcasting, and the bias.
 *
 * The activation is a separate pass over the result while it is in the cache, so it is the same function as elsewhere,
 * also for NaN (oneDNN's relu turns NaN into 0). */
#include "kernels/options.h"
#include "kernels/product.h"
#include "kernels/cpu/cpu-onednn.h"

/* The operand of logical [batch…, rows, columns], its rank raised to y's. */
static OnednnDesc
describe (Onednn *self, const LoomTensorDesc *x, int rank, bool transposed)
{
  dnnl_dims_t dims, strides;
  int64_t n = 1;

  for (int i = rank - 1; i >= 0; i--)
    {
      int axis = i - (rank - x->rank);

      dims[i] = axis >= 0 ? x->dim[axis] : 1;
      strides[i] = n;
      n *= dims[i];
    }
  if (transposed)
    {
      int64_t d = dims[rank - 1], s = strides[rank - 1];

      dims[rank - 1] = dims[rank - 2];
      strides[rank - 1] = strides[rank - 2];
      dims[rank - 2] = d;
      strides[rank - 2] = s;
    }
  return onednn_desc_strides (self, rank, dims, onednn_type (x->dtype), strides);
}

/* [1, …, 1, columns of y]: the vector that is added to every row. */
static OnednnDesc
describe_bias (Onednn *self, const LoomTensorDesc *bias, const LoomTensorDesc *y)
{
  dnnl_dims_t dims;

  for (int i = 0; i < y->rank; i++)
    dims[i] = i == y->rank - 1 ? y->dim[i] : 1;
  return onednn_desc_strides (self, y->rank, dims, onednn_type (bias->dtype), NULL);
}

/* A fixed matrix is packed as oneDNN prefers it. */
static OnednnDesc
describe_weights (Onednn *self, const LoomKernelSpec *spec, OnednnDesc given)
{
  const LoomTensorDesc *y = &spec->out[0], *b = &spec->in[1];
  const bool transposed = ((const LoomMatmulAttrs *)spec->attrs)->trans_b;
  const dnnl_dims_t dims = { b->dim[transposed], b->dim[!transposed] };

  if (((spec->fixed >> 1) & 1) == 0 || y->rank != 2)
    return given;
  return onednn_desc_tag (self, 2, dims, onednn_type (b->dtype), dnnl_format_tag_any);
}

/* a [batch…,m,depth], b [batch…,depth,n], bias [n]; y [batch…,m,n]. */
static bool
build (Onednn *self, const LoomKernelSpec *spec)
{
  const LoomMatmulAttrs *a = spec->attrs;
  const LoomTensorDesc *y = &spec->out[0];
  OnednnDesc amd = describe (self, &spec->in[0], y->rank, a->trans_a);
  OnednnDesc bmd = describe (self, &spec->in[1], y->rank, a->trans_b);
  OnednnDesc any_bmd = bmd != NULL ? describe_weights (self, spec, bmd) : NULL, wanted;
  OnednnDesc ymd = describe (self, y, y->rank, false);
  OnednnDesc cmd = a->has_bias ? describe_bias (self, &spec->in[2], y) : NULL;
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t pd;
  dnnl_memory_t weights;
  OnednnCall *call;

  if (amd == NULL || any_bmd == NULL || ymd == NULL || (a->has_bias && cmd == NULL))
    return false;
  attr = onednn_attr ();
  self->act = a->act;
  pd = y->dtype == LOOM_F32 || onednn_fuse (attr, false, &self->act) ? onednn_matmul (amd, any_bmd, cmd, ymd, attr)
                                                                     : NULL;
  dnnl_primitive_attr_destroy (attr);
  if (pd == NULL)
    return false;
  onednn_describe (self, pd);
  wanted = onednn_desc_wanted (self, pd, DNNL_ARG_WEIGHTS);
  weights = wanted != NULL ? onednn_input (self, 1, bmd, wanted) : NULL;
  call = onednn_call (self, pd);
  return call != NULL && onednn_arg (call, DNNL_ARG_SRC, onednn_memory (self, amd, 0, 0))
         && onednn_arg (call, DNNL_ARG_WEIGHTS, weights)
         && onednn_arg (call, DNNL_ARG_DST, onednn_memory (self, ymd, spec->n_in, 0))
         && (!a->has_bias || onednn_arg (call, DNNL_ARG_BIAS, onednn_memory (self, cmd, 2, 0)))
         && (y->dtype == LOOM_F32 || self->act == LOOM_SCALAR_ID); /* the separate pass is for f32 */
}

/* True for f32 only, or bf16 with a bias and a result of either type; a bf16 result allows only the relu that oneDNN
 * fuses, since the separate pass is for f32. */
bool
cpu_onednn_takes_matmul (const LoomKernelSpec *spec)
{
  const LoomMatmulAttrs *a = spec->attrs;
  LoomDType type = spec->in[0].dtype, result = spec->out[0].dtype;

  if (loom_product_is_fused (spec) || !cpu_all_layout (spec, LOOM_LAYOUT_PLAIN) || spec->in[0].rank < 2
      || spec->in[1].rank < 2 || spec->out[0].rank < 2 || loom_spec_flops (spec) == 0) /* oneDNN divides by sizes */
    return false;
  if (type == LOOM_F32)
    return cpu_all_f32 (spec);
  return type == LOOM_BF16 && spec->in[1].dtype == type && (result == LOOM_BF16 || result == LOOM_F32)
         && (result == LOOM_F32 || a->act == LOOM_SCALAR_ID || a->act == LOOM_SCALAR_RELU);
}

LoomStatus
cpu_onednn_matmul (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                   LoomMessage *message)
{
  unsigned denormals;
  Onednn *self;
  bool ok;

  if (!cpu_onednn_takes_matmul (spec))
    return LOOM_STATUS_UNSUPPORTED;
  self = onednn_new (device, spec, attrs_size, loom_spec_flops (spec), message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  denormals = onednn_denormals_on ();
  ok = build (self, spec);
  onednn_denormals_restore (denormals);
  return onednn_finish (self, ok, kernel);
}
