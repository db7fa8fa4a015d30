/* conv2d and its gradients by oneDNN.
 *
 * Weights are plain OIHW outside; inside they have the format that oneDNN prefers for the shape, after a reorder into
 * scratch, which is cheap compared with the convolution. NHWC activations are used in place; plain ones are reordered
 * too, because oneDNN's plain backward passes are slower than reorders. */
#include "kernels/options.h"
#include "kernels/cpu/cpu-onednn.h"

/* The three tensors of a convolution by role, whichever of them this kernel makes. */
typedef struct
{
  const LoomTensorDesc *x, *w, *y; /* [N,C,H,W], [K,C/groups,R,S], [N,K,P,Q] */
  const LoomTensorDesc *bias;      /* [K], or its gradient; NULL: none */
} Shapes;

/* An argument of the primitive: its number, and its description outside. */
typedef struct
{
  int arg;
  OnednnDesc given;
} Role;

/* x [N,C,H,W] or y [N,K,P,Q] as stored, and with the layout for oneDNN: NHWC is fixed, plain may be changed. */
static bool
describe_activation (Onednn *self, const LoomTensorDesc *d, OnednnDesc *md, OnednnDesc *any)
{
  bool nhwc = d->layout == LOOM_LAYOUT_NHWC;
  dnnl_dims_t dims;

  for (int i = 0; i < 4; i++)
    {
      if (d->dim[i] == 0)
        return false;
      dims[i] = d->dim[i];
    }
  *md = onednn_desc_tag (self, 4, dims, onednn_type (d->dtype), nhwc ? dnnl_nhwc : dnnl_nchw);
  *any = nhwc ? *md : onednn_desc_tag (self, 4, dims, onednn_type (d->dtype), dnnl_format_tag_any);
  return *md != NULL && *any != NULL;
}

/* All f32, or activations and weights bf16; then the gradient of the weights may be f32. */
static bool
is_mixture (const Shapes *s)
{
  return s->x->dtype == s->y->dtype
         && (s->x->dtype == LOOM_F32
                 ? s->w->dtype == LOOM_F32
                 : s->x->dtype == LOOM_BF16 && (s->w->dtype == LOOM_BF16 || s->w->dtype == LOOM_F32));
}

/* The three tensors of any of the three calls. */
static Shapes
shapes_of (const LoomKernelSpec *spec)
{
  const LoomConv2dAttrs *a = spec->attrs;

  if (strcmp (spec->primitive, "conv2d_input_grad") == 0)
    return (Shapes){ &spec->out[0], &spec->in[1], &spec->in[0], NULL };
  if (strcmp (spec->primitive, "conv2d_weight_grad") == 0)
    return (Shapes){ &spec->in[1], &spec->out[0], &spec->in[0], a->has_bias ? &spec->out[1] : NULL };
  return (Shapes){ &spec->in[0], &spec->in[1], &spec->out[0], a->has_bias ? &spec->in[2] : NULL };
}

/* True without a residual, or with one of f32 images in NHWC, a layout that oneDNN does not change. */
static bool
takes_residual (const LoomTensorDesc *y, int n_in)
{
  return n_in <= LOOM_CONV_RESIDUAL || (y->dtype == LOOM_F32 && y->layout == LOOM_LAYOUT_NHWC);
}

/* True for types that oneDNN combines, no empty tensor, and plain weights; a bf16 result allows only the relu that
 * oneDNN fuses. */
bool
cpu_onednn_takes_conv (const LoomKernelSpec *spec)
{
  Shapes s = shapes_of (spec);
  const LoomConv2dAttrs *a = spec->attrs;

  return is_mixture (&s) && !a->pooled && s.w->layout == LOOM_LAYOUT_PLAIN && loom_desc_count (s.x) > 0
         && loom_desc_count (s.w) > 0 && loom_desc_count (s.y) > 0
         && (s.y->dtype == LOOM_F32 || a->act == LOOM_SCALAR_ID || a->act == LOOM_SCALAR_RELU)
         && takes_residual (s.y, spec->n_in);
}

/* Its kernels process blocks of 16 channels. */
double
cpu_onednn_conv_flops (const LoomKernelSpec *spec)
{
  return loom_conv_flops (spec, 16, 16);
}

/* forward_w: weights of the activations' type, in any order. The hint for a gradient, a forward pass, has such weights
 * whatever the type of their gradient. */
