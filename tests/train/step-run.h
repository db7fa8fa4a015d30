/* Steps of a graph with its <train>, planned and run on one device: losses, the state after the last one, memory. */
#pragma once

#include "engine/loom-lab.h"
#include "tests/scalar-of.h"

#include <math.h>
#include <string.h>

typedef struct
{
  GArray *losses;  /* double */
  GByteArray *end; /* every slot after the last step */
  gsize arena;
  double scale; /* "loss_scale" at the end; NaN if there is none */
} Run;

static inline void
run_clear (Run *run)
{
  g_array_unref (run->losses);
  g_byte_array_unref (run->end);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Run, run_clear)

typedef struct
{
  const char *device;
  gboolean keep_all, no_fusion, poison;
  int steps;
  double first_scale; /* 0: the default */
} RunOptions;

/* Values from -1 to 1, the same in every run. */
static inline LoomTensor *
make_input (const LoomProgram *p, guint i)
{
  const LoomTensorDesc *d = &loom_value_info (p, loom_program_get_input (p, i)->value)->desc;
  LoomTensor *t = loom_tensor_new (d->dtype, d->rank, (const gint64 *)d->dim, NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (7 + i);

  for (gint64 k = 0; k < loom_desc_count (d); k++)
    ((float *)t->data)[k] = (float)g_rand_double_range (rand, -1, 1);
  return t;
}

static inline void
take_steps (Run *run, LoomExec *exec, LoomState *state, const LoomProgram *p, int steps)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < loom_program_n_inputs (p); i++)
    {
      g_ptr_array_add (inputs, make_input (p, i));
      loom_exec_feed (exec, i, ((LoomTensor *)inputs->pdata[i])->data);
    }
  for (int s = 0; s < steps; s++)
    {
      g_assert_true (loom_exec_step (exec, &error));
      g_assert_no_error (error);
      double loss = loom_exec_scalar (exec, (guint)loom_exec_find_output (exec, "loss"));
      g_array_append_val (run->losses, loss);
    }
  for (guint i = 0; i < loom_state_n_slots (state); i++)
    {
      const char *name;
      LoomSlotKind kind;
      LoomTensorDesc desc;
      loom_state_slot (state, i, &name, &kind, &desc);
      g_autoptr (LoomTensor) t = loom_state_get (state, name, &error);
      g_assert_no_error (error);
      g_byte_array_append (run->end, t->data, (guint)t->bytes);
    }
  run->scale = loom_state_find (state, "loss_scale") >= 0 ? scalar_of (state, "loss_scale") : NAN;
}

static inline void
run_graph (const char *xml, const RunOptions *m, Run *run)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LoomGraph) graph = loom_graph_read_data (xml, strlen (xml), "test", faults, &error);
  g_assert_no_error (error);
  g_autoptr (LoomNet) net = loom_net_new (graph, NULL, faults);
  g_autoptr (LoomTrainSpec) spec = loom_train_spec_new (graph, net, faults);
  loom_faults_to_error (faults, "test", &error);
  g_assert_no_error (error);
  spec->keep_all = m->keep_all;
  g_autoptr (LoomStep) step = loom_step_new (spec, 16, TRUE, &error);
  g_assert_no_error (error);
  g_autoptr (LoomDevices) devices = loom_devices_new (1);
  g_autoptr (LoomState) state = loom_state_new (devices, m->device, spec->seed);
  LoomPlanOptions options = { .device = m->device, .no_fusion = m->no_fusion };
  LoomPlan *plan = loom_plan_new (step->program, devices, &options, &error);
  g_assert_no_error (error);
  LoomPlanMemory memory;
  loom_plan_memory (plan, 0, &memory);
  run->arena = memory.arena;
  run->losses = g_array_new (FALSE, FALSE, sizeof (double));
  run->end = g_byte_array_new ();
  g_autoptr (LoomExec) exec = loom_exec_new (plan, state, &error);
  g_assert_no_error (error);
  if (m->first_scale > 0)
    g_assert_true (loom_state_set_scalar (state, "loss_scale", m->first_scale));
  take_steps (run, exec, state, step->program, m->steps);
}

static inline void
assert_same_bits (const Run *a, const Run *b)
{
  g_assert_cmpmem (a->losses->data, a->losses->len * sizeof (double), b->losses->data,
                   b->losses->len * sizeof (double));
  g_assert_cmpmem (a->end->data, a->end->len, b->end->data, b->end->len);
}
