/* Compares two pieces instruction by instruction, with a table of which values of one are which values of the other.
 *
 * A network of equal layers has the same piece once per layer, ranks have the same pieces, and evaluating takes most of
 * a check's time. Whatever is
 * not compared here counts as different, which costs only time. */
#include "engine/check/check-alike.h"
#include "engine/check/check-private.h"

#include <string.h>

/* Which number of the second piece a number of the first one is, and the other way round: one table each for roots of
 * the plan, for values of the program, and for streams of random numbers. */
typedef struct
{
  GHashTable *forth, *back;
} Pairs;

typedef struct
{
  const CheckPieces *of_a, *of_b;
  const CheckPiece *a, *b;
  Pairs roots, values, streams;
} Alike;

static Pairs
pairs_new (void)
{
  return (Pairs){ g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free),
                  g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free) };
}

static void
pairs_free (Pairs *pairs)
{
  g_hash_table_unref (pairs->forth);
  g_hash_table_unref (pairs->back);
}

/* TRUE if x and y are a pair, or neither has another partner yet. */
static gboolean
are_paired (Pairs *pairs, guint64 x, guint64 y)
{
  const guint64 *to = g_hash_table_lookup (pairs->forth, &x), *from = g_hash_table_lookup (pairs->back, &y);

  if (to != NULL || from != NULL)
    return to != NULL && from != NULL && *to == y && *from == x;
  g_hash_table_insert (pairs->forth, g_memdup2 (&x, sizeof x), g_memdup2 (&y, sizeof y));
  g_hash_table_insert (pairs->back, g_memdup2 (&y, sizeof y), g_memdup2 (&x, sizeof x));
  return TRUE;
}

/* ---- attributes --------------------------------------------------------------------- */

static gboolean
same_parts (const LoomElementwisePart *a, const LoomElementwisePart *b, int n)
{
  for (int i = 0; i < n; i++)
    if (a[i].tensor != b[i].tensor || a[i].reg != b[i].reg || a[i].axis != b[i].axis || a[i].start != b[i].start
        || a[i].length != b[i].length)
      return FALSE;
  return TRUE;
}

static gboolean
same_elementwise (const LoomElementwiseAttrs *a, const LoomElementwiseAttrs *b)
{
  if (a->compute != b->compute || a->n_steps != b->n_steps || a->n_in_parts != b->n_in_parts
      || a->n_out_parts != b->n_out_parts || memcmp (a->out, b->out, sizeof a->out) != 0)
    return FALSE;
  for (int i = 0; i < a->n_steps; i++)
    if (a->step[i].op != b->step[i].op || memcmp (a->step[i].arg, b->step[i].arg, sizeof a->step[i].arg) != 0
        || a->step[i].round != b->step[i].round
        || memcmp (&a->step[i].imm, &b->step[i].imm, sizeof a->step[i].imm) != 0)
      return FALSE;
  return same_parts (a->in_part, b->in_part, a->n_in_parts) && same_parts (a->out_part, b->out_part, a->n_out_parts);
}

gboolean
check_same_attrs (const char *primitive, const void *a, const void *b)
{
  const LoomPrim *prim = loom_prim (primitive);

  if (strcmp (primitive, "elementwise") == 0)
    return same_elementwise (a, b);
  return prim != NULL && loom_prim_same_attrs (prim, a, b);
}

/* Draws of two nodes have two streams, and are otherwise the same. */
static gboolean
same_attrs (Alike *self, const char *primitive, const void *a, const void *b)
{
  const LoomRandomAttrs *x = a, *y = b;

  if (strcmp (primitive, "random") == 0)
    return x->kind == y->kind && are_paired (&self->streams, x->stream, y->stream);
  return check_same_attrs (primitive, a, b);
}

/* TRUE if the devices with this index are the same one. */
static gboolean
same_device (Alike *self, guint a, guint b)
{
  if (a >= loom_plan_n_devices (self->of_a->plan) || b >= loom_plan_n_devices (self->of_b->plan))
    return a == b;
  return strcmp (loom_plan_device (self->of_a->plan, a)->name, loom_plan_device (self->of_b->plan, b)->name) == 0;
}

/* ---- the plan's instructions ----------------------------------------------------------- */

