/* Imports quantised weights: numbers of the model are dequantised at import, so that a layer owns floats that train.
 *
 * The formulas are those of onnx-map-quant.c on tensors instead of wires. com.microsoft packs weights of 2, 4 or 8 bits
 * in blocks along the input features (onnxruntime, docs/ContribOperators.md). */
#include "engine/onnx/onnx-private.h"

#include <string.h>

#define MAX_BLOCK 65536 /* numbers of a packed block */

static const LoomTensor *
constant_in (OnnxCtx *c, guint i)
{
  const OnnxValue *value = onnx_has (c, i) ? onnx_value_of (c->all, c->node->input[i]) : NULL;

  return value != NULL ? value->constant : NULL;
}

/* The position in a tensor of scales of element i of x: scales are one number, one for each position of the axis, or
 * one for each block along it. */
typedef struct
{
  gint64 before, size, after; /* x is [before, size, after] */
  gint64 n, block;            /* the number of scales along the axis; numbers of each */
  gboolean is_line;           /* scales are [n], not [before, n, after] */
} Scales;

static gboolean
read_scales (const LoomTensor *x, const LoomTensor *scale, int axis, gint64 block, Scales *s)
{
  *s = (Scales){ .before = 1, .size = axis < x->rank ? x->dim[axis] : 1, .after = 1, .n = 1, .is_line = TRUE };
  for (int i = 0; i < x->rank; i++)
    {
      s->before *= i < axis ? x->dim[i] : 1;
      s->after *= i > axis ? x->dim[i] : 1;
    }
  if (scale->count == 1)
    s->block = s->size;
  else if (scale->rank == 1 && block == 0)
    {
      s->n = scale->count;
      s->block = 1;
    }
  else if (scale->rank == x->rank)
    {
      s->n = scale->dim[axis];
      s->is_line = FALSE;
      s->block = block > 0 ? block : s->n > 0 ? (s->size + s->n - 1) / s->n : 0;
    }
  return s->block > 0 && (s->size + s->block - 1) / s->block == s->n
         && (s->is_line || scale->count == s->before * s->n * s->after);
}

static gint64
scale_at (const Scales *s, gint64 i)
{
  gint64 within = i / s->after % s->size / s->block;

  return s->is_line ? within : (i / s->after / s->size * s->n + within) * s->after + i % s->after;
}

static LoomTensor *
dequantized (const LoomTensor *x, const LoomTensor *scale, const LoomTensor *zero, const Scales *s)
{
  LoomTensor *y = loom_tensor_new (LOOM_F32, x->rank, x->dim, NULL);

  for (gint64 i = 0; y != NULL && i < x->count; i++)
    {
      gint64 at = scale_at (s, i);
      double centred = loom_tensor_get (x, i) - (zero != NULL ? loom_tensor_get (zero, at) : 0);

      ((float *)y->data)[i] = (float)centred * (float)loom_tensor_get (scale, at);
    }
  return y;
}

gboolean
onnx_dequantize_weight (OnnxCtx *c)
{
  const LoomTensor *x = constant_in (c, 0), *scale = constant_in (c, 1), *zero = constant_in (c, 2);
  gint64 axis = onnx_attr_int (c, "axis", 1), asked = onnx_attr_int (c, "output_dtype", 0);
  g_autoptr (LoomTensor) y = NULL;
  OnnxValue *value;
  Scales s;

  if (x == NULL || scale == NULL || (zero == NULL && onnx_has (c, 2)) || (zero != NULL && zero->count != scale->count)
      || (asked != 0 && asked != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT) || !onnx_has_output (c, 0))
    return FALSE;
  axis = axis < 0 ? axis + x->rank : axis;
  if (!loom_dtype_is_float (scale->dtype) || axis < 0 || (axis >= x->rank && scale->count > 1)
      || !read_scales (x, scale, (int)axis, onnx_attr_int (c, "block_size", 0), &s)
      || onnx_own_value (c->all, c->node->output[0]) != NULL)
    return FALSE;
  y = dequantized (x, scale, zero, &s);
  if (y == NULL)
    return FALSE;
  value = onnx_declare (c->all, c->node->output[0]);
  value->constant = g_steal_pointer (&y);
  value->is_weight = TRUE;
  value->producer = c->node;
  return TRUE;
}

/* ---- com.microsoft: packed blocks ------------------------------------------------ */

typedef struct
{
  const LoomTensor *data, *scale, *zero; /* zero NULL: the middle of the range */
  gint64 rows, columns, block, n_blocks; /* of a row */
  guint bits;
} Packed;

/* Element i of a row whose bytes begin at `from`; the first element has the lowest bits. */
static guint
unpack (const LoomTensor *t, gint64 from, gint64 i, guint bits)
{
  return ((const guint8 *)t->data)[from + i * bits / 8] >> (i * bits % 8) & ((1U << bits) - 1);
}

