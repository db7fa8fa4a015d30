/* An executor that walks its program instead of its plan: a step begins with the state and the inputs, runs one
 * primitive after the other, each in memory of its own, and drops everything before the next step. This is how a
 * dynamic graph is executed; training by it shows what fusion and planned memory save. */
#include "engine/run/run-private.h"

#include "engine/run/loom-eager.h"

#include <math.h>

gboolean
loom_exec_walk (LoomExec *exec, LoomDevices *devices, GError **error)
{
  exec->eager = loom_eager_new (loom_plan_program (exec->plan), exec->state, devices,
                                loom_plan_device (exec->plan, 0)->name, error);
  /* Each instruction is waited for, so that every step is over when it returns. */
  exec->is_blocking = TRUE;
  exec->is_ahead = FALSE;
  return exec->eager != NULL;
}

gboolean
loom_exec_eager_step (LoomExec *exec, GError **error)
{
  exec->fault_step = 0;
  loom_state_shared (exec->state)->step++;
  for (guint i = 0; i < exec->n_feeds; i++)
    loom_eager_feed (exec->eager, i, exec->feeds[i].fed);
  return loom_eager_run (exec->eager, TRUE, NULL, NULL, error);
}

double
loom_exec_eager_scalar (LoomExec *exec, guint output)
{
  g_autoptr (LoomTensor) t = loom_eager_output (exec->eager, output, NULL);

  return t != NULL && t->count == 1 ? loom_tensor_get (t, 0) : NAN;
}
