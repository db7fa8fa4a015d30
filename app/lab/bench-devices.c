/* `gradloom bench devices`: measures basic figures of hardware: products by size and type, a memory-bound sum, copies
 * from and to the host, and the overhead of a step compared with its bare kernels (bench-launch.c); then layers of
 * well-known nets (bench-layers.c). One row each, so that devices can be compared.
 *
 * Operands are random numbers, because a GPU consumes less power, and so less time, for zeros than for data. */
#include "app/lab/bench-private.h"

#include <stdio.h>
#include <string.h>

/* A program of one primitive, run repeatedly. */
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

#define MOST_SIZES 5
#define LONG_CALL  0.1 /* seconds; after such a call larger sizes, which take many times as long, are skipped */

typedef struct
{
  const char *name, *unit;
  double
      scale; /* from work per second to the unit; 0: the unit is a time, and `work` is divided by this many seconds */
  LoomValue (*build) (LoomProgram *p, gint64 size, LoomDType dtype);
  gint64 sizes[MOST_SIZES]; /* ascending, ended by 0; on an intentionally slow device only the first is measured */
  double (*work) (gint64 size);
  LoomDType dtype;
  gboolean tf32, gpu; /* f32 products in TF32; only on GPUs */
} ProbeKind;

/* The operands are parameters, so that they are stored in the device's memory and no copy is timed. */
static LoomValue
resident (LoomProgram *p, const char *name, int rank, const gint64 *dims, LoomDType dtype)
{
  LoomInit init = { .kind = LOOM_INIT_NORMAL, .a = 0, .b = 1 };

  return loom_program_read (p, loom_program_slot (p, name, LOOM_SLOT_PARAMETER, dtype, rank, dims, &init, TRUE));
}

static LoomValue
build_matmul (LoomProgram *p, gint64 n, LoomDType dtype)
{
  gint64 dims[] = { n, n };

  return loom_matmul (p, resident (p, "a", 2, dims, dtype), resident (p, "b", 2, dims, dtype), FALSE, FALSE);
}

static double
matmul_work (gint64 n)
{
  return 2.0 * n * n * n;
}

static LoomValue
build_add (LoomProgram *p, gint64 n, LoomDType dtype)
{
  return loom_binary (p, LOOM_SCALAR_ADD, resident (p, "a", 1, &n, dtype), resident (p, "b", 1, &n, dtype));
}

static double
add_work (gint64 n)
{
  return 12.0 * n;
}

static LoomValue
build_copy (LoomProgram *p, gint64 n, LoomDType dtype)
{
  return loom_unary (p, LOOM_SCALAR_NEG, loom_program_input (p, "x", dtype, 1, &n));
}

static double
copy_work (gint64 n)
{
  return 4.0 * n;
}

static double
one (gint64 n)
{
  return 1;
}

#define MATMUL_SIZES                                                                                                   \
  {                                                                                                                    \
    64, 256, 1024, 4096                                                                                                \
  }

static const ProbeKind probes[] = {
  { "matmul f32", "GFLOP/s", 1e-9, build_matmul, MATMUL_SIZES, matmul_work, LOOM_F32 },
  { "matmul tf32", "GFLOP/s", 1e-9, build_matmul, MATMUL_SIZES, matmul_work, LOOM_F32, TRUE, TRUE },
  { "matmul bf16", "GFLOP/s", 1e-9, build_matmul, MATMUL_SIZES, matmul_work, LOOM_BF16 },
  { "matmul f16", "GFLOP/s", 1e-9, build_matmul, MATMUL_SIZES, matmul_work, LOOM_F16, FALSE, TRUE },
  { "memory (a + b)", "GB/s", 1e-9, build_add, { 1 << 20, 1 << 24, 1 << 27 }, add_work, LOOM_F32 },
  { "input from host", "GB/s", 1e-9, build_copy, { 1 << 20, 1 << 24 }, copy_work, LOOM_F32 },
  { "a step (a + b)", "µs", 0, build_add, { 1 }, one, LOOM_F32 },
};

