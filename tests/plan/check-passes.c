/* Runs the planner's passes and verifies the working form after each, see the header. */
#include "tests/plan/check-passes.h"

#include "engine/plan/plan-private.h"

static void
look (Work *g, const WorkPass *pass, gboolean ran, gpointer data)
{
  g_autofree char *why = NULL;
  char **first = data;

  if (*first == NULL && !work_check (g, &why))
    *first = g_strdup_printf ("after the pass “%s”: %s", pass->name, why);
}

char *
check_passes (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options)
{
  Work *g = work_new (program, devices, options);
  char *why = NULL;

  if (!work_check (g, &why))
    {
      char *sentence = g_strdup_printf ("as imported: %s", why);

      g_free (why);
      why = sentence;
    }
  else
    work_run_passes (g, look, &why, NULL);
  work_free (g);
  return why;
}
