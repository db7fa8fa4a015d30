/* State: each slot that the program changes takes its new value once in a step, and no slot changes before the gate has
 * found all gradients finite.
 *
 * The exception is an undo log: a step that keeps the old weights writes before the gate, and undo_step, which comes
 * before the gate and reads the same flag, restores them. Between the two nothing may end the step. */
#include "engine/check/check-private.h"

/* The last result of an instruction that is in a slot. */
typedef struct
{
  guint instr, out;
} Writer;

typedef struct
{
  const LoomPlan *plan;
  LoomProgram *program;
  const CheckTrace *trace;
  CheckClocks *clocks;
  guint *producer;    /* of each value the instruction that makes it; G_MAXUINT: none */
  GPtrArray *writers; /* of each slot its Writers, in order: GArray; NULL: none */
  LoomCheckReport *report;
} State;

static gboolean
is_slot (const State *self, guint value, guint slot)
{
  const LoomLocation *at = value != G_MAXUINT ? &loom_plan_value (self->plan, value)->location : NULL;

  return at != NULL && at->kind == LOOM_LOCATION_SLOT && at->index == slot;
}

/* A step may write this rank's shard of a parameter where the gathered one will be, if the shard is all of it or if
 * nothing is in either; gathering it again writes the same bytes. */
static gboolean
gathers_in_place (const State *self, const LoomPlanInstr *instr, guint o)
{
  return check_is (instr, "unshard") && o < instr->n_in && check_in (instr, o) != G_MAXUINT
         && is_slot (self, check_in (instr, o), loom_plan_value (self->plan, check_out (instr, o))->location.index);
}

/* ---- the gate ------------------------------------------------------------------ */

/* Calls that only compute, and copies between devices: they report no fault of data, so they cannot end a step on the
 * host. */
static gboolean
cannot_fault (const LoomPlanInstr *instr)
{
  static const char *const arithmetic[]
      = { "elementwise", "reduce", "copy", "fill",   "grad_stats", "sgd_step_logged", "undo_step", "expand",
          "permute",     "slice",  "pad",  "concat", "move" };

  for (guint i = 0; i < G_N_ELEMENTS (arithmetic); i++)
    if (check_is (instr, arithmetic[i]))
      return TRUE;
  return instr->kernel == NULL;
}

/* The undo_step between a logged step and the gate that reads what the step made; G_MAXUINT: none. */
static guint
find_undo (const State *self, guint logged, guint gate)
{
  const LoomPlanInstr *step = loom_plan_instr (self->plan, logged), *at = loom_plan_instr (self->plan, gate);
  const guint n = step->spec != NULL ? (guint)((const LoomSgdLoggedAttrs *)step->spec->attrs)->n : 0;

  for (guint i = logged + 1; i < gate; i++)
    {
      const LoomPlanInstr *undo = loom_plan_instr (self->plan, i);
      gboolean matches
          = check_is (undo, "undo_step") && undo->n_in == 2 * n + 1 && undo->n_out == n && step->n_out >= 2 * n
            && undo->device == step->device && check_in (undo, 2 * n) != G_MAXUINT && check_in (at, 0) != G_MAXUINT
            && check_root (self->plan, check_in (undo, 2 * n)) == check_root (self->plan, check_in (at, 0));

      for (guint k = 0; k < 2 * n && matches; k++)
        matches = check_in (undo, k) == check_out (step, k);
      if (matches)
        return i;
    }
  return G_MAXUINT;
}

static gboolean
is_undone_before (const State *self, guint logged, guint gate)
{
  const guint undo = find_undo (self, logged, gate);

  if (undo == G_MAXUINT || !check_clocks_precede (self->clocks, self->trace->op_of[undo], self->trace->read_op[gate]))
    return FALSE;
  for (guint i = logged; i < gate; i++)
    if (!cannot_fault (loom_plan_instr (self->plan, i)))
      return FALSE;
  return TRUE;
}

