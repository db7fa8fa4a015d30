/* Finds the pass that makes a plan wrong: plans the program again with ever more passes. */
#include "engine/check/check-private.h"

/* TRUE if the plan that these options make is wrong. A plan that cannot be made is not. origin (may be NULL) receives
 * the node of the first fault, NULL if it belongs to none. */
static gboolean
is_wrong (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options, const LoomCheckOptions *check,
          char **origin)
{
  g_autoptr (LoomPlan) plan = loom_plan_new (program, devices, options, NULL);
  g_autoptr (LoomCheckReport) report = loom_check_report_new ();
  guint instr;

  if (plan == NULL || loom_check_plan (plan, check, report))
    return FALSE;
  instr = ((const LoomCheckFault *)g_ptr_array_index (report->faults, 0))->instr;
  if (origin != NULL && instr < loom_plan_n_instrs (plan))
    *origin = g_strdup (loom_plan_instr (plan, instr)->origin);
  return TRUE;
}

static void
note_pass (const LoomPlanPass *pass, gpointer data)
{
  if (pass->ran)
    g_ptr_array_add (data, (gpointer)pass->name);
}

/* The passes that run with these options, those of the program before the entry "program". (transfer container) */
static GPtrArray *
list_passes (LoomProgram *program, LoomDevices *devices, LoomPlanOptions options)
{
  GPtrArray *names = g_ptr_array_new ();
  g_autoptr (LoomPlan) plan = NULL;

  options.on_pass = note_pass;
  options.on_pass_data = names;
  plan = loom_plan_new (program, devices, &options, NULL);
  return names;
}

/* Of the passes that always run, the work of these can be switched off: the latest first, since each needs what the
 * ones before it have made. Without the others there is no plan. */
static const char *
blame_other (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options, const LoomCheckOptions *check)
{
  LoomPlanOptions fewer = *options;

  fewer.no_reuse = TRUE;
  if (!is_wrong (program, devices, &fewer, check, NULL))
    return "memory";
  fewer.no_sends = TRUE;
  if (!is_wrong (program, devices, &fewer, check, NULL))
    return "device copies";
  fewer.no_layout = TRUE;
  if (!is_wrong (program, devices, &fewer, check, NULL))
    return "layouts";
  return "program";
}

const char *
loom_check_blame (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options,
                  const LoomCheckOptions *check)
{
  const LoomPlanOptions defaults = { 0 };
  const LoomCheckOptions none = { 0 };
  LoomPlanOptions some = options != NULL ? *options : defaults;
  LoomCheckOptions node = check != NULL ? *check : none;
  g_autoptr (GPtrArray) names = NULL;
  g_autofree char *origin = NULL;
  guint first = 0;

  some.on_pass = NULL;
  some.visit = NULL;
  some.on_call = NULL;
  some.faults = NULL;
  node.first_only = TRUE;
  if (!is_wrong (program, devices, &some, &node, &origin))
    return NULL;
  node.origin = origin;
  names = list_passes (program, devices, some);
  some.no_fusion = TRUE;
  if (is_wrong (program, devices, &some, &node, NULL))
    return blame_other (program, devices, &some, &node);
  some.no_fusion = FALSE;
  while (first < names->len && !g_str_equal (g_ptr_array_index (names, first), "program"))
    first++;
  if (first + 1 >= names->len)
    return NULL;
  /* With the last pass the plan is wrong, with none of them it is not: the first wrong one is between. */
  guint right = first, wrong = names->len - 1;
  while (wrong - right > 1)
    {
      const guint middle = right + (wrong - right) / 2;

      some.last_fusion = g_ptr_array_index (names, middle);
      if (is_wrong (program, devices, &some, &node, NULL))
        wrong = middle;
      else
        right = middle;
    }
  return g_ptr_array_index (names, wrong);
}
