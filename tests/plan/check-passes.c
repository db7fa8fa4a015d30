/* Runs the planner's passes and verifies the working form after each, see the header. */
#include "tests/plan/check-passes.h"

#include "engine/plan/plan-private.h"

static void
look (PlanGraph *g, const PlanPass *pass, gboolean ran, gpointer data)
{
  g_autofree char *why = NULL;
  char **first = data;

  if (*first == NULL && !graph_verify (g, &why))
    *first = g_strdup_printf ("after the pass “%s”: %s", pass->name, why);
}

char *
check_passes (LoomProgram *program, LoomDevices *devices, const LoomPlanOptions *options)
{
  PlanGraph *g = graph_new (program, devices, options);
  char *why = NULL;

  if (!graph_verify (g, &why))
    {
      char *sentence = g_strdup_printf ("as imported: %s", why);

      g_free (why);
      why = sentence;
    }
  else
    graph_run_passes (g, look, &why, NULL);
  graph_free (g);
  return why;
}
