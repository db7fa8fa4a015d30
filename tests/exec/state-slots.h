/* All slots of a run's state, to compare two runs by. */
#pragma once

#include "engine/run/loom-exec.h"

/* Their tensors in the order of the slots. (transfer full) (element-type LoomTensor) */
static inline GPtrArray *
state_slots (LoomState *state)
{
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (all, loom_state_get (state, name, NULL));
    }
  return all;
}

/* The test fails unless all bits are the same. */
static inline void
assert_same_slots (GPtrArray *a, GPtrArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    g_assert_true (loom_tensor_equal_bits (a->pdata[i], b->pdata[i]));
}
