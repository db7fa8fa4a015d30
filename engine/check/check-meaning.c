/* The rule "meaning": each piece of a plan computes what the program's instructions compute.
 *
 * Each piece that is small enough is evaluated, so that its kernels, strides and layouts are seen too; of others the
 * call is compared by structural rules. The plan's kernels and `ref` in f64 run on the same operands, of the plan's own
 * shapes. If a piece alone cannot be compared, it grows: a fusion may use another value than the program does, if both
 * follow from the same one, and a pass may reuse the number of a value that only its own instructions read. So a
 * difference counts only if it is still there in the piece with its neighbours. Of pieces that are alike, as in a
 * network of equal layers or on several ranks, the first is evaluated. */
#include "engine/check/check-alike.h"
#include "engine/check/check-compare.h"
#include "engine/check/check-evaluate.h"
#include "engine/check/check-operands.h"
#include "engine/check/check-private.h"
#include "engine/check/check-rules.h"
#include "engine/check/check-run.h"

#include <math.h>
#include <string.h>

#define MAX_OPERATIONS 2e7
/* Of pieces that a rule proves, with all sets of operands: the rule shows what they compute, and one set that their
 * kernels do it in this size. */
#define MAX_PROVEN 2e6
/* Of pieces that no rule proves: with one set of operands. */
#define MAX_LARGE  1e9
#define MAX_GROWTH 4
/* Of all values of a piece: an evaluation stores each in f64 twice, in the program's type, and in the plan's, about 24
 * bytes. */
#define MAX_ELEMENTS 1e8
/* Of the pieces of a plan that are larger than MAX_OPERATIONS, together; a large batch has many. An element takes about
 * as long as this many operations of a product. */
#define MAX_ALL_LARGE          1e8
#define OPERATIONS_PER_ELEMENT 20

typedef struct
{
  const LoomPlan *plan;
  CheckPieces *pieces;
  LoomDevice *ref;
  LoomCheckReport *report;
  double max_operations, max_large;
  guint64 seed;
  LoomCheckKnown *known;
  double *left; /* of MAX_ALL_LARGE */
} Meaning;

typedef enum
{
  OUTCOME_EQUAL,
  OUTCOME_BY_RULE,
  OUTCOME_DIFFERENT,
  OUTCOME_TOO_LARGE,
  OUTCOME_UNCHECKED,
  OUTCOME_NO_MEMORY /* of the host */
} Outcome;

/* What was found in a piece. */
typedef struct
{
  Outcome outcome;
  gboolean is_local;    /* the piece makes no sums, so roundings were compared too */
  gboolean is_rounding; /* a difference of roundings alone */
  CheckSet set;         /* that showed a difference */
  guint instr, root;    /* of a difference; G_MAXUINT: none */
  char *text;           /* owned */
  gboolean is_alike;    /* equal because another piece is */
} Finding;