/* The instructions that write slots come after every gate. */
static void
check_gate (State *self, guint gate)
{
  const guint n_setup = loom_plan_n_setup (self->plan);

  for (guint i = n_setup; i < loom_plan_n_instrs (self->plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);
      gboolean writes = FALSE;

      for (guint o = 0; o < instr->n_out; o++)
        writes |= check_out (instr, o) != G_MAXUINT
                  && loom_plan_value (self->plan, check_out (instr, o))->location.kind == LOOM_LOCATION_SLOT
                  && loom_desc_bytes (&loom_plan_value (self->plan, check_out (instr, o))->desc) > 0;
      if (!writes || check_clocks_precede (self->clocks, self->trace->op_of[gate], self->trace->op_of[i])
          || (check_is (instr, "sgd_step_logged") && is_undone_before (self, i, gate)))
        continue;
      /* The undo itself, if the step that it undoes is accepted. */
      if (check_is (instr, "undo_step") && instr->n_in > 0 && check_in (instr, 0) != G_MAXUINT)
        {
          const guint logged = self->producer[check_in (instr, 0)];

          if (logged < i && check_is (loom_plan_instr (self->plan, logged), "sgd_step_logged")
              && find_undo (self, logged, gate) == i)
            continue;
        }
      g_autofree char *name = check_name_instr (self->plan, i);

      check_fault (self->report, LOOM_CHECK_STATE, i, G_MAXUINT,
                   "%s writes state before all gradients are known to be finite, and no undo log covers it", name);
    }
}

static gboolean
is_exchange (const LoomPlanInstr *instr)
{
  const LoomPrim *prim = check_prim (instr);

  return prim != NULL && (prim->flags & LOOM_PRIM_COLLECTIVE) != 0;
}

/* The instructions on whose results the gate's decision depends. What comes from another rank depends on everything
 * that this rank has sent before. */
static gboolean *
find_cone (const State *self, guint gate)
{
  gboolean *in_cone = g_new0 (gboolean, loom_plan_n_instrs (self->plan) + 1);

  in_cone[gate] = TRUE;
  for (guint i = gate + 1; i-- > 0;)
    {
      const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);

      for (guint k = 0; in_cone[i] && k < instr->n_in; k++)
        {
          const guint from = check_in (instr, k) != G_MAXUINT
                                 ? self->producer[check_root (self->plan, check_in (instr, k))]
                                 : G_MAXUINT;

          if (from < i)
            in_cone[from] = TRUE;
        }
      for (guint k = 0; in_cone[i] && is_exchange (instr) && k < i; k++)
        in_cone[k] |= is_exchange (loom_plan_instr (self->plan, k));
    }
  return in_cone;
}

/* All statistics of gradients that are listed before the gate take part in its decision. */
static void
check_statistics (State *self, guint gate)
{
  g_autofree gboolean *in_cone = find_cone (self, gate);

  for (guint i = 0; i < gate; i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);

      if (in_cone[i] || (!check_is (instr, "grad_stats") && !check_is (instr, "sgd_step_logged")))
        continue;
      g_autofree char *name = check_name_instr (self->plan, i);

      check_fault (self->report, LOOM_CHECK_STATE, i, G_MAXUINT, "the gate does not depend on %s", name);
    }
}

/* ---- slots ----------------------------------------------------------------------- */

/* TRUE for a copy to another device, or to another layout. */
static gboolean
is_copy (const LoomPlanInstr *instr)
{
  const LoomPrim *prim = check_prim (instr);

  return instr->kernel == NULL
         || (prim != NULL && (prim->flags & LOOM_PRIM_CONVERTS) != 0 && instr->spec != NULL
             && instr->spec->in[0].dtype == instr->spec->out[0].dtype);
}

/* Follows copies backwards. */
static guint
copied_from (const State *self, guint value)
{
  guint root = check_root (self->plan, value);

  for (guint i = self->producer[root]; i != G_MAXUINT && is_copy (loom_plan_instr (self->plan, i));
       i = self->producer[root])
    root = check_root (self->plan, check_in (loom_plan_instr (self->plan, i), 0));
  return root;
}

static void
free_list (gpointer list)
{
  if (list != NULL)
    g_array_unref (list);
}

