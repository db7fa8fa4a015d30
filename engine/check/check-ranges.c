/* Derives the range of each operand from the instructions that read it.
 *
 * Instructions are walked from the last one, so that a range reaches the operand through views, copies and
 * rearrangements. Weights of products in a loop are so small that each iteration halves differences, or a long loop
 * would amplify roundings without limit. */
#include "engine/check/check-operands.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const LoomProgram *program;
  const LoomValue *number;
  CheckRange *range;
  gboolean in_loop; /* the program is a loop's body */
} Ranges;

static const LoomTensorDesc *
desc_of (const Ranges *r, LoomValue v)
{
  return &loom_value_info (r->program, v)->desc;
}

static CheckRange *
range_of (const Ranges *r, LoomValue v)
{
  return &r->range[r->number != NULL ? r->number[v] : v];
}

/* Of two indices the smaller bound holds; otherwise the first range stays. */
static void
limit (const Ranges *r, const LoomInstr *instr, guint k, CheckRange range)
{
  CheckRange *have;

  if (k >= instr->n_in || instr->in[k] == 0)
    return;
  have = range_of (r, instr->in[k]);
  range.scale = have->scale == 0 ? range.scale : range.scale == 0 ? have->scale : MIN (have->scale, range.scale);
  have->scale = range.scale;
  if (have->kind == CHECK_RANGE_ANY)
    *have = range;
  else if (have->kind == CHECK_RANGE_INDEX && range.kind == CHECK_RANGE_INDEX)
    {
      have->low = MAX (have->low, range.low);
      have->high = MIN (have->high, range.high);
    }
}

static CheckRange
below (gint64 n)
{
  return (CheckRange){ .kind = CHECK_RANGE_INDEX, .high = n, .ignored = G_MAXINT64 };
}

static const CheckRange positive = { .kind = CHECK_RANGE_POSITIVE }, truth = { .kind = CHECK_RANGE_TRUE };

/* ---- by primitive ------------------------------------------------------------------- */

static void
limit_gather_rows (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 1, below (desc_of (r, instr->in[0])->dim[0]));
}

static void
limit_scatter_add_rows (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 0, below (((const LoomScatterTo *)instr->attrs)->rows));
}

static void
limit_gather (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 1, below (desc_of (r, instr->in[0])->dim[((const LoomGatherAttrs *)instr->attrs)->axis]));
}

static void
limit_scatter (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 1, below (desc_of (r, instr->in[0])->dim[((const LoomScatterAttrs *)instr->attrs)->axis]));
}

static void
limit_target (const Ranges *r, const LoomInstr *instr)
{
  const LoomCrossEntropyAttrs *a = instr->attrs;
  CheckRange range = below (a->classes != 0 ? a->classes : desc_of (r, instr->in[0])->dim[1]);

  range.ignored = a->ignore_index;
  limit (r, instr, 1, range);
}

static void
limit_window (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 1, (CheckRange){ .kind = CHECK_RANGE_WINDOW, .window = instr->attrs });
}

static void
limit_variance (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, strcmp (instr->prim->name, "batch_norm_apply") == 0 ? 2 : 3, positive);
}

static void
limit_cache (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 5, below (desc_of (r, instr->in[3])->dim[2] - desc_of (r, instr->in[0])->dim[2] + 1));
}

/* The position of the first random number of each head, if weights are dropped: the last operand. */
static void
limit_attention (const Ranges *r, const LoomInstr *instr)
{
  if (instr->prim->draws != NULL && instr->prim->draws (instr->attrs))
    limit (r, instr, loom_instr_n_operands (instr) - 1, below (1 << 24));
}

static void
limit_require (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 1, truth);
}

static void
limit_gate (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 0, truth);
  limit (r, instr, 1, truth);
}

static void
limit_symmetric (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 0, (CheckRange){ .kind = CHECK_RANGE_SYMMETRIC });
}

static void
limit_diagonal (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 0, (CheckRange){ .kind = CHECK_RANGE_TRIANGULAR });
}

