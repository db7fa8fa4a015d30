/* The table of optimisers that run the program from outside (loom-driver.h), found by name: lbfgs and newton. */
#include "engine/train/loom-driver.h"

const LoomDriver *
loom_driver (const char *optimizer)
{
  static const LoomDriver *const all[] = { &loom_driver_lbfgs, &loom_driver_newton };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (g_str_equal (all[i]->optimizer, optimizer))
      return all[i];
  return NULL;
}
