/* What the ranks of a run do together. A program has these once it is divided among ranks (program-partition.c); no
 * back end has kernels for them: the planner makes them of a communicator (plan-collective.c). Without gradients of
 * their own, because a program is divided after it was differentiated. */
#include "engine/program/prim-private.h"

#include "kernels/comm.h"

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

static char *
describe_all_reduce (const void *attrs)
{
  static const char *const name[] = { "sum", "max", "min", "prod" };
  const LoomAllReduceAttrs *a = attrs;

  return g_strdup_printf ("%s n=%u", name[a->op], a->n);
}

static const LoomPrim all_reduce = { .name = "all_reduce",
                                     .doc = "Sums values of the same shape over all ranks; every rank gets the sums.",
                                     .purpose = "The exchange of gradients between ranks",
                                     .tier = LOOM_TIER_CORE,
                                     .flags = LOOM_PRIM_COLLECTIVE,
                                     .attrs_size = sizeof (LoomAllReduceAttrs),
                                     .infer = infer_all_reduce,
                                     .describe = describe_all_reduce };

static char *
describe_n (const void *attrs)
{
  return g_strdup_printf ("n=%u", *(const guint *)attrs);
}

static gboolean
infer_reduce_scatter (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out,
                      char **why)
{
  const LoomReduceScatterAttrs *a = attrs;

  if (!loom_prim_arity (n_in, a->n, why) || !are_numbers (n_in, in, why))
    return FALSE;
  for (guint i = 0; i < n_in; i++)
    out[i] = loom_desc_make (in[i].dtype, 1,
                             (gint64[]){ loom_comm_part (loom_desc_count (&in[i]), a->rank, a->ranks).count });
  *n_out = n_in;
  return TRUE;
}

static char *
describe_reduce_scatter (const void *attrs)
{
  const LoomReduceScatterAttrs *a = attrs;

  return g_strdup_printf ("n=%u rank=%d of %d", a->n, a->rank, a->ranks);
}

static const LoomPrim reduce_scatter
    = { .name = "reduce_scatter",
        .doc = "Sums values of the same shape over all ranks; every rank gets a part of the elements.",
        .purpose = "The exchange of gradients between ranks",
        .tier = LOOM_TIER_CORE,
        .flags = LOOM_PRIM_COLLECTIVE,
        .attrs_size = sizeof (LoomReduceScatterAttrs),
        .infer = infer_reduce_scatter,
        .describe = describe_reduce_scatter };

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
        return loom_prim_refuse (why, "has parts that do not fit the whole");
    }
  *n_out = n_in;
  return TRUE;
}

static const LoomPrim unshard
    = { .name = "unshard",
        .doc = "Puts the elements that the ranks have of each value together; every rank gets all.",
        .purpose = "The exchange of parameters between ranks",
        .tier = LOOM_TIER_CORE,
        .flags = LOOM_PRIM_COLLECTIVE,
        .attrs_size = sizeof (LoomUnshardTo),
        .infer = infer_unshard,
        .describe = describe_n };

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

static char *
describe_all_gather (const void *attrs)
{
  const LoomAllGatherTo *a = attrs;
  g_autofree char *to = loom_ints_to_string (a->to.rank, a->to.dim);

  return g_strdup_printf ("samples=%" G_GINT64_FORMAT " to=%s", a->samples, to);
}

static const LoomPrim all_gather = { .name = "all_gather",
                                     .doc = "Puts the parts of all ranks one behind the other along the first axis.",
                                     .purpose = "The exchange of values between ranks",
                                     .tier = LOOM_TIER_CORE,
                                     .flags = LOOM_PRIM_COLLECTIVE,
                                     .attrs_size = sizeof (LoomAllGatherTo),
                                     .max_out = 1,
                                     .infer = infer_all_gather,
                                     .describe = describe_all_gather };

const LoomPrim *const loom_prims_collective[] = { &all_reduce, &reduce_scatter, &unshard, &all_gather, NULL };
