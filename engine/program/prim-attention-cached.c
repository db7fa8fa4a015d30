/* The primitive of attention with a key-value cache, for inference: each run appends its keys and values to two tensors
 * in place and attends to all positions so far. It has no gradient. */
#include "engine/program/prim-private.h"

/* q, k, v, keys, values, position → keys', values', y */
static gboolean
infer (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomTensorDesc *q = &in[0], *keys = &in[3], *values = &in[4];

  if (!loom_prim_arity (n_in, 6, why))
    return FALSE;
  for (guint i = 0; i < 5; i++)
    if (in[i].rank != 4 || in[i].dtype != q->dtype || !loom_dtype_is_float (in[i].dtype) || in[i].dim[0] != q->dim[0])
      return loom_prim_refuse (why, "operands must be floats of one type and rank 4, with the same number of samples");
  if (in[5].dtype != LOOM_I64 || in[5].rank != 0)
    return loom_prim_refuse (why, "the position must be an i64 scalar");
  for (guint i = 1; i < 5; i++)
    if (in[i].dim[1] != keys->dim[1] || (i < 3 && in[i].dim[2] != q->dim[2])
        || (i >= 3 && in[i].dim[2] != keys->dim[2]))
      return loom_prim_refuse (why, "the shapes of keys and values do not match");
  if (in[1].dim[3] != q->dim[3] || keys->dim[3] != q->dim[3] || in[2].dim[3] != values->dim[3])
    return loom_prim_refuse (why, "queries, keys and values differ in their features");
  if (keys->dim[1] == 0 ? q->dim[1] != 0 : q->dim[1] % keys->dim[1] != 0)
    return loom_prim_refuse (why, "the heads of queries must be a multiple of those of keys");
  if (q->dim[2] > keys->dim[2])
    return loom_prim_refuse (why, "the cache is shorter than the number of new positions");
  out[0] = *keys;
  out[1] = *values;
  out[2] = *q;
  out[2].dim[3] = values->dim[3];
  *n_out = 3;
  return TRUE;
}

/* Keys' and values' overwrite keys and values. */
static guint
updates (const void *attrs, guint result)
{
  return result < 2 ? 3 + result : LOOM_UPDATES_NOTHING;
}

/* Counts half of the cache as filled. */
static double
flops (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  double pairs = (double)(in[0].dim[0] * in[0].dim[1] * in[0].dim[2]) * (double)in[3].dim[2] / 2;

  return pairs * (2.0 * (double)in[0].dim[3] + 2.0 * (double)in[4].dim[3] + 5.0);
}

static const LoomAttr attention_attrs[]
    = { LOOM_ATTR ("scale", NUMBER, LoomAttentionCachedAttrs, scale), LOOM_ATTR_LAST };

const LoomPrim loom_prim_attention_cached
    = { LOOM_PRIM_ROW ("attention_cached", CORE, 3),
        .doc = "Causal attention over cached keys and values, to which it appends those of its own positions.",
        LOOM_PRIM_ATTRS (LoomAttentionCachedAttrs, attention_attrs),
        .infer = infer,
        .flops = flops,
        .precision = LOOM_PRECISION_F32,
        .updates = updates };