static gboolean
same_root (Alike *self, guint x, guint y)
{
  if (x == G_MAXUINT || y == G_MAXUINT)
    return x == y;
  return are_paired (&self->roots, x, y)
         && check_same_desc (&loom_plan_value (self->of_a->plan, x)->desc,
                             &loom_plan_value (self->of_b->plan, y)->desc);
}

static gboolean
shares_bytes (const LoomPlan *plan, guint v, guint w)
{
  const LoomLocation *a = &loom_plan_value (plan, v)->location, *b = &loom_plan_value (plan, w)->location;

  return a->kind == b->kind && a->device == b->device && a->offset == b->offset && a->index == b->index;
}

/* Results are stored over the same operands. */
static gboolean
same_places (Alike *self, const LoomPlanInstr *a, const LoomPlanInstr *b)
{
  const LoomPlan *plan = self->of_a->plan, *other = self->of_b->plan;

  for (guint o = a->n_in; o < a->n_in + a->n_out; o++)
    for (guint k = 0; k < o; k++)
      if (a->value[o] != G_MAXUINT && a->value[k] != G_MAXUINT
          && shares_bytes (plan, a->value[o], a->value[k]) != shares_bytes (other, b->value[o], b->value[k]))
        return FALSE;
  return TRUE;
}

static gboolean
same_value (Alike *self, guint x, guint y)
{
  const LoomPlanValue *a, *b;

  if (x == G_MAXUINT || y == G_MAXUINT)
    return x == y;
  a = loom_plan_value (self->of_a->plan, x);
  b = loom_plan_value (self->of_b->plan, y);
  return a->location.kind == b->location.kind && same_device (self, a->location.device, b->location.device)
         && check_same_desc (&a->desc, &b->desc) && same_root (self, a->root, b->root)
         && a->location.offset - loom_plan_value (self->of_a->plan, a->root)->location.offset
                == b->location.offset - loom_plan_value (self->of_b->plan, b->root)->location.offset;
}

static gboolean
same_spec (Alike *self, const LoomKernelSpec *a, const LoomKernelSpec *b)
{
  if (strcmp (a->primitive, b->primitive) != 0 || a->n_in != b->n_in || a->n_out != b->n_out || a->tf32 != b->tf32
      || g_strcmp0 (a->algorithm, b->algorithm) != 0)
    return FALSE;
  for (int k = 0; k < a->n_in; k++)
    if (!check_same_desc (&a->in[k], &b->in[k]))
      return FALSE;
  for (int k = 0; k < a->n_out; k++)
    if (!check_same_desc (&a->out[k], &b->out[k]))
      return FALSE;
  return same_attrs (self, a->primitive, a->attrs, b->attrs);
}

static gboolean
same_instr (Alike *self, const LoomPlanInstr *a, const LoomPlanInstr *b)
{
  if (a->n_in != b->n_in || a->n_out != b->n_out || !same_device (self, a->device, b->device) || a->n_bodies > 0
      || b->n_bodies > 0 || a->is_wait != b->is_wait || g_strcmp0 (a->algorithm, b->algorithm) != 0
      || g_strcmp0 (a->primitive, b->primitive) != 0 || (a->spec == NULL) != (b->spec == NULL)
      || (a->kernel == NULL) != (b->kernel == NULL))
    return FALSE;
  if (a->kernel != NULL
      && (g_strcmp0 (a->kernel->name, b->kernel->name) != 0 || a->kernel->scratch_bytes != b->kernel->scratch_bytes))
    return FALSE;
  for (guint k = 0; k < a->n_in + a->n_out; k++)
    if (!same_value (self, a->value[k], b->value[k]))
      return FALSE;
  return (a->spec == NULL || same_spec (self, a->spec, b->spec)) && same_places (self, a, b);
}

/* ---- the program's steps ------------------------------------------------------------------ */

static gboolean
same_meaning (Alike *self, LoomValue v, LoomValue w)
{
  const CheckPieces *p = self->of_a, *q = self->of_b;

  if (v == 0 || w == 0)
    return v == w;
  return are_paired (&self->values, p->number[v], q->number[w])
         && check_same_desc (&loom_value_info (p->program, v)->desc, &loom_value_info (q->program, w)->desc)
         && check_piece_is_given (self->a, p->number[v]) == check_piece_is_given (self->b, q->number[w])
         && p->constant[p->number[v]] == q->constant[q->number[w]];
}