static void
finding_clear (Finding *f)
{
  g_clear_pointer (&f->text, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Finding, finding_clear)

/* ---- one evaluation --------------------------------------------------------------------- */

typedef struct
{
  const Meaning *m;
  const CheckPiece *piece;
  CheckEval *wide, *narrow, *moved;
  CheckRun *run;
  CheckRange *range;
  LoomDType coarsest;
  double depth;
  gboolean local, exact;
  gboolean has_norms; /* a step is a batch norm or its gradient, or has one in a body */
  GRand *rand;
} Trial;

static LoomDType
coarser (LoomDType a, LoomDType b)
{
  return loom_dtype_is_float (b) && check_roundoff (b) > check_roundoff (a) ? b : a;
}

static void
find_coarsest (Trial *t)
{
  const Meaning *m = t->m;

  t->coarsest = LOOM_F64;
  for (guint s = 0; s < t->piece->steps->len; s++)
    {
      const LoomInstr *instr = loom_program_instr (m->pieces->program, g_array_index (t->piece->steps, guint, s));

      for (guint k = 0; k < instr->n_in + instr->n_out; k++)
        {
          const LoomValue v = k < instr->n_in ? instr->in[k] : instr->out[k - instr->n_in];

          if (v != 0)
            t->coarsest = coarser (t->coarsest, loom_value_info (m->pieces->program, v)->desc.dtype);
        }
    }
  for (guint i = 0; i < t->piece->instrs->len; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (m->plan, g_array_index (t->piece->instrs, guint, i));

      /* TF32 has the digits of f16. */
      if (instr->spec != NULL && instr->spec->tf32 && !loom_plan_device (m->plan, instr->device)->info.host_memory)
        t->coarsest = coarser (t->coarsest, LOOM_F16);
      for (guint k = 0; k < instr->n_in + instr->n_out; k++)
        if (instr->value[k] != G_MAXUINT)
          t->coarsest = coarser (t->coarsest, loom_plan_value (m->plan, instr->value[k])->desc.dtype);
    }
}

/* Random numbers have to have the same bits. */
static gboolean
only_draws (const Meaning *m, const CheckPiece *piece)
{
  gboolean draws = FALSE;

  for (guint s = 0; s < piece->steps->len; s++)
    {
      const LoomPrim *prim = loom_program_instr (m->pieces->program, g_array_index (piece->steps, guint, s))->prim;

      if (!(prim->flags & LOOM_PRIM_RANDOM) && prim->view == LOOM_VIEW_NEVER)
        return FALSE;
      draws = draws || (prim->flags & LOOM_PRIM_RANDOM);
    }
  return draws;
}

static void
convert_into (LoomTensor *to, const LoomTensor *from)
{
  if (to->dtype == from->dtype)
    memcpy (to->data, from->data, from->bytes);
  else if (to->dtype == LOOM_F64 && from->dtype == LOOM_F32)
    for (gint64 i = 0; i < from->count; i++)
      ((double *)to->data)[i] = ((const float *)from->data)[i];
  else
    for (gint64 i = 0; i < from->count; i++)
      loom_tensor_set (to, i, loom_tensor_get (from, i));
}

/* Changes each number by one unit in the last place of its type. */
static void
move_a_bit (LoomTensor *t, LoomDType dtype, GRand *rand)
{
  const double by = 2 * check_roundoff (dtype);
  guint32 bits = 0;

  for (gint64 i = 0; loom_dtype_is_float (dtype) && i < t->count; i++, bits >>= 1)
    {
      if (i % 32 == 0)
        bits = g_rand_int (rand);
      loom_tensor_set (t, i, loom_tensor_get (t, i) * (1 + (bits & 1 ? by : -by)));
    }
}

/* A rule proves a loop's call, but the planner makes its kernel. */
static gboolean
runs_bodies (const Meaning *m, const CheckPiece *piece)
{
  for (guint i = 0; i < piece->instrs->len; i++)
    if (loom_plan_instr (m->plan, g_array_index (piece->instrs, guint, i))->n_bodies > 0)
      return TRUE;
  return FALSE;
}

/* TRUE if the third evaluation begins with moved operands. Special ones have equal values then no more, but a recursion
 * amplifies roundings without limit; norms are moved by their own roundings. */
static gboolean
is_moved (const Trial *t, CheckSet set)
{
  return set != CHECK_SET_SPECIAL || (!t->has_norms && runs_bodies (t->m, t->piece));
}

static void
fill_source (Trial *t, LoomValue v, CheckSet set, int integers)
{
  LoomTensor *narrow = check_eval_value (t->narrow, v), *moved = check_eval_value (t->moved, v);

  check_fill (narrow, &t->range[v], set, t->local, integers, t->rand);
  convert_into (check_eval_value (t->wide, v), narrow);
  convert_into (moved, narrow);
  if (is_moved (t, set) && t->range[v].kind != CHECK_RANGE_INDEX && t->range[v].kind != CHECK_RANGE_TRUE)
    move_a_bit (moved, narrow->dtype, t->rand);
}

/* The plan does not read missing values, so they must not matter. */
static void
fill_sources (Trial *t, CheckSet set, int integers)
{
  for (guint s = 0; s < t->piece->sources->len; s++)
    fill_source (t, g_array_index (t->piece->sources, LoomValue, s), set, integers);
  for (guint s = 0; s < t->piece->missing->len; s++)
    fill_source (t, g_array_index (t->piece->missing, LoomValue, s), set, integers);
}

/* All claims of an operand have the same bytes. */
static void
equate_claims (Trial *t)
{
  const CheckPieces *p = t->m->pieces;

  for (guint i = 0; i < t->piece->inputs->len; i++)
    {
      const GArray *claims = p->claims[g_array_index (t->piece->inputs, guint, i)];
      const LoomValue first = p->number[g_array_index (claims, LoomValue, 0)];

      for (guint c = 1; c < claims->len; c++)
        {
          const LoomValue v = p->number[g_array_index (claims, LoomValue, c)];

          if (v == first)
            continue;
          convert_into (check_eval_value (t->wide, v), check_eval_value (t->wide, first));
          convert_into (check_eval_value (t->narrow, v), check_eval_value (t->narrow, first));
          convert_into (check_eval_value (t->moved, v), check_eval_value (t->moved, first));
        }
    }
}

/* Values that the plan reads and the steps compute begin as the same rounded numbers on both sides. */
static void
round_given (Trial *t, const LoomInstr *instr)
{
  for (guint k = 0; k < instr->n_out; k++)
    if (instr->out[k] != 0 && check_piece_is_given (t->piece, t->m->pieces->number[instr->out[k]]))
      {
        LoomTensor *narrow = check_eval_value (t->narrow, instr->out[k]);

        convert_into (narrow, check_eval_value (t->wide, instr->out[k]));
        convert_into (check_eval_value (t->wide, instr->out[k]), narrow);
      }
}

static LoomStatus
run_steps (Trial *t, gboolean with_moved, LoomMessage *message)
{
  LoomStatus status = LOOM_STATUS_OK;

  for (guint s = 0; s < t->piece->steps->len && status == LOOM_STATUS_OK; s++)
    {
      const guint i = g_array_index (t->piece->steps, guint, s);

      status = check_eval_run (t->wide, i, message);
      if (status == LOOM_STATUS_OK)
        status = check_eval_run (t->narrow, i, message);
      if (status == LOOM_STATUS_OK && with_moved)
        status = check_eval_run (t->moved, i, message);
      if (status == LOOM_STATUS_OK)
        round_given (t, loom_program_instr (t->m->pieces->program, i));
    }
  return status;
}

static void
fill_inputs (Trial *t)
{
  for (guint i = 0; i < t->piece->inputs->len; i++)
    {
      const guint root = g_array_index (t->piece->inputs, guint, i);

      check_run_set (t->run, root,
                     check_eval_value (t->narrow, g_array_index (t->m->pieces->claims[root], LoomValue, 0)));
    }
}

static void
compare_root (Trial *t, guint root, CheckSet set, gboolean with_moved, Finding *f)
{
  const GArray *claims = t->m->pieces->claims[root];

  for (guint c = 0; c < claims->len && f->outcome == OUTCOME_EQUAL; c++)
    {
      const LoomValue v = g_array_index (claims, LoomValue, c);
      const LoomTensorDesc *desc = &loom_value_info (t->m->pieces->program, v)->desc;
      g_autoptr (LoomTensor) made = check_run_get (t->run, root, desc);
      const CheckComparison comparison = { .plan = made,
                                           .wide = check_eval_value (t->wide, v),
                                           .narrow = check_eval_value (t->narrow, v),
                                           .moved = with_moved ? check_eval_value (t->moved, v) : NULL,
                                           .coarsest = t->coarsest,
                                           .depth = t->depth,
                                           .largest_size = is_moved (t, set) ? INFINITY : 4,
                                           .exact = t->exact };
      char *text;

      if (made == NULL)
        {
          f->outcome = OUTCOME_NO_MEMORY;
          return;
        }
      text = check_compare (&comparison);
      if (text == NULL && t->local && set != CHECK_SET_SPECIAL && with_moved)
        {
          text = check_compare_roundings (&comparison);
          f->is_rounding = text != NULL;
        }
      if (text == NULL)
        continue;
      f->outcome = OUTCOME_DIFFERENT;
      f->root = root;
      f->instr = t->m->pieces->producer[root];
      f->text = text;
    }
}

/* A set that the program refuses says nothing; FALSE: it did. */
static gboolean
try_set (Trial *t, CheckSet set, Finding *f)
{
  static const int integers[] = { (1 << 24) + 256, 3, 2, 1 };
  /* Operands that are moved have no equal values any more; but a recursion amplifies roundings without limit. */
  const gboolean with_moved = (set != CHECK_SET_SPECIAL || t->has_norms || runs_bodies (t->m, t->piece)) && !t->exact;
  LoomMessage message = { "" };
  LoomStatus status = LOOM_STATUS_OK, made;
  guint at = G_MAXUINT;

  /* Integers may be indices in a way that is not seen: smaller ones are indices of more. */
  for (guint k = 0; k < G_N_ELEMENTS (integers); k++)
    {
      if (integers[k] > 3 && set != CHECK_SET_SPECIAL)
        continue;
      fill_sources (t, set, integers[k]);
      equate_claims (t);
      status = run_steps (t, with_moved, &message);
      if (status == LOOM_STATUS_OK)
        break;
    }
  if (status == LOOM_STATUS_OUT_OF_MEMORY)
    f->outcome = OUTCOME_NO_MEMORY;
  if (status != LOOM_STATUS_OK)
    {
      g_debug ("the program has no result with %s operands: %s", check_set_name (set), message.text);
      return FALSE;
    }
  equate_claims (t);
  fill_inputs (t);
  made = check_run (t->run, &at, &message);
  if (made == LOOM_STATUS_OUT_OF_MEMORY)
    {
      f->outcome = OUTCOME_NO_MEMORY;
      return TRUE;
    }
  if (made != LOOM_STATUS_OK || message.text[0] != '\0')
    {
      f->outcome = OUTCOME_DIFFERENT;
      f->instr = at;
      f->text = g_strdup_printf ("%s%s", made != LOOM_STATUS_OK ? "it fails where the program does not: " : "",
                                 message.text);
      return TRUE;
    }
  for (guint o = 0; o < t->piece->outputs->len && f->outcome == OUTCOME_EQUAL; o++)
    compare_root (t, g_array_index (t->piece->outputs, guint, o), set, with_moved, f);
  if (f->outcome == OUTCOME_DIFFERENT)
    {
      g_autofree char *text = f->text;

      f->text = g_strdup_printf ("%s, with %s operands", text, check_set_name (set));
    }
  return TRUE;
}

static gboolean
reserve (Trial *t, LoomValue v)
{
  return v == 0
         || (check_eval_reserve (t->wide, v) && check_eval_reserve (t->narrow, v) && check_eval_reserve (t->moved, v));
}

/* FALSE: the host has not enough memory for the values of the piece. */
static gboolean
reserve_all (Trial *t)
{
  const CheckPiece *piece = t->piece;

  for (guint s = 0; s < piece->sources->len; s++)
    if (!reserve (t, g_array_index (piece->sources, LoomValue, s)))
      return FALSE;
  for (guint s = 0; s < piece->missing->len; s++)
    if (!reserve (t, g_array_index (piece->missing, LoomValue, s)))
      return FALSE;
  for (guint s = 0; s < piece->steps->len; s++)
    {
      const LoomInstr *instr = loom_program_instr (t->m->pieces->program, g_array_index (piece->steps, guint, s));

      for (guint k = 0; k < instr->n_in + instr->n_out; k++)
        if (!reserve (t, k < instr->n_in ? instr->in[k] : instr->out[k - instr->n_in]))
          return FALSE;
    }
  return TRUE;
}

static void
trial_clear (Trial *t)
{
  g_clear_pointer (&t->wide, check_eval_free);
  g_clear_pointer (&t->narrow, check_eval_free);
  g_clear_pointer (&t->moved, check_eval_free);
  g_clear_pointer (&t->run, check_run_free);
  g_clear_pointer (&t->range, g_free);
  g_clear_pointer (&t->rand, g_rand_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Trial, trial_clear)

/* An operand without a claim belongs to nothing that could be compared. */
static gboolean
has_claims (const Meaning *m, const CheckPiece *piece)
{
  for (guint i = 0; i < piece->inputs->len; i++)
    if (m->pieces->claims[g_array_index (piece->inputs, guint, i)] == NULL)
      return FALSE;
  return TRUE;
}

/* How much of a piece is evaluated. */
typedef struct
{
  double depth;
  int n_sets;   /* all, 1, or 0: it is too large */
  double large; /* of Meaning.left; 0: it is not large */
} Effort;

/* Few pieces grow, and the result of the smaller piece does not count, so they may always have MAX_OPERATIONS. */
static Effort
choose_effort (const Meaning *m, const CheckPiece *piece, gboolean is_grown)
{
  Effort effort = { .depth = 1 };
  const double max_operations = is_grown ? MAX (m->max_operations, MAX_OPERATIONS) : m->max_operations;
  const double max_large = MAX (m->max_large, max_operations);
  const double operations = check_piece_operations (m->pieces, piece, &effort.depth);
  const double elements = check_piece_elements (m->pieces, piece);
  const gboolean is_proven
      = operations > MIN (max_operations, MAX_PROVEN) && check_rule_holds (m->pieces, piece) && !runs_bodies (m, piece);

  if (operations > max_large || elements > MAX_ELEMENTS || (operations > max_operations && is_proven))
    return effort;
  effort.n_sets = operations > max_operations || is_proven ? 1 : CHECK_N_SETS;
  effort.large = operations > max_operations ? elements + operations / OPERATIONS_PER_ELEMENT : 0;
  return effort;
}

/* is_grown: a difference depends on it, whatever it takes. first: the set that is tried if only one is. */
static void
evaluate (const Meaning *m, const CheckPiece *piece, const Effort *effort, gboolean is_grown, CheckSet first,
          Finding *f)
{
  const CheckPieces *p = m->pieces;
  g_auto (Trial) t = { .m = m, .piece = piece, .depth = effort->depth };
  gboolean no_memory = FALSE;
  guint tried = 0;

  f->outcome = OUTCOME_UNCHECKED;
  f->instr = f->root = G_MAXUINT;
  if (!has_claims (m, piece))
    return;
  if (effort->n_sets == 0 || (!is_grown && effort->large > *m->left))
    {
      f->outcome = OUTCOME_TOO_LARGE;
      return;
    }
  *m->left -= effort->large;
  t.run = check_run_new (p, piece, &no_memory);
  if (no_memory)
    f->outcome = OUTCOME_NO_MEMORY;
  if (t.run == NULL)
    return;
  t.wide = check_eval_new (p->program, p->number, TRUE, m->ref);
  t.narrow = check_eval_new (p->program, p->number, FALSE, m->ref);
  t.moved = check_eval_new (p->program, p->number, TRUE, m->ref);
  if (!reserve_all (&t))
    {
      f->outcome = OUTCOME_NO_MEMORY;
      return;
    }
  t.range = check_ranges_new (p->program, piece->steps, p->number);
  t.local = check_steps_are_local (p->program, piece->steps);
  t.exact = only_draws (m, piece);
  t.rand = g_rand_new_with_seed ((guint32)(m->seed * 2654435761u + g_array_index (piece->instrs, guint, 0)));
  t.moved->rounding = t.rand;
  find_coarsest (&t);
  for (guint s = 0; s < piece->steps->len; s++)
    t.has_norms
        = t.has_norms || check_instr_rounds (loom_program_instr (p->program, g_array_index (piece->steps, guint, s)));
  f->is_local = t.local;
  f->outcome = OUTCOME_EQUAL;
  for (int k = 0; k < effort->n_sets && f->outcome == OUTCOME_EQUAL; k++)
    {
      f->set = effort->n_sets == 1 ? first : (CheckSet)k;
      tried += try_set (&t, f->set, f);
    }
  if (tried == 0 && f->outcome == OUTCOME_EQUAL)
    f->outcome = OUTCOME_UNCHECKED;
}

/* ---- pieces that are alike ---------------------------------------------------------------------- */

struct _LoomCheckKnown
{
  GHashTable *equals; /* the pieces that were evaluated and found equal, in lists by hash */
  GPtrArray *plans;   /* CheckPieces of them */
};

LoomCheckKnown *
loom_check_known_new (void)
{
  LoomCheckKnown *known = g_new (LoomCheckKnown, 1);

  known->equals = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify)g_ptr_array_unref);
  known->plans = g_ptr_array_new_with_free_func ((GDestroyNotify)check_pieces_free);
  return known;
}

