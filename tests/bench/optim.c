/* The engine's side of the race of optimisers alone: a process that updates tensors on command.
 *
 * The program is an update region and nothing else: gradients are buffers that never change. It is the
 * update that training has, so the norm of all gradients and the test for a NaN are in it. With “written” a step first
 * writes the gradients, as a backward pass does: each is what lies in a buffer, with the other sign.
 *
 * usage: bench-optim OPTIMISER TENSORS ELEMENTS THREADS [written]
 * standard input: "step N" → "seconds S" */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/loom-lab.h"
#include "engine/program/loom-optimizer.h"

static void
fail_on (GError *error)
{
  if (error == NULL)
    return;
  fprintf (stderr, "bench-optim: %s\n", error->message);
  exit (1);
}

static LoomProgram *
make_program (const LoomOptimizer *optimizer, guint n, gint64 size, gboolean written, GError **error)
{
  g_autoptr (LoomProgram) p = loom_program_new ();
  g_autofree LoomValue *grad = g_new (LoomValue, n);
  g_autofree int *slot = g_new (int, n);
  double hyper[32] = { 0 };
  LoomUpdateOptions options = { .optimizer = optimizer->name, .hyper = hyper };
  LoomInit init = { .kind = LOOM_INIT_NORMAL, .b = 1 };

  for (guint i = 0; optimizer->hyper[i].name != NULL; i++)
    hyper[i] = optimizer->hyper[i].value;
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("p%u", i), *gradient = g_strdup_printf ("g%u", i);

      slot[i] = loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, 1, &size, &init, TRUE);
      loom_program_read (p, slot[i]);
      grad[i]
          = loom_program_read (p, loom_program_slot (p, gradient, LOOM_SLOT_BUFFER, LOOM_F32, 1, &size, &init, FALSE));
    }
  loom_program_set_region (p, LOOM_REGION_BACKWARD);
  for (guint i = 0; i < n && written; i++)
    grad[i] = loom_unary (p, LOOM_SCALAR_NEG, grad[i]);
  loom_program_set_region (p, LOOM_REGION_UPDATE);
  if (!loom_emit_update (p, &options, n, slot, grad, error))
    return NULL;
  return g_steal_pointer (&p);
}

int
main (int argc, char *argv[])
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomDevices) devices = NULL;
  g_autoptr (LoomProgram) program = NULL;
  g_autoptr (LoomState) state = NULL;
  g_autoptr (LoomExec) exec = NULL;
  const LoomOptimizer *optimizer;
  LoomPlanOptions options = { .device = "cpu" };
  gint64 size;
  guint n;
  char line[64];

  if (argc < 5 || argc > 6 || (argc == 6 && strcmp (argv[5], "written") != 0)
      || (optimizer = loom_optimizer (argv[1])) == NULL || optimizer->emit == NULL)
    {
      fprintf (stderr, "usage: bench-optim OPTIMISER TENSORS ELEMENTS THREADS [written]\n");
      return 2;
    }
  n = (guint)g_ascii_strtoull (argv[2], NULL, 10);
  size = g_ascii_strtoll (argv[3], NULL, 10);
  devices = loom_devices_new (atoi (argv[4]));
  program = make_program (optimizer, n, size, argc == 6, &error);
  fail_on (error);
  state = loom_state_new (devices, "cpu", 1);
  exec = loom_exec_new (loom_plan_new (program, devices, &options, &error), state, &error);
  fail_on (error);
  printf ("ready\n");
  fflush (stdout);
  while (fgets (line, sizeof line, stdin) != NULL)
    {
      gint64 steps = strchr (line, ' ') != NULL ? g_ascii_strtoll (strchr (line, ' ') + 1, NULL, 10) : 0;
      gint64 start = g_get_monotonic_time ();

      for (gint64 i = 0; i < steps; i++)
        {
          if (!loom_exec_step (exec, &error))
            fail_on (error);
        }
      printf ("seconds %.6f\n", (double)(g_get_monotonic_time () - start) * 1e-6);
      fflush (stdout);
    }
  return 0;
}
