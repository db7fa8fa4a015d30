/* The primitives `switch` (runs one of several bodies) and `visit` (runs a body for each group of rows), which choose
 * bodies by data: branches for samples, and a module for trees, level by level. Their gradient is in
 * visit-gradient.c. */
#include "engine/program/partition-sharding.h"
#include "engine/program/program-visit.h"

static gboolean
is_visit (const LoomVisitAttrs *a)
{
  return a->n_sizes > 0;
}

/* TRUE if d has `rows` rows of the type of `body`, a description of `size` rows. */
static gboolean
is_rows (const LoomTensorDesc *d, gint64 rows, const LoomTensorDesc *body, gint64 size)
{
  LoomTensorDesc want = *body;

  if (body->rank < 1 || body->dim[0] != size)
    return FALSE;
  want.dim[0] = rows;
  return d->dtype == want.dtype && loom_desc_same_shape (d, &want);
}

static gboolean
is_same (const LoomTensorDesc *a, const LoomTensorDesc *b)
{
  return a->dtype == b->dtype && loom_desc_same_shape (a, b);
}

static const LoomTensorDesc *
input_desc (const LoomProgram *p, guint i)
{
  return value_desc (p, loom_program_get_input (p, i)->value);
}

static const LoomTensorDesc *
output_desc (const LoomProgram *p, guint o)
{
  return value_desc (p, loom_program_get_output (p, o)->value);
}

static gboolean
check_inputs (const LoomVisitAttrs *a, const LoomProgram *body, gint64 size, const LoomTensorDesc *in, char **why)
{
  guint n = visit_n_inputs (a), links = visit_n_links_in (a);

  for (guint i = 0; i < n; i++)
    {
      const LoomTensorDesc *d = input_desc (body, i);
      gboolean fits;

      if (i < a->n_rows)
        fits = is_rows (&in[visit_operand (a, i)], a->size[0], d, size);
      else if (i < a->n_rows + links)
        fits = loom_dtype_is_float (d->dtype) && d->rank > 0 && d->dim[0] == size;
      else
        fits = is_same (&in[visit_operand (a, i)], d);
      if (!fits)
        {
          g_autofree char *wanted = loom_desc_to_string (d);

          return loom_prim_refuse (why, "has a body with input %u of type %s, for which there is no operand", i,
                                   wanted);
        }
    }
  return TRUE;
}

static gboolean
check_outputs (const LoomVisitAttrs *a, const LoomProgram *body, gint64 size, const LoomTensorDesc *out, char **why)
{
  guint links = visit_n_links_out (a), n = visit_n_outputs (a), first = a->down ? a->slots : 1;
  guint per = a->down ? 1 : a->slots;

  for (guint o = 0; o < n; o++)
    {
      const LoomTensorDesc *d = output_desc (body, o);
      gboolean fits;

      if (o < links)
        fits = is_same (d, input_desc (body, a->n_rows + o / first * per));
      else if (o < links + a->n_sums)
        fits = is_same (d, &out[o - links]);
      else
        fits = is_rows (&out[o - links], a->size[0], d, size);
      if (!fits)
        {
          g_autofree char *made = loom_desc_to_string (d);

          return loom_prim_refuse (why, "has a body with output %u of type %s, which differs from the others", o, made);
        }
    }
  return TRUE;
}

static gboolean
check_leading (const LoomVisitAttrs *a, guint n_in, const LoomTensorDesc *in, char **why)
{
  if (n_in != visit_n_leading (a) + a->n_rows + a->n_whole)
    return loom_prim_refuse (why, "has %u operands, which do not match its bodies", n_in);
  if (in[0].dtype != LOOM_I64 || in[0].rank != is_visit (a) || (is_visit (a) && in[0].dim[0] != a->size[0]))
    return loom_prim_refuse (why, "needs an i64 for each row, or one in all");
  if (a->n_links > 0 && (in[1].dtype != LOOM_I64 || !loom_desc_same_shape (&in[0], &in[1])))
    return loom_prim_refuse (why, "needs the position (i64) of each row's parent");
  for (guint k = 0; k < a->n_counters; k++)
    if (in[visit_n_leading (a) + a->n_rows + k].dtype != LOOM_I64 || in[visit_n_leading (a) + a->n_rows + k].rank != 0)
      return loom_prim_refuse (why, "counts by one i64");
  return TRUE;
}

