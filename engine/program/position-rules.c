/* The rules by which primitives keep the positions of a sequence separate (LoomPrim.separates_positions). */
#include "engine/program/position-rules.h"

/* The number of elements before an axis. */
static gint64
before (const LoomTensorDesc *d, int axis)
{
  gint64 n = 1;

  for (int i = 0; i < axis; i++)
    n *= d->dim[i];
  return n;
}

gboolean
loom_positions_always (const LoomPositionCall *c)
{
  return c->to != LOOM_NO_AXIS;
}

/* Axes are matched from the last one on. */
gboolean
loom_positions_element_wise (const LoomPositionCall *c)
{
  for (guint k = 0; k < c->instr->n_in && k < G_N_ELEMENTS (c->in); k++)
    if (c->axis[k] >= 0 && c->in[k]->rank - c->axis[k] != c->out->rank - c->to)
      return FALSE;
  return c->to >= 0 && c->instr->n_in <= G_N_ELEMENTS (c->in);
}

gboolean
loom_positions_matmul (const LoomPositionCall *c)
{
  const LoomMatmulAttrs *attrs = c->instr->attrs;
  int summed_a = c->in[0]->rank - (attrs->trans_a ? 2 : 1), summed_b = c->in[1]->rank - (attrs->trans_b ? 1 : 2);

  return c->to >= 0 && c->axis[0] != summed_a && c->axis[1] != summed_b
         && (c->axis[0] < 0 || c->axis[1] < 0 || (c->axis[0] < c->in[0]->rank - 2 && c->axis[1] < c->in[1]->rank - 2))
         && (c->instr->n_in < 3 || c->instr->in[2] == 0 || c->axis[2] == LOOM_NO_AXIS);
}

gboolean
loom_positions_reduce (const LoomPositionCall *c)
{
  const LoomReduceAttrs *attrs = c->instr->attrs;

  return c->axis[0] >= 0 && !(attrs->axes >> c->axis[0] & 1);
}

/* For primitives that work along one axis and have operands of the result's rank. */
static gboolean
along (const LoomPositionCall *c, int axis)
{
  for (guint k = 0; k < c->instr->n_in && k < G_N_ELEMENTS (c->in); k++)
    if (c->axis[k] != c->to)
      return FALSE;
  return c->to >= 0 && c->to != axis && c->instr->n_in <= G_N_ELEMENTS (c->in);
}

#define ALONG(name, Attrs)                                                                                             \
  gboolean loom_positions_##name (const LoomPositionCall *c)                                                           \
  {                                                                                                                    \
    return along (c, (int)((const Attrs *)c->instr->attrs)->axis);                                                     \
  }
ALONG (softmax, LoomSoftmaxAttrs)
ALONG (argreduce, LoomArgReduceAttrs)
ALONG (gather, LoomGatherAttrs)
ALONG (sort, LoomSortAttrs)
ALONG (cumsum, LoomCumsumAttrs)
ALONG (concat, LoomConcatAttrs)

gboolean
loom_positions_layer_norm (const LoomPositionCall *c)
{
  const LoomNormAttrs *attrs = c->instr->attrs;

  return c->axis[0] >= 0 && c->axis[0] < c->in[0]->rank - attrs->axes;
}

/* Channels are axis 1, and each has its own parameters. */
gboolean
loom_positions_by_channel (const LoomPositionCall *c)
{
  for (guint k = 1; k < c->instr->n_in && k < G_N_ELEMENTS (c->in); k++)
    if (c->axis[k] != LOOM_NO_AXIS)
      return FALSE;
  return c->axis[0] >= 0 && c->axis[0] != 1;
}

/* Samples are axis 0. */
gboolean
loom_positions_by_sample (const LoomPositionCall *c)
{
  for (guint k = 1; k < c->instr->n_in && k < G_N_ELEMENTS (c->in); k++)
    if (c->axis[k] != LOOM_NO_AXIS)
      return FALSE;
  return c->axis[0] == 0;
}

gboolean
loom_positions_gather_rows (const LoomPositionCall *c)
{
  return c->axis[0] == LOOM_NO_AXIS;
}

/* Positions keep their order if the same number of elements precedes the axis. */
gboolean
loom_positions_reshape (const LoomPositionCall *c)
{
  return c->axis[0] >= 0 && c->to >= 0 && before (c->in[0], c->axis[0]) == before (c->out, c->to);
}

/* A slice must take all positions; a result with equally many elements of another axis does not count. */
gboolean
loom_positions_slice (const LoomPositionCall *c)
{
  const LoomSliceAttrs *attrs = c->instr->attrs;

  return c->axis[0] >= 0 && c->to == c->axis[0] && attrs->start[c->to] == 0 && attrs->step[c->to] == 1
         && c->out->dim[c->to] == c->in[0]->dim[c->to];
}

gboolean
loom_positions_pad (const LoomPositionCall *c)
{
  return c->axis[0] >= 0 && c->to == c->axis[0] && c->out->dim[c->to] == c->in[0]->dim[c->to];
}

gboolean
loom_positions_iota (const LoomPositionCall *c)
{
  return c->to >= 0 && c->to != ((const LoomIotaAttrs *)c->instr->attrs)->axis;
}

/* Queries at positions attend to keys without a sequence axis. */
gboolean
loom_positions_attention (const LoomPositionCall *c)
{
  return c->axis[0] == 2 && c->axis[1] == LOOM_NO_AXIS && c->axis[2] == LOOM_NO_AXIS
         && (c->instr->n_in < 4 || c->instr->in[3] == 0 || c->axis[3] == LOOM_NO_AXIS || c->axis[3] == 2);
}
