/* Detects whether a program mixes positions of a sequence: finds the sequence axis of each value, and the instructions
 * that combine elements along it.
 *
 * Shape rules are not repeated here: the net is lowered for two lengths, and the axis whose size differs is the
 * sequence axis. A rule per primitive decides whether it keeps positions separate; a primitive without a rule mixes
 * them. Rules for new primitives belong in the table `rules`. */
#include "engine/program/loom-position-mixing.h"
#include "engine/program/prim-private.h"

#include <string.h>

#define NO_AXIS (-1)
#define UNCLEAR (-2) /* several axes differ, or an axis does not differ in proportion to the lengths */

typedef struct
{
  const LoomProgram *a;
  int *axis; /* by value: its sequence axis */
} Sequence;

/* An instruction, as a rule sees it. */
typedef struct
{
  const LoomInstr *instr;
  const LoomTensorDesc *in[8], *out; /* the first operands, and the first result */
  int axis[8], to;                   /* their sequence axes */
} Call;

/* A rule: TRUE if positions stay separate. At least one operand or result has a sequence axis, and none is UNCLEAR. */
typedef gboolean (*Rule) (const Call *c);

/* ---- values ------------------------------------------------------------------- */

static int
axis_of (const LoomTensorDesc *a, gint64 n_a, const LoomTensorDesc *b, gint64 n_b)
{
  int axis = NO_AXIS;

  if (a->rank != b->rank)
    return UNCLEAR;
  for (int i = 0; i < a->rank; i++)
    {
      if (a->dim[i] == b->dim[i])
        continue;
      if (axis != NO_AXIS || a->dim[i] % n_a != 0 || a->dim[i] / n_a * n_b != b->dim[i])
        return UNCLEAR;
      axis = i;
    }
  return axis;
}

/* The number of elements before an axis. */
static gint64
before (const LoomTensorDesc *d, int axis)
{
  gint64 n = 1;

  for (int i = 0; i < axis; i++)
    n *= d->dim[i];
  return n;
}

/* ---- rules ---------------------------------------------------------------------- */

static gboolean
always (const Call *c)
{
  return c->to != NO_AXIS;
}

/* Axes are matched from the last one on. */
static gboolean
element_wise (const Call *c)
{
  for (guint k = 0; k < c->instr->n_in && k < G_N_ELEMENTS (c->in); k++)
    if (c->axis[k] >= 0 && c->in[k]->rank - c->axis[k] != c->out->rank - c->to)
      return FALSE;
  return c->to >= 0 && c->instr->n_in <= G_N_ELEMENTS (c->in);
}

static gboolean
matmul (const Call *c)
{
  const LoomMatmulAttrs *attrs = c->instr->attrs;
  int summed_a = c->in[0]->rank - (attrs->trans_a ? 2 : 1), summed_b = c->in[1]->rank - (attrs->trans_b ? 1 : 2);

  return c->to >= 0 && c->axis[0] != summed_a && c->axis[1] != summed_b
         && (c->axis[0] < 0 || c->axis[1] < 0 || (c->axis[0] < c->in[0]->rank - 2 && c->axis[1] < c->in[1]->rank - 2))
         && (c->instr->n_in < 3 || c->instr->in[2] == 0 || c->axis[2] == NO_AXIS);
}

static gboolean
reduce (const Call *c)
{
  const LoomReduceAttrs *attrs = c->instr->attrs;

  return c->axis[0] >= 0 && !(attrs->axes >> c->axis[0] & 1);
}

/* For primitives that work along one axis and have operands of the result's rank. */
static gboolean
along (const Call *c, int axis)
{
  for (guint k = 0; k < c->instr->n_in && k < G_N_ELEMENTS (c->in); k++)
    if (c->axis[k] != c->to)
      return FALSE;
  return c->to >= 0 && c->to != axis && c->instr->n_in <= G_N_ELEMENTS (c->in);
}

#define ALONG(name, Attrs)                                                                                             \
  static gboolean name (const Call *c)                                                                                 \
  {                                                                                                                    \
    return along (c, (int)((const Attrs *)c->instr->attrs)->axis);                                                     \
  }
