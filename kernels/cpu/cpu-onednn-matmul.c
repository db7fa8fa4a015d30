/* matmul by oneDNN's matmul primitive, which does both transposes by strides,
 * batches with broadcasting, and the bias.
 *
 * The activation is an own pass over the result, which is still in the cache: so it
 * is the same function as everywhere, NaN included (oneDNN's relu turns NaN into 0). */
#include "kernels/cpu/cpu-onednn.h"

/* The operand of logical [batch…, rows, columns], its rank raised to y's. */
static bool
describe (dnnl_memory_desc_t *md, const LoomTensorDesc *x, int rank, bool transposed)
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
  return dnnl_memory_desc_init_by_strides (md, rank, dims, onednn_type (x->dtype), strides) == dnnl_success;
}

LoomStatus
cpu_onednn_matmul (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                   LoomMessage *message)
{
  const LoomMatmulAttrs *a = spec->attrs;
  const LoomTensorDesc *y = &spec->out[0], *x = &spec->in[0];
  int64_t depth = x->dim[a->trans_a ? x->rank - 2 : x->rank - 1];
  dnnl_memory_desc_t amd, bmd, cmd, ymd;
  dnnl_dims_t bias_dims;
  dnnl_matmul_desc_t desc;
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t pd = NULL;
  OnednnCall *call;
  Onednn *self;
  unsigned denormals;
  bool ok;

  for (int i = 0; i < y->rank; i++)
    bias_dims[i] = i == y->rank - 1 ? y->dim[i] : 1;
  if (!describe (&amd, &spec->in[0], y->rank, a->trans_a) || !describe (&bmd, &spec->in[1], y->rank, a->trans_b)
      || !describe (&ymd, y, y->rank, false)
      || dnnl_memory_desc_init_by_strides (&cmd, y->rank, bias_dims,
                                           onednn_type (a->has_bias ? spec->in[2].dtype : LOOM_F32), NULL)
             != dnnl_success
      || dnnl_matmul_desc_init (&desc, &amd, &bmd, a->has_bias ? &cmd : NULL, &ymd) != dnnl_success)
    return LOOM_STATUS_UNSUPPORTED;
  self = onednn_new (device, spec, attrs_size, 2 * (double)(loom_desc_count (y) * depth), message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  denormals = onednn_denormals_on ();
  attr = onednn_attr ();
  if (y->dtype != LOOM_F32 && a->act == LOOM_SCALAR_RELU && onednn_fuse_relu (attr))
    self->act = LOOM_SCALAR_ID;
  else
    self->act = a->act;
  ok = dnnl_primitive_desc_create (&pd, &desc, attr, onednn_engine (), NULL) == dnnl_success;
  dnnl_primitive_attr_destroy (attr);
  if (ok)
    {
      onednn_describe (self, pd);
      call = onednn_call (self, pd);
      ok = call != NULL && onednn_arg (call, DNNL_ARG_SRC, onednn_memory (self, &amd, 0, 0))
           && onednn_arg (call, DNNL_ARG_WEIGHTS, onednn_memory (self, &bmd, 1, 0))
           && onednn_arg (call, DNNL_ARG_DST, onednn_memory (self, &ymd, spec->n_in, 0))
           && (!a->has_bias || onednn_arg (call, DNNL_ARG_BIAS, onednn_memory (self, &cmd, 2, 0)));
    }
  onednn_denormals_restore (denormals);
  /* The own pass is over f32. */
  return onednn_finish (self, ok && (y->dtype == LOOM_F32 || self->act == LOOM_SCALAR_ID), kernel);
}