static bool
describe (Onednn *self, OnednnConv *c, OnednnDesc *forward_w, const LoomConv2dAttrs *a, const Shapes *s)
{
  bool grouped = a->groups > 1;
  int rank = grouped ? 5 : 4;
  dnnl_dims_t dims, bias = { s->y->dim[1] };

  if (!is_mixture (s) || a->pooled || s->w->layout != LOOM_LAYOUT_PLAIN
      || !describe_activation (self, s->x, &c->x, &c->any_x) || !describe_activation (self, s->y, &c->y, &c->any_y))
    return false;
  dims[0] = a->groups;
  dims[grouped] = s->w->dim[0] / a->groups;
  for (int i = 1; i < 4; i++)
    {
      if (s->w->dim[i] == 0)
        return false;
      dims[i + grouped] = s->w->dim[i];
    }
  for (int i = 0; i < 2; i++)
    {
      c->stride[i] = a->stride[i];
      c->dilation[i] = a->dilation[i] - 1;
      c->pad_from[i] = a->pad[2 * i];
      c->pad_to[i] = a->pad[2 * i + 1];
    }
  c->w = onednn_desc_tag (self, rank, dims, onednn_type (s->w->dtype), grouped ? dnnl_goihw : dnnl_oihw);
  c->any_w = onednn_desc_tag (self, rank, dims, onednn_type (s->w->dtype), dnnl_format_tag_any);
  *forward_w = onednn_desc_tag (self, rank, dims, onednn_type (s->x->dtype), dnnl_format_tag_any);
  if (s->bias != NULL)
    c->bias = onednn_desc_tag (self, 1, bias, onednn_type (s->bias->dtype), dnnl_x);
  return c->w != NULL && c->any_w != NULL && *forward_w != NULL && (s->bias == NULL || c->bias != NULL);
}

/* A forward pass has the same sums for any number of threads, so that threads may share less work; depthwise ones reach
 * an eighth of the rate. Of an image of few pixels, as in squeeze-and-excitation, the weights take the time: 4 bytes of
 * them as long as 64 operations. */
#define FORWARD_WORK  4
#define FORWARD_BLOCK 8
#define WEIGHT_WORK   64

static Onednn *
kernel_new (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, const Shapes *s, LoomMessage *message)
{
  const bool is_forward = strcmp (spec->primitive, "conv2d") == 0;
  const double reading = WEIGHT_WORK * (double)loom_desc_count (s->w);
  double flops = is_forward ? FORWARD_WORK * loom_conv_flops (spec, FORWARD_BLOCK, 1)
                            : 2 * (double)loom_desc_count (s->y) * (double)loom_dim_product (s->w, 1, 4);

  if (is_forward && flops < reading)
    flops = reading;

  return onednn_new (device, spec, attrs_size, flops, message);
}

/* Makes the primitive between the reorders that it needs; x, w and y in the roles of this call. role: inputs 0 and 1,
 * then output 0. */
static bool
surround (Onednn *self, dnnl_primitive_desc_t pd, const Role role[3], int bias_arg, int bias_buffer, OnednnDesc bias)
{
  int out = self->k.n_in;
  OnednnDesc wanted[3];
  dnnl_memory_t in0, in1, result;
  OnednnCall *call;

  if (pd == NULL)
    return false;
  onednn_describe (self, pd);
  for (int i = 0; i < 3; i++)
    if ((wanted[i] = onednn_desc_wanted (self, pd, role[i].arg)) == NULL)
      {
        dnnl_primitive_desc_destroy (pd);
        return false;
      }
  in0 = onednn_input (self, 0, role[0].given, wanted[0]);
  in1 = onednn_input (self, 1, role[1].given, wanted[1]);
  result = onednn_result (self, out, role[2].given, wanted[2]);
  call = onednn_call (self, pd);
  return call != NULL && onednn_arg (call, role[0].arg, in0) && onednn_arg (call, role[1].arg, in1)
         && onednn_arg (call, role[2].arg, result)
         && (bias == NULL || onednn_arg (call, bias_arg, onednn_memory (self, bias, bias_buffer, 0)))
         && onednn_output (self, out, result, role[2].given, wanted[2]);
}

