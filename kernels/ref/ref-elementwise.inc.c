/* The loop of elementwise for registers of type T: operands broadcast to the shape of y, reg is [n_in + n_in_parts +
 * n_steps] for one element e of y [count]. */

static LoomStatus
FN (elementwise) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomElementwiseAttrs *a = k->attrs;
  const LoomKernelSpec spec = { .attrs = k->attrs, .n_in = k->n_in, .n_out = k->n_out, .in = k->in, .out = k->out };
  const LoomTensorDesc shape = loom_elementwise_shape (&spec), *y = &shape;
  const int first = k->n_in + a->n_in_parts; /* step's register */
  int64_t stride[LOOM_EW_MAX_IN][LOOM_MAX_RANK] = { 0 }, index[LOOM_MAX_RANK] = { 0 };
  int64_t count = loom_desc_count (y);
  T reg[LOOM_EW_MAX_IN + LOOM_EW_MAX_PARTS + LOOM_EW_MAX_STEPS] = { 0 };

  for (int i = 0; i < k->n_in; i++)
    if (!loom_has_parts (a->in_part, a->n_in_parts, i))
      loom_broadcast_strides (&k->in[i], y, stride[i]);
  for (int64_t e = 0; e < count; e++, loom_index_next (y->rank, y->dim, index))
    {
      for (int i = 0; i < k->n_in; i++)
        if (!loom_has_parts (a->in_part, a->n_in_parts, i))
          reg[i] = (T)LOAD (b[i], loom_index_offset (y->rank, index, stride[i]), k->in[i].dtype);
      for (int p = 0; p < a->n_in_parts; p++)
        {
          const LoomElementwisePart *part = &a->in_part[p];
          int64_t walk[LOOM_MAX_RANK], offset = 0;

          loom_part_strides (&k->in[part->tensor], part, y, walk, &offset);
          reg[k->n_in + p]
              = (T)LOAD (b[part->tensor], offset + loom_index_offset (y->rank, index, walk), k->in[part->tensor].dtype);
        }
      for (int s = 0; s < a->n_steps; s++)
        {
          const LoomElementwiseStep *step = &a->step[s];

          reg[first + s]
              = FN (ref_scalar) (step->op, reg[step->arg[0]], reg[step->arg[1]], reg[step->arg[2]], (T)step->imm);
          if (step->round == LOOM_F16 || step->round == LOOM_BF16)
            {
              uint16_t rounded;

              STORE (&rounded, 0, step->round, reg[first + s]);
              reg[first + s] = (T)LOAD (&rounded, 0, step->round);
            }
        }
      for (int o = 0; o < k->n_out; o++)
        if (!loom_has_parts (a->out_part, a->n_out_parts, o))
          STORE (b[k->n_in + o], e, k->out[o].dtype, reg[a->out[o]]);
      for (int p = 0; p < a->n_out_parts; p++)
        {
          const LoomElementwisePart *part = &a->out_part[p];
          int64_t walk[LOOM_MAX_RANK], offset = 0;

          loom_part_strides (&k->out[part->tensor], part, y, walk, &offset);
          STORE (b[k->n_in + part->tensor], offset + loom_index_offset (y->rank, index, walk),
                 k->out[part->tensor].dtype, reg[part->reg]);
        }
    }
  return LOOM_STATUS_OK;
}
