/* `gradloom bench devices`: peaks of products, sums and copies on each device. */
#include "app/bench-private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A program of one primitive over zeros, run again and again. */
typedef struct
{
  LoomProgram *program;
  LoomState *state;
  LoomExec *exec;
  GPtrArray *inputs;
} Probe;

static void
probe_clear (Probe *probe)
{
  loom_exec_free (probe->exec);
  g_clear_pointer (&probe->state, loom_state_unref);
  g_clear_pointer (&probe->program, loom_program_unref);
  g_clear_pointer (&probe->inputs, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Probe, probe_clear)

static gboolean
probe_step (gpointer data, GError **error)
{
  return loom_exec_step (((Probe *)data)->exec, error);
}

static gboolean
probe_ready (Probe *probe, LoomDevices *devices, const char *device, GError **error)
{
  LoomPlanOptions options = { .device = device };

  probe->state = loom_state_new (devices, device, 0);
  LoomPlan *plan = loom_plan_new (probe->program, devices, &options, error);
  probe->exec = plan != NULL ? loom_exec_new (plan, probe->state, error) : NULL;
  if (probe->exec == NULL)
    return FALSE;
  probe->inputs = g_ptr_array_new_with_free_func ((GDestroyNotify)loom_tensor_unref);
  for (guint i = 0; i < loom_program_n_inputs (probe->program); i++)
    {
      const LoomTensorDesc *d
          = &loom_value_info (probe->program, loom_program_get_input (probe->program, i)->value)->desc;
      LoomTensor *t = loom_tensor_new (d->dtype, d->rank, (const gint64 *)d->dim, error);
      if (t == NULL)
        return FALSE;
      g_ptr_array_add (probe->inputs, t);
      loom_exec_feed (probe->exec, i, t->data);
    }
  return TRUE;
}

typedef struct
{
  const char *name, *unit;
  double scale; /* from calls a second to the unit */
  /* Builds the program; size is smaller on a device that is slow on purpose. */
  void (*build) (LoomProgram *p, gint64 size);
  gint64 size, small;
  double (*work) (gint64 size);
} ProbeKind;

/* The operands are parameters, so that they lie in the device's memory and no copy is timed. */
static LoomValue
resident (LoomProgram *p, const char *name, int rank, const gint64 *dims)
{
  LoomInit init = { .kind = LOOM_INIT_ZEROS };
  return loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_PARAMETER, LOOM_F32, rank, dims, &init, TRUE));
}

static void
build_matmul (LoomProgram *p, gint64 n)
{
  gint64 dims[] = { n, n };
  loom_program_output (p, "y", loom_matmul (p, resident (p, "a", 2, dims), resident (p, "b", 2, dims), FALSE, FALSE));
}

static double
matmul_work (gint64 n)
{
  return 2.0 * n * n * n;
}

static void
build_add (LoomProgram *p, gint64 n)
{
  loom_program_output (p, "y", loom_binary (p, LOOM_SCALAR_ADD, resident (p, "a", 1, &n), resident (p, "b", 1, &n)));
}

static double
add_work (gint64 n)
{
  return 12.0 * n;
}

static void
build_copy (LoomProgram *p, gint64 n)
{
  loom_program_output (p, "y", loom_unary (p, LOOM_SCALAR_NEG, loom_program_input (p, "x", LOOM_F32, 1, &n)));
}

static double
copy_work (gint64 n)
{
  return 4.0 * n;
}

static const ProbeKind probes[] = {
  { "matmul f32", "GFLOP/s", 1e-9, build_matmul, 1024, 128, matmul_work },
  { "memory (a + b)", "GB/s", 1e-9, build_add, 1 << 24, 1 << 20, add_work },
  { "input from host", "GB/s", 1e-9, build_copy, 1 << 24, 1 << 20, copy_work },
};

static void
list_device (const char *name, const LoomDeviceInfo *info, const char *why_not, gpointer data)
{
  if (why_not != NULL)
    return;
  if (bench_is_emulated (info))
    g_printerr ("gradloom bench: %s is emulated, so its speed says nothing; it is left out.\n", name);
  else
    g_ptr_array_add (data, g_strdup (name));
}

int
bench_devices (const Command *command, const BenchOptions *o)
{
  g_autoptr (LoomDevices) devices = loom_devices_new (o->threads);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GError) refused = NULL;

  if (o->device != NULL && !bench_may_be_timed (devices, o->device, &refused))
    return command_fail (command, g_steal_pointer (&refused));
  loom_devices_foreach (devices, list_device, names);
  for (guint d = 0; d < names->len; d++)
    for (guint i = 0; i < G_N_ELEMENTS (probes); i++)
      {
        const ProbeKind *kind = &probes[i];
        const char *device = names->pdata[d];
        gint64 size = g_str_equal (device, "ref") ? kind->small : kind->size;
        g_autoptr (GError) error = NULL;
        g_auto (Probe) probe = { 0 };
        BenchStats s;

        if (o->device != NULL && !g_str_equal (o->device, device))
          continue;
        probe.program = loom_program_new ();
        kind->build (probe.program, size);
        if (!probe_ready (&probe, devices, device, &error)
            || !bench_measure (probe_step, &probe, o->windows, MIN (o->seconds, 0.2), &s, &error))
          return command_fail (command, g_steal_pointer (&error));
        double unit = kind->work (size) * kind->scale;
        if (o->json)
          {
            LoomJson *json = command_event_new ("device");
            loom_json_string (json, "device", device);
            loom_json_string (json, "what", kind->name);
            loom_json_string (json, "unit", kind->unit);
            loom_json_number (json, "median", s.median * unit);
            loom_json_number (json, "min", s.min * unit);
            loom_json_number (json, "max", s.max * unit);
            command_event_print (json);
          }
        else
          printf ("%-8s %-16s %8.1f %s  (min %.1f, max %.1f)\n", device, kind->name, s.median * unit, kind->unit,
                  s.min * unit, s.max * unit);
        command_flush ();
      }
  return 0;
}