void
loom_check_known_free (LoomCheckKnown *known)
{
  g_hash_table_unref (known->equals);
  g_ptr_array_unref (known->plans);
  g_free (known);
}

/* The operands that were tried belong to it. */
static gpointer
equals_key (const Meaning *m, const CheckPiece *piece, const Effort *effort, CheckSet first)
{
  return GUINT_TO_POINTER (check_piece_hash (piece) * (CHECK_N_SETS + 1)
                           + (effort->n_sets == 1 ? (guint)first : CHECK_N_SETS));
}

static gboolean
is_like_an_equal (const Meaning *m, const CheckPiece *piece, gpointer key)
{
  const GPtrArray *list = g_hash_table_lookup (m->known->equals, key);

  for (guint i = 0; list != NULL && i < list->len; i++)
    if (check_pieces_are_alike (list->pdata[i], piece))
      return TRUE;
  return FALSE;
}

static void
take_equal (const Meaning *m, CheckPiece *piece, gpointer key)
{
  GPtrArray *list = g_hash_table_lookup (m->known->equals, key);

  if (list == NULL)
    {
      list = g_ptr_array_new_with_free_func ((GDestroyNotify)check_piece_free);
      g_hash_table_insert (m->known->equals, key, list);
    }
  g_ptr_array_add (list, piece);
}

