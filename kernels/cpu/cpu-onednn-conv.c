/* conv2d and its gradients by oneDNN.
 *
 * Weights are plain OIHW outside; inside they take the format that oneDNN likes best
 * for the shape, by way of a reorder into scratch, which is cheap beside the
 * convolution. NHWC activations are used as they lie; plain ones are reordered too
 * (its plain backward passes took three times as long when measured). */
#include "kernels/cpu/cpu-onednn.h"

typedef struct
{
  dnnl_memory_desc_t x, w, y, bias;       /* as they lie outside */
  dnnl_memory_desc_t any_x, any_w, any_y; /* as oneDNN may choose */
  dnnl_dims_t stride, dilation, pad_from, pad_to;
  const dnnl_memory_desc_t *bias_or_null;
  LoomDType bias_type;
} Conv;

static bool
describe_activation (const LoomTensorDesc *d, dnnl_memory_desc_t *md, dnnl_memory_desc_t *any)
{
  bool nhwc = d->layout == LOOM_LAYOUT_NHWC;
  dnnl_dims_t dims;

  for (int i = 0; i < 4; i++)
    {
      if (d->dim[i] == 0)
        return false;
      dims[i] = d->dim[i];
    }
  return dnnl_memory_desc_init_by_tag (md, 4, dims, onednn_type (d->dtype), nhwc ? dnnl_nhwc : dnnl_nchw)
             == dnnl_success
         && dnnl_memory_desc_init_by_tag (any, 4, dims, onednn_type (d->dtype), nhwc ? dnnl_nhwc : dnnl_format_tag_any)
                == dnnl_success;
}

/* All f32, or activations and weights bf16, where the gradient of the weights may be f32. */
static bool
is_mixture (const LoomTensorDesc *x, const LoomTensorDesc *w, const LoomTensorDesc *y)
{
  return x->dtype == y->dtype
         && (x->dtype == LOOM_F32 ? w->dtype == LOOM_F32
                                  : x->dtype == LOOM_BF16 && (w->dtype == LOOM_BF16 || w->dtype == LOOM_F32));
}

static bool
describe (Conv *c, const LoomConv2dAttrs *a, const LoomTensorDesc *x, const LoomTensorDesc *w, const LoomTensorDesc *y)
{
  bool grouped = a->groups > 1;
  int rank = grouped ? 5 : 4;
  dnnl_dims_t dims, bias = { y->dim[1] };

  if (!is_mixture (x, w, y) || w->layout != LOOM_LAYOUT_PLAIN || !describe_activation (x, &c->x, &c->any_x)
      || !describe_activation (y, &c->y, &c->any_y))
    return false;
  dims[0] = a->groups;
  dims[grouped] = w->dim[0] / a->groups;
  for (int i = 1; i < 4; i++)
    {
      if (w->dim[i] == 0)
        return false;
      dims[i + grouped] = w->dim[i];
    }
  for (int i = 0; i < 2; i++)
    {
      c->stride[i] = a->stride[i];
      c->dilation[i] = a->dilation[i] - 1;
      c->pad_from[i] = a->pad[2 * i];
      c->pad_to[i] = a->pad[2 * i + 1];
    }
  c->bias_or_null = a->has_bias ? &c->bias : NULL;
  return dnnl_memory_desc_init_by_tag (&c->w, rank, dims, onednn_type (w->dtype), grouped ? dnnl_goihw : dnnl_oihw)
             == dnnl_success
         && dnnl_memory_desc_init_by_tag (&c->any_w, rank, dims, onednn_type (w->dtype), dnnl_format_tag_any)
                == dnnl_success
         && dnnl_memory_desc_init_by_tag (&c->bias, 1, bias, onednn_type (c->bias_type), dnnl_x) == dnnl_success;
}

