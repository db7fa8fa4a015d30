/* Helpers for back ends that list the algorithms of a call: which operands are images, how much work a call is, and the
 * list of options itself. Plain C, all static inline. */
#ifndef LOOM_OPTIONS_H
#define LOOM_OPTIONS_H

#include <string.h>

#include "kernels/attention.h"
#include "kernels/backend.h"

#define LOOM_MAX_MASKS 5

static inline const LoomTensorDesc *
loom_spec_operand (const LoomKernelSpec *spec, int i)
{
  return i < spec->n_in ? &spec->in[i] : &spec->out[i - spec->n_in];
}

/* Primitives on images, and their operands of rank 4 that are no images: a convolution's weights, and reduced images.
 * Bits are those of LoomKernelOption.nhwc; w_in counts from the first operand and w_out from the first result. */
static inline bool
loom_image_primitive (const char *primitive, uint64_t *w_in, uint64_t *w_out)
{
  static const struct
  {
    const char *name;
    uint64_t w_in, w_out;
  } known[] = {
    { "conv2d", 1 << 1, 0 },
    { "conv2d_input_grad", 1 << 1, 0 },
    { "conv2d_weight_grad", 0, 1 << 0 },
    { "max_pool2d", 0, 0 },
    { "max_pool2d_grad", 0, 0 },
    { "avg_pool2d", 0, 0 },
    { "avg_pool2d_grad", 0, 0 },
    { "batch_norm", 0, 0 },
    { "batch_norm_grad", 0, 0 },
    { "batch_norm_apply", 0, 0 },
    { "reduce", 0, 1 << 0 },
  };

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp (known[i].name, primitive) == 0)
      {
        *w_in = known[i].w_in;
        *w_out = known[i].w_out;
        return true;
      }
  return false;
}

/* The rank-4 operands that are images if the call works on NHWC images; 0 if it does not work on images. An
 * element-wise call's smaller operands broadcast and stay plain. */
static inline uint64_t
loom_spec_images (const LoomKernelSpec *spec)
{
  bool elementwise = strcmp (spec->primitive, "elementwise") == 0;
  uint64_t w_in = 0, w_out = 0, images = 0;
  int n = spec->n_in + spec->n_out;

  if (n > 64
      || (elementwise ? spec->n_out == 0 || spec->out[0].rank != 4
                      : !loom_image_primitive (spec->primitive, &w_in, &w_out)))
    return 0;
  for (int i = 0; i < n; i++)
    {
      const LoomTensorDesc *d = loom_spec_operand (spec, i);

      if (d->dtype == LOOM_N_DTYPES || d->rank != 4
          || (elementwise && loom_desc_count (d) != loom_desc_count (&spec->out[0]))
          || (i < spec->n_in ? (w_in >> i) & 1 : (w_out >> (i - spec->n_in)) & 1))
        continue;
      images |= (uint64_t)1 << i;
    }
  return images;
}

/* The filter among a convolution's operands, which is no image: it may be packed in NHWC as well, (filters, r, s,
 * channels), if a back end wants it so with NHWC images. */
static inline uint64_t
loom_spec_filter (const LoomKernelSpec *spec)
{
  bool reads = strcmp (spec->primitive, "conv2d") == 0 || strcmp (spec->primitive, "conv2d_input_grad") == 0;

  return reads && spec->n_in > 1 && spec->in[1].rank == 4 ? 1 << 1 : 0;
}

/* TRUE if the call only changes the type. */
static inline bool
loom_spec_is_cast (const LoomKernelSpec *spec)
{
  const LoomElementwiseAttrs *a = spec->attrs;

  if (strcmp (spec->primitive, "elementwise") != 0)
    return strcmp (spec->primitive, "cast") == 0;
  return spec->n_in == 1 && spec->n_out == 1 && a->n_steps == 1 && a->step[0].op == LOOM_SCALAR_ID
         && loom_desc_count (&spec->in[0]) == loom_desc_count (&spec->out[0]);
}

/* The operands in a mask, without the results. */
static inline uint64_t
loom_spec_mask_in (const LoomKernelSpec *spec, uint64_t mask)
{
  return spec->n_in < 64 ? mask & (((uint64_t)1 << spec->n_in) - 1) : mask;
}

/* Writes the combinations of layouts that a kernel may be asked for, the preferred first if costs are equal: all plain,
 * all images NHWC; of a copy of an image all four. `mixed` is for back ends whose loops go by strides: if images become
 * images (pooling, convolutions, casts; not other element-wise calls), operands may have one layout and results the
 * other, which saves a reorder, and a filter that of its images. Returns their number. */
static inline int
loom_spec_masks (const LoomKernelSpec *spec, bool mixed, uint64_t mask[LOOM_MAX_MASKS])
{
  uint64_t images = loom_spec_images (spec), in = loom_spec_mask_in (spec, images);

  mask[0] = 0;
  if ((strcmp (spec->primitive, "copy") == 0 || strcmp (spec->primitive, "reorder") == 0
       || strcmp (spec->primitive, "cast") == 0 || (mixed && loom_spec_is_cast (spec)))
      && spec->in[0].rank == 4 && spec->out[0].rank == 4)
    {
      for (int i = 1; i < 4; i++)
        mask[i] = (uint64_t)i;
      return 4;
    }
  if (images == 0)
    return 1;
  mask[1] = images;
  if (!mixed || in == 0 || in == images || strcmp (spec->primitive, "elementwise") == 0)
    return 2;
  mask[2] = in;
  mask[3] = images & ~in;
  mask[4] = images | loom_spec_filter (spec);
  return mask[4] != images ? 5 : 4;
}

