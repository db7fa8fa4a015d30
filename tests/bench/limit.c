/* The limit of a race: the work of a program's products, and the rate that a large product reaches. */
#include "tests/bench/limit.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/run/loom-exec.h"

double
operations_of (const LoomProgram *p)
{
  double sum = 0;

  for (guint i = 0; i < loom_program_n_instrs (p); i++)
    {
      const LoomInstr *instr = loom_program_instr (p, i);
      LoomTensorDesc in[32] = { { .dtype = LOOM_N_DTYPES } }, out[32] = { { .dtype = LOOM_N_DTYPES } };

      if (instr->prim->flags & LOOM_PRIM_LOOP)
        {
          const LoomScanAttrs *loop = instr->attrs;

          sum += (double)loop->length * operations_of (loop->body);
        }
      if (((instr->prim->flags & LOOM_PRIM_PRODUCT) == 0 && !g_str_has_prefix (instr->prim->name, "attention"))
          || instr->n_in > G_N_ELEMENTS (in) || instr->n_out > G_N_ELEMENTS (out))
        continue;
      for (guint k = 0; k < instr->n_in; k++)
        if (instr->in[k] != 0)
          in[k] = loom_value_info (p, instr->in[k])->desc;
      for (guint k = 0; k < instr->n_out; k++)
        if (instr->out[k] != 0)
          out[k] = loom_value_info (p, instr->out[k])->desc;
      sum += instr->prim->flops (instr->attrs, instr->n_in, in, out);
    }
  return sum;
}

static void
end_on (const GError *error)
{
  if (error == NULL)
    return;
  fprintf (stderr, "product_rate: %s\n", error->message);
  exit (1);
}

double
product_rate (LoomDevices *devices, const char *device, LoomDType dtype)
{
  enum
  {
    SIZE = 1024,
    TIMES = 8,
    WINDOWS = 5
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomProgram) p = loom_program_new ();
  const gint64 dims[] = { SIZE, SIZE };
  double best = 0;

  loom_program_output (p, "product",
                       loom_matmul (p, loom_program_input (p, "a", dtype, 2, dims),
                                    loom_program_input (p, "b", dtype, 2, dims), FALSE, FALSE));
  {
    g_autoptr (LoomState) state = loom_state_new (devices, device, 1);
    LoomPlan *plan = loom_plan_new (p, devices, &(LoomPlanOptions){ .device = device }, &error);
    g_autoptr (LoomExec) exec = plan != NULL ? loom_exec_new (plan, state, &error) : NULL;
    g_autofree void *zeros = g_malloc0 (SIZE * SIZE * sizeof (float));

    end_on (error);
    loom_exec_feed (exec, 0, zeros);
    loom_exec_feed (exec, 1, zeros);
    for (int window = -1; window < WINDOWS; window++)
      {
        gint64 start = g_get_monotonic_time ();

        for (int i = 0; i < TIMES && error == NULL; i++)
          loom_exec_run (exec, &error);
        end_on (error);
        if (window >= 0)
          best = MAX (best, 2.0 * SIZE * SIZE * SIZE * TIMES / ((double)(g_get_monotonic_time () - start) * 1e-6));
      }
  }
  return best;
}