/* Zero points are packed as the weights are, or floats. */
static double
zero_of (const Packed *p, gint64 row, gint64 block)
{
  gint64 bytes = (p->n_blocks * p->bits + 7) / 8;

  if (p->zero == NULL)
    return 1 << (p->bits - 1);
  if (p->zero->dtype != LOOM_U8)
    return loom_tensor_get (p->zero, row * p->n_blocks + block);
  return unpack (p->zero, row * bytes, block, p->bits);
}

static gboolean
check_packed (OnnxCtx *c, const Packed *p)
{
  gint64 bytes = p->block * p->bits / 8, zeros = p->rows * ((p->n_blocks * p->bits + 7) / 8);

  if (p->bits != 2 && p->bits != 4 && p->bits != 8)
    onnx_fail (c, "its weights have %u bits; 2, 4 and 8 are supported.", p->bits);
  else if (p->data->dtype != LOOM_U8 || p->data->count != p->rows * p->n_blocks * bytes
           || p->scale->count != p->rows * p->n_blocks
           || (p->zero != NULL && p->zero->count != (p->zero->dtype == LOOM_U8 ? zeros : p->scale->count)))
    onnx_fail (c, "its weights, scales and zero points do not fit [%" G_GINT64_FORMAT ", %" G_GINT64_FORMAT "].",
               p->rows, p->columns);
  return !c->failed;
}

/* [rows, columns] */
static LoomTensor *
unpacked (OnnxCtx *c, const Packed *p)
{
  LoomTensor *y = check_packed (c, p) ? loom_tensor_new (LOOM_F32, 2, (gint64[]){ p->rows, p->columns }, NULL) : NULL;

  for (gint64 i = 0; y != NULL && i < y->count; i++)
    {
      gint64 row = i / p->columns, at = i % p->columns, block = at / p->block;
      gint64 from = (row * p->n_blocks + block) * (p->block * p->bits / 8);

      ((float *)y->data)[i] = ((float)unpack (p->data, from, at % p->block, p->bits) - (float)zero_of (p, row, block))
                              * (float)loom_tensor_get (p->scale, row * p->n_blocks + block);
    }
  return y;
}

/* Inputs: x, weight [N, blocks, bytes], scales, zero points, the order of columns, a bias. */
static void
map_matmul_nbits (OnnxCtx *c)
{
  Packed p = { .data = onnx_const (c, 1, "B"),
               .scale = onnx_const (c, 2, "scales"),
               .zero = onnx_has (c, 3) ? onnx_const (c, 3, "zero_points") : NULL,
               .rows = onnx_attr_int (c, "N", 0),
               .columns = onnx_attr_int (c, "K", 0),
               .block = onnx_attr_int (c, "block_size", 0),
               .bits = (guint)CLAMP (onnx_attr_int (c, "bits", 4), 0, 32) };
  g_autoptr (LoomTensor) weight = NULL;

  onnx_attr_int (c, "accuracy_level", 0); /* of onnxruntime's kernel */
  if (onnx_has (c, 4))
    onnx_fail (c, "it permutes its columns (“g_idx”), which is not supported. Quantise the model without act_order.");
  /* A block that is a power of two fills whole bytes. */
  if (p.block < 8 || p.block > MAX_BLOCK || (p.block & (p.block - 1)) != 0)
    onnx_fail (c, "its “block_size” is %" G_GINT64_FORMAT "; powers of two from 8 to %d are supported.", p.block,
               MAX_BLOCK);
  if (p.rows < 1 || p.columns < 1 || p.rows > LOOM_MAX_ELEMENTS || p.columns > LOOM_MAX_ELEMENTS / p.rows)
    onnx_fail (c, "its sizes are not valid.");
  if (c->failed)
    return;
  p.n_blocks = (p.columns + p.block - 1) / p.block;
  weight = unpacked (c, &p);
  if (weight == NULL)
    {
      onnx_fail (c, "there is no memory for its weight as floats.");
      return;
    }
  const OnnxWire *y = onnx_emit (
      c, "linear", ONNX_IN (onnx_in (c, 0), NULL, onnx_has (c, 5) ? onnx_weight (c, 5) : NULL), "out_features",
      onnx_text (c, "%" G_GINT64_FORMAT, p.rows), "bias", onnx_has (c, 5) ? NULL : "false", NULL);
  onnx_own (c, y, "weight", weight);
  onnx_out (c, 0, y);
}

const OnnxMap onnx_map_weights[] = {
  { "MatMulNBits", "linear", map_matmul_nbits, .domain = "com.microsoft" },
  { NULL },
};