ALONG (softmax, LoomSoftmaxAttrs)
ALONG (argreduce, LoomArgReduceAttrs)
ALONG (gather, LoomGatherAttrs)
ALONG (sort, LoomSortAttrs)
ALONG (cumsum, LoomCumsumAttrs)
ALONG (concat, LoomConcatAttrs)

static gboolean
layer_norm (const Call *c)
{
  const LoomNormAttrs *attrs = c->instr->attrs;

  return c->axis[0] >= 0 && c->axis[0] < c->in[0]->rank - attrs->axes;
}

/* Channels are axis 1, and each has its own parameters. */
static gboolean
by_channel (const Call *c)
{
  for (guint k = 1; k < c->instr->n_in && k < G_N_ELEMENTS (c->in); k++)
    if (c->axis[k] != NO_AXIS)
      return FALSE;
  return c->axis[0] >= 0 && c->axis[0] != 1;
}

/* Samples are axis 0. */
static gboolean
by_sample (const Call *c)
{
  for (guint k = 1; k < c->instr->n_in && k < G_N_ELEMENTS (c->in); k++)
    if (c->axis[k] != NO_AXIS)
      return FALSE;
  return c->axis[0] == 0;
}

static gboolean
gather_rows (const Call *c)
{
  return c->axis[0] == NO_AXIS;
}

/* Positions keep their order if the same number of elements precedes the axis. */
static gboolean
reshape (const Call *c)
{
  return c->axis[0] >= 0 && c->to >= 0 && before (c->in[0], c->axis[0]) == before (c->out, c->to);
}

/* A slice must take all positions; a result with equally many elements of another axis does not count. */
static gboolean
slice (const Call *c)
{
  const LoomSliceAttrs *attrs = c->instr->attrs;

  return c->axis[0] >= 0 && c->to == c->axis[0] && attrs->start[c->to] == 0 && attrs->step[c->to] == 1
         && c->out->dim[c->to] == c->in[0]->dim[c->to];
}

static gboolean
pad (const Call *c)
{
  return c->axis[0] >= 0 && c->to == c->axis[0] && c->out->dim[c->to] == c->in[0]->dim[c->to];
}

static gboolean
iota (const Call *c)
{
  return c->to >= 0 && c->to != ((const LoomIotaAttrs *)c->instr->attrs)->axis;
}

/* Queries at positions attend to keys without a sequence axis. */
static gboolean
attention (const Call *c)
{
  return c->axis[0] == 2 && c->axis[1] == NO_AXIS && c->axis[2] == NO_AXIS
         && (c->instr->n_in < 4 || c->instr->in[3] == 0 || c->axis[3] == NO_AXIS || c->axis[3] == 2);
}

static const struct
{
  const char *prim;
  Rule rule;
} rules[] = {
  { "matmul", matmul },
  { "reduce", reduce },
  { "softmax", softmax },
  { "argreduce", argreduce },
  { "gather", gather },
  { "sort", sort },
  { "cumsum", cumsum },
  { "concat", concat },
  { "layer_norm", layer_norm },
  { "batch_norm_apply", by_channel },
  { "conv2d", by_sample },
  { "max_pool2d", by_sample },
  { "avg_pool2d", by_sample },
  { "gather_rows", gather_rows },
  { "reshape", reshape },
  { "slice", slice },
  { "pad", pad },
  { "iota", iota },
  { "attention", attention },
  { "permute", always },
  { "copy", always },
  { "detach", always },
  { "expand", always },
  { "fill", always },
  { "require", always },
};

/* ---- instructions ----------------------------------------------------------------- */

/* TRUE for a node that stores what it needs of earlier positions (`keepers`), if only its loop, which iterates over
 * positions, has a sequence axis. */
static gboolean
is_trusted (const Sequence *w, const LoomInstr *instr, GHashTable *keepers)
{
  const LoomScanAttrs *scan = instr->attrs;

  if (keepers == NULL || instr->origin == NULL || !g_hash_table_contains (keepers, instr->origin))
    return FALSE;
  if ((instr->prim->flags & LOOM_PRIM_LOOP) == 0)
    return TRUE;
  for (guint k = 0; k < instr->n_in; k++)
    {
      gboolean steps = k >= scan->n_carried && k < scan->n_carried + scan->n_sequences;

      if (w->axis[instr->in[k]] != (steps ? 0 : NO_AXIS))
        return FALSE;
    }
  return TRUE;
}

