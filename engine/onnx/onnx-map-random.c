/* Imports random generators. Their seed is ignored, because random numbers of a graph depend on the graph's own
 * seed. */
#include "engine/onnx/onnx-private.h"

/* factor · draws + shift, in the type that the node requests, else that of its input. */
static void
put (OnnxCtx *c, const OnnxWire *draws, double factor, double shift, LoomDType dtype)
{
  if (onnx_has_attr (c, "dtype") && !onnx_wire_dtype ((int)onnx_attr_int (c, "dtype", 1), &dtype))
    onnx_fail (c, "its output type is %s, which graphs do not have.",
               onnx_type_name ((int)onnx_attr_int (c, "dtype", 1)));
  if (factor != 1)
    draws = onnx_with_number (c, "mul", draws, factor);
  if (shift != 0)
    draws = onnx_with_number (c, "add", draws, shift);
  onnx_out (c, 0, onnx_cast (c, draws, dtype));
}

/* Draws of the shape of input 0, or of the attribute shape. */
static const OnnxWire *
draw (OnnxCtx *c, const char *op)
{
  gint64 size[LOOM_SHAPE_MAX_RANK];
  guint rank;

  if (onnx_n_inputs (c) > 0)
    return onnx_emit (c, op, ONNX_IN (onnx_in (c, 0)), NULL);
  rank = onnx_attr_ints (c, "shape", size, LOOM_SHAPE_MAX_RANK);
  return onnx_emit (c, op, 0, NULL, "shape", onnx_list (c, rank, size), NULL);
}

static LoomDType
own_type (OnnxCtx *c)
{
  LoomDType like = onnx_n_inputs (c) > 0 ? onnx_in (c, 0)->type.dtype : LOOM_F32;

  return loom_dtype_is_float (like) ? like : LOOM_F32;
}

static void
map_normal (OnnxCtx *c)
{
  put (c, draw (c, "randn"), onnx_attr_float (c, "scale", 1), onnx_attr_float (c, "mean", 0), own_type (c));
}

static void
map_uniform (OnnxCtx *c)
{
  double low = onnx_attr_float (c, "low", 0), high = onnx_attr_float (c, "high", 1);

  put (c, draw (c, "rand"), high - low, low, own_type (c));
}

static void
map_bernoulli (OnnxCtx *c)
{
  put (c, onnx_emit (c, "bernoulli", ONNX_IN (onnx_in (c, 0)), NULL), 1, 0, own_type (c));
}

/* Weights are logarithms of probabilities that need not sum to 1. */
static void
map_multinomial (OnnxCtx *c)
{
  const OnnxWire *x = onnx_in (c, 0), *most, *y;

  most = onnx_emit (c, "amax", ONNX_IN (x), "dim", "-1", "keepdim", "true", NULL);
  y = onnx_emit (c, "multinomial", ONNX_IN (onnx_unary (c, "exp", onnx_binary (c, "sub", x, most))), "num_samples",
                 onnx_text (c, "%" G_GINT64_FORMAT, onnx_attr_int (c, "sample_size", 1)), "replacement", "true", NULL);
  put (c, y, 1, 0, LOOM_I32);
}

void
onnx_note_random (const OnnxImport *all)
{
  static const char *const ops[] = { "rand", "randn", "bernoulli", "multinomial", NULL };
  guint n = 0;

  for (guint i = 0; i < all->nodes->len; i++)
    {
      const OnnxNode *node = all->nodes->pdata[i];

      n += node->live && g_strv_contains (ops, node->op->name);
      if (node->live && node->n_out > 0 && g_hash_table_contains (all->dropped, &node->out[0]))
        loom_faults_add (all->faults, LOOM_ERROR_UNKNOWN_OP, 0, node->id, NULL,
                         "its random numbers drop elements in training, and something else reads them, too, which is "
                         "not supported. Export the model in evaluation mode: model.eval().");
    }
  if (n > 0)
    g_ptr_array_add (all->notes, g_strdup_printf ("%u node%s random numbers, also in inference.", n,
                                                  n == 1 ? " of the model draws" : "s of the model draw"));
}

void
onnx_note_training (const OnnxImport *all)
{
  static const char note[]
      = "the model was exported in training mode, with dropout, which here drops in training only.";

  if (!g_ptr_array_find_with_equal_func (all->notes, note, g_str_equal, NULL))
    g_ptr_array_add (all->notes, g_strdup (note));
}

const OnnxMap onnx_map_random[] = {
  { "RandomNormal", "randn", map_normal },
  { "RandomNormalLike", "randn", map_normal },
  { "RandomUniform", "rand", map_uniform },
  { "RandomUniformLike", "rand", map_uniform },
  { "Bernoulli", "bernoulli", map_bernoulli },
  { "Multinomial", "multinomial", map_multinomial },
  { NULL },
};
