/* Attributes of ONNX nodes, and the numbers that older and newer operator sets pass as attributes or as inputs. */
#include "engine/onnx/onnx-private.h"

#include <math.h>
#include <string.h>

const Onnx__AttributeProto *
onnx_attribute (const Onnx__NodeProto *node, const char *name)
{
  for (gsize i = 0; i < node->n_attribute; i++)
    if (node->attribute[i]->name != NULL && g_str_equal (node->attribute[i]->name, name))
      return node->attribute[i];
  return NULL;
}

gboolean
onnx_has_attr (OnnxCtx *c, const char *name)
{
  return onnx_attribute (c->node, name) != NULL;
}

gint64
onnx_attr_int (OnnxCtx *c, const char *name, gint64 def)
{
  const Onnx__AttributeProto *a = onnx_attribute (c->node, name);

  return a != NULL && a->has_i ? a->i : a != NULL && a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT ? 0 : def;
}

/* Attributes are floats; 0.9 was meant by what is 0.899999976 in double. */
static double
as_written (float x)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  for (int digits = 6; digits < 9 && isfinite (x); digits++)
    {
      g_autofree char *format = g_strdup_printf ("%%.%dg", digits);
      g_ascii_formatd (buffer, sizeof buffer, format, (double)x);
      if ((float)g_ascii_strtod (buffer, NULL) == x)
        return g_ascii_strtod (buffer, NULL);
    }
  return (double)x;
}

double
onnx_attr_float (OnnxCtx *c, const char *name, double def)
{
  const Onnx__AttributeProto *a = onnx_attribute (c->node, name);

  return a != NULL && a->has_f                                                  ? as_written (a->f)
         : a != NULL && a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT ? 0
                                                                                : def;
}

const char *
onnx_attr_string (OnnxCtx *c, const char *name, const char *def)
{
  const Onnx__AttributeProto *a = onnx_attribute (c->node, name);

  if (a == NULL || !a->has_s)
    return def;
  return g_string_chunk_insert_len (c->all->pool, (const char *)a->s.data, a->s.len);
}

guint
onnx_attr_ints (OnnxCtx *c, const char *name, gint64 *values, guint max)
{
  const Onnx__AttributeProto *a = onnx_attribute (c->node, name);

  if (a == NULL)
    return 0;
  if (a->n_ints > max)
    {
      onnx_fail (c, "its “%s” has more than %u numbers.", name, max);
      return 0;
    }
  for (gsize i = 0; i < a->n_ints; i++)
    values[i] = a->ints[i];
  return (guint)a->n_ints;
}

guint
onnx_sizes (OnnxCtx *c, const char *name, int input, gint64 *values, guint max, gboolean *present)
{
  *present = onnx_has_attr (c, name);
  if (*present)
    return onnx_attr_ints (c, name, values, max);
  if (input < 0 || !onnx_has (c, (guint)input))
    return 0;
  *present = TRUE;
  const LoomTensor *t = onnx_const (c, (guint)input, name);
  if (t == NULL)
    return 0;
  if (t->count > max)
    {
      onnx_fail (c, "its “%s” has more than %u numbers.", name, max);
      return 0;
    }
  for (gint64 i = 0; i < t->count; i++)
    values[i] = onnx_tensor_int (t, i);
  return (guint)t->count;
}

guint
onnx_ints (OnnxCtx *c, const char *name, int input, gint64 *values, guint max, gboolean *present)
{
  guint n = onnx_sizes (c, name, input, values, max, present);
  LoomDim dim;

  for (guint i = 0; i < n; i++)
    if (onnx_dynamic_dim (c->all, values[i], &dim))
      onnx_fail (c, "its “%s” depends on a dynamic size. Export the model with fixed sizes.", name);
  return c->failed ? 0 : n;
}

LoomDim
onnx_size (OnnxCtx *c, gint64 number)
{
  LoomDim dim;

  if (onnx_dynamic_dim (c->all, number, &dim))
    return dim;
  if (number >= 0)
    return loom_dim (number);
  onnx_fail (c, "a size of it is %" G_GINT64_FORMAT ", which is none.", number);
  return loom_dim_unknown ();
}

int
onnx_axis (OnnxCtx *c, gint64 axis, int rank)
{
  if (axis < -rank || axis >= rank)
    {
      onnx_fail (c, "there is no axis %" G_GINT64_FORMAT " in %d dimensions.", axis, rank);
      return 0;
    }
  return (int)(axis < 0 ? axis + rank : axis);
}

gint64
onnx_opset (OnnxCtx *c)
{
  return c->all->opset;
}

gint64
onnx_dim (OnnxCtx *c, const OnnxWire *x, int i)
{
  LoomDim d = x->type.shape.dim[CLAMP (i, 0, LOOM_SHAPE_MAX_RANK - 1)];

  if (i < 0 || i >= x->type.shape.rank || !loom_dim_is_known (d))
    {
      onnx_fail (c, "it needs to know dimension %d of its input, which has no fixed size.", i);
      return 1;
    }
  return d.coef;
}
