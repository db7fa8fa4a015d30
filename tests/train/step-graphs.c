#include "tests/train/step-graphs.h"

gint64
command (LoomTrainer *trainer, const LoomWalkCommand *c, LoomStepperPlace *place)
{
  g_autoptr (GError) error = NULL;
  gint64 step = 0;

  loom_stepper_place_clear (place);
  loom_trainer_walk (trainer, c, place, &step, &error);
  g_assert_no_error (error);
  return step;
}

void
move (LoomTrainer *trainer, LoomStepperMove how, LoomStepperPlace *place)
{
  command (trainer, &(LoomWalkCommand){ .kind = LOOM_WALK_MOVE, .move = how }, place);
}

LoomTensor *
value_of (LoomTrainer *trainer, const char *port)
{
  g_autoptr (GError) error = NULL;
  double scale;
  LoomTensor *t = loom_trainer_walk_port (trainer, port, &scale, &error);

  g_assert_no_error (error);
  return t;
}

LoomTrainer *
on_ref (const char *graph)
{
  return train_test_new (graph, (LoomTrainerOptions){ .device = (char *)"ref" });
}

GPtrArray *
weights_of (LoomTrainer *trainer)
{
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  LoomState *state = loom_trainer_state (trainer);

  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;

      loom_state_slot (state, i, &name, NULL, NULL);
      g_ptr_array_add (all, loom_state_get (state, name, NULL));
    }
  return all;
}

void
assert_same_bits (const GPtrArray *a, const GPtrArray *b)
{
  g_assert_cmpuint (a->len, ==, b->len);
  for (guint i = 0; i < a->len; i++)
    g_assert_true (loom_tensor_equal_bits (a->pdata[i], b->pdata[i]));
}

void
run_to (LoomTrainer *trainer, gint64 step)
{
  g_autoptr (GError) error = NULL;

  loom_trainer_set_last_step (trainer, step);
  loom_trainer_run (trainer, &error);
  g_assert_no_error (error);
}

char *
without_finite_values (void)
{
  g_auto (GStrv) part = g_strsplit (GRAPH, "tanh", 2);

  return g_strjoin ("log", part[0], part[1], NULL);
}
