/* Finds the equal expressions of a program, the claims of a plan, and its pieces. */
#include "engine/check/check-pieces.h"
#include "engine/check/check-alike.h"
#include "engine/check/check-private.h"

#include <string.h>

guint
check_operand_root (const LoomPlan *plan, const LoomPlanInstr *instr, guint k)
{
  return instr->value[k] != G_MAXUINT ? loom_plan_value (plan, instr->value[k])->root : G_MAXUINT;
}

/* ---- equal expressions of the program ------------------------------------------------------------ */

typedef struct
{
  const CheckPieces *pieces;
  const LoomInstr *instr;
} Expression;

static LoomValue
number_of (const CheckPieces *pieces, LoomValue v)
{
  return v != 0 ? pieces->number[v] : 0;
}

static guint
hash_expression (gconstpointer data)
{
  const Expression *e = data;
  guint hash = g_direct_hash (e->instr->prim);

  for (guint k = 0; k < e->instr->n_in; k++)
    hash = hash * 31 + number_of (e->pieces, e->instr->in[k]);
  return hash;
}

static gboolean
equal_expressions (gconstpointer x, gconstpointer y)
{
  const CheckPieces *pieces = ((const Expression *)x)->pieces;
  const LoomInstr *a = ((const Expression *)x)->instr, *b = ((const Expression *)y)->instr;

  if (a->prim != b->prim || a->n_in != b->n_in || a->n_out != b->n_out
      || !loom_prim_same_attrs (a->prim, a->attrs, b->attrs))
    return FALSE;
  for (guint k = 0; k < a->n_in; k++)
    if (number_of (pieces, a->in[k]) != number_of (pieces, b->in[k]))
      return FALSE;
  for (guint k = 0; k < a->n_out; k++)
    if ((a->out[k] == 0) != (b->out[k] == 0)
        || (a->out[k] != 0
            && !check_same_type (&loom_value_info (pieces->program, a->out[k])->desc,
                                 &loom_value_info (pieces->program, b->out[k])->desc)))
      return FALSE;
  return TRUE;
}

/* An exchange has operands of other ranks, and an update overwrites its operands. */
static gboolean
is_pure (const LoomPrim *prim)
{
  return prim->updates == NULL && (prim->flags & (LOOM_PRIM_COLLECTIVE | LOOM_PRIM_SIDE_EFFECT)) == 0;
}

static void
number_values (CheckPieces *pieces)
{
  const LoomProgram *p = pieces->program;
  g_autoptr (GHashTable) seen = g_hash_table_new_full (hash_expression, equal_expressions, g_free, NULL);

  for (LoomValue v = 1; v <= loom_program_n_values (p); v++)
    pieces->number[v] = v;
  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      Expression e = { pieces, instr };
      const Expression *first = is_pure (instr->prim) ? g_hash_table_lookup (seen, &e) : NULL;
      gboolean constant = is_pure (instr->prim);

      for (guint k = 0; k < instr->n_in; k++)
        constant = constant && (instr->in[k] == 0 || pieces->constant[instr->in[k]]);
      for (guint k = 0; k < instr->n_out; k++)
        if (instr->out[k] != 0)
          {
            pieces->constant[instr->out[k]] = constant;
            if (first != NULL)
              pieces->number[instr->out[k]] = pieces->number[first->instr->out[k]];
          }
      if (first == NULL && is_pure (instr->prim))
        g_hash_table_add (seen, g_memdup2 (&e, sizeof e));
    }
}

/* ---- claims ---------------------------------------------------------------------------------------- */

/* TRUE if the elements are stored in row-major order, as channels-last images of one channel or one pixel are, too. */
static gboolean
is_row_major (const LoomTensorDesc *d)
{
  return d->layout == LOOM_LAYOUT_PLAIN || d->dim[1] == 1 || d->dim[2] * d->dim[3] == 1;
}

/* FALSE if the value has another type, or its bytes another order. */
static gboolean
add_claim (CheckPieces *pieces, guint root, LoomValue v)
{
  const LoomTensorDesc *made = &loom_plan_value (pieces->plan, root)->desc;
  const LoomTensorDesc *meant = &loom_value_info (pieces->program, v)->desc;

  if (made->dtype != meant->dtype || loom_desc_count (made) != loom_desc_count (meant)
      || (!is_row_major (made) && !check_same_type (made, meant)))
    return FALSE;
  if (pieces->claims[root] == NULL)
    pieces->claims[root] = g_array_new (FALSE, FALSE, sizeof (LoomValue));
  for (guint i = 0; i < pieces->claims[root]->len; i++)
    if (g_array_index (pieces->claims[root], LoomValue, i) == v)
      return TRUE;
  g_array_append_val (pieces->claims[root], v);
  return TRUE;
}