/* ---- pieces that grow --------------------------------------------------------------------------- */

/* first: see evaluate(). Of a grown piece it is the set that showed the difference in the smaller one. */
static void
examine (const Meaning *m, const GArray *instrs, guint growth, CheckSet first, Finding *f)
{
  g_autoptr (CheckPiece) piece = check_piece_new (m->pieces, instrs, growth > 0);
  g_autoptr (GArray) wider = NULL;
  Effort effort;
  gpointer key;

  if (piece->missing->len > 0 && growth < MAX_GROWTH)
    wider = check_piece_with_producers (m->pieces, piece, TRUE);
  if (wider != NULL)
    {
      examine (m, wider, growth + 1, first, f);
      return;
    }
  effort = choose_effort (m, piece, growth > 0);
  key = equals_key (m, piece, &effort, first);
  if (is_like_an_equal (m, piece, key))
    {
      f->outcome = OUTCOME_EQUAL;
      f->instr = f->root = G_MAXUINT;
      f->is_local = check_steps_are_local (m->pieces->program, piece->steps);
      f->is_alike = TRUE;
      return;
    }
  evaluate (m, piece, &effort, growth > 0, first, f);
  if (f->outcome == OUTCOME_EQUAL)
    {
      take_equal (m, g_steal_pointer (&piece), key);
      return;
    }
  if ((f->outcome == OUTCOME_TOO_LARGE || f->outcome == OUTCOME_UNCHECKED || f->outcome == OUTCOME_NO_MEMORY)
      && check_rule_holds (m->pieces, piece))
    f->outcome = OUTCOME_BY_RULE;
  /* The number may be one that a pass reused, or the operands may be related. Neither excuses a call that a rule
   * proves. */
  if (f->outcome == OUTCOME_DIFFERENT && check_rule_holds (m->pieces, piece))
    return;
  for (int way = 0; way < 2 && f->outcome == OUTCOME_DIFFERENT && growth < MAX_GROWTH; way++)
    {
      g_autoptr (GArray) with = NULL;
      g_auto (Finding) again = { 0 };

      if (way == 1)
        with = check_piece_with_producers (m->pieces, piece, FALSE);
      else if (f->root != G_MAXUINT)
        with = check_piece_with_readers (m->pieces, piece, f->root);
      if (with == NULL)
        continue;
      examine (m, with, growth + 1, f->set, &again);
      g_debug ("grown for %s: %s", f->text, again.text != NULL ? again.text : "no difference was found");
      if (again.outcome == OUTCOME_EQUAL && (!f->is_rounding || again.is_local))
        {
          finding_clear (f);
          f->outcome = OUTCOME_EQUAL;
          f->is_local = again.is_local;
        }
      else if (again.outcome == OUTCOME_NO_MEMORY)
        f->outcome = OUTCOME_NO_MEMORY;
    }
}

