/* The checker's doors: reports, the rules in turn, bodies, and the check of every plan of a process. */
#include "engine/check/check-private.h"
#include "engine/core/loom-env.h"

#include <string.h>

static const char *const rule_names[LOOM_N_CHECK_RULES] = {
  [LOOM_CHECK_MEMORY] = "memory", [LOOM_CHECK_ORDER] = "order",       [LOOM_CHECK_STATE] = "state",
  [LOOM_CHECK_RANDOM] = "random", [LOOM_CHECK_FORECAST] = "forecast", [LOOM_CHECK_MEANING] = "meaning",
};

const char *
loom_check_rule_name (LoomCheckRule rule)
{
  g_return_val_if_fail (rule < LOOM_N_CHECK_RULES, "?");

  return rule_names[rule];
}

/* ---- reports -------------------------------------------------------------------- */

static void
free_fault (gpointer fault)
{
  g_free (((LoomCheckFault *)fault)->text);
  g_free (fault);
}

LoomCheckReport *
loom_check_report_new (void)
{
  LoomCheckReport *report = g_new0 (LoomCheckReport, 1);

  report->faults = g_ptr_array_new_with_free_func (free_fault);
  return report;
}

void
loom_check_report_free (LoomCheckReport *report)
{
  if (report == NULL)
    return;
  g_ptr_array_unref (report->faults);
  g_free (report->no_memory);
  g_free (report);
}

void
check_fault (LoomCheckReport *report, LoomCheckRule rule, guint instr, guint value, const char *format, ...)
{
  LoomCheckFault *fault = g_new (LoomCheckFault, 1);
  va_list args;

  fault->rule = rule;
  fault->instr = instr;
  fault->value = value;
  va_start (args, format);
  fault->text = g_strdup_vprintf (format, args);
  va_end (args);
  g_ptr_array_add (report->faults, fault);
}

/* Lines that a report prints of a wrong plan, in which one mistake often has many faults. */
#define MOST_LINES 12

char *
loom_check_report_print (const LoomCheckReport *report)
{
  const guint n = report->faults->len, shown = n > MOST_LINES + 1 ? MOST_LINES : n;
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < shown; i++)
    {
      const LoomCheckFault *fault = g_ptr_array_index (report->faults, i);

      g_string_append_printf (text, "check: %s: %s.\n", loom_check_rule_name (fault->rule), fault->text);
    }
  if (shown < n)
    g_string_append_printf (text, "check: … and %u more.\n", n - shown);
  if (n > 0)
    return g_string_free (text, FALSE);
  g_string_printf (text, "plan checked: %u instructions and %u values in %u plan%s", report->n_instrs, report->n_values,
                   report->n_plans, report->n_plans == 1 ? "" : "s");
  if (report->n_pairs > 0)
    g_string_append_printf (text, ", %u pairs of accesses across lanes", report->n_pairs);
  if (report->n_pieces > 0)
    g_string_append_printf (
        text, "; %u pieces: %u equal by rule, %u by evaluation; not compared: %u too large, %u others",
        report->n_pieces, report->n_by_rule, report->n_evaluated, report->n_too_large, report->n_unchecked);
  if (report->n_exchanges > 0)
    g_string_append_printf (text, "; %u exchange%s run", report->n_exchanges, report->n_exchanges == 1 ? "" : "s");
  g_string_append (text, "\n");
  return g_string_free (text, FALSE);
}

void
loom_check_report_add (LoomCheckReport *report, LoomCheckReport *other)
{
  report->n_plans += other->n_plans;
  report->n_instrs += other->n_instrs;
  report->n_values += other->n_values;
  report->n_pairs += other->n_pairs;
  report->n_pieces += other->n_pieces;
  report->n_by_rule += other->n_by_rule;
  report->n_evaluated += other->n_evaluated;
  report->n_alike += other->n_alike;
  report->n_too_large += other->n_too_large;
  report->n_unchecked += other->n_unchecked;
  if (report->no_memory == NULL)
    report->no_memory = g_steal_pointer (&other->no_memory);
  report->n_exchanges += other->n_exchanges;
  g_ptr_array_extend_and_steal (report->faults, g_steal_pointer (&other->faults));
  other->faults = g_ptr_array_new_with_free_func (free_fault);
}

/* ---- names ------------------------------------------------------------------------ */