/* The claim of a plan value that is used: its number, unless a pass has given it another shape. */
static void
claim_number (CheckPieces *pieces, guint value)
{
  if (value >= 1 && value <= loom_program_n_values (pieces->program)
      && check_same_type (&loom_plan_value (pieces->plan, value)->desc,
                          &loom_value_info (pieces->program, value)->desc))
    add_claim (pieces, loom_plan_value (pieces->plan, value)->root, value);
}

static void
claim_kept (CheckPieces *pieces, guint value, LoomValue meant)
{
  const guint root = loom_plan_value (pieces->plan, value)->root;

  pieces->is_kept[root] = TRUE;
  if (!add_claim (pieces, root, meant))
    {
      const CheckRefusal refusal = { value, meant };

      g_array_append_val (pieces->refused, refusal);
    }
}

LoomValue
check_program_root (const CheckPieces *pieces, LoomValue v)
{
  const LoomProgram *p = pieces->program;

  for (;;)
    {
      const LoomValueInfo *info = loom_value_info (p, v);
      const LoomInstr *instr = info->producer != G_MAXUINT ? loom_program_instr (p, info->producer) : NULL;
      const LoomTensorDesc *from
          = instr != NULL && instr->n_in > 0 && instr->in[0] != 0 ? &loom_value_info (p, instr->in[0])->desc : NULL;

      if (from == NULL || instr->prim->view == LOOM_VIEW_NEVER || from->dtype != info->desc.dtype
          || loom_desc_count (from) != loom_desc_count (&info->desc))
        return pieces->number[v];
      v = instr->in[0];
    }
}

/* Inputs and state are made by no piece: what they claim must be views of them. */
static void
check_leaves (CheckPieces *pieces)
{
  for (guint root = 1; root < loom_plan_n_values (pieces->plan); root++)
    for (guint c = 0;
         pieces->producer[root] == G_MAXUINT && pieces->claims[root] != NULL && c < pieces->claims[root]->len; c++)
      {
        const LoomValue v = g_array_index (pieces->claims[root], LoomValue, c);
        const CheckRefusal refusal = { root, v };

        if (root > loom_program_n_values (pieces->program) || check_program_root (pieces, v) != pieces->number[root])
          g_array_append_val (pieces->refused, refusal);
      }
}

/* The last value that is written to a slot is its next one. */
static void
claim_commits (CheckPieces *pieces)
{
  const LoomPlan *plan = pieces->plan;
  const guint n = loom_program_n_slots (pieces->program);
  const GArray *copies = loom_plan_commit_copies (plan);
  g_autofree guint *last = g_new0 (guint, n + 1);

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      for (guint k = instr->n_in; k < instr->n_in + instr->n_out; k++)
        {
          const guint root = check_operand_root (plan, instr, k);
          const LoomLocation *at = root != G_MAXUINT ? &loom_plan_value (plan, root)->location : NULL;

          if (at != NULL && at->kind == LOOM_LOCATION_SLOT && at->index < n)
            last[at->index] = root;
        }
    }
  for (guint i = 0; i + 1 < copies->len; i += 2)
    last[g_array_index (copies, guint, i + 1)] = g_array_index (copies, guint, i);
  for (guint s = 0; s < n; s++)
    {
      const LoomSlot *slot = loom_program_get_slot (pieces->program, s);

      if (last[s] != 0 && slot->commit != 0)
        claim_kept (pieces, last[s], slot->commit);
    }
}

/* A value without claims claims what another one of its type claims. */
static void
claim_same (CheckPieces *pieces, guint to, guint from)
{
  if (from == G_MAXUINT || to == G_MAXUINT || pieces->claims[from] == NULL || pieces->claims[to] != NULL
      || !check_same_type (&loom_plan_value (pieces->plan, from)->desc, &loom_plan_value (pieces->plan, to)->desc))
    return;
  for (guint c = 0; c < pieces->claims[from]->len; c++)
    add_claim (pieces, to, g_array_index (pieces->claims[from], LoomValue, c));
}

static gboolean
is_copy (const LoomPlanInstr *instr)
{
  return instr->n_in == 1 && instr->n_out == 1
         && (instr->kernel == NULL || strcmp (instr->primitive, "copy") == 0
             || strcmp (instr->primitive, "reorder") == 0);
}