static void
report_finding (const Meaning *m, const GArray *instrs, const Finding *f)
{
  LoomCheckReport *r = m->report;

  r->n_pieces++;
  switch (f->outcome)
    {
    case OUTCOME_EQUAL:
      r->n_evaluated++;
      r->n_alike += f->is_alike;
      return;
    case OUTCOME_BY_RULE:
      r->n_by_rule++;
      return;
    case OUTCOME_TOO_LARGE:
    case OUTCOME_UNCHECKED:
    case OUTCOME_NO_MEMORY:
      {
        const gboolean is_large = f->outcome != OUTCOME_UNCHECKED;
        g_autofree char *name = check_name_instr (m->plan, g_array_index (instrs, guint, 0));

        if (f->outcome == OUTCOME_NO_MEMORY && r->no_memory == NULL)
          r->no_memory = g_strdup (name);
        g_debug ("%s and %u more: %s", name, instrs->len - 1, is_large ? "too large" : "not evaluated");
        *(is_large ? &r->n_too_large : &r->n_unchecked) += 1;
        return;
      }
    case OUTCOME_DIFFERENT:
    default:
      {
        const guint at = f->instr != G_MAXUINT ? f->instr : g_array_index (instrs, guint, 0);
        g_autofree char *name = check_name_instr (m->plan, at);

        check_fault (r, LOOM_CHECK_MEANING, at, f->root, "%s does not compute what the program does: %s", name,
                     f->text);
      }
    }
}

