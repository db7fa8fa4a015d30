/* Attention whose operands and results are rows inside larger tensors. The planner makes such calls from an attention
 * call and the permutes, slices and concatenations around it. Plain C, all static inline.
 *
 * With the attribute `in_place`, the rows of q [N,H,T,E] and of the other operands and results are described by
 * LoomAttentionRows, in elements: feature e of row t of head h of sample n is element start + n·sample + h·head + t·row
 * + e of its tensor. The product [N,T,3·H·E] that contains queries, keys and values is then passed three times, and the
 * gradient has one result instead of three: dq, dk and dv are slices of it. lse, delta and the mask keep their plain
 * shapes. The results of a call together write each element once. */
#ifndef LOOM_ATTENTION_H
#define LOOM_ATTENTION_H

#include <string.h>

#include "kernels/backend.h"

static inline bool
loom_attention_is_gradient (const LoomKernelSpec *spec)
{
  return strcmp (spec->primitive, "attention_grad") == 0;
}

/* The rows of a plain tensor [N,heads,rows,features]. */
static inline LoomAttentionRows
loom_attention_plain (int64_t heads, int64_t rows, int64_t features)
{
  const LoomAttentionRows plain = { 0, heads * rows * features, rows * features, features };

  return plain;
}

/* The sizes of a call whose operand number `first` is q, and the strides of the rows of each operand and result. */
static inline LoomAttentionSizes
loom_attention_strides (const LoomAttentionAttrs *a, const LoomTensorDesc *in, int first,
                        LoomAttentionRows rows[LOOM_ATTENTION_N_OPERANDS])
{
  const LoomTensorDesc *q = &in[first], *k = q + 1, *v = q + 2;
  LoomAttentionSizes s = a->sizes;

  if (a->in_place)
    {
      memcpy (rows, a->rows, sizeof a->rows);
      return s;
    }
  s.n = q->dim[0];
  s.heads = q->dim[1];
  s.groups = k->dim[1];
  s.queries = q->dim[2];
  s.keys = k->dim[2];
  s.width = q->dim[3];
  s.depth = v->dim[3];
  rows[LOOM_ATTENTION_Q] = rows[LOOM_ATTENTION_DQ] = loom_attention_plain (s.heads, s.queries, s.width);
  rows[LOOM_ATTENTION_K] = rows[LOOM_ATTENTION_DK] = loom_attention_plain (s.groups, s.keys, s.width);
  rows[LOOM_ATTENTION_V] = rows[LOOM_ATTENTION_DV] = loom_attention_plain (s.groups, s.keys, s.depth);
  rows[LOOM_ATTENTION_Y] = rows[LOOM_ATTENTION_G] = loom_attention_plain (s.heads, s.queries, s.depth);
  return s;
}

/* TRUE if a call is of attention or its gradient, in place. */
static inline bool
loom_attention_is_in_place (const LoomKernelSpec *spec)
{
  return (strcmp (spec->primitive, "attention") == 0 || loom_attention_is_gradient (spec))
         && ((const LoomAttentionAttrs *)spec->attrs)->in_place;
}

/* The bytes of all rows that a call or its gradient reads and writes, at `size` bytes an element. Several operands may
 * be in one tensor, so it does not follow from the sizes of the tensors. */
static inline double
loom_attention_row_bytes (const LoomAttentionSizes *s, bool gradient, size_t size)
{
  const double queries = (double)s->n * (double)s->heads * (double)s->queries;
  const double keys = (double)s->n * (double)s->groups * (double)s->keys;

  return (queries + keys) * (double)(s->width + s->depth) * (gradient ? 2 : 1) * (double)size;
}

/* The operand that number k is, if q is number `first`; LOOM_ATTENTION_N_OPERANDS if it is none of them. */
static inline LoomAttentionOperand
loom_attention_operand (int first, int k)
{
  if (first == 1 && k == 0)
    return LOOM_ATTENTION_G;
  if (first == 1 && k == 7)
    return LOOM_ATTENTION_Y;
  return k >= first && k < first + 3 ? (LoomAttentionOperand)(LOOM_ATTENTION_Q + k - first) : LOOM_ATTENTION_N_OPERANDS;
}

/* FALSE if y is passed instead of delta. in: the operands of a gradient. */
static inline bool
loom_attention_has_delta (const LoomTensorDesc *in)
{
  return in[5].dtype != LOOM_N_DTYPES;
}

/* The number of the result that contains result k (dq, dk, dv) of the gradient: several may be slices of one. */
static inline int
loom_attention_result (int n_out, int k)
{
  return k < n_out ? k : n_out - 1;
}

#endif