/* spec with the layouts of a mask; changed descriptions are stored in desc. */
static inline LoomKernelSpec
loom_spec_in_layouts (const LoomKernelSpec *spec, uint64_t nhwc, LoomTensorDesc desc[64])
{
  LoomKernelSpec to = *spec;
  int n = spec->n_in + spec->n_out;

  if (nhwc == 0)
    return to;
  for (int i = 0; i < n; i++)
    {
      desc[i] = *loom_spec_operand (spec, i);
      if ((nhwc >> i) & 1)
        desc[i].layout = LOOM_LAYOUT_NHWC;
    }
  to.in = desc;
  to.out = desc + spec->n_in;
  return to;
}

/* The least number of bytes that a call reads and writes. */
static inline double
loom_spec_bytes (const LoomKernelSpec *spec)
{
  const bool in_place = loom_attention_is_in_place (spec);
  const int first = in_place && loom_attention_is_gradient (spec);
  double bytes = 0;

  if (in_place)
    bytes = loom_attention_row_bytes (&((const LoomAttentionAttrs *)spec->attrs)->sizes, first == 1,
                                      loom_dtype_size (spec->in[first].dtype));
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    {
      const bool has_rows = in_place
                            && (i < spec->n_in ? loom_attention_operand (first, i) != LOOM_ATTENTION_N_OPERANDS
                                               : first == 1 || i == spec->n_in);

      if (loom_spec_operand (spec, i)->dtype != LOOM_N_DTYPES && !has_rows)
        bytes += (double)loom_desc_bytes (loom_spec_operand (spec, i));
    }
  return bytes;
}

static inline int64_t
loom_round_up (int64_t n, int64_t to)
{
  return (n + to - 1) / to * to;
}

/* A convolution's multiply-adds times two, with input and output channels of each group rounded up to the kernel's
 * block sizes. x [N,C,H,W], w [K,C/groups,R,S], y [N,K,P,Q]. */
static inline double
loom_conv_flops (const LoomKernelSpec *spec, int64_t in_block, int64_t out_block)
{
  bool input_grad = strcmp (spec->primitive, "conv2d_input_grad") == 0;
  bool weight_grad = strcmp (spec->primitive, "conv2d_weight_grad") == 0;
  const LoomConv2dAttrs *a = spec->attrs;
  const LoomTensorDesc *w = weight_grad ? &spec->out[0] : &spec->in[1];
  const LoomTensorDesc *y = input_grad || weight_grad ? &spec->in[0] : &spec->out[0];
  int64_t k = a->groups > 0 ? w->dim[0] / a->groups : w->dim[0];

  return (a->pooled ? 8.0 : 2.0) * (double)y->dim[0] * (double)(y->dim[2] * y->dim[3]) * (double)(w->dim[2] * w->dim[3]) * (double)a->groups
         * (double)loom_round_up (k, out_block) * (double)loom_round_up (w->dim[1], in_block);
}

/* Floating-point operations of a call, roughly: products and convolutions exactly, windows by their size, all others by
 * the elements that they read and write. */
static inline double
loom_spec_flops (const LoomKernelSpec *spec)
{
  double elements = 0;

  if (strcmp (spec->primitive, "matmul") == 0)
    {
      const LoomTensorDesc *a = &spec->in[0];
      bool trans = ((const LoomMatmulAttrs *)spec->attrs)->trans_a;

      if (a->rank >= 2)
        return 2.0 * (double)loom_desc_count (&spec->out[0]) * (double)a->dim[trans ? a->rank - 2 : a->rank - 1];
    }
  if (strncmp (spec->primitive, "conv2d", 6) == 0)
    return loom_conv_flops (spec, 1, 1);
  for (int i = 0; i < spec->n_in + spec->n_out; i++)
    if (loom_spec_operand (spec, i)->dtype != LOOM_N_DTYPES)
      elements += (double)loom_desc_count (loom_spec_operand (spec, i));
  if (strcmp (spec->primitive, "elementwise") == 0)
    return ((const LoomElementwiseAttrs *)spec->attrs)->n_steps * (double)loom_desc_count (&spec->out[0]);
  if (strncmp (spec->primitive, "max_pool2d", 10) == 0 || strncmp (spec->primitive, "avg_pool2d", 10) == 0)
    {
      const LoomPool2dAttrs *p = spec->attrs;

      return elements + (double)(p->kernel[0] * p->kernel[1]) * (double)loom_desc_count (&spec->out[0]);
    }
  return elements;
}

/* Appends an option if the list is not full; if the call names an algorithm, only that one. `moved`: bytes that it
 * reads and writes in addition to those of the call. */
static inline void
loom_option_add (LoomKernelOption *option, int *n, int max, const LoomCosts *costs, const LoomKernelSpec *spec,
                 const char *algorithm, uint64_t nhwc, double flops, double moved, size_t scratch)
{
  LoomKernelOption *to = &option[*n];

  if (*n == max || (spec->algorithm != NULL && strcmp (spec->algorithm, algorithm) != 0))
    return;
  *to = (LoomKernelOption){ .algorithm = algorithm, .nhwc = nhwc, .scratch = scratch };
  if (costs != NULL)
    to->seconds = costs->seconds (costs, spec, to, flops, loom_spec_bytes (spec) + moved);
  ++*n;
}

#endif
