/* The primitives of exchanges between pipeline stages: send, receive, broadcast, and stage_reduce, an all-reduce whose
 * result a rank may leave unread. Stages run different programs (pipeline-write.c). The planner makes the kernels
 * (plan-collective.c). The primitives have no gradients, because a program is partitioned after differentiation. */
#include "engine/program/prim-private.h"

#include "kernels/comm.h"

static LoomTensorDesc
desc_of (const LoomTransferAttrs *a)
{
  return loom_desc_make (a->dtype, a->to.rank, a->to.dim);
}

static gboolean
infer_send (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomTransferAttrs *a = attrs;
  const gint64 none = 0;

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (a->rank < 0 || a->tag < 0 || a->tag >= LOOM_COMM_TAGS)
    return loom_prim_refuse (why, "has no rank to send to, or no tag");
  out[0] = loom_desc_make (in[0].dtype, 1, &none);
  *n_out = 1;
  return TRUE;
}

static gboolean
infer_receive (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomTransferAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 0, why))
    return FALSE;
  if (a->rank < 0 || a->tag < 0 || a->tag >= LOOM_COMM_TAGS)
    return loom_prim_refuse (why, "has no rank to receive from, or no tag");
  out[0] = desc_of (a);
  *n_out = 1;
  return TRUE;
}

static gboolean
infer_broadcast (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  LoomTensorDesc whole = desc_of (attrs);

  if (n_in > 1)
    return loom_prim_refuse (why, "takes one operand if the rank has the value, else none");
  if (n_in == 1 && (!loom_desc_same_shape (&in[0], &whole) || in[0].dtype != whole.dtype))
    return loom_prim_refuse (why, "has a value of another shape or type than its attributes");
  out[0] = whole;
  *n_out = 1;
  return TRUE;
}

static const LoomAttr transfer_attrs[] = { LOOM_ATTR (NULL, INT, LoomTransferAttrs, rank),
                                           LOOM_ATTR (NULL, INT, LoomTransferAttrs, tag),
                                           LOOM_ATTR (NULL, INT, LoomTransferAttrs, micro),
                                           LOOM_ATTR (NULL, INT, LoomTransferAttrs, exchange_slot),
                                           LOOM_ATTR (NULL, DTYPE, LoomTransferAttrs, dtype),
                                           LOOM_ATTR (NULL, DIMS, LoomTransferAttrs, to),
                                           LOOM_ATTR_LAST };

static void
describe_rank (GString *to, const char *direction, const LoomTransferAttrs *a)
{
  g_string_append_printf (to, "%s rank %d", direction, a->rank);
  if (a->micro >= 0)
    g_string_append_printf (to, ", micro-batch %d", a->micro + 1);
}

static void
describe_to (GString *to, const void *attrs)
{
  describe_rank (to, "to", attrs);
}

static void
describe_from (GString *to, const void *attrs)
{
  describe_rank (to, "from", attrs);
}

const LoomPrim loom_prim_send = { LOOM_PRIM_ROW ("send", CORE, 1),
                                  .doc = "Sends a value to another rank; the result is empty.",
                                  .purpose = "The exchange between stages",
                                  .flags = LOOM_PRIM_COLLECTIVE | LOOM_PRIM_SIDE_EFFECT,
                                  LOOM_PRIM_ATTRS (LoomTransferAttrs, transfer_attrs),
                                  .infer = infer_send,
                                  .describe = describe_to };

const LoomPrim loom_prim_receive = { LOOM_PRIM_ROW ("receive", CORE, 1),
                                     .doc = "Receives a value from another rank.",
                                     .purpose = "The exchange between stages",
                                     .flags = LOOM_PRIM_COLLECTIVE | LOOM_PRIM_SIDE_EFFECT,
                                     LOOM_PRIM_ATTRS (LoomTransferAttrs, transfer_attrs),
                                     .infer = infer_receive,
                                     .describe = describe_from };

const LoomPrim loom_prim_broadcast = { LOOM_PRIM_ROW ("broadcast", CORE, 1),
                                       .doc = "Sends the value of one rank to all.",
                                       .purpose = "The exchange between stages",
                                       .flags = LOOM_PRIM_COLLECTIVE | LOOM_PRIM_SIDE_EFFECT,
                                       LOOM_PRIM_ATTRS (LoomTransferAttrs, transfer_attrs),
                                       .infer = infer_broadcast,
                                       .describe = describe_from };

static gboolean
infer_reduce (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomAllReduceAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 1, why) || a->n != 1)
    return FALSE;
  if (in[0].dtype == LOOM_U8 || in[0].dtype == LOOM_BOOL)
    return loom_prim_refuse (why, "reduces numbers");
  out[0] = in[0];
  *n_out = 1;
  return TRUE;
}

static const LoomAttr stage_reduce_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomAllReduceAttrs, n), LOOM_ATTR (NULL, INT, LoomAllReduceAttrs, along),
        LOOM_ATTR ("", WORD, LoomAllReduceAttrs, op, LOOM_ATTR_WORDS (loom_reduce_words)), LOOM_ATTR_LAST };

const LoomPrim loom_prim_stage_reduce
    = { LOOM_PRIM_ROW ("stage_reduce", CORE, 1),
        .doc = "Reduces a value over all ranks, as all_reduce does, even if this rank does not read the result.",
        .purpose = "The exchange between stages",
        .flags = LOOM_PRIM_COLLECTIVE | LOOM_PRIM_SIDE_EFFECT,
        LOOM_PRIM_ATTRS (LoomAllReduceAttrs, stage_reduce_attrs),
        .infer = infer_reduce };