static gboolean
infer_visit (const void *attrs, guint n_in, const LoomTensorDesc *in, LoomTensorDesc *out, guint *n_out, char **why)
{
  const LoomVisitAttrs *a = attrs;
  guint links = visit_n_links_out (a);

  if (a->n_branches < 1 || visit_n_bodies (a) > LOOM_VISIT_MAX_BODIES || a->n_sizes > LOOM_VISIT_MAX_SIZES
      || (a->n_links > 0 && a->slots < 1) || a->n_zeroed > a->n_rows)
    return loom_prim_refuse (why, "has no bodies");
  for (guint k = 0; k < visit_n_bodies (a); k++)
    if (loom_program_n_slots (a->body[k]) > 0 || loom_program_n_inputs (a->body[k]) != visit_n_inputs (a)
        || loom_program_n_outputs (a->body[k]) != visit_n_outputs (a))
      return loom_prim_refuse (why, "has a body with state, or with other inputs and outputs than it has itself");
  if (!check_leading (a, n_in, in, why))
    return FALSE;
  for (guint o = links; o < visit_n_outputs (a); o++)
    {
      LoomTensorDesc *d = &out[o - links];

      *d = *output_desc (a->body[0], o);
      if (o >= links + a->n_sums && d->rank > 0)
        d->dim[0] = a->size[0];
    }
  for (guint k = 0; k < visit_n_bodies (a); k++)
    {
      gint64 size = a->size[k / a->n_branches];

      if (!check_inputs (a, a->body[k], size, in, why) || !check_outputs (a, a->body[k], size, out, why))
        return FALSE;
    }
  *n_out = a->n_sums + a->n_row_results;
  return TRUE;
}

static void
describe_visit (GString *text, const void *attrs)
{
  const LoomVisitAttrs *a = attrs;

  g_string_append_printf (text, "bodies=%u instructions=", a->n_branches);
  for (guint b = 0; b < a->n_branches; b++)
    g_string_append_printf (text, "%s%u", b > 0 ? "," : "", loom_program_n_instrs (a->body[b]));
  if (is_visit (a))
    g_string_append_printf (text, " rows=%u links=%u%s", a->n_rows, a->n_links, a->down ? " down" : "");
  for (guint k = 0; k < a->n_sizes; k++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, k > 0 ? "," : " sizes=", a->size[k]);
}

/* Each row is visited once; branches are assumed to be chosen equally often. */
static double
flops_visit (const void *attrs, guint n_in, const LoomTensorDesc *in, const LoomTensorDesc *out)
{
  const LoomVisitAttrs *a = attrs;
  double sum = 0;

  for (guint b = 0; b < a->n_branches; b++)
    sum += loom_program_flops (a->body[b]);
  return sum / a->n_branches;
}

static const LoomAttr visit_attrs[]
    = { LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_branches),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_sizes),
        LOOM_ATTR_ARRAY (NULL, PROGRAM, LoomVisitAttrs, body),
        LOOM_ATTR_ARRAY (NULL, INT, LoomVisitAttrs, size, LOOM_ATTR_USED (LoomVisitAttrs, n_sizes)),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_zeroed),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_rows),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_links),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_counters),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_whole),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, slots),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_sums),
        LOOM_ATTR (NULL, INT, LoomVisitAttrs, n_row_results),
        LOOM_ATTR (NULL, FLAG, LoomVisitAttrs, levels),
        LOOM_ATTR (NULL, FLAG, LoomVisitAttrs, down),
        LOOM_ATTR (NULL, FLAG, LoomVisitAttrs, is_gradient),
        LOOM_ATTR (NULL, FLAG, LoomVisitAttrs, recompute),
        LOOM_ATTR_LAST };

static LoomProgram **
bodies_of_visit (gpointer attrs, guint *n)
{
  *n = visit_n_bodies (attrs);
  return ((LoomVisitAttrs *)attrs)->body;
}

static guint
distinct_of_visit (gconstpointer attrs)
{
  return ((const LoomVisitAttrs *)attrs)->n_branches;
}

const LoomPrim loom_prim_switch = { .name = "switch",
                                    .doc = "Runs the body with the given number.",
                                    .tier = LOOM_TIER_CORE,
                                    LOOM_PRIM_ATTRS (LoomVisitAttrs, visit_attrs),
                                    .infer = infer_visit,
                                    .gradient = loom_visit_gradient,
                                    .describe = describe_visit,
                                    .flops = flops_visit,
                                    .precision = LOOM_PRECISION_F32,
                                    .bodies = bodies_of_visit,
                                    .n_distinct = distinct_of_visit };

const LoomPrim loom_prim_visit
    = { .name = "visit",
        .doc = "Runs a body for each group of rows: those that chose it, or a level of trees.",
        .tier = LOOM_TIER_CORE,
        LOOM_PRIM_ATTRS (LoomVisitAttrs, visit_attrs),
        .infer = infer_visit,
        .gradient = loom_visit_gradient,
        .sharding = loom_shard_visit,
        .describe = describe_visit,
        .flops = flops_visit,
        .precision = LOOM_PRECISION_F32,
        .bodies = bodies_of_visit,
        .n_distinct = distinct_of_visit };
