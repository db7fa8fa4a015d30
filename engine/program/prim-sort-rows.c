/* The primitives that sort rows for `visit`: by body number (group_rows), and by tree level (level_rows). They run on
 * the host, which decides by the result which bodies run. */
#include "engine/program/partition-sharding.h"

static void
set_outputs (LoomTensorDesc *out, guint *n_out, guint n, gint64 rows)
{
  for (guint k = 0; k < n; k++)
    out[k] = loom_desc_make (LOOM_I64, 1, &rows);
  *n_out = n;
}

static const LoomAttr group_attrs[] = { LOOM_ATTR ("groups", INT, LoomOrderAttrs, groups),
                                        LOOM_ATTR (NULL, INT, LoomOrderAttrs, slots), LOOM_ATTR_LAST };
static const LoomAttr level_attrs[] = { LOOM_ATTR (NULL, INT, LoomOrderAttrs, groups),
                                        LOOM_ATTR ("slots", INT, LoomOrderAttrs, slots), LOOM_ATTR_LAST };

static double
flops_none (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  return 0;
}

/* Sorts rows stably by group, 0 … n_groups-1: the order, the position of each row in it, and the sorted groups. */
static void
sort_rows (gint64 rows, const gint64 *group, gint64 n_groups, gint64 *order, gint64 *position, gint64 *sorted)
{
  g_autofree gint64 *next = g_new0 (gint64, n_groups + 1);

  for (gint64 r = 0; r < rows; r++)
    next[group[r] + 1]++;
  for (gint64 g = 1; g <= n_groups; g++)
    next[g] += next[g - 1];
  for (gint64 r = 0; r < rows; r++)
    {
      position[r] = next[group[r]]++;
      order[position[r]] = r;
      sorted[position[r]] = group[r];
    }
}

/* ---- by body number --------------------------------------------------------- */

static gboolean
infer_groups (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomOrderAttrs *a = attrs;

  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (in[0].dtype != LOOM_I64 || in[0].rank != 1 || a->groups < 1)
    return loom_prim_refuse (why, "needs a number (i64) for each row");
  set_outputs (out, n_out, 3, in[0].dim[0]);
  return TRUE;
}

static LoomStatus
group_on_host (const void *attrs, const LoomTensorDesc *desc, const void *const *in, void *const *out,
               LoomMessage *message)
{
  const gint64 *index = in[0], groups = ((const LoomOrderAttrs *)attrs)->groups;

  for (gint64 r = 0; r < desc[0].dim[0]; r++)
    if (index[r] < 0 || index[r] >= groups)
      {
        g_snprintf (message->text, sizeof message->text,
                    "index is %" G_GINT64_FORMAT " for sample %" G_GINT64_FORMAT
                    ", but the bodies are numbered 0 … %" G_GINT64_FORMAT,
                    index[r], r, groups - 1);
        return LOOM_STATUS_NO_RESULT;
      }
  sort_rows (desc[0].dim[0], index, groups, out[0], out[1], out[2]);
  return LOOM_STATUS_OK;
}

const LoomPrim loom_prim_group_rows = { LOOM_PRIM_ROW ("group_rows", CORE, 3),
                                        .doc = "The order of rows by a number that each has.",
                                        LOOM_PRIM_ATTRS (LoomOrderAttrs, group_attrs),
                                        .infer = infer_groups,
                                        .gradient_is_zero = TRUE,
                                        .sharding = loom_shard_order,
                                        .flops = flops_none,
                                        .on_host = group_on_host };

/* ---- by tree level ---------------------------------------------------------- */

static gboolean
infer_levels (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  if (!loom_prim_arity (n_in, 1, why))
    return FALSE;
  if (in[0].dtype != LOOM_I64 || in[0].rank != 2)
    return loom_prim_refuse (why, "needs the parent (i64) of each node of each tree");
  set_outputs (out, n_out, 4, in[0].dim[0] * in[0].dim[1]);
  return TRUE;
}

/* Computes the level of each node, and its index among its parent's children; FALSE with a message. */
static gboolean
find_levels (gint64 trees, gint64 nodes, gint64 slots, const gint64 *parent, gint64 *level, gint64 *child,
             gint64 *children, LoomMessage *message)
{
  for (gint64 r = 0; r < trees * nodes; r++)
    level[r] = children[r] = 0;
  for (gint64 t = 0; t < trees; t++)
    for (gint64 i = 0; i < nodes; i++)
      {
        gint64 r = t * nodes + i, p = parent[r], to = t * nodes + p;

        child[r] = 0;
        if (p == -1)
          continue;
        if (p < -1 || p >= nodes)
          g_snprintf (message->text, sizeof message->text,
                      "the parent of node %" G_GINT64_FORMAT " in tree %" G_GINT64_FORMAT " is %" G_GINT64_FORMAT
                      ", but nodes are numbered 0 … %" G_GINT64_FORMAT ", and -1 means none",
                      i, t, p, nodes - 1);
        else if (p <= i)
          g_snprintf (message->text, sizeof message->text,
                      "the parent of node %" G_GINT64_FORMAT " in tree %" G_GINT64_FORMAT " is %" G_GINT64_FORMAT
                      ", but children must come before their parents",
                      i, t, p);
        else if (slots > 0 && children[to] == slots)
          g_snprintf (message->text, sizeof message->text,
                      "node %" G_GINT64_FORMAT " in tree %" G_GINT64_FORMAT
                      " has more children than its arity, %" G_GINT64_FORMAT ": node %" G_GINT64_FORMAT
                      " is one too many",
                      p, t, slots, i);
        else
          {
            child[r] = children[to]++;
            level[to] = MAX (level[to], level[r] + 1);
            continue;
          }
        return FALSE;
      }
  return TRUE;
}

static LoomStatus
level_on_host (const void *attrs, const LoomTensorDesc *desc, const void *const *in, void *const *out,
               LoomMessage *message)
{
  const gint64 *parent = in[0], trees = desc[0].dim[0], nodes = desc[0].dim[1], rows = trees * nodes;
  const gint64 slots = ((const LoomOrderAttrs *)attrs)->slots;
  g_autofree gint64 *level = g_new (gint64, rows + 1), *child = g_new (gint64, rows + 1);
  gint64 *order = out[0], *position = out[1], *group = out[2], *dest = out[3];

  if (!find_levels (trees, nodes, slots, parent, level, child, position, message))
    return LOOM_STATUS_NO_RESULT;
  sort_rows (rows, level, nodes, order, position, group);
  for (gint64 k = 0; k < rows; k++)
    {
      gint64 r = order[k], p = parent[r];

      if (p < 0)
        dest[k] = MAX (slots, 1) * rows;
      else
        dest[k] = (slots > 0 ? child[r] * rows : 0) + position[r - r % nodes + p];
    }
  return LOOM_STATUS_OK;
}

const LoomPrim loom_prim_level_rows = { LOOM_PRIM_ROW ("level_rows", CORE, 4),
                                        .doc = "The order of the nodes of trees by levels, from the leaves up.",
                                        LOOM_PRIM_ATTRS (LoomOrderAttrs, level_attrs),
                                        .infer = infer_levels,
                                        .gradient_is_zero = TRUE,
                                        .sharding = loom_shard_order,
                                        .flops = flops_none,
                                        .on_host = level_on_host };