static void
report_refusal (const Meaning *m, const CheckRefusal *refusal)
{
  const LoomTensorDesc *made = &loom_plan_value (m->plan, refusal->value)->desc;
  const LoomValueInfo *meant = loom_value_info (m->pieces->program, refusal->meant);
  g_autofree char *name = check_name_value (m->plan, refusal->value), *is = loom_desc_to_string (made);
  g_autofree char *ought = loom_desc_to_string (&meant->desc);

  check_fault (m->report, LOOM_CHECK_MEANING, G_MAXUINT, refusal->value,
               "%s, %s, is taken for the program's value %u%s%s, %s, which it is not", name, is, refusal->meant,
               meant->origin != NULL ? " of " : "", meant->origin != NULL ? meant->origin : "", ought);
}

static gboolean
belongs_to (const Meaning *m, const GArray *instrs, const char *origin)
{
  for (guint i = 0; i < instrs->len; i++)
    if (g_strcmp0 (loom_plan_instr (m->plan, g_array_index (instrs, guint, i))->origin, origin) == 0)
      return TRUE;
  return FALSE;
}

/* The origin that LoomCheckOptions names, if a piece has it. */
static const char *
find_origin (const Meaning *m, const char *origin)
{
  for (guint i = 0; origin != NULL && i < m->pieces->pieces->len; i++)
    if (belongs_to (m, m->pieces->pieces->pdata[i], origin))
      return origin;
  return NULL;
}

