/* oneDNN 2.x: a description of memory is a struct, a primitive is described first by an operation descriptor. */
#include "kernels/cpu/cpu-onednn.h"

#include <stdlib.h>

/* Returns space for one more description, which is counted when it is stored. */
static dnnl_memory_desc_t *
next_desc (Onednn *self)
{
  return self->n_descs < ONEDNN_DESCS ? malloc (sizeof (dnnl_memory_desc_t)) : NULL;
}

static OnednnDesc
keep (Onednn *self, dnnl_memory_desc_t *md, bool ok)
{
  if (!ok)
    {
      free (md);
      return NULL;
    }
  return self->desc[self->n_descs++] = md;
}

OnednnDesc
onednn_desc_tag (Onednn *self, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
  dnnl_memory_desc_t *md = next_desc (self);

  return keep (self, md, md != NULL && dnnl_memory_desc_init_by_tag (md, rank, dims, type, tag) == dnnl_success);
}

OnednnDesc
onednn_desc_strides (Onednn *self, int rank, const dnnl_dims_t dims, dnnl_data_type_t type, const dnnl_dims_t strides)
{
  dnnl_memory_desc_t *md = next_desc (self);

  return keep (self, md,
               md != NULL && dnnl_memory_desc_init_by_strides (md, rank, dims, type, strides) == dnnl_success);
}

OnednnDesc
onednn_desc_wanted (Onednn *self, const_dnnl_primitive_desc_t pd, int arg)
{
  const dnnl_memory_desc_t *wanted = dnnl_primitive_desc_query_md (pd, dnnl_query_exec_arg_md, arg);
  dnnl_memory_desc_t *md = wanted != NULL ? next_desc (self) : NULL;

  if (md != NULL)
    *md = *wanted;
  return keep (self, md, md != NULL);
}

void
onednn_descs_free (Onednn *self)
{
  for (int i = 0; i < self->n_descs; i++)
    free ((void *)self->desc[i]);
  self->n_descs = 0;
}

static dnnl_primitive_desc_t
create (const_dnnl_op_desc_t desc, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
  dnnl_primitive_desc_t pd;

  return dnnl_primitive_desc_create (&pd, desc, attr, onednn_engine (), hint) == dnnl_success ? pd : NULL;
}

dnnl_primitive_desc_t
onednn_conv_forward (const OnednnConv *c, const_dnnl_primitive_attr_t attr)
{
  dnnl_convolution_desc_t desc;

  if (dnnl_dilated_convolution_forward_desc_init (&desc, dnnl_forward_training, dnnl_convolution_direct, c->any_x,
                                                  c->any_w, c->bias, c->any_y, c->stride, c->dilation, c->pad_from,
                                                  c->pad_to)
      != dnnl_success)
    return NULL;
  return create (&desc, NULL, attr);
}

dnnl_primitive_desc_t
onednn_conv_input_grad (const OnednnConv *c, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
  dnnl_convolution_desc_t desc;

  if (dnnl_dilated_convolution_backward_data_desc_init (&desc, dnnl_convolution_direct, c->any_x, c->any_w, c->any_y,
                                                        c->stride, c->dilation, c->pad_from, c->pad_to)
      != dnnl_success)
    return NULL;
  return create (&desc, hint, attr);
}

dnnl_primitive_desc_t
onednn_conv_weight_grad (const OnednnConv *c, const_dnnl_primitive_desc_t hint, const_dnnl_primitive_attr_t attr)
{
  dnnl_convolution_desc_t desc;

  if (dnnl_dilated_convolution_backward_weights_desc_init (&desc, dnnl_convolution_direct, c->any_x, c->any_w, c->bias,
                                                           c->any_y, c->stride, c->dilation, c->pad_from, c->pad_to)
      != dnnl_success)
    return NULL;
  return create (&desc, hint, attr);
}

dnnl_primitive_desc_t
onednn_matmul (OnednnDesc a, OnednnDesc b, OnednnDesc bias, OnednnDesc y, const_dnnl_primitive_attr_t attr)
{
  dnnl_matmul_desc_t desc;

  if (dnnl_matmul_desc_init (&desc, a, b, bias, y) != dnnl_success)
    return NULL;
  return create (&desc, NULL, attr);
}

bool
onednn_append_sum (dnnl_post_ops_t ops)
{
  return dnnl_post_ops_append_sum (ops, 1.0f) == dnnl_success;
}

bool
onednn_append_eltwise (dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha)
{
  return dnnl_post_ops_append_eltwise (ops, 1.0f, kind, alpha, 0) == dnnl_success;
}