/* An optimizer's step: parameters, gradients, states, scalars, of which the last three are grad_scale, finite, step. */
static void
limit_step (const Ranges *r, const LoomInstr *instr)
{
  const guint n = (guint) * (const int *)instr->attrs;

  for (guint k = 2 * n; k < instr->n_in; k++)
    limit (r, instr, k,
           k + 2 == instr->n_in ? truth
           : k + 1 == instr->n_in
               ? (CheckRange){ .kind = CHECK_RANGE_INDEX, .low = 1, .high = 4, .ignored = G_MAXINT64 }
               : positive);
}

static void
limit_group_rows (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 0, below (((const LoomOrderAttrs *)instr->attrs)->groups));
}

static void
limit_level_rows (const Ranges *r, const LoomInstr *instr)
{
  limit (r, instr, 0, (CheckRange){ .kind = CHECK_RANGE_CHAIN });
}

/* A random matrix of n rows, whose elements have this deviation, has about half the norm 1. */
static void
limit_product (const Ranges *r, const LoomInstr *instr)
{
  for (guint k = 0; k < 2 && r->in_loop; k++)
    {
      const LoomTensorDesc *d = desc_of (r, instr->in[k]);
      const gint64 n = d->rank > 1 ? MAX (d->dim[d->rank - 1], d->dim[d->rank - 2]) : 1;

      limit (r, instr, k, (CheckRange){ .scale = 0.25 / sqrt ((double)MAX (n, 1)) });
    }
}

/* ---- bodies ---------------------------------------------------------------------------- */

static CheckRange *
ranges_new (const LoomProgram *program, const GArray *steps, const LoomValue *number, gboolean in_loop);

/* Passes the ranges of a body's inputs from `first` on to the operands from `to` on. */
static void
limit_body (const Ranges *r, const LoomInstr *instr, const LoomProgram *body, guint first, guint n, guint to)
{
  const gboolean is_loop = (instr->prim->flags & LOOM_PRIM_LOOP) != 0;
  const LoomScanAttrs *scan = is_loop ? instr->attrs : NULL;
  g_autofree CheckRange *inner = ranges_new (body, NULL, NULL, is_loop || r->in_loop);

  for (guint i = 0; i < n && first + i < loom_program_n_inputs (body); i++)
    {
      CheckRange range = inner[loom_program_get_input (body, first + i)->value];

      if (range.kind != CHECK_RANGE_INDEX && range.kind != CHECK_RANGE_POSITIVE && range.kind != CHECK_RANGE_TRUE
          && range.kind != CHECK_RANGE_WINDOW && range.kind != CHECK_RANGE_LEVELS && range.kind != CHECK_RANGE_PARENTS)
        range = (CheckRange){ .scale = range.scale };
      if (is_loop && i < scan->n_carried + scan->n_sequences)
        range.scale = 0;
      if (range.kind != CHECK_RANGE_ANY || range.scale > 0)
        limit (r, instr, to + i, range);
    }
}

static void
limit_scan (const Ranges *r, const LoomInstr *instr)
{
  const LoomScanAttrs *a = instr->attrs;

  limit_body (r, instr, a->body, 0, instr->n_in, 0);
}

static void
limit_visit (const Ranges *r, const LoomInstr *instr)
{
  const LoomVisitAttrs *a = instr->attrs;
  const guint leading = a->n_links > 0 ? 2 : 1, links = a->n_links * (a->down ? 1 : a->slots);

  if (a->n_sizes == 0)
    limit (r, instr, 0, below (a->n_branches));
  else
    limit (r, instr, 0, (CheckRange){ .kind = CHECK_RANGE_LEVELS, .high = a->levels ? 3 : (gint64)a->n_branches });
  if (a->n_links > 0)
    limit (r, instr, 1, (CheckRange){ .kind = CHECK_RANGE_PARENTS, .high = (gint64)a->slots * a->size[0] });
  for (guint b = 0; b < MAX (a->n_sizes, 1) * a->n_branches; b++)
    {
      limit_body (r, instr, a->body[b], 0, a->n_rows, leading);
      limit_body (r, instr, a->body[b], a->n_rows + links, a->n_whole, leading + a->n_rows);
    }
}