void
check_meaning (const LoomPlan *plan, const LoomCheckOptions *options, LoomCheckReport *report)
{
  const LoomBackend *ref = loom_backend_ref ();
  LoomMessage message = { "" };
  g_autoptr (LoomCheckKnown) own = options->known == NULL ? loom_check_known_new () : NULL;
  double left = MAX_ALL_LARGE;
  const char *origin;
  Meaning m = { .plan = plan,
                .report = report,
                .max_operations = options->max_operations > 0 ? options->max_operations : MAX_OPERATIONS,
                .max_large = options->max_operations > 0 ? options->max_operations : MAX_LARGE,
                .seed = options->seed,
                .known = own != NULL ? own : options->known,
                .left = &left };

  if (ref->device_open (0, 1, &m.ref, &message) != LOOM_STATUS_OK)
    return;
  m.pieces = check_pieces_new (plan);
  g_ptr_array_add (m.known->plans, m.pieces);
  origin = find_origin (&m, options->origin);
  for (guint i = 0; i < m.pieces->refused->len; i++)
    report_refusal (&m, &g_array_index (m.pieces->refused, CheckRefusal, i));
  for (guint i = 0; i < m.pieces->pieces->len && !(options->first_only && report->faults->len > 0); i++)
    {
      const GArray *instrs = m.pieces->pieces->pdata[i];
      g_auto (Finding) f = { 0 };

      if (origin != NULL && !belongs_to (&m, instrs, origin))
        continue;
      examine (&m, instrs, 0, CHECK_SET_NORMAL, &f);
      report_finding (&m, instrs, &f);
    }
  ref->device_close (m.ref);
}
