/* Declares the code that the attention operators share. */
#pragma once

#include "engine/ops/op-private.h"

/* One attention of N samples with H heads: T queries of E features attend to S keys, each with a value of D
 * features. With fewer heads of keys than of queries (grouped-query attention), neighbouring heads of queries share
 * one. */
typedef struct
{
  LoomValue q, k, v; /* [N,H,T,E], [N,K,S,E], [N,K,S,D] */
  LoomValue mask;    /* [N or 1, H or 1, T or 1, S]: a bool is true for keys to keep, a float is added to the scores;
                      * 0 for none */
  gboolean causal;   /* query i attends to keys 0 … i */
  double scale;      /* factor of the scores */
  double dropout;    /* dropout probability of the weights in training */
} LoomAttention;

/* Returns the attention output [N,H,T,D] and, if weights is not NULL, the attention weights [N,H,T,S]. A query whose
 * keys are all masked gets zeros. */
LoomValue loom_op_attend (LoomLower *ctx, const LoomAttention *a, LoomValue *weights);
/* The operations of one attention of these sizes. */
double loom_op_attention_flops (double rows, double keys, double width, double depth);