static const struct
{
  const char *prim;
  void (*limit) (const Ranges *r, const LoomInstr *instr);
} limits[] = {
  { "gather_rows", limit_gather_rows },
  { "scatter_add_rows", limit_scatter_add_rows },
  { "gather", limit_gather },
  { "scatter", limit_scatter },
  { "cross_entropy", limit_target },
  { "cross_entropy_grad", limit_target },
  { "max_pool2d_grad", limit_window },
  { "batch_norm_apply", limit_variance },
  { "batch_norm_grad", limit_variance },
  { "layer_norm_grad", limit_variance },
  { "attention", limit_attention },
  { "attention_grad", limit_attention },
  { "attention_cached", limit_cache },
  { "require", limit_require },
  { "update_gate", limit_gate },
  { "cholesky", limit_symmetric },
  { "triangular_solve", limit_diagonal },
  { "solve", limit_diagonal },
  { "group_rows", limit_group_rows },
  { "level_rows", limit_level_rows },
  { "matmul", limit_product },
  { "scan", limit_scan },
  { "switch", limit_visit },
  { "visit", limit_visit },
};

/* ---- the walk ------------------------------------------------------------------------------ */

/* TRUE if each element of an integer result is one of the integer operands'. */
static gboolean
chooses (const LoomInstr *instr)
{
  return (instr->prim->flags & LOOM_PRIM_ELEMENTWISE) != 0
         && (instr->prim->scalar == LOOM_SCALAR_MAX || instr->prim->scalar == LOOM_SCALAR_MIN
             || instr->prim->scalar == LOOM_SCALAR_SELECT);
}

/* The number of leading operands whose elements are among those of the result, in any order. */
static guint
n_passed (const LoomInstr *instr)
{
  if (chooses (instr))
    return instr->n_in;
  if (strcmp (instr->prim->name, "concat") == 0)
    return instr->n_in;
  return (instr->prim->flags & (LOOM_PRIM_REARRANGES | LOOM_PRIM_CONVERTS)) != 0 || instr->prim->view != LOOM_VIEW_NEVER
             ? MIN (instr->n_in, 1)
             : 0;
}

static void
pass_on (const Ranges *r, const LoomInstr *instr)
{
  CheckRange range
      = instr->n_out > 0 && instr->out[0] != 0 ? *range_of (r, instr->out[0]) : (CheckRange){ .kind = CHECK_RANGE_ANY };
  const guint n = n_passed (instr);

  if ((range.kind > CHECK_RANGE_TRUE && instr->prim->view == LOOM_VIEW_NEVER)
      || (chooses (instr) && range.kind != CHECK_RANGE_INDEX))
    range = (CheckRange){ .scale = range.scale };
  if (range.kind == CHECK_RANGE_ANY && range.scale == 0)
    return;
  for (guint k = 0; k < n; k++)
    if (!chooses (instr) || desc_of (r, instr->in[k])->dtype == desc_of (r, instr->out[0])->dtype)
      limit (r, instr, k, range);
}

static void
limit_operands (const Ranges *r, const LoomInstr *instr)
{
  pass_on (r, instr);
  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    if (strcmp (limits[i].prim, instr->prim->name) == 0)
      limits[i].limit (r, instr);
  if (g_str_has_suffix (instr->prim->name, "_step") && instr->prim->updates != NULL)
    limit_step (r, instr);
}

static CheckRange *
ranges_new (const LoomProgram *program, const GArray *steps, const LoomValue *number, gboolean in_loop)
{
  Ranges r = { program, number, g_new0 (CheckRange, loom_program_n_values (program) + 1), in_loop };

  for (guint i = steps != NULL ? steps->len : loom_program_n_instrs (program); i-- > 0;)
    limit_operands (&r, loom_program_instr (program, steps != NULL ? g_array_index (steps, guint, i) : i));
  return r.range;
}

CheckRange *
check_ranges_new (const LoomProgram *program, const GArray *steps, const LoomValue *number)
{
  return ranges_new (program, steps, number, FALSE);
}