static dnnl_primitive_desc_t
forward_pd (const Conv *c, const dnnl_memory_desc_t *bias, dnnl_primitive_attr_t attr)
{
  dnnl_convolution_desc_t desc;
  dnnl_primitive_desc_t pd;

  if (dnnl_dilated_convolution_forward_desc_init (&desc, dnnl_forward_training, dnnl_convolution_direct, &c->any_x,
                                                  &c->any_w, bias, &c->any_y, c->stride, c->dilation, c->pad_from,
                                                  c->pad_to)
          != dnnl_success
      || dnnl_primitive_desc_create (&pd, &desc, attr, onednn_engine (), NULL) != dnnl_success)
    return NULL;
  return pd;
}

static const dnnl_memory_desc_t *
md_of (dnnl_primitive_desc_t pd, int arg)
{
  return dnnl_primitive_desc_query_md (pd, dnnl_query_exec_arg_md, arg);
}

/* Multiply-adds twice, by w's and y's descriptions. */
static double
work_of (const LoomTensorDesc *w, const LoomTensorDesc *y)
{
  return 2 * (double)loom_desc_count (y) * (double)loom_dim_product (w, 1, 4);
}

static LoomStatus
create_forward (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t pd;
  dnnl_memory_desc_t x_md, w_md, y_md;
  dnnl_memory_t x, w, y;
  OnednnCall *call;
  Onednn *self;
  Conv c = { .bias_type = a->has_bias ? spec->in[2].dtype : LOOM_F32 };

  if (!describe (&c, a, &spec->in[0], &spec->in[1], &spec->out[0]))
    return LOOM_STATUS_UNSUPPORTED;
  self = onednn_new (device, spec, attrs_size, work_of (&spec->in[1], &spec->out[0]), message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  attr = onednn_attr ();
  if (a->act != LOOM_SCALAR_RELU || !onednn_fuse_relu (attr))
    self->act = a->act;
  if (self->act != LOOM_SCALAR_ID && spec->out[0].dtype != LOOM_F32) /* the own pass is over f32 */
    {
      dnnl_primitive_attr_destroy (attr);
      return onednn_finish (self, false, kernel);
    }
  pd = forward_pd (&c, c.bias_or_null, attr);
  dnnl_primitive_attr_destroy (attr);
  if (pd == NULL)
    return onednn_finish (self, false, kernel);
  onednn_describe (self, pd);
  x_md = *md_of (pd, DNNL_ARG_SRC);
  w_md = *md_of (pd, DNNL_ARG_WEIGHTS);
  y_md = *md_of (pd, DNNL_ARG_DST);
  x = onednn_input (self, 0, &c.x, &x_md);
  w = onednn_input (self, 1, &c.w, &w_md);
  y = onednn_result (self, spec->n_in, &c.y, &y_md);
  call = onednn_call (self, pd);
  return onednn_finish (self,
                        call != NULL && onednn_arg (call, DNNL_ARG_SRC, x) && onednn_arg (call, DNNL_ARG_WEIGHTS, w)
                            && onednn_arg (call, DNNL_ARG_DST, y)
                            && (!a->has_bias || onednn_arg (call, DNNL_ARG_BIAS, onednn_memory (self, &c.bias, 2, 0)))
                            && onednn_output (self, spec->n_in, y, &c.y, &y_md),
                        kernel);
}

LoomStatus
cpu_onednn_conv2d (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                   LoomMessage *message)
{
  unsigned old = onednn_denormals_on ();
  LoomStatus status = create_forward (device, spec, attrs_size, kernel, message);

  onednn_denormals_restore (old);
  return status;
}

LoomStatus
cpu_onednn_conv2d_input_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                              LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  dnnl_convolution_desc_t desc;
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t hint, pd = NULL;
  dnnl_memory_desc_t g_md, w_md, dx_md;
  dnnl_memory_t g, w, dx;
  OnednnCall *call;
  Onednn *self;
  Conv c = { .bias_type = LOOM_F32 };
  bool ok;

  if (!describe (&c, a, &spec->out[0], &spec->in[1], &spec->in[0]))
    return LOOM_STATUS_UNSUPPORTED;
  self = onednn_new (device, spec, attrs_size, work_of (&spec->in[1], &spec->in[0]), message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  attr = onednn_attr ();
  hint = forward_pd (&c, NULL, attr);
  ok = hint != NULL
       && dnnl_dilated_convolution_backward_data_desc_init (&desc, dnnl_convolution_direct, &c.any_x, &c.any_w,
                                                            &c.any_y, c.stride, c.dilation, c.pad_from, c.pad_to)
              == dnnl_success
       && dnnl_primitive_desc_create (&pd, &desc, attr, onednn_engine (), hint) == dnnl_success;
  dnnl_primitive_attr_destroy (attr);
  if (hint != NULL)
    dnnl_primitive_desc_destroy (hint);
  if (!ok)
    return onednn_finish (self, false, kernel);
  onednn_describe (self, pd);
  g_md = *md_of (pd, DNNL_ARG_DIFF_DST);
  w_md = *md_of (pd, DNNL_ARG_WEIGHTS);
  dx_md = *md_of (pd, DNNL_ARG_DIFF_SRC);
  g = onednn_input (self, 0, &c.y, &g_md);
  w = onednn_input (self, 1, &c.w, &w_md);
  dx = onednn_result (self, 2, &c.x, &dx_md);
  call = onednn_call (self, pd);
  return onednn_finish (self,
                        call != NULL && onednn_arg (call, DNNL_ARG_DIFF_DST, g)
                            && onednn_arg (call, DNNL_ARG_WEIGHTS, w) && onednn_arg (call, DNNL_ARG_DIFF_SRC, dx)
                            && onednn_output (self, 2, dx, &c.x, &dx_md),
                        kernel);
}

LoomStatus
cpu_onednn_conv2d_weight_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                               LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  dnnl_convolution_desc_t desc;
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t hint, pd = NULL;
  dnnl_memory_desc_t g_md, x_md, dw_md;
  dnnl_memory_t g, x, dw;
  OnednnCall *call;
  Onednn *self;
  Conv forward, c = { .bias_type = a->has_bias ? spec->out[1].dtype : LOOM_F32 };
  bool ok;

  if (!describe (&c, a, &spec->in[1], &spec->out[0], &spec->in[0]))
    return LOOM_STATUS_UNSUPPORTED;
  self = onednn_new (device, spec, attrs_size, work_of (&spec->out[0], &spec->in[0]), message);
  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  attr = onednn_attr ();
  /* The forward pass that this belongs to has weights of the activations' type, whatever their gradient's is. */
  forward = c;
  forward.any_w.data_type = forward.any_x.data_type;
  hint = forward_pd (&forward, forward.bias_or_null, attr);
  ok = hint != NULL
       && dnnl_dilated_convolution_backward_weights_desc_init (&desc, dnnl_convolution_direct, &c.any_x, &c.any_w,
                                                               c.bias_or_null, &c.any_y, c.stride, c.dilation,
                                                               c.pad_from, c.pad_to)
              == dnnl_success
       && dnnl_primitive_desc_create (&pd, &desc, attr, onednn_engine (), hint) == dnnl_success;
  dnnl_primitive_attr_destroy (attr);
  if (hint != NULL)
    dnnl_primitive_desc_destroy (hint);
  if (!ok)
    return onednn_finish (self, false, kernel);
  onednn_describe (self, pd);
  g_md = *md_of (pd, DNNL_ARG_DIFF_DST);
  x_md = *md_of (pd, DNNL_ARG_SRC);
  dw_md = *md_of (pd, DNNL_ARG_DIFF_WEIGHTS);
  g = onednn_input (self, 0, &c.y, &g_md);
  x = onednn_input (self, 1, &c.x, &x_md);
  dw = onednn_result (self, 2, &c.w, &dw_md);
  call = onednn_call (self, pd);
  return onednn_finish (
      self,
      call != NULL && onednn_arg (call, DNNL_ARG_DIFF_DST, g) && onednn_arg (call, DNNL_ARG_SRC, x)
          && onednn_arg (call, DNNL_ARG_DIFF_WEIGHTS, dw)
          && (!a->has_bias || onednn_arg (call, DNNL_ARG_DIFF_BIAS, onednn_memory (self, &c.bias, 3, 0)))
          && onednn_output (self, 2, dw, &c.w, &dw_md),
      kernel);
}
