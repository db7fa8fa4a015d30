/* The loop of elementwise for registers of type T: operands broadcast to the shape of y, reg is [n_in + n_in_parts +
 * n_steps] for one element e of y [count]. */

static LoomStatus
FN (elementwise) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomElementwiseAttrs *a = k->attrs;
  const LoomKernelSpec spec = { .attrs = k->attrs, .n_in = k->n_in, .n_out = k->n_out, .in = k->in, .out = k->out };
  const LoomTensorDesc shape = loom_elementwise_shape (&spec), *y = &shape;
  const int first = k->n_in + a->n_in_parts; /* step's register */
  const int outer = y->rank > 0 ? y->rank - 1 : 0;
  const int64_t count = loom_desc_count (y), length = y->rank > 0 ? y->dim[outer] : 1;
  int64_t index[LOOM_MAX_RANK] = { 0 };
  /* Where registers are read, and then results in parts are written. */
  int64_t stride[LOOM_EW_MAX_IN + 2 * LOOM_EW_MAX_PARTS][LOOM_MAX_RANK] = { 0 },
                                      offset[LOOM_EW_MAX_IN + 2 * LOOM_EW_MAX_PARTS] = { 0 },
                                      from[LOOM_EW_MAX_IN + 2 * LOOM_EW_MAX_PARTS];
  T reg[LOOM_EW_MAX_IN + LOOM_EW_MAX_PARTS + LOOM_EW_MAX_STEPS] = { 0 };

  for (int i = 0; i < k->n_in; i++)
    if (!loom_has_parts (a->in_part, a->n_in_parts, i))
      loom_broadcast_strides (&k->in[i], y, stride[i]);
  for (int p = 0; p < a->n_in_parts; p++)
    loom_part_strides (&k->in[a->in_part[p].tensor], &a->in_part[p], y, stride[k->n_in + p], &offset[k->n_in + p]);
  for (int p = 0; p < a->n_out_parts; p++)
    loom_part_strides (&k->out[a->out_part[p].tensor], &a->out_part[p], y, stride[first + p], &offset[first + p]);
  /* Row by row: within a row all offsets grow evenly. */
  for (int64_t row = 0; row < count; row += length, loom_index_next (outer, y->dim, index))
    {
      for (int i = 0; i < first + a->n_out_parts; i++)
        from[i] = offset[i] + loom_index_offset (outer, index, stride[i]);
      for (int64_t e = 0; e < length; e++)
        {
          for (int i = 0; i < k->n_in; i++)
            if (!loom_has_parts (a->in_part, a->n_in_parts, i))
              reg[i] = (T)LOAD (b[i], from[i] + e * stride[i][outer], k->in[i].dtype);
          for (int p = 0, i = k->n_in; p < a->n_in_parts; p++, i++)
            reg[i]
                = (T)LOAD (b[a->in_part[p].tensor], from[i] + e * stride[i][outer], k->in[a->in_part[p].tensor].dtype);
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
              STORE (b[k->n_in + o], row + e, k->out[o].dtype, reg[a->out[o]]);
          for (int p = 0, i = first; p < a->n_out_parts; p++, i++)
            STORE (b[k->n_in + a->out_part[p].tensor], from[i] + e * stride[i][outer],
                   k->out[a->out_part[p].tensor].dtype, reg[a->out_part[p].reg]);
        }
    }
  return LOOM_STATUS_OK;
}
