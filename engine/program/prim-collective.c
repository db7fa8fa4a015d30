/* The primitives of collectives (all_reduce, reduce_scatter, unshard, all_gather), which partitioning inserts
 * (partition-reshard.c). The planner makes their kernels from a communicator (plan-collective.c). They have no
 * gradients, because a program is partitioned after differentiation. all_reduce and all_gather have sharding rules,
 * because a program with split weights is partitioned again, by samples. */
#include "engine/program/partition-sharding.h"

static gboolean
have_one_type (guint n_in, const LoomTensorDesc *in, char **why)
{
  for (guint i = 0; i < n_in; i++)
    if (in[i].dtype != in[0].dtype)
      return loom_prim_refuse (why, "exchanges numbers of one type");
  return TRUE;
}

static gboolean
are_numbers (guint n_in, const LoomTensorDesc *in, char **why)
{
  if (n_in > 0 && (in[0].dtype == LOOM_U8 || in[0].dtype == LOOM_BOOL))
    return loom_prim_refuse (why, "reduces numbers");
  return have_one_type (n_in, in, why);
}

static gboolean
infer_all_reduce (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                  char **why)
{
  const LoomAllReduceAttrs *a = attrs;

  if (!loom_prim_arity (n_in, a->n, why) || !are_numbers (n_in, in, why))
    return FALSE;
  for (guint i = 0; i < n_in; i++)
    out[i] = in[i];
  *n_out = n_in;
  return TRUE;
}

/* The axis in a listing. The data axis is the default and is not printed. */
static const char *const along_words[LOOM_MESH_AXES] = { NULL, "along pipeline", "along tensor" };

static const LoomAttr all_reduce_attrs[]
    = { LOOM_ATTR ("", WORD, LoomAllReduceAttrs, op, LOOM_ATTR_WORDS (loom_reduce_words)),
        LOOM_ATTR ("n", INT, LoomAllReduceAttrs, n),
        LOOM_ATTR ("", WORD, LoomAllReduceAttrs, along, LOOM_ATTR_WORDS (along_words)), LOOM_ATTR_LAST };

/* Along another axis of the mesh each rank reduces its own value, whatever its sharding: samples, a shard, or a
 * summand. */
static void
shard_all_reduce (LoomShardingCall *call)
{
  const LoomAllReduceAttrs *a = call->attrs;

  for (guint k = 0; k < call->n_in; k++)
    if (call->have[k].kind == LOOM_SHARDING_SPLIT || call->have[k].kind == LOOM_SHARDING_FLAT
        || (call->have[k].kind == LOOM_SHARDING_PARTIAL && a->op == LOOM_REDUCE_SUM))
      call->want[k] = call->result[k] = call->have[k];
}

const LoomPrim loom_prim_all_reduce
    = { .name = "all_reduce",
        .doc = "Sums values of the same shape over all ranks; every rank gets the sums.",
        .purpose = "The exchange of gradients between ranks",
        .tier = LOOM_TIER_CORE,
        .flags = LOOM_PRIM_COLLECTIVE,
        LOOM_PRIM_ATTRS (LoomAllReduceAttrs, all_reduce_attrs),
        .sharding = shard_all_reduce,
        .infer = infer_all_reduce };

static gboolean
infer_reduce_scatter (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                      char **why)
{
  const LoomReduceScatterAttrs *a = attrs;

  if (!loom_prim_arity (n_in, a->n, why) || !are_numbers (n_in, in, why))
    return FALSE;
  for (guint i = 0; i < n_in; i++)
    out[i] = loom_desc_make (in[i].dtype, 1,
                             (gint64[]){ loom_comm_shard (loom_desc_count (&in[i]), a->rank, a->ranks).count });
  *n_out = n_in;
  return TRUE;
}

static const LoomAttr reduce_scatter_attrs[]
    = { LOOM_ATTR ("n", INT, LoomReduceScatterAttrs, n),
        LOOM_ATTR (NULL, INT, LoomReduceScatterAttrs, op),
        LOOM_ATTR ("rank", INT, LoomReduceScatterAttrs, rank),
        LOOM_ATTR ("of ", INT, LoomReduceScatterAttrs, ranks),
        LOOM_ATTR ("", WORD, LoomReduceScatterAttrs, along, LOOM_ATTR_WORDS (along_words)),
        LOOM_ATTR_LAST };

const LoomPrim loom_prim_reduce_scatter
    = { .name = "reduce_scatter",
        .doc = "Sums values of the same shape over all ranks; every rank gets a part of the elements.",
        .purpose = "The exchange of gradients between ranks",
        .tier = LOOM_TIER_CORE,
        .flags = LOOM_PRIM_COLLECTIVE,
        LOOM_PRIM_ATTRS (LoomReduceScatterAttrs, reduce_scatter_attrs),
        .infer = infer_reduce_scatter };

static gboolean
infer_unshard (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomUnshardTo *a = attrs;

  if (!loom_prim_arity (n_in, a->n, why) || !have_one_type (n_in, in, why))
    return FALSE;
  for (guint i = 0; i < n_in; i++)
    {
      out[i] = loom_desc_make (in[i].dtype, a->to[i].rank, a->to[i].dim);
      if (in[i].rank != 1 || in[i].dim[0] > loom_desc_count (&out[i]))
        return loom_prim_refuse (why, "has parts that do not match the whole");
    }
  *n_out = n_in;
  return TRUE;
}

