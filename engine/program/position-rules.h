/* The rules by which primitives keep the positions of a sequence separate, for loom-position-mixing.c. */
#pragma once

#include "engine/program/prim-private.h"

#define LOOM_NO_AXIS      (-1)
#define LOOM_UNCLEAR_AXIS (-2) /* several axes differ, or an axis does not differ in proportion to the lengths */

/* An instruction, as a rule sees it. At least one operand or result has a sequence axis, and none is unclear. */
struct _LoomPositionCall
{
  const LoomInstr *instr;
  const LoomTensorDesc *in[8], *out; /* the first operands, and the first result */
  int axis[8], to;                   /* their sequence axes */
};

gboolean loom_positions_always (const LoomPositionCall *call);
gboolean loom_positions_argreduce (const LoomPositionCall *call);
gboolean loom_positions_attention (const LoomPositionCall *call);
gboolean loom_positions_by_channel (const LoomPositionCall *call);
gboolean loom_positions_by_sample (const LoomPositionCall *call);
gboolean loom_positions_concat (const LoomPositionCall *call);
gboolean loom_positions_cumsum (const LoomPositionCall *call);
gboolean loom_positions_element_wise (const LoomPositionCall *call);
gboolean loom_positions_gather (const LoomPositionCall *call);
gboolean loom_positions_gather_rows (const LoomPositionCall *call);
gboolean loom_positions_iota (const LoomPositionCall *call);
gboolean loom_positions_layer_norm (const LoomPositionCall *call);
gboolean loom_positions_matmul (const LoomPositionCall *call);
gboolean loom_positions_pad (const LoomPositionCall *call);
gboolean loom_positions_reduce (const LoomPositionCall *call);
gboolean loom_positions_reshape (const LoomPositionCall *call);
gboolean loom_positions_slice (const LoomPositionCall *call);
gboolean loom_positions_softmax (const LoomPositionCall *call);
gboolean loom_positions_sort (const LoomPositionCall *call);