static void
list_device (const char *name, const LoomDeviceInfo *info, const char *why_not, gpointer data)
{
  if (why_not != NULL)
    return;
  if (bench_is_emulated (info))
    g_printerr ("gradloom bench: %s is emulated, so its speed has no meaning; it is left out.\n", name);
  else
    g_ptr_array_add (data, g_strdup (name));
}

static gboolean
measure (const ProbeKind *kind, gint64 size, LoomDevices *devices, const char *device, const BenchOptions *o,
         BenchStats *s, GError **error)
{
  g_auto (Probe) probe = { 0 };

  probe.program = loom_program_new ();
  loom_program_set_tf32 (probe.program, kind->tf32);
  loom_program_output (probe.program, "y", kind->build (probe.program, size, kind->dtype));
  return probe_ready (&probe, devices, device, error)
         && bench_measure (probe_step, &probe, o->windows, MIN (o->seconds, 0.2), s, error);
}

void
bench_show_row (const char *device, const char *what, gint64 size, const char *unit, const double in_unit[3],
                const BenchOptions *o)
{
  /* A launch on a CPU takes nanoseconds. */
  const int digits = in_unit[0] < 10 ? 3 : 1;

  if (o->json)
    {
      LoomJson *json = command_event_new ("device");

      loom_json_string (json, "device", device);
      loom_json_string (json, "what", what);
      loom_json_int (json, "size", size);
      loom_json_string (json, "unit", unit);
      loom_json_number (json, "median", in_unit[0]);
      loom_json_number (json, "min", MIN (in_unit[1], in_unit[2]));
      loom_json_number (json, "max", MAX (in_unit[1], in_unit[2]));
      command_event_print (json);
    }
  else
    printf ("%-8s %-17s %10" G_GINT64_FORMAT " %10.*f %-8s (min %.*f, max %.*f)\n", device, what, size, digits,
            in_unit[0], unit, digits, MIN (in_unit[1], in_unit[2]), digits, MAX (in_unit[1], in_unit[2]));
  command_flush ();
}

/* Converts calls per second to the probe's unit. */
static void
show (const ProbeKind *kind, gint64 size, const char *device, const BenchOptions *o, const BenchStats *s)
{
  double rate[] = { s->median, s->min, s->max }, in_unit[3];

  for (guint i = 0; i < 3; i++)
    in_unit[i] = kind->scale != 0 ? rate[i] * kind->work (size) * kind->scale : 1e6 / rate[i];
  bench_show_row (device, kind->name, size, kind->unit, in_unit, o);
}

gboolean
bench_devices_probe (const char *what, gint64 size, LoomDevices *devices, const char *device, const BenchOptions *o,
                     double *median, GError **error)
{
  const ProbeKind *kind = probes;
  BenchStats s;

  while (!g_str_equal (kind->name, what))
    kind++;
  if (!measure (kind, size, devices, device, o, &s, error))
    return FALSE;
  *median = s.median * kind->work (size) * kind->scale;
  return TRUE;
}

/* ---- copies ---------------------------------------------------------------- */

#define COPY_BYTES ((gsize)64 << 20)

typedef struct
{
  const LoomPlanDevice *device;
  void *to, *from;
  LoomCopyKind kind;
} Copy;

static gboolean
copy_once (gpointer data, GError **error)
{
  const Copy *self = data;
  const LoomBackend *b = self->device->backend;
  LoomMessage message = { "" };
  LoomStatus status = b->copy (self->device->device, NULL, self->to, self->from, COPY_BYTES, self->kind, &message);

  if (status == LOOM_STATUS_OK)
    status = b->stream_sync (self->device->device, NULL, &message);
  if (status != LOOM_STATUS_OK)
    loom_plan_device_error (status, "A copy", message.text, error);
  return status == LOOM_STATUS_OK;
}

