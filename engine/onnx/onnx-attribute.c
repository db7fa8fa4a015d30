/* Reads the attributes of ONNX nodes, and numbers that are attributes in older operator sets and inputs in newer
 * ones. */
#include "engine/onnx/onnx-private.h"

#include <math.h>
#include <string.h>

/* One bit of OnnxCtx.read for each. */
#define MAX_ATTRIBUTES 64

const Onnx__AttributeProto *
onnx_attribute (const Onnx__NodeProto *node, const char *name)
{
  for (gsize i = 0; i < node->n_attribute; i++)
    if (node->attribute[i]->name != NULL && g_str_equal (node->attribute[i]->name, name))
      return node->attribute[i];
  return NULL;
}

const Onnx__AttributeProto *
onnx_attr (OnnxCtx *c, const char *name)
{
  const Onnx__AttributeProto *a = onnx_attribute (c->node, name);

  for (gsize i = 0; a != NULL && i < MIN (c->node->n_attribute, MAX_ATTRIBUTES); i++)
    if (c->node->attribute[i] == a)
      c->read |= G_GUINT64_CONSTANT (1) << i;
  return a;
}

gboolean
onnx_has_attr (OnnxCtx *c, const char *name)
{
  return onnx_attr (c, name) != NULL;
}

gint64
onnx_attr_int (OnnxCtx *c, const char *name, gint64 def)
{
  const Onnx__AttributeProto *a = onnx_attr (c, name);

  return a != NULL && a->has_i ? a->i : a != NULL && a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT ? 0 : def;
}

/* Attributes are f32. A double of 0.899999976 was written as 0.9. */
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
  const Onnx__AttributeProto *a = onnx_attr (c, name);

  return a != NULL && a->has_f                                                  ? as_written (a->f)
         : a != NULL && a->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT ? 0
                                                                                : def;
}

const char *
onnx_attr_string (OnnxCtx *c, const char *name, const char *def)
{
  const Onnx__AttributeProto *a = onnx_attr (c, name);

  if (a == NULL || !a->has_s)
    return def;
  return g_string_chunk_insert_len (c->all->pool, (const char *)a->s.data, a->s.len);
}

const char *
onnx_attr_word_of (OnnxCtx *c, const char *name, const char *const *words)
{
  const char *word = onnx_attr_string (c, name, onnx_has_attr (c, name) ? "" : words[0]);
  g_autoptr (GString) list = g_string_new (NULL);

  for (guint i = 0; words[i] != NULL; i++)
    {
      if (g_str_equal (word, words[i]))
        return words[i];
      g_string_append_printf (list, "%s“%s”", i == 0 ? "" : words[i + 1] != NULL ? ", " : " or ", words[i]);
    }
  onnx_fail (c, "its “%s” is “%s”, which is not supported; it can be %s.", name, word, list->str);
  return words[0];
}

/* Attributes that mappings may ignore: they repeat an input or an output, name a precision, or seed a generator. "*" is
 * every operator. */
static const struct
{
  const char *op, *names;
} without_effect[] = {
  /* the first: memory to reuse, until operator set 5 */
  { "*", "consumed_inputs noop_with_empty_axes seed stash_type" },
  { "Attention", "kv_num_heads q_num_heads softmax_precision" },
  { "BatchNormalization", "is_test" }, /* until operator set 6; later the outputs determine it */
  { "Cast", "round_mode saturate" }, /* of types other than float8 */
  { "CastLike", "round_mode saturate" },
  { "DequantizeLinear", "axis block_size" }, /* of a scale for the whole tensor */
  { "Dropout", "is_test" },
  { "GRU", "output_sequence" }, /* until operator set 3; later the outputs determine it */
  { "Gemm", "beta broadcast" },
  { "Gradient", "xs zs" },
  { "If", "else_branch then_branch" }, /* of an If that is decided during the import */
  { "LSTM", "output_sequence" },
  { "MaxPool", "storage_order" },
  { "QuantizeLinear", "axis block_size precision saturate" },
  { "RNN", "output_sequence" },
  { "Split", "num_outputs" },
  { "TopK", "sorted" }, /* results are always sorted here */
};

void
onnx_check_attributes (OnnxCtx *c)
{
  if (c->node->n_attribute > MAX_ATTRIBUTES)
    onnx_fail (c, "it has %u attributes; the limit is %d. Remove those that it does not need.",
               (guint)c->node->n_attribute, MAX_ATTRIBUTES);
  for (gsize i = 0; i < c->node->n_attribute && !c->failed; i++)
    {
      const char *name = c->node->attribute[i]->name;
      gboolean known = name == NULL || (c->read >> i & 1) != 0;

      for (guint k = 0; !known && k < G_N_ELEMENTS (without_effect); k++)
        if (*without_effect[k].op == '*' || g_str_equal (without_effect[k].op, c->node->op_type))
          {
            g_auto (GStrv) names = g_strsplit (without_effect[k].names, " ", -1);
            known = g_strv_contains ((const char *const *)names, name);
          }
      if (!known)
        onnx_fail (c, "its attribute “%s” is not supported. Remove it, or export the model without it.", name);
    }
}

guint
onnx_attr_ints (OnnxCtx *c, const char *name, gint64 *values, guint max)
{
  const Onnx__AttributeProto *a = onnx_attr (c, name);

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
onnx_attr_floats (OnnxCtx *c, const char *name, double *values, guint max)
{
  const Onnx__AttributeProto *a = onnx_attr (c, name);
  gsize n = a != NULL ? a->n_floats : 0;

  if (n > max)
    {
      onnx_fail (c, "its “%s” has more than %u numbers.", name, max);
      return 0;
    }
  for (gsize i = 0; i < n; i++)
    values[i] = as_written (a->floats[i]);
  return (guint)n;
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
  onnx_fail (c, "one of its sizes is %" G_GINT64_FORMAT ", which is not a valid size.", number);
  return loom_dim_unknown ();
}

int
onnx_axis (OnnxCtx *c, gint64 axis, int rank)
{
  if (axis < -rank || axis >= rank)
    {
      onnx_fail (c, "it has no axis %" G_GINT64_FORMAT " in its %d dimensions.", axis, rank);
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
      onnx_fail (
          c, "it needs to know dimension %d of its input, which has no fixed size. Export the model with fixed sizes.",
          i);
      return 1;
    }
  return d.coef;
}
