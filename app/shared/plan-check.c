/* Checks plans and prints their faults; see the header. A line with the number of faults and the plan's name precedes
 * the faults of each plan, because each rank has a plan. */
#include "app/shared/plan-check.h"
#include "app/shared/command.h"

#include <stdio.h>

/* A plan of a step or of an update, with the arguments that made it. */
typedef struct
{
  LoomPlan *plan;
  LoomPlanOptions options;
  char *name; /* "rank 1's training step" */
} CheckedPlan;

static void
checked_plan_clear (gpointer data)
{
  CheckedPlan *checked = data;

  loom_plan_free (checked->plan);
  g_free (checked->name);
}

GArray *
plan_check_list_new (void)
{
  GArray *plans = g_array_new (FALSE, FALSE, sizeof (CheckedPlan));

  g_array_set_clear_func (plans, checked_plan_clear);
  return plans;
}

void
plan_check_take (GArray *plans, LoomPlan *plan, const LoomPlanOptions *options, const char *name)
{
  CheckedPlan checked = { plan, *options, g_strdup (name) };

  g_array_append_val (plans, checked);
}

gboolean
plan_check_add (GArray *plans, LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options,
                const char *name, GError **error)
{
  LoomPlan *plan = loom_plan_new (program, devices, options, error);

  if (plan != NULL)
    plan_check_take (plans, plan, options, name);
  return plan != NULL;
}

/* ---- output ----------------------------------------------------------------- */

static void
print_faults_json (const LoomCheckReport *report, const char *name)
{
  for (guint i = 0; i < report->faults->len; i++)
    {
      const LoomCheckFault *fault = g_ptr_array_index (report->faults, i);
      LoomJson *line = command_event_new ("check_fault");

      loom_json_string (line, "plan", name);
      loom_json_string (line, "rule", loom_check_rule_name (fault->rule));
      loom_json_string (line, "text", fault->text);
      command_event_print (line);
    }
}

/* Prints "3 faults in rank 1's training step:", and a line for each of the first faults. */
static void
print_faults (const LoomCheckReport *report, const char *name, gboolean json)
{
  const guint n = report->faults->len;

  if (n == 0)
    return;
  if (json)
    {
      print_faults_json (report, name);
      return;
    }
  g_autofree char *text = loom_check_report_print (report);
  printf ("%u fault%s in %s:\n%s", n, n == 1 ? "" : "s", name, text);
  fflush (stdout); /* the search for the guilty pass takes longer */
}

static void
print_guilty (const char *pass, const char *name, gboolean json)
{
  if (!json)
    {
      if (g_str_equal (pass, "program"))
        printf ("check: the plan is also wrong without fusions, layouts, copies on streams of their own and shared "
                "memory, so the program or one of the passes that always run causes this.\n");
      else
        printf ("check: the pass “%s” makes the plan wrong.\n", pass);
      return;
    }
  LoomJson *line = command_event_new ("check_pass");
  loom_json_string (line, "plan", name);
  loom_json_string (line, "pass", pass);
  command_event_print (line);
}

/* Prints the result: the checked properties of all plans together, or the number of faults. */
static void
print_verdict (const LoomCheckReport *report, guint n_lists, gboolean json)
{
  const guint n = report->faults->len;

  if (json)
    {
      LoomJson *line = command_event_new ("check");
      loom_json_bool (line, "ok", n == 0);
      loom_json_int (line, "faults", n);
      loom_json_int (line, "plans", report->n_plans);
      loom_json_int (line, "instructions", report->n_instrs);
      loom_json_int (line, "values", report->n_values);
      loom_json_int (line, "pairs", report->n_pairs);
      loom_json_int (line, "pieces", report->n_pieces);
      loom_json_int (line, "equal_by_rule", report->n_by_rule);
      loom_json_int (line, "equal_by_evaluation", report->n_evaluated);
      loom_json_int (line, "too_large", report->n_too_large);
      loom_json_int (line, "not_evaluated", report->n_unchecked);
      loom_json_int (line, "exchanges", report->n_exchanges);
      command_event_print (line);
      return;
    }
  g_autofree char *text = n == 0 ? loom_check_report_print (report) : NULL;
  if (n == 0)
    printf ("%s", text);
  else if (n_lists > 1)
    printf ("%u faults in all.\n", n);
}

/* ---- the check -------------------------------------------------------------- */

/* TRUE if all faults are found by evaluation, which is slow: only then the search for the guilty pass evaluates, too.
 */
static gboolean
only_meaning (const LoomCheckReport *report)
{
  for (guint i = 0; i < report->faults->len; i++)
    if (((const LoomCheckFault *)g_ptr_array_index (report->faults, i))->rule != LOOM_CHECK_MEANING)
      return FALSE;
  return TRUE;
}

/* Checks each plan, and with several ranks the compatibility of their exchanges; prints the faults of each, and names
 * the pass that causes them. Returns the number of faulty plans and sets of plans. */
static guint
check_plans (const GArray *plans, LoomDevices *devices, gboolean are_all, const char *exchanges, gboolean json,
             LoomCheckKnown *known, LoomCheckReport *report)
{
  const LoomCheckOptions options = { .meaning = TRUE, .known = known };
  g_autoptr (GPtrArray) ranks = g_ptr_array_new ();
  g_autoptr (LoomCheckReport) together = loom_check_report_new ();
  guint n_lists = 0;

  for (guint i = 0; i < plans->len; i++)
    {
      const CheckedPlan *checked = &g_array_index (plans, CheckedPlan, i);
      g_autoptr (LoomCheckReport) own = loom_check_report_new ();

      g_ptr_array_add (ranks, checked->plan);
      if (!loom_check_plan (checked->plan, &options, own))
        {
          const LoomCheckOptions again = { .meaning = only_meaning (own) };

          n_lists++;
          print_faults (own, checked->name, json);
          const char *pass = loom_check_blame (loom_plan_program (checked->plan), devices, &checked->options, &again);
          if (pass != NULL)
            print_guilty (pass, checked->name, json);
        }
      loom_check_report_add (report, own);
    }
  /* Without a mesh, for example between a parameter server and its workers, there are no exchanges to compare. */
  if (are_all && ranks->len > 1 && g_array_index (plans, CheckedPlan, 0).options.mesh != NULL)
    {
      const LoomPlan *const *all = (const LoomPlan *const *)ranks->pdata;

      if (loom_check_ranks (all, ranks->len, together) && report->faults->len == 0)
        loom_check_exchanges (all, ranks->len, together);
    }
  print_faults (together, exchanges, json);
  n_lists += together->faults->len > 0;
  loom_check_report_add (report, together);
  return n_lists;
}

gboolean
plan_check (const GArray *steps, const GArray *updates, LoomDevices *devices, gboolean are_all, gboolean json,
            gboolean *ok, GError **error)
{
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();
  g_autoptr (LoomCheckKnown) known = loom_check_known_new ();
  guint n_lists = check_plans (steps, devices, are_all, "the exchanges of all ranks' steps", json, known, report);

  n_lists += check_plans (updates, devices, are_all, "the exchanges of all ranks' updates", json, known, report);
  *ok = report->faults->len == 0;
  if (*ok && report->no_memory != NULL)
    {
      g_set_error (
          error, LOOM_ERROR, LOOM_ERROR_OUT_OF_MEMORY,
          "There is not enough memory to compare %s with the program. Free some, or check a smaller batch with "
          "--batch-size.",
          report->no_memory);
      return FALSE;
    }
  print_verdict (report, n_lists, json);
  return TRUE;
}
