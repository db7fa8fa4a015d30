/* oneDNN 3.x: descriptions of memory are opaque objects, and primitives are described in one call. */
#include "kernels/cpu/cpu-onednn.h"

static OnednnDesc
keep (Onednn *self, dnnl_status_t status, dnnl_memory_desc_t md)
{
  if (status != dnnl_success)
    return NULL;
  if (self->n_descs == ONEDNN_DESCS)
    {
      dnnl_memory_desc_destroy (md);
      return NULL;
    }
  return self->desc[self->n_descs++] = md;
}

OnednnDesc
onednn_desc_tag (Onednn *self, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
  dnnl_memory_desc_t md = NULL;
  dnnl_status_t status = dnnl_memory_desc_create_with_tag (&md, rank, dims, type, tag);

  return keep (self, status, md);
}

OnednnDesc
onednn_desc_strides (Onednn *self, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides)
{
  dnnl_memory_desc_t md = NULL;
  dnnl_status_t status = dnnl_memory_desc_create_with_strides (&md, rank, dims, type, strides);

  return keep (self, status, md);
}

OnednnDesc
onednn_desc_wanted (Onednn *self, const_dnnl_primitive_desc_t pd, int arg)
{
  const_dnnl_memory_desc_t wanted = dnnl_primitive_desc_query_md (pd, dnnl_query_exec_arg_md, arg);
  dnnl_memory_desc_t md = NULL;
  dnnl_status_t status = wanted != NULL ? dnnl_memory_desc_clone (&md, wanted) : dnnl_invalid_arguments;

  return keep (self, status, md);
}

void
onednn_descs_free (Onednn *self)
{
  for (int i = 0; i < self->n_descs; i++)
    dnnl_memory_desc_destroy ((dnnl_memory_desc_t)self->desc[i]);
  self->n_descs = 0;
}

dnnl_primitive_desc_t
onednn_conv_forward (const OnednnConv *c, const_dnnl_primitive_attr_t attr)
{
  dnnl_primitive_desc_t pd = NULL;

  return dnnl_convolution_forward_primitive_desc_create (&pd, onednn_engine (), dnnl_forward_training,
                                                         dnnl_convolution_direct, c->any_x, c->any_w, c->bias, c->any_y,
                                                         c->stride, c->dilation, c->pad_from, c->pad_to, attr)
                 == dnnl_success
             ? pd
             : NULL;
}

dnnl_primitive_desc_t
onednn_conv_input_grad (const OnednnConv *c, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
  dnnl_primitive_desc_t pd = NULL;

  return dnnl_convolution_backward_data_primitive_desc_create (&pd, onednn_engine (), dnnl_convolution_direct, c->any_x,
                                                               c->any_w, c->any_y, c->stride, c->dilation, c->pad_from,
                                                               c->pad_to, hint, attr)
                 == dnnl_success
             ? pd
             : NULL;
}

dnnl_primitive_desc_t
onednn_conv_weight_grad (const OnednnConv *c, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
  dnnl_primitive_desc_t pd = NULL;

  return dnnl_convolution_backward_weights_primitive_desc_create (&pd, onednn_engine (), dnnl_convolution_direct,
                                                                  c->any_x, c->any_w, c->bias, c->any_y, c->stride,
                                                                  c->dilation, c->pad_from, c->pad_to, hint, attr)
                 == dnnl_success
             ? pd
             : NULL;
}

dnnl_primitive_desc_t
onednn_matmul (OnednnDesc a, OnednnDesc b, OnednnDesc bias, OnednnDesc y, const_dnnl_primitive_attr_t attr)
{
  dnnl_primitive_desc_t pd = NULL;

  return dnnl_matmul_primitive_desc_create (&pd, onednn_engine (), a, b, bias, y, attr) == dnnl_success ? pd : NULL;
}

bool
onednn_append_sum (dnnl_post_ops_t ops)
{
  return dnnl_post_ops_append_sum (ops, 1.0f, 0, dnnl_data_type_undef) == dnnl_success;
}

bool
onednn_append_eltwise (dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha)
{
  /* A hard swish of 3.x is x·min (max (alpha·x + beta, 0), 1). */
  const bool is_hard = kind == dnnl_eltwise_hardswish;

  return dnnl_post_ops_append_eltwise (ops, kind, is_hard ? 1.0f / 6 : alpha, is_hard ? 0.5f : 0) == dnnl_success;
}