static const LoomAttr unshard_attrs[]
    = { LOOM_ATTR ("n", INT, LoomUnshardTo, n),
        LOOM_ATTR ("", WORD, LoomUnshardTo, along, LOOM_ATTR_WORDS (along_words)),
        LOOM_ATTR_ARRAY (NULL, DIMS, LoomUnshardTo, to, LOOM_ATTR_USED (LoomUnshardTo, n)), LOOM_ATTR_LAST };

const LoomPrim loom_prim_unshard = { .name = "unshard",
                                     .doc = "Gathers the ranks' shards of each value; every rank gets the whole.",
                                     .purpose = "The exchange of parameters between ranks",
                                     .tier = LOOM_TIER_CORE,
                                     .flags = LOOM_PRIM_COLLECTIVE,
                                     LOOM_PRIM_ATTRS (LoomUnshardTo, unshard_attrs),
                                     .infer = infer_unshard };

static gboolean
infer_all_gather (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                  char **why)
{
  const LoomAllGatherTo *a = attrs;
  LoomTensorDesc row = in[0], whole = loom_desc_make (in[0].dtype, a->to.rank, a->to.dim);

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (a->to.rank < 1 || row.rank != whole.rank || a->samples < 1 || whole.dim[0] % a->samples != 0)
    return loom_prim_refuse (why, "has parts of another rank than the whole");
  out[0] = whole;
  whole.dim[0] = row.dim[0];
  if (!loom_desc_same_shape (&row, &whole))
    return loom_prim_refuse (why, "has parts of another shape than the whole");
  *n_out = 1;
  return TRUE;
}

static const LoomAttr all_gather_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomAllGatherTo, samples),
        LOOM_ATTR (NULL, WORD, LoomAllGatherTo, along, LOOM_ATTR_WORDS (along_words)),
        LOOM_ATTR (NULL, DIMS, LoomAllGatherTo, to), LOOM_ATTR_LAST };

/* Groups of rows are samples, and along the tensor axis parts of a weight. */
static void
describe_all_gather (GString *text, const void *attrs)
{
  const LoomAllGatherTo *a = attrs;
  g_autofree char *to = loom_ints_to_string (a->to.rank, a->to.dim);
  const char *axis = along_words[a->along];

  g_string_append_printf (text, "%s=%" G_GINT64_FORMAT " to=%s%s%s", a->along == LOOM_MESH_TENSOR ? "parts" : "samples",
                          a->samples, to, axis != NULL ? " " : "", axis != NULL ? axis : "");
}

/* The same for a gather along the first axis. */
static void
shard_all_gather (LoomShardingCall *call)
{
  if ((call->have[0].kind == LOOM_SHARDING_SPLIT && call->have[0].axis > 0)
      || (call->have[0].kind == LOOM_SHARDING_PARTIAL && loom_dtype_is_float (call->in[0].dtype)))
    call->want[0] = call->result[0] = call->have[0];
}

const LoomPrim loom_prim_all_gather = { LOOM_PRIM_ROW ("all_gather", CORE, 1),
                                        .doc = "Concatenates the parts of all ranks along the first axis.",
                                        .purpose = "The exchange of values between ranks",
                                        .flags = LOOM_PRIM_COLLECTIVE,
                                        LOOM_PRIM_ATTRS (LoomAllGatherTo, all_gather_attrs),
                                        .sharding = shard_all_gather,
                                        .dims_at = G_STRUCT_OFFSET (LoomAllGatherTo, to) + 1,
                                        .infer = infer_all_gather,
                                        .describe = describe_all_gather };

LoomMeshAxis
loom_collective_along (const LoomPrim *prim, const void *attrs)
{
  /* The attributes of the other collectives begin with the same members. */
  G_STATIC_ASSERT (G_STRUCT_OFFSET (LoomReduceScatterAttrs, along) == G_STRUCT_OFFSET (LoomAllReduceAttrs, along));
  G_STATIC_ASSERT (G_STRUCT_OFFSET (LoomUnshardTo, along) == G_STRUCT_OFFSET (LoomAllReduceAttrs, along));

  /* Sends and receives between stages. */
  if (prim->flags & LOOM_PRIM_SIDE_EFFECT)
    return LOOM_MESH_PIPELINE;
  return prim == &loom_prim_all_gather ? ((const LoomAllGatherTo *)attrs)->along
                                       : ((const LoomAllReduceAttrs *)attrs)->along;
}

void
prim_collective_choose (const LoomPrim *prim, gpointer attrs, guint n, const guint *at)
{
  ((LoomAllReduceAttrs *)attrs)->n = n;
  for (guint k = 0; k < n && prim == &loom_prim_unshard; k++)
    ((LoomUnshardTo *)attrs)->to[k] = ((LoomUnshardTo *)attrs)->to[at[k]];
}

gboolean
prim_is_all_reduce (const LoomPrim *prim)
{
  return prim->infer == infer_all_reduce;
}