static gboolean
keeps_apart (const Sequence *w, const LoomInstr *instr)
{
  Call c = { .instr = instr, .to = NO_AXIS };
  gboolean some = FALSE;

  for (guint k = 0; k < instr->n_in; k++)
    {
      int axis = w->axis[instr->in[k]];

      if (axis == UNCLEAR)
        return FALSE;
      some = some || axis >= 0;
      if (k < G_N_ELEMENTS (c.in))
        {
          c.axis[k] = axis;
          c.in[k] = instr->in[k] != 0 ? value_desc (w->a, instr->in[k]) : NULL;
        }
    }
  for (guint k = instr->n_out; k-- > 0;)
    {
      if (instr->out[k] == 0)
        continue;
      if (w->axis[instr->out[k]] == UNCLEAR)
        return FALSE;
      some = some || w->axis[instr->out[k]] >= 0;
      c.to = w->axis[instr->out[k]];
      c.out = value_desc (w->a, instr->out[k]);
    }
  if (!some)
    return TRUE;
  if (c.out == NULL)
    return FALSE;
  if (instr->prim->flags & LOOM_PRIM_ELEMENTWISE)
    return element_wise (&c);
  for (gsize i = 0; i < G_N_ELEMENTS (rules); i++)
    if (g_str_equal (rules[i].prim, instr->prim->name))
      return rules[i].rule (&c);
  return FALSE;
}

/* TRUE if both programs have the same instructions and the same state. */
static gboolean
are_alike (const LoomProgram *a, const LoomProgram *b)
{
  if (loom_program_n_values (a) != loom_program_n_values (b) || loom_program_n_instrs (a) != loom_program_n_instrs (b)
      || loom_program_n_slots (a) != loom_program_n_slots (b))
    return FALSE;
  for (guint i = 0; i < loom_program_n_instrs (a); i++)
    {
      const LoomInstr *x = loom_program_instr (a, i), *y = loom_program_instr (b, i);

      if (x->prim != y->prim || x->n_in != y->n_in || x->n_out != y->n_out
          || (x->n_in > 0 && memcmp (x->in, y->in, x->n_in * sizeof *x->in) != 0)
          || (x->n_out > 0 && memcmp (x->out, y->out, x->n_out * sizeof *x->out) != 0))
        return FALSE;
    }
  for (guint i = 0; i < loom_program_n_slots (a); i++)
    {
      const LoomSlot *x = loom_program_get_slot (a, i), *y = loom_program_get_slot (b, i);

      if (!g_str_equal (x->name, y->name) || x->rank != y->rank
          || memcmp (x->dim, y->dim, (gsize)x->rank * sizeof *x->dim) != 0)
        return FALSE;
    }
  return TRUE;
}

char *
loom_program_find_position_mixing (const LoomProgram *a, gint64 n_a, const LoomProgram *b, gint64 n_b,
                                   GHashTable *keepers)
{
  g_autofree int *axis = g_new (int, loom_program_n_values (a) + 1);
  Sequence w = { a, axis };

  g_return_val_if_fail (n_a > 0 && n_b > 0 && n_a != n_b, NULL);

  if (!are_alike (a, b))
    return g_strdup ("the structure of the net depends on the length");
  axis[0] = NO_AXIS; /* the operand is absent */
  for (LoomValue v = 1; v <= loom_program_n_values (a); v++)
    axis[v] = axis_of (value_desc (a, v), n_a, value_desc (b, v), n_b);
  for (guint i = 0; i < loom_program_n_instrs (a); i++)
    {
      const LoomInstr *instr = loom_program_instr (a, i);

      if (!is_trusted (&w, instr, keepers) && !keeps_apart (&w, instr))
        return g_strdup_printf ("“%s” (%s) mixes positions", instr->origin != NULL ? instr->origin : "the net",
                                instr->prim->name);
    }
  return NULL;
}
