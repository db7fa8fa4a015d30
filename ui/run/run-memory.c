/* The memory of a run on one device (run-memory.h). */
#include "ui/run/run-memory.h"

#include <glib/gi18n.h>

void
run_memory_init (RunMemory *memory)
{
  *memory = (RunMemory){ .device = g_strdup (""),
                         .owners = g_ptr_array_new (),
                         .bytes = g_array_new (FALSE, TRUE, sizeof (guint64)) };
}

void
run_memory_finish (RunMemory *memory)
{
  g_free (memory->device);
  g_ptr_array_unref (memory->owners);
  g_array_unref (memory->bytes);
}

void
run_memory_forget (RunMemory *memory)
{
  g_ptr_array_set_size (memory->owners, 0);
  g_array_set_size (memory->bytes, 0);
  memory->driver = (StudioDriverMemory){ 0 };
}

void
run_memory_set (RunMemory *memory, const char *device, GVariant *bytes)
{
  /* The display order; a D-Bus dictionary has none. */
  static const char *const order[]
      = { N_ ("parameters"), N_ ("gradients"), N_ ("optimizer"), N_ ("activations"), N_ ("workspace"), N_ ("data") };

  run_memory_forget (memory);
  g_free (memory->device);
  memory->device = g_strdup (device);
  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    {
      guint64 n;
      if (!g_variant_lookup (bytes, order[i], "t", &n))
        continue;
      g_ptr_array_add (memory->owners, (gpointer)order[i]);
      g_array_append_val (memory->bytes, n);
    }
  g_variant_lookup (bytes, "used", "t", &memory->driver.used);
  g_variant_lookup (bytes, "total", "t", &memory->driver.total);
  g_variant_lookup (bytes, "peak", "t", &memory->driver.peak);
  g_variant_lookup (bytes, "before", "t", &memory->driver.before);
  g_variant_lookup (bytes, "first", "t", &memory->driver.first);
  g_variant_lookup (bytes, "last", "t", &memory->driver.last);
}

gboolean
run_memory_close (RunMemory *memory)
{
  if (memory->driver.total == 0 || memory->driver.last != 0)
    return FALSE;
  memory->driver.last = memory->driver.peak;
  return TRUE;
}

const StudioDriverMemory *
run_memory_get_driver (const RunMemory *memory)
{
  return memory->driver.total > 0 ? &memory->driver : NULL;
}
