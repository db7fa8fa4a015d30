/* Imports RotaryEmbedding, of operator set 23 and of the domain com.microsoft, by its definition: pairs of features are
 * rotated by angles whose cosines and sines are inputs (Su et al., "RoFormer", section 3.2). */
#include "engine/onnx/onnx-private.h"

/* Elements from `from` on of the last dimension, n of them if step is 1, else every second one. */
static const OnnxWire *
features (OnnxCtx *c, const OnnxWire *x, gint64 from, gint64 n, gint64 step)
{
  return onnx_slice (c, x, x->type.shape.rank - 1, from, step == 1 ? from + n : G_MAXINT32, step);
}

/* A table [positions, half] by position [B, T], or angles [B, T, half], as [B, T, 1, half]. */
static const OnnxWire *
angles_of (OnnxCtx *c, guint table, guint position, gint64 half, const OnnxWire *x)
{
  const OnnxWire *t = onnx_in (c, table);

  if (!c->failed && onnx_has (c, position))
    {
      const OnnxWire *at = onnx_in (c, position);

      /* com.microsoft: one number is the position of the first token. */
      if (at->type.shape.rank == 1)
        at = onnx_binary (c, "add", onnx_emit (c, "arange", ONNX_IN (x), "dim", "1", "dtype", "i64", NULL), at);
      t = onnx_pick (c, t, 0, at);
    }
  if (!c->failed && onnx_dim (c, t, t->type.shape.rank - 1) < half)
    onnx_fail (c,
               "its tables have %" G_GINT64_FORMAT " angles, but %" G_GINT64_FORMAT " pairs of features are rotated.",
               onnx_dim (c, t, t->type.shape.rank - 1), half);
  if (c->failed)
    return t;
  if (onnx_dim (c, t, t->type.shape.rank - 1) > half)
    t = features (c, t, 0, half, 1);
  return onnx_unsqueeze (c, t, -2);
}

void
onnx_map_rotary (OnnxCtx *c)
{
  gboolean is_contrib = c->map->domain != NULL, interleaved = onnx_attr_int (c, "interleaved", 0) != 0;
  guint position = is_contrib ? 1 : 3, cosine = is_contrib ? 2 : 1, sine = is_contrib ? 3 : 2;
  const OnnxWire *x = onnx_in (c, 0), *part[2], *cos, *sin, *y;
  gint64 heads = onnx_attr_int (c, "num_heads", 0), all, rotated = onnx_attr_int (c, "rotary_embedding_dim", 0), half;
  gboolean is_flat = x->type.shape.rank == 3;

  if (is_contrib && (onnx_attr_int (c, "is_packed_batching", 0) || onnx_attr_float (c, "scale", 1) != 1))
    onnx_fail (c, "packed batches and a scale are not supported.");
  if (!c->failed && !is_flat && x->type.shape.rank != 4)
    onnx_fail (c, "its input has %d dimensions; three or four are supported.", x->type.shape.rank);
  if (c->failed)
    return;
  if (is_flat && heads < 1 && is_contrib && onnx_dim (c, onnx_in (c, cosine), 1) > 0 && rotated == 0)
    heads = onnx_dim (c, x, 2) / (2 * onnx_dim (c, onnx_in (c, cosine), 1));
  if (is_flat && (heads < 1 || onnx_dim (c, x, 2) % heads != 0))
    {
      onnx_fail (c, "its “num_heads” is %" G_GINT64_FORMAT ", which does not divide its features.", heads);
      return;
    }
  /* [B, T, heads, E] */
  x = is_flat
          ? onnx_emit (c, "unflatten", ONNX_IN (x), "dim", "2", "sizes",
                       onnx_text (c, "%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT, heads, onnx_dim (c, x, 2) / heads), NULL)
          : onnx_permute (c, x, (gint64[]){ 0, 2, 1, 3 });
  all = onnx_dim (c, x, 3);
  rotated = rotated == 0 ? all : rotated;
  half = rotated / 2;
  if (!c->failed && (rotated < 2 || rotated % 2 != 0 || rotated > all))
    onnx_fail (c, "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " features cannot be rotated in pairs.", rotated, all);
  if (c->failed)
    return;
  cos = angles_of (c, cosine, position, half, x);
  sin = angles_of (c, sine, position, half, x);
  y = rotated < all ? features (c, x, 0, rotated, 1) : x;
  for (int i = 0; i < 2; i++)
    part[i] = interleaved ? features (c, y, i, half, 2) : features (c, y, i * half, half, 1);
  const OnnxWire *turned[2]
      = { onnx_binary (c, "sub", onnx_binary (c, "mul", cos, part[0]), onnx_binary (c, "mul", sin, part[1])),
          onnx_binary (c, "add", onnx_binary (c, "mul", sin, part[0]), onnx_binary (c, "mul", cos, part[1])) };
  y = interleaved ? onnx_emit (c, "flatten",
                               ONNX_IN (onnx_emit (c, "stack", ONNX_IN (turned[0], turned[1]), "dim", "-1", NULL)),
                               "start_dim", "3", NULL)
                  : onnx_emit (c, "concat", ONNX_IN (turned[0], turned[1]), "dim", "-1", NULL);
  if (rotated < all)
    y = onnx_emit (c, "concat", ONNX_IN (y, features (c, x, rotated, all - rotated, 1)), "dim", "-1", NULL);
  onnx_out (c, 0,
            is_flat ? onnx_emit (c, "flatten", ONNX_IN (y), "start_dim", "2", NULL)
                    : onnx_permute (c, y, (gint64[]){ 0, 2, 1, 3 }));
}
