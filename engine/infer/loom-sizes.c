/* Sizes that depend on the data; see the header. */
#include "engine/infer/loom-sizes.h"

#include <string.h>

/* Number of cached programs: a batch in which every size is new would otherwise fill the memory. */
#define KEPT 64

/* The next size to count, given the bound ones. */
typedef struct
{
  LoomBinding binding;
  char symbol; /* 0: none */
  LoomExec *exec;
  guint output;
} Count;

struct _LoomSizes
{
  LoomGraph *graph;
  LoomNet *net; /* with symbolic sizes */
  LoomLowerOptions options;
  LoomPlanOptions plan;
  char *device;
  LoomDevices *devices;
  LoomState *state;
  GPtrArray *counts;
};

static void
count_free (Count *count)
{
  loom_exec_free (count->exec);
  g_free (count);
}

LoomSizes *
loom_sizes_new (const LoomGraph *graph, const LoomLowerOptions *options, const LoomPlanOptions *plan,
                LoomDevices *devices, LoomState *state)
{
  LoomSizes *self = g_new0 (LoomSizes, 1);

  self->graph = loom_graph_ref ((LoomGraph *)graph);
  self->net = loom_net_new (graph, NULL, NULL);
  self->options = *options;
  self->options.wanted = g_memdup2 (options->wanted, options->n_wanted * sizeof *options->wanted);
  self->options.given = g_memdup2 (options->given, options->n_given * sizeof *options->given);
  self->plan = *plan;
  self->device = g_strdup (plan->device);
  self->plan.device = self->device;
  self->devices = loom_devices_ref (devices);
  self->state = loom_state_ref (state);
  self->counts = g_ptr_array_new_with_free_func ((GDestroyNotify)count_free);
  return self;
}

void
loom_sizes_free (LoomSizes *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->counts);
  loom_state_unref (self->state);
  loom_devices_unref (self->devices);
  g_free (self->device);
  g_free ((gpointer)self->options.wanted);
  g_free ((gpointer)self->options.given);
  loom_net_free (self->net);
  loom_graph_unref (self->graph);
  g_free (self);
}

static Count *
count_new (LoomSizes *self, const LoomBinding *binding, GError **error)
{
  g_autoptr (LoomFaults) faults = loom_faults_new ();
  g_autoptr (LoomNet) net = loom_net_bind (self->net, self->graph, binding, faults);
  int node = loom_net_dynamic_size (net, &self->options);
  Count *count = g_new0 (Count, 1);
  LoomValue size;

  count->binding = *binding;
  if (node < 0)
    return count;
  count->symbol = loom_net_node (net, node)->own_symbol;
  g_autoptr (LoomProgram) program = loom_lower_size (net, &self->options, node, &size, error);
  if (program != NULL)
    {
      loom_program_output (program, "size", size);
      LoomPlan *plan = loom_plan_new (program, self->devices, &self->plan, error);
      count->exec = plan != NULL ? loom_exec_new (plan, self->state, error) : NULL;
    }
  if (count->exec == NULL)
    {
      count_free (count);
      return NULL;
    }
  count->output = loom_exec_find_output (count->exec, "size");
  return count;
}

static Count *
count_get (LoomSizes *self, const LoomBinding *binding, GError **error)
{
  for (guint i = 0; i < self->counts->len; i++)
    {
      Count *count = self->counts->pdata[i];
      if (memcmp (&count->binding, binding, sizeof *binding) == 0)
        return count;
    }
  Count *count = count_new (self, binding, error);
  if (count == NULL)
    return NULL;
  if (self->counts->len == KEPT)
    g_ptr_array_remove_index (self->counts, 0);
  g_ptr_array_add (self->counts, count);
  return count;
}

gboolean
loom_sizes_resolve (LoomSizes *self, LoomBinding *binding, LoomSizesFeed feed, gpointer data, GError **error)
{
  for (;;)
    {
      Count *count = count_get (self, binding, error);
      if (count == NULL)
        return FALSE;
      if (count->symbol == 0)
        return TRUE;
      if (!feed (loom_plan_program (loom_exec_plan (count->exec)), count->exec, data, error)
          || !loom_exec_run (count->exec, error))
        return FALSE;
      gint64 size = (gint64)loom_exec_scalar (count->exec, count->output);
      binding->value[count->symbol - 'A'] = size > 0 ? size : LOOM_BOUND_TO_ZERO;
    }
}
