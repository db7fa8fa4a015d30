/* The memory of a run: bytes by owner as they were planned, and what the device's driver says. */
#include <glib/gi18n.h>

#include "ui/run/studio-run-private.h"

void
studio_run_take_memory (StudioRun *self, const char *device, GVariant *bytes)
{
  g_free (self->memory_device);
  self->memory_device = g_strdup (device);
  g_ptr_array_set_size (self->owners, 0);
  g_array_set_size (self->owner_bytes, 0);
  /* A dictionary has no order; this one is the order of the design. */
  static const char *const order[]
      = { N_ ("parameters"), N_ ("gradients"), N_ ("optimizer"), N_ ("activations"), N_ ("workspace"), N_ ("data") };
  for (guint i = 0; i < G_N_ELEMENTS (order); i++)
    {
      guint64 n;
      if (!g_variant_lookup (bytes, order[i], "t", &n))
        continue;
      g_ptr_array_add (self->owners, (gpointer)order[i]);
      g_array_append_val (self->owner_bytes, n);
    }
  self->driver = (StudioDriverMemory){ 0 };
  g_variant_lookup (bytes, "used", "t", &self->driver.used);
  g_variant_lookup (bytes, "total", "t", &self->driver.total);
  g_variant_lookup (bytes, "peak", "t", &self->driver.peak);
  g_variant_lookup (bytes, "before", "t", &self->driver.before);
  g_variant_lookup (bytes, "first", "t", &self->driver.first);
  g_variant_lookup (bytes, "last", "t", &self->driver.last);
  g_signal_emit_by_name (self, "memory-changed");
}

guint
studio_run_n_owners (StudioRun *self)
{
  return self->owners->len;
}

const char *const *
studio_run_get_owners (StudioRun *self)
{
  return (const char *const *)self->owners->pdata;
}

const guint64 *
studio_run_get_owner_bytes (StudioRun *self)
{
  return (const guint64 *)(void *)self->owner_bytes->data;
}

const char *
studio_run_get_memory_device (StudioRun *self)
{
  return self->memory_device;
}

const StudioDriverMemory *
studio_run_get_driver_memory (StudioRun *self)
{
  return self->driver.total > 0 ? &self->driver : NULL;
}