static void
find_writers (State *self)
{
  g_ptr_array_set_size (self->writers, (int)loom_program_n_slots (self->program));
  for (guint i = 0; i < loom_plan_n_instrs (self->plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (self->plan, i);

      for (guint o = 0; o < instr->n_out; o++)
        {
          const LoomLocation *at = check_out (instr, o) != G_MAXUINT
                                       ? &loom_plan_value (self->plan, check_out (instr, o))->location
                                       : NULL;
          GArray *list;

          if (at == NULL || at->kind != LOOM_LOCATION_SLOT || at->index >= self->writers->len)
            continue;
          list = g_ptr_array_index (self->writers, at->index);
          if (list == NULL)
            self->writers->pdata[at->index] = list = g_array_new (FALSE, FALSE, sizeof (Writer));
          if (list->len > 0 && g_array_index (list, Writer, list->len - 1).instr == i)
            g_array_set_size (list, list->len - 1);
          g_array_append_vals (list, &(Writer){ i, o }, 1);
        }
    }
}

/* The writers of a slot, in order: the last one makes the new value, and only an undo may have one before it. */
static void
check_slot (State *self, guint s)
{
  const LoomSlot *slot = loom_program_get_slot (self->program, s);
  const GArray *pairs = loom_plan_commit_copies (self->plan), *writers = g_ptr_array_index (self->writers, s);
  const gboolean changes = slot->commit != 0 && slot->commit != slot->read;
  guint writer = G_MAXUINT, n = 0, value = G_MAXUINT;
  gboolean is_undone = FALSE;

  for (guint w = 0; writers != NULL && w < writers->len; w++)
    {
      const Writer *writes = &g_array_index (writers, Writer, w);
      const LoomPlanInstr *instr = loom_plan_instr (self->plan, writes->instr);

      is_undone = n == 1 && check_is (instr, "undo_step")
                  && check_is (loom_plan_instr (self->plan, writer), "sgd_step_logged");
      n += n == 0 || !gathers_in_place (self, instr, writes->out);
      writer = writes->instr;
      value = check_out (instr, writes->out);
    }
  for (guint i = 0; i + 1 < pairs->len; i += 2)
    if (g_array_index (pairs, guint, i + 1) == s)
      {
        n++;
        writer = G_MAXUINT;
        value = g_array_index (pairs, guint, i);
      }
  if (n == 0 && !changes)
    return;
  if (!changes)
    check_fault (self->report, LOOM_CHECK_STATE, writer, value, "%s is written, but the program does not change it",
                 slot->name);
  else if (n == 0)
    check_fault (self->report, LOOM_CHECK_STATE, G_MAXUINT, G_MAXUINT, "%s is never set to its new value", slot->name);
  else if (n > 1 + (guint)is_undone)
    check_fault (self->report, LOOM_CHECK_STATE, writer, value, "%s is written %u times in a step", slot->name, n);
  else if (copied_from (self, value) != copied_from (self, slot->commit))
    {
      g_autofree char *is = check_name_value (self->plan, value), *should = check_name_value (self->plan, slot->commit);

      check_fault (self->report, LOOM_CHECK_STATE, writer, value, "%s is set to %s instead of %s", slot->name, is,
                   should);
    }
}

void
check_state (const LoomPlan *plan, LoomCheckReport *report)
{
  g_autoptr (CheckTrace) trace = check_trace_new (plan);
  g_autoptr (CheckClocks) clocks = check_clocks_new (trace);
  g_autofree guint *producer = g_new (guint, loom_plan_n_values (plan) + 1);
  g_autoptr (GPtrArray) writers = g_ptr_array_new_with_free_func (free_list);
  State self = { plan, loom_plan_program (plan), trace, clocks, producer, writers, report };

  for (guint v = 0; v <= loom_plan_n_values (plan); v++)
    producer[v] = G_MAXUINT;
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      for (guint o = 0; o < instr->n_out; o++)
        if (check_out (instr, o) != G_MAXUINT)
          producer[check_out (instr, o)] = i;
    }
  find_writers (&self);
  for (guint s = 0; s < loom_program_n_slots (self.program); s++)
    check_slot (&self, s);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    if (loom_plan_instr (plan, i)->is_gate)
      {
        check_gate (&self, i);
        check_statistics (&self, i);
      }
}