static gboolean
same_step (Alike *self, guint i, guint k)
{
  const LoomInstr *a = loom_program_instr (self->of_a->program, i);
  const LoomInstr *b = loom_program_instr (self->of_b->program, k);

  if (a->prim != b->prim || a->prim->bodies != NULL || a->n_in != b->n_in || a->n_out != b->n_out
      || !same_attrs (self, a->prim->name, a->attrs, b->attrs))
    return FALSE;
  for (guint n = 0; n < a->n_in; n++)
    if (!same_meaning (self, a->in[n], b->in[n]))
      return FALSE;
  for (guint n = 0; n < a->n_out; n++)
    if (!same_meaning (self, a->out[n], b->out[n]))
      return FALSE;
  return TRUE;
}

static gboolean
same_list (Alike *self, const GArray *a, const GArray *b)
{
  for (guint i = 0; i < a->len; i++)
    if (!same_meaning (self, g_array_index (a, LoomValue, i), g_array_index (b, LoomValue, i)))
      return FALSE;
  return TRUE;
}

/* Operands or results of the piece, with all that they claim to be. */
static gboolean
same_roots (Alike *self, const GArray *a, const GArray *b)
{
  for (guint i = 0; i < a->len; i++)
    {
      const guint x = g_array_index (a, guint, i), y = g_array_index (b, guint, i);
      const GArray *of_x = self->of_a->claims[x], *of_y = self->of_b->claims[y];

      if (!same_root (self, x, y) || (of_x == NULL) != (of_y == NULL) || (of_x != NULL && of_x->len != of_y->len)
          || (of_x != NULL && !same_list (self, of_x, of_y)))
        return FALSE;
    }
  return TRUE;
}

static gboolean
compare (Alike *self)
{
  const CheckPiece *a = self->a, *b = self->b;

  if (loom_program_get_float (self->of_a->program) != loom_program_get_float (self->of_b->program)
      || a->instrs->len != b->instrs->len || a->inputs->len != b->inputs->len || a->outputs->len != b->outputs->len
      || a->steps->len != b->steps->len || a->sources->len != b->sources->len || a->missing->len != b->missing->len)
    return FALSE;
  for (guint i = 0; i < a->instrs->len; i++)
    if (!same_instr (self, loom_plan_instr (self->of_a->plan, g_array_index (a->instrs, guint, i)),
                     loom_plan_instr (self->of_b->plan, g_array_index (b->instrs, guint, i))))
      return FALSE;
  for (guint s = 0; s < a->steps->len; s++)
    if (!same_step (self, g_array_index (a->steps, guint, s), g_array_index (b->steps, guint, s)))
      return FALSE;
  return same_roots (self, a->inputs, b->inputs) && same_roots (self, a->outputs, b->outputs)
         && same_list (self, a->sources, b->sources) && same_list (self, a->missing, b->missing);
}

gboolean
check_pieces_are_alike (const CheckPiece *a, const CheckPiece *b)
{
  Alike self = { a->of, b->of, a, b, pairs_new (), pairs_new (), pairs_new () };
  const gboolean alike = compare (&self);

  pairs_free (&self.roots);
  pairs_free (&self.values);
  pairs_free (&self.streams);
  return alike;
}

guint
check_piece_hash (const CheckPiece *piece)
{
  const CheckPieces *pieces = piece->of;
  guint hash = piece->instrs->len * 31 + piece->steps->len;

  for (guint s = 0; s < piece->steps->len; s++)
    hash = hash * 31
           + g_str_hash (loom_program_instr (pieces->program, g_array_index (piece->steps, guint, s))->prim->name);
  for (guint i = 0; i < piece->instrs->len; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (pieces->plan, g_array_index (piece->instrs, guint, i));

      for (guint k = 0; k < instr->n_in + instr->n_out; k++)
        hash = hash * 31
               + (instr->value[k] != G_MAXUINT
                      ? (guint)loom_desc_count (&loom_plan_value (pieces->plan, instr->value[k])->desc)
                      : 1);
    }
  return hash;
}
