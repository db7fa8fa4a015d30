/* Shared by the attention operators. */
#pragma once

#include "engine/ops/op-private.h"

G_BEGIN_DECLS

/* One attention of N samples with H heads: T queries of E features look at S keys, each with a value of D features.
 * Where there are fewer heads of keys than of queries, neighbouring heads of queries share one. */
typedef struct
{
  LoomValue q, k, v; /* [N,H,T,E], [N,K,S,E], [N,K,S,D] */
  LoomValue mask;    /* [N or 1, H or 1, T or 1, S]: bool keeps a key where it is true, a float is added; 0 for none */
  gboolean causal;   /* query i keeps keys 0 … i */
  double scale;      /* of the scores */
  double dropout;    /* the share of the weights that is dropped in training */
} LoomAttention;

/* The values averaged, [N,H,T,D], and, where weights is not NULL, what they were weighted with, [N,H,T,S]. A query that
 * keeps no key gets zeros. */
LoomValue loom_op_attend (LoomLower *ctx, const LoomAttention *a, LoomValue *weights);
/* The operations of attention with these sizes, for one call. */
double loom_op_attention_flops (double rows, double keys, double width, double depth);

G_END_DECLS