/* ---- repeated calls -------------------------------------------------------------------------------- */

#define MOST_OPERANDS 16

/* What a kernel computes, and of which values. */
typedef struct
{
  const char *primitive;
  const void *attrs;
  guint n, operand[MOST_OPERANDS];
  guint instr;
} Call;

/* Roots that claim the same value have one number. */
static guint
identity (const CheckPieces *pieces, const LoomPlanInstr *instr, guint k)
{
  const guint root = check_operand_root (pieces->plan, instr, k);

  return root == G_MAXUINT              ? 0
         : pieces->claims[root] != NULL ? pieces->number[g_array_index (pieces->claims[root], LoomValue, 0)]
                                        : loom_program_n_values (pieces->program) + 1 + root;
}

/* FALSE if the results are not a function of the operands. */
static gboolean
describe (const CheckPieces *pieces, guint i, Call *call)
{
  const LoomPlanInstr *instr = loom_plan_instr (pieces->plan, i);
  const LoomPrim *prim = instr->spec != NULL ? loom_prim (instr->spec->primitive) : NULL;

  if (instr->spec == NULL || instr->is_wait || instr->n_bodies > 0 || instr->n_in > MOST_OPERANDS
      || (prim != NULL && !is_pure (prim)))
    return FALSE;
  *call = (Call){ .primitive = instr->spec->primitive, .attrs = instr->spec->attrs, .n = instr->n_in, .instr = i };
  for (guint k = 0; k < instr->n_in; k++)
    call->operand[k] = identity (pieces, instr, k);
  return TRUE;
}

/* The call that computes a batch_norm's first result from the other two, its statistics. */
static gboolean
describe_apply (const CheckPieces *pieces, const Call *call, Call *apply)
{
  const LoomPlanInstr *instr = loom_plan_instr (pieces->plan, call->instr);

  if (strcmp (call->primitive, "batch_norm") != 0 || call->n + 2 > MOST_OPERANDS)
    return FALSE;
  *apply = (Call){ "batch_norm_apply", call->attrs, .n = 3, { call->operand[0] }, call->instr };
  for (guint o = 1; o < 3; o++)
    apply->operand[o] = identity (pieces, instr, instr->n_in + o);
  for (guint k = 1; k < call->n; k++)
    if (call->operand[k] != 0)
      apply->operand[apply->n++] = call->operand[k];
  return TRUE;
}

static guint
hash_call (gconstpointer data)
{
  const Call *call = data;
  guint hash = g_str_hash (call->primitive);

  for (guint k = 0; k < call->n; k++)
    hash = hash * 31 + call->operand[k];
  return hash;
}

static gboolean
equal_calls (gconstpointer x, gconstpointer y)
{
  const Call *a = x, *b = y;

  return strcmp (a->primitive, b->primitive) == 0 && a->n == b->n
         && memcmp (a->operand, b->operand, sizeof a->operand[0] * a->n) == 0
         && check_same_attrs (a->primitive, a->attrs, b->attrs);
}

/* A copy claims what its operand claims, and a call that computes the same from the same values, as rematerialisation
 * makes it, what the first one claims. Like every claim it is compared; without it a value that is computed again would
 * join its readers to one large piece. */
static void
claim_repeated (CheckPieces *pieces)
{
  const LoomPlan *plan = pieces->plan;
  g_autoptr (GHashTable) calls = g_hash_table_new_full (hash_call, equal_calls, g_free, NULL);

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);
      const Call *first;
      Call call, apply;

      if (is_copy (instr))
        claim_same (pieces, check_operand_root (plan, instr, 1), check_operand_root (plan, instr, 0));
      if (!describe (pieces, i, &call))
        continue;
      first = g_hash_table_lookup (calls, &call);
      for (guint o = 0; first != NULL && o < instr->n_out; o++)
        {
          const LoomPlanInstr *of = loom_plan_instr (plan, first->instr);

          claim_same (pieces, check_operand_root (plan, instr, instr->n_in + o),
                      check_operand_root (plan, of, of->n_in + o));
        }
      if (first == NULL)
        g_hash_table_add (calls, g_memdup2 (&call, sizeof call));
      if (first == NULL && describe_apply (pieces, &call, &apply))
        g_hash_table_add (calls, g_memdup2 (&apply, sizeof apply));
    }
}

static void
add_reader (CheckPieces *pieces, guint root, guint instr)
{
  GArray **readers = &pieces->readers[root];

  if (*readers == NULL)
    *readers = g_array_new (FALSE, FALSE, sizeof (guint));
  g_array_append_val (*readers, instr);
}

