/* The outputs of a step, as numbers. */
#pragma once

#include "engine/run/loom-exec.h"

/* Appends all numbers of the program's outputs, double. */
static inline void
read_outputs (GArray *numbers, LoomExec *exec, const LoomProgram *p)
{
  for (guint o = 0; o < loom_program_n_outputs (p); o++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LoomTensor) t = loom_exec_output (exec, o, &error);

      g_assert_no_error (error);
      for (gint64 k = 0; k < t->count; k++)
        {
          double x = loom_tensor_get (t, k);

          g_array_append_val (numbers, x);
        }
    }
}