/* Measures copies between a device with its own memory and the host, page-locked or not, and within the device, where
 * each byte is read and written. */
static gboolean
measure_copies (LoomDevices *devices, const char *name, const BenchOptions *o, GError **error)
{
  const LoomPlanDevice *device = loom_devices_get (devices, name, error);
  const LoomBackend *b;
  void *here[2] = { NULL }, *locked = NULL;
  g_autofree void *pageable = NULL;
  LoomMessage message = { "" };
  LoomStatus status = LOOM_STATUS_OK;
  gboolean ok = TRUE;

  if (device == NULL)
    return FALSE;
  b = device->backend;
  if (device->info.host_memory || b->alloc_host == NULL)
    return TRUE;
  for (guint i = 0; i < 2 && status == LOOM_STATUS_OK; i++)
    status = b->alloc (device->device, COPY_BYTES, &here[i], &message);
  if (status == LOOM_STATUS_OK)
    status = b->alloc_host (device->device, COPY_BYTES, &locked, &message);
  /* Pages that were never written are all mapped to one zero page, which is in the cache. */
  pageable = g_malloc (COPY_BYTES);
  memset (pageable, 1, COPY_BYTES);
  if (status != LOOM_STATUS_OK)
    loom_plan_device_error (status, "Measuring copies", message.text, error);
  const struct
  {
    const char *what;
    Copy copy;
  } rows[] = { { "pinned up", { device, here[0], locked, LOOM_COPY_HOST_TO_DEVICE } },
               { "pinned down", { device, locked, here[0], LOOM_COPY_DEVICE_TO_HOST } },
               { "pageable up", { device, here[0], pageable, LOOM_COPY_HOST_TO_DEVICE } },
               { "pageable down", { device, pageable, here[0], LOOM_COPY_DEVICE_TO_HOST } },
               { "on the device", { device, here[1], here[0], LOOM_COPY_WITHIN } } };
  for (guint i = 0; i < G_N_ELEMENTS (rows) && status == LOOM_STATUS_OK && ok; i++)
    {
      const double scale = (double)COPY_BYTES * 1e-9 * (rows[i].copy.kind == LOOM_COPY_WITHIN ? 2 : 1);
      Copy copy = rows[i].copy;
      BenchStats s;

      ok = bench_measure (copy_once, &copy, o->windows, MIN (o->seconds, 0.2), &s, error);
      if (ok)
        bench_show_row (name, rows[i].what, COPY_BYTES, "GB/s",
                        (const double[]){ s.median * scale, s.min * scale, s.max * scale }, o);
    }
  for (guint i = 0; i < 2; i++)
    b->free (device->device, here[i]);
  b->free_host (device->device, locked);
  return status == LOOM_STATUS_OK && ok;
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
      for (guint k = 0; k < MOST_SIZES && probes[i].sizes[k] != 0; k++)
        {
          const char *device = names->pdata[d];
          g_autoptr (GError) error = NULL;
          BenchStats s;

          if ((o->device != NULL && !g_str_equal (o->device, device))
              || (probes[i].gpu && !g_str_has_prefix (device, "cuda")) || (k > 0 && g_str_equal (device, "ref")))
            break;
          if (!measure (&probes[i], probes[i].sizes[k], devices, device, o, &s, &error))
            return command_fail (command, g_steal_pointer (&error));
          show (&probes[i], probes[i].sizes[k], device, o, &s);
          if (s.median < 1 / LONG_CALL)
            break;
        }
  for (guint d = 0; d < names->len; d++)
    {
      g_autoptr (GError) error = NULL;

      if ((o->device == NULL || g_str_equal (o->device, names->pdata[d]))
          && (!bench_launches (devices, names->pdata[d], o, &error)
              || !measure_copies (devices, names->pdata[d], o, &error)
              || !bench_layers (devices, names->pdata[d], o, &error)))
        return command_fail (command, g_steal_pointer (&error));
    }
  return 0;
}