static void
find_claims (CheckPieces *pieces)
{
  const LoomPlan *plan = pieces->plan;

  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      for (guint k = 0; k < instr->n_in + instr->n_out; k++)
        if (instr->value[k] != G_MAXUINT)
          {
            claim_number (pieces, check_operand_root (plan, instr, k));
            claim_number (pieces, instr->value[k]);
            if (k >= instr->n_in)
              pieces->producer[check_operand_root (plan, instr, k)] = i;
            else
              add_reader (pieces, check_operand_root (plan, instr, k), i);
          }
    }
  for (guint o = 0; o < loom_program_n_outputs (pieces->program); o++)
    if (loom_plan_output_value (plan, o) != G_MAXUINT)
      claim_kept (pieces, loom_plan_output_value (plan, o), loom_program_get_output (pieces->program, o)->value);
  claim_commits (pieces);
  claim_repeated (pieces);
  check_leaves (pieces);
}

/* ---- the partition ----------------------------------------------------------------------------------- */

static guint
find_set (guint *parent, guint i)
{
  while (parent[i] != i)
    i = parent[i] = parent[parent[i]];
  return i;
}

static void
divide (CheckPieces *pieces)
{
  const LoomPlan *plan = pieces->plan;
  const guint n = loom_plan_n_instrs (plan);
  g_autofree guint *parent = g_new (guint, n + 1), *piece = g_new (guint, n + 1);

  for (guint i = 0; i < n; i++)
    {
      parent[i] = i;
      piece[i] = G_MAXUINT;
    }
  for (guint i = 0; i < n; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      for (guint k = 0; k < instr->n_in; k++)
        {
          const guint root = check_operand_root (plan, instr, k);

          if (root != G_MAXUINT && pieces->claims[root] == NULL && pieces->producer[root] != G_MAXUINT)
            parent[find_set (parent, i)] = find_set (parent, pieces->producer[root]);
        }
    }
  for (guint i = 0; i < n; i++)
    {
      const guint set = find_set (parent, i);

      if (piece[set] == G_MAXUINT)
        {
          piece[set] = pieces->pieces->len;
          g_ptr_array_add (pieces->pieces, g_array_new (FALSE, FALSE, sizeof (guint)));
        }
      pieces->piece_of[i] = piece[set];
      g_array_append_val ((GArray *)pieces->pieces->pdata[piece[set]], i);
    }
}

CheckPieces *
check_pieces_new (const LoomPlan *plan)
{
  CheckPieces *pieces = g_new0 (CheckPieces, 1);
  const LoomProgram *program = loom_plan_program (plan);
  const guint n = loom_plan_n_values (plan);

  pieces->plan = plan;
  pieces->program = program;
  pieces->number = g_new0 (LoomValue, loom_program_n_values (program) + 1);
  pieces->constant = g_new0 (gboolean, loom_program_n_values (program) + 1);
  pieces->claims = g_new0 (GArray *, n + 1);
  pieces->is_kept = g_new0 (gboolean, n + 1);
  pieces->readers = g_new0 (GArray *, n + 1);
  pieces->producer = g_new (guint, n + 1);
  for (guint v = 0; v < n; v++)
    pieces->producer[v] = G_MAXUINT;
  pieces->piece_of = g_new0 (guint, loom_plan_n_instrs (plan) + 1);
  pieces->refused = g_array_new (FALSE, FALSE, sizeof (CheckRefusal));
  pieces->mark = g_new0 (guint8, loom_program_n_values (program) + 1);
  pieces->is_step = g_new0 (gboolean, loom_program_n_instrs (program) + 1);
  pieces->pieces = g_ptr_array_new_with_free_func ((GDestroyNotify)g_array_unref);
  number_values (pieces);
  find_claims (pieces);
  divide (pieces);
  return pieces;
}

void
check_pieces_free (CheckPieces *pieces)
{
  for (guint v = 0; v < loom_plan_n_values (pieces->plan); v++)
    {
      g_clear_pointer (&pieces->claims[v], g_array_unref);
      g_clear_pointer (&pieces->readers[v], g_array_unref);
    }
  g_ptr_array_unref (pieces->pieces);
  g_array_unref (pieces->refused);
  g_free (pieces->mark);
  g_free (pieces->is_step);
  g_free (pieces->number);
  g_free (pieces->constant);
  g_free (pieces->claims);
  g_free (pieces->is_kept);
  g_free (pieces->readers);
  g_free (pieces->producer);
  g_free (pieces->piece_of);
  g_free (pieces);
}