char *
check_name_instr (const LoomPlan *plan, guint instr)
{
  const LoomPlanInstr *of = instr < loom_plan_n_instrs (plan) ? loom_plan_instr (plan, instr) : NULL;

  if (of == NULL)
    return g_strdup ("the beginning or the end of the step");
  return of->origin != NULL ? g_strdup_printf ("instruction %u (%s of %s)", instr, of->label, of->origin)
                            : g_strdup_printf ("instruction %u (%s)", instr, of->label);
}

char *
check_name_value (const LoomPlan *plan, guint value)
{
  const LoomPlanValue *of = value < loom_plan_n_values (plan) ? loom_plan_value (plan, value) : NULL;
  LoomProgram *program = loom_plan_program (plan);

  if (of == NULL)
    return g_strdup ("a value");
  if (of->location.kind == LOOM_LOCATION_SLOT)
    return g_strdup_printf ("value %u (of %s)", value, loom_program_get_slot (program, of->location.index)->name);
  return of->origin != NULL ? g_strdup_printf ("value %u (of %s)", value, of->origin)
                            : g_strdup_printf ("value %u", value);
}

const LoomPrim *
check_prim (const LoomPlanInstr *instr)
{
  return instr->primitive != NULL && !instr->is_wait ? loom_prim (instr->primitive) : NULL;
}

gboolean
check_is (const LoomPlanInstr *instr, const char *primitive)
{
  return instr->primitive != NULL && !instr->is_wait && strcmp (instr->primitive, primitive) == 0;
}

/* ---- a plan -------------------------------------------------------------------------- */

static void
check_one (const LoomPlan *plan, const LoomCheckOptions *options, LoomCheckReport *report)
{
  const guint before = report->faults->len;
  gboolean can_run;

  report->n_plans++;
  report->n_instrs += loom_plan_n_instrs (plan);
  report->n_values += loom_plan_n_values (plan) - 1;
  check_memory (plan, report);
  can_run = report->faults->len == before;
  check_order (plan, report);
  check_state (plan, report);
  check_random (plan, report);
  check_forecast (plan, report);
  /* A call whose operands do not fit it may write anywhere. */
  if (options->meaning && can_run && (!options->first_only || report->faults->len == before))
    check_meaning (plan, options, report);
}

static void
check_with_bodies (const LoomPlan *plan, const LoomCheckOptions *options, LoomCheckReport *report)
{
  check_one (plan, options, report);
  for (guint i = 0; i < loom_plan_n_instrs (plan); i++)
    {
      const LoomPlanInstr *instr = loom_plan_instr (plan, i);

      for (guint k = 0; k < instr->n_bodies; k++)
        check_with_bodies (instr->body[k], options, report);
    }
}

gboolean
loom_check_plan (const LoomPlan *plan, const LoomCheckOptions *options, LoomCheckReport *report)
{
  const LoomCheckOptions none = { 0 };
  const guint before = report->faults->len;

  g_return_val_if_fail (plan != NULL, FALSE);

  check_with_bodies (plan, options != NULL ? options : &none, report);
  return report->faults->len == before;
}

/* ---- every plan ------------------------------------------------------------------------ */

static LoomCheckOptions installed;

/* Bodies have had their turn when the planner made them. */
static void
refuse_wrong_plan (const LoomPlan *plan)
{
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();
  g_autofree char *text = NULL;

  check_one (plan, &installed, report);
  if (report->faults->len == 0)
    return;
  text = loom_check_report_print (report);
  g_printerr ("%s", text);
  g_error ("A plan is wrong; see above. This is an error of Gradloom: please report it with the graph.");
}

void
loom_check_install (void)
{
  loom_plan_set_checker (refuse_wrong_plan);
}

gboolean
loom_check_install_if_set (void)
{
  static const char *const known[] = { "0", "1", "meaning", NULL };
  const char *wanted = loom_env ("GRADLOOM_CHECK");

  if (wanted != NULL && *wanted != '\0' && !g_strv_contains (known, wanted))
    g_printerr ("GRADLOOM_CHECK is “%s”, which is not 0, 1 or meaning. Plans are checked as with 1.\n", wanted);
  if (wanted == NULL ? !LOOM_CHECK_BY_DEFAULT : g_str_equal (wanted, "0"))
    return FALSE;
  installed.meaning = g_strcmp0 (wanted, "meaning") == 0;
  loom_check_install ();
  return TRUE;
}