static bool
build_forward (Onednn *self, const LoomConv2dAttrs *a, const Shapes *s)
{
  const bool has_residual = self->k.n_in > LOOM_CONV_RESIDUAL;
  OnednnConv c = { 0 };
  OnednnDesc forward_w;
  dnnl_primitive_attr_t attr;
  dnnl_primitive_desc_t pd = NULL;

  if (!takes_residual (s->y, self->k.n_in) || !describe (self, &c, &forward_w, a, s))
    return false;
  attr = onednn_attr ();
  self->act = a->act;
  if (has_residual)
    {
      self->summand = LOOM_CONV_RESIDUAL;
      self->k.base.inplace[0] = 1u << LOOM_CONV_RESIDUAL;
    }
  if (onednn_fuse (attr, has_residual, &self->act)
      && (self->act == LOOM_SCALAR_ID || s->y->dtype == LOOM_F32)) /* the separate pass is for f32 */
    pd = onednn_conv_forward (&c, attr);
  dnnl_primitive_attr_destroy (attr);
  return surround (self, pd, (Role[]){ { DNNL_ARG_SRC, c.x }, { DNNL_ARG_WEIGHTS, c.w }, { DNNL_ARG_DST, c.y } },
                   DNNL_ARG_BIAS, 2, c.bias);
}

LoomStatus
cpu_onednn_conv2d (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                   LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  Shapes s = shapes_of (spec);
  Onednn *self = kernel_new (device, spec, attrs_size, &s, message);
  unsigned old;
  bool ok;

  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  old = onednn_denormals_on ();
  ok = build_forward (self, a, &s);
  onednn_denormals_restore (old);
  return onednn_finish (self, ok, kernel);
}

typedef dnnl_primitive_desc_t (*DescribeGrad) (const OnednnConv *c, const_dnnl_primitive_desc_t hint,
                                               const_dnnl_primitive_attr_t attr);

/* Finds the description of a gradient among those that match the forward pass. */
static dnnl_primitive_desc_t
describe_grad (DescribeGrad grad, const OnednnConv *c, OnednnDesc forward_w)
{
  OnednnConv forward = *c;
  dnnl_primitive_attr_t attr = onednn_attr ();
  dnnl_primitive_desc_t hint, pd = NULL;

  forward.any_w = forward_w;
  hint = onednn_conv_forward (&forward, attr);
  if (hint != NULL)
    {
      pd = grad (c, hint, attr);
      dnnl_primitive_desc_destroy (hint);
    }
  dnnl_primitive_attr_destroy (attr);
  return pd;
}

LoomStatus
cpu_onednn_conv2d_input_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                              LoomMessage *message)
{
  Shapes s = shapes_of (spec);
  Onednn *self = kernel_new (device, spec, attrs_size, &s, message);
  OnednnConv c = { 0 };
  OnednnDesc forward_w;
  bool ok;

  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  ok = describe (self, &c, &forward_w, spec->attrs, &s)
       && surround (self, describe_grad (onednn_conv_input_grad, &c, forward_w),
                    (Role[]){ { DNNL_ARG_DIFF_DST, c.y }, { DNNL_ARG_WEIGHTS, c.w }, { DNNL_ARG_DIFF_SRC, c.x } }, 0, 0,
                    NULL);
  return onednn_finish (self, ok, kernel);
}

/* oneDNN (jit_bf16 of 2.6) reads x [N,C,H,W] in strides of the columns: of a single result column it reads as many
 * columns as the stride has, also those after the image, and multiplies them by 0, which makes NaN of a NaN there. */
static bool
reads_after_image (const LoomConv2dAttrs *a, const Shapes *s)
{
  return s->x->dtype == LOOM_BF16 && s->y->dim[3] == 1 && a->stride[1] - a->pad[2] > s->x->dim[3];
}

LoomStatus
cpu_onednn_conv2d_weight_grad (LoomDevice *device, const LoomKernelSpec *spec, size_t attrs_size, CpuKernel **kernel,
                               LoomMessage *message)
{
  const LoomConv2dAttrs *a = spec->attrs;
  Shapes s = shapes_of (spec);
  Onednn *self = kernel_new (device, spec, attrs_size, &s, message);
  OnednnConv c = { 0 };
  OnednnDesc forward_w;
  bool ok;

  if (self == NULL)
    return LOOM_STATUS_OUT_OF_MEMORY;
  ok = !reads_after_image (a, &s) && describe (self, &c, &forward_w, a, &s)
       && surround (self, describe_grad (onednn_conv_weight_grad, &c, forward_w),
                    (Role[]){ { DNNL_ARG_DIFF_DST, c.y }, { DNNL_ARG_SRC, c.x }, { DNNL_ARG_DIFF_WEIGHTS, c.w } },
                    DNNL_ARG_DIFF_BIAS, 3, c.bias);
  return onednn_finish (self, ok, kernel);
}
