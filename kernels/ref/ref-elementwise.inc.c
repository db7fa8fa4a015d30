/* The loop of elementwise for registers of type T: operands broadcast to the shape of y, reg is [n_in + n_steps] for
 * one element e of y [count]. */

static LoomStatus
FN (elementwise) (const RefKernel *k, void *const *b, LoomMessage *message)
{
  const LoomElementwiseAttrs *a = k->attrs;
  const LoomTensorDesc *y = &k->out[0];
  int64_t stride[LOOM_EW_MAX_IN][LOOM_MAX_RANK], index[LOOM_MAX_RANK] = { 0 };
  int64_t count = loom_desc_count (y);

  for (int i = 0; i < k->n_in; i++)
    loom_broadcast_strides (&k->in[i], y, stride[i]);
  for (int64_t e = 0; e < count; e++, loom_index_next (y->rank, y->dim, index))
    {
      T reg[LOOM_EW_MAX_IN + LOOM_EW_MAX_STEPS] = { 0 };

      for (int i = 0; i < k->n_in; i++)
        reg[i] = (T)LOAD (b[i], loom_index_offset (y->rank, index, stride[i]), k->in[i].dtype);
      for (int s = 0; s < a->n_steps; s++)
        {
          const LoomElementwiseStep *step = &a->step[s];

          reg[k->n_in + s]
              = FN (ref_scalar) (step->op, reg[step->arg[0]], reg[step->arg[1]], reg[step->arg[2]], (T)step->imm);
          if (step->round == LOOM_F16 || step->round == LOOM_BF16)
            {
              uint16_t rounded;

              STORE (&rounded, 0, step->round, reg[k->n_in + s]);
              reg[k->n_in + s] = (T)LOAD (&rounded, 0, step->round);
            }
        }
      for (int o = 0; o < k->n_out; o++)
        STORE (b[k->n_in + o], e, k->out[o].dtype, reg[a->out[o]]);
    }
  return LOOM_STATUS_OK;
}
